from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comrecgc.cover import BallCover, RecourseClustering, RecoursePairs, balls, cover_of, covered_inputs, pairs_within
from comrecgc.cover.balls import _Problem, bits_within, lengthen, refine_centres, shorten, spread_evenly
from comrecgc.cover.pairs import from_bits, to_bits
from tests.cover.instances import Vectors, flags_within, random_pairs, random_vectors

Owners = npt.NDArray[np.int64]


def chosen(
    vectors: Vectors, owners: Owners, *, seed: int = 0, previous: Vectors | None = None, **options: object
) -> Vectors:
    cover = BallCover(**{"delta": 1.0, **options})  # type: ignore[arg-type]
    num_inputs = int(owners.max(initial=-1)) + 1
    return cover.centres_of(vectors, owners, num_inputs, np.random.default_rng(seed), previous=previous)


def flags(centres: Vectors, vectors: Vectors, owners: Owners, radius: float = 1.0) -> npt.NDArray[np.bool_]:
    return flags_within(centres, vectors, owners, int(owners.max(initial=-1)) + 1, radius)


def num_covered(centres: Vectors, vectors: Vectors, owners: Owners) -> int:
    return int(flags(centres, vectors, owners).any(axis=0).sum())


def on_a_line(*points: tuple[int, float]) -> tuple[Vectors, Owners]:
    """Vectors of width 1 as (input, place)."""
    ordered = sorted(points)
    return np.array([[x] for _, x in ordered], dtype=np.float32), np.array([i for i, _ in ordered])


def test_toy_answer() -> None:
    """Inputs 0, 1, 2 lie within 2Δ of each other at 5…6.8, inputs 3, 4 at −3, input 5 alone at 20."""
    vectors, owners = on_a_line((0, 5.0), (1, 6.0), (2, 6.8), (3, -3.0), (4, -3.1), (5, 20.0), (5, 5.5))
    centres = chosen(vectors, owners, num_recourses=2)
    held = flags(centres, vectors, owners)
    assert held.tolist() == [[True, True, True, False, False, True], [False, False, False, True, True, False]]
    # Each is as short as what it covers allows.
    np.testing.assert_allclose(centres, [[5.8], [-2.1]], atol=0.03)


def test_three_vectors_under_one_ball_that_no_vector_is_the_centre_of() -> None:
    """Corners of a triangle of side √2: farther than Δ apart, yet all within Δ of the middle."""
    vectors = np.eye(3, dtype=np.float32) + np.float32(4)
    owners = np.arange(3)
    assert flags(vectors, vectors, owners).sum(axis=1).tolist() == [1, 1, 1]
    centres = chosen(vectors, owners)
    assert len(centres) == 1
    assert flags(centres, vectors, owners).all()


def best_disc(points: Vectors, owners: Owners) -> int:
    """Most inputs under one disc: a best one can be moved until it is around a point or has two points on its rim."""
    spots = [points.astype(np.float64)]
    for a, b in itertools.combinations(points.astype(np.float64), 2):
        half = (b - a) / 2
        if 0 < (length := np.linalg.norm(half)) <= 1:
            across = np.array([-half[1], half[0]]) * np.sqrt(1 - length**2) / length
            spots.append(np.stack([a + half + across, a + half - across]))
    near = np.linalg.norm(np.concatenate(spots)[:, None] - points[None].astype(np.float64), axis=2) <= 1 + 1e-9
    return max(len(set(owners[row].tolist())) for row in near)


