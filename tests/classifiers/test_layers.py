from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import Linear, ReLU, Sequential
from torch_geometric.nn import conv as pyg

from comrecgc.classifiers.model import GATConv, GCNConv, GINConv, SAGEConv, from_edge_index
from comrecgc.graphs import Graph, GraphBatch, GraphTensors
from tests.classifiers.data import random_batch

PAIRS = {
    "gcn": (GCNConv, pyg.GCNConv),
    "gat": (GATConv, pyg.GATConv),
    "sage": (SAGEConv, pyg.SAGEConv),
    "gin": (GINConv, lambda i, o: pyg.GINConv(Sequential(Linear(i, o), ReLU(), Linear(o, o)))),
}


def twins(name: str, batch: GraphBatch) -> tuple[torch.nn.Module, torch.nn.Module, Tensor, GraphTensors, Tensor]:
    torch.manual_seed(1)
    ours, theirs = PAIRS[name][0](5, 7), PAIRS[name][1](5, 7)
    ours.load_state_dict(theirs.state_dict())
    with torch.no_grad():
        for bias in (p for n, p in ours.named_parameters() if n.endswith("bias")):
            bias.uniform_(-1, 1)  # PyG starts some at 0, which would hide a mistake
    theirs.load_state_dict(ours.state_dict())
    return ours, theirs, torch.randn(len(batch.labels), 5), GraphTensors.from_batch(batch), _edge_index(batch)


def _edge_index(batch: GraphBatch) -> Tensor:
    return torch.from_numpy(batch.edge_index())


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("seed", range(3))
def test_output_equals_pyg(name: str, seed: int) -> None:
    ours, theirs, x, graphs, edge_index = twins(name, random_batch(seed))
    expected = theirs(x, edge_index)
    torch.testing.assert_close(ours(x, graphs), expected, atol=1e-5, rtol=1e-5)
    with torch.no_grad():  # the compiled path
        torch.testing.assert_close(ours(x, graphs), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", PAIRS)
def test_gradients_equal_pyg(name: str) -> None:
    ours, theirs, x, graphs, edge_index = twins(name, random_batch(4))
    weight = torch.randn(len(x), 7)
    gradients = []
    for output, module in ((ours(x.requires_grad_(), graphs), ours), (theirs(x, edge_index), theirs)):
        named = dict(module.named_parameters())
        found = torch.autograd.grad((output * weight).sum(), [x, *named.values()])
        gradients.append(dict(zip(["x", *named], found, strict=True)))
    assert gradients[0].keys() == gradients[1].keys()
    for key, gradient in gradients[0].items():
        torch.testing.assert_close(gradient, gradients[1][key], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", PAIRS)
def test_graph_without_edges(name: str) -> None:
    ours, theirs, x, graphs, edge_index = twins(name, GraphBatch.from_graphs([Graph([0, 1], []), Graph([2], [])]))
    torch.testing.assert_close(ours(x, graphs), theirs(x, edge_index), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", PAIRS)
def test_directed_edges_in_any_order_mean_what_they_mean_to_pyg(name: str) -> None:
    ours, theirs, x, _, _ = twins(name, GraphBatch.from_graphs([Graph([0] * 4, [])]))
    edge_index = torch.tensor([[3, 0, 1, 0, 2], [0, 1, 2, 2, 0]])
    graphs = from_edge_index(edge_index, 4)
    torch.testing.assert_close(ours(x, graphs), theirs(x, edge_index), atol=1e-5, rtol=1e-5)


def test_gcn_by_hand() -> None:
    conv = GCNConv(1, 1)
    with torch.no_grad():
        conv.lin.weight.fill_(2.0)
        conv.bias.fill_(0.5)
    graphs = GraphTensors.from_batch(GraphBatch.from_graphs([Graph([0, 0], [(0, 1)])]))
    # Both nodes have degree 2 with their self-loop: (1 + 3) / 2 * 2 + 0.5.
    assert conv(torch.tensor([[1.0], [3.0]]), graphs).flatten().tolist() == pytest.approx([4.5, 4.5])
