from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from comrecgc.graphs import (
    Change,
    Edit,
    EditKind,
    Graph,
    apply_edit,
    apply_path,
    apply_paths,
    graph_key,
    one_edit_table,
    path_costs,
    path_graphs,
    simplify_path,
)
from tests.graphs.strategies import graphs

CHAIN = Graph([0, 1, 2, 0], [[0, 1], [1, 2], [2, 3]], [0, 1, 2])


def random_path(graph: Graph, data: st.DataObject, max_steps: int) -> list[Edit]:
    path = []
    for _ in range(data.draw(st.integers(0, max_steps))):
        table = one_edit_table(graph, 3)
        edit = table[data.draw(st.integers(0, len(table) - 1))]
        path.append(edit)
        graph = apply_edit(graph, edit)
    return path


@settings(max_examples=100, deadline=None)
@given(st.lists(graphs(max_nodes=5), min_size=1, max_size=3), st.data())
def test_paths_applied_together_end_as_each_alone(inputs: list[Graph], data: st.DataObject) -> None:
    walked = [(start, random_path(graph, data, 5)) for start, graph in enumerate(inputs) for _ in range(2)]
    parts = [(start, tuple(path[:stop])) for start, path in walked for stop in range(len(path) + 1)]
    starts, paths = zip(*data.draw(st.permutations(parts)), strict=True)
    together = apply_paths(inputs, starts, paths)
    for graph, start, path in zip(together, starts, paths, strict=True):
        alone = apply_path(inputs[start], path)
        assert graph.ids.tolist() == alone.ids.tolist()
        assert graph.labels.tolist() == alone.labels.tolist()
        assert graph.edges.tolist() == alone.edges.tolist()


@settings(max_examples=300, deadline=None)
@given(graphs(max_nodes=6), st.data())
def test_a_simplified_path_is_no_longer_and_ends_in_the_same_graph(graph: Graph, data: st.DataObject) -> None:
    path = random_path(graph, data, 10)
    shorter = simplify_path(graph, path)
    assert len(shorter) <= len(path)
    assert graph_key(apply_path(graph, shorter)) == graph_key(apply_path(graph, path))
    assert len(simplify_path(graph, shorter)) == len(shorter)


def test_replacing_a_leaf_is_one_relabel() -> None:
    graph = Graph([0, 0, 2], [(0, 1), (1, 2)])
    path = [Edit(EditKind.REMOVE_NODE, 2), Edit(EditKind.ADD_NODE, 1, 1)]
    assert simplify_path(graph, path) == (Edit(EditKind.RELABEL, 2, 1),)
    assert simplify_path(graph, [path[0], Edit(EditKind.ADD_NODE, 1, 2)]) == ()


def test_a_path_that_replaces_every_node_keeps_its_steps() -> None:
    graph = Graph([0], [])
    path = (Edit(EditKind.ADD_NODE, 0, 1), Edit(EditKind.REMOVE_NODE, 0))
    assert graph_key(apply_path(graph, simplify_path(graph, path))) == graph_key(Graph([1], []))


def test_cost_counts_elements() -> None:
    graph = Graph([0, 0, 2], [(0, 1), (1, 2)])
    path = [Edit(EditKind.REMOVE_NODE, 2), Edit(EditKind.RELABEL, 0, 1), Edit(EditKind.ADD_NODE, -1, 0)]
    assert path_costs(path_graphs(graph, path)) == [0, 2, 2 + 1, 2 + 1 + 1]
    assert path_costs([graph]) == [0]


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
