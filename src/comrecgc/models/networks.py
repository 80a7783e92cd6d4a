"""The graph classifiers of the paper: three convolutions, batch norm, ReLU, global max pool, one linear layer.

The convolutions have the parameters, names and outputs of their PyG namesakes. Graphs must be simple: no self-loops, no
repeated edges.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn import BatchNorm1d, Linear, ModuleList, Parameter, ReLU, Sequential

from comrecgc.errors import InputError
from comrecgc.graphs import GraphBatch, GraphTensors
from comrecgc.models.classifier import CHUNK_NODES, FloatArray, check_labels


def propagate(x: Tensor, y: Tensor, graphs: GraphTensors, weights: tuple[Tensor, Tensor, Tensor]) -> Tensor:
    """`diag(row) A diag(col) x + diag(diagonal) y`, with `A` the adjacency matrix.

    Args:
        x: What nodes send, `[N, C]`.
        y: What nodes keep, `[N, C]`.
        graphs: The graphs the nodes belong to.
        weights: `row`, `col` and `diagonal`: weight of each node as a receiver, as a sender and of what it keeps, `[N]`.
    """
    row, col, diagonal = (weight[:, None] for weight in weights)
    return row * graphs.neighbour_sum(col * x) + diagonal * y


def attend(x: Tensor, graphs: GraphTensors, source: Tensor, target: Tensor, slope: float) -> Tensor:
    """Attention-weighted mean over each node's neighbours and itself.

    Args:
        x: Node states, `[N, C]`.
        graphs: The graphs the nodes belong to.
        source: Score of each node as a sender, `[N]`.
        target: Score of each node as a receiver, `[N]`.
        slope: Slope of the leaky ReLU on `source + target`, below zero.
    """
    own = F.leaky_relu(source + target, slope)
    if len(graphs.neighbours) == 0:  # the kernel refuses to sum nothing at all
        return x
    receivers = graphs.receivers()
    scores = F.leaky_relu(source[graphs.neighbours] + target[receivers], slope)
    highest = own.detach().scatter_reduce(0, receivers, scores.detach(), "amax")
    weights, own = torch.exp(scores - highest[receivers]), torch.exp(own - highest)
    if graphs.weights is not None:
        weights = weights * graphs.weights
    totals = own.index_add(0, receivers, weights)
    summed = F.embedding_bag(
        *(graphs.neighbours, x, graphs.neighbour_ptr), mode="sum", include_last_offset=True, per_sample_weights=weights
    )
    return (summed + own[:, None] * x) / totals[:, None]


def pool_max(x: Tensor, graphs: GraphTensors) -> Tensor:
    """Largest state of each graph's nodes, per channel, `[B, C]`; zeros for a graph without nodes."""
    index = graphs.graph_of_node()[:, None].expand_as(x)
    return x.new_zeros(len(graphs), x.shape[1]).scatter_reduce(0, index, x, "amax", include_self=False)


def from_edge_index(edge_index: Tensor, num_nodes: int, batch: Tensor | None = None) -> GraphTensors:
    """From PyG's `edge_index [2, E]` (row 0 sends, row 1 receives) and `batch [N]`, which must not decrease.

    Labels are all 0: PyG models take features instead.
    """
    sources, targets = edge_index[0], edge_index[1]
    labels = edge_index.new_zeros(num_nodes)
    return GraphTensors(
        labels,
        sources[torch.argsort(targets, stable=True)],
        _pointers(torch.bincount(targets, minlength=num_nodes)),
        _pointers(torch.bincount(labels if batch is None else batch)),
    )


def _pointers(counts: Tensor) -> Tensor:
    return torch.cat([counts.new_zeros(1), torch.cumsum(counts, 0)])


LEAKY_SLOPE = 0.2
"""Slope of GAT's leaky ReLU below zero."""


Weights = tuple[Tensor, Tensor, Tensor]
"""Weight of each node as a receiver, as a sender, and of its own state, `[N]` each (see `propagate`)."""


