"""Incremental forward passes of message-passing networks: only node states within reach of a change are recomputed.

With `D` convolutions a change reaches `D` steps far. The states of the original graph are kept; those of nodes within reach are recomputed in place,
pooled with the rest, and restored.

Many groups are tried at one site. In a GCN, where messages depend on the sender's degree, their common part is computed once: a blank node that sends
nothing takes the site, and relative to its states a group reaches one step less far. The numbers are equal to the last bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

from comrecgc.graphs.graph_kernels import inner
from comrecgc.scoring import change_kernels as ck
from comrecgc.scoring.row_sums import add_product, add_rows

GCN, SAGE, GIN, GAT = range(4)

_fast = inner(fastmath=True)
_inlined = inner(inline="always")  # so many arrays as arguments make calls that compile slowly
_LEAKY_SLOPE = np.float32(0.2)  # of GAT's leaky ReLU, below zero

_WORTH_A_BLANK = 2  # groups after the first at a place from which a blank node pays
_NODES, _MARKS, _BLANK, _COUNTS = range(4)  # rows of `States.reach`


class Network(NamedTuple):
    """Weights of a network of `D` convolutions in evaluation mode, width `W`. Matrices are `[inputs, outputs]`.

    A classifier takes the largest last states of a graph to a margin, `head[0, :, 0]`. An embedder (`sums`) adds the state two layers before
    to every second one, sums the states of the labels and of every layer over the graph, and takes these sums (`head[: D + 1]`) through
    a perceptron (the rest of `head`).
    """

    kind: int
    sums: bool
    num_outputs: int
    tables: Any  # float32 [T, L + 1, W]: by label, what a node sends into the first layer, keeps (SAGE, GAT), and its state (`sums`)
    send: Any  # float32 [D - 1, W, W]
    keep: Any  # float32 [D - 1 or 0, W, W]: what a node adds to its own sum (SAGE), or its two attention scores (GAT)
    own: Any  # float32 [D]: weight of a node's own state in GIN
    bias: Any  # float32 [D, W]
    second: Any  # float32 [D or 0, W, W]: GIN's second map
    second_bias: Any  # float32 [D or 0, W]
    head: Any  # float32 [·, W, W]
    head_bias: Any  # float64 [·, W]


class States(NamedTuple):
    """States of the nodes, `[parts, cap, W]`: current ones, those to restore, and those of the loaded graph.

    Parts are, for each layer, what enters it (as in `Network.tables`), then states after the ReLU (of every layer with `sums`, else the
    last), then room for GIN's hidden layer.
    """

    now: Any  # float32 [parts, cap, W]
    base: Any  # float32 [parts, cap, W]
    loaded: Any  # float32 [parts, cap, W]
    scale: Any  # float32 [degrees]: 1 / sqrt(degree + 1)
    scratch: Any  # float32 [3, W]; the last row is zero
    factors: Any  # float32 [degrees + 1]: of what a node and its neighbours send
    places: Any  # int64 [degrees + 1]: addresses of what they send
    reach: Any  # int64 [4, cap]: nodes in reach, whether each node is, nodes that a blank one reaches, how many after each layer, and at first


def new_states(work: ck.Work, network: Network) -> States:
    """Room for the states of any graph that the work holds."""
    cap, (num_layers, width) = len(work.rows), network.bias.shape
    shape = (len(network.tables) * num_layers + (num_layers if network.sums else 1) + 1, cap, width)
    degrees = np.arange((work.rows.shape[1] - ck.FIRST) // 2 + 1)
    return States(
        np.empty(shape, np.float32),
        np.empty(shape, np.float32),
        np.empty(shape, np.float32),
        (1 / np.sqrt(degrees + 1)).astype(np.float32),
        np.zeros((3, width), np.float32),
        np.zeros(len(degrees) + 1, np.float32),
        np.zeros(len(degrees) + 1, np.int64),
        np.zeros((4, max(cap, num_layers + 1)), np.int64),
    )


@_fast
def _gather(rows, nodes, count, kind, own, bias, sent, kept, now, target, scale, factors, places):  # type: ignore[no-untyped-def]
    """Positive parts of the sums of nodes over what they and their neighbours send, into `now[target]`."""
    width, begin = now.shape[2], now.ctypes.data
    row, part = 4 * width, 4 * width * now.shape[1]  # bytes
    for i in range(count):
        v = nodes[i]
        degree = rows[v, ck.DEGREE]
        at_v, factors[0], places[0], highest = np.float32(1.0), own, begin + part * sent + row * v, np.float32(0.0)
        if kind == GCN:
            at_v = scale[degree]
            factors[0] = at_v * at_v
        elif kind == SAGE:
            at_v = np.float32(1.0) / np.float32(max(degree, 1))
            places[0] = begin + part * kept + row * v
        elif kind == GAT:  # softmax of the attention scores
            highest = _attention(now[kept, v, 0] + now[kept, v, 1])
            for k in range(ck.FIRST, ck.FIRST + 2 * degree, 2):
                highest = max(highest, _attention(now[kept, rows[v, k], 0] + now[kept, v, 1]))
            factors[0] = np.exp(_attention(now[kept, v, 0] + now[kept, v, 1]) - highest)
            total = factors[0]
            for k in range(ck.FIRST, ck.FIRST + 2 * degree, 2):
                total += np.exp(_attention(now[kept, rows[v, k], 0] + now[kept, v, 1]) - highest)
            at_v = np.float32(1.0) / total
            factors[0] *= at_v
        for k in range(1, degree + 1):
            u = rows[v, ck.FIRST + 2 * k - 2]
            places[k], factors[k] = begin + part * sent + row * u, at_v
            if kind == GCN:
                factors[k] *= scale[rows[u, ck.DEGREE]]
            elif kind == GAT:
                factors[k] *= np.exp(_attention(now[kept, u, 0] + now[kept, v, 1]) - highest)
        add_rows(
            begin + part * target + row * v,
            bias.ctypes.data,
            factors.ctypes.data,
            places.ctypes.data,
            degree + 1,
            width,
        )


@_fast
def _attention(score):  # type: ignore[no-untyped-def]
    return score if score > 0 else _LEAKY_SLOPE * score


@_fast
def _multiply(nodes, count, matrix, start, now, source, target):  # type: ignore[no-untyped-def]
    """Map states: `now[target]` of nodes is `start + now[source] @ matrix`."""
    width, begin = now.shape[2], now.ctypes.data
    row, part = 4 * width, 4 * width * now.shape[1]  # bytes
    for i in range(count):
        to, state = begin + part * target + row * nodes[i], begin + part * source + row * nodes[i]
        add_product(to, start.ctypes.data, state, matrix.ctypes.data, width)


@_fast
def _output(rows, num_nodes, network, now, scratch, out, row):  # type: ignore[no-untyped-def]
    """Output of the network for the current graph, into a row of `out`."""
    width, num_layers = now.shape[2], len(network.bias)
    first_state = num_layers * len(network.tables)
    if not network.sums:
        for o in range(width):
            scratch[1, o] = 0  # states are not negative
        for v in range(num_nodes):
            if rows[v, ck.ALIVE]:
                for o in range(width):
                    scratch[1, o] = max(scratch[1, o], now[first_state, v, o])
        margin = network.head_bias[0, 0]
        for o in range(width):
            margin += np.float64(scratch[1, o]) * np.float64(network.head[0, o, 0])
        out[row, 0] = margin
        return
    for o in range(width):
        scratch[1, o] = np.float32(network.head_bias[0, o])
    for m in range(len(network.head)):
        for k in range(width):
            scratch[0, k] = 0
        if m <= num_layers:
            part = 1 if m == 0 else first_state + m - 1
            for v in range(num_nodes):
                if rows[v, ck.ALIVE]:
                    for k in range(width):
                        scratch[0, k] += now[part, v, k]
        else:
            for k in range(width):
                scratch[0, k] = max(scratch[1, k], np.float32(0))
                scratch[1, k] = np.float32(network.head_bias[m - num_layers, k])
        sums, total = scratch.ctypes.data, scratch.ctypes.data + 4 * width
        add_product(total, total, sums, network.head[m].ctypes.data, width)
    for o in range(out.shape[1]):
        out[row, o] = scratch[1, o]


@_fast
def _rectify(nodes, count, now, state, residual, kept):  # type: ignore[no-untyped-def]
    """Add the states two layers before, keep the sum for two layers after (parts of -1: none), and take positive parts."""
    width = now.shape[2]
    for i in range(count):
        v = nodes[i]
        if residual >= 0:
            for o in range(width):
                now[state, v, o] += now[residual, v, o]
        if kept >= 0:
            for o in range(width):
                now[kept, v, o] = now[state, v, o]
        for o in range(width):
            now[state, v, o] = max(now[state, v, o], np.float32(0))


@inner
def _compute(w, network, states, out, row):  # type: ignore[no-untyped-def]
    """States of the nodes in reach after each layer, and the output of the network, into a row of `out`."""
    now, nodes, zeros = states.now, states.reach[_NODES], states.scratch[2]
    num_layers, step, hidden = len(network.bias), len(network.tables), len(states.now) - 1
    for layer in range(num_layers):
        count = states.reach[_COUNTS, layer]
        state = num_layers * step + (layer if network.sums else 0)
        target = hidden if network.kind == GIN else state
        _gather(
            w.rows, nodes, count, network.kind, network.own[layer], network.bias[layer], layer * step,
            layer * step + step - 1, now, target, states.scale, states.factors, states.places,
        )  # fmt: skip
        if network.kind == GIN:
            _multiply(nodes, count, network.second[layer], network.second_bias[layer], now, hidden, state)
            adds = network.sums and layer % 2 == 1
            keeps = adds and layer + 1 < num_layers
            residual, kept = (layer - 1) * step + 1 if adds else -1, (layer + 1) * step + 1 if keeps else -1
            _rectify(nodes, count, now, state, residual, kept)
        if layer + 1 < num_layers:
            target = (layer + 1) * step
            _multiply(nodes, count, network.send[layer], zeros, now, state, target)
            if len(network.keep):
                _multiply(nodes, count, network.keep[layer], zeros, now, state, (layer + 1) * step + 1)
    _output(w.rows, w.lists[ck.COUNTS, ck.NODES], network, now, states.scratch, out, row)


@inner
def _enter(rows, v, tables, now):  # type: ignore[no-untyped-def]
    """Input of a node to the first layer, by its label."""
    for part in range(len(tables)):
        for o in range(tables.shape[2]):
            now[part, v, o] = tables[part, rows[v, ck.LABEL], o]


@inner
def _copy(source, target, nodes, count):  # type: ignore[no-untyped-def]
    """Copy all states of nodes but those of GIN's hidden layer."""
    for part in range(len(source) - 1):
        for i in range(count):
            for o in range(source.shape[2]):
                target[part, nodes[i], o] = source[part, nodes[i], o]


