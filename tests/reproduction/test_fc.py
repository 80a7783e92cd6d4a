from __future__ import annotations

import itertools
import math

import numpy as np
import numpy.typing as npt
import pytest

from comrecgc.cover import RecourseClustering, nearest_counterfactuals
from comrecgc.errors import InputError
from comrecgc_reproduction.fc import RandomisedGreedy, best_coverage, exact_counterfactuals, recourse_triples
from tests.cover.instances import NOT_PSEUDO_MODULAR, WORKED_EXAMPLE, brute_coverage, random_pairs, random_triples


def test_worked_example_of_the_paper() -> None:
    """Appendix B: with R = T = 2, H1 and H3 cover all three inputs, and no other two graphs do."""
    covered = {
        some: best_coverage(WORKED_EXAMPLE, some, 2, exact=True) for some in itertools.combinations((1, 2, 3, 4), 2)
    }
    assert covered[1, 3] == 3
    assert max(value for some, value in covered.items() if some != (1, 3)) == 2


def test_coverage_of_graphs_is_not_pseudo_modular() -> None:
    """Proof of Theorem 2: neither of two graphs gains anything alone, together they do."""
    g = {some: best_coverage(NOT_PSEUDO_MODULAR, some, 2, exact=True) for some in ((1, 2), (1, 2, 3), (1, 2, 4))}
    assert g[1, 2, 3] - g[1, 2] == g[1, 2, 4] - g[1, 2] == 0
    assert best_coverage(NOT_PSEUDO_MODULAR, (1, 2, 3, 4), 2, exact=True) - g[1, 2] == 1


@pytest.mark.parametrize("seed", range(10))
def test_best_coverage_equals_brute_force(seed: int) -> None:
    triples = random_triples(seed)
    for some in itertools.combinations(range(5), 3):
        best = brute_coverage(triples, set(some), 2)
        assert best_coverage(triples, some, 2, exact=True) == best
        assert best >= best_coverage(triples, some, 2) >= (1 - 1 / math.e) * best
    assert best_coverage(triples, [], 2) == 0


def test_triples_equal_brute_force() -> None:
    pairs = random_pairs(1)
    centres = pairs.vectors()[::9]
    near = np.linalg.norm(pairs.vectors()[:, None].astype(np.float64) - centres, axis=2) <= 0.08
    expected = [(int(pairs.inputs[p]), int(c), int(pairs.candidates[p])) for p, c in np.argwhere(near)]
    assert [tuple(row) for row in recourse_triples(pairs, centres, 0.08).tolist()] == expected
    assert recourse_triples(pairs.subset(slice(0, 0)), centres, 0.08).shape == (0, 3)


def expected_coverage(algorithm: RandomisedGreedy, triples: npt.NDArray[np.int64]) -> float:
    """Mean coverage of the randomised greedy choice over all its draws, by following every one of them."""

    def follow(chosen: list[int], step: int) -> float:
        reached = best_coverage(triples, chosen, algorithm.num_recourses, exact=True)
        graphs, values = algorithm.best_additions(triples, chosen)
        if step == algorithm.num_counterfactuals or not len(values) or values[0] <= reached:
            return reached
        gaining = [int(graph) for graph, value in zip(graphs, values, strict=True) if value > reached]
        idle = algorithm.num_counterfactuals - len(gaining)
        total = sum(follow([*chosen, graph], step + 1) for graph in gaining)
        return (total + (idle * follow(chosen, step + 1) if idle else 0)) / algorithm.num_counterfactuals

    return follow([], 0)


def pseudo_modularity(triples: npt.NDArray[np.int64], num_recourses: int) -> float:
    """The largest `γ` with `Σ_e g_A(e) ≥ γ g_A(B)` for all disjoint `A`, `B` (appendix C.4)."""
    graphs = sorted(set(triples[:, 2].tolist()))
    subsets = [frozenset(some) for size in range(len(graphs) + 1) for some in itertools.combinations(graphs, size)]
    g = {some: brute_coverage(triples, set(some), num_recourses) if some else 0 for some in subsets}
    ratios = [
        sum(g[a | {e}] - g[a] for e in b) / (g[a | b] - g[a])
        for a in subsets
        for b in subsets
        if not a & b and g[a | b] > g[a]
    ]
    return min([1.0, *ratios])


@pytest.mark.parametrize("seed", range(12))
def test_randomised_greedy_within_its_guarantee(seed: int) -> None:
    triples = random_triples(seed)
    graphs = sorted(set(triples[:, 2].tolist()))
    best = max(brute_coverage(triples, set(some), 2) for some in itertools.combinations(graphs, min(3, len(graphs))))
    mean = expected_coverage(RandomisedGreedy(num_recourses=2, num_counterfactuals=3, exact=True), triples)
    assert mean >= (1 - math.exp(-pseudo_modularity(triples, 2))) * best - 1e-9


