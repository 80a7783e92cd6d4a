"""Common recourse as an algorithm of `torch_geometric.explain`, so that PyG's `Explainer` and its metrics work on it."""

from __future__ import annotations

from typing import Any

import torch
from torch_geometric.data import Data
from torch_geometric.explain import ExplainerAlgorithm
from torch_geometric.explain import Explanation as PygExplanation
from torch_geometric.explain.config import ExplanationType, MaskType, ModelMode, ModelTaskLevel

from comrecgc.algorithms.base import Algorithm
from comrecgc.algorithms.inputs import Graphs
from comrecgc.algorithms.rules.algorithm import Rules
from comrecgc.errors import InputError
from comrecgc.explainer import CommonRecourseExplainer

_MODES = (ModelMode.binary_classification, ModelMode.multiclass_classification)


class CommonRecourse(ExplainerAlgorithm):  # type: ignore[misc]  # PyG has no types
    """Counterfactual explanation of graph classifiers by recourses that many graphs share (COMRECGC, ICML 2025).

    The recourses are found once, on `graphs`, when the first graph is explained. Each graph that the model rejects then gets the change of a recourse
    that turns it: `node_mask` is 1 for nodes that are removed or relabelled or that lose or gain an edge, `edge_mask` for edges that are removed or
    relabelled. `counterfactuals` holds the changed graphs as `Data`, and None for graphs that the model accepts already or that no recourse turns;
    their masks are 0.

    Args:
        graphs: Graphs to find recourses on: a PyG dataset or a list of `Data` with the tensors that the model needs.
        algorithm: How recourses are found.
        **options: Further arguments of `CommonRecourseExplainer`, such as `accept`, `num_recourses`, `theta` and `random_state`.
    """

    def __init__(self, graphs: Graphs, algorithm: Algorithm | None = None, **options: Any) -> None:
        super().__init__()
        self.graphs, self.recourse_algorithm, self.options = graphs, algorithm or Rules(), options
        self.explainer: CommonRecourseExplainer | None = None

    @property
    def explanation(self) -> Any:
        """The recourses found, as a `comrecgc.Explanation`."""
        if self.explainer is None:
            raise InputError("explanation is available once a graph has been explained")
        return self.explainer.explanation_

    def supports(self) -> bool:
        """Whether the settings are supported: graph classification, masks of whole nodes and edges, explanations of the model."""
        config, model = self.explainer_config, self.model_config
        masks = (config.node_mask_type, config.edge_mask_type)
        return (
            model.task_level == ModelTaskLevel.graph
            and model.mode in _MODES
            and config.explanation_type == ExplanationType.model
            and all(mask in (None, MaskType.object) for mask in masks)
        )

    def forward(
        self, model: torch.nn.Module, x: Any, edge_index: Any, *, target: Any, index: Any = None, **kwargs: Any
    ) -> PygExplanation:
        """Explain the graph, or the graphs of a batch at `index`; called by PyG's `Explainer`.

        `kwargs` are further arguments of the model: `batch`, and tensors of nodes or edges. `target`, the model's answer, is not needed.
        """
        del target
        if self.explainer is None or self.explainer.model is not model:
            self.explainer = CommonRecourseExplainer(model, self.recourse_algorithm, **self.options).fit(self.graphs)
        batch = kwargs.pop("batch", None)
        owner = torch.zeros(len(x), dtype=torch.long) if batch is None else batch
        num_graphs = int(owner.max()) + 1 if len(owner) else 0
        found = self.explainer.explain([_graph(k, owner, x, edge_index, kwargs) for k in range(num_graphs)])
        asked = range(num_graphs) if index is None else torch.as_tensor(index).view(-1).tolist()
        node_mask, edge_mask = torch.zeros(len(x), 1), torch.zeros(edge_index.size(1))
        counterfactuals: list[Data | None] = [None] * num_graphs
        recourses: list[int | None] = [None] * num_graphs
        for k in asked:
            if k in found.inputs and found.covering(k) is not None:
                masked = found.to_pyg(k)
                node_mask[owner == k] = masked.node_mask
                edge_mask[owner[edge_index[0]] == k] = masked.edge_mask
                counterfactuals[k], recourses[k] = masked.counterfactual, masked.recourse
        masks = {
            "node_mask": node_mask if self.explainer_config.node_mask_type is not None else None,
            "edge_mask": edge_mask if self.explainer_config.edge_mask_type is not None else None,
        }
        return PygExplanation(**masks, counterfactuals=counterfactuals, recourses=recourses)


def _graph(place: int, owner: torch.Tensor, x: torch.Tensor, edge_index: torch.Tensor, others: dict[str, Any]) -> Data:
    """One graph of a batch with its own rows of every tensor."""
    nodes, edges = owner == place, owner[edge_index[0]] == place
    own = {}
    for name, value in others.items():
        size = len(value) if isinstance(value, torch.Tensor) and value.dim() else -1
        if size == edge_index.size(1) and name.startswith("edge"):
            own[name] = value[edges]
        elif size == len(x):
            own[name] = value[nodes]
        elif value is not None:
            raise InputError(f"{name} must be a tensor of nodes or edges (got {type(value).__name__})")
    first = int(torch.nonzero(nodes)[0]) if bool(nodes.any()) else 0
    return Data(x=x[nodes], edge_index=edge_index[:, edges] - first, **own)
