"""Every allowed one-edit neighbour of a graph, built as one flat batch: never one object per neighbour."""

from __future__ import annotations

import numpy as np

from comrecgc import kernels
from comrecgc.errors import InputError
from comrecgc.graphs.batch import GraphBatch, pointers
from comrecgc.graphs.constraints import Constraint
from comrecgc.graphs.edits import EditKind, EditTable, one_edit_table
from comrecgc.graphs.graph import Graph, IntArray


def allowed_edits(graph: Graph, num_labels: int, constraint: Constraint | None = None) -> EditTable:
    """The edits in `N(graph)` that the constraint allows.

    Args:
        graph: The graph to edit.
        num_labels: Size of the label alphabet.
        constraint: What edits are allowed; None allows all.
    """
    table = one_edit_table(graph, num_labels)
    return table if constraint is None else table.select(constraint.allowed(graph, table))


def edited_batch(graph: Graph, table: EditTable, *, with_edge_labels: bool = False) -> GraphBatch:
    """The graph after each edit of the table, as one batch: graph `i` of the batch is the graph after `table[i]`.

    Args:
        graph: The graph the table belongs to.
        table: Edits, in any order and number.
        with_edge_labels: Carry edge labels too (if the graph has them); models rarely need them.
    """
    if len(table.ids) != graph.num_nodes:
        raise InputError(f"The edits must be of this graph of {graph.num_nodes} nodes (got edits of {len(table.ids)})")
    adds_node, removes_node = table.of_kind(EditKind.ADD_NODE), table.of_kind(EditKind.REMOVE_NODE)
    adds_edge, removes_edge = table.of_kind(EditKind.ADD_EDGE), table.of_kind(EditKind.REMOVE_EDGE)
    node_ptr = pointers(graph.num_nodes + adds_node.astype(np.int64) - removes_node)
    edge_ptr = pointers(graph.num_edges + (adds_node | adds_edge).astype(np.int64) - (removes_node | removes_edge))
    labels = np.empty(node_ptr[-1], dtype=np.int32)
    edges = np.empty((edge_ptr[-1], 2), dtype=np.int64)
    source = np.empty(edge_ptr[-1] if with_edge_labels else 0, dtype=np.int32)
    misfit = kernels.batches.fill_edited(
        graph.labels, graph.edges, table.kind, table.first, table.second, node_ptr, edge_ptr, labels, edges, source
    )
    if misfit >= 0:
        raise InputError(f"The edits must be of this graph: {table[misfit]} does not fit it")
    edge_labels: IntArray | None = None
    if with_edge_labels and graph.edge_labels is not None:
        edge_labels = np.append(graph.edge_labels, np.int32(0))[source]
    return GraphBatch(labels, edges, node_ptr, edge_ptr, edge_labels)
