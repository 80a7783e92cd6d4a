"""Tests of comrecgc.graphs.edits.

Also tests comrecgc.graphs.graph_kernels.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings

from comrecgc.errors import InputError
from comrecgc.graphs import (
    Edit,
    EditKind,
    Graph,
    allowed_edits,
    apply_edit,
    edited_batch,
    graph_key,
    one_edit_table,
    path_costs,
    to_networkx,
)
from tests.graphs.strategies import graphs

NUM_LABELS = 3


def brute_force_neighbours(source: nx.Graph[int]) -> Iterator[nx.Graph[int]]:
    """N(G) straight from its definition, on networkx graphs."""
    for node in source:
        for label in range(NUM_LABELS):
            if label != source.nodes[node]["label"]:
                relabelled = source.copy()
                relabelled.nodes[node]["label"] = label
                yield relabelled
            grown = source.copy()
            grown.add_node(-1, label=label)
            grown.add_edge(node, -1)
            yield grown
        if source.degree[node] == 1:
            pruned = source.copy()
            pruned.remove_node(node)
            yield pruned
    for i, j in combinations(source, 2):
        changed = source.copy()
        if source.has_edge(i, j):
            changed.remove_edge(i, j)
        else:
            changed.add_edge(i, j)
        yield changed


def classes(candidates: Iterable[nx.Graph[int]]) -> dict[str, list[nx.Graph[int]]]:
    """One representative of each isomorphism class, filed under networkx's own hash."""
    found: dict[str, list[nx.Graph[int]]] = defaultdict(list)
    for graph in candidates:
        bucket = found[nx.weisfeiler_lehman_graph_hash(graph, node_attr="label")]
        if not any(isomorphic(graph, other) for other in bucket):
            bucket.append(graph)
    return found


def isomorphic(a: nx.Graph[int], b: nx.Graph[int]) -> bool:
    return nx.is_isomorphic(a, b, node_match=lambda x, y: x["label"] == y["label"])


@settings(max_examples=300, deadline=None)
@given(graphs(max_nodes=5, num_labels=NUM_LABELS))
def test_neighbours_equal_brute_force_up_to_isomorphism(graph: Graph) -> None:
    ours = classes(to_networkx(g) for g in edited_batch(graph, one_edit_table(graph, NUM_LABELS)))
    truth = classes(brute_force_neighbours(to_networkx(graph)))
    assert ours.keys() == truth.keys()
    for name, bucket in truth.items():
        assert len(ours[name]) == len(bucket)
        assert all(any(isomorphic(graph, other) for other in ours[name]) for graph in bucket)


@settings(max_examples=40, deadline=None)
@given(graphs(max_nodes=4, num_labels=2))
def test_every_neighbour_is_at_the_distance_of_its_edit(graph: Graph) -> None:
    # In unit costs a node added or removed together with its edge counts both elements; every other edit counts one.
    table = one_edit_table(graph, 2)
    source = to_networkx(graph)
    for index, neighbour in enumerate(edited_batch(graph, table)):
        distance = nx.graph_edit_distance(
            source, to_networkx(neighbour), node_match=lambda x, y: x["label"] == y["label"]
        )
        leaf_edit = table[index].kind in (EditKind.ADD_NODE, EditKind.REMOVE_NODE)
        assert distance == (2 if leaf_edit else 1) == path_costs([graph, neighbour])[-1]


@settings(max_examples=200, deadline=None)
@given(graphs(max_nodes=7, num_labels=NUM_LABELS, edge_labels=True))
def test_the_batch_holds_what_applying_each_edit_gives(graph: Graph) -> None:
    table = one_edit_table(graph, NUM_LABELS)
    batch = edited_batch(graph, table, with_edge_labels=True)
    assert len(batch) == len(table)
    for index, neighbour in enumerate(batch):
        applied = apply_edit(graph, table[index])
        assert applied.size == graph.size + table.size_changes()[index]
        assert neighbour == applied
        assert neighbour.edge_labels is not None
        assert applied.edge_labels is not None
        assert neighbour.edge_labels.tolist() == applied.edge_labels.tolist()


