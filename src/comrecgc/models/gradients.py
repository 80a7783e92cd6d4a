"""The training loss of a graph classifier and its gradient, by hand and over distinct node states.

After `l` layers two nodes have the same state whenever `l` rounds of Weisfeiler-Leman colouring cannot tell them apart (colours start from
label and degree, which normalisation uses). A mini-batch of molecules holds few distinct colours: of 4,000 nodes in 128 Mutagenicity graphs
200 after one round, 800 after two, 1,700 after three. So each layer works on one row per colour, made from the rows of the round before, and
a row knows how many nodes it stands for.

Such batches make small matrices, for which a general autograd spends most of its time between the operations (docs/models.md has the
ablation). Here every step returns its output and a function that pulls a gradient back through it; the steps of a forward pass form a
list, and walking it backwards is the backward pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import BatchNorm1d

from comrecgc.graphs import GraphBatch, LongArray, graph_kernels, group_neighbours
from comrecgc.models import training_kernels
from comrecgc.models.networks import LEAKY_SLOPE, GATConv, GCNConv, GINConv, GraphClassifier, SAGEConv

Float32Array = npt.NDArray[np.float32]
Targets = LongArray | npt.NDArray[np.float64]
"""Classes, or numbers."""
Pull = Callable[[Float32Array], Float32Array]
Arrays = tuple[npt.NDArray[Any], ...]
Edges = tuple[Arrays, Arrays]
"""Neighbours, their pointers and own rows; and the weights `row`, `col`, `diagonal`: the first arguments of `gather`."""


@dataclass(frozen=True, eq=False, slots=True)
class Round:
    """The distinct states after one layer."""

    own: LongArray  # row of the round before that holds the state of the same node, `[n]`
    neighbours: LongArray  # rows of the round before that hold the states of the neighbours, `[E]`
    neighbour_ptr: LongArray  # row `i` has neighbours `neighbours[neighbour_ptr[i] : neighbour_ptr[i+1]]`, `[n+1]`
    counts: LongArray  # how many nodes of the batch are in this state, `[n]`
    degrees: LongArray  # degree of these nodes, `[n]`


@dataclass(frozen=True, eq=False, slots=True)
class StateBatch:
    """A batch of graphs as distinct states."""

    labels: LongArray  # node label of each state of round 0, `[n0]`
    degrees: LongArray  # degree of each state of round 0, `[n0]`
    rounds: tuple[Round, ...]
    members: LongArray  # states of the last round in graph 0, then in graph 1, …, each once per graph, `[P]`
    member_ptr: LongArray  # graph `g` has `members[member_ptr[g] : member_ptr[g+1]]`, `[B+1]`

    def __len__(self) -> int:
        return len(self.member_ptr) - 1


class ColouredGraphs:
    """A set of graphs coloured once, from which any selection is a `StateBatch` in a few microseconds a graph."""

    def __init__(self, batch: GraphBatch, num_rounds: int) -> None:
        self._labels = batch.labels.astype(np.int64)
        self._neighbours, self._neighbour_ptr = group_neighbours(batch)
        self._node_ptr = batch.node_ptr
        degrees = np.diff(self._neighbour_ptr)
        first = self._labels * (degrees.max(initial=0) + 1) + degrees  # normalisation sees degrees too
        keys = graph_kernels.colour_rounds(first, batch.edges, num_rounds)
        self._colours = [np.unique(row, return_inverse=True)[1].astype(np.int64) for row in keys]
        # Row of each colour in the batch being made; -1 everywhere between batches.
        self._rows = [np.full(colours.max(initial=-1) + 1, -1, dtype=np.int64) for colours in self._colours]

    def __len__(self) -> int:
        return len(self._node_ptr) - 1

    @property
    def max_degree(self) -> int:
        return int(np.diff(self._neighbour_ptr).max(initial=0))

    def select(self, graphs: LongArray) -> StateBatch:
        """The graphs at these indices, in this order."""
        nodes = training_kernels.nodes_of(graphs, self._node_ptr)
        found = [
            training_kernels.distinct_states(nodes, colours, rows)
            for colours, rows in zip(self._colours, self._rows, strict=True)
        ]
        rounds = []
        for depth, (representatives, counts) in enumerate(found[1:]):
            place = (self._colours[depth], self._rows[depth])
            own, neighbours, ptr = training_kernels.edges_of(
                representatives, self._neighbours, self._neighbour_ptr, *place
            )
            rounds.append(Round(own, neighbours, ptr, counts, np.diff(ptr)))
        members, member_ptr = training_kernels.members_of(
            graphs, self._node_ptr, self._colours[-1], self._rows[-1], len(found[-1][0])
        )
        first = found[0][0]
        for (representatives, _), colours, rows in zip(found, self._colours, self._rows, strict=True):
            rows[colours[representatives]] = -1
        degrees = self._neighbour_ptr[first + 1] - self._neighbour_ptr[first]
        return StateBatch(self._labels[first], degrees, tuple(rounds), members, member_ptr)

    def batches(self, order: LongArray, size: int) -> Iterator[tuple[LongArray, StateBatch]]:
        """Mini-batches of `size` graphs (the last may be smaller) along an order: the indices and the graphs."""
        for start in range(0, len(order), size):
            chosen = order[start : start + size]
            yield chosen, self.select(chosen)


def loss_of(logits: Float32Array, targets: Targets, grad: Float32Array) -> float:
    """Mean cross entropy of classes, or mean squared error of numbers; its gradient goes to `grad`."""
    kernel = training_kernels.squared_error if targets.dtype.kind == "f" else training_kernels.cross_entropy
    return float(kernel(logits, targets, grad))


class Backprop:
    """The loss of one model, on the CPU. From here on the model's parameters are views of one flat vector.

    `parameters [P]` changes the model when it is changed in place; `gradient [P]` is that of the last loss.
    """

    def __init__(self, model: GraphClassifier, max_degree: int) -> None:
        named = dict(model.named_parameters())
        self.parameters: Float32Array = np.concatenate([p.detach().numpy().ravel() for p in named.values()])
        self.gradient = np.zeros_like(self.parameters)
        whole = _Block.of({name: tuple(p.shape) for name, p in named.items()}, self.parameters, self.gradient)
        for name, parameter in named.items():
            parameter.data = torch.from_numpy(whole.values[name])
        self._features = model.features.numpy()
        self._convolve = {"gcn": _gcn, "gat": _gat, "sage": _sage, "gin": _gin}[model.architecture]
        self._convs = [whole.under(f"convs.{depth}.") for depth in range(len(model.convs))]
        biases = [conv.values[_LAST_BIAS[model.architecture]] for conv in self._convs]
        self._norms = [
            _NormRelu(norm, whole.under(f"bns.{depth}."), bias)
            for depth, (norm, bias) in enumerate(zip(model.bns, biases, strict=True))
        ]
        self._head = whole.under("fc.")
        self._weights_of_degree = _weights_of_degree(model, max_degree)

    def logits(self, batch: StateBatch) -> Float32Array:
        """Scores of the classes in evaluation mode, `[B, 2]`."""
        return self._forward(batch, [], training=False)

    def loss(self, batch: StateBatch, targets: Targets) -> float:
        """Mean loss of classes, or of numbers which the log-odds are to be, `[B]`; fills `gradient` and moves the norms' running moments."""
        tape: list[Pull] = []
        logits = self._forward(batch, tape, training=True)
        grad = np.empty_like(logits)
        loss = loss_of(logits, targets, grad)
        for pull in reversed(tape):
            grad = pull(grad)
        return loss

    def _forward(self, batch: StateBatch, tape: list[Pull], *, training: bool) -> Float32Array:
        def record(step: tuple[Float32Array, Pull]) -> Float32Array:
            tape.append(step[1])
            return step[0]

        x, degrees = self._features[batch.labels], batch.degrees
        for conv, norm, states in zip(self._convs, self._norms, batch.rounds, strict=True):
            x = record(self._convolve(conv, x, self._edges(degrees, states)))
            x = record(norm(x, states.counts)) if training else norm.evaluate(x)
            degrees = states.degrees
        x = record(_pool_max(x, batch))
        return record(self._head.affine("weight", "bias", x))

    def _edges(self, degrees: LongArray, states: Round) -> Edges:
        row, col, diagonal = self._weights_of_degree
        weights = (row[states.degrees], col[degrees], diagonal[states.degrees])
        return (states.neighbours, states.neighbour_ptr, states.own), weights


