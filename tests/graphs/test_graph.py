from __future__ import annotations

import pickle  # only to show that worker processes can be handed graphs
import subprocess
import sys

import numpy as np
import pytest

from comrecgc.errors import InputError
from comrecgc.graphs import Edit, EditKind, Graph, GraphBatch, apply_path, components, fingerprint

CHAIN = Graph([0, 1, 2, 0], [[0, 1], [1, 2], [2, 3]], [0, 1, 2])


def test_edges_are_stored_sorted_with_their_labels() -> None:
    graph = Graph([0, 1, 2], [(2, 0), (1, 0)], [7, 5])
    assert graph.edges.tolist() == [[0, 1], [0, 2]]
    assert graph.edge_labels is not None
    assert graph.edge_labels.tolist() == [5, 7]
    assert graph.size == 5
    assert graph.degrees().tolist() == [2, 1, 1]


def test_input_arrays_are_neither_kept_nor_changed() -> None:
    labels, edges = np.array([1, 0], dtype=np.int32), np.array([[1, 0]], dtype=np.int32)
    graph = Graph(labels, edges)
    labels[0] = 9
    assert edges.tolist() == [[1, 0]]
    assert graph.labels.tolist() == [1, 0]
    with pytest.raises(ValueError, match="read-only"):
        graph.labels[0] = 3


@pytest.mark.parametrize(
    ("labels", "edges", "edge_labels", "message"),
    [
        ([], [], None, "at least one node"),
        ([[0, 1]], [], None, "flat labels"),
        ([-1], [], None, "non-negative"),
        ([0.5], [], None, "labels must be integers"),
        ([0, 0], [(0, 2)], None, r"lie in 0…1 \(got 0…2\)"),
        ([0, 0], [(-1, 1)], None, "lie in 0…1"),
        ([0, 0], [(1, 1)], None, "Self-loops are not allowed"),
        ([0, 0], [(0, 1), (1, 0)], None, r"may appear once \(got 0-1 twice\)"),
        ([0, 0], [(0, 1)], [1, 2], "One edge label per edge"),
    ],
)
def test_what_is_not_a_simple_labelled_graph_is_refused(
    labels: list[int], edges: list[tuple[int, int]], edge_labels: list[int] | None, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        Graph(labels, edges, edge_labels)


def test_equality_is_of_layout() -> None:
    graph = Graph([0, 1], [(0, 1)])
    assert graph == Graph([0, 1], [(1, 0)])
    assert hash(graph) == hash(Graph([0, 1], [(1, 0)]))
    assert graph != Graph([1, 0], [(0, 1)])
    assert graph != "graph"


def test_a_graph_survives_the_trip_to_a_worker_process() -> None:
    graph = Graph([0, 1, 1], [(0, 1), (1, 2)], [0, 2])
    copy = pickle.loads(pickle.dumps(graph))  # noqa: S301
    assert copy == graph
    assert copy.edge_labels.tolist() == [0, 2]
    assert copy.ids.tolist() == [0, 1, 2]


def test_permuted_moves_labels_edges_and_edge_labels_together() -> None:
    graph = Graph([5, 6, 7], [(0, 1), (1, 2)], [1, 2])
    turned = graph.permute([2, 0, 1])
    assert turned.labels.tolist() == [7, 5, 6]
    assert turned.edges.tolist() == [[0, 2], [1, 2]]
    assert turned.edge_labels is not None
    assert turned.edge_labels.tolist() == [2, 1]


def test_batch_round_trip_and_selections() -> None:
    graphs = [Graph([0, 1], [(0, 1)]), Graph([2], []), Graph([1, 1, 0], [(0, 2), (1, 2)])]
    batch = GraphBatch.from_graphs(graphs)
    assert list(batch) == graphs
    assert batch.graph_of_node().tolist() == [0, 0, 1, 2, 2, 2]
    assert batch.edge_index().tolist() == [[0, 3, 4, 1, 5, 5], [1, 5, 5, 0, 3, 4]]
    assert list(batch.select([2, 0, 2])) == [graphs[2], graphs[0], graphs[2]]
    assert len(batch.select([])) == 0
    assert len(GraphBatch.from_graphs([])) == 0
    with pytest.raises(IndexError):
        batch[3]


def test_batch_keeps_edge_labels_only_if_all_graphs_have_them() -> None:
    labelled, plain = Graph([0, 0], [(0, 1)], [2]), Graph([0, 0], [(0, 1)])
    both = GraphBatch.from_graphs([labelled, labelled]).edge_labels
    assert both is not None
    assert both.tolist() == [2, 2]
    assert GraphBatch.from_graphs([labelled, plain]).edge_labels is None


def test_chunks_hold_whole_graphs_within_the_bound() -> None:
    sizes = [3, 4, 1, 9, 2, 2]
    batch = GraphBatch.from_graphs(Graph([0] * size, []) for size in sizes)
    chunks = [chunk.node_counts().tolist() for chunk in batch.chunks(8)]
    assert chunks == [[3, 4, 1], [9], [2, 2]]
    assert [chunk.node_counts().tolist() for chunk in batch.chunks(1)] == [[size] for size in sizes]
    assert list(GraphBatch.from_graphs([]).chunks(8)) == []


def test_fingerprints_tell_lists_apart() -> None:
    first, second = Graph([0, 1], [(0, 1)]), Graph([0], [])
    assert fingerprint([first, second]) == fingerprint([Graph([0, 1], [(1, 0)]), second])
    assert fingerprint([first, second]) != fingerprint([second, first])
    assert fingerprint([first]) != fingerprint([first, first])
    assert fingerprint([first]) != fingerprint([first.permute([1, 0])])
    assert fingerprint([first]) != fingerprint([Graph([0, 1], [(0, 1)], [2])])


def test_numbers_that_do_not_fit_and_edges_in_two_rows_are_refused() -> None:
    with pytest.raises(InputError, match="labels must fit in 32 bits"):
        Graph([2**32 + 1], [])
    with pytest.raises(InputError, match="edges must fit in 32 bits"):
        Graph([0, 0], [(2**32, 1)])
    with pytest.raises(InputError, match="edges must be pairs, one a row"):
        Graph([0] * 6, [[0, 1, 2, 3], [4, 5, 3, 0]])
    with pytest.raises(InputError, match="Edge labels must be non-negative"):
        Graph([0, 0], [(0, 1)], [-1])


def test_components_are_those_of_the_subgraph() -> None:
    neighbours = CHAIN.neighbours_by_id()
    assert components([0, 1, 3], neighbours) == [{0, 1}, {3}]
    assert components([], neighbours) == []


def test_edge_labels_follow_their_edges() -> None:
    after = apply_path(CHAIN, (Edit(EditKind.REMOVE_NODE, 0),))
    assert after.edge_labels_by_id() == {(1, 2): 1, (2, 3): 2}
    assert Graph([0, 0], [[0, 1]]).edge_labels_by_id() == {}


def test_graphs_are_imported_without_what_is_heavy() -> None:
    heavy = {"networkx", "rdkit", "sklearn", "torch", "torch_geometric"}
    code = f"import sys; from comrecgc.graphs import Graph; print(*({heavy!r} & sys.modules.keys()))"
    assert not subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
