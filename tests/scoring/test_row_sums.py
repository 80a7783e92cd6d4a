"""Products and sums in registers are those of numpy."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt
import pytest

from comrecgc.scoring.row_sums import WIDTH, add_product, add_rows

Floats = npt.NDArray[np.float32]
WIDTHS = [WIDTH, 2 * WIDTH, 3 * WIDTH, 4 * WIDTH]


@numba.njit
def _product(target: Any, start: Any, state: Any, matrix: Any) -> None:
    add_product(target.ctypes.data, start.ctypes.data, state.ctypes.data, matrix.ctypes.data, len(state))


@numba.njit
def _sum(target: Any, start: Any, factors: Any, places: Any) -> None:
    add_rows(target.ctypes.data, start.ctypes.data, factors.ctypes.data, places.ctypes.data, len(places), len(target))


def _numbers(rng: np.random.Generator, *shape: int, zeros: float = 0.0) -> Floats:
    numbers = rng.normal(size=shape)
    return np.where(rng.random(shape) < zeros, 0, numbers).astype(np.float32)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("zeros", [0.0, 0.8, 1.0])
def test_a_product_is_that_of_numpy(width: int, zeros: float) -> None:
    rng = np.random.default_rng(width)
    state, start, matrix = _numbers(rng, width, zeros=zeros), _numbers(rng, width), _numbers(rng, width, width)
    target = np.full(width + 2, 7, np.float32)
    _product(target[1:-1], start, state, matrix)
    np.testing.assert_allclose(target[1:-1], start + state @ matrix, rtol=0, atol=1e-4)
    assert target[[0, -1]].tolist() == [7, 7]  # nothing beside it is written


def test_a_product_may_be_added_to_itself() -> None:
    rng = np.random.default_rng(0)
    state, total, matrix = _numbers(rng, WIDTH), _numbers(rng, WIDTH), _numbers(rng, WIDTH, WIDTH)
    wanted = total + state @ matrix
    _product(total, total, state, matrix)
    np.testing.assert_allclose(total, wanted, rtol=0, atol=1e-4)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("chosen", [[], [2], [4, 0, 4, 1]])
def test_a_sum_of_rows_is_that_of_numpy(width: int, chosen: list[int]) -> None:
    rng = np.random.default_rng(width)
    start, rows, factors = _numbers(rng, width), _numbers(rng, 5, width), _numbers(rng, len(chosen))
    target = np.full(width + 2, 7, np.float32)
    _sum(target[1:-1], start, factors, rows.ctypes.data + 4 * width * np.array(chosen, np.int64))
    np.testing.assert_allclose(target[1:-1], np.maximum(start + factors @ rows[chosen], 0), rtol=0, atol=1e-4)
    assert target[[0, -1]].tolist() == [7, 7]


def test_what_is_not_a_number_stays_so() -> None:
    zeros, target = np.zeros(WIDTH, np.float32), np.zeros(WIDTH, np.float32)
    state = _numbers(np.random.default_rng(1), WIDTH)
    state[3] = np.nan
    _product(target, zeros, state, np.eye(WIDTH, dtype=np.float32))
    assert np.isnan(target[3])
    _sum(target, zeros, np.ones(1, np.float32), state.ctypes.data + np.zeros(1, np.int64))
    assert np.flatnonzero(np.isnan(target)).tolist() == [3]
