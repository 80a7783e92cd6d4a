"""What a rule changes: its patterns before and after laid on each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from comrecgc.graphs import Pattern, Rule

Pair = tuple[int, int]


class Difference:
    """A rule with its nodes numbered once: those of `before` as they are, then the new ones of `after`.

    Args:
        rule: The rule.
        names: Name of each node label.
        edge_names: Name of each edge label; None where edges have none.
    """

    def __init__(self, rule: Rule, names: Sequence[str], edge_names: Sequence[str] | None) -> None:
        self.rule = rule
        number = {new: old for old, new in rule.kept}
        for new in range(len(rule.after.labels)):
            number.setdefault(new, len(rule.before.labels) + new - sum(k < new for k in rule.image.values()))
        self.old = {node: names[label] for node, label in enumerate(rule.before.labels)}
        self.new = {number[node]: names[label] for node, label in enumerate(rule.after.labels)}
        self.old_bonds = _named_bonds(rule.before, {node: node for node in self.old}, edge_names)
        self.new_bonds = _named_bonds(rule.after, number, edge_names)
        self.closed = {node for node in self.old if rule.closed[node]}

    @cached_property
    def kept(self) -> list[int]:
        return [node for node in self.old if node in self.new]

    @cached_property
    def removed(self) -> list[int]:
        return [node for node in self.old if node not in self.new]

    @cached_property
    def added(self) -> list[int]:
        return [node for node in self.new if node not in self.old]

    @cached_property
    def relabelled(self) -> list[int]:
        return [node for node in self.kept if self.old[node] != self.new[node]]

    @cached_property
    def around(self) -> dict[int, set[int]]:
        """Neighbours of every node, before or after."""
        around: dict[int, set[int]] = {node: set() for node in (*self.old, *self.added)}
        for i, j in (*self.old_bonds, *self.new_bonds):
            around[i].add(j)
            around[j].add(i)
        return around

    @cached_property
    def changed_bonds(self) -> list[Pair]:
        """Edges that come, go or get another label."""
        return sorted(
            pair
            for pair in {*self.old_bonds, *self.new_bonds}
            if (pair in self.old_bonds) != (pair in self.new_bonds) or self.old_bonds[pair] != self.new_bonds[pair]
        )

    def parts(self, nodes: Iterable[int]) -> list[set[int]]:
        """Connected parts of some nodes, before or after, in the order of their smallest."""
        todo, parts = sorted(nodes), []
        while todo:
            part = {todo[0]}
            stack = [todo[0]]
            while stack:
                beside = (self.around[stack.pop()] & set(todo)) - part
                part |= beside
                stack += sorted(beside)
            todo = [node for node in todo if node not in part]
            parts.append(part)
        return parts

    def hanging(self, anchors: Iterable[int]) -> Iterator[tuple[int, set[int]]]:
        """Nodes with the groups that change there: all of whose nodes are known with all their edges.

        Args:
            anchors: Nodes that stay, on which groups may hang.
        """
        changed = {
            *self.removed,
            *self.added,
            *self.relabelled,
            *(node for pair in self.changed_bonds for node in pair),
        }
        for anchor in anchors:
            for part in self.parts(set(self.around) - {anchor}):
                known = all(node in self.closed or node in self.added for node in part)
                if known and part & self.around[anchor] and part & changed and self._is_one_group(anchor, part):
                    yield anchor, part

    def _is_one_group(self, anchor: int, part: set[int]) -> bool:
        """Whether the part hangs on one edge and is in one piece, before and after."""
        for names, bonds in ((self.old, self.old_bonds), (self.new, self.new_bonds)):
            nodes = {node for node in part if node in names}
            ties = [node for node in nodes if pair_of(anchor, node) in bonds]
            reached = set(ties)
            while (
                grown := {
                    other for pair in bonds for node, other in (pair, pair[::-1]) if node in reached and other in nodes
                }
                - reached
            ):
                reached |= grown
            if nodes and (len(ties) != 1 or reached != nodes):
                return False
        return True


def _named_bonds(pattern: Pattern, number: dict[int, int], names: Sequence[str] | None) -> dict[Pair, str | None]:
    known = names is not None and pattern.edge_labels is not None
    bonds: dict[Pair, str | None] = {}
    for (i, j), label in pattern.bonds.items():
        bonds[pair_of(number[i], number[j])] = names[label] if known and names is not None else None
    return bonds


def pair_of(i: int, j: int) -> Pair:
    """The two nodes of an edge, smaller first."""
    return (i, j) if i < j else (j, i)
