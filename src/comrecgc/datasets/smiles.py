"""Molecules from a table: a column of SMILES, and one of classes where they are known."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from comrecgc.datasets.dataset import GraphDataset
from comrecgc.errors import InputError
from comrecgc.graphs import Graph
from comrecgc.molecules import BOND_NAMES, parse_smiles

_CLASSES = {"0": 0, "1": 1, "0.0": 0, "1.0": 1}
_TARGET_NAMES = ("class", "label", "target", "y", "activity", "active", "outcome")
_NO_HEADER = ".smi"


@dataclass(frozen=True)
class _Table:
    """Cells of a text table and the line of the file each row ends on."""

    path: Path
    header: list[str]
    rows: list[list[str]]
    lines: list[int]

    def column(self, name: str, role: str) -> int:
        if name not in self.header:
            raise InputError(f"{role} must be a column of {self.path}: {', '.join(self.header)[:200]} (got {name!r})")
        return self.header.index(name)


def from_smiles_table(
    path: str | Path,
    *,
    smiles: str | None = None,
    target: str | None = None,
    accept: int = 1,
    on_error: Literal["raise", "skip"] = "raise",
    name: str | None = None,
    class_names: tuple[str, str] = ("reject", "accept"),
    need_classes: bool = True,
) -> GraphDataset:
    """Molecules from a CSV file with a header, or a headerless `.smi` file; hydrogens stay implicit.

    Labels are the elements found, the most frequent first; edge labels are bonds.

    Args:
        path: The file; columns separated by comma, semicolon or tab, in a `.smi` file by blanks.
        smiles: Column of SMILES; found by its name where that is plain.
        target: Column of classes 0 and 1; found by its contents, then its name, where that is plain.
        accept: Which of 0 and 1 means accept.
        on_error: Whether a row that cannot be read stops everything or is skipped and noted.
        name: What to call the dataset; the file's name by default.
        class_names: What reject and accept mean.
        need_classes: Whether there must be a column of classes; without one, every class is 0.

    Raises:
        InputError: If the file, a column or (unless skipped) a row cannot be used; the line is named.
    """
    if accept not in (0, 1):
        raise InputError(f"accept must be 0 or 1 (got {accept})")
    if on_error not in ("raise", "skip"):
        raise InputError(f"on_error must be 'raise' or 'skip' (got {on_error!r})")
    path = Path(path)
    table = _read_blanks(path) if path.suffix.lower() == _NO_HEADER else _read_csv(path)
    smiles_column = table.column(_find_smiles(table) if smiles is None else smiles, "smiles")
    target = _find_target(table, smiles_column, needed=need_classes) if target is None else target
    target_column = None if target is None else table.column(target, "target")
    parsed, classes, skipped = [], [], []
    for row, line in zip(table.rows, table.lines, strict=True):
        try:
            molecule, value = _read_row(row, table.header, smiles_column, target_column)
        except InputError as error:
            if on_error == "raise":
                raise InputError(f"{path} line {line}: {error}") from error
            skipped.append(line)
            continue
        parsed.append(molecule)
        classes.append(int(value == accept))
    if not parsed:
        raise InputError(f"{path} must hold at least one usable molecule (got {len(skipped)} rows, none usable)")
    counts = Counter(element for elements, _, _ in parsed for element in elements)
    alphabet = sorted(counts, key=lambda element: (-counts[element], element))
    return GraphDataset(
        name=name or path.stem,
        graphs=tuple(Graph([alphabet.index(e) for e in elements], bonds, kinds) for elements, bonds, kinds in parsed),
        classes=np.array(classes, dtype=np.int8),
        label_names=tuple(alphabet),
        class_names=class_names,
        edge_label_names=BOND_NAMES,
        notes=_skip_note(skipped),
    )


def _skip_note(lines: Sequence[int]) -> tuple[str, ...]:
    if not lines:
        return ()
    shown = ", ".join(map(str, lines[:10])) + (", …" if len(lines) > 10 else "")
    return (f"{len(lines)} rows that cannot be read were skipped: line {shown}.",)


def _read_row(
    row: list[str], header: list[str], smiles: int, target: int | None
) -> tuple[tuple[list[str], list[tuple[int, int]], list[int]], int]:
    if len(row) != len(header):
        raise InputError(f"a row must have {len(header)} columns like the first (got {len(row)})")
    value = "0" if target is None else row[target].strip()
    if target is not None and value not in _CLASSES:
        raise InputError(f"the class in column {header[target]!r} must be 0 or 1 (got {value[:40]!r})")
    return parse_smiles(row[smiles].strip()), _CLASSES[value]


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


def _read_csv(path: Path) -> _Table:
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
    return _Table(path, header, rows[1:], lines[1:])


def _read_blanks(path: Path) -> _Table:
    rows, lines = [], []
    for number, line in enumerate(_read_text(path).splitlines(), start=1):
        if line.strip():
            rows.append(line.split())
            lines.append(number)
    if rows[0][0].lower() == "smiles":
        return _Table(path, rows[0], rows[1:], lines[1:])
    return _Table(path, ["smiles", *(f"column {i}" for i in range(2, len(rows[0]) + 1))], rows, lines)


def _find_smiles(table: _Table) -> str:
    exact = [name for name in table.header if name.lower() in ("smiles", "smi")]
    found = exact or [name for name in table.header if "smiles" in name.lower()]
    if len(found) != 1:
        rule = f"{table.path} must have one column of SMILES, or smiles must name it"
        raise InputError(f"{rule} (got columns {', '.join(table.header)[:200]})")
    return found[0]


def _find_target(table: _Table, smiles: int, *, needed: bool) -> str | None:
    found = [
        name
        for column, name in enumerate(table.header)
        if column != smiles and table.rows and all(_may_be_class(row, column) for row in table.rows)
    ]
    if len(found) > 1:
        found = [name for name in found if name.lower() in _TARGET_NAMES] or found
    named = [name for name in table.header if name.lower() in _TARGET_NAMES]
    found = found or named  # so that an error can name the line where a class is not 0 or 1
    if not found and not needed:
        return None
    if len(found) != 1:
        rule = f"{table.path} must have one column of classes 0 and 1, or target must name it"
        raise InputError(f"{rule} (got {', '.join(found)[:200] or 'no such column'})")
    return found[0]


def _may_be_class(row: list[str], column: int) -> bool:
    return column >= len(row) or row[column].strip() in _CLASSES  # a short row is refused later, by its line