# The last bias of each layer. The batch norm that follows takes it away again: its gradient is 0 and it never moves.
_LAST_BIAS = {"gcn": "bias", "gat": "bias", "sage": "lin_l.bias", "gin": "nn.2.bias"}


@dataclass(frozen=True)
class _Block:
    """Named parameters, and under the same names their gradients, as views of the flat vectors."""

    values: dict[str, Float32Array]
    slopes: dict[str, Float32Array]

    @classmethod
    def of(cls, shapes: dict[str, tuple[int, ...]], values: Float32Array, slopes: Float32Array) -> _Block:
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes.values()])[:-1]
        pieces = (np.split(flat, ends) for flat in (values, slopes))
        views = ({n: v.reshape(s) for (n, s), v in zip(shapes.items(), flat, strict=True)} for flat in pieces)
        return cls(*views)

    def under(self, prefix: str) -> _Block:
        views = (self.values, self.slopes)
        return _Block(*({n.removeprefix(prefix): v for n, v in d.items() if n.startswith(prefix)} for d in views))

    def linear(self, weight: str, x: Float32Array) -> tuple[Float32Array, Pull]:
        """`x @ weight.T`."""

        def pull(grad: Float32Array) -> Float32Array:
            np.matmul(grad.T, x, out=self.slopes[weight])
            return grad @ self.values[weight]

        return x @ self.values[weight].T, pull

    def affine(self, weight: str, bias: str, x: Float32Array) -> tuple[Float32Array, Pull]:
        """`x @ weight.T + bias`."""
        out, pull_linear = self.linear(weight, x)

        def pull(grad: Float32Array) -> Float32Array:
            grad.sum(axis=0, out=self.slopes[bias])
            return pull_linear(grad)

        return out + self.values[bias], pull


