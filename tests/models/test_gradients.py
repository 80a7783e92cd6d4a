from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from comrecgc.graphs import Graph, GraphBatch
from comrecgc.models import ARCHITECTURES, GraphClassifier
from comrecgc.models.gradients import Backprop, ColouredGraphs
from comrecgc.models.networks import GraphTensors
from tests.models.data import random_batch


def fresh_model(architecture: str, num_labels: int = 3) -> GraphClassifier:
    torch.manual_seed(2)
    model = GraphClassifier(architecture, num_labels, hidden=6)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)  # no parameter keeps a special value such as 0 or 1
    return model


def by_autograd(model: GraphClassifier, batch: GraphBatch, targets: np.ndarray) -> tuple[GraphClassifier, float]:
    """A double precision copy of the model after a forward and backward pass by torch over plain nodes."""
    twin = copy.deepcopy(model).double().train()
    graphs = GraphTensors.from_batch(batch)
    loss = F.cross_entropy(twin.logits(twin.features[graphs.labels], graphs), torch.from_numpy(targets))
    loss.backward()  # type: ignore[no-untyped-call]
    return twin, loss.item()


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("seed", [0, 1])
def test_loss_and_gradient_equal_autograd(architecture: str, seed: int) -> None:
    batch = random_batch(seed, count=30)
    targets = np.random.default_rng(seed).integers(0, 2, len(batch))
    model = fresh_model(architecture)
    twin, expected = by_autograd(model, batch, targets)
    graphs = ColouredGraphs(batch, 3)
    backprop = Backprop(model, graphs.max_degree)
    loss = backprop.loss(graphs.select(np.arange(len(batch))), targets)
    assert loss == pytest.approx(expected, rel=1e-5)
    gradient = np.concatenate([p.grad.numpy().ravel() for p in twin.parameters() if p.grad is not None])
    np.testing.assert_allclose(backprop.gradient, gradient, atol=2e-5 * np.abs(gradient).max())
    for (name, ours), theirs in zip(model.named_buffers(), twin.buffers(), strict=True):
        if "running" in name:
            np.testing.assert_allclose(ours.numpy(), theirs.numpy(), atol=1e-5)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_evaluation_equals_the_model(architecture: str) -> None:
    batch = random_batch(3)
    model = fresh_model(architecture)
    graphs = ColouredGraphs(batch, 3)
    backprop = Backprop(model, graphs.max_degree)
    states = graphs.select(np.arange(len(batch)))
    backprop.loss(states, np.zeros(len(batch), dtype=np.int64))  # moves the running moments away from 0 and 1
    backprop.parameters += 0.05  # and the model follows its flat vector
    tensors = GraphTensors.from_batch(batch)
    with torch.no_grad():
        expected = model.eval().logits(model.features[tensors.labels], tensors)
    np.testing.assert_allclose(backprop.logits(states), expected.numpy(), atol=1e-5)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_single_node_has_a_finite_loss(architecture: str) -> None:
    graphs = ColouredGraphs(GraphBatch.from_graphs([Graph([0], [])]), 3)
    backprop = Backprop(fresh_model(architecture), graphs.max_degree)
    assert np.isfinite(backprop.loss(graphs.select(np.array([0])), np.array([1])))
    assert np.isfinite(backprop.gradient).all()
