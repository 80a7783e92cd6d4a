"""What is known of a graph's one-edit neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from comrecgc.graphs import BoolArray, EditTable, Graph, KeyArray

FloatArray = npt.NDArray[np.float32]


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
