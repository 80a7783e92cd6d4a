"""Changes of small graphs in plain Python and networkx, one graph at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np

from comrecgc.algorithms.rules.vocabulary import Group, Vocabulary, swap_cost
from comrecgc.data import GraphDataset
from comrecgc.graphs import Graph, Rule, Rung

MAX_GROUP = 8


def to_networkx(graph: Graph) -> nx.Graph[Any]:
    """Nodes with `label`, edges with `bond`, 0 where edges have no labels."""
    result: nx.Graph[Any] = nx.Graph()
    result.add_nodes_from((i, {"label": label}) for i, label in enumerate(graph.labels.tolist()))
    bonds = [0] * graph.num_edges if graph.edge_labels is None else graph.edge_labels.tolist()
    result.add_edges_from((i, j, {"bond": bond}) for (i, j), bond in zip(graph.edges.tolist(), bonds, strict=True))
    return result


def same(one: nx.Graph[Any], other: nx.Graph[Any]) -> bool:
    """Whether they are isomorphic, attributes included."""
    return nx.is_isomorphic(one, other, node_match=lambda a, b: a == b, edge_match=lambda a, b: a == b)


class Kinds:
    """Graphs up to isomorphism; each has a number."""

    def __init__(self) -> None:
        self.known: dict[object, list[tuple[nx.Graph[Any], int]]] = {}

    def number(self, graph: nx.Graph[Any]) -> int:
        rough = (
            tuple(sorted((str(graph.nodes[v]), graph.degree(v)) for v in graph)),
            tuple(
                sorted(
                    (str(bond), *sorted((str(graph.nodes[u]), str(graph.nodes[v]))))
                    for u, v, bond in graph.edges.data()
                )
            ),
        )
        alike = self.known.setdefault(rough, [])
        for other, number in alike:
            if same(graph, other):
                return number
        alike.append((graph, sum(map(len, self.known.values()))))
        return alike[-1][1]


def group_graph(group: Group) -> nx.Graph[Any]:
    """A group with its root marked and an anchor of no label."""
    result: nx.Graph[Any] = nx.Graph()
    result.add_nodes_from((i, {"label": label, "root": i == 0}) for i, label in enumerate(group.labels))
    result.add_edges_from((i, j, {"bond": bond}) for (i, j), bond in zip(group.edges, group.edge_labels, strict=True))
    result.add_node("anchor", label=-1, root=False)
    result.add_edge("anchor", 0, bond=group.bond)
    return result


def hanging(graph: nx.Graph[Any]) -> Iterator[tuple[int, int, set[int]]]:
    """Anchor, root and nodes of everything that hangs on one edge and is small enough."""
    for u, v in nx.bridges(graph):
        rest = graph.copy()
        rest.remove_edge(u, v)
        for anchor, root in ((u, v), (v, u)):
            nodes = nx.node_connected_component(rest, root)
            if len(nodes) <= MAX_GROUP:
                yield anchor, root, nodes


def hanging_graph(graph: nx.Graph[Any], anchor: int, root: int, nodes: set[int]) -> nx.Graph[Any]:
    """What hangs there as `group_graph` makes it."""
    result: nx.Graph[Any] = nx.Graph()
    result.add_nodes_from((v, {"label": graph.nodes[v]["label"], "root": v == root}) for v in nodes)
    result.add_edges_from(graph.subgraph(nodes).edges.data())
    result.add_node("anchor", label=-1, root=False)
    result.add_edge("anchor", root, bond=graph.edges[anchor, root]["bond"])
    return result


def surroundings(graph: nx.Graph[Any], v: int) -> tuple[int, tuple[tuple[int, int], ...]]:
    """Label of a node and the sorted (edge label, neighbour label) pairs around it."""
    around = sorted((graph.edges[v, u]["bond"], graph.nodes[u]["label"]) for u in graph[v])
    return graph.nodes[v]["label"], tuple(around)


def familiar(graphs: Sequence[Graph], min_seen: int) -> set[object]:
    """Surroundings seen often enough."""
    counts: Counter[object] = Counter()
    for graph in graphs:
        plain = to_networkx(graph)
        counts.update(surroundings(plain, v) for v in plain)
    return {key for key, count in counts.items() if count >= min_seen}


def stands(before: nx.Graph[Any], after: nx.Graph[Any], rung: Rung, known: set[object]) -> bool:
    """Whether a changed graph is on a rung; nodes of the same name are the same."""
    if rung >= Rung.CONNECTED and nx.number_connected_components(after) > nx.number_connected_components(before):
        return False
    if rung < Rung.PLAUSIBLE:
        return True
    touched = [v for v in after if v not in before or surroundings(before, v) != surroundings(after, v)]
    return all(surroundings(after, v) in known for v in touched)


def single_changes(
    graph: nx.Graph[Any], groups: Sequence[Group], num_labels: int, num_edge_labels: int, *, ties: bool = False
) -> Iterator[tuple[str, int, nx.Graph[Any]]]:
    """Kind, cost and result of every change of a graph, by their definitions."""
    shapes = [group_graph(group) for group in groups]
    for v in graph:
        for label in range(num_labels):
            if label != graph.nodes[v]["label"]:
                result = graph.copy()
                result.nodes[v]["label"] = label
                yield "relabel", 1, result
        for group in groups:
            yield "attach", group.size, attached(graph, v, group)
    for anchor, root, nodes in hanging(graph):
        shape = hanging_graph(graph, anchor, root, nodes)
        old = next((k for k, other in enumerate(shapes) if same(shape, other)), None)
        if old is None:
            continue
        rest = graph.copy()
        rest.remove_nodes_from(nodes)
        yield "detach", groups[old].size, rest
        for k, group in enumerate(groups):
            if k != old:
                yield "swap", swap_cost(groups[old], group), attached(rest, anchor, group)
    for u, v in combinations(graph, 2):
        for group in groups if ties else ():
            if len(group.labels) == 1:
                result = attached(graph, u, group)
                result.add_edge(v, ("new", 0), bond=group.bond)
                yield "tie", 3, result
        result = graph.copy()
        if not graph.has_edge(u, v):
            for bond in range(num_edge_labels):
                result = graph.copy()
                result.add_edge(u, v, bond=bond)
                yield "join", 1, result
            continue
        result.remove_edge(u, v)
        yield "cut", 1, result
        for bond in range(num_edge_labels):
            if bond != graph.edges[u, v]["bond"]:
                result = graph.copy()
                result.edges[u, v]["bond"] = bond
                yield "rebond", 1, result


def attached(graph: nx.Graph[Any], anchor: int, group: Group) -> nx.Graph[Any]:
    """The graph with a group hung on a node; new nodes are named by pairs."""
    result = graph.copy()
    result.add_nodes_from((("new", i), {"label": label}) for i, label in enumerate(group.labels))
    result.add_edges_from(
        (("new", i), ("new", j), {"bond": bond}) for (i, j), bond in zip(group.edges, group.edge_labels, strict=True)
    )
    result.add_edge(anchor, ("new", 0), bond=group.bond)
    return result


def rule_graph(rule: Rule) -> nx.Graph[Any]:
    """Both sides of a rule as one graph, kept nodes tied to themselves: rules are the same where these are isomorphic."""
    result: nx.Graph[Any] = nx.Graph()
    for i, label in enumerate(rule.before.labels):
        result.add_node(("before", i), side="before", label=label, closed=rule.closed[i])
    for j, label in enumerate(rule.after.labels):
        result.add_node(("after", j), side="after", label=label, closed=None)
    for side, pattern in (("before", rule.before), ("after", rule.after)):
        for (i, j), bond in pattern.bonds.items():
            result.add_edge((side, i), (side, j), bond=bond)
    for i, j in rule.kept:
        result.add_edge(("before", i), ("after", j), bond="kept")
    return result


def small_graph(rng: np.random.Generator, *, edge_labels: bool, most_nodes: int = 7, num_labels: int = 3) -> Graph:
    """Mostly a tree or nearly so, sometimes with a ring, sometimes in several parts or a single node."""
    n = int(rng.integers(1, most_nodes + 1))
    edges = {(int(rng.integers(j)), j) for j in range(1, n) if rng.random() < 0.92}
    for _ in range(int(rng.integers(0, 3))):
        i, j = sorted(rng.integers(0, n, 2).tolist())
        if i < j:
            edges.add((i, j))
    bonds = rng.choice(2, len(edges), p=[0.8, 0.2]) if edge_labels else None
    labels = rng.choice(num_labels, n, p=[0.6, 0.25, 0.15])
    return Graph(labels, np.array(sorted(edges), dtype=np.int64).reshape(-1, 2), bonds)


def small_data(rng: np.random.Generator, *, edge_labels: bool, num_graphs: int = 16) -> GraphDataset:
    """Random graphs over the labels X, Y and Z, no molecules."""
    graphs = tuple(small_graph(rng, edge_labels=edge_labels) for _ in range(num_graphs))
    return GraphDataset(
        name="small",
        graphs=graphs,
        classes=rng.integers(0, 2, num_graphs).astype(np.int8),
        label_names=("X", "Y", "Z"),
        edge_label_names=("-", "=") if edge_labels else None,
    )


def small_vocabulary(dataset: GraphDataset, rung: Rung, theta: float = 0.4) -> Vocabulary:
    """Few groups, so that brute force is quick."""
    return Vocabulary.of(dataset, rung=rung, theta=theta, min_seen=3)


def permute(graph: Graph, rng: np.random.Generator) -> Graph:
    """The same graph with its nodes in another order."""
    order = rng.permutation(graph.num_nodes)
    place = np.argsort(order)
    edges = np.sort(place[graph.edges], axis=1).reshape(-1, 2)
    rows = np.lexsort((edges[:, 1], edges[:, 0]))
    return Graph(graph.labels[order], edges[rows], None if graph.edge_labels is None else graph.edge_labels[rows])