@_inlined
def _begin(w, network, states, out):  # type: ignore[no-untyped-def]
    """States of the loaded graph, which are kept; the output of the network goes into the first row of `out`."""
    n = w.lists[ck.COUNTS, ck.LOADED]
    for v in range(n):
        states.reach[_NODES, v] = v
        _enter(w.rows, v, network.tables, states.now)
    for layer in range(len(network.bias)):
        states.reach[_COUNTS, layer] = n
    _compute(w, network, states, out, 0)
    _copy(states.now, states.base, states.reach[_NODES], n)


@inner
def _find_reach(w, network, states, anchor, degree):  # type: ignore[no-untyped-def]
    """Find the nodes whose states the current changes reach, and their number after each layer; returns the total.

    After the first layer a node's state differs if its own row does, or if a neighbour is new, has another label or, in a GCN, another
    degree; each further layer reaches one step more. States are compared with those of the loaded graph, in which `anchor` counts with this `degree`.
    """
    rows, reach = w.rows, states.reach
    count, done = 0, 0
    for t in range(w.lists[ck.COUNTS, ck.NUM_TOUCHED]):
        v = w.lists[ck.TOUCHED, t]
        if rows[v, ck.ALIVE]:
            reach[_NODES, count] = v
            reach[_MARKS, v] = 1
            count += 1
            if v >= w.lists[ck.COUNTS, ck.LOADED] or rows[v, ck.MARK] == 2:
                _enter(rows, v, network.tables, states.now)
    stop = count
    reach[_COUNTS, len(network.bias)] = count
    for layer in range(len(network.bias)):
        for i in range(done, stop):
            v = reach[_NODES, i]
            if layer == 0 and v < w.lists[ck.COUNTS, ck.LOADED] and rows[v, ck.MARK] != 2:
                before = degree if v == anchor else w.base[v, ck.DEGREE]
                if network.kind != GCN or rows[v, ck.DEGREE] == before:
                    continue
            for k in range(ck.FIRST, ck.FIRST + 2 * rows[v, ck.DEGREE], 2):
                u = rows[v, k]
                if reach[_MARKS, u] == 0:
                    reach[_MARKS, u] = 1
                    reach[_NODES, count] = u
                    count += 1
        reach[_COUNTS, layer] = count
        done, stop = 0 if layer == 0 else stop, count
    return count


