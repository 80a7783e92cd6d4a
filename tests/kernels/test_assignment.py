from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from comrecgc.kernels.relaxation import COLUMN_OF, COLUMN_PRICE, ROW_PRICE, assign, make_scratch


def test_toy_answer() -> None:
    work = make_scratch(3)
    cost = np.array([[1.0, 2.0, 9.0], [1.0, 5.0, 9.0]])
    assert assign(cost, 2, 3, work.prices, work.places) == 3.0
    assert work.places[COLUMN_OF, :2].tolist() == [1, 0]


@pytest.mark.parametrize("kind", ["real", "integer", "signed", "constant"])
def test_equals_scipy_and_prices_prove_it(kind: str) -> None:
    rng = np.random.default_rng(0)
    work = make_scratch(12)
    for _ in range(200):
        columns = int(rng.integers(1, 13))
        rows = int(rng.integers(1, columns + 1))
        cost = {
            "real": rng.random((rows, columns)),
            "integer": rng.integers(0, 4, (rows, columns)).astype(float),
            "signed": rng.normal(size=(rows, columns)),
            "constant": np.zeros((rows, columns)),
        }[kind]
        before = cost.copy()
        total = assign(cost, rows, columns, work.prices, work.places)
        assert total == pytest.approx(cost[linear_sum_assignment(cost)].sum(), abs=1e-9)
        chosen = work.places[COLUMN_OF, :rows]
        assert len(set(chosen.tolist())) == rows
        assert cost[np.arange(rows), chosen].sum() == pytest.approx(total, abs=1e-9)
        column_price = work.prices[COLUMN_PRICE, :columns]
        assert (work.prices[ROW_PRICE, :rows, None] + column_price <= cost + 1e-9).all()
        assert (column_price <= 0).all()
        assert np.array_equal(cost, before)


def test_reads_only_the_corner_it_is_given() -> None:
    work = make_scratch(4)
    cost = np.full((4, 4), -100.0)
    cost[:2, :3] = [[3.0, 1.0, 2.0], [1.0, 1.0, 5.0]]
    assert assign(cost, 2, 3, work.prices, work.places) == 2.0
