"""Tests of comrecgc.runs: kernels that are compiled while models train."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from comrecgc import runs
from comrecgc.runs import Compilation


def test_compiling_begins_once_and_only_where_it_pays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    begun: list[Any] = []

    class Process:
        def __init__(self, *, target: Any, daemon: bool) -> None:
            assert daemon
            self.target, self.waited = target, False

        def start(self) -> None:
            begun.append(self.target)

        def is_alive(self) -> bool:
            return not self.waited

        def join(self) -> None:
            self.waited = True

    context = SimpleNamespace(Process=Process)
    monkeypatch.setattr("comrecgc.runs.multiprocessing.get_context", lambda _: context)
    monkeypatch.setattr("comrecgc.runs.os.sched_getaffinity", lambda _: {0})
    assert Compilation.start().process is None  # one core: compiling elsewhere gains nothing
    monkeypatch.setattr("comrecgc.runs.os.sched_getaffinity", lambda _: {0, 1})
    compiling = Compilation.start()
    assert len(begun) == 1
    said: list[str] = []
    compiling.wait(lambda stage, *_: said.append(stage))
    assert [stage.split(",")[0] for stage in said] == ["compiling"]
    process: Any = compiling.process
    assert process.waited
    assert not process.is_alive()
    runs._stamp().touch()
    assert Compilation.start().process is None
    assert len(begun) == 1
