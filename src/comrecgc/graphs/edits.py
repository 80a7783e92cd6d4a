"""The five edits: a closed set, as single values and as flat tables of everything one step can do to a graph."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from comrecgc.errors import InputError
from comrecgc.graphs.graph import BoolArray, Graph, IntArray


class EditKind(IntEnum):
    """What an edit does; the lower-case name is its name in files."""

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
    """Many edits of one graph as arrays, in *positions* of that graph; `table[i]` is the i-th as an `Edit` in ids.

    Args:
        kind: Kind of each edit, `[N]`.
        first: First argument of each edit (see `Edit`), `[N]`.
        second: Second argument of each edit, `[N]`.
        ids: The graph's ids, `[n]`.
    """

    kind: npt.NDArray[np.int8]
    first: IntArray
    second: IntArray
    ids: IntArray

    def __len__(self) -> int:
        return len(self.kind)

    def __getitem__(self, index: int) -> Edit:
        kind, first, second = EditKind(int(self.kind[index])), int(self.first[index]), int(self.second[index])
        return Edit(kind, int(self.ids[first]), int(self.ids[second]) if kind.joins_nodes else second)

    def select(self, chosen: BoolArray | npt.NDArray[np.intp]) -> EditTable:
        """The edits under a mask or at the given indices."""
        return EditTable(self.kind[chosen], self.first[chosen], self.second[chosen], self.ids)

    def of_kind(self, kind: EditKind) -> BoolArray:
        mask: BoolArray = self.kind == kind
        return mask

    def size_changes(self) -> IntArray:
        """How much each edit changes `|G|`, the number of elements, `[N]`."""
        return _SIZE_CHANGE[self.kind]


_LARGEST_LABEL = 2**31 - 1
_MOST_NODES = 5_000  # every pair of nodes is a possible edge: 0.4 GB at this size, four times that at twice it
_SIZE_CHANGE = np.array([0, 2, -2, 1, -1], dtype=np.int32)  # by kind, of an edit in N(G)


def one_edit_table(graph: Graph, num_labels: int) -> EditTable:
    """Every edit in `N(graph)`: relabel a node, add a labelled node tied to a node, remove a degree-1 node, add or remove an edge.

    Args:
        graph: The graph to edit.
        num_labels: Size of the label alphabet.
    """
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
    parts = [
        (EditKind.RELABEL, nodes[changes], labels[changes]),
        (EditKind.ADD_NODE, nodes, labels),
        (EditKind.REMOVE_NODE, leaves, np.full(len(leaves), -1, dtype=np.int32)),
        (EditKind.ADD_EDGE, apart[:, 0], apart[:, 1]),
        (EditKind.REMOVE_EDGE, graph.edges[:, 0], graph.edges[:, 1]),
    ]
    kinds = np.repeat(np.array([kind for kind, _, _ in parts], dtype=np.int8), [len(first) for _, first, _ in parts])
    first = np.concatenate([first for _, first, _ in parts])
    second = np.concatenate([second for _, _, second in parts])
    return EditTable(kinds, first, second, graph.ids)


def _non_edges(graph: Graph) -> IntArray:
    """Pairs `i < j` not joined by an edge, `[·, 2]`."""
    apart = np.triu(np.ones((graph.num_nodes, graph.num_nodes), dtype=bool), k=1)
    apart[graph.edges[:, 0], graph.edges[:, 1]] = False
    return np.argwhere(apart).astype(np.int32)


def apply_edit(graph: Graph, edit: Edit) -> Graph:
    """The graph after one edit; an edit that does not fit raises `InputError`."""
    match edit.kind:
        case EditKind.RELABEL:
            return _relabel(graph, graph.position(edit.first), edit.second)
        case EditKind.ADD_NODE:
            return _add_node(graph, edit.first, edit.second)
        case EditKind.REMOVE_NODE:
            return _remove_node(graph, edit.first)
        case EditKind.ADD_EDGE:
            return _add_edge(graph, graph.position(edit.first), graph.position(edit.second))
        case EditKind.REMOVE_EDGE:
            return _remove_edge(graph, graph.position(edit.first), graph.position(edit.second))
        case _:
            raise InputError(f"The kind of an edit must be an EditKind (got {edit.kind!r})")


def _relabel(graph: Graph, node: int, label: int) -> Graph:
    if not 0 <= label <= _LARGEST_LABEL or label == graph.labels[node]:
        raise InputError(f"Relabelling must give another, non-negative label (got {label} for node {graph.ids[node]})")
    labels = graph.labels.copy()
    labels[node] = label
    return Graph.assemble(labels, graph.edges, graph.edge_labels, graph.ids, graph.next_id)


def _add_node(graph: Graph, anchor_id: int, label: int) -> Graph:
    if not 0 <= label <= _LARGEST_LABEL:
        raise InputError(f"A new node needs a non-negative label (got {label})")
    labels = np.append(graph.labels, np.int32(label))
    ids = np.append(graph.ids, np.int32(graph.next_id))
    edges, edge_labels = graph.edges, graph.edge_labels
    if anchor_id != -1:
        edges, edge_labels = _with_edge(edges, edge_labels, graph.position(anchor_id), graph.num_nodes)
    return Graph.assemble(labels, edges, edge_labels, ids, graph.next_id + 1)


def _remove_node(graph: Graph, node_id: int) -> Graph:
    node = graph.position(node_id)
    kept = (graph.edges != node).all(axis=1)
    degree = graph.num_edges - int(kept.sum())
    if degree > 1:
        raise InputError(f"Only a node of degree 0 or 1 can be removed (got node {node_id} of degree {degree})")
    if graph.num_nodes == 1:
        raise InputError(f"The last node cannot be removed (got node {node_id})")
    edges = graph.edges[kept]
    edges = edges - (edges > node)
    edge_labels = None if graph.edge_labels is None else graph.edge_labels[kept]
    return Graph.assemble(np.delete(graph.labels, node), edges, edge_labels, np.delete(graph.ids, node), graph.next_id)


def _add_edge(graph: Graph, i: int, j: int) -> Graph:
    i, j = min(i, j), max(i, j)
    if i == j or ((graph.edges[:, 0] == i) & (graph.edges[:, 1] == j)).any():
        raise InputError(f"An added edge must join two unjoined nodes (got {graph.ids[i]}-{graph.ids[j]})")
    edges, edge_labels = _with_edge(graph.edges, graph.edge_labels, i, j)
    return Graph.assemble(graph.labels, edges, edge_labels, graph.ids, graph.next_id)


def _remove_edge(graph: Graph, i: int, j: int) -> Graph:
    i, j = min(i, j), max(i, j)
    kept = (graph.edges[:, 0] != i) | (graph.edges[:, 1] != j)
    if kept.all():
        raise InputError(f"A removed edge must exist (got {graph.ids[i]}-{graph.ids[j]})")
    edge_labels = None if graph.edge_labels is None else graph.edge_labels[kept]
    return Graph.assemble(graph.labels, graph.edges[kept], edge_labels, graph.ids, graph.next_id)


def _with_edge(edges: IntArray, edge_labels: IntArray | None, i: int, j: int) -> tuple[IntArray, IntArray | None]:
    """Edges with `(i, j)`, `i < j`, put in its sorted place, labelled 0."""
    place = int(np.searchsorted(edges[:, 0], i, side="left"))
    place += int(np.searchsorted(edges[place:, 1][edges[place:, 0] == i], j))
    with_edge = np.insert(edges, place, np.array([i, j], dtype=np.int32), axis=0)
    return with_edge, None if edge_labels is None else np.insert(edge_labels, place, np.int32(0))
