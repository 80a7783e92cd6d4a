"""Whether graphs hold what rules find: the search of `graphs.rewriting.find_sites`, for many rules and graphs at once.

Nodes of a pattern come in the order in which they are placed, so that everything said of a node speaks of earlier ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt


class Patterns(NamedTuple):
    """What rules find, all nodes one after the other.

    Args:
        ptr: Where the nodes of each pattern begin, `[K + 1]`.
        label: Label of each node, `[P]`.
        degree: Neighbours of each node within its pattern, `[P]`.
        closed: Whether a node has no neighbour outside the map, `[P]`.
        twin: The last node before it that plays the same part, as a place in its pattern, `[P]`; -1 if there is none.
        ties_ptr: Where the earlier neighbours of each node begin, `[P + 1]`.
        ties: Places of the earlier neighbours, and the labels of the edges to them, `[T, 2]`.
        apart_ptr: Where the earlier nodes begin that each node must not be joined with, `[P + 1]`.
        apart: Their places, `[A]`.
    """

    ptr: npt.NDArray[np.int64]
    label: npt.NDArray[np.int32]
    degree: npt.NDArray[np.int32]
    closed: npt.NDArray[np.bool_]
    twin: npt.NDArray[np.int32]
    ties_ptr: npt.NDArray[np.int64]
    ties: npt.NDArray[np.int32]
    apart_ptr: npt.NDArray[np.int64]
    apart: npt.NDArray[np.int32]


class Hosts(NamedTuple):
    """Graphs in which patterns are looked for.

    Args:
        ptr: Where the nodes of each graph begin, `[N + 1]`.
        label: Label of each node, `[V]`.
        around_ptr: Where the neighbours of each node begin, `[V + 1]`.
        around: Neighbours and the labels of the edges to them, `[2E, 2]`.
    """

    ptr: npt.NDArray[np.int64]
    label: npt.NDArray[np.int32]
    around_ptr: npt.NDArray[np.int64]
    around: npt.NDArray[np.int32]


@numba.njit(cache=True, nogil=True)
def holders(patterns, hosts, rule, asked):  # type: ignore[no-untyped-def]
    """Which of the graphs that are asked about, `[N]`, hold what a rule finds, `[N]`."""
    found = np.zeros(len(asked), np.bool_)
    size = patterns.ptr[rule + 1] - patterns.ptr[rule]
    site, cursor = np.empty(size, np.int64), np.empty(size, np.int64)
    for graph in range(len(asked)):
        if asked[graph]:
            found[graph] = _holds(patterns, hosts, patterns.ptr[rule], size, graph, site, cursor)
    return found


@numba.njit(cache=True, nogil=True)
def _holds(patterns, hosts, first, size, graph, site, cursor):  # type: ignore[no-untyped-def]
    """Whether there is a place for a pattern in a graph: depth first, one node of the pattern after the other."""
    low, high = hosts.ptr[graph], hosts.ptr[graph + 1]
    if size > high - low:
        return False
    depth = 0
    cursor[0] = 0
    while depth >= 0:
        if depth == size:
            return True
        node = first + depth
        tie = patterns.ties_ptr[node]
        is_tied = tie < patterns.ties_ptr[node + 1]
        if is_tied:  # only neighbours of a node placed before can do
            start = hosts.around_ptr[site[patterns.ties[tie, 0]]]
            stop = hosts.around_ptr[site[patterns.ties[tie, 0]] + 1]
        else:
            start, stop = low, high
        placed = False
        while start + cursor[depth] < stop and not placed:
            target = start + cursor[depth]
            if is_tied:
                target = np.int64(hosts.around[target, 0])
            cursor[depth] += 1
            if _fits(patterns, hosts, first, depth, target, site, depth):
                site[depth] = target
                placed = _can_close(patterns, hosts, first, size, site, depth + 1)
        if placed:
            depth += 1
            if depth < size:
                cursor[depth] = 0
        else:
            depth -= 1
    return False


@numba.njit(cache=True, nogil=True)
def _fits(patterns, hosts, first, place, target, site, depth):  # type: ignore[no-untyped-def]
    """Whether a node of the pattern could be a node of the graph, as far as `depth` nodes are placed."""
    node = first + place
    if hosts.label[target] != patterns.label[node]:
        return False
    if hosts.around_ptr[target + 1] - hosts.around_ptr[target] < patterns.degree[node]:
        return False
    twin = patterns.twin[node]
    if 0 <= twin < depth and target < site[twin]:
        return False
    for k in range(depth):
        if site[k] == target:
            return False
    for k in range(patterns.ties_ptr[node], patterns.ties_ptr[node + 1]):
        if patterns.ties[k, 0] < depth and _bond(hosts, target, site[patterns.ties[k, 0]]) != patterns.ties[k, 1]:
            return False
    for k in range(patterns.apart_ptr[node], patterns.apart_ptr[node + 1]):
        if patterns.apart[k] < depth and _bond(hosts, target, site[patterns.apart[k]]) >= 0:
            return False
    return True


@numba.njit(cache=True, nogil=True)
def _can_close(patterns, hosts, first, size, site, depth):  # type: ignore[no-untyped-def]
    """Whether every neighbour of a closed node is in the map, or could still be."""
    for place in range(depth):
        if not patterns.closed[first + place]:
            continue
        for k in range(hosts.around_ptr[site[place]], hosts.around_ptr[site[place] + 1]):
            target, known = hosts.around[k, 0], False
            for other in range(depth):
                known = known or site[other] == target
            for other in range(depth, size):
                known = known or _fits(patterns, hosts, first, other, target, site, depth)
            if not known:
                return False
    return True


@numba.njit(cache=True, nogil=True)
def _bond(hosts, one, other):  # type: ignore[no-untyped-def]
    """Label of the edge between two nodes; -1 if there is none."""
    for k in range(hosts.around_ptr[one], hosts.around_ptr[one + 1]):
        if hosts.around[k, 0] == other:
            return hosts.around[k, 1]
    return -1
