"""Coverage of bit-packed sets."""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def gains_of(sets, covered):  # type: ignore[no-untyped-def]
    """How many elements each set has that are not covered, all as bits, `[m]`."""
    gains = np.empty(len(sets), dtype=np.int64)
    for i in range(len(sets)):
        gains[i] = _gain(sets[i], covered)
    return gains


@numba.njit(cache=True, nogil=True)
def choose(sets, covered, budget):  # type: ignore[no-untyped-def]
    """Indices and gains of at most `budget` sets, each adding the most elements to `covered`; ties go to the lowest."""
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
