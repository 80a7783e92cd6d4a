"""More graphs than memory has room for: small integers in files, from which a graph is made whenever it is asked for.

A molecule of 20 atoms takes about 165 bytes of a file and 16 of memory, a `Graph` about a thousand. The files have no name: whatever
happens to the process, nothing is left behind. They lie where `$TMPDIR` says.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from typing import IO, Any, overload

import numpy as np
import numpy.typing as npt

from comrecgc.errors import InputError
from comrecgc.graphs.batch import GraphBatch, LongArray, pointers
from comrecgc.graphs.graph import Graph, IntArray

_LARGEST = np.iinfo(np.uint16).max  # node of a graph, and label
_BLOCK = 10_000  # graphs that are looked at together


@dataclass(frozen=True, eq=False, kw_only=True)
class PackedGraphs(Sequence[Graph]):
    """Graphs as flat arrays of small integers, in memory or in files.

    Args:
        labels: Node labels, `[N]`, as places in `label_of`.
        edges: Each undirected edge once, as positions within its graph, `[M, 2]`.
        edge_labels: Edge labels, `[M]`, as places in `edge_label_of`; None where there are none.
        node_ptr: Where the nodes of each stored graph begin, `[S + 1]`.
        edge_ptr: The same of edges.
        rows: Which stored graphs there are here, `[B]`; None for all.
        label_of: What each stored label means.
        edge_label_of: The same of edge labels.
    """

    labels: npt.NDArray[Any]
    edges: npt.NDArray[Any]
    edge_labels: npt.NDArray[Any] | None
    node_ptr: LongArray
    edge_ptr: LongArray
    rows: LongArray | None = None
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

    def relabelled(self, label_of: IntArray, edge_label_of: IntArray | None = None) -> PackedGraphs:
        """The same graphs with other labels: what each label, and each edge label, becomes."""
        edges = self.edge_label_of if edge_label_of is None else _composed(edge_label_of, self.edge_label_of)
        return replace(self, label_of=_composed(label_of, self.label_of), edge_label_of=edges)

    def batch(self, start: int, stop: int) -> GraphBatch:
        """The graphs from one index up to another."""
        if self.rows is not None:
            rows = self.rows[start:stop]
            if len(rows) and not np.array_equal(rows, np.arange(rows[0], rows[0] + len(rows))):
                return self._picked(rows)
            start = int(rows[0]) if len(rows) else 0
            stop = start + len(rows)
        nodes, edges = slice(*self.node_ptr[[start, stop]]), slice(*self.edge_ptr[[start, stop]])
        node_ptr = self.node_ptr[start : stop + 1] - self.node_ptr[start]
        edge_ptr = self.edge_ptr[start : stop + 1] - self.edge_ptr[start]
        return GraphBatch(
            self.label_of[self.labels[nodes]],
            self.edges[edges].astype(np.int64) + np.repeat(node_ptr[:-1], np.diff(edge_ptr))[:, None],
            node_ptr,
            edge_ptr,
            None if self.edge_labels is None else self.edge_label_of[self.edge_labels[edges]],
        )

    def _picked(self, rows: LongArray) -> GraphBatch:
        """Stored graphs that do not follow each other."""
        return GraphBatch.joined([replace(self, rows=None).batch(row, row + 1) for row in rows.tolist()])

    def batches(self, size: int = _BLOCK) -> Iterator[GraphBatch]:
        """All graphs, so many at a time."""
        return (self.batch(start, min(start + size, len(self))) for start in range(0, len(self), size))

    @property
    def num_nodes(self) -> int:
        """Nodes of all graphs."""
        return int(self._counts(self.node_ptr).sum())

    @property
    def num_edges(self) -> int:
        """Edges of all graphs."""
        return int(self._counts(self.edge_ptr).sum())

    def _counts(self, ptr: LongArray) -> LongArray:
        return np.diff(ptr) if self.rows is None else np.diff(ptr)[self.rows]

    def fingerprint(self) -> str:
        """What `graphs.fingerprint` says of the same graphs, without holding them all."""
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
    """Takes graphs block after block and keeps them in files.

    Args:
        stack: Closes the files, which stay as long as packed graphs need them.
    """

    def __init__(self, stack: ExitStack) -> None:
        names = ("labels", "edges", "edge_labels")
        self._files: dict[str, IO[bytes]] = {name: _new_file() for name in names}
        for file in self._files.values():
            stack.callback(_close, file)
        self._node_counts: list[LongArray] = []
        self._edge_counts: list[LongArray] = []
        self._labelled = True

    def add(self, batch: GraphBatch) -> None:
        """Keep some more graphs, of at most 65,536 nodes and labels each."""
        edges = batch.edges - np.repeat(batch.node_ptr[:-1], batch.edge_counts())[:, None]
        self._node_counts.append(batch.node_counts())
        self._edge_counts.append(batch.edge_counts())
        self._labelled &= batch.edge_labels is not None
        arrays = {"labels": batch.labels, "edges": edges, "edge_labels": batch.edge_labels}
        for name, array in arrays.items():
            if array is None:
                continue
            if array.size and int(array.max()) > _LARGEST:
                raise InputError(f"Many graphs may have nodes and labels up to {_LARGEST} (got {int(array.max())})")
            try:
                self._files[name].write(np.ascontiguousarray(array, dtype=np.uint16).tobytes())
            except OSError as error:
                raise _no_room(error) from error

    def packed(self) -> PackedGraphs:
        """All graphs so far; no more can be added."""
        node_ptr = pointers(np.concatenate([np.zeros(0, np.int64), *self._node_counts]))
        edge_ptr = pointers(np.concatenate([np.zeros(0, np.int64), *self._edge_counts]))
        return PackedGraphs(
            labels=_mapped(self._files["labels"], (int(node_ptr[-1]),)),
            edges=_mapped(self._files["edges"], (int(edge_ptr[-1]), 2)),
            edge_labels=_mapped(self._files["edge_labels"], (int(edge_ptr[-1]),)) if self._labelled else None,
            node_ptr=node_ptr,
            edge_ptr=edge_ptr,
        )


def _composed(outer: IntArray, inner: IntArray) -> IntArray:
    """What each stored label becomes; labels that do not occur become anything."""
    if not len(outer):
        return inner
    return outer[np.minimum(inner, len(outer) - 1)].astype(np.int32)


def _new_file() -> IO[bytes]:
    try:
        return tempfile.TemporaryFile(prefix="comrecgc-")
    except OSError as error:
        raise _no_room(error) from error


def _close(file: IO[bytes]) -> None:
    with suppress(OSError):  # a disk that is full was told before
        file.close()


def _mapped(file: IO[bytes], shape: tuple[int, ...]) -> npt.NDArray[np.uint16]:
    try:
        file.flush()
    except OSError as error:
        raise _no_room(error) from error
    if 0 in shape:
        return np.zeros(shape, np.uint16)
    return np.memmap(file, np.uint16, mode="r", shape=shape)


def _no_room(error: OSError) -> InputError:
    return InputError(f"Graphs are kept in {tempfile.gettempdir()}, or where $TMPDIR says: {error.strerror}")
