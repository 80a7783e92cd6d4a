"""Identity of every one-edit neighbour without building any: the exact `graph_key` of the edited graph."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from comrecgc.graphs import EditKind, EditTable, Graph, KeyArray
from comrecgc.kernels.identity import key_of, share_of_key, slot_of
from comrecgc.neighbourhood.refinement import base_colours, begin, edited_pair, make_scratch, refine, restore

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


class _Classes(NamedTuple):
    """The distinct colours of each round before the edit, numbered from 0.

    Args:
        of: Class of each node, `[R+1, n]`.
        sizes: Nodes in each class, `[R+1, n]`.
        counts: Number of classes, `[R+1]`.
        slots: A hash table for each round, of colours and their classes, `[R+1, size, 2]`; classes count from 1 here.
        totals: What all nodes together add to the key, `[R+1]`.
    """

    of: npt.NDArray[np.int32]
    sizes: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int32]
    slots: KeyArray
    totals: KeyArray


@numba.njit(cache=True, nogil=True)
def _number(colour):  # type: ignore[no-untyped-def]
    rounds, n = colour.shape[0], colour.shape[1] - 2
    size = 4
    while size < 2 * (n + 1):
        size *= 2
    of, sizes, counts = np.empty((rounds, n), np.int32), np.zeros((rounds, n), np.int32), np.zeros(rounds, np.int32)
    slots, totals = np.zeros((rounds, size, 2), np.uint64), np.zeros(rounds, np.uint64)
    for r in range(rounds):
        for v in range(n):
            place = slot_of(slots[r], colour[r, v])
            if slots[r, place, 1] == 0:
                counts[r] += 1
                slots[r, place, 0], slots[r, place, 1] = colour[r, v], counts[r]
            of[r, v] = slots[r, place, 1] - np.uint64(1)
            sizes[r, of[r, v]] += 1
            totals[r] += share_of_key(colour[r, v])
    return _Classes(of, sizes, counts, slots, totals)


@numba.njit(cache=True, nogil=True)
def _fill_keys(base, m, kind, first, second, start, keys):  # type: ignore[no-untyped-def]
    """Keys from `start` on, up to the first edit that needs more rounds than `base` has; the index of that edit."""
    n, last_round = len(base.labels), len(base.colour) - 1
    ptr, neighbours, beside, base_colour = base.ptr, base.neighbours, base.beside, base.colour
    scratch = make_scratch(base)
    colour, message, active, reached, mixed = scratch
    of, sizes, counts, base_slots, totals = _number(base_colour)
    slots, stamps = np.zeros(base_slots.shape[1], np.uint64), np.zeros(base_slots.shape[1], np.int64)
    tick = 0
    for e in range(start, len(kind)):
        pair = edited_pair(base, kind[e], first[e], second[e])
        gone = pair[3]
        nodes = n + (kind[e] == _ADD_NODE) - (kind[e] == _REMOVE_NODE)
        since, reach, r, before = 0, begin(kind[e], first[e], second[e], n, scratch), 0, -1
        while True:
            # Colours told apart: once they are all different, or no more than a round before, they are stable.
            tick += 1
            if before == nodes:
                break
            count = _num_distinct(
                r, gone, active, reach, nodes, colour, of, sizes, counts, base_slots, slots, stamps, tick
            )
            if count == before:
                break
            before = count
            if r == last_round:
                restore(base, r, reach, scratch)
                return e
            found = refine(ptr, neighbours, beside, r, pair, since, reach, colour, message, active, reached, mixed)
            since, reach = reach, found
            r += 1
        total = totals[r]
        for t in range(reach):
            v = active[t]
            if v < n:
                total -= share_of_key(base_colour[r, v])
            if v != gone:
                total += share_of_key(colour[r, v])
        keys[e] = key_of(total, nodes, m + pair[2], r)
        restore(base, r, reach, scratch)
    return len(kind)


@numba.njit(cache=True, nogil=True)
def _is_new(colour, slots, stamps, tick):  # type: ignore[no-untyped-def]
    """Whether a colour was not met before in this tick; now it was. A table with open addressing, never full."""
    mask = np.uint64(len(slots) - 1)
    place = colour & mask
    while stamps[place] == tick and slots[place] != colour:
        place = (place + np.uint64(1)) & mask
    if stamps[place] == tick:
        return False
    stamps[place], slots[place] = tick, colour
    return True


@numba.njit(cache=True, nogil=True)
def _num_distinct(  # type: ignore[no-untyped-def]
    r, gone, active, reach, nodes, colour, of, sizes, counts, base_slots, slots, stamps, tick
):
    """Number of distinct colours after round `r`; `tick` is new in each call.

    They are those before the edit, less the classes whose nodes are all active now, and the new ones of active nodes.
    """
    n = of.shape[1]
    if 3 * reach > n:  # so many are active that all may as well be counted
        count = 0
        for v in range(n + (nodes > n)):
            if v == gone:
                continue
            count += _is_new(colour[r, v], slots, stamps, tick)
        return count
    count = int(counts[r])
    for t in range(reach):
        v = active[t]
        if v < n:
            sizes[r, of[r, v]] -= 1
            count -= sizes[r, of[r, v]] == 0
    for t in range(reach):
        v = active[t]
        if v == gone:
            continue
        place = slot_of(base_slots[r], colour[r, v])
        if base_slots[r, place, 1] != 0 and sizes[r, base_slots[r, place, 1] - np.uint64(1)] > 0:
            continue
        count += _is_new(colour[r, v], slots, stamps, tick)
    for t in range(reach):
        v = active[t]
        if v < n:
            sizes[r, of[r, v]] += 1
    return count
