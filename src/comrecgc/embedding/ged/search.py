"""Exact distances: depth-first branch and bound on "i goes to k", with the relaxation as bound at every node.

A node of the search inherits the shares of its parent, so a few ascents suffice. Once a left node is fixed, the whole
reward of its edges moves to their other ends: the bound knows its anchors.
"""

from __future__ import annotations

import numba
import numpy as np

from comrecgc.embedding.ged.assignment import COLUMN_OF
from comrecgc.embedding.ged.relaxation import IMPOSSIBLE, MARGIN, ascend, kill_branch, restart_steps

_ASCENTS = 12  # per node
_STACK_CELLS = 2**24  # cap on the saved states: 128 MB of shares


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
