"""Tests of comrecgc.run.context: what a person sees of a run."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from comrecgc.run import RunContext, bars
from comrecgc.run.context import Lines


def test_bars_go_to_stderr_with_count_and_word(capsys: pytest.CaptureFixture[str]) -> None:
    with bars() as bar:
        bar("training", 1, 3, "loss 0.9")
        bar("training", 3, 3, "loss 0.1")
        bar("[odd] name", 1, 1, "")
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "3/3" in shown.err
    assert "loss 0.1" in shown.err
    assert "[odd] name" in shown.err


def test_without_work_nothing_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    with bars():
        pass
    assert capsys.readouterr().err == ""


def test_off_a_terminal_a_line_comes_every_few_seconds(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 1.0, 6.0, 7.0, 8.0, 9.0])
    monkeypatch.setattr("comrecgc.run.context.time.monotonic", lambda: next(clock))
    lines = Lines(5.0)
    for done in (1, 2, 3, 4):  # at 0, 1, 6 and 7 seconds
        lines("sweep", done, 9, "going well")
    assert capsys.readouterr().err.splitlines() == ["sweep: 1/9, going well", "sweep: 3/9, going well"]
    lines("round 1", 0, 2)
    lines("round 1", 2, 2)
    assert capsys.readouterr().err.splitlines() == ["sweep: 4/9, going well", "round 1: 0/2", "round 1: 2/2"]
    lines.stop()
    assert capsys.readouterr().err == ""


def test_off_a_terminal_the_first_line_does_not_wait(capsys: pytest.CaptureFixture[str]) -> None:
    with bars() as bar:
        bar("training", 1, 300, "")
        assert "training: 1/300" in capsys.readouterr().err


def test_in_a_notebook_one_output_is_rewritten(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown: list[str] = []

    class Handle:
        def update(self, text: str) -> None:
            shown[-1] = text

    def display(text: str, *, display_id: bool) -> Handle:
        assert display_id
        shown.append(text)
        return Handle()

    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(HTML=str, display=display))
    with bars() as bar:
        for done in range(1, 101):
            bar("training", done, 100, "loss <0.9>")
        bar("mining", 1, 7, "")
    assert shown == ["<pre>training: 100/100, loss &lt;0.9&gt;\nmining: 1/7</pre>"]
    assert capsys.readouterr().err == ""
    shell.__dict__.clear()  # the shell of a terminal has no kernel
    with bars() as bar:
        bar("training", 1, 2, "")
    assert "training: 1/2" in capsys.readouterr().err


def test_a_run_shows_progress_where_somebody_watches(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def shown(**given: Any) -> str:
        with RunContext(**given).begun() as context:
            context.show_progress("inputs", 1, 2)
        return capsys.readouterr().err

    assert shown() == ""
    assert "inputs" in shown(progress=True)
    monkeypatch.setattr("comrecgc.run.context.is_watched", lambda: True)
    assert "inputs" in shown()
    assert shown(progress=False) == ""
