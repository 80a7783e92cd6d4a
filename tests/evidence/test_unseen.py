"""Tests of comrecgc.evidence.gathering."""

from __future__ import annotations

import numpy as np
import pytest

from comrecgc.data import load_planted
from comrecgc.evidence.gathering import scaffold_folds, scaffold_key, unseen
from comrecgc.graphs import Graph
from comrecgc.molecules import to_rdkit
from tests.evidence.scenes import Shortcut, subject_of, trees


def ring(*tail: int) -> Graph:
    """A triangle of label 0 with a chain on it."""
    edges = [[0, 1], [1, 2], [0, 2]] + [[2 + k, 3 + k] for k in range(len(tail))]
    return Graph(np.array([0, 0, 0, *tail]), edges)


def test_scaffolds_are_rings_and_what_links_them() -> None:
    assert scaffold_key(ring()) == scaffold_key(ring(1, 2)) == scaffold_key(ring(2))
    assert scaffold_key(ring()) != scaffold_key(Graph(np.array([0, 0, 1]), [[0, 1], [1, 2], [0, 2]]))
    assert scaffold_key(Graph(np.array([0, 1]), [[0, 1]])) == scaffold_key(Graph(np.array([2]), []))
    linked = Graph(np.zeros(7, int), [[0, 1], [1, 2], [0, 2], [2, 3], [3, 4], [4, 5], [5, 6], [4, 6]])
    assert scaffold_key(linked) != scaffold_key(ring())


def test_scaffolds_group_molecules_as_rdkit_does() -> None:
    murcko = pytest.importorskip("rdkit.Chem.Scaffolds.MurckoScaffold")
    chem = pytest.importorskip("rdkit.Chem")
    dataset = load_planted(num_graphs=60)
    ours: dict[int, set[str]] = {}
    for graph in dataset.graphs:
        whole = to_rdkit(graph, dataset.label_names)
        chem.FastFindRings(whole)
        mol = chem.RWMol(murcko.GetScaffoldForMol(whole))
        while True:  # rdkit keeps what is double-bonded to a ring, Bemis and Murcko do not
            ends = [atom.GetIdx() for atom in mol.GetAtoms() if atom.GetDegree() <= 1]
            if not ends:
                break
            mol.RemoveAtom(ends[0])
        name = sorted(
            "".join(sorted([bond.GetBeginAtom().GetSymbol(), bond.GetEndAtom().GetSymbol()])) for bond in mol.GetBonds()
        )
        ours.setdefault(scaffold_key(graph), set()).add(",".join(name))
    assert len(ours) > 3
    assert all(len(names) == 1 for names in ours.values())


def test_folds_keep_scaffolds_together_and_are_about_even() -> None:
    graphs = [Graph(np.array([0] * k), [*([i, i + 1] for i in range(k - 1)), [0, k - 1]]) for k in range(3, 13)] * 3
    folds = scaffold_folds(graphs)
    assert np.bincount(folds).tolist() == [6] * 5
    for k in range(10):
        assert len({folds[k], folds[k + 10], folds[k + 20]}) == 1


def test_success_on_unseen_graphs_is_that_of_a_plain_count() -> None:
    subject = subject_of(trees(120), Shortcut())
    (split,) = unseen(subject)  # no molecules, no scaffolds
    assert split.split == "random"
    assert 0.5 < split.coverage <= 1
    for held, recourse in zip(split.success, subject.explanation.recourses, strict=True):
        assert held is not None
        assert abs(held - recourse.statistics["success"]) < 0.1
