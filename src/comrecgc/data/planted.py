"""The planted dataset: molecules rejected for a planted toxic group, so that the true recourses are known.

Toxic groups are defined by elements and connections only, because a graph classifier sees nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeVar, get_args

import numpy as np

from comrecgc.data.dataset import GraphDataset
from comrecgc.errors import InputError
from comrecgc.graphs import Graph, graph_key
from comrecgc.molecules import BOND_NAMES, FunctionalGroup, Molecule

Kind = Literal["nitro", "epoxide", "nitrosamine"]
KINDS: tuple[Kind, ...] = get_args(Kind)

PLANTED = "planted"
"""Name of the planted dataset."""

ELEMENTS = ("C", "O", "N", "S", "F", "Cl", "Br")
"""Label names of the planted dataset."""

C = ELEMENTS.index("C")
_VALENCE = (4, 2, 3, 2, 1, 1, 1)
_ORDERS = {"": 1, "=": 2, "#": 3}
_TOKEN = re.compile(r"([=#]?)(Cl|Br|[CONSF]|1)|([()])")
_T = TypeVar("_T")


class _Builder:
    """A molecule under construction."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.labels: list[int] = []
        self.bonds: list[tuple[int, int, int]] = []
        self.free: list[int] = []

    def add(self, label: int, to: int | None = None, order: int = 1) -> int:
        """A new atom, bound to an old one if given."""
        self.labels.append(label)
        self.free.append(_VALENCE[label])
        if to is not None:
            self.bind(len(self.labels) - 1, to, order)
        return len(self.labels) - 1

    def bind(self, i: int, j: int, order: int = 1) -> None:
        self.bonds.append((i, j, order))
        self.free[i] -= order
        self.free[j] -= order

    def grow(self, smiles: str, to: int | None) -> int:
        """Add the atoms of a SMILES (branches, at most one ring), the first bound to an old atom if given; returns the last."""
        branches, ring, last = list[int | None](), -1, to
        for bond, symbol, bracket in _TOKEN.findall(smiles):
            if bracket == "(":
                branches.append(last)
            elif bracket == ")":
                last = branches.pop()
            elif symbol != "1":
                last = self.add(ELEMENTS.index(symbol), last, _ORDERS[bond])
            elif ring < 0:
                ring = len(self.labels) - 1
            else:
                self.bind(len(self.labels) - 1, ring, _ORDERS[bond])
        return len(self.labels) - 1

    def decorate(self, groups: str) -> None:
        """Add groups, separated by dots, each bound to a site of its own."""
        for smiles in groups.split("."):
            self.grow(smiles, self.site(_ORDERS.get(smiles[0], 1)))

    def site(self, free: int = 1) -> int:
        """A carbon bound to carbons alone, with room for a bond of that order; a chain is grown if there is none."""
        open_carbons = [atom for atom in self._plain_carbons() if self.free[atom] >= free]
        if open_carbons:
            return pick(self.rng, open_carbons)
        return self.grow("CC", pick(self.rng, [atom for atom, room in enumerate(self.free) if room]))

    def saturated_bonds(self) -> list[tuple[int, int]]:
        """Bonds between carbons that are bound to carbons alone, by single bonds, with room at both ends."""
        unsaturated = {atom for i, j, order in self.bonds for atom in (i, j) if order > 1}
        plain = {atom for atom in self._plain_carbons() if self.free[atom]} - unsaturated
        return [(i, j) for i, j, _ in self.bonds if i in plain and j in plain]

    def _plain_carbons(self) -> list[int]:
        beside = {i for a, b, _ in self.bonds for i, j in ((a, b), (b, a)) if self.labels[j] != C}
        return [atom for atom, label in enumerate(self.labels) if label == C and atom not in beside]

    def graph(self) -> Graph:
        bonds = [(i, j) for i, j, _ in self.bonds]
        return Graph(self.labels, bonds, [order - 1 for _, _, order in self.bonds])


def pick(rng: np.random.Generator, options: Sequence[_T]) -> _T:
    """One of the options, each equally likely."""
    return options[int(rng.random() * len(options))]


def _nitro(molecule: _Builder) -> None:
    molecule.decorate("N(=O)O")
    molecule.free[-3] = molecule.free[-1] = 0  # both are charged: N has a fourth bond, O no second one


def _fused_epoxide(molecule: _Builder) -> None:
    """An oxygen across a bond between two carbons; a ring of its own where there is no such bond."""
    open_bonds = molecule.saturated_bonds()
    if not open_bonds:
        molecule.decorate("C1CO1")
        return
    i, j = pick(molecule.rng, open_bonds)
    molecule.bind(molecule.grow("O", i), j)


_BENZENE = "C1C=CC=CC=1"
_SKELETON = (_BENZENE, _BENZENE, "C1CCCCC1", "C1CCCC1", "C1C=NC=CC=1", "C1SC=CC=1", "CCCC", "CCCCCC")
_LINKERS = ("", "C", "CC", "O", "N", "S", "CO", "CN")

