"""Batches of graphs: the neighbours of every node, grouped."""

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
