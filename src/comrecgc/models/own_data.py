"""The check before a search: does the model answer the same about graphs as they are held here as about the user's own `Data`?

What is explained must be the user's function. The model is asked about the user's graphs by the user's own call, and about the same graphs as a
search would show them to it; where answers differ, the reason is found by changing the user's graphs one step at a time.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from comrecgc.data import Attributes, GraphDataset
from comrecgc.errors import InputError
from comrecgc.graphs import GraphBatch, LongArray
from comrecgc.models.adapter import AdaptedClassifier
from comrecgc.models.classifier import Classifier, FloatArray

_ROUNDING = 1e-3  # of probabilities: sums in another order
_ASKED = 500  # graphs that are compared
_ALONE = 24  # graphs that are asked about one by one
_FEW = 2  # graphs, or one in a hundred, whose answers may differ
_CHUNK = 64  # of the user's graphs asked about together
_GO_ON = "RunContext(strict=False) goes on all the same"


def check_own_data(classifier: Classifier, dataset: GraphDataset, *, strict: bool = True) -> list[str]:
    """What a reader must know of how the model answers: nothing if it answers the same however it is asked.

    Args:
        classifier: The model.
        dataset: The graphs.
        strict: Raise an error where the model is random, depends on the other graphs of a batch, or answers otherwise about the user's own graphs;
            without, say so only.
    """
    places = np.unique(np.linspace(0, len(dataset) - 1, min(_ASKED, len(dataset))).astype(int))
    batch = GraphBatch.from_graphs(dataset.graphs[place] for place in places.tolist())
    held = np.asarray(classifier.accept_probability(batch))
    problems = [_random(classifier, batch, held, places), _lonely(classifier, batch, held, places)]
    own = classifier.attributes if isinstance(classifier, AdaptedClassifier) else None
    notes: list[str] = []
    if own is not None and isinstance(classifier, AdaptedClassifier) and not any(problems):
        problem, is_grave = _otherwise(classifier, own, batch, held)
        (problems if is_grave else notes).append(problem)
    found = [problem for problem in problems if problem]
    if found and strict:
        raise InputError(f"{found[0]}; {_GO_ON}")
    return [f"{sentence}." for sentence in (*found, *notes) if sentence]


def _random(classifier: Classifier, batch: GraphBatch, held: FloatArray, places: LongArray) -> str:
    again = np.asarray(classifier.accept_probability(batch))
    worst = int(np.abs(again - held).argmax())
    if abs(again[worst] - held[worst]) <= _ROUNDING:
        return ""
    return (
        f"The model is random: asked twice it answers {held[worst]:.3f} and {again[worst]:.3f} for graph {places[worst]}, as with dropout that stays on in "
        "evaluation mode"
    )


def _lonely(classifier: Classifier, batch: GraphBatch, held: FloatArray, places: LongArray) -> str:
    chosen = np.unique(np.linspace(0, len(batch) - 1, _ALONE).astype(int))
    alone = np.array([float(classifier.accept_probability(batch.select([place]))[0]) for place in chosen])
    worst = int(np.abs(alone - held[chosen]).argmax())
    if abs(alone[worst] - held[chosen[worst]]) <= _ROUNDING:
        return ""
    return (
        f"The model's answer depends on the other graphs of a batch: {alone[worst]:.3f} alone and {held[chosen[worst]]:.3f} among others for graph "
        f"{places[chosen[worst]]}, as where nodes are pooled or normalised over the whole batch"
    )


def _otherwise(classifier: AdaptedClassifier, own: Attributes, batch: GraphBatch, held: FloatArray) -> tuple[str, bool]:
    """What differs between answers on the user's own graphs and on those held here, if anything does, and whether for more than a few."""
    sources = batch.sources().tolist()
    try:
        theirs = _ask(classifier, [own.original(source) for source in sources])
    except InputError as error:
        return (f"The model fails on your graphs as they are, so answers were not compared ({error})", False)
    differs = np.flatnonzero(np.abs(theirs - held) > _ROUNDING)
    if not len(differs):
        return "", False
    worst = int(np.abs(theirs - held).argmax())
    sides = int(((theirs > 0.5) != (held > 0.5)).sum())
    found = _reason(classifier, own, [sources[place] for place in differs[:_CHUNK].tolist()])
    sentence = (
        f"The model answers otherwise about your own graphs than about the graphs as they are held here, for {len(differs)} of {len(held)} "
        f"({sides} change sides; graph {sources[worst]}: {theirs[worst]:.3f} and {held[worst]:.3f}): {found}"
    )
    return sentence, len(differs) > max(_FEW, len(held) // 100)


def _ask(classifier: AdaptedClassifier, graphs: Sequence[Any]) -> FloatArray:
    """Probability of accept of PyG graphs as they are, `[B]`."""
    parts = [graphs[start : start + _CHUNK] for start in range(0, len(graphs), _CHUNK)]
    return np.concatenate([classifier.reading.probability(classifier.own_scores(part)) for part in parts])


def _reason(classifier: AdaptedClassifier, own: Attributes, sources: Sequence[int]) -> str:
    """The first step from the user's graphs to those held here that changes an answer."""
    steps: list[tuple[str, Callable[[Any], Any]]] = [
        (f"{key} was left out, since {why}", partial(_without, key=key)) for key, why in own.left_out.items()
    ]
    steps += [
        ("edges that are listed twice were merged", lambda data: _with_edges(data, own, _first_rows)),
        ("edges that go one way were taken as undirected", lambda data: _with_edges(data, own, _both_ways)),
        ("the edges come in another order, which the model reads", lambda data: _with_edges(data, own, _sorted_rows)),
    ]
    graphs = [copy.copy(own.originals[source]) for source in sources]
    before = _ask(classifier, [own.transformed(graph) for graph in graphs])
    for words, step in steps:
        graphs = [step(graph) for graph in graphs]
        try:
            after = _ask(classifier, [own.transformed(graph) for graph in graphs])
        except InputError:  # without what is left out the model cannot be asked at all
            return words
        if (np.abs(after - before) > _ROUNDING).any():
            return words
    return "no reason was found"


def _without(data: Any, key: str) -> Any:
    data = copy.copy(data)
    if key in data:
        del data[key]
    return data


def _with_edges(data: Any, own: Attributes, choose: Callable[[LongArray, int], tuple[LongArray, LongArray]]) -> Any:
    """The graph with other rows of its edges: which rows, and the pairs of nodes they join."""
    rows, pairs = choose(data.edge_index.T.cpu().numpy(), int(data.num_nodes))
    data = copy.copy(data)
    for key in own.edges:
        data[key] = data[key][torch.from_numpy(rows)]
    data.edge_index = torch.from_numpy(np.ascontiguousarray(pairs.T))
    return data


def _first_rows(pairs: LongArray, num_nodes: int) -> tuple[LongArray, LongArray]:
    rows = np.sort(np.unique(pairs[:, 0] * num_nodes + pairs[:, 1], return_index=True)[1])
    return rows, pairs[rows]


def _both_ways(pairs: LongArray, num_nodes: int) -> tuple[LongArray, LongArray]:
    codes, back = pairs[:, 0] * num_nodes + pairs[:, 1], pairs[:, 1] * num_nodes + pairs[:, 0]
    lone = np.flatnonzero(~np.isin(back, codes))
    return np.concatenate([np.arange(len(pairs)), lone]), np.concatenate([pairs, pairs[lone][:, ::-1]])


def _sorted_rows(pairs: LongArray, num_nodes: int) -> tuple[LongArray, LongArray]:  # noqa: ARG001
    low, high = pairs.min(axis=1), pairs.max(axis=1)
    rows = np.lexsort((high, low, pairs[:, 0] > pairs[:, 1]))
    return rows, pairs[rows]
