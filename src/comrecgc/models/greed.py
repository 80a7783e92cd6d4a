"""GREED: A Neural Framework for Learning Graph Distance Functions (Ranjan et al., NeurIPS 2022).

A siamese network: the graph edit distance of two graphs is the Euclidean distance of their embeddings. Eight GIN layers
with a residual connection every second one, the node states of all layers summed over each graph, and a two-layer head.

A trained one is kept as safetensors with a JSON header file; the released `.pt` state dicts load as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.functional import relu

from comrecgc.errors import InputError
from comrecgc.graphs import Graph, GraphBatch
from comrecgc.models.networks import GraphTensors
from comrecgc.run import check_alphabet, load_checked, load_state, load_weights, save_weights

FloatArray = npt.NDArray[np.float32]


@runtime_checkable
class Embedder(Protocol):
    """Maps graphs to vectors whose distances stand for graph edit distances."""

    def embed(self, batch: GraphBatch) -> FloatArray:
        """Embedding `z(G)` of every graph, `[B, width]`."""
        ...


@dataclass(frozen=True)
class FunctionEmbedder:
    """A plain function from a list of graphs to an array, as an embedder."""

    function: Callable[[Sequence[Graph]], Any]

    def embed(self, batch: GraphBatch) -> FloatArray:
        result = np.asarray(self.function(list(batch)), dtype=np.float32)
        if result.ndim != 2 or len(result) != len(batch):
            raise InputError(
                f"An embedder must give one row per graph (got shape {result.shape} for {len(batch)} graphs)"
            )
        if not np.isfinite(result).all():
            raise InputError(f"An embedder must give finite numbers (got {result[~np.isfinite(result)][0]})")
        return result


def as_embedder(embedder: Embedder | Callable[[Sequence[Graph]], Any]) -> Embedder:
    """The embedder itself, or a function from graphs to an array `[len, width]` wrapped as one."""
    if isinstance(embedder, Embedder):
        return embedder
    if callable(embedder):
        return FunctionEmbedder(embedder)
    raise InputError(f"An embedder is a model with `embed` or a function of graphs (got {type(embedder).__name__})")


class Greed(nn.Module):
    """The embedding network; names of its parameters are those of the released checkpoints.

    Args:
        num_labels: Size of the node label alphabet.
        num_layers: Number of GIN layers.
        width: Width of every layer.
        output_width: Width of the embedding.
        head_widths: Widths of the head's hidden layers; `(width,)` by default, as released.
    """

    def __init__(
        self,
        num_labels: int,
        *,
        num_layers: int = 8,
        width: int = 64,
        output_width: int = 64,
        head_widths: tuple[int, ...] | None = None,
    ) -> None:
        super().__init__()
        head_widths = (width,) if head_widths is None else head_widths
        for name, value in (
            ("num_labels", num_labels),
            ("num_layers", num_layers),
            ("width", width),
            ("output_width", output_width),
            ("head_widths", min(head_widths, default=1)),
        ):
            if value < 1:
                raise InputError(f"{name} must be at least 1 (got {value})")
        self.num_labels = num_labels
        self.num_layers = num_layers
        self.width = width
        self.output_width = output_width
        self.head_widths = head_widths
        self.facts: dict[str, Any] = {}  # facts from its file
        self.pre = nn.Linear(num_labels, width)
        self.convs = nn.ModuleList(GINLayer(width) for _ in range(num_layers))
        widths = (width * (num_layers + 1), *head_widths)
        hidden = [layer for pair in pairwise(widths) for layer in (nn.Linear(*pair), nn.ReLU())]
        self.post = nn.Sequential(*hidden, nn.Linear(widths[-1], output_width))

    def forward(self, graphs: GraphTensors) -> Tensor:
        """Embedding of every graph, `[B, output_width]`."""
        x = self.pre.weight.t()[graphs.labels] + self.pre.bias  # [N, width]: a one-hot product is a look-up
        residual = x
        pooled = [graphs.graph_sum(x)]
        for depth, conv in enumerate(self.convs):
            x = conv(x, graphs)
            if depth % 2 == 1:
                x = x + residual
                residual = x
            x = relu(x)
            pooled.append(graphs.graph_sum(x))
        result: Tensor = self.post(torch.cat(pooled, dim=1))
        return result

    def embed(self, batch: GraphBatch, *, max_nodes: int = 100_000) -> FloatArray:
        """Embedding of every graph as an array, `[B, output_width]`.

        Args:
            batch: The graphs.
            max_nodes: Nodes in one forward pass, which bounds memory; a single larger graph still passes alone.
        """
        if len(batch.labels) and batch.labels.max() >= self.num_labels:
            raise InputError(f"The embedder knows labels 0…{self.num_labels - 1} (got label {batch.labels.max()})")
        if (batch.node_counts() == 0).any():
            raise InputError(f"A graph needs at least one node (got none in graph {int(batch.node_counts().argmin())})")
        device = self.pre.weight.device
        was_training = self.training
        self.eval()
        try:
            with torch.inference_mode():
                rows = [
                    self(GraphTensors.from_batch(part, device)).float().cpu().numpy()
                    for part in batch.chunks(max_nodes)
                ]
        finally:
            self.train(was_training)
        return np.concatenate(rows) if rows else np.zeros((0, self.output_width), dtype=np.float32)


class GINLayer(nn.Module):
    """How Powerful are Graph Neural Networks? (Xu et al., ICLR 2019): `MLP((1+ε)x + Σ neighbours)`."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.eps = nn.Parameter(torch.zeros(1))
        self.nn = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))

    def forward(self, x: Tensor, graphs: GraphTensors) -> Tensor:
        result: Tensor = self.nn((1 + self.eps) * x + graphs.neighbour_sum(x))
        return result


