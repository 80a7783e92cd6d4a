from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from comrecgc.algorithms.checkpoint import Checkpoint, Reached
from comrecgc.algorithms.paper.walk import (
    MultiHeadState,
    MultiHeadWalk,
    ShardedWalk,
    Walker,
    _open_board,
    _progress_shown,
    merge_candidates,
)
from comrecgc.errors import InputError
from comrecgc.graphs.edits import AllowKinds
from comrecgc.run import RunContext
from tests.algorithms.paper.killable import SCORER_INPUTS, listed, small_scorer

WALK = MultiHeadWalk(num_heads=2, num_steps=40, teleport=0.1)


def test_shards_split_all_steps() -> None:
    for num_shards in (1, 3):
        sharded = ShardedWalk(walk=WALK, num_shards=num_shards)
        assert sum(sharded.steps_of(shard) for shard in range(num_shards)) == 40
        assert 0 < len(sharded.run(small_scorer(), SCORER_INPUTS, RunContext(jobs=1))) <= 2 * 40


def test_workers_do_not_change_the_result() -> None:
    sharded = ShardedWalk(walk=WALK, num_shards=3, seed=4)
    alone = listed(sharded.run(small_scorer(), SCORER_INPUTS, RunContext(jobs=1)))
    assert listed(sharded.run(small_scorer(), SCORER_INPUTS, RunContext(jobs=2))) == alone
    assert (
        listed(ShardedWalk(walk=WALK, num_shards=3, seed=5).run(small_scorer(), SCORER_INPUTS, RunContext(jobs=1)))
        != alone
    )


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_bar_shows_all_shards_wherever_they_run(jobs: int) -> None:
    calls: list[tuple[str, int, int, str]] = []
    pool = ShardedWalk(walk=WALK, num_shards=3).run(
        small_scorer(), SCORER_INPUTS, RunContext(jobs=jobs, progress=lambda *arguments: calls.append(arguments))
    )
    what, done, total, word = calls[-1]
    assert (what, done, total) == ("walk", 40, 40)
    found = re.fullmatch(r"[0-9.]+ steps/s, (\d+) candidates", word)
    assert found is not None
    assert int(found[1]) >= len(pool) > 0
    assert [each[1] for each in calls] == sorted(each[1] for each in calls)


def test_a_bar_shows_the_speed_since_it_was_first_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("comrecgc.algorithms.paper.walk._SECONDS", 0.02)
    calls: list[tuple[str, int, int, str]] = []
    sharded = ShardedWalk(walk=MultiHeadWalk(num_steps=1000))
    with _progress_shown(sharded, lambda *arguments: calls.append(arguments)) as path:
        assert path is not None
        board = _open_board(path, 2)
        board[1] = 500, 7  # behind it when it is resumed
        time.sleep(0.3)
        board[1] = 530, 8
        time.sleep(0.1)
    what, done, total, word = calls[-1]
    assert (what, done, total) == ("walk", 530, 1000)
    speed, _, found = word.partition(" steps/s, ")
    assert 20 < float(speed) < 100
    assert found == "8 candidates"


@pytest.mark.parametrize("stop", [1, 7, 25])
def test_a_walk_cut_anywhere_goes_on_as_if_nothing_had_happened(tmp_path: Path, stop: int) -> None:
    def walked(num_steps: int, *, resume: bool = False) -> MultiHeadState:
        walker = Walker(replace(WALK, num_steps=num_steps), small_scorer(), SCORER_INPUTS)
        kept = Checkpoint(tmp_path / "walk.npz", {"seed": stop}, resume)
        return walker.run(np.random.default_rng(stop), kept)

    whole = walked(stop + 15)
    walked(stop)
    rest = walked(stop + 15, resume=True)
    assert listed(rest.candidates(100)) == listed(whole.candidates(100))
    assert rest.visits == whole.visits
    assert rest.step == whole.step
    assert rest.starts.tolist() == whole.starts.tolist()
    assert [head.path for head in rest.heads] == [head.path for head in whole.heads]


