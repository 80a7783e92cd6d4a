from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest

from comrecgc.algorithms.matched_pairs import LabelledGraphs, MatchedPairs
from comrecgc.data import GraphDataset
from comrecgc.graphs import Graph, Pattern, Rule, to_networkx

RELABEL = Rule(Pattern((0,), (), None), Pattern((1,), (), None), ((0, 0),), (False,))


def path(*labels: int, bonds: tuple[int, ...] | None = None) -> Graph:
    edges = np.array([(i, i + 1) for i in range(len(labels) - 1)], np.int32).reshape(-1, 2)
    return Graph(np.array(labels), edges, None if bonds is None else np.array(bonds))


def data(*entries: tuple[Graph, int]) -> GraphDataset:
    graphs, classes = zip(*entries, strict=True)
    return GraphDataset(name="paths", graphs=graphs, classes=np.array(classes), label_names=("A", "B", "C"))


def test_each_kind_of_pair_is_counted() -> None:
    dataset = data(
        (path(0, 2), 0), (path(1, 2), 1),  # as said
        (path(0, 2, 2), 1), (path(2, 2, 1), 0),  # against, found in another order of nodes
        (path(0, 0, 2, 2), 0), (path(0, 1, 2, 2), 0),  # stays, one of two places
    )  # fmt: skip
    found = LabelledGraphs(dataset).pairs(RELABEL)
    assert found == MatchedPairs(as_said=1, against=1, stays_reject=1, listed=((0, 1), (2, 3), (4, 5)))
    assert (len(found), found.changed, found.share_of_changes, found.share_of_rejects) == (3, 2, 0.5, 0.5)
    assert found.interval[0] < 0.5 < found.interval[1]


def test_graphs_alike_count_once_and_not_at_all_where_they_disagree() -> None:
    twice = data((path(0, 2), 0), (path(2, 0), 0), (path(1, 2), 1), (path(2, 1), 1))
    assert LabelledGraphs(twice).pairs(RELABEL) == MatchedPairs(as_said=1, listed=((0, 2),))
    unsure = data((path(0, 2), 0), (path(1, 2), 1), (path(2, 1), 0))
    assert len(LabelledGraphs(unsure).pairs(RELABEL)) == 0


def test_bonds_tell_graphs_apart() -> None:
    single, double = path(1, 2, bonds=(0,)), path(1, 2, bonds=(1,))
    before = path(0, 2, bonds=(1,))
    rule = Rule(Pattern((0,), (), ()), Pattern((1,), (), ()), ((0, 0),), (False,))
    assert LabelledGraphs(data((before, 0), (double, 1))).pairs(rule) == MatchedPairs(as_said=1, listed=((0, 1),))
    assert len(LabelledGraphs(data((before, 0), (single, 1))).pairs(rule)) == 0


@pytest.mark.parametrize("seed", range(3))
def test_pairs_are_those_that_networkx_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graphs = [path(*rng.integers(0, 3, rng.integers(2, 5)).tolist()) for _ in range(60)]
    classes = rng.integers(0, 2, len(graphs)).tolist()
    dataset = data(*zip(graphs, classes, strict=True))
    plain = [to_networkx(graph) for graph in graphs]
    same = nx.algorithms.isomorphism.categorical_node_match("label", None)
    kinds: list[list[int]] = []  # graphs alike
    for i, graph in enumerate(plain):
        home = next((kind for kind in kinds if nx.is_isomorphic(plain[kind[0]], graph, node_match=same)), None)
        kinds.append([i]) if home is None else home.append(i)
    sure = [kind for kind in kinds if len({classes[i] for i in kind}) == 1]
    expected = {(0, 1): 0, (1, 0): 0, (0, 0): 0, (1, 1): 0}
    for first, second in itertools.permutations(sure, 2):
        results: list[nx.Graph[int]] = []
        for node in plain[first[0]]:
            if plain[first[0]].nodes[node]["label"] == 0:
                changed = plain[first[0]].copy()
                changed.nodes[node]["label"] = 1
                results.append(changed)
        if any(nx.is_isomorphic(result, plain[second[0]], node_match=same) for result in results):
            expected[classes[first[0]], classes[second[0]]] += 1
    found = LabelledGraphs(dataset).pairs(RELABEL)
    assert len(found) > 5
    assert (found.as_said, found.against) == (expected[0, 1], expected[1, 0])
    assert (found.stays_reject, found.stays_accept) == (expected[0, 0], expected[1, 1])
