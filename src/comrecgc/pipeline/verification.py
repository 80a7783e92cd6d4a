"""Every claim checked again: plain forward passes over the graphs themselves, compared in double precision.

The search scores neighbourhoods by a faster path. Whatever a plain pass does not confirm is dropped, and the input goes to
the next pair or recourse that holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch

from comrecgc.classifiers import Classifier
from comrecgc.embedding import Embedder
from comrecgc.graphs import BoolArray, Constraint, EditPath, Graph, GraphBatch, apply_path
from comrecgc.neighbourhood import NeighbourhoodScorer
from comrecgc.pipeline.candidates import Candidates
from comrecgc.pipeline.margins import CHOSEN, CLAIMED, SHOWN, accepted, inside
from comrecgc.pipeline.settings import Limits
from comrecgc.recourse import Cover, RecoursePairs, cover_of
from comrecgc.recourse.pairs import FloatArray


@dataclass(frozen=True, eq=False)
class Scores:
    """What the models say of some graphs in a plain pass.

    Args:
        probability: Probability of accept, `[n]`.
        embedding: `z`, `[n, d]`.
        sizes: `|G|`, `[n]`.
    """

    probability: npt.NDArray[np.float64]
    embedding: FloatArray
    sizes: npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Models:
    """The classifier to be explained and the embedder to measure with."""

    classifier: Classifier
    embedder: Embedder

    def scorer(
        self,
        num_labels: int,
        *,
        constraint: Constraint | None = None,
        device: torch.device | str = "cpu",
        num_threads: int = 1,
    ) -> NeighbourhoodScorer:
        """Scores neighbourhoods with these models.

        Args:
            num_labels: Size of the label alphabet.
            constraint: Which edits are allowed.
            device: Where torch models run.
            num_threads: Threads of the fast path.
        """
        return NeighbourhoodScorer(
            self.classifier, self.embedder, num_labels, constraint=constraint, device=device, num_threads=num_threads
        )

    def scores(self, graphs: GraphBatch | Iterable[Graph]) -> Scores:
        """A plain forward pass of both models."""
        batch = graphs if isinstance(graphs, GraphBatch) else GraphBatch.from_graphs(graphs)
        sizes = (batch.node_counts() + batch.edge_counts()).astype(np.int32)
        embedding = np.asarray(self.embedder.embed(batch), dtype=np.float32)
        return Scores(np.asarray(self.classifier.accept_probability(batch), dtype=np.float64), embedding, sizes)


@dataclass(frozen=True, eq=False, kw_only=True)
class Verified:
    """What a plain pass confirms.

    Args:
        cover: The recourses that cover something no earlier one does, and the pair by which each covers an input.
        pairs: The confirmed pairs; a pair's candidate is a place in `graphs`.
        trivial: The pair by which "change nothing" covers each input, -1 where it does not, `[num_inputs]`.
        graphs: The counterfactuals.
        probability: Probability of accept of each, `[len(graphs)]`.
        candidates: Which candidate of the search each is, `[len(graphs)]`.
    """

    cover: Cover
    pairs: RecoursePairs
    trivial: npt.NDArray[np.int64]
    graphs: tuple[Graph, ...]
    probability: npt.NDArray[np.float64]
    candidates: npt.NDArray[np.int64]


def verify(
    candidates: Candidates, pairs: RecoursePairs, centres: FloatArray, inputs: Sequence[Graph], models: Models,
    limits: Limits, *, keep_all: bool = False,
) -> Verified:  # fmt: skip
    """Confirm what the recourses cover.

    Args:
        candidates: What the search found.
        pairs: Those of its pairs that may be used.
        centres: The chosen recourses, `[R, d]`.
        inputs: The rejected graphs.
        models: Classifier and embedder.
        limits: `θ` and `Δ`.
        keep_all: Keep recourses that cover nothing new as well.
    """
    origins = models.scores(inputs) if len(inputs) else Scores(np.zeros(0), pairs.input_embeddings, pairs.input_sizes)
    with_zero = np.concatenate([centres, np.zeros((1, pairs.width), np.float32)])
    needed = _needed(pairs, with_zero, inside(limits.delta, CHOSEN))
    graphs = tuple(candidates.graph(int(candidate)) for candidate in needed)
    scores = (
        models.scores(graphs) if graphs else Scores(np.zeros(0), pairs.candidate_embeddings[:0], np.zeros(0, np.int32))
    )
    confirmed = _confirmed(pairs, needed, origins, scores, limits.theta)
    cover = cover_of(confirmed, with_zero, inside(limits.delta, CLAIMED))
    real = Cover(cover.centres[:-1], cover.pairs[:-1])
    return Verified(
        cover=real if keep_all else real.select(real.gains > 0),
        pairs=confirmed,
        trivial=cover.pairs[-1],
        graphs=graphs,
        probability=scores.probability,
        candidates=needed,
    )


def _needed(pairs: RecoursePairs, centres: FloatArray, delta: float) -> npt.NDArray[np.int64]:
    """Candidates of the pairs by which the centres cover inputs, in increasing order."""
    cover = cover_of(pairs, centres, delta)
    return np.unique(pairs.candidates[cover.pairs[cover.covers]]).astype(np.int64)


def _confirmed(
    pairs: RecoursePairs, needed: npt.NDArray[np.int64], origins: Scores, scores: Scores, theta: float
) -> RecoursePairs:
    """The pairs of the needed candidates that a plain pass puts within θ and accepts."""
    rows = np.flatnonzero(np.isin(pairs.candidates, needed))
    places = np.searchsorted(needed, pairs.candidates[rows])
    both = origins.sizes[pairs.inputs[rows]].astype(np.float64) + scores.sizes[places]
    norms = distances(origins.embedding[pairs.inputs[rows]], scores.embedding[places]) / both
    holds = (norms <= inside(theta, CLAIMED)) & (scores.probability[places] >= accepted(CLAIMED))
    return RecoursePairs(
        input_embeddings=origins.embedding,
        input_sizes=origins.sizes,
        candidate_embeddings=scores.embedding,
        candidate_sizes=scores.sizes,
        inputs=pairs.inputs[rows][holds],
        candidates=places[holds].astype(np.int32),
        norms=norms[holds].astype(np.float32),
    )


def distances(first: FloatArray, second: FloatArray) -> npt.NDArray[np.float64]:
    """`‖a−b‖` row by row, in double precision, `[n]`."""
    result: npt.NDArray[np.float64] = np.linalg.norm(first.astype(np.float64) - second, axis=1)
    return result


@dataclass(frozen=True, eq=False, kw_only=True)
class Entry:
    """One input as its first recourse covers it.

    Args:
        input: Place among the inputs.
        recourse: Place of the recourse.
        path: Edits from the input.
        graph: The graph they lead to.
        probability: Its probability of accept.
        distance: `d(G, H)`.
        vector: `r(G, H)`, `[d]`.
    """

    input: int
    recourse: int
    path: EditPath
    graph: Graph
    probability: float
    distance: float
    vector: FloatArray


def first_entries(
    verified: Verified, candidates: Candidates, inputs: Sequence[Graph], models: Models,
    limits: Limits, *, keep_all: bool = False,
) -> tuple[Verified, list[Entry]]:  # fmt: skip
    """Every covered input with the edits that show it, each confirmed on the very graph the edits lead to.

    Where the end of the edits does not hold (a mapping between two graphs cannot keep bonds, and a model may look at
    them), the claim is dropped and the next recourse that covers the input takes it.

    Args:
        verified: What holds of the candidates.
        candidates: What the search found.
        inputs: The rejected graphs.
        models: Classifier and embedder.
        limits: `θ` and `Δ`.
        keep_all: Keep recourses that cover nothing new as well.
    """
    kept: dict[int, Entry] = {}
    while True:
        cover = verified.cover
        first = cover.first
        open_inputs = [i for i in np.flatnonzero(first >= 0).tolist() if i not in kept]
        if not open_inputs:
            break
        rows = cover.pairs[first[open_inputs], open_inputs]
        shown = verified.candidates[verified.pairs.candidates[rows]]
        paths = [candidates.path(i, int(candidate)) for i, candidate in zip(open_inputs, shown, strict=True)]
        entries = _entries(open_inputs, first[open_inputs], paths, inputs, models, verified.pairs)
        holds = _hold(entries, cover.centres, limits)
        kept |= {entry.input: entry for entry, held in zip(entries, holds, strict=True) if held}
        failed = [(entry.recourse, entry.input) for entry, held in zip(entries, holds, strict=True) if not held]
        verified = replace(verified, cover=_without(cover, failed))
    gains = (verified.cover.gains > 0) | keep_all
    place = np.cumsum(gains) - 1
    entries = [replace(kept[i], recourse=int(place[kept[i].recourse])) for i in sorted(kept)]
    return replace(verified, cover=verified.cover.select(gains)), entries


def _entries(
    places: Sequence[int],
    recourses: npt.NDArray[np.int64],
    paths: Sequence[EditPath],
    inputs: Sequence[Graph],
    models: Models,
    pairs: RecoursePairs,
) -> list[Entry]:
    graphs = [apply_path(inputs[i], path) for i, path in zip(places, paths, strict=True)]
    scores = models.scores(graphs)
    both = pairs.input_sizes[list(places)].astype(np.float64) + scores.sizes
    steps = scores.embedding.astype(np.float64) - pairs.input_embeddings[list(places)]
    vectors = (steps / both[:, None]).astype(np.float32)
    norms = np.linalg.norm(steps, axis=1) / both
    return [
        Entry(
            input=i,
            recourse=int(recourses[k]),
            path=paths[k],
            graph=graphs[k],
            probability=float(scores.probability[k]),
            distance=float(norms[k]),
            vector=vectors[k],
        )
        for k, i in enumerate(places)
    ]


def _hold(entries: Sequence[Entry], centres: FloatArray, limits: Limits) -> BoolArray:
    vectors = np.stack([entry.vector for entry in entries])
    chosen = centres[[entry.recourse for entry in entries]]
    near = distances(vectors, chosen) <= inside(limits.delta, SHOWN)
    close = np.array([entry.distance for entry in entries]) <= inside(limits.theta, SHOWN)
    return near & close & (np.array([entry.probability for entry in entries]) >= accepted(SHOWN))


def _without(cover: Cover, claims: Sequence[tuple[int, int]]) -> Cover:
    pairs = cover.pairs.copy()
    for recourse, index in claims:
        pairs[recourse, index] = -1
    return Cover(cover.centres, pairs)
