from __future__ import annotations

import numpy as np

from comrecgc.graphs import Graph
from comrecgc.kernels.edit_distance import adjacency, grow_mapping, pair_graph
from comrecgc.kernels.relaxation import mapping_gain
from tests.embedding.ged.oracle import molecule_like, tiny_pairs


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
        gain, _ = grown(graph, graph.permuted(rng.permutation(20)))
        found += gain == graph.num_nodes + 2 * graph.num_edges
    assert found >= 15


def test_always_an_injection() -> None:
    for pair in tiny_pairs():
        small, large = sorted(pair, key=lambda graph: graph.num_nodes)
        _, image = grown(small, large)
        assert len(set(image)) == small.num_nodes
        assert all(0 <= place < large.num_nodes for place in image)


def test_single_nodes() -> None:
    assert grown(Graph([1], []), Graph([1], [])) == (1, [0])
    assert grown(Graph([1], []), Graph([0, 1], [(0, 1)])) == (1, [1])
