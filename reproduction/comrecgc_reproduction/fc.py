"""COMRECGC (ICML 2025), section 2.3 and appendix C: the theory of FC, common recourses whose counterfactuals all come from a few graphs.

Algorithm 4 (appendix C.5) is the randomised greedy choice under constraint C1: a solution must be reachable by adding graphs that each raise
the coverage. Problem 3 (appendix C.3) is FC over given recourses, solved to optimality.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from comrecgc.cover import FloatArray, RecoursePairs, exact_cover, greedy_cover
from comrecgc.cover.greedy import MAX_NODES, solve_binary
from comrecgc.errors import InputError

Triples = npt.NDArray[np.int64]

_BLOCK = 1 << 10  # pairs whose vectors are compared at once


def recourse_triples(pairs: RecoursePairs, centres: FloatArray, delta: float) -> Triples:
    """Every (input, recourse, counterfactual) where the pair's vector is within Δ of the recourse, `[n, 3]`."""
    if not delta >= 0:
        raise InputError(f"delta must not be negative (got {delta})")
    points = np.ascontiguousarray(centres, dtype=np.float32)
    rows, recourses = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for begin in range(0, len(pairs), _BLOCK):
        gaps = pairs.vectors(slice(begin, begin + _BLOCK))[:, None].astype(np.float64) - points  # [block, R, d]
        near, centre = np.nonzero(np.linalg.norm(gaps, axis=2) <= delta)
        rows.append(near + begin)
        recourses.append(centre)
    found = np.concatenate(rows)
    return np.stack([pairs.inputs[found], np.concatenate(recourses), pairs.candidates[found]], axis=1).astype(np.int64)


def best_coverage(triples: Triples, counterfactuals: npt.ArrayLike, num_recourses: int, *, exact: bool = False) -> int:
    """`g` of the paper: inputs covered by the best `R` recourses when only these counterfactuals may be used.

    Args:
        triples: Rows (input, recourse, counterfactual), `[n, 3]`.
        counterfactuals: Graphs that may be used.
        num_recourses: `R`.
        exact: Solve the choice of recourses to optimality rather than greedily.
    """
    from scipy.sparse import csr_array

    allowed = triples[np.isin(triples[:, 2], np.asarray(counterfactuals, dtype=np.int64))]
    if not len(allowed):
        return 0
    recourses, owner = np.unique(allowed[:, 1], return_inverse=True)
    inputs, element = np.unique(allowed[:, 0], return_inverse=True)
    if len(recourses) <= num_recourses:
        return len(inputs)
    incidence = csr_array((np.ones(len(allowed), dtype=np.bool_), (owner, element)))
    if not exact:
        return int(greedy_cover(incidence, num_recourses).covered)
    chosen = exact_cover(incidence, num_recourses)
    if chosen is None:
        raise InputError(f"The best choice among {len(recourses)} recourses is too large to prove; use the greedy one")
    return len(np.unique(incidence[chosen].indices))


@dataclass(frozen=True, kw_only=True)
class RandomisedGreedy:
    """Randomised greedy choice of counterfactuals for FC under C1 (Algorithm 4, after Buchbinder et al., 2014).

    Each of `T` steps draws uniformly among the `T` graphs that raise the coverage most. A graph that raises nothing fills
    up the draw and is not added, so the graphs chosen satisfy C1. If `g` is pseudo-modular with ratio `γ`, the expected
    coverage is at least `1 − e^(−γ)` of the best; the paper puts `γ` at `1/R` (see docs/method.md for where that fails).

    Args:
        num_recourses: `R`.
        num_counterfactuals: `T`.
        exact: Whether `g` is solved to optimality, which the guarantee assumes, or greedily.
    """

    num_recourses: int = 100
    num_counterfactuals: int
    exact: bool = False

    def __post_init__(self) -> None:
        for name in ("num_recourses", "num_counterfactuals"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1 (got {getattr(self, name)})")

    def run(self, triples: Triples, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """The chosen counterfactuals, in order of choice.

        Args:
            triples: Rows (input, recourse, counterfactual), `[n, 3]`.
            rng: Source of the draws.
        """
        _check_triples(triples)
        chosen: list[int] = []
        reached = 0
        for _ in range(self.num_counterfactuals):
            graphs, values = self.best_additions(triples, chosen)
            draw = int(rng.integers(self.num_counterfactuals))
            if not len(graphs) or values[0] <= reached:
                break
            if draw < len(graphs) and values[draw] > reached:
                chosen.append(int(graphs[draw]))
                reached = int(values[draw])
        return np.array(chosen, dtype=np.int64)

    def best_additions(
        self, triples: Triples, chosen: list[int]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The `T` graphs that raise the coverage most, ties to the lowest, and the coverage with each."""
        others = np.setdiff1d(triples[:, 2], chosen)
        values = np.array(
            [best_coverage(triples, [*chosen, int(graph)], self.num_recourses, exact=self.exact) for graph in others],
            dtype=np.int64,
        )
        order = np.argsort(-values, kind="stable")[: self.num_counterfactuals]
        return others[order], values[order]


def exact_counterfactuals(
    triples: npt.NDArray[np.integer[Any]], num_recourses: int, num_counterfactuals: int, *, max_nodes: int = MAX_NODES
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None:
    """FC solved to optimality: at most `T` counterfactuals and `R` recourses that together cover the most inputs.

    An input is covered when both parts of one of its triples are chosen (max 2-budget 2-cover, appendix C.3).

    Args:
        triples: Rows (input, recourse, counterfactual): the recourse takes the input to the counterfactual, `[n, 3]`.
        num_recourses: `R`.
        num_counterfactuals: `T`.
        max_nodes: Nodes of branch and bound.

    Returns:
        Counterfactuals and recourses chosen, each in increasing order; None if not proven in time or too large.
    """
    from scipy.sparse import coo_array

    _check_triples(triples)
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
    columns = [triple, recourse[by_recourse], triple, graph[by_graph], reached, triple, recourse, graph]
    lines = [needs_recourse, needs_recourse, needs_graph, needs_graph, needs_triple, needs_triple[covered]]
    lines += [np.full(len(recourse), len(rows)), np.full(len(graph), len(rows) + 1)]
    signs = np.repeat([1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, 1.0], [len(column) for column in columns])
    chosen = solve_binary(
        coo_array(
            (signs, (np.concatenate(lines), np.concatenate(columns))), shape=(len(rows) + 2, sum(counts))
        ).tocsr(),
        np.append(np.zeros(len(rows)), [float(num_recourses), float(num_counterfactuals)]),
        np.repeat([0.0, 1.0], [sum(counts) - len(reached), len(reached)]),
        num_integers=len(recourse) + len(graph),
        max_nodes=max_nodes,
    )
    if chosen is None:
        return None
    return graphs[chosen[graph] > 0.5].astype(np.int64), recourses[chosen[recourse] > 0.5].astype(np.int64)


def _check_triples(triples: npt.NDArray[np.integer[Any]]) -> None:
    if triples.ndim != 2 or triples.shape[1] != 3:
        raise InputError(f"triples must be rows (input, recourse, counterfactual) (got shape {triples.shape})")
