"""Atoms and bonds: which label names are atoms, how many bonds an atom can carry, and the constraint that follows.

A label is the name of an atom. In archives it is an element, and charges and hydrogens are guessed when needed. In tables read from SMILES it is an
atom type with everything besides bonds: `C`, aromatic `c`, charged `N+` and `O-`, `[nH]` for the nitrogen of pyrrole (with a hydrogen or
a third neighbour), and `[13CH2]` where isotope or hydrogens are not the usual ones. Hydrogens follow.

Edge labels are bonds: 0 single, 1 double, 2 triple, 3 aromatic. Nothing here needs rdkit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from comrecgc.errors import InputError
from comrecgc.graphs import BoolArray, EditKind, EditTable, Graph, GraphBatch

BOND_NAMES = ("single", "double", "triple", "aromatic")

ELEMENTS = tuple(
    "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb Sr Y Zr Nb "
    "Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au "
    "Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No Lr Rf Db Sg Bh Hs Mt Ds Rg Cn "
    "Nh Fl Mc Lv Ts Og".split()
)
ANY_ELEMENT = "*"

# Bonds an uncharged atom can carry; * is an atom of unknown element, and metals may be lone ions.
VALENCES = {
    "H": (1,), "Li": (0, 1), "Na": (0, 1), "K": (0, 1), "F": (1,), "Cl": (1,), "Br": (1,), "I": (1,),
    "Mg": (0, 2), "Ca": (0, 2), "Zn": (0, 2), "O": (2,), "B": (3,), "Al": (3,), "N": (3,), "C": (4,), "Si": (4,),
    "Ge": (4,), "Sn": (2, 4), "Pb": (2, 4), "P": (3, 5), "As": (3, 5), "S": (2, 4, 6), "Se": (2, 4, 6), "Te": (2, 4, 6),
    ANY_ELEMENT: tuple(range(9)),
}  # fmt: skip

BOND_ORDERS = (1.0, 2.0, 3.0, 1.5)
"""Order of the bond behind edge labels 0, 1, 2 and 3 in molecules: single, double, triple, aromatic."""

CHARGED_NITROGEN = 4
"""Bonds of N+ in nitro groups, N-oxides and ammonium, where labels are elements and say no charges."""


_AROMATIC_ELEMENTS = ("B", "C", "N", "O", "P", "S", "Si", "As", "Se", "Te")
_PLAIN = re.compile(r"(\*|[A-Z][a-z]?|[a-z]{1,2})([+-]\d{0,2})?")
_BRACKETS = re.compile(r"\[(\d{0,3})(\*|[A-Z][a-z]?|[a-z]{1,2})(?:H(\d{0,2}))?([+-]\d{0,2})?\]")
_DONOR = "[nH]"
_WRONG_DEGREES = 0.01  # share of atoms with too many neighbours from which numbers are no elements
# Bonds of aromatic atoms, an aromatic bond counting one and a half; a pyrrole nitrogen counts its hydrogen or third neighbour.
_AROMATIC_BONDS = {"B": 4, "C": 4, "N": 3, "O": 3, "P": 3, "S": 3, "Si": 4, "As": 3, "Se": 3, "Te": 3}
# Atoms that a charge makes like another element: N+ carries the bonds of carbon, O- those of fluorine.
_ROW = ("B", "C", "N", "O", "F")
_LIKE = {"Al": "B", "Si": "C", "P": "N", "As": "N", "S": "O", "Se": "O", "Te": "O", "Cl": "F", "Br": "F", "I": "F"}


@dataclass(frozen=True, kw_only=True)
class Atom:
    """An atom as a label describes it."""

    element: str
    charge: int = 0
    is_aromatic: bool = False  # written in lower case
    is_donor: bool = False  # the nitrogen of pyrrole: aromatic, with a hydrogen or a third neighbour
    hydrogens: int | None = None  # how many it carries whatever its bonds are; none given where they fill its valence
    isotope: int = 0  # mass number; 0 for the usual mixture

    @property
    def name(self) -> str:
        """The label: `C`, `c`, `N+`, `[nH]`, `[13CH2]`."""
        if self.is_donor:
            return _DONOR
        symbol = self.element.lower() if self.is_aromatic else self.element
        sign = "+" if self.charge > 0 else "-" if self.charge else ""
        charge = sign + (str(abs(self.charge)) if abs(self.charge) > 1 else "")
        if self.hydrogens is None and not self.isotope:
            return symbol + charge
        hydrogens = "" if self.hydrogens is None else "H" if self.hydrogens == 1 else f"H{self.hydrogens}"
        return f"[{self.isotope or ''}{symbol}{hydrogens}{charge}]"

    @property
    def valences(self) -> tuple[int, ...]:
        """Possible numbers of bonds, hydrogens included, with an aromatic bond as one and a half; empty if unknown."""
        if self.hydrogens is not None or abs(self.charge) > 1:
            return ()
        if self.is_aromatic:
            return (_AROMATIC_BONDS[self.element] + (self.is_donor or self.charge > 0),)
        if not self.charge:
            return VALENCES.get(self.element, ())
        row = _LIKE.get(self.element, self.element)
        place = _ROW.index(row) - self.charge if row in _ROW else -1
        if self.element == "C":
            return (3,)
        return VALENCES[_ROW[place]] if 0 <= place < len(_ROW) else ()


@cache
def read_atom(name: str) -> Atom | None:
    """The atom that a label names; None if it names none."""
    if name == _DONOR:
        return Atom(element="N", is_aromatic=True, is_donor=True)
    if plain := _PLAIN.fullmatch(name):
        isotope, symbol, hydrogens, charge = "", plain[1], None, plain[2] or ""
    elif (found := _BRACKETS.fullmatch(name)) and (found[3] is not None or found[1]):
        isotope, symbol, hydrogens, charge = found[1], found[2], found[3], found[4] or ""
    else:
        return None
    is_aromatic = symbol[0].islower()
    element = symbol.capitalize()
    if element not in (_AROMATIC_ELEMENTS if is_aromatic else (*ELEMENTS, ANY_ELEMENT)):
        return None
    count = None if hydrogens is None else int(hydrogens or 1)
    size = int(charge[1:] or 1) if charge else 0
    signed, mass = -size if charge.startswith("-") else size, int(isotope or 0)
    return Atom(element=element, charge=signed, is_aromatic=is_aromatic, hydrogens=count, isotope=mass)


def atom_of(name: str) -> Atom:
    """The atom that a label names; an error if it names none."""
    atom = read_atom(name)
    if atom is None:
        raise InputError(f"Only graphs of chemical elements are molecules (got label {name[:40]!r})")
    return atom


def element_of(name: str) -> str:
    """The element of the atom that a label names; other labels as they are."""
    atom = read_atom(name)
    return name if atom is None else atom.element


def are_elements(names: Iterable[str]) -> bool:
    """Whether every name is a chemical element's symbol (or `*`, an atom of unknown element)."""
    return all(name in ELEMENTS or name == ANY_ELEMENT for name in names)


