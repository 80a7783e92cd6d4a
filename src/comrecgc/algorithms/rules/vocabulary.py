"""The vocabulary of changes: the groups of a dataset, and labels, as compiled code reads them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np

from comrecgc.algorithms.rules import enumeration_kernels
from comrecgc.data import GraphDataset
from comrecgc.graphs import BoolArray, Graph, GraphBatch, IntArray, KeyArray, Ladder, LongArray, NeighbourIndex, Rung
from comrecgc.molecules import Bonding, are_types, bonding_of, ladder_of
from comrecgc.scoring import change_kernels

MAX_NODES = 8
"""Most nodes of a group."""


@dataclass(frozen=True)
class Group:
    """A rooted subgraph and the label of the edge it hangs on."""

    labels: tuple[int, ...]  # label of each node; the first is the root, which hangs on the anchor
    edges: tuple[tuple[int, int], ...]  # pairs of nodes, `i < j`
    edge_labels: tuple[int, ...]  # label of each edge
    bond: int  # label of the edge to the anchor

    @property
    def size(self) -> int:
        """Nodes and edges, that to the anchor included."""
        return len(self.labels) + len(self.edges) + 1

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Nodes below each node of the spanning tree that breadth-first search makes from the root."""
        below: list[list[int]] = [[] for _ in self.labels]
        seen, queue = {0}, [0]
        for node in queue:
            for i, j in self.edges:
                other = j if i == node else i if j == node else None
                if other is not None and other not in seen:
                    seen.add(other)
                    below[node].append(other)
                    queue.append(other)
        return tuple(tuple(nodes) for nodes in below)

    @cached_property
    def bonds(self) -> dict[tuple[int, int], int]:
        """Label of every edge by its ends, smaller first."""
        return dict(zip(self.edges, self.edge_labels, strict=True))


def merged_nodes(
    where: NeighbourIndex, rows: Sequence[Sequence[int]], groups: Sequence[Group], first_new: int
) -> dict[int, int]:
    """Nodes of a group that stay when another replaces it: nodes before, by nodes after, of which `first_new` is the first new one."""
    merged: dict[int, int] = {}
    start = first_new
    for kind, anchor, root, value in rows:
        if kind not in (change_kernels.ATTACH, change_kernels.SWAP, change_kernels.TIE):
            continue
        new = groups[value]
        if kind == change_kernels.SWAP:
            nodes = where.beyond(anchor, root)
            place = {node: k for k, node in enumerate(nodes)}
            inner = sorted(
                (place[i], place[j], bond)
                for i in nodes
                for j, bond in where.around[i].items()
                if j in place and place[i] < place[j]
            )
            old = Group(
                tuple(where.labels[node] for node in nodes),
                tuple((row[0], row[1]) for row in inner),
                tuple(row[2] for row in inner),
                where.around[anchor][root],
            )
            merged |= {nodes[i]: start + j for i, j in common_nodes(old, new)}
        start += len(new.labels)
    return merged


@lru_cache(maxsize=1 << 16)
def common_nodes(old: Group, new: Group) -> tuple[tuple[int, int], ...]:
    """Pairs (node of `old`, node of `new`) that stay in place when one group becomes the other, root with root.

    The spanning trees are aligned so that the fewest elements change; for trees that is the least cost.
    """
    memo: dict[tuple[int, int], tuple[int, tuple[tuple[int, int], ...]]] = {}

    def weight(group: Group, node: int) -> int:
        return 2 + sum(weight(group, child) for child in group.children[node])

    def lay(one: int, other: int) -> tuple[int, tuple[tuple[int, int], ...]]:
        if (one, other) in memo:
            return memo[one, other]
        first, second = old.children[one], new.children[other]
        base = int(old.labels[one] != new.labels[other])
        best: tuple[int, tuple[tuple[int, int], ...]] | None = None
        for targets in _injections(len(first), len(second)):
            cost, pairs = base, [(one, other)]
            used = set()
            for child, target in zip(first, targets, strict=True):
                if target is None:
                    cost += weight(old, child)
                    continue
                used.add(target)
                below, more = lay(child, second[target])
                same = _bond(old, one, child) == _bond(new, other, second[target])
                cost += below + int(not same)
                pairs += more
            cost += sum(weight(new, second[k]) for k in range(len(second)) if k not in used)
            if best is None or cost < best[0]:
                best = (cost, tuple(pairs))
        assert best is not None
        memo[one, other] = best
        return best

    return lay(0, 0)[1]