class GCNConv(torch.nn.Module):
    """Semi-Supervised Classification with Graph Convolutional Networks (Kipf and Welling 2017)."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.lin = _glorot_linear(in_channels, out_channels)
        self.bias = Parameter(torch.zeros(out_channels))

    def message_weights(self, degrees: Tensor) -> Weights:
        """`D^-1/2 (A + I) D^-1/2`, with `D` the degrees of `A + I`."""
        scale = (degrees + 1).rsqrt()
        return scale, scale, scale * scale

    def forward(self, x: Tensor, graphs: GraphTensors) -> Tensor:
        """Node states after the layer, `[N, C]` to `[N, C']`."""
        x = self.lin(x)
        return propagate(x, x, graphs, self.message_weights(graphs.degrees().to(x.dtype))) + self.bias


class GATConv(torch.nn.Module):
    """Graph Attention Networks (Veličković et al. 2018), one head."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.lin = _glorot_linear(in_channels, out_channels)
        self.att_src = Parameter(_glorot(1, 1, out_channels))
        self.att_dst = Parameter(_glorot(1, 1, out_channels))
        self.bias = Parameter(torch.zeros(out_channels))

    def forward(self, x: Tensor, graphs: GraphTensors) -> Tensor:
        """Node states after the layer, `[N, C]` to `[N, C']`."""
        x = self.lin(x)
        source, target = x @ self.att_src[0, 0], x @ self.att_dst[0, 0]
        return attend(x, graphs, source, target, LEAKY_SLOPE) + self.bias


