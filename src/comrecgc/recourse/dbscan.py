"""DBSCAN (Ester et al., 1996), exact, for millions of vectors.

Lists of neighbours are never stored. A vector is looked at until it is known to be core; only one that is not has all
its neighbours noted, and those are fewer than `min_samples`. Core vectors are joined by union-find.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import numpy.typing as npt

from comrecgc.errors import InputError
from comrecgc.graphs.graph import BoolArray
from comrecgc.recourse.distances import distance
from comrecgc.recourse.pairs import FloatArray
from comrecgc.recourse.tree import (
    LEAF,
    STACK,
    box_is_near,
    build_tree,
    look_at_leaf,
    neighbours_up_to,
    squared_reach,
)

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
        _label_borders(labels, is_core, found)
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
        neighbours_up_to(vectors, tree, eps, min_samples, begin, end, found, counts)

    with ThreadPoolExecutor(num_threads) as pool:
        list(pool.map(look, range(0, num_leaves, _CHUNK)))
    return counts == min_samples, found


def _components(cores: FloatArray, eps: float) -> Labels:
    """Groups of core vectors joined by steps of at most `eps`, numbered by their lowest member."""
    parents = _linked(cores, build_tree(cores), eps)
    return np.unique(parents, return_inverse=True)[1].astype(np.int64)


@numba.njit(cache=True, nogil=True)
def _linked(vectors, tree, eps):  # type: ignore[no-untyped-def]
    """The lowest vector of each one's group.

    A node whose vectors all belong together is not entered by another vector of the same group; since groups only grow,
    that is noted once and stays true.
    """
    order, sketch, starts, stops, low, high, rounding, _ = tree
    bound = squared_reach(eps, rounding)
    num_inner = len(starts) // 2
    together = stops - starts <= 1
    parents = np.arange(len(vectors))
    stack = np.empty(STACK, dtype=np.int64)
    squares = np.empty(LEAF, dtype=np.float32)
    leaf = 0
    for place in range(len(order)):
        while place >= stops[num_inner + leaf]:
            leaf += 1
        i, point = order[place], sketch[leaf, :, place - starts[num_inner + leaf]].copy()
        root = _root(parents, i)
        stack[0], top = 0, 1
        while top:
            top -= 1
            node = stack[top]
            start, stop = starts[node], stops[node]
            # Every two vectors meet once: when the later place looks at the earlier one.
            if start >= place:
                continue
            if not together[node]:
                together[node] = _is_together(parents, order, together, start, stop, node, num_inner)
            if together[node] and _root(parents, order[start]) == root:
                continue
            if not box_is_near(point, low[node], high[node], bound):
                continue
            if node < num_inner:
                stack[top], stack[top + 1] = 2 * node + 1, 2 * node + 2
                top += 2
                continue
            if not look_at_leaf(point, sketch[node - num_inner], bound, squares):
                continue
            for other in range(start, min(stop, place)):
                if squares[other - start] <= bound:
                    branch = _root(parents, order[other])
                    if branch != root and distance(vectors[i], vectors[order[other]]) <= eps:
                        root, branch = min(root, branch), max(root, branch)
                        parents[branch] = root
    for i in range(len(parents)):
        parents[i] = _root(parents, i)
    return parents


@numba.njit(cache=True, nogil=True)
def _is_together(parents, order, together, start, stop, node, num_inner):  # type: ignore[no-untyped-def]
    """Whether the vectors of a node are now known to be of one group; an inner node asks its children's notes."""
    root = _root(parents, order[start])
    if node < num_inner:
        middle = (start + stop) // 2
        return together[2 * node + 1] and together[2 * node + 2] and _root(parents, order[middle]) == root
    strangers = 0
    for place in range(start + 1, stop):
        strangers += _root(parents, order[place]) != root
    return strangers == 0


@numba.njit(cache=True, nogil=True, inline="always")
def _root(parents, i):  # type: ignore[no-untyped-def]
    while parents[i] != i:
        parents[i] = parents[parents[i]]
        i = parents[i]
    return i


@numba.njit(cache=True, nogil=True)
def _label_borders(labels, is_core, found):  # type: ignore[no-untyped-def]
    for i in range(len(labels)):
        if not is_core[i]:
            for j in found[i]:
                if j >= 0 and is_core[j] and (labels[i] < 0 or labels[j] < labels[i]):
                    labels[i] = labels[j]
