"""The embeddings of edited graphs by GREED, computed on their recipes."""

from __future__ import annotations

import numba
import numpy as np

from comrecgc.embedding.greed import Greed
from comrecgc.neighbourhood.lanes import (
    FloatArray,
    padded,
    padded_row,
    positive_product,
    positive_row_sum,
    row_sum,
)
from comrecgc.neighbourhood.recipes import Recipes
from comrecgc.neighbourhood.workspace import Workspace


class FastGreed:
    """A GREED network, its weights laid out for the kernels as they are now.

    The first linear map of a layer is applied to the states before they are gathered: the two commute, and there are
    fewer states than sums of them.

    Args:
        model: The network.
    """

    def __init__(self, model: Greed) -> None:
        self.num_rounds = model.num_layers
        self.output_width = model.output_width
        weights = {name: tensor.cpu().double().numpy() for name, tensor in model.state_dict().items()}
        layers = range(model.num_layers)
        states = weights["pre.weight"].T + weights["pre.bias"]  # [num_labels, width]
        self._inputs = padded(states, both=False)
        self._messages = padded(states @ weights["convs.0.nn.0.weight"].T, both=False)
        self._own = np.array([1 + weights[f"convs.{i}.eps"][0] for i in layers], dtype=np.float32)
        self._first, self._second = (
            np.stack([padded(weights[f"convs.{i}.nn.{place}.weight"].T) for i in layers]) for place in (0, 2)
        )
        self._first_bias, self._second_bias = (
            np.stack([padded_row(weights[f"convs.{i}.nn.{place}.bias"]) for i in layers]) for place in (0, 2)
        )
        blocks = weights["post.0.weight"].T.reshape(model.num_layers + 1, model.width, -1)
        spaced = np.zeros((len(blocks), self._inputs.shape[1], blocks.shape[2]))
        spaced[:, : model.width] = blocks
        self._hidden = padded(spaced.reshape(-1, blocks.shape[2]), both=False)
        self._hidden_bias = padded_row(weights["post.0.bias"])
        self._output = padded(weights["post.2.weight"].T)
        self._output_bias = padded_row(weights["post.2.bias"])

    def embed(self, recipes: Recipes, workspace: Workspace) -> FloatArray:
        """Embedding of every edited graph, `[E, output_width]`."""
        take, count, width = workspace.take, len(recipes), self._inputs.shape[1]
        most, rounds = int(recipes.counts.max(initial=1)), self.num_rounds + 1
        ones = np.ones(recipes.longest, dtype=np.float32)
        pooled = take("pooled", (count * rounds, width))
        _pool(
            *(recipes.node_ptr, recipes.rows, recipes.counts, recipes.ptr, recipes.members),
            *(self._inputs, self._messages, self._first, self._first_bias, self._second, self._second_bias, self._own),
            *(ones, ones.copy(), np.zeros((1, width), np.float32), np.zeros(most, np.int32)),
            *(take("origins", (most,), np.int32), (*(take(f"states {i}", (most, width)) for i in range(3)),)),
            *(take("sent", (most, width)), take("summed", (1, width)), pooled),
        )
        hidden, output = take("hidden", (count, self._hidden.shape[1])), take("output", (count, self._output.shape[1]))
        places, nothing = np.arange(rounds * width, dtype=np.int32), np.zeros((1, output.shape[1]), np.float32)
        weights = (self._hidden, self._hidden_bias, self._output, self._output_bias)
        _head(pooled, places, *weights, nothing, hidden, output)
        return output[:, : self.output_width].copy()


