"""What a graph is here: compact arrays, edits and their paths, identity, constraints, conversions. It knows no chemistry.

What needs torch is imported when first asked for, so that `from comrecgc.graphs import Graph` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from comrecgc.graphs.batch import GraphBatch, LongArray, fingerprint, pointers
from comrecgc.graphs.changes import (
    Change,
    EdgeIds,
    components,
    edge_labels_by_id,
    edges_by_id,
    labels_by_id,
    neighbours_by_id,
)
from comrecgc.graphs.closeness import StayNear
from comrecgc.graphs.constraints import AllOf, AllowKinds, Constraint, FreezeNodes, KeepConnected, MaxSize
from comrecgc.graphs.convert import from_networkx, to_data, to_networkx
from comrecgc.graphs.edits import Edit, EditKind, EditTable, apply_edit, one_edit_table
from comrecgc.graphs.familiarity import Familiarity
from comrecgc.graphs.graph import BoolArray, Graph, IntArray
from comrecgc.graphs.identity import KeyArray, batch_keys, graph_key
from comrecgc.graphs.ladder import ChangedGraphs, Ladder, Rung, graphs_with, rung_shares
from comrecgc.graphs.layout import Point, centred, layout_change
from comrecgc.graphs.neighbours import allowed_edits, edited_batch
from comrecgc.graphs.path_arrays import path_arrays, read_paths
from comrecgc.graphs.paths import (
    EditPath,
    apply_path,
    apply_paths,
    describe_edit,
    describe_path,
    invert_path,
    net_path,
    path_cost,
    path_costs,
    path_graphs,
    simplify_path,
    summarise_path,
)

if TYPE_CHECKING:
    from comrecgc.graphs.tensors import GraphTensors, grouped_neighbours

_LAZY = {
    "GraphTensors": "tensors",
    "grouped_neighbours": "tensors",
}

__all__ = [
    "AllOf",
    "AllowKinds",
    "BoolArray",
    "Change",
    "ChangedGraphs",
    "Constraint",
    "EdgeIds",
    "Edit",
    "EditKind",
    "EditPath",
    "EditTable",
    "Familiarity",
    "FreezeNodes",
    "Graph",
    "GraphBatch",
    "GraphTensors",
    "IntArray",
    "KeepConnected",
    "KeyArray",
    "Ladder",
    "LongArray",
    "MaxSize",
    "Point",
    "Rung",
    "StayNear",
    "allowed_edits",
    "apply_edit",
    "apply_path",
    "apply_paths",
    "batch_keys",
    "centred",
    "components",
    "describe_edit",
    "describe_path",
    "edge_labels_by_id",
    "edges_by_id",
    "edited_batch",
    "fingerprint",
    "from_networkx",
    "graph_key",
    "graphs_with",
    "grouped_neighbours",
    "invert_path",
    "labels_by_id",
    "layout_change",
    "neighbours_by_id",
    "net_path",
    "one_edit_table",
    "path_arrays",
    "path_cost",
    "path_costs",
    "path_graphs",
    "pointers",
    "read_paths",
    "rung_shares",
    "simplify_path",
    "summarise_path",
    "to_data",
    "to_networkx",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
