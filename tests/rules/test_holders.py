"""Which graphs rules can be carried out on: as the plain search says it, and as networkx does."""

from __future__ import annotations

from typing import cast

import networkx as nx
import numpy as np
import pytest
from networkx.algorithms.isomorphism import GraphMatcher

from comrecgc.graphs import Graph, Rule, can_be_carried_out
from comrecgc.rules import Holders, read_rules
from tests.rules import oracles
from tests.rules.test_table import Mined


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
    rules = [rule for rule, _ in read_rules(mined.table, mined.workshop, rows)]
    held = Holders(mined.inputs).hold(rules)
    wanted = np.array([[can_be_carried_out(rule, graph) for graph in mined.inputs] for rule in rules])
    assert np.array_equal(held, wanted)
    assert 0 < held.mean() < 1
    assert {rule.num_changes for rule in rules} == {1, 2, 3}
    assert any(any(rule.closed) for rule in rules)


def test_graphs_hold_what_networkx_finds(mined: Mined) -> None:
    rng = np.random.default_rng(1)
    rows = rng.permutation(len(mined.table))[:60].tolist()
    rules = [rule for rule, _ in read_rules(mined.table, mined.workshop, rows)]
    held = Holders(mined.inputs).hold(rules)
    for rule, row in zip(rules, held, strict=True):
        for place in rng.permutation(len(mined.inputs))[:6].tolist():
            assert row[place] == fits(rule, mined.inputs[place])


def test_what_is_known_stays_and_threads_change_nothing(mined: Mined) -> None:
    rows = list(range(0, len(mined.table), 9))
    rules = [rule for rule, _ in read_rules(mined.table, mined.workshop, rows)]
    holders = Holders(mined.inputs)
    held = holders.hold(rules)
    turned = mined.table.incidence().toarray()[rows]
    assert held[turned].all()
    assert np.array_equal(holders.hold(rules, turned, jobs=2), held)


def test_labels_that_no_graph_has(mined: Mined) -> None:
    rule, _ = read_rules(mined.table, mined.workshop, [0])[0]
    other = Graph(np.zeros(3, np.int32), np.array([[0, 1], [1, 2]], np.int32), None)
    assert Holders([other]).hold([rule]).shape == (1, 1)
