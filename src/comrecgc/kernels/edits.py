"""What an edit does to a graph. `effect` is the one definition; everything that carries out or weighs edits asks it."""

from __future__ import annotations

import numba
import numpy as np

RELABEL, ADD_NODE, REMOVE_NODE, ADD_EDGE, REMOVE_EDGE = range(5)  # the values of `EditKind`
LARGEST_LABEL = 2**31 - 1


@numba.njit(inline="always")
def effect(kind, first, second, num_nodes, tied):  # type: ignore[no-untyped-def]
    """The node an edit gives a label, or -1; the edge `i, j` that comes (+1) or goes (-1); the node that goes, or -1.

    An added node is node `num_nodes`. `tied` is the neighbour of a node to be removed, -1 if it has none.
    """
    if kind == RELABEL:
        return first, -1, -1, 0, -1
    if kind == ADD_NODE:
        return num_nodes, first, num_nodes if first >= 0 else -1, 1 if first >= 0 else 0, -1
    if kind == ADD_EDGE:
        return -1, first, second, 1, -1
    if kind == REMOVE_EDGE:
        return -1, first, second, -1, -1
    return -1, first if tied >= 0 else -1, tied, -1 if tied >= 0 else 0, first


@numba.njit(cache=True)
def effects(kind, first, second, num_nodes, neighbour):  # type: ignore[no-untyped-def]
    """`effect` of every edit, `[N, 5]`; `neighbour` is one neighbour of each node, -1 where it has none, `[n]`."""
    rows = np.empty((len(kind), 5), np.int64)
    for e in range(len(kind)):
        tied = neighbour[first[e]] if kind[e] == REMOVE_NODE else -1
        rows[e] = effect(np.int64(kind[e]), np.int64(first[e]), np.int64(second[e]), num_nodes, np.int64(tied))
    return rows


@numba.njit(cache=True)
def edited(old_labels, old_edges, kind, first, second):  # type: ignore[no-untyped-def]
    """Labels and edges after one edit, and the old edge behind each (-1: a new one); whether the edit fits the graph."""
    n, m = len(old_labels), len(old_edges)
    labels, edges, source = np.empty(n + 1, np.int32), np.empty((m + 1, 2), np.int32), np.empty(m + 1, np.int32)
    num_nodes, num_edges = _write(old_labels, old_edges, kind, first, second, 0, labels, edges, source)
    fits = num_nodes >= 0
    num_nodes, num_edges = max(num_nodes, 0), max(num_edges, 0)
    return labels[:num_nodes].copy(), edges[:num_edges].copy(), source[:num_edges].copy(), fits


@numba.njit(cache=True)
def edited_batch(old_labels, old_edges, kind, first, second, with_source):  # type: ignore[no-untyped-def]
    """`edited` for every edit, end to end: labels, edges, sources, node and edge pointers, the first misfit or -1."""
    n, m, count = len(old_labels), len(old_edges), len(kind)
    labels, edges = np.empty(count * (n + 1), np.int32), np.empty((count * (m + 1), 2), np.int64)
    source = np.empty(count * (m + 1) if with_source else 0, np.int32)
    node_ptr, edge_ptr = np.zeros(count + 1, np.int64), np.zeros(count + 1, np.int64)
    misfit = -1
    for e in range(count):
        node, slot = node_ptr[e], edge_ptr[e]
        num_nodes, num_edges = _write(
            old_labels, old_edges, np.int64(kind[e]), np.int64(first[e]), np.int64(second[e]),
            node, labels[node:], edges[slot:], source[slot:],
        )  # fmt: skip
        if num_nodes < 0:
            misfit = e
            break
        node_ptr[e + 1], edge_ptr[e + 1] = node + num_nodes, slot + num_edges
    return labels[: node_ptr[-1]], edges[: edge_ptr[-1]], source[: edge_ptr[-1]], node_ptr, edge_ptr, misfit


@numba.njit(cache=True)
def _write(old_labels, old_edges, kind, first, second, offset, labels, edges, source):  # type: ignore[no-untyped-def]
    """Write one edited graph, its nodes numbered from `offset`, edges sorted; its nodes and edges, -1 if the edit does not fit."""
    n, m = len(old_labels), len(old_edges)
    node, i, j, sign, gone = effect(kind, first, second, n, -1)
    if i > j:
        i, j = j, i
    if first >= n or (first < 0 and kind != ADD_NODE) or (sign != 0 and (i < 0 or i == j or j >= n + (node == n))):
        return -1, -1
    if node >= 0 and (second < 0 or second > LARGEST_LABEL or (node < n and old_labels[node] == second)):
        return -1, -1
    place = 0
    for v in range(n):
        if v != gone:
            labels[place] = second if v == node else old_labels[v]
            place += 1
    if node == n:
        labels[place] = second
        place += 1
    pos = 0  # where the edge that comes or goes has its place
    while sign != 0 and pos < m and (old_edges[pos, 0] < i or (old_edges[pos, 0] == i and old_edges[pos, 1] < j)):
        pos += 1
    is_joined = pos < m and old_edges[pos, 0] == i and old_edges[pos, 1] == j
    if (sign > 0 and is_joined) or (sign < 0 and not is_joined) or (gone >= 0 and n == 1):
        return -1, -1
    for e in range(pos):
        edges[e, 0], edges[e, 1] = offset + old_edges[e, 0], offset + old_edges[e, 1]
    for e in range(min(pos, len(source))):
        source[e] = e
    slot = pos
    if sign > 0:
        edges[slot, 0], edges[slot, 1] = offset + i, offset + j
        if len(source):
            source[slot] = -1
        slot += 1
    for e in range(pos + (sign < 0), m):
        a, b = old_edges[e, 0], old_edges[e, 1]
        if a == gone or b == gone:
            continue
        edges[slot, 0], edges[slot, 1] = offset + a - (0 <= gone < a), offset + b - (0 <= gone < b)
        if len(source):
            source[slot] = e
        slot += 1
    return (-1, -1) if gone >= 0 and slot < m - 1 else (place, slot)
