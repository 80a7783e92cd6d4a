"""What the edits of one graph do, in steps: each connected piece of their net change, in words.

"remove N and 2 O (nitro) from an aromatic C" is one step. Well-known groups are named where label names are elements.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from comrecgc.graphs import Change, EdgeIds, Edit, EditKind, Graph, components, edges_by_id, labels_by_id, path_graphs
from comrecgc.molecules import Molecule
from comrecgc.wording.english import clipped, with_article

_LONGEST_PATTERN = 200
_LARGEST_NAMED_RING = 8


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


@dataclass(frozen=True)
class Pattern:
    """What the edits of one member do.

    Args:
        steps: Each step with its context: "remove O (hydroxyl) from an aromatic C".
        plain_steps: The same without context: "remove O (hydroxyl)".
    """

    steps: tuple[str, ...]
    plain_steps: tuple[str, ...]

    @property
    def text(self) -> str:
        return _counted(self.steps)

    @property
    def plain(self) -> str:
        return _counted(self.plain_steps)


def pattern_of(
    graph: Graph,
    path: Sequence[Edit],
    label_names: Sequence[str],
    *,
    edge_label_names: Sequence[str] | None = None,
    is_molecular: bool = False,
) -> Pattern:
    """The pattern of one member: the steps of its net change, in words."""
    change = Change.along(graph, path)
    names = [clipped(name) for name in label_names] if len(label_names) > 1 else ["node"]
    before = Molecule(graph, names, edge_label_names, is_molecular=is_molecular)
    after = Molecule(change.after, names, edge_label_names, is_molecular=is_molecular)
    steps = [
        *_fragments("remove", "from", change.removed, before, before),
        *_relabels(change, before, after),
        *_fragments("add", "to", change.added, after, before),
        *_cuts(change, before),
        *_joins(change, before),
    ]
    return Pattern(tuple(text for text, _ in steps), tuple(plain for _, plain in steps))


def _fragments(
    verb: str, preposition: str, nodes: frozenset[int], side: Molecule, before: Molecule
) -> list[tuple[str, str]]:
    """A step for every connected fragment that goes or comes; fragments on one and the same atom are one step."""
    at: dict[frozenset[int], set[int]] = {}
    for part in components(nodes, side.neighbours):
        anchors = frozenset(other for node in part for other in side.neighbours[node] if other not in nodes)
        key = (
            anchors if len(anchors) == 1 else anchors | part
        )  # only fragments on a single shared atom are put together
        at.setdefault(key, set()).update(part)
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
        made = f", making {with_article(new)}" if new not in (old, "") else ""
        steps.append(
            (
                f"relabel {_noun(node, before)} to {after.atoms[node]}{made}",
                f"relabel {before.atoms[node]} to {after.atoms[node]}",
            )
        )
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
    plain_graph.add_nodes_from(labels_by_id(before.graph))
    plain_graph.add_edges_from(edges_by_id(before.graph) - change.cut)
    steps = []
    for one, other in joined:
        plain = f"join {_ends(before.names[one], before.names[other])}"
        size = nx.shortest_path_length(plain_graph, one, other) + 1 if nx.has_path(plain_graph, one, other) else 0
        text = f"join {_ends(_noun(one, before), _noun(other, before))}"
        if before.is_molecular and 2 < size <= _LARGEST_NAMED_RING:
            text += f" into a {size}-ring"
        steps.append((text, plain))
    return sorted(steps)


def _between(edges: Iterable[EdgeIds], except_at: frozenset[int]) -> list[EdgeIds]:
    """Edges between nodes that both stay; the others go or come with their node."""
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
    terms = [name if count == 1 else f"{count} {name}" for name, count in counts]
    return terms[0] if len(terms) == 1 else f"{', '.join(terms[:-1])} and {terms[-1]}"


def _counted(steps: Sequence[str]) -> str:
    counts = Counter(steps)
    text = "; ".join(step if count == 1 else f"{count} × {step}" for step, count in counts.items()) or "change nothing"
    return text if len(text) <= _LONGEST_PATTERN else f"{text[: _LONGEST_PATTERN - 1]}…"
