"""COMRECGC (ICML 2025), Algorithms 1 and 3: common recourses as the centroids of DBSCAN clusters, chosen greedily; FCR and FC."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from comrecgc.cover import vector_kernels
from comrecgc.cover.balls import bits_within
from comrecgc.cover.greedy import greedy_cover, incidence_of, with_zero_gains
from comrecgc.cover.pairs import Cover, FloatArray, RecoursePairs, cover_of, from_bits, product_slack
from comrecgc.graphs import BoolArray, IntArray, LongArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Labels = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int64]

_CELL = 512  # most vectors in a cell
_ADJACENT = 3  # cells before its own that a cell is joined to at first
_COLUMNS = 1 << 13  # vectors compared with a cell at once
_NUM_COMPONENTS = 16
_SAMPLE = 50_000  # vectors the components are fitted on
_SPREAD_SAMPLE = 500  # vectors of a cell that its spread is measured on
_BLOCK = 1 << 12  # centroids whose inputs are unpacked at once
_PAIRS = 1 << 16  # pairs whose vectors are compared at once


@dataclass(frozen=True, kw_only=True)
class RecourseClustering:
    """`CR clustering` of the paper.

    DBSCAN with radius Δ groups the recourse vectors. Each cluster stands for its centroid, unless that is longer than θ,
    and covers the inputs with a vector, of whatever cluster, within Δ of it. Greedy choice takes the centroids that gain
    the most coverage.
    """

    theta: float  # `θ`; a centroid must be shorter
    delta: float  # `Δ`, radius of the clusters and of what a recourse covers
    num_recourses: int = 100  # `R`
    min_samples: int = 2  # vectors within Δ, its own included, that make a vector core
    max_vectors: int = 2_000_000  # of more pairs, so many are clustered; about 350 bytes each at width 64
    seed: int = 0  # of the draw of these pairs
    num_threads: int = 1  # threads; the result does not depend on it

    def run(self, pairs: RecoursePairs) -> Cover:
        """The chosen centroids and the pairs they cover; fewer than `R` if no more coverage is gained."""
        return cover_of(pairs, self.centres(pairs), self.delta)

    def centres(self, pairs: RecoursePairs) -> FloatArray:
        """The chosen centroids, in order, `[≤R, d]`."""
        rows = self._rows(len(pairs))
        vectors = pairs.vectors(rows)
        labels = dbscan(vectors, self.delta, self.min_samples, num_threads=self.num_threads)
        centroids = cluster_centroids(vectors, labels)
        centroids = centroids[np.linalg.norm(centroids.astype(np.float64), axis=1) < self.theta]
        reached = _reached(vectors, pairs.inputs[rows], centroids, self.delta, pairs.num_inputs)
        chosen = centroids[greedy_cover(reached, self.num_recourses).order]
        return np.ascontiguousarray(chosen)

    def _rows(self, num_pairs: int) -> slice | LongArray:
        if num_pairs <= self.max_vectors:
            return slice(None)
        return np.sort(np.random.default_rng(self.seed).choice(num_pairs, self.max_vectors, replace=False))


def cluster_centroids(vectors: FloatArray, labels: Labels) -> FloatArray:
    """The mean vector of each cluster, border members included, `[num_clusters, d]`."""
    num_clusters = int(labels.max(initial=-1)) + 1
    return vector_kernels.means(vectors, labels, num_clusters)  # type: ignore[no-any-return]


def _reached(vectors: FloatArray, inputs: IntArray, centroids: FloatArray, delta: float, num_inputs: int) -> csr_array:
    """Inputs with a vector within Δ of each centroid, `[num_clusters, num_inputs]`."""
    from scipy.sparse import csr_array, vstack

    bits = np.zeros((len(centroids), -(-num_inputs // 64)), dtype=np.uint64)
    if len(centroids):
        cells = build_cells(vectors)
        around = build_cells(centroids, cells.components)
        for cell in range(len(around)):
            rows = around.members(cell)
            for columns in cells.near(around, cell, delta):
                owners = inputs[columns].astype(np.int64)
                bits[rows] |= bits_within(centroids[rows], vectors[columns], owners, num_inputs, [delta])[0]
    # A block at a time, for flags take eight times the room of bits.
    blocks = [from_bits(bits[begin : begin + _BLOCK], num_inputs) for begin in range(0, max(1, len(bits)), _BLOCK)]
    return vstack([csr_array(block) for block in blocks], format="csr")


def dbscan(vectors: FloatArray, eps: float, min_samples: int = 3, *, num_threads: int = 1) -> Labels:
    """DBSCAN (Ester et al., 1996), exact, for millions of vectors: the cluster of each, -1 for noise.

    The labels equal those of scikit-learn's DBSCAN, for any number of threads. Lists of neighbours are never stored: the neighbours of a vector are
    counted until it is known to be core; only others, with fewer than `min_samples`, have their neighbours recorded. Clusters are numbered by their
    lowest core vector; a border vector within reach of several belongs to the first.
    """
    vectors = np.ascontiguousarray(vectors, dtype=np.float32)
    if not len(vectors):
        return np.zeros(0, dtype=np.int64)
    is_core, found = _neighbours(vectors, eps, min_samples, num_threads)
    labels = np.full(len(vectors), -1, dtype=np.int64)
    if is_core.any():
        places = np.where(is_core, np.cumsum(is_core) - 1, -1)  # among the cores
        labels[is_core] = _components(vectors[is_core], eps, np.append(places, -1)[found[is_core]])
        vector_kernels.label_borders(labels, is_core, found)
    return labels


def _neighbours(vectors: FloatArray, eps: float, min_samples: int, num_threads: int) -> tuple[BoolArray, IntArray]:
    """Which vectors are core, `[n]`, and the neighbours of those that are not, -1 beyond, `[n, min_samples]`."""
    cells = build_cells(vectors)
    found = np.full((len(vectors), min_samples), -1, dtype=np.int32)
    counts = np.zeros(len(vectors), dtype=np.int32)

    def look(cell: int) -> None:
        rows = cells.members(cell)
        for columns in cells.near(cells, cell, eps):
            rows = rows[counts[rows] < min_samples]
            if not len(rows):
                return
            products, least, halves = _products(vectors, rows, columns, eps)
            vector_kernels.note_neighbours(products, least, halves, vectors, rows, columns, eps, found, counts)

    with ThreadPoolExecutor(num_threads) as pool:
        list(pool.map(look, range(len(cells))))
    return counts == min_samples, found


def _components(cores: FloatArray, eps: float, found: Indices) -> Labels:
    """Groups of core vectors joined by steps of at most `eps`, numbered by their lowest member.

    Neighbours known before (`found`, -1 for none) and adjacent cells are joined first. That leaves one large group and many small ones, or small ones
    only. Two vectors of one group need not be compared. So vectors outside the large group are compared with it, then those still outside with all
    that were.
    """
    everyone = np.arange(len(cores))
    parents = everyone.copy()
    vector_kernels.join_found(found, parents)
    cells = build_cells(cores)
    for cell in range(len(cells)):
        adjacent = cells.members_of(np.arange(max(0, cell - _ADJACENT), cell + 1))
        _join(cores, cells.members(cell), adjacent, eps, parents)
    largest = np.bincount(vector_kernels.roots(parents, everyone)).argmax()
    beside = vector_kernels.roots(parents, everyone) != largest
    _join_all(cores, everyone[beside], everyone[~beside], eps, parents)
    still = vector_kernels.roots(parents, everyone) != vector_kernels.roots(parents, np.array([largest]))
    _join_all(cores, everyone[still], everyone[beside], eps, parents)
    return np.unique(vector_kernels.roots(parents, everyone), return_inverse=True)[1].astype(np.int64)


def _join_all(cores: FloatArray, first: Indices, second: Indices, eps: float, parents: Indices) -> None:
    """Join the groups of vectors of two sets that are within `eps` of each other."""
    if not len(first) or not len(second):
        return
    cells = build_cells(cores[second])
    rows = build_cells(cores[first], cells.components)
    for cell in range(len(rows)):
        for columns in cells.near(rows, cell, eps):
            _join(cores, first[rows.members(cell)], second[columns], eps, parents)


def _join(cores: FloatArray, rows: Indices, columns: Indices, eps: float, parents: Indices) -> None:
    """Join the groups of vectors of two blocks."""
    group = vector_kernels.common_root(parents, columns)  # -1 for several
    if group >= 0:
        rows = rows[vector_kernels.roots(parents, rows) != group]
    if len(rows):
        products, least, halves = _products(cores, rows, columns, eps)
        vector_kernels.join(products, least, halves, cores, rows, columns, eps, parents)


def _products(
    vectors: FloatArray, rows: Indices, columns: Indices, radius: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Products of two blocks, and bounds: a pair may lie within the radius if `product - half ≥ least`, `[rows, columns]`, `[rows]`, `[columns]`."""
    first, second = vectors[rows], vectors[columns]
    own, halves = (np.einsum("nd,nd->n", block, block) / 2 for block in (first, second))
    slack = 2 * product_slack(vectors.shape[1]) * (own.max() + halves.max() + radius**2)
    return first @ second.T, (own - radius**2 / 2 - slack).astype(np.float32), halves


