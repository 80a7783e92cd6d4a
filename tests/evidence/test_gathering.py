from __future__ import annotations

import pytest

from comrecgc.classifiers import Panel
from comrecgc.datasets import GraphDataset
from comrecgc.evidence import Evidence, Subject, gather
from tests.evidence.scenes import Shortcut, chosen_again, honest, subject_of, trees
from tests.stubs import Always, AvoidsLabel


@pytest.fixture(scope="module")
def dataset() -> GraphDataset:
    return trees()


@pytest.fixture(scope="module")
def flawed(dataset: GraphDataset) -> Subject:
    return subject_of(dataset, Shortcut())


def evidence_on(subject: Subject, second: Panel | None = None) -> Evidence:
    return gather(subject, second_panel=second or honest(), with_controls=False)


def test_a_planted_shortcut_is_called_one(flawed: Subject) -> None:
    # Protected, the true culprit stays; without that "replace C by D" would be shortcut and truth in one.
    evidence = evidence_on(chosen_again(flawed, protected_labels=("C",)))
    first = evidence.recourses[0]
    assert "D" in first.summary
    assert first.success is not None
    assert first.success > 0.9  # the model obeys,
    assert first.verdict.level == "weak"  # and nothing else does
    assert first.verdict.shortcut
    assert "a shortcut of this model" in first.verdict.sentence
    assert "works in 0 of 8 other models" in first.verdict.sentence
    assert "shortcut" in evidence.sentence
    assert evidence.figures["coverage"] > 0.9  # type: ignore[operator]
    assert evidence.figures["second_panel_coverage"] < 0.2  # type: ignore[operator]
    assert evidence.figures["strong_coverage"] == 0


def test_the_true_change_of_the_same_model_is_strong(flawed: Subject) -> None:
    true = chosen_again(flawed, forbidden_labels=("D",), num_recourses=2)
    evidence = evidence_on(true)
    first = evidence.recourses[0]
    assert "C" in first.summary
    assert first.verdict.level == "strong"
    assert not first.verdict.shortcut
    assert first.pairs.as_said >= 5
    assert first.pairs.against == 0
    assert evidence.figures["strong_coverage"] > 0.5  # type: ignore[operator]


def test_an_honest_model_is_believed(dataset: GraphDataset) -> None:
    evidence = evidence_on(subject_of(dataset, AvoidsLabel(2, 4)))
    assert evidence.levels["strong"] >= 1
    assert not any(recourse.verdict.shortcut for recourse in evidence.recourses)


def test_the_same_seed_gives_the_same_evidence_and_the_input_stays(flawed: Subject) -> None:
    before = flawed.explanation.to_json()
    assert evidence_on(flawed).document() == evidence_on(flawed).document()
    assert flawed.explanation.to_json() == before


def test_without_labels_or_rejects_there_is_little_to_say(dataset: GraphDataset, flawed: Subject) -> None:
    unlabelled = gather(flawed, second_panel=honest(), has_classes=False)
    assert all(len(recourse.pairs) == 0 for recourse in unlabelled.recourses)
    assert len(unlabelled.controls) == 2  # the model and random rules
    nothing = gather(subject_of(dataset, Always(0.9, 4)), second_panel=honest())
    assert nothing.recourses == ()
    assert nothing.sentence == "There are no recourses to judge."
    assert nothing.figures["coverage"] == 0
