"""Molecules from a table: a column of SMILES, and one of classes where they are known."""

from __future__ import annotations

import hashlib
import math
from array import array
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from comrecgc.datasets.dataset import GraphDataset
from comrecgc.datasets.tables import (
    NUMBERS,
    Table,
    find_names,
    find_smiles,
    find_target,
    is_large,
    read_table,
    table_blocks,
)
from comrecgc.errors import InputError
from comrecgc.graphs import Graph, GraphBatch, GraphPacker
from comrecgc.molecules import BOND_NAMES, Parsed, Standardiser, canonical_smiles, parse_molecule, read_smiles

_SHOWN_LINES = 10
_LONGEST_REASON = 110
_LONGEST_VALUE = 40
_HIGHER, _LOWER = "higher", "lower"


@dataclass(frozen=True, kw_only=True)
class TableReading:
    """How a table of molecules is read.

    Args:
        smiles: Column of SMILES; found by its name or contents where that is plain.
        target: Column of classes, or of numbers with a threshold; found by its contents, then its name, where that is plain.
        accept: Which value of the target means accept, 1 by default; with a threshold, "higher" (the default) or "lower".
        threshold: Makes classes of numbers: a value as high as this is high.
        id_column: Column that names molecules; found by its name where that is plain.
        class_names: What reject and accept mean.
        on_error: Whether rows that cannot be read stop everything or are skipped and noted.
        standardise: Keep the largest fragment, neutralise, and merge what is then the same.
        label_names: Atoms that molecules may have, as in a run; None for all that occur.
    """

    smiles: str | None = None
    target: str | None = None
    accept: int | str | None = None
    threshold: float | None = None
    id_column: str | None = None
    class_names: tuple[str, str] | None = None
    on_error: Literal["raise", "skip"] = "raise"
    standardise: bool = True
    label_names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if self.on_error not in ("raise", "skip"):
            raise InputError(f"on_error must be 'raise' or 'skip' (got {self.on_error!r})")
        if self.threshold is not None and not math.isfinite(self.threshold):
            raise InputError(f"threshold must be a finite number (got {self.threshold})")
        if self.threshold is not None and self.accept not in (None, _HIGHER, _LOWER):
            raise InputError(f"accept must be 'higher' or 'lower' where there is a threshold (got {self.accept!r})")
        if self.class_names is not None and len(self.class_names) != 2:
            raise InputError(f"class_names must name reject and accept (got {len(self.class_names)} names)")


@dataclass(eq=False)
class _Rows:
    """What was read so far."""

    parsed: list[Parsed] = field(default_factory=list)
    classes: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    identity: list[str] = field(default_factory=list)
    bad: list[tuple[int, str]] = field(default_factory=list)
    num_blank: int = 0


