from __future__ import annotations

import numpy as np
import pytest

from comrecgc.errors import InputError
from comrecgc.graphs import Edit, EditKind, Graph, apply_edit
from comrecgc.molecules import (
    ParsedMolecule,
    are_atoms,
    are_types,
    canonical_smiles,
    is_valid_molecule,
    parse_molecule,
    read_atom,
    read_smiles,
    sanitise,
    stereo_of,
    to_rdkit,
    to_smiles,
)
from comrecgc.molecules.atoms import Atom, are_elements
from comrecgc.molecules.smiles import from_smiles
from tests.molecules.druglike import drug_like

ELEMENTS = ("C", "N", "O", "Cl")


@pytest.mark.parametrize("smiles", ["CC(=O)O", "c1ccccc1Cl", "C#N", "O=[N+]([O-])c1ccccc1", "C1CC1.Cl", "c1ccncc1"])
def test_smiles_round_trip(smiles: str) -> None:
    graph = from_smiles(smiles, ELEMENTS)
    assert is_valid_molecule(graph, ELEMENTS)
    assert to_smiles(graph, ELEMENTS) == to_smiles(from_smiles(to_smiles(graph, ELEMENTS), ELEMENTS), ELEMENTS)
    assert from_smiles(to_smiles(graph, ELEMENTS), ELEMENTS).num_edges == graph.num_edges


def test_nitro_group_gets_its_charges_back() -> None:
    neutral = Graph([0, 1, 2, 2], [(0, 1), (1, 2), (1, 3)], [0, 1, 0])
    charges = [atom.GetFormalCharge() for atom in to_rdkit(neutral, ELEMENTS).GetAtoms()]
    assert charges == [0, 1, 0, -1]
    assert to_smiles(neutral, ELEMENTS) == "C[N+](=O)[O-]"


@pytest.mark.parametrize(
    "smiles",
    [
        "c1cc[nH]c1",  # a hydrogen on the nitrogen
        "Cn1cccc1",
        "c1cnc[nH]1",
        "Cn1c(=O)c2c(ncn2C)n(C)c1=O",
        "c1ccc2[nH]ccc2c1",
        "c1ccn2cccc2c1",  # a nitrogen in two rings
        "C[n+]1ccccc1",  # a charge on it
        "[O-][n+]1ccccc1",
        "Cn1c(=O)[nH]c2ccccc21",  # the hydrogen rather than a charge
        "c1ccoc1",
    ],
)
def test_aromatic_nitrogens_get_their_hydrogens_and_charges_back(smiles: str) -> None:
    from rdkit import Chem

    graph = from_smiles(smiles, ELEMENTS)
    assert is_valid_molecule(graph, ELEMENTS)
    assert to_smiles(graph, ELEMENTS) == Chem.CanonSmiles(smiles)


def test_an_aromatic_ring_without_alternating_bonds_is_no_molecule() -> None:
    five_carbons = Graph([0] * 5, [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)], [3] * 5)
    assert not is_valid_molecule(five_carbons, ELEMENTS)


def test_an_impossible_molecule_is_said_to_be_so() -> None:
    chlorine = from_smiles("CCl", ELEMENTS)
    crowded = apply_edit(chlorine, Edit(EditKind.ADD_NODE, 1, 0))
    assert not is_valid_molecule(crowded, ELEMENTS)
    assert "Cl" in to_smiles(crowded, ELEMENTS)


def test_bonds_are_single_where_none_are_given() -> None:
    assert to_smiles(Graph([0, 0, 2], [(0, 1), (1, 2)]), ELEMENTS) == "CCO"


@pytest.mark.parametrize(
    ("smiles", "message"),
    [
        ("", "Not a valid SMILES"),
        ("C1CC", "Not a valid SMILES"),
        ("not a molecule", "Not a valid SMILES"),
        ("CS", "must be among C, N, O, Cl"),
    ],
)
def test_bad_smiles_are_named(smiles: str, message: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match=message):
        from_smiles(smiles, ELEMENTS)
    assert capfd.readouterr().err == ""


def test_labels_that_are_no_elements_are_no_molecules() -> None:
    assert are_elements(["C", "Br", "*"])
    assert not are_elements(["C", "helix"])
    with pytest.raises(InputError, match="chemical elements"):
        to_rdkit(Graph([0], []), ["helix"])
    with pytest.raises(InputError, match="got 7"):
        to_rdkit(Graph([0, 0], [(0, 1)], [7]), ["C"])


def graph_of(parsed: ParsedMolecule, names: list[str]) -> Graph:
    return Graph([names.index(atom) for atom in parsed.atoms], parsed.bonds, parsed.bond_labels)


def test_atom_types_say_what_a_molecule_needs() -> None:
    parsed = parse_molecule(read_smiles("C[N+](C)(C)CC(=O)[O-].c1cc[nH]c1.Cn1cccc1.[13CH4].[CH2]C.C1CCCCC1.c1ccncc1"))
    assert set(parsed.atoms) == {"C", "N+", "O", "O-", "c", "[nH]", "n", "[13C]", "[CH2]"}
    assert parsed.atoms.count("[nH]") == 2  # with a hydrogen, and with a third neighbour


@pytest.mark.parametrize(
    "name", ["C", "c", "N+", "O-", "[nH]", "[13C]", "[CH2]", "[13CH2-]", "Fe+3", "*", "se", "[2H]", "[NH0+]"]
)
def test_names_of_atoms_are_read_as_they_are_written(name: str) -> None:
    atom = read_atom(name)
    assert atom is not None
    assert atom.name == name


