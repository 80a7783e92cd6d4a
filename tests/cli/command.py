"""Runs the command line as a shell would."""

from __future__ import annotations

import pytest

from comrecgc.cli import main


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    """Exit code of `comrecgc …`."""
    monkeypatch.setattr("sys.argv", ["comrecgc", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        main()
    return int(stop.value.code or 0)
