"""Tests of comrecgc.evidence.rule_evaluation.

Also tests comrecgc.evidence.evaluation.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from comrecgc.errors import InputError
from comrecgc.evidence import evaluate_run
from comrecgc.evidence.rule_evaluation import (
    _interval_is_right,
    all_places,
    as_networkx,
    carried_out,
    is_place,
    is_same,
)
from comrecgc.explanation import load_explanation
from comrecgc.graphs import Graph, Pattern, Rule
from comrecgc.models import ClassifierTraining, train_classifier
from comrecgc.runs import explain_dataset, open_run
from tests.stubs import explainer_of, small_dataset

DATASET = small_dataset(90)
# Take a leaf B off an A that has another neighbour A, which must not be closed.
RULE = Rule(
    before=Pattern((0, 1, 0), ((0, 1), (0, 2)), None),
    after=Pattern((0, 0), ((0, 1),), None),
    kept=((0, 0), (2, 1)),
    closed=(False, True, False),
)


def test_places_are_those_of_the_words() -> None:
    graph = as_networkx(Graph([0, 1, 0, 1, 1], [[0, 1], [0, 2], [2, 3], [3, 4]]))
    assert list(all_places(RULE, graph)) == [{0: 0, 1: 1, 2: 2}]  # node 3 has a neighbour more
    assert not is_place(RULE, graph, {0: 2, 1: 3, 2: 0})
    assert not is_place(RULE, graph, {0: 0, 1: 1, 2: 0})
    outcome = carried_out(RULE, graph, {0: 0, 1: 1, 2: 2})
    assert outcome.cost == 2
    labels, edges, ids = (
        np.array(values, np.int32) for values in ([0, 0, 1, 1], [[0, 1], [1, 2], [2, 3]], [0, 2, 3, 4])
    )
    assert is_same(outcome.graph, Graph.assemble(labels, edges, None, ids, 5))
    assert not is_same(outcome.graph, Graph.assemble(labels, edges, None, np.array([0, 1, 3, 4], np.int32), 5))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    train_classifier(DATASET, ClassifierTraining(epochs=100, seed=1), out=folder / "classifier.safetensors")
    explainer = explainer_of(folder / "classifier.safetensors", theta=0.3, num_recourses=4, panel=False)
    explain_dataset(DATASET, folder / "run", explainer)
    return folder / "run"


def test_an_honest_run_agrees(run: Path) -> None:
    figures = evaluate_run(run)
    assert all(figure.agrees for figure in figures), [figure for figure in figures if not figure.agrees]
    names = [figure.name for figure in figures]
    assert any("that it turns" in name for name in names)
    assert any("can be carried out on" in name for name in names)


def test_what_the_jury_says_needs_the_classes(run: Path, tmp_path: Path) -> None:
    stated = load_explanation(run).metrics
    names = {"expected_true", "jury_confirmed", "jury_share"}
    assert names <= set(stated)
    without = {figure.name: figure for figure in evaluate_run(run)}
    assert all(without[name].recomputed is None for name in names)
    assert all("--dataset" in without[name].why for name in names)
    again = {figure.name: figure for figure in evaluate_run(run, dataset=DATASET)}
    assert all(figure.agrees for figure in again.values())
    assert all(again[name].recomputed == pytest.approx(stated[name]) for name in names)
    lie = replace(load_explanation(run), metrics={**stated, "expected_true": 1.0})
    lie.save(tmp_path)
    assert not all(figure.agrees for figure in evaluate_run(tmp_path, dataset=DATASET))
    with pytest.raises(InputError, match="--dataset must be the data"):
        evaluate_run(run, dataset=DATASET[1:])


def test_rules_chosen_without_the_jury_keep_its_estimates(run: Path, tmp_path: Path) -> None:
    open_run(run).choose(tmp_path / "other", num_recourses=2)
    figures = {figure.name: figure for figure in evaluate_run(tmp_path / "other")}
    assert "jury_confirmed" not in figures
    assert figures["expected_true"].recomputed is not None
    assert all(figure.agrees for figure in figures.values())


def test_dishonest_runs_do_not(run: Path, tmp_path: Path) -> None:
    honest = load_explanation(run)
    first = honest.recourses[0]
    member = first.covered[0]
    told = [
        first,
        replace(first, covered=(replace(member, probability=member.probability / 2), *first.covered[1:])),
        replace(first, covered=(replace(member, distance=member.distance / 2), *first.covered[1:])),
        replace(first, covered=(replace(member, cost=7), *first.covered[1:])),
        replace(first, statistics={**first.statistics, "interval": [0.99, 1.0]}),
    ]
    agree = []
    for place, one in enumerate(told):
        folder = tmp_path / str(place)
        folder.mkdir()
        replace(honest, recourses=(one, *honest.recourses[1:])).save(folder)
        agree.append(all(figure.agrees for figure in evaluate_run(folder)))
    assert agree == [True, False, False, False, False]


@pytest.mark.parametrize("interval", [[0.1, []], "x", None, 3, [0.1]])
def test_an_interval_that_is_none_is_wrong(interval: object) -> None:
    assert not _interval_is_right({"applicable": 2, "accepted": 1, "success": 0.5, "interval": interval})
