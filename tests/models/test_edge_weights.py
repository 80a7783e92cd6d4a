from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from comrecgc.errors import InputError
from comrecgc.graphs import Graph, GraphBatch
from comrecgc.models import ARCHITECTURES, GraphClassifier, as_classifier, check_edge_weights, weighted_graphs
from comrecgc.models.classifier import ScoreReading
from tests.models.data import Stranger, marked_dataset, random_batch

DATASET = marked_dataset()


def network(architecture: str, seed: int = 0) -> GraphClassifier:
    """A network in double precision, its norms not those of a new one."""
    torch.manual_seed(seed)
    model = GraphClassifier(architecture, 3, hidden=6).double()
    norms: Any = model.bns
    for norm in norms:
        norm.running_mean.uniform_(-0.3, 0.3)
        norm.running_var.uniform_(0.5, 2)
    return model.eval()


def dense_margin(model: GraphClassifier, batch: GraphBatch, place: int, weights: Tensor) -> Tensor:
    """Log-odds of one graph from a dense matrix of weights, written from the papers of the four convolutions.

    Args:
        model: The network.
        batch: The graphs.
        place: Which one.
        weights: Weight of each edge of the batch, `[M]`.
    """
    nodes = slice(batch.node_ptr[place], batch.node_ptr[place + 1])
    edges = slice(batch.edge_ptr[place], batch.edge_ptr[place + 1])
    n = nodes.stop - nodes.start
    i, j = torch.from_numpy(batch.edges[edges] - nodes.start).T
    a = torch.zeros(n, n, dtype=weights.dtype).index_put((i, j), weights[edges]).index_put((j, i), weights[edges])
    x = torch.eye(3, dtype=weights.dtype)[torch.from_numpy(batch.labels[nodes].astype(np.int64))]
    one = torch.eye(n, dtype=weights.dtype)
    layers: Any = zip(model.convs, model.bns, strict=True)
    for conv, norm in layers:
        if model.architecture == "gcn":
            loops = a + one
            scale = torch.diag(loops.sum(1) ** -0.5)
            x = scale @ loops @ scale @ x @ conv.lin.weight.T + conv.bias
        elif model.architecture == "gin":
            x = conv.nn((a + (1 + conv.eps) * one) @ x)
        elif model.architecture == "sage":
            mean = a @ x / a.sum(1, keepdim=True).clamp(min=1)
            x = mean @ conv.lin_l.weight.T + conv.lin_l.bias + x @ conv.lin_r.weight.T
        else:
            x = x @ conv.lin.weight.T
            scores = (x @ conv.att_src[0, 0])[None, :] + (x @ conv.att_dst[0, 0])[:, None]
            attention = (a + one) * torch.exp(torch.where(scores > 0, scores, 0.2 * scores))
            x = attention / attention.sum(1, keepdim=True) @ x + conv.bias
        x = (x - norm.running_mean) / (norm.running_var + norm.eps).sqrt() * norm.weight + norm.bias
        x = torch.relu(x)
    logits = model.fc(x.max(0).values)
    return logits[1] - logits[0]  # type: ignore[no-any-return]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_margins_and_their_gradients_are_those_of_a_dense_network(architecture: str) -> None:
    model, batch = network(architecture), random_batch(1)
    rng = np.random.default_rng(0)
    weights = torch.from_numpy(rng.uniform(0, 1, len(batch.edges))).requires_grad_()
    margins = weighted_graphs(model, batch).margin(weights)
    factors = torch.from_numpy(rng.normal(size=len(batch)))
    (gradient,) = torch.autograd.grad((margins * factors).sum(), weights)
    dense = torch.stack([dense_margin(model, batch, place, weights) for place in range(len(batch))])
    (expected,) = torch.autograd.grad((dense * factors).sum(), weights)
    assert torch.allclose(margins, dense, atol=1e-12)
    assert torch.allclose(gradient, expected, atol=1e-12)
    assert gradient.abs().max() > 1e-4


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_weights_of_1_are_the_plain_pass_and_of_0_an_edge_less(architecture: str) -> None:
    model, batch = network(architecture), random_batch(2)
    graphs = weighted_graphs(model, batch)
    with torch.no_grad():
        whole = torch.sigmoid(graphs.margin(torch.ones(len(batch.edges), dtype=torch.float64)))
        kept = np.random.default_rng(0).random(len(batch.edges)) < 0.6
        part = torch.sigmoid(graphs.margin(torch.from_numpy(kept).double()))
    ptr = np.concatenate([[0], np.cumsum(kept)])[batch.edge_ptr]
    fewer = GraphBatch(batch.labels, batch.edges[kept], batch.node_ptr, ptr)
    assert np.allclose(whole.numpy(), model.accept_probability(batch), atol=1e-12)
    assert np.allclose(part.numpy(), model.accept_probability(fewer), atol=1e-12)