@_inlined
def _put_back(now, base, reach, loaded, num_layers, step):  # type: ignore[no-untyped-def]
    """Put back the states that `_compute` wrote, each part of the nodes that it reaches, and forget what is in reach."""
    for part in range(len(now) - 1):
        layer = part // step - 1  # whose output it is; -1 for what enters the first
        if layer >= num_layers - 1:
            layer = num_layers - (len(now) - 1 - part)
        count = reach[_COUNTS, layer if layer >= 0 else num_layers]
        for i in range(count):
            v = reach[_NODES, i]
            reach[_MARKS, v] = 0
            if v < loaded:
                for o in range(now.shape[2]):
                    now[part, v, o] = base[part, v, o]


@_inlined
def _score(w, network, states, anchor, degree, out, row):  # type: ignore[no-untyped-def]
    """Output of the network for the current graph; states are restored afterwards."""
    _find_reach(w, network, states, anchor, degree)
    _compute(w, network, states, out, row)
    _put_back(
        states.now, states.base, states.reach, w.lists[ck.COUNTS, ck.LOADED], len(network.bias), len(network.tables)
    )


@_inlined
def _put_blank(w, network, states, kind, anchor, root, groups, out):  # type: ignore[no-untyped-def]
    """Replace the group that hangs on an anchor by `root` with a blank node, or add one, and keep the resulting states.

    Returns:
        How many nodes have other states, listed in `reach`, and the degree of the anchor.
    """
    if kind == ck.SWAP:
        ck.carry_out(w, ck.DETACH, anchor, root, -1, groups, False)
    blank = ck.hang_blank(w, anchor, network.tables.shape[1] - 1)
    degree = w.rows[anchor, ck.DEGREE]
    for part in range(len(network.tables) * len(network.bias)):
        for o in range(states.now.shape[2]):
            states.now[part, blank, o] = 0
    states.reach[_MARKS, blank] = 1  # it is never reached
    count = _find_reach(w, network, states, -1, 0)
    _compute(w, network, states, out, 0)
    states.reach[_MARKS, blank] = 0
    for i in range(count):
        v = states.reach[_NODES, i]
        states.reach[_MARKS, v] = 0
        states.reach[_BLANK, i] = v
    _copy(states.base, states.loaded, states.reach[_BLANK], count)
    _copy(states.now, states.base, states.reach[_BLANK], count)
    ck.restore(w)
    return count, degree


