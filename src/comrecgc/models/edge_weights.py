"""Score graphs whose edges have weights between 0 and 1, with gradients: the basis of edge-mask explainers.

Weights of 1 give the plain forward pass, and a weight of 0 removes an edge. In between, the package's networks weight messages, degrees, means and
attention. A user's module must take `edge_weight`, as PyG's GCNConv does.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor

from comrecgc.errors import InputError
from comrecgc.graphs import GraphBatch
from comrecgc.models.adapter import AdaptedClassifier
from comrecgc.models.classifier import Classifier, check_labels
from comrecgc.models.networks import GraphClassifier, evaluation_mode, from_edge_index

_TOLERANCE = 1e-3  # of probabilities, between weights of 1 and no weights


def weighted_graphs(classifier: Classifier, batch: GraphBatch) -> WeightedGraphs:
    """Bind a batch of graphs to a `GraphClassifier` or a torch module that takes edge weights, so that their edges can be weighted."""
    check_labels(batch, classifier.num_labels)
    if isinstance(classifier, GraphClassifier):
        return _NetworkGraphs(classifier, batch)
    if isinstance(classifier, AdaptedClassifier) and classifier.takes_edge_weights:
        return _ModuleGraphs(classifier, batch)
    model = classifier.model if isinstance(classifier, AdaptedClassifier) else classifier
    kind = "a torch module without" if isinstance(model, torch.nn.Module) else type(model).__name__
    raise InputError(f"Edge masks need gradients: a torch module whose forward takes edge_weight (got {kind})")


class _NetworkGraphs:
    """A batch of graphs bound to one of the package's networks."""

    def __init__(self, model: GraphClassifier, batch: GraphBatch) -> None:
        self.batch, self._model, self.dtype = batch, model, model.features.dtype
        ends = torch.from_numpy(batch.edge_index()).to(model.device)
        owners = torch.from_numpy(batch.graph_of_node()).to(model.device)
        self._graphs = from_edge_index(ends, len(batch.labels), owners)
        # Undirected edge of each directed one; the two directions of edge e are entries e and e + M.
        self._edges = torch.argsort(ends[1], stable=True) % max(len(batch.edges), 1)
        self._features = model.features[torch.from_numpy(batch.labels.astype(np.int64)).to(model.device)]

    def margin(self, weights: Tensor, *, degrees_follow: bool = True) -> Tensor:
        """Logarithm of the odds of accept of every graph, `[B]`, given a weight of each undirected edge, `[M]`.

        With `degrees_follow` gradients also pass through the degrees that normalise messages; a user's module ignores it.
        """
        weights = weights.to(self._edges.device).index_select(0, self._edges)
        with _frozen(self._model):
            logits = self._model.logits(self._features, self._graphs.weighted(weights, degrees_follow=degrees_follow))
        return (logits[:, 1] - logits[:, 0]).cpu()

    def node_states(self) -> Tensor:
        """States of the nodes before pooling, all weights 1, `[N, C]`, without gradients."""
        with evaluation_mode(self._model):
            return self._model.node_states(self._features, self._graphs).cpu()


class _ModuleGraphs:
    """A batch of graphs bound to a user's module that takes edge weights."""

    def __init__(self, classifier: AdaptedClassifier, batch: GraphBatch) -> None:
        self.batch, self._classifier, self.dtype = batch, classifier, torch.float32
        assert isinstance(classifier.model, torch.nn.Module)
        self._model: torch.nn.Module = classifier.model

    def margin(self, weights: Tensor, *, degrees_follow: bool = True) -> Tensor:  # noqa: ARG002
        with _frozen(self._model):
            scores = self._classifier.weighted_scores(self.batch, torch.cat([weights, weights]))
        return self._classifier.reading.log_odds(scores.cpu())

    def node_states(self) -> Tensor:
        """The last output of a layer that has a row per node; refuses a model with more than one linear layer after pooling."""
        num_nodes, num_graphs = len(self.batch.labels), len(self.batch)
        states: list[Tensor] = []
        heads: list[torch.nn.Module] = []

        def watch(module: torch.nn.Module, _: Any, output: Any) -> None:
            if not isinstance(output, Tensor) or output.ndim != 2:
                return
            if len(output) == num_nodes:
                states.append(output.detach().cpu())
            elif len(output) == num_graphs and isinstance(module, torch.nn.Linear):
                heads.append(module)

        hooks = [module.register_forward_hook(watch) for module in self._model.modules()]
        try:
            self._classifier.answer(self.batch)
        finally:
            for hook in hooks:
                hook.remove()
        if not states or len(heads) > 1:
            found = f"{len(heads)} linear layers after pooling" if states else "no layer with a row per node"
            raise InputError(f"Node states need a model of layers, pooling and one linear layer (got {found})")
        return states[-1]


WeightedGraphs = _NetworkGraphs | _ModuleGraphs
"""A batch of graphs whose edges can be weighted. Made by `weighted_graphs`."""


def check_edge_weights(classifier: Classifier, batch: GraphBatch) -> None:
    """Refuse a classifier that ignores edge weights, or that scores weights of 1 unlike no weights; graphs without edges show nothing."""
    graphs = weighted_graphs(classifier, batch)
    if len(batch.edges) == 0:
        return
    weights = torch.ones(len(batch.edges), dtype=graphs.dtype, requires_grad=True)
    margin = graphs.margin(weights)
    known = margin.requires_grad and torch.autograd.grad(margin.sum(), weights, allow_unused=True)[0] is not None
    if not known:
        raise InputError(
            "Edge masks need gradients: the model must use edge_weight (got scores that do not depend on it)"
        )
    plain = classifier.accept_probability(batch)
    weighted = torch.sigmoid(margin.detach().double()).cpu().numpy()
    off = np.abs(plain - weighted)
    if not off.max() <= _TOLERANCE:
        place = int(np.nan_to_num(off, nan=np.inf).argmax())
        raise InputError(
            f"The model must answer the same with edge weights of 1 as without (got {weighted[place]:.4g} and {plain[place]:.4g})"
        )


@contextmanager
def _frozen(model: torch.nn.Module) -> Iterator[None]:
    """Evaluation mode; gradients are recorded as outside the block."""
    recording = torch.is_grad_enabled()
    with evaluation_mode(model), torch.set_grad_enabled(recording):
        yield
