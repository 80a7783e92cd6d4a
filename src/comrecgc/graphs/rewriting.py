"""Rules as graph rewriting: the patterns before and after, the kept nodes, the sites of a rule, and its results.

A rule can be carried out where `before` maps one-to-one into a graph: labels equal, its edges present with equal edge labels, no neighbour of a
closed node outside the map, and nodes that only `after` joins not joined. Carrying it out removes the mapped nodes that are not kept,
relabels kept nodes, removes the edges that `after` lacks, and adds the new nodes and edges of `after`. This module is plain Python; the compiled code
for many graphs (`matching_kernels`) is tested against it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from comrecgc.errors import InputError
from comrecgc.graphs.graph import Graph, components, ordered_edge

Edge = tuple[int, int]
Site = tuple[int, ...]
"""Position in the graph of each node of `before`."""


@dataclass(frozen=True)
class Pattern:
    """A small labelled graph, one side of a rule."""

    labels: tuple[int, ...]  # of each node
    edges: tuple[Edge, ...]  # pairs of nodes, `i < j`, increasing
    edge_labels: tuple[int, ...] | None  # of each edge; none where edges have no labels

    def __post_init__(self) -> None:
        size, edges, labels = len(self.labels), self.edges, self.edge_labels
        if any(not 0 <= i < j < size for i, j in edges) or len(set(edges)) < len(edges):
            raise InputError(f"Edges of a pattern must join two of its {size} nodes, once (got {edges})")
        if labels is not None and len(labels) != len(edges):
            raise InputError(f"Every edge of a pattern needs a label (got {len(labels)} of {len(edges)})")

    @cached_property
    def bonds(self) -> Mapping[Edge, int]:
        """Label of every edge; 0 where edges have none."""
        return dict(zip(self.edges, self.edge_labels or (0,) * len(self.edges), strict=True))

    @cached_property
    def around(self) -> Sequence[Mapping[int, int]]:
        """Neighbours of every node, with the labels of the edges to them."""
        return _around(len(self.labels), self.edges, self.edge_labels)

    @cached_property
    def neighbours(self) -> tuple[tuple[int, ...], ...]:
        return tuple(map(tuple, self.around))


def _around(num_nodes: int, edges: Sequence[Edge], bonds: Sequence[int] | None) -> list[dict[int, int]]:
    """Neighbours of every node, with the labels of the edges to them; 0 where edges have none."""
    around: list[dict[int, int]] = [{} for _ in range(num_nodes)]
    for (i, j), bond in zip(edges, bonds or [0] * len(edges), strict=True):
        around[i][j] = around[j][i] = bond
    return around


@dataclass(frozen=True)
class Rule:
    """A change in a context, the same for every graph."""

    before: Pattern  # to find
    after: Pattern  # takes its place
    kept: tuple[tuple[int, int], ...]  # pairs (node of `before`, node of `after`) that are the same node, increasing
    closed: tuple[bool, ...]  # for each node of `before`, whether it must have no neighbour outside the map
    radius: int = 0  # of the context around the anchors
    num_changes: int = 1  # that the rule combines

    def __post_init__(self) -> None:
        num_before, num_after = len(self.before.labels), len(self.after.labels)
        if len(self.closed) != num_before:
            got = f"{len(self.closed)} of {num_before}"
            raise InputError(f"closed must have a value for every node of before (got {got})")
        olds, news = [i for i, _ in self.kept], [j for _, j in self.kept]
        within = all(0 <= i < num_before and 0 <= j < num_after for i, j in self.kept)
        if not within or len(set(olds)) < len(olds) or len(set(news)) < len(news):
            raise InputError(f"kept must pair nodes of before and after, each once (got {self.kept})")
        if any(not closed for i, closed in enumerate(self.closed) if i not in olds):
            raise InputError("Nodes that a rule removes must be closed")

    @cached_property
    def image(self) -> Mapping[int, int]:
        """Node of `after` for every kept node of `before`."""
        return dict(self.kept)

    @cached_property
    def cost(self) -> int:
        """Number of nodes and edges that the rule inserts, deletes or relabels."""
        before, after, image = self.before, self.after, self.image
        cost = len(before.labels) + len(after.labels) - 2 * len(image)
        cost += sum(before.labels[i] != after.labels[j] for i, j in image.items())
        shared = [
            (bond, after.bonds[ordered_edge(image[i], image[j])])
            for (i, j), bond in before.bonds.items()
            if i in image and j in image and ordered_edge(image[i], image[j]) in after.bonds
        ]
        return cost + len(before.edges) + len(after.edges) - 2 * len(shared) + sum(a != b for a, b in shared)

    @cached_property
    def size_change(self) -> int:
        """Change of `|G|` when the rule is carried out."""
        return len(self.after.labels) + len(self.after.edges) - len(self.before.labels) - len(self.before.edges)

    @cached_property
    def must_be_apart(self) -> tuple[Edge, ...]:
        """Pairs of nodes of `before` that only `after` joins; they must not be joined in the graph."""
        back = {j: i for i, j in self.kept}
        joined = {ordered_edge(back[i], back[j]) for i, j in self.after.edges if i in back and j in back}
        return tuple(sorted(joined - set(self.before.edges)))

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The nodes of `before` in the order of matching: closed ones first, since few nodes fit them, and neighbours of matched ones next."""
        part, weight = self._parts
        around, order = self.before.neighbours, list[int]()

        def worth(i: int) -> tuple[bool, int, int, bool, int, int]:
            is_beside = any(j in order for j in around[i])
            return self.closed[i], weight[part[i]], -part[i], is_beside, len(around[i]), -i

        while len(order) < len(part):
            order.append(max((i for i in range(len(part)) if i not in order), key=worth))
        return tuple(order)

    @cached_property
    def _parts(self) -> tuple[dict[int, int], dict[int, int]]:
        """The connected part that each node of `before` is in, named by its first node, and how many closed nodes each part has."""
        parts = components(range(len(self.closed)), dict(enumerate(self.before.neighbours)))
        part = {i: min(nodes) for nodes in parts for i in nodes}
        return part, {min(nodes): sum(self.closed[i] for i in nodes) for nodes in parts}

    @cached_property
    def twins(self) -> tuple[int, ...]:
        """For each node of `before`, the last earlier node that it is interchangeable with; -1 if there is none."""
        return tuple(max((j for j in range(i) if self._are_alike(i, j)), default=-1) for i in range(len(self.closed)))

    def _are_alike(self, i: int, j: int) -> bool:
        """Whether exchanging two nodes of `before` leaves the rule as it is."""
        before, after, image = self.before, self.after, self.image
        if self.closed[i] != self.closed[j] or (i in image) != (j in image) or before.labels[i] != before.labels[j]:
            return False
        if not are_interchangeable(before.around, i, j):
            return False
        if i not in image:
            return True
        i, j = image[i], image[j]
        return after.labels[i] == after.labels[j] and are_interchangeable(after.around, i, j)

    def distance(self, graph: Graph, changed: Graph | None = None) -> float:
        """`cost / (|G| + |H|)` when carried out on a graph.

        Removed nodes may have edges that `before` does not show, as a chain that matches part of a ring; those edges count too, given the result `changed`.
        """
        after = graph.size + self.size_change if changed is None else changed.size
        return (self.cost + graph.size + self.size_change - after) / (graph.size + after)


