"""Tests of comrecgc.cli.explain.

Also tests comrecgc.cli.app, comrecgc.errors.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from comrecgc import __version__
from comrecgc.algorithms.registry import Vectors
from comrecgc.algorithms.vectors.search import DirectedSearch
from comrecgc.cli.app import Data, _parse_bins
from comrecgc.data import GraphDataset
from comrecgc.errors import InputError
from comrecgc.explainer import CommonRecourseExplainer
from comrecgc.explanation import Explanation
from comrecgc.models import (
    ClassifierTraining,
    EmbedderTraining,
    Greed,
    load_classifier,
    load_embedder,
    train_classifier,
)
from comrecgc.models.greed import save_embedder
from comrecgc.run import RunContext
from tests.cli.command import run
from tests.stubs import small_dataset

DATASET = small_dataset(60)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Options that name a trained classifier and an embedder of random weights, which measures well enough here."""
    folder = tmp_path_factory.mktemp("models")
    train_classifier(DATASET, ClassifierTraining(epochs=150, seed=1), out=folder / "classifier.safetensors")
    torch.manual_seed(0)
    save_embedder(Greed(3, num_layers=2, width=8, output_width=8), folder / "greed.safetensors", {})
    return ["--classifier", str(folder / "classifier.safetensors"), "--embedder", str(folder / "greed.safetensors")]


@pytest.fixture(autouse=True)
def small_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """`planted` is a few small trees, the first two thirds of them unless asked otherwise."""
    import comrecgc.data

    original = comrecgc.data.load_dataset

    def load(name: str, root: Path | None = None, **options: Any) -> GraphDataset:
        parts = {"planted": DATASET[:40], "unseen": DATASET[40:]}
        return parts[name] if name in parts else original(name, root=root, **options)

    monkeypatch.setattr(comrecgc.data, "load_dataset", load)


@pytest.fixture(scope="module")
def options(models: list[str]) -> list[str]:
    limits = ["--theta", "0.2", "--recourses", "4", "--jobs", "1"]
    return ["explain", "--dataset", "planted", *models, "--algorithm", "vectors", "--changes", "any", *limits]


