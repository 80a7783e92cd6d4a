"""Many graphs as one set of flat arrays, the form models and hashes work on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from comrecgc.graphs import graph_kernels
from comrecgc.graphs.graph import Graph, IntArray

LongArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, slots=True)
class GraphBatch:
    """Graphs laid end to end.

    Args:
        labels: Node labels of all graphs, `[N]`.
        edges: Each undirected edge once, as positions in `labels`, `[M, 2]`.
        node_ptr: Graph `g` owns nodes `node_ptr[g] … node_ptr[g+1]`, `[B+1]`.
        edge_ptr: Graph `g` owns edges `edge_ptr[g] … edge_ptr[g+1]`, `[B+1]`.
        edge_labels: Label of each edge, `[M]`, or None.
    """

    labels: IntArray
    edges: LongArray
    node_ptr: LongArray
    edge_ptr: LongArray
    edge_labels: IntArray | None = None

    @classmethod
    def from_graphs(cls, graphs: Iterable[Graph]) -> GraphBatch:
        graphs = list(graphs)
        if not graphs:
            empty = np.zeros(0, dtype=np.int32)
            return cls(empty, np.zeros((0, 2), dtype=np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64))
        node_ptr = pointers([graph.num_nodes for graph in graphs])
        edge_ptr = pointers([graph.num_edges for graph in graphs])
        edges = np.concatenate([graph.edges for graph in graphs]).astype(np.int64)
        edges += np.repeat(node_ptr[:-1], np.diff(edge_ptr))[:, None]
        edge_labels = [graph.edge_labels for graph in graphs]
        labelled = [labels for labels in edge_labels if labels is not None]
        return cls(
            np.concatenate([graph.labels for graph in graphs]),
            edges,
            node_ptr,
            edge_ptr,
            np.concatenate(labelled) if len(labelled) == len(graphs) else None,
        )

    @classmethod
    def joined(cls, batches: Sequence[GraphBatch]) -> GraphBatch:
        """The graphs of all batches, one batch after the other; edges have labels if all do."""
        if not batches:
            return cls.from_graphs([])
        first = pointers([len(batch.labels) for batch in batches])
        labelled = [batch.edge_labels for batch in batches if batch.edge_labels is not None]
        return cls(
            np.concatenate([batch.labels for batch in batches]),
            np.concatenate([batch.edges + start for batch, start in zip(batches, first, strict=False)]),
            pointers(np.concatenate([batch.node_counts() for batch in batches])),
            pointers(np.concatenate([batch.edge_counts() for batch in batches])),
            np.concatenate(labelled) if len(labelled) == len(batches) else None,
        )

    def __len__(self) -> int:
        return len(self.node_ptr) - 1

    def __getitem__(self, index: int) -> Graph:
        if not 0 <= index < len(self):
            raise IndexError(f"Batch index out of range (got {index} of {len(self)})")
        nodes = slice(self.node_ptr[index], self.node_ptr[index + 1])
        edges = slice(self.edge_ptr[index], self.edge_ptr[index + 1])
        edge_labels = None if self.edge_labels is None else self.edge_labels[edges]
        return Graph(self.labels[nodes], self.edges[edges] - self.node_ptr[index], edge_labels)

    def __iter__(self) -> Iterator[Graph]:
        return (self[index] for index in range(len(self)))

    def node_counts(self) -> LongArray:
        return np.diff(self.node_ptr)

    def edge_counts(self) -> LongArray:
        return np.diff(self.edge_ptr)

    def graph_of_node(self) -> LongArray:
        """Index of the graph each node belongs to, `[N]` (PyG's `batch` vector)."""
        return np.repeat(np.arange(len(self)), self.node_counts())

    def edge_index(self) -> LongArray:
        """Both directions of every edge, `[2, 2M]` (PyG's `edge_index`)."""
        forward = self.edges.T
        return np.concatenate([forward, forward[::-1]], axis=1)

    def select(self, indices: npt.ArrayLike) -> GraphBatch:
        """The graphs at the given indices, in that order, repeats included."""
        chosen = np.asarray(indices, dtype=np.int64)
        node_ptr, edge_ptr = pointers(self.node_counts()[chosen]), pointers(self.edge_counts()[chosen])
        nodes, edges = _runs(self.node_ptr[chosen], node_ptr), _runs(self.edge_ptr[chosen], edge_ptr)
        shift = np.repeat(node_ptr[:-1] - self.node_ptr[chosen], np.diff(edge_ptr))
        return GraphBatch(
            self.labels[nodes],
            self.edges[edges] + shift[:, None],
            node_ptr,
            edge_ptr,
            None if self.edge_labels is None else self.edge_labels[edges],
        )

    def chunks(self, max_nodes: int) -> Iterator[GraphBatch]:
        """Consecutive runs of graphs of at most `max_nodes` nodes each; a single larger graph comes alone."""
        start = 0
        while start < len(self):
            fitting = int(np.searchsorted(self.node_ptr, self.node_ptr[start] + max_nodes, side="right")) - 1
            stop = max(fitting, start + 1)
            yield self.select(np.arange(start, stop))
            start = stop


def grouped_neighbours(batch: GraphBatch) -> tuple[LongArray, LongArray]:
    """The neighbours of every node, node after node, `[2M]`, and where each node's begin, `[N+1]`."""
    neighbours, ptr = graph_kernels.group_neighbours(batch.edges, len(batch.labels))
    return neighbours, ptr


def _runs(starts: LongArray, ptr: LongArray) -> LongArray:
    """The integers of consecutive runs, run `g` being `starts[g], starts[g]+1, …`, as long as `ptr` says."""
    return np.arange(ptr[-1]) + np.repeat(starts - ptr[:-1], np.diff(ptr))


def pointers(counts: npt.ArrayLike) -> LongArray:
    """Where each run of the given lengths starts, and the end of the last: `[0, c0, c0+c1, …]`."""
    counts = np.asarray(counts, dtype=np.int64)
    ptr = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=ptr[1:])
    return ptr
