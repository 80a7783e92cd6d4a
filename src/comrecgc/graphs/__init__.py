"""Labelled graphs: batches, edits and paths of edits, rules and where they apply, and the ladder of allowed changes."""

from comrecgc.graphs.batch import (
    GraphBatch,
    GraphPacker,
    KeyArray,
    LongArray,
    PackedGraphs,
    batch_keys,
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
