"""COMRECGC's clusters and their coverage as its published code has them: what the paper's tables measure.

It differs from `RecourseClustering`, which follows the paper's definitions, in three ways: a cluster covers only the inputs of its own
members, and only those strictly nearer than Δ to its centroid; and choice goes on at no gain until there are R recourses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from comrecgc.recourse.clusters import RecourseClustering, cluster_centroids, dbscan
from comrecgc.recourse.pairs import FloatArray, RecoursePairs
from comrecgc.selection import greedy_cover

_BLOCK = 1 << 16  # pairs whose vectors are compared at once


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
        from scipy.sparse import csr_array

        rows = self._rows(len(pairs))
        vectors, inputs = pairs.vectors(rows), pairs.inputs[rows]
        labels = dbscan(vectors, self.delta, self.min_samples, num_threads=self.num_threads)
        centroids = cluster_centroids(vectors, labels)
        clustered = labels >= 0
        vectors, inputs, labels = vectors[clustered], inputs[clustered], labels[clustered]
        is_short = np.linalg.norm(centroids.astype(np.float64), axis=1) < self.theta
        clusters, members = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for begin in range(0, len(vectors), _BLOCK):
            label = labels[begin : begin + _BLOCK]
            gaps = vectors[begin : begin + _BLOCK].astype(np.float64) - centroids[label]
            near = (np.einsum("nd,nd->n", gaps, gaps) < self.delta**2) & is_short[label]
            clusters.append(label[near])
            members.append(inputs[begin : begin + _BLOCK][near].astype(np.int64))
        place = np.cumsum(is_short) - 1  # of each cluster among the short ones
        owner, member = place[np.concatenate(clusters)], np.concatenate(members)
        shape = (int(is_short.sum()), pairs.num_inputs)
        covers = csr_array((np.ones(len(owner), dtype=np.bool_), (owner, member)), shape=shape)
        choice = greedy_cover(covers, self.num_recourses)
        rest = np.setdiff1d(np.arange(shape[0]), choice.order)[: self.num_recourses - len(choice.order)]
        order = np.concatenate([choice.order, rest]).astype(np.int64)
        gains = np.concatenate([choice.gains, np.zeros(len(rest))]).astype(np.int64)
        return PublishedRecourses(np.ascontiguousarray(centroids[is_short][order]), gains, pairs.num_inputs)
