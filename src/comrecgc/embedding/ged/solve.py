"""Everything for one pair, from cheap to expensive, and for many pairs: compiled, without the interpreter lock."""

from __future__ import annotations

import numba
import numpy as np

from comrecgc.embedding.ged.annealing import anneal
from comrecgc.embedding.ged.assignment import COLUMN_OF, assign, make_workspace
from comrecgc.embedding.ged.growing import grow_mapping
from comrecgc.embedding.ged.relaxation import MARGIN, ascend, make_dual
from comrecgc.embedding.ged.search import branch_and_bound
from comrecgc.embedding.ged.sides import adjacency, complete, make_side, mapping_gain

_FULL_MOVES = 2**14  # node pairs up to which the number of moves grows with them
_FULL_ASCENTS = 2**14  # arc pairs up to which all ascents are made; fewer beyond, for the same work
_FULL_NODES = 2**13  # likewise for the nodes of the search
_MOST_ARC_PAIRS = 2**24  # beyond this the shares (128 MB) are not stored and the branch bound must do
_COLD = 0.25


@numba.njit(cache=True, nogil=True)
def branch_assignment(left, right):  # type: ignore[no-untyped-def]
    """The branch bound: an assignment of left to right nodes, `[n_left]`, and an upper bound on the gain."""
    n_left, n_right = len(left.labels), len(right.labels)
    cost = np.empty((n_left, n_right))
    for i in range(n_left):
        for k in range(n_right):
            kept = min(left.ptr[i + 1] - left.ptr[i], right.ptr[k + 1] - right.ptr[k])
            cost[i, k] = -kept - (1.0 if left.labels[i] == right.labels[k] else 0.0)
    work = make_workspace(n_right)
    bound = -assign(cost, n_left, n_right, work.prices, work.places)
    return work.places[COLUMN_OF, :n_left].copy(), bound


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
        left = make_side(labels[node_ptr[g] : node_ptr[g + 1]], edges[edge_ptr[g] : edge_ptr[g + 1]] - node_ptr[g])
        right = make_side(labels[node_ptr[h] : node_ptr[h + 1]], edges[edge_ptr[h] : edge_ptr[h + 1]] - node_ptr[h])
        image = maps[map_ptr[p] : map_ptr[p + 1]]
        lower[p], upper[p] = solve(left, right, image, sweeps, ascents, nodes, seed)
