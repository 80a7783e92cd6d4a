"""Maximum coverage to optimality (HiGHS), and the bound of its linear relaxation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from comrecgc.cover.greedy import Incidence, Weights, checked
from comrecgc.errors import InputError

if TYPE_CHECKING:
    from scipy.sparse import coo_array, csr_array


MAX_ENTRIES = 2_000_000  # beyond, HiGHS takes gigabytes
_ROUNDING = 1e-6  # HiGHS meets its constraints to 1e-7


def exact_cover(
    incidence: Incidence, num_sets: int, *, weights: npt.ArrayLike | None = None, time_limit: float = 60.0
) -> npt.NDArray[np.int64] | None:
    """At most `num_sets` sets that together cover the most, in increasing order; None if not proven in time or too large.

    Args:
        incidence: Which items each set has, `[sets, items]`; equal sets are looked at once.
        num_sets: Sets to choose, at most.
        weights: Weight of each item, none negative, `[items]`; None counts every item as 1.
        time_limit: Seconds.
    """
    sets, values = checked(incidence, num_sets, weights)
    rows = _distinct(sets)
    solution = _cover(sets[rows], values, num_sets, time_limit, integral=True)
    return None if solution is None else rows[solution[: len(rows)] > 0.5]


def lp_bound(
    incidence: Incidence, num_sets: int, *, weights: npt.ArrayLike | None = None, time_limit: float = 60.0
) -> float | None:
    """No `num_sets` sets cover more than this: the linear relaxation, rounded down where items have no weights.

    Args:
        incidence: Which items each set has, `[sets, items]`.
        num_sets: Sets to choose, at most.
        weights: Weight of each item, none negative, `[items]`; None counts every item as 1.
        time_limit: Seconds; None is returned if it is not solved by then or too large.
    """
    sets, values = checked(incidence, num_sets, weights)
    rows = _distinct(sets)
    solution = _cover(sets[rows], values, num_sets, time_limit, integral=False)
    if solution is None:
        return None
    total = float(solution[len(rows) :] @ values)
    return float(math.floor(total + _ROUNDING * max(1.0, total))) if weights is None else total * (1 + _ROUNDING)


def solve_binary(
    matrix: coo_array,
    upper: npt.NDArray[np.float64],
    objective: npt.NDArray[np.float64],
    *,
    num_integers: int,
    time_limit: float,
) -> npt.NDArray[np.float64] | None:
    """The `x` in [0, 1] of largest `objective @ x` with `matrix @ x ≤ upper`; None if not proven in time or too large.

    Args:
        matrix: The constraints, `[constraints, variables]`.
        upper: Their right sides, `[constraints]`.
        objective: Worth of each variable, `[variables]`.
        num_integers: How many variables, the first ones, are 0 or 1.
        time_limit: Seconds.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    if not time_limit > 0:
        raise InputError(f"time_limit must be positive (got {time_limit})")
    if matrix.nnz > MAX_ENTRIES:
        return None
    if not len(objective):
        return np.zeros(0)
    result = milp(
        -objective,
        integrality=(np.arange(len(objective)) < num_integers).astype(np.int64),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(matrix.tocsr(), ub=upper),
        options={"time_limit": time_limit, "mip_rel_gap": 0.0},
    )
    assert result.status in (0, 1), result.message  # 1: time was up
    return np.asarray(result.x, dtype=np.float64) if result.status == 0 else None


def _cover(
    sets: csr_array, values: Weights, num_sets: int, time_limit: float, *, integral: bool
) -> npt.NDArray[np.float64] | None:
    """How far each set is chosen and each item covered, `[sets + items]`."""
    from scipy.sparse import block_array, csr_array, eye_array

    # An item is covered only as far as the sets that have it are chosen; the last row counts the sets.
    chosen, reached = sets.shape
    matrix = block_array(
        [[-sets.T.astype(np.float64), eye_array(reached)], [csr_array(np.ones((1, chosen))), None]], format="coo"
    )
    return solve_binary(
        matrix,
        np.append(np.zeros(reached), float(num_sets)),
        np.append(np.zeros(chosen), values),
        num_integers=chosen if integral else 0,
        time_limit=time_limit,
    )


def _distinct(sets: csr_array) -> npt.NDArray[np.int64]:
    """The first of all equal sets, in increasing order."""
    first: dict[Any, int] = {}
    for row in range(sets.shape[0]):
        first.setdefault(sets.indices[sets.indptr[row] : sets.indptr[row + 1]].tobytes(), row)
    return np.fromiter(first.values(), np.int64, len(first))
