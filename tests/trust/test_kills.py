"""A short round of `benchmarks/kills.py`: commands killed, resumed, and compared with uninterrupted runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HARNESS = Path(__file__).parents[2] / "benchmarks" / "kills.py"


@pytest.mark.skipif(os.name != "posix", reason="process groups and SIGKILL are of POSIX")
def test_killed_and_resumed_runs_end_like_uninterrupted_ones() -> None:
    if not HARNESS.is_file():
        pytest.skip("benchmarks/ is not beside tests/")
    sizes = ["--kills", "2", "--graphs", "40", "--steps", "60"]
    done = subprocess.run(
        [sys.executable, HARNESS, *sizes], capture_output=True, text=True, check=False, cwd=HARNESS.parents[1]
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = re.findall(r"^(.+?) +[\d.]+ s +\d+ \| +(\d+) +(\d+) +\d+ \| (\d+) of (\d+)", done.stdout, re.MULTILINE)
    assert [row[0] for row in rows] == ["explain", "explain --algorithm vectors", "explain --algorithm paper"]
    for name, by_clock, in_a_write, same, trials in rows:
        assert same == trials != "0", name
        assert int(by_clock) + int(in_a_write) >= 1, name
