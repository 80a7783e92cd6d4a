from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from comrecgc.evidence import Subject, diversity, gather, plausibility
from comrecgc.graphs import Edit, EditKind, apply_edit
from tests.evidence.scenes import Shortcut, honest, subject_of, trees
from tests.stubs import AvoidsLabel


@pytest.fixture(scope="module")
def subject() -> Subject:
    return subject_of(trees(120), Shortcut(), num_recourses=3, max_changes=2, min_support=5)


def test_figures_are_shares_and_follow_the_rung(subject: Subject) -> None:
    each, whole = plausibility(subject)
    assert len(each) == len(subject.explanation.recourses)
    for figures in (*each, whole):
        assert figures["share_connected"] == 1.0  # the rung of the run
        assert all(figures[name] is None or 0 <= figures[name] <= 1 for name in figures)  # type: ignore[operator]
    assert whole["nearest_of_real_graphs"] is not None
    assert plausibility(subject) == (each, whole)


def test_changes_that_could_be_smaller_are_not_minimal() -> None:
    subject = subject_of(trees(120), AvoidsLabel(2, 4), max_changes=1, num_recourses=1)
    assert plausibility(subject)[1]["share_minimal"] == 1.0
    (recourse,) = subject.explanation.recourses
    needless = Edit(EditKind.ADD_NODE, 0, 0)
    wasteful = [
        replace(
            member,
            edits=(*member.edits, needless),
            num_edits=member.num_edits + 1,
            counterfactual=apply_edit(member.counterfactual, needless),
        )
        for member in recourse.covered
        if 0 in member.counterfactual.ids
    ]
    assert len(wasteful) > 5
    explanation = replace(subject.explanation, recourses=(replace(recourse, covered=tuple(wasteful)),))
    assert plausibility(replace(subject, explanation=explanation))[1]["share_minimal"] == 0.0


def test_recourses_that_cover_the_same_are_not_diverse(subject: Subject) -> None:
    explanation = subject.explanation
    assert len(explanation.recourses) > 1
    covered = {member.input for recourse in explanation.recourses for member in recourse.covered}
    same = [
        replace(recourse, also_covers=tuple(sorted(covered - {member.input for member in recourse.covered})))
        for recourse in explanation.recourses
    ]
    apart = [replace(recourse, also_covers=()) for recourse in explanation.recourses]
    assert diversity(replace(explanation, recourses=tuple(same))) == 0.0
    assert diversity(replace(explanation, recourses=tuple(apart))) == 1.0  # each input is under one recourse only


def test_every_name_of_the_page_for_reviewers_is_a_figure(subject: Subject) -> None:
    page = (Path(__file__).parents[2] / "docs" / "measures.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1:-1] for line in page.splitlines() if line.startswith("| ")][1:]
    promised = {row[-1].strip().split("`")[1] for row in rows}
    assert len(promised) == 15
    named = gather(subject, second_panel=honest(), with_controls=False).document()["reviewers"]
    assert promised == set(named)
    assert all(named[name] is not None for name in promised), named


def test_reviewers_names_are_filled(subject: Subject) -> None:
    named = gather(subject, second_panel=honest(), with_controls=False).reviewers
    assert named["validity"] == 1.0
    assert named["coverage"] == subject.explanation.coverage
    assert named["fidelity"] == 1.0  # every reject is labelled so
    assert {"proximity", "sparsity", "plausibility", "robustness", "stability", "sufficiency", "necessity"} <= set(
        named
    )
    assert named["robustness"] is None or 0 <= named["robustness"] <= 1
