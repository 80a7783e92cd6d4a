from __future__ import annotations

import pytest

from comrecgc.graphs import Graph
from comrecgc.molecules import BOND_NAMES, Molecule, family_of, parse_molecule, read_smiles

pytest.importorskip("rdkit", reason="SMILES need rdkit")


@pytest.mark.parametrize(
    ("smiles", "node", "family"),
    [
        ("OC(C)=O", 0, "carboxylic acid"),
        ("OC(=O)c1ccccc1", 0, "aromatic carboxylic acid"),
        ("OC(=O)N", 0, None),
        ("OC", 0, None),
        ("OCC", 0, "primary alcohol"),
        ("OC(C)C", 0, "secondary alcohol"),
        ("OC(C)(C)C", 0, "tertiary alcohol"),
        ("OCc1ccccc1", 0, "primary benzylic alcohol"),
        ("OC(C)=C", 0, "enol"),
        ("OC(C)OC", 0, None),
        ("Oc1ccccc1", 0, None),
        ("O(C)C(C)=O", 0, "ester"),
        ("O(C)C(N)=O", 0, "carbamate"),
        ("O(C)C(=O)OC", 0, "carbonate"),
        ("O(C(C)=O)C(C)=O", 0, "anhydride"),
        ("O1CC1", 0, "epoxide"),
        ("O(C)COC", 0, "acetal"),
        ("O(C)C", 0, "ether"),
        ("O(C)c1ccccc1", 0, "aryl ether"),
        ("NC(C)=O", 0, "amide"),
        ("NC(N)=O", 0, "urea"),
        ("NC(=O)OC", 0, "carbamate"),
        ("N(C(C)=O)C(C)=O", 0, "imide"),
        ("NS(C)(=O)=O", 0, "sulfonamide"),
        ("NC(N)=N", 0, "amidine or guanidine"),
        ("NC(C)=S", 0, None),
        ("NN", 0, None),
        ("NC", 0, "primary amine"),
        ("N(C)C", 0, "secondary amine"),
        ("N(C)(C)C", 0, "tertiary amine"),
        ("N(C)c1ccccc1", 0, "secondary aromatic amine"),
        ("[N+](C)(C)(C)C", 0, None),
        ("n1ccccc1", 0, None),
        ("C(C)(C)=O", 0, "ketone"),
        ("C(C)=O", 0, "aldehyde"),
        ("C(C)(N)=O", 0, None),
        ("CC", 0, None),
    ],
)
def test_families(smiles: str, node: int, family: str | None) -> None:
    atoms, bonds, kinds = parse_molecule(read_smiles(smiles))
    names = list(dict.fromkeys([*atoms, "c"]))
    graph = Graph([names.index(atom) for atom in atoms], bonds, kinds)
    assert family_of(Molecule(graph, names, BOND_NAMES), node) == family
