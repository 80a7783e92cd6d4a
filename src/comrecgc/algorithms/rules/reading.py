"""From changes of one graph to the rule they carry out, and its site."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.rules.vocabulary import Group, merged_nodes
from comrecgc.graphs import (
    BoolArray,
    Graph,
    GraphBatch,
    IntArray,
    NeighbourIndex,
    Pattern,
    Rule,
    Site,
    matching_kernels,
    ordered_edge,
)

if TYPE_CHECKING:
    from comrecgc.algorithms.rules.mining import ChangeScorer
    from comrecgc.algorithms.rules.table import RuleTable


Edge = tuple[int, int]

_JOIN = 4


@dataclass(frozen=True, eq=False, kw_only=True)
class MinedRule:
    """A rule of the table."""

    row: int  # its row of the table
    rule: Rule  # its pattern before and after
    site: Site  # where it is carried out in the first input that it turns
    change: IntArray  # the changes that do so, `[m, 4]` (`change_kernels`)
    # For each change, the nodes of `rule.before` that it names first and second; -1 where it names none
    ends: tuple[tuple[int, int], ...]

    def changes_at(self, sites: IntArray) -> IntArray:
        """The changes that carry the rule out at sites `[S, n]`, `[S, m, 4]`."""
        rows = np.repeat(self.change[None], len(sites), axis=0)
        for place, ends in enumerate(self.ends):
            for which, node in enumerate(ends):
                if node >= 0:
                    rows[:, place, 1 + which] = sites[:, node]
        return rows


def read_rules(table: RuleTable, scorer: ChangeScorer, rows: Sequence[int]) -> list[MinedRule]:
    """Rules of a table, each read from the first input that it turns."""
    found = []
    for row, (rule, site) in zip(rows, read_entries(table, scorer, table.ptr[np.asarray(rows, int)]), strict=True):
        change = table.entries.change[table.ptr[row]].astype(np.int32)
        change = change[change[:, 0] >= 0]
        rank = {node: k for k, node in enumerate(site)}
        ends = tuple((rank[one], rank.get(other, -1)) for _, one, other, _ in change.tolist())
        found.append(MinedRule(row=row, rule=rule, site=site, change=change, ends=ends))
    return found


def read_entries(table: RuleTable, scorer: ChangeScorer, entries: npt.NDArray[np.int64]) -> list[tuple[Rule, Site]]:
    """The rule that each entry of a table carries out, read from its own site, and that site."""
    batch, origins = scorer.built(table.entries.input[entries], table.entries.change[entries].astype(np.int32))
    return [
        read_rule(
            scorer.inputs[table.entries.input[entry]], batch[k], origins[k].tolist(), table.entries.change[entry], table.groups,
            int(table.rules.radius[table.entries.rule[entry]]),
        )
        for k, entry in enumerate(entries.tolist())
    ]  # fmt: skip


def entry_sites(
    table: RuleTable, scorer: ChangeScorer, rule: Rule, entries: npt.NDArray[np.int64]
) -> list[Site | None]:
    """Sites of entries of a table, in the order of the rule's nodes; None if the pattern at the site differs from the rule's."""
    orders = [(rule_isomorphism(rule, read), site) for read, site in read_entries(table, scorer, entries)]
    return [None if order is None else tuple(site[node] for node in order) for order, site in orders]


def is_change_of(rule: Rule, table: RuleTable, scorer: ChangeScorer, place: int, change: IntArray) -> bool:
    """Whether changes of one input carry a rule out."""
    batch, origin = scorer.changed(place, change[None])
    read, _ = read_rule(scorer.inputs[place], batch[0], origin.tolist(), change, table.groups, rule.radius)
    return rule_isomorphism(rule, read) is not None


def read_rule(
    graph: Graph, changed: Graph, origin: Sequence[int], change: Any, groups: Sequence[Group], radius: int
) -> tuple[Rule, Site]:
    """The rule behind changes `[m, 4]` of a graph, and its site.

    `changed` is the graph after, its new nodes last, group after group; `origin` the node of `graph` that each of its nodes was, -1 for new ones. The
    rule covers what changes and its anchors; at radius 1 also the exact surroundings of the anchors, at radius 2 those of their neighbours.
    """
    rows = [row for row in np.asarray(change).tolist() if row[0] >= 0]
    old_bonds, new_bonds = _bonds(graph), _bonds(changed)
    back = {j: i for j, i in enumerate(origin) if i >= 0}
    stays = {i: j for j, i in back.items()}
    merged = merged_nodes(NeighbourIndex(graph), rows, groups, first_new=len(back))
    replaced = {new: old for old, new in merged.items()}

    def before_of(j: int) -> int | None:
        return back.get(j, replaced.get(j))

    lost = [
        (i, j) for (i, j), bond in old_bonds.items()
        if i not in stays or j not in stays or new_bonds.get(ordered_edge(stays[i], stays[j])) != bond
    ]  # fmt: skip
    gained = [
        (i, j) for (i, j), bond in new_bonds.items()
        if i not in back or j not in back or old_bonds.get(ordered_edge(back[i], back[j])) != bond
    ]  # fmt: skip
    relabelled = [i for i, j in stays.items() if graph.labels[i] != changed.labels[j]]
    removed = [i for i in range(graph.num_nodes) if i not in stays]
    core = sorted(
        {*removed, *relabelled, *(i for edge in lost for i in edge), *_ends(gained, before_of), *_anchors(rows)}
    )
    anchors = [i for i in core if i in stays]
    inside = set(core)
    nodes, edges = list(core), set(lost)
    closed, ring = set(removed), anchors
    for _ in range(radius):
        closed |= set(ring)
        further = []
        for node in ring:
            beside = sorted(ordered_edge(*edge) for edge in old_bonds if node in edge)
            edges |= set(beside)
            for i, j in beside:
                other = j if i == node else i
                if other not in inside:
                    inside.add(other)
                    further.append(other)
        nodes += further
        ring = further
    new_nodes = [j for j in range(changed.num_nodes) if before_of(j) is None]
    rank = {node: k for k, node in enumerate(nodes)}
    after_nodes = [i for i in nodes if i in stays or i in merged]
    after_rank = {(stays[i] if i in stays else merged[i]): k for k, i in enumerate(after_nodes)}
    after_rank |= {j: len(after_nodes) + k for k, j in enumerate(new_nodes)}
    after_edges = {ordered_edge(stays[i], stays[j]) for i, j in edges if i in stays and j in stays} & set(
        new_bonds
    ) | set(gained)
    labelled = graph.edge_labels is not None
    after_labels = [0] * len(after_rank)
    for node, k in after_rank.items():
        after_labels[k] = int(changed.labels[node])
    rule = Rule(
        before=_pattern([int(graph.labels[node]) for node in nodes], edges, rank, old_bonds, labelled=labelled),
        after=_pattern(after_labels, after_edges, after_rank, new_bonds, labelled=labelled),
        kept=tuple((rank[i], k) for k, i in enumerate(after_nodes)),
        closed=tuple(node in closed for node in nodes),
        radius=radius,
        num_changes=len(rows),
    )
    return rule, tuple(nodes)


def rule_isomorphism(rule: Rule, other: Rule) -> tuple[int, ...] | None:
    """Node of `other.before` for each node of `rule.before` if both are the same rule up to the order of nodes; None otherwise.

    Both sides and the kept nodes must agree, edge labels and closed nodes included. It decides whether changes that share a key
    carry out the same rule: keys are hashes of surroundings and may coincide.
    """
    if rule == other:
        return tuple(range(len(rule.before.labels)))
    (colours, around), (other_colours, other_around) = _glued(rule), _glued(other)
    if sorted(colours) != sorted(other_colours):
        return None
    rare = {colour: colours.count(colour) for colour in set(colours)}
    order: list[int] = []
    while len(order) < len(colours):  # connected where possible, from the rarest colour
        beside = {j for i in order for j in around[i]} - set(order) or set(range(len(colours))) - set(order)
        order.append(min(beside, key=lambda i: (rare[colours[i]], i)))
    image: dict[int, int] = {}

    def extend(depth: int) -> bool:
        if depth == len(order):
            return True
        node = order[depth]
        for target in range(len(other_colours)):
            if other_colours[target] != colours[node] or target in image.values():
                continue
            if all(around[node].get(i) == other_around[target].get(j) for i, j in image.items()):
                image[node] = target
                if extend(depth + 1):
                    return True
                del image[node]
        return False

    return tuple(image[i] for i in range(len(rule.before.labels))) if extend(0) else None


def _glued(rule: Rule) -> tuple[list[int], list[dict[int, tuple[int, int]]]]:
    """Both sides of a rule as one graph: a colour of every node, nodes of `before` first, and its neighbours with both edge labels."""
    back = {j: i for i, j in rule.kept}
    size = len(rule.before.labels)
    new = [j for j in range(len(rule.after.labels)) if j not in back]
    name = back | {j: size + k for k, j in enumerate(new)}
    labels = [[label, -1, int(closed)] for label, closed in zip(rule.before.labels, rule.closed, strict=True)]
    labels += [[-1, -1, 0] for _ in new]
    for j, label in enumerate(rule.after.labels):
        labels[name[j]][1] = label
    around: list[dict[int, tuple[int, int]]] = [{} for _ in labels]
    joined = dict.fromkeys({*rule.before.bonds, *(ordered_edge(name[i], name[j]) for i, j in rule.after.edges)})
    after = {ordered_edge(name[i], name[j]): bond for (i, j), bond in rule.after.bonds.items()}
    for i, j in joined:
        around[i][j] = around[j][i] = (rule.before.bonds.get((i, j), -1), after.get((i, j), -1))
    colours = [hash(tuple(label)) for label in labels]
    for _ in range(2):
        colours = [
            hash((colour, tuple(sorted((bonds, colours[j]) for j, bonds in around[i].items()))))
            for i, colour in enumerate(colours)
        ]
    return colours, around


def _anchors(rows: Sequence[Sequence[int]]) -> list[int]:
    return [node for kind, first, second, _ in rows for node in ((first, second) if kind >= _JOIN else (first,))]


def _ends(edges: Sequence[Edge], before_of: Any) -> list[int]:
    found = [before_of(node) for edge in edges for node in edge]
    return [node for node in found if node is not None]


def _bonds(graph: Graph) -> dict[Edge, int]:
    labels = [0] * graph.num_edges if graph.edge_labels is None else graph.edge_labels.tolist()
    return {(i, j): bond for (i, j), bond in zip(graph.edges.tolist(), labels, strict=True)}


def _pattern(
    labels: Sequence[int], edges: set[Edge], rank: dict[int, int], bonds: dict[Edge, int], *, labelled: bool
) -> Pattern:
    rows = sorted((*ordered_edge(rank[i], rank[j]), bonds[i, j]) for i, j in edges)
    return Pattern(
        tuple(labels), tuple((row[0], row[1]) for row in rows), tuple(row[2] for row in rows) if labelled else None
    )


# Which graphs a rule can be carried out on, and where.


class PatternMatcher:
    """Finds the sites of rules in some graphs."""

    def __init__(self, graphs: Sequence[Graph]) -> None:
        batch = GraphBatch.from_graphs(graphs)
        bonds = np.zeros(len(batch.edges), np.int32) if batch.edge_labels is None else batch.edge_labels
        ends = np.concatenate([batch.edges, batch.edges[:, ::-1]])
        order = np.lexsort((ends[:, 1], ends[:, 0]))
        around = np.stack([ends[:, 1], np.concatenate([bonds, bonds])], axis=1)[order]
        degrees = np.bincount(ends[:, 0], minlength=len(batch.labels))
        ptr, label = np.asarray(batch.node_ptr, np.int64), np.asarray(batch.labels, np.int32)
        around_ptr = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64)
        around = np.ascontiguousarray(around, np.int32)
        twin = matching_kernels.twins(ptr, label, around_ptr, around)
        self._hosts = matching_kernels.Hosts(ptr, label, around_ptr, around, twin)
        self._counts = _label_counts(batch)

    def hold(self, rules: Sequence[Rule], known: BoolArray | None = None, jobs: int = 1) -> BoolArray:
        """Which graphs each rule can be carried out on, `[K, N]`."""
        finds: dict[object, int] = {}  # many rules find the same, and differ in what they make of it
        of_rule = np.array([finds.setdefault((r.before, r.closed, r.must_be_apart), len(finds)) for r in rules], int)
        distinct = [rules[place] for place in np.unique(of_rule, return_index=True)[1]]
        held = np.zeros((len(distinct), len(self._counts)), bool)
        if known is not None:
            np.logical_or.at(held, of_rule, known)
        patterns, num_labels = _patterns(distinct), self._counts.shape[1]

        def look(place: int) -> None:
            needed = np.bincount(distinct[place].before.labels, minlength=num_labels)
            if not needed[num_labels:].any():
                asked = ~held[place] & (self._counts >= needed[:num_labels]).all(axis=1)
                held[place] |= matching_kernels.holders(patterns, self._hosts, place, asked)

        with ThreadPoolExecutor(jobs) as pool:
            for _ in pool.map(look, range(len(distinct))):
                pass
        return np.asarray(held[of_rule])

    def sites(self, rule: Rule, asked: BoolArray, most: int) -> tuple[IntArray, IntArray]:
        """Every site of a rule in some graphs: the graph of each, `[S]`, increasing, and its nodes in the order of `rule.before`, `[S, size]`.

        Of sites that differ only by interchangeable nodes, one is given.
        """
        graphs, placed = matching_kernels.all_sites(_patterns([rule]), self._hosts, 0, asked, most)
        sites = np.empty_like(placed)
        sites[:, list(rule.order)] = placed
        return graphs, sites


def _label_counts(batch: GraphBatch) -> npt.NDArray[np.int64]:
    """How many nodes of each label every graph has, `[N, L]`."""
    num_labels = int(np.max(batch.labels, initial=0)) + 1
    flat = batch.graph_of_node() * num_labels + batch.labels
    return np.bincount(flat, minlength=len(batch) * num_labels).reshape(len(batch), num_labels)


def _patterns(rules: Sequence[Rule]) -> matching_kernels.Patterns:
    """The left-hand sides of rules, as the kernel takes them."""
    ptr, label, degree, closed, twin = [0], list[int](), list[int](), list[bool](), list[int]()
    ties_ptr, ties, apart_ptr, apart = [0], list[tuple[int, int]](), [0], list[int]()
    for rule in rules:
        before, place = rule.before, {node: k for k, node in enumerate(rule.order)}
        joined = rule.must_be_apart
        parts: dict[int, int] = {}  # the node of each part that was placed last
        for k, node in enumerate(rule.order):
            label.append(before.labels[node])
            degree.append(len(before.neighbours[node]))
            closed.append(rule.closed[node])
            part = _first_twin(rule, node)
            twin.append(parts.get(part, -1))
            parts[part] = k
            earlier = sorted(place[other] for other in before.neighbours[node] if place[other] < k)
            ties += [(other, before.bonds[ordered_edge(node, rule.order[other])]) for other in earlier]
            apart += [
                place[j if i == node else i] for i, j in joined if node in (i, j) and place[j if i == node else i] < k
            ]
            ties_ptr.append(len(ties))
            apart_ptr.append(len(apart))
        ptr.append(len(label))
    return matching_kernels.Patterns(
        ptr=np.array(ptr, np.int64),
        label=np.array(label, np.int32),
        degree=np.array(degree, np.int32),
        closed=np.array(closed, bool),
        twin=np.array(twin, np.int32),
        ties_ptr=np.array(ties_ptr, np.int64),
        ties=np.array(ties, np.int32).reshape(-1, 2),
        apart_ptr=np.array(apart_ptr, np.int64),
        apart=np.array(apart, np.int32),
    )


def _first_twin(rule: Rule, node: int) -> int:
    while rule.twins[node] >= 0:
        node = rule.twins[node]
    return node
