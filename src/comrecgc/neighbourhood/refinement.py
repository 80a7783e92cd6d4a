"""Weisfeiler-Leman colours of edited graphs, from those of the graph before the edit.

An edit changes colours only near its place: after round `r`, within `r` steps. The sum a node gathers from its
neighbours is a sum modulo 2^64, so for an edited graph it is the old sum plus the differences at the few neighbours that
changed. Neither the edited graph nor the colours that stay the same are ever built. Colours are those of
`comrecgc.graphs.identity`.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from comrecgc.graphs.edits import EditKind
from comrecgc.graphs.graph import Graph, IntArray
from comrecgc.graphs.identity import GOLDEN, ROUND, SELF, KeyArray, mix

_RELABEL, _ADD_NODE, _REMOVE_NODE, _ADD_EDGE, _REMOVE_EDGE = (int(kind) for kind in EditKind)


class BaseColours(NamedTuple):
    """A graph and its colours round by round; column `n` stands for the node an edit may add.

    Args:
        labels: Node labels, `[n]`.
        ptr: Where each node's neighbours begin, `[n+2]`; node `n` has none.
        neighbours: Neighbours of node 0, then of node 1, …, `[2m]`.
        colour: Colour of each node after each round, `[R+1, n+1]`.
        message: What each node adds to the sums of its neighbours, `[R+1, n+1]`.
        gathered: What each node gathers from its neighbours, `[R+1, n+1]`.
    """

    labels: IntArray
    ptr: IntArray
    neighbours: IntArray
    colour: KeyArray
    message: KeyArray
    gathered: KeyArray


class Scratch(NamedTuple):
    """Colours of one edited graph while it is refined; all arrays are `[n+1]`.

    Args:
        colour: Colour of each node after the current round.
        message: What each node adds to the sums of its neighbours.
        gathered: What each node gathers from its neighbours.
        active: The nodes whose colour differs from that before the edit come first here.
    """

    colour: KeyArray
    message: KeyArray
    gathered: KeyArray
    active: IntArray


def base_colours(graph: Graph, num_rounds: int) -> BaseColours:
    """The colours of a graph after rounds `0 … num_rounds`."""
    ends = np.concatenate([graph.edges, graph.edges[:, ::-1]])
    order = np.argsort(ends[:, 0], kind="stable")
    ptr = np.zeros(graph.num_nodes + 2, dtype=np.int32)
    ptr[1:-1] = np.cumsum(np.bincount(ends[:, 0], minlength=graph.num_nodes))
    ptr[-1] = ptr[-2]
    neighbours = ends[order, 1].astype(np.int32)
    return BaseColours(graph.labels, ptr, neighbours, *_refine_base(graph.labels, ptr, neighbours, num_rounds))


@numba.njit(cache=True, nogil=True)
def _refine_base(labels, ptr, neighbours, num_rounds):  # type: ignore[no-untyped-def]
    n = len(labels)
    shape = (num_rounds + 1, n + 1)
    colour, message, gathered = np.zeros(shape, np.uint64), np.zeros(shape, np.uint64), np.zeros(shape, np.uint64)
    for v in range(n):  # the absent node n has colour 0, and mixing keeps it
        colour[0, v] = label_colour(labels[v])
    for r in range(num_rounds + 1):
        for v in range(n + 1):
            message[r, v] = mix(colour[r, v] ^ ROUND)
        for v in range(n + 1):
            for p in range(ptr[v], ptr[v + 1]):
                gathered[r, v] += message[r, neighbours[p]]
            if r < num_rounds:
                colour[r + 1, v] = mix(colour[r, v] * SELF + gathered[r, v])
    return colour, message, gathered


@numba.njit(inline="always")
def label_colour(label):  # type: ignore[no-untyped-def]
    """Colour of a node before the first round."""
    return mix(np.uint64(label + 1) * GOLDEN)


@numba.njit(cache=True, nogil=True)
def make_scratch(n):  # type: ignore[no-untyped-def]
    """Scratch for the edits of a graph of `n` nodes."""
    size = n + 1
    return Scratch(
        np.zeros(size, np.uint64), np.zeros(size, np.uint64), np.zeros(size, np.uint64), np.zeros(size, np.int32)
    )


@numba.njit(cache=True, nogil=True)
def edited_pair(base, kind, first, second):  # type: ignore[no-untyped-def]
    """The edge `i, j` that comes (+1) or goes (-1) with an edit, and the node that goes; -1 where there is none."""
    n = len(base.labels)
    if kind == _ADD_NODE:
        return first, n, 1, -1
    if kind == _ADD_EDGE:
        return first, second, 1, -1
    if kind == _REMOVE_EDGE:
        return first, second, -1, -1
    if kind == _REMOVE_NODE:
        tied = base.neighbours[base.ptr[first]] if base.ptr[first] < base.ptr[first + 1] else -1
        return (first, tied, -1, first) if tied >= 0 else (-1, -1, 0, first)
    return -1, -1, 0, -1


@numba.njit(cache=True, nogil=True)
def begin(base, kind, first, second, scratch):  # type: ignore[no-untyped-def]
    """Colours of the edited graph before the first round; the number of active nodes."""
    n = len(base.labels)
    for v in range(n + 1):
        scratch.colour[v], scratch.message[v] = base.colour[0, v], base.message[0, v]
    if kind != _RELABEL and kind != _ADD_NODE:
        return 0
    v = n if kind == _ADD_NODE else first
    scratch.colour[v] = label_colour(second)
    scratch.message[v] = mix(scratch.colour[v] ^ ROUND)
    scratch.active[0] = v
    return 1


@numba.njit(cache=True, nogil=True)
def refine(base, r, pair, count, scratch):  # type: ignore[no-untyped-def]
    """From round `r` to round `r + 1`; the number of active nodes, which only grows.

    An edge that goes is first treated as if it stayed, then its messages are taken back. A node that goes keeps some
    colour, which reaches no other node.
    """
    i, j, sign, _ = pair
    # Arrays are taken out of their records once: reaching into a record counts references each time.
    _, ptr, neighbours, base_colour, base_message, base_gathered = base
    colour, message, gathered, active = scratch
    for v in range(len(colour)):
        gathered[v] = base_gathered[r, v]
    for t in range(count):
        u = active[t]
        change = message[u] - base_message[r, u]
        for p in range(ptr[u], ptr[u + 1]):
            gathered[neighbours[p]] += change
    if i >= 0:
        factor = np.uint64(1) if sign > 0 else ~np.uint64(0)
        gathered[i] += factor * message[j]
        gathered[j] += factor * message[i]
    for v in range(len(colour)):
        colour[v] = mix(colour[v] * SELF + gathered[v])
        message[v] = mix(colour[v] ^ ROUND)
    count = 0
    for v in range(len(colour)):
        active[count] = v  # overwritten by the next unless this one differs
        count += colour[v] != base_colour[r + 1, v]
    return count
