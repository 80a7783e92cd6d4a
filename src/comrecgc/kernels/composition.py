"""How many inputs two changes should turn together, for every pair of rules."""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def pair_worth(rise, cost, grown, other_rise, other_cost, other_grown, need, size, theta, weight, same):  # type: ignore[no-untyped-def]
    """Weight of the inputs that each pair of rules should turn within θ, `[A, B]`; if `same`, only where `b >= a`.

    Args:
        rise: What a rule adds to the log-odds of each input, `[A, N]`; -inf where it cannot be carried out.
        cost: Elements it changes, `[A, N]`.
        grown: What it adds to the size, `[A, N]`.
        other_rise: The same of the other rules, `[B, N]`, and so on.
        need: What each input lacks, `[N]`.
        size: Size of each input, `[N]`.
        weight: Weight of each input, `[N]`.
        same: Whether both are the same rules.
    """
    worth = np.zeros((len(rise), len(other_rise)), np.float32)
    for a in range(len(rise)):
        for b in range(a if same else 0, len(other_rise)):
            total = np.float32(0)
            for i in range(len(need)):
                if rise[a, i] + other_rise[b, i] > need[i]:
                    if cost[a, i] + other_cost[b, i] <= theta * (2 * size[i] + grown[a, i] + other_grown[b, i]):
                        total += weight[i]
            worth[a, b] = total
    return worth
