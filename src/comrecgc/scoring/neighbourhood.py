"""One-edit neighbours of a graph: their identities and what models say of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from comrecgc.graphs import BoolArray, EditTable, Graph, KeyArray
from comrecgc.scoring import colour_kernels

FloatArray = npt.NDArray[np.float32]

_FIRST_ROUNDS = 16


@dataclass(frozen=True, eq=False, kw_only=True)
class Neighbourhood:
    """The allowed one-edit neighbours of a graph, isomorphic ones once, and what the models say of each.

    Args:
        graph: The graph.
        table: The edit that leads to each neighbour, `[N]`; of several that lead to the same one, the first.
        keys: Identity of each neighbour, the `graph_key` of the edited graph, `[N]`.
        probability: Probability of accept of each neighbour, `[N]`; None if not asked for.
        embedding: Embedding `z` of each neighbour, `[N, width]`; None if not asked for.
    """

    graph: Graph
    table: EditTable
    keys: KeyArray
    probability: FloatArray | None = None
    embedding: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.table)

    def select(self, chosen: BoolArray | npt.NDArray[np.intp]) -> Neighbourhood:
        """The neighbours under a mask or at the given indices."""
        return Neighbourhood(
            graph=self.graph,
            table=self.table.select(chosen),
            keys=self.keys[chosen],
            probability=None if self.probability is None else self.probability[chosen],
            embedding=None if self.embedding is None else self.embedding[chosen],
        )


def neighbour_keys(graph: Graph, table: EditTable) -> KeyArray:
    """`graph_key` of the graph after each edit of the table, `[N]`, without building any edited graph.

    Args:
        graph: The graph the table belongs to.
        table: Edits, in any order and number.
    """
    keys = np.empty(len(table), dtype=np.uint64)
    done, num_rounds = 0, _FIRST_ROUNDS
    while done < len(table):
        base = colour_kernels.base_colours(graph.labels, graph.edges, num_rounds)
        edits = (table.kind, table.first, table.second)
        done = colour_kernels.fill_keys(base, graph.num_edges, *edits, done, keys)
        num_rounds *= 2
    return keys


def first_of_each(keys: KeyArray) -> npt.NDArray[np.intp]:
    """Indices of the first occurrence of each key, increasing."""
    return np.sort(np.unique(keys, return_index=True)[1])


def parts(table: EditTable, size: int) -> Iterator[EditTable]:
    """Consecutive runs of at most `size` edits."""
    for start in range(0, len(table), size):
        yield table.select(np.arange(start, min(start + size, len(table))))
