"""What a graph is here: compact arrays, edits and their paths, identity, constraints, conversions."""

from comrecgc.graphs.batch import GraphBatch
from comrecgc.graphs.constraints import (
    AllOf,
    AllowKinds,
    Constraint,
    FreezeNodes,
    KeepConnected,
    MaxSize,
    Valence,
)
from comrecgc.graphs.convert import from_networkx, to_data, to_networkx
from comrecgc.graphs.edits import Edit, EditKind, EditTable, apply_edit, one_edit_table
from comrecgc.graphs.graph import Graph
from comrecgc.graphs.identity import batch_keys, graph_key
from comrecgc.graphs.molecules import from_smiles, is_valid_molecule, to_rdkit, to_smiles
from comrecgc.graphs.neighbours import allowed_edits, edited_batch
from comrecgc.graphs.paths import (
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

__all__ = [
    "AllOf",
    "AllowKinds",
    "Constraint",
    "Edit",
    "EditKind",
    "EditTable",
    "FreezeNodes",
    "Graph",
    "GraphBatch",
    "KeepConnected",
    "MaxSize",
    "Valence",
    "allowed_edits",
    "apply_edit",
    "apply_path",
    "apply_paths",
    "batch_keys",
    "describe_edit",
    "describe_path",
    "edited_batch",
    "from_networkx",
    "from_smiles",
    "graph_key",
    "invert_path",
    "is_valid_molecule",
    "net_path",
    "one_edit_table",
    "path_cost",
    "path_costs",
    "path_graphs",
    "simplify_path",
    "summarise_path",
    "to_data",
    "to_networkx",
    "to_rdkit",
    "to_smiles",
]
