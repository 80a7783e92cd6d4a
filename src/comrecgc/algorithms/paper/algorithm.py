"""The walk of the paper (COMRECGC, ICML 2025) as a source of counterfactuals, split so that several cores can work on it.

The number of shards is part of the answer and the number of processes is not: each shard draws from its own random stream.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from comrecgc.algorithms import checkpoint as checkpoints
from comrecgc.algorithms.base import PAPER_DELTA, Rejects, VectorAlgorithm, VectorTask, option
from comrecgc.algorithms.checkpoint import Checkpoint, Reached, model_facts
from comrecgc.algorithms.paper.walk import MultiHeadState, MultiHeadWalk, Walker, merge_candidates
from comrecgc.algorithms.plausibility import Plausibility
from comrecgc.algorithms.vectors.candidates import Candidates, pair_candidates
from comrecgc.graphs import Graph
from comrecgc.run import LocalEngine, Progress, RunContext, reproducible
from comrecgc.scoring import NeighbourhoodScorer

_WALK_REACH = 1.0  # in θ: how far from their inputs heads go; nothing beyond θ can be a counterfactual
_WALK_COST = 2  # elements of their inputs heads change at once, where that is enough: a leaf and its edge, or two edits
_ENOUGH = 0.9  # share of the inputs that one edit must turn into accepted ones for that,
_LOOKED_AT = 200  # of so many inputs
_MAX_CANDIDATES = 100_000
_NUM_SHARDS = 2


@dataclass(frozen=True, kw_only=True)
class PaperWalk(VectorAlgorithm):
    """COMRECGC (ICML 2025): the multi-head vertex-reinforced walk and clusters of the paper's text."""

    name: ClassVar[str] = "paper"

    changes: str = "any"
    delta: float | str = PAPER_DELTA
    selection: str = "dbscan"
    num_heads: int = option(5, "k: heads of the walk.", least=1)
    num_steps: int = option(50_000, "M: steps of the walk.", least=1)
    teleport: float = option(0.05, "τ: probability of a step back to the inputs.", above=0, below=1)

    def find(
        self,
        task: VectorTask,
        scorer: NeighbourhoodScorer,
        rejects: Rejects,
        plausibility: Plausibility,  # noqa: ARG002
        context: RunContext,
    ) -> Candidates:
        """Walk; every input is paired with every candidate within θ, whichever input it was reached from."""
        inputs, found = rejects.graphs, list[Reached]()
        deadline = context.clock.search_deadline(len(rejects))
        if inputs:
            walk = MultiHeadWalk(
                num_heads=min(self.num_heads, len(inputs)),
                num_steps=self.num_steps,
                teleport=self.teleport,
                capacity=_MAX_CANDIDATES,
                max_distance=_WALK_REACH * task.theta,
                max_cost=max_walk_cost(scorer, inputs, task.random_state),
            )
            sharded = ShardedWalk(
                walk=walk,
                num_shards=min(_NUM_SHARDS, self.num_steps),
                seed=task.random_state,
                checkpoint=context.folder,
            )
            found = sharded.run(
                scorer, inputs, jobs=context.num_jobs, resume=context.resume, deadline=deadline, bar=context.report
            )
        assert scorer.embedder is not None
        rows = [(reached.graph, reached.start, reached.path) for reached in found]
        candidates = pair_candidates(rejects, scorer.embedder, rows, task.theta, own_only=self.changes != "any")
        return replace(candidates, complete=deadline is None or time.monotonic() < deadline)


def max_walk_cost(scorer: NeighbourhoodScorer, inputs: Sequence[Graph], seed: int) -> int | None:
    """How many elements of their inputs heads may change at once: two where one edit flips nearly every input.

    The recourses of few edits are those that inputs share. Where one edit is not enough, any number may be changed.
    """
    rng = np.random.default_rng(seed)
    some = [inputs[i] for i in rng.permutation(len(inputs))[:_LOOKED_AT]]
    around = scorer.score(some, embedding=False, sample=MultiHeadWalk.sample, rng=rng)
    flips = [hood.probability is not None and bool((hood.probability > 0.5).any()) for hood in around]
    return _WALK_COST if np.mean(flips) >= _ENOUGH else None


_SECONDS = 0.5  # between two calls of the progress bar


