"""The package's GCN over graphs with weighted edges, compiled: several times faster than torch's many small steps.

The same numbers as `GraphClassifier.logits` on weighted `GraphTensors`, up to rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import BatchNorm1d

from comrecgc.graphs import GraphBatch
from comrecgc.models import edge_weight_kernels
from comrecgc.models.networks import GCNConv, GraphClassifier

_Array = npt.NDArray[Any]


class WeightedGCN:
    """A GCN bound to a batch of graphs. Weights are read when it is made.

    Args:
        model: A GCN on the CPU.
        batch: The graphs.
    """

    def __init__(self, model: GraphClassifier, batch: GraphBatch) -> None:
        sources, targets = batch.edge_index()
        order = np.argsort(targets, kind="stable")
        ptr = np.concatenate([[0], np.cumsum(np.bincount(targets, minlength=len(batch.labels)))])
        # Where each node's neighbours are, and by which edge; the two directions of edge e are entries e and e + M.
        self._graph = (sources[order], ptr, order % max(len(batch.edges), 1))
        self._node_ptr = batch.node_ptr
        with torch.no_grad():
            layers = [_folded(*layer) for layer in zip(model.convs, model.bns, strict=True)]
            self._first = model.features.numpy()[batch.labels] @ layers[0][0].T
            self._head = (model.fc.weight[1] - model.fc.weight[0]).numpy()
            self._offset = float(model.fc.bias[1] - model.fc.bias[0])
        self._matrices = [matrix for matrix, _, _ in layers[1:]]
        self._affine = [(factor, shift) for _, factor, shift in layers]

    def margin(self, weights: Tensor, *, degrees_follow: bool) -> Tensor:
        """Logarithm of the odds of accept, `[B]`; see `WeightedGraphs`."""
        result: Tensor = _Margin.apply(weights, self, degrees_follow)  # type: ignore[no-untyped-call]
        return result

    def forward(self, weights: _Array) -> tuple[_Array, list[_Array]]:
        """Log-odds, `[B]`, and what `backward` needs: scales, then input and output of every layer, then the pooled state."""
        neighbours, ptr, edges = self._graph
        scale = np.empty(len(ptr) - 1, dtype=weights.dtype)
        edge_weight_kernels.scales(ptr, edges, weights, scale)
        kept, x = [scale], self._first
        for depth, (factor, shift) in enumerate(self._affine):
            x = x if depth == 0 else kept[-1] @ self._matrices[depth - 1].T
            out = np.empty_like(x)
            edge_weight_kernels.layer(neighbours, ptr, edges, weights, scale, x, factor, shift, out)
            kept += [x, out]
        pooled, ties = (np.empty((len(self._node_ptr) - 1, x.shape[1]), dtype=x.dtype) for _ in range(2))
        edge_weight_kernels.pool(self._node_ptr, kept[-1], pooled, ties)
        return pooled @ self._head + x.dtype.type(self._offset), [*kept, pooled, ties]

    def backward(self, weights: _Array, kept: list[_Array], grad: _Array, *, degrees_follow: bool) -> _Array:
        """Gradient in the weights, `[M]`, from that in the log-odds, `[B]`."""
        neighbours, ptr, edges = self._graph
        scale, *layers, pooled, ties = kept
        to_weights, to_scale = np.zeros_like(weights), np.zeros_like(scale)
        to_out = np.empty_like(layers[-1])
        edge_weight_kernels.pool_backward(
            self._node_ptr, layers[-1], pooled, ties, np.outer(grad, self._head).astype(to_out.dtype), to_out
        )
        for depth in reversed(range(len(self._affine))):
            x, out = layers[2 * depth], layers[2 * depth + 1]
            to_x = np.empty_like(x)
            edge_weight_kernels.layer_backward(
                *(neighbours, ptr, edges, weights, scale, x, self._affine[depth][0], out),
                *(to_out, to_x, to_scale, to_weights),
            )
            if depth:
                to_out = to_x @ self._matrices[depth - 1]
        if degrees_follow:
            edge_weight_kernels.scales_backward(ptr, edges, scale, to_scale, to_weights)
        return to_weights


class _Margin(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weights: Tensor, network: WeightedGCN, degrees_follow: bool) -> Tensor:
        values = np.ascontiguousarray(weights.detach().numpy())
        margin, kept = network.forward(values)
        ctx.given = (network, values, kept, degrees_follow)
        return torch.from_numpy(margin)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        network, values, kept, degrees_follow = ctx.given
        to_weights = network.backward(values, kept, grad.numpy(), degrees_follow=degrees_follow)
        return torch.from_numpy(to_weights), None, None


def _folded(conv: torch.nn.Module, norm: torch.nn.Module) -> tuple[_Array, _Array, _Array]:
    """Matrix, and factor and shift per channel, of a convolution and the batch norm after it, in evaluation mode."""
    assert isinstance(conv, GCNConv)
    assert isinstance(norm, BatchNorm1d)
    assert norm.running_mean is not None
    assert norm.running_var is not None
    factor = norm.weight / torch.sqrt(norm.running_var + norm.eps)
    shift = (conv.bias - norm.running_mean) * factor + norm.bias
    return tuple(part.numpy().copy() for part in (conv.lin.weight, factor, shift))  # type: ignore[return-value]
