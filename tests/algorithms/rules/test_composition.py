"""Changes made together are one rule: what is read from them does what they do, whatever their order.

Also tests comrecgc.algorithms.rules.composition_kernels, comrecgc.scoring.change_kernels.
"""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from comrecgc.algorithms.rules import composition_kernels
from comrecgc.algorithms.rules.composition import composite_keys
from comrecgc.algorithms.rules.mining import Changes, ChangeScorer, Oracle
from comrecgc.algorithms.rules.reading import read_rule, rule_isomorphism
from comrecgc.graphs import Graph, NeighbourIndex, Rung, carry_out
from comrecgc.graphs.rewriting import find_sites
from comrecgc.scoring.change_kernels import ATTACH, JOIN
from tests.algorithms.rules import oracles
from tests.stubs import Always

seeds = st.integers(0, 10**6)
MODEL = Always(0.3, 3)


def combined(seed: int, *, edge_labels: bool, number: int) -> tuple[ChangeScorer, Changes, np.ndarray, np.ndarray]:
    """Changes of random graphs, and rows of them that can be made together, with whom they change."""
    rng = np.random.default_rng(seed)
    data = oracles.small_data(rng, edge_labels=edge_labels, num_graphs=8)
    inputs = [oracles.small_graph(rng, edge_labels=edge_labels) for _ in range(2)]
    inputs += [oracles.permute(graph, rng) for graph in inputs]
    scorer = ChangeScorer(inputs=inputs, vocabulary=oracles.small_vocabulary(data, Rung(seed % 2), 0.3))
    changes = scorer.changes(Oracle(classifier=MODEL))
    assume(len(changes) > 0)
    rows = rng.integers(0, len(changes), (1500, number))
    same = (changes.input[rows] == changes.input[rows[:, :1]]).all(axis=1)
    rows = rows[same]
    inputs_of = changes.input[rows[:, 0]]
    margin = scorer.margins(MODEL, inputs_of, changes.change[rows, 0])
    made = np.flatnonzero(np.isfinite(margin))[:120]
    assume(len(made) > 0)
    return scorer, changes, rows[made], inputs_of[made]


@pytest.mark.parametrize("number", [2, 3])
@pytest.mark.parametrize("edge_labels", [False, True])
@given(seed=seeds)
@settings(max_examples=5, deadline=None)
def test_changes_made_together_are_the_rule_that_is_read(number: int, edge_labels: bool, seed: int) -> None:
    scorer, changes, rows, inputs = combined(seed, edge_labels=edge_labels, number=number)
    batch, origins = scorer.built(inputs, changes.change[rows, 0])
    for i, row, changed, origin in zip(inputs, rows, batch, origins, strict=True):
        graph = scorer.inputs[i]
        rule, site = read_rule(
            graph, changed, origin.tolist(), changes.change[row, 0], scorer.vocabulary.groups, radius=0
        )
        result = carry_out(rule, graph, site)
        assert oracles.same(oracles.to_networkx(result), oracles.to_networkx(changed))
        assert rule.cost == changes.cost[row].sum()
        assert rule.size_change == changes.grown[row].sum() == changed.size - graph.size
        assert len(set(site)) == len(site)
        assert site in set(find_sites(rule, NeighbourIndex(graph), frozenset(site)))
        assert rule.num_changes == number


@pytest.mark.parametrize("number", [2, 3])
@given(seed=seeds)
@settings(max_examples=5, deadline=None)
def test_the_order_of_changes_does_not_matter(number: int, seed: int) -> None:
    scorer, changes, rows, inputs = combined(seed, edge_labels=True, number=number)
    keys = composite_keys(changes.rule[rows, 0], changes.change[rows, 0])
    turned = np.random.default_rng(seed).permutation(number)
    other = rows[:, turned]
    assert np.array_equal(composite_keys(changes.rule[other, 0], changes.change[other, 0]), keys)
    margin = scorer.margins(MODEL, inputs, changes.change[other, 0])
    assert np.isfinite(margin).all()


@pytest.mark.parametrize("edge_labels", [False, True])
@given(seed=seeds)
@settings(max_examples=5, deadline=None)
def test_composite_keys_are_equal_only_where_rules_are(edge_labels: bool, seed: int) -> None:
    scorer, changes, rows, inputs = combined(seed, edge_labels=edge_labels, number=2)
    batch, origins = scorer.built(inputs, changes.change[rows, 0])
    keys = composite_keys(changes.rule[rows, 0], changes.change[rows, 0])
    kinds = oracles.Kinds()
    number_of: dict[int, int] = {}
    for key, i, row, changed, origin in zip(keys.tolist(), inputs, rows, batch, origins, strict=True):
        rule, _ = read_rule(
            scorer.inputs[i], changed, origin.tolist(), changes.change[row, 0], scorer.vocabulary.groups, radius=0
        )
        number = kinds.number(oracles.rule_graph(rule))
        assert number_of.setdefault(key, number) == number


