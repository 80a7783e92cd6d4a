"""Counts of neighbourhoods: what models that are no networks see of a labelled graph.

The neighbourhood of a node at radius r is its label and, edge labels included, the neighbourhoods of its neighbours at radius r − 1 (Weisfeiler-Lehman;
for molecules these are Morgan's). A graph becomes the numbers of its nodes that have each neighbourhood, and its size: what no neighbourhood shows, such as the number
of rings, is in that. Where labels say nothing of rings, as those of molecules do, the sizes of rings are counted too: no neighbourhood tells a house from a five-cycle and a triangle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numba
import numpy as np
import numpy.typing as npt

from comrecgc.graphs import GraphBatch, KeyArray, group_neighbours

MOST_COLUMNS = 1024
"""Neighbourhoods that are counted, at most: those that the most graphs have."""

RINGS = range(3, 9)
"""Sizes of rings that are counted."""

LEAST_GRAPHS = 2
"""Graphs that must have a neighbourhood for it to be counted."""


@dataclass(frozen=True, eq=False, kw_only=True)
class NeighbourhoodCounts:
    """The neighbourhoods of some graphs, to be counted in others."""

    colours: KeyArray  # hash of each counted neighbourhood, `[C]`, increasing; radii have different hashes
    radius: int  # largest radius
    rings: bool = False  # whether nodes are counted by the smallest ring that they are part of, too

    @classmethod
    def of(cls, batch: GraphBatch, radius: int, *, rings: bool = False) -> NeighbourhoodCounts:
        """The neighbourhoods that several graphs of a batch have."""
        found, graphs = [], []
        graph_of_node = batch.graph_of_node()
        for colours in node_colours(batch, radius):
            order = np.lexsort((graph_of_node, colours))
            sorted_colours, owners = colours[order], graph_of_node[order]
            new = np.ones(len(order), bool)
            new[1:] = (np.diff(owners) != 0) | (sorted_colours[1:] != sorted_colours[:-1])
            known, count = np.unique(sorted_colours[new], return_counts=True)
            found.append(known[count >= LEAST_GRAPHS])
            graphs.append(count[count >= LEAST_GRAPHS])
        colours, count = np.concatenate(found), np.concatenate(graphs)
        common = np.lexsort((colours, -count))[:MOST_COLUMNS]
        return cls(colours=np.sort(colours[common]), radius=radius, rings=rings)

    def count(self, batch: GraphBatch) -> npt.NDArray[np.float32]:
        """How many nodes of each graph have each neighbourhood, and are part of rings; nodes, edges and how many more edges than nodes there are, `[B, C + 3]`."""
        num, graph_of_node = len(self.colours), batch.graph_of_node()
        table = np.zeros(len(batch) * num, np.float32)
        nodes, edges = batch.node_counts(), batch.edge_counts()
        size = np.stack([nodes, edges, edges - nodes], axis=1).astype(np.float32)
        for colours in node_colours(batch, self.radius):
            if not num:
                break
            place = np.minimum(np.searchsorted(self.colours, colours), num - 1)
            known = self.colours[place] == colours
            cells = graph_of_node[known] * num + place[known]
            table += np.bincount(cells, minlength=len(table)).astype(np.float32)
        parts = [table.reshape(len(batch), num), size]
        if self.rings:
            of_node = smallest_rings(*group_neighbours(batch), RINGS[-1])
            of_ring = [np.bincount(graph_of_node[of_node == ring], minlength=len(batch)) for ring in RINGS]
            parts.insert(1, np.stack(of_ring, axis=1).astype(np.float32))
        return np.concatenate(parts, axis=1)


class Likeness:
    """How alike graphs are: shared neighbourhoods of radius 0 to 2, each counted once, by all that either has (Tanimoto).

    Args:
        batch: The graphs.
    """

    def __init__(self, batch: GraphBatch) -> None:
        from scipy.sparse import csr_matrix

        owner = np.tile(batch.graph_of_node(), 3)
        _, column = np.unique(np.concatenate(list(node_colours(batch, 2))), return_inverse=True)
        self._sets = csr_matrix((np.ones(len(owner), np.float32), (owner, column)), (len(batch), column.max() + 1))
        self._sets.data[:] = 1
        self._sizes = np.diff(self._sets.indptr)

    def between(self, first: npt.NDArray[np.int64], second: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Likeness of some graphs to others, by their places, `[F, S]`."""
        shared = (self._sets[first] @ self._sets[second].T).toarray().astype(np.float64)
        return np.asarray(shared / (self._sizes[first][:, None] + self._sizes[second][None] - shared))


def node_colours(batch: GraphBatch, radius: int) -> Sequence[KeyArray]:
    """Hash of the neighbourhood of every node at radius 0, 1, …, `[N]` each.

    Sums of mixed hashes stand for multisets, so the order of nodes and edges does not matter. All arithmetic is modulo 2^64.
    """
    start, stop = batch.edges.T
    labels = np.zeros(len(start), np.int32) if batch.edge_labels is None else batch.edge_labels
    edge = mixed_keys(labels.astype(np.uint64) + np.uint64(1) << np.uint64(32))
    colours = [mixed_keys(batch.labels.astype(np.uint64) + np.uint64(1))]
    for step in range(1, radius + 1):
        known, total = colours[-1], np.zeros(len(batch.labels), np.uint64)
        np.add.at(total, start, mixed_keys(known[stop] ^ edge))
        np.add.at(total, stop, mixed_keys(known[start] ^ edge))
        colours.append(mixed_keys(known * np.uint64(3) + mixed_keys(total) + np.uint64(step)))
    return colours


def mixed_keys(values: KeyArray) -> KeyArray:
    """The finaliser of SplitMix64: every bit of the result depends on every bit of the value."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: KeyArray = values ^ (values >> np.uint64(31))
    return mixed


@numba.njit(cache=True)
def smallest_rings(neighbours, ptr, most):  # type: ignore[no-untyped-def]
    """Nodes of the smallest ring that each node is part of, `[N]`; 0 for none of up to `most` nodes.

    From each node all others are reached by breadth; where two ways that left by different neighbours meet, a ring closes.
    """
    num = len(ptr) - 1
    found = np.zeros(num, np.int32)
    seen, depth, branch, parent = (
        np.full(num, -1),
        np.zeros(num, np.int64),
        np.zeros(num, np.int64),
        np.zeros(num, np.int64),
    )
    queue = np.empty(num, np.int64)
    for root in range(num):
        best, head, tail = most + 1, 0, 1
        queue[0], seen[root], depth[root], parent[root] = root, root, 0, -1
        while head < tail:
            node = queue[head]
            head += 1
            if 2 * depth[node] + 1 >= best:
                break
            for k in range(ptr[node], ptr[node + 1]):
                other = neighbours[k]
                if other == parent[node]:
                    continue
                if seen[other] != root:
                    seen[other], depth[other], parent[other] = root, depth[node] + 1, node
                    branch[other] = other if node == root else branch[node]
                    queue[tail] = other
                    tail += 1
                elif other != root and branch[other] != branch[node]:
                    best = min(best, depth[node] + depth[other] + 1)
        found[root] = best if best <= most else 0
    return found
