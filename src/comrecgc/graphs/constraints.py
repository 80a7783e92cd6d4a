"""Which edits are allowed: small rules that mask an edit table, and their conjunction."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import networkx as nx
import numpy as np

from comrecgc.errors import InputError
from comrecgc.graphs.edits import EditKind, EditTable
from comrecgc.graphs.graph import BoolArray, Graph

# Bonds an uncharged atom can carry at most; * is an atom of unknown element.
_MAX_VALENCE = {
    "H": 1, "Li": 1, "Na": 1, "K": 1, "F": 1, "Cl": 1, "Br": 1, "I": 1, "Mg": 2, "Ca": 2, "Zn": 2, "O": 2,
    "B": 3, "Al": 3, "N": 3, "C": 4, "Si": 4, "Ge": 4, "Sn": 4, "Pb": 4, "P": 5, "As": 5, "S": 6, "Se": 6, "Te": 6, "*": 8,
}  # fmt: skip

BOND_ORDERS = (1.0, 2.0, 3.0, 1.5)
"""Order of the bond behind edge labels 0, 1, 2 and 3 in molecules: single, double, triple, aromatic."""


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


@dataclass(frozen=True)
class Valence:
    """No edit that gives an atom more bonds than it can carry.

    Bonds are counted by their order where the graph has edge labels and as one each where it has none; a new bond is
    single. An atom that already carries too many, as charged groups in real data do, may still lose some. Two aromatic
    bonds count three, so an aromatic atom cannot become an oxygen.

    Args:
        maximum: Bonds each label can carry, indexed by label.
        bond_orders: Order of the bond behind each edge label.
    """

    maximum: Sequence[float]
    bond_orders: Sequence[float] = BOND_ORDERS

    @classmethod
    def of_elements(cls, label_names: Iterable[str]) -> Valence:
        """The rule for labels that are chemical elements: `Valence.of_elements(dataset.label_names)`."""
        names = list(label_names)
        unknown = [name for name in names if name not in _MAX_VALENCE]
        if unknown:
            raise InputError(f"Valence knows the elements {', '.join(_MAX_VALENCE)} (got {unknown[0]!r})")
        return cls(tuple(_MAX_VALENCE[name] for name in names))

    def allowed(self, graph: Graph, table: EditTable) -> BoolArray:
        maximum = np.asarray(self.maximum, dtype=float)
        given = table.second[table.of_kind(EditKind.RELABEL) | table.of_kind(EditKind.ADD_NODE)]
        largest = max(int(graph.labels.max()), int(given.max(initial=0)))
        if largest >= len(maximum):
            raise InputError(f"Valence needs a maximum for every label (got {len(maximum)}, label {largest})")
        used = self._used(graph)
        full = used + 1 > maximum[graph.labels]
        mask = np.ones(len(table), dtype=bool)
        relabels, adds_node, adds_edge = (
            table.of_kind(kind) for kind in (EditKind.RELABEL, EditKind.ADD_NODE, EditKind.ADD_EDGE)
        )
        mask[relabels] = used[table.first[relabels]] <= maximum[table.second[relabels]]
        mask[adds_node] = ~full[table.first[adds_node]] & (maximum[table.second[adds_node]] >= 1)
        mask[adds_edge] = ~full[table.first[adds_edge]] & ~full[table.second[adds_edge]]
        return mask

    def _used(self, graph: Graph) -> np.ndarray:
        """Bonds at each atom, `[n]`."""
        if graph.edge_labels is None:
            return graph.degrees().astype(float)
        orders = np.asarray(self.bond_orders, dtype=float)
        if graph.num_edges and graph.edge_labels.max() >= len(orders):
            raise InputError(
                f"bond_orders must cover every edge label (got {len(orders)} orders, label {graph.edge_labels.max()})"
            )
        weights = np.repeat(orders[graph.edge_labels], 2)
        return np.bincount(graph.edges.ravel(), weights=weights, minlength=graph.num_nodes)
