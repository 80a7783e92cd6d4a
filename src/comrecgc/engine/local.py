"""Blocks of work on threads or processes of this machine, and what any engine does."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Protocol, TypeVar

from comrecgc.errors import InputError
from comrecgc.threads import use_one_thread

Shared = TypeVar("Shared")
Block = TypeVar("Block")
Result = TypeVar("Result")


class Engine(Protocol):
    """Does work block after block."""

    def map(
        self,
        function: Callable[[Shared, Block], Result],
        shared: Shared,
        blocks: Iterable[Block],
        *,
        processes: bool = False,
    ) -> Iterator[Result]:
        """What `function(shared, block)` returns for every block, in their order.

        Blocks are asked for as they are needed, so that few are held at once.

        Args:
            function: The work, without side effects: it may be repeated.
            shared: What all blocks need; it travels once.
            blocks: What each needs besides.
            processes: Whether a block must have a process to itself while it is worked on: because it runs in the interpreter, or
                uses what threads share, such as random numbers of torch.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class LocalEngine:
    """Threads for compiled code that lets others run; processes for other work.

    Args:
        jobs: How many.
    """

    jobs: int = 1

    def __post_init__(self) -> None:
        if self.jobs < 1:
            raise InputError(f"jobs must be at least 1 (got {self.jobs})")

    def map(
        self,
        function: Callable[[Shared, Block], Result],
        shared: Shared,
        blocks: Iterable[Block],
        *,
        processes: bool = False,
    ) -> Iterator[Result]:
        """Results in the order of blocks."""
        if not processes:
            with ThreadPoolExecutor(self.jobs) as pool:
                yield from in_order(lambda block: pool.submit(function, shared, block), blocks, self.jobs + 1, _result)
            return
        jobs = min(self.jobs, len(blocks)) if isinstance(blocks, Sized) else self.jobs
        if jobs > 1:
            yield from _in_processes(jobs, function, shared, blocks)
        else:
            yield from (function(shared, block) for block in blocks)


def _in_processes(
    jobs: int, function: Callable[[Shared, Block], Result], shared: Shared, blocks: Iterable[Block]
) -> Iterator[Result]:
    """Results from processes that end with the last block, or at once when no more are asked for."""
    from joblib.externals.loky import ProcessPoolExecutor  # unlike Python's own it does not run the user's script again

    pool = ProcessPoolExecutor(jobs, initializer=use_one_thread)
    try:
        yield from in_order(lambda block: pool.submit(function, shared, block), blocks, jobs + 1, _result)
    finally:
        pool.shutdown(kill_workers=True)


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
