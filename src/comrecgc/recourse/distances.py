"""Distances decided in double precision, and how far single-precision products may be off."""

from __future__ import annotations


def product_slack(width: int) -> float:
    """Bound on the rounding error of `‖a‖² + ‖b‖² − 2 a·b` relative to `‖a‖² + ‖b‖²`, for a single-precision `a·b`.

    A sum of `width` terms loses at most `width` units in the last place; a few more are for rounding `a` and `b`.
    """
    return (width + 16) * 2.0**-23