@inner
def _is_same_place(changes, i, j):  # type: ignore[no-untyped-def]
    """Whether both rows are single changes of groups at the same site."""
    if j >= len(changes) or changes.shape[1] > 1 or not (changes[i, 0, 0] == ck.ATTACH or changes[i, 0, 0] == ck.SWAP):
        return False
    for k in range(3):
        if changes[i, 0, k] != changes[j, 0, k]:
            return False
    return True


@_inlined
def _judge(w, changes, row, components, heavy, limits, groups, hydrogens, valence):  # type: ignore[no-untyped-def]
    """Make a row of changes together; returns whether that is possible and the result is on the rung, θ aside."""
    if not ck.make(w, changes, row, groups, hydrogens):
        return False
    cuts = False
    for k in range(changes.shape[1]):
        cuts = cuts or changes[row, k, 0] == ck.CUT
    if limits.rung >= 1 and cuts and ck.num_components(w) > components:
        return False
    if limits.rung < 2:
        return True
    if heavy > 0 and ck.overloaded(w, hydrogens.orders, valence) > 0:
        return False
    return ck.is_familiar(w, limits.familiar, hydrogens.orders, valence)


@numba.njit(cache=True, nogil=True)
def score_changes(labels, edges, bonds, w, changes, network, states, limits, groups, hydrogens, valence):  # type: ignore[no-untyped-def]
    """Margin of the graph after each row of changes `[V, k, 4]`; NaN where they cannot be made together or leave the rung."""
    ck.load(w, labels, edges, bonds)
    components, heavy = ck.num_components(w), ck.overloaded(w, hydrogens.orders, valence)
    out, margins = np.empty((1, 1), np.float64), np.empty((len(changes), 1), np.float64)
    _begin(w, network, states, out)
    anchor, degree, reached = np.int64(-1), 0, 0  # of the blank node
    for i in range(len(changes)):
        if anchor >= 0 and not _is_same_place(changes, i, i - 1):
            _copy(states.loaded, states.base, states.reach[_BLANK], reached)
            _copy(states.loaded, states.now, states.reach[_BLANK], reached)
            anchor = np.int64(-1)
        if network.kind == GCN and anchor < 0 and _is_same_place(changes, i, i + _WORTH_A_BLANK):
            anchor, kind, root = np.int64(changes[i, 0, 1]), changes[i, 0, 0], np.int64(changes[i, 0, 2])
            reached, degree = _put_blank(w, network, states, kind, anchor, root, groups, out)
        margins[i, 0] = np.nan
        if _judge(w, changes, i, components, heavy, limits, groups, hydrogens, valence):
            _score(w, network, states, anchor, degree, margins, i)
        ck.restore(w)
    return margins[:, 0]


