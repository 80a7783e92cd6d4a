"""Upper bounds: simulated annealing over node mappings, a swap of two images at a time.

A swap changes the gain only around the two nodes, so one move costs O(degree) and millions are tried per second. Most
moves are proposed along edges: a node is sent next to the image of one of its neighbours, so that an edge is kept.
"""

from __future__ import annotations

import numba
import numpy as np

from comrecgc.embedding.ged.sides import mapping_gain

_STAGES = 40
_ALONG_EDGES = np.uint64(int(0.8 * 2**32))  # share of moves proposed along edges
_TABLE = 64


@numba.njit(cache=True, nogil=True)
def anneal(left, right, joined, image, moves, hot, cold, target, state):  # type: ignore[no-untyped-def]
    """Improve a mapping in place and return its gain; never worse than the one given.

    Args:
        left: The smaller side.
        right: The larger side.
        joined: Adjacency of the right side, `[n_right, n_right]`.
        image: Permutation of the right nodes; left node `i` goes to `image[i]`, the rest is inserted, `[n_right]`.
        moves: Swaps to try.
        hot: First temperature, in units of cost.
        cold: Last temperature.
        target: Gain at which to stop.
        state: Random state, `[1]`, non-zero; advanced.
    """
    n_left, n_right = len(left.labels), len(right.labels)
    gain = mapping_gain(left, right, joined, image)
    best = gain
    if n_right < 2 or best >= target:
        return best
    best_image = image.copy()
    source = np.empty(n_right, dtype=np.int64)
    for i in range(n_right):
        source[image[i]] = i
    accept = np.empty(_TABLE)
    temperature, cooling = hot, (cold / hot) ** (1.0 / (_STAGES - 1))
    for _ in range(_STAGES):
        for loss in range(_TABLE):
            accept[loss] = np.exp(-loss / temperature) * 2.0**32
        for _ in range(moves // _STAGES + 1):
            i = _below(state, n_left)
            j = _partner(left, right, image, source, i, state)
            if i == j:
                continue
            change = _swap_gain(left, right, joined, image, i, j)
            if change < 0 and (change <= -_TABLE or np.float64(_random32(state)) >= accept[-change]):
                continue
            image[i], image[j] = image[j], image[i]
            source[image[i]], source[image[j]] = i, j
            gain += change
            if gain > best:
                best = gain
                best_image[:] = image
                if best >= target:
                    return best
        temperature *= cooling
    image[:] = best_image
    return best


@numba.njit(cache=True, nogil=True)
def _partner(left, right, image, source, i, state):  # type: ignore[no-untyped-def]
    """Whose image left node `i` shall take: one beside the image of a neighbour, or any."""
    degree = left.ptr[i + 1] - left.ptr[i]
    if _random32(state) < _ALONG_EDGES and degree > 0:
        k = image[left.head[left.ptr[i] + _below(state, degree)]]
        beside = right.ptr[k + 1] - right.ptr[k]
        if beside > 0:
            return source[right.head[right.ptr[k] + _below(state, beside)]]
    return _below(state, len(right.labels))


@numba.njit(cache=True, nogil=True)
def _swap_gain(left, right, joined, image, i, j):  # type: ignore[no-untyped-def]
    """Change of gain when `i` (a left node) and `j` (a left node, or an unused place) swap images."""
    k, l = image[i], image[j]
    label = left.labels[i]
    equal = np.int64(label == right.labels[l]) - np.int64(label == right.labels[k])
    kept = np.int64(0)
    for a in range(left.ptr[i], left.ptr[i + 1]):
        other = left.head[a]
        if other != j:
            kept += joined[l, image[other]] - joined[k, image[other]]
    if j < len(left.labels):
        label = left.labels[j]
        equal += np.int64(label == right.labels[k]) - np.int64(label == right.labels[l])
        for a in range(left.ptr[j], left.ptr[j + 1]):
            other = left.head[a]
            if other != i:
                kept += joined[k, image[other]] - joined[l, image[other]]
    return equal + 2 * kept


@numba.njit(cache=True, nogil=True)
def _random32(state):  # type: ignore[no-untyped-def]
    """32 random bits (xorshift64*)."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return (x * np.uint64(0x2545F4914F6CDD1D)) >> np.uint64(32)


@numba.njit(cache=True, nogil=True)
def _below(state, n):  # type: ignore[no-untyped-def]
    """A random integer in `0 … n-1`."""
    return np.int64((_random32(state) * np.uint64(n)) >> np.uint64(32))
