from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from comrecgc.classifiers import GraphClassifier, load_classifier, predict
from comrecgc.classifiers.model import ARCHITECTURES
from comrecgc.datasets import load_dataset
from comrecgc.errors import InputError
from comrecgc.graphs import Graph, GraphBatch
from tests.classifiers.data import random_batch

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
    monkeypatch.setattr("comrecgc.classifiers.model.CHUNK_NODES", 10)
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
