"""What graph networks do beyond torch's own operations: gather from neighbours, attend to them, pool.

Without gradients on the CPU each is one compiled loop; otherwise it is put together from torch operations, which run and
differentiate on any device.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from comrecgc.classifiers import kernels
from comrecgc.graphs import GraphTensors


def propagate(x: Tensor, y: Tensor, graphs: GraphTensors, weights: tuple[Tensor, Tensor, Tensor]) -> Tensor:
    """`diag(row) A diag(col) x + diag(diagonal) y`, with `A` the adjacency matrix.

    Args:
        x: What nodes send, `[N, C]`.
        y: What nodes keep, `[N, C]`.
        graphs: The graphs the nodes belong to.
        weights: `row`, `col` and `diagonal`: weight of each node as a receiver, as a sender and of what it keeps, `[N]`.
    """
    row, col, diagonal = weights
    if _compiled(x):
        out = torch.empty_like(x, memory_format=torch.contiguous_format)
        kernels.gather(*_arrays(*_edges(graphs), row, col, diagonal, x, y, out))
        return out
    messages = (col[:, None] * x)[graphs.neighbours]
    gathered = torch.zeros_like(x).index_add(0, _receivers(graphs), messages)
    return row[:, None] * gathered + diagonal[:, None] * y


def attend(x: Tensor, graphs: GraphTensors, source: Tensor, target: Tensor, slope: float) -> Tensor:
    """Attention-weighted mean over each node's neighbours and itself.

    Args:
        x: Node states, `[N, C]`.
        graphs: The graphs the nodes belong to.
        source: Score of each node as a sender, `[N]`.
        target: Score of each node as a receiver, `[N]`.
        slope: Slope of the leaky ReLU on `source + target`, below zero.
    """
    if _compiled(x):
        alpha, self_alpha = x.new_empty(len(graphs.neighbours)), x.new_empty(len(x))
        out = torch.empty_like(x, memory_format=torch.contiguous_format)
        kernels.attend(*_arrays(*_edges(graphs), x, source, target), slope, *_arrays(alpha, self_alpha, out))
        return out
    everyone = torch.arange(len(x), device=x.device)
    senders, receivers = torch.cat([graphs.neighbours, everyone]), torch.cat([_receivers(graphs), everyone])
    scores = F.leaky_relu(source[senders] + target[receivers], slope)
    highest = torch.full_like(target, -torch.inf).scatter_reduce(0, receivers, scores.detach(), "amax")
    weights = torch.exp(scores - highest[receivers])
    totals = torch.zeros_like(target).index_add(0, receivers, weights)
    messages = (weights / totals[receivers])[:, None] * x[senders]
    return torch.zeros_like(x).index_add(0, receivers, messages)


def pool_max(x: Tensor, graphs: GraphTensors) -> Tensor:
    """Largest state of each graph's nodes, per channel, `[B, C]`; zeros for a graph without nodes."""
    if _compiled(x):
        out = x.new_empty(len(graphs), x.shape[1])
        members, argmax = torch.arange(len(x)), torch.empty_like(out, dtype=torch.int64)
        kernels.pool_max(*_arrays(members, graphs.node_ptr, x, out, argmax))
        return out
    index = graphs.graph_of_node()[:, None].expand_as(x)
    return x.new_zeros(len(graphs), x.shape[1]).scatter_reduce(0, index, x, "amax", include_self=False)


def from_edge_index(edge_index: Tensor, num_nodes: int, batch: Tensor | None = None) -> GraphTensors:
    """From PyG's `edge_index [2, E]` (row 0 sends, row 1 receives) and `batch [N]`, which must not decrease.

    Labels are all 0: PyG models take features instead.
    """
    sources, targets = edge_index[0], edge_index[1]
    labels = edge_index.new_zeros(num_nodes)
    return GraphTensors(
        labels,
        sources[torch.argsort(targets, stable=True)],
        _pointers(torch.bincount(targets, minlength=num_nodes)),
        _pointers(torch.bincount(labels if batch is None else batch)),
    )


def _compiled(x: Tensor) -> bool:
    return x.device.type == "cpu" and not x.requires_grad


def _arrays(*tensors: Tensor) -> list[object]:
    return [tensor.detach().contiguous().numpy() for tensor in tensors]


def _edges(graphs: GraphTensors) -> tuple[Tensor, Tensor, Tensor]:
    return graphs.neighbours, graphs.neighbour_ptr, torch.arange(len(graphs.labels))


def _receivers(graphs: GraphTensors) -> Tensor:
    """The node that receives along each edge, `[E]`; `graphs.neighbours` are the ones that send."""
    return torch.repeat_interleave(graphs.degrees(), output_size=len(graphs.neighbours))


def _pointers(counts: Tensor) -> Tensor:
    return torch.cat([counts.new_zeros(1), torch.cumsum(counts, 0)])
