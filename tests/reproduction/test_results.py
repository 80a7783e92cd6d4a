"""Cells are computed once, and a damaged or foreign one is named."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from comrecgc.errors import InputError
from comrecgc_reproduction import scale_of
from comrecgc_reproduction.results import ResultStore, file_name


def test_a_cell_is_computed_once(tmp_path: Path) -> None:
    store, calls = ResultStore(folder=tmp_path / "cells"), []

    def compute() -> dict[str, float]:
        calls.append(1)
        return {"coverage": 0.5}

    assert store.is_empty
    first = store.value("published 5 heads aids seed 0", compute)
    again = ResultStore(folder=tmp_path / "cells").value("published 5 heads aids seed 0", compute)
    assert len(calls) == 1
    assert first is not None
    assert first == again
    assert first["coverage"] == 0.5
    assert not store.is_empty


def test_nothing_is_computed_where_cells_are_only_read(tmp_path: Path) -> None:
    reader = ResultStore(folder=tmp_path, computes=False)
    assert reader.value("a", _fail) is None
    written = ResultStore(folder=tmp_path).value("a", lambda: {"x": 1})
    assert reader.value("a", _fail) == written


def test_cells_of_another_run_are_taken_as_they_are(tmp_path: Path) -> None:
    store = ResultStore(folder=tmp_path / "here")
    value = store.value("a, θ = 0.1", lambda: {"curve": [0.25, 0.5]})
    store.value("b", lambda: {"x": 1})
    path = tmp_path / "cells.jsonl"
    path.write_text(store.lines(), encoding="utf-8")
    other = ResultStore(folder=tmp_path / "there")
    own = other.value("b", lambda: {"x": 2})
    other.take(path)
    assert other.value("a, θ = 0.1", _fail) == value
    assert other.value("b", _fail) == own
    path.write_text('{"cell": "a"}\n[1]\n', encoding="utf-8")
    with pytest.raises(InputError, match="one JSON object a line"):
        other.take(path)


def test_what_fails_leaves_no_cell(tmp_path: Path) -> None:
    store = ResultStore(folder=tmp_path)
    with pytest.raises(RuntimeError):
        store.value("a", _fail)
    assert store.is_empty
    assert (store.value("a", lambda: {"x": 1}) or {})["x"] == 1


def test_processor_seconds_count_workers_that_have_ended(tmp_path: Path) -> None:
    def busy() -> dict[str, float]:
        subprocess.run([sys.executable, "-c", "import time\nwhile time.process_time() < 0.5: pass"], check=True)
        return {}

    cell = ResultStore(folder=tmp_path).value("a", busy)
    assert cell is not None
    assert cell["cpu_seconds"] >= 0.4


def _fail() -> dict[str, float]:
    raise RuntimeError("killed")


def test_damaged_and_foreign_cells_are_named(tmp_path: Path) -> None:
    store = ResultStore(folder=tmp_path)
    (tmp_path / "a.json").write_text('{"cell": "b"}')
    with pytest.raises(InputError, match="must hold the cell 'a'"):
        store.value("a", dict)
    (tmp_path / "a.json").write_text('{"cell": ')
    with pytest.raises(InputError, match="not valid JSON"):
        store.value("a", dict)


def test_names_of_files_are_plain() -> None:
    assert file_name("rules any, θ = 0.1 / nci1") == "rules-any-0.1-nci1"
    assert "/" not in file_name("../../etc")


def test_unknown_scale() -> None:
    with pytest.raises(InputError, match="quick or full"):
        scale_of("huge")
