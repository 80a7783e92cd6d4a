"""Counts of neighbourhoods: what models that are no networks see of a labelled graph.

The neighbourhood of a node at radius r is its label and, edge labels included, the neighbourhoods of its neighbours at radius r − 1 (Weisfeiler-Lehman;
for molecules these are Morgan's). A graph becomes the numbers of its nodes that have each neighbourhood, and its size: what no neighbourhood shows, such as the number
of rings, is in that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from comrecgc.graphs import GraphBatch, KeyArray

MOST_COLUMNS = 1024
"""Neighbourhoods that are counted, at most: those that the most graphs have."""

LEAST_GRAPHS = 2
"""Graphs that must have a neighbourhood for it to be counted."""


@dataclass(frozen=True, eq=False, kw_only=True)
class NeighbourhoodCounts:
    """The neighbourhoods of some graphs, to be counted in others.

    Args:
        colours: Hash of every neighbourhood that is counted, `[C]`, increasing; hashes of different radii differ.
        radius: Largest radius.
    """

    colours: KeyArray
    radius: int

    @classmethod
    def of(cls, batch: GraphBatch, radius: int) -> NeighbourhoodCounts:
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
        return cls(colours=np.sort(colours[common]), radius=radius)

    def count(self, batch: GraphBatch) -> npt.NDArray[np.float32]:
        """How many nodes of each graph have each neighbourhood; nodes, edges and how many more edges than nodes there are, `[B, C + 3]`."""
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
        return np.concatenate([table.reshape(len(batch), num), size], axis=1)


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
