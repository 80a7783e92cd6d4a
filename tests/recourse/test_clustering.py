from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import DBSCAN

from comrecgc.errors import InputError
from comrecgc.metrics import coverage
from comrecgc.recourse import RecourseClustering, RecoursePairs, cover_of, pairs_within
from tests.recourse.instances import random_pairs


def literal(pairs: RecoursePairs, theta: float, delta: float, budget: int) -> list[list[float]]:
    """Algorithm 1 word for word, on scikit-learn's clusters."""
    vectors = pairs.vectors().astype(np.float64)
    labels = DBSCAN(eps=delta, min_samples=2).fit(vectors).labels_
    clusters = []
    for label in range(labels.max() + 1):
        members = np.flatnonzero(labels == label)
        centroid = vectors[members].mean(axis=0).astype(np.float32)
        near = np.flatnonzero(np.linalg.norm(vectors - centroid, axis=1) <= delta)
        if np.linalg.norm(centroid) < theta:
            clusters.append((centroid, set(pairs.inputs[near].tolist())))
    chosen: list[list[float]] = []
    covered: set[int] = set()
    for _ in range(budget):
        gains = [len(inputs - covered) for _, inputs in clusters]
        if not gains or max(gains) == 0:
            break
        centroid, inputs = clusters[int(np.argmax(gains))]
        chosen.append(centroid.tolist())
        covered |= inputs
    return chosen


@pytest.mark.parametrize("seed", range(8))
def test_equals_the_algorithm_word_for_word(seed: int) -> None:
    pairs = random_pairs(seed, num_inputs=20, num_candidates=120)
    clustering = RecourseClustering(theta=0.25, delta=0.025, num_recourses=4)
    cover = clustering.run(pairs)
    expected = literal(pairs, 0.25, 0.025, 4)
    assert len(expected) > 1
    np.testing.assert_allclose(cover.centres, expected, rtol=1e-6)
    np.testing.assert_array_equal(cover.pairs, cover_of(pairs, cover.centres, 0.025).pairs)


def shared(directions: int, per_direction: int) -> RecoursePairs:
    """Every input has one counterfactual, along one of a few far-apart directions."""
    count = directions * per_direction
    origins = 100 * np.arange(count, dtype=np.float32)[:, None] * np.ones((1, directions), dtype=np.float32)
    ends = origins + np.eye(directions, dtype=np.float32)[np.arange(count) % directions]
    return pairs_within(origins, [5] * count, ends, [5] * count, 0.1)


def test_finds_the_shared_directions() -> None:
    cover = RecourseClustering(theta=0.2, delta=0.02, num_recourses=2).run(shared(4, 6))
    assert coverage(cover) == 0.5
    np.testing.assert_allclose(np.linalg.norm(cover.centres, axis=1), 0.1, rtol=1e-4)
    everything = RecourseClustering(theta=0.2, delta=0.02, num_recourses=100).run(shared(4, 6))
    assert len(everything) == 4
    assert coverage(everything) == 1


def test_a_centroid_must_be_shorter_than_theta() -> None:
    assert len(RecourseClustering(theta=0.09, delta=0.02).run(shared(4, 6))) == 0


def test_too_few_alike_make_no_cluster() -> None:
    assert len(RecourseClustering(theta=0.2, delta=0.02).run(shared(4, 1))) == 0
    assert len(RecourseClustering(theta=0.2, delta=0.02).run(shared(4, 2))) == 4
    assert len(RecourseClustering(theta=0.2, delta=0.02, min_samples=3).run(shared(4, 2))) == 0


@pytest.mark.parametrize("rows", [0, 1])
def test_no_pairs_and_one(rows: int) -> None:
    cover = RecourseClustering(theta=0.2, delta=0.02).run(shared(4, 6).subset(slice(0, rows)))
    assert cover.pairs.shape == (0, 24)


def test_a_sample_of_the_vectors_is_seeded_and_counted_over_all_pairs() -> None:
    pairs = shared(4, 30)
    draws = [RecourseClustering(theta=0.2, delta=0.02, max_vectors=40, seed=seed) for seed in (1, 1, 2)]
    covers = [clustering.run(pairs) for clustering in draws]
    assert [coverage(cover) for cover in covers] == [1, 1, 1]
    np.testing.assert_array_equal(covers[0].centres, covers[1].centres)
    rows = [clustering._rows(len(pairs)) for clustering in draws]
    assert len(set(map(str, rows))) == 2
    assert all(len(row) == 40 for row in rows if not isinstance(row, slice))


@pytest.mark.parametrize("name", ["theta", "delta", "num_recourses", "min_samples", "max_vectors", "num_threads"])
def test_bad_parameters_are_named(name: str) -> None:
    with pytest.raises(InputError, match=name):
        RecourseClustering(**{"theta": 0.1, "delta": 0.02, name: 0})  # type: ignore[arg-type]
