from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from comrecgc.evidence.evaluation import Subject
from comrecgc.evidence.gathering import diversity, gather, minimal, plausibility
from comrecgc.explanation import Explanation
from comrecgc.graphs import Edit, EditKind
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
    needless = Edit(EditKind.ADD_NODE, 0, 0)
    members = [it for it in subject.explanation.recourses[0].covered if 0 in it.counterfactual.ids]
    before = [subject.explanation.inputs[member.input].graph for member in members]
    assert len(members) > 5
    assert minimal(subject, members, before).all()
    wasteful = [replace(member, edits=(*member.edits, needless)) for member in members]
    assert not minimal(subject, wasteful, before).any()


def test_recourses_that_cover_the_same_are_not_diverse() -> None:
    def explanation(*covered: set[int]) -> Explanation:
        recourses = [
            SimpleNamespace(covered=[SimpleNamespace(input=min(each))], also_covers=sorted(each)) for each in covered
        ]
        return cast(Explanation, SimpleNamespace(recourses=recourses))

    assert diversity(explanation({1, 2}, {1, 2})) == 0.0
    assert diversity(explanation({1, 2}, {3})) == 1.0
    assert diversity(explanation({1, 2}, {2, 3}, {4})) == pytest.approx((2 / 3 + 1 + 1) / 3)
    assert diversity(explanation({1, 2})) is None


def test_every_name_of_the_page_for_reviewers_is_a_figure(subject: Subject) -> None:
    page = (Path(__file__).parents[2] / "docs" / "trust.md").read_text(encoding="utf-8")
    page = page.partition("## Names reviewers know")[2]
    rows = [line.split("|")[1:-1] for line in page.splitlines() if line.startswith("| ")][1:]
    promised = {row[-1].strip().split("`")[1] for row in rows}
    assert len(promised) == 15
    named = gather(subject, second_panel=honest(), with_controls=False).document()["reviewers"]
    assert promised == set(named)
    assert {name for name in promised if named[name] is None} <= {"diversity"}  # of one recourse there is none


def test_reviewers_names_are_filled(subject: Subject) -> None:
    named = gather(subject, second_panel=honest(), with_controls=False).reviewers
    assert named["validity"] == 1.0
    assert named["coverage"] == subject.explanation.coverage
    assert named["fidelity"] == 1.0  # every reject is labelled so
    assert {"proximity", "sparsity", "plausibility", "robustness", "stability", "sufficiency", "necessity"} <= set(
        named
    )
    assert named["robustness"] is None or 0 <= named["robustness"] <= 1
