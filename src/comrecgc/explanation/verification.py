"""Every claim checked again: plain forward passes over the graphs themselves, compared in double precision.

The search scores neighbourhoods by a faster path. Whatever a plain pass does not confirm is dropped, and the input goes to
the next pair or recourse that holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.base import CHOSEN, CLAIMED, SHOWN, VectorTask, accepted, inside
from comrecgc.algorithms.inputs import ModelPair, RejectPlace, Rejects, Scores
from comrecgc.algorithms.vectors.candidates import Candidates
from comrecgc.cover import Cover, FloatArray, RecoursePairs, cover_of, normalised_distances, recourse_vectors
from comrecgc.graphs import BoolArray, EditPath, Graph, apply_path


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

    @classmethod
    def nothing(cls, num_inputs: int) -> Verified:
        """No recourse covers any input."""
        none = np.zeros(0, dtype=np.int64)
        empty, indices = np.zeros((0, 1), dtype=np.float32), none.astype(np.int32)
        pairs = RecoursePairs(
            input_embeddings=np.zeros((num_inputs, 1), dtype=np.float32),
            input_sizes=np.zeros(num_inputs, dtype=np.int32),
            candidate_embeddings=empty,
            candidate_sizes=indices,
            inputs=indices,
            candidates=indices,
            norms=np.zeros(0, dtype=np.float32),
        )
        cover = Cover(empty, np.zeros((0, num_inputs), dtype=np.int64))
        trivial = np.full(num_inputs, -1, dtype=np.int64)
        return cls(cover=cover, pairs=pairs, trivial=trivial, graphs=(), probability=np.zeros(0), candidates=none)


def verify(
    candidates: Candidates, pairs: RecoursePairs, centres: FloatArray, rejects: Rejects, models: ModelPair,
    settings: VectorTask, *, keep_all: bool = False,
) -> Verified:  # fmt: skip
    """Confirm what the recourses cover."""
    with_zero = np.concatenate([centres, np.zeros((1, pairs.width), np.float32)])
    needed = _needed(pairs, with_zero, inside(settings.delta, CHOSEN))
    graphs = tuple(candidates.graph(int(candidate)) for candidate in needed)
    scores = (
        models.scores(graphs) if graphs else Scores(np.zeros(0), pairs.candidate_embeddings[:0], np.zeros(0, np.int32))
    )
    confirmed = _confirmed(pairs, needed, rejects.scores, scores, settings.theta)
    cover = cover_of(confirmed, with_zero, inside(settings.delta, CLAIMED))
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
    owners = pairs.inputs[rows]
    norms = normalised_distances(
        origins.embedding[owners].astype(np.float64),
        origins.sizes[owners],
        scores.embedding[places],
        scores.sizes[places],
    )
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
        place: Place among the rejects.
        recourse: Place of the recourse.
        path: Edits from the input.
        graph: The graph they lead to.
        probability: Its probability of accept.
        distance: `d(G, H)`.
        vector: `r(G, H)`, `[d]`.
    """

    place: RejectPlace
    recourse: int
    path: EditPath
    graph: Graph
    probability: float
    distance: float
    vector: FloatArray


def first_entries(
    verified: Verified, candidates: Candidates, rejects: Rejects, models: ModelPair,
    settings: VectorTask, *, keep_all: bool = False,
) -> tuple[Verified, list[Entry]]:  # fmt: skip
    """Every covered input with the edits that show it, each confirmed on the very graph the edits lead to.

    Where the end of the edits does not hold (a mapping between two graphs cannot keep bonds, and a model may look at
    them), the claim is dropped and the next recourse that covers the input takes it.
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
        entries = _entries(open_inputs, first[open_inputs], paths, rejects, models)
        holds = _hold(entries, cover.centres, settings)
        kept |= {entry.place: entry for entry, held in zip(entries, holds, strict=True) if held}
        failed = [(entry.recourse, entry.place) for entry, held in zip(entries, holds, strict=True) if not held]
        verified = replace(verified, cover=_without(cover, failed))
    gains = (verified.cover.gains > 0) | keep_all
    place = np.cumsum(gains) - 1
    entries = [replace(kept[i], recourse=int(place[kept[i].recourse])) for i in sorted(kept)]
    return replace(verified, cover=verified.cover.select(gains)), entries


def _entries(
    places: Sequence[int],
    recourses: npt.NDArray[np.int64],
    paths: Sequence[EditPath],
    rejects: Rejects,
    models: ModelPair,
) -> list[Entry]:
    graphs = [apply_path(rejects.graphs[i], path) for i, path in zip(places, paths, strict=True)]
    scores, origins = models.scores(graphs), rejects.scores[np.array(places)]
    there = (origins.embedding, origins.sizes, scores.embedding.astype(np.float64), scores.sizes)
    vectors, norms = recourse_vectors(*there).astype(np.float32), normalised_distances(*there)
    return [
        Entry(
            place=RejectPlace(place),
            recourse=int(recourses[k]),
            path=paths[k],
            graph=graphs[k],
            probability=float(scores.probability[k]),
            distance=float(norms[k]),
            vector=vectors[k],
        )
        for k, place in enumerate(places)
    ]


def _hold(entries: Sequence[Entry], centres: FloatArray, settings: VectorTask) -> BoolArray:
    vectors = np.stack([entry.vector for entry in entries])
    chosen = centres[[entry.recourse for entry in entries]]
    near = distances(vectors, chosen) <= inside(settings.delta, SHOWN)
    close = np.array([entry.distance for entry in entries]) <= inside(settings.theta, SHOWN)
    return near & close & (np.array([entry.probability for entry in entries]) >= accepted(SHOWN))


def _without(cover: Cover, claims: Sequence[tuple[int, int]]) -> Cover:
    pairs = cover.pairs.copy()
    for recourse, index in claims:
        pairs[recourse, index] = -1
    return Cover(cover.centres, pairs)
