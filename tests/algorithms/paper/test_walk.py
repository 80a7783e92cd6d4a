"""Tests of comrecgc.algorithms.paper.walk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from comrecgc.algorithms.paper.walk import MultiHeadWalk, NeighbourhoodCache, Walker
from comrecgc.algorithms.reinforced_walk import draw, teleport_distribution
from comrecgc.data import GraphDataset
from comrecgc.errors import InputError
from comrecgc.graphs import (
    AllOf,
    Constraint,
    Graph,
    GraphBatch,
    StayNear,
    allowed_edits,
    apply_edit,
    apply_path,
    graph_key,
    to_networkx,
)
from comrecgc.graphs.edits import AllowKinds, FreezeNodes
from comrecgc.models import as_classifier, as_embedder
from comrecgc.molecules import Valence
from comrecgc.scoring import NeighbourhoodScorer
from tests.algorithms.paper import literal
from tests.graphs.elements import elements_changed

NUM_LABELS = 2
INPUTS = [
    Graph([0, 0, 1], [(0, 1), (1, 2)]),
    Graph([0, 0, 0, 0], [(0, 1), (1, 2), (2, 3), (0, 3)]),
    Graph([0, 1, 0, 0], [(0, 1), (0, 2), (0, 3)]),
    Graph([0, 0], [(0, 1)]),
    Graph([1, 0, 0, 1], [(0, 1), (1, 2), (2, 3), (1, 3)]),
]


class Models:
    """The oracle's probability and embedding as package models."""

    num_labels = NUM_LABELS

    def accept_probability(self, batch: GraphBatch) -> np.ndarray:
        return np.array([literal.accept_probability(to_networkx(graph)) for graph in batch])

    def embed(self, batch: GraphBatch) -> np.ndarray:
        return np.stack([literal.embedding(to_networkx(graph)) for graph in batch])


def scorer(constraint: Constraint | None = None) -> NeighbourhoodScorer:
    return NeighbourhoodScorer(Models(), Models(), NUM_LABELS, constraint=constraint)


@pytest.mark.parametrize(("num_heads", "seed"), [(1, 0), (2, 1), (3, 2)])
def test_every_step_equals_the_literal_algorithm(num_heads: int, seed: int) -> None:
    walker = Walker(MultiHeadWalk(num_heads=num_heads, num_steps=25, teleport=0.15), scorer(), INPUTS)
    state = walker.begin(np.random.default_rng(seed))
    oracle = literal.LiteralWalk(
        [to_networkx(graph) for graph in INPUTS], NUM_LABELS, num_heads, 0.15, np.random.default_rng(seed)
    )
    moved = 0
    for _ in range(25):
        walker.step(state)
        oracle.step()
        assert [head.start for head in state.heads] == oracle.origin
        for head, expected in zip(state.heads, oracle.heads, strict=True):
            assert literal.same(to_networkx(head.graph), expected)
            assert apply_path(walker.inputs[head.start], head.path) == head.graph
        moved = max(moved, *(len(head.path) for head in state.heads))
        assert state.starts.tolist() == oracle.starts
    assert sorted(state.visits.values()) == sorted(count for _, count in oracle.visits)
    assert sorted(state.visits[key] for key in state.found) == sorted(count for _, count in oracle.found)
    assert moved >= 3


def test_candidates_are_accepted_graphs_reached_by_their_paths() -> None:
    pool = MultiHeadWalk(num_heads=2, num_steps=60, teleport=0.2).run(scorer(), INPUTS, np.random.default_rng(3))
    assert len(pool) > 5
    for candidate in pool:
        assert candidate.probability > 0.5
        reached = apply_path(INPUTS[candidate.start], candidate.path)
        assert graph_key(reached) == candidate.key == graph_key(candidate.graph)
        assert candidate.probability == pytest.approx(literal.accept_probability(to_networkx(reached)), abs=1e-6)


def test_lead_moves_follow_their_formula() -> None:
    walker = Walker(MultiHeadWalk(num_heads=1, num_steps=1, teleport=1e-9), scorer(), INPUTS[:1])
    options = literal.neighbours(to_networkx(INPUTS[0]), NUM_LABELS)
    known = {0: 7, 3: 2}  # visits made before
    weights = np.array([literal.accept_probability(v) * (1 + known.get(i, 0)) for i, v in enumerate(options)])
    expected = weights / weights.sum()
    keys = [graph_key(hood) for hood in _graphs(walker)]
    counts: Counter[int] = Counter()
    rng = np.random.default_rng(0)
    draws = 3000
    for _ in range(draws):
        state = walker.begin(rng)
        state.visits.update({keys[i]: count for i, count in known.items()})
        walker.step(state)
        counts[keys.index(graph_key(state.heads[0].graph))] += 1
    observed = np.array([counts[i] for i in range(len(options))])
    chi_square = ((observed - draws * expected) ** 2 / (draws * expected)).sum()
    assert chi_square < len(options) + 4 * np.sqrt(2 * len(options))


def _graphs(walker: Walker) -> Sequence[Graph]:
    (hood,) = walker.scorer.score([walker.inputs[0]])
    return [apply_edit(hood.graph, hood.table[i]) for i in range(len(hood))]


