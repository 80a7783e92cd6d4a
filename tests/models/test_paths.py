from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np
import pytest

from comrecgc.errors import InputError
from comrecgc.graphs import Edit, EditKind, Graph, apply_edit, path_costs, path_graphs, to_networkx
from comrecgc.graphs.edits import path_cost
from comrecgc.models import edit_path, ged_interval
from comrecgc.models.edit_distance import ged_intervals
from tests.models.ged_oracle import exact_distance, isomorphic, molecule_like, tiny_pairs


def test_toy_answer() -> None:
    source, target = Graph([0, 0, 1], [(0, 1), (1, 2)]), Graph([0, 2, 3], [(0, 1), (0, 2)])
    path = edit_path(source, target, [0, 1, -1])
    assert path == (
        Edit(EditKind.ADD_NODE, 0, 3),
        Edit(EditKind.RELABEL, 1, 2),
        Edit(EditKind.REMOVE_NODE, 2),
    )
    assert path_costs(path_graphs(source, path)) == [0, 2, 3, 5]


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("effort", ["fast", "exact"])
def test_leads_to_the_target_at_the_cost_claimed(effort: str, shuffled: bool) -> None:
    rng = np.random.default_rng(2) if shuffled else None
    for (source, target), interval in zip(tiny_pairs(), ged_intervals(tiny_pairs(), effort=effort), strict=True):
        path = edit_path(source, target, interval.mapping, rng=rng)
        graphs = path_graphs(source, path)
        assert isomorphic(graphs[-1], target)
        assert path_cost(source, path) == path_costs(graphs)[-1] == interval.upper
        assert min(graph.num_nodes for graph in graphs) >= 1


@pytest.mark.parametrize("shuffled", [False, True])
def test_any_mapping_will_do(shuffled: bool) -> None:
    rng = np.random.default_rng(5)
    for source, target in tiny_pairs()[:100]:
        kept = int(rng.integers(0, min(source.num_nodes, target.num_nodes) + 1))
        mapping = np.full(source.num_nodes, -1)
        mapping[rng.choice(source.num_nodes, kept, replace=False)] = rng.choice(target.num_nodes, kept, replace=False)
        path = edit_path(source, target, mapping, rng=rng if shuffled else None)
        assert isomorphic(path_graphs(source, path)[-1], target)


def test_speaks_of_ids() -> None:
    chain = Graph([0, 1, 2, 3], [(0, 1), (1, 2), (2, 3)])
    source = apply_edit(apply_edit(chain, Edit(EditKind.REMOVE_NODE, 0)), Edit(EditKind.ADD_NODE, 3, 4))
    target = Graph([1, 2, 3, 0], [(0, 1), (1, 2), (2, 3)])
    path = edit_path(source, target, [0, 1, 2, 3])
    assert path == (Edit(EditKind.RELABEL, 4, 0),)
    assert isomorphic(path_graphs(source, path)[-1], target)


def test_keeps_connected_graphs_connected() -> None:
    rng = np.random.default_rng(8)
    pairs = [(molecule_like(rng, 12), molecule_like(rng, 10 + i)) for i in range(6)]
    for (source, target), interval in zip(pairs, ged_intervals(pairs), strict=True):
        graphs = path_graphs(source, edit_path(source, target, interval.mapping))
        assert all(nx.is_connected(to_networkx(graph)) for graph in graphs)


def test_shuffled_paths_differ_and_repeat() -> None:
    rng = np.random.default_rng(8)
    source, target = molecule_like(rng, 12), molecule_like(rng, 12)
    mapping = ged_interval(source, target).mapping
    first, again, other = (edit_path(source, target, mapping, rng=np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert path_cost(source, first) == path_cost(source, other)


@pytest.mark.parametrize("shuffled", [False, True])
def test_graphs_on_an_optimal_path_have_their_exact_distance(shuffled: bool) -> None:
    checked = 0
    for source, target in tiny_pairs()[:12]:
        mapping = ged_interval(source, target, effort="exact").mapping
        graphs = path_graphs(
            source, edit_path(source, target, mapping, rng=np.random.default_rng(0) if shuffled else None)
        )
        costs = path_costs(graphs)
        for i, j in list(combinations(range(len(graphs)), 2))[:20]:
            if max(graphs[i].num_nodes, graphs[j].num_nodes) <= 6:
                assert costs[j] - costs[i] == exact_distance(graphs[i].fresh(), graphs[j].fresh())
                checked += 1
    assert checked > 50


def test_identical_graphs_need_no_edits() -> None:
    graph = Graph([0, 1], [(0, 1)])
    assert edit_path(graph, graph, [0, 1]) == ()


def test_wrong_mappings() -> None:
    source, target = Graph([0, 1], [(0, 1)]), Graph([0, 1], [])
    with pytest.raises(InputError, match="one position per node of the source"):
        edit_path(source, target, [0, 1, -1])
    with pytest.raises(InputError, match="mapping must lie in -1…1"):
        edit_path(source, target, [0, 2])
    with pytest.raises(InputError, match="must not send two nodes"):
        edit_path(source, target, [1, 1])
    with pytest.raises(InputError, match="one position per node"):
        edit_path(source, target, [0.0, 1.0])