@numba.njit(cache=True, nogil=True)
def score_edits(labels, edges, bonds, w, kind, first, second, network, states):  # type: ignore[no-untyped-def]
    """Outputs of the network for the graph after each edit (`graph_kernels`), `[N, num_outputs]`."""
    ck.load(w, labels, edges, bonds)
    out = np.empty((max(len(kind), 1), network.num_outputs), np.float64)
    _begin(w, network, states, out)
    for i in range(len(kind)):
        ck.edit(w, np.int64(kind[i]), np.int64(first[i]), np.int64(second[i]))
        _score(w, network, states, -1, 0, out, i)
        ck.restore(w)
    return out[: len(kind)]


@numba.njit(cache=True, nogil=True)
def check_changes(labels, edges, bonds, w, changes, limits, groups, hydrogens, valence):  # type: ignore[no-untyped-def]
    """Which rows of changes `[V, k, 4]` can be made together and stay on the rung, `[V]`."""
    ck.load(w, labels, edges, bonds)
    components, heavy = ck.num_components(w), ck.overloaded(w, hydrogens.orders, valence)
    fits = np.empty(len(changes), np.bool_)
    for i in range(len(changes)):
        fits[i] = _judge(w, changes, i, components, heavy, limits, groups, hydrogens, valence)
        ck.restore(w)
    return fits


@numba.njit(cache=True, nogil=True)
def build_changed(labels, edges, bonds, w, changes, groups, hydrogens):  # type: ignore[no-untyped-def]
    """The graph after each row of changes, flat: labels, edges, bonds, where each graph's nodes and edges begin, and origins.

    Nodes keep their order, new ones come last; `origin` is the node that each was, -1 for new ones.
    """
    ck.load(w, labels, edges, bonds)
    rows, counts = w.rows, w.lists[ck.COUNTS]
    node_ptr, edge_ptr = np.zeros(len(changes) + 1, np.int64), np.zeros(len(changes) + 1, np.int64)
    new_labels, origin = np.empty(0, np.int32), np.empty(0, np.int32)
    new_edges, new_bonds = np.empty((0, 2), np.int64), np.empty(0, np.int32)
    rank = np.empty(len(rows), np.int64)
    for fill in range(2):  # first count, then write
        if fill:
            new_labels, origin = np.empty(node_ptr[-1], np.int32), np.empty(node_ptr[-1], np.int32)
            new_edges, new_bonds = np.empty((edge_ptr[-1], 2), np.int64), np.empty(edge_ptr[-1], np.int32)
        for i in range(len(changes)):
            ck.make(w, changes, i, groups, hydrogens)
            node, edge = node_ptr[i], edge_ptr[i]
            for v in range(counts[ck.NODES]):
                if rows[v, ck.ALIVE]:
                    rank[v] = node
                    if fill:
                        new_labels[node] = rows[v, ck.LABEL]
                        origin[node] = v if v < counts[ck.LOADED] else -1
                    node += 1
            for v in range(counts[ck.NODES]):
                if rows[v, ck.ALIVE] == 0:
                    continue
                begin = edge
                for k in range(ck.FIRST, ck.FIRST + 2 * rows[v, ck.DEGREE], 2):
                    u = rows[v, k]
                    if v < u:
                        if fill:
                            at = edge  # rows are short: keep them sorted as they are filled
                            while at > begin and new_edges[at - 1, 1] > rank[u]:
                                new_edges[at, 0], new_edges[at, 1] = new_edges[at - 1, 0], new_edges[at - 1, 1]
                                new_bonds[at] = new_bonds[at - 1]
                                at -= 1
                            new_edges[at, 0], new_edges[at, 1] = rank[v], rank[u]
                            new_bonds[at] = rows[v, k + 1]
                        edge += 1
            node_ptr[i + 1], edge_ptr[i + 1] = node, edge
            ck.restore(w)
    return new_labels, new_edges, new_bonds, node_ptr, edge_ptr, origin
