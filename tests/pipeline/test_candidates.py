from __future__ import annotations

import numpy as np
import pytest

from comrecgc.classifiers.classifier import FloatArray
from comrecgc.graphs import AllowKinds, Graph, GraphBatch
from comrecgc.neighbourhood import NeighbourhoodScorer
from comrecgc.pipeline.candidates import max_walk_cost

INPUTS = [Graph([0] * size, [(i, i + 1) for i in range(size - 1)]) for size in range(2, 12)]


class Counts:
    """Accepts graphs with at least so many nodes of label 1."""

    num_labels = 2

    def __init__(self, at_least: int) -> None:
        self.at_least = at_least

    def accept_probability(self, batch: GraphBatch) -> FloatArray:
        counts = np.add.reduceat((batch.labels == 1).astype(np.int64), batch.node_ptr[:-1])
        return np.where(counts >= self.at_least, 0.9, 0.1)


@pytest.mark.parametrize(("needed", "expected"), [(1, 2), (2, None)])
def test_the_walk_stays_near_where_one_edit_is_enough(needed: int, expected: int | None) -> None:
    scorer = NeighbourhoodScorer(Counts(needed), None, 2)
    assert max_walk_cost(scorer, INPUTS, seed=0) == expected


def test_what_is_enough_depends_on_what_is_allowed() -> None:
    scorer = NeighbourhoodScorer(Counts(1), None, 2, constraint=AllowKinds(["add_edge"]))
    assert max_walk_cost(scorer, INPUTS, seed=0) is None