def test_gradients_may_stop_at_the_degrees() -> None:
    model, batch = network("gcn"), random_batch(3)
    weights = torch.full((len(batch.edges),), 0.7, dtype=torch.float64, requires_grad=True)
    graphs = weighted_graphs(model, batch)
    both = [graphs.margin(weights, degrees_follow=follow) for follow in (True, False)]
    assert torch.equal(both[0], both[1])
    gradients = [torch.autograd.grad(margin.sum(), weights)[0] for margin in both]
    assert not torch.allclose(gradients[0], gradients[1])


def test_nodes_that_tie_share_the_gradient() -> None:
    """All edges of a star are the same, so are their gradients, at all weights 1."""
    model, batch = network("gcn"), GraphBatch.from_graphs([Graph([0, 1, 1, 1], [[0, 1], [0, 2], [0, 3]])])
    weights = torch.ones(3, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(weighted_graphs(model, batch).margin(weights).sum(), weights)
    assert torch.allclose(gradient, gradient[0].expand(3), atol=1e-12)
    assert gradient.abs().max() > 1e-4


def test_a_model_in_training_mode_stays_in_it_and_keeps_its_moments() -> None:
    model = network("gcn").train()
    before = copy.deepcopy(model.state_dict())
    weights = torch.ones(len(random_batch(1).edges), dtype=torch.float64, requires_grad=True)
    weighted_graphs(model, random_batch(1)).margin(weights).sum().backward()  # type: ignore[no-untyped-call]
    assert model.training
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


class FromData(Stranger):
    def forward(self, data: Any) -> Tensor:  # type: ignore[override]
        return super().forward(data.x, data.edge_index, data.batch, data.get("edge_weight"))


class Deaf(Stranger):
    """Takes the weights and forgets them."""

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor, edge_weight: Tensor | None = None) -> Tensor:  # noqa: ARG002
        return super().forward(x, edge_index, batch)


class Doubling(Stranger):
    """For it no weights are not weights of 1."""

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        return super().forward(x, edge_index, batch, None if edge_weight is None else 2 * edge_weight)


class Plain(Stranger):
    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:  # type: ignore[override]
        return super().forward(x, edge_index, batch)


@pytest.mark.parametrize("model", [Stranger(), FromData()])
def test_a_pyg_model_with_edge_weights(model: Stranger) -> None:
    classifier, batch = as_classifier(model, DATASET), GraphBatch.from_graphs(DATASET)
    check_edge_weights(classifier, batch)
    graphs = weighted_graphs(classifier, batch)
    weights = torch.rand(len(batch.edges), requires_grad=True)
    margin = graphs.margin(weights)
    x, ends = torch.eye(3)[torch.from_numpy(batch.labels.astype(np.int64))], torch.from_numpy(batch.edge_index())
    owners = torch.from_numpy(batch.graph_of_node())
    logits = Stranger.forward(model, x, ends, owners, torch.cat([weights, weights]))
    assert torch.allclose(margin, logits[:, 1] - logits[:, 0], atol=1e-5)
    assert torch.allclose(graphs.node_states(), model.conv(x, ends), atol=1e-5)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda graphs: [[0.2, 0.8] for _ in graphs], "takes edge_weight"),
        (Plain(), "takes edge_weight"),
        (Deaf(), "do not depend on it"),
        (Doubling(), "weights of 1 as without"),
    ],
)
def test_models_that_cannot_be_masked_are_one_line(model: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        check_edge_weights(as_classifier(model, DATASET), GraphBatch.from_graphs(DATASET))
    assert "\n" not in str(error.value)


def test_node_states_need_one_linear_layer_after_pooling() -> None:
    classifier = as_classifier(Stranger(deep=True), DATASET)
    with pytest.raises(InputError, match="got 2 linear layers"):
        weighted_graphs(classifier, GraphBatch.from_graphs(DATASET)).node_states()


def test_log_odds_of_whatever_a_model_answers() -> None:
    raw = torch.tensor([[0.3, -1.2, 2.0], [0.0, 0.5, -0.5]], dtype=torch.float64)
    probs = torch.softmax(raw, dim=1)
    expected = torch.log(probs[:, 1] / (1 - probs[:, 1]))
    for scores, kind in ((raw, "raw"), (probs, "probs"), (probs.log(), "log_probs")):
        assert torch.allclose(
            ScoreReading(return_type=kind, target_class=1, decision="rest").log_odds(scores), expected
        )
    single = torch.tensor([[0.2], [0.9]], dtype=torch.float64)
    odds = torch.log(single[:, 0] / (1 - single[:, 0]))
    assert torch.allclose(ScoreReading(return_type="probs", target_class=1, decision="rest").log_odds(single), odds)
    assert torch.allclose(
        ScoreReading(return_type="log_probs", target_class=0, decision="rest").log_odds(single.log()), -odds
    )
    assert torch.allclose(
        ScoreReading(return_type="raw", target_class=0, decision="rest").log_odds(single), -single[:, 0]
    )
