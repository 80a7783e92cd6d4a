"""Weisfeiler-Leman colours and the graph keys made of them: integers modulo 2^64, the same on every machine."""

from __future__ import annotations

import numba
import numpy as np

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
SELF = np.uint64(0xD6E8FEB86659FD93)
NODES = np.uint64(0xA0761D6478BD642F)
EDGES = np.uint64(0xE7037ED1A0B428DB)
ROUND = np.uint64(0x8EBC6AF09C88C6E3)


@numba.njit(cache=True)
def graph_key(labels, edges):  # type: ignore[no-untyped-def]
    """Key of a graph of node labels `[n]` and edges `[m, 2]`."""
    n, m = len(labels), len(edges)
    colours = np.empty(n, dtype=np.uint64)
    for v in range(n):
        colours[v] = mix(np.uint64(labels[v] + 1) * GOLDEN)
    count = _num_distinct(colours)
    gathered = np.empty(n, dtype=np.uint64)
    rounds = np.uint64(0)
    while True:
        gathered[:] = np.uint64(0)
        for e in range(m):
            i, j = edges[e, 0], edges[e, 1]
            gathered[i] += mix(colours[j] ^ ROUND)
            gathered[j] += mix(colours[i] ^ ROUND)
        for v in range(n):
            colours[v] = mix(colours[v] * SELF + gathered[v])
        rounds += np.uint64(1)
        refined = _num_distinct(colours)
        if refined == count:
            break
        count = refined
    total = np.uint64(n) * NODES + np.uint64(m) * EDGES + rounds * GOLDEN
    for v in range(n):
        total += mix(colours[v] + NODES)
    return mix(total)


@numba.njit(cache=True)
def graph_keys(labels, edges, node_ptr, edge_ptr):  # type: ignore[no-untyped-def]
    """Key of every graph of a batch, `[B]`."""
    keys = np.empty(len(node_ptr) - 1, dtype=np.uint64)
    for g in range(len(keys)):
        first = node_ptr[g]
        local = edges[edge_ptr[g] : edge_ptr[g + 1]] - first
        keys[g] = graph_key(labels[first : node_ptr[g + 1]], local)
    return keys


@numba.njit(cache=True, inline="always")
def mix(x):  # type: ignore[no-untyped-def]
    """Finaliser of splitmix64: a bijection of 64-bit words with full avalanche."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@numba.njit(cache=True)
def _num_distinct(values):  # type: ignore[no-untyped-def]
    ordered = np.sort(values)
    count = 1
    for i in range(1, len(ordered)):
        if ordered[i] != ordered[i - 1]:
            count += 1
    return count
