from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from comrecgc.data import load_planted
from comrecgc.data.loading import load_benchmark
from comrecgc.graphs import ChangedGraphs, Edit, EditKind, Graph, Rung, allowed_edits, apply_edit, one_edit_table
from comrecgc.molecules import MolecularChemistry, is_valid_molecule, ladder_of
from comrecgc.molecules.atoms import VALENCES
from comrecgc.molecules.smiles import from_smiles

ELEMENTS = ("C", "N", "O", "S", "Cl")
H = ("H", *ELEMENTS)
METHANE = Graph([1, 0, 0, 0, 0], [(0, 1), (0, 2), (0, 3), (0, 4)], [0, 0, 0, 0])
CHLORIDE = Graph([1, 5, 0, 0, 0], [(0, 1), (0, 2), (0, 3), (0, 4)], [0, 0, 0, 0])
RADICAL = Graph([1, 0, 0, 0], [(0, 1), (0, 2), (0, 3)], [0, 0, 0])


def plausible_edits(data: Sequence[Graph], names: Sequence[str], graph: Graph) -> set[Edit]:
    constraint = ladder_of(data, names, min_seen=1).constraint(Rung.PLAUSIBLE)
    table = allowed_edits(graph, len(names), constraint)
    return {table[i] for i in range(len(table))}


def test_hydrogens_must_follow_where_they_are_nodes() -> None:
    # The radical has been seen, so its surroundings are familiar; its valence is wrong all the same.
    edits = plausible_edits([METHANE, CHLORIDE, RADICAL], H, METHANE)
    assert edits == {Edit(EditKind.RELABEL, node, H.index("Cl")) for node in (1, 2, 3, 4)}


def test_implicit_hydrogens_follow_by_themselves() -> None:
    data = [from_smiles(smiles, ELEMENTS) for smiles in ("CCC", "CCO", "CCl", "O")]
    edits = plausible_edits(data, ELEMENTS, data[0])
    assert Edit(EditKind.REMOVE_NODE, 0) in edits
    assert Edit(EditKind.RELABEL, 0, ELEMENTS.index("O")) in edits
    assert Edit(EditKind.RELABEL, 1, ELEMENTS.index("Cl")) not in edits


def test_a_nitro_group_has_right_valences() -> None:
    nitro = from_smiles("C[N+](=O)[O-]", H)
    chemistry = MolecularChemistry(label_names=H, explicit_hydrogens=True)
    right = chemistry.right_valences(ChangedGraphs.from_graphs([nitro], [nitro]).after)
    assert right.tolist() == [False, True, True, True]  # the carbon lacks its three hydrogens


def test_hydrogens_are_nodes_where_half_of_the_molecules_have_one() -> None:
    bare = Graph([1], np.zeros((0, 2), int), [])
    assert MolecularChemistry.of([METHANE, bare], H).explicit_hydrogens
    assert not MolecularChemistry.of([METHANE, bare, bare], H).explicit_hydrogens
    assert not MolecularChemistry.of([bare], ("C", "N")).explicit_hydrogens


def test_rdkit_is_asked_about_aromatic_atoms() -> None:
    pyridine, pyrimidine, thiophene = (from_smiles(smiles, ELEMENTS) for smiles in ("n1ccccc1", "c1ncncc1", "s1cccc1"))
    edits = plausible_edits([pyridine, pyrimidine, thiophene], ELEMENTS, pyridine)
    sulphur = {Edit(EditKind.RELABEL, node, ELEMENTS.index("S")) for node in range(6)}
    assert not edits & sulphur  # familiar between aromatic carbons, but not in a ring of six
    assert all(is_valid_molecule(apply_edit(pyridine, edit), ELEMENTS) for edit in edits)
    assert edits


def test_labels_that_are_no_elements_or_bonds_bring_no_chemistry() -> None:
    assert ladder_of([Graph([0, 1], [(0, 1)])], ("helix", "sheet")).chemistry is None
    assert ladder_of([Graph([0, 1], [(0, 1)], [7])], ("C", "N")).chemistry is None
    assert ladder_of([Graph([0, 1], [(0, 1)], [3])], ("C", "N")).chemistry is not None


def test_rdkit_accepts_every_valence() -> None:
    from rdkit.Chem import GetPeriodicTable

    for element, ours in VALENCES.items():
        theirs = list(GetPeriodicTable().GetValenceList(element))
        assert -1 in theirs or max(ours) <= max(theirs)


def test_quick_and_thorough_agree_on_planted_molecules() -> None:
    dataset = load_planted(num_graphs=60)
    ladder = ladder_of(dataset, dataset.label_names)
    constraint = ladder.constraint(Rung.PLAUSIBLE)
    assert constraint is not None
    for graph in dataset.graphs[:10]:
        table = one_edit_table(graph, dataset.num_labels)
        rungs = ladder.rungs(ChangedGraphs.from_table(graph, table))
        assert constraint.allowed(graph, table).tolist() == (rungs >= Rung.PLAUSIBLE).tolist()


@pytest.mark.parametrize("name", ["aids", "mutagenicity", "nci1"])
def test_quick_and_thorough_agree_on_benchmarks(name: str, data_root: object) -> None:  # noqa: ARG001
    dataset = load_benchmark(name)
    ladder = ladder_of(dataset, dataset.label_names)
    constraint = ladder.constraint(Rung.PLAUSIBLE)
    assert constraint is not None
    invalid = [graph for graph in dataset if not is_valid_molecule(graph, dataset.label_names)]
    for graph in (*dataset.graphs[:3], *invalid[:2]):
        table = one_edit_table(graph, dataset.num_labels)
        rungs = ladder.rungs(ChangedGraphs.from_table(graph, table))
        assert constraint.allowed(graph, table).tolist() == (rungs >= Rung.PLAUSIBLE).tolist()
