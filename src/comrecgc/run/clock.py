"""What a run costs: seconds per stage, memory, and how much of its time budget is left."""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

import comrecgc

_PACKAGES = ("numba", "numpy", "scipy", "torch", "torch-geometric")
# Choosing, checking and writing after the search take a part of the budget,
_CLOSING_SHARE = 0.25  # but
_MOST_CLOSING = 60.0  # no more seconds than these,
_CLOSING_PER_INPUT = 0.003  # and some for every input;
_SEARCH_SHARE = 0.4  # this share of what is left when the search begins is always for the search.


class Clock:
    """Times the stages of a run and says when each must stop, so that every stage has some of the budget.

    Args:
        budget: Seconds for all stages together; None for no limit.
        started: When the budget began, as `time.monotonic()` counts; None for now.
    """

    def __init__(self, budget: float | None = None, started: float | None = None) -> None:
        self._lap = time.monotonic()
        self.started = self._lap if started is None else started
        self.seconds: dict[str, float] = {}
        self._budget = budget
        if started is not None:
            self.seconds["reading"] = round(self._lap - started, 3)

    def lap(self, stage: str) -> None:
        """The time since the last lap belongs to this stage."""
        now = time.monotonic()
        self.seconds[stage] = round(self.seconds.get(stage, 0.0) + now - self._lap, 3)
        self._lap = now

    def training_deadline(self, share: float) -> float | None:
        """When a training that begins now must stop, as `time.monotonic()` counts.

        Args:
            share: Its share of the time that is left.
        """
        return None if self._budget is None else time.monotonic() + share * self._left(self._budget)

    def search_deadline(self, num_inputs: int) -> float | None:
        """When a search that begins now must stop so that there is time to conclude.

        Args:
            num_inputs: How many inputs there are to conclude on.
        """
        if self._budget is None:
            return None
        left = self._left(self._budget)
        closing = min(_CLOSING_SHARE * self._budget, _MOST_CLOSING) + _CLOSING_PER_INPUT * num_inputs
        return time.monotonic() + max(left - closing, _SEARCH_SHARE * left)

    def _left(self, budget: float) -> float:
        return max(0.0, self.started + budget - time.monotonic())


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


# How many threads torch and BLAS use.


Progress = Callable[[str, int, int, str], None]
"""Called with the stage, how much is done, how much there is, and a word on how it goes."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch on one thread while the block runs.

    For work made of many small products a second thread costs more than it brings, and the last bits of a sum depend on
    how it is split, so results do not depend on the machine's cores.
    """
    import torch  # seconds to import

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@contextmanager
def reproducible() -> Iterator[None]:
    """Torch and BLAS on one thread each while the block runs: the same bits whatever the number of cores.

    The last bits of a matrix product depend on how many threads it is split over, and a search follows the last bits. Cores
    are used where work falls into parts that do not touch: neighbourhoods, and shards of the walk.
    """
    with one_thread(), threadpool_limits(limits=1, user_api="blas"):
        yield


def use_one_thread() -> None:
    """Torch and BLAS on one thread each from now on, for processes whose threads all do such work."""
    import torch

    torch.set_num_threads(1)
    threadpool_limits(limits=1, user_api="blas")
