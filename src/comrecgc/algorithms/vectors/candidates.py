"""Vector recourse: counterfactual candidates from the directed search, the paper's walk or a baseline, and the choice among them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from comrecgc.algorithms.baselines.registry import baseline_name
from comrecgc.algorithms.baselines.source import Counterfactual, Subject, embedded
from comrecgc.algorithms.baselines.summary import GlobalSummary, summarise
from comrecgc.algorithms.checkpoint import Reached
from comrecgc.algorithms.inputs import Rejects
from comrecgc.algorithms.paper.shards import ShardedWalk
from comrecgc.algorithms.paper.walk import MultiHeadWalk
from comrecgc.algorithms.settings import CHOSEN, ResolvedSettings, inside
from comrecgc.algorithms.vectors.search import DirectedSearch
from comrecgc.algorithms.vectors.state import SearchProgress, SearchState
from comrecgc.cover import (
    BallCover,
    FloatArray,
    PublishedClustering,
    RecourseClustering,
    RecoursePairs,
    cover_of,
    few_counterfactuals,
    nearest_counterfactuals,
    normalised_distances,
    pairs_within,
    with_counterfactuals,
)
from comrecgc.errors import InputError
from comrecgc.graphs import BoolArray, EditPath, Graph, GraphBatch, apply_path, simplify_path
from comrecgc.models import edit_path, ged_interval
from comrecgc.run import Progress
from comrecgc.scoring import NeighbourhoodScorer

_MEASURED_INPUTS = 64
_MEASURED_EDITS = 500
_WALK_REACH = 1.0  # in θ: how far from their inputs heads go; nothing beyond θ can be a counterfactual
_WALK_COST = 2  # elements of their inputs heads change at once, where that is enough: a leaf and its edge, or two edits
_ENOUGH = 0.9  # share of the inputs that one edit must turn into accepted ones for that,
_LOOKED_AT = 200  # of so many inputs
_MAX_CANDIDATES = 100_000
_NUM_SHARDS = 2


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
        summary: A few of the candidates that are near many inputs, where a baseline was asked for them.
    """

    pairs: RecoursePairs
    graph: Callable[[int], Graph]
    path: Callable[[int, int], EditPath]
    centres: FloatArray | None = None
    curve: tuple[float, ...] = ()
    complete: bool = True
    summary: GlobalSummary | None = None


Stands = Callable[[Sequence[Graph], Sequence[Graph]], BoolArray]
"""Whether each changed graph, given after what it was before, stands on the rung that is asked for."""


def find_candidates(
    settings: ResolvedSettings,
    scorer: NeighbourhoodScorer,
    rejects: Rejects,
    *,
    given: FloatArray | None = None,
    stands: Stands | None = None,
    deadline: float | None = None,
    progress: Progress | None = None,
    checkpoint: Path | None = None,
    resume: bool = False,
) -> Candidates:
    """Look for counterfactuals of the rejects as the baseline or the preset says.

    Args:
        settings: Resolved settings.
        scorer: Scores neighbourhoods.
        rejects: The inputs, embedded.
        given: Recourses known beforehand, `[R, d]`, for which the search looks instead of choosing its own.
        stands: Judges what a baseline found, which may not have kept to the allowed edits; None where any change is allowed.
        deadline: When to stop, as `time.monotonic()` counts.
        progress: Called as the search goes on.
        checkpoint: Folder that keeps an unfinished search; None keeps none.
        resume: Go on from what the folder holds.
    """
    if given is None and settings.baseline is not None:
        return _from_baseline(settings, scorer, rejects, stands, deadline, progress, checkpoint, resume)
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
    inputs, found = rejects.graphs, list[Reached]()
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
        found = sharded.run(scorer, inputs, jobs=settings.num_jobs, resume=resume, deadline=deadline, bar=progress)
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


