from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import comrecgc.recourse.centres as centres_module
from comrecgc.recourse.centres import covered_inputs, covered_within, lengthen, refine_centres, shorten, unpack
from comrecgc.recourse.greedy import pack
from tests.recourse.instances import Vectors, flags_within, random_vectors


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    far=st.sampled_from([0.0, 1.0, 1000.0]),
    block=st.integers(1, 60),
    some=st.integers(1, 9),
)
def test_covered_inputs_equal_brute_force_however_far_from_zero(seed: int, far: float, block: int, some: int) -> None:
    """At 1000 Δ from zero a product in single precision alone would be wrong about most vectors."""
    vectors, owners = random_vectors(seed)
    vectors += np.float32(far)
    num_inputs = int(owners[-1]) + 3
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(centres_module, "_BLOCK", block)
        patch.setattr(centres_module, "_CENTRES", some)
        sets = covered_within(vectors[::3], vectors, owners, num_inputs, (0.7, 1.0))
    for radius, bits in zip((0.7, 1.0), sets, strict=True):
        expected = flags_within(vectors[::3], vectors, owners, num_inputs, radius)
        np.testing.assert_array_equal(unpack(bits, num_inputs), expected)
        np.testing.assert_array_equal(covered_inputs(vectors[::3], vectors, owners, num_inputs, radius), bits)


def test_a_vector_at_exactly_the_radius_is_inside() -> None:
    vectors, owners = np.array([[3.0, 4.0], [3.0, 5.0]], dtype=np.float32), np.array([0, 1])
    zero = np.zeros((1, 2), dtype=np.float32)
    assert unpack(covered_inputs(zero, vectors, owners, 2, 5.0), 2).tolist() == [[True, False]]
    assert not unpack(covered_inputs(zero, vectors, owners, 2, np.nextafter(5.0, 0)), 2).any()


@pytest.mark.parametrize("num_inputs", [0, 1, 63, 64, 65, 130])
def test_unpack_is_the_inverse_of_pack(num_inputs: int) -> None:
    flags = np.random.default_rng(num_inputs).random((3, num_inputs)) < 0.5
    np.testing.assert_array_equal(unpack(pack(flags), num_inputs), flags)


def refined(
    vectors: Vectors, owners: np.ndarray, wanted: np.ndarray, *, least_norm: float = 0.0
) -> tuple[Vectors, np.ndarray]:
    return refine_centres(vectors[:12], vectors, owners, wanted, 1.0, reach=2.0, least_norm=least_norm)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), least_norm=st.sampled_from([0.0, 1.5]))
def test_a_refined_ball_holds_what_it_claims_and_no_less_than_its_start(seed: int, least_norm: float) -> None:
    vectors, owners = random_vectors(seed)
    num_inputs = int(owners[-1]) + 1
    wanted = np.random.default_rng(seed).random(num_inputs) < 0.7
    before = vectors.copy()
    centres, gains = refined(vectors, owners, wanted, least_norm=least_norm)
    np.testing.assert_array_equal(vectors, before)
    held = flags_within(centres, vectors, owners, num_inputs, 1.0) & wanted
    assert (gains <= held.sum(axis=1)).all()
    starts = lengthen(vectors[:12], least_norm)
    assert (gains >= (flags_within(starts, vectors, owners, num_inputs, 1 - 1e-5) & wanted).sum(axis=1)).all()
    found = gains > 0
    assert (np.linalg.norm(centres[found].astype(np.float64), axis=1) >= least_norm * (1 - 1e-6)).all()


def test_nothing_wanted_or_nothing_near() -> None:
    vectors, owners = random_vectors(1)
    nothing = np.zeros(int(owners[-1]) + 1, dtype=np.bool_)
    assert refined(vectors, owners, nothing)[1].tolist() == [0] * 12
    far = np.full((2, vectors.shape[1]), 1e6, dtype=np.float32)
    assert refine_centres(far, vectors, owners, ~nothing, 1.0, reach=2.0)[1].tolist() == [0, 0]


def test_one_input_counts_once_however_many_vectors_it_has() -> None:
    vectors, owners = np.zeros((9, 2), dtype=np.float32), np.array([0] * 8 + [1])
    centres, gains = refine_centres(vectors[:1], vectors, owners, np.ones(2, dtype=np.bool_), 1.0, reach=2.0)
    assert gains.tolist() == [2]
    assert centres.tolist() == [[0, 0]]


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), least_norm=st.sampled_from([0.0, 1.001]), far=st.sampled_from([1.0, 30.0]))
def test_a_shortened_centre_keeps_its_inputs_and_is_never_longer(seed: int, least_norm: float, far: float) -> None:
    vectors, owners = random_vectors(seed)
    vectors[:, 0] += np.float32(far)
    num_inputs = int(owners[-1]) + 1
    centre = lengthen(vectors[4:5], least_norm)[0]
    kept = flags_within(centre[None, :], vectors, owners, num_inputs, 1.0)[0]
    before = vectors.copy(), centre.copy()
    shorter = shorten(centre, vectors, owners, kept, 1.0, least_norm=least_norm)
    np.testing.assert_array_equal(vectors, before[0])
    np.testing.assert_array_equal(centre, before[1])
    assert (flags_within(shorter[None, :], vectors, owners, num_inputs, 1.0)[0] | ~kept).all()
    lengths = [float(np.linalg.norm(point.astype(np.float64))) for point in (shorter, centre)]
    assert lengths[0] <= lengths[1] * (1 + 1e-6)
    assert lengths[0] >= min(least_norm, lengths[1]) * (1 - 1e-6)


def test_how_short_a_centre_gets() -> None:
    """Between a point at 3 on one axis and Δ=1 the shortest centre lies at 2; where zero will do, it comes to zero."""
    point, owner = np.array([[3.0, 0.0]], dtype=np.float32), np.array([0])
    kept = np.ones(1, dtype=np.bool_)
    start = np.array([3.5, 0.5], dtype=np.float32)
    half, quarter = np.float32(0.5), np.float32(0.25)
    assert shorten(start, point, owner, kept, 1.0).tolist() == pytest.approx([2, 0], abs=0.03)
    assert shorten(quarter * start, quarter * point, owner, kept, 1.0).tolist() == pytest.approx([0, 0], abs=1e-6)
    directional = shorten(half * start, half * point, owner, kept, 1.0, least_norm=1.001)
    assert np.linalg.norm(directional) == pytest.approx(1.001, rel=2e-3)


def test_short_centres_are_drawn_out_and_long_ones_stay() -> None:
    centres = np.array([[0, 0], [0.3, 0.4], [3, 4]], dtype=np.float32)
    assert lengthen(centres, 1.0).ravel().tolist() == pytest.approx([1, 0, 0.6, 0.8, 3, 4])
    np.testing.assert_array_equal(lengthen(centres, 0.0), centres)
    assert centres[1, 0] == np.float32(0.3)
