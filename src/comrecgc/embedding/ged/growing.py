"""First mappings: grow a common part edge by edge from every seed, after He and Singh's neighbour-biased mapping (2006).

Where two graphs are nearly the same, the right mapping is found by walking both at once. Between equally good next
steps the nodes whose surroundings look alike win: labels counted in shells of equal distance.
"""

from __future__ import annotations

import numba
import numpy as np

from comrecgc.embedding.ged.sides import mapping_gain

_SHELLS = 5
_DECAY = 0.6  # weight of a shell relative to the one inside it
_UNLIKENESS = 0.2  # weight of differing surroundings against kept edges and equal labels
_MOST_WORK = 2**20  # bounds the number of seeds for large pairs


@numba.njit(cache=True, nogil=True)
def grow_mapping(left, right, joined):  # type: ignore[no-untyped-def]
    """The best of the mappings grown from each left node, `[n_left]`."""
    n_left, n_right = len(left.labels), len(right.labels)
    unlike = _unlikeness(left, right)
    seeds = min(n_left, _MOST_WORK // (n_left * n_left * n_right) + 1)
    best, best_gain = np.empty(n_left, dtype=np.int64), -1
    for seed in range(seeds):
        i = seed * n_left // seeds
        image = _grow(left, right, unlike, i, np.argmin(unlike[i]))
        gain = mapping_gain(left, right, joined, image)
        if gain > best_gain:
            best, best_gain = image, gain
    return best


@numba.njit(cache=True, nogil=True)
def _grow(left, right, unlike, i, k):  # type: ignore[no-untyped-def]
    """Send `i` to `k`, then again and again the pair that gains most now."""
    score = -unlike
    image = np.full(len(left.labels), -1, dtype=np.int64)
    taken = np.zeros(len(right.labels), dtype=np.bool_)
    for step in range(len(left.labels)):
        if step > 0:
            i, k = _best_cell(score, image, taken)
        image[i] = k
        taken[k] = True
        for a in range(left.ptr[i], left.ptr[i + 1]):
            for b in range(right.ptr[k], right.ptr[k + 1]):
                score[left.head[a], right.head[b]] += 2.0
    return image


@numba.njit(cache=True, nogil=True)
def _best_cell(score, image, taken):  # type: ignore[no-untyped-def]
    best, row, column = -np.inf, -1, -1
    for i in range(score.shape[0]):
        if image[i] == -1:
            for k in range(score.shape[1]):
                if not taken[k] and score[i, k] > best:
                    best, row, column = score[i, k], i, k
    return row, column


@numba.njit(cache=True, nogil=True)
def _unlikeness(left, right):  # type: ignore[no-untyped-def]
    """How differently any two nodes are placed: label mismatch, and differences of label counts shell by shell."""
    alphabet = np.unique(np.concatenate((left.labels, right.labels)))
    num_labels = len(alphabet)
    ours = _shells(left, np.searchsorted(alphabet, left.labels), num_labels)
    theirs = _shells(right, np.searchsorted(alphabet, right.labels), num_labels)
    unlike = np.zeros((len(ours), len(theirs)))
    for i in range(len(ours)):
        for k in range(len(theirs)):
            weight = 0.5  # shell 0: two unequal labels count 1
            for shell in range(_SHELLS + 1):
                for label in range(num_labels):
                    unlike[i, k] += weight * abs(ours[i, shell, label] - theirs[k, shell, label])
                weight = _UNLIKENESS if shell == 0 else weight * _DECAY
    return unlike


@numba.njit(cache=True, nogil=True)
def _shells(side, labels, num_labels):  # type: ignore[no-untyped-def]
    """How often each label occurs at distance 0, 1, … of each node, `[n, shells, labels]`."""
    n = len(labels)
    counts = np.zeros((n, _SHELLS + 1, num_labels))
    distance, queue = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    for start in range(n):
        distance[:] = -1
        distance[start], queue[0] = 0, start
        first, last = 0, 1
        while first < last:
            i = queue[first]
            first += 1
            counts[start, distance[i], labels[i]] += 1.0
            if distance[i] < _SHELLS:
                for a in range(side.ptr[i], side.ptr[i + 1]):
                    j = side.head[a]
                    if distance[j] == -1:
                        distance[j] = distance[i] + 1
                        queue[last] = j
                        last += 1
    return counts
