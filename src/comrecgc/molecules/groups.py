"""The functional groups of a molecule, by elements and connections; bond orders are used where the graph has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from comrecgc.errors import InputError
from comrecgc.graphs import Graph, edge_labels_by_id, edges_by_id, labels_by_id, neighbours_by_id
from comrecgc.molecules.atoms import are_types, atom_of, element_of, read_atom

_HALOGENS = frozenset({"F", "Cl", "Br", "I"})


class FunctionalGroup(NamedTuple):
    """A named group and its atoms other than hydrogen, in node ids.

    | name        | nodes                                                                |
    |-------------|----------------------------------------------------------------------|
    | nitro       | nitrogen, then its two oxygens that are bound to nothing else        |
    | epoxide     | oxygen, then the two carbons that close a three-ring with it         |
    | nitrosamine | nitrogen of the amine, the nitrogen bound to it, the latter's oxygen |
    | any other   | the atom it is found by, then the others                             |
    """

    name: str
    nodes: tuple[int, ...]

    @property
    def atoms(self) -> frozenset[int]:
        return frozenset(self.nodes)


class Molecule:
    """Elements, rings, functional groups and aromatic atoms of a graph, all by node id; a graph that is no molecule has names only.

    Args:
        graph: The graph.
        label_names: Name of each label; `names` are the elements, `atoms` the labels' names.
        edge_label_names: Name of each edge label ("single", "double" …), if there are any.
        is_molecular: Whether label names are elements; other graphs have no rings and groups here.
    """

    def __init__(
        self,
        graph: Graph,
        label_names: Sequence[str],
        edge_label_names: Sequence[str] | None = None,
        *,
        is_molecular: bool = True,
    ) -> None:
        self.graph = graph
        self.is_molecular = is_molecular
        self.atoms = {node: label_names[label] for node, label in labels_by_id(graph).items()}
        self.names = {node: element_of(name) if is_molecular else name for node, name in self.atoms.items()}
        self.neighbours = neighbours_by_id(graph)
        self._label_names = label_names
        self._heavy = {
            node: [other for other in around if self.names[other] != "H"] for node, around in self.neighbours.items()
        }
        self._by_element: dict[str, list[int]] = {}
        for node, name in self.names.items():
            self._by_element.setdefault(name, []).append(node)
        bonds = edge_labels_by_id(graph) if edge_label_names else {}
        self._bonds = {edge: edge_label_names[label] for edge, label in bonds.items()} if edge_label_names else {}

    def bond(self, one: int, other: int) -> str | None:
        """Name of the bond between two atoms; None where bonds are not known."""
        return self._bonds.get((min(one, other), max(one, other)))

    def heavy(self, node: int) -> list[int]:
        """Neighbours other than hydrogen."""
        return self._heavy[node]

    @cached_property
    def rings(self) -> frozenset[int]:
        """Atoms on a cycle; rings mean little in graphs that are not molecules, and there are none there."""
        if not self.is_molecular:
            return frozenset()
        import networkx as nx  # a quarter of a second to import

        plain: nx.Graph[int] = nx.Graph(sorted(edges_by_id(self.graph)))
        return frozenset(node for cycle in nx.cycle_basis(plain) for node in cycle)

    @cached_property
    def aromatic(self) -> frozenset[int]:
        """Aromatic atoms as labels say, else as rdkit sees them; none where bonds are not known or rdkit is not installed."""
        if not self.is_molecular or not self._bonds:
            return frozenset()
        if are_types(self._label_names):
            return frozenset(node for node, name in self.atoms.items() if atom_of(name).is_aromatic)
        try:
            from rdkit import Chem, rdBase

            from comrecgc.molecules.smiles import to_rdkit

            molecule = to_rdkit(self.graph, self._label_names)
        except (ImportError, InputError):
            return frozenset()
        with rdBase.BlockLogs():
            Chem.SanitizeMol(molecule, catchErrors=True)
        ids = self.graph.ids.tolist()
        return frozenset(ids[atom.GetIdx()] for atom in molecule.GetAtoms() if atom.GetIsAromatic())

    @cached_property
    def groups(self) -> tuple[FunctionalGroup, ...]:
        """Every functional group, those of more atoms first."""
        if not self.is_molecular:
            return ()
        distinct: dict[tuple[str, frozenset[int]], FunctionalGroup] = {}
        for group in (group for find in _FINDERS for group in find(self)):
            distinct.setdefault((group.name, group.atoms), group)
        return tuple(sorted(distinct.values(), key=lambda group: -len(group.nodes)))

    def ends(self, node: int, element: str) -> list[int]:
        """Neighbours of that element that are bound to nothing else, hydrogens aside."""
        return [
            other for other in self.neighbours[node] if self.names[other] == element and len(self.heavy(other)) == 1
        ]

    def of(self, element: str) -> list[int]:
        """Atoms of that element."""
        return self._by_element.get(element, [])


def _at_nitrogen(m: Molecule) -> Iterator[FunctionalGroup]:
    for n in m.of("N"):
        oxygens, around = m.ends(n, "O"), m.heavy(n)
        nitrogens = [other for other in around if m.names[other] == "N"]
        if len(oxygens) >= 2:
            yield FunctionalGroup("nitro", (n, *oxygens[:2]))
        elif len(oxygens) == 1 and len(around) == 2 and nitrogens:
            yield FunctionalGroup("nitrosamine", (nitrogens[0], n, *oxygens))
            yield FunctionalGroup("nitroso", (n, *oxygens))
        elif len(oxygens) == 1 and len(around) == 2 and m.bond(n, oxygens[0]) == "double":
            yield FunctionalGroup("nitroso", (n, *oxygens))
        elif len(around) == 2 and len(nitrogens) == 2 and (last := m.ends(n, "N")):
            inner = next((other for other in nitrogens if other not in last), last[-1])
            if len(m.neighbours[inner]) <= 2 and m.bond(n, inner) != "single":  # a triazene has more there
                yield FunctionalGroup("azide", (n, *nitrogens))
        elif len(around) == 1 and m.names[around[0]] == "C" and m.bond(n, around[0]) == "single":
            yield FunctionalGroup("amine", (n,))


def _azo(m: Molecule) -> Iterator[FunctionalGroup]:
    for n in m.of("N"):
        for other in m.heavy(n):
            ends = [node for node in (*m.heavy(n), *m.heavy(other)) if node not in (n, other)]
            is_pair = m.names[other] == "N" and n < other and m.bond(n, other) == "double"
            is_chain = len(ends) == 2 and all(m.names[end] != "N" for end in ends)
            if is_pair and is_chain and not {n, other} & m.rings:
                yield FunctionalGroup("azo", (n, other))


def _three_rings(m: Molecule) -> Iterator[FunctionalGroup]:
    for element, name in (("O", "epoxide"), ("N", "aziridine")):
        for node in m.of(element):
            carbons = [other for other in m.heavy(node) if m.names[other] == "C"]
            for first in carbons:
                for second in carbons:
                    if first < second and second in m.neighbours[first]:
                        yield FunctionalGroup(name, (node, first, second))


def _at_carbon(m: Molecule) -> Iterator[FunctionalGroup]:
    for c in m.of("C"):
        around = m.heavy(c)
        by_element = {name: [node for node in around if m.names[node] == name] for name in ("O", "N", "F")}
        ends = m.ends(c, "O")
        if len(around) == 3 and len(by_element["O"]) == 2 and ends:
            yield FunctionalGroup("carboxyl" if len(ends) == 2 else "ester", (c, *by_element["O"]))
        elif len(around) == 3 and len(ends) == 1 and len(by_element["N"]) == 1 and not {c} & m.aromatic:
            yield FunctionalGroup("amide", (c, *ends, *by_element["N"]))
        elif len(by_element["F"]) >= 3:
            yield FunctionalGroup("trifluoromethyl", (c, *by_element["F"][:3]))
        elif len(around) == 2 and (nitrogens := m.ends(c, "N")) and m.bond(c, nitrogens[0]) == "triple":
            yield FunctionalGroup("nitrile", (c, nitrogens[0]))
        elif len(around) == 1 and m.names[around[0]] == "O" and len(m.heavy(around[0])) == 2:
            yield FunctionalGroup("methoxy", (c, around[0]))
        elif len(around) == 1 and m.names[around[0]] == "C" and m.bond(c, around[0]) == "single":
            yield FunctionalGroup("methyl", (c,))


def _at_oxygen(m: Molecule) -> Iterator[FunctionalGroup]:
    for o in m.of("O"):
        around = m.heavy(o)
        if len(around) == 1 and m.names[around[0]] == "C" and (bond := m.bond(o, around[0])) in ("single", "double"):
            yield FunctionalGroup("hydroxyl" if bond == "single" else "carbonyl", (o,))


def _at_sulphur_and_phosphorus(m: Molecule) -> Iterator[FunctionalGroup]:
    for s in m.of("S"):
        oxygens = m.ends(s, "O")
        if len(oxygens) >= 2:
            yield FunctionalGroup("sulfonate" if len(oxygens) > 2 else "sulfonyl", (s, *oxygens))
    for p in m.of("P"):
        oxygens = [node for node in m.heavy(p) if m.names[node] == "O"]
        if len(oxygens) >= 3:
            yield FunctionalGroup("phosphate", (p, *oxygens))


def _halogens(m: Molecule) -> Iterator[FunctionalGroup]:
    for node, name in m.names.items():
        if name in _HALOGENS and len(m.heavy(node)) == 1:
            yield FunctionalGroup("halogen", (node,))


_FINDERS: tuple[Callable[[Molecule], Iterator[FunctionalGroup]], ...] = (
    _at_nitrogen,
    _azo,
    _three_rings,
    _at_carbon,
    _at_oxygen,
    _at_sulphur_and_phosphorus,
    _halogens,
)


# Families of compounds, by an oxygen, a nitrogen or a carbonyl carbon: alcohol, acid, amide.


_ORDERS = ("", "primary", "secondary", "tertiary")


def family_of(molecule: Molecule, node: int) -> str | None:
    """The family of compounds that an atom makes a molecule a member of: "carboxylic acid", "secondary alcohol", "amide"; None if it has no name here.

    Atoms two bonds away count too: the nitrogen of an amide is recognised by the oxygen on its neighbour.

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
