from __future__ import annotations

import numpy as np
import pytest

from comrecgc.cover import (
    RecourseClustering,
    nearest_counterfactuals,
    nearest_of_all,
    pairs_within,
    with_counterfactuals,
)
from tests.cover.instances import random_pairs


def test_nearest_counterfactuals_toy() -> None:
    """On a line: inputs at 0, 1, 2, 50; candidates at 0.9 (twice nearest), 2.5, -0.5 and two far off."""
    pairs = pairs_within(
        np.array([[0], [1], [2], [50]], dtype=np.float32),
        [5] * 4,
        np.array([[0.9], [2.4], [-0.5], [4], [30]], dtype=np.float32),
        [5] * 5,
        0.3,
    )
    assert nearest_counterfactuals(pairs).tolist() == [0, 1, 2]
    assert nearest_counterfactuals(pairs, 2).tolist() == [0, 1]
    assert nearest_counterfactuals(pairs, 1).tolist() == [0]
    assert set(with_counterfactuals(pairs, np.array([1, 2])).candidates.tolist()) == {1, 2}


@pytest.mark.parametrize("limit", [None, 1, 2, 3, 100])
def test_no_more_graphs_than_allowed(limit: int | None) -> None:
    pairs = random_pairs(3, num_inputs=20, num_candidates=120)
    kept = nearest_counterfactuals(pairs, limit)
    assert len(kept) <= (pairs.num_inputs if limit is None else limit)
    part = with_counterfactuals(pairs, kept)
    assert set(part.candidates.tolist()) == set(kept.tolist())
    cover = RecourseClustering(theta=0.3, delta=0.05).run(part)
    used = part.candidates[cover.pairs[cover.covers]]
    assert set(used.tolist()) <= set(kept.tolist())


def test_copies_of_a_graph_share_the_inputs_they_are_nearest_to() -> None:
    rng = np.random.default_rng(0)
    inputs, graphs = (rng.normal(size=(count, 8)).astype(np.float32) for count in (400, 30))
    sizes, ends = np.full(400, 5, np.int32), np.full(60, 5, np.int32)
    first = nearest_of_all(inputs, sizes, graphs, ends[:30])
    gaps = np.linalg.norm(inputs[:, None].astype(np.float64) - graphs, axis=2)
    assert first.tolist() == sorted(set(gaps.argmin(axis=1).tolist()))
    twice = np.concatenate([graphs, graphs])
    assert nearest_of_all(inputs, sizes, twice, ends).tolist() == first.tolist()  # ties to the lowest
    shared = nearest_of_all(inputs, sizes, twice, ends, rng=np.random.default_rng(1))
    assert sorted(set((shared % 30).tolist())) == first.tolist()  # the same graphs
    assert len(first) * 1.5 < len(shared) <= 2 * len(first)  # both copies of most
    again = nearest_of_all(inputs, sizes, twice, ends, rng=np.random.default_rng(1))
    assert np.array_equal(shared, again)


def test_every_input_keeps_its_nearest() -> None:
    pairs = random_pairs(5, num_inputs=20, num_candidates=120)
    part = with_counterfactuals(pairs, nearest_counterfactuals(pairs))
    for i in range(pairs.num_inputs):
        mine = pairs.norms[pairs.inputs == i]
        assert mine.size == 0 or part.norms[part.inputs == i].min() == mine.min()
