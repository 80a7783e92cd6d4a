from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings

from comrecgc.errors import InputError
from comrecgc.graphs import Graph
from comrecgc.models import ged_interval
from comrecgc.models.edit_distance import EFFORTS, Effort, GEDInterval, ged_intervals
from tests.graphs.strategies import graphs, random_graph
from tests.models.bounds import branch_bound
from tests.models.ged_oracle import exact_distance, molecule_like, tiny_pairs

NOTHING = Effort(sweeps=0, ascents=0, nodes=0)
EFFORT_STEPS = [NOTHING, Effort(sweeps=1, ascents=7, nodes=0), Effort(sweeps=0, ascents=0, nodes=3), "fast", "normal"]


def same(first: GEDInterval, second: GEDInterval) -> bool:
    bounds = (first.lower, first.upper) == (second.lower, second.upper)
    return bounds and np.array_equal(first.mapping, second.mapping)


def molecule_pairs(count: int, num_nodes: int) -> list[tuple[Graph, Graph]]:
    rng = np.random.default_rng(3)
    return [(molecule_like(rng, num_nodes), molecule_like(rng, num_nodes + int(rng.integers(5)))) for _ in range(count)]


def mapping_cost(source: Graph, target: Graph, mapping: np.ndarray) -> int:
    """Cost of a mapping counted element by element."""
    kept = mapping[mapping >= 0]
    relabels = int((source.labels[mapping >= 0] != target.labels[kept]).sum())
    edges = {frozenset(edge) for edge in target.edges.tolist()}
    shared = sum(frozenset(mapping[edge].tolist()) in edges for edge in source.edges)
    nodes = source.num_nodes + target.num_nodes - 2 * len(kept)
    return relabels + nodes + source.num_edges + target.num_edges - 2 * shared


def test_toy_answer() -> None:
    ring = Graph([0, 0, 0], [(0, 1), (1, 2), (0, 2)])
    tail = Graph([0, 0, 1, 2], [(0, 1), (1, 2), (2, 3)])
    interval = ged_interval(ring, tail)
    assert (interval.lower, interval.upper) == (4, 4)  # cut the ring, relabel one, add a node and its edge
    assert interval.is_exact
    assert interval.gap == 0.0


@pytest.mark.parametrize("effort", EFFORT_STEPS, ids=str)
def test_brackets_the_exact_distance(effort: str | Effort) -> None:
    intervals = ged_intervals(tiny_pairs(), effort=effort)
    for (source, target), interval in zip(tiny_pairs(), intervals, strict=True):
        assert 0 <= interval.lower <= exact_distance(source, target) <= interval.upper


def test_exact_effort_equals_networkx() -> None:
    intervals = ged_intervals(tiny_pairs(), effort="exact")
    assert all(interval.is_exact for interval in intervals)
    assert [interval.upper for interval in intervals] == [exact_distance(*pair) for pair in tiny_pairs()]


@given(graphs(), graphs())
@settings(max_examples=60, deadline=None)
def test_exact_effort_equals_networkx_on_any_graphs(source: Graph, target: Graph) -> None:
    interval = ged_interval(source, target, effort="exact")
    assert interval.lower == interval.upper == exact_distance(source, target)


@pytest.mark.parametrize("effort", EFFORT_STEPS, ids=str)
def test_mapping_attains_the_upper_bound(effort: str | Effort) -> None:
    pairs = tiny_pairs() + molecule_pairs(10, 14)
    for (source, target), interval in zip(pairs, ged_intervals(pairs, effort=effort), strict=True):
        kept = interval.mapping[interval.mapping >= 0]
        assert len(np.unique(kept)) == len(kept) == min(source.num_nodes, target.num_nodes)
        assert mapping_cost(source, target, interval.mapping) == interval.upper


def test_more_effort_closes_more() -> None:
    pairs = molecule_pairs(20, 16)
    by_effort = [ged_intervals(pairs, effort=effort) for effort in ("fast", "normal", "exact")]
    closed = [sum(interval.is_exact for interval in intervals) for intervals in by_effort]
    assert closed[0] <= closed[1] <= closed[2] == len(pairs)
    assert closed[0] < len(pairs)
    for fast, normal, exact in zip(*by_effort, strict=True):
        assert max(fast.lower, normal.lower) <= exact.lower == exact.upper <= min(fast.upper, normal.upper)


def test_symmetric() -> None:
    pairs = tiny_pairs()[:100] + molecule_pairs(10, 14)
    back = ged_intervals([(target, source) for source, target in pairs], effort="fast")
    for there, again in zip(ged_intervals(pairs, effort="fast"), back, strict=True):
        assert (there.lower, there.upper) == (again.lower, again.upper)


def test_identical_and_permuted_graphs_are_at_distance_zero() -> None:
    rng = np.random.default_rng(1)
    for num_nodes in (1, 2, 9, 20):
        graph = molecule_like(rng, num_nodes)
        assert ged_interval(graph, graph, effort=NOTHING).upper == 0
        interval = ged_interval(graph, graph.permute(rng.permutation(num_nodes)), effort="exact")
        assert (interval.lower, interval.upper, interval.gap) == (0, 0, 0.0)


