"""Robust Counterfactual Explanations on Graph Neural Networks (Bajaj et al. 2021), RCExplainer.

One small network, trained on graphs of both classes, scores every edge from the states of its two ends: without the edges of high score
a graph is to lie beyond the decision boundary. The paper mines linear boundaries of the pooled state; for two classes and one linear
layer they are all the same hyperplane, the log-odds, so nothing has to be mined.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from comrecgc.algorithms.base import option
from comrecgc.algorithms.baselines.baseline import Baseline, Counterfactuals, Subject, checkpoint_of
from comrecgc.algorithms.baselines.edge_masks import BLOCK_NODES, TRIED, Block, explain_by_masks, without_edges
from comrecgc.graphs import BoolArray, Graph, GraphBatch, LongArray
from comrecgc.models import Classifier, WeightedGraphs, check_edge_weights, weighted_graphs
from comrecgc.run import UNLIMITED, Arrays, RunContext, reproducible, require

_HIDDEN = 64
_LEAST_NOISE = 1e-6
_FIRST_TEMPERATURE, _LAST_TEMPERATURE = 0.5, 4.99
_PARAMETERS = {"first": "f2", "first_bias": "f1", "second": "f1", "second_bias": "f0"}
NETWORK = "baseline-network.npz"
"""File of the trained network in the folder that keeps unfinished work."""


@dataclass(frozen=True, eq=False)
class EdgeScorer:
    """`ω` of a directed edge from the states of its ends: a perceptron of one hidden layer."""

    first: Tensor  # `[2C, 64]`
    first_bias: Tensor  # `[64]`
    second: Tensor  # `[64]`
    second_bias: Tensor  # a number

    @classmethod
    def drawn(cls, width: int, rng: np.random.Generator, dtype: torch.dtype) -> EdgeScorer:
        """First weights as torch draws those of linear layers."""

        def uniform(fan_in: int, *shape: int) -> Tensor:
            bound = 1 / np.sqrt(fan_in)
            return torch.from_numpy(np.asarray(rng.uniform(-bound, bound, size=shape))).to(dtype)

        rows = 2 * width
        return cls(uniform(rows, rows, _HIDDEN), uniform(rows, _HIDDEN), uniform(_HIDDEN, _HIDDEN), uniform(_HIDDEN))

    @property
    def parameters(self) -> list[Tensor]:
        """All weights and biases."""
        return [self.first, self.first_bias, self.second, self.second_bias]

    def copy(self) -> EdgeScorer:
        """The same with tensors of its own, without gradients."""
        return EdgeScorer(*(part.detach().clone() for part in self.parameters))

    def __call__(self, states: Tensor, edges: Tensor) -> Tensor:
        """`ω` of both directions of every edge, `[2, M]`, from node states `[N, C]` and ends of edges `[M, 2]`."""
        width = states.shape[1]
        # The product with [h_i, h_j] is one with h_i plus one with h_j, which nodes share.
        one, other = states @ self.first[:width], states @ self.first[width:]
        i, j = edges[:, 0], edges[:, 1]
        hidden = torch.stack([one[i] + other[j], one[j] + other[i]]) + self.first_bias  # [2, M, 64]
        return torch.relu(hidden) @ self.second + self.second_bias


@dataclass(frozen=True, kw_only=True)
class RCExplainer(Baseline):
    """RCExplainer (Bajaj et al. 2021) for a model of two classes whose head is one linear layer.

    An input loses edges in order of their score, the highest first, until the classifier accepts it.
    """

    name: ClassVar[str] = "rcexplainer"

    factual: float = option(
        0.0, "λ: weight of keeping the prediction; the rest asks for a counterfactual.", least=0, below=1
    )
    sparsity: float = option(0.001, "β: weight of the mask summed over both directions of a graph's edges.", least=0)
    entropy: float = option(0.0, "μ: weight of the mean entropy of the mask.", least=0)
    epochs: int = option(20, "Most passes over the training graphs.", least=1)
    patience: int = option(5, "Passes without a lower validation loss before training ends.", least=1)
    batch_size: int = option(33, "Graphs whose summed loss makes a step of Adam.", least=1)
    learning_rate: float = option(0.001, "Step size of Adam.", above=0)

    def run(self, subject: Subject, rng: np.random.Generator, context: RunContext = UNLIMITED) -> Counterfactuals:
        """Train the network, then take edges away from every input until it is accepted."""
        kept = checkpoint_of(context, self.facts(subject, rng), NETWORK)
        deadline = context.clock.search_deadline(len(subject.inputs))
        drawn = np.random.default_rng(rng.integers(2**63))
        with reproducible():
            check_edge_weights(subject.classifier, GraphBatch.from_graphs(subject.inputs[:TRIED]))
            scorer = kept.load(_PARAMETERS, _decode)
            if scorer is None:
                half = None if deadline is None else (time.monotonic() + deadline) / 2
                scorer = self.train(subject.classifier, subject.graphs, drawn, context.until(half))
                trained = scorer
                kept.save(lambda: {name: getattr(trained, name).detach().numpy() for name in _PARAMETERS})

        def remove(block: Block) -> BoolArray | None:
            return removed_until_accepted(subject.classifier, block, edge_mask(scorer, block.graphs))

        return explain_by_masks(self, subject, remove, rng, context)

    def train(
        self, classifier: Classifier, graphs: Sequence[Graph], rng: np.random.Generator, context: RunContext = UNLIMITED
    ) -> EdgeScorer:
        """The network of the lowest validation loss; 80% of the graphs, which are of both classes, are to train on, 10% to validate.

        Graphs without edges teach nothing. At the deadline training ends, after one pass at least.
        """
        known = _TrainingGraphs.of(classifier, [graph for graph in graphs if graph.num_edges])
        scorer = best = EdgeScorer.drawn(known.states.shape[1], rng, known.states.dtype)
        order = rng.permutation(len(known))
        tenth = len(known) // 10
        training, validation = order[2 * tenth :], order[:tenth] if tenth else order
        adam = torch.optim.Adam([part.requires_grad_() for part in scorer.parameters], lr=self.learning_rate)
        lowest, waited = np.inf, 0
        for epoch in range(self.epochs if len(known) else 0):
            temperature = _FIRST_TEMPERATURE * (_LAST_TEMPERATURE / _FIRST_TEMPERATURE) ** (epoch / self.epochs)
            shuffled = rng.permutation(training)
            for start in range(0, len(shuffled), self.batch_size):
                loss = self._loss(
                    known, shuffled[start : start + self.batch_size], scorer, classifier, (temperature, rng)
                )
                for part, gradient in zip(scorer.parameters, torch.autograd.grad(loss, scorer.parameters), strict=True):
                    part.grad = gradient
                adam.step()
            with torch.no_grad():
                parts = np.array_split(validation, max(1, len(validation) // self.batch_size))
                now = sum(float(self._loss(known, part, scorer, classifier)) for part in parts) / len(validation)
            waited += 1
            if now < lowest:
                lowest, waited, best = now, 0, scorer.copy()
            context.tell("training", epoch + 1, self.epochs, f"validation loss {lowest:.4f}")
            if waited >= self.patience or context.is_late:
                break
        return best

    def _loss(
        self,
        known: _TrainingGraphs,
        chosen: LongArray,
        scorer: EdgeScorer,
        classifier: Classifier,
        sampling: tuple[float, np.random.Generator] | None = None,
    ) -> Tensor:
        """Summed loss of some training graphs, with sampled masks where a temperature is given."""
        batch = known.batch.select(chosen)
        scores = scorer(known.states_of(chosen), torch.from_numpy(batch.edges))
        if sampling is not None:
            temperature, rng = sampling
            uniform = torch.from_numpy(rng.uniform(_LEAST_NOISE, 1 - _LEAST_NOISE, size=tuple(scores.shape))).to(
                scores.dtype
            )
            scores = (torch.logit(uniform) + scores) / temperature
        mask = torch.sigmoid(scores).mean(dim=0)
        return self.loss(weighted_graphs(classifier, batch), known.margins[chosen], mask).sum()

    def loss(self, graphs: WeightedGraphs, margins: Tensor, mask: Tensor) -> Tensor:
        """Loss of each graph, `[B]`."""
        ptr = torch.from_numpy(graphs.batch.edge_ptr)
        loss = (1 - self.factual) * torch.sigmoid(margins * graphs.margin(1 - mask))
        if self.factual > 0:
            loss = loss + self.factual * torch.sigmoid(-margins * graphs.margin(mask))
        if self.sparsity > 0:
            loss = loss + self.sparsity * 2 * torch.segment_reduce(mask, "sum", offsets=ptr)
        if self.entropy > 0:
            inner = 0.99 * mask + 0.005
            entropy = -inner * inner.log() - (1 - inner) * (1 - inner).log()
            loss = loss + self.entropy * torch.segment_reduce(entropy, "mean", offsets=ptr)
        return loss


@dataclass(frozen=True, eq=False)
class _TrainingGraphs:
    """Graphs with what the classifier makes of them, computed once."""

    batch: GraphBatch  # the graphs
    states: Tensor  # node states, `[N, C]`
    margins: Tensor  # log-odds of accept, `[B]`

    @classmethod
    def of(cls, classifier: Classifier, graphs: Sequence[Graph]) -> _TrainingGraphs:
        batch = GraphBatch.from_graphs(graphs)
        parts = [weighted_graphs(classifier, part) for part in batch.chunks(BLOCK_NODES)]
        with torch.no_grad():
            margins = [part.margin(torch.ones(len(part.batch.edges), dtype=part.dtype)) for part in parts]
        states = [part.node_states() for part in parts]
        if not parts:
            return cls(batch, torch.zeros(0, 1), torch.zeros(0))
        return cls(batch, torch.cat(states), torch.cat(margins))

    def __len__(self) -> int:
        return len(self.batch)

    def states_of(self, chosen: LongArray) -> Tensor:
        """Node states of some of the graphs, end to end."""
        ptr = self.batch.node_ptr
        return torch.cat([self.states[ptr[graph] : ptr[graph + 1]] for graph in chosen.tolist()])


def edge_mask(scorer: EdgeScorer, graphs: WeightedGraphs) -> Tensor:
    """`m` of each edge, `[M]`: the mean of `σ(ω)` over its directions."""
    with torch.no_grad():
        return torch.sigmoid(scorer(graphs.node_states(), torch.from_numpy(graphs.batch.edges))).mean(dim=0)


def removed_until_accepted(classifier: Classifier, block: Block, mask: Tensor) -> BoolArray | None:
    """Edges taken away, those of high mask `[M]` first, until the classifier accepts, `[M]`; none of a graph it never accepts."""
    batch = block.graphs.batch
    graph_of = block.graph_of_edge().numpy()
    order = np.lexsort((-mask.numpy(), graph_of))  # by graph, then by decreasing mask, ties as edges stand
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order)) - batch.edge_ptr[graph_of[order]]
    needed = np.zeros(len(batch), dtype=np.int64)  # edges to take away; 0 while not accepted
    going = np.arange(len(batch))
    for count in range(1, int(batch.edge_counts().max(initial=0)) + 1):
        if block.context.is_late:
            return None
        going = going[(needed[going] == 0) & (batch.edge_counts()[going] >= count)]
        if len(going) == 0:
            break
        part = batch.select(going)
        ranks = np.concatenate([rank[batch.edge_ptr[graph] : batch.edge_ptr[graph + 1]] for graph in going])
        accepted = classifier.accept_probability(without_edges(part, ranks < count)) > 0.5
        needed[going[accepted]] = count
    return np.asarray(rank < needed[graph_of])


def _decode(arrays: Arrays) -> EdgeScorer:
    require(arrays["first"].shape[1:] == arrays["first_bias"].shape == arrays["second"].shape, "layers must fit")
    return EdgeScorer(**{name: torch.from_numpy(values) for name, values in arrays.items()})
