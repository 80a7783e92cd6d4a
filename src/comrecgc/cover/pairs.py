"""Every (input, counterfactual) pair within θ, and which pairs common recourses cover.

Pairs are two index arrays and a norm; recourse vectors are computed when asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from comrecgc.cover import vector_kernels
from comrecgc.errors import InputError
from comrecgc.graphs import BoolArray, IntArray, LongArray

FloatArray = npt.NDArray[np.float32]
Rows = npt.NDArray[np.integer[Any]] | BoolArray | slice


def recourse_vectors(
    origins: npt.NDArray[Any], sizes: npt.ArrayLike, ends: npt.NDArray[Any], other_sizes: npt.ArrayLike
) -> npt.NDArray[Any]:
    """`r(G,H) = (z(H)−z(G)) / (|G|+|H|)` in the precision of the embeddings. Arguments are `z(G)`, `|G|`, `z(H)`, `|H|`, and broadcast."""
    steps = ends - origins
    return np.asarray(steps / np.add(sizes, other_sizes, dtype=steps.dtype)[..., None])


def normalised_distances(
    origins: npt.NDArray[Any], sizes: npt.ArrayLike, ends: npt.NDArray[Any], other_sizes: npt.ArrayLike
) -> npt.NDArray[np.float64]:
    """`d(G,H) = ‖z(H)−z(G)‖ / (|G|+|H|)`, the length of `r(G,H)`; arguments as for `recourse_vectors`."""
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
        ends = (self.candidate_embeddings, self.candidate_sizes)
        vector_kernels.fill_vectors(self.input_embeddings, self.input_sizes, *ends, inputs, candidates, vectors)
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
    """Check that embeddings, perhaps of a user's embedder, are finite; in single precision."""
    array = np.ascontiguousarray(embeddings, dtype=np.float32)
    if not np.isfinite(array).all():
        raise InputError(f"The {name} embeddings must be finite (got {array[~np.isfinite(array)][0]})")
    return array


