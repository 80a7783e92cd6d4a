"""Tables of molecules: CSV, TSV, SMI, SDF and Parquet files as rows of cells, whole or in blocks, and which column is which."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from comrecgc.datasets.archive import reading_archive
from comrecgc.errors import InputError

IN_BLOCKS = 16 << 20
"""Tables of more bytes than this are read block after block."""

NUMBERS = {"0": 0, "1": 1, "0.0": 0, "1.0": 1}
"""How classes 0 and 1 are written."""

_TARGET_NAMES = ("class", "label", "target", "y", "activity", "active", "outcome")
_ID_NAMES = (
    "name",
    "id",
    "title",
    "compound",
    "molecule",
    "compound_id",
    "molecule_id",
    "mol_id",
    "chembl_id",
    "cmpd_chemblid",
    "drug_id",
)
_BLOCK = 10_000  # rows of a block
_TRIED = 50  # rows that decide whether a column holds SMILES
_SHARE = 0.8
_UNREADABLE = "unreadable record"


@dataclass(frozen=True)
class Table:
    """Cells of a table and where each row stands in the file.

    Args:
        path: The file.
        header: Names of the columns.
        rows: Cells of each row.
        lines: Line that each row ends on, or its number among the records of an SDF file or the rows of a Parquet file.
        unit: What `lines` count: "line", "record" or "row".
    """

    path: Path
    header: list[str]
    rows: list[list[str]]
    lines: list[int]
    unit: str = "line"

    def column(self, name: str, role: str) -> int:
        """Place of the column of that name."""
        if name not in self.header:
            raise InputError(f"{role} must be a column of {self.path}: {', '.join(self.header)[:200]} (got {name!r})")
        return self.header.index(name)

    def values(self, column: int) -> list[str]:
        """Cells of a column that are not blank; short rows are refused later, by their line."""
        return [row[column].strip() for row in self.rows if column < len(row) and row[column].strip()]


def read_table(path: Path) -> Table:
    """The table in a file, by its ending: `.smi` has blanks between columns and perhaps no header, `.sdf` is made of records."""
    match path.suffix.lower():
        case ".smi":
            return _read_blanks(path)
        case ".sdf":
            return _read_sdf(path)
        case ".parquet":
            blocks = list(_parquet_blocks(path))
            rows = [row for block in blocks for row in block.rows]
            return Table(path, blocks[0].header, rows, list(range(1, len(rows) + 1)), unit="row")
        case _:
            return _read_csv(path)


def is_large(path: Path) -> bool:
    """Whether a table should be read block after block."""
    with reading_archive(str(path)):
        return path.suffix.lower() != ".sdf" and path.stat().st_size > IN_BLOCKS


def table_blocks(path: Path) -> Iterator[Table]:
    """The rows of a table, so many at a time; every block has the header."""
    match path.suffix.lower():
        case ".parquet":
            return _parquet_blocks(path)
        case ".smi":
            return _blocks(path, _blank_rows(path))
        case _:
            return _blocks(path, _csv_rows(path))


def _blocks(path: Path, rows: Iterator[tuple[list[str], int]]) -> Iterator[Table]:
    """Blocks of rows, each with its line; the first is the header."""
    header = _checked_header(path, next(rows, ([], 0))[0])
    while part := list(islice(rows, _BLOCK)):
        yield Table(path, header, [row for row, _ in part], [line for _, line in part])


def _csv_rows(path: Path) -> Iterator[tuple[list[str], int]]:
    with _reading_text(path), path.open(encoding="utf-8-sig", newline="") as file:
        first_line = next((line for line in file if line.strip()), "")
        file.seek(0)
        reader = csv.reader(file, delimiter=_delimiter(first_line), strict=True)
        try:
            for row in reader:
                if any(cell.strip() for cell in row):
                    yield row, reader.line_num
        except csv.Error as error:
            raise InputError(f"{path} line {reader.line_num}: not valid CSV, {error}") from error


def _blank_rows(path: Path) -> Iterator[tuple[list[str], int]]:
    with _reading_text(path), path.open(encoding="utf-8-sig") as file:
        is_first = True
        for number, line in enumerate(file, start=1):
            row = line.split()
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
            header = _checked_header(path, list(file.schema_arrow.names))
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
    """The column of SMILES: by its name, then by its contents.

    Args:
        table: The table.
        is_smiles: Whether a cell is one.
    """
    exact = [name for name in table.header if name.lower() in ("smiles", "smi")]
    found = exact or [name for name in table.header if "smiles" in name.lower()]
    if not found:
        found = [name for place, name in enumerate(table.header) if _holds(table.values(place)[:_TRIED], is_smiles)]
    if len(found) != 1:
        rule = f"{table.path} must have one column of SMILES, or smiles must name it"
        raise InputError(
            f"{rule} (got {'columns' if not found else 'candidates'} {', '.join(found or table.header)[:200]})"
        )
    return found[0]


def _holds(cells: Sequence[str], is_smiles: Callable[[str], bool]) -> bool:
    """Whether most cells are SMILES, and of more than one kind and letter: a column of `C` and `N` is none."""
    read = [cell for cell in cells if is_smiles(cell)]
    long = sum(len(cell) > 3 for cell in read)
    return len(read) >= max(_SHARE * len(cells), 1) and 2 * long >= len(read) and len(set(read)) > 1


def find_target(table: Table, smiles: int, *, needed: bool) -> str | None:
    """The column of classes: the only one of 0 and 1, or of those the one whose name says so; then the only one of two values.

    Args:
        table: The table.
        smiles: Place of the column of SMILES.
        needed: Whether there must be one.
    """
    places = [place for place in range(len(table.header)) if place != smiles]
    values = {place: set(table.values(place)) for place in places}
    found = [table.header[place] for place in places if values[place] and values[place] <= set(NUMBERS)]
    if len(found) > 1:
        both = [name for name in found if len({NUMBERS[v] for v in values[table.header.index(name)]}) == 2]
        found = [name for name in found if name.lower() in _TARGET_NAMES] or both or found
    named = [name for name in table.header if name.lower() in _TARGET_NAMES]
    if not found and not named:
        found = [table.header[place] for place in places if len(values[place]) == 2 and len(table.rows) > 2]
    found = found or named  # so that an error can name the line where a class is not 0 or 1
    if not found and not needed:
        return None
    if len(found) != 1:
        rule = f"{table.path} must have one column of classes 0 and 1, or target must name it"
        got = ", ".join(found) or f"no such column among {', '.join(table.header)}"
        raise InputError(f"{rule} (got {got[:200]})")
    return found[0]


def find_names(table: Table, others: Sequence[int | None]) -> int | None:
    """Place of a column that names molecules, by its own name; None if there is none."""
    named = [
        place
        for place, name in enumerate(table.header)
        if name.lower().replace(" ", "_") in _ID_NAMES and place not in others
    ]
    return min(named, key=lambda place: _ID_NAMES.index(table.header[place].lower().replace(" ", "_")), default=None)


@contextmanager
def _reading_text(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} must be UTF-8 text (got a byte that is not at {error.start})") from error


def _read_text(path: Path) -> str:
    with _reading_text(path):
        text = path.read_text(encoding="utf-8-sig")
    if not text.strip():
        raise InputError(f"{path} must not be empty")
    return text


def _read_csv(path: Path) -> Table:
    text = _read_text(path)
    first_line = text.lstrip().splitlines()[0]
    delimiter = _delimiter(first_line)
    rows, lines = [], []
    reader = csv.reader(text.splitlines(keepends=True), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                rows.append(row)
                lines.append(reader.line_num)
    except csv.Error as error:
        raise InputError(f"{path} line {reader.line_num}: not valid CSV, {error}") from error
    return Table(path, _checked_header(path, rows[0] if rows else []), rows[1:], lines[1:])


def _delimiter(line: str) -> str:
    return max(",;\t", key=line.count)


def _checked_header(path: Path, cells: list[str]) -> list[str]:
    if not cells:
        raise InputError(f"{path} must not be empty")
    header = [cell.strip() for cell in cells]
    twice = [cell for cell, count in Counter(header).items() if count > 1]
    if twice:
        raise InputError(f"{path} must name each column once in its first line (got {twice[0]!r} twice)")
    return header


def _read_blanks(path: Path) -> Table:
    rows, lines = [], []
    for number, line in enumerate(_read_text(path).splitlines(), start=1):
        if line.strip():
            rows.append(line.split())
            lines.append(number)
    if rows[0][0].lower() == "smiles":
        return Table(path, rows[0], rows[1:], lines[1:])
    return Table(path, ["smiles", *(f"column {i}" for i in range(2, len(rows[0]) + 1))], rows, lines)


def _read_sdf(path: Path) -> Table:
    """Records as rows: SMILES, title and the properties of any record."""
    _read_text(path)
    try:
        from rdkit import Chem, rdBase
    except ImportError as error:
        raise InputError("Molecules need rdkit: pip install 'comrecgc[chem]'") from error
    records: list[dict[str, str]] = []
    with rdBase.BlockLogs():
        for molecule in Chem.SDMolSupplier(str(path)):
            if molecule is None:
                records.append({"smiles": _UNREADABLE})
                continue
            known = {key: str(value) for key, value in molecule.GetPropsAsDict(False, False).items()}
            title = molecule.GetProp("_Name") if molecule.HasProp("_Name") else ""
            records.append({**known, "smiles": Chem.MolToSmiles(molecule), "title": title})
    header = list(dict.fromkeys(["smiles", "title", *(key for record in records for key in record)]))
    rows = [[record.get(key, "") for key in header] for record in records]
    return Table(path, header, rows, list(range(1, len(rows) + 1)), unit="record")
