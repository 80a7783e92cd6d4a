"""One-edit neighbours of a graph: their identities, and the probability and embedding of each by the fastest path available for the model."""

from __future__ import annotations

import functools
import itertools
import math
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import torch

from comrecgc.errors import InputError
from comrecgc.graphs import Constraint, EditTable, Graph, GraphBatch, KeyArray, allowed_edits, batch_keys, edited_batch
from comrecgc.models import Classifier, Embedder, GraphClassifier, Greed
from comrecgc.scoring import change_kernels, incremental_kernels
from comrecgc.scoring.incremental_kernels import GAT, GCN, GIN, SAGE, Network
from comrecgc.scoring.row_sums import WIDTH

FloatArray = npt.NDArray[np.float32]

_FEWEST_KEYS = 256  # edits whose keys are worth a thread
_FEWEST_NODES = 600  # nodes of edited graphs that are worth a thread
_MOST_NODES = 100_000  # of edited graphs that are built at once, which bounds memory
_MOST_ROOM = 2**24  # numbers of a graph under change: one whose nodes have very many neighbours takes a forward pass

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")


@dataclass(frozen=True, eq=False, kw_only=True)
class Neighbourhood:
    """The allowed one-edit neighbours of a graph, isomorphic ones once, with the models' outputs for each."""

    graph: Graph
    table: EditTable  # the edit that leads to each neighbour, [N]; of several that lead to the same one, the first
    keys: KeyArray  # `graph_key` of each neighbour, [N]
    probability: FloatArray | None = None  # probability of accept, [N]; None if not asked for
    embedding: FloatArray | None = None  # `z`, [N, width]; None if not asked for

    def __len__(self) -> int:
        return len(self.table)

    def select(self, chosen: npt.NDArray[np.bool_] | npt.NDArray[np.intp]) -> Neighbourhood:
        """The neighbours under a mask or at the given indices."""
        return Neighbourhood(
            graph=self.graph,
            table=self.table.select(chosen),
            keys=self.keys[chosen],
            probability=None if self.probability is None else self.probability[chosen],
            embedding=None if self.embedding is None else self.embedding[chosen],
        )