def test_the_first_disc_lies_between_the_best_around_a_point_and_the_best_there_is() -> None:
    optimal = 0
    num_instances = 60
    for seed in range(num_instances):
        rng = np.random.default_rng(seed)
        owners = np.sort(rng.integers(14, size=24))
        points = (rng.uniform(0.8, 2.2) * rng.normal(size=(24, 2))).astype(np.float32)
        first = chosen(points, owners, num_recourses=1, num_exchanges=0)
        gain = int(flags(first, points, owners).sum())
        around = int(flags(points, points, owners, 1 - 1e-5).sum(axis=1).max())
        best = best_disc(points, owners)
        assert around <= gain <= best
        optimal += gain == best
    assert optimal > num_instances * 2 / 3


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), delta=st.floats(0.01, 0.08), budget=st.integers(1, 5))
def test_covers_no_less_than_clusters_do(seed: int, delta: float, budget: int) -> None:
    pairs = random_pairs(seed, num_inputs=25, num_candidates=100, width=4)
    clusters = RecourseClustering(theta=0.3, delta=delta, num_recourses=budget).run(pairs)
    centres = BallCover(delta=delta, num_recourses=budget).centres(
        pairs, np.random.default_rng(0), previous=clusters.centres
    )
    assert len(centres) <= budget
    balls = cover_of(pairs, centres, delta)
    assert balls.covers.any(axis=0).sum() >= clusters.covers.any(axis=0).sum()


def trap() -> tuple[Vectors, Owners]:
    """Two wide groups of five inputs, and a ball in between that takes three of each; what it leaves lies far apart."""
    left = [*((i, 0.0) for i in (0, 1)), *((i, 1.9) for i in (2, 3, 4))]
    right = [*((i, 3.1) for i in (5, 6, 7)), *((i, 5.0) for i in (8, 9))]
    return on_a_line(*left, *right)


def test_known_centres_are_never_made_worse_even_where_greed_is() -> None:
    vectors, owners = trap()
    assert num_covered(chosen(vectors, owners, num_recourses=2), vectors, owners) < 10
    known = np.array([[4.05], [0.95], [9.0]], dtype=np.float32)
    centres = chosen(vectors, owners, num_recourses=2, previous=known)
    assert num_covered(centres, vectors, owners) == 10
    # What the known centres leave of the budget is used.
    vectors, owners = np.append(vectors, [[-7]], axis=0).astype(np.float32), np.append(owners, 10)
    assert num_covered(chosen(vectors, owners, num_recourses=3, previous=known), vectors, owners) == 11


@pytest.mark.parametrize("seed", range(4))
def test_exchanges_never_lower_coverage(seed: int) -> None:
    vectors, owners = random_vectors(seed, num_inputs=60)
    num_inputs = int(owners[-1]) + 1
    none = np.zeros((0, vectors.shape[1]), dtype=np.float32)
    config = BallCover(delta=1.0, num_recourses=7, num_starts=4)
    problem = _Problem(config, vectors, owners, num_inputs, none, np.random.default_rng(seed))
    bad = vectors[:7]  # centres taken blindly leave much to gain
    counts = [num_covered(centres, vectors, owners) for centres in (bad, problem.exchange(bad))]
    assert counts[1] > counts[0]
    centres = problem.greedy(none)
    for _ in range(3):
        better = problem.exchange(centres)
        assert problem.covers(better).any(axis=0).sum() >= problem.covers(centres).any(axis=0).sum()
        centres = better
    assert problem.covers(problem.in_order(centres)).any(axis=0).sum() >= problem.covers(centres).any(axis=0).sum()


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), directional=st.booleans())
def test_order_is_greedy_and_the_input_stays_as_it_was(seed: int, directional: bool) -> None:
    vectors, owners = random_vectors(seed, num_inputs=30)
    vectors -= vectors.mean(axis=0)
    before = vectors.copy(), owners.copy()
    centres = chosen(vectors, owners, num_recourses=8, num_starts=4, longer_than=1.0 if directional else None)
    np.testing.assert_array_equal(vectors, before[0])
    np.testing.assert_array_equal(owners, before[1])
    held, left = flags(centres, vectors, owners, 1 - 1e-5), np.ones(30, dtype=np.bool_)
    gains = []
    for row in held:
        assert (row & left).sum() == (held & left).sum(axis=1).max()
        gains.append(int((row & left).sum()))
        left &= ~row
    assert gains == sorted(gains, reverse=True)
    assert min(gains, default=1) > 0
    if directional:
        assert (np.linalg.norm(centres.astype(np.float64), axis=1) > 1).all()


