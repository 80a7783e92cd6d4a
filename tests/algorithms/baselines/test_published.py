from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from comrecgc.algorithms.baselines.baseline import Counterfactuals
from comrecgc.algorithms.baselines.published import PublishedState, PublishedWalk, PublishedWalker, Visit
from comrecgc.algorithms.reinforced_walk import FrequencyTable
from comrecgc.errors import InputError
from comrecgc.graphs import apply_edit, apply_path
from comrecgc.run import RunContext
from comrecgc.scoring import EditMemory
from tests.algorithms.baselines.subjects import Killed, killing, small_subject
from tests.stubs import Histogram

SUBJECT = small_subject()
WALK = PublishedWalk(num_heads=3, num_steps=200, teleport=0.1, sample=40, capacity=500)


def walker(walk: PublishedWalk = WALK) -> PublishedWalker:
    return PublishedWalker(walk, SUBJECT, seed=0)


def rows_of(found: Counterfactuals) -> list[tuple[int | None, object, float]]:
    return [(each.input, each.path, each.probability) for each in found.found]


def test_heads_never_advance_so_all_is_one_edit_away() -> None:
    walking = walker(replace(WALK, teleport=1e-9))
    state = walking.begin(np.random.default_rng(0))
    heads = list(state.heads)
    for _ in range(100):
        walking.step(state)
    assert state.heads == heads
    found = WALK.run(SUBJECT, np.random.default_rng(0))
    assert found.found
    for each in found.found:
        assert each.input is not None
        assert len(each.path) == 1
        assert each.graph == apply_path(SUBJECT.inputs[each.input], each.path)
        assert each.probability > 0.5


def test_starts_are_recorded_once_and_as_not_accepted() -> None:
    walking = walker()
    state = walking.begin(np.random.default_rng(0))
    for _ in range(5):
        walking.restart(state)
    assert set(state.table.frequencies.tolist()) == {2}
    assert state.starts.sum() == 18
    assert {visit.origin[1] for visit in state.seen.values()} == {-1}


@pytest.mark.parametrize("seed", range(4))
def test_followers_take_the_nearest_recourse_and_every_visit_counts_once(seed: int) -> None:
    walking = walker()
    state = walking.begin(np.random.default_rng(seed))
    before = dict(zip(state.table.keys, state.table.frequencies.tolist(), strict=True))
    walking.move(state)
    new = [key for key in state.table.keys if key not in before]
    measure = Histogram(3)
    chosen: dict[int, int] = {}
    vectors = {}
    for place in set(state.heads):
        start, table, numbers = (
            SUBJECT.inputs[place],
            walking.edits(place),
            walking.around(state, place).numbers.tolist(),
        )
        vectors[place] = [measure.vector(start, apply_edit(start, table[i])) for i in numbers]
        chosen |= {where: numbers.index(at) for where, at in (state.seen[key].origin for key in new) if where == place}

    # Some head led: every other head's graph is then the nearest to it among all its neighbours.
    def follows(lead: int) -> bool:
        target = vectors[lead][chosen[lead]]
        gaps = {place: np.linalg.norm(np.array(rows) - target, axis=1) for place, rows in vectors.items()}
        return all(gaps[p][chosen[p]] <= gaps[p].min() + 1e-6 for p in chosen if p != lead)

    leads = [place for place in chosen if follows(place)]
    assert leads
    counts = dict(zip(state.table.keys, state.table.frequencies.tolist(), strict=True))
    times = Counter(state.heads)
    for key in new:
        place, _ = state.seen[key].origin
        assert counts[key] <= 1 + (times[place] if state.seen[key].accepted else 1)


