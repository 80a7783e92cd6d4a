"""Batches of graphs: the neighbours of every node, grouped, and the edges that hold components together."""

from __future__ import annotations

import numba
import numpy as np


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


@numba.njit(cache=True, nogil=True)
def bridges(edges, num_nodes):  # type: ignore[no-untyped-def]
    """Mask of the edges `[M, 2]` that lie on no cycle: an edge is a bridge if nothing below it reaches above it."""
    neighbours, ptr = group_neighbours(edges, num_nodes)
    entered, lowest = np.full(num_nodes, -1, np.int64), np.zeros(num_nodes, np.int64)
    parent, next_slot = np.full(num_nodes, -1, np.int64), ptr[:-1].copy()
    stack, clock = np.empty(num_nodes, np.int64), 0
    for root in range(num_nodes):
        if entered[root] >= 0:
            continue
        depth, stack[0] = 1, root
        entered[root] = lowest[root] = clock
        clock += 1
        while depth:
            node = stack[depth - 1]
            if next_slot[node] < ptr[node + 1]:
                other = neighbours[next_slot[node]]
                next_slot[node] += 1
                if entered[other] < 0:
                    parent[other] = node
                    entered[other] = lowest[other] = clock
                    clock += 1
                    stack[depth] = other
                    depth += 1
                elif other != parent[node]:
                    lowest[node] = min(lowest[node], entered[other])
            else:
                depth -= 1
                if depth:
                    lowest[parent[node]] = min(lowest[parent[node]], lowest[node])
    mask = np.zeros(len(edges), np.bool_)
    for e in range(len(edges)):
        i, j = edges[e, 0], edges[e, 1]
        below = j if parent[j] == i else i
        mask[e] = (parent[j] == i or parent[i] == j) and lowest[below] == entered[below]
    return mask
