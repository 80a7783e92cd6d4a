"""Which edits are allowed: small rules that mask an edit table, and their conjunction."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from comrecgc.errors import InputError
from comrecgc.graphs.edits import EditKind, EditTable
from comrecgc.graphs.graph import BoolArray, Graph


class Constraint(Protocol):
    """A rule on edits. Anything with this method can be passed wherever a constraint is taken."""

    def allowed(self, graph: Graph, table: EditTable) -> BoolArray:
        """Mask over the table (in positions of `graph`): True where the edit may be made."""
        ...


@dataclass(frozen=True, init=False)
class AllOf:
    """Every one of the given constraints: `AllOf(KeepConnected(), MaxSize(nodes=40))`."""

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
        removes = np.flatnonzero(table.of_kind(EditKind.REMOVE_EDGE))
        mask = np.ones(len(table), dtype=bool)
        if len(removes):
            import networkx as nx  # a quarter of a second to import

            bridges = {tuple(sorted(pair)) for pair in nx.bridges(nx.Graph(graph.edges.tolist()))}
            ends = np.sort(np.stack([table.first[removes], table.second[removes]], axis=1), axis=1)
            mask[removes] = [tuple(pair) not in bridges for pair in ends.tolist()]
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
    """Leave some nodes, and the edges between two of them, as they are; new neighbours may still be tied to them.

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


@dataclass(frozen=True, kw_only=True)
class MaxSize:
    """No edit that grows the graph past a number of nodes or edges."""

    nodes: int | None = None
    edges: int | None = None

    def __post_init__(self) -> None:
        for name, value in (("nodes", self.nodes), ("edges", self.edges)):
            if value is not None and value < 0:
                raise InputError(f"MaxSize {name} must not be negative (got {value})")

    def allowed(self, graph: Graph, table: EditTable) -> BoolArray:
        adds_node = table.of_kind(EditKind.ADD_NODE)
        adds_edge = adds_node | table.of_kind(EditKind.ADD_EDGE)
        mask = np.ones(len(table), dtype=bool)
        if self.nodes is not None and graph.num_nodes >= self.nodes:
            mask &= ~adds_node
        if self.edges is not None and graph.num_edges >= self.edges:
            mask &= ~adds_edge
        return mask