KIND = "greed"


def save_embedder(model: Greed, path: Path, facts: dict[str, Any]) -> None:
    """Write `path` (safetensors) and the JSON file beside it, with further facts: label names, held-out errors, seed …"""
    sizes = {
        name: getattr(model, name) for name in ("num_labels", "num_layers", "width", "output_width", "head_widths")
    }
    save_weights(path, dict(model.state_dict()), {"kind": KIND, **sizes, **facts})


def load_embedder(path: str | Path, *, label_names: Sequence[str] | None = None) -> Greed:
    """An embedder from a file written by `save_embedder`, or a released GREED state dict (`.pt`, `.pth`).

    Args:
        path: The file.
        label_names: Names of the data's node labels; an embedder for another alphabet is refused.
    """
    path = Path(path)
    if path.suffix == ".safetensors":
        state, facts = load_weights(path, kind=KIND)
    else:
        state, facts = load_state(path), {}
    state = {name.removeprefix("embed_model."): tensor for name, tensor in state.items()}
    sizes = _sizes(state, path)
    model = load_checked(lambda: Greed(**sizes), state, path, "GREED embedder")
    check_alphabet(path, facts, model.num_labels, label_names)
    model.facts = facts
    return model.eval()


def _sizes(state: dict[str, Tensor], path: Path) -> dict[str, Any]:
    """The sizes behind a state dict."""
    layers = sum(name.startswith("convs.") and name.endswith(".eps") for name in state)
    head = [state[name] for name in sorted(state) if name.startswith("post.") and name.endswith(".weight")]
    matrices = [tensor for tensor in (state.get("pre.weight"), *head) if tensor is not None and tensor.ndim == 2]
    if layers == 0 or len(head) < 2 or len(matrices) != len(head) + 1:
        raise InputError(f"{path} must be a GREED embedder with pre, convs and post (got {', '.join(list(state)[:3])})")
    width, num_labels = matrices[0].shape
    return {
        "num_labels": num_labels,
        "num_layers": layers,
        "width": width,
        "output_width": len(head[-1]),
        "head_widths": tuple(len(matrix) for matrix in head[:-1]),
    }
