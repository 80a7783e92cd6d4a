"""Reader of the TU Dortmund format: a folder or zip archive of text files named `NAME_A.txt`, `NAME_graph_labels.txt` …

Every row is checked before anything is built from it. What is certainly a mistake is refused with the file and line;
what has one plain meaning (an edge listed twice, or in one direction only) is repaired and noted.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from comrecgc.data.archive import FileSet, open_files, reading_archive
from comrecgc.data.dataset import merge_directions
from comrecgc.data.tu_blocks import most_bytes, pack_tu
from comrecgc.errors import InputError
from comrecgc.graphs import GraphBatch, IntArray, LongArray, PackedGraphs, pointers

IN_BLOCKS = 256 << 20
"""Archives whose files of nodes and edges have more bytes than this are read block after block."""

_ADJACENCY = "_A.txt"
_INTEGER = re.compile(rb"[+-]?[0-9]{1,18}")
# Either a file of its own says how labels were converted, or the archive's README lists them below a heading.
_SECTION = re.compile(r"^(node|edge|class|graph) labels(?: were converted.*|\s*:)$", re.IGNORECASE)
_ATTRIBUTES = re.compile(r"^\s*node attributes:\s*\[(.*)\]\s*$", re.IGNORECASE | re.MULTILINE)
_COMPONENT = re.compile(r"^component\s+(\d+)", re.IGNORECASE)
_VALUE_FIRST = re.compile(r"^(-?\d+)\s+(\S+)$")
_NAME_FIRST = re.compile(r"^(\S+)\s+(-?\d+)$")


@dataclass(frozen=True, kw_only=True)
class LabelMaps:
    """Names of integer labels; empty where the archive gives none.

    Args:
        nodes: Name of each value, one mapping for each component (column) of the node labels.
        edges: The same of edge labels.
        classes: Name of each class.
        attributes: Name of each node attribute.
    """

    nodes: tuple[Mapping[int, str], ...] = ()
    edges: tuple[Mapping[int, str], ...] = ()
    classes: Mapping[int, str] = field(default_factory=dict)
    attributes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class TUData:
    """A TU dataset as it stands in the files, checked.

    Args:
        name: The NAME its files begin with.
        batch: All graphs, or the first ones where they are packed; node and edge labels are rows of `label_values` and `edge_label_values`.
        targets: Class of each graph as the file has it, or its number where numbers were asked for, `[B]`.
        label_values: Distinct node labels as the file has them, sorted, `[num_labels, components]`; one row of zero
            columns where there is no file of node labels.
        edge_label_values: The same of edge labels, or None where there is no such file.
        attributes: Numbers at the nodes, `[N, columns]`, without rows where they are not read; no columns where there is no such file.
        maps: What the archive says its labels mean.
        notes: What was repaired, one sentence each.
        packed: All graphs, where they are too many to be held.
    """

    name: str
    batch: GraphBatch
    targets: npt.NDArray[Any]
    label_values: LongArray
    edge_label_values: LongArray | None = None
    attributes: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 0)))
    maps: LabelMaps = field(default_factory=LabelMaps)
    notes: tuple[str, ...] = ()
    packed: PackedGraphs | None = None

    def batches(self) -> Iterable[GraphBatch]:
        """All graphs, in one batch or several."""
        return [self.batch] if self.packed is None else self.packed.batches()


def read_tu(path: str | Path, name: str | None = None, *, numbers: bool = False, attributes: bool = False) -> TUData:
    """Read a dataset in the TU format; block after block where its files are large (`IN_BLOCKS`).

    Args:
        path: Folder or zip archive with the files.
        name: The NAME its files begin with, in any case; needed where there are several datasets.
        numbers: Whether targets are numbers, from the first column of `NAME_graph_attributes.txt`, and not classes.
        attributes: Whether numbers at the nodes are read; otherwise they are only counted.

    Raises:
        InputError: If a file is missing, damaged, or breaks a rule of the format; the file and line are named.
    """
    files = open_files(Path(path))
    name = _dataset_name(files, name or files.path.stem)
    if most_bytes(files, name) > IN_BLOCKS:
        return _read_in_blocks(files, name, numbers=numbers, attributes=attributes)
    node_ptr, targets = _read_graphs(files, name, numbers=numbers)
    labels, label_values = _read_node_labels(files, name, int(node_ptr[-1]))
    adjacency = _IntegerFile.read(files, f"{name}{_ADJACENCY}", columns=2, may_be_empty=True)
    _check_edges(adjacency, node_ptr)
    edges, first_row, edge_of_row, repairs = merge_directions(adjacency.rows - 1, int(node_ptr[-1]))
    edge_labels, edge_label_values = _read_edge_labels(files, name, first_row, edge_of_row)
    edge_ptr = np.searchsorted(edges[:, 0], node_ptr)  # edges are sorted by their first node, nodes by their graph
    return TUData(
        name=name,
        batch=GraphBatch(labels, edges, node_ptr, edge_ptr, edge_labels),
        targets=targets,
        label_values=label_values,
        edge_label_values=edge_label_values,
        attributes=_read_attributes(files, name, int(node_ptr[-1]) if attributes else None),
        maps=_read_maps(files, name),
        notes=repairs.notes,
    )


def _read_in_blocks(files: FileSet, name: str, *, numbers: bool, attributes: bool) -> TUData:
    if attributes:
        raise InputError(f"Node attributes are read of archives up to {IN_BLOCKS >> 20} MB (got {files.path})")
    targets = _read_targets(files, name, numbers=numbers)
    packed = pack_tu(files, name, len(targets.rows))
    return TUData(
        name=name,
        batch=packed.first,
        targets=targets.rows[:, 0],
        label_values=packed.label_values,
        edge_label_values=packed.edge_label_values,
        attributes=_read_attributes(files, name, None),
        maps=_read_maps(files, name),
        notes=packed.repairs.notes,
        packed=packed.graphs,
    )


@dataclass(frozen=True, eq=False)
class _NumberFile:
    """A file of comma-separated numbers: `rows` is `[lines, columns]`."""

    where: str
    rows: npt.NDArray[np.float64]

    @classmethod
    def read(cls, files: FileSet, name: str) -> _NumberFile:
        text, where = files.read(name).removeprefix(b"\xef\xbb\xbf"), files.where(name)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # numpy only warns of an empty file
                rows = np.loadtxt(io.BytesIO(text), dtype=np.float64, delimiter=",", ndmin=2, comments=None)
        except (ValueError, OverflowError, UserWarning, UnicodeDecodeError) as error:
            reason = " ".join(str(error).split())[:120]
            raise InputError(f"{where} must hold as many comma-separated numbers in every line ({reason})") from error
        if not np.isfinite(rows).all():
            raise InputError(f"{where} must hold finite numbers (got {rows[~np.isfinite(rows)][0]})")
        return cls(where, rows)

    def check_length(self, expected: int, what: str) -> None:
        if len(self.rows) != expected:
            raise InputError(f"{self.where} must have one line per {what}, {expected} (got {len(self.rows)})")


@dataclass(frozen=True, eq=False)
class _IntegerFile:
    """A file of comma-separated integers: `rows` is `[lines, columns]`, blank lines left out."""

    where: str
    text: bytes
    rows: LongArray

    @classmethod
    def read(cls, files: FileSet, name: str, *, columns: int | None = None, may_be_empty: bool = False) -> _IntegerFile:
        text = files.read(name).removeprefix(b"\xef\xbb\xbf")
        where = files.where(name)
        if not text.strip():
            if may_be_empty and columns is not None:
                return cls(where, text, np.zeros((0, columns), dtype=np.int64))
            raise InputError(f"{where} must not be empty")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # numpy only warns where it reads 1.5 as 1
                rows = np.loadtxt(io.BytesIO(text), dtype=np.int64, delimiter=",", ndmin=2, comments=None)
        except (ValueError, OverflowError, DeprecationWarning, UnicodeDecodeError) as error:
            raise _first_bad_line(where, text, columns) from error
        if columns is not None and rows.shape[1] != columns:
            raise _first_bad_line(where, text, columns)
        return cls(where, text, rows)

    def fail(self, row: int, rule: str) -> NoReturn:
        """Refuse a row, naming its line."""
        lines = [number for number, line in enumerate(self.text.split(b"\n"), start=1) if line.strip()]
        raise InputError(f"{self.where} line {lines[row]}: {rule}")

    def check_length(self, expected: int, what: str) -> None:
        if len(self.rows) != expected:
            raise InputError(f"{self.where} must have one line per {what}, {expected} (got {len(self.rows)})")


def _first_bad_line(where: str, text: bytes, columns: int | None) -> InputError:
    for number, line in enumerate(text.split(b"\n"), start=1):
        if not line.strip():
            continue
        tokens = [token.strip() for token in line.split(b",")]
        columns = len(tokens) if columns is None else columns
        wrong = [token for token in tokens if not _INTEGER.fullmatch(token)]
        if wrong or len(tokens) != columns:
            got = (wrong[0] if wrong else line.strip()).decode("ascii", "backslashreplace")[:40]
            return InputError(f"{where} line {number}: must hold {columns} comma-separated integer(s) (got {got!r})")
    return InputError(f"{where} must hold comma-separated integers")


def _dataset_name(files: FileSet, wanted: str) -> str:
    names = sorted(name.removesuffix(_ADJACENCY) for name in files.members if name.endswith(_ADJACENCY))
    own = [name for name in names if name.lower() == wanted.lower()]
    if len(own or names) != 1:
        rule = "must hold one dataset in the TU format, with files NAME_A.txt, NAME_graph_indicator.txt, …"
        raise InputError(f"{files.path} {rule} (got {', '.join(names)[:80] or 'no file ending in _A.txt'})")
    return (own or names)[0]


def _read_graphs(files: FileSet, name: str, *, numbers: bool) -> tuple[LongArray, npt.NDArray[Any]]:
    """Node pointers `[B+1]` and raw class, or number, `[B]` of each graph."""
    indicator = _IntegerFile.read(files, f"{name}_graph_indicator.txt", columns=1)
    targets = _read_targets(files, name, numbers=numbers)
    graph = indicator.rows[:, 0]
    steps = np.diff(graph, prepend=0)
    for row in np.flatnonzero((steps < 0) | (steps > 1) | (graph < 1))[:1].tolist():
        if graph[row] > 0 and steps[row] > 1:
            indicator.fail(row, f"every graph needs a node (got none for graph {graph[row] - steps[row] + 1})")
        indicator.fail(row, f"graph numbers must start at 1 and never decrease (got {graph[row]})")
    if graph[-1] < len(targets.rows):
        rule = f"every graph needs a node (got none for graph {graph[-1] + 1})"
        raise InputError(f"{indicator.where}: {rule}; {targets.where} has {len(targets.rows)} graphs")
    targets.check_length(int(graph[-1]), "graph")
    return pointers(np.bincount(graph - 1)), targets.rows[:, 0]


def _read_targets(files: FileSet, name: str, *, numbers: bool) -> _IntegerFile | _NumberFile:
    labels, values = f"{name}_graph_labels.txt", f"{name}_graph_attributes.txt"
    if labels not in files and values in files and not numbers:
        raise InputError(
            f"{files.path} has numbers and no classes: threshold must say from where they are high (got none)"
        )
    return _NumberFile.read(files, values) if numbers else _IntegerFile.read(files, labels, columns=1)


def _read_node_labels(files: FileSet, name: str, num_nodes: int) -> tuple[IntArray, LongArray]:
    if f"{name}_node_labels.txt" not in files:
        return np.zeros(num_nodes, dtype=np.int32), np.zeros((1, 0), dtype=np.int64)
    table = _IntegerFile.read(files, f"{name}_node_labels.txt")
    table.check_length(num_nodes, "node")
    return _distinct_rows(table.rows)


def _read_attributes(files: FileSet, name: str, num_nodes: int | None) -> npt.NDArray[np.float64]:
    file = f"{name}_node_attributes.txt"
    if file not in files:
        return np.zeros((num_nodes or 0, 0))
    if num_nodes is None:  # what is not used may be damaged
        with files.open(file) as lines, reading_archive(files.where(file)):
            return np.zeros((0, lines.readline().count(b",") + 1))
    table = _NumberFile.read(files, file)
    table.check_length(num_nodes, "node")
    return table.rows


def _read_maps(files: FileSet, name: str) -> LabelMaps:
    """What the readme of the labels says, or the archive's own README."""
    for readme in (f"{name}_label_readme.txt", "README.txt", "readme.txt", "README.md", f"{name}_README.txt"):
        if readme in files and (maps := parse_label_maps(files.read(readme))) != LabelMaps():
            return maps
    return LabelMaps()


