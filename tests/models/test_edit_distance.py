from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from comrecgc.graphs import Graph
from comrecgc.models import map_nodes
from comrecgc.models.edit_distance import NodeMapping, map_pairs
from tests.graphs.strategies import graphs
from tests.models.ged_oracle import exact_distance, molecule_like, tiny_pairs


def same(first: NodeMapping, second: NodeMapping) -> bool:
    return first.cost == second.cost and np.array_equal(first.places, second.places)


def molecule_pairs(count: int, num_nodes: int) -> list[tuple[Graph, Graph]]:
    rng = np.random.default_rng(3)
    return [(molecule_like(rng, num_nodes), molecule_like(rng, num_nodes + int(rng.integers(5)))) for _ in range(count)]


def mapping_cost(source: Graph, target: Graph, places: np.ndarray) -> int:
    """Cost of a mapping counted element by element."""
    kept = places[places >= 0]
    relabels = int((source.labels[places >= 0] != target.labels[kept]).sum())
    edges = {frozenset(edge) for edge in target.edges.tolist()}
    shared = sum(frozenset(places[edge].tolist()) in edges for edge in source.edges)
    nodes = source.num_nodes + target.num_nodes - 2 * len(kept)
    return relabels + nodes + source.num_edges + target.num_edges - 2 * shared


def test_toy_answer() -> None:
    ring = Graph([0, 0, 0], [(0, 1), (1, 2), (0, 2)])
    tail = Graph([0, 0, 1, 2], [(0, 1), (1, 2), (2, 3)])
    assert map_nodes(ring, tail).cost == 4  # cut the ring, relabel one, add a node and its edge


def test_equals_networkx_on_tiny_graphs() -> None:
    assert [mapping.cost for mapping in map_pairs(tiny_pairs())] == [exact_distance(*pair) for pair in tiny_pairs()]


@given(graphs(), graphs())
@settings(max_examples=60, deadline=None)
def test_never_below_networkx_on_any_graphs(source: Graph, target: Graph) -> None:
    assert map_nodes(source, target, sweeps=1).cost >= exact_distance(source, target)


@pytest.mark.parametrize("sweeps", [0, 1, 40])
def test_the_cost_is_that_of_the_mapping(sweeps: int) -> None:
    pairs = tiny_pairs() + molecule_pairs(10, 14)
    for (source, target), mapping in zip(pairs, map_pairs(pairs, sweeps=sweeps), strict=True):
        kept = mapping.places[mapping.places >= 0]
        assert len(np.unique(kept)) == len(kept) == min(source.num_nodes, target.num_nodes)
        assert mapping_cost(source, target, mapping.places) == mapping.cost


def test_more_sweeps_cost_less() -> None:
    pairs = molecule_pairs(20, 16)
    totals = [sum(mapping.cost for mapping in map_pairs(pairs, sweeps=sweeps)) for sweeps in (0, 5, 100)]
    assert totals[0] > totals[1] > totals[2]


def test_symmetric() -> None:
    pairs = tiny_pairs()[:100] + molecule_pairs(10, 14)
    back = map_pairs([(target, source) for source, target in pairs])
    assert [mapping.cost for mapping in map_pairs(pairs)] == [mapping.cost for mapping in back]


def test_identical_and_permuted_graphs_are_at_distance_zero() -> None:
    rng = np.random.default_rng(1)
    for num_nodes in (1, 2, 9, 20):
        graph = molecule_like(rng, num_nodes)
        assert map_nodes(graph, graph, sweeps=0).cost == 0
        assert map_nodes(graph, graph.permute(rng.permutation(num_nodes))).cost == 0


@pytest.mark.parametrize(
    ("source", "target", "distance"),
    [
        (Graph([0], []), Graph([0], []), 0),
        (Graph([0], []), Graph([1], []), 1),
        (Graph([0], []), Graph([1, 1], [(0, 1)]), 3),
        (Graph([0, 0, 0], []), Graph([0], []), 2),
        (Graph([0, 1], []), Graph([1, 0], [(0, 1)]), 1),
        (Graph([0] * 4, [(0, 1), (2, 3)]), Graph([0] * 4, [(0, 1), (1, 2), (2, 3)]), 1),
    ],
)
def test_degenerate_graphs(source: Graph, target: Graph, distance: int) -> None:
    assert map_nodes(source, target).cost == distance


def test_edge_labels_do_not_count() -> None:
    edges = [(0, 1), (1, 2)]
    assert map_nodes(Graph([0, 0, 1], edges, [0, 1]), Graph([0, 0, 1], edges, [2, 2])).cost == 0


def test_same_seed_same_answer_alone_or_among_others() -> None:
    pairs = molecule_pairs(40, 15)
    together = map_pairs(pairs, sweeps=5, seed=4)
    assert all(map(same, together, [map_nodes(*pair, sweeps=5, seed=4) for pair in pairs]))
    assert not all(map(same, together, map_pairs(pairs, sweeps=5, seed=1)))


def test_no_pairs() -> None:
    assert map_pairs([]) == []


def test_input_is_not_modified() -> None:
    source, target = molecule_pairs(1, 10)[0]
    before = [array.copy() for array in (source.labels, source.edges, target.labels, target.edges)]
    map_nodes(source, target)
    after = (source.labels, source.edges, target.labels, target.edges)
    assert all(map(np.array_equal, before, after))


def test_labels_may_be_any_numbers() -> None:
    """Nothing may be allocated per possible label."""
    source, target = Graph([2**31 - 1, 5], [(0, 1)]), Graph([5, 7, 2**31 - 1], [(0, 2), (1, 2)])
    assert map_nodes(source, target).cost == exact_distance(source, target) == 2
