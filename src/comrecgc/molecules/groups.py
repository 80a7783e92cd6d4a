"""Functional groups of a molecule, recognised by elements, connections and (if known) bond orders; and names of substituents."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

from comrecgc.errors import InputError
from comrecgc.graphs import Graph
from comrecgc.molecules.atoms import BOND_NAMES, BOND_ORDERS, CHARGED_NITROGEN, are_types, element_of, read_atom
from comrecgc.molecules.smiles import canonical_smiles, read_smiles, to_rdkit, to_smiles

Atoms = Mapping[int, str]
Bonds = Mapping[
    tuple[int, int], str | None
]  # names by the atoms that are bound, `i < j`; none where they are not known


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
    """Elements (`names`), labels' names (`atoms`), rings, functional groups and aromatic atoms of a graph, all by node id.

    A graph that is no molecule has names only.
    """

    def __init__(
        self, graph: Graph, label_names: Sequence[str], edge_label_names: Sequence[str] | None = None, *,
        is_molecular: bool = True,
    ) -> None:  # fmt: skip
        self.graph = graph
        self.is_molecular = is_molecular
        self.atoms = {node: label_names[label] for node, label in graph.labels_by_id().items()}
        self.names = {node: element_of(name) if is_molecular else name for node, name in self.atoms.items()}
        self.neighbours = graph.neighbours_by_id()
        self._label_names = label_names
        self._heavy = {
            node: [other for other in around if self.names[other] != "H"] for node, around in self.neighbours.items()
        }
        self._by_element: dict[str, list[int]] = {}
        for node, name in self.names.items():
            self._by_element.setdefault(name, []).append(node)
        names = edge_label_names or ()
        self._bonds = {edge: names[label] for edge, label in graph.edge_labels_by_id().items()} if names else {}

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

        plain: nx.Graph[int] = nx.Graph(self.graph.edges_by_id())
        return frozenset(node for cycle in nx.cycle_basis(plain) for node in cycle)

    @cached_property
    def aromatic(self) -> frozenset[int]:
        """Aromatic atoms as labels say, else as rdkit sees them; none where bonds are not known or rdkit is not installed."""
        if not self.is_molecular or not self._bonds:
            return frozenset()
        if are_types(self._label_names):
            return frozenset(
                node for node, name in self.atoms.items() if (atom := read_atom(name)) and atom.is_aromatic
            )
        try:
            from rdkit import Chem, rdBase

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
            carbons = sorted(other for other in m.heavy(node) if m.names[other] == "C")
            for first, second in combinations(carbons, 2):
                if second in m.neighbours[first]:
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


_FINDERS = (_at_nitrogen, _azo, _three_rings, _at_carbon, _at_oxygen, _at_sulphur_and_phosphorus, _halogens)


# Families of compounds, by an oxygen, a nitrogen or a carbonyl carbon: alcohol, acid, amide.


_ORDERS = ("", "primary", "secondary", "tertiary")


def family_of(molecule: Molecule, node: int) -> str | None:
    """The family of compounds that an atom stands for: "carboxylic acid", "secondary alcohol", "amide"; None if it has no name here.

    Bonds must be known. Atoms two bonds away count too: the nitrogen of an amide is recognised by the oxygen on its neighbour.
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


# Groups that hang on one atom, as chemists write and call them: –NO2 is nitro, –O–CH3 methoxy.


BOND_SIGNS = dict(zip(BOND_NAMES, ("–", "=", "≡", ":"), strict=True))
"""The sign of each bond in formulas."""

_A_RING = " (a ring)"
_HALOGENS = ("Br", "Cl", "F", "I")

