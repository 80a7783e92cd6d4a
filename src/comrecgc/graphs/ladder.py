"""The ladder of changes: which changed graphs are allowed, from any graph to one that looks like the data.

| rung        | the changed graph                                                                             |
|-------------|-----------------------------------------------------------------------------------------------|
| `any`       | may be any graph                                                                              |
| `connected` | has no more components than the graph before                                                  |
| `plausible` | … and every node the change touched has familiar surroundings; molecules are right chemically |
| `confirmed` | … and most of a panel of other classifiers accept it too                                      |

The result is judged, not the steps that lead to it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

import numpy as np
import numpy.typing as npt

from comrecgc.errors import InputError
from comrecgc.graphs import graph_kernels
from comrecgc.graphs.batch import GraphBatch, KeyArray, LongArray
from comrecgc.graphs.edits import Constraint, EditKind, EditTable, KeepConnected, edited_batch
from comrecgc.graphs.graph import BoolArray, Graph, IntArray

# Familiar surroundings of a node: those that occur often enough in the data.


MIN_SEEN = 5  # least number of nodes of the data with the same surroundings that makes these familiar


def surroundings(batch: GraphBatch, *, edge_labels: bool = True) -> KeyArray:
    """Hash of the surroundings of every node, `[N]`: equal exactly where they are equal, up to 64-bit chance."""
    labels = batch.edge_labels if edge_labels else None
    return np.asarray(graph_kernels.hashes(batch.labels, batch.edges, _or_zero(labels, len(batch.edges))))


@dataclass(frozen=True, eq=False, kw_only=True)
class Familiarity:
    """The surroundings seen at least `min_seen` times in some graphs. As a constraint: every touched node is familiar afterwards."""

    known: KeyArray  # hashes of the familiar surroundings, increasing
    edge_labels: bool  # whether they count
    min_seen: int = MIN_SEEN

    @classmethod
    def of(cls, graphs: GraphBatch | Iterable[Graph], *, min_seen: int = MIN_SEEN) -> Familiarity:
        """Familiarity from the given graphs."""
        if min_seen < 1:
            raise InputError(f"min_seen must be at least 1 (got {min_seen})")
        batch = graphs if isinstance(graphs, GraphBatch) else GraphBatch.from_graphs(graphs)
        known, counts = np.unique(surroundings(batch), return_counts=True)
        return cls(known=known[counts >= min_seen], edge_labels=batch.edge_labels is not None, min_seen=min_seen)

    def hashes(self, batch: GraphBatch) -> KeyArray:
        """Hash of the surroundings of every node, `[N]`, with edge labels if the data has them."""
        self._check(batch.edge_labels, len(batch.edges))
        return surroundings(batch, edge_labels=self.edge_labels)

    def is_familiar(self, hashes: KeyArray) -> BoolArray:
        """Which hashes are of familiar surroundings."""
        place = np.searchsorted(self.known, hashes)
        found: BoolArray = np.append(self.known, np.uint64(0))[place] == hashes
        return found & (place < len(self.known))

    def allowed(self, graph: Graph, table: EditTable) -> BoolArray:
        """Edits after which every node they touch, neighbours of a relabelled node included, is familiar.

        A new edge takes label 0, as `apply_edit` gives it.
        """
        self._check(graph.edge_labels, graph.num_edges)
        given = table.second[table.of_kind(EditKind.RELABEL) | table.of_kind(EditKind.ADD_NODE)]
        num_labels = 1 + max(int(graph.labels.max()), int(given.max(initial=0)))
        edge_labels = _or_zero(graph.edge_labels if self.edge_labels else None, graph.num_edges)
        relabel, tie, leaf, remove, cut = graph_kernels.familiar_edits(
            graph.labels, graph.edges, edge_labels, num_labels, self.known
        )
        mask = np.empty(len(table), dtype=bool)
        tests: dict[EditKind, Callable[[IntArray, IntArray], BoolArray]] = {
            EditKind.RELABEL: lambda first, second: relabel[first, second],
            EditKind.ADD_NODE: lambda first, second: tie[first, second] & leaf[second, graph.labels[first]],
            EditKind.REMOVE_NODE: lambda first, _: remove[first],
            EditKind.ADD_EDGE: lambda i, j: tie[i, graph.labels[j]] & tie[j, graph.labels[i]],
            EditKind.REMOVE_EDGE: lambda first, second: cut[graph.edge_places(first, second)],
        }
        for kind, test in tests.items():
            of_kind = table.of_kind(kind)
            mask[of_kind] = test(table.first[of_kind], table.second[of_kind])
        return mask

    def __repr__(self) -> str:
        digest = hashlib.sha256(self.known.tobytes()).hexdigest()[:8]
        return f"Familiarity(min_seen={self.min_seen}, known={len(self.known)}, digest={digest})"

    def _check(self, edge_labels: IntArray | None, num_edges: int) -> None:
        if self.edge_labels and edge_labels is None and num_edges:
            raise InputError(
                "Graphs must have edge labels, as the data has from which familiarity was learnt (got none)"
            )


def _or_zero(edge_labels: IntArray | None, num_edges: int) -> IntArray:
    return np.zeros(num_edges, dtype=np.int32) if edge_labels is None else edge_labels


class Rung(IntEnum):
    """A rung of the ladder; files and options use the lower-case name."""

    ANY = 0
    CONNECTED = 1
    PLAUSIBLE = 2
    CONFIRMED = 3

    @classmethod
    def parse(cls, name: str) -> Rung:
        """The rung of that name."""
        names = [rung.name.lower() for rung in cls]
        if name not in names:
            raise InputError(f"changes must be one of {', '.join(names)} (got {name!r})")
        return cls[name.upper()]

    def __str__(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, eq=False, kw_only=True)
class ChangedGraphs:
    """Graphs after a change, and the origin of each of their nodes."""

    before: GraphBatch
    after: GraphBatch
    source: LongArray  # which graph of `before` each was made from, `[B]`
    origin: LongArray  # which node of `before` each node of `after` was, `[N]`; -1 for a new one

    @classmethod
    def from_graphs(cls, before: Sequence[Graph], after: Sequence[Graph]) -> ChangedGraphs:
        """Changed graphs from pairs of graphs with nodes matched by id."""
        if len(before) != len(after):
            raise InputError(f"Every changed graph needs the one before (got {len(before)} and {len(after)})")
        old, new = GraphBatch.from_graphs(before), GraphBatch.from_graphs(after)
        old_ids = np.concatenate([np.zeros(0, np.int64), *(graph.ids for graph in before)])
        new_ids = np.concatenate([np.zeros(0, np.int64), *(graph.ids for graph in after)])
        most = 1 + max(old_ids.max(initial=0), new_ids.max(initial=0))
        names = old.graph_of_node() * most + old_ids  # increasing, as ids are
        wanted = new.graph_of_node() * most + new_ids
        place = np.minimum(np.searchsorted(names, wanted), max(len(names) - 1, 0))
        origin = np.where(names[place] == wanted, place, -1) if len(names) else np.zeros(0, np.int64)
        return cls(before=old, after=new, source=np.arange(len(after)), origin=origin)

    @classmethod
    def from_table(cls, graph: Graph, table: EditTable) -> ChangedGraphs:
        """The graph after each edit of a table."""
        after = edited_batch(graph, table, with_edge_labels=True)
        position = np.arange(len(after.labels)) - np.repeat(after.node_ptr[:-1], after.node_counts())
        gone = np.where(table.of_kind(EditKind.REMOVE_NODE), table.first, graph.num_nodes)
        position += position >= np.repeat(gone, after.node_counts())
        source, origin = np.zeros(len(table), np.int64), np.where(position < graph.num_nodes, position, -1)
        return cls(before=GraphBatch.from_graphs([graph]), after=after, source=source, origin=origin)

    def __len__(self) -> int:
        return len(self.after)

    def select(self, chosen: BoolArray) -> ChangedGraphs:
        """The changed graphs under a mask."""
        after, origin = self.after.select(np.flatnonzero(chosen)), self.origin[chosen[self.after.graph_of_node()]]
        return ChangedGraphs(before=self.before, after=after, source=self.source[chosen], origin=origin)


class Chemistry(Protocol):
    """Further conditions for a plausible change of molecules."""

    def plausible(self, changed: ChangedGraphs, touched: BoolArray, *, thorough: bool) -> BoolArray:
        """Mask over the changed graphs, `[B]`; `touched` are nodes that are new or have other surroundings than before.

        A `thorough` check includes every molecule, even if a quick test almost always suffices.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Ladder:
    """The ladder for a dataset: finds the rung of changed graphs."""

    familiarity: Familiarity  # which surroundings of nodes occur in the data
    chemistry: Chemistry | None = None  # further conditions on molecules; none for other graphs

    def constraint(self, rung: Rung) -> Constraint | None:
        """The constraint on single edits that keeps a search on a rung; None if all edits are allowed.

        Every step keeps to the rung, and so does the final graph. The panel judges accepted results only, so `confirmed` allows the edits of
        `plausible`.
        """
        if rung == Rung.ANY:
            return None
        return KeepConnected() if rung == Rung.CONNECTED else Plausible(self.familiarity, self.chemistry)

    def rungs(self, changed: ChangedGraphs, *, confirmed: BoolArray | None = None) -> npt.NDArray[np.int8]:
        """The highest rung each changed graph reaches, `[B]`; `confirmed` are those that most of a panel accept, `[B]`, None without a panel."""
        rungs = np.full(len(changed), Rung.ANY, dtype=np.int8)
        connected = num_components(changed.after) <= num_components(changed.before)[changed.source]
        rungs[connected] = Rung.CONNECTED
        plausible = np.flatnonzero(connected)[self.plausible(changed.select(connected))]
        rungs[plausible] = Rung.PLAUSIBLE
        if confirmed is not None:
            rungs[plausible[confirmed[plausible]]] = Rung.CONFIRMED
        return rungs

    def plausible(self, changed: ChangedGraphs) -> BoolArray:
        """Whether the nodes that each change touched are familiar and chemically right, `[B]`; components are not compared here."""
        hashes = self.familiarity.hashes(changed.after)
        touched = touched_nodes(self.familiarity, changed)
        strange = touched & ~self.familiarity.is_familiar(hashes)
        mask = ~changed.after.graphs_with(strange)
        if self.chemistry is not None:
            nodes = mask[changed.after.graph_of_node()]
            mask[mask] = self.chemistry.plausible(changed.select(mask), touched[nodes], thorough=True)
        return mask


