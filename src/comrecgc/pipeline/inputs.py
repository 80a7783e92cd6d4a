"""The user's graphs as a dataset, and its rejects; unseen graphs over the labels of those already seen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from comrecgc.classifiers import Predictions
from comrecgc.datasets import GraphDataset, from_pyg
from comrecgc.errors import InputError
from comrecgc.graphs import Graph

Graphs = GraphDataset | Iterable[Any]
"""A `GraphDataset`, a PyG dataset or a list of PyG `Data`."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Rejects:
    """The inputs of a run.

    Args:
        dataset: The dataset they come from.
        indices: Index in it of each, `[n]`.
        graphs: The graphs, with fresh ids.
        probability: Probability of accept of each, `[n]`.
    """

    dataset: GraphDataset
    indices: npt.NDArray[np.int64]
    graphs: Sequence[Graph]
    probability: npt.NDArray[np.float64]


def as_dataset(graphs: Graphs, label_names: Iterable[str] | None = None) -> tuple[GraphDataset, bool]:
    """The graphs as a dataset, and whether their true classes are known.

    Args:
        graphs: A `GraphDataset`, a PyG dataset or a list of PyG `Data`; classes are not needed.
        label_names: Name of each node label, where the graphs do not bring names.
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
    known = isinstance(listed, list) and _have_two_classes(listed)
    classes = None if known or not isinstance(listed, list) else [0] * len(listed)
    return from_pyg(listed, name=name, classes=classes, label_names=names), known


def _have_two_classes(graphs: list[Any]) -> bool:
    """Whether every graph has one number as `y`, of two kinds or 0 and 1."""
    try:
        values = {float(graph.y) for graph in graphs}
    except (AttributeError, TypeError, ValueError, RuntimeError):
        return False
    return len(values) == 2 or values <= {0.0, 1.0}


def rejects_of(dataset: GraphDataset, predictions: Predictions) -> Rejects:
    """The graphs the classifier rejects."""
    indices = predictions.rejects
    return Rejects(
        dataset=dataset,
        indices=indices,
        graphs=[dataset.graphs[i].fresh() for i in indices.tolist()],
        probability=np.asarray(predictions.probability, dtype=np.float64)[indices],
    )


def over_labels_of(dataset: GraphDataset, known: GraphDataset) -> GraphDataset:
    """Unseen graphs over the labels of the graphs an explanation was found on.

    Args:
        dataset: The unseen graphs.
        known: The graphs the models were tried on.
    """
    if dataset.label_names == known.label_names and np.array_equal(dataset.feature_table, known.feature_table):
        return dataset
    if dataset.feature_table.shape[1] != known.feature_table.shape[1]:
        raise InputError(
            f"Unseen graphs must have node features of width {known.feature_table.shape[1]}, as those of fit "
            f"(got {dataset.feature_table.shape[1]})"
        )
    place = {row.tobytes(): label for label, row in enumerate(known.feature_table)}
    labels = np.array([place.get(row.tobytes(), -1) for row in dataset.feature_table], dtype=np.int32)
    for index, graph in enumerate(dataset.graphs):
        unknown = graph.labels[labels[graph.labels] < 0]
        if len(unknown):
            name = dataset.label_names[unknown[0]]
            raise InputError(f"Unseen graphs must have node features seen in fit (got {name!r} in graph {index})")
    graphs = tuple(Graph(labels[graph.labels], graph.edges, graph.edge_labels) for graph in dataset.graphs)
    return replace(dataset, graphs=graphs, label_names=known.label_names, features=known.features)


def with_label_names(dataset: GraphDataset, label_names: Sequence[str]) -> GraphDataset:
    """The same graphs over another alphabet, labels matched by name.

    Args:
        dataset: Graphs whose labels all occur in that alphabet.
        label_names: The alphabet.
    """
    names = tuple(label_names)
    if dataset.label_names == names:
        return dataset
    used = {dataset.label_names[label] for graph in dataset.graphs for label in np.unique(graph.labels).tolist()}
    unknown = sorted(used - set(names))
    if unknown:
        raise InputError(f"The graphs must have node labels the run knows, {', '.join(names)} (got {unknown[0]!r})")
    labels = np.array([names.index(name) if name in names else -1 for name in dataset.label_names], dtype=np.int32)
    graphs = tuple(Graph(labels[graph.labels], graph.edges, graph.edge_labels) for graph in dataset.graphs)
    return replace(dataset, graphs=graphs, label_names=names, features=None)
