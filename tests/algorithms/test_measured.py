"""Pairs of graphs that differ by one change, and what they say about its effect."""

from pathlib import Path

import numpy as np
import pytest

from comrecgc.algorithms.measured import EffectModel, Pairs, cross_fitted_errors, find_pairs
from comrecgc.data import GraphDataset, from_smiles_table


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
    small = pairs
    key = {
        pair: {
            small.rules(radius)[row]
            for row in range(len(small))
            if {int(small.first[row]), int(small.second[row])} == set(pair)
        }
        for pair in ((0, 1), (2, 3), (4, 5))
        for radius in (1,)
    }
    assert key[0, 1] & key[2, 3]
    assert not key[0, 1] & key[4, 5]  # on an aromatic carbon, and on a chain


def test_no_pairs_among_few(tmp_path: Path) -> None:
    dataset = molecules(tmp_path, ["CCO"])
    assert len(find_pairs(dataset.graphs, dataset.num_labels)) == 0


def many(effects: dict[int, float], noise: float, count: int = 40) -> tuple[Pairs, np.ndarray, np.ndarray]:
    """Pairs of as many rules, each of its own effect; graphs are all different."""
    rng = np.random.default_rng(0)
    rule = np.repeat(list(effects), count)
    first = np.arange(len(rule)) * 2
    keys = np.stack([rule, rule + 100], axis=1).astype(np.uint64)
    empty = np.zeros((len(rule), 4), np.uint64)
    pairs = Pairs(first=first, second=first + 1, groups=keys, contexts=empty)
    measured = np.array([effects[one] for one in rule.tolist()]) + noise * rng.normal(size=len(rule))
    return pairs, measured, rng.integers(0, 4, 2 * len(rule))


def test_pairs_correct_what_models_say() -> None:
    pairs, measured, folds = many({1: 1.0, 2: -0.5}, noise=0.1)
    nothing = np.zeros(len(pairs))
    model = EffectModel.of(pairs, measured, nothing, nothing, folds)
    change = model.change(pairs, nothing)
    assert change[0] == pytest.approx(1.0, abs=0.1)
    assert change[-1] == pytest.approx(-0.5, abs=0.1)


def test_the_weight_of_pairs_follows_their_noise() -> None:
    clear, loud = (
        many({k: float(k % 3 - 1) for k in range(20)}, noise=0.1, count=4),
        many(dict.fromkeys(range(20), 0.0), noise=2.0, count=4),
    )
    best = []
    for pairs, measured, folds in (clear, loud):
        errors = cross_fitted_errors(pairs, measured, np.zeros(len(pairs)), folds)
        best.append(min(errors, key=lambda prior: errors[prior]))
    assert best[0] < best[1]
