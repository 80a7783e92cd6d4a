"""Embeddings of edited graphs by GREED, computed on distinct states."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from comrecgc.scoring.row_kernels import FloatArray, positive_product, positive_row_sum, row_sum


class GreedWeights(NamedTuple):
    """A GREED network laid out for the kernels; `W` and `H` are padded widths.

    Args:
        inputs: State of each label, `[num_labels, W]`.
        messages: What each label contributes to the sums of the first layer, `[num_labels, W]`.
        first: First map of each layer, applied to the states before they are gathered, `[R, W, W]`.
        first_bias: Its bias, `[R, W]`.
        second: Second map of each layer, `[R, W, W]`.
        second_bias: Its bias, `[R, W]`.
        own: Weight of a node among those it gathers from, `[R]`.
        label_hidden: What a node of each label contributes to the hidden layer of the head, `[num_labels, H]`.
        hidden: From the sums of each layer's states to the hidden layer, `[R, W, H]`.
        hidden_bias: Its bias, `[H]`.
        output: From the hidden layer to the embedding, `[H, ·]`, and its bias.
    """

    inputs: FloatArray
    messages: FloatArray
    first: FloatArray
    first_bias: FloatArray
    second: FloatArray
    second_bias: FloatArray
    own: FloatArray
    label_hidden: FloatArray
    hidden: FloatArray
    hidden_bias: FloatArray
    output: FloatArray
    output_bias: FloatArray


class GreedRoom(NamedTuple):
    """Where a GREED network is computed.

    Args:
        states: State of every row before the ReLU, `[rows, W]`.
        sent: What every row contributes to the sums of the next layer, `[rows, W]`.
        base_sums: Sums of the states of the graph before the edit after each round, `[R+1, W]`.
        base_hidden: What its labels contribute to the hidden layer, with the bias, `[1, H]`.
        pooled: Sums of the states of each edited graph of a block, `[B·R, W]`.
        hidden: Their hidden layer, `[B, H]`.
        summed: One sum, `[1, W]`.
        nothing: Zeros, `[1, ·]`.
        weights: Weights of a recipe's members, `[n+2]`.
        signs: Ones, and minus ones while a change is summed, `[2(n+2)]`.
        places: Rows to be summed, `[2(n+2)]`.
    """

    states: FloatArray
    sent: FloatArray
    base_sums: FloatArray
    base_hidden: FloatArray
    pooled: FloatArray
    hidden: FloatArray
    summed: FloatArray
    nothing: FloatArray
    weights: FloatArray
    signs: FloatArray
    places: npt.NDArray[np.int32]


@numba.njit(cache=True, nogil=True)
def greed_begin(model, room, block, n):  # type: ignore[no-untyped-def]
    """States of the labels, and of the graph before any edit, which is alone in the block."""
    num_labels = len(model.inputs)
    room.states[:num_labels] = model.inputs
    room.sent[:num_labels] = model.messages
    greed_rows(model, room, block)
    places, signs, zeros = room.places, room.signs, room.nothing[0]
    for r in range(len(model.first) + 1):
        for v in range(n):
            places[v] = block.rows[r, 0, v]
        if r == 0:
            row_sum(places, 0, n, signs, model.label_hidden, model.hidden_bias, room.base_hidden, 0)
        else:
            positive_row_sum(places, 0, n, signs, room.states, zeros, room.base_sums, r)


@numba.njit(cache=True, nogil=True)
def greed_rows(model, room, block):  # type: ignore[no-untyped-def]
    """States of the fresh rows of a block, and what they send.

    States are kept as they are before the ReLU; whoever reads them takes what is positive.
    """
    num_rounds = len(model.first)
    states, sent, summed, nothing, weights = room.states, room.sent, room.summed, room.nothing, room.weights
    for r in range(1, num_rounds + 1):
        weights[0] = model.own[r - 1]
        count, fresh, ptr = block.num_fresh[r], block.fresh[r], block.ptr[r]
        _layer(
            count, fresh, ptr, block.members[r], block.origins[r], r % 2 == 0, weights, model.first_bias[r - 1],
            model.second[r - 1], model.second_bias[r - 1], nothing, summed, sent, states,
        )  # fmt: skip
        if r < num_rounds:
            _send(count, fresh, states, model.first[r], nothing, sent)


@numba.njit(cache=True, nogil=True)
def greed_embed(model, room, block, base_rows, count, n, out, first):  # type: ignore[no-untyped-def]
    """The embeddings of the block's edited graphs, into the rows of `out` from `first` on."""
    num_rounds = len(model.first)
    rows, active, reach = block.rows, block.active, block.reach
    states, pooled, hidden, nothing = room.states, room.pooled, room.hidden, room.nothing
    places, signs, zeros = room.places, room.signs, nothing[0]
    base_hidden, base_sums = room.base_hidden[0], room.base_sums
    for b in range(count):
        added, removed = _change(rows, active, reach, base_rows, 0, b, places, signs)
        row_sum(places, 0, added + removed, signs, model.label_hidden, base_hidden, hidden, b)
        _reset(signs, added, removed)
    for r in range(1, num_rounds + 1):
        start = base_sums[r]
        for b in range(count):
            if 2 * reach[r, b] < n:
                added, removed = _change(rows, active, reach, base_rows, r, b, places, signs)
                positive_row_sum(places, 0, added + removed, signs, states, start, pooled, b * num_rounds + r - 1)
                _reset(signs, added, removed)
            else:
                added = 0
                for v in range(n + 1):
                    places[added] = rows[r, b, v]
                    added += rows[r, b, v] >= 0
                positive_row_sum(places, 0, added, signs, states, zeros, pooled, b * num_rounds + r - 1)
    for r in range(num_rounds):  # one layer's weights fit the innermost cache, all of them do not
        table = model.hidden[r]
        for b in range(count):
            positive_product(pooled, b * num_rounds + r, table, zeros, hidden, b, hidden, b)
    output, output_bias = model.output, model.output_bias
    for b in range(count):
        positive_product(hidden, b, output, output_bias, nothing, 0, out, first + b)


