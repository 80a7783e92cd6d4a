"""The four graph convolutions, with the parameters, names and outputs of their PyG namesakes.

Graphs must be simple: no self-loops, no repeated edges.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn import Linear, Parameter, ReLU, Sequential

from comrecgc.classifiers.operations import attend, propagate
from comrecgc.graphs import GraphTensors

LEAKY_SLOPE = 0.2
"""Slope of GAT's leaky ReLU below zero."""


Weights = tuple[Tensor, Tensor, Tensor]
"""Weight of each node as a receiver, as a sender, and of its own state, `[N]` each (see `propagate`)."""


class GCNConv(torch.nn.Module):
    """Semi-Supervised Classification with Graph Convolutional Networks (Kipf and Welling 2017)."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.lin = _glorot_linear(in_channels, out_channels)
        self.bias = Parameter(torch.zeros(out_channels))

    def message_weights(self, degrees: Tensor) -> Weights:
        """`D^-1/2 (A + I) D^-1/2`, with `D` the degrees of `A + I`."""
        scale = (degrees + 1).rsqrt()
        return scale, scale, scale * scale

    def forward(self, x: Tensor, graphs: GraphTensors) -> Tensor:
        """Node states after the layer, `[N, C]` to `[N, C']`."""
        x = self.lin(x)
        return propagate(x, x, graphs, self.message_weights(graphs.degrees().to(x.dtype))) + self.bias


class GATConv(torch.nn.Module):
    """Graph Attention Networks (Veličković et al. 2018), one head."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.lin = _glorot_linear(in_channels, out_channels)
        self.att_src = Parameter(_glorot(1, 1, out_channels))
        self.att_dst = Parameter(_glorot(1, 1, out_channels))
        self.bias = Parameter(torch.zeros(out_channels))

    def forward(self, x: Tensor, graphs: GraphTensors) -> Tensor:
        """Node states after the layer, `[N, C]` to `[N, C']`."""
        x = self.lin(x)
        source, target = x @ self.att_src[0, 0], x @ self.att_dst[0, 0]
        return attend(x, graphs, source, target, LEAKY_SLOPE) + self.bias


class SAGEConv(torch.nn.Module):
    """Inductive Representation Learning on Large Graphs (Hamilton et al. 2017), mean aggregation."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.lin_l = Linear(in_channels, out_channels)
        self.lin_r = Linear(in_channels, out_channels, bias=False)

    def message_weights(self, degrees: Tensor) -> Weights:
        """The mean over neighbours, plus what the node keeps."""
        ones = torch.ones_like(degrees)
        return degrees.clamp(min=1).reciprocal(), ones, ones

    def forward(self, x: Tensor, graphs: GraphTensors) -> Tensor:
        """Node states after the layer, `[N, C]` to `[N, C']`."""
        weights = self.message_weights(graphs.degrees().to(x.dtype))
        sent = F.linear(x, self.lin_l.weight)
        return propagate(sent, self.lin_r(x), graphs, weights) + self.lin_l.bias


class GINConv(torch.nn.Module):
    """How Powerful are Graph Neural Networks? (Xu et al. 2019), with a perceptron of one hidden layer."""

    eps: Tensor

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.nn = Sequential(Linear(in_channels, out_channels), ReLU(), Linear(out_channels, out_channels))
        self.register_buffer("eps", torch.zeros(1))

    def message_weights(self, degrees: Tensor) -> Weights:
        """`A + (1 + eps) I`."""
        ones = torch.ones_like(degrees)
        return ones, ones, ones * (1 + self.eps)

    def forward(self, x: Tensor, graphs: GraphTensors) -> Tensor:
        """Node states after the layer, `[N, C]` to `[N, C']`."""
        gathered = propagate(x, x, graphs, self.message_weights(graphs.degrees().to(x.dtype)))
        return self.nn(gathered)  # type: ignore[no-any-return]


def _glorot(*shape: int) -> Tensor:
    bound = math.sqrt(6 / (shape[-2] + shape[-1]))
    return torch.empty(shape).uniform_(-bound, bound)


def _glorot_linear(in_channels: int, out_channels: int) -> Linear:
    linear = Linear(in_channels, out_channels, bias=False)
    linear.weight = Parameter(_glorot(out_channels, in_channels))
    return linear
