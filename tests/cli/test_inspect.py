"""`choose` on a finished run: other wishes, no search, one line for what cannot be; and what commands make of damaged runs."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from comrecgc.algorithms.registry import Rules
from comrecgc.data import load_dataset
from comrecgc.explainer import CommonRecourseExplainer
from comrecgc.explanation import load_explanation
from comrecgc.run import RunContext
from tests.cli.command import run
from tests.stubs import AvoidsLabel


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run by rules on some of the planted molecules."""
    dataset = load_dataset("planted")[:60]
    nitrogen = dataset.label_names.index("N")
    model = AvoidsLabel(nitrogen, dataset.num_labels)
    made = CommonRecourseExplainer(model, Rules(max_changes=1), panel=False, theta=0.3, context=RunContext(jobs=1)).fit(
        dataset
    )
    folder = tmp_path_factory.mktemp("rules") / "run"
    made.explanation_.save(folder)
    return folder


def test_another_choice_goes_to_another_folder(rules: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, "choose", rules, "--recourses", 2, "--out", tmp_path / "two") == 0
    chosen = load_explanation(tmp_path / "two")
    assert len(chosen.recourses) == 2
    assert 0 < chosen.coverage <= load_explanation(rules).coverage
    assert (tmp_path / "two" / "report.html").exists()


def test_groups_are_forbidden_by_name(
    rules: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = load_explanation(rules)
    offers = [recourse.summary for recourse in whole.recourses if " by " in recourse.summary.rpartition(" (")[0]]
    made = offers[0].rsplit(" by ", 1)[1]
    without = whole.choose(forbidden_groups=[made])
    assert without.recourses
    assert all(not recourse.summary.endswith(f" by {made}") for recourse in without.recourses)
    assert run(monkeypatch, "choose", rules, "--forbid-group", made) == 0
    assert offers[0] not in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--forbid-group", "unobtainium"], "A group must be one"),
        (["--forbid-label", "Xx"], "Node labels are"),
        (["--forbid-kind", "explode"], "Kinds of change are"),
        (["--min-success", 2], "min_success must be a number at"),
        (["--confirmed"], "confirmed needs a panel"),
    ],
)
def test_wishes_that_cannot_be_are_one_line(
    rules: Path,
    options: list[object],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(monkeypatch, "choose", rules, *options) == 2
    said = capsys.readouterr().err
    assert message in said
    assert len(said.splitlines()) == 1


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the values of a JSON document are; of long lists the first few."""
    items = value.items() if isinstance(value, dict) else enumerate(value[:6]) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from _paths(inner, (*path, key))


@pytest.mark.parametrize("seed", range(16))
def test_mutated_run_folders_are_refused_in_one_line_or_harmless(
    seed: int, rules: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = random.Random(seed)
    folder = tmp_path / "run"
    shutil.copytree(rules, folder)
    name = "manifest.json" if seed % 4 == 3 else "explanation.json"
    document = json.loads((folder / name).read_text())
    *path, last = rng.choice(list(_paths(document)))
    inner = document
    for key in path:
        inner = inner[key]
    if rng.random() < 0.2:
        del inner[last]
    else:
        inner[last] = rng.choice([None, True, -1, 0, 1e9, 3.7, "", "x", [], {}, [1], [[1, 2]], {"a": 1}, "NaN"])
    (folder / name).write_text(json.dumps(document))
    if name == "explanation.json":
        manifest = json.loads((folder / "manifest.json").read_text())
        manifest["sha256"][name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        (folder / "manifest.json").write_text(json.dumps(manifest))
    for command in (["report", folder], ["choose", folder, "--recourses", 2], ["evaluate", folder], ["compare", folder, rules, "--out", tmp_path / "both"]):  # fmt: skip
        code, said = run(monkeypatch, *command), capsys.readouterr()
        assert code in (0, 1, 2)
        assert "Traceback" not in said.err + said.out
        assert code != 2 or said.err.strip().splitlines()[-1].strip()
