"""Execution of a run: time, cores, progress and checkpoints, passed as one argument; engines for parallel work; display of progress."""

from __future__ import annotations

import html
import os
import platform
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

import comrecgc
from comrecgc.errors import InputError

if TYPE_CHECKING:
    import torch
    from distributed import Client, Worker

Progress = Callable[[str, int, int, str], None]
"""Called with the stage, the amount done, the total, and a short message."""

_PACKAGES = ("numba", "numpy", "scipy", "torch", "torch-geometric")
# Choosing, checking and writing after the search take a part of the budget,
_CLOSING_SHARE = 0.25  # but
_MOST_CLOSING = 60.0  # no more seconds than these,
_CLOSING_PER_INPUT = 0.003  # and some for every input;
_SEARCH_SHARE = 0.4  # this share of what is left when the search begins is always for the search.


@dataclass(frozen=True, eq=False, kw_only=True)
class RunContext:
    """Settings of execution. The answer does not depend on them, unless the time budget ends a search.

    Args:
        time_budget: Seconds for the whole run, which then returns the result so far. None for no limit.
        jobs: Cores to use; None for all.
        cluster: A `dask.distributed.Client`, or the address of a scheduler, whose workers carry rules out on all graphs, train a panel and
            compute edit distances for an embedder; None for this machine.
        device: Where torch models run.
        progress: True shows progress, as bars, as lines or below the cell of a notebook; False shows none; None shows it in a terminal or a notebook.
            Or a function that is called with the stage, the amount done, the total, and a short message.
        checkpoint: Folder for unfinished work; None keeps none.
        resume: Go on from the work in that folder; the answer is the same as without the interruption.
        started: Start of the time budget in seconds of `time.monotonic()`; None for the start of the work.
        before_search: Called once models are trained, before the search begins.
        strict: Stop if the model answers differently about our copies of the graphs than about the user's own `Data`, or if it is random; False goes
            on with a warning.
    """

    time_budget: float | None = None
    jobs: int | None = None
    cluster: Client | str | None = None
    device: torch.device | str = "cpu"
    progress: Progress | bool | None = None
    checkpoint: str | Path | None = None
    resume: bool = False
    started: float | None = None
    before_search: Callable[[], None] | None = None
    strict: bool = True

    def __post_init__(self) -> None:
        budget: object = self.time_budget
        jobs: object = self.jobs
        if budget is not None and (
            isinstance(budget, bool) or not isinstance(budget, int | float) or not 0 < budget < float("inf")
        ):
            raise InputError(f"time_budget must be a positive number (got {budget!r})")
        if jobs is not None and (isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1):
            raise InputError(f"jobs must be an integer of at least 1 (got {jobs!r})")

    @contextmanager
    def begun(self) -> Iterator[RunContext]:
        """The context of work that begins now, with its own clock, and with progress shown while the block runs."""
        wanted = is_watched() if self.progress is None else self.progress
        with bars() if wanted is True else nullcontext(None if wanted is False else wanted) as shown:
            context = replace(self, progress=shown)
            yield context.keeping(self.clock) if "clock" in self.__dict__ else context

    def keeping(self, clock: Clock) -> RunContext:
        """The same context with a running clock."""
        return self._with(clock=clock)

    @cached_property
    def clock(self) -> Clock:
        """The clock of the stages and the time budget, started on first use."""
        return Clock(self.time_budget, self.started)

    @cached_property
    def engine(self) -> Engine:
        """The engine for independent blocks of work: threads of this machine, or a cluster by its address or client."""
        if self.cluster is None:
            return LocalEngine(jobs=self.num_jobs)
        return connect(self.cluster) if isinstance(self.cluster, str) else ClusterEngine(client=self.cluster)

    @cached_property
    def deadline(self) -> float | None:
        """Deadline of the current work in seconds of `time.monotonic()`; None for no limit."""
        return None

    @property
    def is_late(self) -> bool:
        """Whether the deadline has passed."""
        return self.deadline is not None and time.monotonic() >= self.deadline

    def until(self, deadline: float | None) -> RunContext:
        """The same context and clock, with a deadline."""
        return self._with(deadline=deadline, clock=self.clock)

    def searching(self, num_inputs: int) -> RunContext:
        """The same for a search that begins now, with enough time left to finish the run on `num_inputs` inputs."""
        return self.until(self.clock.search_deadline(num_inputs))

    def with_progress(self, progress: Progress | None) -> RunContext:
        """The same with progress going to another function."""
        return self._with(progress=progress, clock=self.clock)

    def _with(self, **values: Any) -> RunContext:
        changed = copy(self)
        changed.__dict__.update(values)
        return changed

    @property
    def num_jobs(self) -> int:
        """Cores to use."""
        return self.jobs or available_cores()

    @property
    def folder(self) -> Path | None:
        """Folder that keeps unfinished work."""
        return None if self.checkpoint is None else Path(self.checkpoint)

    @property
    def report(self) -> Progress | None:
        """The function that shows progress, or None."""
        return None if isinstance(self.progress, bool) else self.progress

    def show_progress(self, stage: str, done: int, total: int, word: str = "") -> None:
        """Report that `done` of `total` of a stage is done."""
        if self.report is not None:
            self.report(stage, done, total, word)


