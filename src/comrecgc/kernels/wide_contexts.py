"""What lies up to two steps around the nodes that a change speaks of, as a hash that does not depend on the order of nodes.

A rule at radius 2 is a rule at radius 1 in such surroundings. They are named by the colours of colour refinement, with every node next to
an anchor marked in turn, so that a ring of six and two of three differ.
"""

from __future__ import annotations

import numba
import numpy as np

from comrecgc.kernels.changing import DEGREE, FIRST, JOIN, LABEL, load, place_of
from comrecgc.kernels.identity import GOLDEN, chain, mix

MOST_NODES = 48
"""Nodes of surroundings at most; where there are more, there is no rule at radius 2."""

_ROUNDS = 4
_ANCHOR, _ROOT = 1, 2  # roles of nodes


@numba.njit(cache=True, nogil=True)
def surroundings(rows, first, second, is_pair):  # type: ignore[no-untyped-def]
    """Hash of what is within two steps of the anchors; 0 where there is too much.

    Args:
        first: The anchor.
        second: The other anchor of a pair, or the root of the group that hangs on the anchor; -1 for neither.
        is_pair: Which of both.
    """
    nodes, depth = np.empty(MOST_NODES, np.int32), np.empty(MOST_NODES, np.int32)
    colours, role = np.empty(MOST_NODES, np.uint64), np.zeros(MOST_NODES, np.int32)
    nodes[0], depth[0], role[0], size = first, 0, _ANCHOR, 1
    if is_pair:
        nodes[1], depth[1], role[1], size = second, 0, _ANCHOR, 2
    head = 0
    while head < size:
        v = nodes[head]
        if depth[head] < 2:
            for k in range(FIRST, FIRST + 2 * rows[v, DEGREE], 2):
                u, known = rows[v, k], False
                for i in range(size):
                    known = known or nodes[i] == u
                if not known:
                    if size == MOST_NODES:
                        return np.uint64(0)
                    nodes[size], depth[size] = u, depth[head] + 1
                    size += 1
        head += 1
    # Edges of nodes less than two steps away, which are all known.
    ends, bonds, count = np.empty((MOST_NODES * 8, 2), np.int32), np.empty(MOST_NODES * 8, np.int32), 0
    for i in range(size):
        if not is_pair and nodes[i] == second:
            role[i] = _ROOT
        for j in range(i + 1, size):
            if depth[i] < 2:
                place = place_of(rows, nodes[i], nodes[j])
                if place >= 0:
                    if count == len(bonds):
                        return np.uint64(0)
                    ends[count, 0], ends[count, 1], bonds[count] = i, j, rows[nodes[i], place + 1]
                    count += 1
    total = np.uint64(0)
    for marked in range(size):
        if depth[marked] == 1 or marked == 0:
            for i in range(size):
                colours[i] = chain(np.uint64(role[i] + 3 * (depth[i] < 2) + 1), rows[nodes[i], LABEL])
            if depth[marked] == 1:
                colours[marked] = mix(colours[marked])
            total += _refined(colours, ends, bonds, size, count)
    return mix(total)


@numba.njit(cache=True, nogil=True)
def _refined(colours, ends, bonds, size, count):  # type: ignore[no-untyped-def]
    """Hash of a graph whose nodes have colours to begin with."""
    sums = np.empty(MOST_NODES, np.uint64)
    for _ in range(_ROUNDS):
        sums[:size] = np.uint64(0)
        for e in range(count):
            i, j = ends[e, 0], ends[e, 1]
            sums[i] += chain(colours[j], bonds[e])
            sums[j] += chain(colours[i], bonds[e])
        for i in range(size):
            colours[i] = chain(colours[i], sums[i])
    total = np.uint64(0)
    for i in range(size):
        total += mix(colours[i] + GOLDEN)
    return mix(total)


@numba.njit(cache=True, nogil=True)
def widened(key, around):  # type: ignore[no-untyped-def]
    """Key at radius 2 of what has a key at radius 1; 0 where there is none."""
    return np.uint64(0) if around == 0 else chain(key ^ GOLDEN, around)


@numba.njit(cache=True, nogil=True)
def widened_keys(labels, edges, bonds, w, changes, keys):  # type: ignore[no-untyped-def]
    """Keys at radius 2 of single changes of one graph, `[V]`.

    Args:
        changes: The changes, `[V, 4]`.
        keys: Their keys at radius 1, `[V]`.
    """
    load(w, labels, edges, bonds)
    wide = np.empty(len(changes), np.uint64)
    around, before = np.uint64(0), -1
    for i in range(len(changes)):
        is_pair = changes[i, 0] >= JOIN
        same = before >= 0 and (changes[before, 0] >= JOIN) == is_pair
        if not (same and changes[before, 1] == changes[i, 1] and changes[before, 2] == changes[i, 2]):
            around, before = surroundings(w.rows, changes[i, 1], changes[i, 2], is_pair), i
        wide[i] = widened(keys[i], around)
    return wide
