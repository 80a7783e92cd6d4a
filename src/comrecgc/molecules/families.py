"""What an oxygen, a nitrogen or a carbonyl carbon makes of a molecule, as chemists class compounds: an alcohol, an acid, an amide."""

from __future__ import annotations

from comrecgc.molecules.atoms import read_atom
from comrecgc.molecules.groups import Molecule

_ORDERS = ("", "primary", "secondary", "tertiary")


def family_of(molecule: Molecule, node: int) -> str | None:
    """The family that an atom belongs to: "carboxylic acid", "secondary alcohol", "amide"; None where it has no name here.

    What is two bonds away may matter: the nitrogen of an amide is known by the oxygen on its neighbour.

    Args:
        molecule: The molecule; its bonds must be known.
        node: Id of the atom.
    """
    atom = read_atom(molecule.atoms[node])
    if atom is None or atom.charge or node in molecule.aromatic:
        return None
    around = molecule.heavy(node)
    if atom.element == "C":
        return _of_carbon(molecule, node)
    if not around or any(molecule.bond(node, other) != "single" for other in around):
        return None
    if atom.element == "O":
        return _of_hydroxy(molecule, node, around[0]) if len(around) == 1 else _of_bridge(molecule, around)
    return _of_nitrogen(molecule, around) if atom.element == "N" else None


def _of_hydroxy(m: Molecule, oxygen: int, bearer: int) -> str | None:
    rest = [other for other in m.heavy(bearer) if other != oxygen]
    others = [other for other in rest if m.bond(bearer, other) == "single"]
    if m.names[bearer] != "C" or bearer in m.aromatic:
        return None
    if _has_double(m, bearer, "O"):
        if any(m.names[other] != "C" for other in others):
            return None
        return "aromatic carboxylic acid" if _any_aromatic(m, others) else "carboxylic acid"
    if len(others) < len(rest):
        return "enol" if _has_double(m, bearer, "C") else None
    if not rest or any(m.names[other] != "C" for other in rest):
        return None
    return f"{_ORDERS[len(rest)]} {'benzylic ' if _any_aromatic(m, rest) else ''}alcohol"


def _of_bridge(m: Molecule, around: list[int]) -> str | None:
    if [m.names[other] for other in around] != ["C", "C"]:
        return None
    acyl = [other for other in around if _has_double(m, other, "O")]
    if len(acyl) == 2:
        return "anhydride"
    if acyl:
        return "carbamate" if _beside(m, acyl[0], "N") else "carbonate" if _beside(m, acyl[0], "O") > 1 else "ester"
    if around[1] in m.neighbours[around[0]]:
        return "epoxide"
    if _any_aromatic(m, around):
        return "aryl ether"
    return "acetal" if any(_beside(m, other, "O") > 1 for other in around) else "ether"


def _of_nitrogen(m: Molecule, around: list[int]) -> str | None:
    acyl = [other for other in around if m.names[other] == "C" and _has_double(m, other, "O")]
    if len(acyl) > 1:
        return "imide"
    if acyl:
        return "urea" if _beside(m, acyl[0], "N") > 1 else "carbamate" if _beside(m, acyl[0], "O") else "amide"
    if any(m.names[other] == "S" and _has_double(m, other, "O") for other in around):
        return "sulfonamide"
    if any(m.names[other] != "C" for other in around):
        return None
    if any(_has_double(m, other, "N") for other in around):
        return "amidine or guanidine"
    if any(_has_double(m, other, element) for other in around for element in ("C", "S")):
        return None
    return f"{_ORDERS[len(around)]} {'aromatic ' if _any_aromatic(m, around) else ''}amine" if len(around) < 4 else None


def _of_carbon(m: Molecule, carbon: int) -> str | None:
    around = m.heavy(carbon)
    if len(around) > 3 or not _has_double(m, carbon, "O"):
        return None
    others = [m.names[other] for other in around if m.bond(carbon, other) == "single"]
    return ("aldehyde", "aldehyde", "ketone")[len(others)] if set(others) <= {"C"} else None


def _has_double(m: Molecule, node: int, element: str) -> bool:
    return any(m.names[other] == element and m.bond(node, other) == "double" for other in m.heavy(node))


def _beside(m: Molecule, node: int, element: str) -> int:
    """Neighbours of that element on single bonds."""
    return sum(m.names[other] == element and m.bond(node, other) == "single" for other in m.heavy(node))


def _any_aromatic(m: Molecule, nodes: list[int]) -> bool:
    return any(node in m.aromatic for node in nodes)
