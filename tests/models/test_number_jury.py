"""Juries that predict numbers."""

import numpy as np
import pytest

from comrecgc.data import Goal, Numbers
from comrecgc.graphs import Graph, GraphBatch
from comrecgc.models import train_number_jury
from tests.models.test_numbers import paths


def test_a_jury_predicts_what_a_change_does() -> None:
    dataset = paths(200)
    jury, sentence = train_number_jury(dataset, Goal(raise_by=1))
    assert jury is not None, sentence
    before = GraphBatch.from_graphs(dataset.graphs)
    after = GraphBatch.from_graphs(
        [Graph(np.ones(len(graph.labels), np.int32), graph.edges) for graph in dataset.graphs]
    )
    assert dataset.values is not None
    true = after.node_counts() - dataset.values
    for reporting in (False, True):
        change = jury.numbers(after, jury.folds, reporting=reporting) - jury.numbers(
            before, jury.folds, reporting=reporting
        )
        assert np.corrcoef(change, true)[0, 1] > 0.9
    likely = jury.truth(after, jury.folds, jury.numbers(before, jury.folds))
    assert likely[true >= 3].mean() > 0.9
    assert likely[true == 0].mean() < 0.2
    report = jury.report(before, after, jury.folds)
    assert report.confirmed[true >= 3].mean() > 0.9


def test_what_is_asked_of_a_graph_was_not_trained_on_it() -> None:
    """Numbers drawn at random cannot be known: a copy that saw a graph would know better."""
    dataset = paths(120)
    noise = np.random.default_rng(3).normal(size=120)
    jury, sentence = train_number_jury(dataset.with_numbers(Numbers(noise)), Goal(raise_by=1))
    assert jury is None
    assert "guess" in sentence


@pytest.mark.parametrize(("count", "word"), [(10, "needs"), (0, "no numbers")])
def test_no_jury_without_enough_numbers(count: int, word: str) -> None:
    dataset = paths(max(count, 1)) if count else paths(50).with_numbers(Numbers())
    jury, sentence = train_number_jury(dataset, Goal(raise_by=1))
    assert jury is None
    assert word in sentence
