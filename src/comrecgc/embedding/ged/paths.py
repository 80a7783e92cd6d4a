"""Edit paths: the edits behind a node mapping, one at a time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from comrecgc.errors import InputError
from comrecgc.graphs import Edit, EditKind, EditPath, Graph


def edit_path(
    source: Graph, target: Graph, mapping: npt.ArrayLike, *, rng: np.random.Generator | None = None
) -> EditPath:
    """Edits, in node ids of `source`, that turn it into a graph isomorphic to `target` by the given mapping.

    A new node comes with an edge, and a leaf goes with its edge, wherever possible (each costs 2). Without `rng`
    everything is added before anything is removed, so that a path between connected graphs keeps to connected ones;
    with it, edits come in random order. No graph on the way is empty.

    Args:
        source: The graph to start from.
        target: The graph to reach.
        mapping: Position in `target` of each node of `source`, -1 for a deleted one, `[n]`.
        rng: Shuffles the edits.
    """
    plan = _Plan(source, target, _checked_mapping(source, target, mapping))
    path = []
    while steps := plan.steps():
        path.append(plan.take(min(steps) if rng is None else steps[int(rng.integers(len(steps)))]))
    return tuple(path)


class _Step(NamedTuple):
    """An edit that is possible now; nodes are named as in `_Plan`. Sorts additions first."""

    rank: int
    kind: EditKind
    first: int
    second: int


class _Plan:
    """What is still to be done on the way to the target.

    Nodes of the source are named by their id, new ones by -2 - (position in the target).
    """

    def __init__(self, source: Graph, target: Graph, mapping: list[int]) -> None:
        ids = source.ids.tolist()
        name_of = {k: ids[i] for i, k in enumerate(mapping) if k != -1}
        name_of |= {k: -2 - k for k in range(target.num_nodes) if k not in name_of}
        self.labels = dict(zip(ids, source.labels.tolist(), strict=True))
        self.edges = {_edge(ids[i], ids[j]) for i, j in source.edges.tolist()}
        self.goal_labels = {name_of[k]: label for k, label in enumerate(target.labels.tolist())}
        self.goal_edges = {_edge(name_of[i], name_of[j]) for i, j in target.edges.tolist()}
        self.ids = {node: node for node in ids}
        self.next_id = source.next_id

    def steps(self) -> list[_Step]:
        """The edits possible now, in a fixed order; none when the target is reached."""
        steps = []
        for i, j in sorted(self.goal_edges - self.edges):
            if i in self.labels and j in self.labels:
                steps.append(_Step(1, EditKind.ADD_EDGE, i, j))
            elif i in self.labels or j in self.labels:
                node, anchor = (j, i) if i in self.labels else (i, j)
                steps.append(_Step(0, EditKind.ADD_NODE, node, anchor))
        for node, label in self.goal_labels.items():
            if self.labels.get(node, label) != label:
                steps.append(_Step(2, EditKind.RELABEL, node, label))
        steps += self._removals()
        fresh = [node for node in self.goal_labels if node not in self.labels]
        if not steps and fresh:
            steps.append(_Step(0, EditKind.ADD_NODE, fresh[0], -1))
        return steps

    def take(self, step: _Step) -> Edit:
        """Do one step; returns it as an edit in ids."""
        _, kind, first, second = step
        match kind:
            case EditKind.RELABEL:
                self.labels[first] = second
                return Edit(kind, self.ids[first], second)
            case EditKind.ADD_NODE:
                return self._add_node(first, second)
            case EditKind.REMOVE_NODE:
                del self.labels[first]
                self.edges = {edge for edge in self.edges if first not in edge}
                return Edit(kind, self.ids[first])
            case EditKind.ADD_EDGE:
                self.edges.add((first, second))
            case EditKind.REMOVE_EDGE:
                self.edges.remove((first, second))
        return Edit(kind, self.ids[first], self.ids[second])

    def _removals(self) -> list[_Step]:
        doomed = [node for node in self.labels if node not in self.goal_labels]
        degree = dict.fromkeys(doomed, 0)
        for edge in self.edges:
            for node in edge:
                if node in degree:
                    degree[node] += 1
        steps = []
        if len(self.labels) > 1:
            steps += [_Step(3, EditKind.REMOVE_NODE, node, -1) for node in doomed if degree[node] <= 1]
        for i, j in sorted(self.edges - self.goal_edges):
            if degree.get(i) != 1 and degree.get(j) != 1:  # else the edge goes with its leaf
                steps.append(_Step(4, EditKind.REMOVE_EDGE, i, j))
        return steps

    def _add_node(self, node: int, anchor: int) -> Edit:
        self.labels[node] = self.goal_labels[node]
        self.ids[node] = self.next_id
        self.next_id += 1
        tied = anchor in self.labels
        if tied:
            self.edges.add(_edge(node, anchor))
        return Edit(EditKind.ADD_NODE, self.ids[anchor] if tied else -1, self.labels[node])


def _edge(i: int, j: int) -> tuple[int, int]:
    return (i, j) if i < j else (j, i)


def _checked_mapping(source: Graph, target: Graph, mapping: npt.ArrayLike) -> list[int]:
    places = np.asarray(mapping)
    if places.shape != (source.num_nodes,) or not np.issubdtype(places.dtype, np.integer):
        raise InputError(f"mapping needs one position per node of the source (got shape {places.shape})")
    if places.min() < -1 or places.max() >= target.num_nodes:
        raise InputError(f"mapping must lie in -1…{target.num_nodes - 1} (got {places.min()}…{places.max()})")
    kept = places[places != -1]
    if len(np.unique(kept)) != len(kept):
        raise InputError("mapping must not send two nodes to the same place")
    return [int(place) for place in places]