@dataclass(frozen=True, eq=False)
class Cells:
    """Vectors in cells of nearby ones, with boxes around them in their leading principal components.

    Projection on orthonormal axes never lengthens a distance, so vectors too far apart in a few components are too far apart.
    """

    order: Indices  # the vectors, cell by cell, `[n]`
    starts: Indices  # first place of each cell, and the end of the last, `[cells + 1]`
    sketch: FloatArray  # leading components of the vectors, `[n, c]`
    low: FloatArray  # least of each cell, `[cells, c]`
    high: FloatArray  # greatest of each cell, `[cells, c]`
    components: FloatArray  # the axes, `[c, d]`
    rounding: float  # how much farther apart than the vectors boxes may come out

    def __len__(self) -> int:
        return len(self.low)

    def members(self, cell: int) -> Indices:
        """The vectors of a cell."""
        return self.order[self.starts[cell] : self.starts[cell + 1]]

    def members_of(self, cells: Indices) -> Indices:
        """The vectors of some cells."""
        return np.concatenate([np.zeros(0, np.int64), *(self.members(cell) for cell in cells.tolist())])

    def near(self, others: Cells, cell: int, radius: float) -> Iterator[Indices]:
        """Vectors that may lie within the radius of those in a cell of `others`, projected on the same axes, in blocks, the nearest first."""
        low, high = others.low[cell], others.high[cell]
        reach = ((radius + self.rounding + others.rounding) * (1 + 1e-5)) ** 2
        gaps = np.maximum(np.maximum(self.low - high, low - self.high), 0)
        middles = self.low + self.high - low - high
        near = np.flatnonzero(np.einsum("nc,nc->n", gaps, gaps) <= reach)
        near = near[np.argsort(np.einsum("nc,nc->n", middles, middles)[near], kind="stable")]
        for part in np.split(near, range(1, len(near), _COLUMNS // _CELL)):  # the first cell alone, then many at once
            members = self.members_of(part)
            members = members[vector_kernels.near_box(self.sketch, members, low, high, reach)]
            if len(members):
                yield members


def build_cells(vectors: FloatArray, components: FloatArray | None = None) -> Cells:
    """Cells of some vectors `[n, d]`, at least one, halved along the component of widest spread until they are small.

    Cells that are compared with each other need the same components.
    """
    if components is None:
        components = _principal_components(vectors)
    sketch = components @ vectors.T
    order = np.arange(len(vectors))
    starts = np.array([0, len(vectors)])
    while np.diff(starts).max() > _CELL:
        for start, stop in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
            _split(order[start:stop], sketch, (stop - start) // 2)
        starts = np.sort(np.concatenate([starts, (starts[:-1] + starts[1:]) // 2]))
    low, high = (bound.reduceat(sketch[:, order], starts[:-1], axis=1).T.copy() for bound in (np.minimum, np.maximum))
    longest = np.sqrt(np.einsum("ij,ij->i", vectors, vectors).max())
    rounding = np.sqrt(len(components)) * (vectors.shape[1] + 16) * 2.0**-24 * longest
    return Cells(order, starts, sketch.T.copy(), low, high, components, float(rounding))


def _principal_components(vectors: FloatArray) -> FloatArray:
    """Orthonormal rows along which the vectors differ most, `[c, d]`."""
    sample = vectors[:: max(1, len(vectors) // _SAMPLE)].astype(np.float64)
    sample -= sample.mean(axis=0)
    axes = np.linalg.eigh(sample.T @ sample)[1]
    return np.ascontiguousarray(axes.T[::-1][:_NUM_COMPONENTS], dtype=np.float32)


def _split(order: Indices, sketch: FloatArray, middle: int) -> None:
    """Reorder in place so that the first `middle` vectors are the lower half along the component of widest spread."""
    sample = order[:: max(1, len(order) // _SPREAD_SAMPLE)]
    column = sketch[np.argmax(sketch[:, sample].std(axis=1))]
    order[:] = order[np.argpartition(column[order], middle)]


@dataclass(frozen=True, eq=False)
class PublishedRecourses:
    """Chosen clusters."""

    centres: FloatArray  # their centroids, in order of choice, `[R, d]`
    gains: LongArray  # inputs that each adds to those before, `[R]`
    num_inputs: int  # how many inputs there are

    @property
    def coverage(self) -> float:
        """Share of the inputs that are covered."""
        return float(self.gains.sum()) / max(1, self.num_inputs)

    @property
    def curve(self) -> npt.NDArray[np.float64]:
        """Share covered by the first 1, 2, … recourses, `[R]`."""
        return np.cumsum(self.gains) / max(1, self.num_inputs)

    @property
    def total_length(self) -> float:
        """Sum of `‖r‖`, which the paper's tables print as cost."""
        return float(np.linalg.norm(self.centres.astype(np.float64), axis=1).sum())


@dataclass(frozen=True, kw_only=True)
class PublishedClustering(RecourseClustering):
    """Clusters as the published code chooses them; options as for `RecourseClustering`."""

    def centres(self, pairs: RecoursePairs) -> FloatArray:
        """The chosen centroids, in order, `[≤R, d]`."""
        return self.choose(pairs).centres

    def choose(self, pairs: RecoursePairs) -> PublishedRecourses:
        """The chosen clusters and the gain of each."""
        rows = self._rows(len(pairs))
        vectors, inputs = pairs.vectors(rows), pairs.inputs[rows]
        labels = dbscan(vectors, self.delta, self.min_samples, num_threads=self.num_threads)
        centroids = cluster_centroids(vectors, labels)
        clustered = labels >= 0
        vectors, inputs, labels = vectors[clustered], inputs[clustered], labels[clustered]
        is_short = np.linalg.norm(centroids.astype(np.float64), axis=1) < self.theta
        clusters, members = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for begin in range(0, len(vectors), _PAIRS):
            label = labels[begin : begin + _PAIRS]
            gaps = vectors[begin : begin + _PAIRS].astype(np.float64) - centroids[label]
            near = (np.einsum("nd,nd->n", gaps, gaps) < self.delta**2) & is_short[label]
            clusters.append(label[near])
            members.append(inputs[begin : begin + _PAIRS][near].astype(np.int64))
        place = np.cumsum(is_short) - 1  # of each cluster among the short ones
        owner, member = place[np.concatenate(clusters)], np.concatenate(members)
        shape = (int(is_short.sum()), pairs.num_inputs)
        choice = greedy_cover(incidence_of(owner, member, shape), self.num_recourses)
        order, gains = with_zero_gains(choice, self.num_recourses, shape[0])
        return PublishedRecourses(np.ascontiguousarray(centroids[is_short][order]), gains, pairs.num_inputs)


# FC: common recourses whose counterfactuals all come from a few graphs (Algorithm 3).


_CELLS = 1 << 23  # distances held at once


def nearest_counterfactuals(pairs: RecoursePairs, num_counterfactuals: int | None = None) -> IntArray:
    """The candidates that are nearest to some input (Algorithm 3, line 3), in increasing order.

    If there are more than `T`, by default one per input as in the paper, those nearest to the most inputs stay; ties go to the smallest distance.
    """
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
    """The candidates that are nearest to some input, at any distance, in increasing order; ties go to the lowest index.

    `rng` perturbs the last bits of every `z(H)`, as a GPU does from pass to pass, so that different copies of a graph are the nearest to different
    inputs.
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


def few_counterfactuals(pairs: RecoursePairs, how: str, seed: int = 0) -> LongArray:
    """The counterfactuals that the FC rows of the paper's tables use, no more than there are inputs unless all are taken.

    `how`: "nearest" to some input, however far; "greedy", by the inputs within θ, going on at no gain; or "all". The seed decides which copy of a
    graph is nearest.
    """
    everything = np.arange(pairs.num_candidates)
    if how == "all" or len(everything) <= pairs.num_inputs:
        return everything
    if how == "nearest":
        ends, sizes = pairs.candidate_embeddings, pairs.candidate_sizes
        rng = np.random.default_rng(seed)
        return nearest_of_all(pairs.input_embeddings, pairs.input_sizes, ends, sizes, rng=rng).astype(np.int64)
    covers = incidence_of(pairs.candidates, pairs.inputs, (len(everything), pairs.num_inputs))
    return with_zero_gains(greedy_cover(covers, pairs.num_inputs), pairs.num_inputs, len(everything))[0]