def _read_edge_labels(
    files: FileSet, name: str, first_row: LongArray, edge_of_row: LongArray
) -> tuple[IntArray | None, LongArray | None]:
    if f"{name}_edge_labels.txt" not in files:
        return None, None
    table = _IntegerFile.read(
        files, f"{name}_edge_labels.txt", columns=None if len(edge_of_row) else 1, may_be_empty=True
    )
    table.check_length(len(edge_of_row), f"line of {name}{_ADJACENCY}")
    labels, values = _distinct_rows(table.rows)
    for row in np.flatnonzero(labels != labels[first_row][edge_of_row])[:1].tolist():
        earlier = first_row[edge_of_row[row]] + 1
        table.fail(row, f"an edge must have one label (got another for the same edge in row {earlier})")
    return labels[first_row], values


def _distinct_rows(rows: LongArray) -> tuple[IntArray, LongArray]:
    """Each row as an index into the sorted distinct rows, and those."""
    if rows.shape[1] == 1:  # much faster than by axis
        values, index = np.unique(rows[:, 0], return_inverse=True)
        return index.astype(np.int32), values[:, None]
    values, index = np.unique(rows, axis=0, return_inverse=True)
    return index.reshape(-1).astype(np.int32), values


def _check_edges(adjacency: _IntegerFile, node_ptr: LongArray) -> None:
    pairs, num_nodes = adjacency.rows, int(node_ptr[-1])
    for row in np.flatnonzero(((pairs < 1) | (pairs > num_nodes)).any(axis=1))[:1].tolist():
        adjacency.fail(row, f"nodes must lie in 1…{num_nodes} (got {pairs[row, 0]}, {pairs[row, 1]})")
    for row in np.flatnonzero(pairs[:, 0] == pairs[:, 1])[:1].tolist():
        adjacency.fail(row, f"self-loops are not allowed (got one at node {pairs[row, 0]})")
    graph = np.searchsorted(node_ptr, pairs - 1, side="right")
    for row in np.flatnonzero(graph[:, 0] != graph[:, 1])[:1].tolist():
        rule = "an edge must join two nodes of one graph"
        adjacency.fail(row, f"{rule} (got nodes of graphs {graph[row, 0]} and {graph[row, 1]})")


