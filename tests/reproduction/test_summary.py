from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt
import pytest

from comrecgc.algorithms.baselines.baseline import Counterfactuals, DatasetCounterfactuals
from comrecgc.algorithms.baselines.gcfexplainer import GCFExplainer
from comrecgc.errors import InputError
from comrecgc_reproduction.summary import summarise
from tests.algorithms.baselines.subjects import small_subject
from tests.stubs import Histogram

SUBJECT = small_subject(40)
FOUND = GCFExplainer(num_steps=150, walk_theta=0.12).run(SUBJECT, np.random.default_rng(0))


def distances(found: Counterfactuals) -> npt.NDArray[np.float64]:
    """`d(G,H)` of every input and counterfactual, one pair at a time."""
    measure = Histogram(3)
    return np.array([[np.linalg.norm(measure.vector(g, each.graph)) for each in found.found] for g in SUBJECT.inputs])


@pytest.mark.parametrize("theta", [0.08, 0.15])
def test_greedy_choice_coverage_and_cost_by_hand(theta: float) -> None:
    gaps = distances(FOUND)[:, : len(SUBJECT.inputs)]
    chosen: list[int] = []
    for _ in range(4):
        left = (gaps[:, chosen] > theta).all(axis=1)
        gains = [-1 if i in chosen else int((gaps[left, i] <= theta).sum()) for i in range(gaps.shape[1])]
        chosen.append(int(np.argmax(gains)))
    summary = summarise(FOUND, SUBJECT, num_graphs=4, theta=theta)
    assert [FOUND.found.index(each) for each in summary.chosen] == chosen
    nearest = gaps[:, chosen].min(axis=1)
    assert summary.coverage == pytest.approx((nearest <= theta).mean())
    assert summary.cost == pytest.approx(sorted(nearest)[(len(nearest) - 1) // 2], rel=1e-5)
    assert summary.curve[-1] == summary.coverage
    best = max((gaps[:, list(some)].min(axis=1) <= theta).mean() for some in itertools.combinations(range(12), 2))
    assert summarise(FOUND, SUBJECT, num_graphs=2, theta=theta, among=12).coverage >= (1 - 1 / np.e) * best


def test_without_an_order_all_are_chosen_from() -> None:
    found = DatasetCounterfactuals().run(SUBJECT, np.random.default_rng(0))
    summary = summarise(found, SUBJECT, num_graphs=len(found), theta=0.15)
    assert len(summary.chosen) == len(found)


@pytest.mark.parametrize(
    ("options", "words"),
    [({"num_graphs": 10_000}, "at most"), ({"num_graphs": 0}, "at least 1"), ({"theta": -1.0}, "positive")],
)
def test_bad_input_is_one_line(options: dict[str, float], words: str) -> None:
    with pytest.raises(InputError, match=words):
        summarise(FOUND, SUBJECT, **options)  # type: ignore[arg-type]
