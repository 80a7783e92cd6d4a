"""Edit paths: apply, invert, drop redundant steps, and say in words what a path does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise, takewhile
from operator import eq

import numpy as np

from comrecgc.errors import InputError
from comrecgc.graphs.edits import Edit, EditKind, apply_edit
from comrecgc.graphs.graph import Graph

EditPath = tuple[Edit, ...]


def apply_path(graph: Graph, path: Iterable[Edit]) -> Graph:
    """The graph after all edits of the path, in order."""
    for edit in path:
        graph = apply_edit(graph, edit)
    return graph


def apply_paths(inputs: Sequence[Graph], starts: Sequence[int], paths: Sequence[EditPath]) -> list[Graph]:
    """The graph each path leads to; what paths from one input begin with in common is walked once.

    Args:
        inputs: Where paths may begin.
        starts: Index of the input that each path begins at.
        paths: The paths.
    """
    ends: dict[int, Graph] = {}
    start, path, stations = -1, EditPath(), list[Graph]()  # of the path before
    for place in sorted(range(len(paths)), key=lambda place: (starts[place], paths[place])):
        if starts[place] != start:
            start, path, stations = starts[place], (), [inputs[starts[place]]]
        shared = len(list(takewhile(bool, map(eq, path, paths[place]))))
        path = paths[place]
        stations = stations[:shared] + path_graphs(stations[shared], path[shared:])
        ends[place] = stations[-1]
    return [ends[place] for place in range(len(paths))]


def path_graphs(source: Graph, path: Iterable[Edit]) -> list[Graph]:
    """The graphs on a path, from `source` to the last."""
    graphs = [source]
    for edit in path:
        graphs.append(apply_edit(graphs[-1], edit))
    return graphs


def path_costs(graphs: Sequence[Graph]) -> list[int]:
    """Unit edit-distance cost of reaching each graph of `path_graphs`: elements added or removed, 1 for a relabel.

    Adding a tied node, or removing a leaf, is one edit but touches two elements: the node and its edge.
    """
    costs = [0]
    for before, after in pairwise(graphs):
        costs.append(costs[-1] + (abs(after.size - before.size) or 1))
    return costs


def path_cost(graph: Graph, path: Iterable[Edit]) -> int:
    """Unit edit-distance cost of a whole path."""
    return path_costs(path_graphs(graph, path))[-1]


def invert_path(graph: Graph, path: Sequence[Edit]) -> EditPath:
    """A path that leads from `apply_path(graph, path)` back to a graph isomorphic to `graph`.

    Nodes that come back take new ids, as any added node does; labels of edges that come back are not restored.
    """
    stations = path_graphs(graph, path)
    renamed: dict[int, int] = {}  # id on the way out -> id on the way back
    next_id = stations[-1].next_id
    inverse = []
    for before, edit in zip(reversed(stations[:-1]), reversed(path), strict=True):
        inverse.append(_inverse(before, edit, renamed))
        if edit.kind == EditKind.REMOVE_NODE:
            renamed[edit.first] = next_id
            next_id += 1
    return tuple(inverse)


def _inverse(before: Graph, edit: Edit, renamed: dict[int, int]) -> Edit:
    first, second = renamed.get(edit.first, edit.first), renamed.get(edit.second, edit.second)
    match edit.kind:
        case EditKind.RELABEL:
            return Edit(EditKind.RELABEL, first, int(before.labels[before.position(edit.first)]))
        case EditKind.ADD_NODE:
            return Edit(EditKind.REMOVE_NODE, renamed.get(before.next_id, before.next_id))
        case EditKind.REMOVE_NODE:
            node = before.position(edit.first)
            neighbours = before.edges[(before.edges == node).any(axis=1)]
            anchor = int(before.ids[neighbours[neighbours != node][0]]) if len(neighbours) else -1
            return Edit(EditKind.ADD_NODE, renamed.get(anchor, anchor), int(before.labels[node]))
        case EditKind.ADD_EDGE:
            return Edit(EditKind.REMOVE_EDGE, first, second)
        case EditKind.REMOVE_EDGE:
            return Edit(EditKind.ADD_EDGE, first, second)


def simplify_path(graph: Graph, path: Sequence[Edit]) -> EditPath:
    """A path to the same graph (up to isomorphism) without steps that undo each other; never longer than the given one.

    A removed and an added node with the same neighbours count as one node relabelled, so "remove O, add N in its
    place" becomes "relabel O to N". The order of steps may change; what is already as short stays as it is.
    """
    end = apply_path(graph, path)
    shorter = net_path(graph, _merged(graph, end))
    # What was merged may let more be merged.
    return simplify_path(graph, shorter) if len(shorter) < len(path) else tuple(path)


def net_path(start: Graph, end: Graph) -> EditPath:
    """A path from `start` to `end`, a node being the same where its id is: removals, then relabels, then additions.

    Args:
        start: Where the path begins.
        end: A graph some of whose ids are `start`'s; all others are new nodes.
    """
    old, new = _by_id(start), _by_id(end)
    gone = [node for node in old.labels if node not in new.labels]
    if len(gone) == len(old.labels):
        raise InputError("A path must keep at least one node of its start (got an end that shares none)")
    path = _removals(set(gone), {edge for edge in old.edges if edge not in new.edges})
    path += [
        Edit(EditKind.RELABEL, node, new.labels[node])
        for node in old.labels
        if node in new.labels and new.labels[node] != old.labels[node]
    ]
    return tuple(path + _additions(start.next_id, old, new))


class _ById:
    """A graph as plain dictionaries keyed by node id."""

    def __init__(self, labels: dict[int, int], edges: set[tuple[int, int]]) -> None:
        self.labels = labels
        self.edges = edges

    def neighbours(self, node: int) -> set[int]:
        return {i + j - node for i, j in self.edges if node in (i, j)}


def _by_id(graph: Graph) -> _ById:
    labels = dict(zip(graph.ids.tolist(), graph.labels.tolist(), strict=True))
    return _ById(labels, {(i, j) for i, j in graph.ids[graph.edges].tolist()})


def _removals(gone: set[int], gone_edges: set[tuple[int, int]]) -> list[Edit]:
    """Take away edges and nodes, a leaf together with its edge wherever that saves a step."""
    remaining, left = set(gone_edges), set(gone)
    path = []
    for edge in sorted(edge for edge in gone_edges if not gone & set(edge)):
        path.append(Edit(EditKind.REMOVE_EDGE, *edge))
        remaining.discard(edge)
    while left:
        at = {node: [edge for edge in remaining if node in edge] for node in left}
        leaf = min((node for node in left if len(at[node]) <= 1), default=None)
        if leaf is None:  # only rings of doomed nodes are left: open one
            edge = min(edge for edges in at.values() for edge in edges)
            path.append(Edit(EditKind.REMOVE_EDGE, *edge))
            remaining.discard(edge)
            continue
        path.append(Edit(EditKind.REMOVE_NODE, leaf))
        left.discard(leaf)
        remaining -= set(at[leaf])
    return path


def _additions(next_id: int, old: _ById, new: _ById) -> list[Edit]:
    """Bring new nodes, each tied to a node already there if it can be, then the edges still missing."""
    renamed = {node: node for node in new.labels if node in old.labels}
    waiting = [node for node in new.labels if node not in old.labels]
    missing = {edge for edge in new.edges if edge not in old.edges}
    path = []
    while waiting:
        tied = [(node, anchor) for node in waiting for anchor in sorted(new.neighbours(node)) if anchor in renamed]
        node, anchor = tied[0] if tied else (waiting[0], -1)
        path.append(Edit(EditKind.ADD_NODE, renamed.get(anchor, -1), new.labels[node]))
        renamed[node] = next_id
        next_id += 1
        waiting.remove(node)
        missing.discard((min(node, anchor), max(node, anchor)))
    return path + [Edit(EditKind.ADD_EDGE, renamed[i], renamed[j]) for i, j in sorted(missing)]


def _merged(start: Graph, end: Graph) -> Graph:
    """`end` with added nodes taking the ids of removed ones that had the same neighbours."""
    old, new = _by_id(start), _by_id(end)
    ids = dict(zip(end.ids.tolist(), end.ids.tolist(), strict=True))
    gone = [node for node in old.labels if node not in new.labels]
    for added in [node for node in new.labels if node not in old.labels]:
        around = {ids[node] for node in new.neighbours(added)}
        twins = [node for node in gone if old.neighbours(node) == around]
        if twins:
            twin = min(twins, key=lambda node: (old.labels[node] != new.labels[added], node))
            ids[added] = twin
            gone.remove(twin)
    if not set(ids.values()) & set(old.labels):  # nothing of the start is left: let one new node stand for an old one
        ids[int(end.ids[0])] = int(start.ids[0])
    names = np.array([ids[node] for node in end.ids.tolist()], dtype=np.int32)
    order = np.argsort(names)
    plain = end.permuted(order)
    return Graph.assemble(plain.labels, plain.edges, plain.edge_labels, names[order], end.next_id)


def describe_edit(graph: Graph, edit: Edit, label_names: Sequence[str]) -> str:
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
    words = []
    for edit in path:
        words.append(describe_edit(graph, edit, label_names))
        graph = apply_edit(graph, edit)
    return words


def summarise_path(graph: Graph, path: Sequence[Edit], label_names: Sequence[str]) -> str:
    """What a path does in all, counted by label: "remove N, 2 O; relabel C to N; join C-C"."""
    groups: dict[str, Counter[str]] = {verb: Counter() for verb in ("remove", "relabel", "add", "cut", "join")}
    for edit in path:
        names = {node: label_names[label] for node, label in _by_id(graph).labels.items()}
        match edit.kind:
            case EditKind.RELABEL:
                groups["relabel"][f"{names[edit.first]} to {label_names[edit.second]}"] += 1
            case EditKind.ADD_NODE:
                groups["add"][label_names[edit.second]] += 1
            case EditKind.REMOVE_NODE:
                groups["remove"][names[edit.first]] += 1
            case EditKind.ADD_EDGE | EditKind.REMOVE_EDGE:
                verb = "join" if edit.kind == EditKind.ADD_EDGE else "cut"
                groups[verb]["-".join(sorted((names[edit.first], names[edit.second])))] += 1
        graph = apply_edit(graph, edit)
    phrases = [
        f"{verb} " + ", ".join(name if count == 1 else f"{count} {name}" for name, count in sorted(counts.items()))
        for verb, counts in groups.items()
        if counts
    ]
    return "; ".join(phrases) or "change nothing"
