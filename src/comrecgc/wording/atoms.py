"""Atoms and bonds in words and formulas."""

from __future__ import annotations

from comrecgc.molecules import BOND_NAMES, BOND_ORDERS, charge_sign, element_of, read_atom

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
