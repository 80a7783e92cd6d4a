"""Edit paths: apply them, drop redundant steps, what they change in all, and their form in files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from operator import eq
from typing import Any

import numpy as np
import numpy.typing as npt

from comrecgc.graphs.batch import pointers
from comrecgc.graphs.edits import Edit, EditKind, apply_edit
from comrecgc.graphs.graph import EdgeIds, Graph, edges_by_id, labels_by_id, neighbours_by_id
from comrecgc.storage import check_pointers

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


def simplify_path(graph: Graph, path: Sequence[Edit]) -> EditPath:
    """A path to the same graph (up to isomorphism) without steps that undo each other; never longer than the given one.

    A removed and an added node with the same neighbours count as one node relabelled, so "remove O, add N in its
    place" becomes "relabel O to N". The order of steps may change; what is already as short stays as it is.
    """
    shorter = _net_path(Change.between(graph, _merged(graph, apply_path(graph, path))))
    # What was merged may let more be merged.
    return simplify_path(graph, shorter) if len(shorter) < len(path) else tuple(path)


@dataclass(frozen=True, eq=False)
class Change:
    """The net difference of two graphs, a node being the same where its id is. All in node ids.

    Args:
        before: The graph at the start.
        after: The graph at the end.
        removed: Nodes only `before` has.
        added: Nodes only `after` has.
        relabelled: Nodes of both whose label differs.
        cut: Edges only `before` has, those of removed nodes among them.
        joined: Edges only `after` has, those of added nodes among them.
    """

    before: Graph
    after: Graph
    removed: frozenset[int]
    added: frozenset[int]
    relabelled: frozenset[int]
    cut: frozenset[EdgeIds]
    joined: frozenset[EdgeIds]

    @classmethod
    def between(cls, before: Graph, after: Graph) -> Change:
        """The change from one graph to another."""
        old, new = labels_by_id(before), labels_by_id(after)
        old_edges, new_edges = edges_by_id(before), edges_by_id(after)
        return cls(
            before,
            after,
            removed=frozenset(old.keys() - new.keys()),
            added=frozenset(new.keys() - old.keys()),
            relabelled=frozenset(node for node in old.keys() & new.keys() if old[node] != new[node]),
            cut=frozenset(old_edges - new_edges),
            joined=frozenset(new_edges - old_edges),
        )

    @classmethod
    def along(cls, graph: Graph, path: Sequence[Edit]) -> Change:
        """What a path does in all; a node that gives its place to another counts as relabelled."""
        shortest = simplify_path(graph, path) if len(path) > 1 else path
        return cls.between(graph, apply_path(graph, shortest))

    @property
    def touched(self) -> frozenset[int]:
        """Every node that goes, comes, changes, or loses or gains an edge."""
        ends = frozenset(node for edge in self.cut | self.joined for node in edge)
        return self.removed | self.added | self.relabelled | ends


def _net_path(change: Change) -> EditPath:
    """A path that makes a change which keeps at least one node: removals, then relabels, then additions."""
    labels = labels_by_id(change.after)
    relabels = [Edit(EditKind.RELABEL, node, labels[node]) for node in sorted(change.relabelled)]
    return (*_removals(change), *relabels, *_additions(change))


def _removals(change: Change) -> list[Edit]:
    """Take away edges and nodes, a leaf together with its edge wherever that saves a step."""
    path = [Edit(EditKind.REMOVE_EDGE, *edge) for edge in sorted(change.cut) if not change.removed & set(edge)]
    left, remaining = set(change.removed), {edge for edge in change.cut if change.removed & set(edge)}
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


def _additions(change: Change) -> list[Edit]:
    """Bring new nodes, each tied to a node already there if it can be, then the edges still missing."""
    labels, neighbours, next_id = labels_by_id(change.after), neighbours_by_id(change.after), change.before.next_id
    renamed = {node: node for node in labels if node not in change.added}
    waiting, missing = sorted(change.added), set(change.joined)
    path = []
    while waiting:
        tied = [(node, anchor) for node in waiting for anchor in neighbours[node] if anchor in renamed]
        node, anchor = tied[0] if tied else (waiting[0], -1)
        path.append(Edit(EditKind.ADD_NODE, renamed.get(anchor, -1), labels[node]))
        renamed[node] = next_id
        next_id += 1
        waiting.remove(node)
        missing.discard((min(node, anchor), max(node, anchor)))
    return path + [Edit(EditKind.ADD_EDGE, renamed[i], renamed[j]) for i, j in sorted(missing)]


def _merged(start: Graph, end: Graph) -> Graph:
    """`end` with added nodes taking the ids of removed ones that had the same neighbours."""
    old, new = labels_by_id(start), labels_by_id(end)
    old_neighbours, new_neighbours = neighbours_by_id(start), neighbours_by_id(end)
    ids = {node: node for node in new}
    gone = [node for node in old if node not in new]
    for added in [node for node in new if node not in old]:
        around = sorted(ids[node] for node in new_neighbours[added])
        twins = [node for node in gone if old_neighbours[node] == around]
        if twins:
            twin = min(twins, key=lambda node: (old[node] != new[added], node))
            ids[added] = twin
            gone.remove(twin)
    if not set(ids.values()) & set(old):  # nothing of the start is left: let one new node stand for an old one
        ids[int(end.ids[0])] = int(start.ids[0])
    names = np.array([ids[node] for node in new], dtype=np.int32)
    order = np.argsort(names)
    plain = end.permuted(order)
    return Graph.assemble(plain.labels, plain.edges, plain.edge_labels, names[order], end.next_id)


def path_arrays(name: str, paths: Sequence[EditPath]) -> dict[str, npt.NDArray[Any]]:
    """Paths end to end, for files: every edit as three numbers, and where each path begins."""
    edits = np.array([edit for path in paths for edit in path], dtype=np.int32).reshape(-1, 3)
    return {f"{name}_edits": edits, f"{name}_path_ptr": pointers([len(path) for path in paths])}


def read_paths(name: str, arrays: Mapping[str, npt.NDArray[Any]]) -> list[EditPath]:
    """The inverse of `path_arrays`."""
    edits = [Edit(EditKind(kind), first, second) for kind, first, second in arrays[f"{name}_edits"].tolist()]
    ptr = arrays[f"{name}_path_ptr"]
    check_pointers(ptr, len(ptr) - 1, len(edits))
    return [tuple(edits[start:stop]) for start, stop in pairwise(ptr.tolist())]
