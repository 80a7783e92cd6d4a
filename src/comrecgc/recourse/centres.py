"""Centres of Δ-balls: what they cover, where they drift to, how short they can be. Arrays in, arrays out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from comrecgc import kernels
from comrecgc.graphs import BoolArray
from comrecgc.recourse.distances import product_slack
from comrecgc.recourse.greedy import BitArray
from comrecgc.recourse.pairs import FloatArray

Owners = npt.NDArray[np.int64]

_BLOCK = 1 << 12  # vectors in one product
_CENTRES = 512  # centres in one product


def covered_inputs(
    centres: FloatArray, vectors: FloatArray, owners: Owners, num_inputs: int, radius: float
) -> BitArray:
    """The inputs with a vector within `radius` of each centre, as bits (see `greedy.pack`).

    Args:
        centres: `[m, d]`.
        vectors: `[n, d]`.
        owners: Input of each vector, `[n]`.
        num_inputs: How many inputs there are.
        radius: Radius of the balls; a vector at exactly this distance is inside.
    """
    return covered_within(centres, vectors, owners, num_inputs, (radius,))[0]


def covered_within(
    centres: FloatArray, vectors: FloatArray, owners: Owners, num_inputs: int, radii: Sequence[float]
) -> list[BitArray]:
    """The same for several radii at once.

    A product in single precision rules out most vectors; double precision decides those near the surface of a ball.

    Args:
        centres: `[m, d]`.
        vectors: `[n, d]`.
        owners: Input of each vector, `[n]`.
        num_inputs: How many inputs there are.
        radii: Radii of the balls.
    """
    sets = [np.zeros((len(centres), -(-num_inputs // 64)), dtype=np.uint64) for _ in radii]
    slack = product_slack(vectors.shape[1])
    squares = np.einsum("nd,nd->n", vectors, vectors)
    for begin in range(0, len(centres), _CENTRES):
        some = centres[begin : begin + _CENTRES]
        sums = np.einsum("nd,nd->n", some, some)
        for start in range(0, len(vectors), _BLOCK):
            block = slice(start, start + _BLOCK)
            products = some @ vectors[block].T
            for radius, marked in zip(radii, sets, strict=True):
                part = marked[begin : begin + _CENTRES]
                kernels.vectors.mark(
                    products, some, sums, vectors[block], squares[block], owners[block], radius, slack, part
                )
    return sets


def unpack(sets: BitArray, num_inputs: int) -> BoolArray:
    """Sets as flags, the inverse of `greedy.pack`, `[m, num_inputs]`."""
    flags = np.unpackbits(sets.astype("<u8", copy=False).view(np.uint8), axis=1, bitorder="little")
    return flags[:, :num_inputs].astype(np.bool_)


def refine_centres(
    starts: FloatArray,
    vectors: FloatArray,
    owners: Owners,
    wanted: BoolArray,
    delta: float,
    *,
    reach: float,
    least_norm: float = 0.0,
) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """Let every start drift to where its ball holds the most wanted inputs; the best centre seen and how many it holds.

    Only vectors near the start are looked at, so a ball may hold more than is counted, never fewer.

    Args:
        starts: Where to start, `[m, d]`.
        vectors: `[n, d]`.
        owners: Input of each vector, not falling, `[n]`.
        wanted: The inputs that count, `[num_inputs]`.
        delta: Radius of the balls.
        reach: First radius of the drift, in `delta`.
        least_norm: Centres are kept at least this long.
    """
    rows = np.flatnonzero(wanted[owners])
    vectors, owners = vectors[rows], owners[rows]
    squares = np.einsum("nd,nd->n", vectors, vectors)
    limit = np.float32(((reach + 1) * delta) ** 2)
    products = starts @ vectors.T  # [m, n]
    near = [  # a centre drifts about Δ from its start
        np.flatnonzero(squares - 2 * product <= limit - start @ start)
        for start, product in zip(starts, products, strict=True)
    ]
    best = starts.copy()
    gains = np.zeros(len(starts), dtype=np.int64)
    for s, local in enumerate(near):
        for first in (reach, (1 + reach) / 2):  # a narrower drift finds denser, a wider one farther balls
            centre, gain = kernels.vectors.drift(
                starts[s], vectors[local], owners[local], np.float32(delta), np.float32(first), np.float32(least_norm)
            )
            if gain > gains[s]:
                best[s], gains[s] = centre, gain
    return best, gains


def lengthen(centres: FloatArray, least_norm: float) -> FloatArray:
    """The centres, those shorter than `least_norm` drawn out to that length; a zero goes along the first axis."""
    longer = centres.copy()
    kernels.vectors.lengthen(longer, np.float32(least_norm))
    return longer


def shorten(
    centre: FloatArray, vectors: FloatArray, owners: Owners, kept: BoolArray, delta: float, *, least_norm: float = 0.0
) -> FloatArray:
    """A shorter centre whose ball still holds every kept input.

    Args:
        centre: `[d]`.
        vectors: `[n, d]`.
        owners: Input of each vector, not falling, `[n]`.
        kept: Inputs that must stay covered, `[num_inputs]`; all have a vector within `delta` of the centre.
        delta: Radius of the ball.
        least_norm: The centre stays at least this long.
    """
    rows = np.flatnonzero(kept[owners])
    apart = np.square(vectors[rows] - centre, dtype=np.float64).sum(axis=1)
    inside = rows[apart <= (delta * (1 + 1e-6)) ** 2]  # no kept input is lost to rounding
    # The shortest vector of each input leaves the centre the most room towards zero.
    norms = np.einsum("nd,nd->n", vectors[inside], vectors[inside])
    by_owner = inside[np.lexsort((norms, owners[inside]))]
    _, first = np.unique(owners[by_owner], return_index=True)
    shorter: FloatArray = kernels.vectors.shorten(centre, vectors[by_owner[first]], delta, np.float32(least_norm))
    return shorter
