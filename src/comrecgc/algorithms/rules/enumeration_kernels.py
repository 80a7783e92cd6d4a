"""Enumeration of every change of a graph that the rung allows, with the key of its rule, as flat arrays.

A rule is identified by a 64-bit key, computed by integer arithmetic from its labels, edge labels and group names, so it is the same in every process
and for every order of the nodes. Radius 0 covers the nodes that change and their anchor, radius 1 also the exact surroundings of the anchor.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

from comrecgc.graphs.graph_kernels import GOLDEN, chain, inner, mix, neighbour_term, node_hash, place_in
from comrecgc.scoring import change_kernels as ck

# What lies up to two steps around the nodes that a change speaks of, as a hash that does not depend on the order of nodes.


MOST_NODES = 48
"""Most nodes of surroundings; with more there is no rule at radius 2."""

_ROUNDS = 4
_ANCHOR, _ROOT = 1, 2  # roles of nodes


@inner
def surroundings(rows, first, second, is_pair):  # type: ignore[no-untyped-def]
    """Hash of the nodes within two steps of the anchors; 0 if there are too many."""
    # second: the other anchor of a pair, or the root of the group that hangs on the anchor `first`; -1 for neither.
    nodes, depth = np.empty(MOST_NODES, np.int64), np.empty(MOST_NODES, np.int64)
    colours, role = np.empty(MOST_NODES, np.uint64), np.zeros(MOST_NODES, np.int64)
    nodes[0], depth[0], role[0], size = first, 0, _ANCHOR, 1
    if is_pair:
        nodes[1], depth[1], role[1], size = second, 0, _ANCHOR, 2
    head = 0
    while head < size:
        v = nodes[head]
        if depth[head] < 2:
            for k in range(ck.FIRST, ck.FIRST + 2 * rows[v, ck.DEGREE], 2):
                u, known = rows[v, k], False
                for i in range(size):
                    known = known or nodes[i] == u
                if not known:
                    if size == MOST_NODES:
                        return np.uint64(0)
                    nodes[size], depth[size] = u, depth[head] + 1
                    size += 1
        head += 1
    # Edges of nodes less than two steps away, which are all known.
    ends, bonds, count = np.empty((MOST_NODES * 8, 2), np.int64), np.empty(MOST_NODES * 8, np.int64), 0
    for i in range(size):
        if not is_pair and nodes[i] == second:
            role[i] = _ROOT
        for j in range(i + 1, size):
            if depth[i] < 2:
                place = ck.place_of(rows, nodes[i], nodes[j])
                if place >= 0:
                    if count == len(bonds):
                        return np.uint64(0)
                    ends[count, 0], ends[count, 1], bonds[count] = i, j, rows[nodes[i], place + 1]
                    count += 1
    total = np.uint64(0)
    for marked in range(size):
        if depth[marked] == 1 or marked == 0:
            for i in range(size):
                colours[i] = chain(np.uint64(role[i] + 3 * (depth[i] < 2) + 1), rows[nodes[i], ck.LABEL])
            if depth[marked] == 1:
                colours[marked] = mix(colours[marked])
            total += _refined(colours, ends, bonds, size, count)
    return mix(total)


@inner
def _refined(colours, ends, bonds, size, count):  # type: ignore[no-untyped-def]
    """Hash of a graph with initial node colours."""
    sums = np.empty(MOST_NODES, np.uint64)
    for _ in range(_ROUNDS):
        for i in range(size):
            sums[i] = 0
        for e in range(count):
            i, j = ends[e, 0], ends[e, 1]
            sums[i] += chain(colours[j], bonds[e])
            sums[j] += chain(colours[i], bonds[e])
        for i in range(size):
            colours[i] = chain(colours[i], sums[i])
    total = np.uint64(0)
    for i in range(size):
        total += mix(colours[i] + GOLDEN)
    return mix(total)


@inner
def widened(key, around):  # type: ignore[no-untyped-def]
    """Key at radius 2 of a rule with a key at radius 1; 0 if there is none."""
    return np.uint64(0) if around == 0 else chain(key ^ GOLDEN, around)


@numba.njit(cache=True, nogil=True)
def widened_keys(labels, edges, bonds, w, changes, keys):  # type: ignore[no-untyped-def]
    """Keys at radius 2 of single changes of one graph, `[V]`."""
    # changes: [V, 4]; keys: those at radius 1, [V].
    ck.load(w, labels, edges, bonds)
    wide = np.empty(len(changes), np.uint64)
    around, before = np.uint64(0), -1
    for i in range(len(changes)):
        is_pair = changes[i, 0] >= ck.JOIN
        same = before >= 0 and (changes[before, 0] >= ck.JOIN) == is_pair
        if not (same and changes[before, 1] == changes[i, 1] and changes[before, 2] == changes[i, 2]):
            around = surroundings(w.rows, np.int64(changes[i, 1]), np.int64(changes[i, 2]), is_pair)
            before = i
        wide[i] = widened(keys[i], around)
    return wide


ANY, CONNECTED, PLAUSIBLE = range(3)

_AROUND, _SHARED = np.uint64(101), np.uint64(102)


class Limits(NamedTuple):
    """Limits of the enumeration."""

    rung: int
    theta: float
    num_labels: int
    num_edge_labels: int
    names: Any  # uint64 [G]: of the groups, increasing
    swap_cost: Any  # int64 [G, G]: elements that change when one group takes the place of another
    familiar: Any  # uint64: `hash_table` of the familiar surroundings
    ties: bool  # whether new nodes may be tied to two others


@inner
def _group_name(w, anchor, root, size):  # type: ignore[no-untyped-def]
    """Hash of the group whose nodes `side` left in the stack, the same for any node order: WL colours from the root."""
    rows, stack = w.rows, w.lists[ck.STACK]
    colours, fresh = np.empty(ck.MAX_GROUP, np.uint64), np.empty(ck.MAX_GROUP, np.uint64)
    for i in range(size):
        colours[i] = chain(np.uint64(2 if stack[i] == root else 1), rows[stack[i], ck.LABEL])
    for _ in range(size):
        for i in range(size):
            v, total = stack[i], np.uint64(0)
            for k in range(ck.FIRST, ck.FIRST + 2 * rows[v, ck.DEGREE], 2):
                for j in range(size):
                    if stack[j] == rows[v, k]:
                        total += chain(colours[j], rows[v, k + 1])
            fresh[i] = chain(colours[i], total)
        for i in range(size):
            colours[i] = fresh[i]
    total = np.uint64(0)
    for i in range(size):
        total += mix(colours[i] + GOLDEN)
    return chain(total, rows[root, ck.place_of(rows, root, anchor) + 1])


@numba.njit(cache=True, nogil=True)
def hanging_groups(labels, edges, bonds, node_ptr, edge_ptr, w):  # type: ignore[no-untyped-def]
    """Every group that hangs on one edge: its name, and graph, anchor, root and size."""
    names = np.empty(2 * len(edges), np.uint64)
    places = np.empty((2 * len(edges), 4), np.int64)
    count = 0
    for g in range(len(node_ptr) - 1):
        first, start, end = node_ptr[g], edge_ptr[g], edge_ptr[g + 1]
        ck.load(w, labels[first : node_ptr[g + 1]], edges[start:end] - first, bonds[start:end])
        for anchor in range(w.lists[ck.COUNTS, ck.LOADED]):
            for k in range(ck.FIRST, ck.FIRST + 2 * w.rows[anchor, ck.DEGREE], 2):
                root = w.rows[anchor, k]
                size = ck.side(w, anchor, root, ck.MAX_GROUP)
                if size > 0:
                    names[count] = _group_name(w, anchor, root, size)
                    places[count, 0], places[count, 1], places[count, 2], places[count, 3] = g, anchor, root, size
                    count += 1
    return names[:count], places[:count]


@numba.njit(cache=True, nogil=True)
def familiar_pairs(num_labels, num_edge_labels, known):  # type: ignore[no-untyped-def]
    """Groups of a root and a leaf, each familiar next to some anchor: label of the root, bond, label of the leaf and its bond."""
    found, count = np.empty((num_labels**2 * num_edge_labels**2, 4), np.int32), 0
    for root in range(num_labels):
        for leaf in range(num_labels):
            for tie in range(num_edge_labels):
                alone = node_hash(leaf, neighbour_term(tie, root))
                if place_in(known, alone) < 0:
                    continue
                for bond in range(num_edge_labels):
                    fits = False
                    for anchor in range(num_labels):
                        whole = node_hash(root, neighbour_term(tie, leaf) + neighbour_term(bond, anchor))
                        fits = fits or place_in(known, whole) >= 0
                    if fits:
                        found[count, 0], found[count, 1], found[count, 2], found[count, 3] = root, bond, leaf, tie
                        count += 1
    return found[:count]


@numba.njit(cache=True, nogil=True)
def name_groups(table, edges, w):  # type: ignore[no-untyped-def]
    """Names of groups given as `Groups` holds them."""
    names = np.empty(len(table), np.uint64)
    for g in range(len(table)):
        size, count = 0, 0
        while size < ck.MAX_GROUP and table[g, size] >= 0:
            size += 1
        while edges[g, count, 0] >= 0:
            count += 1
        labels, pairs, bonds = (
            np.zeros(size + 1, np.int64),
            np.zeros((count + 1, 2), np.int64),
            np.zeros(count + 1, np.int64),
        )
        for i in range(size):
            labels[i + 1] = table[g, i]  # the anchor comes first; its label does not matter
        pairs[0, 1], bonds[0] = 1, table[g, ck.BOND]
        for e in range(count):
            pairs[e + 1, 0], pairs[e + 1, 1], bonds[e + 1] = edges[g, e, 0] + 1, edges[g, e, 1] + 1, edges[g, e, 2]
        ck.load(w, labels, pairs, bonds)
        names[g] = _group_name(w, 0, 1, ck.side(w, 0, 1, ck.MAX_GROUP))
    return names


@inner
def _is_later_twin(rows, anchor, leaf):  # type: ignore[no-untyped-def]
    """Whether an equal leaf hangs on the anchor before this one, so that a change here repeats one there."""
    if rows[leaf, ck.DEGREE] == 1:
        for k in range(ck.FIRST, ck.FIRST + 2 * rows[anchor, ck.DEGREE], 2):
            u = rows[anchor, k]
            if u < leaf and rows[u, ck.DEGREE] == 1 and rows[u, ck.LABEL] == rows[leaf, ck.LABEL]:
                if rows[u, ck.FIRST + 1] == rows[leaf, ck.FIRST + 1]:
                    return True
    return False


@inner
def _own_hydrogens(rows, v, without, hydrogens):  # type: ignore[no-untyped-def]
    """Hydrogens at a node, one of its neighbours left out."""
    total = 0
    if hydrogens.label >= 0:
        for k in range(ck.FIRST, ck.FIRST + 2 * rows[v, ck.DEGREE], 2):
            u = rows[v, k]
            total += u != without and rows[u, ck.LABEL] == hydrogens.label and rows[u, ck.DEGREE] == 1
    return total


@inner
def _propose(w, limits, groups, hydrogens):  # type: ignore[no-untyped-def]
    """Every change of the loaded graph, on the rung or not: `[·, 6]`, a change, its cost without hydrogens, and the group or bond that it needs."""
    rows, n, follows = w.rows, w.lists[ck.COUNTS, ck.LOADED], hydrogens.label >= 0
    table = groups.table
    out, count = np.empty((1024, 6), np.int64), 0
    for v in range(n):
        if follows and rows[v, ck.LABEL] == hydrogens.label:
            continue
        for k in range(ck.FIRST - 2, ck.FIRST + 2 * rows[v, ck.DEGREE], 2):
            root, old = -1, -1
            if k >= ck.FIRST:
                root = rows[v, k]
                size = 0 if _is_later_twin(rows, v, root) else ck.side(w, v, root, ck.MAX_GROUP)
                if size == 0 or size == n:
                    continue
                name = _group_name(w, v, root, size)
                old = place_in(limits.names, name)
                if old < 0:
                    continue
            while count + limits.num_labels + len(table) + 1 > len(out):
                out = _wider(out)
            if root >= 0:
                for g in range(len(table)):
                    if table[g, ck.OFFERED] and g != old:
                        count = _put(out, count, ck.SWAP, v, root, g, limits.swap_cost[old, g], old)
                if not follows:
                    count = _put(out, count, ck.DETACH, v, root, -1, table[old, ck.SIZE], old)
                continue
            for label in range(limits.num_labels):
                if label != rows[v, ck.LABEL] and not (follows and label == hydrogens.label):
                    count = _put(out, count, ck.RELABEL, v, -1, label, 1, 0)
            if not follows:
                for g in range(len(table)):
                    if table[g, ck.OFFERED]:
                        count = _put(out, count, ck.ATTACH, v, -1, g, table[g, ck.SIZE], 0)
        for u in range(v + 1, n):
            if follows and rows[u, ck.LABEL] == hydrogens.label:
                continue
            while count + limits.num_edge_labels + 1 > len(out):
                out = _wider(out)
            place = ck.place_of(rows, v, u)
            if place < 0:
                for bond in range(limits.num_edge_labels):
                    count = _put(out, count, ck.JOIN, v, u, bond, 1, 0)
            else:
                bond = rows[v, place + 1]
                count = _put(out, count, ck.CUT, v, u, -1, 1, bond)
                for other in range(limits.num_edge_labels):
                    if other != bond:
                        count = _put(out, count, ck.REBOND, v, u, other, 1, bond)
            if limits.ties:
                while count + len(table) > len(out):
                    out = _wider(out)
                for g in range(len(table)):
                    if table[g, ck.OFFERED] and table[g, 1] < 0:
                        joined = 0 if place < 0 else rows[v, place + 1] + 1
                        count = _put(out, count, ck.TIE, v, u, g, table[g, ck.SIZE] + 1, joined)
    return out[:count]


@inner
def _wider(out):  # type: ignore[no-untyped-def]
    wider = np.empty((2 * len(out), out.shape[1]), out.dtype)
    for i in range(len(out)):
        for k in range(out.shape[1]):
            wider[i, k] = out[i, k]
    return wider


@inner
def _put(out, count, kind, first, second, value, cost, found):  # type: ignore[no-untyped-def]
    out[count, 0], out[count, 1], out[count, 2], out[count, 3] = kind, first, second, value
    out[count, 4], out[count, 5] = cost, found
    return count + 1


@inner
def _found_key(rows, kind, first, second, found, lost, lost_second, radius, names):  # type: ignore[no-untyped-def]
    """Key of the left-hand side of a change of the loaded graph: `found` is its group or bond, `lost` the hydrogens it takes."""
    if kind == ck.SWAP:
        kind = ck.DETACH
    one = chain(chain(np.uint64(kind + 1), rows[first, ck.LABEL]), lost)
    if radius > 0:
        one = chain(chain(one, _AROUND), ck.hash_of(rows, first))
    if kind in (ck.RELABEL, ck.ATTACH):
        return one
    if kind == ck.DETACH:
        return chain(one, names[found])
    other = chain(chain(np.uint64(kind + 1), rows[second, ck.LABEL]), lost_second)
    if radius > 0:
        other = chain(chain(other, _AROUND), ck.hash_of(rows, second))
    if radius > 0:  # neighbours of both, seen from either
        here, there = np.uint64(0), np.uint64(0)
        for k in range(ck.FIRST, ck.FIRST + 2 * rows[first, ck.DEGREE], 2):
            j = ck.place_of(rows, second, rows[first, k])
            if j >= 0:
                label = rows[rows[first, k], ck.LABEL]
                here += chain(chain(chain(_SHARED, rows[first, k + 1]), rows[second, j + 1]), label)
                there += chain(chain(chain(_SHARED, rows[second, j + 1]), rows[first, k + 1]), label)
        one, other = chain(one, here), chain(other, there)
    elif kind == ck.TIE:
        found = 0  # whether both are joined is part of their surroundings
    return chain(one + other, found)  # whichever comes first


@inner
def _rule_key(rows, key, kind, first, second, value, lost, gained, lost_second, gained_second, names):  # type: ignore[no-untyped-def]
    """Key of a rule, from the keys of its left- and right-hand sides."""
    made = names[value] if kind in (ck.ATTACH, ck.SWAP, ck.TIE) else np.uint64(value + 1)
    key = chain(chain(key, np.uint64(kind)), made)
    if kind < ck.JOIN:
        return chain(key, gained)
    one = chain(chain(chain(np.uint64(1), rows[first, ck.LABEL]), lost), gained)
    other = chain(chain(chain(np.uint64(1), rows[second, ck.LABEL]), lost_second), gained_second)
    return chain(key, one + other)


@inner
def _narrow_key(rows, kind, first, second, value, found, names):  # type: ignore[no-untyped-def]
    """Key at radius 0 of the rule of a change without hydrogens that follow."""
    key = _found_key(rows, kind, first, second, found, 0, 0, 0, names)
    return _rule_key(rows, key, kind, first, second, value, 0, 0, 0, 0, names)


class Wanted(NamedTuple):
    """Rules to which the enumeration is restricted, as `hash_table`s of their keys; empty tables mean every change."""

    narrow: Any  # at radius 0, of all wanted rules of any radius
    general: Any  # at radius 0
    exact: Any  # at radius 1


EVERYTHING = Wanted(np.zeros(0, np.uint64), np.zeros(0, np.uint64), np.zeros(0, np.uint64))


@numba.njit(cache=True, nogil=True)
def enumerate_changes(labels, edges, bonds, w, limits, groups, hydrogens, valence, wanted):  # type: ignore[no-untyped-def]
    """The changes of one graph within θ and on the rung, of all rules or of wanted ones.

    Returns:
        changes `[V, 4]`, cost and added size of each `[V, 2]`, the keys of their rules at radius 0 and 1 `[V, 2]` and of their left-hand sides `[V, 2]`.
    """
    ck.load(w, labels, edges, bonds)
    rows, table = w.rows, groups.table
    size = len(labels) + len(edges)
    components, heavy = ck.num_components(w), ck.overloaded(w, hydrogens.orders, valence)
    proposed = _propose(w, limits, groups, hydrogens)
    chosen = len(wanted.narrow) > 0
    all_known = chosen and hydrogens.label < 0  # a key says which hydrogens follow, which is not known before
    count = 0
    changes = np.empty((len(proposed), 4), np.int32)
    costs, keys = np.empty((len(proposed), 2), np.int32), np.empty((len(proposed), 4), np.uint64)
    for i in range(len(proposed)):
        kind, first, second, value = proposed[i, 0], proposed[i, 1], proposed[i, 2], proposed[i, 3]
        cost, found = proposed[i, 4], proposed[i, 5]
        if cost > limits.theta * (2 * size + cost):  # too far even if nothing but additions
            continue
        if all_known and not ck.contains(
            wanted.narrow, _narrow_key(rows, kind, first, second, value, found, limits.names)
        ):
            continue
        ok = ck.carry_out(w, kind, first, second, value, groups, False) and ck.follow(w, hydrogens)
        gained = rows[first, ck.HYDROGENS]
        gained_second = rows[second, ck.HYDROGENS] if kind >= ck.JOIN else 0
        grown = 0
        if ok:
            cost += 2 * abs(gained) + 2 * abs(gained_second)
            grown = 2 * gained + 2 * gained_second
            if kind in (ck.ATTACH, ck.SWAP, ck.TIE):
                grown += table[value, ck.SIZE]
            if kind in (ck.DETACH, ck.SWAP):
                grown -= table[found, ck.SIZE]
            grown += 1 if kind in (ck.JOIN, ck.TIE) else (-1 if kind == ck.CUT else 0)
            ok = cost <= limits.theta * (2 * size + grown)
        if ok and limits.rung >= PLAUSIBLE:
            ok = ck.is_familiar(w, limits.familiar, hydrogens.orders, valence)
            ok = ok and (heavy == 0 or ck.overloaded(w, hydrogens.orders, valence) == 0)
        if ok and limits.rung >= CONNECTED and kind == ck.CUT:
            ok = ck.num_components(w) <= components
        ck.restore(w)
        if not ok:
            continue
        lost, lost_second = -min(gained, 0), -min(gained_second, 0)
        gained, gained_second = max(gained, 0), max(gained_second, 0)
        for radius in range(2):
            key = _found_key(rows, kind, first, second, found, lost, lost_second, radius, limits.names)
            keys[count, 2 + radius] = key
            keys[count, radius] = _rule_key(
                rows, key, kind, first, second, value, lost, gained, lost_second, gained_second, limits.names
            )
        if chosen and not (ck.contains(wanted.general, keys[count, 0]) or ck.contains(wanted.exact, keys[count, 1])):
            continue
        changes[count, 0], changes[count, 1], changes[count, 2], changes[count, 3] = kind, first, second, value
        costs[count, 0], costs[count, 1] = cost, grown
        count += 1
    return changes[:count], costs[:count], keys[:count]


@numba.njit(cache=True, nogil=True)
def finds(labels, edges, bonds, w, limits, groups, hydrogens, wider):  # type: ignore[no-untyped-def]
    """Keys of all left-hand sides that a change could have in a graph, in any order, possibly repeated.

    At radius 2 only those that refine one of the keys `wider` (radius 1, increasing).
    """
    ck.load(w, labels, edges, bonds)
    rows, follows = w.rows, hydrogens.label >= 0
    proposed = _propose(w, limits, groups, hydrogens)
    keys, count = np.empty(1024, np.uint64), 0
    kind_before, first_before, second_before = -1, -1, -1
    for i in range(len(proposed)):
        kind, first, second, value, found = (
            proposed[i, 0],
            proposed[i, 1],
            proposed[i, 2],
            proposed[i, 3],
            proposed[i, 5],
        )
        if kind == ck.SWAP:
            kind = ck.DETACH
        if (
            (kind < ck.JOIN or kind == ck.TIE)
            and kind == kind_before
            and first == first_before
            and second == second_before
        ):
            continue  # the same place, found once
        kind_before, first_before, second_before = kind, first, second
        least, most = 0, 0
        if follows and kind < ck.JOIN:
            most = _own_hydrogens(rows, first, second, hydrogens)
        elif follows and kind != ck.CUT:
            least = hydrogens.orders[value] // 2
            if kind == ck.REBOND:
                least = max((hydrogens.orders[value] - hydrogens.orders[found]) // 2, 0)
            most = least
            if min(_own_hydrogens(rows, first, -1, hydrogens), _own_hydrogens(rows, second, -1, hydrogens)) < least:
                continue
        for lost in range(least, most + 1):
            for radius in range(3):
                if count == len(keys):
                    more = np.empty(2 * count, np.uint64)
                    for k in range(count):
                        more[k] = keys[k]
                    keys = more
                key = _found_key(rows, kind, first, second, found, lost, lost, min(radius, 1), limits.names)
                if radius == 2:
                    if place_in(wider, key) < 0:
                        continue
                    key = widened(key, surroundings(rows, first, second, kind >= ck.JOIN))
                keys[count] = key
                count += 1
    return keys[:count]
