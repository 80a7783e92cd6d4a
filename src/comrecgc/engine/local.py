"""Blocks of work on threads of this machine, and what any engine does."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Protocol, TypeVar

Shared = TypeVar("Shared")
Block = TypeVar("Block")
Result = TypeVar("Result")


class Engine(Protocol):
    """Does work block after block."""

    def map(
        self, function: Callable[[Shared, Block], Result], shared: Shared, blocks: Iterable[Block]
    ) -> Iterator[Result]:
        """What `function(shared, block)` returns for every block, in their order.

        Blocks are asked for as they are needed, so that few are held at once.

        Args:
            function: The work, without side effects: it may be repeated.
            shared: What all blocks need; it travels once.
            blocks: What each needs besides.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class LocalEngine:
    """Threads; the work should be compiled code that lets others run.

    Args:
        jobs: How many.
    """

    jobs: int = 1

    def map(
        self, function: Callable[[Shared, Block], Result], shared: Shared, blocks: Iterable[Block]
    ) -> Iterator[Result]:
        """Results in the order of blocks."""
        with ThreadPoolExecutor(self.jobs) as pool:
            yield from in_order(lambda block: pool.submit(function, shared, block), blocks, self.jobs + 1, _result)


def _result(future: Future[Result]) -> Result:
    return future.result()


Task = TypeVar("Task")


def in_order(
    submit: Callable[[Block], Task], blocks: Iterable[Block], ahead: int, result: Callable[[Task], Result]
) -> Iterator[Result]:
    """Results of submitted blocks in their order, so many blocks under way at most."""
    waiting = iter(blocks)
    tasks = deque(submit(block) for block in islice(waiting, ahead))
    while tasks:
        done = result(tasks.popleft())
        tasks.extend(submit(block) for block in islice(waiting, 1))
        yield done
