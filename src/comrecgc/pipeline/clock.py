"""What a run costs: seconds per stage, memory, and how much of its time budget is left."""

from __future__ import annotations

import platform
import sys
import time
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version

import comrecgc
from comrecgc.explanation import Explanation, RunFacts

_PACKAGES = ("numba", "numpy", "scikit-learn", "torch", "torch-geometric")
# What is left of the budget for choosing, checking and writing after the search:
_CLOSING_SHARE = 0.25  # of it, but
_MOST_CLOSING = 60.0  # no more seconds,
_CLOSING_OF_INPUT = 0.003  # and some for every input,
_LARGEST_SHARE = 0.6  # as long as the search has a fair part.


class Clock:
    """Times the stages of a run.

    Args:
        budget: Seconds for all stages together; None for no limit.
        started: When the budget began, as `time.monotonic()` counts; None for now.
    """

    def __init__(self, budget: float | None = None, started: float | None = None) -> None:
        self._lap = time.monotonic()
        self.started = self._lap if started is None else started
        self.seconds: dict[str, float] = {}
        self._budget = budget
        self.deadline = self._deadline(0)

    def lap(self, stage: str) -> None:
        """The time since the last lap belongs to this stage."""
        now = time.monotonic()
        self.seconds[stage] = round(self.seconds.get(stage, 0.0) + now - self._lap, 3)
        self._lap = now

    def make_room_for(self, num_inputs: int) -> None:
        """Set the deadline of the search so that there is time to conclude on that many inputs."""
        self.deadline = self._deadline(num_inputs)

    def _deadline(self, num_inputs: int) -> float | None:
        if self._budget is None:
            return None
        closing = min(_CLOSING_SHARE * self._budget, _MOST_CLOSING) + _CLOSING_OF_INPUT * num_inputs
        return self.started + self._budget - min(closing, _LARGEST_SHARE * self._budget)

    def stamped(
        self, explanation: Explanation, *, seed: int | None = None, model_accuracy: float | None = None
    ) -> Explanation:
        """The explanation with the facts of this run."""
        facts = RunFacts(
            seed=seed,
            versions=versions(),
            seconds=self.seconds,
            peak_memory=peak_memory(),
            model_accuracy=model_accuracy,
        )
        return replace(explanation, facts=facts)


def versions() -> dict[str, str]:
    """Versions of what the answer may depend on."""
    found = {"comrecgc": comrecgc.__version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def peak_memory() -> int | None:
    """Largest resident memory of this process and its workers in bytes; None where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    used = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return max(used) * unit
