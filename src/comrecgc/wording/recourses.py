"""Vector recourses in words: the edits that its members have in common, and how many members follow them."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from comrecgc.graphs import Change, Edit, Graph, Schema, components
from comrecgc.molecules import Molecule
from comrecgc.wording.english import join_words, shorten, with_article

# The edits of one graph in words: a step for each connected piece of their net change.


_LONGEST_PATTERN = 200
_LARGEST_NAMED_RING = 8


@dataclass(frozen=True)
class EditPattern:
    """The edits of one member in words: each step with its context, "remove O (hydroxyl) from an aromatic C", and without, "remove O (hydroxyl)"."""

    steps: tuple[str, ...]
    plain_steps: tuple[str, ...]

    @property
    def text(self) -> str:
        return _count_steps(self.steps)

    @property
    def plain(self) -> str:
        return _count_steps(self.plain_steps)


def edit_pattern(graph: Graph, path: Sequence[Edit], schema: Schema) -> EditPattern:
    """The steps of the net change of a path, in words."""
    change = Change.along(graph, path)
    names = [shorten(name) for name in schema.label_names] if len(schema.label_names) > 1 else ["node"]
    before, after = (
        Molecule(each, names, schema.edge_label_names, is_molecular=schema.is_molecular)
        for each in (graph, change.after)
    )
    steps = [
        *_fragments("remove", "from", change.removed, before, before),
        *_relabels(change, before, after),
        *_fragments("add", "to", change.added, after, before),
        *_cuts(change, before),
        *_joins(change, before),
    ]
    return EditPattern(tuple(text for text, _ in steps), tuple(plain for _, plain in steps))


def _fragments(
    verb: str, preposition: str, nodes: frozenset[int], side: Molecule, before: Molecule
) -> list[tuple[str, str]]:
    """A step for every connected fragment that is removed or added; fragments on the same atom are one step."""
    at: dict[frozenset[int], set[int]] = {}
    for part in components(nodes, side.neighbours):
        anchors = frozenset(other for node in part for other in side.neighbours[node] if other not in nodes)
        # Only fragments on a single shared atom are put together.
        at.setdefault(anchors if len(anchors) == 1 else anchors | part, set()).update(part)
    steps = []
    for key, fragment in at.items():
        tied = sorted(key - fragment)
        plain = f"{verb} {_formula(side.names[node] for node in fragment)}{_named(fragment, side)}"
        context = " and ".join(with_article(_noun(anchor, before)) for anchor in tied[:2])
        steps.append((f"{plain} {preposition} {context}" if tied else plain, plain))
    return sorted(steps)


def _named(fragment: set[int], molecule: Molecule) -> str:
    """The group a fragment is, or is a part of: " (nitro)", " (of a nitro)"."""
    heavy = frozenset(node for node in fragment if molecule.names[node] != "H")
    for group in molecule.groups:
        if heavy == group.atoms:
            return f" ({group.name})"
    for group in molecule.groups:
        if heavy and heavy < group.atoms:
            return f" (of {with_article(group.name)})"
    return ""


def _relabels(change: Change, before: Molecule, after: Molecule) -> list[tuple[str, str]]:
    steps = []
    for node in change.relabelled:
        old, new = (next((it.name for it in side.groups if node in it.atoms), "") for side in (before, after))
        made, to = f", making {with_article(new)}" if new not in (old, "") else "", after.atoms[node]
        steps.append((f"relabel {_noun(node, before)} to {to}{made}", f"relabel {before.atoms[node]} to {to}"))
    return sorted(steps)


def _cuts(change: Change, before: Molecule) -> list[tuple[str, str]]:
    steps = []
    for one, other in _between(change.cut, change.removed):
        plain = f"cut {_ends(before.names[one], before.names[other])}"
        group = next((group for group in before.groups if {one, other} <= group.atoms), None)
        if group is not None:
            steps.append((f"{plain} of {with_article(group.name)}", f"{plain} of {with_article(group.name)}"))
        elif {one, other} <= before.rings:
            steps.append((f"{plain} in a ring", plain))
        else:
            steps.append((f"cut {_ends(_noun(one, before), _noun(other, before))}", plain))
    return sorted(steps)


def _joins(change: Change, before: Molecule) -> list[tuple[str, str]]:
    joined = _between(change.joined, change.added)
    if not joined:
        return []
    import networkx as nx

    plain_graph: nx.Graph[int] = nx.Graph()
    plain_graph.add_nodes_from(before.graph.labels_by_id())
    plain_graph.add_edges_from(set(before.graph.edges_by_id()) - change.cut)
    steps = []
    for one, other in joined:
        plain = f"join {_ends(before.names[one], before.names[other])}"
        size = nx.shortest_path_length(plain_graph, one, other) + 1 if nx.has_path(plain_graph, one, other) else 0
        text = f"join {_ends(_noun(one, before), _noun(other, before))}"
        if before.is_molecular and 2 < size <= _LARGEST_NAMED_RING:
            text += f" into a {size}-ring"
        steps.append((text, plain))
    return sorted(steps)


def _between(edges: Iterable[tuple[int, int]], except_at: frozenset[int]) -> list[tuple[int, int]]:
    """Edges between kept nodes; others are removed or added with their node."""
    return sorted(edge for edge in edges if not except_at & set(edge))


def _noun(node: int, molecule: Molecule) -> str:
    """A node in its context: "aromatic C", "nitro N", "ring N", "C"."""
    name = molecule.names.get(node)
    if name is None:  # a new node another new node is tied to
        return "new node"
    if node in molecule.aromatic:
        return f"aromatic {name}"
    group = next((group for group in molecule.groups if node in group.atoms), None)
    if group is not None:
        return f"{group.name} {name}"
    return f"ring {name}" if node in molecule.rings else name


def _ends(one: str, other: str) -> str:
    return "–".join(sorted((one, other)))


def _formula(names: Iterable[str]) -> str:
    """Counted names, carbon first as in chemistry: "C, N and 2 O"."""
    counts = sorted(Counter(names).items(), key=lambda item: (item[0] != "C", item[0]))
    return join_words([name if count == 1 else f"{count} {name}" for name, count in counts])


def _count_steps(steps: Sequence[str]) -> str:
    counts = Counter(steps)
    text = "; ".join(step if count == 1 else f"{count} × {step}" for step, count in counts.items()) or "change nothing"
    return text if len(text) <= _LONGEST_PATTERN else f"{text[: _LONGEST_PATTERN - 1]}…"


Member = tuple[Graph, Sequence[Edit]]

_CLEAR = 0.5  # least share of members that follow a pattern for it to describe the recourse
_TELLING = 0.75  # with its context if at least this share of those follows that too
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


def describe_recourse(members: Sequence[Member], schema: Schema) -> Words:
    """Describe what the members of a recourse have in common.

    Args:
        members: Each covered input with its path of edits.
        schema: What labels are called.
    """
    if not members:
        return Words("covers no input", "No input is covered by this recourse alone.")
    patterns = [edit_pattern(graph, path, schema) for graph, path in members]
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


def _summary(patterns: Sequence[EditPattern]) -> str:
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


def _description(patterns: Sequence[EditPattern], lengths: Sequence[int]) -> str:
    total = len(patterns)
    counts = Counter(pattern.text for pattern in patterns)
    fewest, most = min(lengths), max(lengths)
    edits = (
        f"Edits: {fewest}." if fewest == most else f"Edits: {fewest} to {most}, median {statistics.median(lengths):g}."
    )
    if len(counts) == 1:
        return f"{f'All {total} graphs' if total > 1 else 'One graph'}: {patterns[0].text}. {edits}"
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