def test_the_ratio_of_the_paper_can_fail() -> None:
    """Theorem 3 has γ = 1/R under C1; here R = 1, T = 3, and every graph covers one input.

    Graphs 6, 7, 8 share a recourse, so they can be added one by one with a gain each, as C1 asks. The three others have
    a recourse each. All look alike at first; once one of the three is chosen, no single graph gains anything.
    """
    triples = np.array([(0, 0, 0), (1, 1, 1), (5, 5, 5), (2, 2, 6), (3, 2, 7), (4, 2, 8)], dtype=np.int64)
    assert best_coverage(triples, [6, 7, 8], 1, exact=True) == 3
    mean = expected_coverage(RandomisedGreedy(num_recourses=1, num_counterfactuals=3, exact=True), triples)
    assert mean == 1 < (1 - math.exp(-1)) * 3
    assert pseudo_modularity(triples, 1) == 0


def test_choice_satisfies_c1_and_is_seeded() -> None:
    pairs = random_pairs(2, num_inputs=20, num_candidates=60)
    centres = RecourseClustering(theta=0.3, delta=0.06).centres(pairs)
    triples = recourse_triples(pairs, centres, 0.06)
    algorithm = RandomisedGreedy(num_recourses=3, num_counterfactuals=6, exact=True)
    chosen = [algorithm.run(triples, np.random.default_rng(seed)).tolist() for seed in (0, 0, 1, 2)]
    assert chosen[0] == chosen[1]
    assert len(set(map(tuple, chosen))) > 1
    for graphs in chosen:
        assert 0 < len(graphs) <= 6
        values = [best_coverage(triples, graphs[:count], 3, exact=True) for count in range(len(graphs) + 1)]
        assert all(later > earlier for earlier, later in itertools.pairwise(values))


def test_degenerate_and_bad_arguments() -> None:
    nothing = np.zeros((0, 3), dtype=np.int64)
    assert RandomisedGreedy(num_counterfactuals=3).run(nothing, np.random.default_rng(0)).tolist() == []
    empty = random_pairs(0).subset(slice(0, 0))
    assert nearest_counterfactuals(empty).tolist() == []
    assert nearest_counterfactuals(random_pairs(0).subset(slice(0, 1))).size == 1
    with pytest.raises(InputError, match="num_counterfactuals"):
        RandomisedGreedy(num_counterfactuals=0)
    with pytest.raises(InputError, match="num_recourses"):
        RandomisedGreedy(num_counterfactuals=1, num_recourses=0)
    with pytest.raises(InputError, match="triples"):
        RandomisedGreedy(num_counterfactuals=1).run(nothing[:, :2], np.random.default_rng(0))
    with pytest.raises(InputError, match="delta"):
        recourse_triples(empty, np.zeros((1, 5), dtype=np.float32), -1)


def exact(triples: npt.NDArray[np.int64]) -> tuple[list[int], list[int]]:
    answer = exact_counterfactuals(triples, 2, 2)
    assert answer is not None
    return answer[0].tolist(), answer[1].tolist()


@pytest.mark.parametrize("seed", range(15))
def test_counterfactuals_equal_brute_force(seed: int) -> None:
    triples = random_triples(seed)
    graphs, recourses = exact(triples)
    assert len(graphs) <= 2
    assert len(recourses) <= 2
    covered = {i for i, r, h in triples.tolist() if r in recourses and h in graphs}
    best = max(
        brute_coverage(triples, set(some), 2) for some in itertools.combinations(sorted(set(triples[:, 2].tolist())), 2)
    )
    assert len(covered) == best


def test_worked_example_exactly() -> None:
    graphs, recourses = exact(WORKED_EXAMPLE)
    assert graphs == [1, 3]
    assert brute_coverage(WORKED_EXAMPLE[np.isin(WORKED_EXAMPLE[:, 1], recourses)], {1, 3}, 2) == 3


def test_too_large_and_nothing_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    assert exact(np.zeros((0, 3), dtype=np.int64)) == ([], [])
    monkeypatch.setattr("comrecgc.cover.greedy.MAX_ENTRIES", 1)
    with pytest.raises(InputError, match="too large to prove"):
        best_coverage(NOT_PSEUDO_MODULAR, (1, 2, 3, 4), 2, exact=True)


def test_bad_arguments_of_the_exact_choice_are_named() -> None:
    with pytest.raises(InputError, match="triples"):
        exact_counterfactuals(np.zeros((3, 2), dtype=np.int64), 1, 1)
    with pytest.raises(InputError, match="num_counterfactuals"):
        exact_counterfactuals(np.zeros((0, 3), dtype=np.int64), 1, -1)
