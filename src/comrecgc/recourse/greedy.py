"""Greedy maximum coverage over bit-packed sets: lazily evaluated, within 1 − 1/e of the optimum."""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
import numpy.typing as npt

from comrecgc.errors import InputError
from comrecgc.graphs.graph import BoolArray

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
    order, gains = _choose(np.ascontiguousarray(sets), start, min(budget, len(sets)))
    return GreedySelection(order, gains)


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def gains_of(sets: BitArray, covered: BitArray) -> npt.NDArray[np.int64]:
    """How many elements each set has that are not covered, all as bits, `[m]`."""
    gains = np.empty(len(sets), dtype=np.int64)
    for i in range(len(sets)):
        gains[i] = _gain(sets[i], covered)
    return gains


@numba.njit(cache=True, nogil=True)
def _choose(sets, covered, budget):  # type: ignore[no-untyped-def]
    order = np.empty(budget, dtype=np.int64)
    gains = np.empty(budget, dtype=np.int64)
    bounds = np.empty(len(sets), dtype=np.int64)  # gain when last looked at; gains only fall
    for i in range(len(sets)):
        bounds[i] = _gain(sets[i], covered)
    for k in range(budget):
        # The set that looked best is a good start: most others cannot beat it and are not looked at again.
        best = int(np.argmax(bounds))
        bounds[best] = _gain(sets[best], covered)
        for i in range(len(sets)):
            if bounds[i] > bounds[best] or (bounds[i] == bounds[best] and i < best):
                bounds[i] = _gain(sets[i], covered)
                if bounds[i] > bounds[best] or (bounds[i] == bounds[best] and i < best):
                    best = i
        if bounds[best] == 0:
            return order[:k].copy(), gains[:k].copy()
        order[k], gains[k] = best, bounds[best]
        for w in range(sets.shape[1]):
            covered[w] |= sets[best, w]
        bounds[best] = 0
    return order, gains


@numba.njit(cache=True, nogil=True, inline="always")
def _gain(words, covered):  # type: ignore[no-untyped-def]
    """How many bits are set in `words` and not in `covered`: the population count of Hacker's Delight, section 5-1."""
    total = np.uint64(0)
    for w in range(len(words)):
        x = words[w] & ~covered[w]
        x -= (x >> np.uint64(1)) & np.uint64(0x5555555555555555)
        x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
        x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
        total += (x * np.uint64(0x0101010101010101)) >> np.uint64(56)
    return np.int64(total)
