from __future__ import annotations

import itertools
import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comrecgc.errors import InputError
from comrecgc.recourse import exact_cover, greedy_cover, greedy_cover_packed, pack


def plain_greedy(membership: npt.NDArray[np.bool_], budget: int) -> tuple[list[int], list[int]]:
    covered = np.zeros(membership.shape[1], dtype=np.bool_)
    order: list[int] = []
    gains: list[int] = []
    for _ in range(budget):
        gain = (membership & ~covered).sum(axis=1)
        if not len(gain) or gain.max() == 0:
            break
        order.append(int(gain.argmax()))
        gains.append(int(gain.max()))
        covered |= membership[order[-1]]
    return order, gains


def random_sets(seed: int, num_sets: int, num_elements: int, density: float) -> npt.NDArray[np.bool_]:
    return np.random.default_rng(seed).random((num_sets, num_elements)) < density


instances = st.builds(
    random_sets, st.integers(0, 10**6), st.integers(0, 30), st.integers(0, 140), st.sampled_from([0.02, 0.1, 0.4])
)


@settings(max_examples=150, deadline=None)
@given(instances, st.integers(0, 40))
def test_lazy_equals_plain(membership: npt.NDArray[np.bool_], budget: int) -> None:
    before = membership.copy()
    selection = greedy_cover(membership, budget)
    assert (selection.order.tolist(), selection.gains.tolist()) == plain_greedy(membership, budget)
    np.testing.assert_array_equal(membership, before)


@settings(max_examples=40, deadline=None)
@given(
    st.builds(random_sets, st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 25), st.just(0.2)),
    st.integers(1, 4),
)
def test_within_its_guarantee_of_the_optimum(membership: npt.NDArray[np.bool_], budget: int) -> None:
    sets = exact_cover(membership, budget)
    best = int(membership[sets].any(axis=0).sum())
    brute = max(
        int(membership[list(some)].any(axis=0).sum())
        for some in itertools.combinations(range(len(membership)), min(budget, len(membership)))
    )
    assert best == brute
    assert len(sets) <= budget
    assert best >= greedy_cover(membership, budget).gains.sum() >= (1 - 1 / math.e) * best


def test_greedy_can_miss_the_optimum() -> None:
    """The two halves are best, but the greedy choice begins with the set across them."""
    membership = np.zeros((3, 8), dtype=np.bool_)
    membership[0, :4] = True
    membership[1, 4:] = True
    membership[2, [0, 1, 2, 4, 5]] = True
    assert greedy_cover(membership, 2).gains.tolist() == [5, 2]
    assert exact_cover(membership, 2).tolist() == [0, 1]


def test_what_is_covered_already_counts_no_more() -> None:
    membership = np.eye(3, 70, dtype=np.bool_)
    membership[2, 65] = True
    covered = np.zeros(70, dtype=np.bool_)
    covered[[0, 65]] = True
    selection = greedy_cover(membership, 5, covered=covered)
    assert selection.order.tolist() == [1, 2]
    packed = pack(covered[None])[0]
    greedy_cover_packed(pack(membership), 5, covered=packed)
    np.testing.assert_array_equal(packed, pack(covered[None])[0])


def test_bits_are_where_they_are_said_to_be() -> None:
    membership = random_sets(0, 5, 131, 0.3)
    words = pack(membership)
    assert words.shape == (5, 3)
    for i, j in itertools.product(range(5), range(131)):
        assert bool(int(words[i, j // 64]) >> (j % 64) & 1) == membership[i, j]


def test_bad_arguments_are_named() -> None:
    with pytest.raises(InputError, match="budget must not be negative"):
        greedy_cover(np.ones((2, 2), dtype=np.bool_), -1)
    with pytest.raises(InputError, match="one row per set"):
        greedy_cover(np.ones(2, dtype=np.bool_), 1)
    with pytest.raises(InputError, match="one flag per element, 2"):
        greedy_cover(np.ones((2, 2), dtype=np.bool_), 1, covered=np.ones(3, dtype=np.bool_))
