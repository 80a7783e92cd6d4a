"""Weisfeiler-Leman colours and the graph keys made of them: integers modulo 2^64, the same on every machine."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import types

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
SELF = np.uint64(0xD6E8FEB86659FD93)
NODES = np.uint64(0xA0761D6478BD642F)
EDGES = np.uint64(0xE7037ED1A0B428DB)
ROUND = np.uint64(0x8EBC6AF09C88C6E3)


def inner(function: Any = None, **options: Any) -> Any:
    """Decorator of functions that only compiled code calls.

    Such functions get no wrapper for Python, no cache file and no specialised version for constant arguments, which halves the first compilation.
    """
    if function is None:
        return lambda decorated: inner(decorated, **options)
    compiled = numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)(function)
    resolve = compiled.get_call_template

    def resolve_without_constants(args: Any, kws: Any) -> Any:
        return resolve(
            [types.unliteral(arg) for arg in args], {name: types.unliteral(arg) for name, arg in kws.items()}
        )

    compiled.get_call_template = resolve_without_constants
    return compiled


@numba.njit(cache=True, nogil=True)
def graph_keys(labels, edges, node_ptr, edge_ptr):  # type: ignore[no-untyped-def]
    """Key of every graph of a batch of node labels `[N]` and edges `[M, 2]`, `[B]`."""
    keys, most = np.empty(len(node_ptr) - 1, dtype=np.uint64), 0
    for g in range(len(keys)):
        most = max(most, node_ptr[g + 1] - node_ptr[g])
    room = np.empty((3, most), np.uint64)
    size = 2
    while size < 2 * most:
        size *= 2
    table, round_number = np.zeros((size, 2), np.uint64), np.uint64(0)
    for g in range(len(keys)):
        first, n = node_ptr[g], node_ptr[g + 1] - node_ptr[g]
        colours = room[0, :n]
        for v in range(n):
            colours[v] = label_colour(labels[first + v])
        before, rounds = -1, 0
        while before != n:  # nodes that all differ go on to differ
            round_number += np.uint64(1)
            count = _num_distinct(colours, table, round_number)
            if count == before:
                break
            before = count
            refine(colours, edges, edge_ptr[g], edge_ptr[g + 1], first, room[1], room[2])
            rounds += 1
        total = np.uint64(0)
        for v in range(n):
            total += mix(colours[v] + NODES)
        num_edges = np.uint64(edge_ptr[g + 1] - edge_ptr[g])
        keys[g] = mix(total + np.uint64(n) * NODES + num_edges * EDGES + np.uint64(rounds) * GOLDEN)
    return keys


@inner
def refine(colours, edges, begin, end, first, sent, gathered):  # type: ignore[no-untyped-def]
    """One round: every node's new colour is made of its own and the multiset of its neighbours' colours.

    The edges are those from `begin` to `end` of a batch in which the graph's nodes start at `first`.
    """
    for v in range(len(colours)):
        sent[v] = mix(colours[v] ^ ROUND)
        gathered[v] = np.uint64(0)
    for e in range(begin, end):
        i, j = edges[e, 0] - first, edges[e, 1] - first
        gathered[i] += sent[j]
        gathered[j] += sent[i]
    for v in range(len(colours)):
        colours[v] = mix(colours[v] * SELF + gathered[v])


@numba.njit(cache=True, nogil=True)
def colour_rounds(labels, edges, num_rounds):  # type: ignore[no-untyped-def]
    """Colours of the nodes after rounds `0 … num_rounds`, `[num_rounds+1, n]`."""
    colours, room = np.empty((num_rounds + 1, len(labels)), np.uint64), np.empty((2, len(labels)), np.uint64)
    for v in range(len(labels)):
        colours[0, v] = label_colour(labels[v])
    for r in range(num_rounds):
        for v in range(len(labels)):
            colours[r + 1, v] = colours[r, v]
        refine(colours[r + 1], edges, 0, len(edges), 0, room[0], room[1])
    return colours


@numba.njit(inline="always")
def label_colour(label):  # type: ignore[no-untyped-def]
    """Colour of a node before the first round."""
    return mix(np.uint64(label + 1) * GOLDEN)


@numba.njit(inline="always")
def mix(x):  # type: ignore[no-untyped-def]
    """Finaliser of splitmix64: a bijection of 64-bit words with full avalanche."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@inner
def chain(key, value):  # type: ignore[no-untyped-def]
    """A key extended by a value."""
    return mix(key * SELF + np.uint64(value) * GOLDEN + np.uint64(1))


@inner
def _num_distinct(values, table, number):  # type: ignore[no-untyped-def]
    """Number of distinct colours. `table` `[2^k, 2]` is room for twice as many, and marks what it holds with a number of its own."""
    mask, count = np.uint64(len(table) - 1), 0
    for value in values:
        slot = value & mask
        while table[slot, 1] == number and table[slot, 0] != value:
            slot = (slot + np.uint64(1)) & mask
        if table[slot, 1] != number:
            table[slot, 0], table[slot, 1] = value, number
            count += 1
    return count


