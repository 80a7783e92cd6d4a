from __future__ import annotations

import numba
import numpy as np
import pytest

from comrecgc.scoring.row_kernels import padded, padded_row, padded_width, positive_product, positive_row_sum, row_sum

WIDTHS = (8, 16, 24, 32, 64, 128)


@numba.njit
def sum_rows(members, first, count, weights, table, start, out, positive):  # type: ignore[no-untyped-def]
    if positive:
        positive_row_sum(members, first, count, weights, table, start, out, 1)
    else:
        row_sum(members, first, count, weights, table, start, out, 1)


@numba.njit
def multiply(x, table, start, other, out):  # type: ignore[no-untyped-def]
    for row in range(len(x)):
        positive_product(x, row, table, start, other, 1, out, row)


def test_padded_widths_are_the_least_that_fit() -> None:
    assert [padded_width(width) for width in (1, 8, 9, 20, 25, 33, 64, 65, 128)] == [8, 8, 16, 24, 32, 64, 64, 128, 128]


def test_padding_adds_zeros_and_starts_on_a_cache_line() -> None:
    table = padded(np.ones((10, 20)))
    assert table.shape == (16, 24)
    assert table.sum() == 200
    assert table[:10, :20].all()
    assert table.ctypes.data % 64 == 0
    assert padded(np.ones((10, 20)), both=False).shape == (10, 24)
    assert padded_row(np.ones(3)).tolist() == [1, 1, 1, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("positive", [False, True])
def test_row_sum_equals_numpy(width: int, positive: bool) -> None:
    rng = np.random.default_rng(width)
    table, start = rng.normal(size=(9, width)).astype(np.float32), rng.normal(size=width).astype(np.float32)
    members, weights = rng.integers(0, 9, 7).astype(np.int32), rng.normal(size=7).astype(np.float32)
    out = np.full((3, width), np.nan, dtype=np.float32)
    for count in (0, 1, 5):
        sum_rows(members, 2, count, weights, table, start, out, positive)
        rows = np.maximum(table, 0) if positive else table
        expected = start + (weights[:count, None] * rows[members[2 : 2 + count]]).sum(axis=0)
        np.testing.assert_allclose(out[1], expected, rtol=1e-5, atol=1e-5)
        assert np.isnan(out[[0, 2]]).all()


@pytest.mark.parametrize("depth", WIDTHS)
@pytest.mark.parametrize("width", WIDTHS)
def test_product_equals_numpy(depth: int, width: int) -> None:
    rng = np.random.default_rng(depth + width)
    x, table = rng.normal(size=(5, depth)).astype(np.float32), rng.normal(size=(depth, width)).astype(np.float32)
    x[0], x[1], x[2, ::2] = -np.abs(x[0]), np.abs(x[1]), 0  # nothing, everything and every second entry left out
    start, other = rng.normal(size=width).astype(np.float32), rng.normal(size=(2, width)).astype(np.float32)
    out = np.full((5, width), np.nan, dtype=np.float32)
    multiply(x, table, start, other, out)
    np.testing.assert_allclose(out, start + other[1] + np.maximum(x, 0) @ table, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(out[0], start + other[1])


def test_a_row_does_not_depend_on_the_others() -> None:
    rng = np.random.default_rng(0)
    x, table = rng.normal(size=(40, 64)).astype(np.float32), rng.normal(size=(64, 64)).astype(np.float32)
    nothing, together, alone = (
        np.zeros((2, 64), np.float32),
        np.empty((40, 64), np.float32),
        np.empty((1, 64), np.float32),
    )
    multiply(x, table, nothing[0], nothing, together)
    for row in range(40):
        multiply(x[row : row + 1], table, nothing[0], nothing, alone)
        np.testing.assert_array_equal(alone[0], together[row])
