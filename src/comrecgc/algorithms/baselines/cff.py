"""Learning and Evaluating Graph Neural Network Explanations based on Counterfactual and Factual Reasoning (Tan et al. 2022), CF².

Each graph has a mask of its own over its edges, which is to be small, enough to keep the prediction (factual) and, taken away,
enough to change it (counterfactual).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from comrecgc.algorithms.base import option
from comrecgc.algorithms.baselines.edge_masks import Block, OwnMasks, draws_by_edge
from comrecgc.graphs import BoolArray
from comrecgc.models import WeightedGraphs

_THRESHOLD = 0.5


@dataclass(frozen=True, kw_only=True)
class CFF(OwnMasks):
    """CF² (Tan et al. 2022) for graph classification; edges whose mask ends above 0.5 are taken away."""

    name: ClassVar[str] = "cff"

    weight: float = option(
        20.0, "λ: weight of the hinges against the size of the mask; about λ/2 edges are worth taking away.", above=0
    )
    factual: float = option(
        0.0, "α: share of keeping the prediction; 0 asks for the counterfactual alone.", least=0, below=1
    )
    hinge: float = option(0.5, "γ: by how much a probability must pass 0.5.", least=0, most=0.5)
    epochs: int = option(500, "Steps of Adam.", least=1)
    learning_rate: float = option(0.05, "Step size of Adam.", above=0)

    def remove(self, block: Block) -> BoolArray | None:
        """Edges whose mask ends above one half, `[M]`; None if time was up."""
        parameters = draws_by_edge(block, _first_parameters).requires_grad_()  # both directions, [2, M]
        adam = torch.optim.Adam([parameters], lr=self.learning_rate)
        for _ in range(self.epochs):
            if block.over():
                return None
            loss = self.loss(block.graphs, mask_of(parameters)).sum()
            (parameters.grad,) = torch.autograd.grad(loss, parameters)
            adam.step()
        removed: BoolArray = (mask_of(parameters) > _THRESHOLD).numpy()
        return removed

    def loss(self, graphs: WeightedGraphs, mask: Tensor) -> Tensor:
        """Loss of each rejected graph, `[B]`: mask over both directions of its edges, plus the hinges.

        Args:
            graphs: The graphs, all rejected.
            mask: `m` of each edge, `[M]`.
        """
        batch = graphs.batch
        loss = 2 * torch.segment_reduce(mask, "sum", offsets=torch.from_numpy(batch.edge_ptr), initial=0.0)
        if self.factual > 0:
            kept = torch.sigmoid(-graphs.margin(mask))  # p0(m)
            loss = loss + self.weight * self.factual * torch.relu(self.hinge + 0.5 - kept)
        left = torch.sigmoid(-graphs.margin(1 - mask))  # p0(1 - m)
        return loss + self.weight * (1 - self.factual) * torch.relu(self.hinge + left - 0.5)


def mask_of(parameters: Tensor) -> Tensor:
    """`m` of each edge, `[M]`, from the parameters of its two directions, `[2, M]`."""
    return torch.sigmoid(parameters).mean(dim=0)


def _first_parameters(rng: np.random.Generator, num_nodes: int, num_edges: int) -> npt.NDArray[np.float64]:
    return rng.normal(1.0, np.sqrt(2 / num_nodes), size=(2, num_edges))
