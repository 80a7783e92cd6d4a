from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from comrecgc.algorithms.paper.checkpoint import load_state, save_state
from comrecgc.algorithms.paper.shards import ShardedWalk, progress_shown
from comrecgc.algorithms.paper.walk import Candidate, CandidatePool, MultiHeadWalk, Walker
from comrecgc.errors import InputError
from comrecgc.graphs.constraints import AllowKinds
from tests.algorithms.paper.killable import SCORER_INPUTS, listed, small_scorer

WALK = MultiHeadWalk(num_heads=2, num_steps=40, teleport=0.1)


def test_shards_split_all_steps_and_add_up_visits() -> None:
    for num_shards in (1, 3):
        pool = ShardedWalk(walk=WALK, num_shards=num_shards).run(small_scorer(), SCORER_INPUTS)
        sharded = ShardedWalk(walk=WALK, num_shards=num_shards)
        assert sum(sharded._steps(shard) for shard in range(num_shards)) == 40
        assert 0 < sum(candidate.visits for candidate in pool) <= 2 * 40


def test_workers_do_not_change_the_result() -> None:
    sharded = ShardedWalk(walk=WALK, num_shards=3, seed=4)
    alone = listed(sharded.run(small_scorer(), SCORER_INPUTS, jobs=1))
    assert listed(sharded.run(small_scorer(), SCORER_INPUTS, jobs=2)) == alone
    assert listed(ShardedWalk(walk=WALK, num_shards=3, seed=5).run(small_scorer(), SCORER_INPUTS)) != alone


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_bar_shows_all_shards_wherever_they_run(jobs: int) -> None:
    calls: list[tuple[str, int, int, str]] = []
    pool = ShardedWalk(walk=WALK, num_shards=3).run(
        small_scorer(), SCORER_INPUTS, jobs=jobs, bar=lambda *arguments: calls.append(arguments)
    )
    what, done, total, word = calls[-1]
    assert (what, done, total) == ("walk", 40, 40)
    found = re.fullmatch(r"[0-9.]+ steps/s, (\d+) candidates", word)
    assert found is not None
    assert int(found[1]) >= len(pool) > 0
    assert [each[1] for each in calls] == sorted(each[1] for each in calls)


def test_a_bar_shows_the_speed_since_it_was_first_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("comrecgc.algorithms.paper.shards._SECONDS", 0.02)
    calls: list[tuple[str, int, int, str]] = []
    with progress_shown(2, 1000, lambda *arguments: calls.append(arguments)) as told:
        assert told is not None
        told[1] = 500, 7  # behind it when it is resumed
        time.sleep(0.3)
        told[1] = 530, 8
        time.sleep(0.1)
    what, done, total, word = calls[-1]
    assert (what, done, total) == ("walk", 530, 1000)
    speed, _, found = word.partition(" steps/s, ")
    assert 20 < float(speed) < 100
    assert found == "8 candidates"


def test_a_saved_state_goes_on_as_if_nothing_had_happened(tmp_path: Path) -> None:
    scorer = small_scorer()
    for stop in (1, 7, 25):
        walker = Walker(WALK, scorer, SCORER_INPUTS)
        state = walker.begin(np.random.default_rng(stop))
        for _ in range(stop):
            walker.step(state)
        save_state(state, tmp_path / "walk.npz", {"seed": stop})
        again = Walker(WALK, scorer, SCORER_INPUTS)
        loaded = load_state(tmp_path / "walk.npz", again.inputs, WALK.capacity, {"seed": stop})
        for _ in range(15):
            walker.step(state)
            again.step(loaded)
        assert listed(loaded.pool) == listed(state.pool)
        assert loaded.visits == state.visits
        assert loaded.step == state.step
        assert loaded.starts.tolist() == state.starts.tolist()


def test_states_of_other_walks_and_damaged_ones_are_refused(tmp_path: Path) -> None:
    walker = Walker(WALK, small_scorer(), SCORER_INPUTS)
    path = tmp_path / "walk.npz"
    save_state(walker.begin(np.random.default_rng(0)), path, {"seed": 0})
    with pytest.raises(InputError, match="other parameters, models or data"):
        load_state(path, walker.inputs, WALK.capacity, {"seed": 1})
    whole = path.read_bytes()
    for size in (0, 10, len(whole) // 2, len(whole) - 5):
        path.write_bytes(whole[:size])
        with pytest.raises(InputError, match="is damaged"):
            load_state(path, walker.inputs, WALK.capacity, {"seed": 0})
    with pytest.raises(InputError, match="Cannot read"):
        load_state(tmp_path / "none.npz", walker.inputs, WALK.capacity, {"seed": 0})


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
    sharded = ShardedWalk(walk=WALK, num_shards=2, checkpoint=tmp_path)
    early = sharded.run(small_scorer(), SCORER_INPUTS, jobs=jobs, deadline=time.monotonic())
    whole = listed(ShardedWalk(walk=WALK, num_shards=2).run(small_scorer(), SCORER_INPUTS))
    assert len(early) < len(whole)
    assert listed(sharded.run(small_scorer(), SCORER_INPUTS, jobs=jobs, resume=True)) == whole


def test_a_walk_is_not_resumed_with_other_models_constraints_or_node_orders(tmp_path: Path) -> None:
    sharded = ShardedWalk(walk=WALK, num_shards=1, checkpoint=tmp_path)
    scorer = small_scorer()
    sharded.run(scorer, SCORER_INPUTS)
    others = [
        (small_scorer(seed=1), SCORER_INPUTS),
        (small_scorer(constraint=AllowKinds({"relabel"})), SCORER_INPUTS),
        (scorer, [graph.permute(np.arange(graph.num_nodes)[::-1]) for graph in SCORER_INPUTS]),
    ]
    for other, inputs in others:
        with pytest.raises(InputError, match="other parameters, models or data"):
            sharded.run(other, inputs, resume=True)
    assert listed(sharded.run(scorer, SCORER_INPUTS, resume=True)) == listed(sharded.run(scorer, SCORER_INPUTS))


def test_too_many_shards() -> None:
    with pytest.raises(InputError, match=r"num_shards must lie in 1…40, the steps \(got 41\)"):
        ShardedWalk(walk=WALK, num_shards=41)
    with pytest.raises(InputError, match="num_shards"):
        ShardedWalk(walk=WALK, num_shards=0)
    with pytest.raises(InputError, match="jobs must be at least 1"):
        ShardedWalk(walk=WALK).run(small_scorer(), SCORER_INPUTS, jobs=0)


def candidate(key: int, visits: int = 1) -> Candidate:
    return Candidate(key, SCORER_INPUTS[0], 0.9, 0, (), visits)


def test_the_pool_keeps_the_most_visited() -> None:
    pool = CandidatePool(3)
    for key in range(30):
        pool.add(candidate(key, visits=1 + (key in (4, 9))))
    assert len(pool) == 3
    assert [kept.key for kept in pool] == [4, 9, 0]
    assert pool.revisit(0)
    assert not pool.revisit(29_999)
    assert [kept.visits for kept in pool] == [2, 2, 2]


def test_merged_pools_add_up_visits_and_keep_the_first_path() -> None:
    first, second = CandidatePool(5), CandidatePool(5)
    first.add(candidate(1, 2))
    second.add(candidate(1, 3))
    second.add(candidate(2))
    merged = CandidatePool.merged([first, second], 5)
    assert [(kept.key, kept.visits) for kept in merged] == [(1, 5), (2, 1)]


def test_an_empty_pool_cannot_be() -> None:
    with pytest.raises(InputError, match="at least 1 graph"):
        CandidatePool(0)