def from_smiles_table(
    path: str | Path,
    *,
    name: str | None = None,
    need_classes: bool = True,
    reading: TableReading | None = None,
    **options: Any,
) -> GraphDataset:
    """Molecules from a CSV or TSV file with a header, a `.smi`, SDF or Parquet file; hydrogens stay implicit.

    Labels are the atoms found, the most frequent first, with their charges and aromaticity (`C`, `c`, `N+`, `[nH]`); edge labels are bonds.

    Args:
        path: The file; columns separated by comma, semicolon or tab, in a `.smi` file by blanks.
        name: What to call the dataset; the file's name by default.
        need_classes: Whether there must be a column of classes; without one, every class is 0 and no molecules are merged.
        reading: How to read it.
        **options: Fields of `TableReading`, in place of it.

    Raises:
        InputError: If the file, a column or (unless skipped) rows cannot be used; all their lines are named.
    """
    unknown = sorted(set(options) - set(TableReading.__dataclass_fields__))
    if unknown:
        raise InputError(f"Options are {', '.join(TableReading.__dataclass_fields__)} (got {unknown[0]!r})")
    reading = replace(reading or TableReading(), **options)
    path = Path(path)
    blocks = table_blocks(path) if is_large(path) else iter([read_table(path)])
    table = next(blocks, None)  # which says where columns are
    if table is None:
        raise InputError(f"{path} must hold at least one usable molecule (got no rows)")
    smiles = table.column(find_smiles(table, _is_smiles) if reading.smiles is None else reading.smiles, "smiles")
    target = reading.target if reading.target is not None else _target_of(table, reading, smiles, needed=need_classes)
    target_column = None if target is None else table.column(target, "target")
    names = reading.id_column
    id_column = find_names(table, (smiles, target_column)) if names is None else table.column(names, "id_column")
    accepting = None if target_column is None else _Accepting.of(table, target_column, reading)
    standardiser = Standardiser() if reading.standardise else None
    molecules = _Molecules(path, is_packed=is_large(path))
    with molecules.files:
        for block in chain([table], blocks):
            rows = _read_rows(block, smiles, accepting, id_column, reading, standardiser)
            molecules.add(rows)
            if molecules.bad and reading.on_error == "raise":
                raise InputError(_complaint(table, molecules.bad))
        graphs, label_names = molecules.graphs(reading.label_names)
    if not len(graphs):
        num = len(molecules.bad) + molecules.num_blank
        raise InputError(f"{path} must hold at least one usable molecule (got {num} rows, none usable)")
    notes, kept = _row_notes(table, molecules, standardiser), np.arange(len(graphs))
    if standardiser is not None and accepting is not None and need_classes:
        kept, more = _merged(molecules, path)
        notes += more
    dataset = GraphDataset(
        name=name or path.stem,
        graphs=graphs,
        classes=np.array(molecules.classes, dtype=np.int8),
        label_names=label_names,
        class_names=reading.class_names or (("reject", "accept") if accepting is None else accepting.class_names),
        edge_label_names=BOND_NAMES,
        notes=tuple(notes),
        names=tuple(molecules.names) if id_column is not None else (),
    )
    return dataset if len(kept) == len(graphs) else dataset.subset(kept.tolist())


class _Molecules:
    """What was read so far: graphs in memory, or packed in files."""

    def __init__(self, path: Path, *, is_packed: bool) -> None:
        self.path, self.files = path, ExitStack()
        self.packer = GraphPacker(self.files) if is_packed else None
        self.parsed: list[Parsed] = []
        self.counts: Counter[str] = Counter()
        self.code_of: dict[str, int] = {}
        self.classes, self.identity = array("b"), array("Q")
        self.names: list[str] = []
        self.bad: list[tuple[int, str]] = []
        self.num_blank = 0

    def add(self, rows: _Rows) -> None:
        """Take some more."""
        for atoms, _, _ in rows.parsed:
            self.counts.update(atoms)
            for atom in atoms:
                self.code_of.setdefault(atom, len(self.code_of))
        if self.packer is None:
            self.parsed += rows.parsed
        elif rows.parsed:
            made = (Graph([self.code_of[a] for a in atoms], bonds, kinds) for atoms, bonds, kinds in rows.parsed)
            self.packer.add(GraphBatch.from_graphs(made))
        self.classes.extend(rows.classes)
        self.identity.extend(_hash(smiles) for smiles in rows.identity)
        self.names += rows.names
        self.bad += rows.bad
        self.num_blank += rows.num_blank

    def graphs(self, label_names: Sequence[str] | None) -> tuple[Sequence[Graph], tuple[str, ...]]:
        """The graphs, and the alphabet of their labels: the given one, or the most frequent first."""
        alphabet = list(label_names or sorted(self.counts, key=lambda atom: (-self.counts[atom], atom)))
        label = {atom: place for place, atom in enumerate(alphabet)}
        if self.packer is not None:
            return self.packer.packed().relabelled(np.array([label[atom] for atom in self.code_of], np.int32)), tuple(
                alphabet
            )
        made = (Graph([label[a] for a in atoms], bonds, kinds) for atoms, bonds, kinds in self.parsed)
        return tuple(made), tuple(alphabet)


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


