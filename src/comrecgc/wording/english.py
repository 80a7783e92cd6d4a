"""Articles, plurals, numbers and lists, for sentences made of label names and chemical symbols."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

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
    """So many of a noun: "a helix", "three helices"."""
    return with_article(noun) if count == 1 else f"{number(count)} {plural(noun)}"


def times(count: int) -> str:
    """How often: "twice", "three times"."""
    return "twice" if count == 2 else f"{number(count)} times"


def listed(items: Sequence[str]) -> str:
    """Items as a sentence lists them: "a, b and c"."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def counted(nouns: Iterable[str]) -> str:
    """Nouns put together, the commonest last: "a sheet and two helices"."""
    counts = sorted(Counter(nouns).items(), key=lambda item: (item[1], item[0]))
    return listed([several(noun, count) for noun, count in counts])


def clipped(name: str) -> str:
    """A label's name on one line, cut where it is very long."""
    words = " ".join(name.split()) or "unnamed"
    return words if len(words) <= _LONGEST_NAME else f"{words[: _LONGEST_NAME - 1]}…"


def edge_of(name: str) -> str:
    """An edge of a label, with its article: "a close edge", "an edge of label 3"."""
    return with_article(f"{name} edge") if name[:1].isalpha() else f"an edge of label {name}"


def noun_of(name: str) -> str:
    """What a node of a label is called: its name, or "node of label 3" where the name is a number or a sign."""
    name = clipped(name)
    return name if name[:1].isalpha() else f"node of label {name}"
