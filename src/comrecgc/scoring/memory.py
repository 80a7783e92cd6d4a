"""What models said of single edits of graphs, kept so that each is asked once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from comrecgc.graphs import EditTable, Graph
from comrecgc.scoring.neighbourhood import FloatArray, Neighbourhood
from comrecgc.scoring.scorer import NeighbourhoodScorer


class EditMemory:
    """Scores of edits, at most `max_bytes`; those of the graph met first make room. Answers are the same with and without it.

    Several runs may share one as long as the weights of their models stay as they are.
    """

    def __init__(self, max_bytes: int = 512 << 20) -> None:
        self.max_bytes, self.held_bytes = max_bytes, 0
        self._held: dict[tuple[Any, ...], tuple[npt.NDArray[np.bool_], FloatArray]] = {}
        self._owners: dict[int, object] = {}  # kept alive, so that no other object takes their id

    def scores(
        self, scorer: NeighbourhoodScorer, of: str, graph: Graph, table: EditTable, numbers: npt.NDArray[np.int64]
    ) -> FloatArray:
        """The "probability" or "embedding" of the graph after the edits at some places of the table, that of all its edits, `[N, …]`."""

        def scored(places: npt.NDArray[np.int64]) -> FloatArray:
            hood = Neighbourhood(graph=graph, table=table.select(places), keys=places.astype(np.uint64))
            (hood,) = scorer.complete([hood], probability=of == "probability", embedding=of == "embedding")
            return np.asarray(getattr(hood, of), np.float32)

        if len(numbers) < len(table) and not scorer.is_independent(graph, of):
            return scored(numbers)
        owners = (scorer.classifier if of == "probability" else scorer.embedder, scorer.constraint)
        self._owners |= {id(owner): owner for owner in owners}
        bonds = b"" if graph.edge_labels is None else graph.edge_labels.tobytes()
        name = (*map(id, owners), graph.labels.tobytes(), graph.edges.tobytes(), bonds, graph.ids.tobytes())
        known, rows = self._held.get(name) or (np.zeros(len(table), bool), None)
        missing = numbers[~known[numbers]]
        if rows is not None and not len(missing):
            return rows[numbers]
        new = scored(missing)
        if rows is None:
            rows = np.empty((len(table), *new.shape[1:]), np.float32)
            if rows.nbytes > self.max_bytes // 16:  # one graph takes no larger part
                return new
            self._held[name] = known, rows
            self.held_bytes += rows.nbytes
        rows[missing], known[missing] = new, True
        while self.held_bytes > self.max_bytes:
            self.held_bytes -= self._held.pop(next(iter(self._held)))[1].nbytes
        return rows[numbers]
