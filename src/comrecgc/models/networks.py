"""The graph classifiers of the paper: three convolutions, batch norm, ReLU, global max pool, one linear layer; and their files.

The convolutions have the parameters, names and outputs of their PyG namesakes. Graphs must be simple: no self-loops, no
repeated edges. They are passed as `GraphTensors`, with neighbours grouped by node, so that a sum over neighbours is one pass of torch's embedding-bag
kernel: on a CPU about twenty times faster than gather and scatter over edges.

Files are safetensors with a JSON file of facts; the released `.pth` state dicts load as they are.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn import BatchNorm1d, Linear, ModuleList, Parameter, ReLU, Sequential

from comrecgc.errors import InputError
from comrecgc.graphs import GraphBatch, group_neighbours
from comrecgc.models.classifier import CHUNK_NODES, FloatArray, check_labels
from comrecgc.run import check_alphabet, facts_path, load_checked, load_model, save_weights


@dataclass(frozen=True, eq=False, slots=True)
class GraphTensors:
    """Graphs laid end to end, ready for a network."""

    labels: Tensor  # node labels of all graphs, `[N]`
    neighbours: Tensor  # neighbours of node 0, then of node 1, …, `[2M]`
    neighbour_ptr: Tensor  # node `v` has neighbours `neighbours[neighbour_ptr[v] : neighbour_ptr[v+1]]`, `[N+1]`
    node_ptr: Tensor  # graph `g` owns nodes `node_ptr[g] … node_ptr[g+1]`, `[B+1]`
    weights: Tensor | None = None  # weight of the edge to each neighbour, `[2M]`; None where all are 1
    weighted_degrees: Tensor | None = None  # sum of each node's weights, `[N]`; None where there are no weights

    @classmethod
    def from_batch(cls, batch: GraphBatch, device: torch.device | str = "cpu") -> GraphTensors:
        neighbours, neighbour_ptr = group_neighbours(batch)
        arrays = (batch.labels.astype(np.int64), neighbours, neighbour_ptr, batch.node_ptr)
        return cls(*(torch.from_numpy(array).to(device) for array in arrays))

    def __len__(self) -> int:
        return len(self.node_ptr) - 1

    def weighted(self, weights: Tensor, *, degrees_follow: bool = True) -> GraphTensors:
        """The same graphs with weights of edges, `[2M]`, equal in both directions; `degrees_follow` lets gradients pass through the degrees too."""
        counted = weights if degrees_follow else weights.detach()
        degrees = counted.new_zeros(len(self.labels)).index_add(0, self.receivers(), counted)
        return replace(self, weights=weights, weighted_degrees=degrees)

    def degrees(self) -> Tensor:
        """Number of neighbours of each node, or the sum of their weights, `[N]`."""
        return self.neighbour_ptr.diff() if self.weighted_degrees is None else self.weighted_degrees

    def receivers(self) -> Tensor:
        """The node whose neighbour each of `neighbours` is, `[2M]`."""
        return torch.repeat_interleave(self.neighbour_ptr.diff(), output_size=len(self.neighbours))

    def graph_of_node(self) -> Tensor:
        """Index of the graph each node belongs to, `[N]`."""
        return torch.repeat_interleave(self.node_ptr.diff(), output_size=len(self.labels))

    def neighbour_sum(self, x: Tensor) -> Tensor:
        """Sum of `x` over the neighbours of each node, `[N, width]`; zero where there are none."""
        result: Tensor = _NeighbourSum.apply(x, self.neighbours, self.neighbour_ptr, self.weights)  # type: ignore[no-untyped-call]
        return result

    def graph_sum(self, x: Tensor) -> Tensor:
        """Sum of `x` over the nodes of each graph, `[B, width]`."""
        result: Tensor = _GraphSum.apply(x, self)  # type: ignore[no-untyped-call]
        return result


class _NeighbourSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, neighbours: Tensor, ptr: Tensor, weights: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, neighbours, ptr, weights)
        return _bag_sum(x, neighbours, ptr, weights)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, None, None, Tensor | None]:
        x, neighbours, ptr, weights = ctx.saved_tensors
        gradient = gradient.contiguous()
        to_x, to_weights = None, None
        if ctx.needs_input_grad[0]:
            to_x = _bag_sum(gradient, neighbours, ptr, weights)
        if ctx.needs_input_grad[3]:
            received = torch.repeat_interleave(gradient, ptr.diff(), dim=0, output_size=len(neighbours))
            to_weights = torch.einsum("ec,ec->e", received, x.index_select(0, neighbours))
        return to_x, None, None, to_weights


class _GraphSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, graphs: GraphTensors) -> Tensor:
        ctx.graphs = graphs
        return _bag_sum(x, torch.arange(len(x), device=x.device), graphs.node_ptr)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient[ctx.graphs.graph_of_node()], None


def _bag_sum(x: Tensor, members: Tensor, ptr: Tensor, weights: Tensor | None = None) -> Tensor:
    if len(members) == 0:  # the kernel refuses to sum nothing at all
        return x.new_zeros(len(ptr) - 1, x.shape[1])
    return F.embedding_bag(members, x, ptr, mode="sum", include_last_offset=True, per_sample_weights=weights)


def propagate(x: Tensor, y: Tensor, graphs: GraphTensors, weights: tuple[Tensor, Tensor, Tensor]) -> Tensor:
    """`diag(row) A diag(col) x + diag(diagonal) y`, with `A` the adjacency matrix and `row`, `col`, `diagonal` the weights."""
    row, col, diagonal = (weight[:, None] for weight in weights)
    return row * graphs.neighbour_sum(col * x) + diagonal * y


def attend(x: Tensor, graphs: GraphTensors, source: Tensor, target: Tensor, slope: float) -> Tensor:
    """Attention-weighted mean of states over each node's neighbours and itself, by leaky ReLUs of `source + target` scores, `[N]` each."""
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
        """The mean over neighbours, plus the node's own term."""
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
        facts: Facts from the file of the model; empty for others.
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
        with evaluation_mode(self):
            parts = [self._margin(part) for part in batch.chunks(CHUNK_NODES)]
        margin = np.concatenate([np.zeros(0), *parts])
        # In double precision p > 0.5 holds exactly when the accept logit is the larger one.
        return np.asarray(np.exp(-np.logaddexp(0, -margin)))

    def _margin(self, batch: GraphBatch) -> FloatArray:
        graphs = GraphTensors.from_batch(batch, self.device)
        logits = self.logits(self.features[graphs.labels], graphs).double().cpu().numpy()
        return np.asarray(logits[:, 1] - logits[:, 0])


