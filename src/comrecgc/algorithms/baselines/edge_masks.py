"""Explainers that learn a mask over edges: CF², CF-GNNExplainer, RCExplainer. Counterfactuals are discrete graphs without the masked edges.

The masks of many graphs are learnt at once, in one disjoint graph: no loss has terms of two graphs, so the gradient of the sum of
the losses is each graph's own. Nodes and labels never change; a node that loses its last edge stays in the graph.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from comrecgc.algorithms.base import option
from comrecgc.algorithms.baselines.baseline import Baseline, Counterfactuals, Subject, checkpoint_of, explain_blocks
from comrecgc.graphs import BoolArray, Edit, EditKind, EditPath, Graph, GraphBatch, LongArray
from comrecgc.models import Classifier, WeightedGraphs, check_edge_weights, weighted_graphs
from comrecgc.run import UNLIMITED, Arrays, RunContext, reproducible, require

BLOCK_NODES = 4000
"""Nodes of the graphs whose masks are learnt together: enough to keep a processor busy, few enough to stay in its cache."""

TRIED = 64
"""Number of inputs that a model is tried on first."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Block:
    """Inputs whose masks are learnt together."""

    graphs: WeightedGraphs  # the inputs
    generators: Sequence[np.random.Generator]  # source of randomness of each
    context: RunContext = UNLIMITED  # when to give up

    def graph_of_edge(self) -> Tensor:
        """Index of the graph of each edge, `[M]`."""
        batch = self.graphs.batch
        return torch.from_numpy(np.repeat(np.arange(len(batch)), batch.edge_counts()))


Remove = Callable[[Block], BoolArray | None]
"""Mask of the edges of a block's graphs to remove, `[M]`; None if time was up."""


def explain_by_masks(
    baseline: Baseline, subject: Subject, remove: Remove, rng: np.random.Generator, context: RunContext = UNLIMITED
) -> Counterfactuals:
    """The counterfactuals of inputs that are accepted without the edges that `remove` names, one per input.

    An input without edges has none, and a block that is not finished when time is up gives nothing.
    """
    limited = context.searching(len(subject.inputs))

    def explain(places: range, generators: Sequence[np.random.Generator]) -> list[list[EditPath]] | None:
        batch = GraphBatch.from_graphs(subject.inputs[place] for place in places)
        block = Block(graphs=weighted_graphs(subject.classifier, batch), generators=generators, context=limited)
        removed = remove(block) if len(batch.edges) else np.zeros(0, dtype=bool)
        if removed is None:
            return None
        parts = np.split(removed, batch.edge_ptr[1:-1])
        return [
            [removal(subject.inputs[place], part)] if part.any() else []
            for place, part in zip(places, parts, strict=True)
        ]

    with reproducible():
        check_edge_weights(subject.classifier, GraphBatch.from_graphs(subject.inputs[:TRIED]))
        ends = block_ends([graph.num_nodes for graph in subject.inputs])
        return explain_blocks(baseline, subject, explain, rng, context, ends=ends)


def block_ends(sizes: Sequence[int]) -> list[int]:
    """Ends of blocks of at most `BLOCK_NODES` nodes; a larger graph is a block by itself."""
    ends, nodes = list[int](), 0
    for place, size in enumerate(sizes):
        if nodes and nodes + size > BLOCK_NODES:
            ends.append(place)
            nodes = 0
        nodes += size
    return [*ends, len(sizes)] if sizes else []


def removal(graph: Graph, removed: BoolArray) -> EditPath:
    """The edits that remove the marked edges `[m]` of a graph."""
    pairs = graph.ids[graph.edges[removed]].tolist()
    return tuple(Edit(EditKind.REMOVE_EDGE, i, j) for i, j in pairs)


def without_edges(batch: GraphBatch, removed: BoolArray) -> GraphBatch:
    """The graphs of a batch without the marked edges `[M]`, all nodes kept."""
    kept = ~removed
    ptr = np.concatenate([[0], np.cumsum(kept)])[batch.edge_ptr]
    labels = None if batch.edge_labels is None else batch.edge_labels[kept]
    return replace(batch, edges=batch.edges[kept], edge_ptr=ptr, edge_labels=labels)


def sum_by_graph(values: Tensor, graph_of: Tensor, num_graphs: int) -> Tensor:
    """Sum of values over each graph, `[B]`."""
    return values.new_zeros(num_graphs).index_add(0, graph_of, values)


def draws_by_edge(block: Block, draw: Callable[[np.random.Generator, int, int], npt.NDArray[np.float64]]) -> Tensor:
    """Random numbers for both directions of every edge, `[2, M]`: `draw` gives `[2, m]` from a graph's own generator, nodes and edges."""
    batch = block.graphs.batch
    rows = zip(block.generators, batch.node_counts().tolist(), batch.edge_counts().tolist(), strict=True)
    return torch.from_numpy(np.concatenate([draw(*row) for row in rows], axis=1)).to(block.graphs.dtype)


