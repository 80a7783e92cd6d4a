"""Which inputs each chosen common recourse covers, and by which pair."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from comrecgc.cover import vector_kernels
from comrecgc.cover.pairs import FloatArray, RecoursePairs, product_slack
from comrecgc.errors import InputError
from comrecgc.graphs import BoolArray

BitArray = npt.NDArray[np.uint64]
"""Sets of inputs: input `j` is bit `j % 64` of word `j // 64`, `[m, words]`."""

_BLOCK = 1 << 15  # pairs whose vectors are held at once


@dataclass(frozen=True, eq=False)
class Cover:
    """Chosen recourses and the pair by which each covers an input.

    Args:
        centres: The recourses `r`, in order of selection, `[R, d]`.
        pairs: The shortest pair of that input within Δ of that centre, -1 where there is none, `[R, num_inputs]`.
    """

    centres: FloatArray
    pairs: npt.NDArray[np.int64]

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
    def first(self) -> npt.NDArray[np.int64]:
        """The first recourse that covers each input, -1 where none does, `[num_inputs]`."""
        covers = self.covers
        if not len(covers):
            return np.full(self.num_inputs, -1, dtype=np.int64)
        return np.where(covers.any(axis=0), covers.argmax(axis=0), -1).astype(np.int64)

    @property
    def gains(self) -> npt.NDArray[np.int64]:
        """How many inputs each recourse adds to those before it, `[R]`."""
        first = self.first
        return np.bincount(first[first >= 0], minlength=len(self)).astype(np.int64)

    def select(self, order: npt.NDArray[np.int64] | slice | BoolArray) -> Cover:
        """The recourses at these indices, in this order."""
        return Cover(self.centres[order], self.pairs[order])


def cover_of(pairs: RecoursePairs, centres: npt.ArrayLike, delta: float) -> Cover:
    """For every centre and input, the pair with the shortest vector within Δ of the centre, ties to the lowest index.

    Vectors stream past in blocks: a product in single precision rules out most, double precision decides the rest.

    Args:
        pairs: All pairs within θ.
        centres: Recourses, `[R, d]`.
        delta: `Δ`; a vector at exactly this distance is covered.
    """
    if not delta >= 0:
        raise InputError(f"delta must not be negative (got {delta})")
    points = np.ascontiguousarray(centres, dtype=np.float32)
    if points.ndim != 2 or points.shape[1] != pairs.width:
        raise InputError(f"centres must be vectors of width {pairs.width} (got shape {points.shape})")
    if not np.isfinite(points).all():
        raise InputError(f"centres must be finite (got {points[~np.isfinite(points)][0]})")
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
