"""Graph identity: a 64-bit Weisfeiler-Leman key, equal for isomorphic graphs whatever their node order.

Colours start from the labels and are refined by the multiset of neighbours' colours until the number of colours no
longer grows; the key hashes the multiset of colours one round later. Two graphs get the same key exactly when 1-WL
cannot tell them apart (up to 64-bit chance): such pairs exist (a 6-ring and two 3-rings, decalin and bicyclopentyl), but no
message-passing network tells them apart either, so they share probability and embedding too. Edge labels do not count.
Only integer arithmetic modulo 2^64 is used, so keys are the same in every process and on every platform.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from comrecgc.graphs import graph_kernels
from comrecgc.graphs.batch import GraphBatch, PackedGraphs
from comrecgc.graphs.graph import Graph
from comrecgc.graphs.rewriting import Edge, Pattern

KeyArray = npt.NDArray[np.uint64]


def graph_key(graph: Graph) -> int:
    """The key of one graph."""
    return int(graph_kernels.graph_key(graph.labels, graph.edges.astype(np.int64)))


def batch_keys(batch: GraphBatch) -> KeyArray:
    """The key of every graph of a batch, `[B]`."""
    keys: KeyArray = graph_kernels.graph_keys(batch.labels, batch.edges, batch.node_ptr, batch.edge_ptr)
    return keys


def fingerprint(graphs: Iterable[Graph]) -> str:
    """Tells lists of graphs apart, node order and edge labels included, since edits speak of both."""
    if isinstance(graphs, PackedGraphs):
        return graphs.fingerprint()
    batch = GraphBatch.from_graphs(graphs)
    digest = hashlib.sha256()
    for array in (batch.labels, batch.edges, batch.node_ptr, batch.edge_ptr, batch.edge_labels):
        digest.update(b"none" if array is None else np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


# Patterns on one line, as SMILES and SMARTS write molecules.


def written_pattern(pattern: Pattern, nodes: Sequence[str], edges: Sequence[str]) -> str:
    """A pattern on one line, its parts in one pair of brackets so that they are parts of one graph.

    Args:
        pattern: The pattern.
        nodes: How each of its nodes is written.
        edges: How an edge of each label is written.
    """
    signs = {edge: edges[label] for edge, label in pattern.bonds.items()}
    seen: set[int] = set()
    parts = [_part(node, pattern, nodes, signs, seen) for node in range(len(nodes)) if node not in seen]
    return parts[0] if len(parts) == 1 else f"({'.'.join(parts)})"


def _part(
    start: int,
    pattern: Pattern,
    nodes: Sequence[str],
    signs: Mapping[Edge, str],
    seen: set[int],
) -> str:
    """A connected part: a spanning tree in brackets, the other edges as ring closures."""
    below: dict[int, list[int]] = {}
    tree = set()
    order: list[int] = []

    def walk(node: int) -> None:
        seen.add(node)
        order.append(node)
        for other in sorted(pattern.neighbours[node]):
            if other not in seen:
                tree.add((min(node, other), max(node, other)))
                below.setdefault(node, []).append(other)
                walk(other)

    walk(start)
    rings: dict[int, str] = {}
    for count, (i, j) in enumerate(sorted(edge for edge in signs if edge not in tree and edge[0] in order)):
        closure = signs[i, j] + (str(count + 1) if count < 9 else f"%{count + 1}")
        for node in (i, j):
            rings[node] = rings.get(node, "") + closure

    def write(node: int) -> str:
        branches = [signs[min(node, other), max(node, other)] + write(other) for other in below.get(node, [])]
        brackets = "".join(f"({branch})" for branch in branches[:-1])
        return nodes[node] + rings.get(node, "") + brackets + (branches[-1] if branches else "")

    return write(start)