def test_anchors_that_look_alike_are_told_apart_by_what_they_share() -> None:
    """Attach to node 1, join nodes 0 and 2: beside node 1 lies one end, and a neighbour of the other end, or all of the same end."""
    edges = [[(0, 3), (0, 4), (1, 2), (1, 3), (2, 5)], [(0, 1), (0, 3), (1, 3), (2, 4), (2, 5)]]
    graphs = [Graph([0] * 6, each, [0] * 5) for each in edges]
    data = oracles.small_data(np.random.default_rng(0), edge_labels=True, num_graphs=8)
    scorer = ChangeScorer(inputs=graphs, vocabulary=oracles.small_vocabulary(data, Rung.ANY, 0.3))
    groups = scorer.vocabulary.groups
    leaf = next(place for place, group in enumerate(groups) if len(group.labels) == 1)
    change = np.array([[ATTACH, 1, -1, leaf], [JOIN, 0, 2, 0]], np.int32)
    inputs, changes = np.arange(2, dtype=np.int32), np.stack([change, change])
    single = [dict(zip(map(tuple, rows), keys[:, 1], strict=True)) for rows, keys in map(scorer.enumerated, (0, 1))]
    members = np.array([[keys[tuple(row)] for row in change.tolist()] for keys in single], np.uint64)
    assert (members[0] == members[1]).all()
    batch, origins = scorer.built(inputs, changes)
    rules = [read_rule(graphs[i], batch[i], origins[i].tolist(), change, groups, radius=1)[0] for i in range(2)]
    assert not oracles.same(*map(oracles.rule_graph, rules))
    assert rule_isomorphism(*rules) is None
    keys = scorer.exact_keys(inputs, changes, members)
    assert keys[0] != keys[1]


@given(seed=seeds)
@settings(max_examples=10, deadline=None)
def test_the_same_rule_is_found_under_any_order_of_nodes(seed: int) -> None:
    scorer, changes, rows, inputs = combined(seed, edge_labels=True, number=2)
    batch, origins = scorer.built(inputs, changes.change[rows, 0])
    read = [
        read_rule(scorer.inputs[i], changed, origin.tolist(), changes.change[row, 0], scorer.vocabulary.groups, 1)
        for i, row, changed, origin in zip(inputs, rows, batch, origins, strict=True)
    ][:40]
    plain = [oracles.rule_graph(rule) for rule, _ in read]
    for (one, _), shape in zip(read, plain, strict=True):
        for k, (other, site) in enumerate(read):
            order = rule_isomorphism(one, other)
            assert (order is not None) == oracles.same(shape, plain[k])
            if order is not None:
                graph = scorer.inputs[inputs[k]]
                moved = carry_out(one, graph, tuple(site[node] for node in order))
                straight = carry_out(other, graph, site)
                assert oracles.same(oracles.to_networkx(moved), oracles.to_networkx(straight))
                kept = [
                    oracles.to_networkx(each).subgraph(np.flatnonzero(each.ids < graph.next_id))
                    for each in (moved, straight)
                ]
                assert nx.utils.graphs_equal(*kept)


@given(seed=seeds, same=st.booleans())
@settings(max_examples=20, deadline=None)
def test_worth_of_pairs_is_the_weight_of_what_they_should_turn(seed: int, same: bool) -> None:
    rng = np.random.default_rng(seed)
    a, b, n = 4, 4 if same else 3, 6
    rise = [rng.normal(size=(k, n)).astype(np.float32) for k in (a, b)]
    rise[0][rng.random((a, n)) < 0.2] = -np.inf
    cost = [rng.integers(1, 8, (k, n)).astype(np.int32) for k in (a, b)]
    grown = [rng.integers(-5, 6, (k, n)).astype(np.int32) for k in (a, b)]
    if same:
        rise[1], cost[1], grown[1] = rise[0], cost[0], grown[0]
    need, weight = rng.random(n).astype(np.float32), rng.random(n).astype(np.float32)
    size = rng.integers(20, 60, n)
    worth = composition_kernels.pair_worth(
        rise[0], cost[0], grown[0], rise[1], cost[1], grown[1], need, size, 0.1, weight, same
    )
    for i in range(a):
        for j in range(b):
            wanted = sum(
                weight[k]
                for k in range(n)
                if rise[0][i, k] + rise[1][j, k] > need[k]
                and cost[0][i, k] + cost[1][j, k] <= 0.1 * (2 * size[k] + grown[0][i, k] + grown[1][j, k])
            )
            assert worth[i, j] == pytest.approx(0 if same and j < i else wanted, rel=1e-5)


@given(seed=seeds, same=st.booleans(), further=st.booleans())
@settings(max_examples=20, deadline=None)
def test_places_tried_together_are_the_best_and_then_others(seed: int, same: bool, further: bool) -> None:
    rng = np.random.default_rng(seed)
    rules, inputs = 3, 4
    num = rng.integers(0, 6, (2, rules, inputs)).astype(np.int32)
    num[1] = num[0] if same else num[1]
    first = np.stack([(np.cumsum(part) - part.ravel()).reshape(rules, inputs) for part in num]).astype(np.int32)
    rise = [rng.normal(size=int(part.sum())).astype(np.float32) for part in num]
    rise[1] = rise[0] if same else rise[1]
    pairs = np.array([(a, b) for a in range(rules) for b in range(a if same else 0, rules)])
    where, least = rng.random((len(pairs), inputs)) < 0.7, rng.normal(-1, 1, inputs).astype(np.float32)

    def tried(most: int) -> list[tuple[int, int, int]]:
        found = composition_kernels.place_pairs(
            pairs, where, first[0], num[0], rise[0], first[1], num[1], rise[1], least, most, further, same
        )
        return list(zip(*(column.tolist() for column in found), strict=True))

    wanted = {
        (p, int(first[0, a, i] + x), int(first[1, b, i] + y))
        for p, (a, b) in enumerate(pairs.tolist())
        for i in np.flatnonzero(where[p]).tolist()
        for x in range(num[0, a, i])
        for y in range(num[1, b, i])
        if ((x + y > 1 and min(x, y) < 3) if further else x + y <= 1)
        and not (same and a == b and x >= y)
        and rise[0][first[0, a, i] + x] + rise[1][first[1, b, i] + y] > least[i]
    }
    every = tried(1000)
    assert len(every) == len(set(every))
    assert set(every) == wanted
    few = tried(2)
    assert set(few) <= wanted
    assert all(few.count(row) == 1 for row in few)
