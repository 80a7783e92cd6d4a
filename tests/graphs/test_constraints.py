from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comrecgc.errors import InputError
from comrecgc.graphs import (
    AllOf,
    Constraint,
    Edit,
    EditKind,
    Graph,
    StayNear,
    allowed_edits,
    apply_edit,
    one_edit_table,
    to_networkx,
)
from comrecgc.graphs.edits import AllowKinds, FreezeNodes, KeepConnected
from tests.graphs.elements import elements_changed
from tests.graphs.strategies import graphs


def edits(graph: Graph, constraint: Constraint | None, num_labels: int = 3) -> set[Edit]:
    table = allowed_edits(graph, num_labels, constraint)
    return {table[i] for i in range(len(table))}


@settings(max_examples=150, deadline=None)
@given(graphs(max_nodes=6))
def test_keep_connected_allows_exactly_what_splits_no_component(graph: Graph) -> None:
    before = nx.number_connected_components(to_networkx(graph))
    kept = edits(graph, KeepConnected())
    for edit in edits(graph, None):
        after = nx.number_connected_components(to_networkx(apply_edit(graph, edit)))
        assert (edit in kept) == (after <= before)


@settings(max_examples=100, deadline=None)
@given(graphs(max_nodes=6))
def test_all_of_is_the_intersection(graph: Graph) -> None:
    parts: tuple[Constraint, ...] = (KeepConnected(), AllowKinds({"remove_edge", "add_node"}), FreezeNodes({0}))
    together = edits(graph, AllOf(*parts))
    assert together == set.intersection(*(edits(graph, part) for part in parts))
    assert edits(graph, AllOf()) == edits(graph, None)


def test_kinds_by_name_or_value() -> None:
    graph = Graph([0, 1], [(0, 1)])
    assert {edit.kind for edit in edits(graph, AllowKinds([EditKind.RELABEL, "remove_node"]))} == {
        EditKind.RELABEL,
        EditKind.REMOVE_NODE,
    }
    assert edits(graph, AllowKinds(())) == set()
    with pytest.raises(InputError, match="Edit kinds are relabel"):
        AllowKinds({"rename"})


def test_frozen_nodes_and_the_bonds_between_them_stay() -> None:
    graph = Graph([0, 1, 2, 0], [(0, 1), (1, 2), (2, 3)])
    kept = edits(graph, FreezeNodes({0, 1}))
    touched = {edit for edit in edits(graph, None) if edit not in kept}
    assert {edit.kind for edit in touched} == {EditKind.RELABEL, EditKind.REMOVE_NODE, EditKind.REMOVE_EDGE}
    assert Edit(EditKind.REMOVE_EDGE, 0, 1) in touched
    assert Edit(EditKind.REMOVE_EDGE, 1, 2) in kept
    assert Edit(EditKind.ADD_NODE, 0, 2) in kept


def test_frozen_ids_follow_their_nodes_through_edits() -> None:
    graph = apply_edit(Graph([0, 1, 2], [(0, 1), (1, 2)]), Edit(EditKind.REMOVE_NODE, 0))
    for frozen, other in ((FreezeNodes({2}), 1), (FreezeNodes(lambda g: g.labels == 1), 2)):
        assert {edit.first for edit in edits(graph, frozen) if edit.kind == EditKind.RELABEL} == {other}


def test_constraints_change_neither_graph_nor_table() -> None:
    graph = Graph([0, 1, 2], [(0, 1), (1, 2)])
    table = one_edit_table(graph, 3)
    before = table.kind.tolist(), table.first.tolist(), table.second.tolist()
    AllOf(KeepConnected(), FreezeNodes({1}), AllowKinds({"relabel"})).allowed(graph, table)
    assert (table.kind.tolist(), table.first.tolist(), table.second.tolist()) == before


@settings(max_examples=150, deadline=None)
@given(graphs(max_nodes=6), st.data())
def test_costs_are_those_of_the_edited_graphs(start: Graph, data: st.DataObject) -> None:
    graph = start
    for _ in range(data.draw(st.integers(0, 6))):
        table = one_edit_table(graph, 3)
        graph = apply_edit(graph, table[data.draw(st.integers(0, len(table) - 1))])
    table = one_edit_table(graph, 3)
    expected = [elements_changed(start, apply_edit(graph, table[i])) for i in range(len(table))]
    assert StayNear(start, 0).costs(graph, table).tolist() == expected
    limit = data.draw(st.integers(1, 6))
    assert StayNear(start, limit).allowed(graph, table).tolist() == [cost <= limit for cost in expected]
