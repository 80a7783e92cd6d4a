"""Coverage, lengths and costs of chosen recourses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comrecgc.cover import Cover, Reason, RecourseClustering, cover_of, pairs_within
from comrecgc.cover.pairs import (
    Cost,
    cost,
    coverage,
    directional_coverage,
    total_length,
    trivial_coverage,
    why_not_covered,
)
from comrecgc.data import load_dataset
from comrecgc.graphs import GraphBatch
from comrecgc.models import load_classifier, load_embedder, predict
from tests.cover.instances import random_pairs


def toy() -> Cover:
    """Recourses of length 5, 1, 0 over four inputs; the last input is covered by none."""
    centres = np.array([[3, 4], [1, 0], [0, 0]], dtype=np.float32)
    return Cover(centres, np.array([[0, 1, -1, -1], [0, -1, -1, -1], [-1, -1, 2, -1]]))


def test_toy_figures() -> None:
    cover = toy()
    assert coverage(cover) == 0.75
    assert cover.gains.tolist() == [2, 0, 1]
    assert total_length(cover) == 6
    assert cost(cover) == Cost(total=1 + 5 + 0, mean=2, median=1)
    assert directional_coverage(cover, 1.0) == 0.5
    assert directional_coverage(cover, 0.5) == 0.5
    assert directional_coverage(cover, 5.0) == 0


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), delta=st.floats(0.01, 0.15))
def test_figures_of_random_covers_agree(seed: int, delta: float) -> None:
    pairs = random_pairs(seed)
    cover = cover_of(pairs, pairs.vectors()[::5], delta)
    curve = np.cumsum(cover.gains) / cover.num_inputs
    for count in range(1, len(cover) + 1):
        assert curve[count - 1] == pytest.approx(coverage(cover.select(slice(0, count))))
    assert directional_coverage(cover, delta) <= coverage(cover)
    norms = np.linalg.norm(cover.centres, axis=1)
    shortest = [norms[column].min() for column in cover.covers.T if column.any()]
    assert cost(cover).total == pytest.approx(np.sum(shortest))
    assert cost(cover).median == pytest.approx(np.median(shortest))


def test_trivial_coverage_includes_the_boundary() -> None:
    ends = np.array([[0.5], [10.25], [21]], dtype=np.float32)
    pairs = pairs_within(np.array([[0], [10], [20]], dtype=np.float32), [1] * 3, ends, [1] * 3, 0.6)
    assert trivial_coverage(pairs, 0.25) == pytest.approx(2 / 3)
    assert trivial_coverage(pairs, float(np.nextafter(0.25, 0))) == pytest.approx(1 / 3)
    zero = np.zeros((1, 1), dtype=np.float32)
    assert trivial_coverage(pairs, 0.25) == coverage(cover_of(pairs, zero, 0.25))


def test_nothing_chosen_and_no_inputs() -> None:
    pairs = random_pairs(0)
    nothing = cover_of(pairs, np.zeros((0, 5), dtype=np.float32), 0.1)
    assert coverage(nothing) == directional_coverage(nothing, 0.1) == total_length(nothing) == 0
    assert cost(nothing) == cost(toy().select(slice(0, 0))) == Cost(0.0, 0.0, 0.0)
    assert nothing.gains.tolist() == []
    useless = Cover(np.ones((1, 5), dtype=np.float32), np.full((1, 3), -1))
    assert cost(useless) == Cost(0.0, 0.0, 0.0)
    empty = pairs_within(np.zeros((0, 5), dtype=np.float32), [], np.zeros((0, 5), dtype=np.float32), [], 0.1)
    assert trivial_coverage(empty, 0.1) == 0


def test_why_not_covered() -> None:
    """Vectors 0.1, 0.3, 0.5 and an input out of reach; the first is chosen, the second would be next."""
    origins = np.array([[0], [10], [20], [80]], dtype=np.float32)
    pairs = pairs_within(origins, [5] * 4, np.array([[1], [13], [25]], dtype=np.float32), [5] * 3, 0.5)
    cover, further = cover_of(pairs, [[0.1]], 0.05), cover_of(pairs, [[0.1], [0.3]], 0.05)
    left = [Reason.NO_RECOURSE_NEAR, Reason.NO_RECOURSE_NEAR, Reason.NO_COUNTERFACTUAL]
    assert why_not_covered(cover, pairs) == [None, *left]
    assert why_not_covered(cover, pairs, further) == [None, Reason.BUDGET_EXHAUSTED, *left[1:]]


def test_real_figures_hold_together(data_root: Path, checkpoint_root: Path) -> None:
    """Accepted AIDS graphs as counterfactuals of the rejected ones."""
    dataset = load_dataset("aids", root=data_root)
    rejects = predict(load_classifier(checkpoint_root / "aids" / "classifier.pth"), dataset).rejects
    accepted = np.setdiff1d(np.arange(len(dataset)), rejects)
    embeddings = load_embedder(checkpoint_root / "aids" / "greed.pt").embed(GraphBatch.from_graphs(list(dataset)))
    sizes = np.array([graph.size for graph in dataset])
    pairs = pairs_within(embeddings[rejects], sizes[rejects], embeddings[accepted], sizes[accepted], 0.3)
    cover = RecourseClustering(theta=0.3, delta=0.08).run(pairs)
    reasons = why_not_covered(cover, pairs)
    assert 0 < coverage(cover) < 1
    assert reasons.count(None) == round(coverage(cover) * len(rejects))
    assert reasons.count(Reason.NO_COUNTERFACTUAL) == len(rejects) - len(np.unique(pairs.inputs))
    assert (pairs.norms[cover.pairs[cover.covers]] <= 0.3).all()
