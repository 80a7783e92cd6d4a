"""SMIRKS of rules: rdkit reads them, and what it makes of a molecule is what the rule makes of the graph."""

from __future__ import annotations

from typing import Any

import pytest

from comrecgc.data import load_planted
from comrecgc.graphs import Graph, NeighbourIndex, Pattern, Rule, carry_out
from comrecgc.graphs.rewriting import find_sites
from comrecgc.molecules import (
    BOND_NAMES,
    canonical_smiles,
    is_valid_molecule,
    read_smiles,
    smirks_of,
    to_rdkit,
    to_smiles,
)
from comrecgc.molecules.smarts import run_smirks
from comrecgc.molecules.smiles import from_smiles

Chem = pytest.importorskip("rdkit.Chem")
AllChem = pytest.importorskip("rdkit.Chem.AllChem")
rdBase = pytest.importorskip("rdkit.rdBase")

PLANTED = load_planted(num_graphs=60)
ATOMS = ("C", "H", "N", "O", "F", "Cl")  # hydrogens are atoms
SINGLE, DOUBLE = 0, 1


def products(smirks: str, molecule: Any) -> set[str]:
    """Canonical SMILES of everything that rdkit makes."""
    reaction = AllChem.ReactionFromSmarts(smirks)
    assert reaction.Validate(silent=True)[1] == 0
    molecule.UpdatePropertyCache(strict=False)
    Chem.FastFindRings(molecule)
    found = set()
    with rdBase.BlockLogs():
        for (product,) in reaction.RunReactants((molecule,), maxProducts=10_000):
            if Chem.SanitizeMol(product, catchErrors=True) == Chem.SanitizeFlags.SANITIZE_NONE:
                found.add(Chem.MolToSmiles(product))
    return found


def made(rule: Rule, graph: Graph, names: tuple[str, ...]) -> set[str]:
    """Canonical SMILES of every valid molecule that the rule makes."""
    graphs = [carry_out(rule, graph, site) for site in find_sites(rule, NeighbourIndex(graph))]
    return {to_smiles(graph, names) for graph in graphs if is_valid_molecule(graph, names)}


def labels(names: tuple[str, ...], text: str) -> tuple[int, ...]:
    return tuple(names.index(name) for name in text.split())


def planted_rule(
    before: str, edges: dict[tuple[int, int], int], after: str, new: dict[tuple[int, int], int],
    kept: tuple[int, ...], closed: tuple[int, ...],
) -> Rule:  # fmt: skip
    """A rule over the planted elements whose kept nodes come first, in the same order."""
    names = PLANTED.label_names
    old = labels(names, before)
    return Rule(
        Pattern(old, tuple(sorted(edges)), tuple(edges[edge] for edge in sorted(edges))),
        Pattern(labels(names, after), tuple(sorted(new)), tuple(new[edge] for edge in sorted(new))),
        tuple((k, k) for k in kept),
        tuple(node in closed for node in range(len(old))),
    )


NITRO = ("C N O O", {(0, 1): 0, (1, 2): 1, (1, 3): 0})
RULES = {
    "remove nitro": planted_rule(*NITRO, "C", {}, (0,), (1, 2, 3)),
    "nitro to CF3": planted_rule(*NITRO, "C C F F F", {(0, 1): 0, (1, 2): 0, (1, 3): 0, (1, 4): 0}, (0, 1, 2, 3), (1, 2, 3)),
    "remove nitroso": planted_rule("N N O", {(0, 1): 0, (1, 2): 1}, "N", {}, (0,), (1, 2)),
    "C to N": planted_rule("C C C", {(0, 1): 0, (0, 2): 0}, "N C C", {(0, 1): 0, (0, 2): 0}, (0, 1, 2), (0,)),
    "attach nitro": planted_rule("C", {}, "C N O O", NITRO[1], (0,), ()),
    "open epoxide": planted_rule("C O C", {(0, 1): 0, (1, 2): 0, (0, 2): 0}, "C O C", {(1, 2): 0, (0, 2): 0}, (0, 1, 2), (1,)),
    "C-C to C=C": planted_rule("C C", {(0, 1): 0}, "C C", {(0, 1): 1}, (0, 1), ()),
    "attach twice": planted_rule("S C", {}, "S C F O", {(0, 2): 0, (1, 3): 0}, (0, 1), ()),
}  # fmt: skip


@pytest.mark.parametrize("name", RULES)
def test_rdkit_makes_what_the_rule_makes(name: str) -> None:
    rule, names = RULES[name], PLANTED.label_names
    smirks = smirks_of(rule, names, PLANTED.edge_label_names)
    assert smirks is not None
    num_made = 0
    for graph in PLANTED.graphs[:24]:
        expected = made(rule, graph, names)
        num_made += len(expected)
        assert products(smirks, to_rdkit(graph, names)) == expected
    assert num_made > 0


