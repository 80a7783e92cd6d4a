"""Patterns on one line, as SMILES and SMARTS write molecules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from comrecgc.graphs.rewriting import Edge, Pattern


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
