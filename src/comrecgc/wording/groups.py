"""Groups of atoms in words and formulas: "nitro (–NO2)", "two –F", "4-fluorophenyl (–C6H4F)"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from comrecgc.errors import InputError
from comrecgc.graphs import Graph
from comrecgc.molecules import BOND_NAMES, BOND_SIGNS, RING_NAMES, Substituent, read_substituent, to_smiles
from comrecgc.wording.atoms import ELEMENTS, element_word
from comrecgc.wording.difference import Pair
from comrecgc.wording.english import listed, number, several

Wordiness = Literal["full", "long", "middle", "short"]
"""How much a sentence says."""

_A_RING = " (a ring)"
_SEVERAL = frozenset({"pyridyl"})  # names of several groups


def written_groups(groups: Sequence[Substituent], wordiness: Wordiness) -> str:
    """Groups as the sentence calls them: "nitro (–NO2)", "a nitro group (–NO2)", "two –F"."""
    texts = []
    for group, count in Counter(groups).items():
        if group.is_atom and group.formula in ELEMENTS:
            texts.append(several(element_word(group.formula), count))
        elif group.name is None or wordiness in ("middle", "short"):
            texts.append(group.formula if count == 1 else f"{number(count)} {group.formula}")
        elif wordiness == "full":
            texts.append(f"{several(f'{group.name} group', count)} ({group.formula})")
        else:
            texts.append(f"{group.name if count == 1 else f'{number(count)} {group.name}'} ({group.formula})")
    return listed(texts) if texts else ""


def named_group(
    atoms: Mapping[int, str], bonds: Mapping[Pair, str | None], root: int, bond: str | None, *, fill: bool, typed: bool
) -> Substituent:
    """A group as a chemist would write it; with a ring, by its name or as SMILES, where labels are atom types.

    Args:
        atoms: Name of each of its atoms.
        bonds: Name of the bond between its atoms, `i < j`; None where bonds are not known.
        root: The atom that hangs on the rest.
        bond: Name of the bond it hangs on.
        fill: Whether hydrogens are no atoms here and fill the valences.
        typed: Whether labels are atom types.
    """
    found = read_substituent(atoms, bonds, root, bond, fill=fill)
    plain = found.formula.removesuffix(_A_RING)
    is_ring = plain != found.formula or (found.name or "") in _SEVERAL
    smiles = _ring_smiles(atoms, bonds, root, bond) if typed and is_ring else ""
    if not smiles:
        return found
    name = RING_NAMES.get(smiles) if bond == "single" else None
    if name is not None:
        return replace(found, name=name, formula=plain)
    return found if found.name else replace(found, formula=f"{BOND_SIGNS[bond or 'single']}{smiles}")


def _ring_smiles(atoms: Mapping[int, str], bonds: Mapping[Pair, str | None], root: int, bond: str | None) -> str:
    """A group as SMILES from its root: "c1csc(N)n1"; nothing where rdkit cannot write it."""
    order = [root, *(node for node in atoms if node != root)]
    names = ["*", *dict.fromkeys(atoms.values())]
    place = {node: k + 1 for k, node in enumerate(order)}
    pairs = [(0, 1), *((place[i], place[j]) for i, j in bonds)]
    kinds = [BOND_NAMES.index(kind or "single") for kind in (bond, *bonds.values())]
    try:
        smiles = to_smiles(Graph([0, *(names.index(atoms[node]) for node in order)], pairs, kinds), names)
    except InputError:  # no rdkit
        return ""
    return smiles.removeprefix("*").lstrip("=#") if smiles.startswith("*") else ""