@pytest.mark.parametrize(
    ("source", "target", "distance"),
    [
        (Graph([0], []), Graph([0], []), 0),
        (Graph([0], []), Graph([1], []), 1),
        (Graph([0], []), Graph([1, 1], [(0, 1)]), 3),
        (Graph([0, 0, 0], []), Graph([0], []), 2),
        (Graph([0, 1], []), Graph([1, 0], [(0, 1)]), 1),
        (Graph([0] * 4, [(0, 1), (2, 3)]), Graph([0] * 4, [(0, 1), (1, 2), (2, 3)]), 1),
    ],
)
def test_degenerate_graphs(source: Graph, target: Graph, distance: int) -> None:
    for effort in ("fast", "exact"):
        interval = ged_interval(source, target, effort=effort)
        assert (interval.lower, interval.upper) == (distance, distance)


def test_edge_labels_do_not_count() -> None:
    edges = [(0, 1), (1, 2)]
    assert ged_interval(Graph([0, 0, 1], edges, [0, 1]), Graph([0, 0, 1], edges, [2, 2])).upper == 0


def test_same_seed_same_answer_whatever_the_jobs() -> None:
    pairs = molecule_pairs(40, 15)
    alone = ged_intervals(pairs, effort="fast", seed=4)
    assert all(map(same, alone, ged_intervals(pairs, effort="fast", seed=4, jobs=2)))
    assert all(map(same, alone, [ged_interval(*pair, effort="fast", seed=4) for pair in pairs]))


def test_seed_matters() -> None:
    pairs = molecule_pairs(40, 15)
    first, second = (ged_intervals(pairs, effort="fast", seed=seed) for seed in (0, 1))
    assert not all(map(same, first, second))


def test_progress_counts_every_pair() -> None:
    done: list[int] = []
    ged_intervals(tiny_pairs(), effort="fast", progress=done.append)
    assert sum(done) == len(tiny_pairs())
    assert len(done) > 1


def test_no_pairs() -> None:
    assert ged_intervals([]) == []


def test_input_is_not_modified() -> None:
    source, target = molecule_pairs(1, 10)[0]
    before = [array.copy() for array in (source.labels, source.edges, target.labels, target.edges)]
    ged_interval(source, target)
    after = (source.labels, source.edges, target.labels, target.edges)
    assert all(map(np.array_equal, before, after))


def test_seconds_go_on_until_closed() -> None:
    source, target = molecule_pairs(12, 18)[0]
    little = Effort(sweeps=1, ascents=2, nodes=2)
    assert not ged_interval(source, target, effort=little).is_exact
    start = time.perf_counter()
    interval = ged_interval(source, target, effort=little, seconds=60.0)
    assert interval.is_exact
    assert time.perf_counter() - start < 60.0
    assert mapping_cost(source, target, interval.mapping) == interval.upper


def test_seconds_stop_an_open_pair() -> None:
    rng = np.random.default_rng(0)
    source, target = molecule_like(rng, 60), molecule_like(rng, 60)
    start = time.perf_counter()
    interval = ged_interval(source, target, effort=Effort(sweeps=1, ascents=2, nodes=0), seconds=0.5)
    assert interval.lower <= interval.upper
    assert time.perf_counter() - start < 5.0  # a slow machine may overrun a little, never by much


def test_larger_than_the_shares_that_fit() -> None:
    """Beyond a number of arc pairs only the branch bound is kept; it must still be a bound."""
    rng = np.random.default_rng(0)
    source, target = random_graph(rng, 70, 2, 0.9), random_graph(rng, 70, 2, 0.9)
    assert 4 * source.num_edges * target.num_edges > 2**24
    interval = ged_interval(source, target, effort="fast")
    assert branch_bound(source, target) == interval.lower < interval.upper
    assert mapping_cost(source, target, interval.mapping) == interval.upper


@pytest.mark.parametrize("effort", EFFORTS.values(), ids=EFFORTS)
def test_efforts_scale(effort: Effort) -> None:
    assert effort.times(2) == Effort(sweeps=2 * effort.sweeps, ascents=2 * effort.ascents, nodes=2 * effort.nodes)


def test_wrong_input() -> None:
    graph = Graph([0], [])
    with pytest.raises(InputError, match=r"effort must be .* fast, normal, thorough"):
        ged_interval(graph, graph, effort="hard")
    with pytest.raises(InputError, match="ascents must be at least 0"):
        Effort(sweeps=1, ascents=-1, nodes=1)
    with pytest.raises(InputError, match="jobs must be at least 1"):
        ged_intervals([(graph, graph)], jobs=0)
    with pytest.raises(InputError, match=r"seed must be .*\(got -1\)"):
        ged_interval(graph, graph, seed=-1)
    with pytest.raises(InputError, match=r"seconds must be positive \(got 0\)"):
        ged_interval(graph, graph, seconds=0)
    with pytest.raises(InputError, match="Every pair must be two Graphs"):
        ged_intervals([(graph, graph), 3])  # type: ignore[list-item]
    with pytest.raises(InputError, match="Every pair must be two Graphs"):
        ged_interval(graph, None)  # type: ignore[arg-type]


def test_labels_may_be_any_numbers() -> None:
    """Nothing may be allocated per possible label."""
    source, target = Graph([2**31 - 1, 5], [(0, 1)]), Graph([5, 7, 2**31 - 1], [(0, 2), (1, 2)])
    assert branch_bound(source, target) <= 2
    assert ged_interval(source, target).upper == exact_distance(source, target) == 2
