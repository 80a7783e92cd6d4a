"""A least-recently-used cache of scored neighbourhoods, bounded in bytes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from comrecgc.graphs import Constraint, Graph
from comrecgc.scoring import Neighbourhood, NeighbourhoodScorer

Wanted = Literal["probability", "embedding"]
Name = tuple[int, bytes, bytes, bytes, bytes]


@dataclass(eq=False)
class NeighbourhoodCache:
    """Scores neighbourhoods through a least-recently-used cache."""

    scorer: NeighbourhoodScorer  # scores neighbourhoods
    max_bytes: int = 512 << 20  # what the cache may hold
    sample: int | None = None  # neighbours scored of a larger neighbourhood, drawn anew each time
    limits: Sequence[Constraint] | None = None  # of heads that started from each input
    _held: OrderedDict[Name, Neighbourhood] = field(default_factory=OrderedDict)
    _bytes: int = 0

    def of(
        self, graphs: Sequence[Graph], starts: Sequence[int], wanted: Wanted, rng: np.random.Generator
    ) -> list[Neighbourhood]:
        """The neighbourhood of each graph with probabilities or with embeddings; what is missing is scored in one call.

        `starts` are the inputs that the graphs were reached from; `rng` draws from large neighbourhoods.
        """
        large = [i for i, graph in enumerate(graphs) if self._is_large(graph)]
        drawn = self.scorer.score(
            [graphs[i] for i in large],
            probability=wanted == "probability",
            embedding=wanted == "embedding",
            sample=self.sample,
            rng=rng,
            limits=self._limits([starts[i] for i in large]),
        )
        sampled = dict(zip(large, drawn, strict=True))
        small = [i for i in range(len(graphs)) if i not in sampled]
        whole = self._whole([graphs[i] for i in small], [starts[i] for i in small], wanted)
        known = sampled | dict(zip(small, whole, strict=True))
        return [known[i] for i in range(len(graphs))]

    def _limits(self, starts: Sequence[int]) -> list[Constraint] | None:
        return None if self.limits is None else [self.limits[start] for start in starts]

    def _is_large(self, graph: Graph) -> bool:
        """Whether the graph may have more neighbours than are scored; no constraint and no repeat is counted off."""
        n, num_labels = graph.num_nodes, self.scorer.num_labels
        most = n * (2 * num_labels - 1) + n * (n - 1) // 2 + n  # relabelled, tied to, joined or cut, removed
        return self.sample is not None and most > self.sample

    def _whole(self, graphs: Sequence[Graph], starts: Sequence[int], wanted: Wanted) -> list[Neighbourhood]:
        """Whole neighbourhoods, through the cache."""
        named = [self._name(graph, start) for graph, start in zip(graphs, starts, strict=True)]
        names = dict(zip(named, zip(graphs, starts, strict=True), strict=True))
        held = {name: self._drop(name) for name in names if name in self._held}
        new = {name: place for name, place in names.items() if name not in held}
        limits = self._limits([start for _, start in new.values()])
        fresh = self.scorer.score(
            [graph for graph, _ in new.values()], probability=False, embedding=False, limits=limits
        )
        known = held | dict(zip(new, fresh, strict=True))
        scored = self.scorer.complete(
            list(known.values()), probability=wanted == "probability", embedding=wanted == "embedding"
        )
        complete = dict(zip(known, scored, strict=True))
        for name, neighbourhood in complete.items():
            self._hold(name, neighbourhood)
        return [complete[name] for name in named]

    def _name(self, graph: Graph, start: int) -> Name:
        """All that a constraint or a model may look at: equal graphs with other bonds or other ids have other neighbours."""
        edge_labels = b"" if graph.edge_labels is None else graph.edge_labels.tobytes()
        limited_by = -1 if self.limits is None else start
        return limited_by, graph.labels.tobytes(), graph.edges.tobytes(), edge_labels, graph.ids.tobytes()

    def _hold(self, name: Name, neighbourhood: Neighbourhood) -> None:
        self._held[name] = neighbourhood
        self._bytes += _size(neighbourhood)
        while self._bytes > self.max_bytes and self._held:
            self._drop(next(iter(self._held)))

    def _drop(self, name: Name) -> Neighbourhood:
        neighbourhood = self._held.pop(name)
        self._bytes -= _size(neighbourhood)
        return neighbourhood


def _size(neighbourhood: Neighbourhood) -> int:
    table = neighbourhood.table
    arrays: list[npt.NDArray[np.generic] | None] = [
        table.kind, table.first, table.second, neighbourhood.keys, neighbourhood.probability, neighbourhood.embedding,
    ]  # fmt: skip
    return sum(array.nbytes for array in arrays if array is not None)
