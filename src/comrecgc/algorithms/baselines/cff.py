"""Learning and Evaluating Graph Neural Network Explanations based on Counterfactual and Factual Reasoning (Tan et al. 2022), CF².

Each graph has a mask of its own over its edges, which is to be small, enough to keep the prediction (factual) and, taken away,
enough to change it (counterfactual).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from comrecgc.algorithms.baselines.edge_masks import Block, OwnMasks, draws_by_edge
from comrecgc.errors import InputError
from comrecgc.graphs import BoolArray
from comrecgc.models import WeightedGraphs

_THRESHOLD = 0.5


@dataclass(frozen=True, kw_only=True)
class CFF(OwnMasks):
    """CF² for graph classification; edges whose mask ends above 0.5 are taken away.

    Args:
        weight: `λ`, of the hinges against the size of the mask: about `λ/2` edges are the most worth taking away.
        factual: `α`, share of the factual hinge; 0 asks for the counterfactual alone.
        hinge: `γ`, by how much a probability must pass 0.5; 0.5 never stops asking.
        epochs: Steps of Adam.
        learning_rate: Their size.
    """

    weight: float = 20.0
    factual: float = 0.0
    hinge: float = 0.5
    epochs: int = 500
    learning_rate: float = 0.05

    def __post_init__(self) -> None:
        if not 0 < self.weight < np.inf:
            raise InputError(f"weight must be positive (got {self.weight})")
        if not 0 <= self.factual < 1:
            raise InputError(f"factual must lie in [0, 1), or nothing asks for a counterfactual (got {self.factual})")
        if not 0 <= self.hinge <= 0.5:
            raise InputError(f"hinge must lie in [0, 0.5] (got {self.hinge})")
        if self.epochs < 1:
            raise InputError(f"epochs must be at least 1 (got {self.epochs})")
        if not 0 < self.learning_rate < np.inf:
            raise InputError(f"learning_rate must be positive (got {self.learning_rate})")

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