# In both classes.
_DECORATION = (
    "C", "CC", "F", "Cl", "Br", "SC", "O", "OC", "N", "=O", "C(=O)O", "C(=O)N", "C#N", "N(C)C", "=NO", "C1CC1", "C1COC1",
)  # fmt: skip

_TOXIC: dict[Kind, tuple[str | Callable[[_Builder], None], ...]] = {
    "nitro": (_nitro,),
    "epoxide": ("C1CO1", _fused_epoxide),
    "nitrosamine": ("N(C)N=O",),
}

# Harmless groups of the same atoms, for accepted molecules.
_HARMLESS: dict[Kind, tuple[str, ...]] = {
    "nitro": ("C(=O)O.N", "NC(=O)O", "C(=O)N.O", "=NO.O", "=NO.=O", "NOC.O"),
    "epoxide": ("C1COC1", "CCO", "OCC", "C1CC1.O", "C(=O)C"),
    "nitrosamine": ("NC(=O)N", "C(=O)NN", "NN.O", "N(C)C=O.N", "=NO.N", "NN.=O"),
}


def grow_molecule(rng: np.random.Generator, *, toxic: bool) -> Graph:
    """One molecule, with one or two toxic groups or with harmless ones of the same atoms."""
    molecule = _Builder(rng)
    molecule.grow(pick(rng, _SKELETON), None)
    for _ in range(pick(rng, (0, 1, 1, 2))):
        linker = pick(rng, _LINKERS)
        fragment = pick(rng, _SKELETON)
        molecule.grow(fragment, molecule.grow(linker, molecule.site()) if linker else molecule.site())
    for _ in range(pick(rng, (0, 1, 2, 3))):
        molecule.decorate(pick(rng, _DECORATION))
    for _ in range(pick(rng, (0, 0, 1) if toxic else (0, 1, 1, 2))):
        molecule.decorate(pick(rng, _HARMLESS[pick(rng, KINDS)]))
    for _ in range(pick(rng, (1, 1, 1, 2)) if toxic else 0):
        group = pick(rng, _TOXIC[pick(rng, KINDS)])
        if isinstance(group, str):
            molecule.decorate(group)
        else:
            group(molecule)
    return molecule.graph()


_NUM_NODES = range(10, 31)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class PlantedDataset(GraphDataset):
    """A dataset whose true recourses are known."""

    @cached_property
    def toxicophores(self) -> tuple[tuple[FunctionalGroup, ...], ...]:
        """The toxic groups of each graph; none in an accepted one."""
        return tuple(find_toxicophores(graph) for graph in self.graphs)

    def subset(self, indices: Iterable[int]) -> PlantedDataset:
        """The graphs at the given indices, in that order."""
        chosen = list(indices)
        return replace(self, graphs=tuple(self.graphs[i] for i in chosen), classes=self.classes[chosen])


def load_planted(seed: int = 0, *, num_graphs: int = 600, several: bool = False) -> PlantedDataset:
    """Molecules of 10 to 30 atoms, half of them rejected for a nitro group, an epoxide or a nitrosamine.

    Edits that take a graph's `toxicophores` away are the recourses that should be found. All molecules have different
    keys, so no two look the same to a message-passing network. The same seed gives the same molecules, whatever the machine. With `several` rejected molecules
    have two or more toxic groups, all of which must go, instead of one.
    """
    if seed < 0:
        raise InputError(f"seed must not be negative (got {seed})")
    if num_graphs < 2:
        raise InputError(f"num_graphs must be at least 2 (got {num_graphs})")
    rng = np.random.default_rng(seed)
    graphs: list[Graph] = []
    harmless: list[bool] = []
    seen: set[int] = set()
    while len(graphs) < num_graphs:
        toxic = len(graphs) % 2 == 0
        graph = grow_molecule(rng, toxic=toxic)
        key, found = graph_key(graph), find_toxicophores(graph)
        if graph.num_nodes in _NUM_NODES and key not in seen and (not toxic or (len(found) > 1) == several):
            graphs.append(graph)
            harmless.append(not found)
            seen.add(key)
    return PlantedDataset(
        name=PLANTED,
        graphs=tuple(graphs),
        classes=np.array(harmless, dtype=np.int8),
        label_names=ELEMENTS,
        class_names=("toxic", "harmless"),
        edge_label_names=BOND_NAMES[:3],
    )


def find_toxicophores(graph: Graph) -> tuple[FunctionalGroup, ...]:
    """Every nitro group, epoxide and nitrosamine in a graph over the planted dataset's elements, in node ids, sorted."""
    return tuple(sorted(group for group in Molecule(graph, ELEMENTS).groups if group.name in KINDS))
