"""Probabilities of edited graphs by the package's own classifiers, computed on distinct states.

The four convolutions differ in the weights of one sum: a row of a layer is a bias plus a weighted sum of what the rows it
is made of send. Weight matrices are applied before the sum, and batch norm is folded into them. GCN weighs a neighbour by
its degree, which a colour knows only after the first round, so its layers are one round behind.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from comrecgc.scoring.row_kernels import FloatArray, positive_product, row_max, row_sum

GCN, GAT, SAGE, GIN = range(4)
LEAKY_SLOPE = 0.2  # of GAT's leaky ReLU, below zero


class ClassifierWeights(NamedTuple):
    """A classifier laid out for the kernels; `W` is the padded width, `D` the number of layers.

    Args:
        kind: Which convolution.
        lag: Rounds its layers are behind.
        inputs: What each label sends in the first layer, `[num_labels, W]`.
        input_own: What each label adds to its own sum (SAGE), `[num_labels, W]`.
        input_scores: Attention scores of each label (GAT), `[num_labels, 2]`.
        own_weight: Weight of a node among those it gathers from (GIN), `[D]`.
        bias: What the sums of each layer start from, `[D, W]`.
        inner: From the positive part of a sum to the state (GIN), `[D, W, W]`.
        inner_bias: Its bias, `[D, W]`.
        sent: From the states of each layer to what the next one gathers, `[D-1, W, W]`.
        own: From the states of each layer to what they add to their own sums (SAGE), `[D-1, W, W]`.
        scores: From the states of each layer to attention scores (GAT), `[D-1, hidden, 2]`.
        margin: From the largest states to the margin of accept over reject, `[hidden]`.
        margin_bias: Its bias.
    """

    kind: int
    lag: int
    inputs: FloatArray
    input_own: FloatArray
    input_scores: FloatArray
    own_weight: FloatArray
    bias: FloatArray
    inner: FloatArray
    inner_bias: FloatArray
    sent: FloatArray
    own: FloatArray
    scores: FloatArray
    margin: npt.NDArray[np.float64]
    margin_bias: float

    @property
    def num_rounds(self) -> int:
        return len(self.bias) + self.lag


class ClassifierRoom(NamedTuple):
    """Where a classifier is computed.

    Args:
        states: State of every row before the ReLU, `[rows, W]`.
        sent: What every row sends, `[rows, W]`.
        own: What every row adds to its own sum, `[rows, W]`.
        scores: Attention scores of every row, `[rows, 2]`.
        summed: One sum, `[1, W]`.
        nothing: Zeros, `[1, W]`.
        weights: Weights of a recipe's members, `[n+2]`.
        places: Rows of an edited graph's nodes, `[n+2]`.
    """

    states: FloatArray
    sent: FloatArray
    own: FloatArray
    scores: FloatArray
    summed: FloatArray
    nothing: FloatArray
    weights: FloatArray
    places: npt.NDArray[np.int32]


@numba.njit(cache=True, nogil=True)
def classifier_begin(model, room, block):  # type: ignore[no-untyped-def]
    """What the labels send, and states of the graph before any edit, which is alone in the block."""
    num_labels = len(model.inputs)
    room.sent[:num_labels] = model.inputs
    room.own[:num_labels] = model.input_own
    room.scores[:num_labels] = model.input_scores
    classifier_rows(model, room, block)


@numba.njit(cache=True, nogil=True)
def classifier_rows(model, room, block):  # type: ignore[no-untyped-def]
    """States of the fresh rows of a block, and what they send."""
    num_layers, kind = len(model.bias), model.kind
    states, sent, own, scores, summed, nothing, weights, _ = room
    if model.lag:
        _scale_inputs(block.num_fresh[1], block.fresh[1], block.ptr[1], block.members[1], sent)
    for depth in range(num_layers):
        r = depth + 1 + model.lag
        count, fresh, ptr, members = block.num_fresh[r], block.fresh[r], block.ptr[r], block.members[r]
        _gather(
            kind, count, fresh, ptr, members, sent, own, scores, model.own_weight[depth], model.bias[depth],
            model.inner[depth], model.inner_bias[depth], summed, nothing, weights, states,
        )  # fmt: skip
        if depth + 1 < num_layers:
            maps = (model.sent[depth], model.own[depth], model.scores[depth])
            _send(kind, count, fresh, ptr, states, *maps, nothing, sent, own, scores)


@numba.njit(cache=True, nogil=True)
def classifier_probability(model, room, block, count, n, out, first):  # type: ignore[no-untyped-def]
    """Probability of accept of the block's edited graphs, into `out` from `first` on.

    The margin of accept over reject is a linear function of the largest states of each graph.
    """
    states, largest, last = room.states, room.summed[0], len(model.bias) + model.lag
    rows, margin_weights, places, weights, zeros = block.rows, model.margin, room.places, room.weights, room.nothing[0]
    for b in range(count):
        nodes = 0
        for v in range(n + 1):
            places[nodes] = rows[last, b, v]
            nodes += rows[last, b, v] >= 0
        # States are behind a ReLU, so none is below zero.
        row_max(places, 0, nodes, weights, states, zeros, room.summed, 0)
        margin = model.margin_bias
        for c in range(len(margin_weights)):
            margin += margin_weights[c] * largest[c]
        # The logistic function, from the side where the exponential is small.
        small = np.exp(-abs(margin))
        out[first + b] = (1 if margin >= 0 else small) / (1 + small)


@numba.njit(cache=True, nogil=True)
def _scale_inputs(count, fresh, ptr, members, sent):  # type: ignore[no-untyped-def]
    """What the rows of round 1 send in a GCN: that of their label, scaled by their degree."""
    for k in range(count):
        scale = np.float32(1 / np.sqrt(ptr[k + 1] - ptr[k]))
        for c in range(sent.shape[1]):
            sent[fresh[k], c] = sent[members[ptr[k]], c] * scale


@numba.njit(cache=True, nogil=True)
def _gather(  # type: ignore[no-untyped-def]
    kind, count, fresh, ptr, members, sent, own, scores, own_weight, bias,
    inner, inner_bias, summed, nothing, weights, states,
):  # fmt: skip
    """States of one layer's rows, before the ReLU."""
    for k in range(count):
        start, length, row = ptr[k], ptr[k + 1] - ptr[k], fresh[k]
        if kind == SAGE:
            _fill(weights, length - 1, np.float32(1 / max(length - 1, 1)))
            row_sum(members, start + 1, length - 1, weights, sent, bias, states, row)
            for c in range(states.shape[1]):
                states[row, c] += own[members[start], c]
        elif kind == GIN:
            _fill(weights, length, np.float32(1))
            weights[0] = own_weight
            row_sum(members, start, length, weights, sent, bias, summed, 0)
            positive_product(summed, 0, inner, inner_bias, nothing, 0, states, row)
        else:
            if kind == GCN:
                _fill(weights, length, np.float32(1 / np.sqrt(length)))
            else:
                _attend(members, start, length, scores, weights)
            row_sum(members, start, length, weights, sent, bias, states, row)


