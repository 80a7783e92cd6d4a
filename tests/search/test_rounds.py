from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from comrecgc.graphs import Edit, EditKind, Graph
from comrecgc.search.leads import InputState, Leads, drawn, recourse_vectors, squared_distances
from comrecgc.search.rounds import Searcher, best_first, choose_frontier, worth_keeping
from comrecgc.search.state import Pursuit, SearchState
from tests.search.models import INPUTS, scorer, search

Array = npt.NDArray[np.float32]


def leads(points: npt.ArrayLike, probabilities: npt.ArrayLike | None = None) -> Leads:
    """Graphs of size 1 at these places; the input of size 1 is at zero, so that vectors are half of them."""
    embeddings = 2 * np.asarray(points, dtype=np.float32)
    count = len(embeddings)
    return Leads(
        np.arange(1, count + 1, dtype=np.uint64),
        np.ones(count, dtype=np.int32),
        np.zeros(count, np.float32) if probabilities is None else np.asarray(probabilities, dtype=np.float32),
        embeddings,
        tuple((Edit(EditKind.RELABEL, 0, i),) for i in range(count)),
    )


def with_frontier(frontier: Leads) -> InputState:
    width = frontier.embeddings.shape[1]
    return InputState(Graph([0], []), np.zeros(width, dtype=np.float32), Leads.none(width), frontier)


def test_the_frontier_is_chosen_for_several_aims_then_for_nearness() -> None:
    points = [[0.1], [0.2], [0.3], [5.4], [9.5], [100.0]]
    aims = np.array([[0], [5], [9]], dtype=np.float32)
    known = with_frontier(leads(points))
    assert choose_frontier(known, aims, 6).tolist()[:3] == [0, 3, 4]
    assert choose_frontier(known, aims, 1).tolist() == [0]
    assert choose_frontier(known, aims, 2).tolist() == [0, 1]
    assert choose_frontier(known, aims, 0).tolist() == []


@pytest.mark.parametrize("num_aims", [0, 1, 2, 7])
@pytest.mark.parametrize("budget", [1, 5, 8, 30])
def test_the_whole_budget_is_spent_however_few_the_aims(num_aims: int, budget: int) -> None:
    rng = np.random.default_rng(0)
    known = with_frontier(leads(rng.normal(size=(20, 3)), rng.random(20)))
    chosen = choose_frontier(known, rng.normal(size=(num_aims, 3)).astype(np.float32), budget)
    assert len(set(chosen.tolist())) == len(chosen) == min(budget, 20)


def test_without_aims_the_likeliest_come_first() -> None:
    none = np.zeros((0, 1), dtype=np.float32)
    known = with_frontier(leads([[1], [2], [3]], [0.2, 0.4, 0.3]))
    assert choose_frontier(known, none, 2).tolist() == [1, 2]
    assert best_first(np.zeros((3, 1), np.float32), np.array([0.1, 0.1, 0.2], np.float32), none).tolist() == [2, 0, 1]
    aims = np.array([[2.1], [9]], dtype=np.float32)
    assert best_first(np.array([[1], [2], [8]], np.float32), np.zeros(3, np.float32), aims).tolist() == [1, 2, 0]


@pytest.mark.parametrize("most", [1, 2, 5, 12, 40])
def test_what_is_nearest_to_a_centre_is_kept(most: int) -> None:
    rng = np.random.default_rng(most)
    vectors, centres = (rng.normal(size=(count, 3)).astype(np.float32) for count in (30, 4))
    keys = rng.integers(2**63, size=30).astype(np.uint64)
    kept = worth_keeping(vectors, keys, centres, most)
    assert kept.tolist() == sorted(set(kept.tolist()))
    assert len(kept) == min(most, 30)
    assert int(squared_distances(vectors, centres).min(axis=1).argmin()) in kept
    without = worth_keeping(vectors, keys, None, most)
    np.testing.assert_array_equal(worth_keeping(vectors, keys, centres[:0], most), without)
    assert len(without) == min(most, 30)


