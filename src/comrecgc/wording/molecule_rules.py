"""What a rule does to molecules, as a chemist would say it: "replace nitro (–NO2) on a carbon by trifluoromethyl (–CF3)".

Where hydrogens are atoms they follow the others, so a group that takes the place of a hydrogen is attached, and one
that a hydrogen takes the place of is removed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from comrecgc.graphs import Graph, Site
from comrecgc.molecules import (
    BOND_NAMES,
    BOND_SIGNS,
    Molecule,
    Substituent,
    are_types,
    count_hydrogens,
    element_of,
    hill_formula,
    read_atom,
)
from comrecgc.wording.atoms import bond_order, element_word, is_aromatic, symbol_of, times
from comrecgc.wording.difference import Difference, Pair, pair_of
from comrecgc.wording.english import listed, plural, several, with_article
from comrecgc.wording.families import WHOLE, Families
from comrecgc.wording.groups import Wordiness, named_group, written_groups
from comrecgc.wording.sentences import Step, sentence

_CHARGED_NITROGEN = 4
_MOST_SHARE = 0.6  # of the places that have a group, for it to be named
_LEAST_SHARE = 0.1  # of the places that have one of two groups, for both to be named
_FEWEST_PLACES = 5  # to say that all of them have a group
_MOST_PLACES = 25  # a millisecond each
_ADJECTIVES = frozenset({"nitro", "nitroso", "azo", "carboxyl", "trifluoromethyl", "methoxy", "sulfonyl"})


@dataclass
class _Exchange:
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


class MoleculeSentences:
    """What a rule does to molecules.

    Args:
        difference: The rule.
        names: Atom behind each node label; hydrogens fill the valences where they are none of them.
        edge_names: Name of each edge label, if edges have labels.
        places: Molecules with the places where it was carried out there.
    """

    def __init__(
        self,
        difference: Difference,
        names: Sequence[str],
        edge_names: Sequence[str] | None,
        places: Sequence[tuple[Graph, Site]] = (),
    ) -> None:
        self._names, self._edge_names, self._places = names, edge_names, places
        self._d = difference
        bonds = {*difference.old_bonds.values(), *difference.new_bonds.values()}
        self._bonds_known = bool(bonds) and bonds <= set(BOND_NAMES)
        self._typed = are_types(names)
        self._fill = self._typed or "H" not in names

    def text(self, wordiness: Wordiness) -> str:
        """The rule in one sentence."""
        parts = self._d.parts(self._d.around)
        return sentence([steps for part in parts if (steps := self._steps(part, wordiness))])

    @property
    def conditions(self) -> str:
        """What must be there, beyond what the sentence says, and what follows."""
        d = self._d
        ends = {node for pair in d.changed_bonds for node in pair}
        anchors = sorted({*self._exchanges, *d.relabelled, *ends} & d.closed & set(d.kept))
        texts = []
        for node in anchors if d.rule.radius > 0 else ():
            beside = self._written_neighbours(node)
            if beside and d.old[node] != "H" and not self._is_hanging(node):
                otherwise = "be" if node in d.relabelled else "otherwise be"
                name = self._formula_noun(node) or element_word(d.old[node])
                texts.append(f"The {name} must {otherwise} bound to exactly {beside}.")
                if self._is_ring_like(node) and node in self._aromatic:
                    many = len(self._places) > _MOST_PLACES
                    texts.append(
                        f"It is aromatic in {f'the first {_MOST_PLACES} molecules' if many else 'every molecule'} covered."
                    )
        places = (
            " ".join(dict.fromkeys(texts)) or "It applies wherever these atoms occur, whatever else they are bound to."
        )
        loose = any(exchange.hydrogens for exchange in self._exchanges.values())
        hydrogens = "Hydrogens are added or dropped as valences require." if loose else ""
        return " ".join(filter(None, (places, self._groups_touched, hydrogens)))

    @cached_property
    def _groups_touched(self) -> str:
        """The functional group that most places have where atoms or bonds change, if the rule itself does not show it."""
        counts, places = self._groups_at_places
        name, count = max(counts.items(), key=lambda item: (item[1], item[0]), default=("", 0))
        if count < 2 or count < _MOST_SHARE * places:
            return ""
        first = "first " if len(self._places) > _MOST_PLACES else ""
        return f"It changes {with_article(_group_noun(name))} in {count} of the {first}{places} molecules covered."

    @property
    def _group_at_all_places(self) -> str:
        """The functional groups, two at most, one of which every place has where something changes: " of a nitro group or a nitrosamine"."""
        counts, places = self._groups_at_places
        seen = {name: count for name, count in counts.items() if count >= _LEAST_SHARE * places}
        if (
            places < _FEWEST_PLACES
            or not 1 <= len(seen) <= 2
            or counts.total() != places
            or self._d.rule.num_changes > 1
        ):
            return ""
        return f" of {' or '.join(with_article(_group_noun(name)) for name in sorted(seen))}"

    @cached_property
    def _groups_at_places(self) -> tuple[Counter[str], int]:
        """How many places have each functional group where atoms or bonds change, and how many were looked at."""
        d = self._d
        cut = {node for pair in d.changed_bonds if pair in d.old_bonds for node in pair if node in d.old}
        changed = {*d.removed, *d.relabelled, *cut}
        counts: Counter[str] = Counter()
        # One place says nothing of most places.
        places = self._places[:_MOST_PLACES] if changed and len(self._places) > 1 and not self._motifs else ()
        for graph, site in places:
            nodes = {int(graph.ids[site[node]]) for node in changed}
            groups = Molecule(graph, self._names, self._edge_names).groups
            counts.update({group.name for group in groups if len(group.nodes) > 2 and len(group.atoms & nodes) > 0})
        return counts, len(places)

    # Groups that hang on one atom.

    @cached_property
    def _exchanges(self) -> dict[int, _Exchange]:
        """What is exchanged on each atom, in groups as large as the pattern knows them whole."""
        exchanges: dict[int, _Exchange] = {}
        taken: set[int] = set()
        heavy = [node for node in self._d.kept if self._d.old[node] != "H"]
        found = self._d.hanging(heavy)
        for anchor, group in sorted(found, key=lambda item: (-len(item[1]), item[0], sorted(item[1]))):
            if taken & group or anchor in taken or any(other in group for other in exchanges):
                continue
            exchange = exchanges.setdefault(anchor, _Exchange())
            taken |= group
            exchange.nodes |= group
            exchange.roots |= group & self._d.around[anchor]
            old, new = self._substituent(anchor, group, new=False), self._substituent(anchor, group, new=True)
            exchange.hydrogens += sum(
                sign for sign, found in ((-1, old), (1, new)) if found and found.name == "hydrogen"
            )
            exchange.lost += [old] if old and old.name != "hydrogen" else []
            exchange.gained += [new] if new and new.name != "hydrogen" else []
        return exchanges

    def _substituent(self, anchor: int, group: set[int], *, new: bool) -> Substituent | None:
        d = self._d
        names, bonds = (d.new, d.new_bonds) if new else (d.old, d.old_bonds)
        elements = {node: names[node] for node in sorted(group) if node in names}
        if not elements:
            return None
        root = next(node for node in elements if pair_of(anchor, node) in bonds)
        inner = {pair: name for pair, name in bonds.items() if set(pair) <= set(elements)}
        bond = bonds[pair_of(anchor, root)]
        guessed = self._fill and not self._typed
        if guessed and len(elements) == 1 and (names[anchor], names[root], bond) == ("N", "O", "single"):
            return Substituent(
                "–O", None, is_atom=True
            )  # the O– of a nitro group or a hydroxy: the pattern does not say
        return named_group(elements, inner, root, bond, fill=self._fill, typed=self._typed)

    def _is_hanging(self, node: int) -> bool:
        return any(node in exchange.nodes for exchange in self._exchanges.values())

    # Sentences.

    def _steps(self, part: set[int], wordiness: Wordiness) -> list[Step]:
        """What happens in one connected part of the pattern, step by step."""
        d = self._d
        steps: list[Step] = []
        named: list[int] = []
        for node in d.relabelled:
            if node in part and not self._is_hanging(node):
                steps.append(self._relabel_step(node, wordiness))
                named.append(node)
        for pair in d.changed_bonds:
            if set(pair) <= part & set(d.kept) and not any(self._is_hanging(node) for node in pair):
                steps.append(self._bond_step(pair, wordiness))
                named += [node for node in pair if node not in named]
        loose = [node for node in (*d.removed, *d.added) if node in part and not self._is_hanging(node)]
        steps += [self._loose_step(nodes, wordiness) for nodes in d.parts(loose)]
        for anchor, exchange in sorted(self._exchanges.items()):
            if anchor in part and (step := self._exchange_step(anchor, exchange, named, wordiness)):
                steps.append(step)
        return steps

    def _exchange_step(
        self, anchor: int, exchange: _Exchange, named: Sequence[int], wordiness: Wordiness
    ) -> Step | None:
        lost, gained = written_groups(exchange.lost, wordiness), written_groups(exchange.gained, wordiness)
        place = self._noun(anchor, wordiness) + self._family_note(anchor, wordiness)
        if anchor in named:
            place = "it" if len(named) == 1 else "one of them"
        family = "" if len(exchange.lost) != 1 or wordiness == "short" else self._leaving(anchor, exchange)
        whole = family in WHOLE and anchor not in named
        if whole:
            place = with_article(family)
        elif family and anchor not in named:
            place = f"{self._noun(anchor, wordiness)} ({family})"
        if lost and gained:
            given = self._families.given(anchor, exchange.roots) if family and wordiness != "middle" else ""
            giving = f", giving {with_article(given)}" if given else ""
            return Step("replace", lost, "of" if whole else "on", f"{place} by {gained}{giving}")
        if lost and family:
            return Step("remove", lost, "from", place)
        if lost:
            motif = next((name for name, atoms in self._motifs if anchor in atoms and atoms & exchange.nodes), "")
            within = f" ({motif})" if motif else self._group_at_all_places
            return Step("remove", lost, "from", place + (within if anchor not in named else ""))
        if gained:
            return Step("attach", gained, "to", place)
        if anchor in named or not exchange.hydrogens:
            return None  # hydrogens follow
        hydrogens = "H" if abs(exchange.hydrogens) == 1 else f"{abs(exchange.hydrogens)} H"
        return (
            Step("attach", hydrogens, "to", place)
            if exchange.hydrogens > 0
            else Step("remove", hydrogens, "from", place)
        )

    def _relabel_step(self, node: int, wordiness: Wordiness) -> Step:
        d = self._d
        before, after = self._hydrogens(node, new=False), self._hydrogens(node, new=True)
        if (d.old[node], d.new[node]) == ("c", "n"):
            before = 1  # the nitrogen of pyridine has no third neighbour
        noun = symbol_of(d.old[node]) + times("H", before) if before else element_word(d.old[node])
        new = symbol_of(d.new[node]) + times("H", after) if before or after else element_word(d.new[node])
        if is_aromatic(d.old[node]) != is_aromatic(d.new[node]):
            new = ("aromatic " if is_aromatic(d.new[node]) else "aliphatic ") + new
        motif = self._motif({node})
        within = self._context(node, wordiness) + self._family_note(node, wordiness) or self._group_at_all_places
        what = f"{with_article(self._adjective(node) + noun)}{within}"
        if wordiness == "short":
            what = with_article(noun)
        return Step("replace", f"the {noun} of {with_article(motif)}" if motif else what, "by", new)

    def _bond_step(self, pair: Pair, wordiness: Wordiness) -> Step:
        d = self._d
        old, new = d.old_bonds.get(pair), d.new_bonds.get(pair)
        symbols = {node: element_of(d.old[node]) for node in pair}
        first, second = sorted(pair, key=lambda node: (symbols[node] != "C", symbols[node], d.old[node]))
        sign = BOND_SIGNS.get(old or "single", "–")
        kind = f"{old} bond" if old in BOND_NAMES else "bond"
        which = f"{with_article(f'{symbols[first]}{sign}{symbols[second]}')} {kind}"
        ends = self._ends((first, second), wordiness)
        if pair not in d.old_bonds:
            by = f" by {with_article(f'{new} bond')}" if new in BOND_NAMES else ""
            size = self._ring_size(pair)
            ring = f"close a {size}-ring" if size else "close a ring"
            ring = "" if self._cuts or wordiness == "short" else f" to {ring}" if "(" in ends else f" ({ring})"
            return Step("join", f"{ends}{by}{ring}")
        motif = self._motif(set(pair))
        if motif:
            which += f" of {with_article(motif)}"
        elif any(self._context(node, wordiness) or self._adjective(node) for node in pair) and wordiness != "short":
            which = f"the {kind} between {ends}"
        return (
            Step("cut", which) if pair not in d.new_bonds else Step("turn", which, "into", with_article(f"{new} bond"))
        )

    def _loose_step(self, nodes: set[int], wordiness: Wordiness) -> Step:
        """Atoms that come or go and hang on several others, or on none."""
        d = self._d
        comes = min(nodes) in d.added
        names = d.new if comes else d.old
        formula = hill_formula([element_of(names[node]) for node in sorted(nodes)])
        anchors = sorted({other for node in nodes for other in d.around[node]} - nodes)
        if not anchors:
            return Step("add", f"{formula} as a separate part") if comes else Step("remove", formula)
        places = [self._noun(node, wordiness) for node in anchors if node in d.kept]
        same = len(set(places)) == 1 < len(places)
        between = several(element_word(d.old[anchors[0]]), len(places)) if same else listed(places or ["others"])
        return Step("insert" if comes else "remove", formula, "between" if len(anchors) > 1 else "at", between)

    # Atoms and what surrounds them.

    @cached_property
    def _families(self) -> Families:
        return Families(self._d, self._names, self._edge_names, self._places[:_MOST_PLACES])

    def _leaving(self, anchor: int, exchange: _Exchange) -> str:
        """The family of compounds that a group which goes makes of an atom."""
        known = self._typed and self._d.rule.radius > 0
        return self._families.leaving(anchor, exchange.roots) if known else ""

    def _family_note(self, node: int, wordiness: Wordiness) -> str:
        """What kind of compound an atom that stays makes of the molecules: " (mostly amides)"."""
        if not self._typed or wordiness == "short" or self._d.rule.radius == 0:
            return ""
        return self._families.note(node)

    def _ends(self, pair: Pair, wordiness: Wordiness) -> str:
        nouns = [self._bare_noun(node, wordiness) for node in pair]
        contexts = [self._context(node, wordiness).strip() for node in pair]
        if nouns[0] == nouns[1] and contexts[0] == contexts[1]:
            two = f"two {plural(nouns[0])}" if nouns[0][-1].islower() else f"two {nouns[0]}"
            return f"{two} (each {contexts[0]})" if contexts[0] else two
        texts = [
            with_article(noun) + (f" ({text})" if text else "") for noun, text in zip(nouns, contexts, strict=True)
        ]
        return f"{texts[0]} and {texts[1]}"

    def _noun(self, node: int, wordiness: Wordiness) -> str:
        """An atom that stays: "a carbon", "a CH2 bound to N", "an aromatic carbon"."""
        return with_article(self._bare_noun(node, wordiness)) + self._context(node, wordiness)

    def _bare_noun(self, node: int, wordiness: Wordiness) -> str:
        name = element_word(self._d.old[node])
        return name if wordiness == "short" else self._adjective(node) + (self._formula_noun(node) or name)

    def _formula_noun(self, node: int) -> str:
        """The atom with its hydrogens where they are known: "CH2"."""
        if node not in self._d.closed or self._d.rule.radius == 0:
            return ""
        count = self._hydrogens(node, new=False)
        return symbol_of(self._d.old[node]) + times("H", count) if count else ""

    def _adjective(self, node: int) -> str:
        """What kind of atom it is, where its neighbours say so."""
        beside = self._neighbours(node)
        if is_aromatic(self._d.old[node]) or any(bond == "aromatic" for bond, _ in beside):
            return "aromatic "
        if not self._is_ring_like(node):
            return ""
        return "aromatic " if node in self._aromatic else "aromatic or alkene "

    @cached_property
    def _aromatic(self) -> frozenset[int]:
        """Atoms that are aromatic wherever the rule was carried out, or at the first places of many."""
        nodes = set(self._d.old) if self._places else set()
        for graph, site in self._places[:_MOST_PLACES]:
            aromatic = Molecule(graph, self._names, self._edge_names).aromatic
            nodes = {node for node in nodes if int(graph.ids[site[node]]) in aromatic}
        return frozenset(nodes)

    def _is_ring_like(self, node: int) -> bool:
        """A carbon bound to C and =C: in rings written with single and double bonds that may be an aromatic one."""
        beside = sorted(self._neighbours(node))
        return not self._typed and self._d.old[node] == "C" and beside == [("double", "C"), ("single", "C")]

    def _context(self, node: int, wordiness: Wordiness) -> str:
        """The neighbours that stay, of an atom all of whose neighbours are known: " bound to C and =O"."""
        if wordiness == "short" or node not in self._d.closed or self._d.rule.radius == 0 or self._is_ring_like(node):
            return ""
        beside = self._written_neighbours(node, but_aromatic=True)
        if beside:
            return f" bound to {beside}"
        if self._neighbours(node):
            return ""
        return " bound to nothing else" if self._d.around[node] & set(self._d.old) else " with no neighbours"

    def _written_neighbours(self, node: int, *, but_aromatic: bool = False) -> str:
        counts = Counter(
            BOND_SIGNS.get(bond, "").removeprefix("–") + name
            for bond, name in self._neighbours(node)
            if not (but_aromatic and bond == "aromatic")
        )
        order = sorted(counts, key=lambda text: (text[0] in "=≡:", text != "C", text))
        return listed([text if counts[text] == 1 else f"{counts[text]} {text}" for text in order]) if counts else ""

    def _neighbours(self, node: int) -> list[tuple[str, str]]:
        """Bond and element of the neighbours other than hydrogen that stay, of an atom all of whose neighbours are known."""
        d = self._d
        if node not in d.closed or d.rule.radius == 0:
            return []
        going = self._exchanges[node].nodes if node in self._exchanges else set()
        return [
            (bond := d.old_bonds[pair_of(node, other)] or "", self._neighbour(d.old[other], bond))
            for other in sorted(d.around[node])
            if other in d.kept and other not in going and d.old[other] != "H"
            and pair_of(node, other) in d.old_bonds and pair_of(node, other) not in d.changed_bonds
        ]  # fmt: skip

    @staticmethod
    def _neighbour(name: str, bond: str) -> str:
        """A neighbour in a list of them: "C", "aromatic C"."""
        return f"aromatic {symbol_of(name)}" if is_aromatic(name) and bond != "aromatic" else symbol_of(name)

    def _hydrogens(self, node: int, *, new: bool) -> int:
        """Hydrogens that the pattern knows on an atom."""
        d = self._d
        names, bonds = (d.new, d.new_bonds) if new else (d.old, d.old_bonds)
        if self._fill and (node not in d.closed or d.rule.radius == 0 or not self._bonds_known):
            return 0
        near = {other for other in d.around[node] if pair_of(node, other) in bonds} | {node}
        further = {other for near_by in near for other in d.around[near_by] if pair_of(near_by, other) in bonds} | near
        elements = {other: names[other] for other in further}
        inner = {pair: name for pair, name in bonds.items() if set(pair) <= further}
        return count_hydrogens(elements, inner, {}, fill=self._fill).get(node, 0)  # a hydrogen has none of its own

    # What the pattern shows of the molecule.

    @cached_property
    def _cuts(self) -> bool:
        d = self._d
        return any(pair not in d.new_bonds and set(pair) <= set(d.kept) for pair in d.changed_bonds)

    def _ring_size(self, pair: Pair) -> int:
        """Size of the ring that a new bond closes, where the pattern shows it; else 0."""
        d = self._d
        distance = {pair[0]: 0}
        queue = [pair[0]]
        for node in queue:
            for other in sorted(d.around[node]):
                if pair_of(node, other) in d.old_bonds and other not in distance:
                    distance[other] = distance[node] + 1
                    queue.append(other)
        return distance.get(pair[1], -1) + 1

    def _motif(self, nodes: set[int]) -> str:
        """The functional group that these atoms are of, where the pattern shows all of it."""
        return next((name for name, atoms in self._motifs if nodes <= atoms), "")

    @cached_property
    def _motifs(self) -> list[tuple[str, frozenset[int]]]:
        d, before = self._d, self._d.rule.before
        names = list(dict.fromkeys(d.old.values()))
        kinds = BOND_NAMES if self._bonds_known else None
        pairs = sorted(d.old_bonds)
        labels = None if kinds is None else [kinds.index(d.old_bonds[pair] or "") for pair in pairs]
        graph = Graph([names.index(d.old[node]) for node in range(len(before.labels))], pairs, labels)
        found = []
        for group in Molecule(graph, names, kinds).groups:
            rings = ("epoxide", "aziridine")
            whole = group.nodes[1:] if group.name in ("nitrosamine", "amide", *rings) else group.nodes
            sure = group.name in rings or all(node in d.closed or self._is_full(node) for node in whole)
            if sure and len(group.nodes) > 1:
                found.append((_group_noun(group.name), group.atoms))
        return found

    def _is_full(self, node: int) -> bool:
        """Whether an atom that the pattern leaves open can have no further neighbours."""
        d = self._d
        orders = [bond_order(bond) for pair, bond in d.old_bonds.items() if node in pair]
        atom = read_atom(d.old[node])
        allowed = atom.valences if atom else ()
        full = max(allowed, default=9) - (1 if d.old[node] == "O" and self._beside_charged(node) else 0)
        return self._bonds_known and sum(orders) >= full

    def _beside_charged(self, node: int) -> bool:
        """Whether this is the only oxygen on a single bond to a nitrogen of four bonds, as the O– of a nitro group is."""
        d = self._d
        for nitrogen in (other for other in d.around[node] if d.old.get(other) == "N"):
            bonds = {sum(pair) - nitrogen: bond for pair, bond in d.old_bonds.items() if nitrogen in pair}
            single = [other for other, bond in bonds.items() if d.old[other] == "O" and bond == "single"]
            if single == [node] and sum(map(bond_order, bonds.values())) == _CHARGED_NITROGEN:
                return True
        return False


def _group_noun(name: str) -> str:
    return f"{name} group" if name in _ADJECTIVES else name
