"""Maximum coverage solved to optimality as a mixed-integer program (HiGHS), for instances small enough."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from comrecgc.errors import InputError
from comrecgc.graphs import BoolArray

MAX_NONZEROS = 2_000_000
_TIME_LIMIT = 1  # status of scipy.optimize.milp

Indices = npt.NDArray[np.int64]
Entries = tuple[npt.NDArray[Any], npt.NDArray[Any], float]
"""Rows, columns and value of equal entries of a matrix."""


def exact_cover(membership: BoolArray, budget: int, *, time_limit: float = 60.0) -> Indices:
    """At most `budget` sets that together cover the most elements, in increasing order.

    Args:
        membership: Which elements each set has, `[m, n]`; equal sets are looked at once.
        budget: Sets to choose, at most.
        time_limit: Seconds; an optimum not proven by then is an error.
    """
    if membership.ndim != 2:
        raise InputError(f"membership must be one row per set (got shape {membership.shape})")
    if budget < 0:
        raise InputError(f"budget must not be negative (got {budget})")
    sets = np.sort(np.unique(membership, axis=0, return_index=True)[1])
    num_sets, num_elements = len(sets), membership.shape[1]
    owners, elements = np.nonzero(membership[sets])
    # Variables: set chosen, element covered. An element is covered only if a chosen set has it.
    entries: list[Entries] = [
        (elements, owners, -1.0),
        (np.arange(num_elements), num_sets + np.arange(num_elements), 1.0),
        (np.full(num_sets, num_elements), np.arange(num_sets), 1.0),
    ]
    chosen = _solve(
        entries,
        np.append(np.zeros(num_elements), float(budget)),
        np.repeat([0.0, -1.0], [num_sets, num_elements]),
        num_integers=num_sets,
        time_limit=time_limit,
    )
    return sets[chosen[:num_sets]].astype(np.int64)


def exact_counterfactuals(
    triples: npt.NDArray[np.integer[Any]],
    num_recourses: int,
    num_counterfactuals: int,
    *,
    time_limit: float = 60.0,
) -> tuple[Indices, Indices]:
    """FC solved to optimality: at most `T` counterfactuals and `R` recourses that together cover the most inputs.

    An input is covered when both parts of one of its triples are chosen (max 2-budget 2-cover, appendix C.3).

    Args:
        triples: Rows (input, recourse, counterfactual): the recourse takes the input to the counterfactual, `[n, 3]`.
        num_recourses: `R`.
        num_counterfactuals: `T`.
        time_limit: Seconds; an optimum not proven by then is an error.

    Returns:
        Counterfactuals and recourses chosen, each in increasing order.
    """
    if triples.ndim != 2 or triples.shape[1] != 3:
        raise InputError(f"triples must be rows (input, recourse, counterfactual) (got shape {triples.shape})")
    for name, budget in (("num_recourses", num_recourses), ("num_counterfactuals", num_counterfactuals)):
        if budget < 0:
            raise InputError(f"{name} must not be negative (got {budget})")
    (inputs, covered), (recourses, by_recourse), (graphs, by_graph) = (
        np.unique(column, return_inverse=True) for column in triples.T
    )
    # Variables: recourse chosen, counterfactual chosen, triple used, input covered.
    counts = [len(recourses), len(graphs), len(triples), len(inputs)]
    recourse, graph, triple, reached = np.split(np.arange(sum(counts)), np.cumsum(counts)[:-1])
    rows = np.arange(2 * len(triples) + len(inputs))
    needs_recourse, needs_graph, needs_triple = np.split(rows, [len(triples), 2 * len(triples)])
    entries: list[Entries] = [
        (needs_recourse, triple, 1.0),
        (needs_recourse, recourse[by_recourse], -1.0),
        (needs_graph, triple, 1.0),
        (needs_graph, graph[by_graph], -1.0),
        (needs_triple, reached, 1.0),
        (needs_triple[covered], triple, -1.0),
        (np.full(len(recourse), len(rows)), recourse, 1.0),
        (np.full(len(graph), len(rows) + 1), graph, 1.0),
    ]
    chosen = _solve(
        entries,
        np.append(np.zeros(len(rows)), [float(num_recourses), float(num_counterfactuals)]),
        np.repeat([0.0, -1.0], [len(recourse) + len(graph) + len(triple), len(reached)]),
        num_integers=len(recourse) + len(graph),
        time_limit=time_limit,
    )
    return graphs[chosen[graph]].astype(np.int64), recourses[chosen[recourse]].astype(np.int64)


def _solve(
    entries: list[Entries],
    upper: npt.NDArray[np.float64],
    objective: npt.NDArray[np.float64],
    *,
    num_integers: int,
    time_limit: float,
) -> BoolArray:
    """Which variables in 0…1 are 1 where the objective is least and `matrix @ x ≤ upper`; the first ones are integers."""
    if not time_limit > 0:
        raise InputError(f"time_limit must be positive (got {time_limit})")
    num_entries = sum(len(rows) for rows, _, _ in entries)
    if num_entries > MAX_NONZEROS:
        raise InputError(f"An exact cover takes at most {MAX_NONZEROS} entries; use the greedy one (got {num_entries})")
    if not len(objective):
        return np.zeros(0, dtype=np.bool_)
    values = np.concatenate([np.full(len(rows), value) for rows, _, value in entries])
    places = tuple(np.concatenate([entry[axis] for entry in entries]) for axis in (0, 1))
    matrix = csr_array((values, (places[0], places[1])), shape=(len(upper), len(objective)))
    result = milp(
        objective,
        integrality=(np.arange(len(objective)) < num_integers).astype(np.int64),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(matrix, ub=upper),
        options={"time_limit": time_limit, "mip_rel_gap": 0.0},
    )
    if result.status == _TIME_LIMIT:
        raise InputError(f"time_limit passed before the optimum was proven; use the greedy cover (got {time_limit} s)")
    assert result.status == 0, result.message
    return np.asarray(result.x > 0.5)
