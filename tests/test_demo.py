from __future__ import annotations

import re
from pathlib import Path

import pytest

from comrecgc.classifiers import load_classifier
from comrecgc.demo import run_demo
from comrecgc.embedding import load_embedder


def test_the_demo_finds_the_planted_groups(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_demo(tmp_path, 0, effort=0.005)
    printed = capsys.readouterr().out
    assert load_classifier(tmp_path / "classifier.safetensors").num_labels == 7
    assert load_embedder(tmp_path / "embedder.safetensors").num_labels == 7
    accuracy = re.search(r"test accuracy ([\d.]+)%", printed)
    assert accuracy is not None
    assert float(accuracy[1]) > 90
    rows = re.findall(r"│ (.+?)\s+│ (\d+)\s+│ (\d+)%\s+│ (\d+)%", printed)
    assert len(rows) == 8
    most_common = rows[:3]
    assert all(int(touching) > 85 for _, _, _, touching in most_common)
    assert all(int(share) > 20 for _, _, share, _ in most_common)
    assert str(tmp_path) in printed
