"""What is known of a graph's one-edit neighbours."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from torch.nn import BatchNorm1d, Module

from comrecgc.graphs import BoolArray, EditTable, Graph, KeyArray
from comrecgc.models import GraphClassifier, Greed
from comrecgc.scoring import classifier_kernels, colour_kernels, greed_kernels, neighbourhood_kernels, row_kernels

if TYPE_CHECKING:
    from comrecgc.scoring.classifier_kernels import ClassifierRoom, ClassifierWeights
    from comrecgc.scoring.greed_kernels import GreedRoom, GreedWeights
    from comrecgc.scoring.neighbourhood_kernels import Block


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


# The weights of the package's own models, laid out for the compiled scoring of edited graphs.


_Matrix = npt.NDArray[np.float64]

_ARCHITECTURES = ("gcn", "gat", "sage", "gin")  # in the order of the kernels' numbers


def classifier_weights(model: GraphClassifier | None) -> ClassifierWeights:
    """The weights of a classifier as they are now; without one, empty tables that stand for a model not asked."""
    rows, kernel = row_kernels, classifier_kernels
    if model is None:
        table, tables, row = _empty()
        scores = np.zeros((1, 1, 2), np.float32)
        return kernel.ClassifierWeights(
            *(0, 0, table, table, scores[0], row, table, tables, table, tables, tables, scores, np.zeros(1), 0.0)
        )
    kind = _ARCHITECTURES.index(model.architecture)
    weights = _arrays(model)
    norms = [norm for norm in model.bns if isinstance(norm, BatchNorm1d)]
    layers = [
        _layer(kind, _under(f"convs.{i}.", weights), _under(f"bns.{i}.", weights), norm.eps)
        for i, norm in enumerate(norms)
    ]
    features, width = model.features.cpu().double().numpy(), rows.padded_width(model.hidden)
    first, later = layers[0], layers[1:]
    none = [np.zeros((0, width, width), np.float32)]
    weight, bias = weights["fc.weight"], weights["fc.bias"]
    return kernel.ClassifierWeights(
        kind=kind,
        lag=int(kind == kernel.GCN),
        inputs=rows.padded(features @ first["sent"], both=False),
        input_own=rows.padded(features @ first["own"], both=False),
        input_scores=(features @ first["scores"]).astype(np.float32),
        own_weight=np.array([layer["own_weight"] for layer in layers], np.float32),
        bias=np.stack([rows.padded_row(layer["bias"]) for layer in layers]),
        inner=np.stack([rows.padded(layer["inner"]) for layer in layers]),
        inner_bias=np.stack([rows.padded_row(layer["inner_bias"]) for layer in layers]),
        sent=np.concatenate([*none, *(rows.padded(layer["sent"])[None] for layer in later)]),
        own=np.concatenate([*none, *(rows.padded(layer["own"])[None] for layer in later)]),
        scores=np.stack([layer["scores"] for layer in later] or [np.zeros((model.hidden, 2))]).astype(np.float32),
        margin=weight[1] - weight[0],
        margin_bias=float(bias[1] - bias[0]),
    )


def _layer(kind: int, conv: Mapping[str, _Matrix], norm: Mapping[str, _Matrix], eps: float) -> dict[str, Any]:
    """A convolution with its batch norm folded in, by the names of `ClassifierWeights`; what it does not have is zero."""
    kernel = classifier_kernels
    scale = norm["weight"] / np.sqrt(norm["running_var"] + eps)  # [hidden]
    shift = norm["bias"] - scale * norm["running_mean"]
    inner, inner_bias, own_weight = np.zeros((len(scale), len(scale))), np.zeros(len(scale)), 1.0
    if kind == kernel.GIN:
        sent, bias, own_weight = conv["nn.0.weight"].T, conv["nn.0.bias"], 1 + float(conv["eps"][0])
        inner, inner_bias = conv["nn.2.weight"].T * scale, conv["nn.2.bias"] * scale + shift
    else:
        weight, last = ("lin_l.weight", "lin_l.bias") if kind == kernel.SAGE else ("lin.weight", "bias")
        sent, bias = conv[weight].T * scale, conv[last] * scale + shift
    own, scores = np.zeros_like(sent), np.zeros((len(sent), 2))
    if kind == kernel.SAGE:
        own = conv["lin_r.weight"].T * scale
    if kind == kernel.GAT:
        scores = conv["lin.weight"].T @ np.stack([conv["att_src"][0, 0], conv["att_dst"][0, 0]], axis=1)
    return {
        "sent": sent, "bias": bias, "own": own, "own_weight": own_weight,
        "inner": inner, "inner_bias": inner_bias, "scores": scores,
    }  # fmt: skip


def greed_weights(model: Greed | None) -> GreedWeights:
    """The weights of a GREED network as they are now; without one, empty tables that stand for a model not asked."""
    rows, kernel = row_kernels, greed_kernels
    if model is None:
        table, tables, row = _empty()
        return kernel.GreedWeights(table, table, tables, table, tables, table, row, table, tables, row, table, row)
    weights, layers = _arrays(model), range(model.num_layers)
    states = weights["pre.weight"].T + weights["pre.bias"]  # [num_labels, width]
    maps = [np.stack([rows.padded(weights[f"convs.{i}.nn.{at}.weight"].T) for i in layers]) for at in (0, 2)]
    biases = [np.stack([rows.padded_row(weights[f"convs.{i}.nn.{at}.bias"]) for i in layers]) for at in (0, 2)]
    blocks = weights["post.0.weight"].T.reshape(model.num_layers + 1, model.width, -1)
    return kernel.GreedWeights(
        inputs=rows.padded(states, both=False),
        messages=rows.padded(states @ weights["convs.0.nn.0.weight"].T, both=False),
        first=maps[0],
        first_bias=biases[0],
        second=maps[1],
        second_bias=biases[1],
        own=np.array([1 + weights[f"convs.{i}.eps"][0] for i in layers], dtype=np.float32),
        label_hidden=rows.padded(states @ blocks[0], both=False),
        hidden=np.stack([rows.padded(block) for block in blocks[1:]]),
        hidden_bias=rows.padded_row(weights["post.0.bias"]),
        output=rows.padded(weights["post.2.weight"].T),
        output_bias=rows.padded_row(weights["post.2.bias"]),
    )


def _empty() -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    return np.zeros((0, 8), np.float32), np.zeros((0, 8, 8), np.float32), np.zeros(8, np.float32)


def _arrays(model: Module) -> dict[str, _Matrix]:
    return {name: tensor.cpu().double().numpy() for name, tensor in model.state_dict().items()}


def _under(prefix: str, weights: Mapping[str, _Matrix]) -> dict[str, _Matrix]:
    return {name.removeprefix(prefix): value for name, value in weights.items() if name.startswith(prefix)}


# The fast path: the package's own models on CPU, computed once for each distinct node state of the edited graphs.


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
        base = colour_kernels.base_colours(graph.labels, graph.edges, len(room.block.rows) - 1)
        neighbourhood_kernels.sweep(
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
        shapes = neighbourhood_kernels.block_shapes(num_nodes, num_edges, size, num_rounds)
        room = _Room(
            num_labels,
            capacity,
            self.take("table", (1 << int(1.4 * capacity).bit_length(), 2), np.uint64),
            neighbourhood_kernels.Block(**{name: self.take(name, shape, np.int32) for name, shape in shapes.items()}),
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
        kernel, width, labels = classifier_kernels, weights.inputs.shape[1], len(weights.inputs)
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
        return greed_kernels.GreedRoom(
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