def _joined(blocks: list[npt.NDArray[Any]], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """The blocks end to end; each column is freed once joined, so that only one is held twice."""
    joined = np.concatenate([np.zeros(0, dtype=dtype), *blocks])
    blocks.clear()
    return joined


# Which inputs common recourses cover and by which pair, and what that is worth: coverage, lengths, costs, reasons.


BitArray = npt.NDArray[np.uint64]
"""Sets of inputs: input `j` is bit `j % 64` of word `j // 64`, `[m, words]`."""

_BLOCK = 1 << 15  # pairs whose vectors are held at once


@dataclass(frozen=True, eq=False)
class Cover:
    """Chosen recourses and the pair by which each covers an input."""

    centres: FloatArray  # the recourses `r`, in order of selection, `[R, d]`
    pairs: LongArray  # shortest pair within Δ of each centre, -1 for none, `[R, num_inputs]`

    def __len__(self) -> int:
        return len(self.centres)

    @property
    def num_inputs(self) -> int:
        return int(self.pairs.shape[1])

    @property
    def covers(self) -> BoolArray:
        """Whether each recourse covers each input, `[R, num_inputs]`."""
        return self.pairs >= 0

    @property
    def first(self) -> LongArray:
        """The first recourse that covers each input, -1 where none does, `[num_inputs]`."""
        covers = self.covers
        if not len(covers):
            return np.full(self.num_inputs, -1, dtype=np.int64)
        return np.where(covers.any(axis=0), covers.argmax(axis=0), -1).astype(np.int64)

    @property
    def gains(self) -> LongArray:
        """How many inputs each recourse adds to those before it, `[R]`."""
        first = self.first
        return np.bincount(first[first >= 0], minlength=len(self)).astype(np.int64)

    def select(self, order: LongArray | slice | BoolArray) -> Cover:
        """The recourses at these indices, in this order."""
        return Cover(self.centres[order], self.pairs[order])


def cover_of(pairs: RecoursePairs, centres: npt.ArrayLike, delta: float) -> Cover:
    """For every centre `[R, d]` and input, the pair with the shortest vector within Δ of the centre, ties to the lowest index.

    Vectors stream past in blocks: a product in single precision rules out most, double precision decides the rest.
    """
    points = np.ascontiguousarray(centres, dtype=np.float32)
    assert points.shape == (len(points), pairs.width)
    chosen = np.full((len(points), pairs.num_inputs), -1, dtype=np.int64)
    shortest = np.full(chosen.shape, np.inf, dtype=np.float32)
    squares = np.square(points, dtype=np.float64).sum(axis=1)
    slack = product_slack(pairs.width)
    transposed = np.ascontiguousarray(points.T)
    for begin in range(0, len(pairs) if len(points) else 0, _BLOCK):
        block = slice(begin, begin + _BLOCK)
        vectors = pairs.vectors(block)
        vector_kernels.keep_shortest(
            vectors @ transposed, vectors, pairs.norms[block], pairs.inputs[block], begin, points, squares, delta,
            slack, chosen, shortest,
        )  # fmt: skip
    return Cover(points, chosen)


def to_bits(flags: BoolArray) -> BitArray:
    """Flags, `[m, num_inputs]`, as bits."""
    words = np.zeros((len(flags), -(-flags.shape[1] // 64) * 8), dtype=np.uint8)
    packed = np.packbits(flags, axis=1, bitorder="little")
    words[:, : packed.shape[1]] = packed
    return words.view("<u8").astype(np.uint64, copy=False)


def from_bits(bits: BitArray, num_inputs: int) -> BoolArray:
    """The inverse of `to_bits`."""
    flags = np.unpackbits(bits.astype("<u8", copy=False).view(np.uint8), axis=1, bitorder="little")
    return flags[:, :num_inputs].view(np.bool_)


class Reason(StrEnum):
    """Why no chosen recourse covers an input."""

    NO_COUNTERFACTUAL = "no counterfactual within theta found"
    NO_RECOURSE_NEAR = "no chosen recourse is near"
    BUDGET_EXHAUSTED = "more recourses would cover it"
    OUT_OF_TIME = "time ran out before one was found"
    NOWHERE = "no rule can be carried out"
    TOO_FAR = "carried out, too far from the graph"
    OFF_RUNG = "carried out, not on the rung of the rules"
    STILL_REJECTED = "carried out, still rejected"
    NOT_BELIEVED = "accepted, but other models do not believe the result"


@dataclass(frozen=True)
class Cost:
    """The shortest recourse that covers an input, over all covered inputs; 0 where there are none."""

    total: float  # sum, the paper's `cost(F)`
    mean: float
    median: float


def coverage(cover: Cover) -> float:
    """Share of inputs covered by some recourse."""
    return float((cover.first >= 0).mean()) if cover.num_inputs else 0.0


def lengths(cover: Cover) -> npt.NDArray[np.float64]:
    """`‖r‖` of each recourse, `[R]`."""
    return np.asarray(np.linalg.norm(cover.centres.astype(np.float64), axis=1))


def total_length(cover: Cover) -> float:
    """Sum of `‖r‖` over the recourses: what the paper's tables print as cost."""
    return float(lengths(cover).sum())


def cost(cover: Cover) -> Cost:
    """Sum, mean and median over covered inputs of the smallest `‖r‖` that covers each: the paper's formula."""
    if not len(cover):
        return Cost(0.0, 0.0, 0.0)
    shortest = np.where(cover.covers, lengths(cover)[:, None], np.inf).min(axis=0)
    shortest = shortest[np.isfinite(shortest)]
    if not len(shortest):
        return Cost(0.0, 0.0, 0.0)
    return Cost(float(shortest.sum()), float(shortest.mean()), float(np.median(shortest)))


def directional_coverage(cover: Cover, delta: float) -> float:
    """Coverage by recourses longer than Δ only, whose ball leaves out "change nothing"."""
    return coverage(cover.select(lengths(cover) > delta))


def trivial_coverage(pairs: RecoursePairs, delta: float) -> float:
    """Coverage of the recourse "change nothing": inputs with a counterfactual at distance at most Δ."""
    near = pairs.subset(pairs.norms <= delta * (1 + 1e-6))  # norms are rounded; the cover decides
    return coverage(cover_of(near, np.zeros((1, pairs.width), dtype=np.float32), delta))


def why_not_covered(cover: Cover, pairs: RecoursePairs, further: Cover | None = None) -> list[Reason | None]:
    """The reason for each input, `[num_inputs]`; None for covered ones. `further` are recourses that a larger budget would choose."""
    reasons = np.full(pairs.num_inputs, Reason.NO_RECOURSE_NEAR, dtype=object)
    if further is not None:
        reasons[further.first >= 0] = Reason.BUDGET_EXHAUSTED
    reasons[np.bincount(pairs.inputs, minlength=pairs.num_inputs) == 0] = Reason.NO_COUNTERFACTUAL
    reasons[cover.first >= 0] = None
    return list(reasons)
