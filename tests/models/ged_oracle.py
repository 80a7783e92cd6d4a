"""Independent answers for tiny graphs, and the graphs the tests are run on."""

from __future__ import annotations

from functools import cache

import networkx as nx
import numpy as np

from comrecgc.graphs import Graph, to_networkx
from tests.graphs.strategies import random_graph


def same_label(first: dict[str, int], second: dict[str, int]) -> bool:
    return first["label"] == second["label"]


@cache
def exact_distance(source: Graph, target: Graph) -> int:
    """The edit distance by networkx."""
    return int(nx.graph_edit_distance(to_networkx(source), to_networkx(target), node_match=same_label))


def isomorphic(first: Graph, second: Graph) -> bool:
    return bool(nx.is_isomorphic(to_networkx(first), to_networkx(second), node_match=same_label))


@cache
def tiny_pairs() -> list[tuple[Graph, Graph]]:
    """Three hundred pairs of graphs of one to six nodes: edgeless, sparse, dense; connected and not."""
    rng = np.random.default_rng(20)
    sizes = rng.integers(1, 7, (300, 2))
    densities = rng.choice([0.0, 0.3, 0.5, 0.9], (300, 2))
    return [
        (random_graph(rng, int(n), 3, float(p)), random_graph(rng, int(m), 3, float(q)))
        for (n, m), (p, q) in zip(sizes, densities, strict=True)
    ]


def molecule_like(rng: np.random.Generator, num_nodes: int) -> Graph:
    """A random tree with a few extra edges and skewed labels, degrees at most four."""
    degree = np.zeros(num_nodes, dtype=np.int64)
    edges = set()
    for i in range(1, num_nodes):
        j = int(rng.choice(np.flatnonzero(degree[:i] < 4)))
        edges.add((j, i))
        degree[[i, j]] += 1
    for _ in range(num_nodes // 8):
        i, j = sorted(int(node) for node in rng.choice(num_nodes, 2, replace=False))
        if (i, j) not in edges and max(degree[i], degree[j]) < 4:
            edges.add((i, j))
            degree[[i, j]] += 1
    return Graph(rng.choice(3, num_nodes, p=[0.7, 0.2, 0.1]), np.array(sorted(edges), dtype=np.int64).reshape(-1, 2))
