"""Weisfeiler-Leman colours of edited graphs, from those of the graph before the edit, and the keys made of them.

An edit changes colours only near its place: after round `r`, within `r` steps. So only the nodes that near are coloured
anew, and neither the edited graph nor the colours that stay the same are ever built.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from comrecgc.graphs import graph_kernels as batches
from comrecgc.graphs import graph_kernels as edits
from comrecgc.graphs import graph_kernels as identity

KeyArray = npt.NDArray[np.uint64]
NodeArray = npt.NDArray[np.uint32]  # unsigned: compiled code need not look for negative indices

_BESIDE = 4  # neighbours of a node that are looked at without asking how many it has


class BaseColours(NamedTuple):
    """A graph and its colours round by round; column `n` stands for the node an edit may add, column `n+1` for nobody.

    Args:
        labels: Node labels, `[n]`.
        ptr: Where each node's neighbours begin, `[n+2]`; node `n` has none.
        neighbours: Neighbours of node 0, then of node 1, …, `[2m]`.
        beside: The first neighbours of each node, nobody where there are fewer, `[n+2, 4]`.
        colour: Colour of each node after each round, `[R+1, n+2]`; that of nobody is the largest.
        message: What each node adds to the sums of its neighbours, `[R+1, n+2]`; nobody adds nothing.
    """

    labels: npt.NDArray[np.int32]
    ptr: NodeArray
    neighbours: NodeArray
    beside: NodeArray
    colour: KeyArray
    message: KeyArray


class Scratch(NamedTuple):
    """Colours of one edited graph; wherever they are not computed they are those of the graph before the edit.

    Args:
        colour: Colour of each node after each round, `[R+1, n+2]`.
        message: What each node adds to the sums of its neighbours, `[R+1, n+2]`.
        active: The nodes the edit has reached, in the order in which it did, `[n+2]`.
        reached: Whether a node is among them, `[n+2]`; nobody always is.
        mixed: What the next colour of each node is made of, `[n+2]`.
    """

    colour: KeyArray
    message: KeyArray
    active: NodeArray
    reached: NodeArray
    mixed: KeyArray


@numba.njit(cache=True, nogil=True)
def base_colours(labels, edges, num_rounds):  # type: ignore[no-untyped-def]
    """The colours of a graph after rounds `0 … num_rounds`."""
    n = len(labels)
    grouped, starts = batches.group_neighbours(edges, n + 1)
    neighbours, ptr = grouped.astype(np.uint32), starts.astype(np.uint32)
    beside = np.full((n + 2, _BESIDE), n + 1, np.uint32)
    for v in range(n):
        for p in range(ptr[v], min(ptr[v + 1], ptr[v] + np.uint32(_BESIDE))):
            beside[v, p - ptr[v]] = neighbours[p]
    colour, message = np.zeros((num_rounds + 1, n + 2), np.uint64), np.zeros((num_rounds + 1, n + 2), np.uint64)
    colour[:, :n] = identity.colour_rounds(labels, edges, num_rounds)
    colour[:, n + 1] = ~np.uint64(0)
    for r in range(num_rounds + 1):
        for v in range(n):
            message[r, v] = identity.message(colour[r, v])
    return BaseColours(labels, ptr, neighbours, beside, colour, message)


@numba.njit(cache=True, nogil=True)
def make_scratch(base):  # type: ignore[no-untyped-def]
    """Scratch for the edits of a graph."""
    size = len(base.labels) + 2
    reached = np.zeros(size, np.uint32)
    reached[size - 1] = 1
    return Scratch(
        base.colour.copy(), base.message.copy(), np.empty(size, np.uint32), reached, np.empty(size, np.uint64)
    )


@numba.njit(cache=True, nogil=True)
def edited_pair(base, kind, first, second):  # type: ignore[no-untyped-def]
    """The edge `i, j` that comes (+1) or goes (-1) with an edit, and the node that goes; -1 where there is none."""
    has_tie = kind == edits.REMOVE_NODE and base.ptr[first] < base.ptr[first + 1]
    tied = np.int64(base.neighbours[base.ptr[first]]) if has_tie else -1
    _, i, j, sign, gone = edits.effect(np.int64(kind), np.int64(first), np.int64(second), len(base.labels), tied)
    return i, j, sign, gone


@numba.njit(cache=True, nogil=True)
def begin(kind, first, second, n, scratch):  # type: ignore[no-untyped-def]
    """Colours of the edited graph before the first round; the number of active nodes, among them one that goes."""
    node, _, _, _, gone = edits.effect(np.int64(kind), np.int64(first), np.int64(second), n, -1)
    if node >= 0:
        scratch.colour[0, node] = identity.label_colour(second)
        scratch.message[0, node] = identity.message(scratch.colour[0, node])
    v = max(node, gone)
    if v < 0:
        return 0
    scratch.active[0] = v
    scratch.reached[v] = 1
    return 1


@numba.njit(cache=True, nogil=True)
def refine(ptr, neighbours, beside, r, pair, since, count, colour, message, active, reached, mixed):  # type: ignore[no-untyped-def]
    """From round `r` to round `r + 1`; the number of active nodes then.

    Those that became active in the round before are `since … count`: their neighbours become active now. A node that
    goes keeps some colour, and what it sends is taken back.
    """
    i, j, sign, _ = pair
    for t in range(since, count):
        u = active[t]
        for p in range(ptr[u], ptr[u + 1]):
            v = neighbours[p]
            if reached[v] == 0:
                active[count], reached[v] = v, 1
                count += 1
    if r == 0 and i >= 0:
        for end in (i, j):
            if reached[end] == 0:
                active[count], reached[end] = end, 1
                count += 1
    for t in range(count):
        v = active[t]
        gathered = (message[r, beside[v, 0]] + message[r, beside[v, 1]]) + (
            message[r, beside[v, 2]] + message[r, beside[v, 3]]
        )
        for p in range(ptr[v] + np.uint32(_BESIDE), ptr[v + 1]):
            gathered += message[r, neighbours[p]]
        mixed[v] = colour[r, v] * identity.SELF + gathered
    if i >= 0:
        factor = np.uint64(1) if sign > 0 else ~np.uint64(0)
        mixed[i] += factor * message[r, j]
        mixed[j] += factor * message[r, i]
    for t in range(count):
        v = active[t]
        colour[r + 1, v] = identity.mix(mixed[v])
        message[r + 1, v] = identity.message(colour[r + 1, v])
    return count


@numba.njit(cache=True, nogil=True)
def restore(base, num_rounds, count, scratch):  # type: ignore[no-untyped-def]
    """Make the scratch ready for the next edit."""
    base_colour, base_message = base.colour, base.message
    colour, message, active, reached, _ = scratch
    for t in range(count):
        reached[active[t]] = 0
    for r in range(num_rounds + 1):
        for t in range(count):
            v = active[t]
            colour[r, v], message[r, v] = base_colour[r, v], base_message[r, v]


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
def fill_keys(base, m, kind, first, second, start, keys):  # type: ignore[no-untyped-def]
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
        nodes = n + (kind[e] == edits.ADD_NODE) - (kind[e] == edits.REMOVE_NODE)
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
                total -= identity.share_of_key(base_colour[r, v])
            if v != gone:
                total += identity.share_of_key(colour[r, v])
        keys[e] = identity.key_of(total, nodes, m + pair[2], r)
        restore(base, r, reach, scratch)
    return len(kind)


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
            place = identity.slot_of(slots[r], colour[r, v])
            if slots[r, place, 1] == 0:
                counts[r] += 1
                slots[r, place, 0], slots[r, place, 1] = colour[r, v], counts[r]
            of[r, v] = slots[r, place, 1] - np.uint64(1)
            sizes[r, of[r, v]] += 1
            totals[r] += identity.share_of_key(colour[r, v])
    return _Classes(of, sizes, counts, slots, totals)


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
        place = identity.slot_of(base_slots[r], colour[r, v])
        if base_slots[r, place, 1] != 0 and sizes[r, base_slots[r, place, 1] - np.uint64(1)] > 0:
            continue
        count += _is_new(colour[r, v], slots, stamps, tick)
    for t in range(reach):
        v = active[t]
        if v < n:
            sizes[r, of[r, v]] += 1
    return count
