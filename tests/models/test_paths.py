from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from comrecgc.errors import InputError
from comrecgc.graphs import Edit, EditKind, Graph, apply_edit, path_costs, path_graphs
from comrecgc.models import edit_path
from comrecgc.models.edit_distance import map_pairs
from tests.models.ged_oracle import exact_distance, isomorphic, tiny_pairs


def test_toy_answer() -> None:
    source, target = Graph([0, 0, 1], [(0, 1), (1, 2)]), Graph([0, 2, 3], [(0, 1), (0, 2)])
    path = edit_path(source, target, [0, 1, -1])
    assert path == (Edit(EditKind.RELABEL, 1, 2), Edit(EditKind.REMOVE_NODE, 2), Edit(EditKind.ADD_NODE, 0, 3))
    assert path_costs(path_graphs(source, path)) == [0, 1, 3, 5]


def test_leads_to_the_target_at_the_cost_claimed() -> None:
    for (source, target), mapping in zip(tiny_pairs(), map_pairs(tiny_pairs()), strict=True):
        graphs = path_graphs(source, edit_path(source, target, mapping.places))
        assert isomorphic(graphs[-1], target)
        assert path_costs(graphs)[-1] == mapping.cost
        assert min(graph.num_nodes for graph in graphs) >= 1


def test_any_mapping_will_do() -> None:
    rng = np.random.default_rng(5)
    for source, target in tiny_pairs()[:100]:
        kept = int(rng.integers(1, min(source.num_nodes, target.num_nodes) + 1))
        places = np.full(source.num_nodes, -1)
        places[rng.choice(source.num_nodes, kept, replace=False)] = rng.choice(target.num_nodes, kept, replace=False)
        assert isomorphic(path_graphs(source, edit_path(source, target, places))[-1], target)


def test_speaks_of_ids() -> None:
    chain = Graph([0, 1, 2, 3], [(0, 1), (1, 2), (2, 3)])
    source = apply_edit(apply_edit(chain, Edit(EditKind.REMOVE_NODE, 0)), Edit(EditKind.ADD_NODE, 3, 4))
    target = Graph([1, 2, 3, 0], [(0, 1), (1, 2), (2, 3)])
    path = edit_path(source, target, [0, 1, 2, 3])
    assert path == (Edit(EditKind.RELABEL, 4, 0),)
    assert isomorphic(path_graphs(source, path)[-1], target)


def test_graphs_on_an_optimal_path_have_their_exact_distance() -> None:
    checked = 0
    pairs = tiny_pairs()[:12]
    for (source, target), mapping in zip(pairs, map_pairs(pairs), strict=True):
        assert mapping.cost == exact_distance(source, target)
        graphs = path_graphs(source, edit_path(source, target, mapping.places))
        costs = path_costs(graphs)
        for i, j in list(combinations(range(len(graphs)), 2))[:20]:
            if max(graphs[i].num_nodes, graphs[j].num_nodes) <= 6:
                assert costs[j] - costs[i] == exact_distance(graphs[i].fresh(), graphs[j].fresh())
                checked += 1
    assert checked > 50


def test_identical_graphs_need_no_edits() -> None:
    graph = Graph([0, 1], [(0, 1)])
    assert edit_path(graph, graph, [0, 1]) == ()


@pytest.mark.parametrize("places", [[0, 1, -1], [1, 1], [-1, -1]])
def test_wrong_mappings(places: list[int]) -> None:
    source, target = Graph([0, 1], [(0, 1)]), Graph([0, 1], [])
    with pytest.raises(InputError, match="places must send every node"):
        edit_path(source, target, places)
