"""The paper's walk against a clock: its shards run side by side, tell how far they are, and stop when time is up."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import joblib

from comrecgc.graphs.graph import Graph
from comrecgc.neighbourhood import NeighbourhoodScorer
from comrecgc.pipeline.reproducible import reproducible
from comrecgc.walk import CandidatePool, ShardedWalk, WalkState

_TELL_SECONDS = 0.5


class _TimeIsUp(Exception):
    """Ends a shard from within; carries what it found."""

    def __init__(self, pool: CandidatePool) -> None:
        super().__init__()
        self.pool = pool


def walk_until(
    sharded: ShardedWalk,
    scorer: NeighbourhoodScorer,
    inputs: Sequence[Graph],
    jobs: int,
    deadline: float | None,
    progress: Callable[[str, int, int, str], None],
    *,
    resume: bool,
) -> CandidatePool:
    """Walk all shards, each until it is done or the deadline, and merge what they found.

    Args:
        sharded: The walk and its shards.
        scorer: Scores graphs and their neighbourhoods.
        inputs: The rejected graphs.
        jobs: Worker processes; 1 walks the shards one after another here.
        deadline: When to stop, as `time.monotonic()` counts, which all processes of a machine share.
        progress: Called now and then with the steps done.
        resume: Go on from checkpoints, where there are any.
    """
    shards = range(sharded.num_shards)
    with tempfile.TemporaryDirectory() as folder:
        board = Path(folder)
        with _Watch(board, sharded.walk.num_steps, progress):
            if jobs == 1:
                # Shards in a row share the time that is left evenly.
                pools = [
                    _walk_shard(
                        sharded, shard, scorer, inputs, _share(deadline, sharded.num_shards - shard), board, resume
                    )
                    for shard in shards
                ]
            else:
                pools = joblib.Parallel(n_jobs=min(jobs, sharded.num_shards))(
                    joblib.delayed(_walk_shard)(sharded, shard, scorer, inputs, deadline, board, resume)
                    for shard in shards
                )
    return CandidatePool.merged(pools, sharded.walk.capacity)


def _share(deadline: float | None, shards_left: int) -> float | None:
    now = time.monotonic()
    return None if deadline is None else now + (deadline - now) / shards_left


def _walk_shard(
    sharded: ShardedWalk,
    shard: int,
    scorer: NeighbourhoodScorer,
    inputs: Sequence[Graph],
    deadline: float | None,
    board: Path,
    resume: bool,
) -> CandidatePool:
    """One shard; the number of steps it has done stands in a file of the board."""
    scorer.num_threads = 1
    told = 0.0

    def tell(_: int, state: WalkState) -> None:
        nonlocal told
        now = time.monotonic()
        if now - told >= _TELL_SECONDS:
            (board / str(shard)).write_text(f"{state.step} {len(state.pool)}")
            told = now
        if deadline is not None and now >= deadline:
            raise _TimeIsUp(state.pool)

    try:
        with reproducible():
            return sharded.run_shard(shard, scorer, inputs, resume=resume, progress=tell)
    except _TimeIsUp as stop:
        return stop.pool


class _Watch:
    """Reads the board while the block runs, and passes on what stands there."""

    def __init__(self, board: Path, num_steps: int, progress: Callable[[str, int, int, str], None]) -> None:
        self._board = board
        self._num_steps = num_steps
        self._progress = progress
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(_TELL_SECONDS):
            numbers = [path.read_text().split() for path in self._board.iterdir()]
            counts = [(int(step), int(held)) for step, held in (words for words in numbers if len(words) == 2)]
            held = sum(count for _, count in counts)
            self._progress("walk", sum(step for step, _ in counts), self._num_steps, f"{held} counterfactuals")