def _gcn(block: _Block, x: Float32Array, edges: Edges) -> tuple[Float32Array, Pull]:
    sent, pull_linear = block.linear("lin.weight", x)
    out, pull_gather = _gather(sent, sent, edges)
    return out, lambda grad: pull_linear(pull_gather(grad)[0])


def _gin(block: _Block, x: Float32Array, edges: Edges) -> tuple[Float32Array, Pull]:
    gathered, pull_gather = _gather(x, x, edges)
    middle, pull_inner = block.linear("nn.0.weight", gathered)
    training_kernels.add_relu(middle, block.values["nn.0.bias"])
    out, pull_outer = block.linear("nn.2.weight", middle)

    def pull(grad: Float32Array) -> Float32Array:
        grad = pull_outer(grad)
        training_kernels.add_relu_backward(middle, grad, block.slopes["nn.0.bias"])
        return pull_gather(pull_inner(grad))[0]

    return out, pull


def _sage(block: _Block, x: Float32Array, edges: Edges) -> tuple[Float32Array, Pull]:
    sent, pull_sent = block.linear("lin_l.weight", x)
    kept, pull_kept = block.linear("lin_r.weight", x)
    out, pull_gather = _gather(sent, kept, edges)

    def pull(grad: Float32Array) -> Float32Array:
        grad_sent, grad_kept = pull_gather(grad)
        return pull_sent(grad_sent) + pull_kept(grad_kept)

    return out, pull


def _gat(block: _Block, x: Float32Array, edges: Edges) -> tuple[Float32Array, Pull]:
    x, pull_linear = block.linear("lin.weight", x)
    sides = [(block.values[name].reshape(-1), block.slopes[name].reshape(-1)) for name in ("att_src", "att_dst")]
    scores = tuple(x @ vector for vector, _ in sides)
    neighbours, _, own = edges[0]
    alphas = (np.empty(len(neighbours), dtype=x.dtype), np.empty(len(own), dtype=x.dtype))
    out = np.empty((len(own), x.shape[1]), dtype=x.dtype)
    saved = (edges[0], x, scores, np.float32(LEAKY_SLOPE), alphas)
    training_kernels.attend(*saved, out)

    def pull(grad: Float32Array) -> Float32Array:
        grad_x, grad_scores = np.zeros_like(x), tuple(np.zeros_like(score) for score in scores)
        training_kernels.attend_backward(*saved, grad, grad_x, grad_scores)
        for (vector, slope), grad_score in zip(sides, grad_scores, strict=True):
            np.matmul(grad_score, x, out=slope)
            grad_x += np.multiply.outer(grad_score, vector)
        return pull_linear(grad_x)

    return out, pull


