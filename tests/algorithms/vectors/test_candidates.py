"""Tests of comrecgc.algorithms.vectors.candidates.

Also tests comrecgc.algorithms.paper.walk.
"""

from __future__ import annotations

import numpy as np
import pytest

from comrecgc.algorithms.base import Task, VectorChoice, VectorTask
from comrecgc.algorithms.paper.walk import max_walk_cost
from comrecgc.algorithms.vectors.candidates import Vectors, ball_cover, mapped_path, shorter_path
from comrecgc.cover import few_counterfactuals, with_counterfactuals
from comrecgc.graphs import Edit, EditKind, EditPath, Graph, GraphBatch, apply_path
from comrecgc.graphs.edits import AllowKinds
from comrecgc.models.classifier import FloatArray
from comrecgc.scoring import NeighbourhoodScorer
from tests.cover.instances import random_pairs

INPUTS = [Graph([0] * size, [(i, i + 1) for i in range(size - 1)]) for size in range(2, 12)]

INPUT = Graph([0, 1, 2], [[0, 1], [1, 2]])
TO_A: EditPath = (Edit(EditKind.RELABEL, 2, 0),)


class Counts:
    """Accepts graphs with at least so many nodes of label 1."""

    num_labels = 2

    def __init__(self, at_least: int) -> None:
        self.at_least = at_least

    def accept_probability(self, batch: GraphBatch) -> FloatArray:
        counts = np.add.reduceat((batch.labels == 1).astype(np.int64), batch.node_ptr[:-1])
        return np.where(counts >= self.at_least, 0.9, 0.1)


@pytest.mark.parametrize("delta", [0.0005, 0.01, 0.03])
def test_directional_recourses_are_longer_than_delta_however_small_it_is(delta: float) -> None:
    rng = np.random.default_rng(1)
    vectors = (rng.normal(size=(200, 6)) * 0.4 * delta).astype(np.float32)
    cover = ball_cover(VectorTask.of(Task(algorithm=Vectors(choice=VectorChoice(delta=delta, directional=True)))))
    centres = cover.centres_of(vectors, np.repeat(np.arange(50), 4), 50, rng)
    assert len(centres)
    assert (np.linalg.norm(centres.astype(np.float64), axis=1) > delta).all()


@pytest.mark.parametrize(("needed", "expected"), [(1, 2), (2, None)])
def test_the_walk_stays_near_where_one_edit_is_enough(needed: int, expected: int | None) -> None:
    scorer = NeighbourhoodScorer(Counts(needed), None, 2)
    assert max_walk_cost(scorer, INPUTS, seed=0) == expected


def test_what_is_enough_depends_on_what_is_allowed() -> None:
    scorer = NeighbourhoodScorer(Counts(1), None, 2, constraint=AllowKinds(["add_edge"]))
    assert max_walk_cost(scorer, INPUTS, seed=0) is None


def test_paths_are_simplified_unless_that_changes_a_bond() -> None:
    detour: EditPath = (Edit(EditKind.REMOVE_EDGE, 0, 1), Edit(EditKind.ADD_EDGE, 0, 1), *TO_A)
    assert shorter_path(INPUT, detour) == TO_A
    double = Graph([0, 1, 2], [[0, 1], [1, 2]], [1, 0])
    assert shorter_path(double, detour) == detour  # the bond it makes again is single
    single = Graph([0, 1, 2], [[0, 1], [1, 2]], [0, 1])
    assert shorter_path(single, detour) == TO_A


def test_a_path_between_two_graphs_leads_there() -> None:
    target = Graph([1, 0, 0, 2], [[0, 1], [1, 2], [2, 3]])
    end = apply_path(INPUT, mapped_path(INPUT, target))
    assert sorted(end.labels.tolist()) == sorted(target.labels.tolist())
    assert end.num_edges == target.num_edges


@pytest.mark.parametrize("how", ["nearest", "greedy", "all"])
def test_few_counterfactuals_by_hand(how: str) -> None:
    pairs = random_pairs(3, num_inputs=6, num_candidates=40)
    origins, ends = pairs.input_embeddings.astype(np.float64), pairs.candidate_embeddings.astype(np.float64)
    sizes = pairs.input_sizes[:, None] + pairs.candidate_sizes
    gaps = np.linalg.norm(origins[:, None] - ends, axis=2) / sizes
    chosen: list[int] = []
    if how == "nearest":
        chosen = sorted(set(gaps.argmin(axis=1).tolist()))
    elif how == "greedy":
        near = np.zeros(gaps.shape, dtype=bool)
        near[pairs.inputs, pairs.candidates] = True
        for _ in range(6):
            left = ~near[:, chosen].any(axis=1)
            chosen.append(int(np.argmax([-1 if i in chosen else near[left, i].sum() for i in range(40)])))
    else:
        chosen = list(range(40))
    assert few_counterfactuals(pairs, how).tolist() == chosen
    few = with_counterfactuals(pairs, np.arange(5))
    assert len(few_counterfactuals(few, "all")) == 40
