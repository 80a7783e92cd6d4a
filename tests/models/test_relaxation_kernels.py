from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from comrecgc.graphs import Graph
from comrecgc.models import ged_interval
from comrecgc.models.edit_distance import Effort
from comrecgc.models.relaxation_kernels import COLUMN_OF, COLUMN_PRICE, ROW_PRICE, assign, make_scratch
from tests.models.bounds import branch_bound, label_bound, linear_bound
from tests.models.ged_oracle import exact_distance, molecule_like, tiny_pairs


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


STAR = Graph([0, 1, 1, 1], [(0, 1), (0, 2), (0, 3)])
CHAIN = Graph([0, 1, 1, 1], [(0, 1), (1, 2), (2, 3)])


def test_toy_answers() -> None:
    """Same labels, same sizes: only the branches see that the degrees differ."""
    assert label_bound(STAR, CHAIN) == 0
    assert branch_bound(STAR, CHAIN) == 2
    assert linear_bound(STAR, CHAIN) == exact_distance(STAR, CHAIN) == 4


def test_ordered_and_below_the_exact_distance() -> None:
    for source, target in tiny_pairs():
        bounds = [label_bound(source, target), branch_bound(source, target), linear_bound(source, target)]
        assert 0 <= bounds[0] <= bounds[1] <= bounds[2] <= exact_distance(source, target)


def test_symmetric() -> None:
    for source, target in tiny_pairs()[:50]:
        for bound in (label_bound, branch_bound, linear_bound):
            assert bound(source, target) == bound(target, source)


def test_single_nodes_and_edgeless_graphs() -> None:
    one, two = Graph([0], []), Graph([1, 0], [])
    for bound in (label_bound, branch_bound, linear_bound):
        assert bound(one, one) == 0
        assert bound(one, two) == 1


@pytest.mark.parametrize("num_nodes", [8, 14])
def test_ascent_reaches_the_linear_relaxation(num_nodes: int) -> None:
    """The dual ascent and HiGHS solve the same relaxation; striking out may only add to it."""
    rng = np.random.default_rng(6)
    for _ in range(5):
        source, target = molecule_like(rng, num_nodes), molecule_like(rng, num_nodes + 2)
        interval = ged_interval(source, target, effort=Effort(sweeps=50, ascents=3000, nodes=0))
        assert interval.lower >= linear_bound(source, target) - 1  # at most a rounding step behind
