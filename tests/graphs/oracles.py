"""The ladder of changes by plain dictionaries and networkx."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import networkx as nx

from comrecgc.graphs import Graph, Rung, to_networkx

Surroundings = tuple[int, tuple[tuple[int, int], ...]]


def around(graph: Graph) -> dict[int, Surroundings]:
    """Label and sorted (edge label, neighbour label) pairs of each node, by id."""
    plain = to_networkx(graph)
    return {
        int(graph.ids[node]): (
            plain.nodes[node]["label"],
            tuple(
                sorted(
                    (plain.edges[node, other].get("label", -1), plain.nodes[other]["label"]) for other in plain[node]
                )
            ),
        )
        for node in plain
    }


def touched_ids(before: Graph, after: Graph) -> set[int]:
    """Nodes of `after` that are new or have other surroundings than before."""
    old, new = around(before), around(after)
    return {node for node in new if old.get(node) != new[node]}


def plain_rung(data: Sequence[Graph], before: Graph, after: Graph, min_seen: int) -> Rung:
    """The rung a pair reaches, by counting."""
    parts = [nx.number_connected_components(to_networkx(graph)) for graph in (before, after)]
    if parts[1] > parts[0]:
        return Rung.ANY
    counts = Counter(value for graph in data for value in around(graph).values())
    familiar = all(counts[around(after)[node]] >= min_seen for node in touched_ids(before, after))
    return Rung.PLAUSIBLE if familiar else Rung.CONNECTED
