"""Tests of comrecgc.models.adapter: the check before a search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GATv2Conv, GCNConv, GINEConv, GPSConv, global_add_pool
from torch_geometric.transforms import AddRandomWalkPE, VirtualNode
from torch_geometric.utils import to_undirected

from comrecgc.data import from_pyg
from comrecgc.errors import InputError
from comrecgc.graphs import Edit, EditKind, GraphBatch, apply_edit
from comrecgc.models import as_classifier, check_own_data

NUM = 30


def graph(seed: int, *, directed: bool = False, **more: Any) -> Data:
    """A tree of nodes of three kinds with numbers, and edges with kinds and weights."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 9))
    tree = torch.tensor([[int(rng.integers(node)), node] for node in range(1, n)]).T
    edge_index = tree if directed else to_undirected(tree)
    m = edge_index.shape[1]
    low, high = edge_index.min(dim=0).values, edge_index.max(dim=0).values
    kinds = torch.eye(3)[torch.tensor(rng.integers(0, 3, n))]
    parts = {
        "x": torch.cat([kinds, torch.tensor(rng.normal(size=(n, 2)), dtype=torch.float32)], dim=1),
        "edge_index": edge_index,
        "edge_attr": torch.eye(2)[(low + high) % 2],
        "edge_weight": torch.tensor(rng.uniform(0.2, 2, m), dtype=torch.float32),
        "y": torch.tensor([seed % 2]),
    }
    return Data(**parts | more)


GRAPHS = [graph(seed) for seed in range(NUM)]


