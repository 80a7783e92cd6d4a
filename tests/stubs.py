"""Tiny models whose answers anyone can work out by hand."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.base import Algorithm, options_of
from comrecgc.algorithms.registry import Rules
from comrecgc.data import GraphDataset
from comrecgc.explainer import CommonRecourseExplainer
from comrecgc.graphs import Graph, GraphBatch
from comrecgc.run import RunContext


@dataclass(frozen=True)
class AvoidsLabel:
    """Rejects every graph with a node of one label; its verdict weakens with the size of the graph."""

    label: int
    num_labels: int

    def accept_probability(self, batch: GraphBatch) -> npt.NDArray[np.float64]:
        found = np.zeros(len(batch))
        np.add.at(found, batch.graph_of_node(), batch.labels == self.label)
        probability: npt.NDArray[np.float64] = np.where(found == 0, 0.9, 0.1) - 0.001 * batch.node_counts()
        return probability


@dataclass(frozen=True)
class Always:
    """Gives every graph the same probability."""

    probability: float
    num_labels: int

    def accept_probability(self, batch: GraphBatch) -> npt.NDArray[np.float64]:
        return np.full(len(batch), self.probability)


@dataclass(frozen=True)
class Histogram:
    """Embeds a graph as its label counts and its number of edges, so that a relabelling has length √2."""

    num_labels: int

    def embed(self, batch: GraphBatch) -> npt.NDArray[np.float32]:
        counts = np.zeros((len(batch), self.num_labels + 1), dtype=np.float32)
        np.add.at(counts, (batch.graph_of_node(), batch.labels), 1)
        counts[:, -1] = batch.edge_counts()
        return counts

    def vector(self, graph: Graph, other: Graph) -> npt.NDArray[np.float64]:
        """`r(G, H)`, worked out one graph at a time."""
        before, after = (
            np.array([*(int((g.labels == k).sum()) for k in range(self.num_labels)), g.num_edges], dtype=np.float64)
            for g in (graph, other)
        )
        return (after - before) / (graph.num_nodes + graph.num_edges + other.num_nodes + other.num_edges)


def small_dataset(num_graphs: int = 24, seed: int = 0) -> GraphDataset:
    """Random trees of 4 to 7 nodes over the labels A, B and C; those with a C are of class 0."""
    rng = np.random.default_rng(seed)
    graphs = []
    for _ in range(num_graphs):
        num_nodes = int(rng.integers(4, 8))
        labels = rng.choice(3, num_nodes, p=[0.5, 0.3, 0.2])
        graphs.append(Graph(labels, [[int(rng.integers(j)), j] for j in range(1, num_nodes)]))
    classes = np.array([not (graph.labels == 2).any() for graph in graphs], dtype=np.int8)
    return GraphDataset(name="small", graphs=tuple(graphs), classes=classes, label_names=("A", "B", "C"))


def explainer_of(model: Any, kind: type[Algorithm] = Rules, **options: Any) -> CommonRecourseExplainer:
    """An explainer whose options go by name to the algorithm or the context, and otherwise to itself; on one core by default."""
    parts: dict[str, dict[str, Any]] = {"algorithm": {}, "context": {"jobs": 1}, "explainer": {}}
    owner = dict.fromkeys(options_of(kind), "algorithm") | {each.name: "context" for each in fields(RunContext)}
    for name, value in options.items():
        parts[owner.get(name, "explainer")][name] = value
    context = RunContext(**parts["context"])
    return CommonRecourseExplainer(model, kind.from_options(parts["algorithm"]), context=context, **parts["explainer"])
