"""COMRECGC (ICML 2025), FC: common recourses whose counterfactuals all come from a few graphs (Algorithm 3)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from comrecgc.cover.greedy import greedy_cover, incidence_of, with_zero_gains
from comrecgc.cover.pairs import FloatArray, RecoursePairs
from comrecgc.errors import InputError
from comrecgc.graphs import IntArray

_CELLS = 1 << 23  # distances held at once


def nearest_counterfactuals(pairs: RecoursePairs, num_counterfactuals: int | None = None) -> IntArray:
    """The candidates that are nearest to some input (Algorithm 3, line 3), in increasing order.

    Of more than `T`, by default one per input as in the paper, those nearest to the most inputs stay, then those nearest to theirs.
    """
    if num_counterfactuals is not None and num_counterfactuals < 1:
        raise InputError(f"num_counterfactuals must be at least 1 (got {num_counterfactuals})")
    order = np.lexsort((pairs.candidates, pairs.norms, pairs.inputs))
    first = order[np.unique(pairs.inputs[order], return_index=True)[1]]  # the nearest pair of each input
    graphs, owner, counts = np.unique(pairs.candidates[first], return_inverse=True, return_counts=True)
    closest = np.full(len(graphs), np.inf, dtype=np.float32)
    np.minimum.at(closest, owner, pairs.norms[first])
    kept = np.lexsort((graphs, closest, -counts))[:num_counterfactuals]
    return np.sort(graphs[kept])


def nearest_of_all(
    input_embeddings: FloatArray,
    input_sizes: IntArray,
    candidate_embeddings: FloatArray,
    candidate_sizes: IntArray,
    *,
    rng: np.random.Generator | None = None,
) -> IntArray:
    """The candidates that are nearest to some input, however far that is, in increasing order; ties go to the lowest.

    `rng` changes the last bits of every `z(H)`, as a GPU does from pass to pass: of copies of a graph one is then the nearest to some inputs
    and one to others.
    """
    if not len(candidate_embeddings):
        return np.zeros(0, dtype=np.int32)
    ends = candidate_embeddings.astype(np.float64)
    if rng is not None:
        ends *= 1 + np.finfo(np.float32).eps * rng.standard_normal(ends.shape)
    squares, step = np.square(ends).sum(axis=1), max(1, _CELLS // len(ends))
    nearest = [np.zeros(0, dtype=np.int64)]
    for begin in range(0, len(input_embeddings), step):
        origins = input_embeddings[begin : begin + step].astype(np.float64)
        gaps = np.square(origins).sum(axis=1)[:, None] + squares - 2 * origins @ ends.T
        sizes = input_sizes[begin : begin + step, None] + candidate_sizes
        nearest.append((np.sqrt(np.maximum(gaps, 0)) / sizes).argmin(axis=1))
    return np.unique(np.concatenate(nearest)).astype(np.int32)


def with_counterfactuals(pairs: RecoursePairs, candidates: npt.NDArray[np.integer[Any]]) -> RecoursePairs:
    """The pairs whose counterfactual is one of these; clustering them is the rest of Algorithm 3."""
    kept = np.zeros(pairs.num_candidates, dtype=np.bool_)
    kept[candidates] = True
    return pairs.subset(kept[pairs.candidates])


def few_counterfactuals(pairs: RecoursePairs, how: str, seed: int = 0) -> npt.NDArray[np.int64]:
    """The counterfactuals that the FC rows of the paper's tables use, no more than there are inputs unless all are taken.

    `how`: "nearest" to some input, however far; "greedy", by the inputs within θ, going on at no gain; or "all". The seed decides which copy of a
    graph is nearest.
    """
    everything = np.arange(pairs.num_candidates)
    if how == "all" or len(everything) <= pairs.num_inputs:
        return everything
    if how == "nearest":
        return nearest_of_all(
            pairs.input_embeddings,
            pairs.input_sizes,
            pairs.candidate_embeddings,
            pairs.candidate_sizes,
            rng=np.random.default_rng(seed),
        ).astype(np.int64)
    covers = incidence_of(pairs.candidates, pairs.inputs, (len(everything), pairs.num_inputs))
    return with_zero_gains(greedy_cover(covers, pairs.num_inputs), pairs.num_inputs, len(everything))[0]
