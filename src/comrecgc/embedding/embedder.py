"""What the pipeline needs of an embedding, and how anything that maps graphs to vectors becomes one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from comrecgc.errors import InputError
from comrecgc.graphs import Graph, GraphBatch

FloatArray = npt.NDArray[np.float32]


@runtime_checkable
class Embedder(Protocol):
    """Maps graphs to vectors whose distances stand for graph edit distances."""

    def embed(self, batch: GraphBatch) -> FloatArray:
        """Embedding `z(G)` of every graph, `[B, width]`."""
        ...


@dataclass(frozen=True)
class FunctionEmbedder:
    """A plain function from a list of graphs to an array, as an embedder."""

    function: Callable[[Sequence[Graph]], Any]

    def embed(self, batch: GraphBatch) -> FloatArray:
        result = np.asarray(self.function(list(batch)), dtype=np.float32)
        if result.ndim != 2 or len(result) != len(batch):
            raise InputError(
                f"An embedder must give one row per graph (got shape {result.shape} for {len(batch)} graphs)"
            )
        if not np.isfinite(result).all():
            raise InputError(f"An embedder must give finite numbers (got {result[~np.isfinite(result)][0]})")
        return result


def as_embedder(embedder: Embedder | Callable[[Sequence[Graph]], Any]) -> Embedder:
    """The embedder itself, or a function from graphs to an array `[len, width]` wrapped as one."""
    if isinstance(embedder, Embedder):
        return embedder
    if callable(embedder):
        return FunctionEmbedder(embedder)
    raise InputError(f"An embedder is a model with `embed` or a function of graphs (got {type(embedder).__name__})")


def normalised_distance(first: FloatArray, second: FloatArray, sizes: npt.ArrayLike) -> FloatArray:
    """`d(G,H) = ‖z(G)−z(H)‖ / (|G|+|H|)`, row by row.

    Args:
        first: Embeddings `z(G)`, `[P, width]`.
        second: Embeddings `z(H)`, `[P, width]`.
        sizes: `|G|+|H|` of each pair, `[P]`.
    """
    distance: FloatArray = np.linalg.norm(first - second, axis=1) / np.asarray(sizes, dtype=np.float32)
    return distance
