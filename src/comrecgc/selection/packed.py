"""Greedy maximum coverage on bits, for more items than an incidence of numbers has room for: lazily, or in two rounds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from comrecgc.selection.greedy import Choice

Bits = npt.NDArray[np.uint8]
"""Items of each set, `[sets, …]`, eight to a byte."""

_AT_ONCE = 64  # sets whose gains are counted together


def packed_cover(
    bits: Bits, num_sets: int, *, tie_break: Sequence[npt.NDArray[np.generic]] = (), slack: float = 0.0
) -> Choice:
    """What `greedy_cover` chooses, from bits.

    Gains only fall (coverage is submodular), so a set whose last known gain is too small to be chosen is not counted again (Minoux's
    lazy greedy). The bound is made of gains last known, so it may be a little wider.

    Args:
        bits: Items of each set.
        num_sets: Sets to choose, at most.
        tie_break: As for `greedy_cover`.
        slack: As for `greedy_cover`.
    """
    preference = np.lexsort(tuple(tie_break)[::-1]) if len(tie_break) else np.arange(len(bits))
    rank = np.argsort(preference)
    left = np.full(bits.shape[1], 0xFF, np.uint8)
    gains = _gains(bits, np.arange(len(bits)), left)
    known = np.ones(len(bits), bool)
    order, gained, covered = list[int](), list[int](), 0
    items = int(np.bitwise_count(np.bitwise_or.reduce(bits, axis=0)).sum()) if len(bits) else 0
    bound = min(items, _largest(gains, num_sets))
    for _ in range(min(num_sets, len(bits))):
        best = 0
        for part in _chunks(np.argsort(-gains, kind="stable")):
            if gains[part[0]] < (1 - slack) * best:
                break
            stale = part[~known[part]]
            gains[stale], known[stale] = _gains(bits, stale, left), True
            best = max(best, int(gains[part].max()))
        if best == 0:
            break
        near = np.flatnonzero(known & (gains >= (1 - slack) * best))
        chosen = int(near[rank[near].argmin()])
        order.append(chosen)
        gained.append(int(gains[chosen]))
        covered += gained[-1]
        left &= ~bits[chosen]
        known[:] = False
        gains[chosen], known[chosen] = 0, True
        bound = min(bound, covered + _largest(gains, num_sets))
    return Choice(order=np.array(order, np.int64), gains=np.array(gained, np.int64), bound=float(max(bound, covered)))


def two_round_cover(parts: Sequence[Bits], num_sets: int) -> Choice:
    """Each part of the items chooses sets for itself, and the final choice is made among those alone.

    "Distributed Submodular Maximization" (Mirzasoleiman et al. 2016), GreeDi: only the sets that some part has chosen meet in one place.
    Its bound says nothing of sets that no part chose.

    Args:
        parts: Items of each set in every part, `[sets, …]` each.
        num_sets: Sets to choose, at most.
    """
    named = np.unique(np.concatenate([packed_cover(part, num_sets).order for part in parts]))
    final = packed_cover(np.concatenate([part[named] for part in parts], axis=1), num_sets)
    return Choice(order=named[final.order], gains=final.gains, bound=final.bound)


def _gains(bits: Bits, rows: npt.NDArray[np.int64], left: Bits) -> npt.NDArray[np.int64]:
    """Items of some sets that are left."""
    parts = [np.bitwise_count(bits[part] & left).sum(axis=1, dtype=np.int64) for part in _chunks(rows)]
    return np.concatenate([np.zeros(0, np.int64), *parts])


def _chunks(rows: npt.NDArray[np.int64]) -> list[npt.NDArray[np.int64]]:
    return [rows[start : start + _AT_ONCE] for start in range(0, len(rows), _AT_ONCE)]


def _largest(gains: npt.NDArray[np.int64], count: int) -> int:
    return int(np.sort(gains)[len(gains) - min(count, len(gains)) :].sum())
