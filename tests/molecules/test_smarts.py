from __future__ import annotations

import pytest

from comrecgc.errors import InputError
from comrecgc.graphs import Edit, EditKind, Graph, apply_edit
from comrecgc.molecules import POSITIONS, SmartsWishes, positions_of
from comrecgc.molecules.smarts import changed_atoms
from comrecgc.molecules.smiles import from_smiles

pytest.importorskip("rdkit", reason="SMARTS need rdkit")

NAMES = ("C", "c", "N", "O", "F", "[nH]", "N+", "O-")


def relabelled(graph: Graph, node: int, name: str) -> Graph:
    return apply_edit(graph, Edit(EditKind.RELABEL, node, NAMES.index(name)))


def added(graph: Graph, node: int, name: str) -> Graph:
    return apply_edit(graph, Edit(EditKind.ADD_NODE, node, NAMES.index(name)))


def test_what_is_protected_stays() -> None:
    phenol = from_smiles("Oc1ccccc1", NAMES)
    ring = SmartsWishes(protect=("c1ccccc1",))
    assert ring.allows(phenol, relabelled(phenol, 0, "F"), NAMES)  # a substituent may change
    assert ring.allows(phenol, added(phenol, 3, "C"), NAMES)
    hydroxy = SmartsWishes(protect=("[OX2H]",))
    assert not hydroxy.allows(phenol, relabelled(phenol, 0, "F"), NAMES)
    assert not hydroxy.allows(phenol, added(phenol, 0, "C"), NAMES)  # it no longer matches
    assert hydroxy.allows(phenol, added(phenol, 3, "C"), NAMES)
    pyrrole = from_smiles("c1cc[nH]c1", NAMES)
    assert not SmartsWishes(protect=("[nH]",)).allows(pyrrole, added(pyrrole, 3, "C"), NAMES)


def test_what_is_forbidden_does_not_come() -> None:
    phenol = from_smiles("Oc1ccccc1", NAMES)
    wishes = SmartsWishes(forbid=("[#9]", "[OH]"))
    assert not wishes.allows(phenol, added(phenol, 3, "F"), NAMES)
    assert wishes.allows(phenol, added(phenol, 3, "C"), NAMES)  # the hydroxy was there before
    assert not wishes.allows(phenol, added(phenol, 3, "O"), NAMES)


def test_only_what_matches_changes() -> None:
    amine = from_smiles("NCc1ccccc1O", NAMES)
    wishes = SmartsWishes(only=("[NX3]", "[CH2]"))
    assert wishes.allows(amine, relabelled(amine, 0, "O"), NAMES)
    assert wishes.allows(amine, added(amine, 1, "C"), NAMES)
    assert not wishes.allows(amine, relabelled(amine, 8, "F"), NAMES)
    assert not wishes.allows(amine, added(amine, 4, "C"), NAMES)


def test_the_anchor_of_a_group_that_is_replaced_is_not_changed() -> None:
    phenol = from_smiles("Oc1ccccc1", NAMES)
    swapped = added(apply_edit(phenol, Edit(EditKind.REMOVE_NODE, 0)), 1, "F")
    assert changed_atoms(phenol, swapped) == {0}
    assert changed_atoms(phenol, added(phenol, 3, "F")) == {3}


def test_nothing_that_is_no_molecule() -> None:
    phenol = from_smiles("Oc1ccccc1", NAMES)
    assert not SmartsWishes(forbid=("Br",)).allows(phenol, relabelled(phenol, 1, "F"), NAMES)


@pytest.mark.parametrize("name", ["protect", "forbid", "only"])
def test_a_pattern_that_cannot_be_read_is_named(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match=rf"{name} must be a SMARTS that rdkit reads \(got 'C\(\('\)"):
        SmartsWishes(**{name: ("C((",)})
    assert capfd.readouterr().err == ""


def test_positions_are_what_a_chemist_calls_them() -> None:
    names = ("C", "c", "n", "N")
    found = positions_of(
        from_smiles("NCCc1ccncc1", names), names
    )  # atoms 0 to 2 are the chain, 3 bears it, 6 is the nitrogen
    assert found["ortho to a ring nitrogen"] == {5, 7}
    assert found["on a six-membered ring with nitrogen"] == {3, 4, 5, 7, 8}
    assert found["ortho to a substituent"] == {4, 8}
    assert found["beside an aromatic ring"] == {2}
    assert found["beside a heteroatom"] == {1}
    assert found["on a chain"] == {0, 1, 2}
    assert not found["on a benzene ring"]
    assert set(found) == set(POSITIONS)
