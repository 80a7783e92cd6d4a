"""DBSCAN (Ester et al., 1996), exact, for millions of vectors.

Lists of neighbours are never stored. A vector is looked at until it is known to be core; only one that is not has all
its neighbours noted, and those are fewer than `min_samples`. Core vectors are joined by union-find.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from comrecgc import kernels
from comrecgc.errors import InputError
from comrecgc.graphs import BoolArray
from comrecgc.recourse.pairs import FloatArray
from comrecgc.recourse.tree import build_tree

Labels = npt.NDArray[np.int64]

_CHUNK = 128  # leaves a thread takes at a time


def dbscan(vectors: FloatArray, eps: float, min_samples: int = 3, *, num_threads: int = 1) -> Labels:
    """The cluster of each vector, -1 for noise; the labels are those of scikit-learn's DBSCAN.

    Clusters are numbered by their lowest core vector; a border vector within reach of several belongs to the first.

    Args:
        vectors: The vectors, `[n, d]`.
        eps: Radius of a neighbourhood; a vector at exactly this distance is in it.
        min_samples: Vectors a neighbourhood must have, its own included, to be core.
        num_threads: Threads for counting neighbours; labels do not depend on it.
    """
    vectors = np.ascontiguousarray(vectors, dtype=np.float32)
    if vectors.ndim != 2:
        raise InputError(f"vectors must be one row each (got shape {vectors.shape})")
    if not eps > 0:
        raise InputError(f"eps must be positive (got {eps})")
    for name, value in (("min_samples", min_samples), ("num_threads", num_threads)):
        if value < 1:
            raise InputError(f"{name} must be at least 1 (got {value})")
    if not len(vectors):
        return np.zeros(0, dtype=np.int64)
    is_core, found = _neighbours(vectors, eps, min_samples, num_threads)
    labels = np.full(len(vectors), -1, dtype=np.int64)
    if is_core.any():
        labels[is_core] = _components(vectors[is_core], eps)
        kernels.tree.label_borders(labels, is_core, found)
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
        kernels.tree.neighbours_up_to(vectors, tree, eps, min_samples, begin, end, found, counts)

    with ThreadPoolExecutor(num_threads) as pool:
        list(pool.map(look, range(0, num_leaves, _CHUNK)))
    return counts == min_samples, found


def _components(cores: FloatArray, eps: float) -> Labels:
    """Groups of core vectors joined by steps of at most `eps`, numbered by their lowest member."""
    parents = kernels.tree.linked(cores, build_tree(cores), eps)
    return np.unique(parents, return_inverse=True)[1].astype(np.int64)
