from __future__ import annotations

import re
from pathlib import Path

import pytest

from comrecgc.cli.explain import run_demo
from comrecgc.explanation import Explanation


def test_the_demo_finds_the_planted_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("comrecgc.models.training.user_cache_path", lambda name: tmp_path / "cache" / name)
    explanation = run_demo(tmp_path / "demo", 0, panel_epochs=20)
    printed = capsys.readouterr().out
    assert explanation.facts.model_accuracy is not None
    assert explanation.facts.model_accuracy > 0.85
    assert explanation.coverage > 0.5
    assert (tmp_path / "demo" / "report.html").exists()
    assert f"report: {tmp_path / 'demo' / 'report.html'}" in printed
    counts = re.search(r"(\d+) of (\d+) counterfactuals change a planted group", printed)
    assert counts is not None
    assert int(counts[1]) > 0.85 * int(counts[2]) > 0
    assert len({recourse.summary for recourse in explanation.recourses}) == len(explanation.recourses)
    # An epoxide is replaced whole, and not every molecule has room for that within θ.
    for group, least in (("nitro (", 0.95), ("nitrosamine", 0.95), ("epoxide", 0.5)):
        named = [recourse for recourse in explanation.recourses if group in recourse.summary]
        assert named, [recourse.summary for recourse in explanation.recourses]
        assert max(recourse.statistics["success"] for recourse in named) >= least
    assert Explanation.load(tmp_path / "demo") == explanation
    assert all(recourse.share_valid in (None, 1.0) for recourse in explanation.recourses)
