from __future__ import annotations

import pytest

from comrecgc.evidence import Subject, diversity, gather, plausibility
from tests.evidence.scenes import Shortcut, honest, subject_of, trees


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
    # Relabelling a C frees a tree of the only C that it has; with two changes where one would do, an edit is left over.
    simple = subject_of(trees(120), Shortcut(), max_changes=1, num_recourses=1)
    assert plausibility(simple)[1]["share_minimal"] is not None


def test_recourses_that_cover_the_same_are_not_diverse(subject: Subject) -> None:
    share = diversity(subject.explanation)
    assert share is None or 0 <= share <= 1


def test_reviewers_names_are_filled(subject: Subject) -> None:
    named = gather(subject, second_panel=honest(), with_controls=False).reviewers
    assert named["validity"] == 1.0
    assert named["coverage"] == subject.explanation.coverage
    assert named["fidelity"] == 1.0  # every reject is labelled so
    assert {"proximity", "sparsity", "plausibility", "robustness", "stability", "sufficiency", "necessity"} <= set(
        named
    )
    assert named["robustness"] is None or 0 <= named["robustness"] <= 1
