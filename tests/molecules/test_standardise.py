from __future__ import annotations

import pytest

from comrecgc.molecules import Standardiser, canonical_smiles, read_smiles

pytest.importorskip("rdkit", reason="molecules need rdkit")


@pytest.mark.parametrize(
    ("smiles", "standard", "counts"),
    [
        ("CCO", "CCO", (0, 0)),
        ("CCO.[Na+].[Cl-]", "CCO", (1, 0)),
        ("CC(=O)[O-].[Na+]", "CC(=O)O", (1, 1)),
        ("C[NH3+]", "CN", (0, 1)),
        ("C[N+](C)(C)C", "C[N+](C)(C)C", (0, 0)),  # no proton to lose
        ("C[N+](=O)[O-]", "C[N+](=O)[O-]", (0, 0)),
        ("F[P-](F)(F)(F)(F)F", "F[P-](F)(F)(F)(F)F", (0, 0)),  # with a proton it would be no molecule
        ("[Cl].CC(C)NCC(O)COc1cccc2ccccc12", "CC(C)NCC(O)COc1cccc2ccccc12", (1, 0)),
    ],
)
def test_standard_form(smiles: str, standard: str, counts: tuple[int, int]) -> None:
    standardiser = Standardiser()
    assert canonical_smiles(standardiser(read_smiles(smiles))) == standard
    assert (standardiser.num_stripped, standardiser.num_neutralised) == counts
