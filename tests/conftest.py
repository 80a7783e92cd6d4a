"""Where tests find real data (only through the environment, never by a path in the code), and how properties are tried."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

from comrecgc.models import jury

# The same examples in every run, so that a failure belongs to the change that caused it; `explore` draws new ones.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("explore", print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

jury._TREES = 8  # small forests: many tests train a jury, and hardly any looks at what it says


@pytest.fixture(scope="session")
def data_root() -> Path:
    """The folder with the benchmark archives; tests that need it skip where it is not given."""
    root = os.environ.get("COMRECGC_DATA")
    if not root:
        pytest.skip("COMRECGC_DATA is not set: tests on the real benchmarks need the folder with their archives")
    return Path(root)


@pytest.fixture(scope="session")
def checkpoint_root(data_root: Path) -> Path:
    """The folder with the released checkpoints: $COMRECGC_CHECKPOINTS, or `checkpoints` beside the data."""
    root = Path(os.environ.get("COMRECGC_CHECKPOINTS", data_root.parent / "checkpoints"))
    if not root.is_dir():
        pytest.skip(f"no released checkpoints at {root}: set COMRECGC_CHECKPOINTS")
    return root
