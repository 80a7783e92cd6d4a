"""Centres of Δ-balls: what they cover, where they drift to, how short they can be. Arrays in, arrays out."""

from __future__ import annotations

from collections.abc import Sequence

import numba
import numpy as np
import numpy.typing as npt

from comrecgc.graphs.graph import BoolArray
from comrecgc.recourse.distances import distance, product_slack
from comrecgc.recourse.greedy import BitArray
from comrecgc.recourse.pairs import FloatArray

Owners = npt.NDArray[np.int64]

_BLOCK = 1 << 12  # vectors in one product
_CENTRES = 512  # centres in one product
_ROUNDS = 14  # drifts of one refinement
_SHORTER = np.float32(1 - 1e-4)  # what a pull must bring, so that pulling comes to an end
_SURE = 1 - 4e-6  # of Δ: what single precision finds this close is within Δ in double precision


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
                _mark(products, some, sums, vectors[block], squares[block], owners[block], radius, slack, part)
    return sets


@numba.njit(cache=True, nogil=True)
def _mark(products, centres, sums, vectors, squares, owners, radius, slack, sets):  # type: ignore[no-untyped-def]
    shrunk = squares * np.float32(1 - slack)
    for c in range(len(products)):
        least = np.float32(sums[c] * (1 - slack) - radius * radius)
        for j in range(len(squares)):
            if 2 * products[c, j] - shrunk[j] < least:
                continue
            both = np.float64(sums[c]) + np.float64(squares[j])
            inside = both * (1 + slack) - 2 * np.float64(products[c, j]) <= radius * radius
            if inside or distance(centres[c], vectors[j]) <= radius:
                sets[c, owners[j] >> 6] |= np.uint64(1) << np.uint64(owners[j] & 63)


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
            centre, gain = _drift(
                starts[s], vectors[local], owners[local], np.float32(delta), np.float32(first), np.float32(least_norm)
            )
            if gain > gains[s]:
                best[s], gains[s] = centre, gain
    return best, gains


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _drift(start, vectors, owners, delta, reach, least_norm):  # type: ignore[no-untyped-def]
    """The refinement of one start over the vectors near it."""
    width = len(start)
    centre = start.copy()
    _lengthen(centre, least_norm)
    best, best_gain, best_norm = centre.copy(), -1, np.float32(np.inf)
    sure = np.float32((_SURE * delta) ** 2)
    for t in range(_ROUNDS + 2):
        # The radius shrinks to Δ, and stays there for the last drifts.
        radius = max(np.float32(1), reach - (reach - 1) * t / np.float32(_ROUNDS - 1)) * delta
        total = np.zeros(width, dtype=np.float32)
        count, gain, j = 0, 0, 0
        while j < len(owners):
            owner, nearest, square = owners[j], -1, np.float32(np.inf)
            while j < len(owners) and owners[j] == owner:
                distance = np.float32(0)
                for k in range(width):
                    difference = vectors[j, k] - centre[k]
                    distance += difference * difference
                if distance < square:
                    nearest, square = j, distance
                j += 1
            if square <= radius * radius:
                count += 1
                for k in range(width):
                    total[k] += vectors[nearest, k]
            if square <= sure:
                gain += 1
        norm = np.float32(0)
        for k in range(width):
            norm += centre[k] * centre[k]
        if gain > best_gain or (gain == best_gain and norm < best_norm):
            best, best_gain, best_norm = centre.copy(), gain, norm
        if count == 0:
            break
        for k in range(width):
            centre[k] = total[k] / np.float32(count)
        _lengthen(centre, least_norm)
    return best, best_gain


def lengthen(centres: FloatArray, least_norm: float) -> FloatArray:
    """The centres, those shorter than `least_norm` drawn out to that length; a zero goes along the first axis."""
    longer = centres.copy()
    _lengthen_all(longer, np.float32(least_norm))
    return longer


@numba.njit(cache=True, nogil=True)
def _lengthen_all(centres, least_norm):  # type: ignore[no-untyped-def]
    for c in range(len(centres)):
        _lengthen(centres[c], least_norm)


@numba.njit(cache=True, nogil=True)
def _lengthen(centre, least_norm):  # type: ignore[no-untyped-def]
    norm = np.sqrt((centre * centre).sum())
    if norm < least_norm:
        if norm == 0:
            centre[0] = least_norm
        else:
            centre *= least_norm / norm


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
    shorter: FloatArray = _shorten(centre, vectors[by_owner[first]], delta, np.float32(least_norm))
    return shorter


@numba.njit(cache=True, nogil=True)
def _shorten(centre, points, delta, least_norm):  # type: ignore[no-untyped-def]
    """Pull the centre towards zero, then back into the balls around the points, farthest first, while that shortens it."""
    best = centre.copy()
    norm = np.sqrt((best * best).sum())
    pull = np.float32(0.1)
    while pull > 0.002 and norm > least_norm:
        trial = best * np.float32(max(1 - pull, least_norm / norm))
        inside = False
        for _ in range(50):
            farthest, apart = -1, 0.0
            for j in range(len(points)):
                other = distance(points[j], trial)
                if other > apart:
                    farthest, apart = j, other
            if apart <= delta:
                inside = True
                break
            trial = points[farthest] + (trial - points[farthest]) * np.float32(delta * 0.9999 / apart)
        length = np.sqrt((trial * trial).sum())
        if inside and least_norm <= length < norm * _SHORTER:
            best, norm = trial, length
        else:
            pull = np.float32(pull / 2)
    return best
