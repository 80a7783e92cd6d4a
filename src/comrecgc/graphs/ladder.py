"""The ladder of changes: what a changed graph may be, from any graph to one that looks like the data.

| rung        | the changed graph                                                                             |
|-------------|-----------------------------------------------------------------------------------------------|
| `any`       | may be any graph                                                                              |
| `connected` | has no more components than the graph before                                                  |
| `plausible` | … and every node the change touched has familiar surroundings; molecules are right chemically |
| `confirmed` | … and most of a panel of other classifiers accept it too                                      |

The result is judged, not the steps that lead to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

import numpy as np
import numpy.typing as npt

from comrecgc.errors import InputError
from comrecgc.graphs.batch import GraphBatch, LongArray
from comrecgc.graphs.constraints import Constraint, KeepConnected
from comrecgc.graphs.edits import EditKind, EditTable, edited_batch
from comrecgc.graphs.familiarity import Familiarity
from comrecgc.graphs.graph import BoolArray, Graph


class Rung(IntEnum):
    """How far up the ladder a changed graph stands; the lower-case name is its name in files and options."""

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
    """Graphs after a change, and where each of their nodes comes from.

    Args:
        before: The graphs before.
        after: The changed graphs.
        source: Which graph of `before` each was made from, `[B]`.
        origin: Which node of `before` each node of `after` was, `[N]`; -1 for a new one.
    """

    before: GraphBatch
    after: GraphBatch
    source: LongArray
    origin: LongArray

    @classmethod
    def from_graphs(cls, before: Sequence[Graph], after: Sequence[Graph]) -> ChangedGraphs:
        """Pairs of graphs, a node being the same where its id is."""
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
        return cls(
            before=GraphBatch.from_graphs([graph]),
            after=after,
            source=np.zeros(len(table), dtype=np.int64),
            origin=np.where(position < graph.num_nodes, position, -1),
        )

    def __len__(self) -> int:
        return len(self.after)

    def select(self, chosen: BoolArray) -> ChangedGraphs:
        """The changed graphs under a mask."""
        nodes = chosen[self.after.graph_of_node()]
        return ChangedGraphs(
            before=self.before,
            after=self.after.select(np.flatnonzero(chosen)),
            source=self.source[chosen],
            origin=self.origin[nodes],
        )


class Chemistry(Protocol):
    """What else makes a change plausible where graphs are molecules."""

    def plausible(self, changed: ChangedGraphs, touched: BoolArray, *, thorough: bool) -> BoolArray:
        """Mask over the changed graphs, `[B]`.

        Args:
            changed: Graphs after a change.
            touched: Mask over their nodes: new, or with other surroundings than before.
            thorough: Leave nothing to what holds for nearly all.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Ladder:
    """Judges changed graphs against the data they come from.

    Args:
        familiarity: Which surroundings of nodes occur in the data.
        chemistry: What else is asked of molecules; None for graphs that are none.
    """

    familiarity: Familiarity
    chemistry: Chemistry | None = None

    def constraint(self, rung: Rung) -> Constraint | None:
        """The edits that lead to that rung, for every source of counterfactuals; None where all do.

        Every step keeps to the rung, and so does the end. A panel is asked about accepted results only, so
        `confirmed` has the edits of `plausible`.
        """
        if rung == Rung.ANY:
            return None
        return KeepConnected() if rung == Rung.CONNECTED else Plausible(self.familiarity, self.chemistry)

    def rungs(self, changed: ChangedGraphs, *, confirmed: BoolArray | None = None) -> npt.NDArray[np.int8]:
        """The highest rung each changed graph reaches, `[B]`.

        Args:
            changed: The graphs, with those they come from.
            confirmed: Mask of those that most of a panel accept, `[B]`; None if there is no panel.
        """
        rungs = np.full(len(changed), Rung.ANY, dtype=np.int8)
        connected = num_components(changed.after) <= num_components(changed.before)[changed.source]
        rungs[connected] = Rung.CONNECTED
        plausible = np.flatnonzero(connected)[self.plausible(changed.select(connected))]
        rungs[plausible] = Rung.PLAUSIBLE
        if confirmed is not None:
            rungs[plausible[confirmed[plausible]]] = Rung.CONFIRMED
        return rungs

    def plausible(self, changed: ChangedGraphs) -> BoolArray:
        """Whether what each change touched looks like the data, components aside, `[B]`."""
        hashes = self.familiarity.hashes(changed.after)
        touched = touched_nodes(self.familiarity, changed)
        strange = touched & ~self.familiarity.is_familiar(hashes)
        mask = ~graphs_with(changed.after, strange)
        if self.chemistry is not None:
            nodes = mask[changed.after.graph_of_node()]
            mask[mask] = self.chemistry.plausible(changed.select(mask), touched[nodes], thorough=True)
        return mask


def rung_shares(rungs: npt.NDArray[np.int8]) -> dict[str, float]:
    """Share of changed graphs that reach each rung, by its name; a graph reaches those below its own too."""
    return {str(rung): float((rungs >= rung).mean()) if len(rungs) else 0.0 for rung in Rung}


@dataclass(frozen=True)
class Plausible:
    """Edits after which no component is split and every node touched looks like the data."""

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
    touched: BoolArray = (changed.origin < 0) | (before[changed.origin] != familiarity.hashes(changed.after))
    return touched


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


def graphs_with(batch: GraphBatch, nodes: BoolArray) -> BoolArray:
    """Mask of the graphs that have a marked node, `[B]`."""
    mask: BoolArray = np.bincount(batch.graph_of_node()[nodes], minlength=len(batch)) > 0
    return mask
