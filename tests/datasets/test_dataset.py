from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from comrecgc.datasets import GraphDataset
from comrecgc.errors import InputError
from comrecgc.graphs import Graph

GRAPHS = (Graph([0, 1], [(0, 1)]), Graph([1], []), Graph([0, 0, 1], [(0, 1), (1, 2)]))


def dataset(**changes: Any) -> GraphDataset:
    return GraphDataset(**{"name": "toy", "graphs": GRAPHS, "classes": [0, 1, 0], "label_names": ("C", "O")} | changes)


def test_sizes_and_sequence() -> None:
    data = dataset()
    assert (len(data), data.num_nodes, data.num_edges, data.num_labels) == (3, 6, 3, 2)
    assert list(data) == list(GRAPHS)
    assert data[1] is GRAPHS[1]
    assert data[-1] is GRAPHS[2]
    assert repr(data) == "GraphDataset('toy', graphs=3, nodes=6, edges=3, labels=2, accept=1)"


def test_subsets_carry_their_classes() -> None:
    chosen = dataset().subset([2, 1])
    assert list(chosen) == [GRAPHS[2], GRAPHS[1]]
    assert chosen.classes.tolist() == [0, 1]
    assert dataset()[1:].classes.tolist() == [1, 0]


def test_molecular_if_every_label_is_an_element() -> None:
    assert dataset().is_molecular
    assert not dataset(label_names=("C", "helix")).is_molecular


def test_pyg_graphs_have_features_both_directions_and_class() -> None:
    features = np.array([[0.5, 2.0, 0.0], [1.5, 0.0, 1.0]], dtype=np.float32)
    first = dataset(features=features).to_pyg()[0]
    assert first.x.tolist() == features.tolist()
    assert first.edge_index.tolist() == [[0, 1], [1, 0]]
    assert first.y.tolist() == [0]
    assert dataset().to_pyg()[2].x.tolist() == [[1, 0], [1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"classes": [0, 1]}, r"One class per graph is needed \(got \(2,\) for 3 graphs\)"),
        ({"classes": [0, 1, 2]}, r"Classes must be 0 \(reject\) or 1 \(accept\)"),
        ({"label_names": ("C",)}, r"Every node label needs a name \(got 1 names, label 1\)"),
        ({"features": np.eye(3, dtype=np.float32)}, r"Every label needs a feature row \(got 3 of 2\)"),
    ],
)
def test_bad_parts_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        dataset(**changes)