def are_interchangeable(around: Sequence[Mapping[int, int]], i: int, j: int) -> bool:
    """Whether two nodes of the same label have the same neighbours by the same edge labels, an edge between the two aside."""
    if len(around[i]) != len(around[j]):
        return False
    return all(around[j].get(k) == bond for k, bond in around[i].items() if k != j)


def carry_out(rule: Rule, graph: Graph, site: Site) -> Graph:
    """The graph after the rule is carried out at a site; kept nodes keep their ids, new ones take the next."""
    before, after, image = rule.before, rule.after, rule.image
    target = {site[i]: j for i, j in image.items()}
    removed = {site[i] for i in range(len(site)) if i not in image}
    labels = {node: label for node, label in enumerate(graph.labels.tolist()) if node not in removed}
    labels |= {node: after.labels[j] for node, j in target.items()}
    bonds = [0] * graph.num_edges if graph.edge_labels is None else graph.edge_labels.tolist()
    edges = {
        (i, j): bond
        for (i, j), bond in zip(graph.edges.tolist(), bonds, strict=True)
        if i not in removed and j not in removed
    }
    for i, j in before.edges:
        edges.pop(ordered_edge(site[i], site[j]), None)
    place = {j: node for node, j in target.items()}
    for j in range(len(after.labels)):
        if j not in place:
            place[j] = graph.num_nodes + sum(1 for k in range(j) if k not in image.values())
            labels[place[j]] = after.labels[j]
    for (i, j), bond in after.bonds.items():
        edges[ordered_edge(place[i], place[j])] = bond
    nodes = sorted(labels)
    rank = {node: k for k, node in enumerate(nodes)}
    rows = sorted((rank[i], rank[j], bond) for (i, j), bond in edges.items())
    ids = [int(graph.ids[node]) if node < graph.num_nodes else graph.next_id + node - graph.num_nodes for node in nodes]
    return Graph.assemble(
        np.array([labels[node] for node in nodes], np.int32),
        np.array([row[:2] for row in rows], np.int32).reshape(-1, 2),
        None if graph.edge_labels is None else np.array([row[2] for row in rows], np.int32),
        np.array(ids, np.int32),
        graph.next_id + len(after.labels) - len(image),
        graph.source,
    )


