"""Rules as patterns: places and results equal a literal reading of what a rule means.

Also tests comrecgc.graphs.matching_kernels.
"""

from __future__ import annotations

from itertools import combinations, permutations
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from networkx.algorithms.isomorphism import GraphMatcher

from comrecgc.errors import InputError
from comrecgc.graphs import Graph, NeighbourIndex, Pattern, Rule, can_be_carried_out, carry_out, distinct_sites
from comrecgc.graphs.rewriting import find_sites
from tests.graphs.strategies import graphs

NITRO = Pattern((0, 1, 2, 2), ((0, 1), (1, 2), (1, 3)), (0, 1, 1))


@st.composite
def rules(draw: st.DrawFn, graph: Graph) -> Rule:
    """A rule whose `before` is a part of the graph, so that it fits somewhere, or nearly."""
    most = min(graph.num_nodes, 4)
    nodes = draw(st.lists(st.integers(0, graph.num_nodes - 1), min_size=1, max_size=most, unique=True))
    edges = dict(zip(map(tuple, graph.edges.tolist()), _bonds(graph), strict=True))
    inside = [(i, j) for i, j in combinations(range(len(nodes)), 2) if _pair(nodes[i], nodes[j]) in edges]
    chosen = sorted(draw(st.sets(st.sampled_from(inside)))) if inside else []
    labels = [int(graph.labels[node]) for node in nodes]
    if draw(st.booleans()):
        labels[0] = draw(st.integers(0, 2))
    labelled = graph.edge_labels is not None
    bonds = tuple(edges[_pair(nodes[i], nodes[j])] for i, j in chosen)
    before = Pattern(tuple(labels), tuple(chosen), bonds if labelled else None)
    new = draw(graphs(max_nodes=4, edge_labels=labelled))
    after = Pattern(
        tuple(new.labels.tolist()),
        tuple((i, j) for i, j in new.edges.tolist()),
        tuple(_bonds(new)) if labelled else None,
    )
    number = draw(st.integers(0, min(len(nodes), new.num_nodes)))
    kept = tuple(zip(range(number), draw(st.permutations(range(new.num_nodes)))[:number], strict=True))
    closed = tuple(i >= number or draw(st.booleans()) for i in range(len(nodes)))
    return Rule(before, after, kept, closed)


def _bonds(graph: Graph) -> list[int]:
    return [0] * graph.num_edges if graph.edge_labels is None else graph.edge_labels.tolist()


def _pair(i: int, j: int) -> tuple[int, int]:
    return min(i, j), max(i, j)


def to_networkx(graph: Graph | Pattern) -> nx.Graph[Any]:
    result: nx.Graph[Any] = nx.Graph()
    result.add_nodes_from((i, {"label": int(label)}) for i, label in enumerate(graph.labels))
    bonds = graph.edge_labels if graph.edge_labels is not None else [0] * len(graph.edges)
    result.add_edges_from(
        (int(i), int(j), {"bond": int(bond)}) for (i, j), bond in zip(graph.edges, bonds, strict=True)
    )
    return result


def brute_force_sites(rule: Rule, graph: nx.Graph[Any]) -> set[tuple[int, ...]]:
    """Every one-to-one map that satisfies the definition of a place, word by word."""
    back = {j: i for i, j in rule.kept}
    found = set()
    for site in permutations(graph.nodes, len(rule.before.labels)):
        labels_equal = all(graph.nodes[v]["label"] == label for v, label in zip(site, rule.before.labels, strict=True))
        edges_there = all(
            graph.has_edge(site[i], site[j]) and graph.edges[site[i], site[j]]["bond"] == bond
            for (i, j), bond in rule.before.bonds.items()
        )
        closed = all(set(graph[v]) <= set(site) for v, shut in zip(site, rule.closed, strict=True) if shut)
        apart = all(
            not graph.has_edge(site[back[i]], site[back[j]])
            for i, j in rule.after.edges
            if i in back and j in back and _pair(back[i], back[j]) not in rule.before.edges
        )
        if labels_equal and edges_there and closed and apart:
            found.add(site)
    return found


