"""Staying near the graph one began from: a constraint on how many of its elements may be changed at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from comrecgc.graphs.edits import EditKind, EditTable
from comrecgc.graphs.graph import BoolArray, Graph, IntArray


@dataclass(frozen=True, eq=False)
class StayNear:
    """At most so many elements differ from those of one graph, a node being the same where its id is.

    A relabelled node counts once, a node or an edge added or removed once each, what is undone not at all. Labels of edges are
    not compared.

    Args:
        start: The graph edits began from.
        max_cost: Elements that may differ.
    """

    start: Graph
    max_cost: int

    def allowed(self, graph: Graph, table: EditTable) -> BoolArray:
        within: BoolArray = edited_costs(self.start, graph, table) <= self.max_cost
        return within


def edited_costs(start: Graph, graph: Graph, table: EditTable) -> IntArray:
    """Elements in which `graph` after each edit differs from `start`, `[N]`.

    Args:
        start: The graph edits began from.
        graph: A graph made from it by edits.
        table: Edits of `graph`.
    """
    same = _Same(start, graph)
    kind, first = table.kind, table.first
    change = np.zeros(len(table), dtype=np.int32)
    relabels = kind == EditKind.RELABEL
    node = first[relabels]
    differs = (table.second[relabels] != same.labels[node]).astype(np.int32) - same.is_relabelled[node]
    change[relabels] = np.where(same.is_old[node], differs, 0)
    change[kind == EditKind.ADD_NODE] = 2
    removes = kind == EditKind.REMOVE_NODE
    leaf = first[removes]
    node_change = _sign(same.is_old[leaf]) - same.is_relabelled[leaf]
    change[removes] = node_change + _sign(same.is_old_edge(leaf, same.last_neighbour[leaf]))
    joins, cuts = kind == EditKind.ADD_EDGE, kind == EditKind.REMOVE_EDGE
    change[joins] = -_sign(same.is_old_edge(first[joins], table.second[joins]))
    change[cuts] = _sign(same.is_old_edge(first[cuts], table.second[cuts]))
    result: IntArray = same.cost + change
    return result


def _sign(mask: BoolArray) -> IntArray:
    return np.where(mask, 1, -1).astype(np.int32)


class _Same:
    """What of a graph is still as in the graph it was made from."""

    def __init__(self, start: Graph, graph: Graph) -> None:
        self.place = np.minimum(np.searchsorted(start.ids, graph.ids), start.num_nodes - 1)
        self.is_old: BoolArray = start.ids[self.place] == graph.ids
        self.labels = start.labels[self.place]  # those before, of old nodes
        self.is_relabelled: BoolArray = self.is_old & (graph.labels != self.labels)
        self.num_nodes = start.num_nodes
        self.edges = self._codes(start.edges[:, 0], start.edges[:, 1])
        self.last_neighbour = np.zeros(graph.num_nodes, dtype=np.int32)
        self.last_neighbour[graph.edges[:, 0]] = graph.edges[:, 1]
        self.last_neighbour[graph.edges[:, 1]] = graph.edges[:, 0]
        old_nodes = int(self.is_old.sum())
        old_edges = int(self.is_old_edge(graph.edges[:, 0], graph.edges[:, 1]).sum())
        self.cost = int(self.is_relabelled.sum()) + graph.size + start.size - 2 * (old_nodes + old_edges)

    def is_old_edge(self, first: IntArray, second: IntArray) -> BoolArray:
        """Whether two nodes of the graph were joined before."""
        both = self.is_old[first] & self.is_old[second]
        joined: BoolArray = both & np.isin(self._codes(self.place[first], self.place[second]), self.edges)
        return joined

    def _codes(self, first: npt.NDArray[np.integer], second: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
        """One number for each pair of nodes of the start."""
        low, high = np.minimum(first, second).astype(np.int64), np.maximum(first, second)
        codes: npt.NDArray[np.int64] = low * self.num_nodes + high
        return codes
