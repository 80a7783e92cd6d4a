"""Numbers at the nodes as labels: cut into ranges, since labels are a finite alphabet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from comrecgc.errors import InputError
from comrecgc.graphs import LongArray

ALL = "all"
"""Stands for every attribute."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Ranges:
    """One attribute cut into ranges that hold about as many nodes each.

    Args:
        range_of: Range of every node, `[N]`, the lowest first.
        names: What each range is called.
        middle: Median of the values in each range.
    """

    range_of: LongArray
    names: tuple[str, ...]
    middle: npt.NDArray[np.float64]

    @classmethod
    def of(cls, values: npt.NDArray[Any], count: int, name: str) -> Ranges:
        """Cut values at their quantiles; ranges that would be empty are not made.

        Args:
            values: The attribute of every node, `[N]`.
            count: Ranges to cut it into, at most.
            name: What the attribute is called.
        """
        cuts = np.unique(np.quantile(values, np.linspace(0, 1, count + 1)[1:-1], method="inverted_cdf"))
        range_of = np.searchsorted(cuts, values, side="left")
        used, range_of = np.unique(range_of, return_inverse=True)
        parts = [values[range_of == place] for place in range(len(used))]
        names = [
            f"{name} {part.min():.4g}" if part.min() == part.max() else f"{name} {part.min():.4g}…{part.max():.4g}"
            for part in parts
        ]
        return cls(range_of=range_of, names=tuple(names), middle=np.array([np.median(part) for part in parts]))


def find_columns(bins: Mapping[str, int], names: Sequence[str], where: str) -> dict[int, int]:
    """The number of ranges of each column that is to be cut.

    Args:
        bins: What was asked, by an attribute's name or its number counted from 1, or `ALL`.
        names: The attributes' names.
        where: What to call the data in errors.
    """
    found: dict[int, int] = {}
    for wanted, count in bins.items():
        numbers = {str(place + 1): place for place in range(len(names))}
        if wanted == ALL:
            found = dict.fromkeys(range(len(names)), count) | found
        elif wanted in names:
            found[list(names).index(wanted)] = count
        elif wanted in numbers:
            found[numbers[wanted]] = count
        else:
            shown = ", ".join(names) or "none"
            raise InputError(f"bins must name node attributes of {where}: {shown} (got {wanted!r})")
    return found
