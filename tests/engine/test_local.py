"""Results come in the order of blocks, and few blocks are held at once."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from comrecgc.engine import LocalEngine


def slow_first(shared: int, block: int) -> int:
    time.sleep(0.02 if block == 0 else 0)
    return shared + block


@pytest.mark.parametrize("jobs", [1, 4])
def test_results_come_in_order(jobs: int) -> None:
    assert list(LocalEngine(jobs=jobs).map(slow_first, 10, range(20))) == list(range(10, 30))
    assert list(LocalEngine(jobs=jobs).map(slow_first, 10, [])) == []


def test_blocks_are_asked_for_as_they_are_needed() -> None:
    asked: list[int] = []

    def blocks() -> Iterator[int]:
        for block in range(50):
            asked.append(block)
            yield block

    for count, _ in enumerate(LocalEngine(jobs=2).map(slow_first, 0, blocks()), start=1):
        assert len(asked) <= count + 3


def test_an_error_of_the_work_is_told() -> None:
    with pytest.raises(ZeroDivisionError):
        list(LocalEngine(jobs=2).map(lambda shared, block: shared // block, 1, [1, 0]))
