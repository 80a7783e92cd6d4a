"""`comrecgc reproduce`: names, a table of real data, resuming, and what cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import run


def test_every_experiment_is_listed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "reproduce", "--list") == 0
    said = capsys.readouterr().out
    assert all(name in said for name in ("fcr", "Table 3", "theory", "pictures", "all"))


def test_a_quick_table_equals_the_paper_and_is_found_again(
    data_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ("reproduce", "datasets", "theory", "--data-root", data_root, "--out", tmp_path)
    assert run(monkeypatch, *command) == 0
    first = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    assert b"3978 (paper 3978, +0)" in first["datasets.md"]
    (tmp_path / "cells" / "statistics-aids.json").unlink()  # as if killed before it
    assert run(monkeypatch, *command) == 2
    assert "--resume goes on" in capsys.readouterr().err
    assert run(monkeypatch, *command, "--resume") == 0
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == first


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["theorie"], "the nearest is theory"),
        (["theory", "--scale", "huge"], "scale must be quick or full (got 'huge')"),
        (["theory", "--checkpoints", "nowhere"], "--checkpoints must be a folder (got nowhere)"),
    ],
)
def test_what_cannot_be_is_one_line(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(monkeypatch, "reproduce", *arguments, "--out", tmp_path / "out") == 2
    said = capsys.readouterr().err
    assert message in said
    assert len(said.splitlines()) == 1
