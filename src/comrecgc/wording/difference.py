"""What a rule changes: its patterns before and after laid on each other; for molecules, also groups and hydrogens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from comrecgc.graphs import Graph, Pattern, Rule, Site, components, ordered_edge
from comrecgc.molecules import BOND_NAMES, Molecule, Substituent, are_types, count_hydrogens, name_substituent

Pair = tuple[int, int]


class Difference:
    """The two patterns of a rule over one numbering: nodes of `before` keep their numbers, new ones of `after` follow."""

    def __init__(self, rule: Rule, names: Sequence[str], edge_names: Sequence[str] | None) -> None:
        self.rule = rule
        number = {new: old for old, new in rule.kept}
        for new in range(len(rule.after.labels)):
            number.setdefault(new, len(rule.before.labels) + new - sum(k < new for k in rule.image.values()))
        self.old = {node: names[label] for node, label in enumerate(rule.before.labels)}
        self.new = {number[node]: names[label] for node, label in enumerate(rule.after.labels)}
        self.old_bonds = _named_bonds(rule.before, {node: node for node in self.old}, edge_names)
        self.new_bonds = _named_bonds(rule.after, number, edge_names)
        self.closed = {node for node in self.old if rule.closed[node]}

    @cached_property
    def kept(self) -> list[int]:
        return [node for node in self.old if node in self.new]

    @cached_property
    def removed(self) -> list[int]:
        return [node for node in self.old if node not in self.new]

    @cached_property
    def added(self) -> list[int]:
        return [node for node in self.new if node not in self.old]

    @cached_property
    def relabelled(self) -> list[int]:
        return [node for node in self.kept if self.old[node] != self.new[node]]

    @cached_property
    def around(self) -> dict[int, set[int]]:
        """Neighbours of every node in either pattern."""
        around: dict[int, set[int]] = {node: set() for node in (*self.old, *self.added)}
        for i, j in (*self.old_bonds, *self.new_bonds):
            around[i].add(j)
            around[j].add(i)
        return around

    @cached_property
    def changed_bonds(self) -> list[Pair]:
        """Edges that are added, removed or relabelled."""
        return sorted(
            pair
            for pair in {*self.old_bonds, *self.new_bonds}
            if (pair in self.old_bonds) != (pair in self.new_bonds) or self.old_bonds[pair] != self.new_bonds[pair]
        )

    def parts(self, nodes: Iterable[int]) -> list[set[int]]:
        """Connected parts of some nodes over the edges of either pattern, in the order of their smallest node."""
        return list(map(set, components(nodes, self.around)))

    def hanging(self, anchors: Iterable[int]) -> Iterator[tuple[int, set[int]]]:
        """Pairs of a kept node and a changed group that hangs on it, if the pattern shows the whole group."""
        ends = {node for pair in self.changed_bonds for node in pair}
        changed = {*self.removed, *self.added, *self.relabelled, *ends}
        for anchor in anchors:
            for part in self.parts(set(self.around) - {anchor}):
                known = all(node in self.closed or node in self.added for node in part)
                if known and part & self.around[anchor] and part & changed and self._is_one_group(anchor, part):
                    yield anchor, part

    def _is_one_group(self, anchor: int, part: set[int]) -> bool:
        """Whether the part hangs on one edge and is connected, before and after."""
        for names, bonds in ((self.old, self.old_bonds), (self.new, self.new_bonds)):
            nodes = {node for node in part if node in names}
            ties = [node for node in nodes if ordered_edge(anchor, node) in bonds]
            around: dict[int, list[int]] = {node: [] for node in nodes}
            for i, j in (pair for pair in bonds if set(pair) <= nodes):
                around[i].append(j)
                around[j].append(i)
            if nodes and (len(ties) != 1 or len(components(nodes, around)) != 1):
                return False
        return True


def _named_bonds(pattern: Pattern, number: dict[int, int], names: Sequence[str] | None) -> dict[Pair, str | None]:
    known = None if pattern.edge_labels is None else names
    return {
        ordered_edge(number[i], number[j]): None if known is None else known[label]
        for (i, j), label in pattern.bonds.items()
    }


# Rules of molecules: what hangs on each atom before and after, how many hydrogens it has, and where the rule was carried out.


MOST_PLACES = 25
"""Most molecules that are inspected, at a millisecond each."""


@dataclass
class Exchange:
    """Groups on one atom that a rule removes and adds, hydrogens added less those removed, and all nodes of these groups; roots are next to the atom."""

    lost: list[Substituent] = field(default_factory=list)
    gained: list[Substituent] = field(default_factory=list)
    hydrogens: int = 0
    nodes: set[int] = field(default_factory=set)
    roots: set[int] = field(default_factory=set)


class ChangedMolecule(Difference):
    """The difference that a rule makes to molecules, some of which it was carried out on; if no label is hydrogen, hydrogens fill the valences."""

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
        """The first molecules the rule was carried out on, each with the atom of every node of the rule."""
        return [
            (
                Molecule(graph, self._label_names, self._edge_label_names),
                {node: int(graph.ids[place]) for node, place in enumerate(site)},
            )
            for graph, site in self.sites
        ]

    @property
    def many(self) -> bool:
        """Whether there are more molecules than are inspected."""
        return self.num_places > len(self.sites)

    def shows(self, node: int) -> bool:
        """Whether the context of the rule shows all neighbours of an atom."""
        return node in self.closed and self.rule.radius > 0

    @cached_property
    def exchanges(self) -> dict[int, Exchange]:
        """What is exchanged on each atom, in groups as large as the pattern shows them whole."""
        exchanges: dict[int, Exchange] = {}
        taken: set[int] = set()
        found = self.hanging(node for node in self.kept if self.old[node] != "H")
        for anchor, group in sorted(found, key=lambda item: (-len(item[1]), item[0], sorted(item[1]))):
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

    def _substituent(self, anchor: int, group: set[int], *, new: bool) -> Substituent | None:
        names, bonds = (self.new, self.new_bonds) if new else (self.old, self.old_bonds)
        elements = {node: names[node] for node in sorted(group) if node in names}
        if not elements:
            return None
        root = next(node for node in elements if ordered_edge(anchor, node) in bonds)
        inner = {pair: name for pair, name in bonds.items() if set(pair) <= set(elements)}
        bond = bonds[ordered_edge(anchor, root)]
        guessed = self.fills and not self.typed
        if guessed and len(elements) == 1 and (names[anchor], names[root], bond) == ("N", "O", "single"):
            return Substituent("–O", None, is_atom=True)  # nitro group or hydroxy: the pattern does not show which
        return name_substituent(elements, inner, root, bond, fill=self.fills)

    def is_hanging(self, node: int) -> bool:
        """Whether an atom belongs to a group that is exchanged."""
        return any(node in exchange.nodes for exchange in self.exchanges.values())

    def hydrogens(self, node: int, *, new: bool) -> int:
        """Number of hydrogens that the pattern shows on an atom."""
        names, bonds = (self.new, self.new_bonds) if new else (self.old, self.old_bonds)
        if self.fills and not (self.shows(node) and self.bonds_known):
            return 0
        near = {other for other in self.around[node] if ordered_edge(node, other) in bonds} | {node}
        further = {
            other for close in near for other in self.around[close] if ordered_edge(close, other) in bonds
        } | near
        elements = {other: names[other] for other in further}
        inner = {pair: name for pair, name in bonds.items() if set(pair) <= further}
        return count_hydrogens(elements, inner, {}, fill=self.fills).get(node, 0)  # a hydrogen has none of its own