def test_the_lead_goes_by_probability_times_frequency() -> None:
    walking = walker(replace(WALK, num_heads=1))
    begun = walking.begin(np.random.default_rng(3))
    place = begun.heads[0]
    around = walking.around(begun, place)
    known, rng = int(around.keys[0]) ^ walking._era(begun), np.random.default_rng(0)
    weights = around.probability * np.where(np.arange(len(around.keys)) == 0, 2, 1)
    drawn = np.zeros(len(around.keys))
    for _ in range(4000):
        table = FrequencyTable(100)
        table.visit(known, accepted=False)
        seen = {known: Visit(known, (place, int(around.numbers[0])), accepted=False)}
        state = PublishedState(rng=rng, starts=begun.starts, table=table, seen=seen, heads=[place])
        walking.move(state)
        (choice,) = state.chosen
        drawn[around.numbers.tolist().index(choice.origin[1])] += 1
    np.testing.assert_allclose(drawn / drawn.sum(), weights / weights.sum(), atol=0.025)


def test_a_graph_is_found_again_after_a_restart() -> None:
    edits = [(each.input, each.path) for each in WALK.run(SUBJECT, np.random.default_rng(1)).found]
    assert len(set(edits)) < len(edits)


def test_a_restart_draws_the_neighbours_of_a_large_input_anew() -> None:
    walking = walker(replace(WALK, sample=5))
    state = walking.begin(np.random.default_rng(0))
    before = walking.around(state, 0).numbers.tolist()
    assert walking.around(state, 0).numbers.tolist() == before
    walking.restart(state)
    assert walking.around(state, 0).numbers.tolist() != before


def test_what_a_step_drops_from_a_full_table_comes_back_beyond_its_capacity() -> None:
    walking = walker(replace(WALK, capacity=3))
    state = walking.begin(np.random.default_rng(0))
    for _ in range(50):
        walking.move(state)
        kept = {visit.key for visit in walking._starts(state)} | {
            choice.key ^ walking._era(state) for choice in state.chosen
        }
        assert kept <= set(state.table.keys)
    assert len(state.table) > 3
    assert set(state.table.keys) == set(state.seen)


def test_same_seed_same_answer_and_another_seed_another() -> None:
    once, again, other = (WALK.run(SUBJECT, np.random.default_rng(seed)) for seed in (0, 0, 1))
    assert rows_of(once) == rows_of(again)
    assert rows_of(once) != rows_of(other)


def test_a_killed_walk_goes_on_to_the_same_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = WALK.run(SUBJECT, np.random.default_rng(0))
    monkeypatch.setattr("comrecgc.algorithms.checkpoint.SECONDS", 0.0)
    with pytest.raises(Killed):
        WALK.run(SUBJECT, np.random.default_rng(0), RunContext(progress=killing, checkpoint=tmp_path))
    rest = WALK.run(SUBJECT, np.random.default_rng(0), RunContext(checkpoint=tmp_path, resume=True))
    assert rest.complete
    assert rows_of(rest) == rows_of(whole)
    with pytest.raises(InputError, match="other parameters"):
        replace(WALK, num_heads=2).run(SUBJECT, np.random.default_rng(0), RunContext(checkpoint=tmp_path, resume=True))


def test_no_time_is_an_incomplete_answer() -> None:
    assert not WALK.run(SUBJECT, np.random.default_rng(0), RunContext(time_budget=1e-9)).complete


def test_nothing_rejected_is_an_empty_answer() -> None:
    assert len(WALK.run(replace(SUBJECT, inputs=[]), np.random.default_rng(0))) == 0


@pytest.mark.parametrize("options", [{"num_heads": 0}, {"teleport": 1.0}])
def test_bad_options_are_one_line(options: dict[str, object]) -> None:
    with pytest.raises(InputError, match="got"):
        PublishedWalk(**options)  # type: ignore[arg-type]


def test_a_memory_that_walks_share_changes_nothing() -> None:
    memory = EditMemory()
    for heads in (2, 3, 5):
        walk = replace(WALK, num_heads=heads)
        states = []
        for walking in (PublishedWalker(walk, SUBJECT, seed=0, memory=memory), walker(walk)):
            state = walking.begin(np.random.default_rng(1))
            for _ in range(walk.num_steps):
                walking.step(state)
            states.append(walking.encode(state))
        shared, alone = states
        assert all(np.array_equal(shared[name], alone[name]) for name in alone)
    assert memory.held_bytes > 0
