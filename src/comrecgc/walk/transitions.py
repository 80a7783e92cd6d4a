"""Neighbourhoods a walk has scored, kept within a budget of bytes: heads that stay or return pay nothing."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from comrecgc.graphs.graph import Graph
from comrecgc.neighbourhood import Neighbourhood, NeighbourhoodScorer

Wanted = Literal["probability", "embedding"]


@dataclass(eq=False)
class Transitions:
    """Scores neighbourhoods through a least-recently-used cache.

    Args:
        scorer: Scores neighbourhoods.
        max_bytes: What the cache may hold.
        sample: Score only so many neighbours, drawn anew each time, of a larger neighbourhood; None scores all.
    """

    scorer: NeighbourhoodScorer
    max_bytes: int = 512 << 20
    sample: int | None = None
    _held: OrderedDict[Graph, Neighbourhood] = field(default_factory=OrderedDict)
    _bytes: int = 0

    def of(self, graphs: list[Graph], wanted: Wanted, rng: np.random.Generator) -> list[Neighbourhood]:
        """The neighbourhood of each graph with probabilities or with embeddings; what is missing is scored in one call."""
        if self.sample is not None:
            return self.scorer.score(
                graphs,
                probability=wanted == "probability",
                embedding=wanted == "embedding",
                sample=self.sample,
                rng=rng,
            )
        found = {graph: self._held.pop(graph, None) for graph in graphs}
        new = [graph for graph, held in found.items() if held is None]
        found |= dict(zip(new, self.scorer.score(new, probability=False, embedding=False), strict=True))
        known = [neighbourhood for neighbourhood in found.values() if neighbourhood is not None]
        self._bytes -= sum(_size(held) for graph, held in found.items() if held is not None and graph not in new)
        scored = self.scorer.complete(known, probability=wanted == "probability", embedding=wanted == "embedding")
        for neighbourhood in scored:
            self._hold(neighbourhood)
        by_graph = {neighbourhood.graph: neighbourhood for neighbourhood in scored}
        return [_bound_to(graph, by_graph[graph]) for graph in graphs]

    def _hold(self, neighbourhood: Neighbourhood) -> None:
        self._held[neighbourhood.graph] = neighbourhood
        self._bytes += _size(neighbourhood)
        while self._bytes > self.max_bytes and self._held:
            _, dropped = self._held.popitem(last=False)
            self._bytes -= _size(dropped)


def _bound_to(graph: Graph, neighbourhood: Neighbourhood) -> Neighbourhood:
    """The neighbourhood with its edits in the ids of this graph: equal graphs may have come by different paths."""
    if neighbourhood.graph is graph:
        return neighbourhood
    return replace(neighbourhood, graph=graph, table=replace(neighbourhood.table, ids=graph.ids))


def _size(neighbourhood: Neighbourhood) -> int:
    table = neighbourhood.table
    arrays: list[npt.NDArray[np.generic] | None] = [
        table.kind, table.first, table.second, neighbourhood.keys, neighbourhood.probability, neighbourhood.embedding,
    ]  # fmt: skip
    return sum(array.nbytes for array in arrays if array is not None)
