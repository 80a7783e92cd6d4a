"""The TU Dortmund collection: finding, downloading and reading archives. A folder or zip archive has text files named `NAME_A.txt`, `NAME_graph_labels.txt` …

Every row is checked. A mistake is refused with its file and line; a row with one plain meaning (an edge listed twice, or in one direction only) is
repaired and noted. Files are parsed straight out of the archive, and graphs are built and packed a block at a time,
so that reading takes little more memory than the integers of the files.
"""

from __future__ import annotations

import io
import os
import re
import stat
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import IO, Any, NoReturn

import numpy as np
import numpy.typing as npt
from platformdirs import user_cache_path

from comrecgc.data.dataset import Repairs, merge_directions
from comrecgc.errors import InputError
from comrecgc.graphs import GraphBatch, GraphPacker, IntArray, LongArray, PackedGraphs, pointers
from comrecgc.run import write_bytes

_ADJACENCY = "_A.txt"
_BLOCK_ROWS = 1 << 20  # rows of a file that are parsed and checked together
_BLOCK_GRAPHS = 10_000  # graphs that are built together
_INTEGER = re.compile(rb"[+-]?[0-9]{1,18}")
# Either a file of its own says how labels were converted, or the archive's README lists them below a heading.
_SECTION = re.compile(r"^(node|edge|class|graph) labels(?: were converted.*|\s*:)$", re.IGNORECASE)
_ATTRIBUTES = re.compile(r"^\s*node attributes:\s*\[(.*)\]\s*$", re.IGNORECASE | re.MULTILINE)
_COMPONENT = re.compile(r"^component\s+(\d+)", re.IGNORECASE)
_VALUE_FIRST = re.compile(r"^(-?\d+)\s+(\S+)$")
_NAME_FIRST = re.compile(r"^(\S+)\s+(-?\d+)$")


@dataclass(frozen=True, kw_only=True)
class LabelMaps:
    """Names of integer labels; empty where the archive gives none."""

    nodes: tuple[Mapping[int, str], ...] = ()  # name of each value, for each column of the node labels
    edges: tuple[Mapping[int, str], ...] = ()  # the same of edge labels
    classes: Mapping[int, str] = field(default_factory=dict)  # name of each class
    attributes: tuple[str, ...] = ()  # name of each node attribute


@dataclass(frozen=True, eq=False, kw_only=True)
class TUData:
    """The checked contents of a TU dataset's files."""

    name: str  # the NAME its files begin with
    graphs: PackedGraphs  # the graphs; node and edge labels are rows of `label_values` and `edge_label_values`
    targets: npt.NDArray[Any]  # class of each graph as in the file, or its number if numbers were asked for, `[B]`
    label_values: LongArray  # distinct node labels, sorted, `[num_labels, components]`; one empty row without a file
    edge_label_values: LongArray | None = None  # likewise; None if there is no file of edge labels
    attributes: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 0)))  # of nodes, `[N, columns]`
    maps: LabelMaps = field(default_factory=LabelMaps)  # names of the labels, from the archive's readme
    notes: tuple[str, ...] = ()  # what was repaired, one sentence each


def read_tu(path: str | Path, name: str | None = None, *, numbers: bool = False, attributes: bool = False) -> TUData:
    """Read a dataset in the TU format from a folder or zip archive; `name` is the NAME its files begin with, needed if there are several datasets.

    Targets are classes, or `numbers` from the first column of `NAME_graph_attributes.txt`. Without `attributes` the columns of numbers at the nodes are only
    counted.
    """
    files = open_files(Path(path))
    name = _dataset_name(files, name or files.path.stem)
    targets_file = f"{name}_graph_attributes.txt" if numbers else f"{name}_graph_labels.txt"
    if not numbers and targets_file not in files and f"{name}_graph_attributes.txt" in files:
        raise InputError(f"{files.path} has numbers instead of classes: threshold must separate them (got none)")
    targets = _read_rows(files, targets_file, *((np.float64,) if numbers else (np.int64, 1)))
    graph_of_node = _read_indicator(files, name, targets_file, targets)
    labels, label_values = _read_node_labels(files, name, len(graph_of_node))
    pairs = _read_pairs(files, name, graph_of_node)
    edge_labels, edge_label_values = _read_edge_labels(files, name, len(pairs))
    with GraphPacker() as packer:
        repairs = Repairs()
        for batch, repaired in _batches(files, name, graph_of_node, labels, pairs, edge_labels):
            packer.add(batch)
            repairs += repaired
        graphs = packer.finish()
    return TUData(
        name=name,
        graphs=graphs,
        targets=targets[:, 0],
        label_values=label_values,
        edge_label_values=edge_label_values,
        attributes=_read_attributes(files, name, len(graph_of_node) if attributes else None),
        maps=_read_maps(files, name),
        notes=repairs.notes,
    )