# Groups as `_line` writes them: their names, and how chemists write those that they write otherwise.
_NAMES = {
    "–OH": "hydroxy", "–SH": "sulfanyl", "–NH2": "amino", "=O": "oxo", "=S": "thioxo", "=NH": "imino",
    "=CH2": "methylidene", "–N(=O)(=O)": "nitro", "–N(=O)–O": "nitro", "–N=O": "nitroso", "–NH–N=O": "N-nitrosoamino",
    "–N(CH3)–N=O": "N-nitrosomethylamino", "–N=N=N": "azido", "–N=N≡N": "azido", "–N–N≡N": "azido",
    "–NH–NH2": "hydrazinyl", "–NH–OH": "hydroxyamino", "=N–OH": "hydroxyimino", "–NH–CH3": "methylamino",
    "–N(CH3)2": "dimethylamino", "–NH–CH2–CH3": "ethylamino", "–N(CH2–CH3)2": "diethylamino",
    "–CH2–N(CH3)2": "dimethylaminomethyl", "–CH2–NH–CH3": "methylaminomethyl", "–CH3": "methyl", "–CH2–CH3": "ethyl",
    "–CH2–CH2–CH3": "propyl", "–CH2–CH2–CH2–CH3": "butyl", "–CH2–CH(CH3)2": "isobutyl", "–CH2–O–CH3": "methoxymethyl",
    "–CH2–CH2–OH": "2-hydroxyethyl", "–C(=O)–CH2–CH3": "propanoyl", "–CH2–CF3": "2,2,2-trifluoroethyl",
    "–CH(CH3)2": "isopropyl", "–C(CH3)3": "tert-butyl", "–CH=CH2": "vinyl", "–CH2–CH=CH2": "allyl",
    "–C≡CH": "ethynyl", "–CF3": "trifluoromethyl", "–CCl3": "trichloromethyl", "–CBr3": "tribromomethyl",
    "–CHF2": "difluoromethyl", "–CHCl2": "dichloromethyl", "–CH2F": "fluoromethyl", "–CH2Cl": "chloromethyl",
    "–CH2Br": "bromomethyl", "–CH2–OH": "hydroxymethyl", "–CH2–N(=O)–O": "nitromethyl",
    "–CH2–CH2–N(=O)–O": "2-nitroethyl", "–CH2–NH2": "aminomethyl", "–O–CH3": "methoxy", "–O–CH2–CH3": "ethoxy",
    "–O–CF3": "trifluoromethoxy", "–O–NO2": "nitrooxy", "–S–CH3": "methylsulfanyl", "–C≡N": "cyano",
    "–N=C=O": "isocyanato", "–N=C=S": "isothiocyanato", "–S–C≡N": "thiocyanato", "–O–C≡N": "cyanato",
    "–CH=O": "formyl", "–C(=O)–CH3": "acetyl", "–C(=O)–OH": "carboxy", "–C(=O)–NH2": "carbamoyl",
    "–CCl=O": "chlorocarbonyl", "–C(=O)–O–CH3": "methoxycarbonyl", "–C(=O)–O–CH2–CH3": "ethoxycarbonyl",
    "–NH–CH=O": "formamido", "–NH–C(=O)–CH3": "acetamido", "–O–C(=O)–CH3": "acetoxy", "–O–CH=O": "formyloxy",
    "–S(=O)(=O)–NH2": "sulfonamide", "–S(=O)(=O)–OH": "sulfo", "–S(=O)(=O)–CH3": "methylsulfonyl",
    "–NH–S(=O)(=O)–CH3": "methylsulfonamido", "–N⁺(CH3)3": "trimethylammonium", "–O⁻": "oxide",
    "–SCl(=O)(=O)": "chlorosulfonyl", "–P(=O)(OH)2": "phosphono",
}  # fmt: skip
_FORMULAS = {
    "–N(=O)(=O)": "–NO2", "–N(=O)–O": "–NO2", "–N=N=N": "–N3", "–N=N≡N": "–N3", "–N–N≡N": "–N3",
    "–NH–CH2–CH3": "–NH–C2H5", "–N(CH2–CH3)2": "–N(C2H5)2", "–CH2–CH2–CH2–CH3": "–C4H9", "–C(=O)–CH2–CH3": "–CO–C2H5",
    "–CH2–N(=O)–O": "–CH2–NO2", "–CH2–CH2–N(=O)–O": "–CH2–CH2–NO2", "–C(=O)–CH3": "–CO–CH3", "–C(=O)–OH": "–COOH",
    "–C(=O)–NH2": "–CO–NH2", "–CCl=O": "–COCl", "–C(=O)–O–CH3": "–COO–CH3", "–C(=O)–O–CH2–CH3": "–COO–CH2–CH3",
    "–NH–C(=O)–CH3": "–NH–CO–CH3", "–O–C(=O)–CH3": "–O–CO–CH3", "–S(=O)(=O)–NH2": "–SO2–NH2",
    "–S(=O)(=O)–OH": "–SO3H", "–S(=O)(=O)–CH3": "–SO2–CH3", "–NH–S(=O)(=O)–CH3": "–NH–SO2–CH3",
    "–SCl(=O)(=O)": "–SO2Cl", "–P(=O)(OH)2": "–PO3H2",
}  # fmt: skip
_SHORTER = (
    (r"N\(=O\)(\(=O\)|–O(?=$|\)))", "NO2"),
    (r"S\(=O\)\(=O\)", "SO2"),
    (r"C\(=O\)–OH$", "COOH"),
    (r"C\(=O\)–", "CO–"),
)
# By the size of the ring and the formula.
_RINGS = {
    (3, "C3H5"): "cyclopropyl", (3, "C2H3O"): "oxiranyl", (3, "C2H4N"): "aziridinyl", (5, "C5H9"): "cyclopentyl",
    (6, "C6H11"): "cyclohexyl", (6, "C6H5"): "phenyl", (6, "C5H4N"): "pyridyl", (5, "C4H3O"): "furyl", (5, "C4H3S"): "thienyl",
}  # fmt: skip
RING_NAMES = {
    "c1ccccc1F": "2-fluorophenyl", "c1cccc(F)c1": "3-fluorophenyl", "c1ccc(F)cc1": "4-fluorophenyl",
    "c1ccccc1Cl": "2-chlorophenyl", "c1cccc(Cl)c1": "3-chlorophenyl", "c1ccc(Cl)cc1": "4-chlorophenyl",
    "c1ccccc1C": "2-methylphenyl", "c1cccc(C)c1": "3-methylphenyl", "c1ccc(C)cc1": "4-methylphenyl",
    "c1ccc(O)cc1": "4-hydroxyphenyl", "c1ccc(N)cc1": "4-aminophenyl", "c1ccc(OC)cc1": "4-methoxyphenyl",
    "c1cccs1": "2-thienyl", "c1ccsc1": "3-thienyl", "c1ccco1": "2-furyl", "c1ccoc1": "3-furyl", "C1COC1": "oxetan-3-yl",
    "c1ccccn1": "2-pyridyl", "c1cccnc1": "3-pyridyl", "c1ccncc1": "4-pyridyl", "Cc1ccccc1": "benzyl", "C(=O)c1ccccc1": "benzoyl",
    "N1CCCC1": "pyrrolidin-1-yl", "N1CCCCC1": "piperidin-1-yl", "N1CCOCC1": "morpholin-4-yl", "N1CCNCC1": "piperazin-1-yl",
    "N1CCN(C)CC1": "4-methylpiperazin-1-yl", "C1CCCCN1": "piperidin-2-yl", "CN1CCCC1": "pyrrolidin-1-ylmethyl",
    "N1CCC(F)(F)CC1": "4,4-difluoropiperidin-1-yl", "C1CCC(N)CC1": "4-aminocyclohexyl", "C1CCC1": "cyclobutyl", "CC1CCC1": "cyclobutylmethyl",
    "n1cnnn1": "tetrazol-1-yl", "n1cncn1": "1,2,4-triazol-1-yl", "n1ccnn1": "1,2,3-triazol-1-yl", "n1ccnc1": "imidazol-1-yl", "n1cccn1": "pyrazol-1-yl",
    "c1cc(Cl)cc(Cl)c1": "3,5-dichlorophenyl", "c1ccc(Cl)cc1Cl": "2,4-dichlorophenyl", "c1ccc(Cl)c(Cl)c1": "3,4-dichlorophenyl",
}  # fmt: skip
"""Names of groups with a ring, by their SMILES from the atom that hangs on the rest."""

