"""What differs between a graph and the graph it was edited into: the nodes and edges that go, come and change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from comrecgc.graphs.edits import Edit
from comrecgc.graphs.graph import Graph
from comrecgc.graphs.paths import apply_path, simplify_path

EdgeIds = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Change:
    """The net difference of two graphs, a node being the same where its id is. All in node ids.

    Args:
        before: The graph at the start.
        after: The graph at the end.
        removed: Nodes only `before` has.
        added: Nodes only `after` has.
        relabelled: Nodes of both whose label differs.
        cut: Edges only `before` has, those of removed nodes among them.
        joined: Edges only `after` has, those of added nodes among them.
    """

    before: Graph
    after: Graph
    removed: frozenset[int]
    added: frozenset[int]
    relabelled: frozenset[int]
    cut: frozenset[EdgeIds]
    joined: frozenset[EdgeIds]

    @classmethod
    def between(cls, before: Graph, after: Graph) -> Change:
        """The change from one graph to another."""
        old, new = labels_by_id(before), labels_by_id(after)
        old_edges, new_edges = edges_by_id(before), edges_by_id(after)
        return cls(
            before,
            after,
            removed=frozenset(old.keys() - new.keys()),
            added=frozenset(new.keys() - old.keys()),
            relabelled=frozenset(node for node in old.keys() & new.keys() if old[node] != new[node]),
            cut=frozenset(old_edges - new_edges),
            joined=frozenset(new_edges - old_edges),
        )

    @classmethod
    def along(cls, graph: Graph, path: Sequence[Edit]) -> Change:
        """What a path does in all; a node that gives its place to another counts as relabelled."""
        shortest = simplify_path(graph, path) if len(path) > 1 else path
        return cls.between(graph, apply_path(graph, shortest))

    @property
    def touched(self) -> frozenset[int]:
        """Every node that goes, comes, changes, or loses or gains an edge."""
        ends = frozenset(node for edge in self.cut | self.joined for node in edge)
        return self.removed | self.added | self.relabelled | ends


def labels_by_id(graph: Graph) -> dict[int, int]:
    """Label of each node, by id."""
    return dict(zip(graph.ids.tolist(), graph.labels.tolist(), strict=True))


def edges_by_id(graph: Graph) -> set[EdgeIds]:
    """Edges as pairs of ids, the smaller first."""
    return {(i, j) for i, j in graph.ids[graph.edges].tolist()}


def neighbours_by_id(graph: Graph) -> dict[int, list[int]]:
    """Neighbours of each node, by id, increasing."""
    neighbours: dict[int, list[int]] = {node: [] for node in graph.ids.tolist()}
    for i, j in graph.ids[graph.edges].tolist():
        neighbours[i].append(j)
        neighbours[j].append(i)
    return {node: sorted(around) for node, around in neighbours.items()}


def components(nodes: Iterable[int], neighbours: dict[int, list[int]]) -> list[frozenset[int]]:
    """Connected parts of the subgraph on some nodes, in order of their smallest node."""
    left, parts = set(nodes), []
    for start in sorted(left):
        if start not in left:
            continue
        part, front = {start}, [start]
        while front:
            front = [node for at in front for node in neighbours[at] if node in left and node not in part]
            part.update(front)
        left -= part
        parts.append(frozenset(part))
    return parts


def edge_labels_by_id(graph: Graph) -> dict[EdgeIds, int]:
    """Edge label of each edge, by ids; none where the graph has no edge labels."""
    if graph.edge_labels is None:
        return {}
    edges = [(i, j) for i, j in graph.ids[graph.edges].tolist()]
    return dict(zip(edges, graph.edge_labels.tolist(), strict=True))
