"""The two graphs of a pair as arrays the compiled searches work on.

The smaller graph is always on the left. With unit costs an optimal mapping then sends every left node somewhere (a
relabel costs 1, a deletion with an insertion 2), so a mapping is an injection, and

    distance = n_right + m_left + m_right − gain,    gain = equal labels + 2 · edges kept

turns the edit distance into a quadratic assignment problem: maximise the gain.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt

LongArray = npt.NDArray[np.int64]


class Side(NamedTuple):
    """One graph of the pair. Every undirected edge is two arcs; the arcs leaving a node lie together.

    Args:
        labels: Label of each node, `[n]`.
        ptr: Node `i` owns arcs `ptr[i] … ptr[i+1]`, `[n+1]`.
        head: Node each arc leads to, `[2m]`.
        twin: The arc in the other direction, `[2m]`.
    """

    labels: LongArray
    ptr: LongArray
    head: LongArray
    twin: LongArray


@numba.njit(cache=True, nogil=True)
def make_side(labels, edges):  # type: ignore[no-untyped-def]
    """A side from node labels `[n]` and edges `[m, 2]` in positions."""
    n, m = len(labels), len(edges)
    ptr = np.zeros(n + 1, dtype=np.int64)
    for e in range(m):
        ptr[edges[e, 0] + 1] += 1
        ptr[edges[e, 1] + 1] += 1
    for i in range(n):
        ptr[i + 1] += ptr[i]
    place = ptr[:-1].copy()
    head, twin = np.empty(2 * m, dtype=np.int64), np.empty(2 * m, dtype=np.int64)
    for e in range(m):
        i, j = edges[e, 0], edges[e, 1]
        there, back = place[i], place[j]
        head[there], head[back] = j, i
        twin[there], twin[back] = back, there
        place[i] += 1
        place[j] += 1
    return Side(labels.astype(np.int64), ptr, head, twin)


@numba.njit(cache=True, nogil=True)
def adjacency(side):  # type: ignore[no-untyped-def]
    """Whether two nodes are joined, `[n, n]`, as 0 and 1."""
    n = len(side.labels)
    joined = np.zeros((n, n), dtype=np.int8)
    for i in range(n):
        for a in range(side.ptr[i], side.ptr[i + 1]):
            joined[i, side.head[a]] = 1
    return joined


@numba.njit(cache=True, nogil=True)
def mapping_gain(left, right, joined, image):  # type: ignore[no-untyped-def]
    """Equal labels + 2 · edges kept when left node `i` goes to right node `image[i]`; `joined` belongs to the right."""
    gain = 0
    for i in range(len(left.labels)):
        if left.labels[i] == right.labels[image[i]]:
            gain += 1
        for a in range(left.ptr[i], left.ptr[i + 1]):
            gain += joined[image[i], image[left.head[a]]]  # every kept edge is met from both ends
    return gain


@numba.njit(cache=True, nogil=True)
def complete(image, num_left, num_right):  # type: ignore[no-untyped-def]
    """A permutation of the right nodes that starts with the images of the left ones."""
    full = np.empty(num_right, dtype=np.int64)
    used = np.zeros(num_right, dtype=np.bool_)
    for i in range(num_left):
        full[i] = image[i]
        used[image[i]] = True
    place = num_left
    for k in range(num_right):
        if not used[k]:
            full[place] = k
            place += 1
    return full
