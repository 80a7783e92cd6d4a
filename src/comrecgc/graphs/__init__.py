"""What a graph is here: compact arrays, edits and their paths, identity, constraints, conversions. It knows no chemistry.

`GraphTensors` needs torch and is imported when first asked for, so that `from comrecgc.graphs import Graph` is quick.
"""

from typing import TYPE_CHECKING, Any

from comrecgc.graphs.batch import GraphBatch, LongArray, grouped_neighbours, pointers
from comrecgc.graphs.constraints import (
    AllOf,
    AllowKinds,
    Constraint,
    FreezeNodes,
    KeepConnected,
    MaxSize,
    StayNear,
    allowed_edits,
)
from comrecgc.graphs.convert import from_networkx, to_data, to_networkx
from comrecgc.graphs.edits import Edit, EditKind, EditTable, apply_edit, edited_batch, one_edit_table
from comrecgc.graphs.familiarity import Familiarity
from comrecgc.graphs.graph import (
    BoolArray,
    EdgeIds,
    Graph,
    IntArray,
    components,
    edge_labels_by_id,
    edges_by_id,
    labels_by_id,
    neighbours_by_id,
)
from comrecgc.graphs.identity import KeyArray, batch_keys, fingerprint, graph_key
from comrecgc.graphs.ladder import ChangedGraphs, Ladder, Rung, graphs_with, rung_shares
from comrecgc.graphs.layout import Point, centred, layout_change
from comrecgc.graphs.notation import written_pattern
from comrecgc.graphs.packed import GraphPacker, PackedGraphs
from comrecgc.graphs.paths import (
    Change,
    EditPath,
    apply_path,
    apply_paths,
    path_arrays,
    path_cost,
    path_costs,
    path_graphs,
    read_paths,
    simplify_path,
)
from comrecgc.graphs.rewriting import Pattern, Rule, Site, carry_out, edits_between
from comrecgc.graphs.sites import Surroundings, can_be_carried_out, distinct_sites, find_sites, is_site

if TYPE_CHECKING:
    from comrecgc.graphs.tensors import GraphTensors

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
    "GraphPacker",
    "GraphTensors",
    "IntArray",
    "KeepConnected",
    "KeyArray",
    "Ladder",
    "LongArray",
    "MaxSize",
    "PackedGraphs",
    "Pattern",
    "Point",
    "Rule",
    "Rung",
    "Site",
    "StayNear",
    "Surroundings",
    "allowed_edits",
    "apply_edit",
    "apply_path",
    "apply_paths",
    "batch_keys",
    "can_be_carried_out",
    "carry_out",
    "centred",
    "components",
    "distinct_sites",
    "edge_labels_by_id",
    "edges_by_id",
    "edited_batch",
    "edits_between",
    "find_sites",
    "fingerprint",
    "from_networkx",
    "graph_key",
    "graphs_with",
    "grouped_neighbours",
    "is_site",
    "labels_by_id",
    "layout_change",
    "neighbours_by_id",
    "one_edit_table",
    "path_arrays",
    "path_cost",
    "path_costs",
    "path_graphs",
    "pointers",
    "read_paths",
    "rung_shares",
    "simplify_path",
    "to_data",
    "to_networkx",
    "written_pattern",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name != "GraphTensors":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from comrecgc.graphs.tensors import GraphTensors

    return GraphTensors
