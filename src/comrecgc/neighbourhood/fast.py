"""The fast path: edited graphs are compressed to recipes, on which the package's own models are computed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numba
import numpy as np

from comrecgc.classifiers.model import GraphClassifier
from comrecgc.embedding.greed import Greed
from comrecgc.graphs import EditTable, Graph, KeyArray
from comrecgc.neighbourhood.classifier import (
    ClassifierRoom,
    ClassifierWeights,
    classifier_begin,
    classifier_probability,
    classifier_room,
    classifier_rows,
    classifier_weights,
    no_classifier,
)
from comrecgc.neighbourhood.generic import parts
from comrecgc.neighbourhood.greed import (
    GreedRoom,
    GreedWeights,
    greed_begin,
    greed_embed,
    greed_room,
    greed_rows,
    greed_weights,
    no_greed,
)
from comrecgc.neighbourhood.neighbourhood import FloatArray, Neighbourhood
from comrecgc.neighbourhood.recipes import Block, compress, compress_base, forget, make_block, make_table
from comrecgc.neighbourhood.refinement import base_colours, make_scratch
from comrecgc.neighbourhood.workspace import Workspace

_ROWS = 32_768  # remembered at once: enough to share most, few enough to stay in the caches
_FEWEST_NODES = 600  # fewer are not worth another thread
_NO_CLASSIFIER, _NO_GREED = no_classifier(), no_greed()


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


class _Room(NamedTuple):
    """Where a piece is computed: the table and number of rows that can be remembered, a block, and the models' rows."""

    table: KeyArray
    block: Block
    capacity: int
    classifier: ClassifierRoom
    greed: GreedRoom


class FastPath:
    """Scores edits by those of the two models that can be computed on recipes.

    Args:
        classifier: The classifier, if it is one of the package's own.
        embedder: The embedder, if it is GREED.
        max_nodes: Nodes of edited graphs whose rows are held at once.
    """

    def __init__(self, classifier: GraphClassifier | None, embedder: Greed | None, max_nodes: int) -> None:
        self.classifier = None if classifier is None else classifier_weights(classifier)
        self.embedder = None if embedder is None else greed_weights(embedder)
        self.output_width = 0 if embedder is None else embedder.output_width
        self.max_nodes = max_nodes
        self._workspaces: list[Workspace] = []  # those not in use; to pop and to append are atomic

    def pieces(self, known: Neighbourhood, *, probability: bool, embedding: bool, num_threads: int) -> list[Piece]:
        """What is to be scored of a neighbourhood, in as many pieces as it has threads."""
        wants_probability = probability and known.probability is None and self.classifier is not None
        wants_embedding = embedding and known.embedding is None and self.embedder is not None
        if not wants_probability and not wants_embedding:
            return []
        nodes, num_edits = known.graph.num_nodes + 1, len(known)
        count = max(1, min(num_threads, num_edits * nodes // _FEWEST_NODES))
        tables = parts(known.table, max(1, math.ceil(num_edits / count))) if count > 1 else [known.table]
        return [Piece(known.graph, table, wants_probability, wants_embedding) for table in tables]

    def score(self, piece: Piece) -> Scores:
        """The scores of one piece; safe to call from several threads at once."""
        graph, table = piece.graph, piece.table
        classifier = self.classifier if piece.probability and self.classifier is not None else _NO_CLASSIFIER
        embedder = self.embedder if piece.embedding and self.embedder is not None else _NO_GREED
        try:
            workspace = self._workspaces.pop()
        except IndexError:
            workspace = Workspace()
        count, num_labels = len(table), max(len(classifier.inputs), len(embedder.inputs))
        # Room is made for graphs a little larger, so that it is often there already.
        size = (_rounded(graph.num_nodes), _rounded(graph.num_edges), 1 << count.bit_length())
        key = (size, piece.probability, piece.embedding)
        room = workspace.room(key, lambda: self._room(*size, num_labels, classifier, embedder, workspace))
        probability = np.empty(count if piece.probability else 0, np.float32)
        embedding = np.empty((count if piece.embedding else 0, embedder.output.shape[1]), np.float32)
        base = base_colours(graph, len(room.block.rows) - 1)
        _sweep(
            *(base, table.kind, table.first, table.second, num_labels, room.table, room.block, room.capacity),
            *(classifier, room.classifier, probability, embedder, room.greed, embedding),
        )
        self._workspaces.append(workspace)
        if embedding.shape[1] != self.output_width:
            embedding = embedding[:, : self.output_width].copy()
        return Scores(probability if piece.probability else None, embedding if piece.embedding else None)

    def _room(
        self,
        num_nodes: int,
        num_edges: int,
        num_edits: int,
        num_labels: int,
        classifier: ClassifierWeights,
        embedder: GreedWeights,
        workspace: Workspace,
    ) -> _Room:
        """Room for the labels, the graph before the edit, and either everything or a few blocks at least."""
        num_rounds = max(classifier.num_rounds, len(embedder.first))
        block = make_block(num_nodes, num_edges, num_edits, num_rounds, workspace)
        size, rows = block.rows.shape[1], (num_nodes + 1) * num_rounds  # of an edited graph, if it shares none
        held = min(num_edits, max(2 * size, min(_ROWS, self.max_nodes * num_rounds) // rows))
        capacity = num_labels + rows * (1 + held)
        return _Room(
            make_table(capacity, workspace),
            block,
            capacity,
            classifier_room(classifier, num_nodes, capacity, workspace),
            greed_room(embedder, num_nodes, capacity, size, workspace),
        )


def _rounded(count: int) -> int:
    return -(-count // 8) * 8


@numba.njit(cache=True, nogil=True)
def _sweep(  # type: ignore[no-untyped-def]
    base, kind, first, second, num_labels, table, block, capacity,
    classifier, classifier_room, probability, embedder, greed_room, embedding,
):  # fmt: skip
    """Block by block: find the rows of the edited graphs, compute those that are fresh, and pool them."""
    n, num_rounds, size = len(base.labels), block.rows.shape[0] - 1, block.rows.shape[1]
    scratch = make_scratch(base)
    table[:] = 0
    used = compress_base(base, scratch, table, block, num_labels)
    base_rows, num_base = block.rows[:, 0].copy(), used
    if len(probability):
        classifier_begin(classifier, classifier_room, block)
    if len(embedding):
        greed_begin(embedder, greed_room, block, n)
    for start in range(0, len(kind), size):
        stop = min(start + size, len(kind))
        if used + (stop - start) * (n + 1) * num_rounds > capacity:
            forget(base, table, base_rows)
            used = num_base
        used = compress(base, scratch, table, base_rows, kind, first, second, start, stop, block, used)
        if len(probability):
            classifier_rows(classifier, classifier_room, block)
            classifier_probability(classifier, classifier_room, block, stop - start, n, probability, start)
        if len(embedding):
            greed_rows(embedder, greed_room, block)
            greed_embed(embedder, greed_room, block, base_rows, stop - start, n, embedding, start)


def with_scores(known: Neighbourhood, scores: Sequence[Scores]) -> Neighbourhood:
    """The neighbourhood with the scores of its pieces, in their order, added."""
    if not scores:
        return known
    probability = [part.probability for part in scores if part.probability is not None]
    embedding = [part.embedding for part in scores if part.embedding is not None]
    return Neighbourhood(
        graph=known.graph,
        table=known.table,
        keys=known.keys,
        probability=_joined(probability) if probability else known.probability,
        embedding=_joined(embedding) if embedding else known.embedding,
    )


def _joined(parts: Sequence[FloatArray]) -> FloatArray:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