def are_atoms(names: Iterable[str]) -> bool:
    """Whether every name is an atom: an element, or one with its charge, aromaticity or hydrogens."""
    return all(read_atom(name) is not None for name in names)


def are_bonds(names: Sequence[str] | None) -> bool:
    """Whether edge labels are bonds in the order of `BOND_NAMES`; graphs without edge labels count as bonded."""
    return names is None or tuple(names) == BOND_NAMES[: len(names)]


def are_types(names: Iterable[str]) -> bool:
    """Whether names are atom types with charge and aromaticity, rather than elements only."""
    return _are_types(tuple(names))


@cache
def _are_types(names: tuple[str, ...]) -> bool:
    return are_atoms(names) and not are_elements(names)


def atomic_numbers_as_names(names: Sequence[str], batch: GraphBatch) -> tuple[str, ...] | None:
    """The elements that labels name by their numbers: `6`, `7` and `8` are C, N and O; None where they may mean anything else.

    Numbers alone do not tell: any labels may be called 1 to 9. So carbon must be there, carbon or hydrogen must be the most frequent, and no more than
    one node in a hundred may have more neighbours than its element can have.
    """
    numbers = [int(name) if re.fullmatch(r"[1-9]\d{0,2}", name) else 0 for name in names]
    if not all(0 < number <= len(ELEMENTS) for number in numbers) or ELEMENTS.index("C") + 1 not in numbers:
        return None
    elements = tuple(ELEMENTS[number - 1] for number in numbers)
    counts = np.bincount(batch.labels, minlength=len(names))
    if elements[int(counts.argmax())] not in ("C", "H"):
        return None
    most = np.array([max(VALENCES.get(name, (8,))) + (name in ("N", "B")) for name in elements])  # N+ and B- have four
    degrees = np.bincount(batch.edges.ravel(), minlength=len(batch.labels))
    too_many = float((degrees > most[batch.labels]).mean()) if len(degrees) else 0.0
    return elements if too_many <= _WRONG_DEGREES else None


