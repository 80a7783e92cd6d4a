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
    n = len(labels)
    colours, gathered = np.empty(n, dtype=np.uint64), np.empty(n, dtype=np.uint64)
    for v in range(n):
        colours[v] = label_colour(labels[v])
    before, rounds = 0, 0
    while True:
        count = _num_distinct(colours)
        if count == before:
            break
        before = count
        refine(colours, edges, gathered)
        rounds += 1
    total = np.uint64(0)
    for v in range(n):
        total += share_of_key(colours[v])
    return key_of(total, n, len(edges), rounds)


@numba.njit(cache=True, nogil=True)
def refine(colours, edges, gathered):  # type: ignore[no-untyped-def]
    """One round: every node takes a colour made of its own and the multiset of its neighbours'."""
    gathered[:] = np.uint64(0)
    for e in range(len(edges)):
        i, j = edges[e, 0], edges[e, 1]
        gathered[i] += message(colours[j])
        gathered[j] += message(colours[i])
    for v in range(len(colours)):
        colours[v] = mix(colours[v] * SELF + gathered[v])


@numba.njit(cache=True, nogil=True)
def colour_rounds(labels, edges, num_rounds):  # type: ignore[no-untyped-def]
    """Colours of the nodes after rounds `0 … num_rounds`, `[num_rounds+1, n]`."""
    colours, gathered = np.empty((num_rounds + 1, len(labels)), np.uint64), np.empty(len(labels), np.uint64)
    for v in range(len(labels)):
        colours[0, v] = label_colour(labels[v])
    for r in range(num_rounds):
        colours[r + 1] = colours[r]
        refine(colours[r + 1], edges, gathered)
    return colours


@numba.njit(inline="always")
def label_colour(label):  # type: ignore[no-untyped-def]
    """Colour of a node before the first round."""
    return mix(np.uint64(label + 1) * GOLDEN)


@numba.njit(inline="always")
def message(colour):  # type: ignore[no-untyped-def]
    """What a node of this colour adds to the sums of its neighbours."""
    return mix(colour ^ ROUND)


@numba.njit(inline="always")
def share_of_key(colour):  # type: ignore[no-untyped-def]
    """What a node of this colour adds to the key of its graph."""
    return mix(colour + NODES)


@numba.njit(inline="always")
def key_of(total, num_nodes, num_edges, num_rounds):  # type: ignore[no-untyped-def]
    """The key of a graph, from the sum of its nodes' shares."""
    return mix(total + np.uint64(num_nodes) * NODES + np.uint64(num_edges) * EDGES + np.uint64(num_rounds) * GOLDEN)


@numba.njit(inline="always")
def slot_of(table, colour):  # type: ignore[no-untyped-def]
    """Where a colour stands, or would, in a hash table `[2^k, 2]` of colours and numbers from 1 (0: free), never full."""
    mask = np.uint64(len(table) - 1)
    slot = colour & mask
    while table[slot, 1] != 0 and table[slot, 0] != colour:
        slot = (slot + np.uint64(1)) & mask
    return slot


@numba.njit(cache=True)
def graph_keys(labels, edges, node_ptr, edge_ptr):  # type: ignore[no-untyped-def]
    """Key of every graph of a batch, `[B]`."""
    keys = np.empty(len(node_ptr) - 1, dtype=np.uint64)
    for g in range(len(keys)):
        first = node_ptr[g]
        local = edges[edge_ptr[g] : edge_ptr[g + 1]] - first
        keys[g] = graph_key(labels[first : node_ptr[g + 1]], local)
    return keys


@numba.njit(inline="always")
def mix(x):  # type: ignore[no-untyped-def]
    """Finaliser of splitmix64: a bijection of 64-bit words with full avalanche."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@numba.njit(cache=True, nogil=True)
def chain(key, value):  # type: ignore[no-untyped-def]
    """A key that goes on with a value."""
    return mix(key * SELF + np.uint64(value) * GOLDEN + np.uint64(1))


@numba.njit(cache=True)
def _num_distinct(values):  # type: ignore[no-untyped-def]
    ordered = np.sort(values)
    count = 1
    for i in range(1, len(ordered)):
        if ordered[i] != ordered[i - 1]:
            count += 1
    return count