def _from_baseline(
    settings: ResolvedSettings,
    scorer: NeighbourhoodScorer,
    rejects: Rejects,
    stands: Stands | None,
    deadline: float | None,
    progress: Progress | None,
    checkpoint: Path | None,
    resume: bool,
) -> Candidates:
    """What a baseline finds. Every input is paired with every counterfactual within θ; on a rung only with what was made from it."""
    assert settings.baseline is not None
    inputs = rejects.graphs
    subject = Subject(scorer=scorer, inputs=inputs, graphs=rejects.dataset.graphs)
    found = settings.baseline.run(
        subject, np.random.default_rng(settings.seed),
        deadline=deadline, progress=progress, checkpoint=checkpoint, resume=resume,
    )  # fmt: skip
    if stands is not None:
        found = replace(found, found=_standing(settings, found.found, inputs, stands))
    graphs = [each.graph for each in found.found]
    ends, sizes = embedded(subject, graphs) if graphs else (rejects.scores.embedding[:0], rejects.scores.sizes[:0])
    pairs = pairs_within(rejects.scores.embedding, rejects.scores.sizes, ends, sizes, settings.theta)
    if stands is not None:
        starts = np.array([each.input for each in found.found], dtype=np.int64)
        pairs = pairs.subset(starts[pairs.candidates] == pairs.inputs)

    def path(index: int, candidate: int) -> EditPath:
        reached = found.found[candidate]
        if reached.input == index:
            return shorter_path(inputs[index], reached.path)
        return mapped_path(inputs[index], reached.graph.fresh())

    summary = None
    if settings.summary is not None:
        summary = summarise(found, subject, num_graphs=settings.summary, theta=settings.theta)
    return Candidates(
        pairs=pairs, graph=lambda candidate: graphs[candidate], path=path, complete=found.complete, summary=summary
    )


def _standing(
    settings: ResolvedSettings, found: Sequence[Counterfactual], inputs: Sequence[Graph], stands: Stands
) -> tuple[Counterfactual, ...]:
    """The counterfactuals that were made from an input and stand on the rung."""
    assert settings.baseline is not None
    made = [each for each in found if each.input is not None]
    if found and not made:
        name = baseline_name(settings.baseline)
        raise InputError(
            f"The counterfactuals of {name} are made from no input, so only changes='any' fits (got {settings.changes!r})"
        )
    if not made:
        return ()
    kept = stands([inputs[each.input] for each in made if each.input is not None], [each.graph for each in made])
    return tuple(each for each, stays in zip(made, kept.tolist(), strict=True) if stays)


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


@dataclass(frozen=True, eq=False, kw_only=True)
class Chosen:
    """Chosen recourses.

    Args:
        centres: The recourses, in order, `[at most R, d]`.
        pairs: The pairs that may be used to cover inputs.
        figures: What the published code would say of them, by name; nothing where it was not asked.
    """

    centres: FloatArray
    pairs: RecoursePairs
    figures: dict[str, float] = field(default_factory=dict)


def choose_recourses(settings: ResolvedSettings, candidates: Candidates) -> Chosen:
    """The recourses, and the pairs that may be used to cover inputs."""
    pairs = candidates.pairs
    if settings.baseline is not None and settings.selection == "dbscan":
        return _chosen_as_published(settings, pairs)
    if settings.selection == "dbscan":
        if settings.problem == "fc":
            pairs = with_counterfactuals(pairs, nearest_counterfactuals(pairs))
        return Chosen(centres=_clustered(settings, pairs), pairs=pairs)
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
    return Chosen(centres=centres, pairs=pairs)


def _chosen_as_published(settings: ResolvedSettings, pairs: RecoursePairs) -> Chosen:
    """Clusters of what a baseline found, and what the published code would print: a stricter coverage and a sum of lengths."""
    assert settings.baseline is not None
    if settings.problem == "fc":
        how = getattr(settings.baseline, "few", "nearest")
        pairs = with_counterfactuals(pairs, few_counterfactuals(pairs, how, settings.seed))
    clustering = PublishedClustering(
        theta=settings.theta,
        delta=settings.delta,
        num_recourses=settings.num_recourses,
        min_samples=_min_samples(settings),
        seed=settings.seed,
        num_threads=settings.num_jobs,
    )
    chosen = clustering.choose(pairs)
    figures = {"published_coverage": chosen.coverage, "published_length": chosen.total_length}
    return Chosen(centres=_long_enough(settings, chosen.centres), pairs=pairs, figures=figures)


def _min_samples(settings: ResolvedSettings) -> int:
    """Vectors that make a cluster: as asked for, as the baseline has it, or 2."""
    return settings.min_samples or int(getattr(settings.baseline, "min_samples", 2))


def _clustered(settings: ResolvedSettings, pairs: RecoursePairs) -> FloatArray:
    """Centroids of clusters."""
    clustering = RecourseClustering(
        theta=settings.theta,
        delta=settings.delta,
        num_recourses=settings.num_recourses,
        seed=settings.seed,
        num_threads=settings.num_jobs,
    )
    return _long_enough(settings, clustering.centres(pairs))


def _long_enough(settings: ResolvedSettings, centres: FloatArray) -> FloatArray:
    """Without the centres within Δ of "change nothing" where directions are asked for."""
    if not settings.directional:
        return centres
    longer: FloatArray = centres[np.linalg.norm(centres.astype(np.float64), axis=1) > settings.delta]
    return longer