@dataclass(frozen=True, kw_only=True)
class ShardedWalk:
    """`walk.num_steps` steps split over independent walks whose candidates are merged by graph identity."""

    walk: MultiHeadWalk  # the walk; its steps are those of all shards together
    num_shards: int = 2  # independent walks
    seed: int = 0  # each shard's random stream depends on this and its index alone
    checkpoint: Path | None = None  # folder for checkpoints; None keeps none

    def run(
        self,
        scorer: NeighbourhoodScorer,
        inputs: Sequence[Graph],
        *,
        jobs: int = 1,
        resume: bool = False,
        deadline: float | None = None,
        bar: Progress | None = None,
    ) -> list[Reached]:
        """Walk all shards and merge their candidates, most visited first; the bar is called about twice a second.

        The deadline is counted by `time.monotonic()`, which is the same in all processes. One job walks the shards one after another here.
        """
        with _progress_shown(self, bar) as board:
            job = _Job(self, scorer, inputs, resume, deadline, board, checkpoints.SECONDS, os.getpid(), jobs == 1)
            parts = list(LocalEngine(jobs=jobs).map(_walk_shard, job, range(self.num_shards), processes=True))
        return merge_candidates(parts, self.walk.capacity)

    def steps_of(self, shard: int) -> int:
        """Steps of one shard: equal parts, the first ones taking the remainder."""
        return self.walk.num_steps // self.num_shards + (shard < self.walk.num_steps % self.num_shards)

    def facts(self, shard: int, scorer: NeighbourhoodScorer, inputs: Sequence[Graph]) -> dict[str, Any]:
        """What determines a shard's walk, as JSON values."""
        walk = {name: value for name, value in asdict(self.walk).items() if name != "cache_bytes"}
        return {"walk": walk, "num_shards": self.num_shards, "seed": self.seed, "shard": shard} | model_facts(
            scorer, inputs
        )


@dataclass(frozen=True, eq=False)
class _Job:
    """What all shards need; `board` is the file that progress is written to, `parent` the process that waits for them."""

    sharded: ShardedWalk
    scorer: NeighbourhoodScorer
    inputs: Sequence[Graph]
    resume: bool
    deadline: float | None
    board: Path | None
    checkpoint_seconds: float
    parent: int
    in_a_row: bool


def _walk_shard(job: _Job, shard: int) -> tuple[list[Reached], list[int]]:
    """Candidates of one shard, most visited first, and the visits of each."""
    sharded, deadline = job.sharded, job.deadline
    is_worker = os.getpid() != job.parent
    if is_worker:
        job.scorer.num_threads = 1  # the cores are for the shards
    if deadline is not None and job.in_a_row:  # shards in a row share the time that is left evenly
        now = time.monotonic()
        deadline = now + (deadline - now) / (sharded.num_shards - shard)
    board = None if job.board is None else _open_board(job.board, sharded.num_shards)

    def report(state: MultiHeadState) -> None:
        if is_worker and os.getppid() != job.parent:
            os._exit(1)  # the parent was killed, and a resumed run writes the same checkpoints
        if board is not None:
            board[shard] = state.step, len(state.found)

    with reproducible():
        walker = Walker(replace(sharded.walk, num_steps=sharded.steps_of(shard)), job.scorer, job.inputs)
        kept = Checkpoint(
            path=None if sharded.checkpoint is None else sharded.checkpoint / f"walk-{shard}.npz",
            facts=sharded.facts(shard, job.scorer, walker.inputs),
            resume=job.resume,
            seconds=job.checkpoint_seconds,
        )
        rng = np.random.default_rng([sharded.seed, shard])
        state = walker.run(rng, kept, deadline=deadline, progress=report)
    candidates = state.candidates(sharded.walk.capacity)
    return candidates, [state.visits[reached.key] for reached in candidates]


def _open_board(path: Path, num_shards: int) -> np.memmap[Any, np.dtype[np.int64]]:
    """Steps taken and candidates found by each shard, `[num_shards, 2]`, in a file that all processes map."""
    return np.memmap(path, np.int64, "r+" if path.exists() else "w+", shape=(num_shards, 2))


@contextmanager
def _progress_shown(sharded: ShardedWalk, bar: Progress | None) -> Iterator[Path | None]:
    """While the block runs, show what shards write to the file given."""
    if bar is None:
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "board"
        board, over = _open_board(path, sharded.num_shards), threading.Event()
        begun: list[tuple[float, int]] = []  # when steps were first seen; a resumed walk has some behind it

        def show() -> None:
            now, (steps, found) = time.monotonic(), board.sum(axis=0).tolist()
            if steps and not begun:
                begun.append((now, steps))
            since, before = begun[0] if begun else (now, steps)
            rate = (steps - before) / (now - since) if now > since else 0.0
            bar("walk", steps, sharded.walk.num_steps, f"{rate:.1f} steps/s, {found} candidates")

        def watch() -> None:
            while not over.wait(_SECONDS):
                show()

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield path
        finally:
            over.set()
            thread.join()
            show()
