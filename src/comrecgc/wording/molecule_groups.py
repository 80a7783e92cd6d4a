"""Groups of atoms in words and formulas: "nitro (–NO2)", "two –F", "4-fluorophenyl (–C6H4F)"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from comrecgc.errors import InputError
from comrecgc.graphs import Graph
from comrecgc.molecules import (
    BOND_NAMES,
    BOND_ORDERS,
    BOND_SIGNS,
    RING_NAMES,
    Substituent,
    canonical_smiles,
    charge_sign,
    element_of,
    read_atom,
    read_smiles,
    read_substituent,
    to_smiles,
)
from comrecgc.wording.difference import Pair
from comrecgc.wording.english import listed, number, several

# Atoms and bonds in words and formulas.


ELEMENTS = {
    "H": "hydrogen", "B": "boron", "C": "carbon", "N": "nitrogen", "O": "oxygen", "F": "fluorine", "Na": "sodium",
    "Mg": "magnesium", "Si": "silicon", "P": "phosphorus", "S": "sulfur", "Cl": "chlorine", "K": "potassium",
    "Ca": "calcium", "Zn": "zinc", "As": "arsenic", "Se": "selenium", "Br": "bromine", "Sn": "tin", "I": "iodine",
    "Hg": "mercury", "Pb": "lead", "Cu": "copper", "Fe": "iron", "Pt": "platinum", "Li": "lithium", "Al": "aluminium",
    "*": "unknown atom",
}  # fmt: skip


def element_word(name: str) -> str:
    """An atom in a word: "carbon", "charged nitrogen"."""
    atom = read_atom(name)
    symbol = element_of(name)
    return ("charged " if atom and atom.charge else "") + ELEMENTS.get(symbol, symbol)


def symbol_of(name: str) -> str:
    """An atom in a formula: "C", "N⁺"."""
    atom = read_atom(name)
    return element_of(name) + (charge_sign(atom.charge) if atom else "")


def is_aromatic(name: str) -> bool:
    """Whether an atom type is that of an aromatic ring."""
    atom = read_atom(name)
    return atom is not None and atom.is_aromatic


def times(symbol: str, count: int) -> str:
    """So many of a symbol in a formula: "H2"."""
    return "" if count == 0 else symbol if count == 1 else f"{symbol}{count}"


def bond_order(bond: str | None) -> float:
    """The order of a bond by its name; 0 where it is not known."""
    return BOND_ORDERS[BOND_NAMES.index(bond)] if bond in BOND_NAMES else 0.0


Wordiness = Literal["full", "long", "middle", "short"]
"""How much a sentence says."""

_A_RING = " (a ring)"


def written_groups(groups: Sequence[Substituent], wordiness: Wordiness) -> str:
    """Groups as the sentence calls them: "nitro (–NO2)", "a nitro group (–NO2)", "two –F"."""
    texts = []
    for group, count in Counter(groups).items():
        if group.is_atom and group.formula in ELEMENTS:
            texts.append(several(element_word(group.formula), count))
        elif group.is_ring and group.name and wordiness in ("middle", "short"):
            texts.append(group.name if count == 1 else f"{number(count)} {group.name}")
        elif group.name is None or wordiness in ("middle", "short"):
            texts.append(group.formula if count == 1 else f"{number(count)} {group.formula}")
        elif wordiness == "full":
            texts.append(f"{several(f'{group.name} group', count)} ({group.formula})")
        else:
            texts.append(f"{group.name if count == 1 else f'{number(count)} {group.name}'} ({group.formula})")
    return listed(texts) if texts else ""


def noted(text: str, note: str) -> str:
    """Groups with a note on them, in one pair of brackets: "oxiranyl (–C2H3O, an epoxide)"."""
    if not note:
        return text
    return f"{text.removesuffix(')')}, {note})" if text.endswith(")") and " (" in text else f"{text} ({note})"


def named_group(
    atoms: Mapping[int, str], bonds: Mapping[Pair, str | None], root: int, bond: str | None, *, fill: bool
) -> Substituent:
    """A group as a chemist would write it; with a ring, by its name or as SMILES.

    Args:
        atoms: Name of each of its atoms.
        bonds: Name of the bond between its atoms, `i < j`; None where bonds are not known.
        root: The atom that hangs on the rest.
        bond: Name of the bond it hangs on.
        fill: Whether hydrogens are no atoms here and fill the valences.
    """
    found = read_substituent(atoms, bonds, root, bond, fill=fill)
    if not found.is_ring or bond is None or None in bonds.values():
        return found
    smiles = _smiles(atoms, bonds, root, bond)
    name = RING_NAMES.get(smiles) if bond == "single" else None
    plain = found.formula.removesuffix(_A_RING)
    if name is not None:
        return replace(found, name=name, formula=plain)
    if found.name:
        return found
    chain = _chain_to_ring(atoms, bonds, root, bond, fill=fill)
    if chain is not None:
        return chain
    return replace(found, formula=f"{BOND_SIGNS[bond]}{smiles}") if smiles else found


def _chain_to_ring(
    atoms: Mapping[int, str], bonds: Mapping[Pair, str | None], root: int, bond: str, *, fill: bool
) -> Substituent | None:
    """A chain that ends in a ring with a name: "–NH–CO–phenyl"; None where the group is none."""
    for pair in (pair for pair, kind in bonds.items() if kind == "single"):
        for far in pair:
            part = _reached(far, [other for other in bonds if other != pair])
            rest = [node for node in atoms if node not in part]
            inner = {other: kind for other, kind in bonds.items() if part.issuperset(other)}
            chain = {other: kind for other, kind in bonds.items() if not part & set(other)}
            if root in part or part.issuperset(pair) or len(inner) < len(part) or len(chain) >= len(rest):
                continue
            ring = named_group({node: atoms[node] for node in sorted(part)}, inner, far, "single", fill=fill)
            if ring.name is not None:
                names = {**{node: atoms[node] for node in rest}, far: ring.name}
                return read_substituent(names, {**chain, pair: "single"}, root, bond, fill=fill)
    return None


def _reached(start: int, bonds: Sequence[Pair]) -> set[int]:
    """Atoms that bonds lead to from one."""
    reached = {start}
    while grown := {node for pair in bonds if reached & set(pair) for node in pair} - reached:
        reached |= grown
    return reached


def _smiles(atoms: Mapping[int, str], bonds: Mapping[Pair, str | None], root: int, bond: str) -> str:
    """A group as SMILES from its root: "c1csc(N)n1"; nothing where rdkit cannot write it."""
    heavy = {node: name for node, name in atoms.items() if name != "H"}
    inner = {pair: kind for pair, kind in bonds.items() if heavy.keys() >= set(pair)}
    order = [root, *(node for node in heavy if node != root)]
    names = ["*", *dict.fromkeys(heavy.values())]
    place = {node: k + 1 for k, node in enumerate(order)}
    pairs = [(0, 1), *((place[i], place[j]) for i, j in inner)]
    kinds = [BOND_NAMES.index(kind or "single") for kind in (bond, *inner.values())]
    try:
        smiles = to_smiles(Graph([0, *(names.index(heavy[node]) for node in order)], pairs, kinds), names)
        smiles = canonical_smiles(read_smiles(smiles))  # rings written with single and double bonds may be aromatic
    except InputError:  # no rdkit, or nothing that it reads
        return ""
    return smiles.removeprefix("*").lstrip("=#") if smiles.startswith("*") else ""
