from __future__ import annotations

import numpy as np
import pytest

from comrecgc.data import load_planted
from comrecgc.graphs import Graph
from comrecgc.molecules import BOND_NAMES, FunctionalGroup, Molecule
from comrecgc.molecules.smiles import from_smiles

ELEMENTS = ("C", "N", "O", "S", "P", "F", "Cl", "Br", "I", "H")


def groups(smiles: str, *, bonds: bool = True) -> set[str]:
    graph = from_smiles(smiles, ELEMENTS)
    if not bonds:
        graph = Graph(graph.labels, graph.edges)
    found = Molecule(graph, ELEMENTS, BOND_NAMES if bonds else None).groups
    return {f"{group.name} {''.join(str(node) for node in sorted(group.atoms))}" for group in found}


@pytest.mark.parametrize(
    ("smiles", "expected"),
    [
        ("C[N+](=O)[O-]", {"nitro 123"}),
        ("CN(C)N=O", {"nitrosamine 134", "nitroso 34"}),
        ("CN=O", {"nitroso 12"}),
        ("CC1OC1", {"epoxide 123", "methyl 0"}),
        ("CC1NC1", {"aziridine 123", "methyl 0"}),
        ("CN", {"amine 1"}),
        ("CO", {"hydroxyl 1"}),
        ("C=O", {"carbonyl 1"}),
        ("CC(=O)O", {"carboxyl 123", "methyl 0", "carbonyl 2", "hydroxyl 3"}),
        ("CC(=O)OCC", {"ester 123", "methyl 0", "methyl 5", "carbonyl 2"}),
        ("CC(=O)NCC", {"amide 123", "methyl 0", "methyl 5", "carbonyl 2"}),
        ("CC#N", {"nitrile 12", "methyl 0"}),
        ("SC(F)(F)F", {"trifluoromethyl 1234", "halogen 2", "halogen 3", "halogen 4"}),
        ("CCCl", {"halogen 2", "methyl 0"}),
        ("COS", {"methoxy 01"}),
        ("CN=NC", {"azo 12"}),
        ("CN=[N+]=[N-]", {"azide 123"}),
        ("CN(C)N=N", set()),  # a triazene: three nitrogens in a row, and no azide
        ("CS(=O)(=O)C", {"sulfonyl 123"}),
        ("c1ccccc1", set()),
    ],
)
def test_groups_of_known_molecules(smiles: str, expected: set[str]) -> None:
    pytest.importorskip("rdkit")
    assert groups(smiles) == expected


def test_without_bond_orders_only_what_connections_prove_is_named() -> None:
    pytest.importorskip("rdkit")
    assert groups("CC(=O)O", bonds=False) == {"carboxyl 123"}
    assert groups("C[N+](=O)[O-]", bonds=False) == {"nitro 123"}
    assert groups("CO", bonds=False) == groups("CN", bonds=False) == set()


def test_rings_and_aromatic_atoms() -> None:
    pytest.importorskip("rdkit")
    graph = from_smiles("c1ccccc1CC1CC1", ELEMENTS)
    molecule = Molecule(graph, ELEMENTS, BOND_NAMES)
    assert molecule.aromatic == set(range(6))
    assert molecule.rings == {0, 1, 2, 3, 4, 5, 7, 8, 9}
    assert Molecule(Graph(graph.labels, graph.edges), ELEMENTS).aromatic == set()
    network = Molecule(graph, ELEMENTS, is_molecular=False)
    assert network.rings == set()
    assert network.groups == ()


def test_hydrogens_do_not_hide_a_group() -> None:
    methanol = Graph([0, 2, 9, 9, 9, 9], [[0, 1], [1, 2], [0, 3], [0, 4], [0, 5]], [0] * 5)
    (group,) = Molecule(methanol, ELEMENTS, BOND_NAMES).groups
    assert group == FunctionalGroup("hydroxyl", (1,))


def test_the_toxic_groups_of_the_planted_dataset_are_found() -> None:
    dataset = load_planted(num_graphs=60)
    assert np.unique(dataset.classes).tolist() == [0, 1]
    for graph, toxic in zip(dataset.graphs, dataset.toxicophores, strict=True):
        found = Molecule(graph, dataset.label_names, dataset.edge_label_names).groups
        named = sorted(group.name for group in found if group.name in ("nitro", "epoxide", "nitrosamine"))
        assert named == sorted(it.name for it in toxic)
