"""What a run finds, frozen: the common recourses, whom they cover and how; frame, JSON, run folder."""

from comrecgc.explanation.explanation import Explanation
from comrecgc.explanation.facts import RunFacts
from comrecgc.explanation.recourse import (
    CommonRecourse,
    CoveredInput,
    Position,
    RejectedInput,
    Scene,
    Uncovered,
)
from comrecgc.metrics import Reason

__all__ = [
    "CommonRecourse",
    "CoveredInput",
    "Explanation",
    "Position",
    "Reason",
    "RejectedInput",
    "RunFacts",
    "Scene",
    "Uncovered",
]
