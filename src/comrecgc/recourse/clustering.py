"""COMRECGC (ICML 2025), Algorithm 1: common recourses as the centroids of DBSCAN clusters, chosen greedily."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from comrecgc import kernels
from comrecgc.errors import InputError
from comrecgc.recourse.cover import Cover, cover_of
from comrecgc.recourse.dbscan import Labels, dbscan
from comrecgc.recourse.greedy import BitArray, greedy_cover_packed
from comrecgc.recourse.pairs import FloatArray, RecoursePairs
from comrecgc.recourse.tree import build_tree, mark_owners


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

    def __post_init__(self) -> None:
        for name in ("theta", "delta"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name} must be positive (got {getattr(self, name)})")
        for name in ("num_recourses", "min_samples", "max_vectors", "num_threads"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1 (got {getattr(self, name)})")

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
        chosen = centroids[greedy_cover_packed(reached, self.num_recourses).order]
        return np.ascontiguousarray(chosen)

    def _rows(self, num_pairs: int) -> slice | npt.NDArray[np.int64]:
        if num_pairs <= self.max_vectors:
            return slice(None)
        return np.sort(np.random.default_rng(self.seed).choice(num_pairs, self.max_vectors, replace=False))


def cluster_centroids(vectors: FloatArray, labels: Labels) -> FloatArray:
    """The mean vector of each cluster, border members included, `[num_clusters, d]`."""
    num_clusters = int(labels.max(initial=-1)) + 1
    return kernels.vectors.means(vectors, labels, num_clusters)  # type: ignore[no-any-return]


def _reached(
    vectors: FloatArray, inputs: npt.NDArray[np.int32], centroids: FloatArray, delta: float, num_inputs: int
) -> BitArray:
    """Inputs with a vector within Δ of each centroid, as bits, `[num_clusters, words]`."""
    bits = np.zeros((len(centroids), -(-num_inputs // 64)), dtype=np.uint64)
    if len(centroids):
        mark_owners(centroids, vectors, build_tree(vectors), delta, inputs, bits)
    return bits