def _read_rows(
    files: FileSet, name: str, dtype: type[np.generic] = np.int64, columns: int | None = None
) -> npt.NDArray[Any]:
    """The rows of a file of comma-separated numbers, `[lines, columns]`, blank lines left out; `columns=None` takes the number of the first line."""
    blocks = list(_blocks(files, name, dtype, columns))
    if not blocks:
        raise InputError(f"{files.where(name)} must not be empty")
    return np.concatenate(blocks)


def _check_length(files: FileSet, name: str, rows: npt.NDArray[Any], expected: int, what: str) -> None:
    if len(rows) != expected:
        raise InputError(f"{files.where(name)} must have one line per {what}, {expected} (got {len(rows)})")


def _blocks(
    files: FileSet, name: str, dtype: type[np.generic], columns: int | None = None
) -> Iterator[npt.NDArray[Any]]:
    """The rows of a file of comma-separated numbers, some at a time."""
    where = files.where(name)
    with files.open(name) as file, reading_archive(where):
        filled = filter(bytes.strip, chain([file.readline().removeprefix(b"\xef\xbb\xbf")], file))
        first = next(filled, b"")
        width = first.count(b",") + 1
        if first and columns not in (None, width):
            raise _first_bad_line(files, name, columns)
        lines, columns = chain([first] if first else [], filled), width
        size = max(_BLOCK_ROWS // width, 1)  # numpy reserves memory for so many rows
        while True:
            try:
                # numpy only warns when it reads 1.5 as 1, and at the end of the file
                with warnings.catch_warnings(action="error"):
                    rows = np.loadtxt(lines, dtype, delimiter=",", ndmin=2, comments=None, max_rows=size)
            except UserWarning:
                return
            except (ValueError, OverflowError, DeprecationWarning) as error:
                raise _first_bad_line(files, name, columns, is_integer=np.issubdtype(dtype, np.integer)) from error
            if rows.shape[1] != columns:
                raise _first_bad_line(files, name, columns)
            if not np.isfinite(rows).all():
                raise InputError(f"{where} must hold finite numbers (got {rows[~np.isfinite(rows)][0]})")
            yield rows


def _first_bad_line(files: FileSet, name: str, columns: int | None, *, is_integer: bool = True) -> InputError:
    """The error for the first line that does not have the right number of numbers."""
    for number, line in _lines(files, name):
        tokens = [token.strip() for token in line.split(b",")]
        columns = len(tokens) if columns is None else columns
        wrong = [token for token in tokens if not (_INTEGER.fullmatch(token) if is_integer else _is_float(token))]
        if wrong or len(tokens) != columns:
            got = (wrong[0] if wrong else line.strip()).decode("ascii", "backslashreplace")[:40]
            kind = "integer" if is_integer else "number"
            return InputError(
                f"{files.where(name)} line {number}: must hold {columns} comma-separated {kind}(s) (got {got!r})"
            )
    return InputError(f"{files.where(name)} must hold comma-separated numbers, as many in every line")


def _is_float(token: bytes) -> bool:
    try:
        float(token)
    except ValueError:
        return False
    return True


def _lines(files: FileSet, name: str) -> Iterator[tuple[int, bytes]]:
    """The lines of a file that are not blank, each with its number."""
    with files.open(name) as file, reading_archive(files.where(name)):
        for number, line in enumerate(file, start=1):
            text = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
            if text.strip():
                yield number, text


def _fail(files: FileSet, name: str, row: int, rule: str) -> NoReturn:
    """Refuse a row of a file, naming its line."""
    line = next((number for place, (number, _) in enumerate(_lines(files, name)) if place == row), row + 1)
    raise InputError(f"{files.where(name)} line {line}: {rule}")


def _dataset_name(files: FileSet, wanted: str) -> str:
    names = sorted(name.removesuffix(_ADJACENCY) for name in files.members if name.endswith(_ADJACENCY))
    own = [name for name in names if name.lower() == wanted.lower()]
    if len(own or names) != 1:
        rule = "must hold one dataset in the TU format, with files NAME_A.txt, NAME_graph_indicator.txt, …"
        raise InputError(f"{files.path} {rule} (got {', '.join(names)[:80] or 'no file ending in _A.txt'})")
    return (own or names)[0]


def _read_indicator(files: FileSet, name: str, targets_file: str, targets: npt.NDArray[Any]) -> IntArray:
    """Index of the graph of each node, `[N]`."""
    file = f"{name}_graph_indicator.txt"
    graph = _read_rows(files, file, np.int32, 1)[:, 0]
    steps = np.diff(graph, prepend=0)
    for row in np.flatnonzero((steps < 0) | (steps > 1) | (graph < 1))[:1].tolist():
        if graph[row] > 0 and steps[row] > 1:
            _fail(files, file, row, f"every graph needs a node (got none for graph {graph[row] - steps[row] + 1})")
        _fail(files, file, row, f"graph numbers must start at 1 and never decrease (got {graph[row]})")
    if graph[-1] < len(targets):
        rule = f"every graph needs a node (got none for graph {graph[-1] + 1})"
        raise InputError(f"{files.where(file)}: {rule}; {files.where(targets_file)} has {len(targets)} graphs")
    _check_length(files, targets_file, targets, int(graph[-1]), "graph")
    return graph - 1


def _read_node_labels(files: FileSet, name: str, num_nodes: int) -> tuple[IntArray, LongArray]:
    """Label of each node as an index into the distinct labels, and those."""
    file = f"{name}_node_labels.txt"
    if file not in files:
        return np.zeros(num_nodes, dtype=np.int32), np.zeros((1, 0), dtype=np.int64)
    rows = _read_rows(files, file)
    _check_length(files, file, rows, num_nodes, "node")
    return _distinct_rows(rows)


def _read_pairs(files: FileSet, name: str, graph_of_node: IntArray) -> IntArray:
    """The two nodes of each row of `NAME_A.txt`, counted from 0, `[E, 2]`."""
    file, num_nodes, done = f"{name}{_ADJACENCY}", len(graph_of_node), 0
    blocks = [np.zeros((0, 2), np.int32)]
    for pairs in _blocks(files, file, np.int32, columns=2):
        for row in np.flatnonzero(((pairs < 1) | (pairs > num_nodes)).any(axis=1))[:1].tolist():
            rule = f"nodes must lie in 1…{num_nodes} (got {pairs[row, 0]}, {pairs[row, 1]})"
            _fail(files, file, done + row, rule)
        for row in np.flatnonzero(pairs[:, 0] == pairs[:, 1])[:1].tolist():
            _fail(files, file, done + row, f"self-loops are not allowed (got one at node {pairs[row, 0]})")
        graph = graph_of_node[pairs - 1] + 1
        for row in np.flatnonzero(graph[:, 0] != graph[:, 1])[:1].tolist():
            got = f"(got nodes of graphs {graph[row, 0]} and {graph[row, 1]})"
            _fail(files, file, done + row, f"an edge must join two nodes of one graph {got}")
        blocks.append(pairs - 1)
        done += len(pairs)
    return np.concatenate(blocks)


def _read_edge_labels(files: FileSet, name: str, num_rows: int) -> tuple[IntArray | None, LongArray | None]:
    """Label of each row of `NAME_A.txt` as an index into the distinct labels, and those; None if edges have no labels."""
    file = f"{name}_edge_labels.txt"
    if file not in files:
        return None, None
    rows = np.concatenate(list(_blocks(files, file, np.int64)) or [np.zeros((0, 1), np.int64)])
    _check_length(files, file, rows, num_rows, f"line of {name}{_ADJACENCY}")
    return _distinct_rows(rows)


def _batches(
    files: FileSet, name: str, graph_of_node: IntArray, labels: IntArray, pairs: IntArray, edge_labels: IntArray | None
) -> Iterator[tuple[GraphBatch, Repairs]]:
    """The graphs, a block at a time, with what was repaired in each block."""
    num_graphs = int(graph_of_node[-1]) + 1
    node_ptr = pointers(np.bincount(graph_of_node))
    graph_of_row = graph_of_node[pairs[:, 0]]
    # Rows may come in any order; most archives list them graph by graph.
    is_sorted = bool((graph_of_row[1:] >= graph_of_row[:-1]).all())
    order = None if is_sorted else np.argsort(graph_of_row, kind="stable")
    row_ptr = pointers(np.bincount(graph_of_row, minlength=num_graphs))
    for start in range(0, num_graphs, _BLOCK_GRAPHS):
        stop = min(start + _BLOCK_GRAPHS, num_graphs)
        first, last = int(node_ptr[start]), int(node_ptr[stop])
        in_file = np.arange(row_ptr[start], row_ptr[stop]) if order is None else order[row_ptr[start] : row_ptr[stop]]
        edges, first_row, edge_of_row, repairs = merge_directions(pairs[in_file].astype(np.int64) - first, last - first)
        kinds = None if edge_labels is None else edge_labels[in_file]
        if kinds is not None:
            for row in np.flatnonzero(kinds != kinds[first_row][edge_of_row])[:1].tolist():
                got = f"(got another for the same edge in row {in_file[first_row[edge_of_row[row]]] + 1})"
                _fail(files, f"{name}_edge_labels.txt", int(in_file[row]), f"an edge must have one label {got}")
        ptr = node_ptr[start : stop + 1] - first
        # Edges are sorted by their first node, and nodes by their graph.
        edge_ptr = np.searchsorted(edges[:, 0], ptr)
        yield GraphBatch(labels[first:last], edges, ptr, edge_ptr, None if kinds is None else kinds[first_row]), repairs


def _read_attributes(files: FileSet, name: str, num_nodes: int | None) -> npt.NDArray[np.float64]:
    """Node attributes; with `num_nodes=None` no rows, only the number of columns."""
    file = f"{name}_node_attributes.txt"
    if file not in files:
        return np.zeros((num_nodes or 0, 0))
    if num_nodes is None:  # a damaged file that is not used does no harm
        with files.open(file) as lines, reading_archive(files.where(file)):
            return np.zeros((0, lines.readline().count(b",") + 1))
    rows = _read_rows(files, file, np.float64)
    _check_length(files, file, rows, num_nodes, "node")
    return rows


def _read_maps(files: FileSet, name: str) -> LabelMaps:
    """Label names from the labels' readme, or from the archive's README."""
    for readme in (f"{name}_label_readme.txt", "README.txt", "readme.txt", "README.md", f"{name}_README.txt"):
        if readme in files and (maps := parse_label_maps(files.read(readme))) != LabelMaps():
            return maps
    return LabelMaps()


def _distinct_rows(rows: LongArray) -> tuple[IntArray, LongArray]:
    """Each row as an index into the sorted distinct rows, and those."""
    if rows.shape[1] == 1:  # much faster than by axis
        values, index = np.unique(rows[:, 0], return_inverse=True)
        return index.astype(np.int32), values[:, None]
    values, index = np.unique(rows, axis=0, return_inverse=True)
    return index.reshape(-1).astype(np.int32), values


def parse_label_maps(text: bytes) -> LabelMaps:
    """The maps in a readme.

    The collection writes rows as `0  C` in some archives and as `C 0` in others; a row of two integers is read the
    first way. Anything that is not understood is left out: names only serve reading.
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


# Files of a folder or of a zip archive. Archives may be hostile, so nothing is ever extracted: members are read in memory by their last
# name, and an archive with a member that could write outside its folder, or that unpacks to an absurd size, is refused as a whole.


MAX_BYTES = 2 << 30
"""Largest file that is read whole, in bytes."""

MAX_UNPACKED = 1 << 40
"""Largest unpacked size of an archive, in bytes."""

MAX_RATIO = 500
"""Largest compression factor of a large archive; real label files stay below it."""

_SMALL = 8 << 20  # a tiny archive of one repeated digit may well exceed MAX_RATIO
_ENCRYPTED = 0x1
_BUFFER = 1 << 20
# What zipfile raises on a damaged archive, depending on the damaged part.
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, ValueError)


@dataclass(frozen=True, kw_only=True)
class FileSet:
    """Files by their plain names."""

    path: Path  # the folder or the zip archive
    members: Mapping[str, str]  # where each file is: its path below the folder, or its name in the archive
    zipped: bool  # whether `path` is an archive

    def __contains__(self, name: str) -> bool:
        return name in self.members

    def where(self, name: str) -> str:
        """Name of a file for error messages."""
        return f"{self.path}:{name}" if self.zipped else str(self.path / name)

    def read(self, name: str) -> bytes:
        """Contents of a file."""
        if name not in self.members:
            raise InputError(f"{self.path} must hold a file {name}")
        with reading_archive(self.where(name)):
            if self.size(name) > MAX_BYTES:
                raise InputError(f"{self.where(name)} must be at most {MAX_BYTES} bytes (got {self.size(name)})")
            with self.open(name) as file:
                return file.read()

    def open(self, name: str) -> IO[bytes]:
        """Open a file for reading in blocks."""
        if name not in self.members:
            raise InputError(f"{self.path} must hold a file {name}")
        with reading_archive(self.where(name)):
            if not self.zipped:
                return (self.path / self.members[name]).open("rb")
            # Lines of a member are read byte by byte in Python unless buffered.
            member = zipfile.ZipFile(self.path).open(self.members[name])  # noqa: SIM115
            return io.BufferedReader(member, _BUFFER)  # type: ignore[type-var]

    def size(self, name: str) -> int:
        """Bytes of a file, unpacked."""
        with reading_archive(self.where(name)):
            if not self.zipped:
                return (self.path / self.members[name]).stat().st_size
            with zipfile.ZipFile(self.path) as archive:
                return archive.getinfo(self.members[name]).file_size


@contextmanager
def reading_archive(where: str) -> Iterator[None]:
    """Turn errors of a damaged archive into a one-line `InputError`."""
    try:
        yield
    except InputError:
        raise
    except _DAMAGED as error:
        raise InputError(f"Cannot read {where}: {_one_line(error)}") from error


def open_files(path: Path) -> FileSet:
    """The files directly in a folder, or all members of a zip archive that is neither damaged, encrypted, too large nor unsafe."""
    with reading_archive(f"{path} as a folder or zip archive"):
        if path.is_dir():
            return FileSet(path=path, members={f.name: f.name for f in path.iterdir() if f.is_file()}, zipped=False)
        if not path.is_file():
            raise InputError(f"{path} must be an existing folder or zip archive")
        with zipfile.ZipFile(path) as archive:
            members = [member for member in archive.infolist() if not member.filename.endswith("/")]
    _check_size(path, members)
    return FileSet(path=path, members=_by_plain_name(path, members), zipped=True)


def _check_size(path: Path, members: list[zipfile.ZipInfo]) -> None:
    # zipfile never hands out more than the declared size, so the declared sizes bound what reading can take.
    unpacked = sum(member.file_size for member in members)
    if unpacked > MAX_UNPACKED:
        raise InputError(f"{path} must unpack to at most {MAX_UNPACKED} bytes (got {unpacked})")
    packed = max(path.stat().st_size, 1)
    if unpacked > _SMALL and unpacked > MAX_RATIO * packed:
        raise InputError(f"{path} must not unpack to more than {MAX_RATIO} times its size (got {unpacked // packed})")


def _by_plain_name(path: Path, members: list[zipfile.ZipInfo]) -> dict[str, str]:
    names: dict[str, str] = {}
    for member in members:
        _check_member(path, member)
        name = PurePosixPath(member.filename).name
        if name.startswith(".") or "__MACOSX" in member.filename:  # left there by macOS
            continue
        if name in names:
            raise InputError(f"{path} must hold each file once (got {name} twice)")
        names[name] = member.filename
    return names


def _check_member(path: Path, member: zipfile.ZipInfo) -> None:
    name = member.orig_filename
    parts = name.split("/")
    kind = stat.S_IFMT(member.external_attr >> 16)
    if not name or name.startswith("/") or ".." in parts or "\\" in name or ":" in parts[0] or "\0" in name:
        raise InputError(f"{path} must hold only plain relative names (got {name[:80]!r})")
    if kind not in (0, stat.S_IFREG):
        raise InputError(f"{path} must hold only regular files, no links or devices (got {name[:80]!r})")
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others may ask for gigabytes to unpack
        raise InputError(
            f"{path} must hold members stored or deflated (got method {member.compress_type} of {name[:80]!r})"
        )
    if member.flag_bits & _ENCRYPTED:
        raise InputError(f"{path} must not be encrypted (got an encrypted member {name[:80]!r})")


def _one_line(error: BaseException) -> str:
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(str(reason).split())[:200]


# Where benchmark archives are found: a given folder, `$COMRECGC_DATA`, the user's cache, and last the network.


DATA_VARIABLE = "COMRECGC_DATA"
_TIMEOUT = 30.0  # seconds without a byte
_MAX_DOWNLOAD = 64 << 20  # the largest benchmark is below 1 MB


def find_archive(name: str, root: str | Path | None = None) -> Path:
    """Folder or zip archive of a dataset of the TU collection, looked for in `root` first; downloaded into the cache if it is not found."""
    if root is not None and not Path(root).is_dir():
        raise InputError(f"root must be an existing folder (got {str(root)!r})")
    cache = user_cache_path("comrecgc") / "datasets"
    roots = [Path(place) for place in (root, os.environ.get(DATA_VARIABLE), cache) if place]
    for place in roots:
        for candidate in _candidates(place, name):
            return candidate
    return _download(name, cache, roots)


def _candidates(root: Path, name: str) -> Iterator[Path]:
    """Places under a root where the dataset may be: `NAME/`, `NAME/raw/` (PyG's layout), `NAME.zip`, or the root itself."""
    entries = _entries(root)
    folders = [root / entry for entry in entries if entry.lower() == name.lower()]
    archives = [root / entry for entry in entries if entry.lower() == f"{name}.zip".lower()]
    for folder in (*folders, *(folder / "raw" for folder in folders), root):
        if f"{name}_A.txt".lower() in (entry.lower() for entry in _entries(folder)):
            yield folder
    yield from (archive for archive in archives if archive.is_file())


def _entries(folder: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in folder.iterdir())
    except OSError:
        return []


def _download(name: str, cache: Path, looked_in: list[Path]) -> Path:
    from http.client import HTTPException

    from torch_geometric.datasets import TUDataset  # seconds to import, and only needed for the address

    url, target = f"{TUDataset.url}/{name}.zip", cache / f"{name}.zip"
    try:
        contents = _fetch(url)
    except (OSError, HTTPException, ValueError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        places = ", ".join(map(str, looked_in))
        advice = f"put {name}.zip in a folder and set {DATA_VARIABLE} to that folder"
        raise InputError(
            f"{name} is not in {places} and cannot be downloaded from {url} ({reason}): {advice}"
        ) from error
    write_bytes(target, contents)
    return target


def _fetch(url: str) -> bytes:
    """The zip archive at the address."""
    import urllib.request

    with urllib.request.urlopen(url, timeout=_TIMEOUT) as response:
        size = int(response.headers.get("Content-Length") or 0)
        contents: bytes = response.read(_MAX_DOWNLOAD + 1)
    if len(contents) > _MAX_DOWNLOAD:
        raise ValueError(f"it is larger than {_MAX_DOWNLOAD} bytes")
    if size and len(contents) != size:
        raise ValueError(f"the connection ended after {len(contents)} of {size} bytes")
    if not zipfile.is_zipfile(io.BytesIO(contents)):
        raise ValueError("the answer is not a zip archive")
    return contents
