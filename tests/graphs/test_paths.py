from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from comrecgc.graphs import (
    Edit,
    EditKind,
    Graph,
    apply_edit,
    apply_path,
    apply_paths,
    describe_path,
    graph_key,
    invert_path,
    one_edit_table,
    path_cost,
    simplify_path,
    summarise_path,
)
from tests.graphs.strategies import graphs

NAMES = ["C", "N", "O"]


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


@settings(max_examples=200, deadline=None)
@given(graphs(max_nodes=6), st.data())
def test_the_inverse_leads_back(graph: Graph, data: st.DataObject) -> None:
    path = random_path(graph, data, 8)
    there = apply_path(graph, path)
    back = apply_path(there, invert_path(graph, path))
    assert graph_key(back) == graph_key(graph)


@settings(max_examples=300, deadline=None)
@given(graphs(max_nodes=6), st.data())
def test_a_simplified_path_is_no_longer_and_ends_in_the_same_graph(graph: Graph, data: st.DataObject) -> None:
    path = random_path(graph, data, 10)
    shorter = simplify_path(graph, path)
    assert len(shorter) <= len(path)
    assert graph_key(apply_path(graph, shorter)) == graph_key(apply_path(graph, path))
    assert len(simplify_path(graph, shorter)) == len(shorter)


@settings(max_examples=100, deadline=None)
@given(graphs(max_nodes=6), st.data())
def test_going_there_and_back_cancels_out(graph: Graph, data: st.DataObject) -> None:
    path = random_path(graph, data, 4)
    round_trip = [*path, *invert_path(graph, path)]
    kept = [edit for edit in path if edit.kind == EditKind.REMOVE_NODE]
    if not kept:  # a node that went and came back has a new id; without such, ids alone show that nothing changed
        assert simplify_path(graph, round_trip) == ()


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
    assert path_cost(graph, path) == 2 + 1 + 1
    assert path_cost(graph, []) == 0


def test_words() -> None:
    nitro = Graph([0, 1, 2, 2], [(0, 1), (1, 2), (1, 3)])
    path = [
        Edit(EditKind.REMOVE_NODE, 2),
        Edit(EditKind.REMOVE_NODE, 3),
        Edit(EditKind.REMOVE_NODE, 1),
        Edit(EditKind.ADD_NODE, 0, 2),
        Edit(EditKind.RELABEL, 4, 1),
    ]
    assert describe_path(nitro, path, NAMES) == [
        "remove O 2",
        "remove O 3",
        "remove N 1",
        "tie a new O to C 0",
        "relabel O 4 to N",
    ]
    assert summarise_path(nitro, path[:3], NAMES) == "remove N, 2 O"
    assert summarise_path(nitro, [], NAMES) == "change nothing"
    ring = [Edit(EditKind.ADD_EDGE, 2, 3), Edit(EditKind.REMOVE_EDGE, 0, 1)]
    assert summarise_path(nitro, ring, NAMES) == "cut C-N; join O-O"
    assert describe_path(nitro, ring, NAMES) == ["join O 2 and O 3", "cut C 0 from N 1"]