def test_teleports_prefer_inputs_seldom_started_from() -> None:
    np.testing.assert_allclose(
        teleport_distribution(np.array([0, 1, 3])), np.exp([0, -1, -3]) / np.exp([0, -1, -3]).sum()
    )
    assert teleport_distribution(np.array([5000, 5001])).tolist() == pytest.approx([0.731, 0.269], abs=1e-3)
    walker = Walker(MultiHeadWalk(num_heads=2, num_steps=1, teleport=0.3), scorer(), INPUTS)
    state = walker.begin(np.random.default_rng(0))
    teleports = 0
    for _ in range(400):
        before = int(state.starts.sum())
        walker.step(state)
        teleports += int(state.starts.sum()) > before
    assert abs(teleports - 120) < 4 * np.sqrt(400 * 0.3 * 0.7)
    assert state.starts.max() - state.starts.min() <= 4


def test_draw_has_the_given_frequencies() -> None:
    rng = np.random.default_rng(0)
    counts = np.bincount([draw(np.array([0.0, 0.5, 0.2, 0.3, 0.0]), rng) for _ in range(4000)], minlength=5)
    np.testing.assert_allclose(counts / 4000, [0, 0.5, 0.2, 0.3, 0], atol=0.03)
    assert counts[0] == counts[4] == 0


def test_constraints_hold_all_the_way() -> None:
    walk = MultiHeadWalk(num_heads=2, num_steps=40, teleport=0.1)
    pool = walk.run(scorer(AllowKinds({"relabel"})), INPUTS, np.random.default_rng(0))
    assert all(candidate.graph.num_edges == INPUTS[candidate.start].num_edges for candidate in pool)


@pytest.mark.parametrize(
    "rule", [Valence((4.0, 1.0)), FreezeNodes({0, 2}), AllOf(Valence((4.0, 1.0)), FreezeNodes({1}))]
)
def test_constraints_that_see_bonds_and_ids_hold_at_every_step(rule: Constraint) -> None:
    # The same chain with other bonds, and chains that become equal by different paths: no two may share neighbours.
    chains = [Graph([0, 0, 0], [(0, 1), (1, 2)], bonds) for bonds in ([0, 0], [1, 0], [2, 0], [0, 1])]
    walker = Walker(MultiHeadWalk(num_heads=4, num_steps=1, teleport=0.15), scorer(rule), chains)
    state = walker.begin(np.random.default_rng(0))
    moves = 0
    for _ in range(60):
        before = list(state.heads)
        walker.step(state)
        for old, new in zip(before, state.heads, strict=True):
            if len(new.path) > len(old.path):
                table = allowed_edits(old.graph, NUM_LABELS, rule)
                assert new.path[-1] in [table[i] for i in range(len(table))]
                moves += 1
    assert moves > 50


def test_heads_with_nowhere_to_go_stay() -> None:
    walker = Walker(MultiHeadWalk(num_heads=2, num_steps=1, teleport=0.01), scorer(AllowKinds(())), INPUTS)
    state = walker.begin(np.random.default_rng(0))
    walker.step(state)
    assert all(head.path == () for head in state.heads)


@pytest.mark.parametrize("num_heads", [1, 4])
def test_heads_stay_within_the_distance_limit(num_heads: int) -> None:
    walk = MultiHeadWalk(num_heads=num_heads, num_steps=1, teleport=0.01, max_distance=0.15)
    walker = Walker(walk, scorer(), INPUTS)
    state = walker.begin(np.random.default_rng(1))
    for _ in range(30):
        walker.step(state)
        for head in state.heads:
            reached = np.linalg.norm(head.embedding - walker.origins[head.start])
            assert reached <= 0.15 * (walker.inputs[head.start].size + head.graph.size) + 1e-5


@pytest.mark.parametrize("num_heads", [1, 4])
@pytest.mark.parametrize("max_cost", [1, 2, 5])
def test_heads_change_no_more_of_their_inputs_than_allowed(num_heads: int, max_cost: int) -> None:
    walker = Walker(MultiHeadWalk(num_heads=num_heads, num_steps=1, teleport=0.05, max_cost=max_cost), scorer(), INPUTS)
    state = walker.begin(np.random.default_rng(1))
    costs = []
    for _ in range(60):
        walker.step(state)
        costs += [elements_changed(walker.inputs[head.start], head.graph) for head in state.heads]
    assert max(costs) == max_cost
    assert len({head.key for head in state.heads} | set(state.visits)) > 5  # they do move