# Where bonds are not known, elements and connections alone.
_NAMES_WITHOUT_BONDS = {"NO2": "nitro", "CF3": "trifluoromethyl", "CCl3": "trichloromethyl", "O–C": "methoxy"}


@dataclass(frozen=True)
class Substituent:
    """A group that hangs on one atom."""

    formula: str  # with its bond, as chemists write it: "–NO2", "=O"; without it where bonds are not known
    name: str | None  # "nitro"; none if it has no name
    is_atom: bool  # whether it is one atom and hydrogens at most
    is_ring: bool = False  # whether it has a ring, which the formula does not show


def read_substituent(atoms: Atoms, bonds: Bonds, root: int, bond: str | None, *, fill: bool) -> Substituent:
    """A group as a chemist would write it, arguments as for `name_substituent`."""
    if len(atoms) == 1 and atoms[root] == "H":
        return Substituent("–H", "hydrogen", is_atom=True)
    hydrogens = count_hydrogens(atoms, bonds, {root: bond}, fill=fill)
    elements = formula_symbols(atoms)
    heavy = [atom for atom in elements if elements[atom] != "H"] or [root]
    inner = {pair: name for pair, name in bonds.items() if all(atom in heavy for atom in pair)}
    known = bond is not None and None not in inner.values()
    is_atom = len(heavy) == 1
    if not known:
        if len(inner) >= len(heavy):
            plain = hill_formula([elements[atom] for atom in heavy])
            return Substituent(f"{plain}{_A_RING}", None, is_atom=False, is_ring=True)
        line = _line(root, None, elements, dict.fromkeys(inner, "single"), None)
        line = re.sub(r"^([A-Z][a-z]?)\(([A-Z][a-z]?)\)(\d)$", r"\1\2\3", line)  # leaves of one element: "NO2"
        return Substituent(line, _NAMES_WITHOUT_BONDS.get(line), is_atom)
    sign = BOND_SIGNS[bond or "single"]
    if len(inner) >= len(heavy):
        every = [elements[atom] for atom in heavy] + ["H"] * sum(hydrogens.values())
        degrees = Counter(atom for pair in inner for atom in pair)
        name = _ring_name([elements[atom] for atom in heavy], degrees, hill_formula(every))
        return Substituent(f"{sign}{hill_formula(every)}{'' if name else _A_RING}", name, is_atom=False, is_ring=True)
    line = sign + _line(root, None, elements, inner, hydrogens)
    if line in _NAMES:
        return Substituent(_FORMULAS.get(line, line), _NAMES[line], is_atom)
    for long, short in _SHORTER:
        line = re.sub(long, short, line)
    return Substituent(line, _NAMES.get(line), is_atom)


