"""Tests of comrecgc.cover.clusters.

Also tests comrecgc.cover.vector_kernels.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import DBSCAN

from comrecgc.cover import RecourseClustering, RecoursePairs, cover_of, pairs_within
from comrecgc.cover.clusters import _CELL, _neighbours, _reached, build_cells, dbscan
from comrecgc.cover.pairs import coverage, product_slack
from comrecgc.cover.vector_kernels import distance
from comrecgc.data import load_dataset
from comrecgc.graphs import GraphBatch
from comrecgc.models import load_classifier, load_embedder, predict
from tests.cover.instances import random_pairs


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


def reference(vectors: npt.NDArray[np.float32], eps: float, min_samples: int) -> npt.NDArray[np.int64]:
    labels: npt.NDArray[np.int64] = DBSCAN(eps=eps, min_samples=min_samples).fit(vectors.astype(np.float64)).labels_
    return labels


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    size=st.integers(1, 700),
    width=st.integers(1, 20),
    eps=st.floats(0.02, 2.0),
    min_samples=st.integers(1, 5),
    copies=st.integers(0, 30),
)
def test_labels_are_those_of_scikit_learn(
    seed: int, size: int, width: int, eps: float, min_samples: int, copies: int
) -> None:
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(size, width)).astype(np.float32)
    vectors[:copies] = vectors[size // 2]
    np.testing.assert_array_equal(dbscan(vectors, eps, min_samples), reference(vectors, eps, min_samples))


@pytest.mark.parametrize(("size", "width", "eps"), [(5000, 2, 0.03), (4000, 3, 0.15), (3000, 64, 3.5), (4000, 2, 9.0)])
def test_many_clusters_one_cluster_and_dense_ones(size: int, width: int, eps: float) -> None:
    rng = np.random.default_rng(size)
    middles = rng.normal(size=(50, width))
    vectors = (middles[rng.integers(50, size=size)] + 0.3 * rng.normal(size=(size, width))).astype(np.float32)
    labels = dbscan(vectors, eps)
    assert labels.max() >= 0
    np.testing.assert_array_equal(labels, reference(vectors, eps, 3))
    np.testing.assert_array_equal(labels, dbscan(vectors, eps, num_threads=2))


def test_toy_with_border_noise_and_boundary() -> None:
    """A vector exactly `eps` from a core vector of two clusters on a line: the one numbered first has it."""
    line = np.array([2.5, 2.75, 3.0, 3.1, 0.0, -0.25, 0.5, 0.4, 1.5, 9.0], dtype=np.float32)[:, None]
    assert dbscan(line, 1.0, 4).tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 0, -1]
    assert dbscan(line, float(np.nextafter(1.0, 0)), 4).tolist() == [0, 0, 0, 0, 1, 1, 1, 1, -1, -1]
    assert dbscan(line, 1.0, 3).tolist() == [0] * 9 + [-1]  # now it is core itself and joins the two
    assert dbscan(line[::-1], 1.0, 4).tolist() == [-1, 0, 0, 0, 0, 0, 1, 1, 1, 1]


def test_all_alike_none_and_one() -> None:
    alike = np.ones((500, 8), dtype=np.float32)
    assert dbscan(alike, 0.1).tolist() == [0] * 500
    assert dbscan(np.zeros((0, 8), dtype=np.float32), 0.1).tolist() == []
    assert dbscan(alike[:1], 0.1).tolist() == [-1]
    assert dbscan(alike[:1], 0.1, 1).tolist() == [0]


def test_input_is_not_modified() -> None:
    vectors = np.random.default_rng(0).normal(size=(300, 4)).astype(np.float32)
    before = vectors.copy()
    dbscan(vectors, 0.5)
    np.testing.assert_array_equal(vectors, before)


def test_real_recourse_vectors(data_root: Path, checkpoint_root: Path) -> None:
    """Accepted AIDS graphs as counterfactuals of rejected ones, at a radius where both noise and clusters occur."""
    dataset = load_dataset("aids", root=data_root)
    rejects = predict(load_classifier(checkpoint_root / "aids" / "classifier.pth"), dataset).rejects
    accepted = np.setdiff1d(np.arange(len(dataset)), rejects)
    embeddings = load_embedder(checkpoint_root / "aids" / "greed.pt").embed(GraphBatch.from_graphs(list(dataset)))
    sizes = np.array([graph.size for graph in dataset])
    pairs = pairs_within(embeddings[rejects], sizes[rejects], embeddings[accepted], sizes[accepted], 0.35)
    vectors = pairs.vectors(slice(0, 6000))
    labels = dbscan(vectors, 0.08)
    assert labels.max() > 5
    assert (labels < 0).any()
    np.testing.assert_array_equal(labels, reference(vectors, 0.08, 3))


@pytest.mark.parametrize(
    ("size", "width", "radius"), [(1, 3, 1.0), (_CELL, 2, 0.3), (_CELL + 1, 1, 0.1), (3000, 40, 7.5)]
)
def test_neighbours_equal_brute_force(size: int, width: int, radius: float) -> None:
    vectors = np.random.default_rng(size).normal(size=(size, width)).astype(np.float32)
    _, found = _neighbours(vectors, radius, size + 1, num_threads=1)
    for i in range(0, size, 7):
        near = np.flatnonzero(np.linalg.norm(vectors.astype(np.float64) - vectors[i], axis=1) <= radius)
        assert sorted(found[i][found[i] >= 0].tolist()) == near.tolist()
    few = np.minimum((found >= 0).sum(axis=1), 2)
    is_core, two = _neighbours(vectors, radius, 2, num_threads=1)
    np.testing.assert_array_equal((two >= 0).sum(axis=1), few)
    np.testing.assert_array_equal(is_core, few == 2)


@pytest.mark.parametrize("seed", range(4))
def test_a_large_cluster_with_many_small_ones_beside_it(seed: int) -> None:
    """The large one is found first and the others are compared with it; some are joined to it by a single step."""
    rng = np.random.default_rng(seed)
    large, small = rng.normal(size=(4000, 5)), 6 * rng.normal(size=(400, 5))
    vectors = np.concatenate([large, np.repeat(small, 5, axis=0) + 0.05 * rng.normal(size=(2000, 5))])
    vectors = rng.permutation(vectors).astype(np.float32)
    labels = dbscan(vectors, 0.7)
    sizes = np.bincount(labels[labels >= 0])
    assert sizes.max() > 2500
    assert len(sizes) > 100
    np.testing.assert_array_equal(labels, reference(vectors, 0.7, 3))


def test_every_vector_is_in_one_cell_and_in_its_box() -> None:
    vectors = np.random.default_rng(0).normal(size=(3 * _CELL, 20)).astype(np.float32)
    cells = build_cells(vectors)
    assert sorted(cells.order.tolist()) == list(range(len(vectors)))
    assert np.diff(cells.starts).max() <= _CELL
    for cell in range(len(cells)):
        sketch = vectors[cells.members(cell)] @ cells.components.T
        assert (sketch >= cells.low[cell] - 1e-5).all()
        assert (sketch <= cells.high[cell] + 1e-5).all()
        near = np.concatenate(list(cells.near(cells, cell, 0.0)))
        assert set(cells.members(cell)) <= set(near)


def test_single_precision_products_stay_within_their_slack() -> None:
    rng = np.random.default_rng(0)
    first = rng.normal(size=(500, 64)).astype(np.float32)
    second = (first + 1e-3 * rng.normal(size=first.shape)).astype(np.float32)
    squares = [np.square(z, dtype=np.float64).sum(axis=1) for z in (first, second)]
    estimate = squares[0] + squares[1] - 2 * np.diag(first @ second.T).astype(np.float64)
    truth = np.array([distance(a, b) ** 2 for a, b in zip(first, second, strict=True)])
    np.testing.assert_allclose(truth, np.square(first.astype(np.float64) - second).sum(axis=1), rtol=1e-12)
    assert (np.abs(estimate - truth) <= product_slack(64) * (squares[0] + squares[1])).all()


@pytest.mark.parametrize(("size", "width", "radius"), [(1, 3, 1.0), (_CELL + 1, 2, 0.3), (2000, 30, 6.0)])
def test_inputs_near_centroids_equal_brute_force(size: int, width: int, radius: float) -> None:
    rng = np.random.default_rng(size)
    vectors = rng.normal(size=(size, width)).astype(np.float32)
    owners = rng.integers(0, 150, size).astype(np.int32)
    points = np.stack([vectors[rng.integers(0, size, 3)].mean(axis=0) for _ in range(60)])
    reached = _reached(vectors, owners, points, radius, 150).toarray()
    near = np.linalg.norm(vectors.astype(np.float64) - points[:, None].astype(np.float64), axis=2) <= radius
    assert near.any()
    for point, row in enumerate(reached):
        assert np.flatnonzero(row).tolist() == sorted(set(owners[near[point]].tolist()))
