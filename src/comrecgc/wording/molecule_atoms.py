"""Atoms of a rule in words, with what surrounds them: "a carbon", "a CH2 bound to N", "an aromatic CH next to N"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property

from comrecgc.molecules import BOND_SIGNS, read_atom
from comrecgc.wording.changed_molecule import ChangedMolecule
from comrecgc.wording.difference import Pair, pair_of
from comrecgc.wording.english import listed, plural, with_article
from comrecgc.wording.molecule_groups import Wordiness, element_word, is_aromatic, symbol_of, times

_WIDE = 2  # radius at which the neighbours' own neighbours are known
_AROMATIC = "aromatic"


class AtomWords:
    """Atoms of a rule in words.

    Args:
        changed: The rule.
    """

    def __init__(self, changed: ChangedMolecule) -> None:
        self._d = changed

    def noun(self, node: int, wordiness: Wordiness) -> str:
        """An atom that stays: "a carbon", "a CH2 bound to N", "an aromatic carbon"."""
        return with_article(self._bare_noun(node, wordiness)) + self.context(node, wordiness)

    def ends(self, pair: Pair, wordiness: Wordiness) -> str:
        """Two atoms: "a CH (bound to C) and a CH2 (bound to N)"."""
        nouns = [self._bare_noun(node, wordiness) for node in pair]
        contexts = [self.context(node, wordiness).strip() for node in pair]
        if nouns[0] == nouns[1] and contexts[0] == contexts[1]:
            two = f"two {plural(nouns[0])}" if nouns[0][-1].islower() else f"two {nouns[0]}"
            return f"{two} (each {contexts[0]})" if contexts[0] else two
        texts = [
            with_article(noun) + (f" ({text})" if text else "") for noun, text in zip(nouns, contexts, strict=True)
        ]
        return f"{texts[0]} and {texts[1]}"

    def formula(self, node: int) -> str:
        """The atom with its hydrogens where they are known: "CH2"."""
        count = self._d.hydrogens(node, new=False) if self._d.shows(node) else 0
        return symbol_of(self._d.old[node]) + times("H", count) if count else ""

    def adjective(self, node: int) -> str:
        """What kind of atom it is, where its neighbours say so."""
        beside = self._beside(node)
        if is_aromatic(self._d.old[node]) or any(bond == _AROMATIC for _, bond in beside):
            return "aromatic "
        if not self.is_ring_like(node):
            return ""
        return "aromatic " if node in self.aromatic else "aromatic or alkene "

    def context(self, node: int, wordiness: Wordiness) -> str:
        """The neighbours that stay, of an atom all of whose neighbours are known: " bound to C and =O", " next to N"."""
        if wordiness == "short" or not self._d.shows(node) or self.is_ring_like(node):
            return ""
        beside = self._beside(node)
        if not beside:
            return " bound to nothing else" if self._d.around[node] & set(self._d.old) else " with no neighbours"
        ring = [self._neighbour(node, other, sign="") for other, bond in beside if bond == _AROMATIC]
        telling = ring if self._d.rule.radius >= _WIDE else [text for text in ring if text != "C"]
        return "".join(f" {text}" for text in (self._bound(node), _next_to(telling)) if text)

    def all_around(self, node: int) -> str:
        """All neighbours that stay, of an atom all of whose neighbours are known: "bound to N next to 2 C"."""
        ring = [self._neighbour(node, other, sign="") for other, bond in self._beside(node) if bond == _AROMATIC]
        return " ".join(filter(None, (self._bound(node), _next_to(ring)))) or "bound to nothing else"

    def _bound(self, node: int) -> str:
        """The neighbours that stay, but for those of its aromatic ring: "bound to C and =O"."""
        bound = _counted([self._neighbour(node, other) for other, bond in self._beside(node) if bond != _AROMATIC])
        return f"bound to {bound}" if bound else ""

    def neighbours(self, node: int) -> str:
        """All neighbours that stay: "C, N and =O"."""
        return _counted([self._neighbour(node, other) for other, _ in self._beside(node)])

    def is_ring_like(self, node: int) -> bool:
        """A carbon bound to C and =C: in rings written with single and double bonds that may be an aromatic one."""
        d = self._d
        beside = sorted((bond, symbol_of(d.old[other])) for other, bond in self._beside(node))
        return not d.typed and d.old[node] == "C" and beside == [("double", "C"), ("single", "C")]

    @cached_property
    def aromatic(self) -> frozenset[int]:
        """Atoms that are aromatic wherever the rule was carried out, or at the first places of many."""
        nodes = set(self._d.old) if self._d.molecules else set()
        for molecule, atom in self._d.molecules:
            nodes = {node for node in nodes if atom[node] in molecule.aromatic}
        return frozenset(nodes)

    def _bare_noun(self, node: int, wordiness: Wordiness) -> str:
        name = element_word(self._d.old[node])
        return name if wordiness == "short" else self.adjective(node) + (self.formula(node) or name)

    def _beside(self, node: int) -> list[tuple[int, str]]:
        """Neighbours other than hydrogen that stay, and their bonds, of an atom all of whose neighbours are known."""
        d = self._d
        if not d.shows(node):
            return []
        going = d.exchanges[node].nodes if node in d.exchanges else set()
        return [
            (other, d.old_bonds[pair_of(node, other)] or "")
            for other in sorted(d.around[node])
            if other in d.kept and other not in going and d.old[other] != "H"
            and pair_of(node, other) in d.old_bonds and pair_of(node, other) not in d.changed_bonds
        ]  # fmt: skip

    def _neighbour(self, node: int, other: int, *, sign: str | None = None) -> str:
        """A neighbour in a list of them: "C", "=O", "aromatic C"; with what is known of it: "CH2", "CH–O"."""
        d = self._d
        bond = d.old_bonds[pair_of(node, other)] or ""
        name = (self.formula(other) if d.rule.radius >= _WIDE else "") or symbol_of(d.old[other])
        kind = "aromatic " if is_aromatic(d.old[other]) and bond != _AROMATIC else _ring_kind(d.old[other])
        before = BOND_SIGNS.get(bond, "").removeprefix("–") if sign is None else sign
        return before + kind + name + self._further(node, other)

    def _further(self, node: int, other: int) -> str:
        """What a neighbour of an atom is bound to beyond carbons on single bonds and those of its ring: "(=O)–N"."""
        d = self._d
        if d.rule.radius < _WIDE or not d.shows(other):
            return ""
        found = []
        for third in sorted(d.around[other] - {node}):
            bond = d.old_bonds.get(pair_of(other, third))
            if bond is None or third not in d.old or d.old[third] == "H":
                continue
            is_aryl = is_aromatic(d.old[third]) and bond != _AROMATIC
            symbol = "Ar" if is_aryl and symbol_of(d.old[third]) == "C" else symbol_of(d.old[third])
            if symbol != "C" or bond not in ("single", _AROMATIC):
                found.append(BOND_SIGNS.get(bond, "") + symbol)
        found.sort(key=lambda text: (text[0] == "–", text))
        return "".join(f"({text.removeprefix('–')})" for text in found[:-1]) + "".join(found[-1:])


def _ring_kind(name: str) -> str:
    """What tells nitrogens of aromatic rings apart: "pyrrole-type "."""
    atom = read_atom(name)
    is_donor = atom is not None and atom.is_aromatic and atom.is_donor and atom.element == "N"
    return "pyrrole-type " if is_donor else ""


def _next_to(ring: Sequence[str]) -> str:
    return f"next to {_counted(ring)}" if ring else ""


def _counted(texts: Sequence[str]) -> str:
    """Neighbours as a list, equal ones counted: "2 C and =O"."""
    counts = Counter(texts)
    order = sorted(counts, key=lambda text: (text[0] in "=≡:", text != "C", text))
    return listed([text if counts[text] == 1 else f"{counts[text]} {text}" for text in order]) if counts else ""
