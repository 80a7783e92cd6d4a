from __future__ import annotations

import pytest

from comrecgc.datasets import Toxicophore, find_toxicophores
from comrecgc.datasets.toxicophores import ELEMENTS
from comrecgc.graphs import Edit, EditKind, apply_edit
from comrecgc.molecules import from_smiles


@pytest.mark.parametrize(
    ("smiles", "found"),
    [
        ("C[N+](=O)[O-]", [Toxicophore("nitro", (1, 2, 3))]),
        ("c1ccccc1[N+](=O)[O-]", [Toxicophore("nitro", (6, 7, 8))]),
        ("C1OC1C", [Toxicophore("epoxide", (1, 0, 2))]),
        ("C1CCC2OC2C1", [Toxicophore("epoxide", (4, 3, 5))]),
        ("CN(C)N=O", [Toxicophore("nitrosamine", (1, 3, 4))]),
        ("O=NN(C)CC1CO1", [Toxicophore("epoxide", (7, 5, 6)), Toxicophore("nitrosamine", (2, 1, 0))]),
        ("[O-][N+](=O)C[N+](=O)[O-]", [Toxicophore("nitro", (1, 0, 2)), Toxicophore("nitro", (4, 5, 6))]),
        ("CC(=O)O", []),
        ("CC=NO", []),
        ("CN=O", []),
        ("CNN", []),
        ("CN(C)C=O", []),
        ("C1CC1O", []),
        ("C1COC1", []),
        ("CON", []),
        ("CON(C)OC", []),
        ("C1NC1", []),
        ("CN(C)N(C)O", []),
    ],
)
def test_known_molecules(smiles: str, found: list[Toxicophore]) -> None:
    pytest.importorskip("rdkit", reason="SMILES need rdkit")
    assert find_toxicophores(from_smiles(smiles, ELEMENTS)) == tuple(found)


def test_nodes_are_ids_not_positions() -> None:
    pytest.importorskip("rdkit", reason="SMILES need rdkit")
    graph = apply_edit(from_smiles("CC[N+](=O)[O-]", ELEMENTS), Edit(EditKind.REMOVE_NODE, 0))
    assert find_toxicophores(graph) == (Toxicophore("nitro", (2, 3, 4)),)