def swap_cost(old: Group, new: Group) -> int:
    """Elements that change when `new` replaces `old` and the nodes of `common_nodes` stay."""
    kept = dict(common_nodes(old, new))
    cost = int(old.bond != new.bond) + sum(old.labels[i] != new.labels[j] for i, j in kept.items())
    cost += len(old.labels) + len(new.labels) - 2 * len(kept)
    stays = 0
    for (i, j), label in old.bonds.items():
        if i in kept and j in kept:
            a, b = sorted((kept[i], kept[j]))
            if (a, b) in new.bonds:
                stays += 1
                cost += int(new.bonds[a, b] != label)
    return cost + len(old.edges) + len(new.edges) - 2 * stays


def _bond(group: Group, i: int, j: int) -> int:
    return group.bonds[min(i, j), max(i, j)]


@cache
def _injections(count: int, room: int) -> list[tuple[Any, ...]]:
    """Every injection of `count` children into `room` places; none if there are too few places."""
    places: list[int | None] = [*range(room), *([None] * max(count - room, 0))]
    if count > 4 or room > 4:  # seven neighbours of one node: in the order they stand
        return [tuple(places[:count])]
    return list(dict.fromkeys(itertools.permutations(places, count)))


def find_groups(batch: GraphBatch, min_graphs: int) -> tuple[list[Group], KeyArray, LongArray]:
    """The groups that hang in at least `min_graphs` graphs, their names (64-bit hashes) and in how many, in the order of the names."""
    bonds = edge_labels_of(batch)
    degrees = np.bincount(batch.edges.ravel(), minlength=len(batch.labels))
    names, places = enumeration_kernels.hanging_groups(
        *(array.astype(np.int64) for array in (batch.labels, batch.edges, bonds, batch.node_ptr, batch.edge_ptr)),
        change_kernels.new_work(int(batch.node_counts().max(initial=1)), int(degrees.max(initial=1))),
    )  # fmt: skip
    order = np.lexsort((places[:, 0], names))
    names, places = names[order], places[order]
    starts = np.flatnonzero(np.r_[True, names[1:] != names[:-1]]) if len(names) else np.zeros(0, np.int64)
    new_graph = np.r_[True, (names[1:] != names[:-1]) | (places[1:, 0] != places[:-1, 0])] if len(names) else []
    counts = np.add.reduceat(np.asarray(new_graph, np.int64), starts) if len(starts) else np.zeros(0, np.int64)
    common = counts >= min_graphs
    chosen = starts[common]
    groups = [_read(batch, bonds, *places[row].tolist()) for row in chosen]
    return groups, names[chosen], counts[common]


def familiar_pairs(num_labels: int, num_edge_labels: int, known: KeyArray) -> list[Group]:
    """Groups of two nodes that need not occur in the data as a whole: each node would be familiar next to some anchor."""
    found = enumeration_kernels.familiar_pairs(num_labels, num_edge_labels, known)
    return [Group((root, leaf), ((0, 1),), (inner,), bond) for root, bond, leaf, inner in found.tolist()]


def edge_labels_of(batch: GraphBatch) -> IntArray:
    """Edge labels of a batch; 0 throughout where it has none."""
    return np.zeros(len(batch.edges), np.int32) if batch.edge_labels is None else batch.edge_labels