UNLIMITED = RunContext()
"""No time limit, no progress, no checkpoint."""


class Clock:
    """Times the stages of a run and sets their deadlines, so that every stage gets a share of the budget.

    It starts at `started`, in seconds of `time.monotonic()`, or now.
    """

    def __init__(self, budget: float | None = None, started: float | None = None) -> None:
        self._lap = time.monotonic()
        self.started = self._lap if started is None else started
        self.seconds: dict[str, float] = {}
        self._budget = budget
        if started is not None:
            self.seconds["reading"] = round(self._lap - started, 3)

    def lap(self, stage: str) -> None:
        """Assign the time since the last lap to this stage."""
        now = time.monotonic()
        self.seconds[stage] = round(self.seconds.get(stage, 0.0) + now - self._lap, 3)
        self._lap = now

    def training_deadline(self, share: float) -> float | None:
        """Deadline (`time.monotonic()`) of a training that begins now and may take this share of the remaining time."""
        return None if self._budget is None else time.monotonic() + share * self._left(self._budget)

    def search_deadline(self, num_inputs: int) -> float | None:
        """Deadline of a search that begins now, with time left to finish the run on the inputs."""
        if self._budget is None:
            return None
        left = self._left(self._budget)
        closing = min(_CLOSING_SHARE * self._budget, _MOST_CLOSING) + _CLOSING_PER_INPUT * num_inputs
        return time.monotonic() + max(left - closing, _SEARCH_SHARE * left)

    def _left(self, budget: float) -> float:
        return max(0.0, self.started + budget - time.monotonic())


def available_cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def versions() -> dict[str, str]:
    """Versions of software that the answer may depend on."""
    found = {"comrecgc": comrecgc.__version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def peak_memory() -> int | None:
    """Largest resident memory of this process and its workers in bytes; None if the system does not report it."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    used = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return max(used) * unit


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
    are used for independent parts of the work: neighbourhoods, and shards of the walk.
    """
    with one_thread(), threadpool_limits(limits=1, user_api="blas"):
        yield


def use_one_thread() -> None:
    """Torch and BLAS on one thread each from now on, for worker processes, which Ctrl-C ends."""
    import torch

    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})

    torch.set_num_threads(1)
    threadpool_limits(limits=1, user_api="blas")


