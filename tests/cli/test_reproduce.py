"""`comrecgc reproduce`: names, a table of real data, resuming, and what cannot be."""

from __future__ import annotations

import csv
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from comrecgc.run import write_json
from comrecgc_reproduction.results import file_name
from tests.cli.command import run


def test_every_experiment_is_listed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "reproduce", "--list") == 0
    said = capsys.readouterr().out
    assert all(name in said for name in ("fcr", "Table 3", "theory", "pictures", "all"))
    lines = said.splitlines()[:-1]
    assert all(
        "quick" in line and "full" in line and any(c.isdigit() for c in line) for line in lines
    )  # how long each takes
    assert not [line for line in lines if "appendix:" in line]  # every table by its number


def test_a_quick_table_equals_the_paper_and_is_found_again(
    data_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ("reproduce", "datasets", "theory", "--data-root", data_root, "--out", tmp_path)
    assert run(monkeypatch, *command) == 0
    first = files(tmp_path)
    assert b"| graphs | printed in the paper | 3978 |" in first["datasets.md"]
    assert b"| graphs | here | 3978 (+0) |" in first["datasets.md"]
    (tmp_path / "cells" / "statistics-aids.json").unlink()  # as if killed before it
    assert run(monkeypatch, *command) == 2
    assert "--resume goes on" in capsys.readouterr().err
    assert run(monkeypatch, *command, "--resume") == 0
    assert files(tmp_path) == first


def test_a_table_runs_from_the_archive_to_the_page(
    data_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = (
        "reproduce",
        "fine",
        "page",
        "--scale",
        "quick",
        "--jobs",
        "1",
        "--data-root",
        data_root,
        "--out",
        tmp_path,
    )
    assert run(monkeypatch, *command) == 0
    first = files(tmp_path / "page")
    with (tmp_path / "fine.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["column"] == "mutagenicity, %"]
    assert [row["row"] for row in rows] == ["Δ = 0.02", "Δ = 0.025", "Δ = 0.03", "Δ = 0.035", "Δ = 0.04"]
    assert all(0 < float(row["mean"]) <= 100 for row in rows)
    (line,) = [line for line in first["reproduction.md"].decode().splitlines() if line.startswith("| `fine`")]
    assert "of 3 |" in line  # the other two are in other tables
    assert len(list((tmp_path / "cells").iterdir())) == len(rows)
    monkeypatch.setattr("comrecgc_reproduction.methods.Method.figures", lambda *_: pytest.fail("computed again"))
    assert run(monkeypatch, *command, "--resume") == 0
    assert files(tmp_path / "page") == first


def test_tables_of_what_was_computed(
    data_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "reproduce", "datasets", "--data-root", data_root, "--out", tmp_path) == 0
    whole = files(tmp_path)
    cells = tmp_path / "cells"
    assert run(monkeypatch, "reproduce", "datasets", "--computed", "--out", tmp_path) == 0
    assert files(tmp_path) == whole
    (cells / "statistics-aids.json").unlink()
    for seed, share in enumerate((0.342, 0.346)):
        name = f"published 5 heads fcr delta 0.02 theta 0.1 aids gcn seed {seed} full"
        figures = {"coverage": 0.4, "published_coverage": share, "length": 7.0, "published_length": 6.5, "curve": [0.1]}
        write_json(
            cells / f"{file_name(name)}.json",
            {"cell": name, "lengths": [], "stages": {}, "seconds": 1, "cpu_seconds": 1, **figures},
        )
    before = sorted(path.name for path in cells.iterdir())
    command = ("reproduce", "all", "--computed", "--scale", "full", "--seeds", "2", "--out", tmp_path)
    assert run(monkeypatch, *command) == 0
    assert sorted(path.name for path in cells.iterdir()) == before
    assert not (tmp_path / "models").exists()
    found = files(tmp_path)
    assert "| graphs | here | 3978 (+0) | 4308 (+0) | not run | 1113 (+0) |" in found["datasets.md"].decode()
    rows = [line for line in found["fcr.md"].decode().splitlines() if line.startswith("| COMRECGC, 5 heads | the")]
    assert "| not run | not run | 34.40 ± 0.28 (-0.30) | 6.50 ± 0.00 (-0.24) | not run | not run |" in rows[0]
    assert "seeds 0 to 1" in found["fcr.md"].decode()
    assert "Not run." in found["pictures.md"].decode()
    assert {"curves.svg", "models.md", "social.md", "times.md"} <= set(found)
    capsys.readouterr()
    assert run(monkeypatch, "reproduce", "all", "--computed", "--out", tmp_path / "nothing") == 2
    assert "--computed needs the cells" in capsys.readouterr().err


def files(folder: Path) -> dict[str, bytes]:
    """What a run leaves, but for how long things took."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.name != "cells.csv"}


def test_killed_at_random_moments_it_ends_with_the_same_files(
    data_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("reproduce", "datasets", "theory", "--data-root", data_root, "--resume", "--out")
    assert run(monkeypatch, *command, tmp_path / "whole") == 0
    rng, folder, cells = random.Random(0), tmp_path / "killed", tmp_path / "killed" / "cells"
    for most in (1, 4):  # cells that are done before the blow falls, so that no two fall alike
        process = subprocess.Popen(
            [sys.executable, "-m", "comrecgc", *map(str, command), str(folder)], stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + 120
        while process.poll() is None and len(list(cells.glob("*.json"))) < most and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(rng.uniform(0, 0.3))
        process.kill()
        process.wait()
    assert len(list(cells.glob("*.json"))) >= 4
    assert run(monkeypatch, *command, folder) == 0
    assert files(folder) == files(tmp_path / "whole")


def test_no_data_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COMRECGC_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def unreachable(*_: object, **__: object) -> None:
        raise OSError("no network")

    monkeypatch.setattr("urllib.request.urlopen", unreachable)
    assert run(monkeypatch, "reproduce", "datasets", "--out", tmp_path / "out") == 2
    said = capsys.readouterr().err
    assert "NCI1" in said.upper()
    assert len([line for line in said.splitlines() if "rror" in line or "must" in line]) == 1
    assert not list((tmp_path / "out" / "cells").glob("*.json"))


def test_without_the_package_of_the_reproduction_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "comrecgc_reproduction", raising=False)
    monkeypatch.setattr(sys, "meta_path", [_Missing(), *sys.meta_path])
    assert run(monkeypatch, "reproduce", "--list") == 2
    said = capsys.readouterr().err
    assert "comrecgc_reproduction" in said
    assert len(said.splitlines()) == 1


class _Missing:
    """Finds no package of the reproduction, as where it is not installed."""

    def find_spec(self, name: str, *_: object) -> None:
        if name == "comrecgc_reproduction":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["theorie"], "did you mean theory"),
        (["theory", "--scale", "huge"], "scale must be quick or full"),
        (["theory", "--checkpoints", "nowhere"], "--checkpoints must be a folder"),
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