def test_number_of_neighbours_of_a_molecule_sized_graph() -> None:
    rng = np.random.default_rng(0)
    graph = Graph(rng.integers(0, 10, 60), [(i, int(rng.integers(0, i))) for i in range(1, 60)])
    leaves = int((graph.degrees() == 1).sum())
    table = one_edit_table(graph, 10)
    assert len(table) == 60 * 9 + 60 * 10 + leaves + (60 * 59 // 2 - 59) + 59
    batch = edited_batch(graph, table)
    assert batch.node_ptr[-1] == 60 * len(table) + 600 - leaves


def test_a_table_in_another_order_gives_the_batch_in_that_order() -> None:
    graph = Graph([0, 1, 1], [(0, 1), (1, 2)])
    table = one_edit_table(graph, 2)
    order = np.random.default_rng(1).permutation(len(table))
    straight, shuffled = list(edited_batch(graph, table)), list(edited_batch(graph, table.select(order)))
    assert shuffled == [straight[i] for i in order]


def test_ids_stay_with_their_nodes() -> None:
    graph = Graph([0, 1, 2], [(0, 1), (1, 2)])
    pruned = apply_edit(graph, Edit(EditKind.REMOVE_NODE, 0))
    assert pruned.ids.tolist() == [1, 2]
    grown = apply_edit(pruned, Edit(EditKind.ADD_NODE, 2, 0))
    assert grown.ids.tolist() == [1, 2, 3]
    assert grown.fresh().ids.tolist() == [0, 1, 2]
    edits = [one_edit_table(grown, 3)[i] for i in range(len(one_edit_table(grown, 3)))]
    assert Edit(EditKind.RELABEL, 3, 1) in edits
    assert Edit(EditKind.REMOVE_EDGE, 1, 2) in edits
    assert all(edit.first != 0 for edit in edits)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (Edit(EditKind.RELABEL, 0, 0), "another, non-negative label"),
        (Edit(EditKind.RELABEL, 9, 1), "no node with id 9"),
        (Edit(EditKind.ADD_NODE, 0, -1), "non-negative label"),
        (Edit(EditKind.REMOVE_NODE, 1), "degree 0 or 1"),
        (Edit(EditKind.ADD_EDGE, 0, 1), "two unjoined nodes"),
        (Edit(EditKind.ADD_EDGE, 2, 2), "two unjoined nodes"),
        (Edit(EditKind.REMOVE_EDGE, 0, 2), "must exist"),
    ],
)
def test_an_edit_that_does_not_fit_is_refused(edit: Edit, message: str) -> None:
    with pytest.raises(InputError, match=message):
        apply_edit(Graph([0, 1, 2], [(0, 1), (1, 2)]), edit)


def test_the_last_node_stays() -> None:
    with pytest.raises(InputError, match="last node"):
        apply_edit(Graph([0], []), Edit(EditKind.REMOVE_NODE, 0))
    assert not one_edit_table(Graph([0], []), 1).of_kind(EditKind.REMOVE_NODE).any()


def test_one_label_means_no_relabelling() -> None:
    assert not one_edit_table(Graph([0, 0], [(0, 1)]), 1).of_kind(EditKind.RELABEL).any()


def test_a_label_outside_the_alphabet_is_refused() -> None:
    with pytest.raises(InputError, match="num_labels must exceed"):
        allowed_edits(Graph([3], []), 3)


def test_enumerating_changes_nothing() -> None:
    graph = Graph([0, 1, 1], [(0, 1), (1, 2)], [1, 0])
    key, labels = graph_key(graph), graph.labels.tolist()
    edited_batch(graph, one_edit_table(graph, 4), with_edge_labels=True)
    assert graph_key(graph) == key
    assert graph.labels.tolist() == labels


def test_a_table_of_another_graph_is_refused() -> None:
    chain, star = Graph([0] * 4, [(0, 1), (1, 2), (2, 3)]), Graph([0] * 4, [(0, 1), (0, 2), (0, 3)])
    with pytest.raises(InputError, match="must be of this graph"):
        edited_batch(chain, one_edit_table(star, 2))
    with pytest.raises(InputError, match="this graph of 4 nodes"):
        edited_batch(chain, one_edit_table(Graph([0] * 9, []), 2))


def test_kinds_and_labels_that_do_not_exist_are_refused() -> None:
    graph = Graph([0, 0], [(0, 1)])
    with pytest.raises(InputError, match="must be an EditKind"):
        apply_edit(graph, Edit(7, 0, 1))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="another, non-negative label"):
        apply_edit(graph, Edit(EditKind.RELABEL, 0, 2**40))
    with pytest.raises(InputError, match="non-negative label"):
        apply_edit(graph, Edit(EditKind.ADD_NODE, 0, 2**40))
