"""The edit distance of pairs of graphs: first mappings, annealing, and an exact search, with the relaxation as bound.

The smaller graph is always on the left. With unit costs an optimal mapping then sends every left node somewhere (a
relabel costs 1, a deletion with an insertion 2), so a mapping is an injection, and

    distance = n_right + m_left + m_right − gain,    gain = equal labels + 2 · edges kept

turns the edit distance into a quadratic assignment problem: maximise the gain.

- *Growing* finds first mappings: a common part grows edge by edge from every seed, after He and Singh's neighbour-biased
  mapping (2006). Between equally good steps the nodes whose surroundings look alike win.
- *Annealing* improves a mapping by swaps of two images. A swap changes the gain only around the two nodes, so millions are
  tried per second; most are proposed along edges, so that an edge is kept.
- *Branch and bound* on "i goes to k" is exact. A search node inherits the shares of its parent, so a few ascents suffice;
  once a left node is fixed, the whole reward of its edges moves to their other ends.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from comrecgc.graphs.graph_kernels import group_neighbours
from comrecgc.models.relaxation_kernels import (
    COLUMN_OF,
    IMPOSSIBLE,
    MARGIN,
    ascend,
    assign,
    kill_branch,
    make_dual,
    make_scratch,
    mapping_gain,
    restart_steps,
)

LongArray = npt.NDArray[np.int64]

_FULL_MOVES = 2**14  # node pairs up to which the number of moves grows with them
_FULL_ASCENTS = 2**14  # arc pairs up to which all ascents are made; fewer beyond, for the same work
_FULL_NODES = 2**13  # likewise for the nodes of the search
_MOST_ARC_PAIRS = 2**24  # beyond this the shares (128 MB) are not stored and the branch bound must do
_COLD = 0.25
_STAGES = 40
_ALONG_EDGES = np.uint64(int(0.8 * 2**32))  # share of moves proposed along edges
_ACCEPTANCES = 64
_SHELLS = 5
_DECAY = 0.6  # weight of a shell relative to the one inside it
_UNLIKENESS = 0.2  # weight of differing surroundings against kept edges and equal labels
_MOST_WORK = 2**20  # bounds the number of seeds for large pairs
_ASCENTS = 12  # per node
_STACK_CELLS = 2**24  # cap on the saved states: 128 MB of shares


class PairGraph(NamedTuple):
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
def solve_pairs(labels, edges, node_ptr, edge_ptr, pairs, maps, map_ptr, lower, upper, sweeps, ascents, nodes, seed):  # type: ignore[no-untyped-def]
    """Bracket the distance of every pair of graphs in a batch.

    Args:
        labels: As in `GraphBatch`.
        edges: As in `GraphBatch`.
        node_ptr: As in `GraphBatch`.
        edge_ptr: As in `GraphBatch`.
        pairs: Graphs of each pair, `[P, 2]`, the smaller first.
        maps: A mapping for each pair, one after the other; improved in place.
        map_ptr: Pair `p` owns `maps[map_ptr[p] : map_ptr[p+1]]`, `[P+1]`.
        lower: Gets the lower bounds, `[P]`.
        upper: Gets the upper bounds, `[P]`.
        sweeps: As in `solve`.
        ascents: As in `solve`.
        nodes: As in `solve`.
        seed: As in `solve`.
    """
    for p in range(len(pairs)):
        g, h = pairs[p]
        left = pair_graph(labels[node_ptr[g] : node_ptr[g + 1]], edges[edge_ptr[g] : edge_ptr[g + 1]] - node_ptr[g])
        right = pair_graph(labels[node_ptr[h] : node_ptr[h + 1]], edges[edge_ptr[h] : edge_ptr[h + 1]] - node_ptr[h])
        image = maps[map_ptr[p] : map_ptr[p + 1]]
        lower[p], upper[p] = solve(left, right, image, sweeps, ascents, nodes, seed)


@numba.njit(cache=True, nogil=True)
def solve(left, right, image, sweeps, ascents, nodes, seed):  # type: ignore[no-untyped-def]
    """Bracket the distance of one pair.

    Args:
        left: The smaller side.
        right: The larger side.
        image: A mapping to start from, `[n_left]`; holds the best one afterwards.
        sweeps: Swaps to try, per node pair.
        ascents: Steps of the relaxation.
        nodes: Nodes of the exact search.
        seed: Seed of the annealing.

    Returns:
        Lower and upper bound on the distance.
    """
    n_left, n_right = len(left.labels), len(right.labels)
    size = n_right + len(left.head) // 2 + len(right.head) // 2
    joined = adjacency(right)
    state = np.array([np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0xD1B54A32D192ED03)])
    state[0] |= np.uint64(1)
    gain = mapping_gain(left, right, joined, image)
    start, bound = branch_assignment(left, right)
    moves = sweeps * min(n_left * n_right, _FULL_MOVES)
    gain = _improve(left, right, joined, image, gain, start, moves // 4, 1.0, bound, state)
    if bound >= gain + 1 - MARGIN:
        start = grow_mapping(left, right, joined)
        gain = _improve(left, right, joined, image, gain, start, moves // 4, 0.6, bound, state)
    arc_pairs = len(left.head) * len(right.head)
    if bound >= gain + 1 - MARGIN and arc_pairs <= _MOST_ARC_PAIRS:
        ascents = -(-ascents * _FULL_ASCENTS // max(arc_pairs, _FULL_ASCENTS))
        nodes = -(-nodes * _FULL_NODES // max(arc_pairs, _FULL_NODES))
        dual = make_dual(left, right)
        for part in range(min(2, ascents)):
            gain, bound = ascend(left, right, joined, dual, image, gain, bound, (ascents + 1 - part) // 2)
            if bound < gain + 1 - MARGIN:
                break
            start = dual.leader.places[COLUMN_OF, :n_left].copy()
            gain = _improve(left, right, joined, image, gain, start, moves // 4, 0.6, bound, state)
            gain = _improve(left, right, joined, image, gain, image, moves // 2, 1.5, bound, state)
        if bound >= gain + 1 - MARGIN and nodes > 0:
            gain, bound = branch_and_bound(left, right, joined, dual, image, gain, bound, nodes)
    upper = size - gain
    return min(upper, np.int64(np.ceil(size - bound - MARGIN))), upper


@numba.njit(cache=True, nogil=True)
def branch_assignment(left, right):  # type: ignore[no-untyped-def]
    """The branch bound: an assignment of left to right nodes, `[n_left]`, and an upper bound on the gain."""
    n_left, n_right = len(left.labels), len(right.labels)
    cost = np.empty((n_left, n_right))
    for i in range(n_left):
        for k in range(n_right):
            kept = min(left.ptr[i + 1] - left.ptr[i], right.ptr[k + 1] - right.ptr[k])
            cost[i, k] = -kept - (1.0 if left.labels[i] == right.labels[k] else 0.0)
    work = make_scratch(n_right)
    bound = -assign(cost, n_left, n_right, work.prices, work.places)
    return work.places[COLUMN_OF, :n_left].copy(), bound


@numba.njit(cache=True, nogil=True)
def _improve(left, right, joined, image, gain, start, moves, hot, bound, state):  # type: ignore[no-untyped-def]
    """Anneal from `start`; keeps `image` and its gain unless something better is found."""
    n_left = len(left.labels)
    full = complete(start, n_left, len(right.labels))
    met = anneal(left, right, joined, full, moves, hot, _COLD, np.floor(bound + MARGIN), state)
    if met > gain:
        image[:] = full[:n_left]
        return met
    return gain


@numba.njit(cache=True, nogil=True)
def pair_graph(labels, edges):  # type: ignore[no-untyped-def]
    """A graph of a pair from node labels `[n]` and edges `[m, 2]` in positions."""
    head, ptr = group_neighbours(edges, len(labels))
    place, twin = ptr[:-1].copy(), np.empty(len(head), dtype=np.int64)
    for e in range(len(edges)):
        there, back = place[edges[e, 0]], place[edges[e, 1]]
        twin[there], twin[back] = back, there
        place[edges[e, 0]] += 1
        place[edges[e, 1]] += 1
    return PairGraph(labels.astype(np.int64), ptr, head, twin)


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


@numba.njit(cache=True, nogil=True)
def branch_and_bound(left, right, joined, dual, image, gain, bound, nodes):  # type: ignore[no-untyped-def]
    """Search for better mappings until none can exist or `nodes` search nodes were spent.

    Args:
        left: The smaller side.
        right: The larger side.
        joined: Adjacency of the right side.
        dual: State of the relaxation at the root; spent afterwards.
        image: Best mapping known, `[n_left]`; overwritten when a better one is met.
        gain: Its gain.
        bound: Upper bound on any better gain.
        nodes: Search nodes to spend.

    Returns:
        The best gain known and an upper bound on any better one (below `gain + 1`: it is the best).
    """
    n_left = len(left.labels)
    depths = min(n_left, _STACK_CELLS // max(1, dual.share.size)) + 1
    shares = np.empty((depths, *dual.share.shape))
    deads = np.empty((depths, *dual.dead.shape), dtype=np.bool_)
    chosen = np.zeros((depths, 2), dtype=np.int64)
    bounds = np.full(depths + 1, -np.inf)
    bounds[0] = bound
    depth = 0
    for _ in range(nodes):
        restart_steps(dual)
        gain, bounds[depth] = ascend(left, right, joined, dual, image, gain, bounds[depth], _ASCENTS)
        if bounds[depth] < gain + 1 - MARGIN:
            if depth == 0:
                return gain, bounds[0]
            depth -= 1
            dual.share[:] = shares[depth]
            dual.dead[:] = deads[depth]
            dual.stale[:] = True
            kill_branch(left, right, dual, chosen[depth, 0], chosen[depth, 1])
            continue
        if depth == depths - 1:
            break
        i = _undecided(left, right, dual)
        k = dual.leader.places[COLUMN_OF, i]
        shares[depth] = dual.share
        deads[depth] = dual.dead
        chosen[depth, 0], chosen[depth, 1] = i, k
        depth += 1
        bounds[depth] = bounds[depth - 1]
        _fix(left, right, dual, i, k)
    bound = bounds[0]
    for d in range(1, depth + 1):
        bound = max(bound, bounds[d])
    return gain, bound


@numba.njit(cache=True, nogil=True)
def _undecided(left, right, dual):  # type: ignore[no-untyped-def]
    """The left node with the fewest places left, at least two; of those the one with most edges."""
    best, fewest, most = -1, len(right.labels) + 1, -1
    for i in range(len(left.labels)):
        places = 0
        for k in range(len(right.labels)):
            if not dual.dead[i, k]:
                places += 1
        degree = left.ptr[i + 1] - left.ptr[i]
        if places >= 2 and (places < fewest or (places == fewest and degree > most)):
            best, fewest, most = i, places, degree
    return best


@numba.njit(cache=True, nogil=True)
def _fix(left, right, dual, i, k):  # type: ignore[no-untyped-def]
    """Send `i` to `k` and nothing else there; the other ends of its edges get their whole reward."""
    for other in range(len(right.labels)):
        if other != k and not dual.dead[i, other]:
            kill_branch(left, right, dual, i, other)
    for other in range(len(left.labels)):
        if other != i and not dual.dead[other, k]:
            kill_branch(left, right, dual, other, k)
    dual.stale[i, k] = True
    for a in range(left.ptr[i], left.ptr[i + 1]):
        for b in range(right.ptr[k], right.ptr[k + 1]):
            if dual.share[a, b] != IMPOSSIBLE:
                dual.share[a, b] = 0.0
                dual.share[left.twin[a], right.twin[b]] = 2.0
                dual.stale[left.head[a], right.head[b]] = True
