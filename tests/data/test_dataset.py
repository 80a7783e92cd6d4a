from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comrecgc.data import GraphDataset, load_planted
from comrecgc.data.dataset import merge_directions
from comrecgc.errors import InputError
from comrecgc.graphs import Graph, to_data

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
        ({"classes": [0, 1, 2]}, r"Classes must be 0 \(reject\) or 1"),
        ({"label_names": ("C",)}, "Every node label needs a name"),
        ({"features": np.eye(3, dtype=np.float32)}, "Every label needs a feature row"),
    ],
)
def test_bad_parts_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        dataset(**changes)


def test_features_of_one_hot_data_are_a_table() -> None:
    dataset = load_planted(num_graphs=2)
    assert to_data(dataset[0], dataset.features).x.tolist() == dataset.to_pyg()[0].x.tolist()


NUM_NODES = 6
PAIRS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)).filter(lambda pair: pair[0] != pair[1]))


@given(PAIRS)
def test_agrees_with_sets(rows: list[tuple[int, int]]) -> None:
    pairs = np.array(rows, dtype=np.int64).reshape(-1, 2)
    before = pairs.copy()
    edges, first_row, edge_of_row, repairs = merge_directions(pairs, NUM_NODES)
    ends = [tuple(sorted(row)) for row in rows]
    assert [tuple(edge) for edge in edges.tolist()] == sorted(set(ends))
    assert [ends[row] for row in first_row] == sorted(set(ends))
    assert all(ends.index(end) == first_row[edge] for end, edge in zip(ends, edge_of_row, strict=True))
    num_repeated, num_one_way = len(rows) - len(set(rows)), sum((j, i) not in rows for i, j in set(rows))
    expected = []
    if num_repeated:
        expected.append(f"{num_repeated} of {len(rows)} rows of edges repeated an earlier row and were merged.")
    if num_one_way:
        expected.append(
            f"{num_one_way} of {len(edges)} edges were listed in one direction only and taken as undirected."
        )
    assert repairs.notes == tuple(expected)
    assert (pairs == before).all()