def carried_out(rule: Rule, graph: nx.Graph[Any], site: tuple[int, ...]) -> nx.Graph[Any]:
    """Carrying out, word by word; new nodes are named after the graph's."""
    result, image = graph.copy(), dict(rule.kept)
    result.remove_nodes_from(site[i] for i in range(len(site)) if i not in image)
    for i, j in rule.before.edges:
        if i in image and j in image and _pair(image[i], image[j]) not in rule.after.edges:
            result.remove_edge(site[i], site[j])
    name = {j: site[i] for i, j in rule.kept}
    for j, label in enumerate(rule.after.labels):
        name.setdefault(j, len(graph) + sum(k not in image.values() for k in range(j)))
        result.add_node(name[j], label=label)
    for (i, j), bond in rule.after.bonds.items():
        result.add_edge(name[i], name[j], bond=bond)
    return result


@given(st.data(), st.booleans())
def test_places_equal_every_map_that_fits(data: st.DataObject, edge_labels: bool) -> None:
    graph = data.draw(graphs(max_nodes=6, edge_labels=edge_labels))
    rule = data.draw(rules(graph))
    sites = list(find_sites(rule, NeighbourIndex(graph)))
    assert len(sites) == len(set(sites))
    assert set(sites) == brute_force_sites(rule, to_networkx(graph))
    assert can_be_carried_out(rule, graph) == bool(sites)
    matcher = GraphMatcher(
        to_networkx(graph),
        to_networkx(rule.before),
        node_match=lambda a, b: a["label"] == b["label"],
        edge_match=lambda a, b: a["bond"] == b["bond"],
    )
    maps = {tuple(sorted(each, key=lambda node: each[node])) for each in matcher.subgraph_monomorphisms_iter()}
    assert set(sites) <= maps
    if not any(rule.closed) and not rule.must_be_apart:
        assert set(sites) == maps


@given(st.data(), st.booleans())
def test_carrying_out_equals_its_description(data: st.DataObject, edge_labels: bool) -> None:
    graph = data.draw(graphs(max_nodes=6, edge_labels=edge_labels))
    rule = data.draw(rules(graph))
    for site in list(find_sites(rule, NeighbourIndex(graph)))[:5]:
        result = carry_out(rule, graph, site)
        wanted = carried_out(rule, to_networkx(graph), site)
        names = result.ids.tolist()
        assert nx.utils.graphs_equal(nx.relabel_nodes(to_networkx(result), dict(enumerate(names))), wanted)
        assert (result.edge_labels is None) == (not edge_labels)
        assert rule.distance(graph, result) == pytest.approx(_cost(graph, result) / (graph.size + result.size))


def _cost(graph: Graph, result: Graph) -> int:
    """Nodes and edges, by id, that only one of them has or that have other labels."""
    (old, old_edges), (new, new_edges) = _elements(graph), _elements(result)
    return _differences(old, new) + _differences(old_edges, new_edges)


def _differences(one: dict[Any, int], other: dict[Any, int]) -> int:
    return len(one.keys() ^ other.keys()) + sum(one[name] != other[name] for name in one.keys() & other.keys())


def _elements(graph: Graph) -> tuple[dict[int, int], dict[tuple[int, ...], int]]:
    edges = [tuple(edge) for edge in graph.ids[graph.edges].tolist()]
    return dict(zip(graph.ids.tolist(), graph.labels.tolist(), strict=True)), dict(
        zip(edges, _bonds(graph), strict=True)
    )


@given(st.data(), st.booleans())
def test_within_leaves_the_places_inside(data: st.DataObject, edge_labels: bool) -> None:
    graph = data.draw(graphs(max_nodes=5, edge_labels=edge_labels))
    rule = data.draw(rules(graph))
    within = frozenset(data.draw(st.sets(st.integers(0, graph.num_nodes - 1))))
    sites = find_sites(rule, NeighbourIndex(graph), within)
    assert set(sites) == {site for site in brute_force_sites(rule, to_networkx(graph)) if set(site) <= within}


