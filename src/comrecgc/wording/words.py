"""A common recourse in words: what the edits of its members do, to what, and how many members follow the pattern."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from comrecgc.graphs import Edit, Graph
from comrecgc.wording.patterns import Pattern, pattern_of

Member = tuple[Graph, Sequence[Edit]]

_CLEAR = 0.5  # a pattern this share of the members follows stands for the recourse
_TELLING = 0.75  # and it is told with its context if that loses no more than a quarter of them
_SHARED = 0.1  # below this no pattern is worth naming whole
_NAMED_PATTERNS = 3


@dataclass(frozen=True)
class Words:
    """A recourse in words.

    Args:
        summary: The most common pattern, and the share of members that follow it unless all do.
        description: The most common patterns with their counts, and the number of edits.
    """

    summary: str
    description: str


def describe_recourse(
    members: Sequence[Member],
    label_names: Sequence[str],
    *,
    edge_label_names: Sequence[str] | None = None,
    is_molecular: bool = False,
) -> Words:
    """What the members of a recourse have in common.

    Args:
        members: Each covered input with its path of edits.
        label_names: Name of each node label.
        edge_label_names: Name of each edge label, if edges have labels.
        is_molecular: Whether label names are elements.
    """
    if not members:
        return Words("covers no input", "No input is covered by this recourse alone.")
    patterns = [
        pattern_of(graph, path, label_names, edge_label_names=edge_label_names, is_molecular=is_molecular)
        for graph, path in members
    ]
    return Words(_summary(patterns), _description(patterns, [len(path) for _, path in members]))


def representatives(patterns: Sequence[str], sizes: Sequence[int], count: int) -> list[int]:
    """A few members to show: the smallest of each pattern, common patterns first and twice if there is room.

    Args:
        patterns: Pattern of each member.
        sizes: Size of each member's graph.
        count: How many to choose.
    """
    queues: dict[str, list[int]] = {}
    for place in sorted(range(len(patterns)), key=lambda place: (sizes[place], place)):
        queues.setdefault(patterns[place], []).append(place)
    ordered = sorted(queues.values(), key=lambda queue: (-len(queue), sizes[queue[0]], queue[0]))
    chosen: list[int] = []
    while len(chosen) < min(count, len(patterns)):
        for queue in ordered:
            if queue and len(chosen) < count:
                chosen.append(queue.pop(0))
    return chosen


def _summary(patterns: Sequence[Pattern]) -> str:
    """The most telling pattern: with context if most members follow it, else without, else the commonest single step."""
    total = len(patterns)
    text, count = _commonest(pattern.text for pattern in patterns)
    plain, plain_count = _commonest(pattern.plain for pattern in patterns)
    if count / total >= _CLEAR and count >= _TELLING * plain_count:
        return _with_share(text, count, total)
    if plain_count / total >= _CLEAR:
        return _with_share(plain, plain_count, total)
    step, step_count = _commonest(step for pattern in patterns for step in sorted(set(pattern.plain_steps)))
    return _with_share(f"often {step}", step_count, total)


def _description(patterns: Sequence[Pattern], lengths: Sequence[int]) -> str:
    total = len(patterns)
    counts = Counter(pattern.text for pattern in patterns)
    fewest, most = min(lengths), max(lengths)
    edits = (
        f"Edits: {fewest}." if fewest == most else f"Edits: {fewest} to {most}, median {statistics.median(lengths):g}."
    )
    if len(counts) == 1:
        return (
            f"All {total} graphs: {patterns[0].text}. {edits}"
            if total > 1
            else f"One graph: {patterns[0].text}. {edits}"
        )
    if max(counts.values()) < _SHARED * total:
        steps = Counter(step for pattern in patterns for step in set(pattern.plain_steps))
        return f"{len(counts)} patterns in {total} graphs, by single steps: {_shares(steps, total)}. {edits}"
    others = len(counts) - _NAMED_PATTERNS
    rest = f"; {others} other pattern{'s' if others > 1 else ''}" if others > 0 else ""
    return f"{_shares(counts, total)}{rest}. {edits}"


def _shares(counts: Counter[str], total: int) -> str:
    """The commonest texts with the graphs they hold for."""
    named = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_NAMED_PATTERNS]
    return "; ".join(f"{text}: {count} of {total} ({count / total:.0%})" for text, count in named)


def _commonest(texts: Iterable[str]) -> tuple[str, int]:
    counts = Counter(texts)
    return min(counts.items(), key=lambda item: (-item[1], item[0])) if counts else ("change nothing", 0)


def _with_share(text: str, count: int, total: int) -> str:
    return text if count == total else f"{text} ({count / total:.0%} of {total})"
