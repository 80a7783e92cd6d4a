"""Tests of comrecgc.run.context."""

from __future__ import annotations

import time

import pytest

from comrecgc.run import Clock

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
