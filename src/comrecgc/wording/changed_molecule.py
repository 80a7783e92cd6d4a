"""A rule of molecules: what hangs on its atoms before and after, how many hydrogens they have, and where it was carried out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from comrecgc.graphs import Graph, Rule, Site
from comrecgc.molecules import BOND_NAMES, Molecule, Substituent, are_types, count_hydrogens
from comrecgc.wording.difference import Difference, pair_of
from comrecgc.wording.molecule_groups import named_group

MOST_PLACES = 25
"""Molecules that are looked at, a millisecond each."""


@dataclass
class Exchange:
    """What hangs on an atom before and after.

    Args:
        lost: Groups that go.
        gained: Groups that come.
        hydrogens: Hydrogens that come, less those that go.
        nodes: All of them.
        roots: Those of them next to the atom.
    """

    lost: list[Substituent] = field(default_factory=list)
    gained: list[Substituent] = field(default_factory=list)
    hydrogens: int = 0
    nodes: set[int] = field(default_factory=set)
    roots: set[int] = field(default_factory=set)


class ChangedMolecule(Difference):
    """A rule of molecules.

    Args:
        rule: The rule.
        label_names: Atom behind each node label; hydrogens fill the valences where they are none of them.
        edge_label_names: Name of each edge label, if edges have labels.
        places: Molecules with the places where it was carried out there.
    """

    def __init__(
        self,
        rule: Rule,
        label_names: Sequence[str],
        edge_label_names: Sequence[str] | None,
        places: Sequence[tuple[Graph, Site]] = (),
    ) -> None:
        super().__init__(rule, label_names, edge_label_names)
        self._label_names, self._edge_label_names = label_names, edge_label_names
        self.num_places = len(places)
        self.sites = places[:MOST_PLACES]
        bonds = {*self.old_bonds.values(), *self.new_bonds.values()}
        self.bonds_known = bool(bonds) and bonds <= set(BOND_NAMES)
        self.typed = are_types(label_names)
        self.fills = self.typed or "H" not in label_names

    @cached_property
    def molecules(self) -> list[tuple[Molecule, dict[int, int]]]:
        """The first molecules it was carried out on, and the atom there of each of its nodes."""
        return [
            (
                Molecule(graph, self._label_names, self._edge_label_names),
                {node: int(graph.ids[place]) for node, place in enumerate(site)},
            )
            for graph, site in self.sites
        ]

    @property
    def many(self) -> bool:
        """Whether there are more places than are looked at."""
        return self.num_places > len(self.sites)

    def shows(self, node: int) -> bool:
        """Whether the pattern knows all neighbours of an atom, as its surroundings."""
        return node in self.closed and self.rule.radius > 0

    @cached_property
    def exchanges(self) -> dict[int, Exchange]:
        """What is exchanged on each atom, in groups as large as the pattern knows them whole."""
        exchanges: dict[int, Exchange] = {}
        taken: set[int] = set()
        for anchor, group in self._hanging_groups():
            if taken & group or anchor in taken or any(other in group for other in exchanges):
                continue
            exchange = exchanges.setdefault(anchor, Exchange())
            taken |= group
            exchange.nodes |= group
            exchange.roots |= group & self.around[anchor]
            old, new = self._substituent(anchor, group, new=False), self._substituent(anchor, group, new=True)
            exchange.hydrogens += sum(
                sign for sign, found in ((-1, old), (1, new)) if found and found.name == "hydrogen"
            )
            exchange.lost += [old] if old and old.name != "hydrogen" else []
            exchange.gained += [new] if new and new.name != "hydrogen" else []
        return exchanges

    def _hanging_groups(self) -> Iterator[tuple[int, set[int]]]:
        """Groups that change, the largest first."""
        found = self.hanging(node for node in self.kept if self.old[node] != "H")
        yield from sorted(found, key=lambda item: (-len(item[1]), item[0], sorted(item[1])))

    def _substituent(self, anchor: int, group: set[int], *, new: bool) -> Substituent | None:
        names, bonds = (self.new, self.new_bonds) if new else (self.old, self.old_bonds)
        elements = {node: names[node] for node in sorted(group) if node in names}
        if not elements:
            return None
        root = next(node for node in elements if pair_of(anchor, node) in bonds)
        inner = {pair: name for pair, name in bonds.items() if set(pair) <= set(elements)}
        bond = bonds[pair_of(anchor, root)]
        guessed = self.fills and not self.typed
        if guessed and len(elements) == 1 and (names[anchor], names[root], bond) == ("N", "O", "single"):
            return Substituent("–O", None, is_atom=True)  # of a nitro group or a hydroxy: the pattern does not say
        return named_group(elements, inner, root, bond, fill=self.fills)

    def is_hanging(self, node: int) -> bool:
        """Whether an atom is of a group that is exchanged."""
        return any(node in exchange.nodes for exchange in self.exchanges.values())

    def hydrogens(self, node: int, *, new: bool) -> int:
        """Hydrogens that the pattern knows on an atom."""
        names, bonds = (self.new, self.new_bonds) if new else (self.old, self.old_bonds)
        if self.fills and not (self.shows(node) and self.bonds_known):
            return 0
        near = {other for other in self.around[node] if pair_of(node, other) in bonds} | {node}
        further = {other for close in near for other in self.around[close] if pair_of(close, other) in bonds} | near
        elements = {other: names[other] for other in further}
        inner = {pair: name for pair, name in bonds.items() if set(pair) <= further}
        return count_hydrogens(elements, inner, {}, fill=self.fills).get(node, 0)  # a hydrogen has none of its own
