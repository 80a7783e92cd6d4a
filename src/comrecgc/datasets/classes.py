"""Two classes out of however many a dataset has: which one is to be reached, and which are to be left."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from comrecgc.datasets.dataset import ClassArray
from comrecgc.errors import InputError
from comrecgc.graphs import LongArray

_SHOWN = 8


@dataclass(frozen=True, kw_only=True)
class GraphReading:
    """How an archive or a file of graphs is read.

    Args:
        accept: The class to reach, by its value or its name; the larger of two by default.
        reject: The class to leave; all others by default.
        threshold: Makes classes of numbers: a graph whose number is as high as this is high, and accepted unless `accept` is "lower".
        bins: Number of ranges that a node attribute is cut into, by the attribute's name or its number, counted from 1; "all" is
            every attribute. Attributes that are not named are left out.
    """

    accept: int | str | None = None
    reject: int | str | None = None
    threshold: float | None = None
    bins: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.threshold is not None and not math.isfinite(self.threshold):
            raise InputError(f"threshold must be a finite number (got {self.threshold})")
        if self.threshold is not None and (self.accept not in (None, "higher", "lower") or self.reject is not None):
            got = self.accept if self.reject is None else self.reject
            raise InputError(f"With a threshold, accept must be 'higher' or 'lower' and reject none (got {got!r})")
        for name, count in self.bins.items():
            if count < 2:
                raise InputError(f"bins must cut attribute {name!r} into at least 2 ranges (got {count})")


@dataclass(frozen=True, eq=False, kw_only=True)
class ChosenClasses:
    """Two classes.

    Args:
        kept: Indices of the graphs that are of one of them, `[n]`.
        classes: 1 where such a graph is of the class to reach, `[n]`.
        class_names: What reject and accept mean.
        notes: A sentence on graphs that were left out.
    """

    kept: LongArray
    classes: ClassArray
    class_names: tuple[str, str]
    notes: tuple[str, ...] = ()


def choose_classes(
    values: npt.NDArray[Any],
    *,
    accept: int | str | None,
    reject: int | str | None,
    names: Mapping[int, str],
    source: str,
    known: Sequence[int] | None = None,
) -> ChosenClasses:
    """Read the values of a dataset's classes as reject and accept.

    Args:
        values: Raw class of each graph, `[B]`.
        accept: The class to reach, by value or name; None for the larger of two.
        reject: The class to leave; None for all others.
        names: Names of raw classes.
        source: Where the values come from, for errors.
        known: Classes that there are, also where the graphs have only one of them.
    """
    distinct = np.unique(values).tolist() if known is None else list(known)
    if len(distinct) < 2:
        raise InputError(f"{source} must have two classes (got {', '.join(map(_plain, distinct))})")
    good = _find(accept, distinct, names, "accept")
    bad = _find(reject, distinct, names, "reject")
    if good is None and bad is None and len(distinct) > 2:
        counts = ", ".join(f"{_plain(v)} ({int((values == v).sum())} graphs)" for v in distinct[:_SHOWN])
        more = ", …" if len(distinct) > _SHOWN else ""
        raise InputError(
            f"{source} has {len(distinct)} classes: accept must name the one to reach, among {counts}{more}; "
            "reject may name the only one to leave, else all others are left (got neither)"
        )
    if good is None and len(distinct) == 2:
        good = distinct[1] if bad is None else distinct[1 - distinct.index(bad)]
    if bad is None and len(distinct) == 2:
        bad = distinct[1 - distinct.index(good)]
    if good == bad:
        raise InputError(f"accept and reject must be two classes (got {_plain(good)} for both)")
    titles = {value: names.get(value, f"class {_plain(value)}") for value in distinct}
    if good is None:
        return _of(values != bad, (titles[bad], f"not {titles[bad]}"))
    if bad is None:
        return _of(values == good, (f"not {titles[good]}", titles[good]))
    kept = np.flatnonzero((values == good) | (values == bad))
    left_out = len(values) - len(kept)
    notes = (f"{left_out} graphs of other classes were left out.",) if left_out else ()
    return ChosenClasses(
        kept=kept,
        classes=(values[kept] == good).astype(np.int8),
        class_names=(titles[bad], titles[good]),
        notes=notes,
    )


def classes_by_threshold(values: npt.NDArray[Any], threshold: float, *, higher: bool, what: str) -> ChosenClasses:
    """Classes of graphs with a number each: accepted where it is high, or where it is low."""
    low, high = f"{what} < {threshold:g}", f"{what} ≥ {threshold:g}"
    chosen = _of((values >= threshold) == higher, (low, high) if higher else (high, low))
    if len(np.unique(chosen.classes)) < 2:
        raise InputError(
            f"threshold must lie between the values of {what}, {values.min():g}…{values.max():g} (got {threshold:g})"
        )
    return chosen


def _of(accepted: npt.NDArray[np.bool_], names: tuple[str, str]) -> ChosenClasses:
    return ChosenClasses(kept=np.arange(len(accepted)), classes=accepted.astype(np.int8), class_names=names)


def _find(wanted: int | str | None, distinct: Sequence[Any], names: Mapping[int, str], parameter: str) -> Any:
    """The raw value that is meant, by itself or by name."""
    if wanted is None:
        return None
    for value in distinct:
        if wanted == value or str(wanted).strip() in (_plain(value), names.get(value)):
            return value
    shown = ", ".join(names.get(value, _plain(value)) for value in distinct[:_SHOWN])
    raise InputError(f"{parameter} must be one of the classes {shown} (got {wanted})")


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
