"""A long walk as independent shorter ones: the number of shards, not of workers, determines the result."""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import numpy.typing as npt
from joblib.externals.loky import get_reusable_executor

from comrecgc.algorithms.paper.checkpoint import load_state, save_state
from comrecgc.algorithms.paper.walk import CandidatePool, MultiHeadWalk, Progress, Walker, WalkState
from comrecgc.errors import InputError
from comrecgc.graphs import Graph, fingerprint
from comrecgc.run import reproducible
from comrecgc.scoring import NeighbourhoodScorer

Bar = Callable[[str, int, int, str], None]
"""Called with what is done, how much of it, how much there is, and a word on how it goes (`comrecgc.terminal.Bars`)."""

_SECONDS = 0.5  # between two calls of the bar


@dataclass(frozen=True, kw_only=True)
class ShardedWalk:
    """`walk.num_steps` steps split over independent walks whose candidates are merged by graph identity.

    Args:
        walk: The walk; its steps are those of all shards together.
        num_shards: Independent walks.
        seed: Each shard draws from a stream of its own that depends on this and its index alone.
        checkpoint: Folder for checkpoints; None keeps none.
        checkpoint_seconds: Time between two checkpoints of a shard.
    """

    walk: MultiHeadWalk
    num_shards: int = 2
    seed: int = 0
    checkpoint: Path | None = None
    checkpoint_seconds: float = 30.0

    def __post_init__(self) -> None:
        if not 1 <= self.num_shards <= self.walk.num_steps:
            raise InputError(f"num_shards must lie in 1…{self.walk.num_steps}, the steps (got {self.num_shards})")

    def run(
        self,
        scorer: NeighbourhoodScorer,
        inputs: Sequence[Graph],
        *,
        jobs: int = 1,
        resume: bool = False,
        deadline: float | None = None,
        bar: Bar | None = None,
    ) -> CandidatePool:
        """Walk all shards and merge what they found.

        Args:
            scorer: Scores graphs and their neighbourhoods.
            inputs: The rejected graphs.
            jobs: Worker processes; 1 walks the shards one after another here.
            resume: Go on from checkpoints, where there are any.
            deadline: When to stop, as `time.monotonic()` counts, which all processes of a machine share; None for no limit.
            bar: Called about twice a second with the steps of all shards and how it goes, wherever they run.
        """
        if jobs < 1:
            raise InputError(f"jobs must be at least 1 (got {jobs})")
        with progress_shown(self.num_shards, self.walk.num_steps, bar) as told:
            if jobs == 1:
                pools = [
                    # Shards in a row share the time that is left evenly.
                    _run(self, shard, scorer, inputs, resume, _share(deadline, self.num_shards - shard), told)
                    for shard in range(self.num_shards)
                ]
            else:
                pools = joblib.Parallel(n_jobs=min(jobs, self.num_shards))(
                    joblib.delayed(_run)(self, shard, scorer, inputs, resume, deadline, told, os.getpid())
                    for shard in range(self.num_shards)
                )
                get_reusable_executor().shutdown(wait=True)  # idle workers would keep the memory of a whole walk
        return CandidatePool.merged(pools, self.walk.capacity)

    def run_shard(
        self,
        shard: int,
        scorer: NeighbourhoodScorer,
        inputs: Sequence[Graph],
        *,
        resume: bool = False,
        deadline: float | None = None,
        progress: Progress | None = None,
    ) -> CandidatePool:
        """Walk one shard, with a checkpoint every so often and at the end.

        Args:
            shard: Its index.
            scorer: Scores graphs and their neighbourhoods.
            inputs: The rejected graphs.
            resume: Go on from the shard's checkpoint, if there is one.
            deadline: When to stop, as `time.monotonic()` counts; None for no limit.
            progress: Called after every step.
        """
        walk = replace(self.walk, num_steps=self._steps(shard))
        walker = Walker(walk, scorer, inputs)
        path = None if self.checkpoint is None else self.checkpoint / f"walk-{shard}.npz"
        facts = self._facts(shard, walker)
        if resume and path is not None and path.exists():
            heads = (walk.num_heads, walker.origins.shape[1])
            state = load_state(path, walker.inputs, walk.capacity, facts, heads=heads)
        else:
            state = walker.begin(np.random.default_rng([self.seed, shard]))
        saved = time.monotonic()
        over = state.step >= walk.num_steps
        while not over:
            walker.step(state)
            if progress is not None:
                progress(state)
            now = time.monotonic()
            over = state.step >= walk.num_steps or (deadline is not None and now >= deadline)
            if path is not None and (over or now - saved >= self.checkpoint_seconds):
                save_state(state, path, facts)
                saved = time.monotonic()
        return state.pool

    def _steps(self, shard: int) -> int:
        """Steps of one shard: equal parts, the first ones taking the remainder."""
        return self.walk.num_steps // self.num_shards + (shard < self.walk.num_steps % self.num_shards)

    def _facts(self, shard: int, walker: Walker) -> dict[str, Any]:
        """What determines a shard's walk: its parameters, the inputs, and what the models and the constraint say of them."""
        walk = {name: value for name, value in asdict(self.walk).items() if name != "cache_bytes"}
        said = hashlib.sha256(walker.origins.tobytes() + walker.probabilities.tobytes()).hexdigest()[:16]
        return {
            "walk": walk,
            "num_shards": self.num_shards,
            "seed": self.seed,
            "shard": shard,
            "inputs": fingerprint(walker.inputs),
            "models": said,
            "constraint": repr(walker.scorer.constraint),
        }


def _share(deadline: float | None, shards_left: int) -> float | None:
    now = time.monotonic()
    return None if deadline is None else now + (deadline - now) / shards_left


def _run(
    sharded: ShardedWalk,
    shard: int,
    scorer: NeighbourhoodScorer,
    inputs: Sequence[Graph],
    resume: bool,
    deadline: float | None,
    told: npt.NDArray[np.int64] | None,
    parent: int | None = None,
) -> CandidatePool:
    """One shard on one core; it writes to `told` how far it is, and ends with its parent process."""

    def tell(state: WalkState) -> None:
        if parent is not None and os.getppid() != parent:
            os._exit(1)  # the parent was killed: nobody waits for this, and whoever resumes writes the same checkpoints
        if told is not None:
            told[shard] = state.step, len(state.pool)

    if parent is not None:
        scorer.num_threads = 1  # the cores are for the shards
    with reproducible():
        return sharded.run_shard(shard, scorer, inputs, resume=resume, deadline=deadline, progress=tell)


@contextmanager
def progress_shown(num_shards: int, num_steps: int, bar: Bar | None) -> Iterator[npt.NDArray[np.int64] | None]:
    """While the block runs, show what shards write to the array given: steps done and candidates held, `[num_shards, 2]`.

    The array is a file that all processes map; joblib hands it on as such.
    """
    if bar is None:
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        told: npt.NDArray[np.int64] = np.memmap(Path(folder) / "told", np.int64, "w+", shape=(num_shards, 2))
        begun: list[tuple[float, int]] = []  # when steps were first seen; a walk that is resumed has some behind it
        over = threading.Event()

        def show() -> None:
            now, (steps, held) = time.monotonic(), told.sum(axis=0).tolist()
            if steps and not begun:
                begun.append((now, steps))
            since, before = begun[0] if begun else (now, steps)
            rate = (steps - before) / (now - since) if now > since else 0.0
            bar("walk", steps, num_steps, f"{rate:.1f} steps/s, {held} candidates")

        def watch() -> None:
            while not over.wait(_SECONDS):
                show()

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield told
        finally:
            over.set()
            thread.join()
            show()
