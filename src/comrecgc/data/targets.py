"""Classes of molecules in a table: which column has them, and which of its values are good."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass

from comrecgc.data.tables import Table
from comrecgc.errors import InputError

HIGHER, LOWER = "higher", "lower"
"""With a threshold: which side of it is accepted."""

_BINARY = {"0": 0, "1": 1, "0.0": 0, "1.0": 1}
_NAMES = ("class", "label", "target", "y", "activity", "active", "outcome")
_MOST_VALUES = 10  # that are named in an error
_LONGEST_VALUE = 40
_MEASURED = 0.5  # share of the cells of a column that must be numbers for a threshold to be meant for it
# "5.2", "5,2" (not "5,200", which may mean either), "1e-9", and beyond what was measured: ">10000", "<= 1", "~3".
_NUMBER = re.compile(r"\s*([<>≤≥~]?)=?\s*([+-]?(?:\d+(?:\.\d*)?|\.\d+|\d+,(?!\d{3}$)\d+)(?:[eE][+-]?\d+)?)\s*")


def find_target(table: Table, smiles: int, *, needed: bool) -> str | None:
    """The column of classes: the only one of 0 and 1, or of those the one whose name says so; then the only one of two values.

    Args:
        table: The table.
        smiles: Place of the column of SMILES.
        needed: Whether there must be one.
    """
    places = [place for place in range(len(table.header)) if place != smiles]
    values = {place: set(table.values(place)) for place in places}
    found = _binary_columns(table, smiles)
    if len(found) > 1:
        both = [name for name in found if len({_BINARY[v] for v in values[table.header.index(name)]}) == 2]
        found = [name for name in found if name.lower() in _NAMES] or both or found
    named = [name for name in table.header if name.lower() in _NAMES]
    if not found and not named:
        found = [table.header[place] for place in places if len(values[place]) == 2 and len(table.rows) > 2]
    found = found or named  # so that an error can name the line where a class is not 0 or 1
    if not found and not needed:
        return None
    if len(found) != 1:
        rule = f"{table.path} must have one column of classes 0 and 1, or target (--target) must name it"
        got = ", ".join(found) or f"no such column among {', '.join(table.header)}"
        numbers = [] if found else _columns_of_numbers(table, smiles)
        advice = f"; threshold (--threshold) makes classes of the numbers of {' or '.join(numbers)}" if numbers else ""
        raise InputError(f"{rule} (got {got[:200]}){advice[:200]}")
    return found[0]


def other_targets(table: Table, smiles: int, target: str) -> list[str]:
    """Columns that might hold the classes as well as the one that was found."""
    return [name for name in _binary_columns(table, smiles) if name != target]


def _binary_columns(table: Table, smiles: int) -> list[str]:
    places = [place for place in range(len(table.header)) if place != smiles]
    return [table.header[place] for place in places if table.values(place) and set(table.values(place)) <= set(_BINARY)]


def find_numbers(table: Table, smiles: int) -> str:
    """The only column of numbers that do more than tell rows apart."""
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
class Accepting:
    """Which values of the target mean accept."""

    column: int
    header: str
    accept: str | None = None
    threshold: float | None = None
    higher: bool = True
    values: tuple[str, ...] = ()

    @classmethod
    def of(cls, table: Table, column: int, *, accept: int | str | None, threshold: float | None) -> Accepting:
        """What a table and a user say of it.

        Args:
            table: The table.
            column: Place of the target.
            accept: The value that is good, or with a threshold the side.
            threshold: From where numbers are high.
        """
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
        """Say what is missing where no value is 0 or 1; where some are, the lines of the others are named later."""
        if set(values) & set(_BINARY):
            return
        if len(values) > 2 and all(_NUMBER.fullmatch(value) for value in values):
            rule = f"threshold (--threshold) must say from where column {header!r} is high"
            raise InputError(f"{table.path}: {rule}: it holds numbers, not classes 0 and 1")
        if 2 <= len(values) <= _MOST_VALUES and len(table.rows) > len(values):
            shown = " or ".join(value[:_LONGEST_VALUE] for value in sorted(values))
            rule = f"accept (--accept) must say which value of column {header!r} is the good one"
            raise InputError(f"{table.path}: {rule}: {shown}")
        if len(values) > _MOST_VALUES:
            rule = f"column {header!r} must hold classes, or accept (--accept) must name the good one of its values"
            raise InputError(f"{table.path}: {rule} (got {len(values)} different ones, the first {min(values)[:40]!r})")

    @property
    def class_names(self) -> tuple[str, str]:
        """What reject and accept mean."""
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
            return int(self._is_high(cell, self.threshold) == self.higher)
        if self.values:
            return int(cell == self.accept)
        if cell not in _BINARY:
            raise InputError(f"the class in column {self.header!r} must be 0 or 1 (got {cell[:40]!r})")
        return int(_BINARY[cell] == _BINARY[self.accept or "1"])

    def _is_high(self, cell: str, threshold: float) -> bool:
        """Whether a number, or all that one such as ">100" may stand for, is as high as the threshold."""
        found = _NUMBER.fullmatch(cell)
        value = float(found[2].replace(",", ".")) if found else math.nan
        if found is None or not math.isfinite(value):
            raise InputError(f"column {self.header!r} must hold numbers (got {cell[:40]!r})")
        unclear = (found[1] in (">", "≥") and value < threshold) or (found[1] in ("<", "≤") and value > threshold)
        if unclear:
            raise InputError(f"{cell[:40]!r} in column {self.header!r} may be on either side of {threshold:g}")
        return value >= threshold and not (found[1] == "<" and value == threshold)