@dataclass(frozen=True, kw_only=True)
class OwnMasks(Baseline, ABC):
    """A baseline that learns a mask for each graph separately; subclasses implement `remove`."""

    @abstractmethod
    def remove(self, block: Block) -> BoolArray | None:
        """Mask of the edges of the block's graphs to remove, `[M]`; None if time was up."""

    def run(self, subject: Subject, rng: np.random.Generator, context: RunContext = UNLIMITED) -> Counterfactuals:
        """Learn a mask for every input; each counterfactual is its input without the masked edges."""
        return explain_by_masks(self, subject, self.remove, rng, context)


# Learning and Evaluating Graph Neural Network Explanations based on Counterfactual and Factual Reasoning (Tan et al. 2022), CF².
#
# Each graph has a mask of its own over its edges, which is to be small, enough to keep the prediction (factual) and, taken away,
# enough to change it (counterfactual).


_THRESHOLD = 0.5


@dataclass(frozen=True, kw_only=True)
class CFF(OwnMasks):
    """CF² (Tan et al. 2022) for graph classification; edges whose final mask is above 0.5 are removed."""

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
        """Edges whose final mask is above one half, `[M]`; None if time was up."""
        parameters = draws_by_edge(block, _first_parameters).requires_grad_()  # both directions, [2, M]
        adam = torch.optim.Adam([parameters], lr=self.learning_rate)
        for _ in range(self.epochs):
            if block.context.is_late:
                return None
            loss = self.loss(block.graphs, mask_of(parameters)).sum()
            (parameters.grad,) = torch.autograd.grad(loss, parameters)
            adam.step()
        return np.asarray((mask_of(parameters) > _THRESHOLD).numpy())

    def loss(self, graphs: WeightedGraphs, mask: Tensor) -> Tensor:
        """Loss of each rejected graph, `[B]`: mask over both directions of its edges, plus the hinges."""
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


# CF-GNNExplainer: Counterfactual Explanations for Graph Neural Networks (Lucic et al. 2022), for whole graphs.
#
# Published for nodes of one graph; here each input is a graph of its own with one parameter per edge. Gradients come from soft edges, the
# prediction that counts from hard ones: an edge is kept while its parameter is not negative.


@dataclass(frozen=True, kw_only=True)
class CFGNNExplainer(OwnMasks):
    """CF-GNNExplainer (Lucic et al. 2022) for graph classification.

    The number of removed edges is part of the loss but has no gradient, so it only ranks the masks met. Without momentum a graph stops at its first
    flip, where its gradient ends. The method is deterministic.
    """

    name: ClassVar[str] = "cfgnnexplainer"

    iterations: int = option(500, "Steps of gradient descent.", least=1)
    learning_rate: float = option(0.1, "Step size of gradient descent.", above=0)
    momentum: float = option(0.0, "Nesterov momentum.", least=0, below=1)
    most_gradient: float = option(2.0, "Norm each graph's gradient is clipped at.", above=0)

    def remove(self, block: Block) -> BoolArray | None:
        """The edges whose removal flips each graph, `[M]`; of several such sets the smallest, the first met among equals."""
        graphs, graph_of = block.graphs, block.graph_of_edge()
        num_graphs = len(graphs.batch)
        parameters = torch.ones(len(graph_of), dtype=graphs.dtype)
        velocity = torch.zeros_like(parameters)
        fewest = torch.full((num_graphs,), torch.inf)
        best, kept = torch.zeros(len(graph_of), dtype=torch.bool), torch.ones(len(graph_of), dtype=torch.bool)
        flipped = torch.zeros(num_graphs, dtype=torch.bool)
        for step in range(self.iterations):
            if block.context.is_late:
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
        return np.asarray(best.numpy())

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


# Robust Counterfactual Explanations on Graph Neural Networks (Bajaj et al. 2021), RCExplainer.
#
# One small network, trained on graphs of both classes, scores every edge from the states of its two ends: without the edges of high score
# a graph is to lie beyond the decision boundary. The paper mines linear boundaries of the pooled state; for two classes and one linear
# layer they are all the same hyperplane, the log-odds, so nothing has to be mined.


_HIDDEN = 64
_LEAST_NOISE = 1e-6
_FIRST_TEMPERATURE, _LAST_TEMPERATURE = 0.5, 4.99
_PARAMETERS = {"first": "f2", "first_bias": "f1", "second": "f1", "second_bias": "f0"}
NETWORK = "baseline-network.npz"
"""File of the trained network in the checkpoint folder."""


@dataclass(frozen=True, eq=False)
class EdgeScorer:
    """`ω` of a directed edge from the states of its ends: a perceptron of one hidden layer."""

    first: Tensor  # `[2C, 64]`
    first_bias: Tensor  # `[64]`
    second: Tensor  # `[64]`
    second_bias: Tensor  # a number

    @classmethod
    def drawn(cls, width: int, rng: np.random.Generator, dtype: torch.dtype) -> EdgeScorer:
        """Initial weights, drawn as torch draws those of linear layers."""

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
        """A copy with its own tensors, without gradients."""
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
        """Train the network, then remove edges from every input until it is accepted."""
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
        """Train on 80% of the graphs, of both classes, and return the network of the lowest loss on another 10%.

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
            context.show_progress("training", epoch + 1, self.epochs, f"validation loss {lowest:.4f}")
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
    """Graphs with their node states and answers in the classifier, computed once."""

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
    """Mask of the edges to remove, `[M]`: those of the highest mask first, until the classifier accepts; none if it never does."""
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
