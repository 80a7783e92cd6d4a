"""Tables of molecules: CSV, TSV, SMI, SDF and Parquet files as rows of cells, whole or in blocks; the role of each column; and the values of the
target column that mean accept.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import math
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path

from comrecgc.data.goals import Goal
from comrecgc.errors import InputError

IN_BLOCKS = 16 << 20
"""Tables of more bytes than this are read in blocks."""

TABLES = (".csv", ".tsv", ".smi", ".sdf", ".parquet")
"""Endings of tables of molecules; text may also end in `.gz`."""

_ID_NAMES = tuple(
    "name id title compound molecule compound_id molecule_id mol_id chembl_id cmpd_chemblid drug_id cid pubchem_cid".split()
)
_COUNTERS = ("", *"num no nr number index row unnamed:_0".split())  # with _ID_NAMES: columns that number rows
_BLANKS = frozenset({"", "na", "n/a", "#n/a", "nan", "null"})
_PACKED = ".gz"
_MOST_UNPACKED = 256 << 20  # bytes
_BLOCK = 10_000  # rows of a block
_TRIED = 50  # rows that decide whether a column has SMILES
_SHARE = 0.8
_LONG = 3  # letters; some words, such as CON, are SMILES
_UNREADABLE = "unreadable record"


@dataclass(frozen=True)
class Table:
    """Rows of cells with their line numbers."""

    path: Path  # the file
    header: list[str]  # names of the columns
    rows: list[list[str]]  # cells of each row
    lines: list[int]  # line that each row ends on, or its number among records (SDF) or rows (Parquet)
    unit: str = "line"  # the unit of `lines`: "line", "record" or "row"

    def column(self, name: str, role: str) -> int:
        """Index of the column of that name; `role` names the option in the error."""
        if name not in self.header:
            raise InputError(f"{role} must be a column of {self.path}: {', '.join(self.header)[:200]} (got {name!r})")
        return self.header.index(name)

    def values(self, column: int) -> list[str]:
        """Cells of a column that are not blank; rows that are too short are refused later, with their line."""
        return [row[column].strip() for row in self.rows if column < len(row) and not is_blank(row[column])]

    def counts_rows(self, column: int) -> bool:
        """Whether the name of a column says that it numbers or names the rows."""
        return _normalise(self.header[column]) in (*_ID_NAMES, *_COUNTERS)


def is_blank(cell: str) -> bool:
    """Whether a cell is empty or marks a missing value: `NaN`, `n/a`."""
    return cell.strip().lower() in _BLANKS


def is_table(path: str | Path) -> bool:
    """Whether a file is a table of molecules, by its ending."""
    return _ending(Path(path)) in TABLES


def stem_of(path: Path) -> str:
    """The name of a file without its ending."""
    return Path(path.stem).stem if path.suffix.lower() == _PACKED else path.stem


def _ending(path: Path) -> str:
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix == _PACKED else suffix


def read_table(path: Path, is_smiles: Callable[[str], bool]) -> Iterator[Table]:
    """Read a table, by its ending: `.smi` has blanks between columns and may lack a header, `.sdf` consists of records.

    Yields the whole table, or, if it has more bytes than `IN_BLOCKS`, blocks of its rows, each with the header. A first line with a SMILES in a
    column of SMILES is no header.
    """
    if _ending(path) == ".sdf":
        yield _read_sdf(path)
        return
    with _reading_text(path):
        is_large = path.suffix.lower() != _PACKED and path.stat().st_size > IN_BLOCKS
    is_parquet = _ending(path) == ".parquet"
    blocks = _parquet_blocks(path) if is_parquet else _text_blocks(path, is_smiles, is_large=is_large)
    if is_large:
        yield from blocks
    else:
        whole = list(blocks)
        rows, lines = ([one for block in whole for one in getattr(block, name)] for name in ("rows", "lines"))
        yield replace(whole[0], rows=rows, lines=lines)


def _text_blocks(path: Path, is_smiles: Callable[[str], bool], *, is_large: bool) -> Iterator[Table]:
    is_smi = _ending(path) == ".smi"
    if not is_large:
        lines = _read_text(path).splitlines(keepends=True)
        yield from _blocks(path, _blank_rows(lines) if is_smi else _csv_rows(path, lines), is_smiles)
        return
    with _reading_text(path), path.open(encoding="utf-8-sig", newline=None if is_smi else "") as file:
        yield from _blocks(path, _blank_rows(file) if is_smi else _csv_rows(path, file), is_smiles)


def _blocks(path: Path, rows: Iterator[tuple[list[str], int]], is_smiles: Callable[[str], bool]) -> Iterator[Table]:
    """Blocks of rows; the first row is the header, unless it has a SMILES in a column of SMILES."""
    first = next(rows, ([], 0))
    part = list(islice(rows, _BLOCK))
    if _is_row(first[0], [row for row, _ in part], is_smiles):
        part = [first, *part]
        header = [f"column {i}" for i in range(1, len(first[0]) + 1)]
    else:
        header = _check_header(path, first[0])
    while True:
        yield Table(path, header, [row for row, _ in part], [line for _, line in part])
        part = list(islice(rows, _BLOCK))
        if not part:
            return


def _is_row(first: Sequence[str], rows: Sequence[Sequence[str]], is_smiles: Callable[[str], bool]) -> bool:
    places = [place for place, cell in enumerate(first) if len(cell.strip()) > _LONG and is_smiles(cell.strip())]
    return any(_are_smiles([row[k].strip() for row in rows[:_TRIED] if k < len(row)], is_smiles) for k in places)


def _csv_rows(path: Path, lines: Iterable[str]) -> Iterator[tuple[list[str], int]]:
    remaining = iter(lines)
    head = list(_up_to_text(remaining))
    reader = csv.reader(chain(head, remaining), delimiter=max(",;\t", key="".join(head[-1:]).count), strict=True)
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                yield row, reader.line_num
    except csv.Error as error:
        raise InputError(f"{path} line {reader.line_num}: not valid CSV, {error}") from error


def _up_to_text(lines: Iterator[str]) -> Iterator[str]:
    """Lines up to the first that is not blank."""
    for line in lines:
        yield line
        if line.strip():
            return


def _blank_rows(lines: Iterable[str]) -> Iterator[tuple[list[str], int]]:
    is_first, separator = True, None
    for number, line in enumerate(lines, start=1):
        if line.strip() and is_first:
            separator = "\t" if "\t" in line.strip() else None  # names may have blanks where tabs separate
        row = [cell.strip() for cell in line.split(separator)] if line.strip() else []
        if row and is_first and row[0].lower() != "smiles":
            yield ["smiles", *(f"column {i}" for i in range(2, len(row) + 1))], 0
        if row:
            is_first = False
            yield row, number


def _parquet_blocks(path: Path) -> Iterator[Table]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise InputError("Parquet files need pyarrow: pip install 'comrecgc[parquet]'") from error
    done = 0
    try:
        with parquet.ParquetFile(path) as file:
            header = _check_header(path, list(file.schema_arrow.names))
            for batch in file.iter_batches(_BLOCK):
                cells = [
                    ["" if value is None else str(value) for value in column.to_pylist()] for column in batch.columns
                ]
                rows = [list(row) for row in zip(*cells, strict=True)]
                yield Table(path, header, rows, list(range(done + 1, done + len(rows) + 1)), unit="row")
                done += len(rows)
    except (OSError, ArrowException) as error:
        raise InputError(f"Cannot read {path} as a Parquet file: {' '.join(str(error).split())[:120]}") from error
    if not done:
        raise InputError(f"{path} must not be empty")


def find_smiles(table: Table, is_smiles: Callable[[str], bool]) -> str:
    """The column of SMILES: by its name, then by its contents."""
    exact = [name for name in table.header if name.lower() in ("smiles", "smi")]
    found = exact or [name for name in table.header if "smiles" in name.lower()]
    if not found:
        found = [
            name for place, name in enumerate(table.header) if _are_smiles(table.values(place)[:_TRIED], is_smiles)
        ]
    if len(found) != 1:
        rule = f"{table.path} must have one column of SMILES, or smiles (--smiles) must name it"
        raise InputError(
            f"{rule} (got {'columns' if not found else 'candidates'} {', '.join(found or table.header)[:200]})"
        )
    return found[0]


def _are_smiles(cells: Sequence[str], is_smiles: Callable[[str], bool]) -> bool:
    """Whether most cells are SMILES, of different molecules and mostly longer than three letters: a column of `C` and `N` is none."""
    read = [cell for cell in cells if is_smiles(cell)]
    long = sum(len(cell) > _LONG for cell in read)
    return len(read) >= max(_SHARE * len(cells), 1) and 2 * long >= len(read) and len(set(read)) > 1


def find_names(table: Table, others: Sequence[int | None]) -> int | None:
    """Index of a column that names molecules, by its header; None if there is none."""
    named = [place for place, name in enumerate(table.header) if _normalise(name) in _ID_NAMES and place not in others]
    if not named and _ending(table.path) == ".smi" and len(table.header) > 1 and 1 not in others:
        return 1  # a SMILES, then the name
    return min(named, key=lambda place: _ID_NAMES.index(_normalise(table.header[place])), default=None)


def _normalise(name: str) -> str:
    return name.lower().replace(" ", "_")


@contextmanager
def _reading_text(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        advice = "export it from the spreadsheet as CSV" if error.object.startswith(b"PK") else "save it as UTF-8"
        raise InputError(f"{path} must be UTF-8 text (got another byte at {error.start}): {advice}") from error


def _read_text(path: Path) -> str:
    with _reading_text(path):
        contents = _gunzip(path) if path.suffix.lower() == _PACKED else path.read_bytes()
        wide = contents.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        text = contents.decode("utf-16" if wide else "utf-8-sig")
    if not text.strip():
        raise InputError(f"{path} must not be empty")
    return text


def _gunzip(path: Path) -> bytes:
    contents = bytearray()
    try:
        with gzip.open(path) as file:
            while part := file.read(1 << 20):
                contents += part
                if len(contents) > _MOST_UNPACKED:
                    raise InputError(f"{path} must unpack to at most {_MOST_UNPACKED >> 20} MB: unpack it first")
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path} must be a file that gzip can unpack (got {str(error)[:80]})") from error
    return bytes(contents)


def _check_header(path: Path, cells: list[str]) -> list[str]:
    if not cells:
        raise InputError(f"{path} must not be empty")
    header = [cell.strip() for cell in cells]
    twice = [cell for cell, count in Counter(header).items() if count > 1]
    if twice:
        raise InputError(f"{path} must name each column once in its first line (got {twice[0]!r} twice)")
    return header


def _read_sdf(path: Path) -> Table:
    """Records as rows, with columns for SMILES, title and every property that a record has."""
    text = _read_text(path)
    try:
        from rdkit import Chem, rdBase
    except ImportError as error:
        raise InputError("Molecules need rdkit: pip install 'comrecgc[chem]'") from error
    records: list[dict[str, str]] = []
    with rdBase.BlockLogs():
        supplier = Chem.SDMolSupplier()
        supplier.SetData(text)
        for molecule in supplier:
            if molecule is None:
                records.append({"smiles": _UNREADABLE})
                continue
            known = {key: str(value) for key, value in molecule.GetPropsAsDict(False, False).items()}
            title = molecule.GetProp("_Name") if molecule.HasProp("_Name") else ""
            records.append({**known, "smiles": Chem.MolToSmiles(molecule), "title": title})
    header = list(dict.fromkeys(["smiles", "title", *(key for record in records for key in record)]))
    rows = [[record.get(key, "") for key in header] for record in records]
    return Table(path, header, rows, list(range(1, len(rows) + 1)), unit="record")


# Classes of molecules: which column has them, and which of its values mean accept.


HIGHER, LOWER = "higher", "lower"
"""Values of `accept` with a threshold: the side that is accepted."""

_BINARY = {"0": 0, "1": 1, "0.0": 0, "1.0": 1}
_TARGET_NAMES = ("class", "label", "target", "y", "activity", "active", "outcome")
_MOST_VALUES = 10  # named in an error
_LONGEST_VALUE = 40
_MEASURED = 0.5  # least share of numbers in a column for a threshold
# "5.2", "5,2" (not "5,200", which may mean either), "1e-9", and beyond what was measured: ">10000", "<= 1", "~3".
_NUMBER = re.compile(r"\s*([<>≤≥~]?)=?\s*([+-]?(?:\d+(?:\.\d*)?|\.\d+|\d+,(?!\d{3}$)\d+)(?:[eE][+-]?\d+)?)\s*")


def find_target(table: Table, smiles: int, *, needed: bool) -> str | None:
    """The column of classes: the only one of 0 and 1, or the one of those that is named like a target; else the only one of two values."""
    places = [place for place in range(len(table.header)) if place != smiles]
    values = {place: set(table.values(place)) for place in places}
    found = _binary_columns(table, smiles)
    if len(found) > 1:
        both = [name for name in found if len({_BINARY[v] for v in values[table.header.index(name)]}) == 2]
        found = [name for name in found if name.lower() in _TARGET_NAMES] or both or found
    named = [name for name in table.header if name.lower() in _TARGET_NAMES]
    if not found and not named:
        found = [table.header[place] for place in places if len(values[place]) == 2 and len(table.rows) > 2]
    found = found or named  # an error will name the line where a class is not 0 or 1
    if not found and not needed:
        return None
    if len(found) != 1:
        rule = f"{table.path} must have one column of classes 0 and 1, or target (--target) must name it"
        got = ", ".join(found) or f"no such column among {', '.join(table.header)}"
        numbers = [] if found else _columns_of_numbers(table, smiles)
        advice = (
            f"; threshold (--threshold) turns numbers into classes, of column {' or '.join(numbers)}" if numbers else ""
        )
        raise InputError(f"{rule} (got {got[:200]}){advice[:200]}")
    return found[0]


def other_targets(table: Table, smiles: int, target: str) -> list[str]:
    """Other columns that could be the target."""
    return [name for name in _binary_columns(table, smiles) if name != target]


def _binary_columns(table: Table, smiles: int) -> list[str]:
    places = [place for place in range(len(table.header)) if place != smiles]
    return [table.header[place] for place in places if table.values(place) and set(table.values(place)) <= set(_BINARY)]


def find_numbers(table: Table, smiles: int) -> str:
    """The only column of numbers other than row numbers."""
    found = _columns_of_numbers(table, smiles)
    if len(found) != 1:
        rule = f"{table.path} must have one column of numbers for the threshold, or target (--target) must name it"
        raise InputError(f"{rule} (got {', '.join(found)[:200] or 'no such column'})")
    return found[0]


def _columns_of_numbers(table: Table, smiles: int) -> list[str]:
    found = []
    for place, name in enumerate(table.header):
        values = table.values(place)
        share = sum(_NUMBER.fullmatch(value) is not None for value in values) / max(len(values), 1)
        if place != smiles and share > _MEASURED and len(set(values)) > 2 and not table.counts_rows(place):
            found.append(name)
    return found


@dataclass(frozen=True, kw_only=True)
class TargetColumn:
    """The target column of a table, and which of its values mean accept."""

    column: int
    header: str
    accept: str | None = None
    threshold: float | None = None
    higher: bool = True
    values: tuple[str, ...] = ()
    goal: Goal | None = None

    @classmethod
    def of(cls, table: Table, column: int, *, accept: int | str | None, threshold: float | None) -> TargetColumn:
        """The target column, given the values in a table, and the value (with a threshold the side) that means accept."""
        header = table.header[column]
        if threshold is not None:
            return cls(column=column, header=header, threshold=threshold, higher=accept != LOWER)
        values = Counter(table.values(column))
        wanted = None if accept is None else str(accept)
        if wanted is None and set(values) == {"-1", "1"}:
            wanted = "1"
        if set(values) <= set(_BINARY):
            if wanted is not None and wanted not in _BINARY:
                raise InputError(f"accept must be 0 or 1 (got {wanted})")
            return cls(column=column, header=header, accept=wanted or "1")
        if wanted is None:
            cls._refuse(table, header, values)
            return cls(column=column, header=header, accept="1")
        if wanted not in values:
            shown = ", ".join(repr(value[:_LONGEST_VALUE]) for value, _ in values.most_common(_MOST_VALUES))
            raise InputError(f"{table.path}: accept must be a value of column {header!r}: {shown} (got {wanted!r})")
        return cls(column=column, header=header, accept=wanted, values=tuple(sorted(values)))

    @staticmethod
    def _refuse(table: Table, header: str, values: Counter[str]) -> None:
        """Refuse a column without 0 and 1, naming the option that is missing; if it has some, the lines of other values are named later."""
        if set(values) & set(_BINARY):
            return
        if len(values) > 2 and all(_NUMBER.fullmatch(value) for value in values):
            rule = (
                f"threshold (--threshold) must separate the numbers of column {header!r}, which are no classes 0 and 1"
            )
            raise InputError(f"{table.path}: {rule} (got none)")
        if 2 <= len(values) <= _MOST_VALUES and len(table.rows) > len(values):
            shown = " or ".join(value[:_LONGEST_VALUE] for value in sorted(values))
            rule = f"accept (--accept) must name the value of column {header!r} that means accept, {shown}"
            raise InputError(f"{table.path}: {rule} (got none)")
        if len(values) > _MOST_VALUES:
            rule = f"column {header!r} must hold classes, or accept (--accept) must name one of its values"
            raise InputError(f"{table.path}: {rule} (got {len(values)} different ones, the first {min(values)[:40]!r})")

    @property
    def class_names(self) -> tuple[str, str]:
        """Names of reject and accept."""
        if self.threshold is not None:
            low, high = f"{self.header} < {self.threshold:g}", f"{self.header} ≥ {self.threshold:g}"
            return (low, high) if self.higher else (high, low)
        if self.values:
            others = [value for value in self.values if value != self.accept]
            return (others[0] if len(others) == 1 else f"not {self.accept}", self.accept or "")
        good = self.accept or "1"
        return (f"{self.header} = {1 - _BINARY[good]}", f"{self.header} = {_BINARY[good]}")

    def note(self, *, is_given: bool) -> str:
        """Which class is to be reached."""
        advice = "" if is_given else "; accept (--accept) would choose another"
        return f"To be reached is the class {self.class_names[1]!r} of column {self.header!r}{advice}."

    def class_of(self, cell: str) -> int:
        """The class of a cell; one without a class is refused."""
        if self.threshold is not None:
            return int(self._is_high(cell, self.threshold) == self.higher)
        if self.values:
            return int(cell == self.accept)
        if cell not in _BINARY:
            raise InputError(f"the class in column {self.header!r} must be 0 or 1 (got {cell[:40]!r})")
        return int(_BINARY[cell] == _BINARY[self.accept or "1"])

    def _is_high(self, cell: str, threshold: float) -> bool:
        """Whether a number reaches the threshold; a bound such as ">100" must leave no doubt."""
        found = _NUMBER.fullmatch(cell)
        value = float(found[2].replace(",", ".")) if found else math.nan
        if found is None or not math.isfinite(value):
            raise InputError(f"column {self.header!r} must hold numbers (got {cell[:40]!r})")
        unclear = (found[1] in (">", "≥") and value < threshold) or (found[1] in ("<", "≤") and value > threshold)
        if unclear:
            raise InputError(f"{cell[:40]!r} in column {self.header!r} may be on either side of {threshold:g}")
        return value >= threshold and not (found[1] == "<" and value == threshold)
