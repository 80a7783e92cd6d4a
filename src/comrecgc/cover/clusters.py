"""COMRECGC (ICML 2025), Algorithm 1: common recourses as the centroids of DBSCAN clusters, chosen greedily."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from comrecgc.cover import tree_kernels, vector_kernels
from comrecgc.cover.greedy import greedy_cover, incidence_of, with_zero_gains
from comrecgc.cover.metrics import Cover, cover_of, from_bits
from comrecgc.cover.pairs import FloatArray, RecoursePairs
from comrecgc.graphs import BoolArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from comrecgc.cover.tree_kernels import Tree


Labels = npt.NDArray[np.int64]

_CHUNK = 128  # leaves a thread takes at a time
_NUM_COMPONENTS = 16
_SAMPLE = 50_000  # vectors the components are fitted on
_SPREAD_SAMPLE = 500  # vectors of a node that its spread is measured on
_BLOCK = 1 << 12  # centroids whose inputs are unpacked at once
_PAIRS = 1 << 16  # pairs whose vectors are compared at once


@dataclass(frozen=True, kw_only=True)
class RecourseClustering:
    """`CR clustering` of the paper.

    DBSCAN with radius Δ groups the recourse vectors. Each cluster stands for its centroid, unless that is longer than θ,
    and covers the inputs with a vector, of whatever cluster, within Δ of it. Greedy choice takes the centroids that gain
    the most coverage.

    Args:
        theta: `θ`; a centroid must be shorter.
        delta: `Δ`, radius of the clusters and of what a recourse covers.
        num_recourses: `R`.
        min_samples: Vectors within Δ, its own included, that make a vector core.
        max_vectors: Above this many pairs, clusters are formed on that many of them, drawn uniformly. Time grows faster
            than the number of vectors; memory is about 350 bytes each at width 64.
        seed: Of that draw.
        num_threads: Threads; the result does not depend on it.
    """

    theta: float
    delta: float
    num_recourses: int = 100
    min_samples: int = 2
    max_vectors: int = 2_000_000
    seed: int = 0
    num_threads: int = 1

    def run(self, pairs: RecoursePairs) -> Cover:
        """The chosen centroids and what they cover among all pairs; fewer than `R` where no more is gained."""
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

    def _rows(self, num_pairs: int) -> slice | npt.NDArray[np.int64]:
        if num_pairs <= self.max_vectors:
            return slice(None)
        return np.sort(np.random.default_rng(self.seed).choice(num_pairs, self.max_vectors, replace=False))


def cluster_centroids(vectors: FloatArray, labels: Labels) -> FloatArray:
    """The mean vector of each cluster, border members included, `[num_clusters, d]`."""
    num_clusters = int(labels.max(initial=-1)) + 1
    return vector_kernels.means(vectors, labels, num_clusters)  # type: ignore[no-any-return]


def _reached(
    vectors: FloatArray, inputs: npt.NDArray[np.int32], centroids: FloatArray, delta: float, num_inputs: int
) -> csr_array:
    """Inputs with a vector within Δ of each centroid, `[num_clusters, num_inputs]`."""
    from scipy.sparse import csr_array, vstack

    bits = np.zeros((len(centroids), -(-num_inputs // 64)), dtype=np.uint64)
    if len(centroids):
        mark_owners(centroids, vectors, build_tree(vectors), delta, inputs, bits)
    # A block at a time, for flags take eight times the room of bits.
    blocks = [from_bits(bits[begin : begin + _BLOCK], num_inputs) for begin in range(0, max(1, len(bits)), _BLOCK)]
    return vstack([csr_array(block) for block in blocks], format="csr")


def dbscan(vectors: FloatArray, eps: float, min_samples: int = 3, *, num_threads: int = 1) -> Labels:
    """DBSCAN (Ester et al., 1996), exact, for millions of vectors: the cluster of each, -1 for noise.

    The labels are those of scikit-learn's DBSCAN. Lists of neighbours are never stored: a vector is looked at until it is
    known to be core; only one that is not has all its neighbours noted, fewer than `min_samples`. Clusters are numbered by their lowest core vector; a border vector within reach of several belongs to the first.

    Args:
        vectors: The vectors, `[n, d]`.
        eps: Radius of a neighbourhood; a vector at exactly this distance is in it.
        min_samples: Vectors a neighbourhood must have, its own included, to be core.
        num_threads: Threads for counting neighbours; labels do not depend on it.
    """
    vectors = np.ascontiguousarray(vectors, dtype=np.float32)
    if not len(vectors):
        return np.zeros(0, dtype=np.int64)
    is_core, found = _neighbours(vectors, eps, min_samples, num_threads)
    labels = np.full(len(vectors), -1, dtype=np.int64)
    if is_core.any():
        labels[is_core] = _components(vectors[is_core], eps)
        tree_kernels.label_borders(labels, is_core, found)
    return labels


def _neighbours(
    vectors: FloatArray, eps: float, min_samples: int, num_threads: int
) -> tuple[BoolArray, npt.NDArray[np.int32]]:
    """Which vectors are core, `[n]`, and the neighbours of those that are not, -1 beyond, `[n, min_samples]`."""
    tree = build_tree(vectors)
    found = np.full((len(vectors), min_samples), -1, dtype=np.int32)
    counts = np.empty(len(vectors), dtype=np.int32)

    num_leaves = len(tree.sketch)

    def look(begin: int) -> None:
        end = min(begin + _CHUNK, num_leaves)
        tree_kernels.neighbours_up_to(vectors, tree, eps, min_samples, begin, end, found, counts)

    with ThreadPoolExecutor(num_threads) as pool:
        list(pool.map(look, range(0, num_leaves, _CHUNK)))
    return counts == min_samples, found


def _components(cores: FloatArray, eps: float) -> Labels:
    """Groups of core vectors joined by steps of at most `eps`, numbered by their lowest member."""
    parents = tree_kernels.linked(cores, build_tree(cores), eps)
    return np.unique(parents, return_inverse=True)[1].astype(np.int64)


def build_tree(vectors: FloatArray) -> Tree:
    """The k-d tree of some vectors, `[n, d]`, at least one, over their leading principal components.

    Projection on orthonormal axes never makes a distance longer, so what is too far apart in a few components is too far
    apart; the rest is decided on the vectors themselves in double precision.
    """
    components = _principal_components(vectors)
    sketch = components @ vectors.T
    depth = max(0, int(np.ceil(np.log2(len(vectors) / tree_kernels.LEAF))))
    order = np.arange(len(vectors))
    ranges = [(0, len(vectors))]
    for level in range(depth):
        first = (1 << level) - 1
        for start, stop in ranges[first : 2 * first + 1]:
            middle = (start + stop) // 2
            _split(order[start:stop], sketch, middle - start)
            ranges += [(start, middle), (middle, stop)]
    starts, stops = np.array(ranges, dtype=np.int64).T.copy()
    blocks = tree_kernels.blocks_of_leaves(sketch, order, starts[(1 << depth) - 1 :], stops[(1 << depth) - 1 :])
    low, high = tree_kernels.bounds_of_nodes(blocks, starts, stops)
    longest = np.sqrt(np.einsum("ij,ij->i", vectors, vectors).max())
    rounding = 2 * np.sqrt(len(components)) * (vectors.shape[1] + 16) * 2.0**-24 * longest
    return tree_kernels.Tree(order, blocks, starts, stops, low, high, float(rounding), components)


def _principal_components(vectors: FloatArray) -> FloatArray:
    """Orthonormal rows along which the vectors differ most, `[c, d]`."""
    sample = vectors[:: max(1, len(vectors) // _SAMPLE)].astype(np.float64)
    sample -= sample.mean(axis=0)
    axes = np.linalg.eigh(sample.T @ sample)[1]
    return np.ascontiguousarray(axes.T[::-1][:_NUM_COMPONENTS], dtype=np.float32)


def _split(order: npt.NDArray[np.int64], sketch: FloatArray, middle: int) -> None:
    """Reorder in place so that the first `middle` are the lower half along the component of widest spread."""
    sample = order[:: max(1, len(order) // _SPREAD_SAMPLE)]
    column = sketch[np.argmax(sketch[:, sample].std(axis=1))]
    order[:] = order[np.argpartition(column[order], middle)]


def mark_owners(
    points: FloatArray,
    vectors: FloatArray,
    tree: Tree,
    radius: float,
    owners: npt.NDArray[np.int32],
    marks: npt.NDArray[np.uint64],
) -> None:
    """For each point, mark the owners of all vectors within the radius.

    Args:
        points: Points no longer than the longest vector, `[m, d]`.
        vectors: The vectors of the tree, `[n, d]`.
        tree: Their tree.
        radius: How near a vector must be; exactly this near is near.
        owners: Owner of each vector, `[n]`.
        marks: Bit `owner % 64` of word `owner // 64` is set, `[m, words]`.
    """
    sketches = np.ascontiguousarray(points @ tree.components.T)
    tree_kernels.mark_owners(points, sketches, vectors, tree, radius, owners, marks)


@dataclass(frozen=True, eq=False)
class PublishedRecourses:
    """Chosen clusters.

    Args:
        centres: Their centroids, in order of choice, `[R, d]`.
        gains: Inputs that each adds to those before, `[R]`.
        num_inputs: How many inputs there are.
    """

    centres: FloatArray
    gains: npt.NDArray[np.int64]
    num_inputs: int

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
    """Clusters as the published code chooses them; options as of `RecourseClustering`."""

    def centres(self, pairs: RecoursePairs) -> FloatArray:
        """The chosen centroids, in order, `[≤R, d]`."""
        return self.choose(pairs).centres

    def choose(self, pairs: RecoursePairs) -> PublishedRecourses:
        """The chosen clusters and what each gains."""
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
