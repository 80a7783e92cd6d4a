"""The walk once more, slowly and literally, on networkx graphs: an oracle that shares no code with the package.

It follows Algorithm 5 of the paper, with followers that may stay and compare with the lead's recourse after it moved. Random
numbers are drawn in the documented order: the first heads; then each step teleport or not, the lead, and either one number
per head (teleport) or one for the lead's move.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import TypeAlias

import networkx as nx
import numpy as np
import numpy.typing as npt

NxGraph: TypeAlias = "nx.Graph[int]"
Array: TypeAlias = npt.NDArray[np.floating]


def num_triangles(graph: NxGraph) -> int:
    return sum(all(graph.has_edge(*pair) for pair in combinations(trio, 2)) for trio in combinations(graph, 3))


def accept_probability(graph: NxGraph) -> float:
    """Some smooth function of what isomorphic graphs share."""
    labels = [graph.nodes[node]["label"] for node in graph]
    triangles = num_triangles(graph)
    mixed = sum(graph.nodes[i]["label"] != graph.nodes[j]["label"] for i, j in graph.edges)
    score = 0.9 * labels.count(1) - 0.7 * graph.number_of_edges() + 0.8 * triangles + 0.45 * mixed
    return float(1 / (1 + np.exp(-score)))


def embedding(graph: NxGraph) -> Array:
    """Some vector of what isomorphic graphs share, different for graphs that differ."""
    labels = np.array([graph.nodes[node]["label"] for node in graph], dtype=float)
    degrees = np.array([graph.degree[node] for node in graph], dtype=float)
    around = np.array([sum(graph.nodes[other]["label"] + 1.37 for other in graph[node]) for node in graph])
    return np.array(
        [
            len(labels) * 1.1,
            degrees.sum() * 0.7,
            (degrees**2).sum() * 0.31,
            labels.sum() * 1.3,
            (labels * degrees).sum() * 0.57,
            np.sin(around).sum() * 2.1,
            (around * (labels + 0.3)).sum() * 0.17,
            3 * num_triangles(graph) * 0.61,
        ],
        dtype=np.float32,
    )


def same(a: NxGraph, b: NxGraph) -> bool:
    return nx.is_isomorphic(a, b, node_match=lambda x, y: x["label"] == y["label"])


def neighbours(graph: NxGraph, num_labels: int) -> list[NxGraph]:
    """N(G) without isomorphic repeats, in the documented order of edits; nodes keep their order."""
    distinct: list[NxGraph] = []
    for candidate in _edited(graph, num_labels):
        if not any(same(candidate, other) for other in distinct):
            distinct.append(candidate)
    return distinct


def _edited(graph: NxGraph, num_labels: int) -> Iterator[NxGraph]:
    nodes = sorted(graph)
    for node in nodes:
        for label in range(num_labels):
            if label != graph.nodes[node]["label"]:
                changed = graph.copy()
                changed.nodes[node]["label"] = label
                yield changed
    for node in nodes:
        for label in range(num_labels):
            changed = graph.copy()
            changed.add_node(max(nodes) + 1000, label=label)  # after all others
            changed.add_edge(node, max(nodes) + 1000)
            yield changed
    for node in nodes:
        if graph.degree[node] == 1:
            changed = graph.copy()
            changed.remove_node(node)
            yield changed
    for i, j in combinations(nodes, 2):
        if not graph.has_edge(i, j):
            changed = graph.copy()
            changed.add_edge(i, j)
            yield changed
    for i, j in sorted(tuple(sorted(edge)) for edge in graph.edges):
        changed = graph.copy()
        changed.remove_edge(i, j)
        yield changed


@dataclass
class LiteralWalk:
    inputs: list[NxGraph]
    num_labels: int
    num_heads: int
    teleport: float
    rng: np.random.Generator
    visits: list[tuple[NxGraph, int]] = field(default_factory=list)
    found: list[tuple[NxGraph, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.starts = [0] * len(self.inputs)
        self.origin = self.rng.choice(len(self.inputs), self.num_heads, replace=False).tolist()
        for start in self.origin:
            self.starts[start] += 1
        self.heads = [self.inputs[start] for start in self.origin]

    def step(self) -> None:
        teleports = self.rng.random() < self.teleport
        lead = int(self.rng.integers(self.num_heads))
        if teleports:
            self.origin = []
            for _ in range(self.num_heads):
                weights = np.exp(-np.array(self.starts, dtype=float))
                start = self._draw(weights / weights.sum())
                self.starts[start] += 1
                self.origin.append(start)
            self.heads = [self.inputs[start] for start in self.origin]
        else:
            options = neighbours(self.heads[lead], self.num_labels)
            weights = np.array([accept_probability(v) * (1 + self._count(self.visits, v)) for v in options])
            self.heads[lead] = options[self._draw(weights / weights.sum())]
            target = self._recourse(lead, self.heads[lead])
            for i in range(self.num_heads):
                if i != lead:
                    choices = [self.heads[i], *neighbours(self.heads[i], self.num_labels)]
                    distances = [np.linalg.norm(self._recourse(i, v) - target) for v in choices]
                    self.heads[i] = choices[int(np.argmin(distances))]
        for head in self.heads:
            self._add(self.visits, head)
            if accept_probability(head) > 0.5:
                self._add(self.found, head)

    def _recourse(self, head: int, graph: NxGraph) -> Array:
        origin = self.inputs[self.origin[head]]
        size = sum(len(g) + g.number_of_edges() for g in (origin, graph))
        recourse: Array = (embedding(graph) - embedding(origin)) / np.float32(size)
        return recourse

    def _draw(self, probabilities: Array) -> int:
        u = self.rng.random()
        total = 0.0
        for index, probability in enumerate(probabilities):
            total += probability
            if u < total:
                return index
        return len(probabilities) - 1

    @staticmethod
    def _count(tally: list[tuple[NxGraph, int]], graph: NxGraph) -> int:
        return next((count for other, count in tally if same(other, graph)), 0)

    @staticmethod
    def _add(tally: list[tuple[NxGraph, int]], graph: NxGraph) -> None:
        for index, (other, count) in enumerate(tally):
            if same(other, graph):
                tally[index] = (other, count + 1)
                return
        tally.append((graph, 1))
