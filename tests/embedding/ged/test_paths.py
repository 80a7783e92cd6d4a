from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from comrecgc.embedding.ged import (
    GEDInterval,
    edit_path,
    ged_interval,
    ged_intervals,
    path_pairs,
)
from comrecgc.errors import InputError
from comrecgc.graphs import Edit, EditKind, Graph, apply_edit, path_cost, path_costs, path_graphs, to_networkx
from tests.embedding.ged.oracle import exact_distance, isomorphic, molecule_like, tiny_pairs


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
def test_pairs_on_an_optimal_path_have_their_exact_distance(shuffled: bool) -> None:
    checked = 0
    for source, target in tiny_pairs()[:12]:
        interval = ged_interval(source, target, effort="exact")
        rng = np.random.default_rng(0) if shuffled else None
        pairs = path_pairs(source, target, interval, rng=rng)
        for pair in pairs[:20]:
            if max(pair.source.num_nodes, pair.target.num_nodes) <= 6:
                assert pair.lower == pair.upper == exact_distance(pair.source.fresh(), pair.target.fresh())
                checked += 1
    assert checked > 50


def test_pairs_on_any_path_are_bracketed() -> None:
    loose = 0
    for source, target in tiny_pairs()[:12]:
        mapping = np.arange(source.num_nodes, dtype=np.int32)
        mapping[mapping >= target.num_nodes] = -1
        best = ged_interval(source, target, effort="exact")
        upper = path_cost(source, edit_path(source, target, mapping))
        for pair in path_pairs(source, target, GEDInterval(lower=best.lower, upper=upper, mapping=mapping))[:20]:
            if max(pair.source.num_nodes, pair.target.num_nodes) <= 6:
                assert pair.lower <= exact_distance(pair.source.fresh(), pair.target.fresh()) <= pair.upper
                loose += pair.lower < pair.upper
    assert loose > 0


def test_identical_graphs_need_no_edits() -> None:
    graph = Graph([0, 1], [(0, 1)])
    assert edit_path(graph, graph, [0, 1]) == ()
    assert path_pairs(graph, graph, ged_interval(graph, graph)) == []


def test_wrong_mappings() -> None:
    source, target = Graph([0, 1], [(0, 1)]), Graph([0, 1], [])
    with pytest.raises(InputError, match=r"one position per node of the source \(got shape \(3,\)\)"):
        edit_path(source, target, [0, 1, -1])
    with pytest.raises(InputError, match=r"mapping must lie in -1…1 \(got 0…2\)"):
        edit_path(source, target, [0, 2])
    with pytest.raises(InputError, match="must not send two nodes to the same place"):
        edit_path(source, target, [1, 1])
    with pytest.raises(InputError, match="one position per node"):
        edit_path(source, target, [0.0, 1.0])
