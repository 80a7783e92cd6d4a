from __future__ import annotations

import numpy as np
import pytest

from comrecgc.errors import InputError
from comrecgc.graphs import Edit, EditKind, Graph, GraphBatch, allowed_edits, apply_edit, one_edit_table
from comrecgc.molecules import Valence, atomic_numbers_as_names, is_valid_molecule
from comrecgc.molecules.smiles import from_smiles

ELEMENTS = ("C", "N", "O", "Cl")


def edits(graph: Graph, constraint: Valence) -> set[Edit]:
    table = allowed_edits(graph, len(ELEMENTS), constraint)
    return {table[i] for i in range(len(table))}


def test_valence_by_bond_order() -> None:
    acetone = from_smiles("CC(=O)C", ELEMENTS)
    kept = edits(acetone, Valence.of_elements(ELEMENTS))
    assert Edit(EditKind.RELABEL, 2, 1) in kept  # =O to =N
    assert Edit(EditKind.RELABEL, 2, 3) not in kept  # =O to =Cl
    assert Edit(EditKind.ADD_NODE, 0, 3) in kept
    assert Edit(EditKind.ADD_NODE, 1, 3) not in kept  # the carbonyl carbon is full
    assert Edit(EditKind.ADD_NODE, 2, 0) not in kept  # so is its oxygen
    assert Edit(EditKind.REMOVE_NODE, 2) in kept


def test_valence_by_degree_where_there_are_no_bond_orders() -> None:
    graph = Graph([2, 0, 0], [(0, 1), (0, 2)])
    kept = edits(graph, Valence.of_elements(ELEMENTS))
    assert Edit(EditKind.ADD_NODE, 0, 0) not in kept
    assert Edit(EditKind.RELABEL, 0, 3) not in kept
    assert Edit(EditKind.RELABEL, 0, 1) in kept


def test_an_atom_that_is_already_too_full_may_lose_bonds() -> None:
    overfull = Graph([3, 0, 0], [(0, 1), (0, 2)])  # Cl with two bonds, as in charged groups
    kept = edits(overfull, Valence.of_elements(ELEMENTS))
    assert Edit(EditKind.REMOVE_EDGE, 0, 1) in kept
    assert Edit(EditKind.RELABEL, 1, 2) in kept
    assert Edit(EditKind.ADD_NODE, 0, 0) not in kept


def test_valid_molecules_stay_valid_under_valence() -> None:
    rng = np.random.default_rng(0)
    rule = Valence.of_elements(ELEMENTS)
    for smiles in ("CC(=O)NC1CCCCC1", "ClCC(Cl)C#N", "OCC1CC1N", "CC(C)(C)OC=C"):
        graph = from_smiles(smiles, ELEMENTS)
        for _ in range(30):
            table = allowed_edits(graph, len(ELEMENTS), rule)
            graph = apply_edit(graph, table[int(rng.integers(len(table)))])
            assert is_valid_molecule(graph, ELEMENTS)


def test_unknown_elements_and_missing_maxima_are_refused() -> None:
    with pytest.raises(InputError, match="got 'helix'"):
        Valence.of_elements(["C", "helix"])
    with pytest.raises(InputError, match="a maximum for every label"):
        edits(Graph([2], []), Valence((4.0, 3.0)))
    with pytest.raises(InputError, match="bond_orders must cover"):
        edits(Graph([0, 0], [(0, 1)], [5]), Valence((4.0, 3.0, 2.0, 1.0)))


def test_valence_changes_neither_graph_nor_table() -> None:
    graph = Graph([0, 1, 2], [(0, 1), (1, 2)])
    table = one_edit_table(graph, 3)
    before = table.kind.tolist(), table.first.tolist(), table.second.tolist()
    Valence((4.0, 3.0, 2.0)).allowed(graph, table)
    assert (table.kind.tolist(), table.first.tolist(), table.second.tolist()) == before


def test_atomic_numbers_name_elements_where_nothing_else_fits() -> None:
    ethanol = Graph([1, 1, 2, 0, 0, 0, 0, 0, 0], [(0, 1), (1, 2), (0, 3), (0, 4), (0, 5), (1, 6), (1, 7), (2, 8)])
    batch = GraphBatch.from_graphs([ethanol])
    assert atomic_numbers_as_names(("1", "6", "8"), batch) == ("H", "C", "O")
    for names in (("C", "6", "8"), ("0", "6", "8"), ("1", "7", "8"), ("1", "6", "119"), ("1", "06", "8")):
        assert atomic_numbers_as_names(names, batch) is None
    # The most frequent label would be oxygen; or hydrogen with four neighbours: these are no atoms.
    assert atomic_numbers_as_names(("8", "6", "1"), batch) is None
    assert atomic_numbers_as_names(("6", "1", "8"), batch) is None
