"""What a run finds, frozen: the common recourses, whom they cover and how; frame, JSON, run folder."""

from comrecgc.explanation.checks import CHANGES, RECOURSES
from comrecgc.explanation.document import encode_graph
from comrecgc.explanation.explanation import Chooser, Explanation
from comrecgc.explanation.folder import csv_text, load_explanation
from comrecgc.explanation.records import (
    CommonRecourse,
    CoveredInput,
    DatasetIndex,
    Position,
    RejectedInput,
    RuleSide,
    RunFacts,
    Scene,
    StoredRule,
    Uncovered,
    json_values,
)
from comrecgc.metrics import Reason

__all__ = [
    "CHANGES",
    "RECOURSES",
    "Chooser",
    "CommonRecourse",
    "CoveredInput",
    "DatasetIndex",
    "Explanation",
    "Position",
    "Reason",
    "RejectedInput",
    "RuleSide",
    "RunFacts",
    "Scene",
    "StoredRule",
    "Uncovered",
    "csv_text",
    "encode_graph",
    "json_values",
    "load_explanation",
]
