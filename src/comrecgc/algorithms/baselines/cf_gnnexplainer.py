"""CF-GNNExplainer: Counterfactual Explanations for Graph Neural Networks (Lucic et al. 2022), for whole graphs.

Published for nodes of one graph; here each input is a graph of its own with one parameter per edge. Gradients come from soft edges, the
prediction that counts from hard ones: an edge is kept while its parameter is not negative.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from comrecgc.algorithms.base import option
from comrecgc.algorithms.baselines.edge_masks import Block, OwnMasks, sum_by_graph
from comrecgc.graphs import BoolArray
from comrecgc.models import WeightedGraphs


@dataclass(frozen=True, kw_only=True)
class CFGNNExplainer(OwnMasks):
    """CF-GNNExplainer (Lucic et al. 2022) for graph classification.

    The number of edges taken away is in the loss but has no gradient, so it only ranks what is met. Without momentum a graph
    stops at its first flip, where its gradient ends. Nothing is random in it.
    """

    name: ClassVar[str] = "cfgnnexplainer"

    iterations: int = option(500, "Steps of gradient descent.", least=1)
    learning_rate: float = option(0.1, "Step size of gradient descent.", above=0)
    momentum: float = option(0.0, "Nesterov momentum.", least=0, below=1)
    most_gradient: float = option(2.0, "Norm each graph's gradient is clipped at.", above=0)

    def remove(self, block: Block) -> BoolArray | None:
        """The edges whose removal flips each graph, `[M]`; of several such sets the last that was smaller than all before."""
        graphs, graph_of = block.graphs, block.graph_of_edge()
        num_graphs = len(graphs.batch)
        parameters = torch.ones(len(graph_of), dtype=graphs.dtype)
        velocity = torch.zeros_like(parameters)
        fewest = torch.full((num_graphs,), torch.inf)
        best, kept = torch.zeros(len(graph_of), dtype=torch.bool), torch.ones(len(graph_of), dtype=torch.bool)
        flipped = torch.zeros(num_graphs, dtype=torch.bool)
        for step in range(self.iterations):
            if block.over():
                return None
            if step and self.momentum == 0 and bool(flipped.all()):
                break
            hard = parameters >= 0
            if not torch.equal(hard, kept):
                kept = hard
                with torch.no_grad():
                    flipped = graphs.margin(kept.to(graphs.dtype)) > 0
                removed = sum_by_graph((~kept).float(), graph_of, num_graphs)
                better = flipped & (removed < fewest)
                fewest = torch.where(better, removed, fewest)
                best = torch.where(better[graph_of], ~kept, best)
            gradient = self._gradient(graphs, parameters, flipped, graph_of)
            velocity = self.momentum * velocity + gradient
            parameters = parameters - self.learning_rate * (gradient + self.momentum * velocity)
        removed_edges: BoolArray = best.numpy()
        return removed_edges

    def _gradient(self, graphs: WeightedGraphs, parameters: Tensor, flipped: Tensor, graph_of: Tensor) -> Tensor:
        """Gradient of the loss, clipped graph by graph; 0 for graphs that are flipped, `[M]`."""
        variables = parameters.detach().requires_grad_()
        loss = soft_loss(graphs, variables)[~flipped].sum()
        (gradient,) = torch.autograd.grad(loss, variables)
        norms = sum_by_graph(gradient.square(), graph_of, len(graphs.batch)).sqrt()
        return gradient * (self.most_gradient / (norms + 1e-6)).clamp(max=1)[graph_of]


def soft_loss(graphs: WeightedGraphs, parameters: Tensor) -> Tensor:
    """`log p(reject)` of each graph with soft edges `σ(P)`, `[M]` to `[B]`; the authors pass no gradients through degrees."""
    return logsigmoid(-graphs.margin(torch.sigmoid(parameters), degrees_follow=False))
