from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comrecgc.cover import RecoursePairs, normalised_distances, pairs_within, recourse_vectors
from comrecgc.errors import InputError
from tests.cover.instances import random_pairs


def brute(
    first: npt.NDArray[np.float32],
    sizes: npt.NDArray[np.int64],
    second: npt.NDArray[np.float32],
    others: npt.NDArray[np.int64],
    theta: float,
) -> list[tuple[int, int]]:
    gap = np.linalg.norm(first[:, None].astype(np.float64) - second.astype(np.float64), axis=2)
    return [(int(i), int(j)) for i, j in np.argwhere(gap / (sizes[:, None] + others) <= theta)]


def listed(pairs: RecoursePairs) -> list[tuple[int, int]]:
    return list(zip(pairs.inputs.tolist(), pairs.candidates.tolist(), strict=True))


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    num_inputs=st.integers(1, 20),
    num_candidates=st.integers(1, 30),
    width=st.integers(1, 70),
    theta=st.floats(0.01, 1.0),
    max_bytes=st.integers(1, 2000),
    offset=st.sampled_from([0.0, 1000.0]),
)
def test_equals_brute_force(
    seed: int, num_inputs: int, num_candidates: int, width: int, theta: float, max_bytes: int, offset: float
) -> None:
    rng = np.random.default_rng(seed)
    first = (rng.normal(size=(num_inputs, width)) + offset).astype(np.float32)
    second = (rng.normal(size=(num_candidates, width)) + offset).astype(np.float32)
    sizes, others = rng.integers(1, 9, size=num_inputs), rng.integers(1, 9, size=num_candidates)
    pairs = pairs_within(first, sizes, second, others, theta, max_bytes=max_bytes)
    assert listed(pairs) == brute(first, sizes, second, others, theta)


def test_toy_distances_vectors_and_the_boundary() -> None:
    first = np.zeros((1, 2), dtype=np.float32)
    second = np.array([[3, 4], [6, 8], [0, 0]], dtype=np.float32)
    pairs = pairs_within(first, [2], second, [8, 8, 3], 0.5)
    assert listed(pairs) == [(0, 0), (0, 2)]
    np.testing.assert_array_equal(pairs.norms, np.array([0.5, 0], dtype=np.float32))
    np.testing.assert_array_equal(pairs.vectors(), np.array([[0.3, 0.4], [0, 0]], dtype=np.float32))
    assert listed(pairs_within(first, [2], second, [8, 8, 3], np.nextafter(0.5, 0))) == [(0, 2)]


@pytest.mark.parametrize("width", [2, 64])
def test_the_boundary_is_exact_where_single_precision_is_not(width: int) -> None:
    """Distances a few units in the last place around θ, far from the origin."""
    rng = np.random.default_rng(width)
    first = (100 + rng.normal(size=(1, width))).astype(np.float32)
    away = np.zeros((200, width))
    away[:, 0] = 1 + 1e-5 * rng.normal(size=200)
    second = (first + away).astype(np.float32)
    sizes, others = np.array([5]), np.full(200, 5)
    pairs = pairs_within(first, sizes, second, others, 0.1)
    assert listed(pairs) == brute(first, sizes, second, others, 0.1)
    assert 0 < len(pairs) < 200


def test_rows_pick_vectors_and_subsets() -> None:
    pairs = random_pairs(0)
    assert len(pairs) > 20
    everything = pairs.vectors()
    expected = pairs.candidate_embeddings[pairs.candidates] - pairs.input_embeddings[pairs.inputs]
    sizes = pairs.input_sizes[pairs.inputs] + pairs.candidate_sizes[pairs.candidates]
    np.testing.assert_allclose(everything, expected / sizes[:, None], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(everything, axis=1), pairs.norms, rtol=1e-5)
    mask = pairs.inputs % 2 == 0
    part = pairs.subset(mask)
    np.testing.assert_array_equal(part.vectors(), everything[mask])
    np.testing.assert_array_equal(pairs.vectors(np.array([5, 2])), everything[[5, 2]])
    assert part.num_inputs == pairs.num_inputs
    ends = (pairs.candidate_embeddings[pairs.candidates], pairs.candidate_sizes[pairs.candidates])
    origins = (pairs.input_embeddings[pairs.inputs], pairs.input_sizes[pairs.inputs])
    np.testing.assert_allclose(recourse_vectors(*origins, *ends), everything, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(normalised_distances(*origins, *ends), pairs.norms, rtol=1e-5)


def test_inputs_are_not_modified() -> None:
    rng = np.random.default_rng(0)
    first, second = (rng.normal(size=(4, 3)).astype(np.float32) for _ in range(2))
    before = first.copy(), second.copy()
    pairs_within(first, [1] * 4, second, [1] * 4, 0.5)
    np.testing.assert_array_equal(first, before[0])
    np.testing.assert_array_equal(second, before[1])


def test_nothing_within_reach_and_nothing_at_all() -> None:
    none = np.zeros((0, 3), dtype=np.float32)
    one = np.ones((1, 3), dtype=np.float32)
    for first, second in ((none, none), (one, none), (none, one), (one, one + 9)):
        pairs = pairs_within(first, [1] * len(first), second, [1] * len(second), 0.1)
        assert len(pairs) == 0
        assert pairs.vectors().shape == (0, 3)
        assert pairs.num_inputs == len(first)


def test_embeddings_that_are_not_finite_are_named() -> None:
    good, bad = np.zeros((2, 3)), np.full((2, 3), np.nan)
    with pytest.raises(InputError, match="candidate embeddings must be finite"):
        pairs_within(good, [1, 1], bad, [1, 1], 0.1)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="input embeddings must be finite"):
        pairs_within(bad, [1, 1], good, [1, 1], 0.1)  # type: ignore[arg-type]
