"""A mean pool instead of the maximum: what the linear layer sees, and that a trained model is kept."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import torch

from comrecgc.data.planted import load_planted
from comrecgc.graphs import GraphBatch
from comrecgc.models import ClassifierTraining, predict
from comrecgc.models.networks import GraphTensors
from comrecgc_reproduction.mean_pool import MeanPooled, obtain_mean_pooled


def test_the_linear_layer_sees_the_mean_of_each_graph() -> None:
    dataset = load_planted(num_graphs=20)
    model = MeanPooled("sage", dataset.features).eval()
    some = GraphBatch.from_graphs(dataset.graphs[:5])
    graphs = GraphTensors.from_batch(some, model.device)
    x = model.features[graphs.labels]
    with torch.no_grad():
        states = model.node_states(x, graphs)
        means = [states[begin:end].mean(dim=0) for begin, end in itertools.pairwise(some.node_ptr.tolist())]
        expected = model.fc(torch.stack(means))
        np.testing.assert_allclose(model.logits(x, graphs), expected, atol=1e-5)


def test_training_learns_and_is_kept(tmp_path: Path) -> None:
    dataset, path = load_planted(num_graphs=200), tmp_path / "models" / "classifier.safetensors"
    training = ClassifierTraining(model="gin", epochs=12, batch_size=32, learning_rate=0.01)
    model = obtain_mean_pooled(dataset, training, path)
    found = predict(model, dataset)
    assert (found.accepted == dataset.classes).mean() > 0.75
    again = obtain_mean_pooled(dataset, ClassifierTraining(model="gin", epochs=1), path)
    np.testing.assert_array_equal(predict(again, dataset).probability, found.probability)
