from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import comrecgc.cover.greedy as greedy_module
from comrecgc.cover import exact_cover, greedy_cover, lp_bound
from tests.cover.cover_instances import best_covered, random_sets, random_weights


@settings(max_examples=30, deadline=None)
@given(
    st.builds(random_sets, st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 25), st.just(0.2)),
    st.integers(0, 4),
    st.booleans(),
)
def test_equals_brute_force_and_lies_below_the_bound(
    incidence: npt.NDArray[np.bool_], num_sets: int, has_weights: bool
) -> None:
    weights = random_weights(incidence.shape[1]) if has_weights else None
    values = np.ones(incidence.shape[1]) if weights is None else weights
    chosen = exact_cover(csr_array(incidence), num_sets, weights=weights)
    assert chosen is not None
    assert len(chosen) <= num_sets
    best = best_covered(incidence, num_sets, weights)
    assert values[incidence[chosen].any(axis=0)].sum() == pytest.approx(best)
    bound = lp_bound(incidence, num_sets, weights=weights)
    assert bound is not None
    assert best - 1e-9 <= bound <= greedy_cover(incidence, num_sets, weights=weights).bound + 1e-4


def test_a_relaxation_above_the_optimum() -> None:
    """The vertices of a complete graph of four cover its edges: half of each covers all six, two whole ones only five."""
    edges = np.array(list(itertools.combinations(range(4), 2)))
    incidence = (edges == np.arange(4)[:, None, None]).any(axis=2)
    chosen = exact_cover(incidence, 2)
    assert chosen is not None
    assert incidence[chosen].any(axis=0).sum() == 5
    assert lp_bound(incidence, 2) == 6
    assert lp_bound(incidence, 2, weights=np.full(6, 0.5)) == pytest.approx(3, abs=1e-4)


def test_nothing_to_choose_from() -> None:
    for shape, num_sets in (((0, 5), 3), ((4, 2), 0), ((0, 0), 1)):
        chosen = exact_cover(np.ones(shape, dtype=np.bool_), num_sets)
        assert chosen is not None
        assert chosen.size == 0
        assert lp_bound(np.ones(shape, dtype=np.bool_), num_sets) == 0
    assert exact_cover(np.eye(3, dtype=np.bool_), 10).tolist() == [0, 1, 2]  # type: ignore[union-attr]
    assert lp_bound(np.zeros((4, 0), dtype=np.bool_), 2) == 0


def test_too_large_and_too_slow_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    incidence = random_sets(0, 120, 120, 0.1)
    assert exact_cover(random_sets(0, 200, 300, 0.04), 20, max_nodes=1) is None
    assert lp_bound(incidence, 15, max_iterations=3) is None
    assert lp_bound(incidence, 15) is not None
    monkeypatch.setattr(greedy_module, "MAX_ENTRIES", 100)
    assert lp_bound(incidence, 15) is None
