"""Small datasets a classifier can learn, random ones, and a model from elsewhere."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch_geometric.nn import GCNConv, global_add_pool

from comrecgc.data import GraphDataset
from comrecgc.graphs import GraphBatch
from tests.graphs.strategies import random_graph


def random_batch(seed: int, count: int = 12, num_labels: int = 3) -> GraphBatch:
    """Random graphs of 1 to 9 nodes, some without edges."""
    rng = np.random.default_rng(seed)
    return GraphBatch.from_graphs(random_graph(rng, int(rng.integers(1, 10)), num_labels, 0.3) for _ in range(count))


def marked_dataset(count: int = 60, seed: int = 0, num_labels: int = 3) -> GraphDataset:
    """Random graphs that are accepted when they hold a node of label 2."""
    rng = np.random.default_rng(seed)
    graphs = tuple(random_graph(rng, int(rng.integers(2, 8)), num_labels, 0.4) for _ in range(count))
    classes = np.array([2 in graph.labels for graph in graphs], dtype=np.int8)
    names = tuple(f"L{label}" for label in range(num_labels))
    return GraphDataset(name="marked", graphs=graphs, classes=classes, label_names=names)


class Stranger(torch.nn.Module):
    """A PyG model with edge weights, of one or two linear layers after pooling."""

    def __init__(self, *, deep: bool = False) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.conv = GCNConv(3, 5)
        self.hidden = torch.nn.Linear(5, 5) if deep else torch.nn.Identity()
        self.head = torch.nn.Linear(5, 2)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        x = torch.relu(self.conv(x, edge_index, edge_weight))
        return self.head(self.hidden(global_add_pool(x, batch)))  # type: ignore[no-any-return]
