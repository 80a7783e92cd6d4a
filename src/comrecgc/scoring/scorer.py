"""Probability and embedding of every allowed one-edit neighbour of a graph, each by the fastest path its model has."""

from __future__ import annotations

import functools
import itertools
import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, TypeGuard, TypeVar

import numpy as np
import numpy.typing as npt
import torch

from comrecgc.errors import InputError
from comrecgc.graphs import Constraint, EditTable, Graph, GraphBatch, allowed_edits, edited_batch
from comrecgc.models import Classifier, Embedder, GraphClassifier, Greed
from comrecgc.scoring.neighbourhood import (
    FastPath,
    FloatArray,
    Neighbourhood,
    first_of_each,
    neighbour_keys,
    parts,
    with_scores,
)

_FEWEST_KEYS = 256  # edits whose keys are worth a thread

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")


class NeighbourhoodScorer:
    """Scores whole neighbourhoods with one classifier and one embedder.

    On a CPU the package's own classifiers and GREED take the fast path, which is exact; its results depend neither on
    what else is scored in the same call nor on the number of threads. Every other model takes the generic path. Weights
    are read when the scorer is made.

    Args:
        classifier: Gives the probability of accept; None if only embeddings will be asked for.
        embedder: Gives the embedding; None if only probabilities will be asked for.
        num_labels: Size of the label alphabet.
        constraint: Which edits are allowed; None allows all.
        device: Where torch models run; they are moved there.
        max_nodes: Nodes of edited graphs that each thread holds at once, which bounds memory.
        num_threads: Threads of the fast path; by default as many as torch uses.
        fast: Whether to take the fast path where there is one.
    """

    def __init__(
        self,
        classifier: Classifier | None,
        embedder: Embedder | None,
        num_labels: int,
        *,
        constraint: Constraint | None = None,
        device: torch.device | str = "cpu",
        max_nodes: int = 100_000,
        num_threads: int | None = None,
        fast: bool = True,
    ) -> None:
        num_threads = torch.get_num_threads() if num_threads is None else num_threads
        for name, value in (("num_labels", num_labels), ("max_nodes", max_nodes), ("num_threads", num_threads)):
            if value < 1:
                raise InputError(f"{name} must be at least 1 (got {value})")
        models: dict[str, object] = {"classifier": classifier, "embedder": embedder}
        for name, model in models.items():
            known = getattr(model, "num_labels", num_labels)
            if known < num_labels:
                raise InputError(f"The {name} must know all {num_labels} labels (got one of {known})")
            if isinstance(model, torch.nn.Module):
                model.to(device)
        self.classifier = classifier
        self.embedder = embedder
        self.num_labels = num_labels
        self.constraint = constraint
        self.max_nodes = max_nodes
        self.num_threads = num_threads
        fast = fast and torch.device(device).type == "cpu"
        self._fast = FastPath(
            classifier if fast and _is_own_classifier(classifier) else None,
            embedder if fast and _is_own_embedder(embedder) else None,
            max_nodes,
        )

    def score(
        self,
        graphs: Sequence[Graph],
        *,
        probability: bool = True,
        embedding: bool = True,
        sample: int | None = None,
        rng: np.random.Generator | None = None,
        limits: Sequence[Constraint] | None = None,
    ) -> list[Neighbourhood]:
        """The neighbourhood of every graph.

        Args:
            graphs: The graphs to edit.
            probability: Whether probabilities are needed.
            embedding: Whether embeddings are needed.
            sample: Look at no more edits per graph than this, drawn uniformly without replacement.
            rng: Source of the draws; needed with `sample`.
            limits: A constraint of its own for each graph, besides that of all; None for none.
        """
        if sample is not None and sample < 1:
            raise InputError(f"sample must be at least 1 (got {sample})")
        if sample is not None and rng is None:
            raise InputError("sample needs rng, the source of its draws (got None)")
        own = [None] * len(graphs) if limits is None else limits
        tables = [self._edits(graph, limit, sample, rng) for graph, limit in zip(graphs, own, strict=True)]
        neighbourhoods = self._identify(graphs, tables)
        return self.complete(neighbourhoods, probability=probability, embedding=embedding)

    def complete(
        self, neighbourhoods: Sequence[Neighbourhood], *, probability: bool = True, embedding: bool = True
    ) -> list[Neighbourhood]:
        """The same neighbourhoods, with what is asked for and not yet known of them.

        Args:
            neighbourhoods: Whole neighbourhoods, or parts of them (see `Neighbourhood.select`).
            probability: Whether probabilities are needed.
            embedding: Whether embeddings are needed.
        """
        share = math.ceil(self.num_threads / max(1, len(neighbourhoods)))
        groups = [
            self._fast.pieces(known, probability=probability, embedding=embedding, num_threads=share)
            for known in neighbourhoods
        ]
        scores = iter(self._map(self._fast.score, [piece for group in groups for piece in group]))
        results = [
            with_scores(known, list(itertools.islice(scores, len(group))))
            for known, group in zip(neighbourhoods, groups, strict=True)
        ]
        return [self._complete_generic(known, probability=probability, embedding=embedding) for known in results]

    def _complete_generic(self, known: Neighbourhood, *, probability: bool, embedding: bool) -> Neighbourhood:
        """What is still missing, by showing flat batches to the models."""
        if probability and known.probability is None:
            if self.classifier is None:
                raise InputError("Probabilities need a classifier (got None)")
            scores = _score_batches(self.classifier.accept_probability, known.graph, known.table, self.max_nodes)
            known = replace(known, probability=scores)
        if embedding and known.embedding is None:
            if self.embedder is None:
                raise InputError("Embeddings need an embedder (got None)")
            scores = _score_batches(self.embedder.embed, known.graph, known.table, self.max_nodes)
            known = replace(known, embedding=scores)
        return known

    def _edits(
        self, graph: Graph, limit: Constraint | None, sample: int | None, rng: np.random.Generator | None
    ) -> EditTable:
        table = allowed_edits(graph, self.num_labels, self.constraint)
        if limit is not None:
            table = table.select(limit.allowed(graph, table))
        if sample is None or rng is None or len(table) <= sample:
            return table
        return table.select(np.sort(rng.choice(len(table), size=sample, replace=False)))

    def _identify(self, graphs: Sequence[Graph], tables: Sequence[EditTable]) -> list[Neighbourhood]:
        """The neighbourhoods, with nothing known but the first edit of each key."""
        share = math.ceil(self.num_threads / max(1, len(graphs)))
        groups = [list(parts(table, max(_FEWEST_KEYS, math.ceil(len(table) / share)))) for table in tables]
        pieces = [(graph, part) for graph, group in zip(graphs, groups, strict=True) for part in group]
        found = iter(self._map(lambda piece: neighbour_keys(*piece), pieces))
        results = []
        for graph, table, group in zip(graphs, tables, groups, strict=True):
            keys = np.concatenate([np.zeros(0, np.uint64), *itertools.islice(found, len(group))])
            first = first_of_each(keys)
            results.append(Neighbourhood(graph=graph, table=table.select(first), keys=keys[first]))
        return results

    def _map(self, function: Callable[[_Task], _Result], tasks: Sequence[_Task]) -> list[_Result]:
        """The function of every task, in order; compiled functions let go of the interpreter, so threads pay."""
        if self.num_threads == 1 or len(tasks) < 2:
            return [function(task) for task in tasks]
        return list(_threads(self.num_threads, os.getpid()).map(function, tasks))


