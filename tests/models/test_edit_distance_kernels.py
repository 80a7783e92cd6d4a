from __future__ import annotations

import numpy as np

from comrecgc.graphs import Graph
from comrecgc.models.edit_distance_kernels import (
    PairGraph,
    adjacency,
    anneal,
    complete,
    grow_mapping,
    mapping_gain,
    pair_graph,
)
from tests.models.ged_oracle import exact_distance, molecule_like, tiny_pairs


def side(graph: Graph) -> PairGraph:
    made: PairGraph = pair_graph(graph.labels, graph.edges.astype(np.int64))
    return made


def annealed(source: Graph, target: Graph, *, moves: int, target_gain: float = np.inf) -> tuple[int, np.ndarray]:
    """Gain and mapping from a start that maps equal positions."""
    left, right = side(source), side(target)
    image = np.arange(target.num_nodes)
    state = np.array([12345], dtype=np.uint64)
    gain = anneal(left, right, adjacency(right), image, moves, 1.5, 0.25, target_gain, state)
    return int(gain), image


def test_reaches_the_exact_distance_of_tiny_pairs() -> None:
    missed = 0
    for source, target in tiny_pairs()[:100]:
        small, large = sorted((source, target), key=lambda graph: graph.num_nodes)
        gain, _ = annealed(small, large, moves=5000)
        missed += large.num_nodes + small.num_edges + large.num_edges - gain != exact_distance(source, target)
    assert missed == 0


def test_gain_belongs_to_the_mapping() -> None:
    """The gain is kept up by differences; counted afresh it must be the same."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        source, target = molecule_like(rng, 12), molecule_like(rng, 15)
        gain, image = annealed(source, target, moves=500)
        assert sorted(image.tolist()) == list(range(15))
        assert gain == mapping_gain(side(source), side(target), adjacency(side(target)), image)


def test_never_worse_than_the_start() -> None:
    rng = np.random.default_rng(4)
    graph = molecule_like(rng, 15)
    gain, image = annealed(graph, graph, moves=1000)
    assert gain == graph.num_nodes + 2 * graph.num_edges
    assert image.tolist() == list(range(15))


def test_stops_at_the_target() -> None:
    rng = np.random.default_rng(4)
    source, target = molecule_like(rng, 12), molecule_like(rng, 15)
    best, _ = annealed(source, target, moves=5000)
    gain, _ = annealed(source, target, moves=5000, target_gain=best - 6)
    assert best - 6 <= gain < best


def test_single_nodes() -> None:
    assert annealed(Graph([1], []), Graph([1], []), moves=10)[0] == 1
    assert annealed(Graph([1], []), Graph([0, 1], [(0, 1)]), moves=100)[0] == 1


def test_complete_fills_with_the_unused() -> None:
    assert complete(np.array([3, 1]), 2, 4).tolist() == [3, 1, 0, 2]


def grown(source: Graph, target: Graph) -> tuple[int, list[int]]:
    """Gain and mapping grown from the smaller graph into the larger."""
    left, right = (pair_graph(graph.labels, graph.edges.astype(np.int64)) for graph in (source, target))
    joined = adjacency(right)
    image = grow_mapping(left, right, joined)
    return int(mapping_gain(left, right, joined, image)), image.tolist()


def test_toy_answer() -> None:
    """The chain lies inside the longer one, label on label."""
    gain, image = grown(Graph([1, 2, 3], [(0, 1), (1, 2)]), Graph([0, 3, 2, 1, 0], [(0, 1), (1, 2), (2, 3), (3, 4)]))
    assert gain == 3 + 2 * 2
    assert image == [3, 2, 1]


def test_finds_most_permuted_molecules_again() -> None:
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(20):
        graph = molecule_like(rng, 20)
        gain, _ = grown(graph, graph.permute(rng.permutation(20)))
        found += gain == graph.num_nodes + 2 * graph.num_edges
    assert found >= 15


def test_always_an_injection() -> None:
    for pair in tiny_pairs():
        small, large = sorted(pair, key=lambda graph: graph.num_nodes)
        _, image = grown(small, large)
        assert len(set(image)) == small.num_nodes
        assert all(0 <= place < large.num_nodes for place in image)


def test_single_nodes_are_grown() -> None:
    assert grown(Graph([1], []), Graph([1], [])) == (1, [0])
    assert grown(Graph([1], []), Graph([0, 1], [(0, 1)])) == (1, [1])
