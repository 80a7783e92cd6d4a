"""Molecules from a table with a column of SMILES and, if classes are known, one of classes."""

from __future__ import annotations

import hashlib
import math
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from comrecgc.data import tables
from comrecgc.data.dataset import GraphDataset, reading_with
from comrecgc.data.goals import Goal, Numbers, read_number
from comrecgc.data.tables import HIGHER, LOWER, Table, TargetColumn, is_blank
from comrecgc.errors import InputError
from comrecgc.graphs import Graph, GraphBatch, GraphPacker
from comrecgc.molecules import (
    BOND_NAMES,
    ParsedMolecule,
    Standardiser,
    canonical_smiles,
    is_smiles,
    parse_molecule,
    read_smiles,
    stereo_of,
)

_SHOWN_LINES = 10
_LONGEST_REASON = 110


@dataclass(frozen=True, kw_only=True)
class TableReading:
    """How to read a table of molecules.

    Args:
        smiles: Column of SMILES; by default found by its name or contents.
        target: Column of classes, or of numbers with a threshold; by default found by its contents, then its name.
        accept: Which value of the target means accept, 1 by default; with a threshold, "higher" (the default) or "lower".
        threshold: Turns numbers into classes: values from this on are high.
        raise_by: Take the target as numbers, with a rise of at least this as the goal.
        lower_by: … with a fall of at least this.
        to: … with this value to reach; with `accept="lower"`, from above.
        id_column: Column that names molecules; by default found by its name.
        class_names: Names of reject and accept.
        on_error: Whether rows that cannot be read are an error or are skipped and noted.
        standardise: Keep the largest fragment, neutralise, and merge molecules that become equal.
        label_names: Atoms that molecules may have, such as those of a run; None for all that occur.
    """

    smiles: str | None = None
    target: str | None = None
    accept: int | str | None = None
    threshold: float | None = None
    raise_by: float | None = None
    lower_by: float | None = None
    to: float | None = None
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
        if self.goal is not None and self.threshold is not None:
            raise InputError(
                "threshold makes classes of numbers, and a goal keeps the numbers: only one can be given (got both)"
            )
        if (self.threshold is not None or self.to is not None) and self.accept not in (None, HIGHER, LOWER):
            raise InputError(f"accept must be 'higher' or 'lower' where there is a threshold (got {self.accept!r})")
        if self.class_names is not None and len(self.class_names) != 2:
            raise InputError(f"class_names must name reject and accept (got {len(self.class_names)} names)")

    @property
    def goal(self) -> Goal | None:
        """What is to become of the numbers; None where the target holds classes."""
        if self.raise_by is None and self.lower_by is None and self.to is None:
            return None
        return Goal(raise_by=self.raise_by, lower_by=self.lower_by, to=self.to, lower=self.accept == LOWER)


