from __future__ import annotations

import pytest

from comrecgc.molecules import BOND_NAMES, Substituent, name_substituent
from comrecgc.molecules.smiles import parse_smiles


@pytest.mark.parametrize(
    ("smiles", "formula", "name"),
    [
        ("CO", "–OH", "hydroxy"),
        ("C[N+](=O)[O-]", "–NO2", "nitro"),
        ("CO[N+](=O)[O-]", "–O–NO2", "nitrooxy"),
        ("CC(=O)O", "–COOH", "carboxy"),
        ("CC(=O)OC", "–COO–CH3", "methoxycarbonyl"),
        ("CN=[N+]=[N-]", "–N3", "azido"),
        ("CC(C)C", "–CH(CH3)2", "isopropyl"),
        ("CS(=O)(=O)N", "–SO2–NH2", "sulfonamide"),
        ("Cc1ccccc1", "–C6H5", "phenyl"),
        ("CC1CO1", "–C2H3O", "oxiranyl"),
        ("C=N", "=NH", "imino"),
        ("CCl", "–Cl", None),
        ("CCCCl", "–CH2–CH2Cl", None),
        ("CC(O)C(F)F", "–CH(OH)–CHF2", None),
        ("CCCC(=O)O", "–CH2–CH2–COOH", None),
        ("Cn1cccn1", "–C3H3N2", "pyrazol-1-yl"),
        ("CC1CSCS1", "–C1CSCS1", None),
    ],
)
def test_what_hangs_on_the_first_atom(smiles: str, formula: str, name: str | None) -> None:
    pytest.importorskip("rdkit")
    elements, edges, labels = parse_smiles(smiles)
    bonds = {(min(pair), max(pair)): BOND_NAMES[label] for pair, label in zip(edges, labels, strict=True)}
    inner = {pair: bond for pair, bond in bonds.items() if 0 not in pair}
    atoms = {atom: element for atom, element in enumerate(elements) if atom != 0}
    found = name_substituent(atoms, inner, 1, bonds[0, 1], fill=True)
    assert (found.formula, found.name) == (formula, name)


def test_without_bonds_only_what_elements_tell() -> None:
    atoms, bonds = {1: "S", 2: "N", 3: "F"}, {(1, 2): None, (1, 3): None}
    assert name_substituent(atoms, bonds, 1, None, fill=True) == Substituent("S(F)–N", None, is_atom=False)
    nitro = name_substituent({1: "N", 2: "O", 3: "O"}, {(1, 2): None, (1, 3): None}, 1, None, fill=True)
    assert nitro == Substituent("NO2", "nitro", is_atom=False)