def _read(batch: GraphBatch, bonds: IntArray, graph: int, anchor: int, root: int, size: int) -> Group:
    """The group that hangs there, its nodes in breadth-first order, smaller labels first."""
    first = int(batch.node_ptr[graph])
    rows = slice(batch.edge_ptr[graph], batch.edge_ptr[graph + 1])
    edges = (batch.edges[rows] - first).tolist()
    labels = batch.labels[first : batch.node_ptr[graph + 1]].tolist()
    around: dict[int, dict[int, int]] = {}
    for (i, j), bond in zip(edges, bonds[rows].tolist(), strict=True):
        around.setdefault(i, {})[j] = bond
        around.setdefault(j, {})[i] = bond
    nodes = [root]
    for node in nodes:
        below = [other for other in around[node] if other != anchor and other not in nodes]
        nodes += sorted(below, key=lambda other: (labels[other], around[node][other], other))
    assert len(nodes) == size
    place = {node: k for k, node in enumerate(nodes)}
    inner = sorted(
        (min(place[i], place[j]), max(place[i], place[j]), around[i][j]) for i, j in edges if i in place and j in place
    )
    return Group(
        tuple(labels[node] for node in nodes),
        tuple((i, j) for i, j, _ in inner),
        tuple(bond for _, _, bond in inner),
        around[anchor][root],
    )


def swap_costs(groups: Sequence[Group]) -> LongArray:
    """`swap_cost` of every pair, `[G, G]`; trees are compared by their subtrees, of which many groups share most."""
    trees = _Trees()
    roots = [trees.add(group, 0) if len(group.edges) == len(group.labels) - 1 else None for group in groups]
    costs = np.zeros((len(groups), len(groups)), np.int64)
    for i, j in itertools.combinations(range(len(groups)), 2):
        one, other = roots[i], roots[j]
        if one is None or other is None:
            cost = swap_cost(groups[i], groups[j])
        else:
            cost = trees.distance(one, other) + int(groups[i].bond != groups[j].bond)
        costs[i, j] = costs[j, i] = cost
    return costs


class _Trees:
    """Rooted labelled trees, each kept once, and the least cost to make one of another with their roots in place."""

    def __init__(self) -> None:
        self.known: dict[tuple[int, tuple[tuple[int, int], ...]], int] = {}
        self.nodes: list[tuple[int, tuple[tuple[int, int], ...]]] = []  # label, (bond, tree) below
        self.weights: list[int] = []  # elements, with the edge above
        self.memo: dict[tuple[int, int], int] = {}

    def add(self, group: Group, node: int) -> int:
        below = tuple(sorted((_bond(group, node, child), self.add(group, child)) for child in group.children[node]))
        key = (group.labels[node], below)
        if key not in self.known:
            self.known[key] = len(self.nodes)
            self.nodes.append(key)
            self.weights.append(2 + sum(self.weights[tree] for _, tree in below))
        return self.known[key]

    def distance(self, one: int, other: int) -> int:
        if one == other:
            return 0
        if one > other:
            one, other = other, one
        if (one, other) not in self.memo:
            (label, first), (other_label, second) = self.nodes[one], self.nodes[other]
            fewer, more = (first, second) if len(first) <= len(second) else (second, first)
            total = sum(self.weights[tree] for _, tree in more)
            best = min(
                sum(
                    int(bond != more[k][0]) + self.distance(tree, more[k][1]) - self.weights[more[k][1]]
                    for (bond, tree), k in zip(fewer, places, strict=True)
                )
                for places in _injections(len(fewer), len(more))
            )
            self.memo[one, other] = int(label != other_label) + total + best
        return self.memo[one, other]


# What changes may speak of, compiled.


OFFERED = (64, 128)
"""Least and most groups that are offered for attachment, the most common ones. Any group of the data can be detached."""

MOST_ATTACHED = 9_000_000
"""Limit on groups times nodes they can be attached to; beyond it fewer groups are offered."""