def _gather(
    x: Float32Array, y: Float32Array, edges: Edges
) -> tuple[Float32Array, Callable[[Float32Array], tuple[Float32Array, Float32Array]]]:
    """What each state receives of `x` and keeps of `y`; where these are one, so is what is pulled back."""
    out = np.empty((len(edges[0][2]), x.shape[1]), dtype=x.dtype)
    training_kernels.gather(*edges, x, y, out)

    def pull(grad: Float32Array) -> tuple[Float32Array, Float32Array]:
        grad_x = np.zeros_like(x)
        grad_y = grad_x if y is x else np.zeros_like(y)
        training_kernels.gather_backward(*edges, grad, grad_x, grad_y)
        return grad_x, grad_y

    return out, pull


def _pool_max(x: Float32Array, batch: StateBatch) -> tuple[Float32Array, Pull]:
    out = np.empty((len(batch), x.shape[1]), dtype=x.dtype)
    argmax = np.empty(out.shape, dtype=np.int64)
    training_kernels.pool_max(batch.members, batch.member_ptr, x, out, argmax)

    def pull(grad: Float32Array) -> Float32Array:
        result = np.zeros_like(x)
        training_kernels.pool_max_backward(argmax, grad, result)
        return result

    return out, pull


class _NormRelu:
    """Batch norm, then ReLU, and the running moments of the model's own norm."""

    def __init__(self, norm: torch.nn.Module, block: _Block, bias_before: Float32Array) -> None:
        assert isinstance(norm, BatchNorm1d) and norm.momentum is not None  # noqa: PT018
        moments = dict(norm.named_buffers())
        self.running_mean, self.running_var = moments["running_mean"].numpy(), moments["running_var"].numpy()
        self.eps, self.momentum, self.block, self.bias_before = norm.eps, norm.momentum, block, bias_before

    def __call__(self, x: Float32Array, counts: LongArray) -> tuple[Float32Array, Pull]:
        weight, bias = self.block.values["weight"], self.block.values["bias"]
        mean, variance = np.empty(x.shape[1]), np.empty(x.shape[1])
        out = np.empty_like(x)
        nodes = training_kernels.normalise(x, counts, weight, bias, self.eps, mean, variance, out)
        self.running_mean += self.momentum * (mean + self.bias_before - self.running_mean)
        self.running_var += self.momentum * (variance * (nodes / max(nodes - 1, 1)) - self.running_var)

        def pull(grad: Float32Array) -> Float32Array:
            result = np.empty_like(grad)
            slopes = (self.block.slopes["weight"], self.block.slopes["bias"])
            training_kernels.normalise_backward(x, counts, weight, self.eps, mean, variance, out, grad, result, *slopes)
            return result

        return out, pull

    def evaluate(self, x: Float32Array) -> Float32Array:
        scale = self.block.values["weight"] / np.sqrt(self.running_var + self.eps)
        shift = self.block.values["bias"] + (self.bias_before - self.running_mean) * scale
        return np.asarray(np.maximum(x * scale + shift, 0))


def _weights_of_degree(model: GraphClassifier, max_degree: int) -> list[Float32Array]:
    """`row`, `col` and `diagonal` of a node of each degree, `[max_degree + 1]` (GAT computes its own)."""
    conv, degrees = model.convs[0], torch.arange(max_degree + 1, dtype=torch.float32)
    if isinstance(conv, GATConv):
        return [degrees.numpy()] * 3
    assert isinstance(conv, GCNConv | SAGEConv | GINConv)
    return [table.numpy() for table in conv.message_weights(degrees)]
