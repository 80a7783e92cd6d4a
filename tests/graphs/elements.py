"""How many elements of two graphs differ, by plain sets."""

from __future__ import annotations

from comrecgc.graphs import Graph


def elements_changed(start: Graph, graph: Graph) -> int:
    """Nodes and edges of one graph only, and nodes of another label, by plain sets."""
    labels = [dict(zip(each.ids.tolist(), each.labels.tolist(), strict=True)) for each in (start, graph)]
    edges = [{frozenset(edge) for edge in each.ids[each.edges].tolist()} for each in (start, graph)]
    relabelled = [node for node in labels[0] if node in labels[1] and labels[0][node] != labels[1][node]]
    return len(relabelled) + len(set(labels[0]) ^ set(labels[1])) + len(edges[0] ^ edges[1])
