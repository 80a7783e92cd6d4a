from __future__ import annotations

import numpy as np
import pytest
import torch

from comrecgc.classifiers.model import attend, from_edge_index, pool_max, propagate
from comrecgc.graphs import GraphTensors
from tests.classifiers.data import random_batch


@pytest.fixture
def graphs() -> GraphTensors:
    return GraphTensors.from_batch(random_batch(0))


def numbers(graphs: GraphTensors, *width: int) -> torch.Tensor:
    return torch.randn(len(graphs.labels), *width, generator=torch.Generator().manual_seed(3))


def test_propagate_is_a_matrix_product(graphs: GraphTensors) -> None:
    n = len(graphs.labels)
    x, y, weights = (
        numbers(graphs, 4),
        numbers(graphs, 4) + 1,
        (numbers(graphs) + 2, numbers(graphs), numbers(graphs) - 1),
    )
    adjacency = torch.zeros(n, n)
    for node in range(n):
        adjacency[node, graphs.neighbours[graphs.neighbour_ptr[node] : graphs.neighbour_ptr[node + 1]]] = 1
    expected = weights[0].diag() @ adjacency @ weights[1].diag() @ x + weights[2].diag() @ y
    torch.testing.assert_close(propagate(x, y, graphs, weights), expected)
    torch.testing.assert_close(propagate(x.requires_grad_(), y, graphs, weights), expected)


def test_attend_is_a_softmax_over_neighbours_and_self(graphs: GraphTensors) -> None:
    x, source, target = numbers(graphs, 4), 3 * numbers(graphs), numbers(graphs) - 1
    rows = []
    for node in range(len(x)):
        group = [node, *graphs.neighbours[graphs.neighbour_ptr[node] : graphs.neighbour_ptr[node + 1]].tolist()]
        scores = torch.nn.functional.leaky_relu(source[group] + target[node], 0.2)
        rows.append(torch.softmax(scores, dim=0) @ x[group])
    expected = torch.stack(rows)
    torch.testing.assert_close(attend(x, graphs, source, target, 0.2), expected)
    torch.testing.assert_close(attend(x.requires_grad_(), graphs, source, target, 0.2), expected)


def test_pool_max_is_a_maximum_per_graph(graphs: GraphTensors) -> None:
    x = numbers(graphs, 4) - 5  # all negative: a maximum that starts from 0 would be wrong
    expected = torch.stack([part.max(dim=0).values for part in torch.split(x, graphs.node_ptr.diff().tolist())])
    torch.testing.assert_close(pool_max(x, graphs), expected)
    torch.testing.assert_close(pool_max(x.requires_grad_(), graphs), expected)


def test_pool_max_of_no_nodes_is_zero_and_nan_is_not_hidden() -> None:
    graphs = from_edge_index(torch.zeros(2, 0, dtype=torch.int64), 3, torch.tensor([0, 0, 2]))
    x = torch.tensor([[1.0], [float("nan")], [-2.0]])
    pooled = pool_max(x, graphs).flatten().tolist()
    assert np.isnan(pooled[0])
    assert pooled[1:] == [0.0, -2.0]


def test_arguments_in_another_memory_layout_give_the_same(graphs: GraphTensors) -> None:
    x, ones = numbers(graphs, 4), torch.ones(len(graphs.labels))
    strided = x.T.contiguous().T
    torch.testing.assert_close(
        propagate(strided, strided, graphs, (ones, ones, ones)), propagate(x, x, graphs, (ones,) * 3)
    )
    torch.testing.assert_close(pool_max(strided, graphs), pool_max(x, graphs))


def test_edge_index_is_grouped_by_receiver_without_changing_it() -> None:
    edge_index = torch.tensor([[2, 0, 1, 0], [0, 1, 0, 2]])
    before = edge_index.clone()
    graphs = from_edge_index(edge_index, 4, torch.tensor([0, 0, 0, 1]))
    assert graphs.neighbours.tolist() == [2, 1, 0, 0]
    assert graphs.neighbour_ptr.tolist() == [0, 2, 3, 4, 4]
    assert graphs.node_ptr.tolist() == [0, 3, 4]
    assert torch.equal(edge_index, before)