# Batches of graphs: the neighbours of every node, grouped, and the edges that hold components together.


@numba.njit(cache=True, nogil=True)
def group_neighbours(edges, num_nodes):  # type: ignore[no-untyped-def]
    """Neighbours of every node, node after node, `[2M]`, and where each node's begin, `[N+1]`, from edges `[M, 2]`."""
    ptr = np.zeros(num_nodes + 1, dtype=np.int64)
    for e in range(len(edges)):
        ptr[edges[e, 0] + 1] += 1
        ptr[edges[e, 1] + 1] += 1
    for v in range(num_nodes):
        ptr[v + 1] += ptr[v]
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


# Surroundings of nodes as hashes that add up over neighbours, and which edits leave them familiar.


_LABELS = np.uint64(2**32)  # an edge label and a neighbour label in one word


@numba.njit(inline="always")
def neighbour_term(edge_label, label):  # type: ignore[no-untyped-def]
    """The term of a neighbour in the hash."""
    return mix((np.uint64(edge_label + 1) * _LABELS + np.uint64(label)) * GOLDEN ^ ROUND)


@numba.njit(inline="always")
def node_hash(label, total):  # type: ignore[no-untyped-def]
    """Hash of a node whose neighbours' terms add up to `total`."""
    return mix(mix(np.uint64(label + 1) * GOLDEN) * SELF + total)


@numba.njit(cache=True, nogil=True)
def _sums(labels, edges, edge_labels):  # type: ignore[no-untyped-def]
    sums = np.zeros(len(labels), dtype=np.uint64)
    for e in range(len(edges)):
        i, j = edges[e, 0], edges[e, 1]
        sums[i] += neighbour_term(edge_labels[e], labels[j])
        sums[j] += neighbour_term(edge_labels[e], labels[i])
    return sums


@numba.njit(cache=True, nogil=True)
def hashes(labels, edges, edge_labels):  # type: ignore[no-untyped-def]
    """Hash of the label of every node and the multiset of (edge label, neighbour label) pairs around it, `[N]`."""
    sums = _sums(labels, edges, edge_labels)
    result = np.empty(len(labels), dtype=np.uint64)
    for v in range(len(labels)):
        result[v] = node_hash(labels[v], sums[v])
    return result


@inner
def place_in(values, value):  # type: ignore[no-untyped-def]
    """Index of a value in an increasing array; -1 if it is missing."""
    low, high = 0, len(values)
    while low < high:
        middle = (low + high) // 2
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low if low < len(values) and values[low] == value else -1


@numba.njit(inline="always")
def _is_known(known, value):  # type: ignore[no-untyped-def]
    return place_in(known, value) >= 0


@numba.njit(cache=True, nogil=True)
def familiar_edits(labels, edges, edge_labels, num_labels, known):  # type: ignore[no-untyped-def]
    """Which parts of edits lead to familiar surroundings.

    relabel `[n, L]`: node and all its neighbours after it takes the label. tie `[n, L]`: the node after it gains such a
    neighbour. leaf `[L, L]`: a new node of the first label tied to one of the second. remove `[n]`: all neighbours after the
    node is gone. cut `[m]`: both ends after the edge is gone.
    """
    n, m = len(labels), len(edges)
    sums = _sums(labels, edges, edge_labels)
    relabel, tie = np.empty((n, num_labels), np.bool_), np.empty((n, num_labels), np.bool_)
    leaf, remove, cut = np.empty((num_labels, num_labels), np.bool_), np.ones(n, np.bool_), np.empty(m, np.bool_)
    for v in range(n):
        for label in range(num_labels):
            relabel[v, label] = _is_known(known, node_hash(label, sums[v]))
            tie[v, label] = _is_known(known, node_hash(labels[v], sums[v] + neighbour_term(0, label)))
    for label in range(num_labels):
        for other in range(num_labels):
            leaf[label, other] = _is_known(known, node_hash(label, neighbour_term(0, other)))
    for e in range(m):
        cut[e] = True
        for side in range(2):
            changed, beside = edges[e, side], edges[e, 1 - side]
            rest = sums[beside] - neighbour_term(edge_labels[e], labels[changed])
            alone = _is_known(known, node_hash(labels[beside], rest))
            remove[changed] &= alone
            cut[e] &= alone
            for label in range(num_labels):
                if relabel[changed, label]:
                    relabel[changed, label] = _is_known(
                        known, node_hash(labels[beside], rest + neighbour_term(edge_labels[e], label))
                    )
    return relabel, tie, leaf, remove, cut


# What an edit does to a graph. `effect` is the one definition; everything that carries out or weighs edits asks it.


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


@numba.njit(cache=True, nogil=True)
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


@numba.njit(cache=True, nogil=True)
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
