"""Random small graphs for property tests."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import strategies as st

from comrecgc.graphs import Graph


@st.composite
def graphs(draw: st.DrawFn, max_nodes: int = 5, num_labels: int = 3, edge_labels: bool = False) -> Graph:
    """Any simple labelled graph, connected or not."""
    n = draw(st.integers(1, max_nodes))
    labels = draw(st.lists(st.integers(0, num_labels - 1), min_size=n, max_size=n))
    pairs = list(combinations(range(n), 2))
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    kinds = draw(st.lists(st.integers(0, 2), min_size=len(edges), max_size=len(edges))) if edge_labels else None
    return Graph(labels, np.array(edges, dtype=np.int64).reshape(-1, 2), kinds)


def random_graph(rng: np.random.Generator, num_nodes: int, num_labels: int, density: float) -> Graph:
    """A graph with each edge present with the given probability."""
    pairs = np.array(list(combinations(range(num_nodes), 2)), dtype=np.int64).reshape(-1, 2)
    return Graph(rng.integers(0, num_labels, num_nodes), pairs[rng.random(len(pairs)) < density])
