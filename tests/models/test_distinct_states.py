from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from comrecgc.graphs import Graph, GraphBatch
from comrecgc.models.gradients import ColouredGraphs, StateBatch
from tests.models.data import random_batch

Tree = tuple[object, ...]


def unrolled(graph: Graph, node: int, depth: int) -> Tree:
    """What a network of this depth can see from a node, as a nested tuple: the slow definition of a state."""
    neighbours = [int(b if a == node else a) for a, b in graph.edges if node in (a, b)]
    if depth == 0:
        return int(graph.labels[node]), len(neighbours)
    seen = sorted((unrolled(graph, other, depth - 1) for other in neighbours), key=repr)
    return unrolled(graph, node, depth - 1), *seen


def rebuilt(batch: StateBatch, depth: int) -> list[Tree]:
    """The same nested tuple for every state of a round, from the rounds alone."""
    if depth == 0:
        return [(int(label), int(degree)) for label, degree in zip(batch.labels, batch.degrees, strict=True)]
    before, states = rebuilt(batch, depth - 1), batch.rounds[depth - 1]
    groups = np.split(states.neighbours, states.neighbour_ptr[1:-1])
    return [
        (before[own], *sorted((before[j] for j in group), key=repr))
        for own, group in zip(states.own, groups, strict=True)
    ]


def test_path_of_three() -> None:
    batch = ColouredGraphs(GraphBatch.from_graphs([Graph([0, 0, 0], [(0, 1), (1, 2)])]), 1).select(np.array([0]))
    assert batch.labels.tolist() == [0, 0]
    assert batch.degrees.tolist() == [1, 2]
    (states,) = batch.rounds
    assert states.counts.tolist() == [2, 1]
    assert states.own.tolist() == [0, 1]
    assert states.neighbours.tolist() == [1, 0, 0]
    assert states.neighbour_ptr.tolist() == [0, 1, 3]
    assert states.degrees.tolist() == [1, 2]
    assert batch.members.tolist() == [0, 1]
    assert batch.member_ptr.tolist() == [0, 2]


@pytest.mark.parametrize("seed", range(4))
def test_states_are_what_the_network_can_see(seed: int) -> None:
    graphs = random_batch(seed, count=8, num_labels=2)
    chosen = np.array([6, 1, 3, 1])
    batch = ColouredGraphs(graphs, 3).select(chosen)
    for depth in range(1, 4):
        seen = Counter(unrolled(graphs[g], node, depth) for g in chosen for node in range(graphs[int(g)].num_nodes))
        states = rebuilt(batch, depth)
        assert len(set(states)) == len(states)
        assert dict(zip(states, batch.rounds[depth - 1].counts.tolist(), strict=True)) == seen
    last = rebuilt(batch, 3)
    for place, g in enumerate(chosen):
        members = batch.members[batch.member_ptr[place] : batch.member_ptr[place + 1]]
        assert len(set(members.tolist())) == len(members)
        assert {last[row] for row in members} == {
            unrolled(graphs[int(g)], node, 3) for node in range(graphs[int(g)].num_nodes)
        }


def test_selections_do_not_disturb_each_other() -> None:
    graphs = ColouredGraphs(random_batch(5), 3)
    first = graphs.select(np.arange(6))
    graphs.select(np.arange(4, 12))
    again = graphs.select(np.arange(6))
    np.testing.assert_array_equal(first.members, again.members)
    np.testing.assert_array_equal(first.rounds[2].neighbours, again.rounds[2].neighbours)


def test_batches_follow_the_order_and_keep_the_rest() -> None:
    graphs = ColouredGraphs(random_batch(6, count=7), 1)
    order = np.array([3, 0, 6, 2, 5])
    parts = list(graphs.batches(order, 2))
    assert [chosen.tolist() for chosen, _ in parts] == [[3, 0], [6, 2], [5]]
    assert [len(batch) for _, batch in parts] == [2, 2, 1]


def test_graphs_without_edges_and_no_graphs() -> None:
    graphs = ColouredGraphs(GraphBatch.from_graphs([Graph([1], []), Graph([1, 1], [])]), 2)
    assert graphs.max_degree == 0
    batch = graphs.select(np.array([0, 1]))
    assert batch.rounds[1].counts.tolist() == [3]
    assert batch.members.tolist() == [0, 0]
    assert len(graphs.select(np.zeros(0, dtype=np.int64))) == 0
