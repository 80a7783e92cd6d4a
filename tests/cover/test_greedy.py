from __future__ import annotations

import itertools
import math

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array

from comrecgc.cover import greedy_cover
from tests.cover.cover_instances import best_covered, random_sets, random_weights

instances = st.builds(
    random_sets, st.integers(0, 10**6), st.integers(0, 30), st.integers(0, 140), st.sampled_from([0.02, 0.1, 0.4])
)


def plain_greedy(incidence: npt.NDArray[np.bool_], num_sets: int) -> tuple[list[int], list[int]]:
    covered = np.zeros(incidence.shape[1], dtype=np.bool_)
    order: list[int] = []
    gains: list[int] = []
    for _ in range(num_sets):
        gain = (incidence & ~covered).sum(axis=1)
        if not len(gain) or gain.max() == 0:
            break
        order.append(int(gain.argmax()))
        gains.append(int(gain.max()))
        covered |= incidence[order[-1]]
    return order, gains


@settings(max_examples=150, deadline=None)
@given(instances, st.integers(0, 40))
def test_equals_the_plain_choice(incidence: npt.NDArray[np.bool_], num_sets: int) -> None:
    before = incidence.copy()
    choice = greedy_cover(incidence, num_sets)
    assert (choice.order.tolist(), choice.gains.tolist()) == plain_greedy(incidence, num_sets)
    np.testing.assert_array_equal(incidence, before)
    sparse = greedy_cover(csr_array(incidence), num_sets)
    assert (sparse.order.tolist(), sparse.bound) == (choice.order.tolist(), choice.bound)


@settings(max_examples=60, deadline=None)
@given(
    st.builds(random_sets, st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 25), st.just(0.2)),
    st.integers(0, 4),
    st.booleans(),
)
def test_within_its_guarantee_and_its_bound(incidence: npt.NDArray[np.bool_], num_sets: int, has_weights: bool) -> None:
    weights = random_weights(incidence.shape[1]) if has_weights else None
    choice = greedy_cover(incidence, num_sets, weights=weights)
    best = best_covered(incidence, num_sets, weights)
    assert choice.bound + 1e-9 >= best >= choice.covered - 1e-9
    assert choice.covered >= (1 - 1 / math.e) * best - 1e-9
    coverable = (np.ones(incidence.shape[1]) if weights is None else weights)[incidence.any(axis=0)].sum()
    assert choice.bound <= coverable + 1e-9


def test_a_bound_that_proves_the_choice() -> None:
    """Three disjoint sets: after the first two, one step's gains say that no two sets hold more."""
    incidence = np.zeros((3, 9), dtype=np.bool_)
    incidence[0, :4] = incidence[1, 4:7] = incidence[2, 7:] = True
    choice = greedy_cover(incidence, 2)
    assert choice.gains.tolist() == [4, 3]
    assert choice.bound == 7


def test_greedy_can_miss_the_optimum() -> None:
    """The two halves are best, but the greedy choice begins with the set across them; its bound leaves room for them."""
    incidence = np.zeros((3, 8), dtype=np.bool_)
    incidence[0, :4] = True
    incidence[1, 4:] = True
    incidence[2, [0, 1, 2, 4, 5]] = True
    choice = greedy_cover(incidence, 2)
    assert choice.gains.tolist() == [5, 2]
    assert choice.bound == 8


def test_ties_go_by_the_keys_then_by_index() -> None:
    incidence = np.repeat(np.eye(2, 4, dtype=np.bool_), 3, axis=0)  # sets 0, 1, 2 are equal, and 3, 4, 5
    assert greedy_cover(incidence, 4).order.tolist() == [0, 3]
    first, second = [1, 0, 0, 0, 0, 0], [0, 2, 1, 5, 4, 4]
    assert greedy_cover(incidence, 4, tie_break=[first]).order.tolist() == [1, 3]
    assert greedy_cover(incidence, 4, tie_break=[first, second]).order.tolist() == [2, 4]


def test_weights_decide() -> None:
    incidence = np.array([[1, 1, 1, 0], [0, 0, 0, 1]], dtype=np.bool_)
    choice = greedy_cover(incidence, 1, weights=[1, 1, 0, 5])
    assert choice.order.tolist() == [1]
    assert choice.gains.tolist() == [5.0]
    assert greedy_cover(incidence, 2, weights=[0, 0, 0, 0]).order.tolist() == []


def test_entries_given_twice_or_as_false_count_as_they_should() -> None:
    doubled = coo_array(([True, True, True, False], ([0, 0, 1, 1], [0, 0, 1, 2])), shape=(2, 3))
    assert greedy_cover(doubled, 2).gains.tolist() == [1, 1]
    stored = csr_array(([True, False], [0, 1], [0, 1, 2]), shape=(2, 3))
    assert greedy_cover(stored, 2).order.tolist() == [0]
    assert stored.nnz == 2


def test_nothing_to_choose_from() -> None:
    for shape in itertools.product((0, 3), (0, 3)):
        choice = greedy_cover(np.zeros(shape, dtype=np.bool_), 2)
        assert (choice.order.size, choice.covered, choice.bound) == (0, 0.0, 0.0)