def test_what_heads_of_one_input_may_do_is_not_kept_for_those_of_another() -> None:
    twins = [Graph([0, 0, 1], [(0, 1), (1, 2)]).fresh(), Graph([0, 0, 0], [(0, 1), (1, 2)]).fresh()]
    transitions = NeighbourhoodCache(scorer(), limits=[StayNear(graph, 1) for graph in twins])
    near, far = transitions.of([twins[0], twins[0]], [0, 1], "probability", np.random.default_rng(0))
    (whole,) = scorer().score(twins[:1], limits=[StayNear(twins[0], 1)])
    assert len(near) == len(whole)
    assert len(far) < len(near)  # one element differs already


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_lead_moves_within_a_limit_follow_their_formula(share: float) -> None:
    """Whether a move beyond the limit is drawn again or all neighbours are measured, the rest keep their chances."""
    (hood,) = scorer().score(INPUTS[4:])
    assert hood.probability is not None
    assert hood.embedding is not None
    origin = Models().embed(GraphBatch.from_graphs(INPUTS[4:]))[0]
    sizes = 2 * INPUTS[4].size + hood.table.size_changes()
    distances = np.linalg.norm(hood.embedding - origin, axis=1) / sizes
    ordered = np.unique(distances.round(5))
    place = int(share * (len(ordered) - 1))
    limit = float(ordered[place] + ordered[place + 1]) / 2
    near = distances <= limit
    walk = MultiHeadWalk(num_heads=1, num_steps=1, teleport=1e-9, max_distance=limit)
    walker = Walker(walk, scorer(), INPUTS[4:])
    expected = np.where(near, hood.probability, 0) / hood.probability[near].sum()
    assert 2 <= near.sum() < len(hood)
    rng = np.random.default_rng(0)
    draws = 600
    counts: Counter[int] = Counter()
    for _ in range(draws):
        state = walker.begin(rng)
        walker.step(state)
        counts[state.heads[0].key] += 1
    observed = np.array([counts[key] for key in hood.keys.tolist()])
    assert observed.sum() == draws
    assert (observed[~near] == 0).all()
    chi_square = ((observed - draws * expected)[near] ** 2 / (draws * expected[near])).sum()
    assert chi_square < near.sum() + 4 * np.sqrt(2 * near.sum())


def test_a_lead_whose_neighbours_are_all_too_far_stays() -> None:
    walker = Walker(MultiHeadWalk(num_heads=1, num_steps=1, teleport=1e-9, max_distance=1e-6), scorer(), INPUTS)
    state = walker.begin(np.random.default_rng(0))
    walker.step(state)
    assert state.heads[0].path == ()


def test_only_larger_neighbourhoods_are_sampled() -> None:
    small, large = INPUTS[3], Graph([0] * 12, [(i, i + 1) for i in range(11)])
    transitions = NeighbourhoodCache(scorer(), sample=40)
    rng = np.random.default_rng(0)
    first, second = (transitions.of([large, small], [0, 1], "probability", rng) for _ in range(2))
    assert first[1].probability is second[1].probability  # from the cache
    (whole,) = scorer().score([small])
    np.testing.assert_array_equal(first[1].keys, whole.keys)
    assert first[0].graph is large
    assert len(first[0]) <= 40
    assert set(first[0].keys.tolist()) != set(second[0].keys.tolist())
    (everything,) = NeighbourhoodCache(scorer(), sample=None).of([large], [0], "probability", rng)
    assert len(everything) > 40


def test_sampled_neighbourhoods_are_seeded() -> None:
    walk = MultiHeadWalk(num_heads=2, num_steps=20, teleport=0.1, sample=4)
    first, second = (walk.run(scorer(), INPUTS, np.random.default_rng(5)) for _ in range(2))
    assert [candidate.key for candidate in first] == [candidate.key for candidate in second]


def test_a_small_cache_changes_nothing() -> None:
    pools = [
        MultiHeadWalk(num_heads=3, num_steps=30, teleport=0.1, cache_bytes=size).run(
            scorer(), INPUTS, np.random.default_rng(2)
        )
        for size in (0, 2000, 1 << 30)
    ]
    listed = [[(candidate.key, candidate.path) for candidate in pool] for pool in pools]
    assert listed[0] == listed[1] == listed[2]


def test_more_heads_than_inputs_is_refused() -> None:
    with pytest.raises(InputError, match="got 6 heads for 5 inputs"):
        MultiHeadWalk(num_heads=6, num_steps=1).run(scorer(), INPUTS, np.random.default_rng(0))


def test_inputs_are_untouched() -> None:
    before = [graph_key(graph) for graph in INPUTS]
    MultiHeadWalk(num_heads=2, num_steps=10).run(scorer(), INPUTS, np.random.default_rng(0))
    assert [graph_key(graph) for graph in INPUTS] == before


def test_plain_functions_can_be_explained() -> None:
    classifier = as_classifier(
        lambda graphs: [literal.accept_probability(to_networkx(graph)) for graph in graphs],
        GraphDataset(
            name="tiny", graphs=tuple(INPUTS), classes=np.zeros(len(INPUTS), dtype=np.int8), label_names=("a", "b")
        ),
        return_type="probs",
        call="graphs",
    )
    embedder = as_embedder(lambda graphs: np.stack([literal.embedding(to_networkx(graph)) for graph in graphs]))
    plain = NeighbourhoodScorer(classifier, embedder, NUM_LABELS)
    walk = MultiHeadWalk(num_heads=2, num_steps=10)
    first = walk.run(plain, INPUTS, np.random.default_rng(0))
    second = walk.run(scorer(), INPUTS, np.random.default_rng(0))
    assert [candidate.key for candidate in first] == [candidate.key for candidate in second]
