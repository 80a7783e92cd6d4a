"""Results come in the order of blocks, and few blocks are held at once."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest

from comrecgc.run import LocalEngine


def slow_first(shared: int, block: int) -> int:
    time.sleep(0.02 if block == 0 else 0)
    return shared + block


@pytest.mark.parametrize("processes", [False, True], ids=["threads", "processes"])
@pytest.mark.parametrize("jobs", [1, 2])
def test_results_come_in_order(jobs: int, processes: bool) -> None:
    engine = LocalEngine(jobs=jobs)
    assert list(engine.map(slow_first, 10, iter(range(20)), processes=processes)) == list(range(10, 30))
    assert list(engine.map(slow_first, 10, [], processes=processes)) == []


def process(shared: int, block: int) -> int:  # noqa: ARG001
    return os.getpid()


def test_where_work_is_done() -> None:
    assert set(LocalEngine(jobs=2).map(process, 0, range(4))) == {os.getpid()}
    assert os.getpid() not in set(LocalEngine(jobs=2).map(process, 0, range(4), processes=True))
    assert set(LocalEngine(jobs=2).map(process, 0, range(1), processes=True)) == {os.getpid()}  # one is done here


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