USUAL_SHARE = 0.01
"""Share of the molecules of a table that must have an atom type or a group for it to be offered as a change."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Vocabulary:
    """The changes that mining tries in a dataset."""

    groups: tuple[Group, ...]  # groups that may be attached, detached or swapped, in the order of their names
    names: KeyArray  # their names, `[G]`
    rung: Rung  # what changed graphs may be
    theta: float  # `θ`, the largest cost of a change as a share of the sizes before and after
    num_labels: int  # size of the node label alphabet
    num_edge_labels: int  # size of the edge label alphabet; 1 where edges have no labels
    ladder: Ladder  # tells what is familiar
    bonding: Bonding | None  # valences and hydrogens, where graphs are molecules
    # Which groups may be attached, `[G]`: those that leave no valence open, and the most common
    offered: BoolArray
    offered_labels: BoolArray | None = None  # which labels nodes may be given, `[L]`; None for all
    # Whether a new node may be tied to two others. Where nearly every node has several neighbours, a leaf would be
    # out of place; a molecule would get a ring that cannot be synthesised.
    ties: bool = False

    @classmethod
    def of(
        cls, dataset: GraphDataset, *, rung: Rung, theta: float, min_seen: int = 5, ladder: Ladder | None = None
    ) -> Vocabulary:
        """The vocabulary of a dataset."""
        batch = GraphBatch.from_graphs(dataset.graphs)
        ladder = ladder or ladder_of(dataset.graphs, dataset.label_names, dataset.edge_label_names, min_seen=min_seen)
        num_edge_labels = len(dataset.edge_label_names or "-")
        groups, names, counts = find_groups(batch, min_seen)
        plain = rung < Rung.PLAUSIBLE or not dataset.is_molecular
        bonding = None if plain else bonding_of(dataset.graphs, dataset.label_names)
        num_places = int((batch.labels != (-1 if bonding is None else bonding.hydrogen)).sum())
        num_offered = min(max(MOST_ATTACHED // max(num_places, 1), OFFERED[0]), OFFERED[1])
        rare = names[np.argsort(-counts, kind="stable")[num_offered:]]
        least = max(min_seen, math.ceil(USUAL_SHARE * len(dataset)))
        usual = names[counts >= least]
        more = familiar_pairs(dataset.num_labels, num_edge_labels, ladder.familiarity.known)
        ties = rung >= Rung.PLAUSIBLE and not dataset.is_molecular
        if rung < Rung.PLAUSIBLE or ties:  # any node may be tied to any other, by any edge
            more += [Group((k,), (), (), bond) for k in range(dataset.num_labels) for bond in range(num_edge_labels)]
        groups, names = with_groups(groups, names, more)
        whole = [
            bonding is None or bonding.is_whole(group.labels, group.edges, group.edge_labels, group.bond)
            for group in groups
        ]
        offered = np.array(whole, dtype=bool) & ~np.isin(names, rare)
        labels = None
        if rung >= Rung.PLAUSIBLE and are_types(dataset.label_names):
            offered &= np.isin(names, usual)
            owners = np.unique(batch.graph_of_node() * dataset.num_labels + batch.labels) % dataset.num_labels
            labels = np.bincount(owners, minlength=dataset.num_labels) >= least
        return cls(
            groups=tuple(groups),
            names=names,
            rung=rung,
            theta=theta,
            num_labels=dataset.num_labels,
            num_edge_labels=num_edge_labels,
            ladder=ladder,
            bonding=bonding,
            offered=offered,
            offered_labels=labels,
            ties=ties,
        )

    def offers(self, changes: IntArray, graph: Graph) -> BoolArray:
        """Which single changes `[V, 4]` of a graph to try, `[V]`: none that sets a rare label or joins atoms of a table's molecules.

        A bond between any two atoms of a molecule is easy to draw and infeasible to synthesise. A leaf is exchanged as a group, whose name includes
        its bond, so it is not relabelled too.
        """
        if self.offered_labels is None:
            return np.ones(len(changes), bool)
        kind = changes[:, 0]
        relabels = kind == change_kernels.RELABEL
        usual = ~relabels | self.offered_labels[np.where(relabels, changes[:, 3], 0)]
        leaves = relabels & (graph.degrees()[np.where(relabels, changes[:, 1], 0)] == 1)
        mask: BoolArray = usual & ~leaves & (kind != change_kernels.JOIN)
        return mask

    @cached_property
    def compiled(self) -> tuple[Any, Any, Any, Any]:
        """The records `enumeration_kernels` and `incremental_kernels` take: limits, groups, hydrogens, bonds."""
        changing = change_kernels
        limits = enumeration_kernels.Limits(
            min(int(self.rung), int(Rung.PLAUSIBLE)),
            float(self.theta),
            self.num_labels,
            self.num_edge_labels,
            self.names,
            swap_costs(self.groups),
            changing.hash_table(self.ladder.familiarity.known),
            self.ties,
        )
        if self.bonding is None:
            bonds = changing.Bonds(np.zeros((0, 1), np.int8), -1, np.zeros(0, np.int64))
        else:
            most = self.bonding.most.astype(np.int64)
            bonds = changing.Bonds(self.bonding.right, self.bonding.charged, most)
        return limits, *self.compiled_groups, bonds

    @cached_property
    def compiled_groups(self) -> tuple[Any, Any]:
        """The records needed to carry changes out: groups and hydrogens."""
        changing = change_kernels
        table, edges = group_arrays(self.groups)
        table[:, changing.OFFERED] = self.offered
        if self.bonding is None:
            empty = np.zeros((0, 3), np.int64)
            hydrogens = changing.Hydrogens(-1, 0, np.zeros(self.num_edge_labels, np.int64), empty)
        else:
            orders, valences = self.bonding.orders.astype(np.int64), self.bonding.valences.astype(np.int64)
            hydrogens = changing.Hydrogens(self.bonding.hydrogen, self.bonding.single, orders, valences)
        return changing.Groups(table, edges), hydrogens


def arrays_of(graph: Graph) -> tuple[LongArray, LongArray, LongArray]:
    """Labels, edges and edge labels (0 if there are none) as the kernels take them."""
    bonds = np.zeros(graph.num_edges, np.int32) if graph.edge_labels is None else graph.edge_labels
    return graph.labels.astype(np.int64), graph.edges.astype(np.int64), bonds.astype(np.int64)


def room_for(graphs: Sequence[Graph]) -> Any:
    """A `change_kernels.Work` for any of the graphs."""
    nodes = max((graph.num_nodes for graph in graphs), default=1)
    degree = max((int(graph.degrees().max(initial=0)) for graph in graphs), default=0)
    return change_kernels.new_work(nodes, degree)


def group_arrays(groups: Sequence[Group]) -> tuple[LongArray, LongArray]:
    """Groups as `change_kernels.Groups` holds them."""
    table = np.full((len(groups), MAX_NODES + 3), -1, np.int64)
    most = max((len(group.edges) for group in groups), default=0)
    edges = np.full((len(groups), most + 1, 3), -1, np.int64)
    for row, group in enumerate(groups):
        table[row, : len(group.labels)] = group.labels
        table[row, MAX_NODES:] = group.bond, group.size, 1
        for place, ((i, j), label) in enumerate(zip(group.edges, group.edge_labels, strict=True)):
            edges[row, place] = i, j, label
    return table, edges


def with_groups(groups: Sequence[Group], names: KeyArray, more: Sequence[Group]) -> tuple[list[Group], KeyArray]:
    """The groups and further ones, each once, in the order of their names."""
    if not more:
        return list(groups), names
    added = enumeration_kernels.name_groups(*group_arrays(more), change_kernels.new_work(MAX_NODES + 1, MAX_NODES))
    every, first = np.unique(np.concatenate([names, added]), return_index=True)
    both = [*groups, *more]
    return [both[k] for k in first], every
