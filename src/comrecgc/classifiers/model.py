"""The graph classifiers of the paper: three convolutions, batch norm, ReLU, global max pool, one linear layer."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn import BatchNorm1d, Linear, ModuleList

from comrecgc.classifiers.classifier import CHUNK_NODES, FloatArray, check_labels
from comrecgc.classifiers.layers import GATConv, GCNConv, GINConv, SAGEConv
from comrecgc.classifiers.operations import from_edge_index, pool_max
from comrecgc.errors import InputError
from comrecgc.graphs import GraphBatch, GraphTensors

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
        for conv, norm in zip(self.convs, self.bns, strict=True):
            x = F.relu(norm(conv(x, graphs)))  # [N, hidden]
        return self.fc(pool_max(x, graphs))  # type: ignore[no-any-return]

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
