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
from comrecgc.graphs.edits import (
    AllOf,
    AllowKinds,
    Change,
    Constraint,
    Edit,
    EditKind,
    EditPath,
    EditTable,
    FreezeNodes,
    KeepConnected,
    StayNear,
    allowed_edits,
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
    Graph,
    IntArray,
    Schema,
    components,
    from_networkx,
    ordered_edge,
    to_data,
    to_networkx,
)
from comrecgc.graphs.ladder import ChangedGraphs, Familiarity, Ladder, Rung, rung_shares
from comrecgc.graphs.rewriting import (
    NeighbourIndex,
    Pattern,
    Rule,
    Site,
    can_be_carried_out,
    carry_out,
    distinct_sites,
    is_site,
    write_pattern,
)

__all__ = [
    "AllOf", "AllowKinds", "BoolArray", "Change", "ChangedGraphs", "Constraint", "Edit", "EditKind", "EditPath",
    "EditTable", "Familiarity", "FreezeNodes", "Graph", "GraphBatch", "GraphPacker", "IntArray",
    "KeepConnected", "KeyArray", "Ladder", "LongArray", "NeighbourIndex", "PackedGraphs", "Pattern", "Rule",
    "Rung", "Schema", "Site", "StayNear", "allowed_edits", "apply_edit", "apply_path", "apply_paths",
    "batch_keys", "batched", "can_be_carried_out", "carry_out", "components", "distinct_sites", "edited_batch",
    "edits_between", "fingerprint", "from_networkx", "graph_key", "group_neighbours", "is_site",
    "one_edit_table", "ordered_edge", "path_arrays", "path_costs", "path_graphs", "pointers", "read_paths",
    "rung_shares", "simplify_path", "to_data", "to_networkx", "write_pattern",
]  # fmt: skip
