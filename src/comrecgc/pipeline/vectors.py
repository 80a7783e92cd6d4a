"""Vector recourse: counterfactual candidates from the directed search or the paper's walk, and the choice among them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from comrecgc.embedding.ged import edit_path, ged_interval
from comrecgc.graphs import EditPath, Graph, GraphBatch, apply_path, simplify_path
from comrecgc.neighbourhood import NeighbourhoodScorer
from comrecgc.pipeline.inputs import Progress, Rejects
from comrecgc.pipeline.settings import CHOSEN, ResolvedSettings, inside
from comrecgc.recourse import (
    BallCover,
    FloatArray,
    RecourseClustering,
    RecoursePairs,
    cover_of,
    nearest_counterfactuals,
    normalised_distances,
    pairs_within,
    with_counterfactuals,
)
from comrecgc.search import DirectedSearch, SearchProgress, SearchState
from comrecgc.walk import Candidate, MultiHeadWalk, ShardedWalk

_MEASURED_INPUTS = 64
_MEASURED_EDITS = 500
_WALK_REACH = 1.0  # in θ: how far from their inputs heads go; nothing beyond θ can be a counterfactual
_WALK_COST = 2  # elements of their inputs heads change at once, where that is enough: a leaf and its edge, or two edits
_ENOUGH = 0.9  # share of the inputs that one edit must turn into accepted ones for that,
_LOOKED_AT = 200  # of so many inputs
_MAX_CANDIDATES = 100_000
_NUM_SHARDS = 2
_CHECKPOINT_SECONDS = 10.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Candidates:
    """Counterfactual candidates and the pairs they form with the inputs.

    Args:
        pairs: The pairs within θ.
        graph: The graph of a candidate.
        path: Edits, not longer than need be, from an input to a candidate it is paired with.
        centres: Recourses the search ended with; None where it chose none.
        curve: Coverage as the search went on; empty where it was not counted.
        complete: Whether the search ended of itself; False if time was up.
    """

    pairs: RecoursePairs
    graph: Callable[[int], Graph]
    path: Callable[[int, int], EditPath]
    centres: FloatArray | None = None
    curve: tuple[float, ...] = ()
    complete: bool = True


def find_candidates(
    settings: ResolvedSettings,
    scorer: NeighbourhoodScorer,
    rejects: Rejects,
    *,
    given: FloatArray | None = None,
    deadline: float | None = None,
    progress: Progress | None = None,
    checkpoint: Path | None = None,
    resume: bool = False,
) -> Candidates:
    """Look for counterfactuals of the rejects as the preset says.

    Args:
        settings: Resolved settings.
        scorer: Scores neighbourhoods.
        rejects: The inputs, embedded.
        given: Recourses known beforehand, `[R, d]`, for which the search looks instead of choosing its own.
        deadline: When to stop, as `time.monotonic()` counts.
        progress: Called as the search goes on.
        checkpoint: Folder that keeps an unfinished search; None keeps none.
        resume: Go on from what the folder holds.
    """
    if given is None and settings.preset == "paper":
        return _walked(settings, scorer, rejects, deadline, progress, checkpoint, resume)
    search = DirectedSearch(theta=inside(settings.theta, CHOSEN), cover=ball_cover(settings))
    if given is not None:
        cover = GivenCentres(delta=inside(settings.delta, CHOSEN), given=given)
        search = replace(search, cover=cover, head_effort=0.0)
    state = search.run(
        scorer,
        rejects.graphs,
        seed=settings.seed,
        deadline=deadline,
        progress=_reporter(progress),
        checkpoint=None if checkpoint is None else checkpoint / "search.npz",
        resume=resume,
        checkpoint_seconds=_CHECKPOINT_SECONDS,
    )
    return _searched(state, rejects.graphs)


@dataclass(frozen=True, kw_only=True)
class GivenCentres(BallCover):
    """A cover whose centres are known beforehand.

    Args:
        given: The centres, `[R, d]`.
    """

    given: FloatArray

    def centres_of(self, *_: object, **__: object) -> FloatArray:
        """The given centres."""
        return self.given


def ball_cover(settings: ResolvedSettings) -> BallCover:
    """How the directed search and the `ball` selection choose recourses."""
    return BallCover(
        delta=inside(settings.delta, CHOSEN),
        num_recourses=settings.num_recourses,
        longer_than=settings.delta if settings.directional else None,
    )


def _searched(state: SearchState, inputs: Sequence[Graph]) -> Candidates:
    """What a directed search found: every input is paired with its own candidates only."""
    pairs = state.pairs()
    owners = pairs.inputs  # candidate j belongs to pair j

    def path(index: int, candidate: int) -> EditPath:
        return shorter_path(inputs[index], state.path(candidate))

    return Candidates(
        pairs=pairs,
        graph=lambda candidate: apply_path(inputs[owners[candidate]], state.path(candidate)),
        path=path,
        centres=state.centres,
        curve=tuple(state.curve),
        complete=state.complete,
    )


def _reporter(progress: Progress | None) -> Callable[[SearchProgress], None] | None:
    """Reports the progress of a search as that of a stage."""
    if progress is None:
        return None

    def report(done: SearchProgress) -> None:
        name = "sweep" if done.round == 0 else f"round {done.round}"
        word = f"{done.num_found} counterfactuals"
        progress(name, done.done, done.total, word if done.round == 0 else f"{done.coverage:.1%} covered, {word}")

    return report


def shorter_path(graph: Graph, path: EditPath) -> EditPath:
    """The path without detours, if that changes no bond: a bond cut and made again is a single one, and that counts."""
    shorter = simplify_path(graph, path) if len(path) > 1 else path
    if graph.edge_labels is None or shorter == path:
        return shorter
    return shorter if _bonds(apply_path(graph, shorter)) == _bonds(apply_path(graph, path)) else path


def _walked(
    settings: ResolvedSettings,
    scorer: NeighbourhoodScorer,
    rejects: Rejects,
    deadline: float | None,
    progress: Progress | None,
    checkpoint: Path | None,
    resume: bool,
) -> Candidates:
    """The paper's walk; every input is paired with every candidate within θ, whoever it was reached from."""
    inputs, found = rejects.graphs, list[Candidate]()
    if inputs:
        walk = MultiHeadWalk(
            num_heads=min(settings.num_heads, len(inputs)),
            num_steps=settings.num_steps,
            teleport=settings.teleport,
            capacity=_MAX_CANDIDATES,
            max_distance=_WALK_REACH * settings.theta,
            max_cost=max_walk_cost(scorer, inputs, settings.seed),
        )
        shards = min(_NUM_SHARDS, settings.num_steps)
        sharded = ShardedWalk(walk=walk, num_shards=shards, seed=settings.seed, checkpoint=checkpoint)
        found = list(
            sharded.run(scorer, inputs, jobs=settings.num_jobs, resume=resume, deadline=deadline, bar=progress)
        )
    assert scorer.embedder is not None
    ends = scorer.embedder.embed(GraphBatch.from_graphs(candidate.graph for candidate in found))
    sizes = [candidate.graph.size for candidate in found]
    pairs = pairs_within(rejects.scores.embedding, rejects.scores.sizes, ends, sizes, settings.theta)
    if settings.changes != "any":  # only what was made from an input by allowed edits is known to stand on the rung
        starts = np.array([candidate.start for candidate in found], dtype=np.int64)
        pairs = pairs.subset(starts[pairs.candidates] == pairs.inputs)

    def path(index: int, candidate: int) -> EditPath:
        reached = found[candidate]
        if reached.start == index:
            return shorter_path(inputs[index], reached.path)
        return mapped_path(inputs[index], reached.graph.fresh())

    return Candidates(
        pairs=pairs,
        graph=lambda candidate: found[candidate].graph,
        path=path,
        complete=deadline is None or time.monotonic() < deadline,
    )


