"""Many graphs as flat arrays: `GraphBatch`, the input of models and hashes, and `PackedGraphs` for more graphs than fit into memory.

A packed molecule of 20 atoms takes about 165 bytes of a file and 16 of memory, a `Graph` about a thousand. The files in `$TMPDIR` have no name, so
they vanish with the process.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import IO, Any, Self, overload

import numpy as np
import numpy.typing as npt

from comrecgc.errors import InputError
from comrecgc.graphs import graph_kernels
from comrecgc.graphs.graph import BoolArray, Graph, IntArray

LongArray = npt.NDArray[np.int64]

_LARGEST = np.iinfo(np.uint16).max  # node number and label that packed graphs can store
_BLOCK = 10_000  # packed graphs that are decoded together
_MOST_IN_MEMORY = 64 << 20  # bytes of an array of packed graphs; longer ones go to a file
MOST_UNPACKED = 60_000  # more graphs than this stay packed


@dataclass(frozen=True, eq=False, slots=True)
class GraphBatch:
    """Graphs laid end to end: graph `g` owns nodes `node_ptr[g] … node_ptr[g+1]` and edges `edge_ptr[g] … edge_ptr[g+1]`."""

    labels: IntArray  # of the nodes of all graphs, `[N]`
    edges: LongArray  # each undirected edge once, as positions in `labels`, `[M, 2]`
    node_ptr: LongArray  # `[B+1]`
    edge_ptr: LongArray  # `[B+1]`
    edge_labels: IntArray | None = None  # of each edge, `[M]`, or none
    ids: IntArray | None = None  # of each node, `[N]`; none where no graph has a source
    source: IntArray | int = -1  # `Graph.source` of each graph, `[B]`, or of all of them

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
            *cls._origins(graphs),
        )

    @classmethod
    def concatenate(cls, batches: Sequence[GraphBatch]) -> GraphBatch:
        """The graphs of several batches end to end; edge labels and ids must be present in all of them or in none."""
        if not batches:
            return cls.from_graphs([])
        first = pointers([len(batch.labels) for batch in batches])
        labelled = [batch.edge_labels for batch in batches if batch.edge_labels is not None]
        named = [batch.ids for batch in batches if batch.ids is not None]
        return cls(
            np.concatenate([batch.labels for batch in batches]),
            np.concatenate([batch.edges + start for batch, start in zip(batches, first[:-1].tolist(), strict=True)]),
            pointers(np.concatenate([batch.node_counts() for batch in batches])),
            pointers(np.concatenate([batch.edge_counts() for batch in batches])),
            np.concatenate(labelled) if labelled else None,
            np.concatenate(named) if named else None,
            np.concatenate([batch.sources() for batch in batches]).astype(np.int32) if named else -1,
        )

    @staticmethod
    def _origins(graphs: list[Graph]) -> tuple[IntArray | None, IntArray | int]:
        source = np.array([graph.source for graph in graphs], np.int32)
        return (None, -1) if source.max() < 0 else (np.concatenate([graph.ids for graph in graphs]), source)

    def sources(self) -> LongArray:
        """The source of each graph, `[B]`."""
        return np.broadcast_to(np.asarray(self.source, np.int64), len(self))

    def __len__(self) -> int:
        return len(self.node_ptr) - 1

    def __getitem__(self, index: int) -> Graph:
        if not 0 <= index < len(self):
            raise IndexError(f"Batch index out of range (got {index} of {len(self)})")
        nodes = slice(self.node_ptr[index], self.node_ptr[index + 1])
        edges = slice(self.edge_ptr[index], self.edge_ptr[index + 1])
        edge_labels = None if self.edge_labels is None else self.edge_labels[edges]
        graph = Graph(self.labels[nodes], self.edges[edges] - self.node_ptr[index], edge_labels)
        source = int(self.sources()[index])
        is_as_read = self.ids is not None and np.array_equal(self.ids[nodes], graph.ids)
        return graph.of_source(source) if is_as_read else graph

    def __iter__(self) -> Iterator[Graph]:
        return (self[index] for index in range(len(self)))

    def node_counts(self) -> LongArray:
        return np.diff(self.node_ptr)

    def edge_counts(self) -> LongArray:
        return np.diff(self.edge_ptr)

    def graph_of_node(self) -> LongArray:
        """Index of the graph each node belongs to, `[N]` (PyG's `batch` vector)."""
        return np.repeat(np.arange(len(self)), self.node_counts())

    def graphs_with(self, nodes: BoolArray) -> BoolArray:
        """Mask of the graphs that have a marked node, `[B]`."""
        return np.asarray(np.bincount(self.graph_of_node()[nodes], minlength=len(self)) > 0)

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
            None if self.ids is None else self.ids[nodes],
            -1 if self.ids is None else self.sources()[chosen].astype(np.int32),
        )

    def chunks(self, max_nodes: int) -> Iterator[GraphBatch]:
        """Consecutive runs of graphs of at most `max_nodes` nodes each; a single larger graph comes alone."""
        start = 0
        while start < len(self):
            fitting = int(np.searchsorted(self.node_ptr, self.node_ptr[start] + max_nodes, side="right")) - 1
            stop = max(fitting, start + 1)
            yield self.select(np.arange(start, stop))
            start = stop