def test_what_is_an_atom() -> None:
    assert read_atom("O-") == Atom(element="O", charge=-1)
    assert not any(map(read_atom, ("helix", "", "h", "[C]", "C+-", "CC", "0", "x")))
    assert are_atoms(["C", "c", "N+"])
    assert are_types(["C", "c"])
    assert not are_types(["C", "Br"])


def test_drugs_come_back_as_they_were_and_count_as_valid() -> None:
    parsed, wanted = [], []
    for smiles in drug_like(5000):
        molecule = read_smiles(smiles)
        parsed.append(parse_molecule(molecule))
        wanted.append(canonical_smiles(molecule))
    names = sorted({atom for each in parsed for atom in each.atoms})
    graphs = [graph_of(each, names) for each in parsed]
    molecules = [sanitise(graph, names) for graph in graphs]
    assert None not in molecules
    found = [canonical_smiles(molecule) for molecule in molecules if molecule is not None]
    again = [(one, other) for one, other in zip(found, wanted, strict=True) if one != other]  # written in another order
    assert len(again) < 50
    assert all(canonical_smiles(read_smiles(one)) == canonical_smiles(read_smiles(other)) for one, other in again)


def test_a_ring_that_becomes_aromatic_is_not_what_its_labels_say() -> None:
    names = ["C", "c", "N", "[nH]", "n"]
    triene = Graph([0] * 6, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5)], [1, 0, 1, 0, 1, 0])
    benzene = Graph([1] * 6, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5)], [3] * 6)
    assert not is_valid_molecule(triene, names)
    assert is_valid_molecule(benzene, names)
    assert not is_valid_molecule(Graph([1, 1, 1, 1, 1, 3], benzene.edges, benzene.edge_labels), names)
    assert is_valid_molecule(Graph([1, 1, 1, 1, 1, 4], benzene.edges, benzene.edge_labels), names)


STEREO_DRUGS = (
    "CN1CC[C@]23c4c5ccc(O)c4O[C@H]2[C@@H](O)C=C[C@H]3[C@H]1C5", "CC1(C)S[C@@H]2[C@H](NC(=O)Cc3ccccc3)C(=O)N2[C@H]1C(=O)O",
    r"CC/C(=C(\c1ccccc1)c1ccc(OCCN(C)C)cc1)c1ccccc1", "C[C@]12CC[C@H]3[C@@H](CCC4=CC(=O)CC[C@@]43C)[C@@H]1CC[C@@H]2O",
    r"CC1=C(C(C)(C)CCC1)/C=C/C(C)=C/C=C\C(C)=C\C(=O)O", "CC(C)C[S@](=O)c1ccc([C@@H](F)Cl)cc1", "C[C@H]1CC[C@@H](c2ccccc2)CC1",
)  # fmt: skip


@pytest.mark.parametrize("smiles", STEREO_DRUGS)
def test_stereo_that_a_change_leaves_alone_is_kept(smiles: str) -> None:
    """The same edits by rdkit, on the molecule as it was read, which keeps marks by itself where no neighbour is lost."""
    from rdkit import Chem

    molecule = read_smiles(smiles)
    parsed, stereo = parse_molecule(molecule), stereo_of(molecule)
    names = sorted({*parsed.atoms, "F"})
    graph = graph_of(parsed, names)
    assert to_smiles(graph, names, stereo) == Chem.MolToSmiles(molecule)
    num_checked = 0
    for atom in molecule.GetAtoms():
        edited, around = Chem.RWMol(molecule), [other.GetIdx() for other in atom.GetNeighbors()]
        if atom.GetTotalNumHs() and atom.GetIsAromatic():
            changed = apply_edit(graph, Edit(EditKind.ADD_NODE, atom.GetIdx(), names.index("F")))
            edited.AddBond(atom.GetIdx(), edited.AddAtom(Chem.Atom("F")), Chem.BondType.SINGLE)
        elif len(around) == 1 and atom.GetBonds()[0].GetBondType() == Chem.BondType.SINGLE:
            changed = apply_edit(graph, Edit(EditKind.REMOVE_NODE, atom.GetIdx()))
            beside = edited.GetAtomWithIdx(around[0])
            beside.SetChiralTag(Chem.ChiralType.CHI_UNSPECIFIED)
            beside.SetNoImplicit(False)
            beside.SetNumExplicitHs(0)
            edited.RemoveAtom(atom.GetIdx())
        else:
            continue
        Chem.SanitizeMol(edited)
        Chem.AssignStereochemistry(edited, cleanIt=True, force=True)
        assert Chem.CanonSmiles(to_smiles(changed, names, stereo)) == Chem.CanonSmiles(Chem.MolToSmiles(edited))
        num_checked += 1
    assert num_checked


def test_stereo_follows_atoms_and_not_their_order() -> None:
    from rdkit import Chem

    molecule = read_smiles(STEREO_DRUGS[0])
    parsed = parse_molecule(molecule)
    names = sorted(set(parsed.atoms))
    for order in ([*range(5, len(parsed.atoms)), *range(5)], [*range(len(parsed.atoms))][::-1]):
        place = {atom: k for k, atom in enumerate(order)}
        labels = [names.index(parsed.atoms[atom]) for atom in order]
        moved = Graph(labels, [(place[i], place[j]) for i, j in parsed.bonds], parsed.bond_labels)
        graph = Graph.assemble(moved.labels, moved.edges, moved.edge_labels, np.array(order, np.int32), len(order))
        assert to_smiles(graph, names, stereo_of(molecule)) == Chem.MolToSmiles(molecule)
