"""Blocks of work on threads or processes of this machine, and what any engine does."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

import comrecgc
from comrecgc.errors import InputError
from comrecgc.run.context import use_one_thread

if TYPE_CHECKING:
    from distributed import Client, Worker


Shared = TypeVar("Shared")
Block = TypeVar("Block")
Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class LocalEngine:
    """Threads for compiled code that lets others run; processes for other work."""

    jobs: int = 1  # how many

    def map(
        self,
        function: Callable[[Shared, Block], Result],
        shared: Shared,
        blocks: Iterable[Block],
        *,
        processes: bool = False,
    ) -> Iterator[Result]:
        """What `function(shared, block)` returns for every block, in their order, asked for as they are needed.

        The function has no side effects, as it may be repeated; `shared` travels once. `processes`: a block must have a process to itself
        while it is worked on, because it runs in the interpreter, or uses what threads share, such as random numbers of torch.
        """
        if not processes:
            with ThreadPoolExecutor(self.jobs) as pool:
                yield from in_order(
                    lambda block: pool.submit(function, shared, block), blocks, self.jobs + 1, Future.result
                )
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
        yield from in_order(lambda block: pool.submit(function, shared, block), blocks, jobs + 1, Future.result)
    finally:
        pool.shutdown(kill_workers=True)


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


# Blocks of work on a dask cluster. Scheduling, repeating what a dead worker had, and moving data are dask's own.


SECONDS_TO_CONNECT = 10.0
"""How long a scheduler may take to answer."""

SECONDS_WITHOUT_WORKERS = 120.0
"""How long a cluster may be without any worker."""

_AHEAD = 2  # blocks under way for each thread of the cluster
_RESUME = "--resume goes on with what is finished"


def connect(address: str, *, seconds: float = SECONDS_TO_CONNECT) -> ClusterEngine:
    """The cluster of the scheduler at `tcp://host:port`, which has so many seconds to answer."""
    try:
        from distributed import Client
    except ImportError as error:
        raise InputError("A cluster needs dask: pip install 'comrecgc[cluster]'") from error
    try:
        client = Client(address, timeout=seconds, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"There must be a dask scheduler at the address of the cluster (got {address})") from error
    return ClusterEngine(client=client)


def engine_of(cluster: Client | str | None, jobs: int) -> Engine:
    """Threads of this machine, or a cluster by its address or client."""
    if cluster is None:
        return LocalEngine(jobs=jobs)
    return connect(cluster) if isinstance(cluster, str) else ClusterEngine(client=cluster)


@dataclass(frozen=True, eq=False, kw_only=True)
class ClusterEngine:
    """The workers of a dask cluster."""

    client: Client  # knows the scheduler

    def __post_init__(self) -> None:
        """Workers must be there, and run this version."""
        info = self.client.scheduler_info(n_workers=-1)["workers"]
        if not info:
            raise InputError("The cluster must have workers (got none)")
        try:
            versions: dict[str, str] = self.client.run(_version)
        except Exception as error:  # whatever a worker cannot import or unpack
            raise InputError(f"Workers must have comrecgc {comrecgc.__version__} (got {error!s:.100})") from error
        for worker, version in versions.items():
            if version != comrecgc.__version__:
                raise InputError(f"Workers must have comrecgc {comrecgc.__version__} (got {version} at {worker})")

    def map(
        self,
        function: Callable[[Shared, Block], Result],
        shared: Shared,
        blocks: Iterable[Block],
        *,
        processes: bool = False,
    ) -> Iterator[Result]:
        """As that of `LocalEngine`."""
        from distributed.client import FutureCancelledError
        from distributed.comm import CommClosedError

        name = f"comrecgc-{uuid4().hex}"
        threads = sum(self.client.nthreads().values())
        try:
            self.client.register_plugin(_plugin(function, shared, alone=processes), name=name)
            try:
                yield from in_order(
                    lambda block: self.client.submit(_work, name, block, pure=False),
                    blocks,
                    _AHEAD * max(threads, 1),
                    self._result,
                )
            finally:
                if self.client.status == "running":  # there is still somebody to tell
                    self.client.unregister_worker_plugin(name)
        except (CommClosedError, FutureCancelledError, TimeoutError, OSError) as error:
            raise InputError(f"The cluster was lost ({type(error).__name__}): {_RESUME}") from error

    def _result(self, future: Any) -> Any:
        """What a block gave; dask itself would wait for workers for ever."""
        while True:
            try:
                return future.result(timeout=SECONDS_WITHOUT_WORKERS)
            except TimeoutError:
                if future.done():
                    raise
                if not self.client.nthreads():
                    raise InputError(f"The cluster has no workers any more: {_RESUME}") from None


Engine = LocalEngine | ClusterEngine
"""Does work block after block."""


def _version() -> str:
    return comrecgc.__version__


def _plugin(function: Callable[[Any, Any], Any], shared: Any, *, alone: bool) -> Any:
    """What workers keep: the work and what its blocks share, one block at a time where it must be alone in its process."""
    from distributed import WorkerPlugin

    class Work(WorkerPlugin):  # type: ignore[misc]  # defined here, as dask is optional
        def __init__(self) -> None:
            self.function, self.shared = function, shared

        def setup(self, worker: Worker) -> None:  # noqa: ARG002
            from comrecgc.run.context import use_one_thread

            use_one_thread()  # the same bits everywhere, as on one machine
            self.turn = Lock() if alone else nullcontext()

    return Work()


def _work(name: str, block: Any) -> Any:
    from distributed import get_worker

    work = get_worker().plugins[name]
    with work.turn:
        return work.function(work.shared, block)
