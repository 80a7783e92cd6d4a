from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

from comrecgc.data import load_planted
from comrecgc.graphs import Graph, batch_keys, to_networkx
from comrecgc.models import map_nodes
from comrecgc.models.greed_pairs import KINDS, LabelledGroups, PairGenerator, local_counts, random_chain
from comrecgc.run import LocalEngine

SMALL = PairGenerator(num_far=3, num_near=3, num_chains=3, num_paths=5, far_size=4, near_size=3, chain_size=4)


@pytest.fixture(scope="module")
def groups() -> LabelledGroups:
    dataset = load_planted()
    return SMALL.generate(dataset.graphs[:60], dataset.num_labels, seed=0)


def test_every_kind_is_there_in_the_size_asked_for(groups: LabelledGroups) -> None:
    assert [len(groups.of_kind(kind)) for kind in KINDS] == [3, 3, 3, 5]
    sizes = np.diff(groups.group_ptr)
    assert sizes[groups.of_kind("far")].tolist() == [4, 4, 4]
    assert sizes[groups.of_kind("near")].tolist() == [3, 3, 3]
    assert sizes[groups.of_kind("chain")].tolist() == [4, 4, 4]
    assert np.diff(groups.pair_ptr).tolist() == [size * (size - 1) // 2 for size in sizes]


def test_pairs_stay_within_their_group(groups: LabelledGroups) -> None:
    for g in range(len(groups)):
        pairs = groups.pairs[groups.pair_ptr[g] : groups.pair_ptr[g + 1]]
        assert pairs.min() >= groups.group_ptr[g]
        assert pairs.max() < groups.group_ptr[g + 1]


def test_labels_are_near_what_more_effort_finds(groups: LabelledGroups) -> None:
    rng = np.random.default_rng(0)
    drawn = rng.choice(np.flatnonzero(groups.pairs[:, 0] < groups.group_ptr[9]), 40, replace=False)
    best = [map_nodes(*(groups.graphs[int(i)] for i in groups.pairs[pair]), sweeps=400, seed=1).cost for pair in drawn]
    labels = groups.distances[drawn]
    assert labels.sum() <= 1.03 * sum(best)
    assert np.abs(labels - best).max() <= 4


def test_labels_equal_networkx_on_small_graphs() -> None:
    graphs = [Graph([i % 2, 0, 1], [(0, 1), (1, 2)][: 1 + i % 2]) for i in range(10)]
    small = PairGenerator(num_far=3, num_near=2, num_chains=0, num_paths=3, far_size=3, near_size=3)
    groups = small.generate(graphs, 2, seed=0)
    assert len(set(groups.distances.tolist())) > 1
    for (i, j), distance in zip(groups.pairs.tolist(), groups.distances.tolist(), strict=True):
        first, second = to_networkx(groups.graphs[i]), to_networkx(groups.graphs[j])
        assert distance == nx.graph_edit_distance(first, second, node_match=lambda x, y: x["label"] == y["label"])


def test_the_same_seed_gives_the_same_groups_on_any_number_of_jobs(groups: LabelledGroups) -> None:
    dataset = load_planted()
    twice = replace(SMALL, engine=LocalEngine(jobs=2)).generate(dataset.graphs[:60], dataset.num_labels, seed=0)
    assert list(twice.graphs) == list(groups.graphs)
    np.testing.assert_array_equal(twice.distances, groups.distances)
    other = SMALL.generate(dataset.graphs[:60], dataset.num_labels, seed=1)
    assert batch_keys(other.graphs).tolist() != batch_keys(groups.graphs).tolist()


def test_a_chain_takes_one_edit_at_a_time() -> None:
    chain = random_chain(Graph([0, 1, 0], [(0, 1), (1, 2)]), 2, 6, np.random.default_rng(0))
    assert len(chain) == 6
    assert all(abs(b.size - a.size) <= 2 for a, b in pairwise(chain))
    assert all(graph.ids.tolist() == list(range(graph.num_nodes)) for graph in chain)


def test_local_counts_of_like_graphs_are_alike() -> None:
    graphs = [Graph([0, 1], [(0, 1)]), Graph([1, 0], [(0, 1)]), Graph([0, 0], [])]
    counts = local_counts(graphs)
    np.testing.assert_array_equal(counts[0], counts[1])
    assert np.abs(counts[0] - counts[2]).sum() > 0
