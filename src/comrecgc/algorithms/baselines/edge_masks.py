"""What the explainers that learn a mask over edges share: blocks of inputs, and discrete graphs without the masked edges.

The masks of many graphs are learnt at once, in one disjoint graph: no loss has terms of two graphs, so the gradient of the sum of
the losses is each graph's own. Nodes and labels never change; a node that loses its last edge stays in the graph.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from comrecgc.algorithms.baselines.baseline import Baseline
from comrecgc.algorithms.baselines.source import UNLIMITED, Counterfactuals, Subject, explain_blocks
from comrecgc.graphs import BoolArray, Edit, EditKind, EditPath, Graph, GraphBatch
from comrecgc.models import WeightedGraphs, check_edge_weights, weighted_graphs
from comrecgc.run import RunContext, reproducible

BLOCK_NODES = 4000
"""Nodes of the graphs whose masks are learnt together: enough to keep a processor busy, few enough to stay in its cache."""

TRIED = 64
"""Inputs a model is tried on first."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Block:
    """Some inputs whose masks are learnt together."""

    graphs: WeightedGraphs  # the inputs
    generators: Sequence[np.random.Generator]  # source of randomness of each
    deadline: float | None = None  # when to give up, as `time.monotonic()` counts

    def over(self) -> bool:
        """Whether time is up."""
        return self.deadline is not None and time.monotonic() >= self.deadline

    def graph_of_edge(self) -> Tensor:
        """Index of the graph of each edge, `[M]`."""
        batch = self.graphs.batch
        return torch.from_numpy(np.repeat(np.arange(len(batch)), batch.edge_counts()))


Remove = Callable[[Block], BoolArray | None]
"""Which edges of a block's graphs are to go, `[M]`; None if time was up."""


def explain_by_masks(
    baseline: Baseline,
    subject: Subject,
    remove: Remove,
    rng: np.random.Generator,
    context: RunContext = UNLIMITED,
) -> Counterfactuals:
    """One counterfactual for each input that loses the edges that `remove` names and is then accepted.

    An input without edges has none, and a block that is not finished when time is up gives nothing.
    """
    deadline = context.clock.search_deadline(len(subject.inputs))

    def explain(places: range, generators: Sequence[np.random.Generator]) -> list[list[EditPath]] | None:
        batch = GraphBatch.from_graphs(subject.inputs[place] for place in places)
        block = Block(graphs=weighted_graphs(subject.classifier, batch), generators=generators, deadline=deadline)
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
    """Where blocks of at most `BLOCK_NODES` nodes end; a single larger graph is a block."""
    ends, nodes = list[int](), 0
    for place, size in enumerate(sizes):
        if nodes and nodes + size > BLOCK_NODES:
            ends.append(place)
            nodes = 0
        nodes += size
    return [*ends, len(sizes)] if sizes else []


def removal(graph: Graph, removed: BoolArray) -> EditPath:
    """The edits that take the marked edges `[m]` of a graph away."""
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
    """A baseline that learns a mask for each graph alone: it says which edges go, and everything else follows."""

    @abstractmethod
    def remove(self, block: Block) -> BoolArray | None:
        """Edges of the block's graphs that are to go, `[M]`; None if time was up."""

    def run(self, subject: Subject, rng: np.random.Generator, context: RunContext = UNLIMITED) -> Counterfactuals:
        """Learn a mask for every input; each counterfactual is its input without the masked edges."""
        return explain_by_masks(self, subject, self.remove, rng, context)
