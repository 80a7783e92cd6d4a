from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from comrecgc.data import load_dataset
from comrecgc.graphs import Graph, allowed_edits, apply_edit, batch_keys, edited_batch, graph_key
from comrecgc.scoring.scorer import first_of_each, neighbour_keys
from tests.graphs.strategies import graphs, random_graph


@given(graphs(max_nodes=6))
@settings(deadline=None, max_examples=60)
def test_keys_are_those_of_the_edited_graphs(graph: Graph) -> None:
    table = allowed_edits(graph, 3)
    expected = [graph_key(apply_edit(graph, table[i])) for i in range(len(table))]
    assert neighbour_keys(graph, table).tolist() == expected


@pytest.mark.parametrize("num_nodes", [1, 2, 12, 40])
@pytest.mark.parametrize("density", [0.0, 0.1, 0.5])
def test_keys_on_random_graphs(num_nodes: int, density: float, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(np.random.default_rng(num_nodes), num_nodes, 4, density)
    table = allowed_edits(graph, 4)
    monkeypatch.setattr("comrecgc.scoring.scorer._MOST_NODES", 500)  # several parts
    np.testing.assert_array_equal(neighbour_keys(graph, table), batch_keys(edited_batch(graph, table)))


def test_colours_that_split_for_many_rounds() -> None:
    path = Graph([0] * 90, [(i, i + 1) for i in range(89)])
    table = allowed_edits(path, 2).select(np.arange(0, 4000, 100))
    expected = [graph_key(apply_edit(path, table[i])) for i in range(len(table))]
    assert neighbour_keys(path, table).tolist() == expected


def test_an_edge_takes_no_part_in_what_it_does_not_touch() -> None:
    triangle_and_node = Graph([0, 0, 0, 0], [(0, 1), (1, 2), (0, 2)])
    table = allowed_edits(triangle_and_node, 1)
    keys = neighbour_keys(triangle_and_node, table)
    assert len(first_of_each(keys)) == 4  # a node tied to the triangle or to the node; an edge more or less


def test_first_of_each_keeps_the_order() -> None:
    keys = np.array([7, 3, 7, 9, 3], dtype=np.uint64)
    assert first_of_each(keys).tolist() == [0, 1, 3]
    assert first_of_each(keys[:0]).tolist() == []


def test_no_edits() -> None:
    graph = Graph([0], [])
    table = allowed_edits(graph, 1)
    assert neighbour_keys(graph, table.select(np.zeros(len(table), dtype=bool))).shape == (0,)


@pytest.mark.parametrize("name", ["aids", "mutagenicity", "nci1", "proteins"])
def test_keys_on_real_graphs(name: str, data_root: Path) -> None:
    dataset = load_dataset(name, root=data_root)
    rng = np.random.default_rng(0)
    for index in rng.choice(len(dataset), 10, replace=False):
        graph = dataset[int(index)]
        table = allowed_edits(graph, dataset.num_labels)
        table = table.select(np.sort(rng.choice(len(table), min(50, len(table)), replace=False)))
        expected = [graph_key(apply_edit(graph, table[i])) for i in range(len(table))]
        assert neighbour_keys(graph, table).tolist() == expected