def max_walk_cost(scorer: NeighbourhoodScorer, inputs: Sequence[Graph], seed: int) -> int | None:
    """How many elements of their inputs heads may change at once: two where one edit flips nearly every input.

    The recourses of few edits are those that inputs share. Where one edit is not enough, any number may be changed.
    """
    rng = np.random.default_rng(seed)
    some = [inputs[i] for i in rng.permutation(len(inputs))[:_LOOKED_AT]]
    around = scorer.score(some, embedding=False, sample=MultiHeadWalk.sample, rng=rng)
    flips = [hood.probability is not None and bool((hood.probability > 0.5).any()) for hood in around]
    return _WALK_COST if np.mean(flips) >= _ENOUGH else None


def mapped_path(source: Graph, target: Graph) -> EditPath:
    """Edits between two graphs neither of which was made from the other: those of the best mapping found."""
    return edit_path(source, target, ged_interval(source, target, effort="fast").mapping)


def _bonds(graph: Graph) -> list[tuple[int, int, int]]:
    """Labels of both ends and of the edge, for every edge, in an order of their own."""
    assert graph.edge_labels is not None
    ends = np.sort(graph.labels[graph.edges], axis=1)
    rows = np.concatenate([ends, graph.edge_labels[:, None]], axis=1).tolist()
    return sorted((first, second, bond) for first, second, bond in rows)


