"""What changes may speak of: labels, edge labels, the groups of the data, and what is familiar in it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.rules import enumeration_kernels
from comrecgc.algorithms.rules.groups import MAX_NODES, Group, familiar_pairs, find_groups, swap_costs
from comrecgc.data import GraphDataset
from comrecgc.graphs import Graph, GraphBatch, Ladder, Rung
from comrecgc.molecules import Bonding, are_types, bonding_of, ladder_of
from comrecgc.scoring import change_kernels

OFFERED = (64, 128)
"""Groups that are offered to be attached, at least and at most: the most common ones. Any group of the data can be detached."""

MOST_ATTACHED = 9_000_000
"""Groups times nodes of the data that they can be attached to, from which on fewer than the most are offered."""

USUAL_SHARE = 0.01
"""Share of the molecules of a table that must have an atom type or a group for it to be offered as a change."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Vocabulary:
    """The changes that are looked for in a dataset.

    Args:
        groups: Groups that may be attached, detached or swapped, in the order of their names.
        names: Their names, `[G]`.
        rung: What changed graphs may be.
        theta: `θ`, the largest cost of a change as a share of the sizes before and after.
        num_labels: Size of the node label alphabet.
        num_edge_labels: Size of the edge label alphabet; 1 where edges have no labels.
        ladder: Tells what is familiar.
        bonding: Valences and hydrogens, where graphs are molecules.
        offered: Which groups may be attached, `[G]`: those that leave no valence open, and the most common.
        offered_labels: Which labels nodes may be given, `[L]`; None for all.
        ties: Whether a new node may be tied to two others. Where nearly every node has several neighbours, a leaf would be out of place; a molecule would get
            a ring that nobody can make.
    """

    groups: tuple[Group, ...]
    names: npt.NDArray[np.uint64]
    rung: Rung
    theta: float
    num_labels: int
    num_edge_labels: int
    ladder: Ladder
    bonding: Bonding | None
    offered: npt.NDArray[np.bool_]
    offered_labels: npt.NDArray[np.bool_] | None = None
    ties: bool = False

    @classmethod
    def of(
        cls, dataset: GraphDataset, *, rung: Rung, theta: float, min_seen: int = 5, ladder: Ladder | None = None
    ) -> Vocabulary:
        """The vocabulary of a dataset.

        Args:
            dataset: The graphs, of all classes.
            rung: What changed graphs may be.
            theta: `θ`.
            min_seen: How many graphs must have a group, and how many nodes the same surroundings.
            ladder: The ladder of the dataset, where it is known.
        """
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

    def offers(self, changes: npt.NDArray[np.int32], graph: Graph) -> npt.NDArray[np.bool_]:
        """Which single changes `[V, 4]` of a graph give nodes no label that is too rare, `[V]`, and join no atoms of a table's molecules.

        A bond between any two atoms of a molecule is drawn at once and made by nobody. A leaf is exchanged as a group, which says what it hangs on,
        and not relabelled too.
        """
        if self.offered_labels is None:
            return np.ones(len(changes), bool)
        kind = changes[:, 0]
        relabels = kind == change_kernels.RELABEL
        usual = ~relabels | self.offered_labels[np.where(relabels, changes[:, 3], 0)]
        leaves = relabels & (graph.degrees()[np.where(relabels, changes[:, 1], 0)] == 1)
        mask: npt.NDArray[np.bool_] = usual & ~leaves & (kind != change_kernels.JOIN)
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
        """What it takes to carry changes out: groups and hydrogens."""
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


def arrays_of(graph: Graph) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Labels, edges and edge labels (0 where there are none) as the kernels take them."""
    bonds = np.zeros(graph.num_edges, np.int32) if graph.edge_labels is None else graph.edge_labels
    return graph.labels.astype(np.int64), graph.edges.astype(np.int64), bonds.astype(np.int64)


def room_for(graphs: Sequence[Graph]) -> Any:
    """A `change_kernels.Work` for any of the graphs."""
    nodes = max((graph.num_nodes for graph in graphs), default=1)
    degree = max((int(graph.degrees().max(initial=0)) for graph in graphs), default=0)
    return change_kernels.new_work(nodes, degree)


def group_arrays(groups: Sequence[Group]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
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


def with_groups(
    groups: Sequence[Group], names: npt.NDArray[np.uint64], more: Sequence[Group]
) -> tuple[list[Group], npt.NDArray[np.uint64]]:
    """The groups and some more, each once, in the order of their names."""
    if not more:
        return list(groups), names
    added = enumeration_kernels.name_groups(*group_arrays(more), change_kernels.new_work(MAX_NODES + 1, MAX_NODES))
    every, first = np.unique(np.concatenate([names, added]), return_index=True)
    both = [*groups, *more]
    return [both[k] for k in first], every
