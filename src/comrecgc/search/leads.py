"""What a search remembers of one input: counterfactuals to offer, and graphs worth expanding. Bounded in number."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from comrecgc.graphs import BoolArray, EditPath, Graph, KeyArray
from comrecgc.neighbourhood import Neighbourhood
from comrecgc.neighbourhood.neighbourhood import FloatArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class Leads:
    """Graphs reached from one input.

    Args:
        keys: Identity of each graph, `[n]`.
        sizes: `|H|`, `[n]`.
        probabilities: Probability of accept, `[n]`.
        embeddings: `z(H)`, `[n, d]`.
        paths: Edits from the input to each graph.
    """

    keys: KeyArray
    sizes: npt.NDArray[np.int32]
    probabilities: FloatArray
    embeddings: FloatArray
    paths: tuple[EditPath, ...]

    @classmethod
    def none(cls, width: int) -> Leads:
        """No graphs, of embeddings of this width."""
        return cls(
            np.zeros(0, np.uint64),
            np.zeros(0, np.int32),
            np.zeros(0, np.float32),
            np.zeros((0, width), np.float32),
            (),
        )

    @classmethod
    def from_neighbourhood(cls, path: EditPath, neighbourhood: Neighbourhood, rows: npt.NDArray[np.intp]) -> Leads:
        """Some neighbours of the graph at the end of a path."""
        assert neighbourhood.probability is not None
        assert neighbourhood.embedding is not None
        sizes = neighbourhood.graph.size + neighbourhood.table.size_changes()[rows]
        return cls(
            neighbourhood.keys[rows],
            sizes.astype(np.int32),
            neighbourhood.probability[rows],
            neighbourhood.embedding[rows],
            tuple((*path, neighbourhood.table[int(row)]) for row in rows),
        )

    def __len__(self) -> int:
        return len(self.keys)

    def __add__(self, other: Leads) -> Leads:
        """Both, each graph once: the first path to it stays."""
        fresh = other.select(np.flatnonzero(~np.isin(other.keys, self.keys)))
        return Leads(
            np.concatenate([self.keys, fresh.keys]),
            np.concatenate([self.sizes, fresh.sizes]),
            np.concatenate([self.probabilities, fresh.probabilities]),
            np.concatenate([self.embeddings, fresh.embeddings]),
            self.paths + fresh.paths,
        )

    def select(self, rows: npt.NDArray[np.intp] | BoolArray) -> Leads:
        """The graphs at these rows, in this order."""
        rows = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        return Leads(
            self.keys[rows],
            self.sizes[rows],
            self.probabilities[rows],
            self.embeddings[rows],
            tuple(self.paths[int(row)] for row in rows),
        )


@dataclass(eq=False)
class InputState:
    """An input and what is known around it.

    Args:
        graph: The input `G`.
        embedding: `z(G)`, `[d]`.
        found: Its counterfactuals within θ.
        frontier: Graphs seen and not yet expanded.
        expanded: Keys of the graphs whose neighbours were looked at with centres in sight.
    """

    graph: Graph
    embedding: FloatArray
    found: Leads
    frontier: Leads
    expanded: set[int] = field(default_factory=set)

    def vectors(self, sizes: npt.NDArray[np.int32], embeddings: FloatArray) -> FloatArray:
        """Recourse vectors from the input to graphs of these sizes and embeddings, `[n, d]`."""
        return recourse_vectors(self.graph.size, self.embedding, sizes, embeddings)


def recourse_vectors(
    size: int, embedding: FloatArray, sizes: npt.NDArray[np.int32], embeddings: FloatArray
) -> FloatArray:
    """`r(G,H) = (z(H)−z(G)) / (|G|+|H|)` from one graph to many, `[n, d]`."""
    vectors: FloatArray = (embeddings - embedding) / (size + sizes).astype(np.float32)[:, None]
    return vectors


def squared_distances(vectors: FloatArray, centres: FloatArray) -> FloatArray:
    """Squared distance of every vector to every centre, `[n, R]`."""
    squares = np.einsum("nd,nd->n", vectors, vectors)[:, None] + np.einsum("nd,nd->n", centres, centres)
    distances: FloatArray = squares - 2 * (vectors @ centres.T)
    return distances


def drawn(keys: KeyArray, most: int) -> npt.NDArray[np.intp]:
    """At most `most` rows as if at random, yet the same whatever the order the graphs came in: by a hash of their keys."""
    if len(keys) <= most:
        return np.arange(len(keys))
    return np.argpartition(keys * _GOLDEN ^ (keys >> np.uint64(31)), most)[:most]