def test_draws_by_key_do_not_depend_on_the_order() -> None:
    keys = np.random.default_rng(0).integers(2**63, size=200).astype(np.uint64)
    order = np.random.default_rng(1).permutation(200)
    assert set(keys[drawn(keys, 20)]) == set(keys[order][drawn(keys[order], 20)])
    assert drawn(keys, 500).tolist() == list(range(200))
    mean_rank = np.argsort(np.argsort(keys))[drawn(keys, 60)].mean()
    assert 60 < mean_rank < 140  # small keys are not preferred


def test_graphs_reached_twice_keep_their_first_path() -> None:
    first, second = leads([[1], [2]]), leads([[5], [6], [7]])
    both = first + second
    assert both.keys.tolist() == [1, 2, 3]
    assert both.embeddings.ravel().tolist() == [2, 4, 14]
    assert both.paths == (*first.paths, second.paths[2])
    assert len(Leads.none(1) + Leads.none(1)) == 0
    assert both.select(np.array([False, True, False])).keys.tolist() == [2]


def test_recourse_vectors_and_squares() -> None:
    vectors = recourse_vectors(
        3, np.array([1, 1], np.float32), np.array([1, 5], np.int32), np.array([[5, 1], [1, 9]], np.float32)
    )
    assert vectors.tolist() == [[1, 0], [0, 1]]
    assert squared_distances(vectors, np.array([[1, 0], [1, 3]], np.float32)).tolist() == [[0, 9], [2, 5]]


def planned(covers: npt.ArrayLike, *, nothing_found: bool = False, **options: float) -> list[Pursuit]:
    return Searcher(search(**options), scorer())._plan(np.asarray(covers, dtype=np.bool_), nothing_found=nothing_found)


def test_a_plan_is_for_uncovered_inputs_and_those_only_a_late_centre_covers() -> None:
    covers = np.zeros((20, 4), dtype=np.bool_)
    covers[1, 0] = covers[5, 1] = covers[[0, 5], 2] = True
    assert planned(covers, effort=2.5, head_effort=1.0) == [Pursuit(3, 10, 20), Pursuit(1, 4, 2)]
    assert planned(covers, effort=2.5, head_effort=0.0, most_expansions=6) == [Pursuit(3, 6, 20)]
    assert planned(np.ones((1, 4))) == []
    assert planned(np.zeros((0, 2))) == []
    assert planned(np.zeros((0, 2)), nothing_found=True, effort=1.0) == [Pursuit(0, 1, 0), Pursuit(1, 1, 0)]


@pytest.mark.parametrize(
    ("curve", "over"),
    [
        ([0.1], False),
        ([0.1, 0.1], False),
        ([0.1, 0.1, 0.1], True),
        ([0.1, 0.1, 0.15], False),
        ([0, 0.2, 0.4, 0.6], True),
    ],
)
def test_it_is_over_when_rounds_bring_nothing_or_enough_were_made(curve: list[float], over: bool) -> None:
    assert Searcher(search(max_rounds=3, patience=2, least_gain=0.01), scorer())._is_over(curve) == over


def test_places_of_candidates_are_looked_up_once() -> None:
    """Many paths are asked for after a search over many inputs: each must not cost a pass over all of them."""
    num_inputs = 20_000
    one, none = leads([[1.0], [2.0]]), Leads.none(1)
    origin = np.zeros(1, dtype=np.float32)
    known = [InputState(INPUTS[0], origin, none if i % 2 else one, none) for i in range(num_inputs)]
    state = SearchState(inputs=known, seed=0, plan=[], num_found=num_inputs)
    assert state.pairs().inputs[[0, 1, 2, -1]].tolist() == [0, 0, 2, num_inputs - 2]
    assert state.path(3) == one.paths[1]
    known[0] = None  # type: ignore[call-overload]  # a second pass over all would stumble here
    assert [state.path(candidate) for candidate in (2, num_inputs - 1)] == list(one.paths)
    assert state.progress.num_found == num_inputs