def test_directional_centres_pass_by_what_only_changes_nothing() -> None:
    """Twenty inputs move nowhere, two move by 1.8: only a centre longer than Δ may be chosen, and one is."""
    vectors = np.zeros((22, 3), dtype=np.float32)
    vectors[20:, 1] = 1.8
    owners = np.arange(22)
    assert flags(chosen(vectors, owners, num_recourses=1), vectors, owners).sum() >= 20
    directional = chosen(vectors, owners, longer_than=1.0, num_starts=2)
    assert flags(directional, vectors, owners).any(axis=0).tolist() == [False] * 20 + [True] * 2
    assert (np.linalg.norm(directional, axis=1) > 1).all()
    assert len(chosen(vectors[:20], owners[:20], longer_than=1.0)) == 0


def test_how_long_a_centre_must_be_does_not_depend_on_the_margin_of_its_ball() -> None:
    """Balls a little smaller than Δ = 0.01, as a run has them: centres are longer than Δ all the same."""
    vectors, owners = random_vectors(1)
    vectors = (vectors / np.abs(vectors).max() * 0.012).astype(np.float32)
    centres = chosen(vectors, owners, delta=0.01 - 2.4e-5, longer_than=0.01, num_recourses=10)
    assert len(centres)
    assert (np.linalg.norm(centres.astype(np.float64), axis=1) > 0.01).all()


def test_same_draws_same_answer() -> None:
    vectors, owners = random_vectors(3)
    answers = [
        chosen(vectors, owners, seed=seed, num_seeds=20, max_vectors=60, num_recourses=5).tobytes()
        for seed in (1, 1, 2)
    ]
    assert answers[0] == answers[1] != answers[2]


def test_ties_go_to_the_shorter_centre_then_to_the_first() -> None:
    vectors, owners = on_a_line((0, 5.0), (1, -5.0), (2, 5.5), (3, -5.5), (4, 50.0))
    assert len({chosen(vectors, owners, seed=seed).tobytes() for seed in range(5)}) == 1


def test_no_vectors_one_vector_zeros_and_copies() -> None:
    assert chosen(np.zeros((0, 4), dtype=np.float32), np.zeros(0, dtype=np.int64)).shape == (0, 4)
    one = np.full((1, 4), 3, dtype=np.float32)
    assert flags(chosen(one, np.zeros(1, dtype=np.int64)), one, np.zeros(1, dtype=np.int64)).tolist() == [[True]]
    zeros = np.zeros((5, 4), dtype=np.float32)
    assert chosen(zeros, np.arange(5)).tolist() == [[0, 0, 0, 0]]
    copies, owners = np.tile(one, (6, 1)), np.array([0, 0, 0, 1, 1, 2])
    assert flags(chosen(copies, owners), copies, owners).tolist() == [[True] * 3]
    none = pairs_within(np.zeros((2, 3)), [1, 1], np.ones((1, 3)) * 100, [1], 0.1)  # type: ignore[arg-type]
    assert BallCover(delta=0.1).centres(none, np.random.default_rng(0)).shape == (0, 3)


def test_more_recourses_than_are_of_use() -> None:
    vectors = np.array([[10.0 * i, 0] for i in range(7)], dtype=np.float32)
    centres = chosen(vectors, np.arange(7), num_recourses=50)
    assert len(centres) == 7
    assert flags(centres, vectors, np.arange(7)).any(axis=0).all()


def test_few_seeds_still_reach_inputs_with_few_vectors() -> None:
    """One input has 500 vectors, nine have one each, far apart: half of the seeds are for all alike."""
    vectors = np.concatenate([np.random.default_rng(0).normal(size=(500, 2)), 100 + 10 * np.arange(18).reshape(9, 2)])
    owners = np.array([0] * 500 + list(range(1, 10)))
    centres = chosen(vectors.astype(np.float32), owners, num_seeds=20, max_vectors=30)
    assert flags(centres, vectors.astype(np.float32), owners).any(axis=0).all()