def rung_shares(rungs: npt.NDArray[np.int8]) -> dict[str, float]:
    """Share of changed graphs that reach each rung, by name; a graph also reaches all rungs below its own."""
    return {str(rung): float((rungs >= rung).mean()) if len(rungs) else 0.0 for rung in Rung}


@dataclass(frozen=True)
class Plausible:
    """Edits that split no component and after which every touched node is familiar."""

    familiarity: Familiarity
    chemistry: Chemistry | None = None

    def allowed(self, graph: Graph, table: EditTable) -> BoolArray:
        mask = self.familiarity.allowed(graph, table)
        mask[mask] = KeepConnected().allowed(graph, table.select(mask))
        if self.chemistry is not None and mask.any():
            changed = ChangedGraphs.from_table(graph, table.select(mask))
            touched = touched_nodes(self.familiarity, changed)
            mask[mask] = self.chemistry.plausible(changed, touched, thorough=False)
        return mask


def touched_nodes(familiarity: Familiarity, changed: ChangedGraphs) -> BoolArray:
    """Nodes of `changed.after` that are new or have other surroundings than before, `[N]`."""
    before = np.append(familiarity.hashes(changed.before), np.uint64(0))
    return np.asarray((changed.origin < 0) | (before[changed.origin] != familiarity.hashes(changed.after)))


def num_components(batch: GraphBatch) -> LongArray:
    """Connected components of each graph, `[B]`."""
    from scipy.sparse import coo_array  # slow to import
    from scipy.sparse.csgraph import connected_components

    n = len(batch.labels)
    links = coo_array((np.ones(len(batch.edges), dtype=np.int8), (batch.edges[:, 0], batch.edges[:, 1])), shape=(n, n))
    count, component = connected_components(links, directed=False)
    owner = np.empty(count, dtype=np.int64)
    owner[component] = batch.graph_of_node()
    return np.bincount(owner, minlength=len(batch))