def name_substituent(atoms: Atoms, bonds: Bonds, root: int, bond: str | None, *, fill: bool) -> Substituent:
    """A group as a chemist would write it; with a ring, by its name or as SMILES. `root` is attached to the rest by `bond`.

    With `fill` hydrogens are no atoms here and fill the valences.
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


def _chain_to_ring(atoms: Atoms, bonds: Bonds, root: int, bond: str, *, fill: bool) -> Substituent | None:
    """A chain that ends in a ring with a name: "–NH–CO–phenyl"; None where the group is none."""
    for pair in (pair for pair, kind in bonds.items() if kind == "single"):
        for far in pair:
            part = _reached(far, [other for other in bonds if other != pair])
            rest = [node for node in atoms if node not in part]
            inner = {other: kind for other, kind in bonds.items() if part.issuperset(other)}
            chain = {other: kind for other, kind in bonds.items() if not part & set(other)}
            if root in part or part.issuperset(pair) or len(inner) < len(part) or len(chain) >= len(rest):
                continue
            ring = name_substituent({node: atoms[node] for node in sorted(part)}, inner, far, "single", fill=fill)
            if ring.name is not None:
                names = {**{node: atoms[node] for node in rest}, far: ring.name}
                return read_substituent(names, {**chain, pair: "single"}, root, bond, fill=fill)
    return None


def _reached(start: int, bonds: Sequence[tuple[int, int]]) -> set[int]:
    """Atoms that bonds lead to from one."""
    reached = {start}
    while grown := {node for pair in bonds if reached & set(pair) for node in pair} - reached:
        reached |= grown
    return reached


def _smiles(atoms: Atoms, bonds: Bonds, root: int, bond: str) -> str:
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


def formula_symbols(atoms: Atoms) -> dict[int, str]:
    """Each atom of a group as formulas write it: its element, with its charge where the group as a whole is charged."""
    known = {node: read_atom(name) for node, name in atoms.items()}
    charges = {node: 0 if atom is None else atom.charge for node, atom in known.items()}
    is_charged = sum(charges.values()) != 0
    return {node: element_of(name) + (charge_sign(charges[node]) if is_charged else "") for node, name in atoms.items()}


def charge_sign(charge: int) -> str:
    """A charge as formulas write it: "⁺", "²⁻", nothing for none."""
    return "" if not charge else ("" if abs(charge) == 1 else "⁰¹²³⁴⁵⁶⁷⁸⁹"[abs(charge) % 10]) + "⁺⁻"[charge < 0]


def count_hydrogens(elements: Atoms, bonds: Bonds, outside: Mapping[int, str | None], *, fill: bool) -> dict[int, int]:
    """Hydrogens on each atom other than hydrogen; `outside` are bonds to atoms that are not among these.

    With `fill` hydrogens are no atoms here and fill the valences; none are counted where bonds are not known.
    """
    counts = {atom: 0 for atom, name in elements.items() if name != "H"}
    if not fill:
        for atom, other in (ends for pair in bonds for ends in (pair, pair[::-1])):
            if elements[other] == "H" and atom in counts:
                counts[atom] += 1
        return counts
    every = [*bonds.values(), *outside.values()]
    if any(name not in BOND_NAMES for name in every):
        return counts
    used = {
        atom: sum(bond_order(name) for pair, name in bonds.items() if atom in pair) + bond_order(outside.get(atom))
        for atom in counts
    }
    charged = {atom for atom in counts if elements[atom] == "N" and used[atom] == CHARGED_NITROGEN}
    for atom in counts:
        beside = any(atom in pair and charged & set(pair) for pair in bonds)
        if beside and (elements[atom], used[atom]) in (("O", 1), ("N", 2)):
            continue  # the O– of a nitro group, the N– of an azide
        known = read_atom(elements[atom])
        if known is not None and known.hydrogens is not None:
            counts[atom] = known.hydrogens
            continue
        room = [v - used[atom] for v in (known.valences if known else ()) if v >= used[atom]]
        counts[atom] = int(room[0]) if room and atom not in charged else 0
    return counts


def hill_formula(elements: Sequence[str]) -> str:
    """Carbon, hydrogen, then the others by their symbols: "C2H5O"."""
    counts = Counter(elements)
    order = sorted(counts, key=lambda name: (("C", "H").index(name) if name in ("C", "H") else 2, name))
    return "".join(times(name, counts[name]) for name in order)


def _line(atom: int, parent: int | None, elements: Atoms, bonds: Bonds, hydrogens: Mapping[int, int] | None) -> str:
    """A tree of atoms on one line: halogens first, then branches in parentheses, the longest last without.

    Where bonds are not known, hydrogens are None and halogens are branches like others.
    """
    count = (hydrogens or {}).get(atom, 0)
    text = elements[atom] + times("H", count)
    branches = Counter(
        BOND_SIGNS[name or "single"] + _line(other, atom, elements, bonds, hydrogens)
        for (i, j), name in bonds.items()
        for one, other in ((i, j), (j, i))
        if one == atom and other != parent
    )
    for halogen in _HALOGENS if hydrogens is not None else ():
        if f"–{halogen}" in branches:
            text += times(halogen, branches.pop(f"–{halogen}"))
    order = sorted(branches, key=lambda branch: (branch[0] == "–", len(branch), branch))
    for place, branch in enumerate(order):
        is_last = place == len(order) - 1 and branches[branch] == 1
        in_brackets = f"({branch.removeprefix('–')})"
        repeated = in_brackets * branches[branch] if branch[0] != "–" else times(in_brackets, branches[branch])
        text += branch if is_last else repeated
    return text


def times(symbol: str, count: int) -> str:
    """So many of a symbol in a formula: "", "H", "H2"."""
    return "" if count == 0 else symbol if count == 1 else f"{symbol}{count}"


def _ring_name(elements: Sequence[str], degrees: Mapping[int, int], formula: str) -> str | None:
    """The name of a group that is one ring and nothing else."""
    is_ring = len(elements) == len(degrees) and set(degrees.values()) == {2}
    return _RINGS.get((len(elements), formula)) if is_ring else None


def bond_order(bond: str | None) -> float:
    """The order of a bond by its name; 0 if it is not known."""
    return BOND_ORDERS[BOND_NAMES.index(bond)] if bond in BOND_NAMES else 0.0
