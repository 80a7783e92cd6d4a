"""The difference between the patterns of a rule, over one numbering; for molecules also groups, families of compounds and hydrogens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from comrecgc import molecules as chemistry
from comrecgc.graphs import Graph, Pattern, Rule, Site, components, ordered_edge
from comrecgc.molecules import BOND_NAMES, Molecule, Substituent, are_types, element_of, read_atom
from comrecgc.wording.english import join_words, number, plural, several, with_article

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


def ring_size(around: Mapping[int, Iterable[int]], start: int, goal: int) -> int:
    """Nodes of the smallest ring that the edge between two nodes is part of, or would be; 0 if it is a bridge."""
    reached, size = {start}, 1
    while goal not in reached:
        grown = {other for node in reached for other in around[node] if {node, other} != {start, goal}} | reached
        if len(grown) == len(reached):
            return 0
        reached, size = grown, size + 1
    return size


# Rules of molecules: what hangs on each atom before and after, how many hydrogens it has, and where the rule was carried out.


MOST_PLACES = 25  # most molecules that are inspected, at a millisecond each


@dataclass
class Exchange:
    """Groups on one atom that a rule removes and adds, hydrogens added less those removed, and all nodes of these groups; roots are next to the atom."""

    lost: list[Substituent] = field(default_factory=list)
    gained: list[Substituent] = field(default_factory=list)
    hydrogens: int = 0
    nodes: set[int] = field(default_factory=set)
    roots: set[int] = field(default_factory=set)


class ChangedMolecule(Difference):
    """The difference that a rule makes to molecules, with some that it was carried out on; if no label is hydrogen, hydrogens fill the valences."""

    def __init__(
        self, rule: Rule, label_names: Sequence[str], edge_label_names: Sequence[str] | None,
        places: Sequence[tuple[Graph, Site]] = (),
    ) -> None:  # fmt: skip
        super().__init__(rule, label_names, edge_label_names)
        self._label_names, self._edge_label_names = label_names, edge_label_names
        self.num_places = len(places)
        self.sites, self.many = places[:MOST_PLACES], len(places) > MOST_PLACES
        bonds = {*self.old_bonds.values(), *self.new_bonds.values()}
        self.bonds_known = bool(bonds) and bonds <= set(BOND_NAMES)
        self.typed = are_types(label_names)
        self.fills = self.typed or "H" not in label_names

    @cached_property
    def molecules(self) -> list[tuple[Molecule, dict[int, int]]]:
        """The first molecules the rule was carried out on, each with the atom of every node of the rule."""
        names, kinds = self._label_names, self._edge_label_names
        return [
            (Molecule(graph, names, kinds), {node: int(graph.ids[place]) for node, place in enumerate(site)})
            for graph, site in self.sites
        ]

    def shows(self, node: int) -> bool:
        """Whether the context of the rule shows all neighbours of an atom."""
        return node in self.closed and self.rule.radius > 0

    @cached_property
    def exchanges(self) -> dict[int, Exchange]:
        """The groups exchanged on each atom, as large as the pattern shows them completely."""
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
            for hung, listed, sign in ((old, exchange.lost, -1), (new, exchange.gained, 1)):
                if hung and hung.name == "hydrogen":
                    exchange.hydrogens += sign
                elif hung:
                    listed.append(hung)
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
        return chemistry.name_substituent(elements, inner, root, bond, fill=self.fills)

    def is_hanging(self, node: int) -> bool:
        """Whether an atom belongs to a group that is exchanged."""
        return any(node in exchange.nodes for exchange in self.exchanges.values())

    def hydrogens(self, node: int, *, new: bool) -> int:
        """Number of hydrogens that the pattern shows on an atom."""
        names, bonds = (self.new, self.new_bonds) if new else (self.old, self.old_bonds)
        if self.fills and not (self.shows(node) and self.bonds_known):
            return 0
        further = {node}
        for _ in range(2):
            further |= {other for one in further for other in self.around[one] if ordered_edge(one, other) in bonds}
        elements = {other: names[other] for other in further}
        inner = {pair: name for pair, name in bonds.items() if set(pair) <= further}
        return chemistry.count_hydrogens(elements, inner, {}, fill=self.fills).get(
            node, 0
        )  # a hydrogen has none of its own


# Groups and families of compounds that a rule changes, by name: from its pattern where that shows them whole, else from molecules.


ELEMENTS = {
    "H": "hydrogen", "B": "boron", "C": "carbon", "N": "nitrogen", "O": "oxygen", "F": "fluorine", "Na": "sodium",
    "Mg": "magnesium", "Si": "silicon", "P": "phosphorus", "S": "sulfur", "Cl": "chlorine", "K": "potassium",
    "Ca": "calcium", "Zn": "zinc", "As": "arsenic", "Se": "selenium", "Br": "bromine", "Sn": "tin", "I": "iodine",
    "Hg": "mercury", "Pb": "lead", "Cu": "copper", "Fe": "iron", "Pt": "platinum", "Li": "lithium", "Al": "aluminium",
    "*": "unknown atom",
}  # fmt: skip


def element_word(name: str) -> str:
    """An atom in a word: "carbon", "charged nitrogen"."""
    atom, symbol = read_atom(name), element_of(name)
    return ("charged " if atom and atom.charge else "") + ELEMENTS.get(symbol, symbol)


def symbol_of(name: str) -> str:
    """An atom in a formula: "C", "N⁺"."""
    atom = read_atom(name)
    return element_of(name) + (chemistry.charge_sign(atom.charge) if atom else "")


def is_aromatic(name: str) -> bool:
    """Whether an atom type is that of an aromatic ring."""
    atom = read_atom(name)
    return atom is not None and atom.is_aromatic


Wordiness = Literal["full", "long", "middle", "short"]
"""The amount of surroundings that a sentence describes."""


def write_groups(groups: Sequence[Substituent], wordiness: Wordiness) -> str:
    """Groups as the sentence calls them: "nitro (–NO2)", "a nitro group (–NO2)", "two –F"."""
    texts = []
    for group, count in Counter(groups).items():
        if group.is_atom and group.formula in ELEMENTS:
            texts.append(several(element_word(group.formula), count))
        elif group.is_ring and group.name and wordiness in ("middle", "short"):
            texts.append(group.name if count == 1 else f"{number(count)} {group.name}")
        elif group.name is None or wordiness in ("middle", "short"):
            texts.append(group.formula if count == 1 else f"{number(count)} {group.formula}")
        elif wordiness == "full":
            texts.append(f"{several(f'{group.name} group', count)} ({group.formula})")
        else:
            texts.append(f"{group.name if count == 1 else f'{number(count)} {group.name}'} ({group.formula})")
    return join_words(texts) if texts else ""


def add_note(text: str, note: str) -> str:
    """A text with a note, in one pair of brackets: "oxiranyl (–C2H3O, an epoxide)"."""
    if not note:
        return text
    return f"{text.removesuffix(')')}, {note})" if text.endswith(")") and " (" in text else f"{text} ({note})"


_MOST_SHARE = 0.6  # least share of molecules with a group for it to be named
_LEAST_SHARE = 0.1  # least share of molecules with either of two groups for both to be named
_FEWEST_PLACES = 5  # least number of molecules for a statement on all of them
# Groups that a formula must not hide, with the part of a larger group's name that reveals them.
_TELLING = {"nitro group": "nitro", "azide": "azid", "aziridine": "aziridin"} | {
    name: name for name in ("epoxide", "nitrosamine")
}
_ADJECTIVES = frozenset({"nitro", "nitroso", "azo", "carboxyl", "trifluoromethyl", "methoxy", "sulfonyl"})


class FunctionalGroups:
    """Functional groups at the atoms that a rule changes."""

    def __init__(self, changed: ChangedMolecule) -> None:
        self._d = changed

    def group_containing(self, nodes: set[int]) -> str:
        """Name of the group that contains these atoms, if the pattern shows all of it; else empty."""
        return next((name for name, atoms in self._shown if nodes <= atoms), "")

    def between(self, anchor: int, nodes: set[int]) -> str:
        """Name of the group that contains an atom and some of the given nodes, if the pattern shows all of it; else empty."""
        return next((name for name, atoms in self._shown if anchor in atoms and atoms & nodes), "")

    def within(self, nodes: set[int], lost: Sequence[Substituent]) -> str:
        """Groups inside removed ones whose names do not reveal them: "an epoxide"."""
        said = " ".join(f"{group.name}" for group in lost)
        found = [
            name for name, atoms in self._shown if atoms <= nodes and name in _TELLING and _TELLING[name] not in said
        ]
        return join_words([several(name, count) for name, count in Counter(found).items()]) if found else ""

    @property
    def at_most_places(self) -> str:
        """A sentence on the group that the rule changes in most molecules, if its pattern does not show it; else empty."""
        counts, places = self._at_places
        name, count = max(counts.items(), key=lambda item: (item[1], item[0]), default=("", 0))
        if count < 2 or count < _MOST_SHARE * places:
            return ""
        first = "first " if self._d.many else ""
        return f"It changes {with_article(_noun(name))} in {count} of the {first}{places} molecules covered."

    @property
    def at_all_places(self) -> str:
        """At most two groups, one of which the rule changes in every molecule: " of a nitro group or a nitrosamine"; else empty."""
        counts, places = self._at_places
        seen = {name: count for name, count in counts.items() if count >= _LEAST_SHARE * places}
        if places < _FEWEST_PLACES or len(seen) not in (1, 2) or counts.total() != places:
            return ""
        if self._d.rule.num_changes > 1:
            return ""
        return f" of {' or '.join(with_article(_noun(name)) for name in sorted(seen))}"

    @cached_property
    def _at_places(self) -> tuple[Counter[str], int]:
        """Number of molecules in which each group is changed, and number of molecules inspected."""
        d = self._d
        cut = {node for pair in d.changed_bonds if pair in d.old_bonds for node in pair if node in d.old}
        changed = {*d.removed, *d.relabelled, *cut}
        counts: Counter[str] = Counter()
        # One site is not enough to generalise.
        molecules = d.molecules if changed and d.num_places > 1 and not self._shown else []
        for molecule, atom in molecules:
            nodes = {atom[node] for node in changed}
            counts.update({it.name for it in molecule.groups if len(it.nodes) > 2 and it.atoms & nodes})
        return counts, len(molecules)

    @cached_property
    def _shown(self) -> list[tuple[str, frozenset[int]]]:
        """Groups that the pattern shows whole, with their nodes."""
        d, before = self._d, self._d.rule.before
        names = list(dict.fromkeys(d.old.values()))
        kinds = BOND_NAMES if d.bonds_known else None
        pairs = sorted(d.old_bonds)
        labels = None if kinds is None else [kinds.index(d.old_bonds[pair] or "") for pair in pairs]
        graph = Graph([names.index(d.old[node]) for node in range(len(before.labels))], pairs, labels)
        found = []
        for group in Molecule(graph, names, kinds).groups:
            rings = ("epoxide", "aziridine")
            whole = group.nodes[1:] if group.name in ("nitrosamine", "amide", *rings) else group.nodes
            sure = group.name in rings or all(node in d.closed or self._is_full(node) for node in whole)
            if sure and len(group.nodes) > 1:
                found.append((_noun(group.name), group.atoms))
        return found

    def _is_full(self, node: int) -> bool:
        """Whether an atom that the pattern leaves open can have no further neighbours."""
        d = self._d
        orders = [chemistry.bond_order(bond) for pair, bond in d.old_bonds.items() if node in pair]
        atom = read_atom(d.old[node])
        allowed = atom.valences if atom else ()
        full = max(allowed, default=9) - (1 if d.old[node] == "O" and self._beside_charged(node) else 0)
        return d.bonds_known and sum(orders) >= full

    def _beside_charged(self, node: int) -> bool:
        """Whether this is the only oxygen on a single bond to a nitrogen of four bonds, as the O– of a nitro group is."""
        d = self._d
        for nitrogen in (other for other in d.around[node] if d.old.get(other) == "N"):
            bonds = {sum(pair) - nitrogen: bond for pair, bond in d.old_bonds.items() if nitrogen in pair}
            single = [other for other, bond in bonds.items() if d.old[other] == "O" and bond == "single"]
            if single == [node] and sum(map(chemistry.bond_order, bonds.values())) == chemistry.CHARGED_NITROGEN:
                return True
        return False


def _noun(name: str) -> str:
    return f"{name} group" if name in _ADJECTIVES else name


# Families of compounds that a rule concerns, such as acids, alcohols and amides: from its pattern where that shows enough, else from molecules.


_ALCOHOLS = ("primary alcohol", "secondary alcohol", "tertiary alcohol", "primary benzylic alcohol")
# Families that determine the exact surroundings of the carbon that carries the hydroxy.
WHOLE = frozenset({"carboxylic acid", "aromatic carboxylic acid", *_ALCOHOLS})

_MOSTLY = 0.6
_HETERO = ("N", "O")


class Families:
    """Families of compounds at the atoms of a rule."""

    def __init__(self, changed: ChangedMolecule) -> None:
        self._d = changed

    def leaving(self, anchor: int, roots: set[int]) -> str:
        """Family that an atom belongs to by the group that is removed: "carboxylic acid" if that is the hydroxy of one; else empty."""
        d = self._d
        found = [root for root in sorted(roots) if root in d.old and ordered_edge(anchor, root) in d.old_bonds]
        if not d.typed or d.rule.radius == 0 or len(found) != 1 or not self._shows(found[0], anchor):
            return ""
        return chemistry.family_of(self._before, found[0]) or ""

    def given(self, anchor: int, roots: set[int]) -> str:
        """Family that the added group makes of an atom: "amide"; else empty."""
        d = self._d
        found = [root for root in sorted(roots) if root in d.new and ordered_edge(anchor, root) in d.new_bonds]
        if len(found) != 1:
            return ""
        return chemistry.family_of(self._after, found[0] if element_of(d.new[found[0]]) in _HETERO else anchor) or ""

    def note(self, node: int) -> str:
        """Family of a kept atom in the molecules: " (amides)", " (mostly esters)"; else empty."""
        if not self._d.typed or self._d.rule.radius == 0 or element_of(self._d.old[node]) not in _HETERO:
            return ""
        if self._shows(node, *self._d.around[node]):
            family = chemistry.family_of(self._before, node)
            return f" ({family})" if family else ""
        counts = Counter(chemistry.family_of(molecule, atom[node]) for molecule, atom in self._d.molecules)
        ranked = sorted(((count, name) for name, count in counts.items() if name), key=lambda item: (-item[0], item[1]))
        if len(self._d.molecules) < 2 or not ranked:
            return ""  # one place says nothing of others
        if ranked[0][0] == len(self._d.molecules):
            return f" ({plural(ranked[0][1])})"
        if ranked[0][0] >= _MOSTLY * len(self._d.molecules):
            return f" (mostly {plural(ranked[0][1])})"
        both = sum(count for count, _ in ranked[:2]) == len(self._d.molecules)
        return f" ({join_words([plural(name) for _, name in ranked])})" if both else ""

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
    # With a type, so that labels say what is aromatic.
    names = list(dict.fromkeys([*(atoms[node] for node in order), "c"]))
    pairs = sorted(bonds)
    graph = Graph(
        [names.index(atoms[node]) for node in order],
        [(place[i], place[j]) for i, j in pairs],
        [BOND_NAMES.index(bonds[pair] or "single") for pair in pairs],
    )
    ids = np.array(order, np.int32)
    numbered = Graph.assemble(graph.labels, graph.edges, graph.edge_labels, ids, order[-1] + 1)
    return Molecule(numbered, names, BOND_NAMES)
