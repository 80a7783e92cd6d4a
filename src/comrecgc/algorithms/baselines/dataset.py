"""Counterfactuals that are in the data: every graph the classifier accepts, as COMRECGC's tables have them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from comrecgc.algorithms.baselines.baseline import (
    UNLIMITED,
    Baseline,
    Counterfactual,
    Counterfactuals,
    Subject,
    accepted_graphs,
)
from comrecgc.run import RunContext


@dataclass(frozen=True, kw_only=True)
class DatasetCounterfactuals(Baseline):
    """All accepted graphs of the dataset, in its order. Nothing is random and nothing is searched."""

    name: ClassVar[str] = "dataset"
    fc_subset: ClassVar[str] = "all"

    min_samples: int = 1  # as in the paper's tables: lone pairs count as common

    def run(
        self,
        subject: Subject,
        rng: np.random.Generator,  # noqa: ARG002
        context: RunContext = UNLIMITED,
    ) -> Counterfactuals:
        """The accepted graphs."""
        probability = accepted_graphs(subject, subject.graphs).tolist()
        found = tuple(
            Counterfactual(graph=graph.fresh(), probability=p)
            for graph, p in zip(subject.graphs, probability, strict=True)
            if p > 0.5
        )
        context.tell("dataset", len(subject.graphs), len(subject.graphs), f"{len(found)} counterfactuals")
        return Counterfactuals(found)