@dataclass(frozen=True, eq=False, kw_only=True)
class PackedGraphs(Sequence[Graph]):
    """Graphs as flat arrays of small integers, in memory or in files; a `Graph` is made each time one is asked for."""

    labels: npt.NDArray[Any]  # stored node labels, `[N]`, as indices into `label_of`
    edges: npt.NDArray[Any]  # each undirected edge once, as positions within its graph, `[M, 2]`
    edge_labels: npt.NDArray[Any] | None  # stored ones, `[M]`, as indices into `edge_label_of`; none without labels
    node_ptr: LongArray  # where the nodes of each stored graph begin, `[S + 1]`
    edge_ptr: LongArray  # where the edges of each stored graph begin, `[S + 1]`
    rows: LongArray | None = None  # the stored graphs that belong to this sequence, `[B]`; none for all
    # The label that each stored one stands for.
    label_of: IntArray = field(default_factory=lambda: np.arange(_LARGEST + 1, dtype=np.int32))
    edge_label_of: IntArray = field(default_factory=lambda: np.arange(_LARGEST + 1, dtype=np.int32))

    def __len__(self) -> int:
        return len(self.node_ptr) - 1 if self.rows is None else len(self.rows)

    @overload
    def __getitem__(self, index: int) -> Graph: ...
    @overload
    def __getitem__(self, index: slice) -> PackedGraphs: ...
    def __getitem__(self, index: int | slice) -> Graph | PackedGraphs:
        if isinstance(index, slice):
            return self.subset(np.arange(len(self))[index])
        if not -len(self) <= index < len(self):
            raise IndexError(f"There are {len(self)} graphs (got {index})")
        return self.batch(index % len(self), index % len(self) + 1)[0]

    def __iter__(self) -> Iterator[Graph]:
        return (graph for batch in self.batches() for graph in batch)

    def subset(self, indices: npt.ArrayLike) -> PackedGraphs:
        """The graphs at the given indices, in that order."""
        chosen = np.asarray(indices, np.int64)
        return replace(self, rows=chosen if self.rows is None else self.rows[chosen])

    def unpack(self) -> Sequence[Graph]:
        """A tuple of the graphs, or these packed graphs where there are more than `MOST_UNPACKED`."""
        return self if len(self) > MOST_UNPACKED else tuple(self)

    def relabel(self, label_of: IntArray, edge_label_of: IntArray | None = None) -> PackedGraphs:
        """The same graphs with other labels: the new label of each node label, and of each edge label (None keeps them)."""
        edges = self.edge_label_of if edge_label_of is None else _compose(edge_label_of, self.edge_label_of)
        return replace(self, label_of=_compose(label_of, self.label_of), edge_label_of=edges)

    def batch(self, start: int, stop: int) -> GraphBatch:
        """The graphs with indices `start … stop - 1`."""
        rows = np.arange(start, stop) if self.rows is None else self.rows[start:stop]
        node_ptr = pointers(self.node_ptr[rows + 1] - self.node_ptr[rows])
        edge_ptr = pointers(self.edge_ptr[rows + 1] - self.edge_ptr[rows])
        nodes, edges = _runs(self.node_ptr[rows], node_ptr), _runs(self.edge_ptr[rows], edge_ptr)
        return GraphBatch(
            self.label_of[self.labels[nodes]],
            self.edges[edges].astype(np.int64) + np.repeat(node_ptr[:-1], np.diff(edge_ptr))[:, None],
            node_ptr,
            edge_ptr,
            None if self.edge_labels is None else self.edge_label_of[self.edge_labels[edges]],
        )

    def batches(self, size: int = _BLOCK) -> Iterator[GraphBatch]:
        """All graphs, in batches of at most `size`."""
        return (self.batch(start, min(start + size, len(self))) for start in range(0, len(self), size))

    @property
    def num_nodes(self) -> int:
        """Number of nodes of all graphs."""
        return int(self._counts(self.node_ptr).sum())

    @property
    def num_edges(self) -> int:
        """Number of edges of all graphs."""
        return int(self._counts(self.edge_ptr).sum())

    def _counts(self, ptr: LongArray) -> LongArray:
        return np.diff(ptr) if self.rows is None else np.diff(ptr)[self.rows]

    def fingerprint(self) -> str:
        """The value that `graphs.fingerprint` has for the same graphs as a list, computed batch after batch."""
        digest = hashlib.sha256()
        for batch in self.batches():
            digest.update(batch.labels.tobytes())
        first = 0
        for batch in self.batches():
            digest.update((batch.edges + first).tobytes())
            first += len(batch.labels)
        digest.update(pointers(self._counts(self.node_ptr)).tobytes())
        digest.update(pointers(self._counts(self.edge_ptr)).tobytes())
        for batch in self.batches():
            digest.update(b"" if batch.edge_labels is None else batch.edge_labels.tobytes())
        digest.update(b"none" if self.edge_labels is None or not len(self) else b"")
        return digest.hexdigest()[:16]


