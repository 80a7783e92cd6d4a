from __future__ import annotations

import numpy as np
import pytest
import torch

from comrecgc.algorithms.baselines.edge_masks import CFGNNExplainer, soft_loss
from comrecgc.algorithms.registry import algorithm_of
from comrecgc.errors import InputError
from comrecgc.graphs import BoolArray, Graph
from comrecgc.run import reproducible
from tests.algorithms.baselines.networks import block_of, dense, log_probabilities, random_graphs, rows_of, subject
from tests.algorithms.baselines.subjects import small_subject


def literal(graph: Graph, explainer: CFGNNExplainer) -> BoolArray:
    """The authors' loop for one graph: torch's optimiser, torch's clipping, the last stored counterfactual."""
    parameters = torch.ones(graph.num_edges, dtype=torch.float64, requires_grad=True)
    nesterov = explainer.momentum > 0
    optimiser = torch.optim.SGD(
        [parameters], lr=explainer.learning_rate, momentum=explainer.momentum, nesterov=nesterov
    )
    stored, best = np.zeros(graph.num_edges, dtype=bool), np.inf
    for _ in range(explainer.iterations):
        optimiser.zero_grad()
        soft = log_probabilities(graph, dense(graph, torch.sigmoid(parameters)), detached=True)
        kept = (torch.sigmoid(parameters) >= 0.5).double()
        hard = log_probabilities(graph, dense(graph, kept))
        rejected = bool(hard[0] >= hard[1])
        loss = rejected * soft[0] + 0.5 * (1 - kept).sum()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_([parameters], explainer.most_gradient)
        optimiser.step()
        if not rejected and loss.item() < best:
            best, stored = loss.item(), (kept == 0).numpy()
    return stored


@pytest.mark.parametrize(
    "explainer",
    [
        CFGNNExplainer(iterations=40, learning_rate=0.5),
        CFGNNExplainer(iterations=40, learning_rate=0.5, most_gradient=0.1),
        CFGNNExplainer(iterations=40, learning_rate=0.05, momentum=0.9),
    ],
)
@reproducible()
def test_many_graphs_at_once_are_the_authors_loop_for_each(explainer: CFGNNExplainer) -> None:
    graphs = list(subject().inputs[:6])
    together = explainer.remove(block_of(graphs))
    assert together is not None
    assert np.array_equal(together, np.concatenate([literal(graph, explainer) for graph in graphs]))
    assert 0 < together.sum() < len(together)


def test_the_soft_loss_and_its_gradient_are_those_of_a_dense_network() -> None:
    graphs = random_graphs(8)
    counts = [graph.num_edges for graph in graphs]
    parameters = torch.randn(sum(counts), dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    parameters.requires_grad_()
    losses = soft_loss(block_of(graphs).graphs, parameters)
    pairs = zip(graphs, torch.split(torch.sigmoid(parameters), counts), strict=True)
    expected = torch.stack([log_probabilities(graph, dense(graph, part), detached=True)[0] for graph, part in pairs])
    assert torch.allclose(losses, expected, atol=1e-12)
    ours, theirs = (torch.autograd.grad(each.sum(), parameters)[0] for each in (losses, expected))
    assert torch.allclose(ours, theirs, atol=1e-12)


def test_flips_are_real_and_nothing_is_random() -> None:
    given = subject()
    explainer = CFGNNExplainer(iterations=80, learning_rate=0.5)
    found = explainer.run(given, np.random.default_rng(0))
    assert len(found) > len(given.inputs) / 4
    for each in found.found:
        assert each.input is not None
        matrix = dense(each.graph, torch.ones(each.graph.num_edges, dtype=torch.float64))
        assert log_probabilities(each.graph, matrix)[1].exp().item() > 0.5
        assert each.graph.num_nodes == given.inputs[each.input].num_nodes
        assert 0 < len(each.path) == given.inputs[each.input].num_edges - each.graph.num_edges
    assert rows_of(found) == rows_of(explainer.run(given, np.random.default_rng(1)))


def test_a_function_has_no_gradients() -> None:
    with pytest.raises(InputError, match="takes edge_weight"):
        CFGNNExplainer().run(small_subject(), np.random.default_rng(0))


@pytest.mark.parametrize(
    "options", [{"iterations": 0}, {"learning_rate": 0.0}, {"momentum": 1.0}, {"most_gradient": 0.0}]
)
def test_options_are_checked(options: dict[str, float]) -> None:
    with pytest.raises(InputError, match=next(iter(options))):
        algorithm_of("cfgnnexplainer", options)
