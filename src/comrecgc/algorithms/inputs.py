"""Inputs of a run: the user's graphs as a dataset, the graphs the model rejects, and the models."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NewType

import numpy as np
import numpy.typing as npt

from comrecgc.cover import FloatArray
from comrecgc.data import DatasetIndex, GraphDataset, Numbers, from_pyg
from comrecgc.errors import InputError
from comrecgc.graphs import Graph, GraphBatch, IntArray, LongArray
from comrecgc.models import Classifier, Embedder, Panel, Predictions

Graphs = GraphDataset | Iterable[Any]
"""A `GraphDataset`, a PyG dataset or a list of PyG `Data`."""


RejectPlace = NewType("RejectPlace", int)
"""Position of a graph among the rejects. Its index in the dataset is a `DatasetIndex`."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Outputs of both models on some graphs in a plain forward pass."""

    probability: npt.NDArray[np.float64]  # probability of accept, `[n]`
    embedding: FloatArray  # `z`, `[n, d]`; no columns without an embedder
    sizes: IntArray  # `|G|`, `[n]`

    def __getitem__(self, rows: LongArray) -> Scores:
        return Scores(self.probability[rows], self.embedding[rows], self.sizes[rows])


@dataclass(frozen=True, eq=False)
class ModelPair:
    """The classifier to be explained, and the embedder that measures distances if the algorithm needs one."""

    classifier: Classifier
    embedder: Embedder | None = None

    def scores(self, graphs: GraphBatch | Iterable[Graph]) -> Scores:
        """A plain forward pass of both models."""
        batch = graphs if isinstance(graphs, GraphBatch) else GraphBatch.from_graphs(graphs)
        probability = np.asarray(self.classifier.accept_probability(batch), dtype=np.float64)
        sizes = (batch.node_counts() + batch.edge_counts()).astype(np.int32)  # `|G|`
        return Scores(probability, self.embed(batch), sizes)

    def embed(self, batch: GraphBatch) -> FloatArray:
        """`z` of every graph, `[n, d]`."""
        if self.embedder is None:
            return np.zeros((len(batch), 0), dtype=np.float32)
        return np.asarray(self.embedder.embed(batch), dtype=np.float32)


@dataclass(frozen=True, eq=False, kw_only=True)
class Rejects:
    """The graphs that the classifier rejects: the inputs of a run."""

    dataset: GraphDataset  # the dataset they come from
    indices: LongArray  # index in it of each, `[n]`
    graphs: Sequence[Graph]  # the graphs, with fresh ids
    scores: Scores  # what a plain pass says of them; the embedding has no columns until `embedded`
    names: tuple[str, ...] = ()  # what the data calls each; empty if it does not
    stereo: tuple[str, ...] = ()  # stereo marks of each; empty if the data has none

    @classmethod
    def of(cls, dataset: GraphDataset, predictions: Predictions) -> Rejects:
        """The rejects among the graphs of a dataset."""
        indices = predictions.rejects
        graphs = [dataset.graphs[i].fresh() for i in indices.tolist()]
        probability = np.asarray(predictions.probability, dtype=np.float64)[indices]
        empty = np.zeros((len(graphs), 0), dtype=np.float32)
        sizes = np.array([graph.size for graph in graphs], dtype=np.int32)
        known = (dataset.names, dataset.stereo)
        names, stereo = (tuple(of[i] for i in indices.tolist()) if of else () for of in known)
        return cls(
            dataset=dataset, indices=indices, graphs=graphs, scores=Scores(probability, empty, sizes), names=names, stereo=stereo,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.graphs)

    def embedded(self, models: ModelPair) -> Rejects:
        """The same rejects with their embeddings, which are computed only here."""
        embedding = models.embed(GraphBatch.from_graphs(self.graphs)) if self else np.zeros((0, 1), dtype=np.float32)
        return replace(self, scores=replace(self.scores, embedding=embedding))

    def rejected_by(self, panel: Panel) -> Rejects:
        """The rejects that every member of a panel rejects too."""
        batch = GraphBatch.from_graphs(self.graphs)
        return self.take(np.flatnonzero(panel.votes(batch) == 0) if self else np.zeros(0, np.int64))

    def take(self, places: LongArray) -> Rejects:
        """Some of the rejects, by position."""
        graphs = [self.graphs[i] for i in places.tolist()]
        names, stereo = (tuple(of[i] for i in places.tolist()) if of else () for of in (self.names, self.stereo))
        scores = self.scores[places]
        return replace(self, indices=self.indices[places], graphs=graphs, scores=scores, names=names, stereo=stereo)

    def index(self, place: RejectPlace) -> DatasetIndex:
        """The index in the dataset of the reject at a position."""
        return DatasetIndex(int(self.indices[place]))


