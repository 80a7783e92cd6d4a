"""Goals in numbers: a rise, a fall, or a value to reach; and columns of measured numbers.

A goal turns a number into a class: a graph is accepted if its number reaches the threshold. For a relative goal every input has its own threshold,
its number plus the rise.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from comrecgc.errors import InputError

FloatArray = npt.NDArray[np.float64]

_QUALIFIED = re.compile(r"\s*[<>≤≥~]")
_LOGARITHMS = (2.0, 15.0)  # between which those of concentrations lie,
_LINEAR = 50.0  # and concentrations in nM mostly above that
_LOGARITHMIC = re.compile(r"(\b|_|\[)(p(Ki|Kd|IC50|EC50|AC50|XC50|Km)|log)", re.IGNORECASE)  # names of columns


@dataclass(frozen=True, kw_only=True)
class Goal:
    """The goal for a number: exactly one of a rise, a fall and a value to reach.

    Args:
        raise_by: Least rise of the number.
        lower_by: Least fall.
        to: Least value to reach; with `lower`, the largest.
        lower: Whether `to` is to be reached from above.
    """

    raise_by: float | None = None
    lower_by: float | None = None
    to: float | None = None
    lower: bool = False

    def __post_init__(self) -> None:
        given = [value for value in (self.raise_by, self.lower_by, self.to) if value is not None]
        if len(given) != 1:
            raise InputError(f"A goal is one of raise_by, lower_by and to (got {len(given)} of them)")
        if not np.isfinite(given[0]) or (self.to is None and given[0] <= 0):
            raise InputError(f"A goal must be a finite number, and a rise or fall above 0 (got {given[0]})")

    @property
    def sign(self) -> int:
        """1 where higher is better, -1 where lower is."""
        return -1 if self.lower_by is not None or self.lower else 1

    @property
    def is_relative(self) -> bool:
        """Whether every input has its own threshold."""
        return self.to is None

    @property
    def amount(self) -> float:
        """The rise, the fall or the value to reach."""
        return float(next(value for value in (self.raise_by, self.lower_by, self.to) if value is not None))

    def thresholds(self, numbers: FloatArray) -> FloatArray:
        """The threshold of each number, `[n]`."""
        return np.asarray(numbers + self.sign * self.amount if self.is_relative else np.full(len(numbers), self.amount))

    def surplus(self, before: FloatArray, after: FloatArray) -> FloatArray:
        """By how much each change exceeds the goal, `[n]`; below 0 where it falls short."""
        return np.asarray(self.sign * (after - self.thresholds(before)))

    def words(self, name: str) -> str:
        """The goal in a few words."""
        change = "raised by" if self.raise_by is not None else "lowered by"
        verb = change if self.is_relative else "≤" if self.lower else "≥"
        return f"{name} {verb} {self.amount:g}"

    def stated(self) -> dict[str, Any]:
        """The goal as plain values."""
        return {name: value for name, value in vars(self).items() if value not in (None, False)}


@dataclass(frozen=True, eq=False)
class Numbers:
    """Measured numbers of some graphs."""

    values: FloatArray | None = None  # the number of each graph, `[n]`; None where none was measured
    name: str = "number"  # what they are called
    goal: Goal | None = None  # what is to become of them; None where there are classes alone


def read_number(cell: str, column: str) -> float:
    """The measured number in a cell; a bound such as ">100" is refused."""
    text = cell.strip()
    if _QUALIFIED.match(text):
        raise InputError(
            f"{text[:40]!r} in column {column!r} is a bound and no measured number (--skip-bad leaves such rows out)"
        )
    try:
        number = float(text.replace(",", ".") if text.count(",") == 1 and "." not in text else text)
    except ValueError:
        number = np.nan
    if not np.isfinite(number):
        raise InputError(f"column {column!r} must hold numbers (got {text[:40]!r})")
    return number


def check_numbers(numbers: FloatArray, goal: Goal, column: str) -> None:
    """Refuse a goal that no measured number reaches, and numbers of mixed units."""
    if not len(numbers):
        return
    low, high = float(numbers.min()), float(numbers.max())
    small, large = (numbers > _LOGARITHMS[0]) & (numbers < _LOGARITHMS[1]), numbers > _LINEAR
    # Concentrations alone spread over decades, of which many lie below the smallest logarithms.
    is_mix = small.mean() > 0.5 and (numbers < _LOGARITHMS[0]).mean() < 0.05
    if large.any() and small.any() and (is_mix or _LOGARITHMIC.search(column)):
        raise InputError(
            f"column {column!r} seems to mix logarithms and concentrations: {int(small.sum())} numbers lie between {_LOGARITHMS[0]:g} and {_LOGARITHMS[1]:g}, "
            f"{int(large.sum())} above {_LINEAR:g} (got {high:g} beside a median of {float(np.median(numbers)):g})"
        )
    if not goal.is_relative and (goal.surplus(numbers, numbers) >= 0).all():
        raise InputError(f"all molecules are at the goal already: column {column!r} has {low:g} to {high:g} (got {goal.amount:g})")  # fmt: skip
    reach = high - low if goal.is_relative else goal.amount
    if (goal.is_relative and goal.amount > reach) or (not goal.is_relative and not low <= goal.amount <= high):
        raise InputError(
            f"the goal must lie within what was measured: column {column!r} has {low:g} to {high:g} (got {goal.amount:g})"
        )
