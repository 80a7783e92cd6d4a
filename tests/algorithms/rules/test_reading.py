"""Which graphs rules can be carried out on: as the plain search says it, and as networkx does."""

from __future__ import annotations

from itertools import combinations
from typing import cast

import networkx as nx
import numpy as np
import pytest
from networkx.algorithms.isomorphism import GraphMatcher

from comrecgc.algorithms.rules.mined import MOST_SITES
from comrecgc.algorithms.rules.reading import PatternMatcher, read_rules
from comrecgc.graphs import Graph, NeighbourIndex, Pattern, Rule, can_be_carried_out, distinct_sites, is_site
from tests.algorithms.rules import oracles
from tests.algorithms.rules.test_table import Mined


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "edge labels"])
def mined(request: pytest.FixtureRequest) -> Mined:
    return Mined(edge_labels=request.param)


def fits(rule: Rule, graph: Graph) -> bool:
    """By the words of the contract, with networkx."""
    host, pattern = oracles.to_networkx(graph), cast("nx.Graph[int]", nx.Graph())
    pattern.add_nodes_from((node, {"label": label}) for node, label in enumerate(rule.before.labels))
    pattern.add_edges_from((i, j, {"bond": bond}) for (i, j), bond in rule.before.bonds.items())
    matcher = GraphMatcher(
        host, pattern, node_match=lambda a, b: a["label"] == b["label"], edge_match=lambda a, b: a["bond"] == b["bond"]
    )
    for mapping in matcher.subgraph_monomorphisms_iter():
        site = {node: target for target, node in mapping.items()}
        closed = all(
            other in mapping for node, target in site.items() if rule.closed[node] for other in host.neighbors(target)
        )
        if closed and not any(host.has_edge(site[i], site[j]) for i, j in rule.must_be_apart):
            return True
    return False


def test_graphs_hold_what_the_plain_search_finds(mined: Mined) -> None:
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(mined.table))[:250].tolist()
    rules = [record.rule for record in read_rules(mined.table, mined.scorer, rows)]
    held = PatternMatcher(mined.inputs).hold(rules)
    wanted = np.array([[can_be_carried_out(rule, graph) for graph in mined.inputs] for rule in rules])
    assert np.array_equal(held, wanted)
    assert 0 < held.mean() < 1
    assert {rule.num_changes for rule in rules} == {1, 2, 3}
    assert any(any(rule.closed) for rule in rules)


def test_graphs_hold_what_networkx_finds(mined: Mined) -> None:
    rng = np.random.default_rng(1)
    rows = rng.permutation(len(mined.table))[:60].tolist()
    rules = [record.rule for record in read_rules(mined.table, mined.scorer, rows)]
    held = PatternMatcher(mined.inputs).hold(rules)
    for rule, row in zip(rules, held, strict=True):
        for place in rng.permutation(len(mined.inputs))[:6].tolist():
            assert row[place] == fits(rule, mined.inputs[place])


def test_what_is_known_stays_and_threads_change_nothing(mined: Mined) -> None:
    rows = list(range(0, len(mined.table), 9))
    rules = [record.rule for record in read_rules(mined.table, mined.scorer, rows)]
    holders = PatternMatcher(mined.inputs)
    held = holders.hold(rules)
    turned = mined.table.incidence().toarray()[rows]
    assert held[turned].all()
    assert np.array_equal(holders.hold(rules, turned, jobs=2), held)


def test_labels_that_no_graph_has(mined: Mined) -> None:
    rule = read_rules(mined.table, mined.scorer, [0])[0].rule
    other = Graph(np.zeros(3, np.int32), np.array([[0, 1], [1, 2]], np.int32), None)
    assert PatternMatcher([other]).hold([rule]).shape == (1, 1)


