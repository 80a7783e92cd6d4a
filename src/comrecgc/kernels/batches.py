"""Batches of graphs: neighbours grouped by node, and a graph after each of many edits."""

from __future__ import annotations

import numba
import numpy as np

RELABEL, ADD_NODE, REMOVE_NODE, ADD_EDGE, REMOVE_EDGE = range(5)  # the values of `EditKind`


@numba.njit(cache=True)
def group_neighbours(edges, num_nodes):  # type: ignore[no-untyped-def]
    """Neighbours of every node, node after node, `[2M]`, and where each node's begin, `[N+1]`, from edges `[M, 2]`."""
    ptr = np.zeros(num_nodes + 1, dtype=np.int64)
    for e in range(len(edges)):
        ptr[edges[e, 0] + 1] += 1
        ptr[edges[e, 1] + 1] += 1
    ptr = np.cumsum(ptr)
    place = ptr[:-1].copy()
    neighbours = np.empty(2 * len(edges), dtype=np.int64)
    for e in range(len(edges)):
        i, j = edges[e, 0], edges[e, 1]
        neighbours[place[i]] = j
        place[i] += 1
        neighbours[place[j]] = i
        place[j] += 1
    return neighbours, ptr


@numba.njit(cache=True)
def fill_edited(  # type: ignore[no-untyped-def]
    old_labels, old_edges, kind, first, second, node_ptr, edge_ptr, labels, edges, source
):
    """Write the labels and edges of every edited graph; `source` gets the old edge behind each (-1: a new one).

    Returns the first edit that is not of this graph, -1 if all are.
    """
    n, m = len(old_labels), len(old_edges)
    for g in range(len(kind)):
        a, b, offset = first[g], second[g], node_ptr[g]
        if a < 0 or a >= n or (b >= n and (kind[g] == ADD_EDGE or kind[g] == REMOVE_EDGE)):
            return g
        gone = a if kind[g] == REMOVE_NODE else n
        place = offset
        for v in range(n):
            if v != gone:
                labels[place] = old_labels[v]
                place += 1
        if kind[g] == RELABEL:
            labels[offset + a] = b
        elif kind[g] == ADD_NODE:
            labels[place] = b
        slot = edge_ptr[g]
        for e in range(m):
            i, j = old_edges[e, 0], old_edges[e, 1]
            if i == gone or j == gone:
                continue
            if kind[g] == REMOVE_EDGE and ((i == a and j == b) or (i == b and j == a)):
                continue
            if slot == edge_ptr[g + 1]:
                return g
            edges[slot, 0] = offset + i - (i > gone)
            edges[slot, 1] = offset + j - (j > gone)
            if len(source):
                source[slot] = e
            slot += 1
        if kind[g] == ADD_NODE or kind[g] == ADD_EDGE:
            if slot == edge_ptr[g + 1]:
                return g
            edges[slot, 0] = offset + a
            edges[slot, 1] = offset + (n if kind[g] == ADD_NODE else b)
            if len(source):
                source[slot] = -1
            slot += 1
        if slot != edge_ptr[g + 1]:
            return g
    return -1