@numba.njit(inline="always")
def _fill(weights, count, value):  # type: ignore[no-untyped-def]
    for k in range(count):  # cheaper than a slice
        weights[k] = value


@numba.njit(cache=True, nogil=True)
def _attend(members, start, length, scores, alpha):  # type: ignore[no-untyped-def]
    """Softmax of the attention scores of a node's recipe, into `alpha`."""
    highest, total = np.float32(-np.inf), np.float32(0)
    for i in range(length):
        score = scores[members[start + i], 0] + scores[members[start], 1]
        alpha[i] = score if score > 0 else np.float32(LEAKY_SLOPE) * score
        highest = max(highest, alpha[i])
    for i in range(length):
        alpha[i] = np.exp(alpha[i] - highest)
        total += alpha[i]
    for i in range(length):
        alpha[i] /= total


@numba.njit(cache=True, nogil=True)
def _send(kind, count, fresh, ptr, states, sent_weights, own_weights, score_weights, nothing, sent, own, scores):  # type: ignore[no-untyped-def]
    """What the rows of one layer send to the next: the maps of their positive parts."""
    zeros = nothing[0]
    for k in range(count):
        row = fresh[k]
        positive_product(states, row, sent_weights, zeros, nothing, 0, sent, row)
        if kind == GCN:
            scale = np.float32(1 / np.sqrt(ptr[k + 1] - ptr[k]))
            for c in range(sent.shape[1]):
                sent[row, c] *= scale
        elif kind == SAGE:
            positive_product(states, row, own_weights, zeros, nothing, 0, own, row)
        elif kind == GAT:
            scores[row, 0], scores[row, 1] = 0, 0
            for c in range(len(score_weights)):
                if states[row, c] > 0:
                    scores[row, 0] += states[row, c] * score_weights[c, 0]
                    scores[row, 1] += states[row, c] * score_weights[c, 1]
