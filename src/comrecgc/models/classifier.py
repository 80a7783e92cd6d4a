"""What the pipeline asks of a classifier, and what a classifier says about a set of graphs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from comrecgc.errors import InputError
from comrecgc.graphs import BoolArray, Graph, GraphBatch, LongArray

FloatArray = npt.NDArray[np.float64]

CHUNK_NODES = 100_000
"""Nodes a model sees at once, which bounds its memory whatever the size of the batch."""


@runtime_checkable
class Classifier(Protocol):
    """A binary graph classifier over node labels `0 … num_labels-1`; it accepts a graph iff the probability is > 0.5."""

    @property
    def num_labels(self) -> int:
        """Size of the node label alphabet the classifier knows."""
        ...

    def accept_probability(self, batch: GraphBatch) -> FloatArray:
        """Probability of accept of every graph of the batch, `[B]`."""
        ...


@runtime_checkable
class _OfOneClass(Protocol):
    """A classifier of several classes that may explain the graphs of one of them only."""

    def explained(self, batch: GraphBatch) -> BoolArray | None:
        """Mask of the graphs to explain, `[B]`; None for all."""
        ...


@dataclass(frozen=True, eq=False, kw_only=True)
class Predictions:
    """What a classifier says about some graphs.

    Args:
        probability: Probability of accept, `[B]`.
        explained: Mask of the graphs that are explained if they are not accepted, `[B]`; None for all.
    """

    probability: FloatArray
    explained: BoolArray | None = None

    @property
    def accepted(self) -> BoolArray:
        """Mask of the accepted graphs, `[B]`; a tie is a reject."""
        return self.probability > 0.5

    @property
    def rejects(self) -> LongArray:
        """Indices of the rejected graphs, the inputs of an explanation."""
        return np.flatnonzero(~self.accepted if self.explained is None else ~self.accepted & self.explained)

    @property
    def accepts(self) -> LongArray:
        """Indices of the accepted graphs."""
        return np.flatnonzero(self.accepted)

    @property
    def warning(self) -> str | None:
        """Why there is nothing to explain, or little hope of it; None when both classes occur."""
        count = len(self.probability)
        if count == 0:
            return "There are no graphs to classify."
        if self.accepted.all():
            return (
                f"The classifier accepts all {count} graphs: there are no rejects to explain. "
                "If accept is the wrong class, choose another with target_class, or with --accept."
            )
        if not self.accepted.any():
            return f"The classifier rejects all {count} graphs: no graph shows what it accepts."
        if len(self.rejects) == 0:
            return f"None of the {count} graphs is of the source class: there are no rejects to explain."
        return None


def predict(classifier: Classifier, graphs: GraphBatch | Iterable[Graph]) -> Predictions:
    """The classifier's answer on every graph; one that always answers the same is valid and has a `warning`."""
    batch = graphs if isinstance(graphs, GraphBatch) else GraphBatch.from_graphs(graphs)
    explained = classifier.explained(batch) if isinstance(classifier, _OfOneClass) else None
    return Predictions(probability=classifier.accept_probability(batch), explained=explained)


def check_labels(batch: GraphBatch, num_labels: int) -> None:
    """Refuse a batch with labels the classifier does not know."""
    if len(batch.labels) and batch.labels.max() >= num_labels:
        raise InputError(f"The classifier knows node labels 0…{num_labels - 1} (got {batch.labels.max()})")
