from __future__ import annotations

import pytest

from comrecgc.pipeline.clock import Clock


@pytest.mark.parametrize(
    ("budget", "num_inputs", "closing"),
    [(20.0, 0, 5.0), (1000.0, 0, 60.0), (1000.0, 2000, 66.0), (300.0, 50_000, 180.0)],
)
def test_some_of_the_budget_is_for_what_comes_after_the_search(budget: float, num_inputs: int, closing: float) -> None:
    clock = Clock(budget, started=7.0)
    clock.make_room_for(num_inputs)
    assert clock.deadline == pytest.approx(7.0 + budget - closing)


def test_without_a_budget_there_is_no_deadline() -> None:
    clock = Clock()
    clock.make_room_for(10**6)
    assert clock.deadline is None
