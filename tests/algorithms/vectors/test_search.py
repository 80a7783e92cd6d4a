"""Tests of comrecgc.algorithms.vectors.search."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import networkx as nx
import numpy as np
import numpy.typing as npt
import pytest

from comrecgc.algorithms.vectors import search as search_module
from comrecgc.algorithms.vectors.search import (
    InputState,
    InputTask,
    ReachedGraphs,
    Searcher,
    SearchState,
    best_first,
    choose_frontier,
    drawn,
    squared_distances,
    worth_keeping,
)
from comrecgc.cover import cover_of, recourse_vectors
from comrecgc.errors import InputError
from comrecgc.graphs import (
    AllOf,
    Constraint,
    Edit,
    EditKind,
    Graph,
    allowed_edits,
    apply_edit,
    apply_path,
    graph_key,
    to_networkx,
)
from comrecgc.graphs.edits import AllowKinds, FreezeNodes, KeepConnected
from comrecgc.run import RunContext
from comrecgc.scoring import NeighbourhoodScorer
from tests.algorithms.paper import literal
from tests.algorithms.vectors.models import (
    DELTA,
    INPUTS,
    NUM_LABELS,
    PLANTED,
    PLANTED_DELTA,
    THETA,
    Models,
    listed,
    planted_scorer,
    planted_search,
    scorer,
    search,
)
from tests.scoring.plain import assert_close, plain_embedding, plain_probability


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_module, "_CHUNK", 2)


@pytest.fixture(scope="module")
def state() -> SearchState:
    """A finished search over the tiny inputs."""
    return search().run(scorer(), INPUTS, seed=1)


def distance(first: nx.Graph[int], second: nx.Graph[int]) -> float:
    sizes = sum(len(graph) + graph.number_of_edges() for graph in (first, second))
    apart = literal.embedding(first).astype(np.float64) - literal.embedding(second)
    return float(np.linalg.norm(apart) / sizes)


def reached(state: SearchState, graphs: list[Graph]) -> Iterator[tuple[int, Graph]]:
    """Every candidate of a search with the graph its path leads to."""
    for candidate, owner in enumerate(state.pairs().inputs.tolist()):
        yield candidate, apply_path(graphs[owner], state.path(candidate))


def test_the_sweep_finds_exactly_the_accepted_neighbours_within_theta() -> None:
    swept = search(max_rounds=0).run(scorer(), INPUTS)
    assert len(swept.curve) == 1
    total = 0
    for known in swept.inputs:
        source = to_networkx(known.graph)
        expected = [
            graph
            for graph in literal.neighbours(source, NUM_LABELS)
            if distance(source, graph) <= THETA and literal_probability(graph) > 0.5
        ]
        found = [to_networkx(apply_path(known.graph, path)) for path in known.found.paths]
        assert len(found) == len(expected)
        assert all(sum(literal.same(graph, other) for other in expected) == 1 for graph in found)
        total += len(found)
    assert total >= 10
    assert total < sum(len(literal.neighbours(to_networkx(graph), NUM_LABELS)) for graph in INPUTS) / 2


def literal_probability(graph: nx.Graph[int]) -> float:
    odds = literal.accept_probability(graph)
    return odds / (odds + (1 - odds) * float(np.exp(Models().bias)))


def test_a_tie_is_a_reject() -> None:
    class Undecided(Models):
        def probability(self, graph: Graph) -> float:  # noqa: ARG002
            return 0.5

    found = search(max_rounds=1).run(scorer(models=Undecided()), INPUTS)
    assert len(found.pairs()) == 0


def test_every_counterfactual_is_what_it_claims(state: SearchState) -> None:
    pairs = state.pairs()
    assert len(pairs) == state.num_found > 30
    assert max(len(state.path(candidate)) for candidate in range(len(pairs))) >= 2
    keys, probabilities = (
        np.concatenate([getattr(known.found, name) for known in state.inputs]) for name in ("keys", "probabilities")
    )
    for candidate, graph in reached(state, INPUTS):
        source, end = to_networkx(INPUTS[pairs.inputs[candidate]]), to_networkx(graph)
        assert graph_key(graph) == keys[candidate]
        assert graph.size == pairs.candidate_sizes[candidate]
        assert probabilities[candidate] == pytest.approx(literal_probability(end), abs=1e-6)
        assert probabilities[candidate] > 0.5
        np.testing.assert_allclose(pairs.candidate_embeddings[candidate], literal.embedding(end), rtol=1e-6)
        assert distance(source, end) <= THETA
        assert pairs.norms[candidate] == pytest.approx(distance(source, end), rel=1e-5)
    owned = np.stack([pairs.inputs.astype(np.uint64), keys], axis=1)
    assert len(np.unique(owned, axis=0)) == len(owned)


def test_the_fast_path_says_what_a_plain_forward_pass_says() -> None:
    from comrecgc.graphs import GraphBatch
    from comrecgc.models import GraphClassifier, Greed

    models = planted_scorer()
    found = planted_search(max_rounds=1).run(models, PLANTED[:12])
    pairs = found.pairs()
    assert len(pairs) > 20
    batch = GraphBatch.from_graphs(graph for _, graph in reached(found, PLANTED[:12]))
    assert isinstance(models.classifier, GraphClassifier)
    assert isinstance(models.embedder, Greed)
    assert_close(pairs.candidate_embeddings, plain_embedding(models.embedder, batch))
    said = np.concatenate([known.found.probabilities for known in found.inputs])
    assert_close(said, plain_probability(models.classifier, batch))


def test_coverage_is_that_of_the_pairs_and_never_falls(state: SearchState) -> None:
    assert state.centres is not None
    cover = cover_of(state.pairs(), state.centres, DELTA * (1 - 1e-5))
    assert state.curve[-1] == cover.covers.any(axis=0).mean()
    assert state.curve == sorted(state.curve)
    assert state.curve[-1] > state.curve[0]
    assert (cover.gains[:-1] >= cover.gains[1:]).all()
    vectors, owners = state.vectors()
    np.testing.assert_array_equal(vectors, state.pairs().vectors())
    np.testing.assert_array_equal(owners, state.pairs().inputs)


def test_kept_graphs_stay_within_bounds() -> None:
    for num_found, num_frontier in ((1, 1), (3, 2)):
        small = search(num_found=num_found, num_frontier=num_frontier).run(scorer(), INPUTS)
        assert max(len(known.found) for known in small.inputs) == num_found
        assert max(len(known.frontier) for known in small.inputs) == num_frontier
        assert small.curve == sorted(small.curve)
    for num_inputs in (1, 1000, 100_000, 10**7):
        sized = search(max_graphs=10**6)._sized(num_inputs)
        assert num_inputs * (sized.num_found + sized.num_frontier) <= max(10**6, 2 * num_inputs)
    assert search()._sized(2000) == search()


@pytest.mark.parametrize(
    "constraint",
    [AllowKinds({"relabel"}), AllOf(KeepConnected(), FreezeNodes([0])), AllowKinds({"add_edge", "remove_edge"})],
    ids=["relabel", "connected", "edges"],
)
def test_constraints_hold_along_every_path(constraint: Constraint) -> None:
    found = search(theta=0.5, max_rounds=1, effort=2.0).run(scorer(constraint), INPUTS[:5])
    assert found.num_found > 0
    for candidate, owner in enumerate(found.pairs().inputs.tolist()):
        graph = INPUTS[owner]
        for edit in found.path(candidate):
            table = allowed_edits(graph, NUM_LABELS, constraint)
            assert edit in [table[i] for i in range(len(table))]
            graph = apply_edit(graph, edit)


def test_no_inputs() -> None:
    nothing = search().run(scorer(), [])
    assert nothing.ended
    assert nothing.complete
    assert nothing.curve == []
    assert len(nothing.pairs()) == nothing.pairs().num_inputs == 0


def test_inputs_that_nothing_can_flip() -> None:
    hopeless = search().run(scorer(models=Models(bias=50)), INPUTS)
    assert hopeless.ended
    assert hopeless.complete
    assert set(hopeless.curve) == {0.0}
    assert len(hopeless.pairs()) == 0
    assert hopeless.pairs().num_inputs == len(INPUTS)
    assert hopeless.centres is not None
    assert hopeless.centres.shape == (0, 8)


def test_where_no_single_edit_is_accepted_it_looks_farther() -> None:
    far = scorer(models=Models(bias=2.5))
    alone = [graph for graph in INPUTS if not search(theta=5.0, max_rounds=0).run(far, [graph]).num_found]
    assert len(alone) > 1
    found = search(theta=5.0, max_rounds=2, effort=2.0).run(far, alone)
    assert found.curve[0] == 0
    assert found.curve[-1] > 0
    assert min(len(found.path(candidate)) for candidate in range(found.num_found)) >= 2


def test_one_label() -> None:
    graphs = [Graph([0] * 4, [(0, 1), (1, 2), (2, 3), (0, 3)]), Graph([0] * 3, [(0, 1), (1, 2)])]
    found = search(theta=1.0).run(scorer(models=Models(num_labels=1, bias=-2.0)), graphs)
    assert found.num_found > 0
    assert all(set(graph.labels.tolist()) == {0} for _, graph in reached(found, graphs))


def test_the_order_of_inputs_matters_little() -> None:
    """What the sweep finds is the same; later rounds differ by ties and draws, and coverage by a few inputs."""
    models, order = planted_scorer(), np.random.default_rng(0).permutation(len(PLANTED))
    shuffled = [PLANTED[i] for i in order]
    swept, swept_shuffled = (planted_search(max_rounds=0).run(models, graphs) for graphs in (PLANTED, shuffled))
    for place, i in enumerate(order):
        assert sorted(swept_shuffled.inputs[place].found.keys) == sorted(swept.inputs[i].found.keys)
    shares = [planted_search().run(models, graphs).curve[-1] for graphs in (PLANTED, shuffled)]
    assert min(shares) > swept.curve[-1]
    assert abs(shares[0] - shares[1]) <= 0.1


def test_threads_and_seeds() -> None:
    answers = [
        listed(planted_search(max_neighbours=300).run(planted_scorer(num_threads), PLANTED[:10], seed=seed))
        for num_threads, seed in ((1, 0), (2, 0), (1, 1))
    ]
    assert answers[0] == answers[1] != answers[2]


class Stop(Exception):
    """Ends a search from outside."""


def test_a_search_stopped_at_any_step_resumes_to_the_same_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("comrecgc.algorithms.checkpoint.SECONDS", 0.0)
    models, graphs, whole = planted_scorer(), PLANTED[:8], list[tuple[object, ...]]()
    answer = listed(planted_search().run(models, graphs, RunContext(progress=lambda *said: whole.append(said)), seed=2))
    assert len(whole) > 8
    assert whole[0][:3] == ("sweep", 2, 8)
    for stop in range(1, len(whole)):
        path = tmp_path / f"{stop}" / "search.npz"
        path.parent.mkdir()
        calls = count(1)

        def interrupt(*_: object, calls: Iterator[int] = calls, stop: int = stop) -> None:
            if next(calls) == stop:
                raise Stop

        with pytest.raises(Stop):
            planted_search().run(models, graphs, RunContext(progress=interrupt, checkpoint=path.parent), seed=2)
        rest: list[tuple[object, ...]] = []
        watched = RunContext(progress=lambda *said, rest=rest: rest.append(said), checkpoint=path.parent, resume=True)
        resumed = planted_search().run(models, graphs, watched, seed=2)
        assert listed(resumed) == answer
        assert rest == whole[stop - 1 :]  # the step that was interrupted is made again
    assert (
        listed(planted_search().run(models, graphs, RunContext(checkpoint=path.parent, resume=True), seed=2)) == answer
    )


def test_without_resume_a_checkpoint_is_written_over(tmp_path: Path) -> None:
    path = tmp_path / "search.npz"
    path.write_bytes(b"something else")
    state = search(max_rounds=0).run(scorer(), INPUTS[:2], RunContext(checkpoint=path.parent))
    again = search(max_rounds=0).run(scorer(), INPUTS[:2], RunContext(checkpoint=path.parent, resume=True))
    assert listed(again) == listed(state)


def test_a_deadline_in_the_past_gives_an_empty_answer() -> None:
    late = search().run(scorer(), INPUTS, RunContext().until(time.monotonic() - 1))
    assert late.ended
    assert not late.complete
    assert late.curve == [0.0]
    assert len(late.pairs()) == 0


@pytest.mark.parametrize("allowed", [1, 3, 5, 7])
def test_what_a_deadline_leaves_is_valid_and_can_be_gone_on_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, allowed: int
) -> None:
    models, graphs, path = planted_scorer(), PLANTED[:8], tmp_path / "search.npz"
    answer = planted_search().run(models, graphs, seed=2)
    assert answer.complete
    with monkeypatch.context() as patch:
        asked = count()
        patch.setattr(RunContext, "is_late", property(lambda _: next(asked) >= allowed))
        cut = planted_search().run(models, graphs, RunContext(checkpoint=path.parent), seed=2)
    assert cut.ended
    assert not cut.complete
    assert cut.centres is not None
    assert 0 < cut.num_found < answer.num_found
    assert cut.curve[-1] == cover_of(cut.pairs(), cut.centres, PLANTED_DELTA * (1 - 1e-5)).covers.any(axis=0).mean()
    assert listed(
        planted_search().run(models, graphs, RunContext(checkpoint=path.parent, resume=True), seed=2)
    ) == listed(answer)


def test_both_models_are_needed() -> None:
    for classifier, embedder in ((None, Models()), (Models(), None)):
        lame = NeighbourhoodScorer(classifier, embedder, NUM_LABELS)
        with pytest.raises(InputError, match="needs a classifier and an embedder"):
            search().run(lame, INPUTS)


Array = npt.NDArray[np.float32]


def graphs_at(points: npt.ArrayLike, probabilities: npt.ArrayLike | None = None) -> ReachedGraphs:
    """Graphs of size 1 at these places; the input of size 1 is at zero, so that vectors are half of them."""
    embeddings = 2 * np.asarray(points, dtype=np.float32)
    count = len(embeddings)
    return ReachedGraphs(
        np.arange(1, count + 1, dtype=np.uint64),
        np.ones(count, dtype=np.int32),
        np.zeros(count, np.float32) if probabilities is None else np.asarray(probabilities, dtype=np.float32),
        embeddings,
        tuple((Edit(EditKind.RELABEL, 0, i),) for i in range(count)),
    )


def with_frontier(frontier: ReachedGraphs) -> InputState:
    width = frontier.embeddings.shape[1]
    return InputState(Graph([0], []), np.zeros(width, dtype=np.float32), ReachedGraphs.none(width), frontier)


def test_the_frontier_is_chosen_for_several_aims_then_for_nearness() -> None:
    points = [[0.1], [0.2], [0.3], [5.4], [9.5], [100.0]]
    aims = np.array([[0], [5], [9]], dtype=np.float32)
    known = with_frontier(graphs_at(points))
    assert choose_frontier(known, aims, 6).tolist()[:3] == [0, 3, 4]
    assert choose_frontier(known, aims, 1).tolist() == [0]
    assert choose_frontier(known, aims, 2).tolist() == [0, 1]
    assert choose_frontier(known, aims, 0).tolist() == []


@pytest.mark.parametrize("num_aims", [0, 1, 2, 7])
@pytest.mark.parametrize("budget", [1, 5, 8, 30])
def test_the_whole_budget_is_spent_however_few_the_aims(num_aims: int, budget: int) -> None:
    rng = np.random.default_rng(0)
    known = with_frontier(graphs_at(rng.normal(size=(20, 3)), rng.random(20)))
    chosen = choose_frontier(known, rng.normal(size=(num_aims, 3)).astype(np.float32), budget)
    assert len(set(chosen.tolist())) == len(chosen) == min(budget, 20)


def test_without_aims_the_likeliest_come_first() -> None:
    none = np.zeros((0, 1), dtype=np.float32)
    known = with_frontier(graphs_at([[1], [2], [3]], [0.2, 0.4, 0.3]))
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
    first, second = graphs_at([[1], [2]]), graphs_at([[5], [6], [7]])
    both = first + second
    assert both.keys.tolist() == [1, 2, 3]
    assert both.embeddings.ravel().tolist() == [2, 4, 14]
    assert both.paths == (*first.paths, second.paths[2])
    assert len(ReachedGraphs.none(1) + ReachedGraphs.none(1)) == 0
    assert both.select(np.array([False, True, False])).keys.tolist() == [2]


def test_recourse_vectors_and_squares() -> None:
    vectors = recourse_vectors(
        np.array([1, 1], np.float32), 3, np.array([[5, 1], [1, 9]], np.float32), np.array([1, 5], np.int32)
    )
    assert vectors.tolist() == [[1, 0], [0, 1]]
    assert squared_distances(vectors, np.array([[1, 0], [1, 3]], np.float32)).tolist() == [[0, 9], [2, 5]]


def planned(covers: npt.ArrayLike, *, nothing_found: bool = False, **options: float) -> list[InputTask]:
    return Searcher(search(**options), scorer())._plan(np.asarray(covers, dtype=np.bool_), nothing_found=nothing_found)


def test_a_plan_is_for_uncovered_inputs_and_those_only_a_late_centre_covers() -> None:
    covers = np.zeros((20, 4), dtype=np.bool_)
    covers[1, 0] = covers[5, 1] = covers[[0, 5], 2] = True
    assert planned(covers, effort=2.5, head_effort=1.0) == [InputTask(3, 10, 20), InputTask(1, 4, 2)]
    assert planned(covers, effort=2.5, head_effort=0.0, most_expansions=6) == [InputTask(3, 6, 20)]
    assert planned(np.ones((1, 4))) == []
    assert planned(np.zeros((0, 2))) == []
    assert planned(np.zeros((0, 2)), nothing_found=True, effort=1.0) == [InputTask(0, 1, 0), InputTask(1, 1, 0)]


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
    one, none = graphs_at([[1.0], [2.0]]), ReachedGraphs.none(1)
    origin = np.zeros(1, dtype=np.float32)
    known = [InputState(INPUTS[0], origin, none if i % 2 else one, none) for i in range(num_inputs)]
    state = SearchState(inputs=known, seed=0, plan=[], num_found=num_inputs)
    assert state.pairs().inputs[[0, 1, 2, -1]].tolist() == [0, 0, 2, num_inputs - 2]
    assert state.path(3) == one.paths[1]
    known[0] = None  # type: ignore[call-overload]  # a second pass over all would stumble here
    assert [state.path(candidate) for candidate in (2, num_inputs - 1)] == list(one.paths)
    assert state.progress[3] == f"{num_inputs} counterfactuals"