@functools.cache
def _threads(count: int, process: int) -> ThreadPoolExecutor:  # noqa: ARG001
    """Threads kept from call to call: to start them takes longer than to score a small graph.

    A process that was forked has none of its parent's threads, so they are told apart by process.
    """
    return ThreadPoolExecutor(count)


# A subclass may compute something else, so only the very classes are taken for the package's own.


def _is_own_classifier(model: object) -> TypeGuard[GraphClassifier]:
    return type(model) is GraphClassifier and _is_single(model)


def _is_own_embedder(model: object) -> TypeGuard[Greed]:
    return type(model) is Greed and _is_single(model)


def _is_single(model: torch.nn.Module) -> bool:
    """Whether all parameters are of single precision."""
    return all(tensor.dtype == torch.float32 for tensor in model.parameters())


def _score_batches(
    model: Callable[[GraphBatch], npt.NDArray[Any]], graph: Graph, table: EditTable, max_nodes: int
) -> FloatArray:
    """What any model says of the graph after each edit of the table, `[N, …]`, shown to it as batches of bounded size."""
    if len(table) == 0:  # the graph itself tells the shape of a row
        return _rows(model, GraphBatch.from_graphs([graph]))[:0]
    size = max(1, max_nodes // (graph.num_nodes + 1))
    batches = (edited_batch(graph, part, with_edge_labels=True) for part in parts(table, size))
    return np.concatenate([_rows(model, batch) for batch in batches])


def _rows(model: Callable[[GraphBatch], npt.NDArray[Any]], batch: GraphBatch) -> FloatArray:
    rows = np.asarray(model(batch), dtype=np.float32)
    if len(rows) != len(batch):
        raise InputError(f"A model must give one row per graph (got shape {rows.shape} for {len(batch)} graphs)")
    return rows