def parse_label_maps(text: bytes) -> LabelMaps:
    """The maps in a readme.

    The collection writes rows as `0  C` in some archives and as `C 0` in others; a row of two integers is read the
    first way. Anything that is not understood is left out: names only serve reading.

    Args:
        text: Contents of `NAME_label_readme.txt` or of `README.txt`.
    """
    maps: dict[str, list[dict[int, str]]] = {"node": [], "edge": [], "class": []}
    section: str | None = None
    for raw in text.decode("utf-8", "replace").splitlines():
        line = raw.strip()
        if match := _SECTION.match(line):
            section = {"graph": "class"}.get(match[1].lower(), match[1].lower())
            maps[section] = [{}]
        elif line.startswith("==="):
            section = None
        elif section and (match := _COMPONENT.match(line)):
            maps[section].extend({} for _ in range(int(match[1][:2]) + 1 - len(maps[section])))
        elif section and (match := _VALUE_FIRST.match(line)):
            maps[section][-1].setdefault(int(match[1][:18]), match[2])
        elif section and (match := _NAME_FIRST.match(line)):
            maps[section][-1].setdefault(int(match[2][:18]), match[1])
    nodes, edges, classes = (tuple(maps[key]) if any(maps[key]) else () for key in ("node", "edge", "class"))
    named = _ATTRIBUTES.search(text.decode("utf-8", "replace"))
    attributes = tuple(name.strip() for name in named[1].split(",")) if named else ()
    return LabelMaps(nodes=nodes, edges=edges, classes=classes[0] if classes else {}, attributes=attributes)
