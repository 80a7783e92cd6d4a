"""Atoms and bonds: which label names are elements, how many bonds an atom can carry, and the constraint that follows.

Edge labels are bonds: 0 single, 1 double, 2 triple, 3 aromatic. Nothing here needs rdkit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from comrecgc.errors import InputError
from comrecgc.graphs import BoolArray, EditKind, EditTable, Graph

BOND_NAMES = ("single", "double", "triple", "aromatic")

_ELEMENTS = tuple(
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


def are_elements(names: Iterable[str]) -> bool:
    """Whether every name is a chemical element's symbol (or `*`, an atom of unknown element)."""
    return all(name in _ELEMENTS or name == ANY_ELEMENT for name in names)


def atomic_number(name: str) -> int:
    """Number of protons of an element."""
    return _ELEMENTS.index(name) + 1


@dataclass(frozen=True)
class Valence:
    """No edit that gives an atom more bonds than it can carry.

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
        unknown = [name for name in names if name not in VALENCES]
        if unknown:
            raise InputError(f"Valence knows the elements {', '.join(VALENCES)} (got {unknown[0]!r})")
        return cls(tuple(max(VALENCES[name]) for name in names))

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
