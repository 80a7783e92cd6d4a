"""How the molecules of the planted dataset are put together.

A skeleton of rings and chains is decorated with harmless groups and then, for a rejected molecule, with one or two
toxic groups; for an accepted one with harmless groups of the same atoms in their place. So neither the presence nor
the number of any element tells the classes apart: only how atoms are joined does.

Double bonds are drawn in place (Kekulé form) and hydrogens are implicit. All chance comes from `Generator.random`,
whose doubles are the plain top bits of the bit stream, so that the same seed gives the same molecules everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeVar, get_args

import numpy as np

from comrecgc.graphs import Graph

Kind = Literal["nitro", "epoxide", "nitrosamine"]
KINDS: tuple[Kind, ...] = get_args(Kind)

ELEMENTS = ("C", "O", "N", "S", "F", "Cl", "Br")
"""Label names of the planted dataset."""

C, O, N, S, F, CL, BR = range(len(ELEMENTS))
_VALENCE = {C: 4, O: 2, N: 3, S: 2, F: 1, CL: 1, BR: 1}
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

    def chain(self, labels: Sequence[int], to: int | None = None) -> int:
        """Atoms in a row of single bonds; the last one."""
        last = to
        for label in labels:
            last = self.add(label, last)
        assert last is not None
        return last

    def ring(self, labels: Sequence[int], orders: Sequence[int], to: int | None = None) -> None:
        """A ring whose first atom is bound to an old one if given; `orders[i]` is the bond after atom `i`."""
        atoms = [self.add(labels[0], to)]
        for label, order in zip(labels[1:], orders[:-1], strict=True):
            atoms.append(self.add(label, atoms[-1], order))
        self.bind(atoms[-1], atoms[0], orders[-1])

    def site(self, free: int = 1) -> int:
        """A carbon bound to carbons alone, with room for a bond of that order; a chain grows where there is none."""
        open_carbons = [atom for atom in self._plain_carbons() if self.free[atom] >= free]
        if open_carbons:
            return pick(self.rng, open_carbons)
        return self.chain([C, C], pick(self.rng, [atom for atom, room in enumerate(self.free) if room]))

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
    """One of the options, evenly."""
    return options[int(rng.random() * len(options))]


Group = Callable[[_Builder], object]
Fragment = Callable[[_Builder, int | None], object]


def _chain(*labels: int) -> Group:
    return lambda molecule: molecule.chain(labels, molecule.site())


def _ring(labels: Sequence[int], orders: Sequence[int]) -> Fragment:
    return lambda molecule, to: molecule.ring(labels, orders, to)


def _carbonyl(*then: int) -> Group:
    """A new C=O, bound on by a single bond, with further atoms in a row behind it."""

    def grow(molecule: _Builder) -> None:
        carbon = molecule.add(C, molecule.site())
        molecule.add(O, carbon, 2)
        molecule.chain(then, carbon)

    return grow


def _both(*groups: Group) -> Group:
    def grow(molecule: _Builder) -> None:
        for group in groups:
            group(molecule)

    return grow


def _ring_group(labels: Sequence[int]) -> Group:
    """A saturated ring as a substituent."""
    return lambda molecule: molecule.ring(labels, [1] * len(labels), molecule.site())


def _ketone(molecule: _Builder) -> None:
    molecule.add(O, molecule.site(2), 2)


def _oxime(molecule: _Builder) -> None:
    molecule.add(O, molecule.add(N, molecule.site(2), 2))


def _nitrile(molecule: _Builder) -> None:
    molecule.add(N, molecule.add(C, molecule.site()), 3)


def _dimethylamine(molecule: _Builder) -> None:
    nitrogen = molecule.add(N, molecule.site())
    molecule.add(C, nitrogen)
    molecule.add(C, nitrogen)


def _urea(molecule: _Builder) -> None:
    carbon = molecule.chain([N, C], molecule.site())
    molecule.add(O, carbon, 2)
    molecule.add(N, carbon)


def _carbamic_acid(molecule: _Builder) -> None:
    carbon = molecule.chain([N, C], molecule.site())
    molecule.add(O, carbon, 2)
    molecule.add(O, carbon)


def _formamide(molecule: _Builder) -> None:
    nitrogen = molecule.chain([N], molecule.site())
    molecule.add(C, nitrogen)
    molecule.add(O, molecule.add(C, nitrogen), 2)


def _nitro(molecule: _Builder) -> None:
    nitrogen = molecule.add(N, molecule.site())
    molecule.add(O, nitrogen, 2)
    molecule.free[nitrogen] = 1  # charged, so it carries a fourth bond
    molecule.free[molecule.add(O, nitrogen)] = 0  # charged too, so it carries no second one


def _nitrosamine(molecule: _Builder) -> None:
    amine = molecule.add(N, molecule.site())
    molecule.add(C, amine)
    molecule.add(O, molecule.add(N, amine), 2)


def _fused_epoxide(molecule: _Builder) -> None:
    """An oxygen across a bond between two carbons; a ring of its own where there is no such bond."""
    open_bonds = molecule.saturated_bonds()
    if not open_bonds:
        _ring_group([C, C, O])(molecule)
        return
    i, j = pick(molecule.rng, open_bonds)
    molecule.bind(molecule.add(O, i), j)


_hydroxyl, _amine, _methoxy, _acid, _amide = _chain(O), _chain(N), _chain(O, C), _carbonyl(O), _carbonyl(N)

_SKELETON: tuple[Fragment, ...] = (
    _ring([C] * 6, [1, 2] * 3),  # benzene
    _ring([C] * 6, [1, 2] * 3),
    _ring([C] * 6, [1] * 6),  # cyclohexane
    _ring([C] * 5, [1] * 5),  # cyclopentane
    _ring([C, C, N, C, C, C], [1, 2] * 3),  # pyridine
    _ring([C, S, C, C, C], [1, 1, 2, 1, 2]),  # thiophene
    lambda molecule, to: molecule.chain([C] * 4, to),
    lambda molecule, to: molecule.chain([C] * 6, to),
)
_LINKERS: tuple[tuple[int, ...], ...] = ((), (C,), (C, C), (O,), (N,), (S,), (C, O), (C, N))

# In both classes.
_DECORATION: tuple[Group, ...] = (
    _chain(C), _chain(C, C), _chain(F), _chain(CL), _chain(BR), _chain(S, C), _hydroxyl, _methoxy, _amine, _ketone,
    _acid, _amide, _nitrile, _dimethylamine, _oxime, _ring_group([C] * 3), _ring_group([C, C, O, C]),
)  # fmt: skip

_TOXIC: dict[Kind, tuple[Group, ...]] = {
    "nitro": (_nitro,),
    "epoxide": (_ring_group([C, C, O]), _fused_epoxide),
    "nitrosamine": (_nitrosamine,),
}

# The same atoms, harmlessly: stands in an accepted molecule where a rejected one has the toxic group.
_HARMLESS: dict[Kind, tuple[Group, ...]] = {
    "nitro": (
        _both(_acid, _amine), _carbamic_acid, _both(_amide, _hydroxyl), _both(_oxime, _hydroxyl),
        _both(_oxime, _ketone), _both(_chain(N, O, C), _hydroxyl),
    ),
    "epoxide": (
        _ring_group([C, C, O, C]), _chain(C, C, O), _chain(O, C, C), _both(_ring_group([C] * 3), _hydroxyl),
        _carbonyl(C),
    ),
    "nitrosamine": (
        _urea, _carbonyl(N, N), _both(_chain(N, N), _hydroxyl), _both(_formamide, _amine), _both(_oxime, _amine),
        _both(_chain(N, N), _ketone),
    ),
}  # fmt: skip


def grow_molecule(rng: np.random.Generator, *, toxic: bool) -> Graph:
    """One molecule, with one or two toxic groups or with harmless ones of the same atoms."""
    molecule = _Builder(rng)
    pick(rng, _SKELETON)(molecule, None)
    for _ in range(pick(rng, (0, 1, 1, 2))):
        linker = pick(rng, _LINKERS)
        pick(rng, _SKELETON)(molecule, molecule.chain(linker, molecule.site()) if linker else molecule.site())
    for _ in range(pick(rng, (0, 1, 2, 3))):
        pick(rng, _DECORATION)(molecule)
    for _ in range(pick(rng, (0, 0, 1) if toxic else (0, 1, 1, 2))):
        pick(rng, _HARMLESS[pick(rng, KINDS)])(molecule)
    for _ in range(pick(rng, (1, 1, 1, 2)) if toxic else 0):
        pick(rng, _TOXIC[pick(rng, KINDS)])(molecule)
    return molecule.graph()