@dataclass(frozen=True)
class Valence:
    """Constraint: no edit gives an atom more bonds than it can carry.

    Bonds are counted by their order where the graph has edge labels and as one each where it has none; a new bond is
    single. An atom that already carries too many, as charged groups in real data do, may still lose some. Two aromatic
    bonds count three, so an aromatic atom cannot become an oxygen.

    Args:
        maximum: Bonds each label can carry, indexed by label.
        bond_orders: Order of the bond behind each edge label.
    """

    maximum: Sequence[float]
    bond_orders: Sequence[float] = BOND_ORDERS

    @classmethod
    def of_elements(cls, label_names: Iterable[str]) -> Valence:
        """The rule for labels that are chemical elements: `Valence.of_elements(dataset.label_names)`."""
        names = list(label_names)
        unknown = [name for name in names if element_of(name) not in VALENCES]
        if unknown:
            raise InputError(f"Valence knows the elements {', '.join(VALENCES)} (got {unknown[0]!r})")
        return cls(tuple(float(max(atom_of(name).valences, default=np.inf)) for name in names))

    def allowed(self, graph: Graph, table: EditTable) -> BoolArray:
        maximum = np.asarray(self.maximum, dtype=float)
        given = table.second[table.of_kind(EditKind.RELABEL) | table.of_kind(EditKind.ADD_NODE)]
        largest = max(int(graph.labels.max()), int(given.max(initial=0)))
        if largest >= len(maximum):
            raise InputError(f"Valence needs a maximum for every label (got {len(maximum)}, label {largest})")
        used = self._used(graph)
        full = used + 1 > maximum[graph.labels]
        mask = np.ones(len(table), dtype=bool)
        relabels, adds_node, adds_edge = (
            table.of_kind(kind) for kind in (EditKind.RELABEL, EditKind.ADD_NODE, EditKind.ADD_EDGE)
        )
        mask[relabels] = used[table.first[relabels]] <= maximum[table.second[relabels]]
        mask[adds_node] = ~full[table.first[adds_node]] & (maximum[table.second[adds_node]] >= 1)
        mask[adds_edge] = ~full[table.first[adds_edge]] & ~full[table.second[adds_edge]]
        return mask

    def _used(self, graph: Graph) -> np.ndarray:
        """Bonds at each atom, `[n]`."""
        if graph.edge_labels is None:
            return graph.degrees().astype(float)
        orders = np.asarray(self.bond_orders, dtype=float)
        if graph.num_edges and graph.edge_labels.max() >= len(orders):
            raise InputError(
                f"bond_orders must cover every edge label (got {len(orders)} orders, label {graph.edge_labels.max()})"
            )
        weights = np.repeat(orders[graph.edge_labels], 2)
        return np.bincount(graph.edges.ravel(), weights=weights, minlength=graph.num_nodes)
