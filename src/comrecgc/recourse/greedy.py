"""Greedy maximum coverage over bit-packed sets: lazily evaluated, within 1 − 1/e of the optimum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from comrecgc import kernels
from comrecgc.errors import InputError
from comrecgc.graphs import BoolArray

BitArray = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class GreedySelection:
    """Chosen sets, in the order of choice.

    Args:
        order: Index of each chosen set, `[k]`.
        gains: How many elements it adds to those chosen before, `[k]`, positive and never rising.
    """

    order: npt.NDArray[np.int64]
    gains: npt.NDArray[np.int64]


def pack(membership: BoolArray) -> BitArray:
    """Sets as bits: element `j` of a set is bit `j % 64` of its word `j // 64`, `[m, ceil(n / 64)]`."""
    num_sets, num_elements = membership.shape
    words = np.zeros((num_sets, -(-num_elements // 64) * 8), dtype=np.uint8)
    packed = np.packbits(membership, axis=1, bitorder="little")
    words[:, : packed.shape[1]] = packed
    return words.view("<u8").astype(np.uint64, copy=False)


def greedy_cover(membership: BoolArray, budget: int, *, covered: BoolArray | None = None) -> GreedySelection:
    """Choose at most `budget` sets, each adding the most elements to those before; ties go to the lowest index.

    Coverage is monotone and submodular, so the choice covers at least `1 − 1/e` of what the best one does (section 2.2).
    It ends early when nothing more can be gained.

    Args:
        membership: Which elements each set has, `[m, n]`.
        budget: Sets to choose, at most.
        covered: Elements that count as covered from the start, `[n]`.
    """
    if membership.ndim != 2:
        raise InputError(f"membership must be one row per set (got shape {membership.shape})")
    start = np.zeros(membership.shape[1], dtype=np.bool_) if covered is None else covered
    if start.shape != (membership.shape[1],):
        raise InputError(f"covered must be one flag per element, {membership.shape[1]} (got shape {start.shape})")
    return greedy_cover_packed(pack(membership), budget, covered=pack(start[None, :])[0])


def greedy_cover_packed(sets: BitArray, budget: int, *, covered: BitArray | None = None) -> GreedySelection:
    """The same over sets already packed.

    Args:
        sets: Sets as bits (see `pack`), `[m, words]`.
        budget: Sets to choose, at most.
        covered: Elements that count as covered from the start, as bits, `[words]`.
    """
    if budget < 0:
        raise InputError(f"budget must not be negative (got {budget})")
    start = np.zeros(sets.shape[1], dtype=np.uint64) if covered is None else covered.copy()
    order, gains = kernels.cover.choose(np.ascontiguousarray(sets), start, min(budget, len(sets)))
    return GreedySelection(order, gains)
