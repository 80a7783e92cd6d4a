"""Labelled graphs: batches, edits and paths of edits, rules and where they apply, and the ladder of allowed changes."""

from comrecgc.graphs.batch import (
    GraphBatch,
    GraphPacker,
    KeyArray,
    LongArray,
    PackedGraphs,
    batch_keys,
    batched,
    fingerprint,
    graph_key,
    group_neighbours,
    pointers,
)
from comrecgc.graphs.constraints import (
    AllOf,
    AllowKinds,
    Constraint,
    FreezeNodes,
    KeepConnected,
    StayNear,
    allowed_edits,
)
from comrecgc.graphs.edits import (
    Change,
    Edit,
    EditKind,
    EditPath,
    EditTable,
    apply_edit,
    apply_path,
    apply_paths,
    edited_batch,
    edits_between,
    one_edit_table,
    path_arrays,
    path_costs,
    path_graphs,
    read_paths,
    simplify_path,
)
from comrecgc.graphs.graph import (
    BoolArray,
    EdgeIds,
    Graph,
    IntArray,
    Schema,
    components,
    edge_labels_by_id,
    edges_by_id,
    from_networkx,
    labels_by_id,
    neighbours_by_id,
    ordered_edge,
    to_data,
    to_networkx,
)
from comrecgc.graphs.ladder import ChangedGraphs, Familiarity, Ladder, Rung, graphs_with, rung_shares
from comrecgc.graphs.rewriting import (
    NeighbourIndex,
    Pattern,
    Rule,
    Site,
    can_be_carried_out,
    carry_out,
    distinct_sites,
    find_sites,
    is_site,
    write_pattern,
)

__all__ = [
    "AllOf", "AllowKinds", "BoolArray", "Change", "ChangedGraphs", "Constraint", "EdgeIds", "Edit", "EditKind",
    "EditPath", "EditTable", "Familiarity", "FreezeNodes", "Graph", "GraphBatch", "GraphPacker", "IntArray",
    "KeepConnected", "KeyArray", "Ladder", "LongArray", "NeighbourIndex", "PackedGraphs", "Pattern", "Rule", "Rung",
    "Schema", "Site", "StayNear", "allowed_edits", "apply_edit", "apply_path", "apply_paths", "batch_keys",
    "batched", "can_be_carried_out", "carry_out", "components", "distinct_sites", "edge_labels_by_id",
    "edges_by_id", "edited_batch", "edits_between", "find_sites", "fingerprint", "from_networkx", "graph_key",
    "graphs_with", "group_neighbours", "is_site", "labels_by_id", "neighbours_by_id", "one_edit_table",
    "ordered_edge", "path_arrays", "path_costs", "path_graphs", "pointers", "read_paths", "rung_shares",
    "simplify_path", "to_data", "to_networkx", "write_pattern",
]  # fmt: skip
