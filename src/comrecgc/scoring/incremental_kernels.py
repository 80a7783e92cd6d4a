"""Scores of changed graphs: only what a change can reach is computed again.

A network of three convolutions carries a change three steps far. The states of the graph as it was are kept; those of the nodes within
reach are computed afresh in place, pooled with the rest, and put back.

Many groups are tried at one place. What they have in common is computed once: a blank node, which sends nothing, takes the place, and
with its states kept instead a group reaches one step less far. The numbers are the same to the last bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

from comrecgc.scoring.change_kernels import (
    ALIVE,
    ATTACH,
    COUNTS,
    CUT,
    DEGREE,
    DETACH,
    FIRST,
    LABEL,
    LOADED,
    MARK,
    NODES,
    NUM_TOUCHED,
    SWAP,
    TOUCHED,
    Work,
    carry_out,
    hang_blank,
    is_familiar,
    load,
    make,
    num_components,
    overloaded,
    restore,
)

GCN, SAGE, GIN = range(3)

_WORTH_A_BLANK = 2  # groups after the first at a place from which a blank node pays


class Network(NamedTuple):
    """Weights in evaluation mode, batch norm folded in. `send` and `keep` of the first layer are tables by label."""

    kind: int
    send_first: Any  # float32 [L + 1, H]; the last label is that of a blank node, which sends nothing
    keep_first: Any  # float32 [L + 1, H]
    send: Any  # float32 [2, H, H], from inputs (columns) to outputs
    keep: Any  # float32 [2, H, H]
    own: float  # weight of a node's own state in GIN
    bias: Any  # float32 [3, H]
    second: Any  # float32 [3, H, H]: GIN's second matrix
    second_bias: Any  # float32 [3, H]
    head: Any  # float32 [H]: accept against reject
    head_bias: float


class States(NamedTuple):
    """What each node sends and keeps before layers two and three, and its last state, `[5, cap, H]`: now, as they are put back, and of the
    graph as loaded."""

    now: Any  # float32 [5, cap, H]
    base: Any  # float32 [5, cap, H]
    loaded: Any  # float32 [5, cap, H]
    scale: Any  # float32 [degrees]: 1 / sqrt(degree + 1)
    scratch: Any  # float32 [2, H]
    reach: Any  # int32 [3, cap]: nodes in reach, whether each node is among them, and nodes that a blank one reaches


def new_states(work: Work, network: Network) -> States:
    """Room for the states of any graph that the work holds."""
    cap, width = len(work.rows), len(network.head)
    degrees = np.arange((work.rows.shape[1] - FIRST) // 2 + 1)
    return States(
        np.zeros((5, cap, width), np.float32),
        np.zeros((5, cap, width), np.float32),
        np.zeros((5, cap, width), np.float32),
        (1 / np.sqrt(degrees + 1)).astype(np.float32),
        np.zeros((2, width), np.float32),
        np.zeros((3, cap), np.int32),
    )


@numba.njit(cache=True, nogil=True, fastmath=True)
def _update(rows, nodes, layer, network, now, scale, scratch):  # type: ignore[no-untyped-def]
    """States of nodes after a layer, into `now[4]`.

    All nodes in one call, as handing the arrays over costs more than the sums of a node. Elements are indexed one by one: views of rows cost more, too.
    """
    width = scratch.shape[1]
    for v in nodes:
        degree = rows[v, DEGREE]
        at_v, own = np.float32(1.0), np.float32(network.own)
        if network.kind == GCN:
            at_v = scale[degree]
            own = at_v * at_v
        elif network.kind == SAGE:
            at_v = np.float32(1.0) / np.float32(max(degree, 1))
        if layer == 0:
            label = rows[v, LABEL]
            for o in range(width):
                scratch[0, o] = network.bias[0, o] + own * network.keep_first[label, o]
        else:
            kept = layer + 1 if network.kind == SAGE else layer - 1
            for o in range(width):
                scratch[0, o] = network.bias[layer, o] + own * now[kept, v, o]
        for k in range(FIRST, FIRST + 2 * degree - 2, 4):  # two neighbours at a time
            u, t = rows[v, k], rows[v, k + 2]
            factor, other = at_v, at_v
            if network.kind == GCN:
                factor, other = at_v * scale[rows[u, DEGREE]], at_v * scale[rows[t, DEGREE]]
            if layer == 0:
                label, another = rows[u, LABEL], rows[t, LABEL]
                for o in range(width):
                    scratch[0, o] += factor * network.send_first[label, o] + other * network.send_first[another, o]
            else:
                for o in range(width):
                    scratch[0, o] += factor * now[layer - 1, u, o] + other * now[layer - 1, t, o]
        if degree % 2 == 1:
            u = rows[v, FIRST + 2 * degree - 2]
            factor = at_v * scale[rows[u, DEGREE]] if network.kind == GCN else at_v
            if layer == 0:
                label = rows[u, LABEL]
                for o in range(width):
                    scratch[0, o] += factor * network.send_first[label, o]
            else:
                for o in range(width):
                    scratch[0, o] += factor * now[layer - 1, u, o]
        if network.kind == GIN:
            for o in range(width):
                scratch[0, o] = max(scratch[0, o], np.float32(0))
            for o in range(width):
                total = network.second_bias[layer, o]
                for k in range(width):
                    total += scratch[0, k] * network.second[layer, o, k]
                now[4, v, o] = max(total, np.float32(0))
        else:
            for o in range(width):
                now[4, v, o] = max(scratch[0, o], np.float32(0))


@numba.njit(cache=True, nogil=True, fastmath=True)
def _send_on(nodes, layer, network, now):  # type: ignore[no-untyped-def]
    """What nodes send, and keep, into the layer after."""
    width = now.shape[2]
    for v in nodes:
        for o in range(width):
            total = np.float32(0)
            for k in range(width):
                total += now[4, v, k] * network.send[layer, o, k]
            now[layer, v, o] = total
        if network.kind == SAGE:
            for o in range(width):
                total = np.float32(0)
                for k in range(width):
                    total += now[4, v, k] * network.keep[layer, o, k]
                now[layer + 2, v, o] = total


@numba.njit(cache=True, nogil=True, fastmath=True)
def _margin(w, network, now, scratch):  # type: ignore[no-untyped-def]
    """Accept logit less reject logit of the graph as it stands."""
    width = now.shape[2]
    for o in range(width):
        scratch[1, o] = 0  # states are not negative
    for v in range(w.lists[COUNTS, NODES]):
        if w.rows[v, ALIVE]:
            for o in range(width):
                scratch[1, o] = max(scratch[1, o], now[4, v, o])
    total = np.float64(network.head_bias)
    for o in range(width):
        total += np.float64(scratch[1, o]) * np.float64(network.head[o])
    return total


@numba.njit(cache=True, nogil=True)
def _compute(w, network, states, first, second, third):  # type: ignore[no-untyped-def]
    """States after the layers of so many of the nodes in reach, and the margin of the graph."""
    for layer in range(3):
        nodes = states.reach[0, : first if layer == 0 else (second if layer == 1 else third)]
        _update(w.rows, nodes, layer, network, states.now, states.scale, states.scratch)
        if layer < 2:
            _send_on(nodes, layer, network, states.now)
    return _margin(w, network, states.now, states.scratch)


@numba.njit(cache=True, nogil=True)
def _find_reach(w, network, states, anchor, degree):  # type: ignore[no-untyped-def]
    """Nodes whose states the changes that the work holds reach: how many after the first, the second and the third layer.

    After the first layer a node's state differs if its own row does, or if a neighbour is new, has another label or, in a GCN, another
    degree; each further layer reaches one step more. The states to compare with are those of the graph as loaded, but for an `anchor`
    that has this `degree` in them.
    """
    rows, reach = w.rows, states.reach
    count, done = 0, 0
    for t in range(w.lists[COUNTS, NUM_TOUCHED]):
        v = w.lists[TOUCHED, t]
        if rows[v, ALIVE]:
            reach[0, count] = v
            reach[1, v] = 1
            count += 1
    sources = count
    for i in range(sources):
        v = reach[0, i]
        before = degree if v == anchor else w.base[v, DEGREE]
        if v >= w.lists[COUNTS, LOADED] or rows[v, MARK] == 2 or (network.kind == GCN and rows[v, DEGREE] != before):
            for k in range(FIRST, FIRST + 2 * rows[v, DEGREE], 2):
                u = rows[v, k]
                if reach[1, u] == 0:
                    reach[1, u] = 1
                    reach[0, count] = u
                    count += 1
    first = second = count
    for layer in range(2):
        stop = count
        while done < stop:
            v = reach[0, done]
            done += 1
            for k in range(FIRST, FIRST + 2 * rows[v, DEGREE], 2):
                u = rows[v, k]
                if reach[1, u] == 0:
                    reach[1, u] = 1
                    reach[0, count] = u
                    count += 1
        if layer == 0:
            second = count
    return first, second, count


@numba.njit(cache=True, nogil=True)
def _changed_margin(w, network, states, anchor, degree):  # type: ignore[no-untyped-def]
    """Margin of the graph with the changes that the work holds; states are as before afterwards."""
    reach, width = states.reach, states.now.shape[2]
    first, second, count = _find_reach(w, network, states, anchor, degree)
    margin = _compute(w, network, states, first, second, count)
    for i in range(count):
        v = reach[0, i]
        reach[1, v] = 0
        if v < w.lists[COUNTS, LOADED]:
            for part in range(5):
                if part == 4 or (i < first and part % 2 == 0) or (i < second and part % 2 == 1):
                    for o in range(width):
                        states.now[part, v, o] = states.base[part, v, o]
    return margin


@numba.njit(cache=True, nogil=True)
def _put_blank(w, network, states, kind, anchor, root, groups):  # type: ignore[no-untyped-def]
    """Let a blank node take the place of what hangs on an anchor by `root`, or the next place, and keep the states that this makes.

    Returns:
        How many nodes have other states, listed in the last row of `reach`, and the degree of the anchor.
    """
    if kind == SWAP:
        carry_out(w, DETACH, anchor, root, -1, groups, False)
    blank = hang_blank(w, anchor, len(network.send_first) - 1)
    degree = w.rows[anchor, DEGREE]
    states.now[:4, blank] = 0
    states.reach[1, blank] = 1  # it is never reached
    first, second, count = _find_reach(w, network, states, -1, 0)
    _compute(w, network, states, first, second, count)
    states.reach[1, blank] = 0
    for i in range(count):
        v = states.reach[0, i]
        states.reach[1, v] = 0
        states.reach[2, i] = v
        states.base[:, v] = states.now[:, v]
    restore(w)
    return count, degree


@numba.njit(cache=True, nogil=True)
def _take_blank_away(states, count):  # type: ignore[no-untyped-def]
    """The states of the graph as loaded are kept again."""
    for i in range(count):
        v = states.reach[2, i]
        states.base[:, v] = states.loaded[:, v]
        states.now[:, v] = states.loaded[:, v]


@numba.njit(cache=True, nogil=True)
def _is_same_place(changes, i, j):  # type: ignore[no-untyped-def]
    """Whether two rows are one change each, of groups at the same place."""
    if j >= len(changes) or changes.shape[1] > 1 or not (changes[i, 0, 0] == ATTACH or changes[i, 0, 0] == SWAP):
        return False
    for k in range(3):
        if changes[i, 0, k] != changes[j, 0, k]:
            return False
    return True


@numba.njit(cache=True, nogil=True)
def _judge(w, changes, components, heavy, limits, groups, hydrogens, valence):  # type: ignore[no-untyped-def]
    """Make changes together; whether that can be done and the result is on the rung, θ apart."""
    if not make(w, changes, groups, hydrogens):
        return False
    cuts = False
    for k in range(len(changes)):
        cuts = cuts or changes[k, 0] == CUT
    if limits.rung >= 1 and cuts and num_components(w) > components:
        return False
    if limits.rung < 2:
        return True
    if heavy > 0 and overloaded(w, hydrogens.orders, valence) > 0:
        return False
    return is_familiar(w, limits.familiar, hydrogens.orders, valence)


@numba.njit(cache=True, nogil=True)
def score_changes(labels, edges, bonds, w, changes, network, states, limits, groups, hydrogens, valence):  # type: ignore[no-untyped-def]
    """Margin of the graph after each row of changes `[V, k, 4]`; NaN where they cannot be made together or leave the rung."""
    load(w, labels, edges, bonds)
    components, heavy = num_components(w), overloaded(w, hydrogens.orders, valence)
    n = len(labels)
    for v in range(n):
        states.reach[0, v] = v
    _compute(w, network, states, n, n, n)
    states.base[:, :n] = states.now[:, :n]
    states.loaded[:, :n] = states.now[:, :n]
    margins = np.empty(len(changes), np.float64)
    anchor, degree, reached = -1, 0, 0  # of the blank node
    for i in range(len(changes)):
        if anchor >= 0 and not _is_same_place(changes, i, i - 1):
            _take_blank_away(states, reached)
            anchor = -1
        if anchor < 0 and _is_same_place(changes, i, i + _WORTH_A_BLANK):
            anchor = changes[i, 0, 1]
            reached, degree = _put_blank(w, network, states, changes[i, 0, 0], anchor, changes[i, 0, 2], groups)
        margins[i] = np.nan
        if _judge(w, changes[i], components, heavy, limits, groups, hydrogens, valence):
            margins[i] = _changed_margin(w, network, states, anchor, degree)
        restore(w)
    return margins


@numba.njit(cache=True, nogil=True)
def check_changes(labels, edges, bonds, w, changes, limits, groups, hydrogens, valence):  # type: ignore[no-untyped-def]
    """Which rows of changes `[V, k, 4]` can be made together and stay on the rung, `[V]`."""
    load(w, labels, edges, bonds)
    components, heavy = num_components(w), overloaded(w, hydrogens.orders, valence)
    fits = np.empty(len(changes), np.bool_)
    for i in range(len(changes)):
        fits[i] = _judge(w, changes[i], components, heavy, limits, groups, hydrogens, valence)
        restore(w)
    return fits


@numba.njit(cache=True, nogil=True)
def build_changed(labels, edges, bonds, w, changes, groups, hydrogens):  # type: ignore[no-untyped-def]
    """The graph after each row of changes, flat: labels, edges, bonds, where each graph's nodes and edges begin, and origins.

    Nodes keep their order, new ones come last; `origin` is the node that each was, -1 for new ones.
    """
    load(w, labels, edges, bonds)
    rows, counts = w.rows, w.lists[COUNTS]
    node_ptr, edge_ptr = np.zeros(len(changes) + 1, np.int64), np.zeros(len(changes) + 1, np.int64)
    new_labels, origin = np.empty(0, np.int32), np.empty(0, np.int32)
    new_edges, new_bonds = np.empty((0, 2), np.int64), np.empty(0, np.int32)
    rank = np.empty(len(rows), np.int64)
    for fill in range(2):  # first count, then write
        if fill:
            new_labels, origin = np.empty(node_ptr[-1], np.int32), np.empty(node_ptr[-1], np.int32)
            new_edges, new_bonds = np.empty((edge_ptr[-1], 2), np.int64), np.empty(edge_ptr[-1], np.int32)
        for i in range(len(changes)):
            make(w, changes[i], groups, hydrogens)
            node, edge = node_ptr[i], edge_ptr[i]
            for v in range(counts[NODES]):
                if rows[v, ALIVE]:
                    rank[v] = node
                    if fill:
                        new_labels[node] = rows[v, LABEL]
                        origin[node] = v if v < counts[LOADED] else -1
                    node += 1
            for v in range(counts[NODES]):
                if rows[v, ALIVE] == 0:
                    continue
                begin = edge
                for k in range(FIRST, FIRST + 2 * rows[v, DEGREE], 2):
                    u = rows[v, k]
                    if v < u:
                        if fill:
                            at = edge  # rows are short: keep them sorted as they are filled
                            while at > begin and new_edges[at - 1, 1] > rank[u]:
                                new_edges[at] = new_edges[at - 1]
                                new_bonds[at] = new_bonds[at - 1]
                                at -= 1
                            new_edges[at, 0], new_edges[at, 1] = rank[v], rank[u]
                            new_bonds[at] = rows[v, k + 1]
                        edge += 1
            node_ptr[i + 1], edge_ptr[i + 1] = node, edge
            restore(w)
    return new_labels, new_edges, new_bonds, node_ptr, edge_ptr, origin
