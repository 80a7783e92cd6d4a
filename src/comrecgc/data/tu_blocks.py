"""Reader of archives in the TU format that are too large to be held: block after block, into packed graphs.

Nodes are numbered graph by graph in this format. Here the rows of `NAME_A.txt` must come graph by graph too, as they do in the archives
of the collection, so that all files can be read side by side.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import IO

import numpy as np

from comrecgc.data import text_kernels
from comrecgc.data.archive import FileSet, reading_archive
from comrecgc.data.dataset import Repairs, merge_directions
from comrecgc.errors import InputError
from comrecgc.graphs import GraphBatch, GraphPacker, IntArray, LongArray, PackedGraphs, pointers

_CHUNK = 1 << 22  # bytes of a file that are read at once


@dataclass(frozen=True, eq=False, kw_only=True)
class PackedTU:
    """What the files of nodes and edges hold.

    Args:
        graphs: The graphs; labels are rows of `label_values` and `edge_label_values`.
        first: The first graphs, as a batch.
        label_values: Distinct node labels as the file has them, sorted, `[num_labels, components]`.
        edge_label_values: The same of edge labels, or None where there is no such file.
        repairs: What was not as it should be.
    """

    graphs: PackedGraphs
    first: GraphBatch
    label_values: LongArray
    edge_label_values: LongArray | None
    repairs: Repairs


def pack_tu(files: FileSet, name: str, num_graphs: int) -> PackedTU:
    """Read nodes and edges block after block.

    Args:
        files: The archive.
        name: The NAME its files begin with.
        num_graphs: How many graphs there must be.

    Raises:
        InputError: If a file is missing, damaged, or breaks a rule of the format; the file and row are named.
    """
    with ExitStack() as stack:
        return _pack(files, name, num_graphs, stack)


def _pack(files: FileSet, name: str, num_graphs: int, stack: ExitStack) -> PackedTU:
    indicator = _IntegerStream(stack, files, f"{name}_graph_indicator.txt")
    adjacency = _IntegerStream(stack, files, f"{name}_A.txt", columns=2)
    node_labels, edge_labels = (
        _IntegerStream(stack, files, file) if file in files else None
        for file in (f"{name}_node_labels.txt", f"{name}_edge_labels.txt")
    )
    nodes, edges, packer = _Alphabet(), _Alphabet(), GraphPacker(stack)
    first: GraphBatch | None = None
    repairs, done = Repairs(), 0  # graphs that are read
    while (graph := indicator.whole_graphs(done)) is not None:
        start, stop = indicator.taken - len(graph), indicator.taken
        labels = np.zeros(len(graph), np.int32)
        if node_labels is not None:
            labels = nodes.codes(node_labels.take(len(graph), "node"))
        node_ptr = pointers(np.bincount(graph - done - 1))
        pairs = adjacency.edges_within(start, stop, node_ptr)
        merged, first_row, edge_of_row, repaired = merge_directions(pairs, len(graph))
        repairs += repaired
        codes = None
        if edge_labels is not None:
            rows = edges.codes(edge_labels.take(len(pairs), f"line of {name}_A.txt"))
            for row in np.flatnonzero(rows != rows[first_row][edge_of_row])[:1].tolist():
                edge_labels.fail(row - len(pairs), "an edge must have one label (got another for the same edge before)")
            codes = rows[first_row]
        batch = GraphBatch(labels, merged, node_ptr, np.searchsorted(merged[:, 0], node_ptr), codes)
        packer.add(batch)
        first = batch if first is None else first
        done = int(graph[-1])
    if first is None:
        raise InputError(f"{indicator.where} must not be empty")
    if done != num_graphs:
        raise InputError(f"{indicator.where} must have nodes of {num_graphs} graphs, as there are classes (got {done})")
    for stream in (adjacency, node_labels, edge_labels):
        if stream is not None and not stream.is_over():
            raise InputError(
                f"{stream.where} must end with the last graph (got more rows from row {stream.taken + 1} on)"
            )
    graphs = packer.packed()
    label_of, label_values = nodes.sorted()
    edge_label_of, edge_label_values = edges.sorted()
    if node_labels is None:
        label_of, label_values = np.zeros(1, np.int32), np.zeros((1, 0), np.int64)
    return PackedTU(
        graphs=graphs.relabelled(label_of, edge_label_of),
        first=graphs.relabelled(label_of, edge_label_of).batch(0, len(first)),
        label_values=label_values,
        edge_label_values=None if edge_labels is None else edge_label_values,
        repairs=repairs,
    )


@dataclass(eq=False)
class _Alphabet:
    """Distinct rows of labels, in the order they were seen."""

    code_of: dict[tuple[int, ...], int] = field(default_factory=dict)

    def codes(self, rows: LongArray) -> IntArray:
        """Number of each row."""
        if rows.shape[1] == 1:
            values, index = np.unique(rows[:, 0], return_inverse=True)
            values = values[:, None]
        else:
            values, index = np.unique(rows, axis=0, return_inverse=True)
        codes = [self.code_of.setdefault(tuple(row), len(self.code_of)) for row in values.tolist()]
        return np.array(codes, np.int32)[index.reshape(-1)]

    def sorted(self) -> tuple[IntArray, LongArray]:
        """Rank of each number among the sorted rows, and these."""
        order = sorted(self.code_of)
        rank = np.zeros(len(order), np.int32)
        rank[[self.code_of[row] for row in order]] = np.arange(len(order))
        return rank, np.array(order, np.int64).reshape(len(order), -1)


class _IntegerStream:
    """Rows of comma-separated integers, read as they are needed."""

    def __init__(self, stack: ExitStack, files: FileSet, name: str, columns: int | None = None) -> None:
        self.where, self.taken = files.where(name), 0
        self._file: IO[bytes] = stack.enter_context(files.open(name))
        self._tail, self._columns, self._is_over = b"", columns, False
        self._rows: LongArray = np.zeros((0, columns or 1), np.int64)
        self._more()

    def _more(self) -> bool:
        """Read on; False at the end of the file."""
        if self._is_over:
            return False
        with reading_archive(self.where):
            chunk = self._file.read(_CHUNK)
        self._is_over = not chunk
        if not self.taken and not len(self._rows) and not self._tail:
            chunk = chunk.removeprefix(b"\xef\xbb\xbf")
        text = self._tail + chunk
        end = len(text) if self._is_over else text.rfind(b"\n") + 1
        text, self._tail = text[:end], text[end:]
        if self._columns is None and text.strip():
            self._columns = text.strip().split(b"\n", 1)[0].count(b",") + 1
            self._rows = np.zeros((0, self._columns), np.int64)
        rows, is_bad = text_kernels.parse_integers(np.frombuffer(text, np.uint8), self._columns or 1)
        self._rows = np.concatenate([self._rows, rows])
        if is_bad:
            self.fail(len(self._rows), f"must hold {self._columns} comma-separated integer(s)")
        return True

    def fail(self, row: int, rule: str) -> None:
        """Refuse a row, counted from the next one to be taken."""
        raise InputError(f"{self.where} row {self.taken + row + 1}: {rule}")

    def is_over(self) -> bool:
        """Whether there are no more rows."""
        while not len(self._rows) and self._more():
            pass
        return not len(self._rows)

    def take(self, count: int, what: str) -> LongArray:
        """The next rows."""
        while len(self._rows) < count and self._more():
            pass
        if len(self._rows) < count:
            raise InputError(f"{self.where} must have one line per {what} (got {self.taken + len(self._rows)} lines)")
        return self._cut(count)

    def _cut(self, count: int) -> LongArray:
        rows, self._rows = self._rows[:count], self._rows[count:]
        self.taken += count
        return rows

    def whole_graphs(self, done: int) -> LongArray | None:
        """Numbers of the graphs of the next nodes, up to the end of a graph; None where there are no more."""
        while True:
            graph = self._rows[:, 0]
            last = len(graph) if self._is_over else int(np.searchsorted(graph, graph[-1])) if len(graph) else 0
            if last or not self._more():
                break
        if not last:
            return None
        steps = np.diff(graph[:last], prepend=done)
        if steps[0] != 1:
            self.fail(0, f"graph numbers must start at 1 and never decrease (got {graph[0]} after {done})")
        for row in np.flatnonzero((steps < 0) | (steps > 1))[:1].tolist():
            if steps[row] > 1:
                self.fail(row, f"every graph needs a node (got none for graph {graph[row] - steps[row] + 1})")
            self.fail(row, f"graph numbers must start at 1 and never decrease (got {graph[row]})")
        return self._cut(last)[:, 0]

    def edges_within(self, start: int, stop: int, node_ptr: LongArray) -> LongArray:
        """The next edges, those between nodes from `start` up to `stop`, as places from 0."""
        beyond = np.zeros(0, np.int64)
        while not len(beyond):
            beyond = np.flatnonzero((self._rows > stop).any(axis=1))
            if not len(beyond) and not self._more():
                break
        pairs = self._rows[: beyond[0] if len(beyond) else None] - 1 - start
        for row in np.flatnonzero((pairs < 0).any(axis=1))[:1].tolist():
            got = f"(got {pairs[row, 0] + start + 1}, {pairs[row, 1] + start + 1})"
            self.fail(row, f"a large archive must list its edges graph by graph, nodes numbered from 1 {got}")
        for row in np.flatnonzero(pairs[:, 0] == pairs[:, 1])[:1].tolist():
            self.fail(row, f"self-loops are not allowed (got one at node {pairs[row, 0] + start + 1})")
        graph = np.searchsorted(node_ptr, pairs, side="right")
        for row in np.flatnonzero(graph[:, 0] != graph[:, 1])[:1].tolist():
            self.fail(row, "an edge must join two nodes of one graph")
        self._cut(len(pairs))
        return pairs


def most_bytes(files: FileSet, name: str) -> int:
    """Size of the files of nodes and edges, unpacked."""
    parts = ("_A.txt", "_graph_indicator.txt", "_node_labels.txt", "_edge_labels.txt")
    return sum(files.size(f"{name}{part}") for part in parts if f"{name}{part}" in files)
