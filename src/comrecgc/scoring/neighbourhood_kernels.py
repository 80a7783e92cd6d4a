"""Edited graphs as a message-passing network sees them: each distinct node state once, and how it is made.

After `r` layers the state of a node depends on nothing but its colour after `r` rounds of refinement. So over all nodes
of all neighbours of a graph there is one *row* per colour, and its *recipe*: the rows of the round before that it is made
of, its own first, then those of its neighbours. Neighbours stand in the order of their colours, so a recipe depends on
the colour alone and not on the graph that happened to show it first. The rows of round 0 are the labels.

Edited graphs come in *blocks*, few enough that what is computed of a block is still in the cache of a core when it is
used. Rows are remembered from block to block; a block brings recipes for its *fresh* rows, those not met before."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from comrecgc.graphs.graph_kernels import ADD_NODE, RELABEL, slot_of
from comrecgc.scoring.classifier_kernels import classifier_begin, classifier_probability, classifier_rows
from comrecgc.scoring.colour_kernels import begin, edited_pair, make_scratch, refine, restore
from comrecgc.scoring.greed_kernels import greed_begin, greed_embed, greed_rows

IntArray = npt.NDArray[np.int32]


class Block(NamedTuple):
    """Up to `B` edited graphs of one graph of `n` nodes, and the recipes of their fresh rows.

    Args:
        rows: Row of each node after each round, `[R+1, B, n+2]`; -1 where there is no such node.
        active: The nodes an edit reaches, in the order in which it does, `[B, n+1]`.
        reach: How many it has reached after each round, `[R+1, B]`; all other rows are those before the edit.
        num_fresh: Fresh rows of each round, `[R+1]`.
        fresh: The fresh rows, `[R+1, ·]`.
        ptr: Recipe of fresh row `i` of round `r` is `members[r, ptr[r, i] : ptr[r, i+1]]`, `[R+1, ·]`.
        members: Rows of the round before, `[R+1, ·]`; a recipe's first is the node's own.
        origins: The row of the node two rounds before, for each fresh row, `[R+1, ·]`.
    """

    rows: IntArray
    active: IntArray
    reach: IntArray
    num_fresh: IntArray
    fresh: IntArray
    ptr: IntArray
    members: IntArray
    origins: IntArray


def block_shapes(num_nodes: int, num_edges: int, size: int, num_rounds: int) -> dict[str, tuple[int, ...]]:
    """Shapes of the arrays of a block of `size` edits of one graph."""
    rounds, most = num_rounds + 1, size * (num_nodes + 1)
    return {
        "rows": (rounds, size, num_nodes + 2),
        "active": (size, num_nodes + 1),
        "reach": (rounds, size),
        "num_fresh": (rounds,),
        "fresh": (rounds, most),
        "ptr": (rounds, most + 1),
        "members": (rounds, most + size * 2 * (num_edges + 1) + 4),
        "origins": (rounds, most),
    }


@numba.njit(cache=True, nogil=True)
def sweep(  # type: ignore[no-untyped-def]
    base, kind, first, second, num_labels, table, block, capacity,
    classifier, classifier_room, probability, embedder, greed_room, embedding,
):  # fmt: skip
    """Block by block: find the rows of the edited graphs, compute those that are fresh, and pool them."""
    n, num_rounds, size = len(base.labels), block.rows.shape[0] - 1, block.rows.shape[1]
    scratch = make_scratch(base)
    table[:] = 0
    used = compress_base(base, scratch, table, block, num_labels)
    base_rows, num_base = block.rows[:, 0].copy(), used
    if len(probability):
        classifier_begin(classifier, classifier_room, block)
    if len(embedding):
        greed_begin(embedder, greed_room, block, n)
    for start in range(0, len(kind), size):
        stop = min(start + size, len(kind))
        if used + (stop - start) * (n + 1) * num_rounds > capacity:
            forget(base, table, base_rows)
            used = num_base
        used = compress(base, scratch, table, base_rows, kind, first, second, start, stop, block, used)
        if len(probability):
            classifier_rows(classifier, classifier_room, block)
            classifier_probability(classifier, classifier_room, block, stop - start, n, probability, start)
        if len(embedding):
            greed_rows(embedder, greed_room, block)
            greed_embed(embedder, greed_room, block, base_rows, stop - start, n, embedding, start)


@numba.njit(cache=True, nogil=True)
def compress_base(base, scratch, table, block, used):  # type: ignore[no-untyped-def]
    """The graph before any edit as a block of one; the number of rows used then."""
    n, num_rounds = len(base.labels), len(block.rows) - 1
    for v in range(n + 2):
        scratch.active[v] = v
        block.rows[:, 0, v] = -1
        if v < n:
            block.rows[0, 0, v] = base.labels[v]
    block.num_fresh[:] = 0
    for r in range(num_rounds):
        used = _assign(
            base.ptr, base.neighbours, r, (-1, -1, 0, -1), scratch.active, n, scratch.colour, scratch.mixed, table,
            block.rows, 0, block.num_fresh, block.fresh, block.ptr, block.members, block.origins, used,
        )  # fmt: skip
    return used


@numba.njit(cache=True, nogil=True)
def compress(base, scratch, table, base_rows, kind, first, second, start, stop, block, used):  # type: ignore[no-untyped-def]
    """Make the edits `start … stop` a block; the number of rows used then. `base_rows` are those before any edit."""
    base_ptr, neighbours, beside, n = base.ptr, base.neighbours, base.beside, len(base.labels)
    colour, message, active, reached, mixed = scratch
    rows, kept, reach, num_fresh, fresh, ptr, members, origins = block
    num_rounds = len(rows) - 1
    num_fresh[:] = 0
    for e in range(start, stop):
        b, pair = e - start, edited_pair(base, kind[e], first[e], second[e])
        since, count = 0, begin(kind[e], first[e], second[e], n, scratch)
        reach[0, b] = count
        for v in range(n + 2):
            rows[0, b, v] = base_rows[0, v]
        if kind[e] == RELABEL or kind[e] == ADD_NODE:
            rows[0, b, active[0]] = second[e]
        elif pair[3] >= 0:
            rows[0, b, pair[3]] = -1
        for r in range(num_rounds):
            found = refine(base_ptr, neighbours, beside, r, pair, since, count, colour, message, active, reached, mixed)
            since, count = count, found
            reach[r + 1, b] = count
            for v in range(n + 2):
                rows[r + 1, b, v] = base_rows[r + 1, v]
            used = _assign(
                base_ptr, neighbours, r, pair, active, count, colour, mixed, table,
                rows, b, num_fresh, fresh, ptr, members, origins, used,
            )  # fmt: skip
        for t in range(count):
            kept[b, t] = active[t]
        restore(base, num_rounds, count, scratch)
    return used


@numba.njit(cache=True, nogil=True)
def _assign(  # type: ignore[no-untyped-def]
    base_ptr, neighbours, r, pair, active, count, colour, room, table,
    rows, b, num_fresh, fresh, ptr, members, origins, used,
):  # fmt: skip
    """Find the rows of the active nodes in round `r + 1` by their colours; write the recipes of those not met before."""
    i, j, sign, gone = pair
    made = num_fresh[r + 1]
    place = ptr[r + 1, made] if made else np.int32(0)
    ptr[r + 1, 0] = 0
    for t in range(count):
        v = active[t]
        wanted = colour[r + 1, v]
        slot = slot_of(table, wanted)
        if v == gone:
            rows[r + 1, b, v] = -1
            continue
        if table[slot, 1] != 0:
            rows[r + 1, b, v] = np.int32(table[slot, 1]) - 1
            continue
        rows[r + 1, b, v] = used
        fresh[r + 1, made] = used
        origins[r + 1, made] = rows[r - 1, b, v] if r else 0
        used += 1
        table[slot, 0], table[slot, 1] = wanted, np.uint64(used)
        members[r + 1, place] = rows[r, b, v]
        place = _members(neighbours, base_ptr, r, v, i, j, sign, colour, room, rows, b, members, place + 1)
        made += 1
        ptr[r + 1, made] = place
    num_fresh[r + 1] = made
    return used


@numba.njit(cache=True, nogil=True)
def _members(neighbours, base_ptr, r, v, i, j, sign, colour, room, rows, b, members, place):  # type: ignore[no-untyped-def]
    """Write the rows of a node's neighbours in the order of their colours; where they end.

    `room` is for as many colours as a node has neighbours.
    """
    partner = j if v == i else i if v == j else -1  # whom the edit ties to this node, or takes from it
    end = np.int64(base_ptr[v + 1])
    count = 0
    for p in range(np.int64(base_ptr[v]), end + (sign > 0 and partner >= 0)):
        u = np.int64(neighbours[p]) if p < end else np.int64(partner)
        if sign < 0 and u == partner:
            continue
        to = count
        while to > 0 and room[to - 1] > colour[r, u]:
            room[to], members[r + 1, place + to] = room[to - 1], members[r + 1, place + to - 1]
            to -= 1
        room[to], members[r + 1, place + to] = colour[r, u], rows[r, b, u]
        count += 1
    return np.int32(place + count)


@numba.njit(cache=True, nogil=True)
def forget(base, table, base_rows):  # type: ignore[no-untyped-def]
    """Forget all rows but those of the graph before any edit."""
    table[:] = 0
    for r in range(1, len(base_rows)):
        for v in range(len(base.labels)):
            slot = slot_of(table, base.colour[r, v])
            table[slot, 0], table[slot, 1] = base.colour[r, v], np.uint64(base_rows[r, v] + 1)
