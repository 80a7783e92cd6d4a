from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import DBSCAN

from comrecgc.cover import PublishedClustering, RecoursePairs
from tests.cover.instances import random_pairs


def literal(pairs: RecoursePairs, min_samples: int, budget: int) -> tuple[list[list[float]], list[int]]:
    """The published code's choice word for word, on scikit-learn's clusters."""
    vectors = pairs.vectors().astype(np.float64)
    labels = DBSCAN(eps=0.025, min_samples=min_samples).fit(vectors).labels_
    clusters = []
    for label in range(labels.max() + 1):
        members = np.flatnonzero(labels == label)
        centroid = vectors[members].mean(axis=0)
        near = members[np.linalg.norm(vectors[members] - centroid, axis=1) < 0.025]
        if np.linalg.norm(centroid) < 0.25:
            clusters.append((centroid.tolist(), set(pairs.inputs[near].tolist())))
    chosen, gains = list[int](), list[int]()
    covered: set[int] = set()
    for _ in range(min(budget, len(clusters))):
        worth = [-1 if i in chosen else len(inputs - covered) for i, (_, inputs) in enumerate(clusters)]
        chosen.append(int(np.argmax(worth)))
        gains.append(max(worth))
        covered |= clusters[chosen[-1]][1]
    return [clusters[i][0] for i in chosen], gains


@pytest.mark.parametrize("min_samples", [1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_equals_the_published_choice_word_for_word(seed: int, min_samples: int) -> None:
    pairs = random_pairs(seed, num_inputs=20, num_candidates=120)
    found = PublishedClustering(theta=0.25, delta=0.025, num_recourses=30, min_samples=min_samples).choose(pairs)
    centres, gains = literal(pairs, min_samples, 30)
    assert len(centres) > 1
    np.testing.assert_allclose(found.centres, centres, rtol=1e-5, atol=1e-7)
    assert found.gains.tolist() == gains
    assert found.coverage == pytest.approx(sum(gains) / 20)
    assert found.total_length == pytest.approx(np.linalg.norm(centres, axis=1).sum(), rel=1e-5)
    assert found.curve[-1] == pytest.approx(found.coverage)


def test_choice_goes_on_at_no_gain() -> None:
    pairs = random_pairs(0, num_inputs=20, num_candidates=120)
    gains = PublishedClustering(theta=0.25, delta=0.025, num_recourses=10_000, min_samples=1).choose(pairs).gains
    assert gains[-1] == 0
    assert len(gains) < 10_000


def test_no_pairs_are_no_recourses() -> None:
    pairs = random_pairs(0, num_inputs=5, num_candidates=30).subset(slice(0))
    found = PublishedClustering(theta=0.25, delta=0.025).choose(pairs)
    assert found.centres.shape == (0, pairs.width)
    assert found.coverage == 0


def test_pairs_that_are_all_noise_are_no_recourses() -> None:
    pairs = random_pairs(0, num_inputs=5, num_candidates=30)
    found = PublishedClustering(theta=0.25, delta=1e-6, min_samples=3).choose(pairs)
    assert found.centres.shape == (0, pairs.width)
    assert found.coverage == 0