class GraphPacker:
    """Packs graphs batch after batch, few in memory, many in temporary files.

    A context manager: leaving it closes the files, whose contents stay for as long as packed graphs use them.
    """

    def __init__(self) -> None:
        self._files: dict[str, IO[bytes]] = {
            name: tempfile.SpooledTemporaryFile(_MOST_IN_MEMORY, prefix="comrecgc-")  # noqa: SIM115
            for name in ("labels", "edges", "edge_labels")
        }
        self._node_counts: list[LongArray] = []
        self._edge_counts: list[LongArray] = []
        self._has_edge_labels = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files.values():
            with suppress(OSError):  # a full disk was reported by the write before
                file.close()

    def add(self, batch: GraphBatch) -> None:
        """Pack some more graphs, of at most 65,536 nodes and labels each."""
        if not len(batch):
            return
        edges = batch.edges - np.repeat(batch.node_ptr[:-1], batch.edge_counts())[:, None]
        self._node_counts.append(batch.node_counts())
        self._edge_counts.append(batch.edge_counts())
        self._has_edge_labels &= batch.edge_labels is not None
        arrays = {"labels": batch.labels, "edges": edges, "edge_labels": batch.edge_labels}
        for name, array in arrays.items():
            if array is None:
                continue
            if array.size and int(array.max()) > _LARGEST:
                raise InputError(f"Nodes and labels of a graph must be at most {_LARGEST} (got {int(array.max())})")
            try:
                self._files[name].write(np.ascontiguousarray(array, dtype=np.uint16).tobytes())
            except OSError as error:
                raise _disk_error(error) from error

    def finish(self) -> PackedGraphs:
        """All graphs added; call it once, before the context is left."""
        node_ptr = pointers(np.concatenate([np.zeros(0, np.int64), *self._node_counts]))
        edge_ptr = pointers(np.concatenate([np.zeros(0, np.int64), *self._edge_counts]))
        return PackedGraphs(
            labels=self._array("labels", (int(node_ptr[-1]),)),
            edges=self._array("edges", (int(edge_ptr[-1]), 2)),
            edge_labels=self._array("edge_labels", (int(edge_ptr[-1]),)) if self._has_edge_labels else None,
            node_ptr=node_ptr,
            edge_ptr=edge_ptr,
        )

    def _array(self, name: str, shape: tuple[int, ...]) -> npt.NDArray[np.uint16]:
        file = self._files[name]
        try:
            size = file.tell()
            if size <= _MOST_IN_MEMORY:
                file.seek(0)
                return np.frombuffer(file.read(), np.uint16).reshape(shape)
            file.flush()
            return np.memmap(file, np.uint16, mode="r", shape=shape)
        except OSError as error:
            raise _disk_error(error) from error


