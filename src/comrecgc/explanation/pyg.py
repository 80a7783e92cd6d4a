"""A recourse on one input as PyG's own `Explanation`, for its metrics and drawings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from comrecgc.errors import InputError
from comrecgc.graphs import Change, GraphBatch, edge_labels_by_id, to_data

if TYPE_CHECKING:
    from comrecgc.explanation.explanation import Explanation


def pyg_explanation(explanation: Explanation, index: int) -> Any:
    """The input with masks of what its recourse changes; see `Explanation.to_pyg`."""
    import torch
    from torch_geometric.explain import Explanation as PygExplanation

    found = explanation.covering(index)
    if found is None:
        reason = next(entry.reason for entry in explanation.uncovered if entry.input == index)
        raise InputError(f"No recourse covers input {index}: {reason.value}")
    place, member = found
    graph, after = explanation.inputs[index].graph, member.counterfactual
    change = Change.between(graph, after)
    old, new = edge_labels_by_id(graph), edge_labels_by_id(after)
    edges = change.cut | {edge for edge in old.keys() & new.keys() if old[edge] != new[edge]}
    touched = change.touched | {node for edge in edges for node in edge}
    ids = graph.ids.tolist()
    named = [tuple(sorted((ids[i], ids[j]))) for i, j in GraphBatch.from_graphs([graph]).edge_index().T.tolist()]
    features = np.eye(len(explanation.label_names), dtype=np.float32)
    data, counterfactual = (to_data(one, features) for one in (graph, after))
    masked = PygExplanation(
        node_mask=torch.tensor([[float(node in touched)] for node in ids]),
        edge_mask=torch.tensor([float(edge in edges) for edge in named]),
        x=data.x,
        edge_index=data.edge_index,
        counterfactual=counterfactual,
        recourse=place,
        prediction=torch.tensor([explanation.inputs[index].reject_probability, 1 - explanation.inputs[index].reject_probability]),
    )  # fmt: skip
    if data.get("edge_label") is not None:
        masked.edge_label = data.edge_label
    masked.validate()
    return masked