@numba.njit(cache=True, nogil=True)
def _layer(  # type: ignore[no-untyped-def]
    count, fresh, ptr, members, origins, keeps, weights, first_bias, second, second_bias, nothing, summed, sent, states,
):  # fmt: skip
    """States of one layer's rows; every second layer adds the state two rounds before."""
    for k in range(count):
        row_sum(members, ptr[k], ptr[k + 1] - ptr[k], weights, sent, first_bias, summed, 0)
        if keeps:
            positive_product(summed, 0, second, second_bias, states, origins[k], states, fresh[k])
        else:
            positive_product(summed, 0, second, second_bias, nothing, 0, states, fresh[k])


@numba.njit(cache=True, nogil=True)
def _send(count, fresh, states, first, nothing, sent):  # type: ignore[no-untyped-def]
    """What the states contribute to the sums of the next layer."""
    zeros = nothing[0]
    for k in range(count):
        positive_product(states, fresh[k], first, zeros, nothing, 0, sent, fresh[k])


@numba.njit(cache=True, nogil=True)
def _change(rows, active, reach, base_rows, r, b, places, signs):  # type: ignore[no-untyped-def]
    """The rows an edit brings and those it takes, with their signs; how many of each."""
    added = 0
    for t in range(reach[r, b]):
        places[added] = rows[r, b, active[b, t]]
        added += rows[r, b, active[b, t]] >= 0
    removed = 0
    for t in range(reach[r, b]):
        places[added + removed] = base_rows[r, active[b, t]]
        signs[added + removed] = -1
        removed += base_rows[r, active[b, t]] >= 0
    return added, removed


@numba.njit(inline="always")
def _reset(signs, added, removed):  # type: ignore[no-untyped-def]
    for k in range(added, added + removed + 1):  # one more may have been set
        signs[k] = 1