def _compose(outer: IntArray, inner: IntArray) -> IntArray:
    """`outer[inner]`; stored labels that do not occur may lie beyond the end of `outer`."""
    return outer[np.minimum(inner, len(outer) - 1)].astype(np.int32) if len(outer) else inner


def _disk_error(error: OSError) -> InputError:
    return InputError(f"Cannot keep graphs in {tempfile.gettempdir()} ($TMPDIR): {error.strerror}")


def batched(graphs: Iterable[Graph], size: int = 4096) -> Iterator[GraphBatch]:
    """The graphs in batches of at most `size`."""
    left = iter(graphs)
    while part := list(islice(left, size)):
        yield GraphBatch.from_graphs(part)


def group_neighbours(batch: GraphBatch) -> tuple[LongArray, LongArray]:
    """The neighbours of every node, grouped by node, `[2M]`, and where each group begins, `[N+1]`."""
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


# Graph identity: a 64-bit Weisfeiler-Leman key, equal for isomorphic graphs whatever their node order.
#
# Colours start from the labels and are refined by the multiset of neighbours' colours until the number of colours no
# longer grows; the key hashes the multiset of colours one round later. Two graphs get the same key exactly when 1-WL
# cannot tell them apart (up to 64-bit chance). Such pairs exist (a 6-ring and two 3-rings, decalin and bicyclopentyl), but no
# message-passing network tells them apart either, so they share probability and embedding too. Edge labels do not count.
# Only integer arithmetic modulo 2^64 is used, so keys are the same in every process and on every platform.

KeyArray = npt.NDArray[np.uint64]


def graph_key(graph: Graph) -> int:
    """The key of one graph."""
    ends = np.array([0, graph.num_nodes]), np.array([0, graph.num_edges])
    return int(graph_kernels.graph_keys(graph.labels, graph.edges.astype(np.int64), *ends)[0])


def batch_keys(batch: GraphBatch) -> KeyArray:
    """The key of every graph of a batch, `[B]`."""
    return np.asarray(graph_kernels.graph_keys(batch.labels, batch.edges, batch.node_ptr, batch.edge_ptr))


def fingerprint(graphs: Iterable[Graph]) -> str:
    """A hash of a list of graphs; node order and edge labels count, since edits refer to both."""
    if isinstance(graphs, PackedGraphs):
        return graphs.fingerprint()
    batch = GraphBatch.from_graphs(graphs)
    digest = hashlib.sha256()
    for array in (batch.labels, batch.edges, batch.node_ptr, batch.edge_ptr, batch.edge_labels):
        digest.update(b"none" if array is None else np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]
