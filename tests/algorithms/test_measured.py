"""Pairs of graphs that differ by one change, and what they say about its effect."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from comrecgc.algorithms.matched_pairs import Pairs, find_pairs, fit_effects
from comrecgc.data import GraphDataset, from_smiles_table
from comrecgc.graphs import GraphBatch
from comrecgc.models import EffectModel, Likeness, MeasuredGraphs, node_colours


def molecules(folder: Path, smiles: list[str]) -> GraphDataset:
    path = folder / "molecules.csv"
    path.write_text("smiles\n" + "\n".join(smiles) + "\n")
    return from_smiles_table(path, need_classes=False)


def listed(pairs: Pairs) -> set[tuple[int, int]]:
    return {(min(pair), max(pair)) for pair in zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)}


SMILES = ["Clc1ccccc1CCN", "Fc1ccccc1CCN", "c1ccccc1CCN", "Clc1ccccc1CCO", "Clc1cccnc1CCN", "CC(C)CCCCCCC(=O)O"]


def test_pairs_are_those_that_a_chemist_lists(tmp_path: Path) -> None:
    dataset = molecules(tmp_path, SMILES)
    found = listed(find_pairs(dataset.graphs, dataset.num_labels))
    assert {
        (0, 1),
        (0, 2),
        (1, 2),
        (0, 3),
        (0, 4),
    } <= found  # halogens, hydrogen, amine to alcohol, carbon to nitrogen in the ring
    assert not {pair for pair in found if 5 in pair}
    assert (1, 4) not in found  # two changes
    assert (2, 3) not in found


def test_the_same_change_in_the_same_surroundings_has_the_same_key(tmp_path: Path) -> None:
    dataset = molecules(
        tmp_path, ["Clc1ccccc1CCN", "Fc1ccccc1CCN", "Clc1ccccc1CCO", "Fc1ccccc1CCO", "ClCCCCCCCC", "FCCCCCCCC"]
    )
    pairs = find_pairs(dataset.graphs, dataset.num_labels)

    def keys(first: int, second: int, radius: int | None) -> set[int]:
        rows = np.isin(pairs.first, (first, second)) & np.isin(pairs.second, (first, second))
        return set(pairs.rules(radius)[rows].tolist())

    assert keys(0, 1, 1) & keys(2, 3, 1)
    assert not keys(0, 1, 1) & keys(4, 5, 1)  # on an aromatic carbon, and on a chain
    assert keys(0, 1, None) & keys(4, 5, None)


def test_no_pairs_among_few(tmp_path: Path) -> None:
    dataset = molecules(tmp_path, ["CCO"])
    assert len(find_pairs(dataset.graphs, dataset.num_labels)) == 0


SERIES = (
    "CCCCCCCCCCCC{}",
    "c1ccc2ccccc2c1CCOCC{}",
    "O=C(NC1CCCCC1)c1ccncc1CC{}",
    "FC(F)(F)c1ccc(S(=O)(=O)N2CCNCC2)cc1CC{}",
)


def measured_graphs(
    folder: Path, effect: Callable[[int], float], noise: float = 0.05
) -> tuple[GraphDataset, MeasuredGraphs, list[tuple[int, int]]]:
    """Four series of six alike molecules; chlorine for nitrogen has an effect in each, and models say nothing. The pairs of that change come last."""
    tails = ["N", "CN", "CCN", "OCN", "CC(C)N", "C(F)N"]
    smiles = [chain.format(tail[:-1] + end) for chain in SERIES for tail in tails for end in ("N", "Cl")]
    dataset, rng = molecules(folder, smiles), np.random.default_rng(0)
    values = np.array([5 + (k % 2) * effect(k // 12) + noise * rng.normal() for k in range(len(smiles))])
    batch = GraphBatch.from_graphs(dataset.graphs)
    folds = np.arange(len(smiles)) // 2 % 4
    graphs = MeasuredGraphs(
        values=values, answers=np.full((4, len(smiles)), 5.0), folds=folds, likeness=Likeness(batch)
    )
    return dataset, graphs, [(k, k + 1) for k in range(0, len(smiles), 2)]


def test_pairs_of_one_series_say_little_of_others(tmp_path: Path) -> None:
    _, graphs, pairs = measured_graphs(tmp_path, lambda series: 2.0 if series == 0 else 0.0)
    model = EffectModel(weight=0.0, seen=0.0, strength=1.0, shared=0.1)
    series = [pair for pair in pairs if pair[0] < 12]
    added, variance = graphs.effect(series, np.array([0, 12, 24, 36]), model)
    assert added[0] > 1.2
    assert (added[1:] < 0.5 * added[0]).all()
    assert (variance[1:] > 2 * variance[0]).all()
    once, _ = graphs.effect(series[:1], np.array([24]), model)
    assert added[2] < 4 * once[0]  # six pairs of a series are no six times one


def test_the_effect_is_the_conditional_mean_of_a_normal_distribution(tmp_path: Path) -> None:
    dataset, graphs, pairs = measured_graphs(tmp_path, float)
    model, asked = EffectModel(weight=0.0, seen=0.0, strength=0.7, shared=0.2), np.array([1, 14, 40])
    first, second = np.array(pairs).T
    rest = graphs.values[second] - graphs.values[first]
    everything = np.r_[first, asked]
    colours = node_colours(GraphBatch.from_graphs(dataset.graphs), 2)
    owner = GraphBatch.from_graphs(dataset.graphs).graph_of_node()
    sets = [{int(key) for column in colours for key in column[owner == place]} for place in everything]
    alike = np.array([[len(a & b) / len(a | b) for b in sets] for a in sets])
    covariance = 0.7 * (0.2 + 0.8 * alike**2)
    n = len(first)
    inverse = np.linalg.inv(covariance[:n, :n] + np.eye(n))
    added, variance = graphs.effect(pairs, asked, model)
    assert added == pytest.approx(covariance[n:, :n] @ inverse @ rest)
    assert variance == pytest.approx(np.diag(covariance[n:, n:] - covariance[n:, :n] @ inverse @ covariance[:n, n:]))


@pytest.mark.parametrize(
    ("effect", "shared"), [(lambda _: 1.5, True), (lambda series: 3.0 * (series % 2) - 1.5, False)]
)
def test_whether_series_agree_is_found(tmp_path: Path, effect: Callable[[int], float], shared: bool) -> None:
    dataset, graphs, _ = measured_graphs(tmp_path, effect)
    model = fit_effects(find_pairs(dataset.graphs, dataset.num_labels), graphs)
    assert model.strength == 1.0
    assert (model.shared >= 0.3) == shared


def test_the_likelihood_is_the_share_of_errors_that_leave_enough() -> None:
    errors = np.sort(np.random.default_rng(0).laplace(size=4000))
    model = EffectModel(errors=np.quantile(errors, np.linspace(0.0025, 0.9975, 200)))
    surplus = np.array([-2.0, -0.3, 0.0, 0.7, 1.5])
    assert model.likely(surplus) == pytest.approx([(errors >= -one).mean() for one in surplus], abs=0.01)
    assert model.surplus(model.likely(surplus)) == pytest.approx(surplus, abs=1e-6)
    assert (model.likely(np.array([1.0]), 0.0) > model.likely(np.array([1.0]))).all()  # pairs leave less doubt
