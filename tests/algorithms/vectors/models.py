"""Tiny graphs, models written on networkx, and a search over both: small enough for brute force."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.vectors.search import DirectedSearch, SearchState
from comrecgc.cover import BallCover
from comrecgc.data import load_planted
from comrecgc.graphs import Constraint, Graph, GraphBatch, to_networkx
from comrecgc.scoring import NeighbourhoodScorer
from tests.algorithms.paper import literal
from tests.scoring.plain import random_classifier, random_greed

NUM_LABELS = 2
INPUTS = [
    Graph([0, 0, 1], [(0, 1), (1, 2)]),
    Graph([0, 0, 0, 0], [(0, 1), (1, 2), (2, 3), (0, 3)]),
    Graph([0, 1, 0, 0], [(0, 1), (0, 2), (0, 3)]),
    Graph([0, 0], [(0, 1)]),
    Graph([1, 0, 0, 0], [(0, 1), (1, 2), (2, 3), (1, 3)]),
    Graph([0, 0, 0, 0, 0], [(0, 1), (1, 2), (2, 3), (3, 4)]),
    Graph([0, 0, 0, 0, 1], [(0, 1), (0, 2), (0, 3), (3, 4)]),
]
THETA, DELTA = 0.3, 0.04
PLANTED_DELTA = 0.002


class Models:
    """The walk's oracle as package models; accepting takes `bias` more."""

    def __init__(self, num_labels: int = NUM_LABELS, bias: float = 0.4) -> None:
        self.num_labels = num_labels
        self.bias = bias

    def probability(self, graph: Graph) -> float:
        odds = literal.accept_probability(to_networkx(graph))
        return odds / (odds + (1 - odds) * float(np.exp(self.bias)))

    def accept_probability(self, batch: GraphBatch) -> npt.NDArray[np.float64]:
        return np.array([self.probability(graph) for graph in batch])

    def embed(self, batch: GraphBatch) -> npt.NDArray[np.float32]:
        return np.stack([literal.embedding(to_networkx(graph)) for graph in batch]).astype(np.float32)


def scorer(constraint: Constraint | None = None, models: Models | None = None) -> NeighbourhoodScorer:
    models = models or Models()
    return NeighbourhoodScorer(models, models, models.num_labels, constraint=constraint, num_threads=1)


def search(**options: Any) -> DirectedSearch:
    """A search of few small rounds."""
    delta, num_recourses = options.pop("delta", DELTA), options.pop("num_recourses", 2)
    cover = BallCover(delta=delta, num_recourses=num_recourses, num_starts=4)
    return DirectedSearch(**{"theta": THETA, "cover": cover, "max_rounds": 3, **options})


PLANTED_LABELS = load_planted().num_labels
CLASSIFIER = random_classifier("gcn", PLANTED_LABELS, hidden=8, seed=4)


def clear_rejects(most: int) -> list[Graph]:
    """The smallest planted graphs that a classifier with random weights rejects without doubt."""
    graphs = list(load_planted())
    rejected = CLASSIFIER.accept_probability(GraphBatch.from_graphs(graphs)) < 0.2
    return sorted((graphs[i] for i in np.flatnonzero(rejected)), key=lambda graph: graph.num_nodes)[:most]


PLANTED = clear_rejects(40)


def planted_scorer(num_threads: int = 1) -> NeighbourhoodScorer:
    """The package's own models with random weights, which take the fast path."""
    embedder = random_greed(PLANTED_LABELS, num_layers=2, width=16)
    return NeighbourhoodScorer(CLASSIFIER, embedder, PLANTED_LABELS, num_threads=num_threads)


def planted_search(**options: Any) -> DirectedSearch:
    """A search over the planted graphs in which every round gains and something is left to gain."""
    few = {"max_rounds": 2, "effort": 1.0, "most_expansions": 2, "num_found": 20, "num_frontier": 10}
    return search(**{"theta": 0.015, "delta": PLANTED_DELTA, **few, **options})


def listed(state: SearchState) -> list[Any]:
    """All that a state holds, to compare."""
    rows: list[Any] = [state.seed, state.plan, state.done, state.curve, state.num_found, state.ended, state.complete]
    rows.append(None if state.centres is None else state.centres.tolist())
    for known in state.inputs:
        rows.append(sorted(known.expanded))
        for graphs in (known.found, known.frontier):
            rows.append(
                [array.tolist() for array in (graphs.keys, graphs.sizes, graphs.probabilities, graphs.embeddings)]
            )
            rows.append(graphs.paths)
    return rows