def cliques(rng: np.random.Generator, sizes: list[int]) -> Graph:
    """Cliques of nodes of one label that share a node, and some edges between them: the friends of a person."""
    nodes, edges = 1, set[tuple[int, int]]()
    for size in sizes:
        members = [0, *range(nodes, nodes + size - 1)]
        edges |= {(i, j) for i in members for j in members if i < j}
        nodes += size - 1
    for _ in range(nodes // 4):
        i, j = sorted(rng.choice(nodes, 2, replace=False).tolist())
        edges.add((i, j))
    return Graph(np.zeros(nodes, np.int32), np.array(sorted(edges), np.int32), None)


def surroundings(graph: Graph, anchors: list[int], radius: int) -> Rule:
    """A rule that finds the exact surroundings of some nodes, and relabels one of them."""
    where, nodes, edges, ring, closed = (
        NeighbourIndex(graph),
        list(anchors),
        set[tuple[int, int]](),
        anchors,
        set[int](),
    )
    for _ in range(radius):
        closed |= set(ring)
        edges |= {(min(i, j), max(i, j)) for i in ring for j in where.around[i]}
        ring = sorted({j for i in ring for j in where.around[i]} - set(nodes))
        nodes += ring
    rank = {node: k for k, node in enumerate(nodes)}
    pairs = tuple(sorted((min(rank[i], rank[j]), max(rank[i], rank[j])) for i, j in edges))
    labels = (0,) * len(nodes)
    return Rule(
        before=Pattern(labels, pairs, None),
        after=Pattern((1, *labels[1:]), pairs, None),
        kept=tuple((k, k) for k in range(len(nodes))),
        closed=tuple(node in closed for node in nodes),
    )


@pytest.mark.parametrize("radius", [1, 2])
def test_dense_graphs_of_one_label_hold_what_networkx_finds(radius: int) -> None:
    rng = np.random.default_rng(radius)
    graphs = [cliques(rng, rng.integers(2, 4, 3).tolist()) for _ in range(14)]
    rules = [
        surroundings(graph, rng.choice(graph.num_nodes, size, replace=False).tolist(), radius)
        for graph in graphs
        for size in (1, 2)
    ]
    held = PatternMatcher(graphs).hold(rules)
    wanted = np.array([[fits(rule, graph) for graph in graphs] for rule in rules])
    assert np.array_equal(held, wanted)
    assert 0 < held.mean() < 1
    assert np.array_equal(held, [[can_be_carried_out(rule, graph) for graph in graphs] for rule in rules])


def test_large_cliques_are_no_trouble() -> None:
    """Nodes of a clique may all change places: a search through their orders would not end."""
    rng = np.random.default_rng(0)
    graphs = [cliques(rng, sizes) for sizes in ([12, 12], [13, 11], [8, 8, 9], [20, 3, 3], [7, 7, 7, 6])]
    rules = [
        surroundings(graph, anchors, radius) for graph in graphs for anchors in ([1], [1, 14]) for radius in (1, 2)
    ]
    held = PatternMatcher(graphs).hold(rules)
    for rule, row in zip(rules, held, strict=True):
        for graph, holds in zip(graphs, row, strict=True):
            sites = distinct_sites(rule, NeighbourIndex(graph), 3)
            assert bool(sites) == holds
            assert all(is_site(rule, graph, site) for site in sites)
    assert held.reshape(5, 4, 5)[np.arange(5), :, np.arange(5)].all()
    assert not held.all()


def test_two_changes_are_counted_at_all_pairs_of_a_long_chain() -> None:
    """Mining tries few of the places of two changes; what is counted must not stop there."""
    chain = Graph([0] * 30, np.array([[i, i + 1] for i in range(29)]))
    pair, turned = Pattern((0, 0), (), None), Pattern((1, 1), (), None)
    rule = Rule(pair, turned, ((0, 0), (1, 1)), (False, False), num_changes=2)
    _, sites = PatternMatcher([chain]).sites(rule, np.ones(1, bool), MOST_SITES)
    assert {tuple(sorted(site)) for site in sites.tolist()} == set(combinations(range(30), 2))
