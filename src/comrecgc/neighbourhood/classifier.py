"""The probabilities of edited graphs by the package's own classifiers, computed on their recipes.

The four convolutions differ in the weights of one sum: a row of a layer is a bias plus a weighted sum of what the rows
of its recipe send. Weight matrices are applied before the sum, and batch norm is folded into them. GCN weighs a
neighbour by its degree, which a colour tells only after the first round, so its layers are one round behind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numba
import numpy as np
import numpy.typing as npt
from torch.nn import BatchNorm1d

from comrecgc.classifiers.layers import LEAKY_SLOPE
from comrecgc.classifiers.model import GraphClassifier
from comrecgc.neighbourhood.lanes import FloatArray, padded, padded_row, padded_width, positive_product, row_sum
from comrecgc.neighbourhood.recipes import Recipes
from comrecgc.neighbourhood.workspace import Workspace

_Matrix = npt.NDArray[np.float64]

_GCN, _GAT, _SAGE, _GIN = range(4)
_KINDS = {"gcn": _GCN, "gat": _GAT, "sage": _SAGE, "gin": _GIN}


@dataclass(frozen=True, eq=False, kw_only=True)
class _Layer:
    """One convolution and its batch norm; what an architecture does not have is zero.

    Args:
        sent: From the state of a node to what its neighbours gather, `[in, hidden]`.
        bias: What every sum starts from, `[hidden]`.
        own: From the state of a node to what it adds to its own sum (SAGE), `[in, hidden]`.
        own_weight: Weight of a node among those it gathers from (GIN).
        inner: From the positive part of a sum to the state (GIN), `[hidden, hidden]`, and its bias, `[hidden]`.
        scores: From the state of a node to its attention scores as sender and receiver (GAT), `[in, 2]`.
    """

    sent: _Matrix
    bias: _Matrix
    own: _Matrix
    own_weight: float
    inner: tuple[_Matrix, _Matrix]
    scores: _Matrix


class FastClassifier:
    """A classifier of the package, its weights laid out for the kernels as they are now.

    Args:
        model: The classifier.
    """

    def __init__(self, model: GraphClassifier) -> None:
        self._kind = _KINDS[model.architecture]
        self._lag = int(self._kind == _GCN)
        self._width = padded_width(model.hidden)
        self.num_rounds = len(model.convs) + self._lag
        weights = {name: tensor.cpu().double().numpy() for name, tensor in model.state_dict().items()}
        layers = [
            _layer(self._kind, _under(f"convs.{i}.", weights), _under(f"bns.{i}.", weights), norm.eps)
            for i, norm in enumerate(module for module in model.bns if isinstance(module, BatchNorm1d))
        ]
        features = model.features.cpu().double().numpy()
        first = layers[0]
        self._inputs = [padded(features @ weights, both=False) for weights in (first.sent, first.own)]
        self._input_scores = (features @ first.scores).astype(np.float32)
        self._sums = [
            (np.float32(layer.own_weight), padded_row(layer.bias), padded(layer.inner[0]), padded_row(layer.inner[1]))
            for layer in layers
        ]
        self._messages = [
            (padded(layer.sent), padded(layer.own), layer.scores.astype(np.float32)) for layer in layers[1:]
        ]
        weight, bias = weights["fc.weight"], weights["fc.bias"]
        self._margin, self._margin_bias = weight[1] - weight[0], float(bias[1] - bias[0])

    def probability(self, recipes: Recipes, workspace: Workspace) -> FloatArray:
        """Probability of accept of every edited graph, `[E]`."""
        most = int(recipes.counts[: self.num_rounds + 1].max(initial=1))
        buffers = [workspace.take(f"classifier {i}", (most, self._width)) for i in range(3)]
        scores = workspace.take("scores", (most, 2))
        nothing, alpha = np.zeros((1, self._width), np.float32), np.empty(recipes.longest, np.float32)
        states = buffers[2]
        messages = (*self._inputs, self._input_scores)
        if self._lag:
            _scale_inputs(recipes.counts[1], recipes.ptr[1], recipes.members[1], self._inputs[0], buffers[0])
            messages = (buffers[0], buffers[1], scores)
        for depth, sums in enumerate(self._sums):
            r = depth + 1 + self._lag
            shape = (recipes.counts[r], recipes.ptr[r])
            _gather(self._kind, *shape, recipes.members[r], *messages, *sums, alpha, nothing, states)
            if depth < len(self._messages):
                messages = (buffers[0], buffers[1], scores)
                _send(self._kind, *shape, states, *self._messages[depth], nothing, *messages)
        margin = np.empty(len(recipes))
        largest = np.empty(self._width, np.float32)
        _pool(recipes.node_ptr, recipes.rows[r], states, largest, self._margin, self._margin_bias, margin)
        return np.exp(-np.logaddexp(0, -margin)).astype(np.float32)


def _layer(kind: int, conv: Mapping[str, _Matrix], norm: Mapping[str, _Matrix], eps: float) -> _Layer:
    """A convolution with its batch norm folded in, from their weights by name."""
    scale = norm["weight"] / np.sqrt(norm["running_var"] + eps)  # [hidden]
    shift = norm["bias"] - scale * norm["running_mean"]
    hidden = len(scale)
    inner = (np.zeros((hidden, hidden)), np.zeros(hidden))
    if kind == _GIN:
        sent, bias = conv["nn.0.weight"].T, conv["nn.0.bias"]
        inner = (conv["nn.2.weight"].T * scale, conv["nn.2.bias"] * scale + shift)
    elif kind == _SAGE:
        sent, bias = conv["lin_l.weight"].T * scale, conv["lin_l.bias"] * scale + shift
    else:
        sent, bias = conv["lin.weight"].T * scale, conv["bias"] * scale + shift
    own, scores = np.zeros_like(sent), np.zeros((len(sent), 2))
    if kind == _SAGE:
        own = conv["lin_r.weight"].T * scale
    if kind == _GAT:
        scores = conv["lin.weight"].T @ np.stack([conv["att_src"][0, 0], conv["att_dst"][0, 0]], axis=1)
    own_weight = 1 + float(conv["eps"][0]) if kind == _GIN else 1.0
    return _Layer(sent=sent, bias=bias, own=own, own_weight=own_weight, inner=inner, scores=scores)


def _under(prefix: str, weights: Mapping[str, _Matrix]) -> dict[str, _Matrix]:
    return {name.removeprefix(prefix): value for name, value in weights.items() if name.startswith(prefix)}


@numba.njit(cache=True, nogil=True)
def _scale_inputs(count, ptr, members, inputs, sent):  # type: ignore[no-untyped-def]
    """What the rows of round 1 send in a GCN: that of their label, scaled by their degree."""
    for row in range(count):
        scale = np.float32(1 / np.sqrt(ptr[row + 1] - ptr[row]))
        for c in range(sent.shape[1]):
            sent[row, c] = inputs[members[ptr[row]], c] * scale


@numba.njit(cache=True, nogil=True)
def _gather(  # type: ignore[no-untyped-def]
    kind, count, ptr, members, sent, own, scores, own_weight, bias, inner, inner_bias, alpha, nothing, states
):
    """States of one layer's rows, before the ReLU."""
    summed = np.empty_like(nothing)
    for row in range(count):
        start, length = ptr[row], ptr[row + 1] - ptr[row]
        if kind == _SAGE:
            alpha[: length - 1] = 1 / max(length - 1, 1)
            row_sum(members, start + 1, length - 1, alpha, sent, bias, states, row)
            for c in range(states.shape[1]):
                states[row, c] += own[members[start], c]
        elif kind == _GIN:
            alpha[:length] = 1
            alpha[0] = own_weight
            row_sum(members, start, length, alpha, sent, bias, summed, 0)
            positive_product(summed, 0, inner, inner_bias, nothing, 0, states, row)
        else:
            if kind == _GCN:
                alpha[:length] = 1 / np.sqrt(length)
            else:
                _attend(members, start, length, scores, alpha)
            row_sum(members, start, length, alpha, sent, bias, states, row)


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
def _send(kind, count, ptr, states, sent_weights, own_weights, score_weights, nothing, sent, own, scores):  # type: ignore[no-untyped-def]
    """What the rows of one layer send to the next: the maps of their positive parts."""
    zeros = nothing[0]
    for row in range(count):
        positive_product(states, row, sent_weights, zeros, nothing, 0, sent, row)
        if kind == _GCN:
            scale = np.float32(1 / np.sqrt(ptr[row + 1] - ptr[row]))
            for c in range(sent.shape[1]):
                sent[row, c] *= scale
        elif kind == _SAGE:
            positive_product(states, row, own_weights, zeros, nothing, 0, own, row)
        elif kind == _GAT:
            scores[row, 0], scores[row, 1] = 0, 0
            for c in range(len(score_weights)):
                if states[row, c] > 0:
                    scores[row, 0] += states[row, c] * score_weights[c, 0]
                    scores[row, 1] += states[row, c] * score_weights[c, 1]


@numba.njit(cache=True, nogil=True)
def _pool(node_ptr, rows, states, largest, margin_weights, margin_bias, margin):  # type: ignore[no-untyped-def]
    """Margin of accept over reject: a linear function of the largest states of each graph."""
    for e in range(len(margin)):
        for c in range(len(largest)):
            largest[c] = 0  # states are behind a ReLU
        for place in range(node_ptr[e], node_ptr[e + 1]):
            row = rows[place]
            for c in range(len(largest)):
                largest[c] = max(largest[c], states[row, c])
        total = margin_bias
        for c in range(len(margin_weights)):
            total += margin_weights[c] * largest[c]
        margin[e] = total