def neighbour_keys(graph: Graph, table: EditTable) -> KeyArray:
    """`graph_key` of the graph after each edit of the table, `[N]`; edited graphs are built some at a time."""
    size = max(1, _MOST_NODES // (graph.num_nodes + 1))
    keys = [batch_keys(edited_batch(graph, part)) for part in parts(table, size)]
    return np.concatenate([np.zeros(0, np.uint64), *keys])


def first_of_each(keys: KeyArray) -> npt.NDArray[np.intp]:
    """Indices of the first occurrence of each key, increasing."""
    return np.sort(np.unique(keys, return_index=True)[1])


def parts(table: EditTable, size: int) -> Iterator[EditTable]:
    """Consecutive runs of at most `size` edits."""
    for start in range(0, len(table), size):
        yield table.select(np.arange(start, min(start + size, len(table))))


class NeighbourhoodScorer:
    """Scores whole neighbourhoods with one classifier and one embedder.

    On a CPU the package's own classifiers and GREED take the fast path, which is exact; its results depend neither on other graphs in the call nor on
    the number of threads. Every other model takes the generic path. Weights
    are read when the scorer is made, and torch models are moved to the device.

    A model that is not needed may be None. At most `max_nodes` nodes of edited graphs are held at once, which bounds memory. The fast path uses as
    many threads as torch by default.
    """

    def __init__(
        self,
        classifier: Classifier | None,
        embedder: Embedder | None,
        num_labels: int,
        *,
        constraint: Constraint | None = None,
        device: torch.device | str = "cpu",
        max_nodes: int = 100_000,
        num_threads: int | None = None,
        fast: bool = True,
    ) -> None:
        num_threads = torch.get_num_threads() if num_threads is None else num_threads
        models: dict[str, object] = {"classifier": classifier, "embedder": embedder}
        for name, model in models.items():
            known = getattr(model, "num_labels", num_labels)
            if known < num_labels:
                raise InputError(f"The {name} must know all {num_labels} labels (got one of {known})")
            if isinstance(model, torch.nn.Module):
                model.to(device)
        self.classifier, self.embedder = classifier, embedder
        self.num_labels, self.constraint = num_labels, constraint
        self.max_nodes, self.num_threads = max_nodes, num_threads
        fast = fast and torch.device(device).type == "cpu"
        self._classifier = _EditScorer.of(classifier) if fast else None
        self._embedder = _EditScorer.of(embedder) if fast else None

    def score(
        self,
        graphs: Sequence[Graph],
        *,
        probability: bool = True,
        embedding: bool = True,
        sample: int | None = None,
        rng: np.random.Generator | None = None,
        limits: Sequence[Constraint] | None = None,
    ) -> list[Neighbourhood]:
        """The neighbourhood of every graph, with probabilities and embeddings as requested.

        At most `sample` edits of each are scored, drawn uniformly by `rng` without replacement. `limits` are further constraints, one per graph.
        """
        own = [None] * len(graphs) if limits is None else limits
        tables = [self._edits(graph, limit, sample, rng) for graph, limit in zip(graphs, own, strict=True)]
        neighbourhoods = self._identify(graphs, tables)
        return self.complete(neighbourhoods, probability=probability, embedding=embedding)

    def complete(
        self, neighbourhoods: Sequence[Neighbourhood], *, probability: bool = True, embedding: bool = True
    ) -> list[Neighbourhood]:
        """The same neighbourhoods, or parts of them, completed with the requested outputs that are missing."""
        results = list(neighbourhoods)
        if probability and self._classifier is not None:
            margins = self._outputs(self._classifier, results, "probability")
            results = [
                known if rows is None else replace(known, probability=_logistic(rows[:, 0]))
                for known, rows in zip(results, margins, strict=True)
            ]
        if embedding and self._embedder is not None:
            vectors = self._outputs(self._embedder, results, "embedding")
            results = [
                known if rows is None else replace(known, embedding=rows.astype(np.float32))
                for known, rows in zip(results, vectors, strict=True)
            ]
        return [self._complete_generic(known, probability=probability, embedding=embedding) for known in results]

    def is_independent(self, graph: Graph, of: str) -> bool:
        """Whether the "probability" or "embedding" of an edit of the graph is the same whatever else is scored with it."""
        scorer = self._classifier if of == "probability" else self._embedder
        return scorer is not None and scorer.has_room(graph)

    def _outputs(
        self, scorer: _EditScorer, neighbourhoods: Sequence[Neighbourhood], known_as: str
    ) -> list[npt.NDArray[np.float64] | None]:
        """Outputs of a network for every neighbour, `[N, num_outputs]`; None if they are known or the graph is too large."""
        share = math.ceil(self.num_threads / max(1, len(neighbourhoods)))
        groups: list[list[tuple[Graph, EditTable]]] = []
        for known in neighbourhoods:
            graph, table = known.graph, known.table
            if getattr(known, known_as) is not None or not scorer.has_room(graph):
                groups.append([])
                continue
            count = max(1, min(share, len(table) * (graph.num_nodes + 1) // _FEWEST_NODES))
            pieces = list(parts(table, math.ceil(len(table) / count))) if count > 1 else [table]
            groups.append([(graph, piece) for piece in pieces])
        rows = iter(self._map(lambda piece: scorer.score(*piece), [piece for group in groups for piece in group]))
        found = [list(itertools.islice(rows, len(group))) for group in groups]
        return [np.concatenate(each) if each else None for each in found]

    def _complete_generic(self, known: Neighbourhood, *, probability: bool, embedding: bool) -> Neighbourhood:
        """Missing outputs by forward passes of flat batches."""
        if probability and known.probability is None:
            assert self.classifier is not None
            scores = _score_batches(self.classifier.accept_probability, known.graph, known.table, self.max_nodes)
            known = replace(known, probability=scores)
        if embedding and known.embedding is None:
            assert self.embedder is not None
            scores = _score_batches(self.embedder.embed, known.graph, known.table, self.max_nodes)
            known = replace(known, embedding=scores)
        return known

    def _edits(
        self, graph: Graph, limit: Constraint | None, sample: int | None, rng: np.random.Generator | None
    ) -> EditTable:
        table = allowed_edits(graph, self.num_labels, self.constraint)
        if limit is not None:
            table = table.select(limit.allowed(graph, table))
        if sample is None or len(table) <= sample:
            return table
        assert rng is not None
        return table.select(np.sort(rng.choice(len(table), size=sample, replace=False)))

    def _identify(self, graphs: Sequence[Graph], tables: Sequence[EditTable]) -> list[Neighbourhood]:
        """The neighbourhoods without outputs, with the first edit of each key."""
        share = math.ceil(self.num_threads / max(1, len(graphs)))
        groups = [list(parts(table, max(_FEWEST_KEYS, math.ceil(len(table) / share)))) for table in tables]
        pieces = [(graph, part) for graph, group in zip(graphs, groups, strict=True) for part in group]
        found = iter(self._map(lambda piece: neighbour_keys(*piece), pieces))
        results = []
        for graph, table, group in zip(graphs, tables, groups, strict=True):
            keys = np.concatenate([np.zeros(0, np.uint64), *itertools.islice(found, len(group))])
            first = first_of_each(keys)
            results.append(Neighbourhood(graph=graph, table=table.select(first), keys=keys[first]))
        return results

    def _map(self, function: Callable[[_Task], _Result], tasks: Sequence[_Task]) -> list[_Result]:
        """Map the function over tasks, in order, with threads, since compiled functions release the interpreter."""
        if self.num_threads == 1 or len(tasks) < 2:
            return [function(task) for task in tasks]
        return list(_threads(self.num_threads, os.getpid()).map(function, tasks))


@functools.cache
def _threads(count: int, process: int) -> ThreadPoolExecutor:  # noqa: ARG001
    """Threads kept between calls, since starting them takes longer than scoring a small graph.

    A process that was forked has none of its parent's threads, so they are told apart by process.
    """
    return ThreadPoolExecutor(count)


class _EditScorer:
    """Scores edits of graphs by one of the package's own networks; safe to use from several threads at once."""

    def __init__(self, network: incremental_kernels.Network) -> None:
        self._network = network
        self._rooms: list[tuple[Any, Any]] = []  # those not in use; to pop and to append are atomic

    @classmethod
    def of(cls, model: Classifier | Embedder | None) -> _EditScorer | None:
        """A scorer for the model; None if the model needs a forward pass."""
        network = compiled_network(model)
        return None if network is None else cls(network)

    def has_room(self, graph: Graph) -> bool:
        """Whether there is room for the graph and its changes."""
        return graph.num_nodes * (int(graph.degrees().max(initial=0)) + 16) <= _MOST_ROOM

    def score(self, graph: Graph, table: EditTable) -> npt.NDArray[np.float64]:
        """What the network says of the graph after each edit, `[N, num_outputs]`."""
        degree = int(graph.degrees().max(initial=0))
        work, states = self._rooms.pop() if self._rooms else (None, None)
        if work is None or not change_kernels.fits(work, graph.num_nodes, degree):
            work = change_kernels.new_work(_rounded(graph.num_nodes), _rounded(degree), added=1)
            states = incremental_kernels.new_states(work, self._network)
        rows = incremental_kernels.score_edits(
            *(graph.labels.astype(np.int64), graph.edges.astype(np.int64), np.zeros(graph.num_edges, np.int64), work),
            *(table.kind, table.first, table.second, self._network, states),
        )
        self._rooms.append((work, states))
        return np.asarray(rows)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_rooms": []}  # what is in them need not travel


def _rounded(count: int) -> int:
    """A rounded-up size, so that the room often fits the next graph."""
    return -(-count // 16) * 16


def _logistic(margin: npt.NDArray[np.float64]) -> FloatArray:
    small = np.exp(-np.abs(margin))  # from the side where the exponential is small
    return np.asarray(np.where(margin >= 0, 1, small) / (1 + small), np.float32)


def _score_batches(
    model: Callable[[GraphBatch], npt.NDArray[Any]], graph: Graph, table: EditTable, max_nodes: int
) -> FloatArray:
    """Outputs of any model for the graph after each edit of the table, `[N, …]`, in batches of bounded size."""
    if len(table) == 0:  # the graph itself tells the shape of a row
        return _rows(model, GraphBatch.from_graphs([graph]))[:0]
    size = max(1, max_nodes // (graph.num_nodes + 1))
    batches = (edited_batch(graph, part, with_edge_labels=True) for part in parts(table, size))
    return np.concatenate([_rows(model, batch) for batch in batches])


def _rows(model: Callable[[GraphBatch], npt.NDArray[Any]], batch: GraphBatch) -> FloatArray:
    rows = np.asarray(model(batch), dtype=np.float32)
    if len(rows) != len(batch):
        raise InputError(f"A model must give one row per graph (got shape {rows.shape} for {len(batch)} graphs)")
    return rows


class EditMemory:
    """A cache of scores of edits, at most `max_bytes`; the oldest graph is dropped first. Answers are the same with and without it.

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


# The package's own networks as plain weights for `incremental_kernels`: evaluation mode, batch norm folded in.


_KINDS = {"gcn": GCN, "sage": SAGE, "gin": GIN, "gat": GAT}

_Matrix = npt.NDArray[np.float64]


class _Layer(NamedTuple):
    """A convolution; maps go from inputs (rows) to outputs (columns)."""

    send: _Matrix  # what a node sends to its neighbours and itself
    bias: _Matrix  # what its sum starts from
    keep: _Matrix | None = None  # what a node adds to its own sum (SAGE), or its two attention scores (GAT)
    own: float = 1.0  # weight of a node in its own sum (GIN)
    second: _Matrix | None = None  # second map (GIN)
    second_bias: _Matrix | None = None


def compiled_network(model: Classifier | Embedder | None) -> Network | None:
    """The weights of one of the package's own networks; None for models that need a forward pass.

    A subclass may compute something else and double precision is more exact, so both are left to a forward pass.
    """
    if type(model) not in (GraphClassifier, Greed):
        return None
    assert isinstance(model, GraphClassifier | Greed)
    if any(tensor.dtype != torch.float32 for tensor in model.parameters()):
        return None
    weights = {name: tensor.detach().cpu().double().numpy() for name, tensor in model.state_dict().items()}
    return _classifier(model, weights) if isinstance(model, GraphClassifier) else _greed(model, weights)


def _classifier(model: GraphClassifier, weights: dict[str, _Matrix]) -> Network:
    """The margin of accept over reject: a linear function of the largest last states of a graph."""
    kind, layers = _KINDS[model.architecture], []
    for i, norm in enumerate(model.bns):
        assert isinstance(norm, torch.nn.BatchNorm1d)
        conv = {name.removeprefix(f"convs.{i}."): value for name, value in weights.items()}
        scale = weights[f"bns.{i}.weight"] / np.sqrt(weights[f"bns.{i}.running_var"] + norm.eps)  # [hidden]
        shift = weights[f"bns.{i}.bias"] - weights[f"bns.{i}.running_mean"] * scale
        if kind == GIN:
            second, second_bias = conv["nn.2.weight"].T * scale, conv["nn.2.bias"] * scale + shift
            own = 1.0 + float(conv["eps"][0])
            layers.append(_Layer(conv["nn.0.weight"].T, conv["nn.0.bias"], None, own, second, second_bias))
        elif kind == SAGE:
            keep = conv["lin_r.weight"].T * scale
            layers.append(_Layer(conv["lin_l.weight"].T * scale, conv["lin_l.bias"] * scale + shift, keep))
        else:
            keep = None
            if kind == GAT:
                keep = conv["lin.weight"].T @ np.stack([conv["att_src"][0, 0], conv["att_dst"][0, 0]], axis=1)
            layers.append(_Layer(conv["lin.weight"].T * scale, conv["bias"] * scale + shift, keep))
    head, bias = weights["fc.weight"], weights["fc.bias"]
    features = model.features.detach().cpu().double().numpy()
    return _network(kind, False, features, layers, [(head[1:] - head[:1]).T], [bias[1:] - bias[:1]])


def _greed(model: Greed, weights: dict[str, _Matrix]) -> Network:
    """The embedding: a perceptron of the states of all layers, each summed over the graph."""
    layers = [
        _Layer(
            weights[f"convs.{i}.nn.0.weight"].T, weights[f"convs.{i}.nn.0.bias"], None,
            1.0 + float(weights[f"convs.{i}.eps"][0]),
            weights[f"convs.{i}.nn.2.weight"].T, weights[f"convs.{i}.nn.2.bias"],
        )
        for i in range(model.num_layers)
    ]  # fmt: skip
    first, *later = [weights[f"post.{2 * i}.weight"].T for i in range(len(model.head_widths) + 1)]
    head = [*first.reshape(model.num_layers + 1, model.width, -1), *later]
    biases = [weights[f"post.{2 * i}.bias"] for i in range(len(later) + 1)]
    return _network(GIN, True, weights["pre.weight"].T + weights["pre.bias"], layers, head, biases)


def _network(
    kind: int,
    sums: bool,
    inputs: _Matrix,
    layers: Sequence[_Layer],
    head: Sequence[_Matrix],
    head_bias: Sequence[_Matrix],
) -> Network:
    """The network, all widths padded to the largest, and that to whole blocks of `row_sums`."""
    maps = [matrix for layer in layers for matrix in (layer.send, layer.second) if matrix is not None]
    sizes = [max(matrix.shape) if sums else matrix.shape[1] for matrix in [*maps, *head]]
    width = -(-max(*sizes, inputs.shape[1] if sums else 0) // WIDTH) * WIDTH
    tables = [inputs @ layers[0].send]
    if layers[0].keep is not None:
        tables.append(inputs @ layers[0].keep)
    if sums:
        tables.append(inputs)
    later, seconds = layers[1:], [layer.second for layer in layers if layer.second is not None]
    return Network(
        kind=kind,
        sums=sums,
        num_outputs=len(head_bias[-1]),
        tables=_stacked(tables, (len(inputs) + 1, width)),  # the last row is that of a blank node, which sends nothing
        send=_stacked([layer.send for layer in later], (width, width)),
        keep=_stacked([layer.keep for layer in later if layer.keep is not None], (width, width)),
        own=np.array([layer.own for layer in layers], np.float32),
        bias=_stacked([layer.bias for layer in layers], (width,)),
        second=_stacked(seconds, (width, width)),
        second_bias=_stacked([layer.second_bias for layer in layers if layer.second_bias is not None], (width,)),
        head=_stacked(head, (width, width)),
        head_bias=_stacked(head_bias, (width,), np.float64),
    )


def _stacked(arrays: Sequence[_Matrix], shape: tuple[int, ...], dtype: npt.DTypeLike = np.float32) -> npt.NDArray[Any]:
    """The arrays, each with zeros up to the shape."""
    result = np.zeros((len(arrays), *shape), dtype)
    for place, array in enumerate(arrays):
        result[place][tuple(slice(size) for size in array.shape)] = array
    return result
