"""Changes of small graphs, made and undone in place: the common basis of mining, scoring and building changed graphs.

A graph under change is a `Work`: one row of integers per node, with room for more neighbours and more nodes. `load` fills it, `carry_out`
makes one change, `restore` puts back the rows that changes touched, so that a change costs what it touches and not the size of the graph.

A change is four numbers:

| kind    | first  | second              | value                      |
|---------|--------|---------------------|----------------------------|
| RELABEL | node   | -1                  | its new label              |
| ATTACH  | anchor | -1                  | group                      |
| DETACH  | anchor | root of its group   | -1                         |
| SWAP    | anchor | root of its group   | group that takes its place |
| JOIN    | node   | node                | label of the new edge      |
| CUT     | node   | node                | -1                         |
| REBOND  | node   | node                | new label of their edge    |
| TIE     | anchor | anchor              | group of one node, tied to both by its bond |
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

from comrecgc.graphs import graph_kernels
from comrecgc.graphs.graph_kernels import inner, neighbour_term, node_hash

NUM_KINDS = 8
RELABEL, ATTACH, DETACH, SWAP, JOIN, CUT, REBOND, TIE = range(NUM_KINDS)

MAX_GROUP = 8
"""Most nodes of a group."""
MOST_ADDED = 64
"""Most nodes that the changes of one graph may add."""
_ROOM = 8  # neighbours that a node may gain
_CHARGED = 8  # half bonds of a charged nitrogen
_AROMATIC = 3  # half bonds of an aromatic bond

# Columns of a row; then neighbours and the labels of the edges to them, in turn.
LABEL, DEGREE, ALIVE, MARK, USED, HYDROGENS, SEEN, FIRST = range(8)  # MARK: 1 touched, 2 relabelled as well
# Columns of a group, after the labels of its nodes (-1 where there are no more).
BOND, SIZE, OFFERED = MAX_GROUP, MAX_GROUP + 1, MAX_GROUP + 2
# Rows of `Work.lists`, and what the last of them counts.
TOUCHED, STACK, COUNTS = range(3)
NODES, NUM_TOUCHED, LOADED = range(3)  # nodes now, touched ones, nodes of the graph as loaded


class Work(NamedTuple):
    """A graph under change. Nodes `0 … n-1` are those of the graph, later ones are new."""

    rows: Any  # int64 [cap, FIRST + 2 * width]
    base: Any  # the same, as loaded
    lists: Any  # int64 [3, cap]


class Groups(NamedTuple):
    """Groups that changes attach; the first node of each is bound to the anchor."""

    table: Any  # int64 [G, MAX_GROUP + 3]: labels, bond to the anchor, nodes and edges with that bond, whether offered
    edges: Any  # int64 [G, most, 3]: ends within the group and label; -1 where there are no more


class Hydrogens(NamedTuple):
    """How hydrogens follow the changes of other atoms; `label` is -1 if they do not."""

    label: int
    bond: int
    orders: Any  # int64 [edge labels]: twice the bond order
    valences: Any  # int64 [labels, 3]: twice the usual valences, increasing; 0 where there are no more


class Bonds(NamedTuple):
    """Numbers of bonds that atoms may carry; empty tables for graphs that are no molecules."""

    right: Any  # int8 [labels, halves]: by twice the sum of bond orders; 2 is right beside a charged atom only
    charged: int  # label of the atom that is charged when it carries four bonds
    most: Any  # int64 [labels]: twice what rdkit accepts


def new_work(num_nodes: int, max_degree: int, added: int = MOST_ADDED) -> Work:
    """Room for any graph of at most that many nodes and neighbours, and for its changes."""
    cap, width = num_nodes + added, FIRST + 2 * (max_degree + _ROOM)
    return Work(np.zeros((cap, width), np.int64), np.zeros((cap, width), np.int64), np.zeros((3, cap), np.int64))


def fits(work: Work, num_nodes: int, max_degree: int) -> bool:
    """Whether the work has room for one node more than that many, and one neighbour more than that many each."""
    cap, width = work.rows.shape
    return bool(num_nodes < cap and FIRST + 2 * (max_degree + 1) <= width)


@inner
def load(w, labels, edges, bonds):  # type: ignore[no-untyped-def]
    """Load a graph into the work."""
    n, rows, counts = len(labels), w.rows, w.lists[COUNTS]
    counts[NODES], counts[LOADED], counts[NUM_TOUCHED] = n, n, 0
    for v in range(len(rows)):
        for k in range(FIRST):
            rows[v, k] = 0
        if v < n:
            rows[v, LABEL] = labels[v]
            rows[v, ALIVE] = 1
    for e in range(len(edges)):
        for turn in range(2):
            i, j = edges[e, turn], edges[e, 1 - turn]
            place = FIRST + 2 * rows[i, DEGREE]
            rows[i, place] = j
            rows[i, place + 1] = bonds[e]
            rows[i, DEGREE] += 1
    for v in range(n):
        for k in range(FIRST + 2 * rows[v, DEGREE]):
            w.base[v, k] = rows[v, k]
    for v in range(n, len(rows)):
        for k in range(FIRST):
            w.base[v, k] = 0


@inner
def restore(w):  # type: ignore[no-untyped-def]
    """Undo every change since `load`."""
    counts = w.lists[COUNTS]
    for t in range(counts[NUM_TOUCHED]):
        v = w.lists[TOUCHED, t]
        for k in range(FIRST + 2 * max(w.rows[v, DEGREE], w.base[v, DEGREE])):
            w.rows[v, k] = w.base[v, k]
    counts[NUM_TOUCHED] = 0
    counts[NODES] = counts[LOADED]


@inner
def _touch(w, v):  # type: ignore[no-untyped-def]
    if w.rows[v, MARK] == 0:
        w.rows[v, MARK] = 1
        counts = w.lists[COUNTS]
        w.lists[TOUCHED, counts[NUM_TOUCHED]] = v
        counts[NUM_TOUCHED] += 1


@inner
def place_of(rows, u, v):  # type: ignore[no-untyped-def]
    """Column of neighbour `v` in the row of `u`; -1 if it is none."""
    for k in range(FIRST, FIRST + 2 * rows[u, DEGREE], 2):
        if rows[u, k] == v:
            return k
    return -1


@inner
def _drop(w, u, v):  # type: ignore[no-untyped-def]
    """Take `v` out of the row of `u`."""
    _touch(w, u)
    rows = w.rows
    k = place_of(rows, u, v)
    rows[u, DEGREE] -= 1
    last = FIRST + 2 * rows[u, DEGREE]
    rows[u, k] = rows[u, last]
    rows[u, k + 1] = rows[u, last + 1]


@inner
def _tie(w, u, v, bond):  # type: ignore[no-untyped-def]
    """Add an edge; False if there is no room."""
    rows = w.rows
    for turn in range(2):
        i, j = (u, v) if turn == 0 else (v, u)
        _touch(w, i)
        place = FIRST + 2 * rows[i, DEGREE]
        if place >= rows.shape[1]:
            return False
        rows[i, place] = j
        rows[i, place + 1] = bond
        rows[i, DEGREE] += 1
    return True


@inner
def _add(w, label):  # type: ignore[no-untyped-def]
    """Add a node and mark it as taken; -1 if there is no room."""
    counts = w.lists[COUNTS]
    v = counts[NODES]
    if v >= len(w.rows):
        return -1
    counts[NODES] = v + 1
    w.rows[v, LABEL] = label
    w.rows[v, ALIVE] = 1
    w.rows[v, USED] = 1
    _touch(w, v)
    return v


@inner
def side(w, anchor, root, most):  # type: ignore[no-untyped-def]
    """Size of the group that hangs on `anchor` by the edge to `root`, whose nodes are left in the stack; 0 if it is too large or has other edges to the rest."""
    rows, stack = w.rows, w.lists[STACK]
    size, done = 1, 0
    stack[0] = root
    rows[root, SEEN] = 1
    fits = True
    while done < size and fits:
        v = stack[done]
        done += 1
        for k in range(FIRST, FIRST + 2 * rows[v, DEGREE], 2):
            u = rows[v, k]
            if u == anchor:
                fits = fits and v == root
            elif rows[u, SEEN] == 0:
                if size == most:
                    fits = False
                    break
                stack[size] = u
                rows[u, SEEN] = 1
                size += 1
    for k in range(size):
        rows[stack[k], SEEN] = 0
    return size if fits else 0


@inner
def carry_out(w, kind, first, second, value, groups, shared):  # type: ignore[no-untyped-def]
    """Make a change; False if a change before it has taken its nodes, or there is no room. `shared`: the anchor may be taken."""
    rows, stack = w.rows, w.lists[STACK]
    if (rows[first, USED] and not shared) or rows[first, ALIVE] == 0:
        return False
    if second >= 0 and (rows[second, USED] or rows[second, ALIVE] == 0):
        return False
    rows[first, USED] = 1
    _touch(w, first)
    if kind == RELABEL:
        rows[first, LABEL] = value
        rows[first, MARK] = 2
        return True
    if kind in (DETACH, SWAP):
        size = side(w, first, second, MAX_GROUP)
        for k in range(size):
            if rows[stack[k], USED]:
                return False
        for k in range(size):
            v = stack[k]
            _touch(w, v)
            rows[v, USED] = 1
            rows[v, ALIVE] = 0
        _drop(w, first, second)
        if size == 0 or kind == DETACH:
            return size > 0
    if kind in (ATTACH, SWAP):
        start = w.lists[COUNTS, NODES]
        for k in range(MAX_GROUP):
            if groups.table[value, k] >= 0 and _add(w, groups.table[value, k]) < 0:
                return False
        for e in range(groups.edges.shape[1]):
            i, j, bond = groups.edges[value, e, 0], groups.edges[value, e, 1], groups.edges[value, e, 2]
            if i < 0:
                i, j, bond = -1, 0, groups.table[value, BOND]  # last, the edge to the anchor
            if not _tie(w, first if i < 0 else start + i, start + j, bond):
                return False
            if i < 0:
                return True
        return False
    rows[second, USED] = 1
    _touch(w, second)
    if kind == TIE:
        new, bond = _add(w, groups.table[value, 0]), groups.table[value, BOND]
        return new >= 0 and _tie(w, first, new, bond) and _tie(w, second, new, bond)
    place = place_of(rows, first, second)
    if kind == JOIN:
        return place < 0 and _tie(w, first, second, value)
    if place < 0:
        return False
    if kind == CUT:
        _drop(w, first, second)
        _drop(w, second, first)
    else:
        rows[first, place + 1] = value
        rows[second, place_of(rows, second, first) + 1] = value
    return True


@inner
def edit(w, kind, first, second):  # type: ignore[no-untyped-def]
    """Make one edit (`graph_kernels`) of the loaded graph."""
    rows = w.rows
    if kind == graph_kernels.RELABEL:
        _touch(w, first)
        rows[first, LABEL], rows[first, MARK] = second, 2
    elif kind == graph_kernels.ADD_NODE:
        new = _add(w, second)
        if first >= 0:
            _tie(w, first, new, 0)
    elif kind == graph_kernels.ADD_EDGE:
        _tie(w, first, second, 0)
    else:
        other = second
        if kind == graph_kernels.REMOVE_NODE:
            _touch(w, first)
            rows[first, ALIVE] = 0
            other = rows[first, FIRST] if rows[first, DEGREE] else -1
        if other >= 0:
            _drop(w, first, other)
            _drop(w, other, first)


@inner
def hang_blank(w, anchor, label):  # type: ignore[no-untyped-def]
    """Attach a placeholder to a node, which counts for its degree but is not alive."""
    v = _add(w, label)
    _tie(w, anchor, v, 0)
    w.rows[v, ALIVE] = 0
    return v


@inner
def _order(rows, v, orders):  # type: ignore[no-untyped-def]
    """Twice the sum of the bond orders at a node."""
    total = 0
    for k in range(FIRST, FIRST + 2 * rows[v, DEGREE], 2):
        total += orders[rows[v, k + 1]]
    return total


@inner
def follow(w, hydrogens):  # type: ignore[no-untyped-def]
    """Let hydrogens follow: an atom keeps its bonds, a relabelled one takes its usual number. False if that is impossible."""
    if hydrogens.label < 0:
        return True
    rows = w.rows
    for t in range(w.lists[COUNTS, NUM_TOUCHED]):  # atoms touched meanwhile are hydrogens, which need nothing
        v = w.lists[TOUCHED, t]
        if v >= w.lists[COUNTS, LOADED] or rows[v, ALIVE] == 0 or rows[v, LABEL] == hydrogens.label:
            continue
        now = _order(rows, v, hydrogens.orders)
        wanted = _order(w.base, v, hydrogens.orders)
        if rows[v, MARK] == 2:
            heavy, wanted = now, -1
            for k in range(FIRST, FIRST + 2 * rows[v, DEGREE], 2):
                if rows[rows[v, k], LABEL] == hydrogens.label:
                    heavy -= hydrogens.orders[rows[v, k + 1]]
            for k in range(hydrogens.valences.shape[1]):
                if wanted < 0 and hydrogens.valences[rows[v, LABEL], k] >= max(heavy, 1):
                    wanted = hydrogens.valences[rows[v, LABEL], k]
        if wanted < 0 or (now - wanted) % 2 != 0 or not _change_hydrogens(w, v, (wanted - now) // 2, hydrogens):
            return False
    return True


@inner
def _change_hydrogens(w, v, gained, hydrogens):  # type: ignore[no-untyped-def]
    rows = w.rows
    rows[v, HYDROGENS] = gained
    for _ in range(gained):
        u = _add(w, hydrogens.label)
        if u < 0 or not _tie(w, v, u, hydrogens.bond):
            return False
    for _ in range(-gained):
        found = -1
        for k in range(FIRST, FIRST + 2 * rows[v, DEGREE], 2):
            u = rows[v, k]
            if (
                rows[u, LABEL] == hydrogens.label
                and not rows[u, USED]
                and rows[u, DEGREE] == 1
                and (found < 0 or u < found)
            ):
                found = u
        if found < 0:
            return False
        _drop(w, v, found)
        _drop(w, found, v)
        rows[found, ALIVE] = 0
        rows[found, USED] = 1
    return True


@inner
def make(w, changes, row, groups, hydrogens):  # type: ignore[no-untyped-def]
    """Make all changes of a row of `[V, k, 4]` together (kind -1: none); False if that is impossible.

    Two changes may share an anchor, but no other node. If hydrogens follow they may not share it, because the hydrogens depend on both changes.
    """
    for k in range(changes.shape[1]):
        kind, first = np.int64(changes[row, k, 0]), np.int64(changes[row, k, 1])
        second, value = np.int64(changes[row, k, 2]), np.int64(changes[row, k, 3])
        if kind < 0:
            continue
        shared = False
        for j in range(k):
            if changes[row, j, 1] == first and 0 <= changes[row, j, 0] < JOIN and kind < JOIN and hydrogens.label < 0:
                if kind == RELABEL and changes[row, j, 0] == RELABEL:
                    return False
                shared = True
        if not carry_out(w, kind, first, second, value, groups, shared):
            return False
    return follow(w, hydrogens)


@inner
def hash_of(rows, v):  # type: ignore[no-untyped-def]
    """Hash of the surroundings of a node (`graph_kernels`)."""
    total = np.uint64(0)
    for k in range(FIRST, FIRST + 2 * rows[v, DEGREE], 2):
        total += neighbour_term(rows[v, k + 1], rows[rows[v, k], LABEL])
    return node_hash(rows[v, LABEL], total)


@inner
def contains(table, value):  # type: ignore[no-untyped-def]
    """Whether a `hash_table` holds a value."""
    mask = np.uint64(len(table) - 1)
    place = value & mask
    while table[place] != np.uint64(0):
        if table[place] == value:
            return True
        place = (place + np.uint64(1)) & mask
    return False


@numba.njit(cache=True, nogil=True)
def hash_table(values):  # type: ignore[no-untyped-def]
    """An open-addressing table of values other than 0."""
    size = 16
    while size < 4 * len(values):
        size *= 2
    table = np.zeros(size, np.uint64)
    mask = np.uint64(size - 1)
    for value in values:
        place = value & mask
        while table[place] != np.uint64(0):
            place = (place + np.uint64(1)) & mask
        table[place] = value
    return table


@inner
def _is_aromatic(rows, v, orders):  # type: ignore[no-untyped-def]
    for k in range(FIRST, FIRST + 2 * rows[v, DEGREE], 2):
        if orders[rows[v, k + 1]] == _AROMATIC:
            return True
    return False


@inner
def _has_right_bonds(w, v, orders, bonds):  # type: ignore[no-untyped-def]
    rows = w.rows
    if _is_aromatic(rows, v, orders):  # left to rdkit
        return True
    right = bonds.right[rows[v, LABEL], min(_order(rows, v, orders), bonds.right.shape[1] - 1)]
    if right < 2:
        return right == 1
    for k in range(FIRST, FIRST + 2 * rows[v, DEGREE], 2):
        if rows[rows[v, k], LABEL] == bonds.charged and _order(rows, rows[v, k], orders) == _CHARGED:
            return True
    return False


@inner
def overloaded(w, orders, bonds):  # type: ignore[no-untyped-def]
    """Number of atoms with more bonds than their label allows."""
    count = 0
    if len(bonds.most):
        for v in range(w.lists[COUNTS, NODES]):
            if w.rows[v, ALIVE] and _order(w.rows, v, orders) > bonds.most[w.rows[v, LABEL]]:
                count += not _is_aromatic(w.rows, v, orders)
    return count


@inner
def is_familiar(w, familiar, orders, bonds):  # type: ignore[no-untyped-def]
    """Whether every node that is new or has other surroundings than before is familiar and has an allowed number of bonds."""
    rows = w.rows
    for t in range(w.lists[COUNTS, NUM_TOUCHED]):
        v = w.lists[TOUCHED, t]
        if rows[v, ALIVE] == 0:
            continue
        if not (
            contains(familiar, hash_of(rows, v)) and (len(bonds.most) == 0 or _has_right_bonds(w, v, orders, bonds))
        ):
            if v >= w.lists[COUNTS, LOADED] or hash_of(rows, v) != hash_of(w.base, v):
                return False  # it was not so before
        if rows[v, MARK] == 2:
            for k in range(FIRST, FIRST + 2 * rows[v, DEGREE], 2):
                u = rows[v, k]
                if rows[u, MARK] == 0 and hash_of(rows, u) != hash_of(w.base, u):
                    if not contains(familiar, hash_of(rows, u)):
                        return False
                    if len(bonds.most) > 0 and not _has_right_bonds(w, u, orders, bonds):
                        return False
    return True


@inner
def num_components(w):  # type: ignore[no-untyped-def]
    """Number of connected components of the current graph."""
    rows, stack, n = w.rows, w.lists[STACK], w.lists[COUNTS, NODES]
    components = 0
    for start in range(n):
        if rows[start, ALIVE] == 0 or rows[start, SEEN]:
            continue
        components += 1
        size, done = 1, 0
        stack[0] = start
        rows[start, SEEN] = 1
        while done < size:
            x = stack[done]
            done += 1
            for k in range(FIRST, FIRST + 2 * rows[x, DEGREE], 2):
                y = rows[x, k]
                if rows[y, SEEN] == 0:
                    stack[size] = y
                    rows[y, SEEN] = 1
                    size += 1
    for v in range(n):
        rows[v, SEEN] = 0
    return components