@contextmanager
def evaluation_mode(model: Any) -> Iterator[None]:
    """Switch a module to evaluation mode without gradients; on leaving, every submodule is in its former mode again. A function stays as it is."""
    if not isinstance(model, torch.nn.Module):
        yield
        return
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, training in modes:
            module.training = training


KIND = "classifier"

_MAX_LABELS = 4096  # a table of one-hot rows is the square of this

# A parameter that only this architecture has, and whose shape is [hidden, width of the features].
_FIRST_WEIGHT = {
    "gat": "convs.0.lin.weight",
    "gcn": "convs.0.lin.weight",
    "sage": "convs.0.lin_l.weight",
    "gin": "convs.0.nn.0.weight",
}


def save_classifier(model: GraphClassifier, path: Path, facts: dict[str, Any]) -> None:
    """Write `path` (safetensors) and the JSON file beside it, with further facts: label names, split, accuracy …"""
    table = model.features.cpu().numpy()
    is_one_hot = table.shape[0] == table.shape[1] and np.array_equal(table, np.eye(len(table)))
    sizes = {
        "kind": KIND,
        "architecture": model.architecture,
        "num_labels": model.num_labels,
        "hidden": model.hidden,
        "features": None if is_one_hot else table.tolist(),
    }
    save_weights(path, dict(model.state_dict()), sizes | facts)


def load_classifier(path: str | Path, *, label_names: Sequence[str] | None = None) -> GraphClassifier:
    """A classifier from a file written by `save_classifier`, or a released state dict (`.pth`, `.pt`).

    A state dict has no features, so its nodes are taken to be one-hot labels.

    Args:
        path: The file.
        label_names: Names of the data's node labels; a classifier for another alphabet is refused.
    """
    path = Path(path)
    state, facts = load_model(path, kind=KIND)
    architecture, hidden, width = _sizes(state, path)
    features = _features(facts, width, path)
    model = load_checked(
        lambda: GraphClassifier(architecture, features, hidden=hidden), state, path, f"{architecture} classifier"
    )
    check_alphabet(path, facts, model.num_labels, label_names)
    model.facts = facts
    return model


def _sizes(state: dict[str, Tensor], path: Path) -> tuple[str, int, int]:
    """Architecture, hidden width and feature width behind a state dict."""
    has_attention = "convs.0.att_src" in state
    for architecture, name in _FIRST_WEIGHT.items():
        if name in state and state[name].ndim == 2 and (architecture == "gat") == has_attention:
            if "fc.weight" not in state or state["fc.weight"].shape[:1] != (NUM_CLASSES,):
                shape = str(tuple(state["fc.weight"].shape)) if "fc.weight" in state else "none"
                raise InputError(f"{path} must classify into {NUM_CLASSES} classes (got fc.weight of {shape})")
            hidden, width = state[name].shape
            return architecture, hidden, width
    raise InputError(f"{path} must be a classifier with convs.0 (got {', '.join(list(state)[:3]) or 'nothing'})")


def _features(facts: dict[str, Any], width: int, path: Path) -> npt.NDArray[np.float32] | int:
    table = facts.get("features")
    if table is None:
        if width > _MAX_LABELS:
            raise InputError(f"{path} must be for at most {_MAX_LABELS} one-hot node labels (got {width})")
        return width
    try:
        with np.errstate(over="ignore"):
            features = np.array(table, dtype=np.float32)
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(f"{facts_path(path)}: features must be a table of numbers") from error
    if features.ndim != 2 or features.shape[1] != width:
        raise InputError(f"{facts_path(path)}: features must have {width} columns (got {features.shape})")
    if not np.isfinite(features).all():
        raise InputError(f"{facts_path(path)}: features must be finite numbers")
    return features
