from __future__ import annotations

import numpy as np
import pytest

from comrecgc.kernels.tree import LEAF, neighbours_up_to
from comrecgc.kernels.vectors import distance
from comrecgc.recourse.distances import product_slack
from comrecgc.recourse.tree import build_tree, mark_owners


@pytest.mark.parametrize(
    ("size", "width", "radius"), [(1, 3, 1.0), (LEAF, 2, 0.3), (LEAF + 1, 1, 0.1), (3000, 40, 7.5)]
)
def test_neighbours_equal_brute_force(size: int, width: int, radius: float) -> None:
    vectors = np.random.default_rng(size).normal(size=(size, width)).astype(np.float32)
    tree = build_tree(vectors)
    found, counts = np.full((size, size), -1, dtype=np.int32), np.zeros(size, dtype=np.int32)
    neighbours_up_to(vectors, tree, radius, size, 0, len(tree.sketch), found, counts)
    for i in range(0, size, 7):
        near = np.flatnonzero(np.linalg.norm(vectors.astype(np.float64) - vectors[i], axis=1) <= radius)
        assert sorted(found[i, : counts[i]].tolist()) == near.tolist()
    assert counts.min() >= 1
    few = np.full((size, 2), -1, dtype=np.int32), np.zeros(size, dtype=np.int32)
    neighbours_up_to(vectors, tree, radius, 2, 0, len(tree.sketch), *few)
    np.testing.assert_array_equal(few[1], np.minimum(counts, 2))


def test_every_vector_has_one_place_and_lies_in_its_boxes() -> None:
    vectors = np.random.default_rng(0).normal(size=(1000, 20)).astype(np.float32)
    tree = build_tree(vectors)
    assert sorted(tree.order.tolist()) == list(range(1000))
    assert (tree.stops - tree.starts)[len(tree.starts) // 2 :].max() <= LEAF
    assert (tree.low[0] <= tree.low.min(axis=0)).all()
    assert (tree.high[0] >= tree.high.max(axis=0)).all()


def test_single_precision_products_stay_within_their_slack() -> None:
    rng = np.random.default_rng(0)
    first = rng.normal(size=(500, 64)).astype(np.float32)
    second = (first + 1e-3 * rng.normal(size=first.shape)).astype(np.float32)
    squares = [np.square(z, dtype=np.float64).sum(axis=1) for z in (first, second)]
    estimate = squares[0] + squares[1] - 2 * np.diag(first @ second.T).astype(np.float64)
    truth = np.array([distance(a, b) ** 2 for a, b in zip(first, second, strict=True)])
    np.testing.assert_allclose(truth, np.square(first.astype(np.float64) - second).sum(axis=1), rtol=1e-12)
    assert (np.abs(estimate - truth) <= product_slack(64) * (squares[0] + squares[1])).all()


@pytest.mark.parametrize(("size", "width", "radius"), [(1, 3, 1.0), (LEAF + 1, 2, 0.3), (2000, 30, 6.0)])
def test_owners_near_points_equal_brute_force(size: int, width: int, radius: float) -> None:
    rng = np.random.default_rng(size)
    vectors = rng.normal(size=(size, width)).astype(np.float32)
    owners = rng.integers(0, 150, size).astype(np.int32)
    points = np.stack([vectors[rng.integers(0, size, 3)].mean(axis=0) for _ in range(60)])
    marks = np.zeros((60, 3), dtype=np.uint64)
    mark_owners(points, vectors, build_tree(vectors), radius, owners, marks)
    bits = np.unpackbits(marks.view(np.uint8), axis=1, bitorder="little")
    near = np.linalg.norm(vectors.astype(np.float64) - points[:, None].astype(np.float64), axis=2) <= radius
    assert near.any()
    for point, row in enumerate(bits):
        assert np.flatnonzero(row).tolist() == sorted(set(owners[near[point]].tolist()))
