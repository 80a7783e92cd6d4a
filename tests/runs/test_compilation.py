from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from comrecgc.runs import Compilation, compilation


def test_compiling_begins_once_and_only_where_it_pays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    started: list[list[str]] = []

    class Process:
        def __init__(self, command: list[str], **_: object) -> None:
            started.append(command)
            self.waited = False

        def wait(self) -> None:
            self.waited = True

        def terminate(self) -> None: ...

    monkeypatch.setattr("comrecgc.runs.compilation.subprocess.Popen", Process)
    monkeypatch.setattr("comrecgc.runs.compilation.os.sched_getaffinity", lambda _: {0})
    assert Compilation.start().process is None  # one core: compiling elsewhere gains nothing
    monkeypatch.setattr("comrecgc.runs.compilation.os.sched_getaffinity", lambda _: {0, 1})
    compiling = Compilation.start()
    assert len(started) == 1
    compiling.wait()
    process: Any = compiling.process
    assert process.waited
    compilation._stamp().touch()
    assert Compilation.start().process is None
    assert len(started) == 1
