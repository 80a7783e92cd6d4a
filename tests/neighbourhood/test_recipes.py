from __future__ import annotations

import numpy as np
import pytest

from comrecgc.graphs import Graph
from comrecgc.graphs.edits import EditKind, EditTable
from comrecgc.graphs.neighbours import allowed_edits, edited_batch
from comrecgc.neighbourhood.recipes import Recipes, make_recipes
from comrecgc.neighbourhood.workspace import Workspace
from tests.graphs.strategies import random_graph

Colour = tuple[object, ...]


def colours_by_hand(graph: Graph, num_rounds: int) -> list[list[Colour]]:
    """Colours as nested tuples, the textbook way: own colour and the sorted colours of the neighbours."""
    rounds: list[list[Colour]] = [[(int(label),) for label in graph.labels]]
    for _ in range(num_rounds):
        before = rounds[-1]
        beside: list[list[Colour]] = [[] for _ in before]
        for i, j in graph.edges.tolist():
            beside[i].append(before[j])
            beside[j].append(before[i])
        rounds.append([(own, tuple(sorted(others, key=repr))) for own, others in zip(before, beside, strict=True)])
    return rounds


def members(recipes: Recipes, r: int, row: int) -> list[int]:
    return recipes.members[r, recipes.ptr[r, row] : recipes.ptr[r, row + 1]].tolist()  # type: ignore[no-any-return]


def one(graph: Graph, kind: EditKind, first: int, second: int) -> EditTable:
    kinds = np.array([kind], dtype=np.int8)
    return EditTable(kinds, np.array([first], dtype=np.int32), np.array([second], dtype=np.int32), graph.ids)


def test_toy() -> None:
    graph = Graph([0, 1], [])
    recipes = make_recipes(graph, one(graph, EditKind.ADD_EDGE, 0, 1), 1, Workspace())
    assert len(recipes) == 1
    assert recipes.rows[0].tolist() == [0, 1]
    # rows 0 and 1 are the lone nodes before the edit, rows 2 and 3 the tied ones after it
    assert recipes.rows[1].tolist() == [2, 3]
    assert [members(recipes, 1, row) for row in range(4)] == [[0], [1], [0, 1], [1, 0]]


def test_a_removed_node_is_nowhere() -> None:
    graph = Graph([0, 1, 2], [(0, 1)])
    recipes = make_recipes(graph, one(graph, EditKind.REMOVE_NODE, 0, -1), 2, Workspace())
    assert recipes.node_ptr.tolist() == [0, 2]
    assert recipes.rows[0].tolist() == [1, 2]
    assert members(recipes, 1, recipes.rows[1, 0]) == [1]


@pytest.mark.parametrize("density", [0.05, 0.2, 0.6])
def test_rows_are_exactly_the_colours(density: float) -> None:
    """One row per round and colour of the textbook refinement, each made of the rows of its neighbours."""
    graph = random_graph(np.random.default_rng(1), 9, 2, density)
    table = allowed_edits(graph, 2)
    recipes = make_recipes(graph, table, 3, Workspace())
    batch = edited_batch(graph, table)
    np.testing.assert_array_equal(recipes.node_ptr, batch.node_ptr)
    row_of: list[dict[Colour, int]] = [{} for _ in range(4)]
    for e in range(len(batch)):
        for r, colours in enumerate(colours_by_hand(batch[e], 3)):
            for colour, row in zip(colours, recipes.rows[r, batch.node_ptr[e] : batch.node_ptr[e + 1]], strict=True):
                assert row_of[r].setdefault(colour, int(row)) == row
                if r:
                    own, beside = colour
                    expected = [row_of[r - 1][own], *(row_of[r - 1][other] for other in beside)]  # type: ignore[index, attr-defined]
                    assert members(recipes, r, row)[0] == expected[0]
                    assert sorted(members(recipes, r, row)) == sorted(expected)
    for r in range(1, 4):
        assert len(set(row_of[r].values())) == len(row_of[r])


def test_a_recipe_does_not_depend_on_who_shows_it_first() -> None:
    """Members stand in the order of their colours, whatever the order of the nodes."""
    rng = np.random.default_rng(2)
    graph = random_graph(rng, 8, 3, 0.4)
    other = graph.permuted(rng.permutation(8))
    found = []
    for each in (graph, other):
        table = allowed_edits(each, 3)
        recipes = make_recipes(each, table.select(table.of_kind(EditKind.RELABEL)), 2, Workspace())
        lists = {}
        for row in range(recipes.counts[2]):
            lists[tuple(tuple(members(recipes, 1, other)) for other in members(recipes, 2, row))] = True
        found.append(set(lists))
    assert found[0] == found[1]


def test_a_workspace_can_be_used_again() -> None:
    rng = np.random.default_rng(3)
    workspace = Workspace()
    for num_nodes in (12, 5, 14):
        graph = random_graph(rng, num_nodes, 3, 0.3)
        table = allowed_edits(graph, 3)
        again, fresh = make_recipes(graph, table, 4, workspace), make_recipes(graph, table, 4, Workspace())
        np.testing.assert_array_equal(again.counts, fresh.counts)
        np.testing.assert_array_equal(again.rows, fresh.rows)
        for r in range(1, 5):
            count = fresh.counts[r]
            np.testing.assert_array_equal(again.ptr[r, : count + 1], fresh.ptr[r, : count + 1])
            used = fresh.ptr[r, count]
            np.testing.assert_array_equal(again.members[r, :used], fresh.members[r, :used])
