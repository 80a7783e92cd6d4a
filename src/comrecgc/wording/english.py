"""English grammar for generated sentences: articles, plurals, numbers, lists, and steps joined into a sentence."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from comrecgc.graphs import Edit, EditKind, Graph, path_graphs

_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_LONGEST_NAME = 24
_SYMBOL = re.compile(r"[A-Z](?![a-z])")  # read out by its letter: "an N", "a C", "an OH"
_AN = frozenset("AEFHILMNORSX")
_LIKE_YOU = ("uni", "use", "usu", "eu", "one")


def with_article(noun: str) -> str:
    """A noun with its article: "a carbon", "an N–N bond", "an actor"."""
    if _SYMBOL.match(noun):
        return f"an {noun}" if noun[0] in _AN else f"a {noun}"
    lower = noun.lower()
    vowel = lower[:1] in tuple("aeiou") and not lower.startswith(_LIKE_YOU)
    return f"an {noun}" if vowel else f"a {noun}"


def plural(noun: str) -> str:
    """A noun in the plural: "carbons", "helices", "bodies", "nodes of label 3"."""
    first, of, rest = noun.partition(" of label ")
    if of:
        return f"{plural(first)}{of}{rest}"
    if noun.endswith("ix") and len(noun) > 3:
        return f"{noun[:-2]}ices"
    if noun.endswith(("s", "x", "z", "ch", "sh")):
        return f"{noun}es"
    if noun.endswith("y") and noun[-2:-1] not in tuple("aeiou"):
        return f"{noun[:-1]}ies"
    return f"{noun}s"


def number(count: int) -> str:
    """A number in words up to ten: "two", "11"."""
    return _NUMBERS[count] if count < len(_NUMBERS) else str(count)


def several(noun: str, count: int) -> str:
    """A noun with its number: "a helix", "three helices"."""
    return with_article(noun) if count == 1 else f"{number(count)} {plural(noun)}"


def times(count: int) -> str:
    """How often: "twice", "three times"."""
    return "twice" if count == 2 else f"{number(count)} times"


def join_words(items: Sequence[str]) -> str:
    """Items as a sentence lists them: "a, b and c"."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def join_ends(nouns: Sequence[str], contexts: Sequence[str], two: str) -> str:
    """The ends of an edge, each with its surroundings: "a helix (beside a sheet) and a turn", or `two` of them where both are alike."""
    if nouns[0] == nouns[1] and contexts[0] == contexts[1]:
        return f"{two} (each {contexts[0]})" if contexts[0] else two
    texts = [with_article(noun) + (f" ({text})" if text else "") for noun, text in zip(nouns, contexts, strict=True)]
    return f"{texts[0]} and {texts[1]}"


def count_nouns(nouns: Iterable[str]) -> str:
    """Nouns counted and joined, the most frequent last: "a sheet and two helices"."""
    counts = sorted(Counter(nouns).items(), key=lambda item: (item[1], item[0]))
    return join_words([several(noun, count) for noun, count in counts])


def shorten(name: str) -> str:
    """A label's name on one line, cut if it is very long."""
    words = " ".join(name.split()) or "unnamed"
    return words if len(words) <= _LONGEST_NAME else f"{words[: _LONGEST_NAME - 1]}…"


def edge_of(name: str) -> str:
    """An edge of a label, with its article: "a close edge", "an edge of label 3"."""
    return with_article(f"{name} edge") if name[:1].isalpha() else f"an edge of label {name}"


def noun_of(name: str) -> str:
    """Noun for a node of a label: its name, or "node of label 3" if the name does not start with a letter."""
    name = shorten(name)
    return name if name[:1].isalpha() else f"node of label {name}"


_OTHERS = ("another", "a third", "a fourth")
_VERBS_NOT_REPEATED = ("attach", "remove", "relabel")


class Step(NamedTuple):
    """One step of a rule: "attach –F to a carbon" is `Step("attach", "–F", "to", "a carbon")`."""

    verb: str
    what: str
    preposition: str = ""
    place: str = ""

    @property
    def text(self) -> str:
        return " ".join(filter(None, (self.verb, self.what, self.preposition, self.place)))


def sentence(clauses: Sequence[Sequence[Step]]) -> str:
    """One sentence from the steps taken in each part of a rule, equal parts counted; places of different parts are different nodes."""
    distinct = [list(clause) for clause in dict.fromkeys(map(tuple, clauses))]
    counts = [sum(list(clause) == other for clause in clauses) for other in distinct]
    phrases = [_phrase(clause, count) for clause, count in zip(distinct, counts, strict=True)]
    if len(phrases) < 2:
        return phrases[0] if phrases else "change nothing"
    if any(len(clause) > 1 for clause in distinct):
        return "; ".join(phrases)
    steps = [clause[0] for clause in distinct]
    if len({step.verb for step in steps}) == 1 and sum(counts) == len(counts) and steps[0].verb in _VERBS_NOT_REPEATED:
        return join_words([steps[0].text, *(_elsewhere(steps, k) for k in range(1, len(steps)))])
    comma = "," if len(phrases) > 2 or any(" and " in phrase or ", " in phrase for phrase in phrases) else ""
    return f"{', '.join(phrases[:-1])}{comma} and {phrases[-1]}"


def _elsewhere(steps: Sequence[Step], k: int) -> str:
    """A later step of the same verb without it: "–Cl to another", "a sheet to helix"."""
    step = steps[k]
    before = sum((other.preposition, other.place) == (step.preposition, step.place) for other in steps[:k])
    is_place = step.verb in ("attach", "remove") and step.place
    place = _OTHERS[before - 1] if is_place and 0 < before <= len(_OTHERS) else step.place
    return " ".join(filter(None, (step.what, step.preposition, place)))


def _phrase(clause: Sequence[Step], count: int) -> str:
    """The steps of one part, equal ones counted, and how often the part is there."""
    steps = [step.text for step in clause]
    distinct = list(dict.fromkeys(steps))
    texts = [step if steps.count(step) == 1 else f"{step}, {times(steps.count(step))}" for step in distinct]
    text = join_words(texts)
    return text if count == 1 else f"{text}, {times(count)}"


# Edits one by one.


def _describe_edit(graph: Graph, edit: Edit, label_names: Sequence[str]) -> str:
    """One edit in words: "relabel O 3 to N", "remove H 7", "tie a new C to N 2"."""

    def name(node_id: int) -> str:
        return f"{label_names[graph.labels[graph.position(node_id)]]} {node_id}"

    match edit.kind:
        case EditKind.RELABEL:
            return f"relabel {name(edit.first)} to {label_names[edit.second]}"
        case EditKind.ADD_NODE:
            new = f"a new {label_names[edit.second]}"
            return f"add {new}" if edit.first == -1 else f"tie {new} to {name(edit.first)}"
        case EditKind.REMOVE_NODE:
            return f"remove {name(edit.first)}"
        case EditKind.ADD_EDGE:
            return f"join {name(edit.first)} and {name(edit.second)}"
        case EditKind.REMOVE_EDGE:
            return f"cut {name(edit.first)} from {name(edit.second)}"


def describe_path(graph: Graph, path: Sequence[Edit], label_names: Sequence[str]) -> list[str]:
    """Every edit of a path in words, in order."""
    stations = path_graphs(graph, path)
    return [_describe_edit(before, edit, label_names) for before, edit in zip(stations, path, strict=False)]
