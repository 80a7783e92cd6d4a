"""The fast path: edited graphs are compressed to recipes, on which the package's own models are computed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from comrecgc.graphs.edits import EditTable
from comrecgc.graphs.graph import Graph
from comrecgc.neighbourhood.classifier import FastClassifier
from comrecgc.neighbourhood.generic import parts
from comrecgc.neighbourhood.greed import FastGreed
from comrecgc.neighbourhood.neighbourhood import FloatArray, Neighbourhood
from comrecgc.neighbourhood.recipes import make_recipes
from comrecgc.neighbourhood.workspace import Workspace

# Edited graphs compressed together: enough of them to share rows, few enough to stay in the cache of a core.
_CACHED_NODES = 6_000
_FEWEST_EDITS = 64
_FEWEST_NODES = 2_000  # fewer are not worth another thread


class Piece(NamedTuple):
    """Some edits of a graph and what is asked about them: a task for one thread."""

    graph: Graph
    table: EditTable
    probability: bool
    embedding: bool


class Scores(NamedTuple):
    """Probability `[N]` and embedding `[N, width]` of the edited graphs of a piece, as far as asked for."""

    probability: FloatArray | None
    embedding: FloatArray | None


class FastPath:
    """Scores edits by those of the two models that can be computed on recipes.

    Args:
        classifier: The classifier, if it is one of the package's own.
        embedder: The embedder, if it is GREED.
        max_nodes: Nodes of edited graphs in one piece.
    """

    def __init__(self, classifier: FastClassifier | None, embedder: FastGreed | None, max_nodes: int) -> None:
        self.classifier = classifier
        self.embedder = embedder
        self.max_nodes = max_nodes
        self._workspaces: list[Workspace] = []  # those not in use; to pop and to append are atomic

    def pieces(self, known: Neighbourhood, *, probability: bool, embedding: bool, num_threads: int) -> list[Piece]:
        """What is to be scored of a neighbourhood, in enough pieces for the threads it has."""
        wants_probability = probability and known.probability is None and self.classifier is not None
        wants_embedding = embedding and known.embedding is None and self.embedder is not None
        if not wants_probability and not wants_embedding:
            return []
        nodes, num_edits = known.graph.num_nodes + 1, len(known)
        most = max(1, min(self.max_nodes, max(_CACHED_NODES, _FEWEST_EDITS * nodes)) // nodes)
        count = max(1, math.ceil(num_edits / most), min(num_threads, num_edits * nodes // _FEWEST_NODES))
        tables = parts(known.table, max(1, math.ceil(num_edits / count)))
        return [Piece(known.graph, table, wants_probability, wants_embedding) for table in tables]

    def score(self, piece: Piece) -> Scores:
        """The scores of one piece; safe to call from several threads at once."""
        classifier = self.classifier if piece.probability else None
        embedder = self.embedder if piece.embedding else None
        try:
            workspace = self._workspaces.pop()
        except IndexError:
            workspace = Workspace()
        num_rounds = max(model.num_rounds for model in (classifier, embedder) if model is not None)
        recipes = make_recipes(piece.graph, piece.table, num_rounds, workspace)
        scores = Scores(
            None if classifier is None else classifier.probability(recipes, workspace),
            None if embedder is None else embedder.embed(recipes, workspace),
        )
        self._workspaces.append(workspace)
        return scores


def with_scores(known: Neighbourhood, scores: Sequence[Scores]) -> Neighbourhood:
    """The neighbourhood with the scores of its pieces, in their order, added."""
    probability = [part.probability for part in scores if part.probability is not None]
    embedding = [part.embedding for part in scores if part.embedding is not None]
    if probability:
        known = replace(known, probability=np.concatenate(probability))
    if embedding:
        known = replace(known, embedding=np.concatenate(embedding))
    return known
