"""Steps put together into one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from comrecgc.wording.english import listed, times

_OTHERS = ("another", "a third", "a fourth")
_SAID_ONCE = ("attach", "remove", "relabel")


class Step(NamedTuple):
    """One thing that is done: "attach –F to a carbon" is `Step("attach", "–F", "to", "a carbon")`.

    Args:
        verb: What is done.
        what: Its object.
        preposition: Between the object and the place.
        place: Where; empty if the object says it all.
    """

    verb: str
    what: str
    preposition: str = ""
    place: str = ""

    @property
    def text(self) -> str:
        return " ".join(filter(None, (self.verb, self.what, self.preposition, self.place)))


def sentence(clauses: Sequence[Sequence[Step]]) -> str:
    """One sentence from the steps taken in each part of a rule, equal parts counted.

    Args:
        clauses: The steps of each part; a place of one part is another than that of the others.
    """
    distinct = [list(clause) for clause in dict.fromkeys(map(tuple, clauses))]
    counts = [sum(list(clause) == other for clause in clauses) for other in distinct]
    phrases = [_phrase(clause, count) for clause, count in zip(distinct, counts, strict=True)]
    if len(phrases) < 2:
        return phrases[0] if phrases else "change nothing"
    if any(len(clause) > 1 for clause in distinct):
        return "; ".join(phrases)
    steps = [clause[0] for clause in distinct]
    if len({step.verb for step in steps}) == 1 and sum(counts) == len(counts) and steps[0].verb in _SAID_ONCE:
        return listed([steps[0].text, *(_elsewhere(steps, k) for k in range(1, len(steps)))])
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
    text = listed(texts)
    return text if count == 1 else f"{text}, {times(count)}"