@dataclass(frozen=True, kw_only=True)
class _Accepting:
    """Which values of the target mean accept."""

    column: int
    header: str
    accept: str | None = None
    threshold: float | None = None
    higher: bool = True
    values: tuple[str, ...] = ()

    @classmethod
    def of(cls, table: Table, column: int, reading: TableReading) -> _Accepting:
        header = table.header[column]
        if reading.threshold is not None:
            return cls(column=column, header=header, threshold=reading.threshold, higher=reading.accept != _LOWER)
        values = Counter(table.values(column))
        wanted = None if reading.accept is None else str(reading.accept)
        if wanted is None and set(values) == {"-1", "1"}:
            wanted = "1"
        if set(values) <= set(NUMBERS) or wanted is None:
            return cls._of_numbers(table, column, values, wanted)
        if wanted not in values:
            shown = ", ".join(repr(value[:_LONGEST_VALUE]) for value, _ in values.most_common(5))
            raise InputError(f"{table.path}: accept must be a value of column {header!r}: {shown} (got {wanted!r})")
        return cls(column=column, header=header, accept=wanted, values=tuple(sorted(values)))

    @classmethod
    def _of_numbers(cls, table: Table, column: int, values: Counter[str], wanted: str | None) -> _Accepting:
        header = table.header[column]
        if wanted is not None and wanted not in NUMBERS:
            raise InputError(f"accept must be 0 or 1 (got {wanted})")
        if len(values) == 2 and len(table.rows) > 2 and not set(values) & set(NUMBERS):
            shown = " or ".join(value[:_LONGEST_VALUE] for value in sorted(values))
            raise InputError(f"{table.path}: accept must say which value of column {header!r} is the good one: {shown}")
        numbers = sum(_is_number(value) for value in values)
        if numbers == len(values) > 2 and not set(values) & set(NUMBERS):
            rule = f"threshold must say from where column {header!r} is high"
            raise InputError(f"{table.path}: {rule}: it holds numbers, not classes 0 and 1")
        return cls(column=column, header=header, accept=wanted or "1")

    @property
    def class_names(self) -> tuple[str, str]:
        if self.threshold is not None:
            low, high = f"{self.header} < {self.threshold:g}", f"{self.header} ≥ {self.threshold:g}"
            return (low, high) if self.higher else (high, low)
        if self.values:
            others = [value for value in self.values if value != self.accept]
            return (others[0] if len(others) == 1 else f"not {self.accept}", self.accept or "")
        return ("reject", "accept")

    def class_of(self, cell: str) -> int:
        """The class of a cell.

        Raises:
            InputError: If it says none.
        """
        if self.threshold is not None:
            if not _is_number(cell):
                raise InputError(f"column {self.header!r} must hold numbers (got {cell[:40]!r})")
            return int((float(cell) >= self.threshold) == self.higher)
        if self.values:
            return int(cell == self.accept)
        if cell not in NUMBERS:
            raise InputError(f"the class in column {self.header!r} must be 0 or 1 (got {cell[:40]!r})")
        return int(NUMBERS[cell] == NUMBERS[self.accept or "1"])


def _target_of(table: Table, reading: TableReading, smiles: int, *, needed: bool) -> str | None:
    if reading.threshold is None:
        return find_target(table, smiles, needed=needed)
    found = [
        name
        for place, name in enumerate(table.header)
        if place != smiles and len(values := set(table.values(place))) > 2 and all(map(_is_number, values))
    ]
    if len(found) != 1:
        rule = f"{table.path} must have one column of numbers for the threshold, or target must name it"
        raise InputError(f"{rule} (got {', '.join(found)[:200] or 'no such column'})")
    return found[0]


