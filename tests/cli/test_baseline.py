from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from comrecgc.cli.baseline import parse_options
from comrecgc.data import GraphDataset
from comrecgc.errors import InputError
from comrecgc.explanation import Explanation
from comrecgc.graphs import apply_path
from comrecgc.models import Classifier, ClassifierTraining, Greed, Predictions, train_classifier
from comrecgc.models.greed import save_embedder
from tests.cli.command import run
from tests.stubs import small_dataset

DATASET = small_dataset(60)[:40]
SOME = ["--set", "num_steps=60"]


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("models")
    train_classifier(DATASET, ClassifierTraining(epochs=150, seed=1), out=folder / "classifier.safetensors")
    torch.manual_seed(0)
    save_embedder(Greed(3, num_layers=2, width=8, output_width=8), folder / "greed.safetensors", {})
    models = ["--classifier", str(folder / "classifier.safetensors"), "--embedder", str(folder / "greed.safetensors")]
    return ["--dataset", "planted", *models, "--theta", "0.2", "--recourses", "4", "--jobs", "1"]


@pytest.fixture(autouse=True)
def small_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """`planted` is a few small trees."""
    import comrecgc.data

    def load(name: str, root: Path | None = None) -> GraphDataset:  # noqa: ARG001
        return DATASET

    monkeypatch.setattr(comrecgc.data, "load_dataset", load)


def document(folder: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((folder / "explanation.json").read_text())
    return found


def test_a_baseline_is_a_run_that_can_be_evaluated(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    assert run(monkeypatch, "baseline", "gcfexplainer", *options, *SOME, "--summary", 3, "--out", folder) == 0
    assert "3 counterfactuals are within 0.2" in capsys.readouterr().out
    explanation = Explanation.load(folder)
    assert explanation.changes == "any"
    assert explanation.parameters["baseline"]["name"] == "gcfexplainer"
    assert explanation.parameters["baseline"]["options"]["num_steps"] == 60
    assert explanation.coverage >= (explanation.metrics["published_coverage"] or 0) > 0
    for recourse in explanation.recourses:
        for member in recourse.covered:
            assert member.counterfactual == apply_path(explanation.inputs[member.input].graph, member.edits)
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["coverage"] == pytest.approx(
        sum(each["gain"] for each in summary["graphs"]) / len(explanation.inputs)
    )
    assert run(monkeypatch, "evaluate", folder) == 0
    before = (folder / "explanation.json").read_bytes()
    assert (
        run(monkeypatch, "baseline", "gcfexplainer", *options, *SOME, "--summary", 3, "--out", folder, "--resume") == 0
    )
    assert (folder / "explanation.json").read_bytes() == before


def test_a_rung_keeps_only_what_stands_on_it(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for changes in ("any", "connected"):
        folder = tmp_path / changes
        assert run(monkeypatch, "baseline", "published", *options, *SOME, "--changes", changes, "--out", folder) == 0
    free, connected = (Explanation.load(tmp_path / changes) for changes in ("any", "connected"))
    assert connected.metrics["share_connected"] == 1
    assert connected.coverage <= free.coverage
    assert connected.changes == "connected"


def test_several_are_compared_and_taken_up_where_they_stopped(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "all"
    several = ["baseline", "dataset", "published", "vectors", *options, "--set", "published.num_steps=40"]
    from comrecgc.finding import find_recourses

    asked: list[str] = []

    def counted(settings: object, *arguments: object, **named: object) -> object:
        asked.append(str(getattr(settings, "baseline", None)))
        if len(asked) == 2:
            raise KeyboardInterrupt
        return find_recourses(settings, *arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr("comrecgc.runs.find_recourses", counted)
    assert run(monkeypatch, *several, "--out", folder) == 130
    assert [row[0] for row in csv.reader((folder / "comparison.csv").read_text().splitlines())] == ["source", "dataset"]
    assert run(monkeypatch, *several, "--out", folder, "--resume") == 0
    assert len(asked) == 4  # the first row was there
    rows = list(csv.DictReader((folder / "comparison.csv").read_text().splitlines()))
    assert [row["source"] for row in rows] == ["dataset", "published", "vectors"]
    for row in rows:
        explanation = Explanation.load(folder / row["source"])
        assert float(row["R=4"]) == pytest.approx(100 * explanation.coverage, rel=1e-4)
    assert "| published |" in (folder / "comparison.md").read_text(encoding="utf-8")
    assert "| published |" in capsys.readouterr().out
    assert (folder / "coverage.svg").read_text(encoding="utf-8").count("<svg") == 1
    assert (folder / "coverage.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["gcfexplaner"], "the nearest is gcfexplainer"),
        (["vectors"], "comrecgc explain --recourse vectors"),
        (["dataset", "dataset"], "Every name once"),
        (["dataset", "--set", "alpha=1"], "Options of dataset are none"),
        (["gcfexplainer", "--set", "alpha=2"], "alpha must lie in"),
        (["gcfexplainer", "--set", "alpha"], "--set takes OPTION=VALUE"),
        (["dataset", "published", "--set", "num_steps=3"], "NAME.OPTION=VALUE"),
        (["dataset", "--summary", "1000"], "can have at most"),
        (["dataset", "--changes", "connected"], "only changes='any' fits"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str],
    words: str,
    options: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(monkeypatch, "baseline", *arguments, *options, "--out", tmp_path / "run") == 2
    said = capsys.readouterr().err.splitlines()
    assert words in said[-1]
    assert said[-1].startswith("error: ")


def test_nothing_rejected_is_an_empty_run(options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from comrecgc.models import predict

    def accepting(classifier: Classifier, dataset: GraphDataset) -> Predictions:
        found = predict(classifier, dataset)
        return replace(found, probability=np.full(len(found.probability), 0.9))

    monkeypatch.setattr("comrecgc.finding.predict", accepting)
    assert run(monkeypatch, "baseline", "published", *options, "--out", tmp_path / "run") == 0
    assert Explanation.load(tmp_path / "run").recourses == ()


def test_options_of_several_are_told_apart() -> None:
    found = parse_options(
        ["gcfexplainer", "cff"], ["gcfexplainer.alpha=0.5", "cff.epochs=3", "gcfexplainer.lazy=false"]
    )
    assert found == {"gcfexplainer": {"alpha": 0.5, "lazy": False}, "cff": {"epochs": 3}}
    with pytest.raises(InputError, match="got 'alpha=1'"):
        parse_options(["gcfexplainer", "cff"], ["alpha=1"])
