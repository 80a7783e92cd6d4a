"""Where a rule can be carried out: a search through the places of a graph, one node of the rule after the other.

Nodes that play the same part, in the rule or in the graph, are tried once where only one of such places is asked for, and a branch ends as soon as the
neighbours of closed nodes do not fit what is left of the rule. So dense graphs of one label are no trouble.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from comrecgc.graphs.graph import Graph
from comrecgc.graphs.rewriting import Rule, Site, may_change_places


class Surroundings:
    """A graph as the matcher wants it: neighbours with edge labels, nodes by label."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.labels: list[int] = graph.labels.tolist()
        self.around: list[dict[int, int]] = [{} for _ in self.labels]
        bonds = [0] * graph.num_edges if graph.edge_labels is None else graph.edge_labels.tolist()
        for (i, j), bond in zip(graph.edges.tolist(), bonds, strict=True):
            self.around[i][j] = bond
            self.around[j][i] = bond
        self.of_label: dict[int, list[int]] = {}
        for node, label in enumerate(self.labels):
            self.of_label.setdefault(label, []).append(node)

    @cached_property
    def first_alike(self) -> list[int]:
        """For each node the first one that it may change places with; itself if there is none before it."""
        firsts: dict[tuple[int, int], list[int]] = {}
        alias = list(range(len(self.labels)))
        for node, around in enumerate(self.around):
            known = firsts.setdefault((self.labels[node], len(around)), [])
            alias[node] = next((other for other in known if may_change_places(self.around, other, node)), node)
            if alias[node] == node:
                known.append(node)
        return alias

    def beyond(self, anchor: int, root: int) -> list[int]:
        """What hangs on a node by the edge to `root`, in breadth-first order, smaller labels first."""
        nodes = [root]
        for node in nodes:
            below = [other for other in self.around[node] if other != anchor and other not in nodes]
            nodes += sorted(below, key=lambda other: (self.labels[other], self.around[node][other], other))
        return nodes


def all_find_seats(wanted: Mapping[int, Sequence[int]]) -> bool:
    """Whether everyone can sit on a seat that they want, each on one of their own."""
    sitter: dict[int, int] = {}

    def sits_down(one: int, asked: set[int]) -> bool:
        for seat in wanted[one]:
            if seat not in asked:
                asked.add(seat)
                if seat not in sitter or sits_down(sitter[seat], asked):
                    sitter[seat] = one
                    return True
        return False

    return all(sits_down(one, set()) for one in wanted)


def find_sites(
    rule: Rule, where: Surroundings, within: frozenset[int] | None = None, *, distinct: bool = False
) -> Iterator[Site]:
    """Every place where a rule can be carried out.

    Args:
        rule: The rule.
        where: The graph.
        within: Only places all of whose nodes are among these.
        distinct: Of places that differ only by nodes that play the same part, in the rule or in the graph, give one.
    """
    before, order = rule.before, rule.order
    site = [-1] * len(before.labels)
    used: set[int] = set()
    closed: list[int] = []  # places of closed nodes
    alias = where.first_alike if distinct and within is None else None

    def fits(node: int, target: int) -> bool:
        if (
            where.labels[target] != before.labels[node]
            or target in used
            or (within is not None and target not in within)
        ):
            return False
        around = where.around[target]
        if len(around) < len(before.neighbours[node]):
            return False
        for other, bond in before.around[node].items():
            if site[other] >= 0 and around.get(site[other], -1) != bond:
                return False
        return not any(
            site[i if j == node else j] in around
            for i, j in rule.must_be_apart
            if node in (i, j) and site[i if j == node else j] >= 0
        )

    def least(node: int) -> int:
        """Where the search for a place of a node begins: nodes of the same part have increasing places."""
        twin = rule.twins[node] if distinct else -1
        while twin >= 0 and site[twin] < 0:
            twin = rule.twins[twin]
        return site[twin] + 1 if twin >= 0 else 0

    def can_close(depth: int) -> bool:
        """Whether the neighbours of closed nodes that are not in the map could all still be, and are all that the rest needs."""
        if not closed:
            return True
        todo = order[depth:]
        outside = {target for one in closed for target in where.around[one] if target not in used}
        if len(outside) > len(todo):
            return False
        could = {target: [node for node in todo if target >= least(node) and fits(node, target)] for target in outside}
        bound = {node for node in todo if any(rule.closed[i] and site[i] >= 0 for i in before.neighbours[node])}
        needed = {node: [target for target in outside if node in could[target]] for node in bound}
        return all_find_seats(could) and all_find_seats(needed)

    def extend(depth: int) -> Iterator[Site]:
        if depth == len(order):
            yield tuple(site)
            return
        node = order[depth]
        beside = [other for other in before.neighbours[node] if site[other] >= 0]
        targets = sorted(where.around[site[beside[0]]]) if beside else where.of_label.get(before.labels[node], [])
        start = least(node)
        tried: set[int] = set()
        for target in targets:
            if target < start or (alias is not None and alias[target] in tried) or not fits(node, target):
                continue
            if alias is not None:
                tried.add(alias[target])
            site[node] = target
            used.add(target)
            if rule.closed[node]:
                closed.append(target)
            if can_close(depth + 1):
                yield from extend(depth + 1)
            if rule.closed[node]:
                closed.pop()
            used.discard(target)
            site[node] = -1

    return extend(0)


def is_site(rule: Rule, graph: Graph, site: Site) -> bool:
    """Whether a rule can be carried out at a place."""
    before, where, taken = rule.before, Surroundings(graph), set(site)
    if len(site) != len(before.labels) or len(taken) < len(site):
        return False
    if any(not 0 <= node < graph.num_nodes for node in site):
        return False
    return (
        all(where.labels[target] == label for target, label in zip(site, before.labels, strict=True))
        and all(where.around[site[i]].get(site[j]) == bond for (i, j), bond in before.bonds.items())
        and all(taken.issuperset(where.around[site[i]]) for i, closed in enumerate(rule.closed) if closed)
        and not any(site[j] in where.around[site[i]] for i, j in rule.must_be_apart)
    )


def can_be_carried_out(rule: Rule, graph: Graph) -> bool:
    """Whether there is a place for the rule in the graph."""
    return next(find_sites(rule, Surroundings(graph), distinct=True), None) is not None


def distinct_sites(rule: Rule, where: Surroundings, most: int) -> list[Site]:
    """Places of a rule, at most so many; of places that differ only by nodes that play the same part, one."""
    seen, found = set(), []
    for site in find_sites(rule, where, distinct=True):
        name = tuple(where.first_alike[node] for node in site)
        if name not in seen:
            seen.add(name)
            found.append(site)
            if len(found) == most:
                break
    return found