@settings(max_examples=50, deadline=None)
@given(counts=st.lists(st.integers(0, 30), min_size=1, max_size=12), most=st.integers(1, 120), seed=st.integers(0, 99))
def test_rows_are_spread_evenly(counts: list[int], most: int, seed: int) -> None:
    owners = np.repeat(np.arange(len(counts)), counts)
    rows = spread_evenly(owners, most, np.random.default_rng(seed))
    assert len(rows) == min(most, len(owners))
    assert (np.diff(rows) > 0).all()
    taken = np.bincount(owners[rows], minlength=len(counts))
    for count, got in zip(counts, taken, strict=True):
        assert got >= min(count, taken.max() - 1)  # whoever gives fewer than the richest has no more


def test_every_row_and_every_owner_is_as_likely_to_be_drawn() -> None:
    owners = np.repeat(np.arange(4), 5)
    drawn = np.zeros(20)
    rng = np.random.default_rng(0)
    for _ in range(2000):
        drawn[spread_evenly(owners, 6, rng)] += 1
    np.testing.assert_allclose(drawn / 2000, 0.3, atol=0.04)


@pytest.mark.parametrize(("delta", "far"), [(0.02, 0.0), (0.001, 3.0)])
def test_claims_hold_in_double_precision(delta: float, far: float) -> None:
    """Also where the vectors are thousands of Δ long and rounding of products is larger than Δ²."""
    vectors, owners = random_vectors(5, num_inputs=50)
    vectors = (vectors * delta + far).astype(np.float32)
    pairs = as_pairs(vectors, owners)
    centres = BallCover(delta=delta, num_recourses=6).centres(pairs, np.random.default_rng(0))
    cover = cover_of(pairs, centres, delta)
    assert len(centres) == 6
    assert (cover.gains > 0).all()
    claimed = _Problem(
        BallCover(delta=delta), pairs.vectors(), owners, 50, centres[:0], np.random.default_rng(0)
    ).covers(centres)
    assert (cover.covers | ~claimed).all()
    assert claimed.any(axis=0).sum() >= 20


def as_pairs(vectors: Vectors, owners: Owners) -> RecoursePairs:
    """Pairs with these vectors: inputs at zero, everything of size 1."""
    num_inputs = int(owners[-1]) + 1
    return RecoursePairs(
        input_embeddings=np.zeros((num_inputs, vectors.shape[1]), dtype=np.float32),
        input_sizes=np.ones(num_inputs, dtype=np.int32),
        candidate_embeddings=2 * vectors,
        candidate_sizes=np.ones(len(vectors), dtype=np.int32),
        inputs=owners.astype(np.int32),
        candidates=np.arange(len(vectors), dtype=np.int32),
        norms=np.linalg.norm(vectors, axis=1),
    )


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
        patch.setattr(balls, "_BLOCK", block)
        patch.setattr(balls, "_CENTRES", some)
        sets = bits_within(vectors[::3], vectors, owners, num_inputs, (0.7, 1.0))
    for radius, bits in zip((0.7, 1.0), sets, strict=True):
        expected = flags_within(vectors[::3], vectors, owners, num_inputs, radius)
        np.testing.assert_array_equal(from_bits(bits, num_inputs), expected)
        np.testing.assert_array_equal(covered_inputs(vectors[::3], vectors, owners, num_inputs, radius), expected)


def test_a_vector_at_exactly_the_radius_is_inside() -> None:
    vectors, owners = np.array([[3.0, 4.0], [3.0, 5.0]], dtype=np.float32), np.array([0, 1])
    zero = np.zeros((1, 2), dtype=np.float32)
    assert covered_inputs(zero, vectors, owners, 2, 5.0).tolist() == [[True, False]]
    assert not covered_inputs(zero, vectors, owners, 2, np.nextafter(5.0, 0)).any()


@pytest.mark.parametrize("num_inputs", [0, 1, 63, 64, 65, 130])
def test_bits_there_and_back(num_inputs: int) -> None:
    flags = np.random.default_rng(num_inputs).random((3, num_inputs)) < 0.5
    np.testing.assert_array_equal(from_bits(to_bits(flags), num_inputs), flags)


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