class SAGEConv(torch.nn.Module):
    """Inductive Representation Learning on Large Graphs (Hamilton et al. 2017), mean aggregation."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.lin_l = Linear(in_channels, out_channels)
        self.lin_r = Linear(in_channels, out_channels, bias=False)

    def message_weights(self, degrees: Tensor) -> Weights:
        """The mean over neighbours, plus what the node keeps."""
        ones = torch.ones_like(degrees)
        return degrees.clamp(min=1).reciprocal(), ones, ones

    def forward(self, x: Tensor, graphs: GraphTensors) -> Tensor:
        """Node states after the layer, `[N, C]` to `[N, C']`."""
        weights = self.message_weights(graphs.degrees().to(x.dtype))
        sent = F.linear(x, self.lin_l.weight)
        return propagate(sent, self.lin_r(x), graphs, weights) + self.lin_l.bias


class GINConv(torch.nn.Module):
    """How Powerful are Graph Neural Networks? (Xu et al. 2019), with a perceptron of one hidden layer."""

    eps: Tensor

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.nn = Sequential(Linear(in_channels, out_channels), ReLU(), Linear(out_channels, out_channels))
        self.register_buffer("eps", torch.zeros(1))

    def message_weights(self, degrees: Tensor) -> Weights:
        """`A + (1 + eps) I`."""
        ones = torch.ones_like(degrees)
        return ones, ones, ones * (1 + self.eps)

    def forward(self, x: Tensor, graphs: GraphTensors) -> Tensor:
        """Node states after the layer, `[N, C]` to `[N, C']`."""
        gathered = propagate(x, x, graphs, self.message_weights(graphs.degrees().to(x.dtype)))
        return self.nn(gathered)  # type: ignore[no-any-return]


def _glorot(*shape: int) -> Tensor:
    bound = math.sqrt(6 / (shape[-2] + shape[-1]))
    return torch.empty(shape).uniform_(-bound, bound)


def _glorot_linear(in_channels: int, out_channels: int) -> Linear:
    linear = Linear(in_channels, out_channels, bias=False)
    linear.weight = Parameter(_glorot(out_channels, in_channels))
    return linear


ARCHITECTURES: dict[str, type[GCNConv | GATConv | SAGEConv | GINConv]] = {
    "gcn": GCNConv,
    "gat": GATConv,
    "sage": SAGEConv,
    "gin": GINConv,
}
NUM_LAYERS = 3
NUM_CLASSES = 2


class GraphClassifier(torch.nn.Module):
    """COMRECGC (ICML 2025), section 4.2: the classifier to be explained, class 0 reject and class 1 accept.

    It is a `Classifier`, and a PyG model called as `model(x, edge_index, batch)`. `state_dict` has the keys of the
    released checkpoints.

    Args:
        architecture: `gcn`, `gat`, `sage` or `gin`.
        features: Feature row of each node label, `[num_labels, width]`, or the number of labels for one-hot rows.
        hidden: Width of every layer.

    Attributes:
        convs: The three convolutions.
        bns: The batch norm after each.
        fc: The linear layer from the pooled state to the two classes.
        facts: What the file the model came from says of it; empty for others.
    """

    features: Tensor

    def __init__(self, architecture: str, features: npt.NDArray[np.float32] | int, *, hidden: int = 20) -> None:
        super().__init__()
        if architecture not in ARCHITECTURES:
            raise InputError(f"Classifier models are {', '.join(ARCHITECTURES)} (got {architecture!r})")
        if hidden < 1:
            raise InputError(f"hidden must be at least 1 (got {hidden})")
        table = np.eye(features, dtype=np.float32) if isinstance(features, int) else np.asarray(features, np.float32)
        if table.ndim != 2 or 0 in table.shape:
            raise InputError(f"features must be a table [num_labels, width] (got shape {table.shape})")
        self.architecture = architecture
        self.hidden = hidden
        self.facts: dict[str, Any] = {}
        self.register_buffer("features", torch.from_numpy(table.copy()), persistent=False)
        widths = [table.shape[1]] + [hidden] * NUM_LAYERS
        layer = ARCHITECTURES[architecture]
        self.convs = ModuleList(layer(*pair) for pair in itertools.pairwise(widths))
        self.bns = ModuleList(BatchNorm1d(hidden) for _ in range(NUM_LAYERS))
        self.fc = Linear(hidden, NUM_CLASSES)

    @property
    def num_labels(self) -> int:
        return len(self.features)

    @property
    def device(self) -> torch.device:
        return self.features.device

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor | None = None) -> Tensor:
        """Log-probabilities of the classes, `[B, 2]`.

        Args:
            x: Node features, `[N, width]`.
            edge_index: Both directions of every edge, `[2, E]`.
            batch: Graph of each node, `[N]`, in order; None for a single graph.
        """
        graphs = from_edge_index(edge_index, len(x), batch)
        return F.log_softmax(self.logits(x, graphs), dim=-1)

    def logits(self, x: Tensor, graphs: GraphTensors) -> Tensor:
        """Scores of the classes before log-softmax, `[B, 2]`, from node features `[N, width]`."""
        return self.fc(pool_max(self.node_states(x, graphs), graphs))  # type: ignore[no-any-return]

    def node_states(self, x: Tensor, graphs: GraphTensors) -> Tensor:
        """Node states after the last layer, `[N, hidden]`, from node features `[N, width]`."""
        for conv, norm in zip(self.convs, self.bns, strict=True):
            x = F.relu(norm(conv(x, graphs)))  # [N, hidden]
        return x

    def accept_probability(self, batch: GraphBatch) -> FloatArray:
        """Probability of class 1 of every graph, `[B]`, as in evaluation mode, in parts of bounded size."""
        check_labels(batch, self.num_labels)
        with evaluating(self):
            parts = [self._margin(part) for part in batch.chunks(CHUNK_NODES)]
        margin = np.concatenate([np.zeros(0), *parts])
        # In double precision p > 0.5 holds exactly when the accept logit is the larger one.
        probability: FloatArray = np.exp(-np.logaddexp(0, -margin))
        return probability

    def _margin(self, batch: GraphBatch) -> FloatArray:
        graphs = GraphTensors.from_batch(batch, self.device)
        logits = self.logits(self.features[graphs.labels], graphs).double().cpu().numpy()
        margin: FloatArray = logits[:, 1] - logits[:, 0]
        return margin


@contextmanager
def evaluating(model: torch.nn.Module) -> Iterator[None]:
    """Evaluation mode without gradients; afterwards every submodule is in the mode it was in."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, training in modes:
            module.training = training
