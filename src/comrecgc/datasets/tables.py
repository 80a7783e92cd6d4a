"""Text tables of molecules: CSV, TSV, SMI and SDF files as rows of cells, and which column is which."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from comrecgc.errors import InputError

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
        lines: Line that each row ends on, or its number among the records of an SDF file.
        unit: What `lines` count: "line" or "record".
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
        case _:
            return _read_csv(path)


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


def _read_text(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} must be UTF-8 text (got a byte that is not at {error.start})") from error
    if not text.strip():
        raise InputError(f"{path} must not be empty")
    return text


def _read_csv(path: Path) -> Table:
    text = _read_text(path)
    first_line = text.lstrip().splitlines()[0]
    delimiter = max(",;\t", key=first_line.count)
    rows, lines = [], []
    reader = csv.reader(text.splitlines(keepends=True), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                rows.append(row)
                lines.append(reader.line_num)
    except csv.Error as error:
        raise InputError(f"{path} line {reader.line_num}: not valid CSV, {error}") from error
    if not rows:
        raise InputError(f"{path} must not be empty")
    header = [cell.strip() for cell in rows[0]]
    twice = [cell for cell, count in Counter(header).items() if count > 1]
    if twice:
        raise InputError(f"{path} must name each column once in its first line (got {twice[0]!r} twice)")
    return Table(path, header, rows[1:], lines[1:])


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
