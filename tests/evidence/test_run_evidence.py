"""Tests of comrecgc.evidence.gathering."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from comrecgc.cli.app import app
from comrecgc.data import GraphDataset, load_planted
from comrecgc.errors import InputError
from comrecgc.evidence import EVIDENCE, Evidence, evaluate_run, load_evidence, run_plausibility
from comrecgc.explanation import Explanation
from comrecgc.models import ClassifierTraining, PanelTraining
from comrecgc.run import RunContext
from comrecgc.runs import explain_dataset, open_run
from tests.stubs import explainer_of

QUICK = PanelTraining(models=("gcn", "gin"), epochs=30, number=1)


@pytest.fixture(scope="module")
def dataset() -> GraphDataset:
    return load_planted(num_graphs=120)


@pytest.fixture(scope="module")
def run(dataset: GraphDataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evidence") / "run"
    panel = PanelTraining(models=("gcn",), epochs=100)
    explainer = explainer_of(None, num_recourses=3, max_changes=1, panel=panel)
    explain_dataset(dataset, folder, explainer, training=ClassifierTraining(epochs=100))
    return folder


def gathered(run: Path, dataset: GraphDataset, tmp_path: Path) -> Evidence:
    context = RunContext(jobs=1)
    return open_run(run).evidence(dataset, second_panel=QUICK, with_controls=False, cache=tmp_path, context=context)


def test_evidence_is_kept_with_the_run_and_shown_in_its_report(
    run: Path, dataset: GraphDataset, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(run, folder)
    assert load_evidence(folder) is None
    open_run(folder).report()
    assert "comrecgc evaluate DIR --evidence" in (folder / "report.html").read_text()
    evidence = gathered(folder, dataset, tmp_path / "cache")
    written = (folder / EVIDENCE).read_bytes()
    assert load_evidence(folder) == evidence
    open_run(folder).report()
    page = (folder / "report.html").read_text()
    assert "Can I trust this?" in page
    assert f'class="verdict {evidence.recourses[0].verdict.level}"' in page
    assert gathered(folder, dataset, tmp_path / "cache") == evidence
    assert (folder / EVIDENCE).read_bytes() == written  # the same seed, the same bytes
    stale = json.loads(written) | {"explanation": "another"}
    (folder / EVIDENCE).write_text(json.dumps(stale))
    assert load_evidence(folder) is None


def test_a_run_of_several_models_at_once_is_checked_as_such(run: Path, dataset: GraphDataset, tmp_path: Path) -> None:
    classifier = next(run.glob("classifier*.safetensors"))
    explainer = explainer_of(classifier, num_recourses=2, max_changes=1, agree=[run / "panel-1.safetensors"])
    found = explain_dataset(dataset, tmp_path / "both", explainer)
    assert found.metrics["confirmed_coverage"] == found.coverage
    plausibility = run_plausibility(tmp_path / "both", found)
    assert plausibility.panel is not None
    assert plausibility.panel.unanimous
    assert all(figure.agrees for figure in evaluate_run(tmp_path / "both"))
    evidence = gathered(tmp_path / "both", dataset, tmp_path / "cache")
    assert all(answer.chosen_with for recourse in evidence.recourses for answer in recourse.answers[:1])


def test_other_data_and_damaged_files_are_one_line(run: Path, dataset: GraphDataset, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--dataset must be the data"):
        gathered(run, dataset[1:], tmp_path)
    folder = tmp_path / "run"
    shutil.copytree(run, folder)
    for text in ("[]", '{"format": 1}', "{"):
        (folder / EVIDENCE).write_text(text)
        with pytest.raises(InputError, match=EVIDENCE):
            load_evidence(folder)


def test_the_command_prints_verdicts_and_json(
    run: Path, dataset: GraphDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("comrecgc.data.load_dataset", lambda *_, **__: dataset)
    monkeypatch.setattr("comrecgc.models.training.user_cache_path", lambda name: tmp_path / name)
    monkeypatch.setattr("comrecgc.evidence.gathering.SECOND_PANEL", QUICK)
    folder = tmp_path / "run"
    shutil.copytree(run, folder)
    arguments = ["evaluate", str(folder), "--evidence", "--no-controls", "--jobs", "1"]
    printed = CliRunner().invoke(app, arguments)
    assert printed.exit_code == 0, printed.output
    assert f"Can I trust this? Of {len(Explanation.load(folder).recourses)} rules" in printed.output
    refused = CliRunner().invoke(app, ["evaluate", str(folder), "--no-controls"])
    assert refused.exit_code == 2
    answer = CliRunner().invoke(app, [*arguments, "--json"])
    assert answer.exit_code == 0, answer.output
    found = json.loads(answer.stdout)
    assert all(figure["agrees"] for figure in found["figures"])
    first = found["evidence"]["recourses"][0]
    assert first["verdict"]["level"] in ("strong", "mixed", "weak")
    assert first["verdict"]["sentence"] in " ".join(printed.output.split())
    assert {"pairs", "as_said", "against", "interval"} <= set(first["pairs"])
    assert {"member", "turned", "share_turned", "works"} <= set(first["answers"][0])
