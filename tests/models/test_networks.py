from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import Linear, ReLU, Sequential
from torch_geometric.nn import conv as pyg

from comrecgc.data import load_dataset
from comrecgc.errors import InputError
from comrecgc.graphs import Graph, GraphBatch
from comrecgc.models import ARCHITECTURES, GraphClassifier, load_classifier, predict
from comrecgc.models.networks import (
    GATConv,
    GCNConv,
    GINConv,
    GraphTensors,
    SAGEConv,
    attend,
    from_edge_index,
    pool_max,
    propagate,
)
from tests.models.data import random_batch

REJECTS = {"nci1": 1971, "mutagenicity": 2438, "aids": 1473, "proteins": 366}


@pytest.mark.parametrize("name", REJECTS)
def test_released_gcn_predicts_the_released_classes(name: str, data_root: Path, checkpoint_root: Path) -> None:
    model = load_classifier(checkpoint_root / name / "classifier.pth")
    predictions = predict(model, load_dataset(name, root=data_root))
    released = torch.load(checkpoint_root / name / "predictions.pt", map_location="cpu", weights_only=True)
    np.testing.assert_array_equal(predictions.accepted, released.numpy() == 1)
    assert len(predictions.rejects) == REJECTS[name]
    assert predictions.warning is None


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_pyg_call_and_batch_call_agree(architecture: str) -> None:
    batch = random_batch(0)
    model = GraphClassifier(architecture, 3, hidden=5).eval()
    x, edge_index = model.features[torch.from_numpy(batch.labels).long()], torch.from_numpy(batch.edge_index())
    log_probabilities = model(x, edge_index, torch.from_numpy(batch.graph_of_node()))
    assert log_probabilities.shape == (len(batch), 2)
    np.testing.assert_allclose(log_probabilities.exp().sum(dim=1).detach(), 1, atol=1e-5)
    probability = log_probabilities[:, 1].exp().detach().numpy()
    np.testing.assert_allclose(model.accept_probability(batch), probability, atol=1e-5)
    alone = model(x[: batch.node_ptr[1]], torch.from_numpy(batch.select([0]).edge_index()))
    torch.testing.assert_close(alone[0], log_probabilities[0])


def test_answers_are_those_of_evaluation_mode_and_every_mode_is_kept() -> None:
    model, batch = GraphClassifier("gcn", 3), random_batch(1)
    expected = model.eval().accept_probability(batch)
    model.train()
    model.bns[1].eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    np.testing.assert_array_equal(model.accept_probability(batch), expected)
    assert model.training
    assert model.bns[0].training
    assert not model.bns[1].training
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_big_batches_are_answered_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    model, batch = GraphClassifier("gin", 3).eval(), random_batch(2)
    whole = model.accept_probability(batch)
    monkeypatch.setattr("comrecgc.models.networks.CHUNK_NODES", 10)
    assert len(list(batch.chunks(10))) > 3
    np.testing.assert_allclose(model.accept_probability(batch), whole, atol=1e-6)


def test_a_tie_is_a_reject_and_the_smallest_lead_an_accept() -> None:
    model = GraphClassifier("gcn", 1).eval()
    batch = GraphBatch.from_graphs([Graph([0], [])])
    with torch.no_grad():
        model.fc.weight.zero_()
        model.fc.bias.copy_(torch.tensor([3.0, 3.0]))
        assert model.accept_probability(batch).tolist() == [0.5]
        assert predict(model, batch).rejects.tolist() == [0]
        model.fc.bias[1] = torch.nextafter(torch.tensor(3.0), torch.tensor(4.0))
    assert predict(model, batch).accepts.tolist() == [0]


def test_feature_rows_stand_for_labels() -> None:
    table = np.array([[0.5, -1.0], [2.0, 0.0], [0.5, -1.0]], dtype=np.float32)
    model = GraphClassifier("sage", table).eval()
    assert model.num_labels == 3
    batch = GraphBatch.from_graphs([Graph([0, 1], [(0, 1)]), Graph([2, 1], [(0, 1)]), Graph([1, 1], [(0, 1)])])
    first, second, third = model.accept_probability(batch)
    assert first == second != third


def test_no_graphs_have_no_answers() -> None:
    assert GraphClassifier("gcn", 2).accept_probability(GraphBatch.from_graphs([])).shape == (0,)


def test_unknown_labels_and_bad_settings_are_refused() -> None:
    batch = GraphBatch.from_graphs([Graph([4], [])])
    with pytest.raises(InputError, match=r"^The classifier knows node labels 0…2 \(got 4\)$"):
        GraphClassifier("gcn", 3).accept_probability(batch)
    with pytest.raises(InputError, match=r"gcn, gat, sage, gin \(got 'gnn'\)$"):
        GraphClassifier("gnn", 3)
    with pytest.raises(InputError, match=r"^hidden must be at least 1 \(got 0\)$"):
        GraphClassifier("gcn", 3, hidden=0)
    with pytest.raises(InputError, match=r"got shape \(3,\)"):
        GraphClassifier("gcn", np.ones(3, dtype=np.float32))


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
