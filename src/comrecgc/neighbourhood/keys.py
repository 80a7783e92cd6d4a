"""Identity of every one-edit neighbour without building any: the exact `graph_key` of the edited graph."""

from __future__ import annotations

import numba
import numpy as np

from comrecgc.graphs.edits import EditKind, EditTable
from comrecgc.graphs.graph import Graph
from comrecgc.graphs.identity import EDGES, GOLDEN, NODES, KeyArray, mix
from comrecgc.neighbourhood.refinement import base_colours, begin, edited_pair, make_scratch, refine

_ADD_NODE, _REMOVE_NODE = int(EditKind.ADD_NODE), int(EditKind.REMOVE_NODE)
_FIRST_ROUNDS = 16


def neighbour_keys(graph: Graph, table: EditTable) -> KeyArray:
    """`graph_key` of the graph after each edit of the table, `[N]`.

    Args:
        graph: The graph the table belongs to.
        table: Edits, in any order and number.
    """
    keys = np.empty(len(table), dtype=np.uint64)
    done, num_rounds = 0, _FIRST_ROUNDS
    while done < len(table):
        base = base_colours(graph, num_rounds)
        done = _fill_keys(base, graph.num_edges, table.kind, table.first, table.second, done, keys)
        num_rounds *= 2
    return keys


def first_of_each(keys: KeyArray) -> np.ndarray:
    """Indices of the first occurrence of each key, increasing."""
    _, first = np.unique(keys, return_index=True)
    first.sort()
    return first


@numba.njit(cache=True, nogil=True)
def _fill_keys(base, m, kind, first, second, start, keys):  # type: ignore[no-untyped-def]
    """Keys from `start` on, up to the first edit that needs more rounds than `base` has; the index of that edit."""
    n = len(base.labels)
    last_round = len(base.colour) - 1
    scratch = make_scratch(n)
    size = 4
    while size < 2 * (n + 1):
        size *= 2
    slots, stamps = np.zeros(size, dtype=np.uint64), np.zeros(size, dtype=np.int64)
    tick = 0
    for e in range(start, len(kind)):
        pair = edited_pair(base, kind[e], first[e], second[e])
        nodes = n + 1 if kind[e] == _ADD_NODE else n
        active = begin(base, kind[e], first[e], second[e], scratch)
        tick += 1
        count = _num_distinct(scratch.colour, nodes, pair[3], slots, stamps, tick)
        r = 0
        while True:
            if r == last_round:
                return e
            active = refine(base, r, pair, active, scratch)
            r += 1
            tick += 1
            refined = _num_distinct(scratch.colour, nodes, pair[3], slots, stamps, tick)
            if refined == count:
                break
            count = refined
        edges = m + pair[2]
        remaining = nodes - 1 if kind[e] == _REMOVE_NODE else nodes
        total = np.uint64(remaining) * NODES + np.uint64(edges) * EDGES + np.uint64(r) * GOLDEN
        for v in range(nodes):
            if v != pair[3]:
                total += mix(scratch.colour[v] + NODES)
        keys[e] = mix(total)
    return len(kind)


@numba.njit(cache=True, nogil=True)
def _num_distinct(colours, nodes, gone, slots, stamps, tick):  # type: ignore[no-untyped-def]
    """Number of distinct colours among nodes `0 … nodes-1` but `gone`; `tick` is new in each call."""
    mask = np.uint64(len(slots) - 1)
    count = 0
    for v in range(nodes):
        if v == gone:
            continue
        place = colours[v] & mask
        while stamps[place] == tick and slots[place] != colours[v]:
            place = (place + np.uint64(1)) & mask
        if stamps[place] != tick:
            stamps[place], slots[place] = tick, colours[v]
            count += 1
    return count
