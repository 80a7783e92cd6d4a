"""Changes that are enumerated equal a brute-force enumeration; keys say which rule a change belongs to.

Also tests comrecgc.algorithms.rules.vocabulary, comrecgc.algorithms.rules.reading.
"""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comrecgc.algorithms.rules.mining import Changes, ChangeScorer, Oracle
from comrecgc.algorithms.rules.reading import read_rule
from comrecgc.algorithms.rules.vocabulary import find_groups
from comrecgc.graphs import Graph, GraphBatch, NeighbourIndex, Rung, carry_out
from comrecgc.graphs.rewriting import find_sites
from tests.algorithms.rules import oracles
from tests.stubs import Always

RUNGS = (Rung.ANY, Rung.CONNECTED, Rung.PLAUSIBLE)
KINDS = ("relabel", "attach", "detach", "swap", "join", "cut", "rebond", "tie")
seeds = st.integers(0, 10**6)


def mined(inputs: list[Graph], vocabulary: object) -> tuple[ChangeScorer, Changes]:
    scorer = ChangeScorer(inputs=inputs, vocabulary=vocabulary)  # type: ignore[arg-type]
    return scorer, scorer.changes(Oracle(classifier=Always(0.3, 3)))


@pytest.mark.parametrize("rung", RUNGS)
@pytest.mark.parametrize("edge_labels", [False, True])
@given(seed=seeds)
@settings(max_examples=8, deadline=None)
def test_changes_are_all_that_brute_force_finds(rung: Rung, edge_labels: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = oracles.small_data(rng, edge_labels=edge_labels, num_graphs=10)
    theta = float(rng.choice([0.1, 0.2, 0.35]))
    vocabulary = oracles.small_vocabulary(data, rung, theta)
    assert vocabulary.ties == (rung == Rung.PLAUSIBLE)
    graph = oracles.small_graph(rng, edge_labels=edge_labels, most_nodes=6)
    scorer, changes = mined([graph], vocabulary)
    batch, _ = scorer.built(changes.input, changes.change)
    kinds = oracles.Kinds()
    found = {
        (KINDS[change[0, 0]], int(cost), kinds.number(oracles.to_networkx(result)))
        for change, cost, result in zip(changes.change, changes.cost, batch, strict=True)
    }
    plain, known = oracles.to_networkx(graph), oracles.familiar(data.graphs, 3)
    wanted = {
        (kind, cost, kinds.number(result))
        for kind, cost, result in oracles.single_changes(
            plain, vocabulary.groups, 3, 2 if edge_labels else 1, ties=vocabulary.ties
        )
        if cost <= theta * (graph.size + len(result) + result.number_of_edges())
        and oracles.stands(plain, result, rung, known)
    }
    assert found == wanted


@pytest.mark.parametrize("edge_labels", [False, True])
@given(seed=seeds)
@settings(max_examples=10, deadline=None)
def test_groups_are_what_hangs_on_bridges(edge_labels: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = oracles.small_data(rng, edge_labels=edge_labels, num_graphs=10)
    groups, names, _ = find_groups(GraphBatch.from_graphs(data.graphs), 2)
    assert (np.diff(names) > 0).all()
    kinds = oracles.Kinds()
    holders: dict[int, set[int]] = {}
    for index, graph in enumerate(data.graphs):
        plain = oracles.to_networkx(graph)
        for place in oracles.hanging(plain):
            holders.setdefault(kinds.number(oracles.hanging_graph(plain, *place)), set()).add(index)
    found = [kinds.number(oracles.group_graph(group)) for group in groups]
    assert len(set(found)) == len(found)
    assert set(found) == {number for number, graphs in holders.items() if len(graphs) >= 2}


@pytest.mark.parametrize("rung", RUNGS)
@pytest.mark.parametrize("edge_labels", [False, True])
@given(seed=seeds)
@settings(max_examples=6, deadline=None)
def test_every_change_is_the_rule_that_is_read_from_it(rung: Rung, edge_labels: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = oracles.small_data(rng, edge_labels=edge_labels, num_graphs=8)
    vocabulary = replace(oracles.small_vocabulary(data, rung, 0.35), ties=True)
    inputs = [oracles.small_graph(rng, edge_labels=edge_labels) for _ in range(2)]
    scorer, changes = mined(inputs, vocabulary)
    rows = rng.permutation(len(changes))[:150]
    batch, origins = scorer.built(changes.input[rows], changes.change[rows])
    for row, changed, origin in zip(rows, batch, origins, strict=True):
        graph = inputs[changes.input[row]]
        for radius in (0, 1, 2):
            rule, site = read_rule(graph, changed, origin.tolist(), changes.change[row], vocabulary.groups, radius)
            result = carry_out(rule, graph, site)
            assert oracles.same(oracles.to_networkx(result), oracles.to_networkx(changed))
            assert rule.cost == changes.cost[row]
            assert rule.size_change == changes.grown[row] == changed.size - graph.size
            assert rule.distance(graph) == rule.distance(graph, result) <= 0.35
            assert site in set(find_sites(rule, NeighbourIndex(graph), frozenset(site)))


@pytest.mark.parametrize("edge_labels", [False, True])
@given(seed=seeds)
@settings(max_examples=6, deadline=None)
def test_keys_do_not_depend_on_the_order_of_nodes(edge_labels: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = oracles.small_data(rng, edge_labels=edge_labels)
    vocabulary = replace(oracles.small_vocabulary(data, Rung.ANY), ties=True)
    graph = oracles.small_graph(rng, edge_labels=edge_labels)
    _, one = mined([graph], vocabulary)
    _, other = mined([oracles.permute(graph, rng)], vocabulary)
    for name in ("rule", "found"):
        for radius in (0, 1):
            assert set(getattr(one, name)[:, radius].tolist()) == set(getattr(other, name)[:, radius].tolist())


@pytest.mark.parametrize("edge_labels", [False, True])
@pytest.mark.parametrize("radius", [0, 1, 2])
@given(seed=seeds)
@settings(max_examples=6, deadline=None)
def test_keys_are_equal_exactly_where_rules_are(edge_labels: bool, radius: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = oracles.small_data(rng, edge_labels=edge_labels, num_graphs=8)
    vocabulary = replace(oracles.small_vocabulary(data, Rung.CONNECTED, 0.35), ties=True)
    inputs = [oracles.small_graph(rng, edge_labels=edge_labels) for _ in range(2)]
    inputs += [oracles.permute(graph, rng) for graph in inputs]
    scorer, changes = mined(inputs, vocabulary)
    rows = rng.permutation(len(changes))[:300]
    batch, origins = scorer.built(changes.input[rows], changes.change[rows])
    keys = changes.rule[rows, min(radius, 1)]
    if radius == 2:
        keys = scorer.widened_keys(changes.input[rows], changes.change[rows, 0], keys)
    kinds = oracles.Kinds()
    number_of: dict[int, tuple[int, int]] = {}
    key_of: dict[tuple[int, int], int] = {}
    for row, key, changed, origin in zip(rows, keys.tolist(), batch, origins, strict=True):
        graph = inputs[changes.input[row]]
        rule, _ = read_rule(graph, changed, origin.tolist(), changes.change[row], vocabulary.groups, radius)
        if KINDS[changes.change[row, 0, 0]] in ("detach", "swap") and all(rule.closed):
            continue  # a whole component: either of its ends may be the anchor of the other
        number = kinds.number(oracles.rule_graph(rule))
        same = (int(changes.change[row, 0, 0]), number)  # changes of two kinds may do the same to a leaf
        assert number_of.setdefault(key, same) == same
        assert key_of.setdefault(same, key) == key


def test_nothing_is_found_in_a_single_node_but_what_can_be_done_to_it() -> None:
    data = oracles.small_data(np.random.default_rng(1), edge_labels=False)
    vocabulary = oracles.small_vocabulary(data, Rung.ANY, theta=0.9)
    _, changes = mined([Graph([0], np.zeros((0, 2), np.int64))], vocabulary)
    assert {KINDS[kind] for kind in changes.change[:, 0, 0]} == {"relabel", "attach"}


def test_what_changes_find_is_found_in_graphs_with_many_places() -> None:
    rng = np.random.default_rng(3)
    data = oracles.small_data(rng, edge_labels=True)
    vocabulary = oracles.small_vocabulary(data, Rung.CONNECTED)
    tree = nx.random_labeled_tree(60, seed=3)
    graph = Graph(
        rng.integers(3, size=60), np.array(sorted(tree.edges), dtype=np.int64), edge_labels=rng.integers(2, size=59)
    )
    scorer, changes = mined([graph], vocabulary)
    wide = scorer.widened_keys(changes.input, changes.change[:, 0], changes.found[:, 1])
    wanted = np.unique(np.concatenate([changes.found.ravel(), wide]))
    assert len(wanted) > 1024
    held, inputs = scorer.finds(wanted, np.unique(changes.found[:, 1]))
    assert np.array_equal(held, np.arange(len(wanted)))
    assert not inputs.any()


def test_dense_graphs_have_room() -> None:
    complete = nx.complete_graph(40)
    graph = Graph(np.zeros(40, np.int64), np.array(sorted(complete.edges), dtype=np.int64))
    data = oracles.small_data(np.random.default_rng(2), edge_labels=False)
    vocabulary = oracles.small_vocabulary(data, Rung.CONNECTED, theta=0.1)
    scorer, changes = mined([graph], vocabulary)
    plain = oracles.to_networkx(graph)
    assert (changes.change[:, 0, 0] == KINDS.index("cut")).sum() == plain.number_of_edges()
    attached = changes.change[:, 0, 0] == KINDS.index("attach")
    assert attached.sum() == 40 * sum(group.size <= 0.1 * (2 * graph.size + group.size) for group in vocabulary.groups)
    built, _ = scorer.built(changes.input[:50], changes.change[:50])
    assert [each.size - graph.size for each in built] == changes.grown[:50].tolist()
