from __future__ import annotations

from comrecgc.graphs import Change, Edit, EditKind, Graph, apply_path, components, edge_labels_by_id, neighbours_by_id

CHAIN = Graph([0, 1, 2, 0], [[0, 1], [1, 2], [2, 3]], [0, 1, 2])


def test_every_kind_of_change_is_told() -> None:
    path = (
        Edit(EditKind.REMOVE_NODE, 3),
        Edit(EditKind.RELABEL, 0, 5),
        Edit(EditKind.ADD_NODE, 2, 1),
        Edit(EditKind.ADD_EDGE, 0, 2),
        Edit(EditKind.REMOVE_EDGE, 0, 1),
    )
    change = Change.between(CHAIN, apply_path(CHAIN, path))
    assert change.removed == {3}
    assert change.relabelled == {0}
    assert change.added == {4}
    assert change.joined == {(0, 2), (2, 4)}
    assert change.cut == {(0, 1), (2, 3)}
    assert change.touched == {0, 1, 2, 3, 4}


def test_steps_that_undo_each_other_are_no_change() -> None:
    path = (Edit(EditKind.RELABEL, 0, 5), Edit(EditKind.ADD_EDGE, 0, 2), Edit(EditKind.RELABEL, 0, 0))
    change = Change.along(CHAIN, (*path, Edit(EditKind.REMOVE_EDGE, 0, 2)))
    assert not change.touched


def test_a_node_that_gives_its_place_to_another_is_relabelled() -> None:
    change = Change.along(CHAIN, (Edit(EditKind.REMOVE_NODE, 3), Edit(EditKind.ADD_NODE, 2, 1)))
    assert change.relabelled == {3}
    assert not change.removed
    assert not change.added


def test_components_are_those_of_the_subgraph() -> None:
    neighbours = neighbours_by_id(CHAIN)
    assert components([0, 1, 3], neighbours) == [{0, 1}, {3}]
    assert components([], neighbours) == []


def test_bond_labels_follow_their_edges() -> None:
    after = apply_path(CHAIN, (Edit(EditKind.REMOVE_NODE, 0),))
    assert edge_labels_by_id(after) == {(1, 2): 1, (2, 3): 2}
    assert edge_labels_by_id(Graph([0, 0], [[0, 1]])) == {}
