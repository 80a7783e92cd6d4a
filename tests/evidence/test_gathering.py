"""Tests of comrecgc.evidence.gathering.

Also tests comrecgc.evidence.verdict.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from comrecgc.data import GraphDataset
from comrecgc.evidence import ControlEvidence, Evidence
from comrecgc.evidence.evaluation import EvaluatedRun
from comrecgc.evidence.gathering import gather
from comrecgc.models import Panel, PanelMember
from known_truth import planted
from tests.evidence.scenes import Shortcut, chosen_again, honest, subject_of, trees
from tests.stubs import Always, AvoidsLabel


@pytest.fixture(scope="module")
def dataset() -> GraphDataset:
    return trees()


@pytest.fixture(scope="module")
def flawed(dataset: GraphDataset) -> EvaluatedRun:
    return subject_of(dataset, Shortcut())


def evidence_on(subject: EvaluatedRun, second: Panel | None = None) -> Evidence:
    return gather(subject, second_panel=second or honest(), with_controls=False)


def test_a_planted_shortcut_is_called_one(flawed: EvaluatedRun) -> None:
    # Protected, the true culprit stays; without that "replace C by D" would be shortcut and truth in one.
    evidence = evidence_on(chosen_again(flawed, protected_labels=("C",)))
    first = evidence.recourses[0]
    assert "D" in first.summary
    assert first.success is not None
    assert first.success > 0.9  # the model obeys,
    assert first.verdict.level == "weak"  # and nothing else does
    assert first.verdict.shortcut
    assert "a shortcut of this model" in first.verdict.sentence
    assert "works in 0 of 8 other" in first.verdict.sentence
    assert "shortcut" in evidence.sentence
    assert evidence.figures["coverage"] > 0.9  # type: ignore[operator]
    assert evidence.figures["second_panel_coverage"] < 0.2  # type: ignore[operator]
    assert evidence.figures["strong_coverage"] == 0


def test_the_true_change_of_the_same_model_is_strong(flawed: EvaluatedRun) -> None:
    true = chosen_again(flawed, forbidden_labels=("D",), num_recourses=2)
    evidence = evidence_on(true)
    first = evidence.recourses[0]
    assert "C" in first.summary
    assert first.verdict.level == "strong"
    assert not first.verdict.shortcut
    assert first.pairs.as_said >= 5
    assert first.pairs.against == 0
    assert evidence.figures["strong_coverage"] > 0.5  # type: ignore[operator]


def test_a_decoy_that_every_model_learns_is_not_called_strong() -> None:
    """A harmless bromine goes with the class, and all models look at nothing else: no amount of other models can tell."""
    dataset = planted("decoy", num_graphs=80)
    fooled = AvoidsLabel(dataset.label_names.index("Br"), dataset.num_labels)
    others = Panel(tuple(PanelMember(name=f"fooled {k}", classifier=fooled) for k in range(4)))
    subject = subject_of(dataset, fooled, others, theta=0.1, changes="plausible")
    evidence = gather(subject, second_panel=others, with_controls=False)
    first = evidence.recourses[0]
    assert "Br" in first.summary
    assert "works in 8 of 8 other" in first.verdict.sentence
    assert first.verdict.level == "mixed"
    assert first.verdict.sentence.endswith("a shortcut that every model learns would look the same")
    assert evidence.levels["strong"] == 0
    assert evidence.figures["strong_coverage"] == 0


def test_pairs_of_graphs_tell_a_decoy_where_there_are_some(dataset: GraphDataset) -> None:
    """All models look at D, which has nothing to do with the labels; the data holds trees that differ by a D alone."""
    fooled = AvoidsLabel(3, 4)
    others = Panel(tuple(PanelMember(name=f"fooled {k}", classifier=fooled) for k in range(4)))
    evidence = gather(subject_of(dataset, fooled, others), second_panel=others, with_controls=False)
    assert "works in 8 of 8 other" in evidence.recourses[0].verdict.sentence
    assert sum(len(recourse.pairs) for recourse in evidence.recourses) > 5
    assert evidence.levels["strong"] == 0


def test_an_honest_model_is_believed(dataset: GraphDataset) -> None:
    evidence = evidence_on(subject_of(dataset, AvoidsLabel(2, 4)))
    assert evidence.levels["strong"] >= 1
    assert not any(recourse.verdict.shortcut for recourse in evidence.recourses)


def test_the_whole_is_compared_with_classifiers_that_know_nothing(dataset: GraphDataset, flawed: EvaluatedRun) -> None:
    true = evidence_on(subject_of(dataset, AvoidsLabel(2, 4)))
    assert true.better_than_ignorance is None  # nobody asked
    ignorant = ControlEvidence(name="random weights", figures={"backed_coverage": 0.1, "num_inputs": 400})
    believed = replace(true, controls=(*true.controls, ignorant))
    assert believed.better_than_ignorance
    assert "at most 10.0%" in believed.sentence
    shortcuts = evidence_on(chosen_again(flawed, protected_labels=("C",)))
    doubted = replace(shortcuts, controls=(*shortcuts.controls, ignorant))
    assert doubted.better_than_ignorance is False
    assert doubted.sentence.endswith("these rules are no better than those of a model that knows nothing.")
    assert doubted.document()["better_than_ignorance"] is False


def test_the_same_seed_gives_the_same_evidence_and_the_input_stays(flawed: EvaluatedRun) -> None:
    before = flawed.explanation.to_json()
    assert evidence_on(flawed).document() == evidence_on(flawed).document()
    assert flawed.explanation.to_json() == before


def test_without_rejects_there_is_little_to_say(dataset: GraphDataset) -> None:
    nothing = gather(subject_of(dataset, Always(0.9, 4)), second_panel=honest())
    assert nothing.recourses == ()
    assert nothing.sentence == "There are no recourses to judge."
    assert nothing.figures["coverage"] == 0
