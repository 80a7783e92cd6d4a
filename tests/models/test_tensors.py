from __future__ import annotations

import numpy as np
import torch

from comrecgc.graphs import Graph, GraphBatch, group_neighbours
from comrecgc.models.networks import GraphTensors
from tests.graphs.strategies import random_graph


def random_batch(seed: int) -> GraphBatch:
    rng = np.random.default_rng(seed)
    return GraphBatch.from_graphs(random_graph(rng, int(rng.integers(1, 12)), 4, 0.3) for _ in range(20))


def test_neighbours_are_grouped_by_node() -> None:
    batch = GraphBatch.from_graphs([Graph([0, 0, 0], [(0, 1), (1, 2)]), Graph([0], []), Graph([0, 0], [(0, 1)])])
    neighbours, ptr = group_neighbours(batch)
    groups = [sorted(neighbours[ptr[v] : ptr[v + 1]].tolist()) for v in range(6)]
    assert groups == [[1], [0, 2], [1], [], [5], [4]]


def test_sums_and_their_gradients_equal_plain_scatter() -> None:
    batch = random_batch(0)
    graphs = GraphTensors.from_batch(batch)
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(len(batch.labels), 5, generator=generator, dtype=torch.float64, requires_grad=True)
    row, column = torch.from_numpy(batch.edge_index())
    owner = torch.from_numpy(batch.graph_of_node())
    plain_neighbours = torch.zeros_like(x).index_add(0, column, x[row])
    plain_graphs = torch.zeros(len(batch), 5, dtype=x.dtype).index_add(0, owner, x)
    for ours, plain in ((graphs.neighbour_sum(x), plain_neighbours), (graphs.graph_sum(x), plain_graphs)):
        torch.testing.assert_close(ours, plain)
        weight = torch.randn(ours.shape, generator=generator, dtype=torch.float64)
        (expected,) = torch.autograd.grad((plain * weight).sum(), x, retain_graph=True)
        (gradient,) = torch.autograd.grad((ours * weight).sum(), x, retain_graph=True)
        torch.testing.assert_close(gradient, expected)


def test_graphs_without_edges() -> None:
    graphs = GraphTensors.from_batch(GraphBatch.from_graphs([Graph([0, 1], []), Graph([2], [])]))
    assert graphs.neighbour_sum(torch.ones(3, 2)).tolist() == [[0.0, 0.0]] * 3
    assert graphs.graph_sum(torch.ones(3, 2)).tolist() == [[2.0, 2.0], [1.0, 1.0]]
    assert graphs.degrees().tolist() == [0, 0, 0]
    assert graphs.graph_of_node().tolist() == [0, 0, 1]
    assert len(graphs) == 2
