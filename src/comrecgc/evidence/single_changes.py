"""The changes of a rule one by one, wherever they are made: what matched pairs can still test where no pair differs by the whole rule.

Real data seldom holds a graph with and without two changes at once, or in one exact context. It more often holds graphs that differ by one of the
changes alone. Such pairs cannot show that the whole rule is right, but they can show that a part of it is wrong.
"""

from __future__ import annotations

from comrecgc.graphs import Pattern, Rule

Edge = tuple[int, int]
Node = tuple[bool, int]
"""Whether a node is new, and its number after; or not, and its number before."""


def single_changes(rule: Rule) -> tuple[Rule, ...]:
    """Each change of a rule by itself and without context; none where that is the rule itself."""
    changed = _changed(rule)
    groups = _connected(rule, changed) if rule.num_changes > 1 else [changed]
    parts = tuple(_part(rule, nodes) for nodes in groups)
    return () if len(parts) == 1 and len(parts[0].before.labels) == len(rule.before.labels) else parts


def _changed(rule: Rule) -> set[Node]:
    """Nodes that are removed, new or relabelled, and ends of edges that are."""
    before, after, image = rule.before, rule.after, rule.image
    back = {j: i for i, j in rule.kept}
    nodes: set[Node] = {(True, j) for j in range(len(after.labels)) if j not in back}
    nodes |= {(False, i) for i, label in enumerate(before.labels) if i not in image or after.labels[image[i]] != label}
    for (i, j), bond in before.bonds.items():
        if i not in image or j not in image or after.bonds.get(_edge(image[i], image[j])) != bond:
            nodes |= {(False, i), (False, j)}
    for (i, j), bond in after.bonds.items():
        if i not in back or j not in back or before.bonds.get(_edge(back[i], back[j])) != bond:
            nodes |= {(False, back[k]) if k in back else (True, k) for k in (i, j)}
    return nodes


def _connected(rule: Rule, nodes: set[Node]) -> list[set[Node]]:
    """The changed nodes in groups that hang together before or after."""
    back = {j: i for i, j in rule.kept}
    ties = [((False, i), (False, j)) for i, j in rule.before.edges]
    ties += [tuple((False, back[k]) if k in back else (True, k) for k in edge) for edge in rule.after.edges]  # type: ignore[misc]
    groups: list[set[Node]] = []
    for node in sorted(nodes):
        groups.append({node})
        for first, second in ties:
            if node in (first, second) and first in nodes and second in nodes:
                touched = [group for group in groups if first in group or second in group]
                groups = [group for group in groups if group not in touched] + [set().union(*touched)]
    return groups


def _part(rule: Rule, nodes: set[Node]) -> Rule:
    """The rule cut down to some of its nodes; only what it removes is closed."""
    image = rule.image
    olds = sorted(node for new, node in nodes if not new)
    kept = [i for i in olds if i in image]
    news = [image[i] for i in kept] + sorted(node for new, node in nodes if new)
    return Rule(
        before=_within(rule.before, olds),
        after=_within(rule.after, news),
        kept=tuple((olds.index(i), k) for k, i in enumerate(kept)),
        closed=tuple(i not in image for i in olds),
    )


def _within(pattern: Pattern, nodes: list[int]) -> Pattern:
    rank = {node: k for k, node in enumerate(nodes)}
    rows = sorted((*_edge(rank[i], rank[j]), bond) for (i, j), bond in pattern.bonds.items() if i in rank and j in rank)
    return Pattern(
        tuple(pattern.labels[node] for node in nodes),
        tuple((row[0], row[1]) for row in rows),
        None if pattern.edge_labels is None else tuple(row[2] for row in rows),
    )


def _edge(i: int, j: int) -> Edge:
    return (i, j) if i < j else (j, i)