@given(st.data(), st.booleans())
def test_distinct_places_lose_no_result(data: st.DataObject, edge_labels: bool) -> None:
    graph = data.draw(graphs(max_nodes=6, edge_labels=edge_labels))
    rule = data.draw(rules(graph))
    where = NeighbourIndex(graph)
    few = [to_networkx(carry_out(rule, graph, site)) for site in distinct_sites(rule, where, 10**6)]
    for site in find_sites(rule, where):
        result = to_networkx(carry_out(rule, graph, site))
        assert any(_isomorphic(result, other) for other in few)


def _isomorphic(one: nx.Graph[Any], other: nx.Graph[Any]) -> bool:
    return nx.is_isomorphic(
        one, other, node_match=lambda a, b: a["label"] == b["label"], edge_match=lambda a, b: a["bond"] == b["bond"]
    )


def test_a_nitro_group_becomes_a_chlorine() -> None:
    rule = Rule(NITRO, Pattern((0, 3), ((0, 1),), (0,)), ((0, 0),), (False, True, True, True))
    graph = Graph([0, 0, 1, 2, 2], [[0, 1], [1, 2], [2, 3], [2, 4]], [0, 0, 1, 1])
    sites = list(find_sites(rule, NeighbourIndex(graph)))
    assert sites == [(1, 2, 3, 4), (1, 2, 4, 3)]
    assert distinct_sites(rule, NeighbourIndex(graph), 10) == [(1, 2, 3, 4)]
    result = carry_out(rule, graph, sites[0])
    assert result.labels.tolist() == [0, 0, 3]
    assert result.edges.tolist() == [[0, 1], [1, 2]]
    assert result.ids.tolist() == [0, 1, 5]
    assert (rule.cost, rule.size_change) == (3 + 3 + 1 + 1, 2 - 6)


def test_a_place_may_lie_in_several_parts() -> None:
    rule = Rule(
        Pattern((0, 0), (), None), Pattern((0, 0), ((0, 1),), None), ((0, 0), (1, 1)), (False, False), num_changes=1
    )
    graph = Graph([0, 0, 0], [[0, 1]])
    assert set(find_sites(rule, NeighbourIndex(graph))) == {(0, 2), (2, 0), (1, 2), (2, 1)}
    assert rule.must_be_apart == ((0, 1),)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Pattern((0,), ((0, 1),), None), "must join two of its 1"),
        (lambda: Pattern((0, 0), ((0, 1), (0, 1)), None), "once"),
        (lambda: Pattern((0, 0), ((0, 1),), ()), "needs a label"),
        (lambda: Rule(Pattern((0,), (), None), Pattern((0,), (), None), (), ()), "closed must"),
        (lambda: Rule(Pattern((0,), (), None), Pattern((0,), (), None), ((0, 1),), (False,)), "kept must pair"),
        (lambda: Rule(Pattern((0,), (), None), Pattern((), (), None), (), (False,)), "must be closed"),
    ],
)
def test_what_makes_no_sense_is_refused(build: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        build()  # type: ignore[operator]


def test_the_graph_is_not_modified() -> None:
    graph = Graph([0, 1, 1], [[0, 1], [0, 2]])
    rule = Rule(Pattern((0, 1), ((0, 1),), None), Pattern((2,), (), None), ((0, 0),), (False, True))
    before = (graph.labels.copy(), graph.edges.copy())
    carry_out(rule, graph, (0, 1))
    assert np.array_equal(graph.labels, before[0])
    assert np.array_equal(graph.edges, before[1])


def test_many_nodes_of_the_same_part_are_no_trouble() -> None:
    """Two hubs with ten leaves each and nothing else: a search through all orders of the leaves would not end."""
    leaves = range(2, 22)
    edges = tuple((leaf % 2, leaf) for leaf in leaves)
    hubs = Pattern((0,) * 22, tuple(sorted(edges)), None)
    after = Pattern((0,) * 22, tuple(sorted([*edges, (0, 1)])), None)
    rule = Rule(hubs, after, tuple((i, i) for i in range(22)), (True, True) + (False,) * 20)
    graph = Graph([0] * 22, sorted(edges))
    assert can_be_carried_out(rule, graph)
    assert len(distinct_sites(rule, NeighbourIndex(graph), 100)) == 2
    tied = Graph([0] * 23, sorted([*edges, (0, 22)]))
    assert not can_be_carried_out(rule, tied)
