"""Common recourses as Δ-balls: greedy maximum coverage whose centres may lie anywhere, then exchanges that only raise it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from comrecgc.cover import vector_kernels
from comrecgc.cover.greedy import greedy_cover
from comrecgc.cover.pairs import BitArray, FloatArray, RecoursePairs, from_bits, product_slack, to_bits
from comrecgc.graphs import BoolArray, LongArray

Owners = npt.NDArray[np.int64]

_BLOCK = 1 << 12  # vectors in one product
_CENTRES = 512  # centres in one product
_TIGHTER = 1 - 1e-5  # balls a little smaller than Δ, so that rounding never decides a claim
_LONGER = 1 + 1e-3  # how much longer than `longer_than` a centre is at least
_PROMISE = 1.4  # radius, in Δ, within which vectors could come under one ball


@dataclass(frozen=True, kw_only=True)
class BallCover:
    """Greedy maximum coverage over Δ-balls.

    A ball around a recourse vector holds far fewer vectors than the best ball near it: in many dimensions vectors that
    all lie within Δ of one point are about √2·Δ apart. So each step starts from the vectors with the most uncovered
    inputs within 1.4 Δ, lets every start drift to the mean of one vector per uncovered input within a radius that
    shrinks from `reach`·Δ to Δ, and takes the best centre seen. The vector whose own ball holds the most is always
    among the starts, so no step gains less than the best ball around a seed. Afterwards each centre is taken out in
    turn and sought again against what the others leave uncovered.
    """

    delta: float  # radius `Δ`
    num_recourses: int = 100  # centres to choose, at most
    longer_than: float | None = None  # only longer centres; with `Δ`, no ball holds "change nothing"
    num_seeds: int = 4096  # vectors that may be starts: half drawn uniformly, half spread evenly over the inputs
    num_starts: int = 16  # starts refined for each centre
    reach: float = 2.0  # first radius of a refinement, in `Δ`
    num_exchanges: int = 1  # rounds of exchange
    max_vectors: int = 400_000  # vectors looked at, spread evenly over the inputs; coverage is counted elsewhere

    def centres(
        self, pairs: RecoursePairs, rng: np.random.Generator, *, previous: FloatArray | None = None
    ) -> FloatArray:
        """Centres of the common recourses, most useful first, `[at most num_recourses, d]`; they cover at least what the previous ones do."""
        rows = spread_evenly(pairs.inputs, self.max_vectors, rng)
        return self.centres_of(
            pairs.vectors(rows), pairs.inputs[rows].astype(np.int64), pairs.num_inputs, rng, previous=previous
        )

    def centres_of(
        self,
        vectors: FloatArray,
        owners: Owners,
        num_inputs: int,
        rng: np.random.Generator,
        *,
        previous: FloatArray | None = None,
    ) -> FloatArray:
        """The same from vectors `[n, d]` and their inputs in non-decreasing order, `[n]`."""
        if not len(vectors):
            return np.zeros((0, vectors.shape[1]), dtype=np.float32)
        rows = spread_evenly(owners, self.max_vectors, rng)
        if len(rows) < len(vectors):
            vectors, owners = vectors[rows], owners[rows]
        none = np.zeros((0, vectors.shape[1]), dtype=np.float32)
        known = none if previous is None else previous
        problem = _Problem(self, vectors, owners, num_inputs, known, rng)
        chosen = problem.improved(problem.greedy(none))
        if len(known):
            # A new choice usually has better first centres; the known ones help where the greedy choice does worse.
            kept = problem.greedy(problem.useful(known))
            if problem.num_covered(kept) > problem.num_covered(chosen):
                chosen = problem.improved(kept)
        return problem.in_order(chosen)


class _Problem:
    """State of one search for a cover: the vectors, the seeds and the vectors within reach of each."""

    def __init__(
        self,
        config: BallCover,
        vectors: FloatArray,
        owners: Owners,
        num_inputs: int,
        known: FloatArray,
        rng: np.random.Generator,
    ) -> None:
        self.config, self.vectors, self.owners, self.num_inputs = config, vectors, owners, num_inputs
        self.delta = config.delta * _TIGHTER
        self.least_norm = 0.0 if config.longer_than is None else config.longer_than * _LONGER
        zero = np.zeros((1, vectors.shape[1]), dtype=np.float32)
        drawn = _draw_seeds(owners, config.num_seeds, rng)
        self.seeds = lengthen(np.concatenate([zero, known, vectors[drawn]]), self.least_norm)
        self.promise, self.held = bits_within(
            self.seeds, vectors, owners, num_inputs, (_PROMISE * config.delta, self.delta)
        )

    def greedy(self, first: FloatArray) -> FloatArray:
        """Add centres after the given ones, each covering the most uncovered inputs."""
        covered: BoolArray = np.asarray(self.covers(first).any(axis=0))
        centres = list(first)
        while len(centres) < self.config.num_recourses:
            centre, gain = self.best_centre(~covered)
            if gain == 0:
                break
            centres.append(centre)
            covered |= self.covers(centre[None, :])[0]
        return np.stack(centres) if centres else first

    def useful(self, known: FloatArray) -> FloatArray:
        """The given centres that cover something new and are long enough, most useful first, at most `num_recourses`."""
        known = lengthen(known, self.least_norm)
        return np.asarray(known[greedy_cover(self.covers(known), self.config.num_recourses).order])

    def improved(self, centres: FloatArray) -> FloatArray:
        """The centres after all rounds of exchange."""
        for _ in range(self.config.num_exchanges):
            centres = self.exchange(centres)
        return centres

    def exchange(self, centres: FloatArray) -> FloatArray:
        """Search for every centre again, the least useful first, against the inputs that the others leave; keep improvements."""
        centres = centres.copy()
        covers = self.covers(centres)
        counts = covers.sum(axis=0)
        alone = (covers & (counts == 1)).sum(axis=1)
        for c in np.argsort(alone, kind="stable"):
            wanted = counts - covers[c] == 0
            centre, _ = self.best_centre(wanted, also=centres[c])
            new = self.covers(centre[None, :])[0]
            if (new & wanted).sum() > (covers[c] & wanted).sum():
                counts += new.astype(counts.dtype) - covers[c]
                centres[c], covers[c] = centre, new
        return centres

    def in_order(self, centres: FloatArray) -> FloatArray:
        """The centres in greedy order, each shortened as far as it still covers its own inputs."""
        covers = self.covers(centres)
        covered = np.zeros(self.num_inputs, dtype=np.bool_)
        order = greedy_cover(covers, len(centres)).order
        shorter = np.zeros((len(order), self.vectors.shape[1]), dtype=np.float32)
        for place, c in enumerate(order):
            fresh = covers[c] & ~covered
            shorter[place] = shorten(
                centres[c], self.vectors, self.owners, fresh, self.delta, least_norm=self.least_norm
            )
            covered |= covers[c]
        # A centre that moved may hold what a later one was to be the first to cover.
        return np.asarray(shorter[greedy_cover(self.covers(shorter), len(shorter)).order])

    def best_centre(self, wanted: BoolArray, also: FloatArray | None = None) -> tuple[FloatArray, int]:
        """The centre found that covers the most wanted inputs, and their number."""
        unwanted = to_bits(~wanted[None, :])[0]
        promise = _gains(self.promise, unwanted)
        starts = self.seeds[np.argsort(-promise, kind="stable")[: self.config.num_starts]]
        fullest = self.seeds[_gains(self.held, unwanted).argmax()]
        starts = np.concatenate(
            [starts, fullest[None, :]] if also is None else [also[None, :], starts, fullest[None, :]]
        )
        centres, gains = refine_centres(
            starts, self.vectors, self.owners, wanted, self.delta,
            reach=self.config.reach, least_norm=self.least_norm,
        )  # fmt: skip
        best = int(gains.argmax())
        return centres[best], int(gains[best])

    def num_covered(self, centres: FloatArray) -> int:
        """Number of inputs that the centres cover together."""
        return int(self.covers(centres).any(axis=0).sum())

    def covers(self, centres: FloatArray) -> BoolArray:
        """Which inputs each centre covers, `[m, num_inputs]`."""
        return covered_inputs(centres, self.vectors, self.owners, self.num_inputs, self.delta)


def _draw_seeds(owners: Owners, most: int, rng: np.random.Generator) -> LongArray:
    """At most `most` rows: half drawn uniformly, so that shared recourses come up often, half spread evenly over the inputs."""
    if len(owners) <= most:
        return np.arange(len(owners))
    anywhere = rng.choice(len(owners), most // 2, replace=False)
    return np.union1d(anywhere, spread_evenly(owners, most - most // 2, rng))


def spread_evenly(owners: npt.NDArray[np.integer[Any]], most: int, rng: np.random.Generator) -> LongArray:
    """At most `most` increasing rows, equally many of every owner if it has that many; `owners` `[n]` are in non-decreasing order."""
    if len(owners) <= most:
        return np.arange(len(owners))
    shuffled = rng.permutation(len(owners))
    by_owner = shuffled[np.argsort(owners[shuffled], kind="stable")]
    ranks = np.arange(len(owners)) - np.searchsorted(owners, owners[by_owner])  # place in its owner's random order
    # Of the owners that have one row more than can be taken of all, those the shuffle put first give theirs.
    place = np.empty_like(shuffled)
    place[shuffled] = np.arange(len(owners))
    return np.sort(by_owner[np.lexsort((place[by_owner], ranks))[:most]])


def _gains(sets: BitArray, covered: BitArray) -> LongArray:
    """Number of uncovered inputs in each set, `[m]`."""
    return np.asarray(np.bitwise_count(sets & ~covered).sum(axis=1, dtype=np.int64))


def covered_inputs(
    centres: FloatArray, vectors: FloatArray, owners: Owners, num_inputs: int, radius: float
) -> BoolArray:
    """Which inputs have a vector within `radius`, or at exactly that distance, of each centre, `[m, num_inputs]`."""
    return from_bits(bits_within(centres, vectors, owners, num_inputs, (radius,))[0], num_inputs)


def bits_within(
    centres: FloatArray, vectors: FloatArray, owners: Owners, num_inputs: int, radii: Sequence[float]
) -> list[BitArray]:
    """The same as bits, for several radii at once.

    A product in single precision rules out most vectors; double precision decides those near the surface of a ball.
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
                vector_kernels.mark(
                    products, some, sums, vectors[block], squares[block], owners[block], radius, slack, part
                )
    return sets


