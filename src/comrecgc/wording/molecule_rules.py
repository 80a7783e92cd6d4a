"""What a rule does to molecules, as a chemist would say it: "replace nitro (–NO2) on a carbon by trifluoromethyl (–CF3)".

Where hydrogens are atoms they follow the others, so a group that takes the place of a hydrogen is attached, and one
that a hydrogen takes the place of is removed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from comrecgc.molecules import BOND_NAMES, BOND_SIGNS, element_of, hill_formula
from comrecgc.wording.changed_molecule import ChangedMolecule, Exchange
from comrecgc.wording.difference import Pair, pair_of
from comrecgc.wording.english import Step, listed, sentence, several, with_article
from comrecgc.wording.molecule_atoms import AtomWords
from comrecgc.wording.molecule_families import WHOLE, Families, FunctionalGroups
from comrecgc.wording.molecule_groups import (
    Wordiness,
    element_word,
    is_aromatic,
    noted,
    symbol_of,
    times,
    written_groups,
)

_WIDE = 2  # radius at which more is known than a family of compounds says


class MoleculeSentences:
    """What a rule does to molecules.

    Args:
        changed: The rule.
    """

    def __init__(self, changed: ChangedMolecule) -> None:
        self._d = changed
        self._atoms, self._groups, self._families = AtomWords(changed), FunctionalGroups(changed), Families(changed)

    def text(self, wordiness: Wordiness) -> str:
        """The rule in one sentence."""
        parts = self._d.parts(self._d.around)
        return sentence([steps for part in parts if (steps := self._steps(part, wordiness))])

    @property
    def conditions(self) -> str:
        """What must be there, beyond what the sentence says, and what follows."""
        d = self._d
        texts = []
        for node in self._known_anchors:
            beside = self._atoms.neighbours(node)
            if beside:
                otherwise = "be" if node in d.relabelled else "otherwise be"
                name = self._atoms.formula(node) or element_word(d.old[node])
                texts.append(f"The {name} must {otherwise} bound to exactly {beside}.")
                if self._atoms.is_ring_like(node) and node in self._atoms.aromatic:
                    where = f"the first {len(d.sites)} molecules" if d.many else "every molecule"
                    texts.append(f"It is aromatic in {where} covered.")
        places = (
            " ".join(dict.fromkeys(texts)) or "It applies wherever these atoms occur, whatever else they are bound to."
        )
        loose = any(exchange.hydrogens for exchange in d.exchanges.values())
        hydrogens = "Hydrogens are added or dropped as valences require." if loose else ""
        return " ".join(filter(None, (places, self._groups.at_most_places, hydrogens)))

    @property
    def surroundings(self) -> list[str]:
        """What each atom that changes is bound to, where all its neighbours are known: "the CH is bound to 2 C"."""
        found = []
        for node in self._known_anchors:
            name = self._atoms.adjective(node) + (self._atoms.formula(node) or element_word(self._d.old[node]))
            found.append(f"the {name} is {self._atoms.all_around(node)}")
        return list(dict.fromkeys(found))

    def tells_all(self, text: str) -> bool:
        """Whether a sentence has all that is known of the surroundings."""
        return all(self._atoms.context(node, "long").strip() in text for node in self._known_anchors)

    @cached_property
    def _known_anchors(self) -> list[int]:
        """Atoms that stay, where something changes, all of whose neighbours are known."""
        d = self._d
        ends = {node for pair in d.changed_bonds for node in pair}
        anchors = {*d.exchanges, *d.relabelled, *ends} & set(d.kept)
        return [node for node in sorted(anchors) if d.shows(node) and d.old[node] != "H" and not d.is_hanging(node)]

    def _steps(self, part: set[int], wordiness: Wordiness) -> list[Step]:
        """What happens in one connected part of the pattern, step by step."""
        d = self._d
        steps: list[Step] = []
        named: list[int] = []
        for node in d.relabelled:
            if node in part and not d.is_hanging(node):
                steps.append(self._relabel_step(node, wordiness))
                named.append(node)
        for pair in d.changed_bonds:
            if set(pair) <= part & set(d.kept) and not any(d.is_hanging(node) for node in pair):
                steps.append(self._bond_step(pair, wordiness))
                named += [node for node in pair if node not in named]
        loose = [node for node in (*d.removed, *d.added) if node in part and not d.is_hanging(node)]
        steps += [self._loose_step(nodes, wordiness) for nodes in d.parts(loose)]
        for anchor, exchange in sorted(d.exchanges.items()):
            if anchor in part and (step := self._exchange_step(anchor, exchange, named, wordiness)):
                steps.append(step)
        return steps

    def _exchange_step(
        self, anchor: int, exchange: Exchange, named: Sequence[int], wordiness: Wordiness
    ) -> Step | None:
        lost, gained = written_groups(exchange.lost, wordiness), written_groups(exchange.gained, wordiness)
        if wordiness != "short":
            lost = noted(lost, self._groups.within(exchange.nodes, exchange.lost))
        place, family, whole = self._place(anchor, exchange, named, wordiness)
        if lost and gained:
            given = self._families.given(anchor, exchange.roots) if family and wordiness != "middle" else ""
            giving = f", giving {with_article(given)}" if given else ""
            return Step("replace", lost, "of" if whole else "on", f"{place} by {gained}{giving}")
        if lost:
            return Step("remove", lost, "from", place)
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

    def _place(
        self, anchor: int, exchange: Exchange, named: Sequence[int], wordiness: Wordiness
    ) -> tuple[str, str, bool]:
        """The atom on which groups are exchanged, the family of compounds it is of, and whether that stands for the atom."""
        if anchor in named:
            return "it" if len(named) == 1 else "one of them", "", False
        noun = self._atoms.noun(anchor, wordiness)
        family = (
            "" if len(exchange.lost) != 1 or wordiness == "short" else self._families.leaving(anchor, exchange.roots)
        )
        if family in WHOLE and self._d.rule.radius < _WIDE:
            return with_article(family), family, True
        if family:
            return f"{noun} ({family})", family, False
        group = self._groups.between(anchor, exchange.nodes) if exchange.lost else ""
        if group:
            return f"{noun} ({group})", "", False
        note = self._family_note(anchor, wordiness)
        return noun + (note or (self._groups.at_all_places if exchange.lost else "")), "", False

    def _family_note(self, node: int, wordiness: Wordiness) -> str:
        """What kind of compound an atom that stays makes of the molecules: " (mostly amides)"."""
        return "" if wordiness == "short" else self._families.note(node)

    def _relabel_step(self, node: int, wordiness: Wordiness) -> Step:
        d = self._d
        before, after = d.hydrogens(node, new=False), d.hydrogens(node, new=True)
        if (d.old[node], d.new[node]) == ("c", "n"):
            before = 1  # the nitrogen of pyridine has no third neighbour
        noun = symbol_of(d.old[node]) + times("H", before) if before else element_word(d.old[node])
        new = symbol_of(d.new[node]) + times("H", after) if before or after else element_word(d.new[node])
        if is_aromatic(d.old[node]) != is_aromatic(d.new[node]):
            new = ("aromatic " if is_aromatic(d.new[node]) else "aliphatic ") + new
        motif = self._groups.holding({node})
        within = self._atoms.context(node, wordiness) + self._family_note(node, wordiness) or self._groups.at_all_places
        what = f"{with_article(self._atoms.adjective(node) + noun)}{within}"
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
        ends = self._atoms.ends((first, second), wordiness)
        if pair not in d.old_bonds:
            by = f" by {with_article(f'{new} bond')}" if new in BOND_NAMES else ""
            size = self._ring_size(pair)
            ring = f"close a {size}-ring" if size else "close a ring"
            ring = "" if self._cuts or wordiness == "short" else f" to {ring}" if "(" in ends else f" ({ring})"
            return Step("join", f"{ends}{by}{ring}")
        motif = self._groups.holding(set(pair))
        if motif:
            which += f" of {with_article(motif)}"
        elif wordiness != "short" and any(
            self._atoms.context(node, wordiness) or self._atoms.adjective(node) for node in pair
        ):
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
        places = [self._atoms.noun(node, wordiness) for node in anchors if node in d.kept]
        same = len(set(places)) == 1 < len(places)
        between = several(element_word(d.old[anchors[0]]), len(places)) if same else listed(places or ["others"])
        return Step("insert" if comes else "remove", formula, "between" if len(anchors) > 1 else "at", between)

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