def from_smiles_table(
    path: str | Path,
    *,
    name: str | None = None,
    need_classes: bool = True,
    reading: TableReading | None = None,
    **options: Any,
) -> GraphDataset:
    """Molecules from a CSV, TSV, SMI, SDF or Parquet file; hydrogens stay implicit.

    Labels are the atoms found, the most frequent first, with their charges and aromaticity (`C`, `c`, `N+`, `[nH]`); edge labels are bonds.

    Args:
        path: The file; columns separated by comma, semicolon or tab, in a `.smi` file by blanks.
        name: Name of the dataset; the file's name by default.
        need_classes: Whether there must be a column of classes; without one, every class is 0 and no molecules are merged.
        reading: How to read it.
        **options: Fields of `TableReading`, in place of it.

    Raises:
        InputError: If the file, a column or (unless skipped) rows cannot be used; all their lines are named.
    """
    reading = reading_with(reading or TableReading(), options)
    path = Path(path)
    blocks = tables.read_table(path, is_smiles)
    table = next(blocks, None)  # the first block decides which column is which
    if table is None:
        raise InputError(f"{path} must hold at least one usable molecule (got no rows)")
    smiles = table.column(tables.find_smiles(table, is_smiles) if reading.smiles is None else reading.smiles, "smiles")
    target, others = reading.target, []
    goal = reading.goal if need_classes else None
    if target is None and (reading.threshold is not None or goal is not None):
        target = tables.find_numbers(table, smiles)
    elif target is None:
        target = tables.find_target(table, smiles, needed=need_classes)
        others = [] if target is None else tables.other_targets(table, smiles, target)
    target_column = None if target is None else table.column(target, "target")
    names = reading.id_column
    id_column = tables.find_names(table, (smiles, target_column)) if names is None else table.column(names, "id_column")
    accepting = None
    if goal is not None and target_column is not None:
        accepting = TargetColumn(column=target_column, header=table.header[target_column], goal=goal)
    elif target_column is not None:
        accepting = TargetColumn.of(table, target_column, accept=reading.accept, threshold=reading.threshold)
    standardiser = Standardiser() if reading.standardise else None
    with GraphPacker() as packer:
        molecules = _Molecules(packer, reading, standardiser)
        for block in chain([table], blocks):
            molecules.add(block, smiles, accepting, id_column)
            if molecules.bad and reading.on_error == "raise":
                raise InputError(_complaint(table, molecules.bad))
        graphs, label_names = molecules.graphs()
    if not len(graphs):
        num = len(molecules.bad) + molecules.num_blank
        first = "" if not molecules.bad else f": {table.unit} {molecules.bad[0][0]}: {_shorten(molecules.bad[0][1])}"
        raise InputError(
            f"{path} must hold at least one usable molecule (got {_count(num, 'row')}, none usable{first})"
        )
    notes, kept = _row_notes(table, molecules), np.arange(len(graphs))
    if others:
        notes.insert(0, f"Classes are those of column {target!r}; --target would take {_join(others, 5)} instead.")
    if accepting is not None and need_classes and goal is None:
        notes.insert(0, accepting.note(is_given=reading.accept is not None))
    if standardiser is not None and accepting is not None and need_classes:
        kept, more = _merge_duplicates(molecules, table) if goal is None else _merge_numbers(molecules)
        notes += more
    dataset = GraphDataset(
        name=name or tables.stem_of(path),
        graphs=graphs,
        classes=np.array(molecules.classes, dtype=np.int8),
        label_names=label_names,
        class_names=reading.class_names
        or (("reject", "accept") if accepting is None or goal is not None else accepting.class_names),
        edge_label_names=BOND_NAMES,
        notes=tuple(notes),
        names=tuple(molecules.names) if id_column is not None else (),
        stereo=tuple(molecules.stereo) if any(molecules.stereo) else (),
    )
    if goal is not None and target is not None:
        dataset = dataset.with_numbers(Numbers(np.array(molecules.numbers), target))
    dataset = dataset if len(kept) == len(graphs) else dataset.subset(kept.tolist())
    return dataset if goal is None else dataset.aiming(goal)


class _Molecules:
    """All molecules read so far; their graphs are packed, with atoms numbered in the order they were first seen."""

    def __init__(self, packer: GraphPacker, reading: TableReading, standardiser: Standardiser | None) -> None:
        self.packer, self.reading, self.standardiser = packer, reading, standardiser
        self.counts: Counter[str] = Counter()
        self.code_of: dict[str, int] = {}
        self.classes, self.identity, self.lines, self.numbers = array("b"), array("Q"), array("q"), array("d")
        self.names: list[str] = []
        self.stereo: list[str] = []
        self.bad: list[tuple[int, str]] = []
        self.num_blank = 0

    def add(self, table: Table, smiles: int, accepting: TargetColumn | None, id_column: int | None) -> None:
        """Read the rows of a block."""
        graphs = []
        for row, line in zip(table.rows, table.lines, strict=True):
            try:
                found = self._read(row, len(table.header), smiles, accepting)
            except InputError as error:
                self.bad.append((line, str(error)))
                continue
            if found is None:
                self.num_blank += 1
                continue
            molecule, (atoms, bonds, kinds), value, number = found
            self.counts.update(atoms)
            for atom in atoms:
                self.code_of.setdefault(atom, len(self.code_of))
            graphs.append(Graph([self.code_of[atom] for atom in atoms], bonds, kinds))
            self.classes.append(value)
            self.numbers.append(number)
            self.identity.append(_hash(canonical_smiles(molecule)))
            self.names.append("" if id_column is None else " ".join(row[id_column].split()))
            self.stereo.append(stereo_of(molecule))
            self.lines.append(line)
        self.packer.add(GraphBatch.from_graphs(graphs))

    def _read(
        self, row: list[str], width: int, smiles: int, accepting: TargetColumn | None
    ) -> tuple[Any, ParsedMolecule, int, float] | None:
        """The molecule of a row, its atoms and bonds, its class and its number; None if the row has no molecule or no class."""
        if len(row) != width:
            raise InputError(f"a row must have {width} columns like the first (got {len(row)})")
        cell = "0" if accepting is None else row[accepting.column].strip()
        if is_blank(row[smiles]):
            return None
        molecule = read_smiles(row[smiles].strip())
        if is_blank(cell):
            return None
        number = 0.0 if accepting is None or accepting.goal is None else read_number(cell, accepting.header)
        value = 0 if accepting is None or accepting.goal is not None else accepting.class_of(cell)
        molecule = molecule if self.standardiser is None else self.standardiser(molecule)
        parsed, known = parse_molecule(molecule), self.reading.label_names
        unknown = set() if known is None else set(parsed.atoms) - set(known)
        if unknown:
            raise InputError(f"atoms must be among {', '.join(known or ())} (got {min(unknown)})")
        return molecule, parsed, value, number

    def graphs(self) -> tuple[Sequence[Graph], tuple[str, ...]]:
        """The graphs, and the alphabet of their labels: the given one, or the most frequent first."""
        known = self.reading.label_names or sorted(self.counts, key=lambda atom: (-self.counts[atom], atom))
        alphabet = tuple(known)
        labels = np.array([alphabet.index(atom) for atom in self.code_of], np.int32)
        return self.packer.finish().relabel(labels).unpack(), alphabet


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def _complaint(table: Table, bad: Sequence[tuple[int, str]]) -> str:
    if len(bad) == 1:
        return f"{table.path} {table.unit} {bad[0][0]}: {bad[0][1]}"
    reasons = "; ".join(f"{table.unit} {line}: {_shorten(reason)}" for line, reason in bad[:_SHOWN_LINES])
    more = [str(line) for line, _ in bad[_SHOWN_LINES:]]
    rest = f"; and {table.unit}{'s' * (len(more) > 1)} {_join(more, 40)}" if more else ""
    return f"{table.path} has {len(bad)} rows that cannot be read (--skip-bad, on_error='skip', leaves them out): {reasons}{rest}"


