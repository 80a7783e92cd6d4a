"""The nearest of GCFExplainer's counterfactuals to each input: what COMRECGC's tables call LocalRWExplainer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from comrecgc.baselines.gcfexplainer import GcfExplainer
from comrecgc.baselines.source import Counterfactuals, Progress, Subject, embedded
from comrecgc.recourse import nearest_of_all


@dataclass(frozen=True, kw_only=True)
class GcfNearest(GcfExplainer):
    """GCFExplainer's walk; of what it finds, the counterfactuals nearest to some input, however far. Options as of the walk."""

    few: ClassVar[str] = "all"

    def run(
        self,
        subject: Subject,
        rng: np.random.Generator,
        *,
        deadline: float | None = None,
        progress: Progress | None = None,
        checkpoint: Path | None = None,
        resume: bool = False,
    ) -> Counterfactuals:
        """Walk, and take the nearest."""
        walked = super().run(subject, rng, deadline=deadline, progress=progress, checkpoint=checkpoint, resume=resume)
        if not walked.found:
            return walked
        nearest = nearest_of_all(
            *embedded(subject, subject.inputs), *embedded(subject, [each.graph for each in walked.found])
        )
        return Counterfactuals(tuple(walked.found[i] for i in nearest.tolist()), walked.complete)
