"""Distances decided in double precision, and how far single-precision products may be off."""

from __future__ import annotations

import numba
import numpy as np


def product_slack(width: int) -> float:
    """Bound on the rounding error of `‖a‖² + ‖b‖² − 2 a·b` relative to `‖a‖² + ‖b‖²`, for a single-precision `a·b`.

    A sum of `width` terms loses at most `width` units in the last place; a few more are for rounding `a` and `b`.
    """
    return (width + 16) * 2.0**-23


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def distance(first, second):  # type: ignore[no-untyped-def]
    """`‖first − second‖` of two single-precision vectors, in double precision."""
    total = 0.0
    for k in range(len(first)):
        difference = np.float64(first[k]) - np.float64(second[k])
        total += difference * difference
    return np.sqrt(total)