def test_states_of_other_walks_and_damaged_ones_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "walk.npz"

    def walk(seed: int, *, resume: bool = True) -> None:
        walker = Walker(replace(WALK, num_steps=3), small_scorer(), SCORER_INPUTS)
        walker.run(np.random.default_rng(0), Checkpoint(path, {"seed": seed}, resume))

    walk(0, resume=False)
    with pytest.raises(InputError, match="other parameters, models or data"):
        walk(1)
    whole = path.read_bytes()
    for size in (0, 10, len(whole) // 2, len(whole) - 5):
        path.write_bytes(whole[:size])
        with pytest.raises(InputError, match="is damaged"):
            walk(0)


def test_a_walk_killed_again_and_again_finds_the_same_candidates(tmp_path: Path) -> None:
    """SIGKILL at random moments, resume, until it is through; the answer is that of an undisturbed walk.

    Each start costs seconds, so there are few by default; COMRECGC_KILLS asks for more.
    """
    wanted = int(os.environ.get("COMRECGC_KILLS", "4"))
    random.seed(0)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "tests.algorithms.paper.killable", str(tmp_path)]
    kills = 0
    answer = ""
    while not answer:
        worker = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        assert worker.stdout is not None
        worker.stdout.readline()  # the walk has begun
        time.sleep(random.uniform(0.0, 0.12))
        if kills < wanted and worker.poll() is None:
            worker.send_signal(signal.SIGKILL)
            kills += 1
        answer = worker.communicate()[0]
    assert kills == wanted
    undisturbed = subprocess.run(
        [*command[:-1], str(tmp_path / "fresh")], env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    assert answer == undisturbed.stdout.split("\n", 1)[1]
    assert answer.count("\n") > 50


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks processes up in /proc, which is Linux")
def test_workers_end_with_their_parent(tmp_path: Path) -> None:
    """A killed run leaves nobody behind who writes checkpoints while another resumes it."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "tests.algorithms.paper.killable", str(tmp_path), "2", "1000000"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as parent:
        while not all((tmp_path / f"walk-{shard}.npz").exists() for shard in range(2)):
            assert parent.poll() is None
            time.sleep(0.05)
        workers = children(parent.pid)
        assert len(workers) >= 2
        parent.kill()
    ended = time.monotonic() + 30
    while any(is_running(worker) for worker in workers) and time.monotonic() < ended:
        time.sleep(0.05)
    assert not any(is_running(worker) for worker in workers)


def children(parent: int) -> list[int]:
    return [pid for pid in running() if status(pid).get("PPid") == str(parent)]


def is_running(pid: int) -> bool:
    return status(pid).get("State", "Z")[0] != "Z"


def running() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def status(pid: int) -> dict[str, str]:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:  # it has ended
        return {}
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_walk_stops_at_its_deadline_and_goes_on_from_there(jobs: int, tmp_path: Path) -> None:
    sharded, kept = ShardedWalk(walk=WALK, num_shards=2), RunContext(checkpoint=tmp_path, jobs=jobs)
    early = sharded.run(small_scorer(), SCORER_INPUTS, kept.until(time.monotonic()))
    whole = listed(ShardedWalk(walk=WALK, num_shards=2).run(small_scorer(), SCORER_INPUTS, RunContext(jobs=1)))
    assert len(early) < len(whole)
    assert listed(sharded.run(small_scorer(), SCORER_INPUTS, replace(kept, resume=True))) == whole


def test_a_walk_is_not_resumed_with_other_models_constraints_or_node_orders(tmp_path: Path) -> None:
    sharded, kept = ShardedWalk(walk=WALK, num_shards=1), RunContext(checkpoint=tmp_path, jobs=1)
    scorer = small_scorer()
    sharded.run(scorer, SCORER_INPUTS, kept)
    others = [
        (small_scorer(seed=1), SCORER_INPUTS),
        (small_scorer(constraint=AllowKinds({"relabel"})), SCORER_INPUTS),
        (scorer, [graph.permute(np.arange(graph.num_nodes)[::-1]) for graph in SCORER_INPUTS]),
    ]
    for other, inputs in others:
        with pytest.raises(InputError, match="other parameters, models or data"):
            sharded.run(other, inputs, replace(kept, resume=True))
    assert listed(sharded.run(scorer, SCORER_INPUTS, replace(kept, resume=True))) == listed(
        sharded.run(scorer, SCORER_INPUTS, kept)
    )


def candidate(key: int) -> Reached:
    return Reached(0, SCORER_INPUTS[0], key, 0.9, np.zeros(2, np.float32))


def test_the_most_visited_candidates_are_kept() -> None:
    state = MultiHeadState(rng=np.random.default_rng(0), starts=np.zeros(1, np.int64))
    for key in range(30):
        state.found[key] = candidate(key)
        state.visits[key] = 1 + (key in (4, 9))
    assert [kept.key for kept in state.candidates(3)] == [4, 9, 0]


def test_a_walk_holds_little_more_than_its_capacity() -> None:
    walker = Walker(replace(WALK, capacity=3, num_steps=60), small_scorer(), SCORER_INPUTS)
    state = walker.run(np.random.default_rng(0))
    assert len(state.found) <= 3 + 16
    assert len(state.candidates(3)) == 3


def test_merged_candidates_add_up_visits_and_keep_the_first_path() -> None:
    first, second = [candidate(1)], [candidate(1), candidate(2), candidate(3)]
    merged = merge_candidates([(first, [2]), (second, [3, 1, 9])], 2)
    assert [kept.key for kept in merged] == [3, 1]
    assert merged[1] is first[0]
