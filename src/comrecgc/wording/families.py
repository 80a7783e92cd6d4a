"""The families of compounds that a rule speaks of: acids, alcohols, amides; from its pattern where that shows enough, else from molecules."""

from __future__ import annotations

from collections import Counter
from functools import cached_property

import numpy as np

from comrecgc.graphs import Graph
from comrecgc.molecules import BOND_NAMES, Molecule, element_of, family_of
from comrecgc.wording.changed_molecule import ChangedMolecule
from comrecgc.wording.difference import Pair, pair_of
from comrecgc.wording.english import listed, plural

WHOLE = frozenset(
    {
        "carboxylic acid",
        "aromatic carboxylic acid",
        "primary alcohol",
        "secondary alcohol",
        "tertiary alcohol",
        "primary benzylic alcohol",
    }
)
"""Families that say all of the exact surroundings of the carbon which carries the hydroxy."""

_MOSTLY = 0.6
_HETERO = ("N", "O")


class Families:
    """Families of the atoms of a rule.

    Args:
        changed: The rule.
    """

    def __init__(self, changed: ChangedMolecule) -> None:
        self._d = changed

    def leaving(self, anchor: int, roots: set[int]) -> str:
        """The family that a group which goes makes of an atom: "carboxylic acid" where a hydroxy leaves the carbon of one."""
        if not self._d.typed or self._d.rule.radius == 0:
            return ""
        found = [root for root in sorted(roots) if root in self._d.old and pair_of(anchor, root) in self._d.old_bonds]
        if len(found) != 1 or not self._shows(found[0], anchor):
            return ""
        return family_of(self._before, found[0]) or ""

    def given(self, anchor: int, roots: set[int]) -> str:
        """The family that a group which comes makes of it: "amide"."""
        found = [root for root in sorted(roots) if root in self._d.new and pair_of(anchor, root) in self._d.new_bonds]
        if len(found) != 1:
            return ""
        name = (
            family_of(self._after, found[0])
            if element_of(self._d.new[found[0]]) in _HETERO
            else family_of(self._after, anchor)
        )
        return name or ""

    def note(self, node: int) -> str:
        """What an atom that stays is in the molecules: " (amides)", " (mostly esters)", or nothing."""
        if not self._d.typed or self._d.rule.radius == 0 or element_of(self._d.old[node]) not in _HETERO:
            return ""
        if self._shows(node, *self._d.around[node]):
            family = family_of(self._before, node)
            return f" ({family})" if family else ""
        counts = Counter(family_of(molecule, atom[node]) for molecule, atom in self._d.molecules)
        ranked = sorted(((count, name) for name, count in counts.items() if name), key=lambda item: (-item[0], item[1]))
        if len(self._d.molecules) < 2 or not ranked:
            return ""  # one place says nothing of others
        if ranked[0][0] == len(self._d.molecules):
            return f" ({plural(ranked[0][1])})"
        if ranked[0][0] >= _MOSTLY * len(self._d.molecules):
            return f" (mostly {plural(ranked[0][1])})"
        both = sum(count for count, _ in ranked[:2]) == len(self._d.molecules)
        return f" ({listed([plural(name) for _, name in ranked])})" if both else ""

    def _shows(self, *nodes: int) -> bool:
        """Whether the pattern shows all neighbours of some nodes."""
        return all(node in self._d.closed or node in self._d.removed for node in nodes if node in self._d.old)

    @cached_property
    def _before(self) -> Molecule:
        return _molecule(self._d.old, self._d.old_bonds)

    @cached_property
    def _after(self) -> Molecule:
        return _molecule(self._d.new, self._d.new_bonds)


def _molecule(atoms: dict[int, str], bonds: dict[Pair, str | None]) -> Molecule:
    """A pattern as a molecule whose atoms have the numbers of its nodes."""
    order = sorted(atoms)
    place = {node: k for k, node in enumerate(order)}
    names = list(
        dict.fromkeys([*(atoms[node] for node in order), "c"])
    )  # with a type, so that labels say what is aromatic
    pairs = sorted(bonds)
    graph = Graph(
        [names.index(atoms[node]) for node in order],
        [(place[i], place[j]) for i, j in pairs],
        [BOND_NAMES.index(bonds[pair] or "single") for pair in pairs],
    )
    ids = np.array(order, np.int32)
    numbered = Graph.assemble(graph.labels, graph.edges, graph.edge_labels, ids, order[-1] + 1)
    return Molecule(numbered, names, BOND_NAMES)
