"""Maximum coverage (section 2.2): greedy, within 1 − 1/e of the best and usually proven closer by its own gains; or exact (HiGHS)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from comrecgc.graphs import LongArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array


# Limits on effort, not on time, so that the answer is the same on any machine.
MAX_ENTRIES = 2_000_000  # beyond, HiGHS takes gigabytes
MAX_ITERATIONS = 20_000  # of the simplex method
MAX_NODES = 1_000  # of branch and bound
_ROUNDING = 1e-6  # HiGHS meets its constraints to 1e-7

Incidence = Any
"""Incidence of sets and items, `[sets, items]`: booleans, dense or a `scipy.sparse` matrix or array."""

Weights = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Choice:
    """Chosen sets, in the order of choice."""

    order: LongArray  # index of each chosen set, `[k]`
    gains: npt.NDArray[Any]  # weight of the items it adds, `[k]`, positive; whole numbers without weights
    bound: float  # no choice of as many sets as were allowed covers more than this

    @property
    def covered(self) -> float:
        """Weight of all items in the chosen sets."""
        return float(self.gains.sum())


def greedy_cover(
    incidence: Incidence,
    num_sets: int,
    *,
    weights: npt.ArrayLike | None = None,
    tie_break: Sequence[npt.ArrayLike] = (),
    slack: float = 0.0,
) -> Choice:
    """Choose at most `num_sets` sets, each adding the most to those before; stop when nothing is gained.

    Gains are kept exact: when an item is covered, every set that has it loses its weight. An item is covered once, so the
    whole choice takes time proportional to the entries. After every step, what is covered plus the `num_sets` largest
    gains left bounds the best choice from above (coverage is submodular); the least of these is `Choice.bound`.

    Args:
        incidence: Which items each set has, `[sets, items]`.
        num_sets: Sets to choose, at most.
        weights: Weight of each item, none negative, `[items]`; None counts every item as 1.
        tie_break: Among sets that gain the same, the least value of the first key wins, then of the second, …, then the
            lowest index; each key is `[sets]`.
        slack: Sets that gain at least this much less than the best, as a share, count as gaining the same.
    """
    sets, values = _canonical(incidence, weights)
    by_preference = np.arange(sets.shape[0])
    if len(tie_break):
        by_preference = np.lexsort([np.asarray(key) for key in tie_break][::-1])
        sets = sets[by_preference]
    owners = sets.tocsc()  # the sets that have an item, item after item
    left, gains = values.copy(), sets @ values
    order, gained, covered = [], [], 0.0
    bound = min(float(values[np.diff(owners.indptr) > 0].sum()), _largest(gains, num_sets))
    for _ in range(min(num_sets, len(gains))):
        best = int(gains.argmax()) if slack == 0 else int((gains >= (1 - slack) * gains.max()).argmax())
        items = sets.indices[sets.indptr[best] : sets.indptr[best + 1]]
        items = items[left[items] > 0]
        if not len(items):
            break
        order.append(best)
        gained.append(left[items].sum())
        covered += gained[-1]
        losers, lost = _entries(owners.indptr, owners.indices, items, left[items])
        gains -= np.bincount(losers, lost, minlength=len(gains))
        left[items] = 0.0
        gains[best] = 0.0
        bound = min(bound, covered + _largest(gains, num_sets))
    return Choice(
        order=by_preference[np.array(order, dtype=np.int64)],
        gains=np.array(gained, dtype=np.int64 if weights is None else np.float64),
        bound=max(bound, covered),  # never below by rounding
    )


def incidence_of(sets: npt.NDArray[Any], items: npt.NDArray[Any], shape: tuple[int, int]) -> csr_array:
    """The incidence matrix `[sets, items]` from pairs of a set and an item."""
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(sets), dtype=np.bool_), (sets, items)), shape=shape)


def with_zero_gains(choice: Choice, num_sets: int, available: int) -> tuple[LongArray, LongArray]:
    """Order and gains of a choice of at most `num_sets` sets that goes on without gain, lowest index first, as the published codes do."""
    rest = np.setdiff1d(np.arange(available), choice.order)[: num_sets - len(choice.order)]
    order = np.concatenate([choice.order, rest]).astype(np.int64)
    return order, np.concatenate([choice.gains, np.zeros(len(rest))]).astype(np.int64)


def _canonical(incidence: Incidence, weights: npt.ArrayLike | None) -> tuple[csr_array, Weights]:
    """The incidence as a CSR array without duplicate or false entries, and the weights."""
    from scipy.sparse import csr_array

    sets: Any = csr_array(incidence, dtype=np.bool_)
    if not sets.has_canonical_format or not sets.data.all():
        sets = sets.copy()
        sets.sum_duplicates()
        sets.eliminate_zeros()
    values = np.ones(sets.shape[1]) if weights is None else np.asarray(weights, dtype=np.float64)
    assert values.shape == (sets.shape[1],)
    assert (values >= 0).all()
    return sets, values


def _largest(gains: npt.NDArray[Any], count: int) -> float:
    """Sum of the `count` largest gains."""
    if count == 0:
        return 0.0
    top = gains if count >= len(gains) else np.partition(gains, len(gains) - count)[len(gains) - count :]
    return float(np.maximum(top, 0.0).sum())


def _entries(
    indptr: npt.NDArray[Any], indices: npt.NDArray[Any], chosen: npt.NDArray[Any], values: Weights
) -> tuple[npt.NDArray[Any], Weights]:
    """Indices of the entries of chosen columns of a CSC matrix, end to end, and the value of the column for each."""
    starts, counts = indptr[chosen], indptr[chosen + 1] - indptr[chosen]
    ends = np.cumsum(counts)
    places = np.arange(ends[-1]) + np.repeat(starts - (ends - counts), counts)
    return indices[places], np.repeat(values, counts)


# Greedy maximum coverage on bits, for more items than an incidence of numbers has room for.


Bits = npt.NDArray[np.uint8]
"""Items of each set, `[sets, …]`, eight to a byte."""

_AT_ONCE = 64  # sets whose gains are counted together


def packed_cover(
    bits: Bits, num_sets: int, *, tie_break: Sequence[npt.NDArray[np.generic]] = (), slack: float = 0.0
) -> Choice:
    """The choice of `greedy_cover`, computed from the items of each set as bits.

    Gains only fall (coverage is submodular), so a set whose last known gain is too small to be chosen is not counted again (Minoux's lazy greedy).
    The bound uses last known gains, so it may be a little looser.
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


def _gains(bits: Bits, rows: LongArray, left: Bits) -> LongArray:
    """Number of remaining items in each set."""
    parts = [np.bitwise_count(bits[part] & left).sum(axis=1, dtype=np.int64) for part in _chunks(rows)]
    return np.concatenate([np.zeros(0, np.int64), *parts])


def _chunks(rows: LongArray) -> list[LongArray]:
    return [rows[start : start + _AT_ONCE] for start in range(0, len(rows), _AT_ONCE)]


# Optimal choices and bounds by integer and linear programs.


def exact_cover(
    incidence: Incidence, num_sets: int, *, weights: npt.ArrayLike | None = None, max_nodes: int = MAX_NODES
) -> LongArray | None:
    """An optimal choice of at most `num_sets` sets, in increasing order; None if not proven within `max_nodes`, or if it is too large.

    Arguments are those of `greedy_cover`; equal sets are looked at once.
    """
    sets, values = _canonical(incidence, weights)
    rows = _distinct(sets)
    matrix, upper, objective = _program(sets[rows], values, num_sets)
    solution = solve_binary(matrix, upper, objective, num_integers=len(rows), max_nodes=max_nodes)
    return None if solution is None else rows[solution[: len(rows)] > 0.5]


def lp_bound(
    incidence: Incidence, num_sets: int, *, weights: npt.ArrayLike | None = None, max_iterations: int = MAX_ITERATIONS
) -> float | None:
    """Upper bound on what `num_sets` sets cover: the linear relaxation, rounded down if items have no weights.

    Arguments are those of `greedy_cover`; None if the simplex method needs more iterations, or if it is too large.
    """
    from scipy.optimize import linprog

    sets, values = _canonical(incidence, weights)
    matrix, upper, objective = _program(sets[_distinct(sets)], values, num_sets)
    if matrix.nnz > MAX_ENTRIES:
        return None
    if not len(objective):
        return 0.0
    result: Any = linprog(  # type: ignore[call-overload]  # sparse matrices are allowed
        -objective, A_ub=matrix, b_ub=upper, bounds=(0, 1), method="highs-ds", options={"maxiter": max_iterations}
    )
    if result.status == 1:  # more iterations are needed
        return None
    assert result.status == 0, result.message
    total = -float(result.fun)
    return float(math.floor(total + _ROUNDING * max(1.0, total))) if weights is None else total * (1 + _ROUNDING)


def solve_binary(
    matrix: csr_array,
    upper: npt.NDArray[np.float64],
    objective: npt.NDArray[np.float64],
    *,
    num_integers: int,
    max_nodes: int = MAX_NODES,
) -> npt.NDArray[np.float64] | None:
    """The `x` in [0, 1] of largest `objective @ x` with `matrix @ x ≤ upper`, the first `num_integers` of it 0 or 1; None if not proven or too large."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    if matrix.nnz > MAX_ENTRIES:
        return None
    if not len(objective):
        return np.zeros(0)
    result = milp(
        -objective,
        integrality=(np.arange(len(objective)) < num_integers).astype(np.int64),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(matrix, ub=upper),
        options={"node_limit": max_nodes, "mip_rel_gap": 0.0},
    )
    assert result.status not in (2, 3), result.message  # infeasible, unbounded; others say that more nodes are needed
    return np.asarray(result.x, dtype=np.float64) if result.status == 0 else None


def _program(
    sets: csr_array, values: Weights, num_sets: int
) -> tuple[csr_array, npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Maximum coverage as a linear program, with a variable per set and one per item."""
    from scipy.sparse import block_array, csr_array, eye_array

    # An item is covered only as far as the sets that have it are chosen; the last row counts the sets.
    chosen, reached = sets.shape
    matrix = block_array(
        [[-sets.T.astype(np.float64), eye_array(reached)], [csr_array(np.ones((1, chosen))), None]], format="csr"
    )
    return matrix, np.append(np.zeros(reached), float(num_sets)), np.append(np.zeros(chosen), values)


def _distinct(sets: csr_array) -> LongArray:
    """The first of all equal sets, in increasing order."""
    first: dict[Any, int] = {}
    for row in range(sets.shape[0]):
        first.setdefault(sets.indices[sets.indptr[row] : sets.indptr[row + 1]].tobytes(), row)
    return np.fromiter(first.values(), np.int64, len(first))
