"""Greedy on bits chooses what greedy on an incidence chooses."""

from __future__ import annotations

import numpy as np
import pytest

from comrecgc.cover import exact_cover, greedy_cover, packed_cover


def sets(seed: int, num_sets: int = 300, num_items: int = 203) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.random((num_sets, num_items)) < rng.random((num_sets, 1)) ** 3


@pytest.mark.parametrize("slack", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("seed", range(5))
def test_same_as_greedy(seed: int, slack: float) -> None:
    table = sets(seed)
    keys = np.random.default_rng(seed).integers(0, 3, (2, len(table)))
    theirs = greedy_cover(table, 12, tie_break=tuple(keys), slack=slack)
    ours = packed_cover(np.packbits(table, axis=1), 12, tie_break=tuple(keys), slack=slack)
    assert np.array_equal(ours.order, theirs.order)
    assert np.array_equal(ours.gains, theirs.gains)
    assert ours.bound >= theirs.covered


def test_the_bound_holds_for_the_best_choice() -> None:
    table = sets(7, 12, 30)
    best = exact_cover(table, 3)
    assert best is not None
    assert packed_cover(np.packbits(table, axis=1), 3).bound >= table[best].any(axis=0).sum()


def test_nothing_to_choose() -> None:
    assert len(packed_cover(np.zeros((4, 2), np.uint8), 3).order) == 0
    assert len(packed_cover(np.zeros((0, 2), np.uint8), 3).order) == 0
    assert len(packed_cover(np.packbits(sets(0), axis=1), 0).order) == 0
