"""Matching of rule patterns in graphs: the search of `graphs.rewriting.find_sites`, for many rules and graphs at once.

Nodes of a pattern come in the order in which they are placed, so that the conditions on a node refer to earlier nodes only.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from comrecgc.graphs.graph_kernels import inner


class Patterns(NamedTuple):
    """Patterns of rules, their nodes end to end."""

    ptr: npt.NDArray[np.int64]  # where the nodes of each pattern begin, `[K + 1]`
    label: npt.NDArray[np.int32]  # label of each node, `[P]`
    degree: npt.NDArray[np.int32]  # neighbours of each node within its pattern, `[P]`
    closed: npt.NDArray[np.bool_]  # whether a node has no neighbour outside the map, `[P]`
    twin: npt.NDArray[np.int32]  # last node before it that plays the same part, in its pattern, `[P]`; -1 for none
    ties_ptr: npt.NDArray[np.int64]  # where the earlier neighbours of each node begin, `[P + 1]`
    ties: npt.NDArray[np.int32]  # places of the earlier neighbours, and the labels of the edges to them, `[T, 2]`
    apart_ptr: npt.NDArray[np.int64]  # where the earlier nodes begin that each node must not be joined with, `[P + 1]`
    apart: npt.NDArray[np.int32]  # their places, `[A]`


class Hosts(NamedTuple):
    """Graphs in which patterns are matched."""

    ptr: npt.NDArray[np.int64]  # where the nodes of each graph begin, `[N + 1]`
    label: npt.NDArray[np.int32]  # label of each node, `[V]`
    around_ptr: npt.NDArray[np.int64]  # where the neighbours of each node begin, `[V + 1]`
    around: npt.NDArray[np.int32]  # neighbours, increasing, and the labels of the edges to them, `[2E, 2]`
    twin: npt.NDArray[np.int64]  # the last node before each that it may change places with, `[V]`; -1 if there is none


class _Board(NamedTuple):
    """State of the search."""

    site: npt.NDArray[np.int64]  # node of the graph for each node of the pattern that is placed, `[size]`
    cursor: npt.NDArray[np.int64]  # which candidate of each comes next, `[size]`
    used: npt.NDArray[np.bool_]  # whether a node of the graph is in the map, by its place in the graph
    domain: npt.NDArray[np.bool_]  # which nodes could begin a part of the pattern, `[size, nodes]`
    outside: npt.NDArray[np.int64]  # nodes beside closed ones that are not in the map
    could: npt.NDArray[np.bool_]  # which of them each unplaced node of the pattern could be, `[size, size]`,
    turned: npt.NDArray[np.bool_]  # and the other way round, for some of these
    matched_to: npt.NDArray[np.int64]  # the node each partner is matched to; -1 if none, `[size]`
    partner_of: npt.NDArray[np.int64]  # the partner of each matched node, `[size]`
    reached_from: npt.NDArray[np.int64]  # the node from which the search reached each partner, `[size]`; -1 if none
    queue: npt.NDArray[np.int64]  # nodes to search on from


@numba.njit(cache=True, nogil=True)
def holders(patterns, hosts, rule, asked):  # type: ignore[no-untyped-def]
    """Which of the masked graphs, `[N]`, contain the pattern of a rule, `[N]`."""
    found = np.zeros(len(asked), np.bool_)
    first, size, board = _empty_board(patterns, hosts, rule)
    for graph in range(len(asked)):
        if asked[graph] and size <= hosts.ptr[graph + 1] - hosts.ptr[graph]:
            board.used[:] = False
            found[graph] = _next_site(patterns, hosts, first, size, graph, board, False)
    return found


@numba.njit(cache=True, nogil=True)
def all_sites(patterns, hosts, rule, asked, most):  # type: ignore[no-untyped-def]
    """Every site of a rule in the masked graphs, `[N]`: the graph of each, `[S]`, and its nodes in the order of placing, `[S, size]`.

    Of sites that differ only by interchangeable nodes, one is given; at most `most` sites per graph.
    """
    first, size, board = _empty_board(patterns, hosts, rule)
    graphs, sites, count = np.empty(256, np.int32), np.empty((256, size), np.int32), 0
    for graph in range(len(asked)):
        if not asked[graph] or size > hosts.ptr[graph + 1] - hosts.ptr[graph]:
            continue
        board.used[:] = False
        num = 0
        while num < most and _next_site(patterns, hosts, first, size, graph, board, num > 0):
            if count == len(graphs):
                more_graphs, more_sites = np.empty(2 * count, np.int32), np.empty((2 * count, size), np.int32)
                for i in range(count):  # assigning slices would compile numba's error messages, too
                    more_graphs[i] = graphs[i]
                    for place in range(sites.shape[1]):
                        more_sites[i, place] = sites[i, place]
                graphs, sites = more_graphs, more_sites
            graphs[count] = graph
            for place in range(size):
                sites[count, place] = board.site[place] - hosts.ptr[graph]
            count += 1
            num += 1
    return graphs[:count].copy(), sites[:count].copy()


@inner
def _empty_board(patterns, hosts, rule):  # type: ignore[no-untyped-def]
    """Where the nodes of a rule begin, how many there are, and room to place them."""
    first, size = patterns.ptr[rule], patterns.ptr[rule + 1] - patterns.ptr[rule]
    largest = 0
    for graph in range(len(hosts.ptr) - 1):
        largest = max(largest, hosts.ptr[graph + 1] - hosts.ptr[graph])
    board = _Board(
        np.empty(size, np.int64), np.empty(size, np.int64), np.zeros(largest, np.bool_),
        np.empty((size, largest), np.bool_), np.empty(size + 1, np.int64), np.empty((size, size), np.bool_), np.empty((size, size), np.bool_),
        np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64),
    )  # fmt: skip
    return first, size, board


@numba.njit(cache=True, nogil=True)
def twins(ptr, label, around_ptr, around):  # type: ignore[no-untyped-def]
    """For each node the last earlier node that it is interchangeable with; -1 if there is none."""
    twin = np.full(len(label), -1)
    for graph in range(len(ptr) - 1):
        for v in range(ptr[graph], ptr[graph + 1]):
            for u in range(v - 1, ptr[graph] - 1, -1):
                if label[u] == label[v] and _may_change_places(around_ptr, around, u, v):
                    twin[v] = u
                    break
    return twin


@inner
def _may_change_places(around_ptr, around, u, v):  # type: ignore[no-untyped-def]
    """Whether two nodes have the same neighbours but for each other, by edges of the same labels."""
    i, stop, j = around_ptr[u], around_ptr[u + 1], around_ptr[v]
    if stop - i != around_ptr[v + 1] - j:
        return False
    while i < stop or j < around_ptr[v + 1]:
        if i < stop and around[i, 0] == v:
            i += 1
        elif j < around_ptr[v + 1] and around[j, 0] == u:
            j += 1
        elif i < stop and j < around_ptr[v + 1] and around[i, 0] == around[j, 0] and around[i, 1] == around[j, 1]:
            i += 1
            j += 1
        else:
            return False
    return True


@inner
def _next_site(patterns, hosts, first, size, graph, board, resumes):  # type: ignore[no-untyped-def]
    """Whether there is a place for a pattern in a graph, or if it `resumes` another one: depth first, one node of the pattern after the other."""
    low, high = hosts.ptr[graph], hosts.ptr[graph + 1]
    site, cursor = board.site, board.cursor
    depth = 0
    if resumes:
        depth = size - 1
        board.used[site[depth] - low] = False
    else:
        for place in range(size):
            if not _is_tied(patterns, first + place) and not _fill_domain(
                patterns, hosts, first, size, place, graph, board
            ):
                return False
        cursor[0] = 0
    while depth < size:
        node = first + depth
        tie, is_tied = patterns.ties_ptr[node], _is_tied(patterns, node)
        if is_tied:  # only neighbours of a node placed before can do
            start = hosts.around_ptr[site[patterns.ties[tie, 0]]]
            stop = hosts.around_ptr[site[patterns.ties[tie, 0]] + 1]
        else:
            start, stop = low, high
        least = _least(patterns, first, depth, site, depth)
        placed = False
        while start + cursor[depth] < stop and not placed:
            target = start + cursor[depth]
            if is_tied:
                target = np.int64(hosts.around[target, 0])
            cursor[depth] += 1
            if not is_tied and not board.domain[depth, target - low]:
                continue
            if _twin_was_tried(hosts, board.used, low, target, least):
                continue
            if _fits(patterns, hosts, first, depth, low, target, board, depth):
                site[depth] = target
                board.used[target - low] = True
                placed = _can_close(patterns, hosts, first, size, low, board, depth + 1)
                board.used[target - low] = placed
        if placed:
            depth += 1
            if depth < size:
                cursor[depth] = 0
        else:
            depth -= 1
            if depth < 0:
                return False
            board.used[site[depth] - low] = False
    return True


@inner
def _is_tied(patterns, node):  # type: ignore[no-untyped-def]
    """Whether a node of a pattern is tied to one placed before it; the first node of each part is not."""
    return patterns.ties_ptr[node] < patterns.ties_ptr[node + 1]


@inner
def _fill_domain(patterns, hosts, first, size, place, graph, board):  # type: ignore[no-untyped-def]
    """Record which nodes of a graph fit a node of the pattern by itself; returns whether there are any.

    This is computed once, not again for every placement of other parts.
    """
    low, high, node, num = hosts.ptr[graph], hosts.ptr[graph + 1], first + place, 0
    for target in range(low, high):
        degree = hosts.around_ptr[target + 1] - hosts.around_ptr[target]
        could = hosts.label[target] == patterns.label[node] and degree >= patterns.degree[node]
        if could and patterns.closed[node]:
            could = degree < size and _has_room(patterns, hosts, first, size, place, target)
        board.domain[place, target - low] = could
        num += could
    return num > 0


@inner
def _has_room(patterns, hosts, first, size, place, target):  # type: ignore[no-untyped-def]
    """Whether the pattern has as many other nodes of each label as a node of the graph has neighbours."""
    start, stop = hosts.around_ptr[target], hosts.around_ptr[target + 1]
    for k in range(start, stop):
        label, num = hosts.label[hosts.around[k, 0]], 0
        for j in range(start, stop):
            num += hosts.label[hosts.around[j, 0]] == label
        for other in range(size):
            num -= other != place and patterns.label[first + other] == label
        if num > 0:
            return False
    return True


@inner
def _least(patterns, first, place, site, depth):  # type: ignore[no-untyped-def]
    """The first node of the graph that may be a node of the pattern: those of the same part have increasing places."""
    twin = patterns.twin[first + place]
    while twin >= depth:
        twin = patterns.twin[first + twin]
    return site[twin] + 1 if twin >= 0 else 0


@inner
def _twin_was_tried(hosts, used, low, target, least):  # type: ignore[no-untyped-def]
    """Whether an interchangeable node was tried before, in vain."""
    twin = hosts.twin[target]
    while twin >= least and used[twin - low]:
        twin = hosts.twin[twin]
    return twin >= least


@inner
def _fits(patterns, hosts, first, place, low, target, board, depth):  # type: ignore[no-untyped-def]
    """Whether a node of the pattern fits a node of the graph, given the first `depth` placed nodes."""
    node, site = first + place, board.site
    if hosts.label[target] != patterns.label[node] or board.used[target - low]:
        return False
    if hosts.around_ptr[target + 1] - hosts.around_ptr[target] < patterns.degree[node]:
        return False
    if target < _least(patterns, first, place, site, depth):
        return False
    for k in range(patterns.ties_ptr[node], patterns.ties_ptr[node + 1]):
        if patterns.ties[k, 0] < depth and _bond(hosts, target, site[patterns.ties[k, 0]]) != patterns.ties[k, 1]:
            return False
    for k in range(patterns.apart_ptr[node], patterns.apart_ptr[node + 1]):
        if patterns.apart[k] < depth and _bond(hosts, target, site[patterns.apart[k]]) >= 0:
            return False
    return True


@inner
def _can_close(patterns, hosts, first, size, low, board, depth):  # type: ignore[no-untyped-def]
    """Whether the unmapped neighbours of closed nodes can all be mapped to remaining pattern nodes, and include images for every one next to a closed node."""
    num, room = 0, size - depth
    for place in range(depth):
        if patterns.closed[first + place]:
            for k in range(hosts.around_ptr[board.site[place]], hosts.around_ptr[board.site[place] + 1]):
                target = np.int64(hosts.around[k, 0])
                if num <= room and not board.used[target - low]:
                    board.used[target - low] = True  # for now, so that it is counted once
                    board.outside[num] = target
                    num += 1
    for k in range(num):
        board.used[board.outside[k] - low] = False
    if num > room:
        return False
    for k in range(num):
        for place in range(depth, size):
            board.could[k, place - depth] = _fits(patterns, hosts, first, place, low, board.outside[k], board, depth)
    if not _has_full_matching(board.could, num, room, board):
        return False
    bound = 0  # nodes of the pattern beside closed ones: they must be among those
    for place in range(depth, size):
        if _is_beside_closed(patterns, first, place, depth):
            for k in range(num):
                board.turned[bound, k] = board.could[k, place - depth]
            bound += 1
    return bound <= num and _has_full_matching(board.turned, bound, num, board)


@inner
def _is_beside_closed(patterns, first, place, depth):  # type: ignore[no-untyped-def]
    """Whether a node of the pattern is tied to a closed one that is placed."""
    for k in range(patterns.ties_ptr[first + place], patterns.ties_ptr[first + place + 1]):
        if patterns.ties[k, 0] < depth and patterns.closed[first + patterns.ties[k, 0]]:
            return True
    return False


@inner
def _has_full_matching(could, num, num_partners, board):  # type: ignore[no-untyped-def]
    """Whether a bipartite matching covers the first side; `could[node, partner]` are the edges."""
    board.matched_to[:num_partners] = -1
    for start in range(num):
        if not _augment(could, start, num_partners, board):
            return False
    return True


@inner
def _augment(could, start, num_partners, board):  # type: ignore[no-untyped-def]
    """Whether an augmenting path from a node that is not matched yet exists; it is taken, breadth first."""
    board.reached_from[:num_partners] = -1
    board.queue[0] = start
    done, num = 0, 1
    while done < num:
        source = board.queue[done]
        done += 1
        for partner in range(num_partners):
            if not could[source, partner] or board.reached_from[partner] >= 0:
                continue
            board.reached_from[partner] = source
            if board.matched_to[partner] >= 0:
                board.queue[num] = board.matched_to[partner]
                num += 1
                continue
            _match_along(start, partner, board)
            return True
    return False


@inner
def _match_along(start, partner, board):  # type: ignore[no-untyped-def]
    """Match along an augmenting path, from its free end back to the node it began at."""
    node = -1
    while node != start:
        node = board.reached_from[partner]
        freed = board.partner_of[node]
        board.matched_to[partner], board.partner_of[node] = node, partner
        partner = freed


@inner
def _bond(hosts, one, other):  # type: ignore[no-untyped-def]
    """Label of the edge between two nodes; -1 if there is none."""
    low, high = hosts.around_ptr[one], hosts.around_ptr[one + 1]
    while low < high:
        middle = (low + high) // 2
        if hosts.around[middle, 0] < other:
            low = middle + 1
        else:
            high = middle
    return hosts.around[low, 1] if low < hosts.around_ptr[one + 1] and hosts.around[low, 0] == other else -1