def _read_rows(
    table: Table,
    smiles: int,
    accepting: _Accepting | None,
    id_column: int | None,
    reading: TableReading,
    standardiser: Standardiser | None,
) -> _Rows:
    rows = _Rows()
    for row, line in zip(table.rows, table.lines, strict=True):
        try:
            if len(row) != len(table.header):
                raise InputError(f"a row must have {len(table.header)} columns like the first (got {len(row)})")
            cell = "0" if accepting is None else row[accepting.column].strip()
            if not row[smiles].strip():
                rows.num_blank += 1
                continue
            molecule = read_smiles(row[smiles].strip())
            if not cell:
                rows.num_blank += 1
                continue
            value = 0 if accepting is None else accepting.class_of(cell)
            molecule = molecule if standardiser is None else standardiser(molecule)
            parsed = parse_molecule(molecule)
            unknown = set() if reading.label_names is None else set(parsed.atoms) - set(reading.label_names)
            if unknown:
                raise InputError(f"atoms must be among {', '.join(reading.label_names or ())} (got {min(unknown)})")
        except InputError as error:
            rows.bad.append((line, str(error)))
            continue
        rows.parsed.append(parsed)
        rows.classes.append(value)
        rows.names.append("" if id_column is None else " ".join(row[id_column].split()))
        rows.identity.append(canonical_smiles(molecule))
    return rows


def _complaint(table: Table, bad: Sequence[tuple[int, str]]) -> str:
    if len(bad) == 1:
        return f"{table.path} {table.unit} {bad[0][0]}: {bad[0][1]}"
    reasons = "; ".join(f"{table.unit} {line}: {_clipped(reason)}" for line, reason in bad[:_SHOWN_LINES])
    more = [str(line) for line, _ in bad[_SHOWN_LINES:]]
    rest = f"; and {table.unit}s {_listed(more, 40)}" if more else ""
    return f"{table.path} has {len(bad)} rows that cannot be read (--skip-bad, on_error='skip', leaves them out): {reasons}{rest}"


def _row_notes(table: Table, rows: _Molecules, standardiser: Standardiser | None) -> list[str]:
    notes = []
    if rows.bad:
        shown = _listed([str(line) for line, _ in rows.bad], _SHOWN_LINES)
        notes.append(f"{len(rows.bad)} rows that cannot be read were skipped: {table.unit} {shown}.")
    if rows.num_blank:
        notes.append(f"{rows.num_blank} rows without a molecule or a class were skipped.")
    if standardiser is not None and standardiser.num_stripped:
        notes.append(
            f"Of {standardiser.num_stripped} molecules in several parts (salts, solvents) the largest part was kept."
        )
    if standardiser is not None and standardiser.num_neutralised:
        notes.append(f"{standardiser.num_neutralised} molecules were neutralised.")
    return notes


def _merged(molecules: _Molecules, path: Path) -> tuple[npt.NDArray[np.int64], list[str]]:
    """Indices of each molecule's first row, none of those whose classes differ, and what was left out."""
    identity = np.frombuffer(molecules.identity, np.uint64)
    _, first, of_row = np.unique(identity, return_index=True, return_inverse=True)
    classes = np.array(molecules.classes, np.int64)
    rows, accepted = np.bincount(of_row), np.bincount(of_row, classes).astype(np.int64)
    conflicts = (accepted > 0) & (accepted < rows)
    kept = np.sort(first[~conflicts])
    number = int(rows[conflicts].sum())
    repeated = len(identity) - len(kept) - number
    notes = []
    if repeated:
        notes.append(f"{repeated} rows repeated an earlier molecule, stereo apart, and were merged.")
    if number:
        notes.append(f"{number} rows of {int(conflicts.sum())} molecules that appear with both classes were left out.")
    if not len(kept):
        raise InputError(f"{path}: no molecule is left: every one appears with both classes")
    return kept, notes


def _is_smiles(cell: str) -> bool:
    try:
        read_smiles(cell)
    except InputError as error:
        if "rdkit" in str(error):
            raise
        return False
    return True


def _is_number(cell: str) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


def _clipped(text: str) -> str:
    return text if len(text) <= _LONGEST_REASON else f"{text[: _LONGEST_REASON - 1]}…"


def _listed(items: Sequence[str], most: int) -> str:
    return ", ".join(items[:most]) + (", …" if len(items) > most else "")
