"""The five edits: a closed set, as single values and as flat tables of everything one step can do to a graph."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from comrecgc import kernels
from comrecgc.errors import InputError
from comrecgc.graphs.batch import GraphBatch
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
    if edit.kind not in _RULES:
        raise InputError(f"The kind of an edit must be an EditKind (got {edit.kind!r})")
    kind, is_lone = EditKind(edit.kind), edit.kind == EditKind.ADD_NODE and edit.first == -1
    first = -1 if is_lone else graph.position(edit.first)
    second = graph.position(edit.second) if kind.joins_nodes else edit.second
    labels, edges, source, fits = kernels.edits.edited(graph.labels, graph.edges, int(kind), first, second)
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
    return Graph.assemble(labels, edges, _edge_labels(graph, source), ids, next_id)


def edited_batch(graph: Graph, table: EditTable, *, with_edge_labels: bool = False) -> GraphBatch:
    """The graph after each edit of the table, as one batch: graph `i` of the batch is the graph after `table[i]`.

    Args:
        graph: The graph the table belongs to.
        table: Edits, in any order and number.
        with_edge_labels: Carry edge labels too (if the graph has them); models rarely need them.
    """
    if len(table.ids) != graph.num_nodes:
        raise InputError(f"The edits must be of this graph of {graph.num_nodes} nodes (got edits of {len(table.ids)})")
    with_edge_labels = with_edge_labels and graph.edge_labels is not None
    labels, edges, source, node_ptr, edge_ptr, misfit = kernels.edits.edited_batch(
        graph.labels, graph.edges, table.kind, table.first, table.second, with_edge_labels
    )
    if misfit >= 0:
        raise InputError(f"The edits must be of this graph: {table[misfit]} does not fit it")
    return GraphBatch(labels, edges, node_ptr, edge_ptr, _edge_labels(graph, source) if with_edge_labels else None)


def _edge_labels(graph: Graph, source: IntArray) -> IntArray | None:
    """Labels of the edges that stand for these old ones; those of new edges (-1) are 0."""
    return None if graph.edge_labels is None else np.append(graph.edge_labels, np.int32(0))[source]
