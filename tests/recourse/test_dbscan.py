from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import DBSCAN

from comrecgc.classifiers import load_classifier, predict
from comrecgc.datasets import load_dataset
from comrecgc.embedding import load_embedder
from comrecgc.errors import InputError
from comrecgc.graphs import GraphBatch
from comrecgc.recourse import pairs_within
from comrecgc.recourse.dbscan import dbscan


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


@pytest.mark.parametrize(
    ("change", "message"),
    [({"eps": 0.0}, "eps"), ({"min_samples": 0}, "min_samples"), ({"num_threads": 0}, "num_threads")],
)
def test_bad_arguments_are_named(change: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        dbscan(np.zeros((1, 1), dtype=np.float32), **{"eps": 1.0, **change})  # type: ignore[arg-type]
    with pytest.raises(InputError, match="one row each"):
        dbscan(np.zeros(3, dtype=np.float32), 1.0)


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
