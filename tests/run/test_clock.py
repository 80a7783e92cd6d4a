"""Tests of comrecgc.run.context."""

from __future__ import annotations

import time

import pytest

from comrecgc.run import Clock, RunContext

ROUGHLY = 0.2  # seconds that a slow machine may take between two lines


@pytest.mark.parametrize(
    ("budget", "spent", "num_inputs", "search"),
    [
        (20.0, 0.0, 0, 15.0),
        (1000.0, 0.0, 0, 940.0),
        (1000.0, 0.0, 2000, 934.0),
        (300.0, 0.0, 50_000, 120.0),  # many inputs leave the search its share
        (60.0, 50.0, 1000, 4.0),  # so does a training that took most of the time
        (60.0, 70.0, 1000, 0.0),
    ],
)
def test_the_search_has_its_share_and_leaves_time_to_conclude(
    budget: float, spent: float, num_inputs: int, search: float
) -> None:
    deadline = Clock(budget, started=time.monotonic() - spent).search_deadline(num_inputs)
    assert deadline is not None
    assert deadline - time.monotonic() == pytest.approx(search, abs=ROUGHLY)


def test_a_training_has_a_share_of_what_is_left() -> None:
    deadline = Clock(100, started=time.monotonic() - 40).training_deadline(0.5)
    assert deadline is not None
    assert deadline - time.monotonic() == pytest.approx(30, abs=ROUGHLY)


def test_without_a_budget_there_is_no_deadline() -> None:
    clock = Clock()
    assert clock.search_deadline(10**6) is None
    assert clock.training_deadline(0.1) is None


def test_work_within_a_run_has_a_deadline_and_progress_of_its_own() -> None:
    told: list[tuple[object, ...]] = []
    whole = RunContext(time_budget=100, jobs=1, progress=lambda *said: told.append(said))
    assert not whole.is_late
    late, soon = (whole.until(time.monotonic() + seconds) for seconds in (-1, 1000))
    assert (late.is_late, soon.is_late, whole.deadline) == (True, False, None)
    assert late.clock is soon.clock is whole.clock
    late.with_progress(None).show_progress("work", 1, 2)
    assert not told
    late.with_progress(lambda *said: told.append(("within", *said))).show_progress("work", 1, 2)
    whole.show_progress("work", 2, 2)
    assert told == [("within", "work", 1, 2, ""), ("work", 2, 2, "")]
