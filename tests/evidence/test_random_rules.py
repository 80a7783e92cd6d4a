from __future__ import annotations

import pytest

from comrecgc.evidence import Subject, random_rules
from tests.evidence.scenes import Shortcut, subject_of, trees


@pytest.fixture(scope="module")
def subject() -> Subject:
    return subject_of(trees(120), Shortcut(), max_changes=2, num_recourses=4)


def test_random_rules_are_of_the_same_kind_and_do_worse(subject: Subject) -> None:
    control = random_rules(subject)
    assert control is not None
    assert len(control.like) == len(subject.explanation.recourses)
    for like, recourse in zip(control.like, subject.explanation.recourses, strict=True):
        assert like.rules > 0
        assert recourse.rule is not None
        assert abs(like.mean_cost - recourse.rule.rewriting.cost) <= 2
        assert recourse.statistics is not None
        assert like.success is None or like.success <= recourse.statistics["success"]
    assert control.coverage <= subject.explanation.coverage


def test_what_random_rules_turn_the_model_accepts(subject: Subject) -> None:
    from comrecgc.graphs import GraphBatch

    control = random_rules(subject)
    assert control is not None
    graphs = [after for pairs in control.results for _, after in pairs]
    assert sum(like.accepted for like in control.like) == len(graphs)
    assert not graphs or (subject.classifier.accept_probability(GraphBatch.from_graphs(graphs)) > 0.5).all()
