"""Which surroundings of a node are familiar: those that occur often enough in the data.

The surroundings of a node are its label and the multiset of (edge label, neighbour label) pairs around it. They are compared
by a 64-bit hash. The hash adds up over neighbours, so that its value after an edit follows from the value before without
building the edited graph. Only integer arithmetic modulo 2^64 is used, so hashes are the same in every process.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from comrecgc import kernels
from comrecgc.errors import InputError
from comrecgc.graphs.batch import GraphBatch
from comrecgc.graphs.edits import EditKind, EditTable
from comrecgc.graphs.graph import BoolArray, Graph, IntArray
from comrecgc.graphs.identity import KeyArray

MIN_SEEN = 5
"""How often surroundings must occur in the data to be familiar."""


def surroundings(batch: GraphBatch, *, edge_labels: bool = True) -> KeyArray:
    """Hash of the surroundings of every node, `[N]`: equal exactly where they are equal, up to 64-bit chance.

    Args:
        batch: The graphs.
        edge_labels: Whether edge labels count; they do not where the batch has none.
    """
    labels = batch.edge_labels if edge_labels else None
    hashes: KeyArray = kernels.surroundings.hashes(batch.labels, batch.edges, _or_zero(labels, len(batch.edges)))
    return hashes


@dataclass(frozen=True, eq=False, kw_only=True)
class Familiarity:
    """The surroundings seen at least `min_seen` times in some graphs. As a constraint: every node touched is familiar afterwards.

    Args:
        known: Hashes of the familiar surroundings, increasing.
        edge_labels: Whether edge labels count.
        min_seen: How often each was seen at least.
    """

    known: KeyArray
    edge_labels: bool
    min_seen: int = MIN_SEEN

    @classmethod
    def of(cls, graphs: GraphBatch | Iterable[Graph], *, min_seen: int = MIN_SEEN) -> Familiarity:
        """What is familiar in the given graphs.

        Args:
            graphs: The data.
            min_seen: How many nodes must have the same surroundings.
        """
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
        relabel, tie, leaf, remove, cut = kernels.surroundings.familiar_edits(
            graph.labels, graph.edges, edge_labels, num_labels, self.known
        )
        mask = np.empty(len(table), dtype=bool)
        for kind in EditKind:
            of_kind = table.of_kind(kind)
            first, second = table.first[of_kind], table.second[of_kind]
            match kind:
                case EditKind.RELABEL:
                    mask[of_kind] = relabel[first, second]
                case EditKind.ADD_NODE:
                    mask[of_kind] = tie[first, second] & leaf[second, graph.labels[first]]
                case EditKind.REMOVE_NODE:
                    mask[of_kind] = remove[first]
                case EditKind.ADD_EDGE:
                    mask[of_kind] = tie[first, graph.labels[second]] & tie[second, graph.labels[first]]
                case EditKind.REMOVE_EDGE:
                    mask[of_kind] = cut[graph.edge_places(first, second)]
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