@pytest.fixture
def finished(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Path:
    assert run(monkeypatch, *options, "--out", tmp_path / "run") == 0
    capsys.readouterr()
    return tmp_path / "run"


def test_a_run_folder_and_a_summary(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    assert run(monkeypatch, *options, "--out", folder) == 0
    printed = capsys.readouterr()
    explanation = Explanation.load(folder)
    assert explanation.recourses
    assert f"{explanation.coverage:.1%} of {len(explanation.inputs)} rejected graphs" in printed.out
    assert printed.out.strip().endswith(f"report: {folder / 'report.html'}")
    assert f"evaluate {folder} --evidence" in printed.out.replace("'", "")
    assert explanation.recourses[0].summary.split()[0] in printed.out
    assert "sweep" in printed.err
    assert {file.name for file in folder.iterdir()} == {
        "manifest.json", "explanation.json", "recourses.csv", "coverage_curve.csv", "report.html", "witnesses.npz",
    }  # fmt: skip
    manifest = json.loads((folder / "manifest.json").read_text())
    assert set(manifest["facts"]["models"]["classifier"]) == {"path", "sha256"}
    assert manifest["seconds"].keys() >= {"reading", "classifier", "search", "verification"}


def test_the_command_and_the_class_agree_whatever_the_jobs(
    finished: Path, options: list[str], models: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (finished / "explanation.json").read_text()
    other = finished.parent / "other"
    assert run(monkeypatch, *options, "--out", other, "--jobs", 2) == 0
    assert (other / "explanation.json").read_text() == text
    explainer = CommonRecourseExplainer(
        load_classifier(models[1]),
        Vectors(embedder=load_embedder(models[3]), changes="any"),
        theta=0.2,
        num_recourses=4,
        context=RunContext(jobs=1),
    )
    assert explainer.fit(DATASET[:40]).explanation_.to_json() == text


def test_the_papers_walk_gives_the_same_whatever_the_jobs(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    walk = ["--algorithm", "paper", "--steps", 200, "--heads", 3, "--delta", 0.04]
    for jobs in (1, 2):
        assert run(monkeypatch, *options, *walk, "--jobs", jobs, "--out", tmp_path / str(jobs)) == 0
        assert run(monkeypatch, "evaluate", tmp_path / str(jobs)) == 0
    found = Explanation.load(tmp_path / "1")
    assert found.recourses
    assert found.to_json() == Explanation.load(tmp_path / "2").to_json()


def test_a_baseline_is_an_algorithm(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    walk = ["--algorithm", "gcfexplainer", "--steps", 60, "--delta", 0.04]
    assert run(monkeypatch, *options, *walk, "--out", tmp_path / "run") == 0
    assert "report:" in capsys.readouterr().out
    found = Explanation.load(tmp_path / "run")
    assert (found.parameters["algorithm"], found.parameters["num_steps"]) == ("gcfexplainer", 60)
    assert run(monkeypatch, "evaluate", tmp_path / "run") == 0


def molecules(folder: Path) -> Path:
    """A table of SMILES: chains with a bromine at their end are toxic, those without are not."""
    chains = ["C" * length for length in range(3, 13)]
    rows = [f"{chain}{end},{int(not end)}" for chain in chains for end in ("Br", "")]
    (folder / "molecules.csv").write_text("\n".join(["smiles,harmless", *rows, ""]))
    return folder / "molecules.csv"


def archive(folder: Path) -> Path:
    """A TU archive: paths and cycles of one label, some nodes of which are of another."""
    graphs = [DATASET.graphs[index] for index in range(40)]
    starts = np.cumsum([0, *(graph.num_nodes for graph in graphs)])
    edges = [(graph.edges + start + 1).tolist() for graph, start in zip(graphs, starts, strict=False)]
    both = [pair for each in edges for one, other in each for pair in ((one, other), (other, one))]
    contents = {
        "A": [f"{one}, {other}" for one, other in both],
        "graph_indicator": [number + 1 for number, graph in enumerate(graphs) for _ in range(graph.num_nodes)],
        "graph_labels": DATASET.classes[:40].tolist(),
        "node_labels": [label for graph in graphs for label in graph.labels.tolist()],
    }
    with zipfile.ZipFile(folder / "TREES.zip", "w") as file:
        for name, lines in contents.items():
            file.writestr(f"TREES/TREES_{name}.txt", "\n".join(map(str, lines)) + "\n")
    return folder / "TREES.zip"


@pytest.mark.parametrize("make", [molecules, archive])
def test_rules_are_the_default_on_a_table_and_an_archive(
    make: Callable[[Path], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if make is molecules:
        pytest.importorskip("rdkit")
    monkeypatch.setattr("comrecgc.models.training.user_cache_path", lambda name: tmp_path / "cache" / name)
    monkeypatch.setattr("comrecgc.runs.ClassifierTraining", lambda **given: ClassifierTraining(epochs=150, **given))
    folder = tmp_path / "run"
    asked = ["--theta", 0.4, "--no-panel", "--jobs", 1, "--out", folder]
    assert run(monkeypatch, "explain", "--dataset", make(tmp_path), *asked) == 0
    printed = capsys.readouterr().out
    found = Explanation.load(folder)
    assert (found.recourse, found.changes, found.parameters["algorithm"]) == ("rules", "plausible", "rules")
    assert 0 < len(found.recourses) <= 10
    assert found.coverage > 0.5
    assert found.recourses[0].summary in " ".join(printed.split())
    assert {"rules.npz", "classifier.safetensors", "report.html"} <= {file.name for file in folder.iterdir()}
    assert (folder / "molecules.csv").exists() == (make is molecules)
    assert run(monkeypatch, "evaluate", folder) == 0
    read: list[str] = []

    def refuse(data: Data) -> None:
        read.append(data.dataset)
        raise InputError("enough")

    monkeypatch.setattr("comrecgc.cli.app.read_data", refuse)
    assert run(monkeypatch, "evaluate", folder, "--evidence") == 2
    assert read == [str(make(tmp_path))]  # the run knows its data


def test_an_interrupted_run_says_how_to_go_on_and_ends_the_same(
    finished: Path, options: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = finished.parent / "interrupted"
    original = DirectedSearch.run

    def interrupted(self: DirectedSearch, scorer: Any, inputs: Any, context: RunContext, **kw: Any) -> object:
        def stop(*_: object) -> None:
            raise KeyboardInterrupt

        return original(self, scorer, inputs, context.with_progress(stop), **kw)

    with monkeypatch.context() as patch:
        patch.setattr(DirectedSearch, "run", interrupted)
        assert run(monkeypatch, *options, "--out", folder) == 130
    assert "--resume" in capsys.readouterr().err
    assert not (folder / "manifest.json").exists()
    assert run(monkeypatch, *options, "--out", folder) == 2
    assert "--resume goes on" in capsys.readouterr().err
    assert run(monkeypatch, *options, "--out", folder, "--resume", "--seed", 3) == 2
    assert "random_state 0, and resuming needs the same" in capsys.readouterr().err
    assert run(monkeypatch, *options, "--out", folder, "--resume") == 0
    assert (folder / "explanation.json").read_text() == (finished / "explanation.json").read_text()
    assert not (folder / "run.json").exists()


def test_a_finished_run_is_kept_unless_it_shall_be_replaced(
    finished: Path, options: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (finished / "explanation.json").read_text()
    assert run(monkeypatch, *options, "--out", finished, "--resume") == 0
    assert "sweep" not in capsys.readouterr().err
    assert run(monkeypatch, *options, "--out", finished, "--recourses", 1) == 2
    assert run(monkeypatch, *options, "--out", finished, "--recourses", 1, "--overwrite") == 0
    assert (finished / "explanation.json").read_text() != text
    assert len(Explanation.load(finished).recourses) == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["--dataset", "mutagenicty"], "did you mean mutagenicity?"),
        (["--classifier", "none.pth"], "none.pth"),
        (["--delta", "tiny"], "delta must be a positive number"),
        (["--delta", "-1"], "delta must be a number above 0"),
        (["--max-changes", "1"], "--max-changes is an option of --algorithm rules"),
        (["--algorithm", "rules"], "is an option of --algorithm vectors"),
        (["--algorithm", "papers"], "did you mean paper?"),
        (["--changes", "sane"], "changes must be one of any, connected"),
        (["--theta", "0"], "theta must be a positive number"),
        (["--algorithm", "paper", "--teleport", "2"], "teleport must be a number above"),
        (["--time-budget", "-5"], "time_budget must be a positive number"),
        (["--data-root", "nowhere", "--dataset", "aids"], "root must be an existing folder"),
        (["--constraint", "valence"], "Valence knows the elements"),
    ],
)
def test_bad_input_is_one_line_and_code_2(
    changes: list[str],
    message: str,
    options: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(monkeypatch, *options, "--out", tmp_path / "run", *changes) == 2
    printed = capsys.readouterr().err
    assert printed.count("error: ") == 1
    assert message in printed[printed.index("error: ") :]
    assert "\n" not in printed[printed.index("error: ") :].strip()


def test_a_folder_that_cannot_be_written_to(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("in the way")
    for out in (tmp_path / "file", tmp_path / "file" / "run"):
        assert run(monkeypatch, *options, "--out", out) == 2
        assert capsys.readouterr().err.strip().startswith("error: Cannot write to")


def test_models_are_trained_where_none_are_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("comrecgc.models.training.user_cache_path", lambda name: tmp_path / "cache" / name)
    monkeypatch.setattr("comrecgc.runs.ClassifierTraining", lambda **options: ClassifierTraining(epochs=30, **options))
    for module in ("runs", "explainer"):
        monkeypatch.setattr(f"comrecgc.{module}.QUICK_TRAINING", EmbedderTraining(effort=0.001))
    folder = tmp_path / "run"
    asked = ["--algorithm", "vectors", "--changes", "any", "--recourses", 2, "--jobs", 1]
    assert run(monkeypatch, "explain", "--dataset", "planted", "--out", folder, *asked) == 0
    assert "training gcn" in capsys.readouterr().err
    assert run(monkeypatch, "evaluate", folder) == 0


def test_a_run_that_found_nothing_for_lack_of_time_says_so_and_exits_with_3(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, *options, "--out", tmp_path / "run", "--time-budget", 1e-6) == 3
    assert "nothing was found" in capsys.readouterr().err
    assert not Explanation.load(tmp_path / "run").recourses


def test_evaluate_agrees_with_an_honest_run_and_finds_a_dishonest_one(
    finished: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "evaluate", finished) == 0
    assert "figures identical" in capsys.readouterr().out
    explanation = Explanation.load(finished)
    first = explanation.recourses[0]
    member = replace(first.covered[0], probability=first.covered[0].probability / 2)
    lie = replace(first, covered=(member, *first.covered[1:]))
    replace(explanation, recourses=(lie, *explanation.recourses[1:])).save(finished)
    assert run(monkeypatch, "evaluate", finished) == 1
    assert "13 of 14 figures identical" in capsys.readouterr().out
    longer = replace(first, vector=tuple(2 * np.array(first.vector)))
    replace(explanation, recourses=(longer, *explanation.recourses[1:])).save(finished)
    assert run(monkeypatch, "evaluate", finished) == 1


def test_evaluate_names_what_it_cannot_use(
    finished: Path, models: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "evaluate", finished.parent / "none") == 2
    assert "is not a run folder" in capsys.readouterr().err
    assert run(monkeypatch, "evaluate", finished, *models) == 0
    assert run(monkeypatch, "evaluate", finished, "--embedder", models[1]) == 2
    assert "must describe a greed" in capsys.readouterr().err
    witnesses = finished / "witnesses.npz"
    witnesses.write_bytes(witnesses.read_bytes()[:-10])
    assert run(monkeypatch, "evaluate", finished) == 2
    assert "witnesses.npz is damaged" in capsys.readouterr().err


def test_report_writes_the_page_again(
    finished: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = finished / "report.html"
    page.unlink()
    assert run(monkeypatch, "report", finished) == 0
    assert "<html" in page.read_text()
    assert str(page) in capsys.readouterr().out


def test_explain_and_report_write_the_same_page(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = finished / "report.html"
    written = page.read_bytes()
    assert run(monkeypatch, "report", finished) == 0
    assert page.read_bytes() == written
    assert b"{&#39;" not in written  # a Python dict
    assert b"request: theta" in written
    assert b"models: classifier: sha256" in written


def test_apply_uses_the_recourses_on_unseen_graphs(
    finished: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    target = finished.parent / "applied.json"
    assert run(monkeypatch, "apply", "--run", finished, "--dataset", "unseen", "--out", target, "--jobs", 1) == 0
    printed = capsys.readouterr().out
    assert f"saved to {target}" in printed.replace("\n", "")
    applied = json.loads(target.read_text())
    found = Explanation.load(finished)
    assert [recourse["vector"] for recourse in applied["recourses"]] == [list(r.vector or ()) for r in found.recourses]
    rejected = sum(len(recourse["covered"]) for recourse in applied["recourses"]) + len(applied["uncovered"])
    assert rejected == len(applied["inputs"]) > 0
    folder = finished.parent / "applied"
    assert run(monkeypatch, "apply", "--run", finished, "--dataset", "unseen", "--out", folder, "--jobs", 1) == 0
    assert json.loads((folder / "applied.json").read_text())["recourses"] == applied["recourses"]


def test_a_terminal_without_greek_letters_is_no_error() -> None:
    plain = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONUTF8": "0"}
    shown = subprocess.run(
        [sys.executable, "-m", "comrecgc", "explain", "--help"], check=False, capture_output=True, env=plain
    )
    assert shown.returncode == 0, shown.stderr
    assert b"--theta" in shown.stdout


def test_help_has_the_options_of_one_algorithm_on_two_screens(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def shown(*options: str) -> str:
        assert run(monkeypatch, "explain", *options, "--help") == 0
        return capsys.readouterr().out

    rules, baseline = shown(), shown("--algorithm", "gcfexplainer")
    assert len(rules.splitlines()) <= 110
    assert max(map(len, rules.splitlines())) <= 80
    assert "--max-changes" in rules
    assert "--walk-theta" not in rules
    assert "--walk-theta" in baseline
    assert "--max-changes" not in baseline
    places = [rules.index(f"\n{heading}:") for heading in ("Data", "Model", "Rules", "Trust", "Scale")]
    assert places == sorted(places)


def test_another_seed_trains_another_classifier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def note(*_: object, training: ClassifierTraining, **__: object) -> None:
        asked.append(training.seed)
        raise KeyboardInterrupt

    monkeypatch.setattr("comrecgc.models.obtain_classifier", note)
    for seed in (0, 1):
        run(monkeypatch, "explain", "--dataset", "planted", "--out", tmp_path / str(seed), "--seed", seed)
    assert asked == [0, 1]


def test_the_package_runs_as_a_module() -> None:
    """`python -m comrecgc` is the same command."""
    shown = subprocess.run([sys.executable, "-m", "comrecgc", "--version"], capture_output=True, text=True, check=True)
    assert __version__ in shown.stdout


def test_a_number_alone_cuts_every_attribute() -> None:
    assert _parse_bins(["4"]) == {"all": 4}
    assert _parse_bins(["charge=3", "mass=2"]) == {"charge": 3, "mass": 2}
    with pytest.raises(InputError, match="--bin must be a number of ranges"):
        _parse_bins(["=4"])


def test_a_classifier_of_a_table_explains_some_of_its_molecules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some molecules have fewer kinds of atoms than all, and others are the most frequent."""
    pytest.importorskip("rdkit")
    chains = ["C" * length for length in range(1, 9)]
    rows = [f"{chain}{end},{int('Br' not in end)}" for chain in chains for end in ("OBr", "O", "N", "OOO")]
    (tmp_path / "all.csv").write_text("\n".join(["smiles,harmless", *rows, ""]))
    (tmp_path / "some.csv").write_text("\n".join(["smiles,harmless", *(row for row in rows if "N" not in row), ""]))
    file = tmp_path / "model.safetensors"
    trained = ["--epochs", 20, "--out", file]
    assert run(monkeypatch, "train", "classifier", "--dataset", tmp_path / "all.csv", "--model", "gcn", *trained) == 0
    asked = ["--classifier", file, "--no-panel", "--no-jury", "--jobs", 1, "--out", tmp_path / "run"]
    assert run(monkeypatch, "explain", "--dataset", tmp_path / "some.csv", *asked) == 0
    found = Explanation.load(tmp_path / "run")
    assert "N" in found.schema.label_names


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="Windows has no such signals")
def test_ctrl_c_is_heard_while_rdkit_matches() -> None:
    pytest.importorskip("rdkit")
    script = (
        "import signal, time\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell lets what runs in its background ignore it
        "from comrecgc.cli.app import _hear_interrupts\n"
        "_hear_interrupts()\n"  # as in main, before packages start threads of their own
        "from comrecgc.molecules import has_other_alerts, read_smiles\n"
        "molecule, end = read_smiles('CC(C)NCC(O)COc1cccc2ccccc12'), time.monotonic() + 20\n"
        "print('begun', flush=True)\n"
        "while time.monotonic() < end:\n"
        "    has_other_alerts(molecule, frozenset())\n"
    )
    for _ in range(3):
        with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as other:
            assert other.stdout is not None
            other.stdout.readline()
            time.sleep(0.2)
            other.send_signal(signal.SIGINT)
            assert b"KeyboardInterrupt" in other.communicate(timeout=60)[1]


@pytest.mark.parametrize(
    ("cells", "goal", "word"),
    [
        (["5", "6", "inactive", "7"], ("--raise", 0.5), "line 4"),
        (["5", "6", ">10000", "7"], ("--raise", 0.5), "--skip-bad"),
        (["5", "6", "6.5", "7"], ("--to", 9), "5 to 7"),
        (["5", "6", "6.5", "7"], ("--raise", 3), "5 to 7"),
        (["5", "6", "6.5", "7"], ("--to", 5), "already"),
        (["5", "6", "6.5", "7"], ("--to", 8, "--accept", "lower"), "already"),
        (["5", "6", "6.5", "120", "7"], ("--raise", 0.5), "mix"),
        (["5", "6", "6.5", "7"], ("--raise", -1), "above 0"),
        (["5", "6", "6.5", "7"], ("--raise", 0.5, "--lower", 0.5), "2 of them"),
    ],
)
def test_bad_numbers_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], cells: list[str], goal: tuple[Any, ...], word: str
) -> None:  # fmt: skip
    path = tmp_path / "numbers.csv"
    path.write_text("smiles,pKi\n" + "".join(f"{'C' * (k + 1)}O,{cell}\n" for k, cell in enumerate(cells)))
    options = ("--dataset", path, "--target", "pKi", *goal, "--out", tmp_path / "out")
    assert run(monkeypatch, "explain", *options) == 2
    said = capsys.readouterr()
    assert len((said.err or said.out).strip().splitlines()) == 1
    assert word in said.err + said.out
    assert not (tmp_path / "out").exists()
