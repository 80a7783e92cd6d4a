from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from comrecgc.evidence.evaluation import EvaluatedRun
from comrecgc.evidence.gathering import diversity, gather, minimal, plausibility
from comrecgc.explanation import Explanation
from comrecgc.graphs import Edit, EditKind, Graph, to_networkx
from tests.evidence.scenes import Shortcut, honest, subject_of, trees
from tests.stubs import AvoidsLabel


@pytest.fixture(scope="module")
def subject() -> EvaluatedRun:
    return subject_of(trees(120), Shortcut(), num_recourses=3, max_changes=2, min_support=5)


def test_figures_follow_the_rung_and_are_the_same_again(subject: EvaluatedRun) -> None:
    each, whole = plausibility(subject)
    assert len(each) == len(subject.explanation.recourses)
    for figures in (*each, whole):
        assert figures["share_connected"] == 1.0  # the rung of the run
    assert plausibility(subject) == (each, whole)


def test_results_are_as_near_to_real_graphs_as_a_plain_count_says(subject: EvaluatedRun) -> None:
    def shapes(graph: Graph) -> Counter[Any]:
        plain = to_networkx(graph)
        label = {node: plain.nodes[node]["label"] for node in plain}
        return Counter((label[node], *sorted(label[other] for other in plain[node])) for node in plain)

    def distance(one: Counter[Any], other: Counter[Any]) -> float:
        return 1 - 2 * (one & other).total() / (one.total() + other.total())

    real = [
        shapes(graph) for graph, label in zip(subject.dataset.graphs, subject.dataset.classes, strict=True) if label
    ]
    usual = [min(distance(one, other) for other in real if other is not one) for one in real]
    each, whole = plausibility(subject)
    nearest = [
        [min(distance(shapes(member.counterfactual), other) for other in real) for member in recourse.covered]
        for recourse in subject.explanation.recourses
    ]
    assert whole["nearest_of_real_graphs"] == pytest.approx(np.median(usual))
    for figures, near in zip([*each, whole], [*nearest, [gap for gaps in nearest for gap in gaps]], strict=True):
        assert figures["nearest"] == pytest.approx(np.median(near))
        assert figures["share_typical"] == pytest.approx(np.mean(np.array(near) <= np.quantile(usual, 0.9) + 1e-9))


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


def test_every_name_of_the_page_for_reviewers_is_a_figure(subject: EvaluatedRun) -> None:
    page = (Path(__file__).parents[2] / "docs" / "trust.md").read_text(encoding="utf-8")
    page = page.partition("## Names reviewers know")[2]
    rows = [line.split("|")[1:-1] for line in page.splitlines() if line.startswith("| ")][1:]
    promised = {row[-1].strip().split("`")[1] for row in rows}
    assert len(promised) == 15
    named = gather(subject, second_panel=honest(), with_controls=False).document()["reviewers"]
    assert promised == set(named)
    assert {name for name in promised if named[name] is None} <= {"diversity"}  # of one recourse there is none


def test_reviewers_names_are_filled(subject: EvaluatedRun) -> None:
    named = gather(subject, second_panel=honest(), with_controls=False).reviewers
    assert named["validity"] == 1.0
    assert named["coverage"] == subject.explanation.coverage
    assert named["fidelity"] == 1.0  # every reject is labelled so
    members = [member for recourse in subject.explanation.recourses for member in recourse.covered]
    assert named["proximity"] == pytest.approx(np.mean([member.distance for member in members]))
    sizes = [subject.explanation.inputs[member.input].graph.size for member in members]
    edits = [member.num_edits / size for member, size in zip(members, sizes, strict=True)]
    assert named["sparsity"] == pytest.approx(1 - np.mean(edits))
    # Honest models accept a result without a C; some of the shortcut's results keep one.
    honestly = [np.mean([2 not in after.labels for _, after in pairs]) for pairs in subject.results]
    assert named["robustness"] == pytest.approx(np.mean(honestly))
