"""Tests of comrecgc.evidence.controls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest

from comrecgc.algorithms.registry import Vectors
from comrecgc.evidence.controls import random_rules
from comrecgc.evidence.evaluation import EvaluatedRun
from comrecgc.graphs import GraphBatch
from tests.evidence.scenes import Shortcut, subject_of, trees
from tests.stubs import Histogram


@pytest.fixture(scope="module")
def subject() -> EvaluatedRun:
    return subject_of(trees(120), Shortcut(), max_changes=2, num_recourses=4)


def test_random_rules_are_of_the_same_kind_and_do_worse(subject: EvaluatedRun) -> None:
    control = random_rules(subject)
    assert control is not None
    assert len(control.like) == len(subject.explanation.recourses)
    for like, recourse in zip(control.like, subject.explanation.recourses, strict=True):
        assert like.rules > 0
        assert recourse.rule is not None
        assert abs(like.mean_cost - recourse.rule.cost) <= 2
        assert like.success is not None
        assert like.success <= recourse.statistics["success"]
    assert control.coverage <= subject.explanation.coverage


@dataclass(frozen=True)
class WantsTwo:
    """Accepts what has two nodes of the last label, which most graphs get by two changes only."""

    num_labels: int = 4

    def accept_probability(self, batch: GraphBatch) -> npt.NDArray[np.float64]:
        found = np.bincount(batch.graph_of_node(), batch.labels == 3, minlength=len(batch))
        return np.where(found >= 2, 0.9, 0.1 + 0.2 * (found == 1))


def test_random_rules_make_as_many_changes() -> None:
    subject = subject_of(trees(60), WantsTwo(), max_changes=2, num_recourses=4)
    control = random_rules(subject)
    assert control is not None
    wanted = [recourse.rule.num_changes for recourse in subject.explanation.recourses if recourse.rule]
    assert 2 in wanted
    for rules, num_changes in zip(control.drawn, wanted, strict=True):
        assert {rule.num_changes for rule in rules} == {num_changes}


def test_random_places_are_taken_whatever_the_model_says(subject: EvaluatedRun) -> None:
    control = random_rules(subject)
    assert control is not None
    graphs = [after for pairs in control.results for _, after in pairs]
    assert sum(like.accepted for like in control.like) <= len(graphs) <= sum(like.applicable for like in control.like)
    accepted = subject.classifier.accept_probability(GraphBatch.from_graphs(graphs)) > 0.5
    assert accepted.any()
    assert not accepted.all()


def test_vectors_are_compared_with_as_many_random_edits() -> None:
    subject = subject_of(trees(40), Shortcut(), kind=Vectors, embedder=Histogram(4), delta=0.05, num_recourses=3)
    control = random_rules(subject)
    assert control is not None
    for like, recourse, pairs in zip(control.like, subject.explanation.recourses, control.results, strict=True):
        assert like.applicable <= len(recourse.covered)
        assert like.accepted <= like.applicable == len(pairs)
    pairs = [pair for pairs in control.results for pair in pairs]
    accepted = subject.classifier.accept_probability(GraphBatch.from_graphs(after for _, after in pairs)) > 0.5
    turned = {id(before) for (before, _), one in zip(pairs, accepted.tolist(), strict=True) if one}
    assert control.coverage == len(turned) / len({id(before) for before, _ in pairs})
    assert 0 < control.coverage < subject.explanation.coverage
