"""The five edits of the paper, single and as flat tables of all edits of a graph; paths of edits; constraints."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import pairwise, takewhile
from operator import eq
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from comrecgc.errors import InputError
from comrecgc.graphs import graph_kernels
from comrecgc.graphs.batch import GraphBatch, LongArray, pointers
from comrecgc.graphs.graph import BoolArray, Graph, IntArray
from comrecgc.run import check_pointers


class EditKind(IntEnum):
    """Kind of an edit; files use the lower-case name."""

    RELABEL = 0
    ADD_NODE = 1
    REMOVE_NODE = 2
    ADD_EDGE = 3
    REMOVE_EDGE = 4

    @property
    def joins_nodes(self) -> bool:
        """Whether both arguments of the edit are nodes."""
        return self in (EditKind.ADD_EDGE, EditKind.REMOVE_EDGE)


class Edit(NamedTuple):
    """One edit, in node ids.

    | kind        | first                            | second    |
    |-------------|----------------------------------|-----------|
    | RELABEL     | node                             | new label |
    | ADD_NODE    | node it is tied to, -1 for none  | its label |
    | REMOVE_NODE | node of degree at most 1         | -1        |
    | ADD_EDGE    | node                             | node      |
    | REMOVE_EDGE | node                             | node      |

    The node that ADD_NODE brings takes the graph's `next_id`. REMOVE_NODE takes the node's edge with it.
    """

    kind: EditKind
    first: int
    second: int = -1


@dataclass(frozen=True, eq=False, slots=True)
class EditTable:
    """Many edits of one graph as arrays, in *positions* of that graph; `table[i]` is the i-th as an `Edit` in ids."""

    kind: npt.NDArray[np.int8]  # of each edit, `[N]`
    first: IntArray  # its first argument (see `Edit`), `[N]`
    second: IntArray  # its second argument, `[N]`
    ids: IntArray  # of the graph, `[n]`

    def __len__(self) -> int:
        return len(self.kind)

    def __getitem__(self, index: int) -> Edit:
        kind, first, second = EditKind(int(self.kind[index])), int(self.first[index]), int(self.second[index])
        return Edit(kind, int(self.ids[first]), int(self.ids[second]) if kind.joins_nodes else second)

    def select(self, chosen: BoolArray | npt.NDArray[np.intp]) -> EditTable:
        """The edits under a mask or at the given indices."""
        return EditTable(self.kind[chosen], self.first[chosen], self.second[chosen], self.ids)

    def of_kind(self, kind: EditKind) -> BoolArray:
        return np.asarray(self.kind == kind)

    def size_changes(self) -> IntArray:
        """Change of `|G|`, the number of elements, by each edit, `[N]`."""
        return _SIZE_CHANGE[self.kind]


_MOST_NODES = 5_000  # every pair of nodes is a possible edge: 0.4 GB at this size, four times that at twice it
_RULES = {
    EditKind.RELABEL: "Relabelling must give another, non-negative label",
    EditKind.ADD_NODE: "A new node needs a non-negative label",
    EditKind.REMOVE_NODE: "Only a node of degree 0 or 1 that is not the last node can be removed",
    EditKind.ADD_EDGE: "An added edge must join two unjoined nodes",
    EditKind.REMOVE_EDGE: "A removed edge must exist",
}
_SIZE_CHANGE = np.array([0, 2, -2, 1, -1], dtype=np.int32)  # by kind, of an edit in N(G)


def one_edit_table(graph: Graph, num_labels: int) -> EditTable:
    """Every edit in `N(graph)`: relabel a node, add a labelled node tied to a node, remove a degree-1 node, add or remove an edge."""
    if graph.labels.max() >= num_labels:
        raise InputError(f"num_labels must exceed every node label (got {num_labels}, label {graph.labels.max()})")
    n = graph.num_nodes
    if n > _MOST_NODES:
        raise InputError(f"Only graphs of at most {_MOST_NODES} nodes can be edited (got one of {n})")
    nodes = np.repeat(np.arange(n, dtype=np.int32), num_labels)
    labels = np.tile(np.arange(num_labels, dtype=np.int32), n)
    changes = labels != graph.labels[nodes]
    leaves = np.flatnonzero(graph.degrees() == 1).astype(np.int32)
    apart = _non_edges(graph)
    firsts = [nodes[changes], nodes, leaves, apart[:, 0], graph.edges[:, 0]]  # in the order of `EditKind`
    seconds = [labels[changes], labels, np.full(len(leaves), -1, np.int32), apart[:, 1], graph.edges[:, 1]]
    kinds = np.repeat(np.arange(len(EditKind), dtype=np.int8), [len(first) for first in firsts])
    return EditTable(kinds, np.concatenate(firsts), np.concatenate(seconds), graph.ids)


def _non_edges(graph: Graph) -> IntArray:
    """Pairs `i < j` not joined by an edge, `[·, 2]`."""
    apart = np.triu(np.ones((graph.num_nodes, graph.num_nodes), dtype=bool), k=1)
    apart[graph.edges[:, 0], graph.edges[:, 1]] = False
    return np.argwhere(apart).astype(np.int32)


def apply_edit(graph: Graph, edit: Edit) -> Graph:
    """The graph after one edit; an edit that does not fit raises `InputError`."""
    if edit.kind not in _RULES:
        raise InputError(f"The kind of an edit must be an EditKind (got {edit.kind!r})")
    kind, is_lone = EditKind(edit.kind), edit.kind == EditKind.ADD_NODE and edit.first == -1
    first = -1 if is_lone else graph.position(edit.first)
    second = graph.position(edit.second) if kind.joins_nodes else edit.second
    labels, edges, source, fits = graph_kernels.edited(graph.labels, graph.edges, int(kind), first, second)
    if not fits:
        raise InputError(f"{_RULES[kind]} (got {kind.name.lower()} {edit.first}, {edit.second})")
    ids, next_id = graph.ids, graph.next_id
    if kind == EditKind.ADD_NODE:
        ids, next_id = np.append(ids, np.int32(next_id)), next_id + 1
    elif kind == EditKind.REMOVE_NODE:
        ids = np.delete(ids, first)
    # What an edit leaves as it is, the two graphs share.
    labels = graph.labels if kind.joins_nodes else labels
    edges = graph.edges if kind == EditKind.RELABEL else edges
    return Graph.assemble(labels, edges, _edge_labels(graph, source), ids, next_id, graph.source)


def edited_batch(graph: Graph, table: EditTable, *, with_edge_labels: bool = False) -> GraphBatch:
    """The graph after each edit of its table, as one batch: graph `i` of the batch is the graph after `table[i]`.

    Models rarely need edge labels, so they are included only on request.
    """
    if len(table.ids) != graph.num_nodes:
        raise InputError(f"The edits must be of this graph of {graph.num_nodes} nodes (got edits of {len(table.ids)})")
    with_edge_labels = with_edge_labels and graph.edge_labels is not None
    labels, edges, source, node_ptr, edge_ptr, misfit = graph_kernels.edited_batch(
        graph.labels, graph.edges, table.kind, table.first, table.second, with_edge_labels
    )
    if misfit >= 0:
        raise InputError(f"The edits must be of this graph: {table[misfit]} does not fit it")
    edge_labels = _edge_labels(graph, source) if with_edge_labels else None
    batch = GraphBatch(labels, edges, node_ptr, edge_ptr, edge_labels)
    return batch if graph.source < 0 else replace(batch, ids=_edited_ids(graph, table, batch), source=graph.source)


def _edited_ids(graph: Graph, table: EditTable, batch: GraphBatch) -> IntArray:
    """Ids of the nodes of edited graphs, `[N]`: an added node comes last, and those behind a removed one move up."""
    position = np.arange(len(batch.labels)) - np.repeat(batch.node_ptr[:-1], batch.node_counts())
    removed = np.where(table.kind == EditKind.REMOVE_NODE, table.first, graph.num_nodes + 1)
    position += position >= np.repeat(removed, batch.node_counts())
    return np.append(graph.ids, np.int32(graph.next_id))[position]


def _edge_labels(graph: Graph, source: IntArray) -> IntArray | None:
    """Edge labels by the old edge that each edge was; those of new edges (-1) are 0."""
    return None if graph.edge_labels is None else np.append(graph.edge_labels, np.int32(0))[source]


# Edit paths: apply them, drop redundant steps, what they change in all, and their form in files.


EditPath = tuple[Edit, ...]


def apply_path(graph: Graph, path: Iterable[Edit]) -> Graph:
    """The graph after all edits of the path, in order."""
    return path_graphs(graph, path)[-1]


def apply_paths(inputs: Sequence[Graph], starts: Sequence[int], paths: Sequence[EditPath]) -> list[Graph]:
    """The graph each path leads to from the input of index `starts[i]`; a common beginning of paths from one input is applied once."""
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


def simplify_path(graph: Graph, path: Sequence[Edit]) -> EditPath:
    """A path to the same graph (up to isomorphism) without steps that undo each other, no longer than the given one.

    A removed and an added node with the same neighbours count as one node relabelled, so "remove O, add N in its
    place" becomes "relabel O to N". The order of steps may change; a path that cannot be shortened is returned unchanged.
    """
    shorter = edits_between(graph, _merge_twins(graph, apply_path(graph, path)))
    # What was merged may let more be merged.
    return simplify_path(graph, shorter) if len(shorter) < len(path) else tuple(path)


@dataclass(frozen=True, eq=False)
class Change:
    """The net difference of two graphs in node ids; nodes of both graphs are matched by id."""

    before: Graph
    after: Graph
    removed: frozenset[int]  # nodes only `before` has
    added: frozenset[int]  # nodes only `after` has
    relabelled: frozenset[int]  # nodes of both whose label differs
    cut: frozenset[tuple[int, int]]  # edges only `before` has, those of removed nodes among them
    joined: frozenset[tuple[int, int]]  # edges only `after` has, those of added nodes among them

    @classmethod
    def between(cls, before: Graph, after: Graph) -> Change:
        """The change from one graph to another."""
        old, new = before.labels_by_id(), after.labels_by_id()
        old_edges, new_edges = set(before.edges_by_id()), set(after.edges_by_id())
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
        """The net change of a path; a removed node whose place a new one takes counts as relabelled."""
        shortest = simplify_path(graph, path) if len(path) > 1 else path
        return cls.between(graph, apply_path(graph, shortest))

    @property
    def touched(self) -> frozenset[int]:
        """Nodes that are removed, added or relabelled, or that lose or gain an edge."""
        ends = frozenset(node for edge in self.cut | self.joined for node in edge)
        return self.removed | self.added | self.relabelled | ends


def edits_between(graph: Graph, changed: Graph) -> EditPath:
    """Edits from one graph to another, with nodes matched by id: relabels, then removals, then additions.

    Edge labels are not compared. The graphs must share a node. New nodes keep their ids if each has a neighbour among those before it.
    """
    change, labels = Change.between(graph, changed), changed.labels_by_id()
    relabels = [Edit(EditKind.RELABEL, node, labels[node]) for node in sorted(change.relabelled)]
    return (*relabels, *_removals(change), *_additions(change))


def _removals(change: Change) -> list[Edit]:
    """Removals of edges and nodes; a leaf takes its edge with it wherever that saves a step."""
    path = [Edit(EditKind.REMOVE_EDGE, *edge) for edge in sorted(change.cut) if not change.removed & set(edge)]
    left, remaining = set(change.removed), {edge for edge in change.cut if change.removed & set(edge)}
    while left:
        at = {node: [edge for edge in remaining if node in edge] for node in left}
        leaf = min((node for node in left if len(at[node]) <= 1), default=None)
        if leaf is None:  # only rings of nodes to remove are left: open one
            edge = min(edge for edges in at.values() for edge in edges)
            path.append(Edit(EditKind.REMOVE_EDGE, *edge))
            remaining.discard(edge)
            continue
        path.append(Edit(EditKind.REMOVE_NODE, leaf))
        left.discard(leaf)
        remaining -= set(at[leaf])
    return path


def _additions(change: Change) -> list[Edit]:
    """Additions of nodes, each tied to a present node if possible, then of the edges still missing."""
    labels, neighbours, next_id = change.after.labels_by_id(), change.after.neighbours_by_id(), change.before.next_id
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


def _merge_twins(start: Graph, end: Graph) -> Graph:
    """`end` with added nodes taking the ids of removed ones that had the same neighbours."""
    old, new = start.labels_by_id(), end.labels_by_id()
    old_neighbours, new_neighbours = start.neighbours_by_id(), end.neighbours_by_id()
    ids = {node: node for node in new}
    gone = [node for node in old if node not in new]
    for added in [node for node in new if node not in old]:
        around = sorted(ids[node] for node in new_neighbours[added])
        twins = [node for node in gone if old_neighbours[node] == around]
        if twins:
            twin = min(twins, key=lambda node: (old[node] != new[added], node))
            ids[added] = twin
            gone.remove(twin)
    if not set(ids.values()) & set(old):  # no old node is left: let one new node take the id of an old one
        ids[int(end.ids[0])] = int(start.ids[0])
    names = np.array([ids[node] for node in new], dtype=np.int32)
    order = np.argsort(names)
    plain = end.permute(order)
    return Graph.assemble(plain.labels, plain.edges, plain.edge_labels, names[order], end.next_id, end.source)


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


# Which edits are allowed: small rules that mask an edit table, and their conjunction.


class Constraint(Protocol):
    """A rule on edits. Anything with this method can be passed wherever a constraint is taken."""

    def allowed(self, graph: Graph, table: EditTable) -> BoolArray:
        """Mask over the table (in positions of `graph`): True where the edit may be made."""
        ...


def allowed_edits(graph: Graph, num_labels: int, constraint: Constraint | None = None) -> EditTable:
    """The edits in `N(graph)` that the constraint allows; without one, all."""
    table = one_edit_table(graph, num_labels)
    return table if constraint is None else table.select(constraint.allowed(graph, table))


@dataclass(frozen=True, init=False)
class AllOf:
    """All of the given constraints together: `AllOf(KeepConnected(), AllowKinds({"relabel"}))`."""

    constraints: tuple[Constraint, ...]

    def __init__(self, *constraints: Constraint) -> None:
        object.__setattr__(self, "constraints", constraints)

    def allowed(self, graph: Graph, table: EditTable) -> BoolArray:
        mask = np.ones(len(table), dtype=bool)
        for constraint in self.constraints:
            mask &= constraint.allowed(graph, table)
        return mask


@dataclass(frozen=True)
class KeepConnected:
    """Never split a component: an edge whose removal would disconnect its ends stays."""

    def allowed(self, graph: Graph, table: EditTable) -> BoolArray:
        removes = table.of_kind(EditKind.REMOVE_EDGE)
        mask = np.ones(len(table), dtype=bool)
        if removes.any():
            bridges = graph_kernels.bridges(graph.edges, graph.num_nodes)
            mask[removes] = ~bridges[graph.edge_places(table.first[removes], table.second[removes])]
        return mask


@dataclass(frozen=True)
class AllowKinds:
    """Only these kinds of edit, as `EditKind`s or their lower-case names: `AllowKinds({"relabel", "remove_edge"})`."""

    kinds: Collection[EditKind | str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "kinds", tuple(self.kinds))
        names = [kind.name.lower() for kind in EditKind]
        for kind in self.kinds:
            if not isinstance(kind, EditKind) and kind not in names:
                raise InputError(f"Edit kinds are {', '.join(names)} (got {kind!r})")

    def allowed(self, graph: Graph, table: EditTable) -> BoolArray:  # noqa: ARG002
        kinds = [kind if isinstance(kind, EditKind) else EditKind[kind.upper()] for kind in self.kinds]
        return np.isin(table.kind, np.array(kinds, dtype=np.int8))


@dataclass(frozen=True)
class FreezeNodes:
    """Keep some nodes, and the edges between two of them, as they are; new neighbours may still be tied to them.

    Args:
        nodes: Ids of the frozen nodes (the same in every graph), or a function from a graph to a mask over its
            positions: `FreezeNodes(lambda graph: graph.labels == carbon)`.
    """

    nodes: Collection[int] | Callable[[Graph], BoolArray]

    def allowed(self, graph: Graph, table: EditTable) -> BoolArray:
        frozen = np.asarray(self.nodes(graph)) if callable(self.nodes) else np.isin(graph.ids, list(self.nodes))
        if frozen.dtype != bool or frozen.shape != (graph.num_nodes,):
            raise InputError(f"FreezeNodes needs a boolean per node (got {frozen.dtype} of shape {frozen.shape})")
        touches_node = table.of_kind(EditKind.RELABEL) | table.of_kind(EditKind.REMOVE_NODE)
        touches_edge = table.of_kind(EditKind.ADD_EDGE) | table.of_kind(EditKind.REMOVE_EDGE)
        mask = ~(touches_node & frozen[table.first])
        mask[touches_edge] &= ~(frozen[table.first[touches_edge]] & frozen[table.second[touches_edge]])
        return mask


@dataclass(frozen=True, eq=False)
class StayNear:
    """Stay within a number of changed elements of a start graph; nodes are matched by id.

    Each relabelled, added or removed node and each added or removed edge counts one; undone changes count nothing. Edge labels are not compared.
    """

    start: Graph  # the graph edits began from
    max_cost: int  # elements that may differ

    def allowed(self, graph: Graph, table: EditTable) -> BoolArray:
        return np.asarray(self.costs(graph, table) <= self.max_cost)

    def costs(self, graph: Graph, table: EditTable) -> LongArray:
        """Elements in which `graph` after each edit differs from `start`, `[N]`."""
        start, n = self.start, graph.num_nodes
        ids = np.append(graph.ids, graph.next_id)  # the last is the node an edit adds
        place = np.minimum(np.searchsorted(start.ids, ids), start.num_nodes - 1)
        was_there = start.ids[place] == ids
        was_there[n] = False
        differs = was_there[:n] & (graph.labels != start.labels[place[:n]])

        joined = np.zeros((start.num_nodes, start.num_nodes), dtype=bool)
        joined[start.edges[:, 0], start.edges[:, 1]] = joined[start.edges[:, 1], start.edges[:, 0]] = True

        def was_edge(first: npt.NDArray[np.integer], second: npt.NDArray[np.integer]) -> BoolArray:
            return np.asarray(joined[place[first], place[second]] & was_there[first] & was_there[second])

        same = int(was_there.sum()) + int(was_edge(*graph.edges.T).sum())
        cost = int(differs.sum()) + graph.size + start.size - 2 * same
        neighbour = np.full(n, -1, dtype=np.int32)
        neighbour[graph.edges] = graph.edges[:, ::-1]
        effects = graph_kernels.effects(table.kind, table.first, table.second, n, neighbour)
        node, i, j, sign, gone = effects.T
        edges = np.where(sign == 0, 0, sign * np.where(was_edge(i, j), -1, 1))
        label_differs = (table.second != start.labels[place[node]]).astype(np.int64) - np.append(differs, 0)[node]
        labels = np.where(node == n, 1, np.where((node >= 0) & was_there[node], label_differs, 0))
        removed = np.where(gone >= 0, np.where(was_there[gone], 1, -1) - np.append(differs, 0)[gone], 0)
        return np.asarray(cost + edges + labels + removed)