def one_edit_length(scorer: NeighbourhoodScorer, rejects: Rejects, seed: int) -> float:
    """Median length of a one-edit recourse on some inputs, evenly spread; 0 where there is none."""
    if not rejects:
        return 0.0
    places = np.unique(np.linspace(0, len(rejects) - 1, _MEASURED_INPUTS).astype(int))
    chosen, origins = [rejects.graphs[i] for i in places], rejects.scores.embedding[places]
    rng = np.random.default_rng([seed, 1])
    norms = [np.zeros(0)]
    for origin, around in zip(
        origins, scorer.score(chosen, probability=False, sample=_MEASURED_EDITS, rng=rng), strict=True
    ):
        assert around.embedding is not None
        size = around.graph.size
        norms.append(normalised_distances(origin, size, around.embedding, size + around.table.size_changes()))
    lengths = np.concatenate(norms)
    return float(np.median(lengths)) if len(lengths) else 0.0


def choose_recourses(settings: ResolvedSettings, candidates: Candidates) -> tuple[FloatArray, RecoursePairs]:
    """The recourses, in order, `[at most R, d]`, and the pairs that may be used to cover inputs."""
    pairs = candidates.pairs
    if settings.selection == "dbscan":
        if settings.problem == "fc":
            pairs = with_counterfactuals(pairs, nearest_counterfactuals(pairs))
        return _clustered(settings, pairs), pairs
    centres = candidates.centres
    if centres is None:
        # Balls cover at least what the paper's clusters would.
        rng, clusters = np.random.default_rng([settings.seed, 2]), _clustered(settings, pairs)
        centres = ball_cover(settings).centres(pairs, rng, previous=clusters)
    if settings.problem == "fc":
        # One counterfactual per covered input is at most T = |inputs| of them, so no coverage is lost.
        cover = cover_of(pairs, centres, inside(settings.delta, CHOSEN))
        covered = np.flatnonzero(cover.first >= 0)
        pairs = with_counterfactuals(pairs, pairs.candidates[cover.pairs[cover.first[covered], covered]])
    return centres, pairs


def _clustered(settings: ResolvedSettings, pairs: RecoursePairs) -> FloatArray:
    """Centroids of clusters; those within Δ of "change nothing" are left out where directions are asked for."""
    clustering = RecourseClustering(
        theta=settings.theta,
        delta=settings.delta,
        num_recourses=settings.num_recourses,
        seed=settings.seed,
        num_threads=settings.num_jobs,
    )
    centres = clustering.centres(pairs)
    if not settings.directional:
        return centres
    longer: FloatArray = centres[np.linalg.norm(centres.astype(np.float64), axis=1) > settings.delta]
    return longer