def test_hydrogens_that_are_atoms() -> None:
    molecule = Chem.AddHs(Chem.MolFromSmiles("Cc1ccccc1[N+](=O)[O-]"))
    Chem.Kekulize(molecule, clearAromaticFlags=True)
    kinds = [Chem.BondType.SINGLE, Chem.BondType.DOUBLE]
    graph = Graph(
        [ATOMS.index(atom.GetSymbol()) for atom in molecule.GetAtoms()],
        [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in molecule.GetBonds()],
        [kinds.index(bond.GetBondType()) for bond in molecule.GetBonds()],
    )
    chlorine = Rule(
        Pattern(labels(ATOMS, "C H"), ((0, 1),), (SINGLE,)), Pattern(labels(ATOMS, "C Cl"), ((0, 1),), (SINGLE,)),
        ((0, 0), (1, 1)), (False, True),
    )  # fmt: skip
    amine = Rule(
        Pattern(labels(ATOMS, "C N O O"), ((0, 1), (1, 2), (1, 3)), (SINGLE, DOUBLE, SINGLE)),
        Pattern(labels(ATOMS, "C N H H"), ((0, 1), (1, 2), (1, 3)), (SINGLE, SINGLE, SINGLE)),
        ((0, 0), (1, 1), (2, 2), (3, 3)), (False, True, True, True),
    )  # fmt: skip
    for rule, num_results in ((chlorine, 5), (amine, 1)):
        smirks = smirks_of(rule, ATOMS, BOND_NAMES)
        assert smirks is not None
        found = products(smirks, Chem.Mol(molecule))
        assert len(found) == num_results
        assert found == made(rule, graph, ATOMS)


def test_a_known_smirks() -> None:
    assert smirks_of(RULES["remove nitro"], PLANTED.label_names, PLANTED.edge_label_names) == (
        "[#6:1]-[#7D3](=[#8D1])-[#8D1]>>[#6:1]"
    )


def test_none_where_bonds_are_not_known() -> None:
    plain = Rule(Pattern((0, 0), ((0, 1),), None), Pattern((0, 0), (), None), ((0, 0), (1, 1)), (False, False))
    assert smirks_of(plain, ("C", "N"), None) is None
    bonded = RULES["C to N"]
    assert smirks_of(bonded, ("helix",) * 9, BOND_NAMES) is None
    assert smirks_of(bonded, PLANTED.label_names, ("near", "far")) is None


TYPES = ("C", "c", "N", "O", "F", "n", "[nH]", "N+", "O-", "o", "s")


def typed_rule(
    before: str,
    edges: dict[tuple[int, int], int],
    after: str,
    new: dict[tuple[int, int], int],
    kept: int,
    closed: tuple[int, ...],
) -> Rule:
    """A rule over atom types whose kept nodes come first, in the same order."""
    old = labels(TYPES, before)
    return Rule(
        Pattern(old, tuple(sorted(edges)), tuple(edges[edge] for edge in sorted(edges))),
        Pattern(labels(TYPES, after), tuple(sorted(new)), tuple(new[edge] for edge in sorted(new))),
        tuple((k, k) for k in range(kept)),
        tuple(node in closed for node in range(len(old))),
    )


TYPED_NITRO = {(0, 1): 0, (1, 2): 1, (1, 3): 0}
TYPED = {
    "aromatic CH to N": typed_rule("c", {}, "n", {}, 1, ()),
    "NH to NCH3": typed_rule("[nH]", {}, "[nH] C", {(0, 1): 0}, 1, ()),
    "NCH3 to NH": typed_rule("[nH] C", {(0, 1): 0}, "[nH]", {}, 1, (1,)),
    "furan to pyrrole": typed_rule("o", {}, "[nH]", {}, 1, ()),
    "pyrrole to thiophene": typed_rule("[nH]", {}, "s", {}, 1, ()),
    "nitro to acid": typed_rule("c N+ O O-", TYPED_NITRO, "c C O O", TYPED_NITRO, 4, (1, 2, 3)),
    "nitro to CF3": typed_rule("c N+ O O-", TYPED_NITRO, "c C F F F", {(0, 1): 0, (1, 2): 0, (1, 3): 0, (1, 4): 0}, 1, (1, 2, 3)),
    "quaternary to tertiary": typed_rule("N+ C", {(0, 1): 0}, "N", {}, 1, (1,)),
    "acid to ester": typed_rule("C O O", {(0, 1): 1, (0, 2): 0}, "C O O C", {(0, 1): 1, (0, 2): 0, (2, 3): 0}, 3, (1, 2)),
    "double bond": typed_rule("C C", {(0, 1): 0}, "C C", {(0, 1): 1}, 2, ()),
}  # fmt: skip
MOLECULES = (
    "O=[N+]([O-])c1ccc(C)cc1", "Cn1cccc1", "c1cc[nH]c1", "c1ccoc1CC(=O)O", "C[N+](C)(C)CC", "Cc1cc[nH]c1C(=O)O", "CCc1ccncc1", "c1cc2c(cc1)[nH]cc2",
    "CC[N+]1(C)CCCC1", "O=[N+]([O-])c1cc[nH]c1",
)  # fmt: skip


@pytest.mark.parametrize("name", TYPED)
def test_rdkit_makes_what_a_rule_over_atom_types_makes(name: str) -> None:
    rule, num_made = TYPED[name], 0
    smirks = smirks_of(rule, TYPES, BOND_NAMES)
    assert smirks is not None
    for smiles in MOLECULES:
        graph = from_smiles(smiles, TYPES)
        graphs = [carry_out(rule, graph, site) for site in find_sites(rule, NeighbourIndex(graph))]
        expected = {
            canonical_smiles(read_smiles(to_smiles(made, TYPES))) for made in graphs if is_valid_molecule(made, TYPES)
        }
        num_made += len(expected)
        assert expected <= run_smirks(smirks, smiles)
    assert num_made > 0