@numba.njit(cache=True, nogil=True)
def _pool(  # type: ignore[no-untyped-def]
    node_ptr, rows, counts, ptr, members,
    inputs, messages, first, first_bias, second, second_bias, own,
    ones, weights, nothing, zeros, origins, buffers, sent, summed, pooled,
):  # fmt: skip
    """Node states of every layer, summed over each graph: row `e * (R+1) + r` of `pooled`.

    States are kept as they are before the ReLU; whoever reads them takes what is positive.
    """
    num_rounds = len(first)
    for e in range(len(node_ptr) - 1):
        count = node_ptr[e + 1] - node_ptr[e]
        row_sum(rows[0], node_ptr[e], count, ones, inputs, nothing[0], pooled, e * (num_rounds + 1))
    kept, table = inputs, messages
    states, older, oldest = (buffers[0], buffers[1], buffers[2])
    for r in range(1, num_rounds + 1):
        weights[0] = own[r - 1]
        if r % 2 == 0:
            _trace(counts[r], ptr[r], members[r], ptr[r - 1], members[r - 1], origins)
            _layer(
                counts[r], ptr[r], members[r], weights, table, first_bias[r - 1], second[r - 1], second_bias[r - 1],
                kept, origins, summed, states,
            )  # fmt: skip
            kept = states
        else:
            _layer(
                counts[r], ptr[r], members[r], weights, table, first_bias[r - 1], second[r - 1], second_bias[r - 1],
                nothing, zeros, summed, states,
            )  # fmt: skip
        _sum_nodes(node_ptr, rows[r], ones, states, nothing[0], pooled, r, num_rounds + 1)
        if r < num_rounds:
            _send(counts[r], states, first[r], nothing, sent)
        table = sent
        states, older, oldest = oldest, states, older


@numba.njit(cache=True, nogil=True)
def _trace(count, ptr, members, ptr_before, members_before, origins):  # type: ignore[no-untyped-def]
    """The row of each node two rounds before."""
    for row in range(count):
        origins[row] = members_before[ptr_before[members[ptr[row]]]]


@numba.njit(cache=True, nogil=True)
def _layer(  # type: ignore[no-untyped-def]
    count, ptr, members, weights, table, first_bias, second, second_bias, kept, origins, summed, states,
):  # fmt: skip
    """States of one layer's rows, before the ReLU; row `origins[i]` of `kept` is added to row `i`."""
    for row in range(count):
        start = ptr[row]
        row_sum(members, start, ptr[row + 1] - start, weights, table, first_bias, summed, 0)
        positive_product(summed, 0, second, second_bias, kept, origins[row], states, row)


@numba.njit(cache=True, nogil=True)
def _send(count, states, first, nothing, sent):  # type: ignore[no-untyped-def]
    """What the states contribute to the sums of the next layer."""
    zeros = nothing[0]
    for row in range(count):
        positive_product(states, row, first, zeros, nothing, 0, sent, row)


@numba.njit(cache=True, nogil=True)
def _sum_nodes(node_ptr, rows, ones, states, zeros, pooled, first, step):  # type: ignore[no-untyped-def]
    """Sum of the states of each graph's nodes, into every `step`-th row of `pooled`."""
    for e in range(len(node_ptr) - 1):
        count = node_ptr[e + 1] - node_ptr[e]
        positive_row_sum(rows, node_ptr[e], count, ones, states, zeros, pooled, first + e * step)


@numba.njit(cache=True, nogil=True)
def _head(pooled, places, hidden, hidden_bias, output, output_bias, nothing, summed, out):  # type: ignore[no-untyped-def]
    """`output(relu(hidden(pooled)))`; the layers' shares of the hidden sum come one after the other."""
    count, width = len(out), pooled.shape[1]
    num_layers = len(pooled) // max(1, count)
    for e in range(count):
        for c in range(summed.shape[1]):
            summed[e, c] = hidden_bias[c]
    for r in range(num_layers):  # one layer's weights fit the innermost cache, all of them do not
        for e in range(count):
            row_sum(places, r * width, width, pooled[e * num_layers + r], hidden, summed[e], summed, e)
    for e in range(count):
        positive_product(summed, e, output, output_bias, nothing, 0, out, e)
