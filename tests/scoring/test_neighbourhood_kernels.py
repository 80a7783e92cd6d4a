from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from comrecgc.graphs import EditKind, EditTable, Graph, IntArray, allowed_edits, edited_batch
from comrecgc.scoring.colour_kernels import base_colours, make_scratch
from comrecgc.scoring.neighbourhood_kernels import Block, block_shapes, compress, compress_base, forget
from tests.graphs.strategies import random_graph

NUM_LABELS = 3
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


@dataclass
class Recipes:
    """All blocks of a graph's edits, gathered."""

    rows: list[IntArray] = field(default_factory=list)  # of each edited graph, [R+1, nodes]
    members: dict[int, list[int]] = field(default_factory=dict)  # recipe of each row, its own row first
    rounds: dict[int, int] = field(default_factory=dict)
    origins: dict[int, int] = field(default_factory=dict)

    def take(self, block: Block, count: int) -> None:
        for b in range(count):
            there = block.rows[0, b] >= 0
            assert ((block.rows[:, b] >= 0) == there).all()
            self.rows.append(block.rows[:, b, there].copy())
        for r in range(1, len(block.rows)):
            for k in range(block.num_fresh[r]):
                row = int(block.fresh[r, k])
                assert row not in self.members
                self.members[row] = block.members[r, block.ptr[r, k] : block.ptr[r, k + 1]].tolist()
                self.rounds[row], self.origins[row] = r, int(block.origins[r, k])


def recipes_of(graph: Graph, table: EditTable, num_rounds: int, dirt: int = 0) -> Recipes:
    """The recipes, computed in memory that holds `dirt`."""
    base = base_colours(graph.labels, graph.edges, num_rounds)
    size = min(len(table), 1024 // (graph.num_nodes + 1))
    shapes = block_shapes(graph.num_nodes, graph.num_edges, size, num_rounds)
    block = Block(**{name: np.full(shape, dirt, np.int32) for name, shape in shapes.items()})
    rows = np.zeros((1 << (2 * (len(table) + 1) * (graph.num_nodes + 1) * num_rounds).bit_length(), 2), np.uint64)
    scratch = make_scratch(base)
    recipes = Recipes()
    used = compress_base(base, scratch, rows, block, NUM_LABELS)
    recipes.take(block, 1)
    base_rows, size = block.rows[:, 0].copy(), block.rows.shape[1]
    for start in range(0, len(table), size):
        stop = min(start + size, len(table))
        edits = (table.kind, table.first, table.second, start, stop)
        used = compress(base, scratch, rows, base_rows, *edits, block, used)
        recipes.take(block, stop - start)
    assert used == NUM_LABELS + len(recipes.members)
    return recipes


def one(graph: Graph, kind: EditKind, first: int, second: int) -> EditTable:
    kinds = np.array([kind], dtype=np.int8)
    return EditTable(kinds, np.array([first], dtype=np.int32), np.array([second], dtype=np.int32), graph.ids)


def test_toy() -> None:
    graph = Graph([0, 1], [])
    recipes = recipes_of(graph, one(graph, EditKind.ADD_EDGE, 0, 1), 1)
    # rows 0 to 2 are the labels, 3 and 4 the lone nodes before the edit, 5 and 6 the tied ones after it
    assert [rows.tolist() for rows in recipes.rows] == [[[0, 1], [3, 4]], [[0, 1], [5, 6]]]
    assert recipes.members == {3: [0], 4: [1], 5: [0, 1], 6: [1, 0]}


def test_a_removed_node_is_nowhere() -> None:
    graph = Graph([0, 1, 2], [(0, 1)])
    _, edited = recipes_of(graph, one(graph, EditKind.REMOVE_NODE, 0, -1), 2).rows
    assert edited[0].tolist() == [1, 2]
    assert recipes_of(graph, one(graph, EditKind.REMOVE_NODE, 0, -1), 2).members[int(edited[1, 0])] == [1]


@pytest.mark.parametrize(("num_nodes", "density"), [(9, 0.05), (9, 0.2), (9, 0.6), (40, 0.02)])
def test_rows_are_exactly_the_colours(num_nodes: int, density: float) -> None:
    """One row per colour of the textbook refinement, each made of the rows of its neighbours, over several blocks."""
    graph = random_graph(np.random.default_rng(1), num_nodes, 2, density)
    table = allowed_edits(graph, 2)
    table = table.select(np.arange(0, len(table), 1 + len(table) // 150))
    recipes = recipes_of(graph, table, 3)
    row_of: dict[tuple[int, Colour], int] = {}
    for edited, rows in zip([graph, *edited_batch(graph, table)], recipes.rows, strict=True):
        assert rows[0].tolist() == edited.labels.tolist()
        rounds = colours_by_hand(edited, 3)
        for r in range(1, 4):
            for v, colour in enumerate(rounds[r]):
                row = int(rows[r, v])
                assert row_of.setdefault((r, colour), row) == row
                own, beside = colour
                before = [
                    int(rows[r - 1, u])
                    for u in range(edited.num_nodes)
                    if (edited.edges == (min(u, v), max(u, v))).all(1).any()
                ]
                assert recipes.members[row][0] == rows[r - 1, v]
                assert sorted(recipes.members[row][1:]) == sorted(before)
                assert len(beside) == len(before)  # type: ignore[arg-type]
                assert own == rounds[r - 1][v]
                assert r == 1 or recipes.origins[row] == rows[r - 2, v]
    assert len(set(row_of.values())) == len(row_of) == len(recipes.members)


def test_a_recipe_does_not_depend_on_who_shows_it_first() -> None:
    """Members stand in the order of their colours, whatever the order of the nodes."""
    rng = np.random.default_rng(2)
    graph = random_graph(rng, 8, 3, 0.4)
    other = graph.permute(rng.permutation(8))
    found = []
    for each in (graph, other):
        table = allowed_edits(each, 3)
        recipes = recipes_of(each, table.select(table.of_kind(EditKind.RELABEL)), 2)
        second = [row for row, r in recipes.rounds.items() if r == 2]
        found.append({tuple(tuple(recipes.members[beside]) for beside in recipes.members[row]) for row in second})
    assert found[0] == found[1]


def test_what_was_met_can_be_forgotten() -> None:
    """All but the graph before the edit, whose rows keep their numbers."""
    graph = random_graph(np.random.default_rng(4), 10, 3, 0.3)
    base = base_colours(graph.labels, graph.edges, 2)
    table = np.zeros((256, 2), np.uint64)
    base_rows = np.arange(36, dtype=np.int32).reshape(3, 12)
    colours = {int(base.colour[r, v]): (r, v) for r in (1, 2) for v in range(10)}
    forget(base, table, base_rows)
    held = table[table[:, 1] > 0]
    assert {int(colour) for colour in held[:, 0]} == set(colours)
    for colour, row in held.tolist():
        r, v = colours[colour]
        assert base.colour[r, (row - 1) % 12] == base.colour[r, v]


def test_memory_can_be_used_again() -> None:
    rng = np.random.default_rng(3)
    for num_nodes in (12, 5, 14):
        graph = random_graph(rng, num_nodes, 3, 0.3)
        table = allowed_edits(graph, 3)
        again, fresh = recipes_of(graph, table, 4, dirt=77), recipes_of(graph, table, 4)
        assert again.members == fresh.members
        for one_rows, other_rows in zip(again.rows, fresh.rows, strict=True):
            np.testing.assert_array_equal(one_rows, other_rows)
