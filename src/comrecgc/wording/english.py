"""English for generated sentences: articles, plurals, numbers, lists, steps joined into a sentence; and edits and vector recourses in words."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from comrecgc.graphs import Change, Edit, EditKind, Graph, Schema, components, path_graphs
from comrecgc.molecules import Molecule

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
    whole = [f" ({group.name})" for group in molecule.groups if heavy == group.atoms]
    part = [f" (of {with_article(group.name)})" for group in molecule.groups if heavy and heavy < group.atoms]
    return next(iter((*whole, *part)), "")


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
    """A recourse in words."""

    summary: str  # the most common pattern, and the share of members that follow it unless all do
    description: str  # the most common patterns with their counts, and the number of edits


def describe_recourse(members: Sequence[Member], schema: Schema) -> Words:
    """Describe what the members of a recourse, each a covered input with its path of edits, have in common."""
    if not members:
        return Words("covers no input", "No input is covered by this recourse alone.")
    patterns = [edit_pattern(graph, path, schema) for graph, path in members]
    return Words(_summary(patterns), _description(patterns, [len(path) for _, path in members]))


def representatives(patterns: Sequence[str], sizes: Sequence[int], count: int) -> list[int]:
    """A few members to show, by their patterns and sizes: the smallest of each pattern, common patterns first and twice if there is room."""
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
    between = "" if fewest == most else f" to {most}, median {statistics.median(lengths):g}"
    edits = f"Edits: {fewest}{between}."
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
