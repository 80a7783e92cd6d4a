from __future__ import annotations

import itertools

import numpy as np
import pytest

import comrecgc.recourse.exact as exact_module
from comrecgc.errors import InputError
from comrecgc.recourse import exact_counterfactuals, exact_cover
from tests.recourse.instances import WORKED_EXAMPLE, brute_coverage, random_triples


def test_nothing_to_choose_from() -> None:
    assert exact_cover(np.zeros((0, 5), dtype=np.bool_), 3).tolist() == []
    assert exact_cover(np.zeros((4, 0), dtype=np.bool_), 3).size <= 3
    assert exact_cover(np.ones((4, 2), dtype=np.bool_), 0).tolist() == []
    assert exact_cover(np.eye(3, dtype=np.bool_), 10).tolist() == [0, 1, 2]
    graphs, recourses = exact_counterfactuals(np.zeros((0, 3), dtype=np.int64), 2, 2)
    assert graphs.size == recourses.size == 0


@pytest.mark.parametrize("seed", range(15))
def test_counterfactuals_equal_brute_force(seed: int) -> None:
    triples = random_triples(seed)
    graphs, recourses = exact_counterfactuals(triples, 2, 2)
    assert len(graphs) <= 2
    assert len(recourses) <= 2
    covered = {i for i, r, h in triples.tolist() if r in recourses and h in graphs}
    best = max(
        brute_coverage(triples, set(some), 2) for some in itertools.combinations(sorted(set(triples[:, 2].tolist())), 2)
    )
    assert len(covered) == best


def test_worked_example() -> None:
    graphs, recourses = exact_counterfactuals(WORKED_EXAMPLE, 2, 2)
    assert graphs.tolist() == [1, 3]
    assert brute_coverage(WORKED_EXAMPLE[np.isin(WORKED_EXAMPLE[:, 1], recourses)], {1, 3}, 2) == 3


def test_too_large_and_too_slow_are_one_line() -> None:
    rng = np.random.default_rng(0)
    membership = rng.random((120, 120)) < 0.1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact_module, "MAX_NONZEROS", 100)
        with pytest.raises(InputError, match=r"at most 100 entries; use the greedy one \(got \d+\)"):
            exact_cover(membership, 3)
    with pytest.raises(InputError, match=r"time_limit passed .* \(got 1e-05 s\)"):
        exact_cover(membership, 15, time_limit=1e-5)


def test_bad_arguments_are_named() -> None:
    with pytest.raises(InputError, match="one row per set"):
        exact_cover(np.ones(3, dtype=np.bool_), 1)
    with pytest.raises(InputError, match="budget"):
        exact_cover(np.ones((3, 3), dtype=np.bool_), -1)
    with pytest.raises(InputError, match="time_limit"):
        exact_cover(np.ones((3, 3), dtype=np.bool_), 1, time_limit=0)
    with pytest.raises(InputError, match="triples"):
        exact_counterfactuals(np.zeros((3, 2), dtype=np.int64), 1, 1)
    with pytest.raises(InputError, match="num_counterfactuals"):
        exact_counterfactuals(np.zeros((0, 3), dtype=np.int64), 1, -1)
