"""Cheap edit paths between pairs of graphs, as mappings of nodes: grown first, then annealed.

The smaller graph is always on the left. With unit costs an optimal mapping then sends every left node somewhere (a
relabel costs 1, a deletion with an insertion 2), so a mapping is an injection, and

    cost = n_right + m_left + m_right − gain,    gain = equal labels + 2 · edges kept

turns the edit distance into a quadratic assignment problem: maximise the gain.

- *Growing* finds a first mapping: a common part grows edge by edge from every seed, after He and Singh's neighbour-biased
  mapping (2006). Between equally good steps the nodes whose surroundings look alike win.
- *Annealing* improves a mapping by swaps of two images. A swap changes the gain only around the two nodes, so millions are
  tried per second; most are proposed along edges, so that an edge is kept.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from comrecgc.graphs.graph_kernels import group_neighbours

LongArray = npt.NDArray[np.int64]

_FULL_MOVES = 2**14  # node pairs up to which the number of moves grows with them
_COLD = 0.25
_STAGES = 40
_ALONG_EDGES = np.uint64(int(0.8 * 2**32))  # share of moves proposed along edges
_ACCEPTANCES = 64
_SHELLS = 5
_DECAY = 0.6  # weight of a shell relative to the one inside it
_UNLIKENESS = 0.2  # weight of differing surroundings against kept edges and equal labels
_MOST_WORK = 2**20  # bounds the number of seeds for large pairs


class PairGraph(NamedTuple):
    """One graph of the pair."""

    labels: LongArray  # label of each node, `[n]`
    ptr: LongArray  # node `i` has the neighbours `head[ptr[i] … ptr[i+1]]`, `[n+1]`
    head: LongArray  # neighbours, `[2m]`


@numba.njit(cache=True, nogil=True)
def solve_pairs(labels, edges, node_ptr, edge_ptr, pairs, maps, map_ptr, costs, sweeps, seed):  # type: ignore[no-untyped-def]
    """A cheap mapping for every pair `[P, 2]` of graphs in a batch, the smaller first.

    `maps[map_ptr[p] : map_ptr[p+1]]` is that of pair `p`, improved in place; `costs [P]` gets the costs. The rest is as in `solve`.
    """
    for p in range(len(pairs)):
        g, h = pairs[p]
        left = pair_graph(labels[node_ptr[g] : node_ptr[g + 1]], edges[edge_ptr[g] : edge_ptr[g + 1]] - node_ptr[g])
        right = pair_graph(labels[node_ptr[h] : node_ptr[h + 1]], edges[edge_ptr[h] : edge_ptr[h + 1]] - node_ptr[h])
        costs[p] = solve(left, right, maps[map_ptr[p] : map_ptr[p + 1]], sweeps, seed)


@numba.njit(cache=True, nogil=True)
def solve(left, right, image, sweeps, seed):  # type: ignore[no-untyped-def]
    """Improve the mapping `image [n_left]` of one pair, and return its cost; tries `sweeps` swaps per node pair."""
    n_left, n_right = len(left.labels), len(right.labels)
    joined = adjacency(right)
    state = np.array([np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0xD1B54A32D192ED03)])
    state[0] |= np.uint64(1)
    most = highest_gain(left, right)
    moves = sweeps * min(n_left * n_right, _FULL_MOVES)
    gain = mapping_gain(left, right, joined, image)
    if gain < most:
        gain = _improve(left, right, joined, image, gain, image, moves // 4, 0.6, most, state)
    if gain < most:
        start = grow_mapping(left, right, joined)
        gain = _improve(left, right, joined, image, gain, start, moves // 4, 0.6, most, state)
    if gain < most:
        gain = _improve(left, right, joined, image, gain, image, moves // 2, 1.5, most, state)
    return n_right + len(left.head) // 2 + len(right.head) // 2 - gain


@numba.njit(cache=True, nogil=True)
def highest_gain(left, right):  # type: ignore[no-untyped-def]
    """No mapping gains more: every label in common, and every edge of the side that has fewer."""
    common, ours, theirs, i, k = 0, np.sort(left.labels), np.sort(right.labels), 0, 0
    while i < len(ours) and k < len(theirs):
        if ours[i] == theirs[k]:
            common, i, k = common + 1, i + 1, k + 1
        elif ours[i] < theirs[k]:
            i += 1
        else:
            k += 1
    return common + min(len(left.head), len(right.head))


@numba.njit(cache=True, nogil=True)
def _improve(left, right, joined, image, gain, start, moves, hot, most, state):  # type: ignore[no-untyped-def]
    """Anneal from `start`; keeps `image` and its gain unless something better is found."""
    n_left = len(left.labels)
    full = complete(start, n_left, len(right.labels))
    met = anneal(left, right, joined, full, moves, hot, _COLD, most, state)
    if met > gain:
        image[:] = full[:n_left]
        return met
    return gain


@numba.njit(cache=True, nogil=True)
def pair_graph(labels, edges):  # type: ignore[no-untyped-def]
    """A graph of a pair from node labels `[n]` and edges `[m, 2]` in positions."""
    head, ptr = group_neighbours(edges, len(labels))
    return PairGraph(labels.astype(np.int64), ptr, head)


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
def complete(image, num_left, num_right):  # type: ignore[no-untyped-def]
    """A permutation of the right nodes that starts with the images of the left ones."""
    used = np.zeros(num_right, dtype=np.bool_)
    for i in range(num_left):
        used[image[i]] = True
    return np.concatenate((image[:num_left], np.flatnonzero(~used)))


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
def anneal(left, right, joined, image, moves, hot, cold, target, state):  # type: ignore[no-untyped-def]
    """Improve a mapping in place and return its gain, which is never worse; ends when it reaches `target`.

    Left node `i` goes to `image[i]`; `image [n_right]` is a permutation, whose rest is inserted. `joined` is the adjacency of the right side.
    Temperatures are in units of cost; the random `state [1]` is not zero and advances.
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
    accept = np.empty(_ACCEPTANCES)
    temperature, cooling = hot, (cold / hot) ** (1.0 / (_STAGES - 1))
    for _ in range(_STAGES):
        for loss in range(_ACCEPTANCES):
            accept[loss] = np.exp(-loss / temperature) * 2.0**32
        for _ in range(moves // _STAGES + 1):
            i = _below(state, n_left)
            j = _partner(left, right, image, source, i, state)
            if i == j:
                continue
            change = _swap_gain(left, right, joined, image, i, j)
            if change < 0 and (change <= -_ACCEPTANCES or np.float64(_random32(state)) >= accept[-change]):
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
    """The node whose image left node `i` tries to take: next to the image of a neighbour, or any."""
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
    image = np.empty(len(left.labels), dtype=np.int64)
    for step in range(len(left.labels)):
        if step > 0:
            cell = np.argmax(score)
            i, k = cell // len(right.labels), cell % len(right.labels)
        image[i] = k
        score[i, :] = -np.inf
        score[:, k] = -np.inf
        for a in range(left.ptr[i], left.ptr[i + 1]):
            for b in range(right.ptr[k], right.ptr[k + 1]):
                score[left.head[a], right.head[b]] += 2.0
    return image


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