# Engines: blocks of work on threads or processes of this machine, or on a cluster.


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
        """The results of `function(shared, block)` for every block, in order; blocks are drawn as needed.

        The function must have no side effects, as it may be repeated; `shared` is sent once. With `processes` every block has a process to itself
        while it runs, because it holds the interpreter or uses global state, such as torch's random numbers.
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
    """Results of submitted blocks in their order, with at most `ahead` blocks under way."""
    waiting = iter(blocks)
    tasks = deque(submit(block) for block in islice(waiting, ahead))
    while tasks:
        done = result(tasks.popleft())
        tasks.extend(submit(block) for block in islice(waiting, 1))
        yield done


# Blocks of work on a dask cluster. Scheduling, repeating what a dead worker had, and moving data are dask's own.


SECONDS_TO_CONNECT = 10.0
"""Seconds a scheduler may take to answer."""

SECONDS_WITHOUT_WORKERS = 120.0
"""Seconds a cluster may be without any worker."""

_AHEAD = 2  # blocks under way for each thread of the cluster
_RESUME = "--resume goes on with what is finished"


def connect(address: str, *, seconds: float = SECONDS_TO_CONNECT) -> ClusterEngine:
    """Connect to the scheduler at `tcp://host:port` within a number of seconds."""
    try:
        from distributed import Client
    except ImportError as error:
        raise InputError("A cluster needs dask: pip install 'comrecgc[cluster]'") from error
    try:
        client = Client(address, timeout=seconds, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"There must be a dask scheduler at the address of the cluster (got {address})") from error
    return ClusterEngine(client=client)


@dataclass(frozen=True, eq=False, kw_only=True)
class ClusterEngine:
    """The workers of a dask cluster."""

    client: Client  # knows the scheduler

    def __post_init__(self) -> None:
        """Check that there are workers, and that they run this version."""
        info = self.client.scheduler_info(n_workers=-1)["workers"]
        if not info:
            raise InputError("The cluster must have workers (got none)")
        try:
            found: dict[str, str] = self.client.run(_version)
        except Exception as error:  # whatever a worker cannot import or unpack
            raise InputError(f"Workers must have comrecgc {comrecgc.__version__} (got {error!s:.100})") from error
        for worker, theirs in found.items():
            if theirs != comrecgc.__version__:
                raise InputError(f"Workers must have comrecgc {comrecgc.__version__} (got {theirs} at {worker})")

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
        """The result of a block; dask itself would wait for workers for ever."""
        while True:
            try:
                return future.result(timeout=SECONDS_WITHOUT_WORKERS)
            except TimeoutError:
                if future.done():
                    raise
                if not self.client.nthreads():
                    raise InputError(f"The cluster has no workers any more: {_RESUME}") from None


Engine = LocalEngine | ClusterEngine
"""Executes work block by block."""


def _version() -> str:
    return comrecgc.__version__


def _plugin(function: Callable[[Any, Any], Any], shared: Any, *, alone: bool) -> Any:
    """A dask plugin that keeps the function and the shared data on each worker, and runs one block at a time if it needs the process to itself."""
    from distributed import WorkerPlugin

    class Work(WorkerPlugin):  # type: ignore[misc]  # defined here, as dask is optional
        def __init__(self) -> None:
            self.function, self.shared = function, shared

        def setup(self, worker: Worker) -> None:  # noqa: ARG002
            use_one_thread()  # the same bits everywhere, as on one machine
            self.turn = Lock() if alone else nullcontext()

    return Work()


def _work(name: str, block: Any) -> Any:
    from distributed import get_worker

    work = get_worker().plugins[name]
    with work.turn:
        return work.function(work.shared, block)


# What a person sees while work goes on: bars on stderr, plain lines where that is no terminal, one line that changes in a notebook.


out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

LINE_SECONDS = 5.0
"""Seconds between two plain lines of the same stage."""


class Bars:
    """Progress bars by name: a bar appears when work under its name begins."""

    def __init__(self, progress: RichProgress) -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, what: str, done: int, total: int, word: str = "") -> None:
        """Show that `done` of `total` is done, with a word on how it goes."""
        if not self._tasks:
            self._progress.start()  # not before: with nothing to show it would still write an empty line
        if what not in self._tasks:
            self._tasks[what] = self._progress.add_task(what, total=total, word=word)
        self._progress.update(self._tasks[what], completed=done, total=total, word=word)

    def stop(self) -> None:
        """Leave the bars as they are; none if no work began."""
        if self._tasks:
            self._progress.stop()


class Lines:
    """Progress as plain lines: one when a stage begins, one when it is done, and one every few seconds between."""

    def __init__(self, seconds: float = LINE_SECONDS) -> None:
        self._seconds = seconds
        self._what = ""
        self._next = 0.0
        self._waiting = ""

    def __call__(self, what: str, done: int, total: int, word: str = "") -> None:
        """Print a line if it is time for one."""
        line = f"{what}: {done}/{total}" + (f", {word}" if word else "")
        now = time.monotonic()
        if what != self._what:
            self.stop()  # the last word of the stage before
        elif now < self._next and done < total:
            self._waiting = line
            return
        err.print(line, markup=False, soft_wrap=True)
        self._what, self._next, self._waiting = what, now + self._seconds, ""

    def stop(self) -> None:
        """Print what was held back."""
        if self._waiting:
            err.print(self._waiting, markup=False, soft_wrap=True)
        self._waiting = ""


class CellOutput:
    """Progress in a notebook: one output below the cell, a line per stage, rewritten at most a few times a second."""

    def __init__(self, seconds: float = 0.3) -> None:
        self._seconds = seconds
        self._stages: dict[str, str] = {}
        self._next = 0.0
        self._shown: Any = None

    def __call__(self, what: str, done: int, total: int, word: str = "") -> None:
        """Rewrite the line of the stage if it is time for that."""
        begins = what not in self._stages
        self._stages[what] = f"{what}: {done}/{total}" + (f", {word}" if word else "")
        now = time.monotonic()
        if begins or now >= self._next or done >= total:
            self._next = now + self._seconds
            self._show()

    def stop(self) -> None:
        """Keep the last lines."""
        if self._stages:
            self._show()

    def _show(self) -> None:
        from IPython.display import HTML, display

        text = HTML(f"<pre>{html.escape(chr(10).join(self._stages.values()))}</pre>")
        if self._shown is None:
            self._shown = display(text, display_id=True)
        else:
            self._shown.update(text)


def in_notebook() -> bool:
    """Whether this process answers the cells of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and hasattr(shell, "kernel")


def is_watched() -> bool:
    """Whether progress is visible: in a terminal or a notebook."""
    return in_notebook() or err.is_terminal


@contextmanager
def bars() -> Iterator[Progress]:
    """Progress while the block runs: on stderr, or below the cell of a notebook."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[word]}", markup=False),
        TimeRemainingColumn(compact=True, elapsed_when_finished=True),
    )
    shown: Bars | Lines | CellOutput
    if in_notebook():
        shown = CellOutput()
    elif err.is_terminal:
        shown = Bars(RichProgress(*columns, console=err))
    else:
        shown = Lines()
    try:
        yield shown
    finally:
        shown.stop()
