"""The fast path: the package's own models on CPU, computed once for each distinct node state of the edited graphs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from comrecgc import kernels
from comrecgc.classifiers import GraphClassifier
from comrecgc.embedding import Greed
from comrecgc.graphs import EditTable, Graph
from comrecgc.neighbourhood.neighbourhood import FloatArray, Neighbourhood
from comrecgc.neighbourhood.weights import classifier_weights, greed_weights

if TYPE_CHECKING:
    from comrecgc.kernels.classifier import ClassifierRoom, ClassifierWeights
    from comrecgc.kernels.greed import GreedRoom, GreedWeights
    from comrecgc.kernels.neighbourhood import Block

_ROWS = 32_768  # remembered at once: enough to share most, few enough to stay in the caches
_FEWEST_NODES = 600  # fewer are not worth another thread
_BLOCK_NODES = 1024  # edited nodes in a block
_LINE = 64  # bytes of a cache line
_MOST_ROOMS = 256


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
    """Scores edits by those of the two models that can be computed on distinct states.

    Args:
        classifier: The classifier, if it is one of the package's own.
        embedder: The embedder, if it is GREED.
        max_nodes: Nodes of edited graphs whose rows are held at once.
    """

    def __init__(self, classifier: GraphClassifier | None, embedder: Greed | None, max_nodes: int) -> None:
        self.max_nodes = max_nodes
        self.output_width = 0 if embedder is None else embedder.output_width
        self._has = (classifier is not None, embedder is not None)
        self._classifiers: list[ClassifierWeights] = []  # one that is not asked, and the one given
        self._embedders: list[GreedWeights] = []
        if any(self._has):
            self._classifiers = [classifier_weights(None), classifier_weights(classifier)]
            self._embedders = [greed_weights(None), greed_weights(embedder)]
        self._buffers: list[_Buffers] = []  # those not in use; to pop and to append are atomic

    def pieces(self, known: Neighbourhood, *, probability: bool, embedding: bool, num_threads: int) -> list[Piece]:
        """What is to be scored of a neighbourhood, in as many pieces as it has threads."""
        wants_probability = probability and known.probability is None and self._has[0]
        wants_embedding = embedding and known.embedding is None and self._has[1]
        if not wants_probability and not wants_embedding:
            return []
        nodes, num_edits = known.graph.num_nodes + 1, len(known)
        count = max(1, min(num_threads, num_edits * nodes // _FEWEST_NODES))
        tables = parts(known.table, max(1, math.ceil(num_edits / count))) if count > 1 else [known.table]
        return [Piece(known.graph, table, wants_probability, wants_embedding) for table in tables]

    def score(self, piece: Piece) -> Scores:
        """The scores of one piece; safe to call from several threads at once."""
        graph, table = piece.graph, piece.table
        classifier, embedder = self._classifiers[piece.probability], self._embedders[piece.embedding]
        try:
            buffers = self._buffers.pop()
        except IndexError:
            buffers = _Buffers()
        # Room is made for graphs a little larger, so that it is often there already.
        size = (_rounded(graph.num_nodes), _rounded(graph.num_edges), 1 << len(table).bit_length())
        room = buffers.room((*size, piece.probability, piece.embedding), classifier, embedder, self.max_nodes)
        probability = np.empty(len(table) if piece.probability else 0, np.float32)
        embedding = np.empty((len(table) if piece.embedding else 0, embedder.output.shape[1]), np.float32)
        base = kernels.edited_colours.base_colours(graph.labels, graph.edges, len(room.block.rows) - 1)
        kernels.neighbourhood.sweep(
            *(base, table.kind, table.first, table.second, room.num_labels, room.table, room.block, room.capacity),
            *(classifier, room.classifier, probability, embedder, room.greed, embedding),
        )
        self._buffers.append(buffers)
        if embedding.shape[1] != self.output_width:
            embedding = embedding[:, : self.output_width].copy()
        return Scores(probability if piece.probability else None, embedding if piece.embedding else None)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_buffers": []}  # what is in them need not travel


class _Room(NamedTuple):
    """Where a piece is computed.

    Args:
        num_labels: Rows that stand for labels.
        capacity: Rows that can be remembered.
        table: A hash table for them: a colour and one more than its row, 0 where there is none, `[size, 2]`.
        block: Some edited graphs.
        classifier: Rows of the classifier.
        greed: Rows of the embedder.
    """

    num_labels: int
    capacity: int
    table: npt.NDArray[np.uint64]
    block: Block
    classifier: ClassifierRoom
    greed: GreedRoom


class _Buffers:
    """Memory of one thread, used again and again: fresh pages, and asking for them, cost more than small work on them."""

    def __init__(self) -> None:
        self._buffers: dict[str, npt.NDArray[np.uint8]] = {}
        self._rooms: dict[tuple[int, ...], _Room] = {}

    def room(
        self, key: tuple[int, ...], classifier: ClassifierWeights, embedder: GreedWeights, max_nodes: int
    ) -> _Room:
        """Room for the labels, the graph before the edit, and either everything or a few blocks at least."""
        if key in self._rooms:
            return self._rooms[key]
        num_nodes, num_edges, num_edits = key[:3]
        num_labels = max(len(classifier.inputs), len(embedder.inputs))
        num_rounds = max(classifier.num_rounds, len(embedder.first))
        size = max(1, min(num_edits, _BLOCK_NODES // (num_nodes + 1)))
        rows = (num_nodes + 1) * num_rounds  # of an edited graph, if it shares none
        capacity = num_labels + rows * (1 + min(num_edits, max(2 * size, min(_ROWS, max_nodes * num_rounds) // rows)))
        shapes = kernels.neighbourhood.block_shapes(num_nodes, num_edges, size, num_rounds)
        room = _Room(
            num_labels,
            capacity,
            self.take("table", (1 << int(1.4 * capacity).bit_length(), 2), np.uint64),
            kernels.neighbourhood.Block(**{name: self.take(name, shape, np.int32) for name, shape in shapes.items()}),
            self._classifier(classifier, num_nodes, capacity if classifier.num_rounds else 0),
            self._greed(embedder, num_nodes, capacity, size),
        )
        if len(self._rooms) >= _MOST_ROOMS:
            self._rooms.clear()
        self._rooms[key] = room
        return room

    def take(self, name: str, shape: tuple[int, ...], dtype: npt.DTypeLike = np.float32) -> npt.NDArray[Any]:
        """An array with whatever was in it before, starting on a cache line; the last of that name is overwritten."""
        size = math.prod(shape) * np.dtype(dtype).itemsize
        buffer = self._buffers.get(name)
        if buffer is None or len(buffer) < size:
            fresh = np.empty(size + size // 4 + _LINE, dtype=np.uint8)
            buffer = self._buffers[name] = fresh[-fresh.ctypes.data % _LINE :]
            self._rooms.clear()  # they hold on to the buffer outgrown
        return np.ndarray(shape, dtype, buffer)

    def _classifier(self, weights: ClassifierWeights, num_nodes: int, capacity: int) -> ClassifierRoom:
        kernel, width, labels = kernels.classifier, weights.inputs.shape[1], len(weights.inputs)
        return kernel.ClassifierRoom(
            states=self.take("classifier states", (capacity, width)),
            sent=self.take("classifier sent", (capacity, width)),
            own=self.take("classifier own", (capacity if weights.kind == kernel.SAGE else labels, width)),
            scores=self.take("classifier scores", (capacity if weights.kind == kernel.GAT else labels, 2)),
            summed=self.take("classifier summed", (1, width)),
            nothing=np.zeros((1, width), np.float32),
            weights=np.empty(num_nodes + 2, np.float32),
            places=np.empty(num_nodes + 2, np.int32),
        )

    def _greed(self, weights: GreedWeights, num_nodes: int, capacity: int, size: int) -> GreedRoom:
        width, rounds, hidden = weights.inputs.shape[1], len(weights.first), weights.hidden.shape[2]
        capacity, size = (capacity, size) if rounds else (0, 0)
        return kernels.greed.GreedRoom(
            states=self.take("states", (capacity, width)),
            sent=self.take("sent", (capacity, width)),
            base_sums=self.take("base sums", (rounds + 1, width)),
            base_hidden=self.take("base hidden", (1, hidden)),
            pooled=self.take("pooled", (size * rounds, width)),
            hidden=self.take("hidden", (size, hidden)),
            summed=self.take("summed", (1, width)),
            nothing=np.zeros((1, max(width, hidden, weights.output.shape[1])), np.float32),
            weights=np.ones(num_nodes + 2, np.float32),
            signs=np.ones(2 * (num_nodes + 2), np.float32),
            places=np.empty(2 * (num_nodes + 2), np.int32),
        )


def parts(table: EditTable, size: int) -> Iterator[EditTable]:
    """Consecutive runs of at most `size` edits."""
    for start in range(0, len(table), size):
        yield table.select(np.arange(start, min(start + size, len(table))))


def with_scores(known: Neighbourhood, scores: Sequence[Scores]) -> Neighbourhood:
    """The neighbourhood with the scores of its pieces, in their order, added."""
    probability = [part.probability for part in scores if part.probability is not None]
    embedding = [part.embedding for part in scores if part.embedding is not None]
    return Neighbourhood(
        graph=known.graph,
        table=known.table,
        keys=known.keys,
        probability=_joined(probability) if probability else known.probability,
        embedding=_joined(embedding) if embedding else known.embedding,
    )


def _rounded(count: int) -> int:
    return -(-count // 8) * 8


def _joined(rows: Sequence[FloatArray]) -> FloatArray:
    return rows[0] if len(rows) == 1 else np.concatenate(rows)
