"""Which edits are allowed: small rules that mask an edit table, and their conjunction."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from comrecgc.errors import InputError
from comrecgc.graphs import graph_kernels
from comrecgc.graphs.batch import LongArray
from comrecgc.graphs.edits import EditKind, EditTable, one_edit_table
from comrecgc.graphs.graph import BoolArray, Graph


class Constraint(Protocol):
    """A rule on edits. Anything with this method can be passed wherever a constraint is taken."""

    def allowed(self, graph: Graph, table: EditTable) -> BoolArray:
        """Mask over the table (in positions of `graph`): True where the edit may be made."""
        ...


def allowed_edits(graph: Graph, num_labels: int, constraint: Constraint | None = None) -> EditTable:
    """The edits in `N(graph)` that the constraint allows.

    Args:
        graph: The graph to edit.
        num_labels: Size of the label alphabet.
        constraint: What edits are allowed; None allows all.
    """
    table = one_edit_table(graph, num_labels)
    return table if constraint is None else table.select(constraint.allowed(graph, table))


@dataclass(frozen=True, init=False)
class AllOf:
    """Every one of the given constraints: `AllOf(KeepConnected(), AllowKinds({"relabel"}))`."""

    constraints: tuple[Constraint, ...]

    def __init__(self, *constraints: Constraint) -> None:
        object.__setattr__(self, "constraints", constraints)

    def allowed(self, graph: Graph, table: EditTable) -> BoolArray:
        mask = np.ones(len(table), dtype=bool)
        for constraint in self.constraints:
            mask &= constraint.allowed(graph, table)
        return mask


@dataclass(frozen=True)
class KeepConnected:
    """Never split a component: an edge whose removal would disconnect its ends stays."""

    def allowed(self, graph: Graph, table: EditTable) -> BoolArray:
        removes = table.of_kind(EditKind.REMOVE_EDGE)
        mask = np.ones(len(table), dtype=bool)
        if removes.any():
            bridges = graph_kernels.bridges(graph.edges, graph.num_nodes)
            mask[removes] = ~bridges[graph.edge_places(table.first[removes], table.second[removes])]
        return mask


@dataclass(frozen=True)
class AllowKinds:
    """Only these kinds of edit, as `EditKind`s or their lower-case names: `AllowKinds({"relabel", "remove_edge"})`."""

    kinds: Collection[EditKind | str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "kinds", tuple(self.kinds))
        names = [kind.name.lower() for kind in EditKind]
        for kind in self.kinds:
            if not isinstance(kind, EditKind) and kind not in names:
                raise InputError(f"Edit kinds are {', '.join(names)} (got {kind!r})")

    def allowed(self, graph: Graph, table: EditTable) -> BoolArray:  # noqa: ARG002
        kinds = [kind if isinstance(kind, EditKind) else EditKind[kind.upper()] for kind in self.kinds]
        return np.isin(table.kind, np.array(kinds, dtype=np.int8))


@dataclass(frozen=True)
class FreezeNodes:
    """Keep some nodes, and the edges between two of them, as they are; new neighbours may still be tied to them.

    Args:
        nodes: Ids of the frozen nodes (the same in every graph), or a function from a graph to a mask over its
            positions: `FreezeNodes(lambda graph: graph.labels == carbon)`.
    """

    nodes: Collection[int] | Callable[[Graph], BoolArray]

    def allowed(self, graph: Graph, table: EditTable) -> BoolArray:
        frozen = np.asarray(self.nodes(graph)) if callable(self.nodes) else np.isin(graph.ids, list(self.nodes))
        if frozen.dtype != bool or frozen.shape != (graph.num_nodes,):
            raise InputError(f"FreezeNodes needs a boolean per node (got {frozen.dtype} of shape {frozen.shape})")
        touches_node = table.of_kind(EditKind.RELABEL) | table.of_kind(EditKind.REMOVE_NODE)
        touches_edge = table.of_kind(EditKind.ADD_EDGE) | table.of_kind(EditKind.REMOVE_EDGE)
        mask = ~(touches_node & frozen[table.first])
        mask[touches_edge] &= ~(frozen[table.first[touches_edge]] & frozen[table.second[touches_edge]])
        return mask


@dataclass(frozen=True, eq=False)
class StayNear:
    """Stay within a number of changed elements of a start graph; nodes are matched by id.

    A relabelled node counts once, a node or an edge added or removed once each, a change that was undone not at all. Edge labels
    are not compared.

    Args:
        start: The graph edits began from.
        max_cost: Elements that may differ.
    """

    start: Graph
    max_cost: int

    def allowed(self, graph: Graph, table: EditTable) -> BoolArray:
        within: BoolArray = self.costs(graph, table) <= self.max_cost
        return within

    def costs(self, graph: Graph, table: EditTable) -> LongArray:
        """Elements in which `graph` after each edit differs from `start`, `[N]`."""
        start, n = self.start, graph.num_nodes
        ids = np.append(graph.ids, graph.next_id)  # the last is the node an edit adds
        place = np.minimum(np.searchsorted(start.ids, ids), start.num_nodes - 1)
        was_there = start.ids[place] == ids
        was_there[n] = False
        differs = was_there[:n] & (graph.labels != start.labels[place[:n]])

        joined = np.zeros((start.num_nodes, start.num_nodes), dtype=bool)
        joined[start.edges[:, 0], start.edges[:, 1]] = joined[start.edges[:, 1], start.edges[:, 0]] = True

        def was_edge(first: npt.NDArray[np.integer], second: npt.NDArray[np.integer]) -> BoolArray:
            known: BoolArray = joined[place[first], place[second]] & was_there[first] & was_there[second]
            return known

        same = int(was_there.sum()) + int(was_edge(*graph.edges.T).sum())
        cost = int(differs.sum()) + graph.size + start.size - 2 * same
        neighbour = np.full(n, -1, dtype=np.int32)
        neighbour[graph.edges] = graph.edges[:, ::-1]
        effects = graph_kernels.effects(table.kind, table.first, table.second, n, neighbour)
        node, i, j, sign, gone = effects.T
        edges = np.where(sign == 0, 0, sign * np.where(was_edge(i, j), -1, 1))
        label_differs = (table.second != start.labels[place[node]]).astype(np.int64) - np.append(differs, 0)[node]
        labels = np.where(node == n, 1, np.where((node >= 0) & was_there[node], label_differs, 0))
        removed = np.where(gone >= 0, np.where(was_there[gone], 1, -1) - np.append(differs, 0)[gone], 0)
        result: LongArray = cost + edges + labels + removed
        return result
