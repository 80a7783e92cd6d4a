from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import comrecgc.cover.pairs as cover_module
from comrecgc.cover import Cover, RecoursePairs, cover_of, pairs_within
from tests.cover.instances import random_pairs


def brute(pairs: RecoursePairs, centres: npt.NDArray[np.float32], delta: float) -> npt.NDArray[np.int64]:
    chosen = np.full((len(centres), pairs.num_inputs), -1, dtype=np.int64)
    vectors = pairs.vectors().astype(np.float64)
    for c, centre in enumerate(centres.astype(np.float64)):
        for row in sorted(range(len(pairs)), key=lambda row: (pairs.norms[row], row)):
            i = pairs.inputs[row]
            if chosen[c, i] < 0 and np.linalg.norm(vectors[row] - centre) <= delta:
                chosen[c, i] = row
    return chosen


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), delta=st.floats(0.005, 0.2), block=st.integers(1, 50))
def test_equals_brute_force(seed: int, delta: float, block: int) -> None:
    pairs = random_pairs(seed)
    centres = pairs.vectors()[::7]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cover_module, "_BLOCK", block)
        cover = cover_of(pairs, centres, delta)
    np.testing.assert_array_equal(cover.pairs, brute(pairs, centres, delta))
    np.testing.assert_array_equal(cover.centres, centres)


def toy() -> RecoursePairs:
    """One input at 0, candidates on a line, so that vectors are 0, 1/4, 1/2 (twice), 1."""
    ends = np.array([[0], [0.5], [1], [1], [2]], dtype=np.float32)
    return pairs_within(np.zeros((1, 1), dtype=np.float32), [1], ends, [1] * 5, 1.0)


def test_the_shortest_within_delta_and_the_lowest_of_equals() -> None:
    cover = cover_of(toy(), [[0.5], [1.0], [0.75], [3.0]], 0.25)
    assert cover.pairs.tolist() == [[1], [4], [2], [-1]]
    assert cover.covers.tolist() == [[True], [True], [True], [False]]
    assert cover_of(toy(), [[0.5]], np.nextafter(0.25, 0)).pairs.tolist() == [[2]]


def test_zero_vectors_and_zero_delta() -> None:
    assert cover_of(toy(), [[0.0], [0.5]], 0.0).pairs.tolist() == [[0], [2]]


def test_first_recourse_and_gains() -> None:
    cover = Cover(np.zeros((3, 1), dtype=np.float32), np.array([[-1, 3, 4, -1], [1, 3, -1, -1], [1, -1, -1, -1]]))
    assert cover.first.tolist() == [1, 0, 0, -1]
    assert cover.gains.tolist() == [2, 1, 0]
    assert cover.select(np.array([1])).gains.tolist() == [2]


def test_no_centres_and_no_pairs() -> None:
    nothing = cover_of(toy(), np.zeros((0, 1), dtype=np.float32), 0.1)
    assert nothing.pairs.shape == (0, 1)
    assert nothing.first.tolist() == [-1]
    assert nothing.gains.tolist() == []
    empty = toy().subset(slice(0, 0))
    assert cover_of(empty, [[0.0]], 0.1).pairs.tolist() == [[-1]]
