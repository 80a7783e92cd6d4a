"""Run folders: what is written, resumed, refused and opened again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from comrecgc.errors import InputError
from comrecgc.runs import RunFolder
from tests.explanations import FACTS, explain, tiny_dataset

REQUEST = {"seed": 0, "theta": 0.1, "dataset": "tiny"}


def opened(path: Path, request: dict[str, Any] = REQUEST, *, resume: bool = False, overwrite: bool = False) -> set[str]:
    """What is in a folder once it is taken, and that nothing stays locked."""
    with RunFolder.open(path, request, resume=resume, overwrite=overwrite) as folder:
        assert folder.path == path
        found = {entry.name for entry in path.iterdir()}
    assert not (path / ".lock").exists()
    return found - {".lock"}


def finished(path: Path) -> None:
    explanation = explain(tiny_dataset(), [])
    explanation.using(facts=replace(FACTS, facts={"request": REQUEST})).save(path)


def test_a_new_folder_keeps_what_was_asked(tmp_path: Path) -> None:
    path = tmp_path / "a" / "run"
    assert opened(path) == {"run.json"}
    assert json.loads((path / "run.json").read_text()) == REQUEST
    with pytest.raises(InputError, match="is not empty: --resume goes on"):
        opened(path)
    assert opened(path, resume=True) == {"run.json"}
    with pytest.raises(InputError, match="holds a run with seed 0"):
        opened(path, {**REQUEST, "seed": 1}, resume=True)


def test_a_folder_with_nothing_but_what_a_killed_run_left_is_empty(tmp_path: Path) -> None:
    (tmp_path / ".lock").write_text("999999")
    (tmp_path / ".run.json.00c0ffee.part").write_text("{")
    assert opened(tmp_path) == {"run.json"}


def test_a_run_killed_before_it_had_cleared_up_is_finished(tmp_path: Path) -> None:
    finished(tmp_path)
    whole = {entry.name for entry in tmp_path.iterdir()}
    for name in ("run.json", "search.npz", "walk-0.npz", ".search.npz.00c0ffee.part"):
        (tmp_path / name).write_text("left")
    assert opened(tmp_path, resume=True) == whole


def test_overwriting_removes_what_makes_a_run_whole_first_and_whose_it_is_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finished(tmp_path)
    for name in ("run.json", "search.npz", "walk-0.npz"):
        (tmp_path / name).write_text("left")
    removed: list[str] = []
    unlink = Path.unlink

    def noted(self: Path, missing_ok: bool = False) -> None:
        removed.append(self.name)
        unlink(self, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", noted)
    assert opened(tmp_path, overwrite=True) == {"run.json"}
    gone = [name for name in removed if not name.startswith(".")]
    assert gone[0] == "manifest.json"
    assert gone[-1] == "run.json"
    assert {"search.npz", "walk-0.npz", "explanation.json", "recourses.csv", "coverage_curve.csv"} < set(gone)


def test_files_that_cannot_be_removed_are_named(tmp_path: Path) -> None:
    (tmp_path / "search.npz").mkdir()
    with pytest.raises(InputError, match=r"Cannot remove .*search\.npz"):
        opened(tmp_path, overwrite=True)
