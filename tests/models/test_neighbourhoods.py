"""Tests of comrecgc.models.jury against counting by hand."""

from __future__ import annotations

from collections import Counter
from typing import Any

import networkx as nx
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from comrecgc.graphs import Graph, GraphBatch, group_neighbours
from comrecgc.models.jury import NeighbourhoodCounts, node_colours, smallest_rings


def by_hand(graph: Graph, radius: int) -> list[Any]:
    """The neighbourhood of every node as nested tuples: the literal definition."""
    around: list[list[tuple[int, int]]] = [[] for _ in range(graph.num_nodes)]
    bonds = [0] * graph.num_edges if graph.edge_labels is None else graph.edge_labels.tolist()
    for (i, j), bond in zip(graph.edges.tolist(), bonds, strict=True):
        around[i].append((bond, j))
        around[j].append((bond, i))
    names: list[Any] = graph.labels.tolist()
    for _ in range(radius):
        names = [(names[i], tuple(sorted((bond, repr(names[j])) for bond, j in around[i]))) for i in range(len(names))]
    return [repr(name) for name in names]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    num = draw(st.integers(1, 7))
    labels = np.array(draw(st.lists(st.integers(0, 2), min_size=num, max_size=num)), np.int32)
    pairs = [(i, j) for i in range(num) for j in range(i + 1, num)]
    edges = sorted(draw(st.sets(st.sampled_from(pairs)))) if pairs else []
    bonds = np.array(draw(st.lists(st.integers(0, 1), min_size=len(edges), max_size=len(edges))), np.int32)
    return Graph(labels, np.array(edges, np.int32).reshape(-1, 2), bonds)


@given(st.lists(graphs(), min_size=1, max_size=4), st.integers(0, 2))
def test_colours_are_equal_where_neighbourhoods_are(many: list[Graph], radius: int) -> None:
    colours = node_colours(GraphBatch.from_graphs(many), radius)[radius].tolist()
    names = [name for graph in many for name in by_hand(graph, radius)]
    assert len(set(zip(colours, names, strict=True))) == len(set(colours)) == len(set(names))


@given(st.lists(graphs(), min_size=2, max_size=5))
def test_counts_are_those_of_a_counter(many: list[Graph]) -> None:
    counts = NeighbourhoodCounts.of(GraphBatch.from_graphs(many), 1)
    table = counts.count(GraphBatch.from_graphs(many))
    names = [[(radius, name) for radius in (0, 1) for name in by_hand(graph, radius)] for graph in many]
    common = [name for name, num in Counter(name for one in names for name in set(one)).items() if num >= 2]
    wanted = sorted(tuple(Counter(one)[name] for one in names) for name in common)
    assert sorted(map(tuple, table[:, :-3].T.astype(int).tolist())) == wanted
    sizes = [(graph.num_nodes, graph.num_edges, graph.num_edges - graph.num_nodes) for graph in many]
    assert [tuple(row) for row in table[:, -3:].astype(int).tolist()] == sizes


def test_unknown_neighbourhoods_are_not_counted() -> None:
    known = Graph(np.array([0, 0], np.int32), np.array([[0, 1]], np.int32))
    other = Graph(np.array([1, 1], np.int32), np.array([[0, 1]], np.int32))
    counts = NeighbourhoodCounts.of(GraphBatch.from_graphs([known, known]), 2)
    assert counts.count(GraphBatch.from_graphs([other])).tolist() == [[0.0, 0.0, 0.0, 2.0, 1.0, -1.0]]
    assert counts.count(GraphBatch.from_graphs([known])).tolist() == [[2.0, 2.0, 2.0, 2.0, 1.0, -1.0]]


@given(st.lists(graphs(), min_size=1, max_size=4))
def test_rings_are_the_smallest_that_networkx_finds(many: list[Graph]) -> None:
    wanted = []
    for graph in many:
        plain: Any = nx.Graph(graph.edges.tolist())
        smallest = dict.fromkeys(range(graph.num_nodes), 0)
        for ring in sorted(nx.simple_cycles(plain), key=len, reverse=True):
            smallest.update(dict.fromkeys(ring, len(ring)))
        wanted += list(smallest.values())
    batch = GraphBatch.from_graphs(many)
    rings = smallest_rings(*group_neighbours(batch), 8)
    assert rings.tolist() == wanted
    counts = NeighbourhoodCounts.of(batch, 0, rings=True).count(batch)
    assert counts[:, -9:-3].sum() == sum(size > 0 for size in wanted)
