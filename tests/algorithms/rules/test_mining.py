"""Scores of changed graphs equal a plain forward pass, by every path and with any number of threads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from comrecgc.algorithms.rules import mining
from comrecgc.algorithms.rules.mining import ACCEPTED, NEVER, NOT_ASKED, ChangeScorer, Oracle
from comrecgc.data import GraphDataset
from comrecgc.graphs import Graph, GraphBatch, Rung
from comrecgc.models import GraphClassifier, as_classifier, log_odds
from tests.algorithms.rules import oracles
from tests.stubs import Always, AvoidsLabel

seeds = st.integers(0, 10**6)


@dataclass(frozen=True)
class Hidden:
    """A model that only answers about whole graphs."""

    model: GraphClassifier
    num_labels: int

    def accept_probability(self, batch: GraphBatch) -> npt.NDArray[np.float64]:
        return self.model.accept_probability(batch)


def random_network(architecture: str, rng: np.random.Generator, num_labels: int = 3) -> GraphClassifier:
    """Random weights, and batch norm that does something."""
    torch.manual_seed(int(rng.integers(2**31)))
    model = GraphClassifier(architecture, num_labels, hidden=int(rng.choice([5, 8, 20])))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
        for norm in model.bns:
            norm.running_mean.normal_()  # type: ignore[operator]
            norm.running_var.uniform_(0.3, 3.0)  # type: ignore[operator]
    return model.eval()


def some_workshop(seed: int, rung: Rung, *, edge_labels: bool, jobs: int = 1) -> ChangeScorer:
    rng = np.random.default_rng(seed)
    data = oracles.small_data(rng, edge_labels=edge_labels, num_graphs=10)
    inputs = [oracles.small_graph(rng, edge_labels=edge_labels, most_nodes=9) for _ in range(3)]
    return ChangeScorer(inputs=inputs, vocabulary=oracles.small_vocabulary(data, rung), jobs=jobs)


@pytest.mark.parametrize("architecture", ["gcn", "sage", "gin", "gat"])
@given(seed=seeds)
@settings(max_examples=6, deadline=None)
def test_scores_equal_a_plain_forward_pass(architecture: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    scorer = some_workshop(seed, Rung(seed % 3), edge_labels=bool(seed % 2))
    model = random_network(architecture, rng)
    changes = scorer.changes(Oracle(classifier=model))
    assume(len(changes) > 0)
    rows = rng.permutation(len(changes))[:400]
    batch, _ = scorer.built(changes.input[rows], changes.change[rows])
    plain = model.accept_probability(batch)
    assert np.allclose(1 / (1 + np.exp(-changes.margin[rows])), plain, atol=1e-5)
    hidden = scorer.margins(Hidden(model, 3), changes.input[rows], changes.change[rows])
    assert np.allclose(1 / (1 + np.exp(-hidden)), plain, atol=1e-6)


@given(seed=seeds)
@settings(max_examples=6, deadline=None)
def test_scores_of_several_changes_equal_a_plain_forward_pass(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scorer = some_workshop(seed, Rung(seed % 3), edge_labels=bool(seed % 2))
    model = random_network(("gcn", "sage", "gin")[seed % 3], rng)
    changes = scorer.changes(Oracle(classifier=model))
    assume(len(changes) > 0)
    pairs = rng.integers(0, len(changes), (300, 2))
    pairs = pairs[changes.input[pairs[:, 0]] == changes.input[pairs[:, 1]]]
    together = np.concatenate([changes.change[pairs[:, 0]], changes.change[pairs[:, 1]]], axis=1)
    inputs = changes.input[pairs[:, 0]]
    margin = scorer.margins(model, inputs, together)
    hidden = scorer.margins(Hidden(model, 3), inputs, together)
    assert np.array_equal(np.isnan(margin), np.isnan(hidden))
    made = np.isfinite(margin)
    assume(made.any())
    batch, _ = scorer.built(inputs[made], together[made])
    plain = model.accept_probability(batch)
    assert np.allclose(1 / (1 + np.exp(-margin[made])), plain, atol=1e-5)
    sizes = np.array([scorer.inputs[i].size for i in inputs[made]])
    grown = changes.grown[pairs[made]].sum(axis=1)
    assert np.array_equal(batch.node_counts() + batch.edge_counts(), sizes + grown)


def test_a_module_and_a_function_are_scored_as_they_answer() -> None:
    rng = np.random.default_rng(3)
    data: GraphDataset = oracles.small_data(rng, edge_labels=True)
    scorer = ChangeScorer(inputs=data.graphs[:4], vocabulary=oracles.small_vocabulary(data, Rung.CONNECTED))

    def share_of_double_bonds(graphs: list[Graph]) -> list[float]:
        return [float((1 + np.sum(g.edge_labels == 1)) / (3 + g.num_edges + (g.labels == 0).sum())) for g in graphs]

    model = as_classifier(share_of_double_bonds, data, return_type="probs", call="graphs")
    changes = scorer.changes(Oracle(classifier=model))
    batch, _ = scorer.built(changes.input, changes.change)
    assert np.allclose(changes.margin, log_odds(np.array(share_of_double_bonds(list(batch)))))
    assert {0, 1, 4, 6} <= set(changes.change[:, 0, 0].tolist())


def test_threads_change_nothing() -> None:
    rng = np.random.default_rng(5)
    data = oracles.small_data(rng, edge_labels=True, num_graphs=40)
    model = random_network("gcn", rng)
    vocabulary = oracles.small_vocabulary(data, Rung.CONNECTED, 0.25)
    one, two = (
        ChangeScorer(inputs=[*data.graphs, *data.graphs], vocabulary=vocabulary, jobs=jobs).changes(
            Oracle(classifier=model)
        )
        for jobs in (1, 2)
    )
    assert len(one)
    for name in ("input", "change", "cost", "grown", "rule", "found", "margin", "goal"):
        assert np.array_equal(getattr(one, name), getattr(two, name))


def test_where_there_is_no_time_for_all_places_every_exact_rule_keeps_some() -> None:
    rng = np.random.default_rng(7)
    data = oracles.small_data(rng, edge_labels=False, num_graphs=12)
    scorer = ChangeScorer(inputs=data.graphs, vocabulary=oracles.small_vocabulary(data, Rung.ANY, 0.4))
    oracle = Oracle(classifier=Hidden(random_network("gcn", rng), 3))
    assert oracle.sees_graphs
    assert not Oracle(classifier=random_network("gcn", rng)).sees_graphs
    whole = scorer.changes(oracle)
    assert whole.num_untried == 0
    nodes = np.array([graph.num_nodes for graph in data.graphs])
    once = {(int(i), int(rule)) for i, rule in zip(whole.input, whole.rule[:, 1], strict=True)}
    least = sum(int(nodes[i]) for i, _ in once)
    for most in (nodes[whole.input].sum() - 1, (least + nodes[whole.input].sum()) // 2, least):
        some = scorer.changes(oracle, most_nodes=float(most))
        assert nodes[some.input].sum() <= most
        assert some.num_untried == len(whole) - len(some) > 0
        assert {(int(i), int(rule)) for i, rule in zip(some.input, some.rule[:, 1], strict=True)} == once
    few = scorer.changes(oracle, most_nodes=least / 3)
    assert 0 < nodes[few.input].sum() <= least / 3
    shared = {rule: sum(rule == other for _, other in once) for rule in {rule for _, rule in once}}
    kept = {int(rule) for rule in few.rule[:, 1]}
    assert min(shared[rule] for rule in kept) >= max(shared[rule] for rule in set(shared) - kept) - 1
    known = {row.tobytes(): margin for row, margin in zip(whole.change, whole.margin, strict=True)}
    assert all(row.tobytes() in known for row in few.change)


def test_votes_are_those_who_reject_the_input_and_accept_the_result() -> None:
    scorer = some_workshop(1, Rung.ANY, edge_labels=False)
    panel = (Always(0.9, 3), Always(0.1, 3), AvoidsLabel(1, 3), AvoidsLabel(0, 3))
    oracle = Oracle(classifier=AvoidsLabel(2, 3), panel=panel)
    changes = scorer.changes(oracle)
    batch, _ = scorer.built(changes.input, changes.change)
    before = GraphBatch.from_graphs(scorer.inputs)
    rejects = np.array([member.accept_probability(before) < 0.5 for member in panel])
    accepts = np.array([member.accept_probability(batch) > 0.5 for member in panel])
    wanted = (rejects[:, changes.input] & accepts).sum(axis=0)
    assert wanted.sum() > 0
    assert not np.array_equal(wanted, accepts.sum(axis=0))  # the first accepts everything, and is never heard
    assert np.array_equal(oracle.votes(scorer, changes.input, changes.change), wanted)
    needed = oracle.votes_needed(scorer.inputs)
    assert np.array_equal(needed, rejects.sum(axis=0) // 2 + 1)
    assert (Oracle(classifier=panel[0], panel=panel[:1]).votes_needed(scorer.inputs) == NEVER).all()
    assert np.array_equal(changes.accepted, changes.margin > ACCEPTED)
    nobody = Oracle(classifier=Always(0.2, 3)).votes(scorer, changes.input, changes.change)
    assert (nobody == NOT_ASKED).all()


def test_confirmed_counts_what_most_of_the_panel_accept() -> None:
    scorer = some_workshop(1, Rung.ANY, edge_labels=False)
    panel = (Always(0.9, 3), AvoidsLabel(1, 3), Always(0.2, 3))
    oracle = Oracle(classifier=AvoidsLabel(2, 3), panel=panel, confirm=True)
    changes = scorer.changes(oracle)
    batch, _ = scorer.built(changes.input, changes.change)
    said = np.stack([log_odds(member.accept_probability(batch)) for member in panel])
    assert oracle.majority == 2
    assert np.allclose(changes.goal, np.minimum(changes.margin, np.sort(said, axis=0)[1]))
    assert np.array_equal(changes.accepted, (changes.margin > ACCEPTED) & ((said > ACCEPTED).sum(axis=0) >= 2))


def test_nothing_is_mined_from_nothing() -> None:
    data = oracles.small_data(np.random.default_rng(0), edge_labels=False)
    scorer = ChangeScorer(inputs=[], vocabulary=oracles.small_vocabulary(data, Rung.ANY))
    assert len(scorer.changes(Oracle(classifier=Always(0.2, 3)))) == 0


def test_log_odds_are_finite() -> None:
    assert np.isfinite(log_odds(np.array([0.0, 1.0]))).all()
    assert log_odds(np.array([0.5]))[0] == pytest.approx(0)


def test_of_very_many_changes_those_that_raise_the_log_odds_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    data = oracles.small_data(rng, edge_labels=False)
    inputs = list(data.graphs[:6])
    scorer = ChangeScorer(inputs=inputs, vocabulary=oracles.small_vocabulary(data, Rung.CONNECTED))
    oracle = Oracle(classifier=random_network("gcn", rng))
    base = log_odds(oracle.classifier.accept_probability(GraphBatch.from_graphs(inputs)))
    every = scorer.changes(oracle, base=base)
    monkeypatch.setattr(mining, "_TOO_MANY", 10)
    kept = scorer.changes(oracle, base=base)
    raising = every.goal > base[every.input]
    assert 0 < len(kept) == raising.sum() < len(every)
    assert (kept.rule == every.rule[raising]).all()
    assert (kept.num_tried == every.num_tried).all()
    assert every.num_tried.sum() == len(every)
