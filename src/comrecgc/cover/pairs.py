"""Every (input, counterfactual) pair within θ: two index arrays and a norm, the recourse vectors computed when asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from comrecgc.cover import vector_kernels
from comrecgc.errors import InputError
from comrecgc.graphs import BoolArray, IntArray

FloatArray = npt.NDArray[np.float32]
Rows = npt.NDArray[np.integer[Any]] | BoolArray | slice


def recourse_vectors(
    origins: npt.NDArray[Any], sizes: npt.ArrayLike, ends: npt.NDArray[Any], other_sizes: npt.ArrayLike
) -> npt.NDArray[Any]:
    """`r(G,H) = (z(H)−z(G)) / (|G|+|H|)` in the precision of the embeddings: origins, their sizes, ends, their sizes; arguments broadcast."""
    steps = ends - origins
    return np.asarray(steps / np.add(sizes, other_sizes, dtype=steps.dtype)[..., None])


def normalised_distances(
    origins: npt.NDArray[Any], sizes: npt.ArrayLike, ends: npt.NDArray[Any], other_sizes: npt.ArrayLike
) -> npt.NDArray[np.float64]:
    """`d(G,H) = ‖z(H)−z(G)‖ / (|G|+|H|)`, the length of `r(G,H)`; arguments as of `recourse_vectors`."""
    return np.asarray(np.linalg.norm(ends - origins, axis=-1) / np.add(sizes, other_sizes))


def product_slack(width: int) -> float:
    """Bound on the rounding error of `‖a‖² + ‖b‖² − 2 a·b` relative to `‖a‖² + ‖b‖²`, for a single-precision `a·b`.

    A sum of `width` terms loses at most `width` units in the last place; a few more are for rounding `a` and `b`.
    """
    return (width + 16) * 2.0**-23


@dataclass(frozen=True, kw_only=True, eq=False)
class RecoursePairs:
    """Pairs of an input `G` and a counterfactual candidate `H` with `d(G,H) ≤ θ`."""

    input_embeddings: FloatArray  # `z(G)`, `[num_inputs, d]`
    input_sizes: IntArray  # `|G|`, nodes and edges, `[num_inputs]`
    candidate_embeddings: FloatArray  # `z(H)`, `[num_candidates, d]`
    candidate_sizes: IntArray  # `|H|`, `[num_candidates]`
    inputs: IntArray  # input of each pair, `[n]`; pairs are sorted by input, then by candidate
    candidates: IntArray  # candidate of each pair, `[n]`
    norms: FloatArray  # `d(G,H)`, the length of each pair's recourse vector, `[n]`

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def num_inputs(self) -> int:
        return len(self.input_embeddings)

    @property
    def num_candidates(self) -> int:
        return len(self.candidate_embeddings)

    @property
    def width(self) -> int:
        return int(self.input_embeddings.shape[1])

    def vectors(self, rows: Rows = slice(None)) -> FloatArray:
        """Recourse vectors of the given pairs, `[len(rows), d]`: `recourse_vectors`, rounded once."""
        inputs, candidates = self.inputs[rows], self.candidates[rows]
        vectors = np.empty((len(inputs), self.width), dtype=np.float32)
        vector_kernels.fill_vectors(
            self.input_embeddings,
            self.input_sizes,
            self.candidate_embeddings,
            self.candidate_sizes,
            inputs,
            candidates,
            vectors,
        )
        return vectors

    def subset(self, rows: Rows) -> RecoursePairs:
        """The pairs under a mask, a slice, or at increasing indices; inputs and candidates keep their numbers."""
        return replace(self, inputs=self.inputs[rows], candidates=self.candidates[rows], norms=self.norms[rows])


def pairs_within(
    input_embeddings: FloatArray,
    input_sizes: npt.ArrayLike,
    candidate_embeddings: FloatArray,
    candidate_sizes: npt.ArrayLike,
    theta: float,
    *,
    max_bytes: int = 256 << 20,
) -> RecoursePairs:
    """All pairs with `d(G,H) = ‖z(G)−z(H)‖ / (|G|+|H|) ≤ θ`.

    A product in single precision, one block of inputs of at most `max_bytes` at a time, rules out what is farther than θ by more than its
    rounding error; the rest is decided in double precision. The pairs themselves take 12 bytes each.
    """
    first, second = _finite(input_embeddings, "input"), _finite(candidate_embeddings, "candidate")
    first_sizes, second_sizes = (np.asarray(sizes, np.int32) for sizes in (input_sizes, candidate_sizes))
    assert len(first) == len(first_sizes)
    assert len(second) == len(second_sizes)
    columns = _pairs_by_block(first, first_sizes, second, second_sizes, float(theta), max_bytes)
    return RecoursePairs(
        input_embeddings=first,
        input_sizes=first_sizes,
        candidate_embeddings=second,
        candidate_sizes=second_sizes,
        inputs=_joined(columns[0], np.int32),
        candidates=_joined(columns[1], np.int32),
        norms=_joined(columns[2], np.float32),
    )


def _pairs_by_block(
    first: FloatArray, first_sizes: IntArray, second: FloatArray, second_sizes: IntArray, theta: float, max_bytes: int
) -> tuple[list[npt.NDArray[Any]], list[npt.NDArray[Any]], list[npt.NDArray[Any]]]:
    """Inputs, candidates and norms of the pairs of each block of inputs."""
    columns: tuple[list[npt.NDArray[Any]], ...] = ([], [], [])
    if len(first) and len(second):
        # Around a common middle the vectors are short, and so are the rounding errors of their products.
        middle = first.mean(axis=0, dtype=np.float64)
        near_first, near_second = ((z - middle).astype(np.float32) for z in (first, second))
        squares = [np.square(z, dtype=np.float64).sum(axis=1) for z in (near_first, near_second)]
        slack = product_slack(first.shape[1])
        transposed = np.ascontiguousarray(near_second.T)  # [d, num_candidates]
        step = max(1, max_bytes // (4 * len(second)))
        for begin in range(0, len(first), step):
            block = slice(begin, begin + step)
            products = near_first[block] @ transposed  # [block, num_candidates]
            counts = vector_kernels.screen(
                products, squares[0][block], squares[1], theta * first_sizes[block], theta * second_sizes, slack
            )
            found = vector_kernels.decide(
                products, counts, first[block], first_sizes[block], second, second_sizes, theta
            )
            for column, values in zip(columns, (found[0] + np.int32(begin), found[1], found[2]), strict=True):
                column.append(values)
    return columns[0], columns[1], columns[2]


def _finite(embeddings: npt.ArrayLike, name: str) -> FloatArray:
    """Embeddings in single precision, which a user's embedder may have made."""
    array = np.ascontiguousarray(embeddings, dtype=np.float32)
    if not np.isfinite(array).all():
        raise InputError(f"The {name} embeddings must be finite (got {array[~np.isfinite(array)][0]})")
    return array


def _joined(blocks: list[npt.NDArray[Any]], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """The blocks end to end; they are let go, so that only one column is held twice."""
    joined = np.concatenate([np.zeros(0, dtype=dtype), *blocks])
    blocks.clear()
    return joined