def _row_notes(table: Table, rows: _Molecules) -> list[str]:
    notes, standardiser = [], rows.standardiser
    if rows.bad:
        shown = _lines([line for line, _ in rows.bad])
        number = len(rows.bad)
        notes.append(f"{_count(number, 'row')} that cannot be read {_were(number)} skipped: {table.unit} {shown}")
    if rows.num_blank:
        notes.append(f"{_count(rows.num_blank, 'row')} without a molecule or a class {_were(rows.num_blank)} skipped.")
    if standardiser is not None and standardiser.num_stripped:
        notes.append(
            f"Of {_count(standardiser.num_stripped, 'molecule')} in several parts (salts, solvents) the largest part was kept."
        )
    if standardiser is not None and standardiser.num_neutralised:
        number = standardiser.num_neutralised
        notes.append(f"{_count(number, 'molecule')} {_were(number)} neutralised.")
    return notes


def _merge_duplicates(molecules: _Molecules, table: Table) -> tuple[npt.NDArray[np.int64], list[str]]:
    """Index of the first row of each molecule, without molecules that appear with both classes; and notes on what was left out."""
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
        notes.append(
            f"{_count(repeated, 'row')} repeated an earlier molecule, stereo apart, and {_were(repeated)} merged."
        )
    if number:
        several = int(conflicts.sum())
        which = f"{number} rows of {_count(several, 'molecule')} that appear{'s' * (several == 1)} with both classes"
        lines = np.array(molecules.lines, np.int64)[conflicts[of_row]]
        notes.append(f"{which} were left out: {table.unit} {_lines(lines.tolist())}")
    if not len(kept):
        raise InputError(f"{table.path}: every molecule appears with both classes, so that none is left")
    return kept, notes


def _merge_numbers(molecules: _Molecules) -> tuple[npt.NDArray[np.int64], list[str]]:
    """Index of the first row of each molecule, which gets the mean of all its numbers; and a note."""
    identity, numbers = np.frombuffer(molecules.identity, np.uint64), np.array(molecules.numbers)
    _, first, of_row = np.unique(identity, return_index=True, return_inverse=True)
    means = np.bincount(of_row, numbers) / np.bincount(of_row)
    molecules.numbers = array("d", means[of_row].tolist())
    repeated = len(identity) - len(first)
    note = f"{_count(repeated, 'row')} repeated an earlier molecule, stereo apart: it has the mean of their numbers."
    return np.sort(first), [note] if repeated else []


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST_REASON else f"{text[: _LONGEST_REASON - 1]}…"


def _join(items: Sequence[str], most: int) -> str:
    return ", ".join(items[:most]) + (", …" if len(items) > most else "")


def _lines(lines: Sequence[int]) -> str:
    """The first of many line numbers, as the end of a sentence."""
    return ", ".join(map(str, lines[:_SHOWN_LINES])) + (" …" if len(lines) > _SHOWN_LINES else ".")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def _were(number: int) -> str:
    return "was" if number == 1 else "were"
