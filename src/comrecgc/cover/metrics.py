"""Which inputs common recourses cover and by which pair, and what that is worth: coverage, lengths, costs, reasons. Pure functions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from comrecgc.cover import vector_kernels
from comrecgc.cover.pairs import FloatArray, RecoursePairs, product_slack
from comrecgc.graphs import BoolArray, LongArray

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
    """What the recourse "change nothing" covers: inputs with a counterfactual at distance at most Δ."""
    near = pairs.subset(pairs.norms <= delta * (1 + 1e-6))  # norms are rounded; the cover decides
    return coverage(cover_of(near, np.zeros((1, pairs.width), dtype=np.float32), delta))


def why_not_covered(cover: Cover, pairs: RecoursePairs, further: Cover | None = None) -> list[Reason | None]:
    """The reason for each input, `[num_inputs]`; None for those that are covered. `further`: what a larger budget would choose."""
    reasons = np.full(pairs.num_inputs, Reason.NO_RECOURSE_NEAR, dtype=object)
    if further is not None:
        reasons[further.first >= 0] = Reason.BUDGET_EXHAUSTED
    reasons[np.bincount(pairs.inputs, minlength=pairs.num_inputs) == 0] = Reason.NO_COUNTERFACTUAL
    reasons[cover.first >= 0] = None
    return list(reasons)
