"""Drug-like SMILES made by code: scaffolds with substituents that carry all that is hard to keep in a graph."""

from __future__ import annotations

import numpy as np

SCAFFOLDS = (
    "c1ccc({})cc1{}", "c1cc({})ncc1{}", "c1c({})[nH]c2ccc({})cc12", "Cn1c({})nc2cc({})ccc21", "O=c1[nH]c({})nc2sc({})cc12", "C1CC({})CCN1{}",
    "C1CN({})CCN1{}", "O=C1CC({})N1{}", "c1nc({})[nH]c1{}", "c1nn({})cc1{}", "C[C@H]({})N{}", "C/C({})=C/{}", "c1ccc2c(c1)Sc1cc({})ccc1N2{}",
    "C1=CC({})C2CC1N2{}", "c1coc({})c1{}", "c1ccc2nc({})oc2c1{}", "O=C1N({})c2ccccc2C1{}", "c1cc({})[n+]([O-])cc1{}", "C[n+]1ccc({})cc1{}",
    "[O-]n1c({})[n+](=O)c2ccc({})cc12", "C1OC1C({}){}", "c1cc2ccc({})cc2[se]1{}", "B1(O)OCc2cc({})ccc21{}",
)  # fmt: skip
SUBSTITUENTS = (
    "C", "F", "Cl", "Br", "I", "O", "N", "S", "C#N", "C(F)(F)F", "OC", "N(C)C", "[N+](=O)[O-]", "N=[N+]=[N-]", "S(=O)(=O)N", "S(=O)(=O)c1ccccc1",
    "S(C)(=O)=O", "S(C)=O", "[N+](C)(C)C", "[N+](C)(C)[O-]", "C(=O)O", "C(=O)[O-]", "[NH3+]", "C(=O)NC", "C(=O)OCC", "P(=O)(O)O", "N(C)N=O", "C1CO1",
    "[C@@H](N)C(=O)O", "c1ccc[nH]1", "n1cccc1", "c1ccncc1", "[Si](C)(C)C", "B(O)O", "C=C", "C#C", "/C=C/C", "N=C=O", "SC#N", "C(=N)N", "NC(=[NH2+])N",
    "[13CH3]", "[18F]", "OP(=O)([O-])OCC[N+](C)(C)C", "c1nnn[nH]1", "c1nnn[n-]1", "N1CCOCC1", "[2H]", "[Se]C", "OO", "[S-]", "[C-]#[N+]C",
)  # fmt: skip
SALTS = (
    "",
    "",
    "",
    "",
    ".Cl",
    ".[Na+].[Cl-]",
    ".OS(=O)(=O)O",
    ".[K+].[Br-]",
    ".O.O",
    ".[Zn+2].[Cl-].[Cl-]",
    ".[Pt]",
    ".OC(=O)/C=C/C(=O)O",
)


def drug_like(count: int, seed: int = 0) -> list[str]:
    """So many different SMILES that rdkit reads."""
    from rdkit import Chem, rdBase

    rng = np.random.default_rng(seed)
    found: dict[str, None] = {}
    with rdBase.BlockLogs():
        while len(found) < count:
            scaffold = SCAFFOLDS[rng.integers(len(SCAFFOLDS))]
            first, second = (SUBSTITUENTS[k] for k in rng.integers(len(SUBSTITUENTS), size=2))
            smiles = scaffold.format(first, f"({second})") + SALTS[rng.integers(len(SALTS))]
            if smiles not in found and Chem.MolFromSmiles(smiles) is not None:
                found[smiles] = None
    return list(found)
