"""Weisfeiler-Leman colours of edited graphs, from those of the graph before the edit.

An edit changes colours only near its place: after round `r`, within `r` steps. So only the nodes that near are coloured
anew, and neither the edited graph nor the colours that stay the same are ever built. Colours are those of
`comrecgc.graphs.identity`.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from comrecgc.graphs import Graph, IntArray, KeyArray
from comrecgc.kernels import batches, edits, identity

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

    labels: IntArray
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


def base_colours(graph: Graph, num_rounds: int) -> BaseColours:
    """The colours of a graph after rounds `0 … num_rounds`."""
    return BaseColours(graph.labels, *_base(graph.labels, graph.edges, num_rounds))


@numba.njit(cache=True, nogil=True)
def _base(labels, edges, num_rounds):  # type: ignore[no-untyped-def]
    n = len(labels)
    grouped, starts = batches.group_neighbours(edges, n + 1)
    neighbours, ptr = grouped.astype(np.uint32), starts.astype(np.uint32)
    beside = np.full((n + 2, _BESIDE), n + 1, np.uint32)
    for v in range(n):
        for p in range(ptr[v], min(ptr[v + 1], ptr[v] + np.uint32(_BESIDE))):
            beside[v, p - ptr[v]] = neighbours[p]
    shape = (num_rounds + 1, n + 2)
    colour, message = np.zeros(shape, np.uint64), np.zeros(shape, np.uint64)
    colour[:, n + 1] = ~np.uint64(0)
    for v in range(n):
        colour[0, v] = identity.label_colour(labels[v])
    gathered = np.empty(n, np.uint64)
    for r in range(num_rounds + 1):
        if r > 0:
            colour[r, :n] = colour[r - 1, :n]
            identity.refine(colour[r, :n], edges, gathered)
        for v in range(n):
            message[r, v] = identity.message(colour[r, v])
    return ptr, neighbours, beside, colour, message


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