# Sites of a rule: a search that places one node of the rule after the other.


class NeighbourIndex:
    """A graph indexed for matching: neighbours of each node with edge labels, and nodes by label."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.labels: list[int] = graph.labels.tolist()
        bonds = None if graph.edge_labels is None else graph.edge_labels.tolist()
        self.around = _around(len(self.labels), graph.edges.tolist(), bonds)
        self.of_label: dict[int, list[int]] = {}
        for node, label in enumerate(self.labels):
            self.of_label.setdefault(label, []).append(node)

    @cached_property
    def first_twin(self) -> list[int]:
        """For each node the first node that it is interchangeable with; itself if none comes before it."""
        firsts: dict[tuple[int, int], list[int]] = {}
        alias = list(range(len(self.labels)))
        for node, around in enumerate(self.around):
            known = firsts.setdefault((self.labels[node], len(around)), [])
            alias[node] = next((other for other in known if are_interchangeable(self.around, other, node)), node)
            if alias[node] == node:
                known.append(node)
        return alias

    def beyond(self, anchor: int, root: int) -> list[int]:
        """The nodes that hang on `anchor` by its edge to `root`, in breadth-first order, smaller labels first."""
        nodes = [root]
        for node in nodes:
            below = [other for other in self.around[node] if other != anchor and other not in nodes]
            nodes += sorted(below, key=lambda other: (self.labels[other], self.around[node][other], other))
        return nodes


def has_complete_matching(options: Mapping[int, Sequence[int]]) -> bool:
    """Whether a matching assigns every key one of its options, each used once (augmenting paths)."""
    matched: dict[int, int] = {}  # key of each option in use

    def match(key: int, visited: set[int]) -> bool:
        for option in options[key]:
            if option not in visited:
                visited.add(option)
                if option not in matched or match(matched[option], visited):
                    matched[option] = key
                    return True
        return False

    return all(match(key, set()) for key in options)


def find_sites(
    rule: Rule, where: NeighbourIndex, within: frozenset[int] | None = None, *, distinct: bool = False
) -> Iterator[Site]:
    """Every site of a rule in a graph, or only sites whose nodes all lie `within` a set.

    With `distinct`, one of several sites that differ only by interchangeable nodes of the rule or of the graph is given.
    """
    before, order = rule.before, rule.order
    site = [-1] * len(before.labels)
    used: set[int] = set()
    closed: list[int] = []  # places of closed nodes
    alias = where.first_twin if distinct and within is None else None

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
        """First position to try for a node: interchangeable nodes take increasing positions."""
        twin = rule.twins[node] if distinct else -1
        while twin >= 0 and site[twin] < 0:
            twin = rule.twins[twin]
        return site[twin] + 1 if twin >= 0 else 0

    def can_close(depth: int) -> bool:
        """Whether all unmatched neighbours of closed nodes can still be matched, and every node bound to a closed one finds one."""
        if not closed:
            return True
        todo = order[depth:]
        outside = {target for one in closed for target in where.around[one] if target not in used}
        if len(outside) > len(todo):
            return False
        could = {target: [node for node in todo if target >= least(node) and fits(node, target)] for target in outside}
        bound = {node for node in todo if any(rule.closed[i] and site[i] >= 0 for i in before.neighbours[node])}
        needed = {node: [target for target in outside if node in could[target]] for node in bound}
        return has_complete_matching(could) and has_complete_matching(needed)

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
    """Whether a rule can be carried out at a site."""
    before, where, taken = rule.before, NeighbourIndex(graph), set(site)
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
    """Whether the rule has a site in the graph."""
    return next(find_sites(rule, NeighbourIndex(graph), distinct=True), None) is not None


def distinct_sites(rule: Rule, where: NeighbourIndex, most: int) -> list[Site]:
    """At most `most` sites of a rule, one of several that differ only by interchangeable nodes."""
    seen, found = set(), []
    for site in find_sites(rule, where, distinct=True):
        name = tuple(where.first_twin[node] for node in site)
        if name not in seen:
            seen.add(name)
            found.append(site)
            if len(found) == most:
                break
    return found


def carry_out_everywhere(rule: Rule, where: NeighbourIndex, most: int, theta: float = 1.0) -> list[tuple[Site, Graph]]:
    """Results of a rule within θ, with their sites, of at most `most` distinct ones."""
    results = [(site, carry_out(rule, where.graph, site)) for site in distinct_sites(rule, where, most)]
    return [found for found in results if rule.distance(where.graph, found[1]) <= theta]


# Patterns on one line, as SMILES and SMARTS write molecules.


def write_pattern(pattern: Pattern, nodes: Sequence[str], edges: Sequence[str]) -> str:
    """A pattern on one line, in SMARTS notation, given the text of each node and of each edge label.

    Several parts stand in one pair of brackets, since they belong to one graph.
    """
    signs = {edge: edges[label] for edge, label in pattern.bonds.items()}
    seen: set[int] = set()
    parts = [_write_part(node, pattern, nodes, signs, seen) for node in range(len(nodes)) if node not in seen]
    return parts[0] if len(parts) == 1 else f"({'.'.join(parts)})"


def _write_part(start: int, pattern: Pattern, nodes: Sequence[str], signs: Mapping[Edge, str], seen: set[int]) -> str:
    """A connected part: a spanning tree in brackets, the other edges as ring closures."""
    below: dict[int, list[int]] = {}
    tree = set()
    order: list[int] = []

    def walk(node: int) -> None:
        seen.add(node)
        order.append(node)
        for other in sorted(pattern.neighbours[node]):
            if other not in seen:
                tree.add(ordered_edge(node, other))
                below.setdefault(node, []).append(other)
                walk(other)

    walk(start)
    rings: dict[int, str] = {}
    for count, (i, j) in enumerate(sorted(edge for edge in signs if edge not in tree and edge[0] in order)):
        closure = signs[i, j] + (str(count + 1) if count < 9 else f"%{count + 1}")
        for node in (i, j):
            rings[node] = rings.get(node, "") + closure

    def write(node: int) -> str:
        branches = [signs[ordered_edge(node, other)] + write(other) for other in below.get(node, [])]
        brackets = "".join(f"({branch})" for branch in branches[:-1])
        return nodes[node] + rings.get(node, "") + brackets + (branches[-1] if branches else "")

    return write(start)
