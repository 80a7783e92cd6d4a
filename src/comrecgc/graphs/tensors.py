"""A batch of graphs as torch tensors, and the sums message passing is made of.

Neighbours are grouped by node, so that a sum over neighbours is one pass of torch's embedding-bag kernel: on a CPU about
twenty times faster than gathering edges and scattering them back. Adjacency is symmetric, so the gradient of a
neighbour sum is a neighbour sum. Edges may have weights, the same in both directions; then sums and degrees are weighted and
gradients reach the weights, so that a weight of 0 is an edge that is not there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from comrecgc.graphs.batch import GraphBatch, grouped_neighbours


@dataclass(frozen=True, eq=False, slots=True)
class GraphTensors:
    """Graphs laid end to end, ready for a network.

    Args:
        labels: Node labels of all graphs, `[N]`.
        neighbours: Neighbours of node 0, then of node 1, …, `[2M]`.
        neighbour_ptr: Node `v` has neighbours `neighbours[neighbour_ptr[v] : neighbour_ptr[v+1]]`, `[N+1]`.
        node_ptr: Graph `g` owns nodes `node_ptr[g] … node_ptr[g+1]`, `[B+1]`.
        weights: Weight of the edge to each neighbour, `[2M]`; None where all are 1.
        weighted_degrees: Sum of each node's weights, `[N]`; None where there are no weights.
    """

    labels: Tensor
    neighbours: Tensor
    neighbour_ptr: Tensor
    node_ptr: Tensor
    weights: Tensor | None = None
    weighted_degrees: Tensor | None = None

    @classmethod
    def from_batch(cls, batch: GraphBatch, device: torch.device | str = "cpu") -> GraphTensors:
        neighbours, neighbour_ptr = grouped_neighbours(batch)
        arrays = (batch.labels.astype(np.int64), neighbours, neighbour_ptr, batch.node_ptr)
        return cls(*(torch.from_numpy(array).to(device) for array in arrays))

    def __len__(self) -> int:
        return len(self.node_ptr) - 1

    def weighted(self, weights: Tensor, *, degrees_follow: bool = True) -> GraphTensors:
        """The same graphs with weighted edges.

        Args:
            weights: Weight of the edge to each neighbour, `[2M]`, the same in both directions.
            degrees_follow: Whether gradients also pass through the degrees.
        """
        counted = weights if degrees_follow else weights.detach()
        degrees = counted.new_zeros(len(self.labels)).index_add(0, self.receivers(), counted)
        return replace(self, weights=weights, weighted_degrees=degrees)

    def degrees(self) -> Tensor:
        """Number of neighbours of each node, or the sum of their weights, `[N]`."""
        return self.neighbour_ptr.diff() if self.weighted_degrees is None else self.weighted_degrees

    def receivers(self) -> Tensor:
        """The node whose neighbour each of `neighbours` is, `[2M]`."""
        return torch.repeat_interleave(self.neighbour_ptr.diff(), output_size=len(self.neighbours))

    def graph_of_node(self) -> Tensor:
        """Index of the graph each node belongs to, `[N]`."""
        return torch.repeat_interleave(self.node_ptr.diff(), output_size=len(self.labels))

    def neighbour_sum(self, x: Tensor) -> Tensor:
        """Sum of `x` over the neighbours of each node, `[N, width]`; zero where there are none."""
        given = (x, self.neighbours, self.neighbour_ptr)
        result: Tensor
        if self.weights is None:
            result = _NeighbourSum.apply(*given)  # type: ignore[no-untyped-call]
        else:
            result = _WeightedNeighbourSum.apply(*given, self.weights)  # type: ignore[no-untyped-call]
        return result

    def graph_sum(self, x: Tensor) -> Tensor:
        """Sum of `x` over the nodes of each graph, `[B, width]`."""
        result: Tensor = _GraphSum.apply(x, self)  # type: ignore[no-untyped-call]
        return result


class _NeighbourSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, neighbours: Tensor, ptr: Tensor) -> Tensor:
        ctx.save_for_backward(neighbours, ptr)
        return _bag_sum(x, neighbours, ptr)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        return _bag_sum(gradient.contiguous(), *ctx.saved_tensors), None, None


class _WeightedNeighbourSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, neighbours: Tensor, ptr: Tensor, weights: Tensor) -> Tensor:
        ctx.save_for_backward(x, neighbours, ptr, weights)
        return _bag_sum(x, neighbours, ptr, weights)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, None, None, Tensor | None]:
        x, neighbours, ptr, weights = ctx.saved_tensors
        gradient = gradient.contiguous()
        to_x, to_weights = None, None
        if ctx.needs_input_grad[0]:
            to_x = _bag_sum(gradient, neighbours, ptr, weights)
        if ctx.needs_input_grad[3]:
            received = torch.repeat_interleave(gradient, ptr.diff(), dim=0, output_size=len(neighbours))
            to_weights = torch.einsum("ec,ec->e", received, x.index_select(0, neighbours))
        return to_x, None, None, to_weights


class _GraphSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, graphs: GraphTensors) -> Tensor:
        ctx.graphs = graphs
        return _bag_sum(x, torch.arange(len(x), device=x.device), graphs.node_ptr)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient[ctx.graphs.graph_of_node()], None


def _bag_sum(x: Tensor, members: Tensor, ptr: Tensor, weights: Tensor | None = None) -> Tensor:
    if len(members) == 0:  # the kernel refuses to sum nothing at all
        return x.new_zeros(len(ptr) - 1, x.shape[1])
    return embedding_bag(members, x, ptr, mode="sum", include_last_offset=True, per_sample_weights=weights)
