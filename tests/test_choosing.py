"""Tests of comrecgc.algorithms.rules.algorithm, comrecgc.explanation.stored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import comrecgc
from comrecgc.algorithms.registry import Vectors
from comrecgc.errors import InputError
from comrecgc.evidence import evaluate_run
from comrecgc.explainer import CommonRecourseExplainer
from comrecgc.explanation import Explanation
from comrecgc.models import ClassifierTraining, train_classifier
from comrecgc.run import RunContext
from comrecgc.runs import explain_dataset, open_run
from tests.stubs import AvoidsLabel, Histogram, explainer_of, small_dataset

DATASET = small_dataset(60)


def asked(model: Path, panel: list[Path] | bool, **options: Any) -> CommonRecourseExplainer:
    return explainer_of(model, theta=0.3, num_recourses=4, panel=panel, **options)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("models")
    paths = [folder / f"{seed}.safetensors" for seed in (1, 2)]
    for seed, path in enumerate(paths):
        train_classifier(DATASET, ClassifierTraining(epochs=100, seed=seed + 1), out=path)
    return paths


@pytest.fixture(scope="module")
def run(files: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    explain_dataset(DATASET, folder, asked(files[0], [files[1]]))
    return folder


def choices(explanation: Explanation) -> list[tuple[str, list[int]]]:
    return [(one.summary, [member.input for member in one.covered]) for one in explanation.recourses]


def test_a_run_by_rules_needs_no_embedder_and_keeps_its_table(run: Path) -> None:
    names = {file.name for file in run.iterdir()}
    assert names >= {"rules.npz", "explanation.json", "manifest.json", "panel-1.safetensors", "report.html"}
    assert not names & {"embedder.safetensors", "witnesses.npz", "run.json"}
    found = comrecgc.open_run(run).explanation
    assert (found.recourse, found.changes) == ("rules", "plausible")
    assert found.recourses
    assert found.metrics["confirmed_coverage"] is not None


def test_explain_and_report_write_the_same_page(run: Path) -> None:
    written = (run / "report.html").read_text(encoding="utf-8")
    assert 'id="packed"' in written
    open_run(run).report()
    assert (run / "report.html").read_text(encoding="utf-8") == written


def test_choosing_again_is_the_same_choice_and_other_wishes_are_kept(run: Path) -> None:
    found = comrecgc.open_run(run).explanation
    assert choices(found.choose()) == choices(found)
    few = found.choose(num_recourses=1, max_cost=1)
    assert len(few.recourses) == 1
    assert few.recourses[0].statistics["cost"] == 1
    assert few.coverage <= found.coverage
    sure = found.choose(min_success=0.9)
    assert sure.recourses
    assert all(one.statistics["success"] >= 0.9 for one in sure.recourses)
    assert any(one.statistics["success"] < 0.9 for one in found.recourses)
    assert choices(few.choose(num_recourses=4, max_cost=1)) == choices(found.choose(max_cost=1))
    exact = found.choose(radii=[2])
    assert {one.rule.radius for one in exact.recourses if one.rule is not None} == {2}
    no_swaps = found.choose(forbidden_kinds=["swap", "relabel"], forbidden_labels=["A"])
    for one in no_swaps.recourses:
        assert one.rule is not None
        before, after = (side.labels.count(0) for side in (one.rule.before, one.rule.after))
        assert after <= before


def test_confirmed_rules_count_only_what_the_panel_accepts(run: Path) -> None:
    found = comrecgc.open_run(run).choose(confirmed=True)
    assert found.coverage == found.metrics["confirmed_coverage"]


def test_the_class_chooses_as_the_folder_does() -> None:
    made = CommonRecourseExplainer(
        AvoidsLabel(2, 3), theta=0.3, num_recourses=4, panel=False, context=RunContext(jobs=1)
    ).fit(DATASET)
    chosen = made.explanation_.choose(num_recourses=2)
    assert choices(chosen) == choices(made.explanation_)[:2]
    assert chosen.metrics["num_recourses"] == 2
    with pytest.raises(InputError, match="confirmed needs a panel"):
        chosen.choose(confirmed=True)


def test_an_explanation_saved_by_hand_can_be_chosen_from(tmp_path: Path) -> None:
    made = CommonRecourseExplainer(
        AvoidsLabel(2, 3), theta=0.3, num_recourses=4, panel=False, context=RunContext(jobs=1)
    ).fit(DATASET)
    made.explanation_.save(tmp_path / "run")
    again = comrecgc.open_run(tmp_path / "run").explanation
    assert again == made.explanation_
    assert choices(again.choose(num_recourses=2)) == choices(made.explanation_.choose(num_recourses=2))
    with pytest.raises(InputError, match="needs the table of rules"):
        Explanation.load(tmp_path / "run").choose()


def test_another_folder_for_another_choice(run: Path, tmp_path: Path) -> None:
    chosen = open_run(run).choose(tmp_path / "other", num_recourses=2)
    assert comrecgc.open_run(tmp_path / "other").explanation == chosen
    assert (tmp_path / "other" / "report.html").exists()
    assert all(figure.agrees for figure in evaluate_run(tmp_path / "other"))
    assert choices(open_run(tmp_path / "other").choose(num_recourses=4)) == choices(comrecgc.open_run(run).explanation)
    with pytest.raises(InputError, match="is not empty"):
        open_run(run).choose(tmp_path / "other")
    with pytest.raises(InputError, match="another folder"):
        open_run(run).choose(run)


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        ({"min_success": 1.5}, "min_success must be a number .*"),
        ({"min_success": -0.1}, r"min_success must be a number"),
        ({"num_recourses": 0}, "num_recourses must be an integer"),
        ({"forbidden_labels": ["Xx"]}, "Node labels are A, B, C"),
        ({"forbidden_kinds": ["melt"]}, "Kinds of change are relabel, .*"),
        ({"max_changes": 4}, "max_changes must be an integer at"),
        ({"radii": [3]}, "radii must be some of 0"),
    ],
)
def test_bad_wishes_are_one_line(wishes: dict[str, Any], message: str, run: Path) -> None:
    with pytest.raises(InputError, match=message):
        open_run(run).choose(**wishes)


def test_vectors_cannot_be_chosen_again(tmp_path: Path) -> None:
    made = CommonRecourseExplainer(
        AvoidsLabel(2, 3), Vectors(embedder=Histogram(3)), theta=0.3, context=RunContext(jobs=1)
    ).fit(DATASET)
    with pytest.raises(InputError, match="Only rules can be chosen again"):
        made.explanation_.choose()
    made.explanation_.save(tmp_path)
    with pytest.raises(InputError, match="Only rules can be chosen again"):
        open_run(tmp_path).choose()


def test_a_table_that_is_damaged_or_of_another_run_is_refused(run: Path, files: list[Path], tmp_path: Path) -> None:
    other = tmp_path / "other"
    explain_dataset(DATASET[:40], other, asked(files[0], False))
    table = other / "rules.npz"
    whole = table.read_bytes()
    table.write_bytes(whole[:-7])
    with pytest.raises(InputError, match=r"rules\.npz is damaged"):
        open_run(other).choose()
    table.write_bytes((run / "rules.npz").read_bytes())
    manifest = json.loads((other / "manifest.json").read_text())
    manifest["facts"]["rules.npz"] = json.loads((run / "manifest.json").read_text())["facts"]["rules.npz"]
    (other / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match="a rule table of another dataset"):
        open_run(other).choose()


def test_the_number_of_jobs_changes_no_byte(run: Path, files: list[Path], tmp_path: Path) -> None:
    explain_dataset(DATASET, tmp_path / "two", asked(files[0], [files[1]], jobs=2))
    for name in ("explanation.json", "rules.npz", "recourses.csv"):
        assert (tmp_path / "two" / name).read_bytes() == (run / name).read_bytes(), name


def test_a_run_stopped_after_mining_goes_on_from_its_table(
    run: Path, files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("comrecgc.explainer.RuleChooser.explain", stop)
        with pytest.raises(KeyboardInterrupt):
            explain_dataset(DATASET, folder, asked(files[0], [files[1]]))
    assert {file.name for file in folder.iterdir()} == {"rules.npz", "run.json"}
    monkeypatch.setattr("comrecgc.algorithms.rules.algorithm.mine_rules", stop)  # and must not be needed
    explain_dataset(DATASET, folder, asked(files[0], [files[1]], resume=True))
    for name in ("explanation.json", "rules.npz"):
        assert (folder / name).read_bytes() == (run / name).read_bytes(), name


def test_rules_on_unseen_graphs_with_reasons(run: Path) -> None:
    unseen = small_dataset(30, seed=9)
    applied = open_run(run).apply(unseen)
    found = comrecgc.open_run(run).explanation
    assert [one.rule for one in applied.recourses] == [one.rule for one in found.recourses]
    assert applied.coverage > 0.3
    assert len(applied.inputs) == sum(one.gain for one in applied.recourses) + len(applied.uncovered)
    nothing = open_run(run).apply(unseen.subset(np.flatnonzero(~np.isin(np.arange(30), list(applied.inputs)))))
    assert not nothing.inputs
