from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np
import pytest

from comrecgc.drawing import depict, layout_change
from comrecgc.drawing.pen import Point, layout
from comrecgc.graphs import Edit, EditKind, Graph, apply_path
from comrecgc.molecules.smiles import from_smiles

ELEMENTS = ("C", "O", "N")
SHAPES = {
    "path": nx.path_graph(5),
    "ring": nx.cycle_graph(6),
    "star": nx.star_graph(7),
    "clique": nx.complete_graph(4),
    "loose": nx.empty_graph(3),
    "parts": nx.disjoint_union(nx.cycle_graph(3), nx.path_graph(2)),
    "one": nx.empty_graph(1),
    "grid": nx.convert_node_labels_to_integers(nx.grid_2d_graph(3, 4)),
}


def plain(shape: nx.Graph[int]) -> Graph:
    return Graph(np.zeros(len(shape), dtype=int), np.array(list(shape.edges), dtype=int).reshape(-1, 2))


def apart(positions: dict[int, Point], one: int, other: int) -> float:
    return float(np.hypot(*np.subtract(positions[one], positions[other])))


@pytest.mark.parametrize("name", SHAPES)
def test_edges_are_about_one_long_and_nodes_apart(name: str) -> None:
    graph = plain(SHAPES[name])
    positions = layout(graph)
    assert list(positions) == graph.ids.tolist()
    for i, j in graph.edges.tolist():
        assert 0.5 < apart(positions, i, j) < 1.6
    for i, j in combinations(positions, 2):
        assert apart(positions, i, j) > 0.5


def test_a_path_is_straight_and_a_ring_round() -> None:
    path = layout(plain(SHAPES["path"]))
    assert [apart(path, 0, other) for other in range(1, 5)] == pytest.approx([1, 2, 3, 4], abs=0.05)
    ring = layout(plain(SHAPES["ring"]))
    radii = [float(np.hypot(*point)) for point in ring.values()]
    assert max(radii) - min(radii) < 0.1


def test_the_same_graph_is_always_drawn_the_same() -> None:
    graph = plain(nx.random_regular_graph(3, 20, seed=1))
    assert layout(graph) == layout(graph.fresh())


@pytest.mark.parametrize("elements", [None, ELEMENTS])
def test_what_stays_stays_in_place(elements: tuple[str, ...] | None) -> None:
    pytest.importorskip("rdkit")
    before = from_smiles("c1ccccc1CCO", ELEMENTS)
    path = (Edit(EditKind.REMOVE_NODE, 8), Edit(EditKind.ADD_NODE, 0, 2), Edit(EditKind.ADD_NODE, -1, 1))
    after = apply_path(before, path)
    alone = layout(before) if elements is None else depict(before, elements)
    assert alone is not None
    positions = layout_change(before, after, alone)
    assert {node: positions[node] for node in alone} == alone
    assert set(positions) == set(range(11))
    assert apart(positions, 0, 9) == pytest.approx(1)
    for node in range(10):
        assert apart(positions, node, 10) > 0.5


def test_a_new_atom_on_a_ring_lies_outside_it() -> None:
    pytest.importorskip("rdkit")
    before = from_smiles("c1ccccc1", ELEMENTS)
    after = apply_path(before, (Edit(EditKind.ADD_NODE, 0, 1),))
    positions = layout_change(before, after, depict(before, ELEMENTS))
    centre = np.mean([positions[node] for node in range(6)], axis=0)
    assert np.hypot(*(np.array(positions[6]) - centre)) > 1.5


def test_what_rdkit_will_not_draw_is_still_drawn() -> None:
    odd_bond = Graph([0, 1], [[0, 1]], [7])
    assert depict(odd_bond, ELEMENTS) is None
    assert layout_change(odd_bond, odd_bond, depict(odd_bond, ELEMENTS)).keys() == {0, 1}
    clique = Graph([0] * 6, list(combinations(range(6), 2)))
    assert np.isfinite(list(layout_change(clique, clique, depict(clique, ELEMENTS)).values())).all()
