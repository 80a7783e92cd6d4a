"""What must hold of whatever a reader accepts."""

from __future__ import annotations

import numpy as np

from comrecgc.data import GraphDataset
from comrecgc.graphs import Graph


def check_graph(graph: Graph, num_labels: int) -> None:
    """Arrays are canonical, labels known, ids increasing."""
    again = Graph(graph.labels, graph.edges, graph.edge_labels)
    assert again == graph
    if graph.edge_labels is not None and again.edge_labels is not None:
        assert np.array_equal(again.edge_labels, graph.edge_labels)
    assert 0 <= graph.labels.min() <= graph.labels.max() < num_labels
    assert (np.diff(graph.ids) > 0).all()
    assert 0 <= graph.ids[0] <= graph.ids[-1] < graph.next_id


def check_dataset(dataset: GraphDataset) -> None:
    """Every graph is right, has a class, and its labels have names."""
    assert len(dataset) == len(dataset.classes) > 0
    assert set(dataset.classes.tolist()) <= {0, 1}
    assert all(isinstance(name, str) for name in (dataset.name, *dataset.label_names, *dataset.class_names))
    for graph in dataset:
        check_graph(graph, dataset.num_labels)
        if graph.edge_labels is not None and graph.num_edges:
            assert dataset.edge_label_names is not None
            assert graph.edge_labels.max() < len(dataset.edge_label_names)