def refine_centres(
    starts: FloatArray,
    vectors: FloatArray,
    owners: Owners,
    wanted: BoolArray,
    delta: float,
    *,
    reach: float,
    least_norm: float = 0.0,
) -> tuple[FloatArray, LongArray]:
    """Let every start drift to where its ball holds the most wanted inputs; returns the best centre seen and its number of inputs.

    Only vectors near the start are looked at, so a ball may hold more than is counted, never fewer. The radius shrinks from `reach` times
    `delta`; centres are kept at least `least_norm` long.
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
            centre, gain = vector_kernels.drift(
                starts[s], vectors[local], owners[local], np.float32(delta), np.float32(first), np.float32(least_norm)
            )
            if gain > gains[s]:
                best[s], gains[s] = centre, gain
    return best, gains


def lengthen(centres: FloatArray, least_norm: float) -> FloatArray:
    """The centres, those shorter than `least_norm` stretched to that length; a zero becomes a vector along the first axis."""
    longer = centres.copy()
    vector_kernels.lengthen(longer, np.float32(least_norm))
    return longer


def shorten(
    centre: FloatArray, vectors: FloatArray, owners: Owners, kept: BoolArray, delta: float, *, least_norm: float = 0.0
) -> FloatArray:
    """A shorter centre, at least `least_norm` long, whose ball still holds every kept input; each has a vector within `delta` of the centre."""
    rows = np.flatnonzero(kept[owners])
    apart = np.square(vectors[rows] - centre, dtype=np.float64).sum(axis=1)
    inside = rows[apart <= (delta * (1 + 1e-6)) ** 2]  # no kept input is lost to rounding
    # The shortest vector of each input leaves the centre the most room towards zero.
    norms = np.einsum("nd,nd->n", vectors[inside], vectors[inside])
    by_owner = inside[np.lexsort((norms, owners[inside]))]
    _, first = np.unique(owners[by_owner], return_index=True)
    return np.asarray(vector_kernels.shorten(centre, vectors[by_owner[first]], delta, np.float32(least_norm)))
