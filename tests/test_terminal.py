from __future__ import annotations

import pytest

from comrecgc.terminal import bars


def test_bars_go_to_stderr_with_count_and_word(capsys: pytest.CaptureFixture[str]) -> None:
    with bars() as bar:
        bar("training", 1, 3, "loss 0.9")
        bar("training", 3, 3, "loss 0.1")
        bar("[odd] name", 1, 1)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "3/3" in shown.err
    assert "loss 0.1" in shown.err
    assert "[odd] name" in shown.err


def test_without_work_nothing_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    with bars():
        pass
    assert capsys.readouterr().err == ""