def as_dataset(
    graphs: Graphs,
    label_names: Iterable[str] | None = None,
    *,
    target: int | None = None,
    like: GraphDataset | None = None,
) -> tuple[GraphDataset, bool]:
    """A `GraphDataset`, a PyG dataset or a list of PyG `Data` as a dataset, and whether true classes are known.

    `target` is the value of `y` that means accept, by default the larger of two; `like` is a dataset whose labels the graphs use.
    """
    names = None if label_names is None else tuple(label_names)
    if isinstance(graphs, GraphDataset):
        if names is None or names == graphs.label_names:
            return graphs, True
        if len(names) != graphs.num_labels:
            raise InputError(f"label_names must name each of the {graphs.num_labels} labels (got {len(names)} names)")
        return replace(graphs, label_names=names), True
    listed = list(graphs) if not hasattr(graphs, "edge_index") and hasattr(graphs, "__iter__") else graphs
    name = getattr(graphs, "name", None)
    if not isinstance(listed, list):
        return from_pyg(listed, name=name, label_names=names, like=like), False
    values = _classes_of(listed)
    if values is not None and target is not None and target in values:
        classes: list[int] | None = [int(value == target) for value in values]
    else:
        classes = (
            None if values is not None and (len(set(values)) == 2 or set(values) <= {0.0, 1.0}) else [0] * len(listed)
        )
        target = None
    known = classes is None or target is not None
    read = from_pyg(listed, name=name, classes=classes, label_names=names, like=like)
    return (read if known or values is None else read.with_numbers(Numbers(np.array(values)))), known


def _classes_of(graphs: list[Any]) -> list[float] | None:
    """The `y` of every graph; None if any graph has none."""
    try:
        return [float(graph.y) for graph in graphs]
    except (AttributeError, TypeError, ValueError, RuntimeError):
        return None


def over_labels_of(dataset: GraphDataset, known: GraphDataset) -> GraphDataset:
    """Unseen graphs with the labels of the graphs an explanation was found on, matched by features."""
    own, ours = dataset.attributes, known.attributes
    if own is not None and ours is not None:
        if own.alphabet is ours.alphabet:
            return dataset
        originals = [own.originals[graph.source] for graph in dataset.graphs]
        read = from_pyg(
            originals, name=dataset.name, classes=dataset.classes.tolist(), class_names=dataset.class_names,
            transform=own.transform, like=known,
        )  # fmt: skip
        return replace(read, names=dataset.names)
    dataset = _over_edge_labels_of(dataset, known)
    if dataset.label_names == known.label_names and np.array_equal(dataset.features, known.features):
        return dataset
    if dataset.features.shape[1] != known.features.shape[1]:
        raise InputError(
            f"Unseen graphs must have node features of width {known.features.shape[1]}, as those of fit "
            f"(got {dataset.features.shape[1]})"
        )
    labels = _places(dataset.features, known.features)
    for index, graph in enumerate(dataset.graphs):
        unknown = graph.labels[labels[graph.labels] < 0]
        if len(unknown):
            name = dataset.label_names[unknown[0]]
            raise InputError(f"Unseen graphs must have node features seen in fit (got {name!r} in graph {index})")
    return replace(dataset, graphs=_relabelled(dataset, labels), label_names=known.label_names, features=known.features)


def _over_edge_labels_of(dataset: GraphDataset, known: GraphDataset) -> GraphDataset:
    """The same for edge labels, if both datasets have some and they differ."""
    theirs, ours = dataset.edge_features, known.edge_features
    if theirs is None or ours is None or np.array_equal(theirs, ours) or theirs.shape[1] != ours.shape[1]:
        return dataset
    labels = _places(theirs, ours)
    graphs = []
    for index, graph in enumerate(dataset.graphs):
        assert graph.edge_labels is not None
        new = labels[graph.edge_labels]
        if (new < 0).any():
            row = theirs[graph.edge_labels[new < 0][0]].tolist()
            raise InputError(f"Unseen graphs must have edge features seen in fit (got {row} in graph {index})")
        graphs.append(Graph(graph.labels, graph.edges, new).of_source(graph.source))
    return replace(dataset, graphs=tuple(graphs), edge_label_names=known.edge_label_names, edge_features=ours)


def _places(rows: npt.NDArray[np.float32], known: npt.NDArray[np.float32]) -> IntArray:
    """Index of each row among the known ones, -1 for none."""
    place = {row.tobytes(): label for label, row in enumerate(known)}
    return np.array([place.get(row.tobytes(), -1) for row in rows], dtype=np.int32)


def with_label_names(dataset: GraphDataset, label_names: Sequence[str]) -> GraphDataset:
    """The same graphs over a larger alphabet, with labels matched by name."""
    names = tuple(label_names)
    if dataset.label_names == names:
        return dataset
    used = {dataset.label_names[label] for graph in dataset.graphs for label in np.unique(graph.labels).tolist()}
    unknown = sorted(used - set(names))
    if unknown:
        raise InputError(f"The graphs must have node labels the run knows, {', '.join(names)} (got {unknown[0]!r})")
    labels = np.array([names.index(name) if name in names else -1 for name in dataset.label_names], dtype=np.int32)
    one_hot = np.eye(len(names), dtype=np.float32)
    return replace(dataset, graphs=_relabelled(dataset, labels), label_names=names, features=one_hot)


def _relabelled(dataset: GraphDataset, labels: IntArray) -> tuple[Graph, ...]:
    return tuple(
        Graph(labels[graph.labels], graph.edges, graph.edge_labels).of_source(graph.source) for graph in dataset.graphs
    )
