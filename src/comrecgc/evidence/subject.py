"""What evidence is gathered on: an explanation, and everything it was made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.base import Task
from comrecgc.algorithms.plausibility import Plausibility
from comrecgc.algorithms.rules.algorithm import Rules
from comrecgc.algorithms.rules.choice import RuleFilter
from comrecgc.algorithms.rules.mined import MinedRules
from comrecgc.data import GraphDataset
from comrecgc.errors import InputError
from comrecgc.explainer import CommonRecourseExplainer
from comrecgc.explanation import Explanation
from comrecgc.graphs import Graph
from comrecgc.models import Classifier, Embedder

MOST_RESULTS = 300
"""Results of a recourse that are looked at; more would not change a share by more than some points."""


def wishes_of(task: Task[Any]) -> RuleFilter:
    """What chosen rules had to be like; nothing for vectors."""
    return task.algorithm.wishes() if isinstance(task.algorithm, Rules) else RuleFilter()


@dataclass(frozen=True, eq=False, kw_only=True)
class Subject:
    """An explanation and what it was made from.

    Args:
        explanation: What was found.
        dataset: All graphs, with their true labels.
        classifier: The explained model.
        plausibility: The ladder of changes and the panel.
        task: What was asked.
        wishes: What chosen rules had to be like.
        mined: The table of rules; None for vectors.
        embedder: Where distances come from; None for rules.
        labels: True label of every graph by its index in the explanation, `[n]`; None for those of the dataset.
        shown_again: Other results of each recourse, as pairs of graphs, for inputs that an earlier recourse covers already; vectors only, as the
            table of rules knows its own.
    """

    explanation: Explanation
    dataset: GraphDataset
    classifier: Classifier
    plausibility: Plausibility
    task: Task[Any]
    wishes: RuleFilter
    mined: MinedRules | None = None
    embedder: Embedder | None = None
    labels: npt.NDArray[np.int8] | None = None
    shown_again: Sequence[Sequence[tuple[Graph, Graph]]] = ()

    @classmethod
    def of(cls, explainer: CommonRecourseExplainer) -> Subject:
        """What a fitted explainer found, and all that it was made from."""
        if not hasattr(explainer, "explanation_"):
            raise InputError("Evidence needs an explanation: call fit first")
        return cls(
            explanation=explainer.explanation_,
            dataset=explainer.dataset_,
            classifier=explainer.classifier_,
            plausibility=explainer.plausibility_,
            task=explainer.task_,
            wishes=wishes_of(explainer.task_),
            mined=explainer.mined_,
            embedder=explainer.embedder_,
        )

    @property
    def seed(self) -> int:
        return self.task.random_state

    @cached_property
    def rows(self) -> npt.NDArray[np.int64] | None:
        """Row of the table of each recourse; None without a table."""
        rows = [recourse.row for recourse in self.explanation.recourses if recourse.row is not None]
        return None if self.mined is None else np.array(rows, np.int64)

    def labelled_reject(self, place: int) -> tuple[int, int]:
        """How many inputs that a recourse turns are truly labelled reject, and how many it turns."""
        recourse = self.explanation.recourses[place]
        labels = self.dataset.classes if self.labels is None else self.labels
        indices = [*(member.input for member in recourse.covered), *recourse.also_covers]
        return int((labels[indices] == 0).sum()), len(indices)

    @cached_property
    def results(self) -> list[list[tuple[Graph, Graph]]]:
        """For each recourse, inputs that it turns and what they become; at most `MOST_RESULTS`, the same for the same seed."""
        return [self._results(place) for place in range(len(self.explanation.recourses))]

    def _results(self, place: int) -> list[tuple[Graph, Graph]]:
        rng = np.random.default_rng([self.seed, 20, place])
        if self.rows is None or self.mined is None:
            inputs = self.explanation.inputs
            covered = self.explanation.recourses[place].covered
            pairs = [(inputs[member.input].graph, member.counterfactual) for member in covered]
            pairs += self.shown_again[place] if self.shown_again else []
            return [pairs[k] for k in np.sort(rng.permutation(len(pairs))[:MOST_RESULTS]).tolist()]
        table, row = self.mined.table, int(self.rows[place])
        entries = table.entries_of(row)
        entries = entries[self.wishes.counts(table)[entries]]
        entries = entries[np.sort(rng.permutation(len(entries))[:MOST_RESULTS])]
        graphs = self.mined.rejects.graphs
        batch, _ = self.mined.scorer.built(table.entries.input[entries], table.entries.change[entries].astype(np.int32))
        return [(graphs[i], batch[k]) for k, i in enumerate(table.entries.input[entries].tolist())]
