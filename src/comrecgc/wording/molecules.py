"""Sentences on rules for molecules, in a chemist's words: "replace nitro (–NO2) on a carbon by trifluoromethyl (–CF3)".

If hydrogens are atoms they follow the others, so a group that replaces a hydrogen is attached, and one that a hydrogen replaces is removed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property

from comrecgc.graphs import ordered_edge
from comrecgc.molecules import BOND_NAMES, BOND_SIGNS, element_of, hill_formula, read_atom, times
from comrecgc.wording import difference
from comrecgc.wording.difference import ChangedMolecule, Exchange, Families, FunctionalGroups, Pair, Wordiness
from comrecgc.wording.english import Step, join_ends, join_words, plural, sentence, several, with_article

# Atoms of a rule in words, with what surrounds them: "a carbon", "a CH2 bound to N", "an aromatic CH next to N".


_WIDE = 2  # radius at which the neighbours' own neighbours are known
_AROMATIC = "aromatic"


class AtomWords:
    """Phrases for the atoms of a rule."""

    def __init__(self, changed: ChangedMolecule) -> None:
        self._d = changed

    def noun(self, node: int, wordiness: Wordiness) -> str:
        """A kept atom: "a carbon", "a CH2 bound to N", "an aromatic carbon"."""
        return with_article(self._bare_noun(node, wordiness)) + self.context(node, wordiness)

    def ends(self, pair: Pair, wordiness: Wordiness) -> str:
        """Two atoms: "a CH (bound to C) and a CH2 (bound to N)"."""
        nouns = [self._bare_noun(node, wordiness) for node in pair]
        two = f"two {plural(nouns[0])}" if nouns[0][-1].islower() else f"two {nouns[0]}"
        return join_ends(nouns, [self.context(node, wordiness).strip() for node in pair], two)

    def formula(self, node: int) -> str:
        """The atom with its hydrogens, if the rule shows them: "CH2"; else empty."""
        count = self._d.hydrogens(node, new=False) if self._d.shows(node) else 0
        return difference.symbol_of(self._d.old[node]) + times("H", count) if count else ""

    def adjective(self, node: int) -> str:
        """Kind of atom, if its neighbours show it: "aromatic "; else empty."""
        beside = self._beside(node)
        if difference.is_aromatic(self._d.old[node]) or any(bond == _AROMATIC for _, bond in beside):
            return "aromatic "
        if not self.is_ring_like(node):
            return ""
        return "aromatic " if node in self.aromatic else "aromatic or alkene "

    def context(self, node: int, wordiness: Wordiness) -> str:
        """The kept neighbours of an atom, if the rule shows all its neighbours: " bound to C and =O", " next to N"."""
        if wordiness == "short" or not self._d.shows(node) or self.is_ring_like(node):
            return ""
        beside = self._beside(node)
        if not beside:
            return " bound to nothing else" if self._d.around[node] & set(self._d.old) else " with no neighbours"
        ring = [self._neighbour(node, other, sign="") for other, bond in beside if bond == _AROMATIC]
        telling = ring if self._d.rule.radius >= _WIDE else [text for text in ring if text != "C"]
        return "".join(f" {text}" for text in (self._bound(node), _next_to(telling)) if text)

    def all_around(self, node: int) -> str:
        """All kept neighbours of an atom whose neighbours the rule shows: "bound to N next to 2 C"."""
        ring = [self._neighbour(node, other, sign="") for other, bond in self._beside(node) if bond == _AROMATIC]
        return " ".join(filter(None, (self._bound(node), _next_to(ring)))) or "bound to nothing else"

    def _bound(self, node: int) -> str:
        """The kept neighbours outside its aromatic ring: "bound to C and =O"."""
        bound = _count_neighbours(
            [self._neighbour(node, other) for other, bond in self._beside(node) if bond != _AROMATIC]
        )
        return f"bound to {bound}" if bound else ""

    def neighbours(self, node: int) -> str:
        """All kept neighbours: "C, N and =O"."""
        return _count_neighbours([self._neighbour(node, other) for other, _ in self._beside(node)])

    def is_ring_like(self, node: int) -> bool:
        """Whether an atom is a carbon bound to C and =C, which may be aromatic where rings have single and double bonds."""
        d = self._d
        beside = sorted((bond, difference.symbol_of(d.old[other])) for other, bond in self._beside(node))
        return not d.typed and d.old[node] == "C" and beside == [("double", "C"), ("single", "C")]

    @cached_property
    def aromatic(self) -> frozenset[int]:
        """Nodes that are aromatic in every inspected molecule."""
        nodes = set(self._d.old) if self._d.molecules else set()
        for molecule, atom in self._d.molecules:
            nodes = {node for node in nodes if atom[node] in molecule.aromatic}
        return frozenset(nodes)

    def _bare_noun(self, node: int, wordiness: Wordiness) -> str:
        name = difference.element_word(self._d.old[node])
        return name if wordiness == "short" else self.adjective(node) + (self.formula(node) or name)

    def _beside(self, node: int) -> list[tuple[int, str]]:
        """Kept neighbours other than hydrogen, with their bonds, of an atom whose neighbours the rule shows."""
        d = self._d
        if not d.shows(node):
            return []
        going = d.exchanges[node].nodes if node in d.exchanges else set()
        return [
            (other, d.old_bonds[ordered_edge(node, other)] or "")
            for other in sorted(d.around[node])
            if other in d.kept and other not in going and d.old[other] != "H"
            and ordered_edge(node, other) in d.old_bonds and ordered_edge(node, other) not in d.changed_bonds
        ]  # fmt: skip

    def _neighbour(self, node: int, other: int, *, sign: str | None = None) -> str:
        """A neighbour in a list: "C", "=O", "aromatic C"; with its own neighbours if the rule shows them: "CH2", "CH–O"."""
        d = self._d
        bond = d.old_bonds[ordered_edge(node, other)] or ""
        name = (self.formula(other) if d.rule.radius >= _WIDE else "") or difference.symbol_of(d.old[other])
        kind = "aromatic " if difference.is_aromatic(d.old[other]) and bond != _AROMATIC else _ring_kind(d.old[other])
        before = BOND_SIGNS.get(bond, "").removeprefix("–") if sign is None else sign
        return before + kind + name + self._further(node, other)

    def _further(self, node: int, other: int) -> str:
        """What a neighbour of an atom is bound to, other than carbons on single bonds and atoms of its ring: "(=O)–N"."""
        d = self._d
        if d.rule.radius < _WIDE or not d.shows(other):
            return ""
        found = []
        for third in sorted(d.around[other] - {node}):
            bond = d.old_bonds.get(ordered_edge(other, third))
            if bond is None or third not in d.old or d.old[third] == "H":
                continue
            is_aryl = difference.is_aromatic(d.old[third]) and bond != _AROMATIC
            symbol = (
                "Ar" if is_aryl and difference.symbol_of(d.old[third]) == "C" else difference.symbol_of(d.old[third])
            )
            if symbol != "C" or bond not in ("single", _AROMATIC):
                found.append(BOND_SIGNS.get(bond, "") + symbol)
        found.sort(key=lambda text: (text[0] == "–", text))
        return "".join(f"({text.removeprefix('–')})" for text in found[:-1]) + "".join(found[-1:])


def _ring_kind(name: str) -> str:
    """Kind of an aromatic nitrogen: "pyrrole-type "; else empty."""
    atom = read_atom(name)
    is_donor = atom is not None and atom.is_aromatic and atom.is_donor and atom.element == "N"
    return "pyrrole-type " if is_donor else ""


def _next_to(ring: Sequence[str]) -> str:
    return f"next to {_count_neighbours(ring)}" if ring else ""


def _count_neighbours(texts: Sequence[str]) -> str:
    """Neighbours as a list, equal ones counted: "2 C and =O"."""
    counts = Counter(texts)
    order = sorted(counts, key=lambda text: (text[0] in "=≡:", text != "C", text))
    return join_words([text if counts[text] == 1 else f"{counts[text]} {text}" for text in order]) if counts else ""


# The whole rule.


_ADDITIONS = {"methyl": "methylation", "ethyl": "ethylation", "acetyl": "acetylation", "benzyl": "benzylation"}
_EXCHANGES = {
    ("ester", "N"): "ester → amide", ("amide", "O"): "amide → ester", ("ether", "N"): "ether → amine", ("ether", "S"): "ether → thioether",
    ("ether", "C"): "ether → alkane", ("ester", "S"): "ester → thioester", ("ester", "C"): "ester → ketone", ("amide", "C"): "amide → ketone",
    ("thioether", "O"): "thioether → ether",
}  # fmt: skip


class MoleculeSentences:
    """Sentences on a rule for molecules."""

    def __init__(self, changed: ChangedMolecule) -> None:
        self._d = changed
        self._atoms, self._groups, self._families = AtomWords(changed), FunctionalGroups(changed), Families(changed)

    def text(self, wordiness: Wordiness) -> str:
        """The rule in one sentence."""
        parts = self._d.parts(self._d.around)
        return sentence([steps for part in parts if (steps := self._steps(part, wordiness))])

    @cached_property
    def transformation(self) -> str:
        """What chemists call the change, if it has a name of its own: "N-methylation", "aza-scan", "ester → amide"; else empty."""
        d, parts = self._d, self._d.parts(self._d.around)
        if len([step for part in parts for step in self._steps(part, "short")]) != 1:
            return ""
        inner = [node for node in d.relabelled if not d.is_hanging(node)]
        if inner:
            old, new = element_of(d.old[inner[0]]), element_of(d.new[inner[0]])
            if (old, new) == ("C", "N") and self._atoms.adjective(inner[0]) == "aromatic ":
                return "aza-scan"
            family = self._families.note(inner[0]).strip(" ()").removeprefix("mostly ")
            return _EXCHANGES.get((family.removesuffix("s"), new), "")
        for anchor, exchange in d.exchanges.items():
            (lost, gained), place = (exchange.lost, exchange.gained), element_of(d.old[anchor])
            if len(lost) + len(gained) == 1 and place in ("N", "O", "S"):
                name = _ADDITIONS.get((lost or gained)[0].name or "")
                return f"{place}-{'de' if lost else ''}{name}" if name else ""
        return ""

    @property
    def conditions(self) -> str:
        """Conditions that the sentence does not name, and what happens to hydrogens."""
        d = self._d
        texts = []
        for node in self._known_anchors:
            beside = self._atoms.neighbours(node)
            if beside:
                otherwise = "be" if node in d.relabelled else "otherwise be"
                name = self._atoms.formula(node) or difference.element_word(d.old[node])
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
        """Clauses on the neighbours of changed atoms: "the CH is bound to 2 C"."""
        found = []
        for node in self._known_anchors:
            name = self._atoms.adjective(node) + (
                self._atoms.formula(node) or difference.element_word(self._d.old[node])
            )
            found.append(f"the {name} is {self._atoms.all_around(node)}")
        return list(dict.fromkeys(found))

    def tells_all(self, text: str) -> bool:
        """Whether a sentence describes all surroundings that the rule shows."""
        return all(self._atoms.context(node, "long").strip() in text for node in self._known_anchors)

    @cached_property
    def _known_anchors(self) -> list[int]:
        """Kept atoms at which something changes and whose neighbours the rule shows."""
        d = self._d
        ends = {node for pair in d.changed_bonds for node in pair}
        anchors = {*d.exchanges, *d.relabelled, *ends} & set(d.kept)
        return [node for node in sorted(anchors) if d.shows(node) and d.old[node] != "H" and not d.is_hanging(node)]

    def _steps(self, part: set[int], wordiness: Wordiness) -> list[Step]:
        """The steps in one connected part of the pattern."""
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
        lost, gained = (
            difference.write_groups(exchange.lost, wordiness),
            difference.write_groups(exchange.gained, wordiness),
        )
        if wordiness != "short":
            lost = difference.add_note(lost, self._groups.within(exchange.nodes, exchange.lost))
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
        verb, preposition = ("attach", "to") if exchange.hydrogens > 0 else ("remove", "from")
        return Step(verb, hydrogens, preposition, place)

    def _place(
        self, anchor: int, exchange: Exchange, named: Sequence[int], wordiness: Wordiness
    ) -> tuple[str, str, bool]:
        """Phrase for the atom on which groups are exchanged, its family of compounds, and whether the phrase is that family."""
        if anchor in named:
            return "it" if len(named) == 1 else "one of them", "", False
        noun = self._atoms.noun(anchor, wordiness)
        family = (
            "" if len(exchange.lost) != 1 or wordiness == "short" else self._families.leaving(anchor, exchange.roots)
        )
        if family in difference.WHOLE and self._d.rule.radius < _WIDE:
            return with_article(family), family, True
        if family:
            return f"{noun} ({family})", family, False
        group = self._groups.between(anchor, exchange.nodes) if exchange.lost else ""
        if group:
            return f"{noun} ({group})", "", False
        note = "" if wordiness == "short" else self._families.note(anchor)
        return noun + (note or (self._groups.at_all_places if exchange.lost else "")), "", False

    def _relabel_step(self, node: int, wordiness: Wordiness) -> Step:
        d = self._d
        before, after = d.hydrogens(node, new=False), d.hydrogens(node, new=True)
        if (d.old[node], d.new[node]) == ("c", "n"):
            before = 1  # the nitrogen of pyridine has no third neighbour
        noun = (
            difference.symbol_of(d.old[node]) + times("H", before) if before else difference.element_word(d.old[node])
        )
        new = (
            difference.symbol_of(d.new[node]) + times("H", after)
            if before or after
            else difference.element_word(d.new[node])
        )
        if difference.is_aromatic(d.old[node]) != difference.is_aromatic(d.new[node]):
            new = ("aromatic " if difference.is_aromatic(d.new[node]) else "aliphatic ") + new
        motif = self._groups.group_containing({node})
        within = self._atoms.context(node, wordiness) + self._families.note(node) or self._groups.at_all_places
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
        motif = self._groups.group_containing(set(pair))
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
        """The step for atoms that are added or removed and hang on several others, or on none."""
        d = self._d
        comes = min(nodes) in d.added
        names = d.new if comes else d.old
        formula = hill_formula([element_of(names[node]) for node in sorted(nodes)])
        anchors = sorted({other for node in nodes for other in d.around[node]} - nodes)
        if not anchors:
            return Step("add", f"{formula} as a separate part") if comes else Step("remove", formula)
        places = [self._atoms.noun(node, wordiness) for node in anchors if node in d.kept]
        same = len(set(places)) == 1 < len(places)
        between = (
            several(difference.element_word(d.old[anchors[0]]), len(places))
            if same
            else join_words(places or ["others"])
        )
        return Step("insert" if comes else "remove", formula, "between" if len(anchors) > 1 else "at", between)

    @cached_property
    def _cuts(self) -> bool:
        d = self._d
        return any(pair not in d.new_bonds and set(pair) <= set(d.kept) for pair in d.changed_bonds)

    def _ring_size(self, pair: Pair) -> int:
        """Size of the ring that a new bond closes, if the pattern shows it; else 0."""
        d = self._d
        around = {i: [j for j in d.around[i] if ordered_edge(i, j) in d.old_bonds] for i in d.around}
        return difference.ring_size(around, *pair)
