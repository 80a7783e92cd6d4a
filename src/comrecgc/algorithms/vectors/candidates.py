"""Vector recourse: counterfactual candidates, the directed search for them, and the choice among them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, TypeVar

import numpy as np

from comrecgc.algorithms.base import SEARCH_MARGIN, VectorAlgorithm, VectorTask, inside
from comrecgc.algorithms.inputs import Rejects
from comrecgc.algorithms.vectors.search import DirectedSearch, SearchState
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
from comrecgc.graphs import BoolArray, EditPath, Graph, apply_path, batched, simplify_path
from comrecgc.models import Embedder, edit_path, map_nodes
from comrecgc.run import RunContext
from comrecgc.scoring import NeighbourhoodScorer

_Clustering = TypeVar("_Clustering", bound=RecourseClustering)

_MEASURED_INPUTS = 64
_MEASURED_EDITS = 500


@dataclass(frozen=True, eq=False, kw_only=True)
class Candidates:
    """Counterfactual candidates and the pairs they form with the inputs."""

    pairs: RecoursePairs  # the pairs within θ
    graph: Callable[[int], Graph]  # the graph of a candidate
    path: Callable[[int, int], EditPath]  # short edits from an input to a candidate it is paired with
    centres: FloatArray | None = None  # recourses the search ended with; None where it chose none
    curve: tuple[float, ...] = ()  # coverage as the search went on; empty where it was not counted
    complete: bool = True  # whether the search finished; False if time was up


RungCheck = Callable[[Sequence[Graph], Sequence[Graph]], BoolArray] | None
"""Tells whether changed graphs are on the rung of the task, from the graphs before and after; None if any change is allowed."""


def search_candidates(
    task: VectorTask,
    scorer: NeighbourhoodScorer,
    rejects: Rejects,
    context: RunContext,
    *,
    given: FloatArray | None = None,
) -> Candidates:
    """Search towards recourses that inputs share, or towards `given` ones, `[R, d]`."""
    search = DirectedSearch(theta=inside(task.theta, SEARCH_MARGIN), cover=ball_cover(task))
    if given is not None:
        cover = GivenCentres(delta=inside(task.delta, SEARCH_MARGIN), given=given)
        search = replace(search, cover=cover, head_effort=0.0)
    state = search.run(scorer, rejects.graphs, context.searching(len(rejects)), seed=task.random_state)
    return _searched(state, rejects.graphs)


@dataclass(frozen=True, kw_only=True)
class Vectors(VectorAlgorithm):
    """Vector recourses from a search directed towards recourses that inputs share."""

    name: ClassVar[str] = "vectors"

    def find(
        self, task: VectorTask, scorer: NeighbourhoodScorer, rejects: Rejects, _check: RungCheck, context: RunContext
    ) -> Candidates:
        """Search around every reject."""
        return search_candidates(task, scorer, rejects, context)


@dataclass(frozen=True, kw_only=True)
class GivenCentres(BallCover):
    """A cover with given centres."""

    given: FloatArray  # the centres, `[R, d]`

    def centres_of(self, *_: object, **__: object) -> FloatArray:
        """The given centres."""
        return self.given


def ball_cover(task: VectorTask) -> BallCover:
    """The cover that the directed search and the `ball` selection use."""
    return BallCover(
        delta=inside(task.delta, SEARCH_MARGIN),
        num_recourses=task.num_recourses,
        longer_than=task.delta if task.directional else None,
    )


def _searched(state: SearchState, inputs: Sequence[Graph]) -> Candidates:
    """The candidates of a directed search, each paired only with the input it was made from."""
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


def pair_candidates(
    rejects: Rejects,
    embedder: Embedder,
    found: Sequence[tuple[Graph, int | None, EditPath]],
    theta: float,
    *,
    own_only: bool,
) -> Candidates:
    """Pair every input with every candidate within θ, whichever input it was made from.

    `found` holds the candidates, the input each was made from, if any, and the edits from there. With `own_only` a candidate is paired only with that
    input, since only for it the rung is known.
    """
    inputs, graphs = rejects.graphs, [graph for graph, _, _ in found]
    rows = (np.asarray(embedder.embed(batch), dtype=np.float32) for batch in batched(graphs))
    ends = np.concatenate([rejects.scores.embedding[:0], *rows])
    sizes = np.array([graph.size for graph in graphs], dtype=np.int32)
    pairs = pairs_within(rejects.scores.embedding, rejects.scores.sizes, ends, sizes, theta)
    if own_only:
        starts = np.array([-1 if start is None else start for _, start, _ in found], dtype=np.int64)
        pairs = pairs.subset(starts[pairs.candidates] == pairs.inputs)

    def path(index: int, candidate: int) -> EditPath:
        graph, start, edits = found[candidate]
        return shorter_path(inputs[index], edits) if start == index else mapped_path(inputs[index], graph.fresh())

    return Candidates(pairs=pairs, graph=lambda candidate: graphs[candidate], path=path)


def shorter_path(graph: Graph, path: EditPath) -> EditPath:
    """The path without detours, provided that no bond changes: a bond that is cut and made again becomes single."""
    shorter = simplify_path(graph, path) if len(path) > 1 else path
    if graph.edge_labels is None or shorter == path:
        return shorter
    return shorter if _bonds(apply_path(graph, shorter)) == _bonds(apply_path(graph, path)) else path


def mapped_path(source: Graph, target: Graph) -> EditPath:
    """Edits between two unrelated graphs, by the best mapping found."""
    return edit_path(source, target, map_nodes(source, target).places)


def _bonds(graph: Graph) -> list[tuple[int, int, int]]:
    """Sorted labels of both ends and of the edge, for every edge."""
    assert graph.edge_labels is not None
    ends = np.sort(graph.labels[graph.edges], axis=1)
    rows = np.concatenate([ends, graph.edge_labels[:, None]], axis=1).tolist()
    return sorted((first, second, bond) for first, second, bond in rows)


def one_edit_length(scorer: NeighbourhoodScorer, rejects: Rejects, seed: int) -> float:
    """Median length of a one-edit recourse on some evenly spread inputs; 0 if there is none."""
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
    """Chosen recourses."""

    centres: FloatArray  # the recourses, in order, `[at most R, d]`
    pairs: RecoursePairs  # the pairs that may be used to cover inputs
    figures: dict[str, float] = field(default_factory=dict)  # what the published code says, by name


def choose_recourses(task: VectorTask, candidates: Candidates, jobs: int = 1) -> Chosen:
    """The recourses, and the pairs that may be used to cover inputs."""
    pairs, centres, most = candidates.pairs, candidates.centres, task.algorithm.choice.num_counterfactuals
    if most is not None:
        pairs, centres = with_counterfactuals(pairs, nearest_counterfactuals(pairs, most)), None
    if task.algorithm.as_published and task.algorithm.choice.selection == "dbscan":
        return _chosen_as_published(task, pairs, jobs)
    if task.algorithm.choice.selection == "dbscan":
        if task.algorithm.choice.problem == "fc":
            pairs = with_counterfactuals(pairs, nearest_counterfactuals(pairs))
        return Chosen(centres=_clustered(task, pairs, jobs), pairs=pairs)
    if centres is None:
        # Balls cover at least what the paper's clusters would.
        rng, clusters = np.random.default_rng([task.random_state, 2]), _clustered(task, pairs, jobs)
        centres = ball_cover(task).centres(pairs, rng, previous=clusters)
    if task.algorithm.choice.problem == "fc":
        # One counterfactual per covered input is at most T = |inputs| of them, so no coverage is lost.
        cover = cover_of(pairs, centres, inside(task.delta, SEARCH_MARGIN))
        covered = np.flatnonzero(cover.first >= 0)
        pairs = with_counterfactuals(pairs, pairs.candidates[cover.pairs[cover.first[covered], covered]])
    return Chosen(centres=centres, pairs=pairs)


def _chosen_as_published(task: VectorTask, pairs: RecoursePairs, jobs: int) -> Chosen:
    """Clusters of a baseline's vectors, with the figures of the published code: a stricter coverage and a sum of lengths."""
    if task.algorithm.choice.problem == "fc":
        how = task.algorithm.fc_subset
        pairs = with_counterfactuals(pairs, few_counterfactuals(pairs, how, task.random_state))
    chosen = _clustering(PublishedClustering, task, jobs).choose(pairs)
    figures = {"published_coverage": chosen.coverage, "published_length": chosen.total_length}
    return Chosen(centres=_long_enough(task, chosen.centres), pairs=pairs, figures=figures)


def _clustered(task: VectorTask, pairs: RecoursePairs, jobs: int) -> FloatArray:
    """Centroids of clusters."""
    return _long_enough(task, _clustering(RecourseClustering, task, jobs).centres(pairs))


def _clustering(kind: type[_Clustering], task: VectorTask, jobs: int) -> _Clustering:
    return kind(
        theta=task.theta,
        delta=task.delta,
        num_recourses=task.num_recourses,
        min_samples=task.algorithm.choice.min_samples,
        seed=task.random_state,
        num_threads=jobs,
    )


def _long_enough(task: VectorTask, centres: FloatArray) -> FloatArray:
    """The centres without those within Δ of "change nothing", if the task is directional."""
    if not task.directional:
        return centres
    return np.asarray(centres[np.linalg.norm(centres.astype(np.float64), axis=1) > task.delta])
