from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from comrecgc.algorithms.baselines.edge_masks import NETWORK, EdgeScorer, RCExplainer, removed_until_accepted
from comrecgc.algorithms.registry import algorithm_of
from comrecgc.errors import InputError
from comrecgc.graphs import Edit, EditKind, apply_path
from comrecgc.run import RunContext, reproducible
from tests.algorithms.baselines.networks import (
    block_of,
    dense,
    log_probabilities,
    network,
    random_graphs,
    rows_of,
    subject,
)
from tests.algorithms.baselines.subjects import small_subject


@pytest.mark.parametrize("explainer", [RCExplainer(), RCExplainer(factual=0.2, sparsity=0.03, entropy=0.8)])
def test_the_loss_and_its_gradient_are_those_of_the_paper(explainer: RCExplainer) -> None:
    """Written once more for one graph at a time, with the one hyperplane of a linear head."""
    graphs = random_graphs(8)
    counts = [graph.num_edges for graph in graphs]
    mask = torch.rand(sum(counts), dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    ones = torch.ones(sum(counts), dtype=torch.float64)
    block = block_of(graphs)
    margins = block.graphs.margin(ones).detach()
    losses = explainer.loss(block.graphs, margins, mask)
    expected = []
    for graph, part in zip(graphs, torch.split(mask, counts), strict=True):
        m, a = dense(graph, part), dense(graph, torch.ones(graph.num_edges, dtype=torch.float64))
        whole, alone, rest = (log_probabilities(graph, matrix).diff()[0] for matrix in (a, m, a - m))
        soft = 0.99 * part + 0.005
        entropy = -(soft * soft.log() + (1 - soft) * (1 - soft).log()).mean()
        stays, crosses = 1 / (1 + torch.exp(whole.detach() * alone)), 1 / (1 + torch.exp(-whole.detach() * rest))
        loss = explainer.factual * stays + (1 - explainer.factual) * crosses
        expected.append(loss + explainer.sparsity * m.sum() + explainer.entropy * entropy)
    assert torch.allclose(losses, torch.stack(expected), atol=1e-12)
    ours, theirs = (torch.autograd.grad(each.sum(), mask)[0] for each in (losses, torch.stack(expected)))
    assert torch.allclose(ours, theirs, atol=1e-12)


def test_an_edge_is_scored_from_the_states_of_its_ends() -> None:
    scorer = EdgeScorer.drawn(4, np.random.default_rng(0), torch.float64)
    states, edges = torch.randn(5, 4, dtype=torch.float64), torch.tensor([[0, 1], [3, 2]])
    scores = scorer(states, edges)
    for place, (i, j) in enumerate(edges.tolist()):
        for direction, ends in enumerate(([i, j], [j, i])):
            hidden = torch.relu(states[ends].ravel() @ scorer.first + scorer.first_bias)
            assert torch.allclose(scores[direction, place], hidden @ scorer.second + scorer.second_bias)


@reproducible()
def test_edges_go_by_decreasing_mask_until_the_first_flip() -> None:
    graphs = list(subject().inputs)
    block = block_of(graphs)
    mask = torch.rand(len(block.graphs.batch.edges), generator=torch.Generator().manual_seed(2))
    removed = removed_until_accepted(network(), block, mask)
    assert removed is not None
    num_flipped = 0
    for graph, part, m in zip(
        graphs,
        np.split(removed, block.graphs.batch.edge_ptr[1:-1]),
        np.split(mask.numpy(), block.graphs.batch.edge_ptr[1:-1]),
        strict=True,
    ):
        gone, edited = np.zeros(graph.num_edges, dtype=bool), graph
        for edge in np.argsort(-m, kind="stable"):
            i, j = graph.edges[edge].tolist()
            edited = apply_path(edited, (Edit(EditKind.REMOVE_EDGE, i, j),))
            gone[edge] = True
            matrix = dense(edited, torch.ones(edited.num_edges, dtype=torch.float64))
            if log_probabilities(edited, matrix)[1].exp().item() > 0.5:
                num_flipped += 1
                break
        else:
            gone[:] = False
        assert np.array_equal(part, gone)
    assert num_flipped > 0


def test_training_lowers_the_loss_and_answers_depend_on_the_seed_alone() -> None:
    given, seen = subject(), list[str]()
    explainer = RCExplainer(epochs=6, learning_rate=0.01, batch_size=8)

    def watch(what: str, _: int, __: int, word: str) -> None:
        if what == "training":
            seen.append(word)

    found = explainer.run(given, np.random.default_rng(0), RunContext(progress=watch))
    losses = [float(word.split()[-1]) for word in seen]
    assert losses[-1] < losses[0]
    assert len(found) > len(given.inputs) / 4
    assert rows_of(found) == rows_of(explainer.run(given, np.random.default_rng(0)))


def test_a_run_goes_on_with_the_network_it_trained(tmp_path: Path) -> None:
    given, explainer = subject(), RCExplainer(epochs=2)
    whole = explainer.run(given, np.random.default_rng(0), RunContext(checkpoint=tmp_path))
    (tmp_path / "baseline.npz").unlink()
    trained: list[str] = []
    again = explainer.run(
        given,
        np.random.default_rng(0),
        RunContext(checkpoint=tmp_path, resume=True, progress=lambda what, *_: trained.append(what)),
    )
    assert rows_of(again) == rows_of(whole)
    assert "training" not in trained
    with pytest.raises(InputError, match="other parameters"):
        RCExplainer(epochs=3).run(given, np.random.default_rng(0), RunContext(checkpoint=tmp_path, resume=True))
    (tmp_path / NETWORK).write_bytes(b"no archive")
    with pytest.raises(InputError, match="damaged"):
        explainer.run(given, np.random.default_rng(0), RunContext(checkpoint=tmp_path, resume=True))


def test_no_time_is_an_incomplete_answer() -> None:
    found = RCExplainer().run(subject(), np.random.default_rng(0), RunContext(time_budget=1e-9))
    assert not found.complete
    assert len(found) == 0


def test_graphs_without_edges_have_no_counterfactual() -> None:
    given = subject()
    bare = [type(given.inputs[0])([label], []) for label in range(3)]
    found = RCExplainer().run(type(given)(scorer=given.scorer, inputs=bare, graphs=bare), np.random.default_rng(0))
    assert found.complete
    assert len(found) == 0


def test_a_function_has_no_gradients() -> None:
    with pytest.raises(InputError, match="takes edge_weight"):
        RCExplainer().run(small_subject(), np.random.default_rng(0))


@pytest.mark.parametrize("options", [{"factual": 1.0}, {"sparsity": -1.0}, {"epochs": 0}, {"learning_rate": 0.0}])
def test_options_are_checked(options: dict[str, float]) -> None:
    with pytest.raises(InputError, match=next(iter(options))):
        algorithm_of("rcexplainer", options)
