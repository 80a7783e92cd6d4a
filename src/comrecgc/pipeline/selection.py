"""From pairs within θ to the common recourses: ball cover or clusters, with or without a limit on counterfactuals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from comrecgc.graphs import Graph, GraphBatch
from comrecgc.neighbourhood import NeighbourhoodScorer
from comrecgc.pipeline.candidates import Candidates, ball_cover
from comrecgc.pipeline.margins import CHOSEN, inside
from comrecgc.pipeline.settings import Settings
from comrecgc.recourse import RecoursePairs, cover_of
from comrecgc.recourse.clustering import RecourseClustering
from comrecgc.recourse.fc import nearest_counterfactuals, with_counterfactuals
from comrecgc.recourse.pairs import FloatArray

_MEASURED_INPUTS = 64
_MEASURED_EDITS = 500


def one_edit_length(scorer: NeighbourhoodScorer, inputs: Sequence[Graph], seed: int) -> float:
    """Median length of a one-edit recourse on some inputs, evenly spread; 0 where there is none.

    Args:
        scorer: Scores neighbourhoods.
        inputs: The rejected graphs.
        seed: Seed of the draw of edits of large graphs.
    """
    if not inputs:
        return 0.0
    assert scorer.embedder is not None
    chosen = [inputs[i] for i in np.unique(np.linspace(0, len(inputs) - 1, _MEASURED_INPUTS).astype(int))]
    origins = scorer.embedder.embed(GraphBatch.from_graphs(chosen))
    rng = np.random.default_rng([seed, 1])
    norms = [np.zeros(0)]
    for origin, around in zip(
        origins, scorer.score(chosen, probability=False, sample=_MEASURED_EDITS, rng=rng), strict=True
    ):
        assert around.embedding is not None
        sizes = 2 * around.graph.size + around.table.size_changes()
        norms.append(np.linalg.norm(around.embedding - origin, axis=1) / sizes)
    lengths = np.concatenate(norms)
    return float(np.median(lengths)) if len(lengths) else 0.0


def choose_recourses(settings: Settings, candidates: Candidates) -> tuple[FloatArray, RecoursePairs]:
    """The recourses, in order, `[at most R, d]`, and the pairs that may be used to cover inputs.

    Args:
        settings: Complete settings.
        candidates: What the search found.
    """
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
        cover = cover_of(pairs, centres, inside(settings.radius, CHOSEN))
        covered = np.flatnonzero(cover.first >= 0)
        pairs = with_counterfactuals(pairs, pairs.candidates[cover.pairs[cover.first[covered], covered]])
    return centres, pairs


def _clustered(settings: Settings, pairs: RecoursePairs) -> FloatArray:
    """Centroids of clusters; those within Δ of "change nothing" are left out where directions are asked for."""
    clustering = RecourseClustering(
        theta=settings.theta,
        delta=settings.radius,
        num_recourses=settings.num_recourses,
        seed=settings.seed,
        num_threads=settings.num_jobs,
    )
    centres = clustering.centres(pairs)
    if not settings.directional:
        return centres
    longer: FloatArray = centres[np.linalg.norm(centres.astype(np.float64), axis=1) > settings.radius]
    return longer