class Weighted(nn.Module):
    """Two weighted convolutions and a sum; subclasses differ in how they are called."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.conv, self.last = GCNConv(5, 8), nn.Linear(8, 2)

    def scores(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None, batch: Tensor | None) -> Tensor:
        h = self.conv(x, edge_index, edge_weight).relu()
        return self.last(global_add_pool(self.conv.bias + h, batch))  # type: ignore[no-any-return]


class WeightBeforeBatch(Weighted):
    def forward(self, x, edge_index, edge_weight=None, batch=None):  # type: ignore[no-untyped-def]
        return self.scores(x, edge_index, edge_weight, batch)


class WeightAfterBatch(Weighted):
    def forward(self, x, edge_index, batch, edge_weight=None):  # type: ignore[no-untyped-def]
        return self.scores(x, edge_index, edge_weight, batch)


class WeightAndAttr(Weighted):
    def forward(self, x, edge_index, edge_attr, edge_weight, batch):  # type: ignore[no-untyped-def]
        return self.scores(x, edge_index, edge_weight * (1 + edge_attr[:, 0]), batch)


class OfData(Weighted):
    def forward(self, data: Batch) -> Tensor:
        return self.scores(data.x, data.edge_index, data.edge_weight, data.batch)


CALLS: dict[type[Weighted], Callable[[Any, Batch], Tensor]] = {
    WeightBeforeBatch: lambda model, b: model(b.x, b.edge_index, b.edge_weight, b.batch),
    WeightAfterBatch: lambda model, b: model(b.x, b.edge_index, b.batch, b.edge_weight),
    WeightAndAttr: lambda model, b: model(b.x, b.edge_index, b.edge_attr, b.edge_weight, b.batch),
    OfData: lambda model, b: model(b),
}


@pytest.mark.parametrize("kind", list(CALLS))
def test_weights_reach_the_model_however_it_is_called(kind: type[Weighted]) -> None:
    model, dataset = kind().eval(), from_pyg(GRAPHS)
    with torch.no_grad():
        expected = CALLS[kind](model, Batch.from_data_list(GRAPHS)).softmax(dim=1)[:, 1].numpy()
    classifier = as_classifier(model, dataset)
    assert np.allclose(classifier.accept_probability(GraphBatch.from_graphs(dataset)), expected, atol=1e-5)
    assert check_own_data(classifier, dataset) == []


class GINE(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(2)
        self.conv = GINEConv(nn.Linear(5, 8), edge_dim=2)
        self.norm, self.last = nn.BatchNorm1d(8), nn.Linear(8, 2)

    def forward(self, x, edge_index, edge_attr, batch):  # type: ignore[no-untyped-def]
        return self.last(global_add_pool(self.norm(self.conv(x, edge_index, edge_attr)).relu(), batch))


class GATv2(GINE):
    def __init__(self) -> None:
        super().__init__()
        self.conv = GATv2Conv(5, 8, edge_dim=2, dropout=0.5)


@pytest.mark.parametrize("model", [GINE(), GATv2()])
def test_a_changed_graph_is_the_users_own_graph_changed(model: nn.Module) -> None:
    dataset = from_pyg(GRAPHS)
    classifier = as_classifier(model, dataset)
    assert check_own_data(classifier, dataset) == []
    before = GRAPHS[3]
    after = apply_edit(dataset[3].fresh(), Edit(EditKind.REMOVE_EDGE, *dataset[3].edges[0].tolist()))
    i, j = dataset[3].edges[0].tolist()
    kept = [k for k, pair in enumerate(before.edge_index.T.tolist()) if sorted(pair) != [i, j]]
    by_hand = Data(x=before.x, edge_index=before.edge_index[:, kept], edge_attr=before.edge_attr[kept])
    with torch.no_grad():
        b = Batch.from_data_list([by_hand])
        expected = model.eval()(b.x, b.edge_index, b.edge_attr, b.batch).softmax(dim=1)[0, 1]
    assert classifier.accept_probability(GraphBatch.from_graphs([after]))[0] == pytest.approx(float(expected), abs=1e-5)


class GPS(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.first, self.conv = nn.Linear(8, 8), GPSConv(8, GCNConv(8, 8), heads=2)
        self.last = nn.Linear(8, 2)

    def forward(self, x, pe, edge_index, batch):  # type: ignore[no-untyped-def]
        return self.last(global_add_pool(self.conv(self.first(torch.cat([x, pe], 1)), edge_index, batch), batch))


def test_positional_encodings_are_passed_and_computed_anew() -> None:
    plain = [graph(seed, edge_weight=None) for seed in range(NUM)]
    encode = AddRandomWalkPE(3, attr_name="pe")
    dataset = from_pyg(plain, transform=encode)
    model = GPS().eval()
    classifier = as_classifier(model, dataset)
    assert check_own_data(classifier, dataset) == []
    with torch.no_grad():
        b = Batch.from_data_list([encode(one) for one in plain])
        expected = model(b.x, b.pe, b.edge_index, b.batch).softmax(dim=1)[:, 1].numpy()
    assert np.allclose(classifier.accept_probability(GraphBatch.from_graphs(dataset)), expected, atol=1e-5)
    kept = from_pyg([encode(one) for one in plain])  # without a transform they stay as they are
    assert check_own_data(as_classifier(model, kept), kept) == []


def test_a_virtual_node_is_no_node_of_the_graph() -> None:
    dataset = from_pyg([graph(seed, edge_weight=None) for seed in range(NUM)], transform=VirtualNode())

    class Counts(nn.Module):
        def forward(self, data: Batch) -> Tensor:
            size = torch.bincount(data.batch).float()
            return torch.stack([size, torch.full_like(size, 7.5)], dim=1)

    classifier = as_classifier(Counts(), dataset)
    accepted = classifier.accept_probability(GraphBatch.from_graphs(dataset)) > 0.5
    assert accepted.tolist() == [one.num_nodes + 1 < 7.5 for one in dataset]


def test_directions_that_the_model_reads_stop_the_run_with_the_reason() -> None:
    graphs = [graph(seed, directed=True) for seed in range(NUM)]
    dataset = from_pyg(graphs)
    classifier = as_classifier(WeightBeforeBatch(), dataset)
    with pytest.raises(InputError, match="one way were taken as undirected"):
        check_own_data(classifier, dataset)
    (warning,) = check_own_data(classifier, dataset, strict=False)
    assert "30" in warning


def test_edges_listed_twice_are_the_reason() -> None:
    graphs = []
    for one in GRAPHS:
        twice = one.clone()
        for key in ("edge_index", "edge_attr", "edge_weight"):
            twice[key] = torch.cat([one[key], one[key]], dim=-1 if key == "edge_index" else 0)
        graphs.append(twice)
    dataset = from_pyg(graphs)
    with pytest.raises(InputError, match="listed twice were merged"):
        check_own_data(as_classifier(WeightBeforeBatch(), dataset), dataset)


def test_a_tensor_that_was_left_out_is_the_reason() -> None:
    graphs = [graph(seed, odd=torch.full((seed % 4 + 1,), float(seed))) for seed in range(NUM)]

    class Odd(nn.Module):
        def forward(self, data: Batch) -> Tensor:
            size = torch.bincount(data.batch).float()
            return torch.stack([size, 6 + 0 * size + ("odd" in data)], dim=1)

    dataset = from_pyg(graphs)
    with pytest.raises(InputError, match="odd was left out"):
        check_own_data(as_classifier(Odd(), dataset), dataset)


def test_a_random_model_is_called_random() -> None:
    class MonteCarlo(Weighted):
        def forward(self, x, edge_index, batch):  # type: ignore[no-untyped-def]
            return self.scores(nn.functional.dropout(x, 0.5, training=True), edge_index, None, batch)

    dataset = from_pyg(GRAPHS)
    classifier = as_classifier(MonteCarlo(), dataset)
    with pytest.raises(InputError, match="is random"):
        check_own_data(classifier, dataset)
    assert "random" in check_own_data(classifier, dataset, strict=False)[0]


def test_an_answer_that_depends_on_the_batch_is_found() -> None:
    class Pooled(Weighted):
        def forward(self, x, edge_index, batch):  # type: ignore[no-untyped-def]
            return self.scores(x - x.mean(dim=0), edge_index, None, batch)

    dataset = from_pyg(GRAPHS)
    with pytest.raises(InputError, match="other graphs of a batch"):
        check_own_data(as_classifier(Pooled(), dataset), dataset)


def test_a_class_is_no_model() -> None:
    with pytest.raises(InputError, match=r"must be an instance, as GINE\(…\)"):
        as_classifier(GINE, from_pyg(GRAPHS))
