"""Edited graphs as a message-passing network sees them: each distinct node state once, and how it is made.

After `r` layers the state of a node depends on nothing but its colour after `r` rounds of refinement. So over all nodes
of all neighbours of a graph there is one *row* per round and colour, and its *recipe*: the rows of the round before that
it is made of, its own first, then those of its neighbours. Neighbours stand in the order of their colours, so a recipe
depends on the colour alone and not on the graph that happened to show it first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np

from comrecgc.graphs.batch import LongArray, pointers
from comrecgc.graphs.edits import EditKind, EditTable
from comrecgc.graphs.graph import Graph, IntArray
from comrecgc.neighbourhood.refinement import base_colours, begin, edited_pair, make_scratch, refine
from comrecgc.neighbourhood.workspace import Workspace

_ADD_NODE = int(EditKind.ADD_NODE)


@dataclass(frozen=True, eq=False, slots=True)
class Recipes:
    """Some edited graphs, compressed.

    Args:
        node_ptr: Edited graph `e` owns nodes `node_ptr[e] … node_ptr[e+1]`, `[E+1]`.
        rows: Row of each node after each round, `[R+1, nodes]`; before the first round the row is the label.
        counts: Number of rows of each round, `[R+1]`; 0 for round 0, whose rows are the labels.
        ptr: Recipe of row `i` of round `r` is `members[r, ptr[r, i] : ptr[r, i+1]]`, `[R+1, rows+1]`.
        members: Rows of the round before, `[R+1, ·]`; a recipe's first is the node's own.
        longest: More than the length of any recipe and the number of nodes of any graph.
    """

    node_ptr: LongArray
    rows: IntArray
    counts: LongArray
    ptr: IntArray
    members: IntArray
    longest: int

    def __len__(self) -> int:
        return len(self.node_ptr) - 1


def make_recipes(graph: Graph, table: EditTable, num_rounds: int, workspace: Workspace) -> Recipes:
    """The graph after each edit of the table, compressed.

    Args:
        graph: The graph the table belongs to.
        table: Edits, in any order and number.
        num_rounds: Rounds of refinement.
        workspace: Where the arrays of the result live; they are overwritten when it is used for this again.
    """
    n, m, count = graph.num_nodes, graph.num_edges, len(table)
    grows = table.of_kind(EditKind.ADD_NODE).astype(np.int64) - table.of_kind(EditKind.REMOVE_NODE)
    node_ptr = pointers(n + grows)
    most_rows = int(node_ptr[-1]) + n
    take, rounds = workspace.take, num_rounds + 1
    rows = take("rows", (rounds, int(node_ptr[-1])), np.int32)
    counts = np.zeros(rounds, dtype=np.int64)
    ptr = take("ptr", (rounds, most_rows + 1), np.int32)
    members = take("members", (rounds, most_rows + (count + 1) * 2 * (m + 1)), np.int32)
    size = 1 << int(1.4 * most_rows).bit_length()
    slots, colours = take("slots", (rounds, size), np.int32), take("colours", (rounds, most_rows), np.uint64)
    slots[:] = -1
    base = base_colours(graph, num_rounds)
    _compress(base, table.kind, table.first, table.second, node_ptr, rows, counts, ptr, members, slots, colours)
    return Recipes(node_ptr, rows, counts, ptr, members, n + 2)


@numba.njit(cache=True, nogil=True)
def _compress(base, kind, first, second, node_ptr, rows, counts, ptr, members, slots, colours):  # type: ignore[no-untyped-def]
    """Fill everything behind `node_ptr`.

    `slots` is a hash table of row numbers for each round, all -1 at first, and `colours` gets the colour of each row.
    """
    n, num_rounds = len(base.labels), len(rows) - 1
    base_ptr, neighbours = base.ptr, base.neighbours
    scratch = make_scratch(n)
    colour, changed = scratch.colour, scratch.active
    before, beside = np.empty(n + 1, dtype=np.uint64), np.empty(n + 2, dtype=np.uint64)
    everyone, unedited = np.arange(n + 1, dtype=np.int32), (-1, -1, 0, -1)
    base_rows = np.full((num_rounds + 1, n + 1), -1, dtype=np.int32)
    base_rows[0, :n] = base.labels
    ptr[:, 0] = 0
    for r in range(num_rounds):
        _assign_rows(
            r + 1, base_ptr, neighbours, unedited, everyone, n, base.colour[r + 1], base.colour[r],
            base_rows[r], base_rows[r + 1], beside, counts, ptr, members, slots, colours,
        )  # fmt: skip
    current, following = np.empty(n + 1, dtype=np.int32), np.empty(n + 1, dtype=np.int32)
    for e in range(len(kind)):
        pair = edited_pair(base, kind[e], first[e], second[e])
        gone, nodes = pair[3], n + 1 if kind[e] == _ADD_NODE else n
        active = begin(base, kind[e], first[e], second[e], scratch)
        current[:] = base_rows[0]
        if active:
            current[changed[0]] = second[e]
        _store(current, nodes, gone, rows, 0, node_ptr[e])
        for r in range(num_rounds):
            before[:] = colour
            active = refine(base, r, pair, active, scratch)
            following[:] = base_rows[r + 1]
            _assign_rows(
                r + 1, base_ptr, neighbours, pair, changed, active, colour, before,
                current, following, beside, counts, ptr, members, slots, colours,
            )  # fmt: skip
            _store(following, nodes, gone, rows, r + 1, node_ptr[e])
            current, following = following, current


@numba.njit(cache=True, nogil=True)
def _assign_rows(  # type: ignore[no-untyped-def]
    r, base_ptr, neighbours, pair, nodes, num_nodes, colour, before,
    current, following, beside, counts, ptr, members, slots, colours,
):  # fmt: skip
    """Find the rows of some nodes in round `r` by their colours; write the recipes of those not seen before.

    `before` and `current` are colours and rows of all nodes in the round before, `following` the rows in this one.
    """
    i, j, sign, gone = pair
    mask = np.uint64(slots.shape[1] - 1)
    for t in range(num_nodes):
        v = nodes[t]
        if v == gone:
            continue
        place = colour[v] & mask
        row = slots[r, place]
        while row >= 0 and colours[r, row] != colour[v]:
            place = (place + np.uint64(1)) & mask
            row = slots[r, place]
        if row >= 0:
            following[v] = row
            continue
        row = counts[r]
        counts[r] += 1
        slots[r, place], colours[r, row], following[v] = row, colour[v], row
        start = ptr[r, row]
        members[r, start] = current[v]
        start += 1
        count = 0
        partner = i + j - v if v in (i, j) else -1  # whom the edit ties to this node, or takes from it
        end = base_ptr[v + 1]
        for p in range(base_ptr[v], end + (sign > 0 and partner >= 0)):
            u = neighbours[p] if p < end else partner
            if sign < 0 and u == partner:
                continue
            to = count
            while to > 0 and beside[to - 1] > before[u]:  # keep the neighbours in the order of their colours
                beside[to], members[r, start + to] = beside[to - 1], members[r, start + to - 1]
                to -= 1
            beside[to], members[r, start + to] = before[u], current[u]
            count += 1
        ptr[r, row + 1] = start + count


@numba.njit(cache=True, nogil=True)
def _store(current, nodes, gone, rows, r, place):  # type: ignore[no-untyped-def]
    """Keep the rows of the nodes that are there."""
    for v in range(nodes):
        if v != gone:
            rows[r, place] = current[v]
            place += 1
