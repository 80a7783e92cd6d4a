from __future__ import annotations

import numpy as np
import pytest
import torch

from comrecgc.algorithms.baselines.edge_masks import CFF
from comrecgc.algorithms.registry import algorithm_of
from comrecgc.errors import InputError
from comrecgc.graphs import Graph
from comrecgc.run import reproducible
from tests.algorithms.baselines.networks import block_of, dense, log_probabilities, random_graphs, rows_of, subject
from tests.algorithms.baselines.subjects import small_subject


@pytest.mark.parametrize(("weight", "factual", "hinge"), [(20.0, 0.0, 0.5), (7.0, 0.6, 0.2)])
def test_the_loss_and_its_gradient_are_those_of_the_paper(weight: float, factual: float, hinge: float) -> None:
    """Written once more for one graph at a time: a dense mask, both hinges, every directed edge counted."""
    cff = CFF(weight=weight, factual=factual, hinge=hinge)
    graphs = random_graphs(8)
    block = block_of(graphs)
    mask = torch.rand(
        sum(graph.num_edges for graph in graphs), dtype=torch.float64, generator=torch.Generator().manual_seed(0)
    ).requires_grad_()
    losses = cff.loss(block.graphs, mask)
    (gradient,) = torch.autograd.grad(losses.sum(), mask)
    expected = []
    for graph, part in zip(graphs, torch.split(mask, [graph.num_edges for graph in graphs]), strict=True):
        m, ones = dense(graph, part), dense(graph, torch.ones(graph.num_edges, dtype=torch.float64))
        kept, left = (log_probabilities(graph, matrix)[0].exp() for matrix in (m, ones - m))
        keeps = torch.clamp(hinge + 0.5 - kept, min=0)
        crosses = torch.clamp(hinge - (0.5 - left), min=0)
        expected.append(m.sum() + weight * (factual * keeps + (1 - factual) * crosses))
    assert torch.allclose(losses, torch.stack(expected), atol=1e-12)
    (theirs,) = torch.autograd.grad(torch.stack(expected).sum(), mask)
    assert torch.allclose(gradient, theirs, atol=1e-12)


@reproducible()
def test_masks_of_many_graphs_are_those_of_each_alone() -> None:
    cff, graphs = CFF(epochs=60), random_graphs(12)
    together = cff.remove(block_of(graphs))
    alone = [cff.remove(block_of([graph], first=place)) for place, graph in enumerate(graphs)]
    assert together is not None
    assert np.array_equal(together, np.concatenate([part for part in alone if part is not None]))
    assert 0 < together.sum() < len(together)


def test_flips_are_real_and_few_edges_go() -> None:
    given = subject()
    found = CFF(epochs=80).run(given, np.random.default_rng(0))
    assert found.complete
    assert len(found) > len(given.inputs) / 4
    for each in found.found:
        assert each.input is not None
        graph = given.inputs[each.input]
        assert each.graph.num_nodes == graph.num_nodes
        assert np.array_equal(each.graph.labels, graph.labels)
        assert each.graph.num_edges == graph.num_edges - len(each.path) < graph.num_edges
        matrix = dense(each.graph, torch.ones(each.graph.num_edges, dtype=torch.float64))
        accepted = log_probabilities(each.graph, matrix)[1].exp().item()
        assert accepted > 0.5
        assert each.probability == pytest.approx(accepted, abs=1e-9)


def test_same_seed_same_answer() -> None:
    cff = CFF(epochs=40)
    runs = [rows_of(cff.run(subject(), np.random.default_rng(seed))) for seed in (3, 3, 4)]
    assert runs[0] == runs[1]
    assert runs[0]


def test_dear_edges_stay() -> None:
    assert len(CFF(weight=1e-3, epochs=80).run(subject(), np.random.default_rng(0))) == 0


def test_graphs_without_edges_have_no_counterfactual() -> None:
    given = subject()
    bare = [Graph([label], []) for label in range(3)]
    only = type(given)(scorer=given.scorer, inputs=bare, graphs=bare)
    found = CFF(epochs=3).run(only, np.random.default_rng(0))
    assert found.complete
    assert len(found) == 0
    assert len(CFF(epochs=3).run(type(given)(scorer=given.scorer, inputs=[], graphs=[]), np.random.default_rng(0))) == 0


def test_a_function_has_no_gradients() -> None:
    with pytest.raises(InputError, match="takes edge_weight"):
        CFF().run(small_subject(), np.random.default_rng(0))


@pytest.mark.parametrize(
    "options", [{"weight": 0}, {"factual": 1.0}, {"hinge": 0.6}, {"epochs": 0}, {"learning_rate": -1.0}]
)
def test_options_are_checked(options: dict[str, float]) -> None:
    with pytest.raises(InputError, match=next(iter(options))):
        algorithm_of("cff", options)
