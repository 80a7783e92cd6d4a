"""Small networks and graphs for the explainers that mask edges, and a network of one graph written out densely."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from comrecgc.algorithms.baselines.baseline import Counterfactuals, Subject
from comrecgc.algorithms.baselines.edge_masks import Block
from comrecgc.data import GraphDataset
from comrecgc.graphs import EditPath, Graph, GraphBatch
from comrecgc.models import GraphClassifier, weighted_graphs
from tests.algorithms.baselines.subjects import small_subject


def random_graphs(count: int = 30, seed: int = 0) -> list[Graph]:
    """Random graphs of 3 to 9 nodes over three labels, each with an edge."""
    rng = np.random.default_rng(seed)
    graphs: list[Graph] = []
    while len(graphs) < count:
        n = int(rng.integers(3, 10))
        edges = [(i, j) for i in range(n) for j in range(i + 1, n) if rng.random() < 0.35]
        if edges:
            graphs.append(Graph(rng.integers(3, size=n), edges))
    return graphs


def dataset(graphs: Sequence[Graph]) -> GraphDataset:
    """The graphs, half of each class; nothing here looks at the classes."""
    classes = (np.arange(len(graphs)) % 2).astype(np.int8)
    return GraphDataset(name="random", graphs=tuple(graphs), classes=classes, label_names=("A", "B", "C"))


@functools.cache
def network() -> GraphClassifier:
    """A GCN in double precision whose head splits the random graphs evenly, more by their edges than by their labels."""
    torch.manual_seed(5)
    features = np.array([[1, 0], [1, 0.3], [1, -0.3]], dtype=np.float32)
    model = GraphClassifier("gcn", features, hidden=8).double().eval()
    with torch.no_grad():
        model.fc.weight.mul_(60)
        batch = GraphBatch.from_graphs(random_graphs(200, seed=9))
        margins = weighted_graphs(model, batch).margin(torch.ones(len(batch.edges), dtype=torch.float64))
        model.fc.bias[0] += margins.median()
    return model


@functools.cache
def subject() -> Subject:
    """Random graphs and the network."""
    return small_subject(classifier=network(), dataset=dataset(random_graphs()))


def block_of(graphs: Sequence[Graph], first: int = 0, seed: int = 0) -> Block:
    """Graphs before the network, those of an input at a place with the generator of that place."""
    generators = [np.random.default_rng([seed, first + place]) for place in range(len(graphs))]
    return Block(graphs=weighted_graphs(network(), GraphBatch.from_graphs(graphs)), generators=generators)


def dense(graph: Graph, weights: Tensor) -> Tensor:
    """The symmetric matrix of the weights of a graph's edges."""
    matrix = torch.zeros(graph.num_nodes, graph.num_nodes, dtype=weights.dtype)
    i, j = torch.from_numpy(graph.edges.astype(np.int64)).T
    return matrix.index_put((i, j), weights).index_put((j, i), weights)


def log_probabilities(graph: Graph, matrix: Tensor, *, detached: bool = False) -> Tensor:
    """Log-probabilities of reject and accept of one graph from its weighted adjacency matrix, for the network above."""
    model = network()
    x = model.features[torch.from_numpy(graph.labels.astype(np.int64))]
    loops = matrix + torch.eye(len(x), dtype=matrix.dtype)
    degrees = loops.sum(1).detach() if detached else loops.sum(1)
    scaled = loops / (degrees[:, None] * degrees[None, :]).sqrt()
    layers: Any = zip(model.convs, model.bns, strict=True)
    for conv, norm in layers:
        x = scaled @ x @ conv.lin.weight.T + conv.bias
        x = torch.relu((x - norm.running_mean) / (norm.running_var + norm.eps).sqrt() * norm.weight + norm.bias)
    return torch.log_softmax(model.fc(x.max(0).values), dim=0)


def rows_of(found: Counterfactuals) -> list[tuple[int | None, EditPath, float]]:
    """What was found, as plain values."""
    return [(each.input, each.path, each.probability) for each in found.found]
