"""Seeds: how many are run, and which stored ones are shown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from comrecgc.run import write_json
from comrecgc_reproduction import Runner, scale_of
from comrecgc_reproduction.methods import published, rules
from comrecgc_reproduction.results import file_name

FCR, FC = published(5), published(5, problem="fc")


def stored(folder: Path, method: object = FCR, *, seeds: int, cpu_seconds: float) -> Runner:
    """A runner whose folder has some seeds of a method on AIDS."""
    runner = Runner(folder=folder, scale=scale_of("full"))
    (folder / "cells").mkdir(parents=True, exist_ok=True)
    for seed in range(seeds):
        name = method.cell(runner.setup("aids"), seed)  # type: ignore[attr-defined]
        cell = {"cell": name, "coverage": seed / 10, "cpu_seconds": cpu_seconds}
        write_json(folder / "cells" / f"{file_name(name)}.json", cell)
    return runner


@pytest.mark.parametrize(("cpu_seconds", "runs"), [(1200, [0, 1, 2]), (1201, [0])])
def test_further_seeds_are_run_where_all_take_an_hour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cpu_seconds: float, runs: list[int]
) -> None:
    runner = stored(tmp_path, seeds=1, cpu_seconds=cpu_seconds)
    monkeypatch.setattr(type(FCR), "figures", lambda _self, _setup, seed, _kept: {"coverage": seed / 10})
    assert [cell["coverage"] for cell in runner.results(FCR, "aids") if cell] == [seed / 10 for seed in runs]


def test_a_shared_search_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runner = stored(tmp_path, seeds=1, cpu_seconds=1000)
    stored(tmp_path, FC, seeds=1, cpu_seconds=300)
    monkeypatch.setattr(type(FCR), "figures", lambda *_: pytest.fail("no other seed is run"))
    assert len(runner.results(FC, "aids")) == 1


def test_stored_seeds_are_shown_though_one_is_asked_for(tmp_path: Path) -> None:
    runner = replace(stored(tmp_path, seeds=3, cpu_seconds=5000), scale=replace(scale_of("full"), num_seeds=1))
    for computes in (True, False):
        results = replace(runner, computes=computes).results(FCR, "aids")
        assert [cell["coverage"] for cell in results if cell] == [0.0, 0.1, 0.2]
    assert len(stored(tmp_path, rules("any"), seeds=3, cpu_seconds=1).results(rules("any"), "aids")) == 1  # no chance
