"""From chosen vectors to the explanation: verification of every claim, figures, words, reasons for uncovered inputs.

The search scores neighbourhoods by a faster path. Plain forward passes over the graphs themselves check every claim again, compared in double
precision. A claim that such a pass does not confirm is dropped, and the input goes to the next pair or recourse that holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from comrecgc import cover as covers
from comrecgc.algorithms.base import DISPLAY_MARGIN, SEARCH_MARGIN, VERIFY_MARGIN, VectorTask, accepted, inside
from comrecgc.algorithms.inputs import ModelPair, RejectPlace, Rejects, Scores
from comrecgc.algorithms.plausibility import Plausibility
from comrecgc.algorithms.vectors.candidates import Candidates, Chosen, search_candidates
from comrecgc.cover import BallCover, Cover, FloatArray, Reason, RecoursePairs, cover_of
from comrecgc.cover import pairs as metrics
from comrecgc.errors import InputError
from comrecgc.explanation.assembly import VerifiedCounterfactual, assemble
from comrecgc.explanation.records import CommonRecourse, CoveredInput, Explanation
from comrecgc.graphs import EditPath, Graph, apply_path
from comrecgc.run import Clock, RunContext
from comrecgc.wording import Words, describe_recourse

LARGE_TRIVIAL_COVERAGE = 0.1
"""Share of inputs that "change nothing" may cover before a reader is warned."""


def explain_recourses(
    task: VectorTask,
    rejects: Rejects,
    candidates: Candidates,
    chosen: Chosen,
    models: ModelPair,
    plausibility: Plausibility,
    clock: Clock,
    *,
    words: Sequence[Words] | None = None,
    warnings: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> tuple[Explanation, Verified]:
    """The explanation that chosen vectors give, every claim in it confirmed by a plain forward pass.

    `words` are those of each recourse, all of which are then kept; by default they are read off the edits, and recourses that cover nothing new are left out.
    """
    keep_all = words is not None
    verified = verify(candidates, chosen.pairs, chosen.centres, rejects, models, task, keep_all=keep_all)
    verified, entries = first_counterfactuals(verified, candidates, rejects, models, task, keep_all=keep_all)
    clock.lap("verification")
    covered = verified.cover.first >= 0
    reasons = reasons_for(task, candidates.pairs, covered, complete=candidates.complete)
    cover = verified.cover
    if words is None:
        paths: list[list[tuple[Graph, EditPath]]] = [[] for _ in range(len(cover))]
        for it in entries:
            paths[it.recourse].append((rejects.graphs[it.place], it.member.edits))
        words = [describe_recourse(some, rejects.dataset.schema) for some in paths]
    figures = run_figures(cover, task.delta, float(np.mean(verified.trivial >= 0)) if len(rejects) else 0.0)
    recourses = [
        CommonRecourse(summary=each.summary, description=each.description, vector=tuple(centre))
        for each, centre in zip(words, cover.centres.tolist(), strict=True)
    ]
    explanation = assemble(
        task, rejects, plausibility, recourses, entries, [np.flatnonzero(row).tolist() for row in cover.covers],
        {place: it for place, it in enumerate(reasons) if it}, {**figures, **chosen.figures},
        parameters=task.parameters(), warnings=(*warnings, *_trivial_warning(figures, task)), notes=notes,
    )  # fmt: skip
    clock.lap("words")
    return explanation, verified


def run_figures(cover: Cover, delta: float, trivial_coverage: float) -> dict[str, float | int]:
    """The figures of a run by name."""
    cost = metrics.cost(cover)
    return {
        "coverage": metrics.coverage(cover),
        "directional_coverage": metrics.directional_coverage(cover, delta),
        "trivial_coverage": trivial_coverage,
        "total_length": metrics.total_length(cover),
        "cost": cost.total,
        "mean_cost": cost.mean,
        "median_cost": cost.median,
        "num_inputs": cover.num_inputs,
        "num_recourses": len(cover),
    }


def reasons_for(
    task: VectorTask, pairs: RecoursePairs, covered: npt.NDArray[np.bool_], *, complete: bool
) -> list[Reason | None]:
    """Why each input is not covered; None for one that is.

    As many recourses again are chosen for the remaining inputs: one of these that they cover was left out for the number of recourses. An input
    without a counterfactual in an unfinished search was left out for lack of time.
    """
    open_pairs = pairs.subset(~covered[pairs.inputs])
    further = None
    if len(open_pairs):
        limits = {"num_exchanges": 0, "num_seeds": 1024, "num_starts": 8}
        longer = task.delta if task.directional else None
        more = BallCover(delta=task.delta, num_recourses=task.num_recourses, longer_than=longer, **limits)
        centres = more.centres(open_pairs, np.random.default_rng([task.random_state, 3]))
        further = cover_of(open_pairs, centres, task.delta)
    state = Cover(np.zeros((1, pairs.width), np.float32), np.where(covered, 0, -1)[None, :])
    reasons = metrics.why_not_covered(state, pairs, further)
    if complete:
        return reasons
    return [Reason.OUT_OF_TIME if reason == Reason.NO_COUNTERFACTUAL else reason for reason in reasons]


def _trivial_warning(figures: dict[str, float | int], task: VectorTask) -> tuple[str, ...]:
    share = figures["trivial_coverage"]
    if share <= LARGE_TRIVIAL_COVERAGE:
        return ()
    advice = "" if task.directional else "; choose a smaller delta, or directional recourses only"
    return (f"Changing nothing already covers {share:.1%} of the inputs at Δ = {task.delta:.3g}{advice}.",)


# What plain forward passes confirm.


@dataclass(frozen=True, eq=False, kw_only=True)
class Verified:
    """Recourses and pairs confirmed by a plain forward pass."""

    cover: Cover  # the recourses that cover something no earlier one does, and the pair by which each covers an input
    pairs: RecoursePairs  # the confirmed pairs; a pair's candidate is a place in `graphs`
    # The pair by which "change nothing" covers each input, -1 where it does not, `[num_inputs]`.
    trivial: npt.NDArray[np.int64]
    graphs: tuple[Graph, ...]  # the counterfactuals
    candidates: npt.NDArray[np.int64]  # which candidate of the search each is, `[len(graphs)]`


def verify(
    candidates: Candidates, pairs: RecoursePairs, centres: FloatArray, rejects: Rejects, models: ModelPair,
    task: VectorTask, *, keep_all: bool = False,
) -> Verified:  # fmt: skip
    """Confirm what the recourses cover."""
    with_zero = np.concatenate([centres, np.zeros((1, pairs.width), np.float32)])
    found = cover_of(pairs, with_zero, inside(task.delta, SEARCH_MARGIN))
    needed = np.unique(pairs.candidates[found.pairs[found.covers]]).astype(np.int64)
    graphs = tuple(candidates.graph(int(candidate)) for candidate in needed)
    none = Scores(np.zeros(0), pairs.candidate_embeddings[:0], np.zeros(0, np.int32))
    scores = models.scores(graphs) if graphs else none
    confirmed = _confirmed(pairs, needed, rejects.scores, scores, task.theta)
    cover = cover_of(confirmed, with_zero, inside(task.delta, VERIFY_MARGIN))
    real = Cover(cover.centres[:-1], cover.pairs[:-1])
    kept = real if keep_all else real.select(real.gains > 0)
    return Verified(cover=kept, pairs=confirmed, trivial=cover.pairs[-1], graphs=graphs, candidates=needed)


def _confirmed(
    pairs: RecoursePairs, needed: npt.NDArray[np.int64], origins: Scores, scores: Scores, theta: float
) -> RecoursePairs:
    """The pairs of the needed candidates that a plain pass puts within θ and accepts."""
    rows = np.flatnonzero(np.isin(pairs.candidates, needed))
    places = np.searchsorted(needed, pairs.candidates[rows])
    owners = pairs.inputs[rows]
    start, end = origins[owners.astype(np.int64)], scores[places]
    norms = covers.normalised_distances(start.embedding.astype(np.float64), start.sizes, end.embedding, end.sizes)
    holds = (norms <= inside(theta, VERIFY_MARGIN)) & (scores.probability[places] >= accepted(VERIFY_MARGIN))
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


def first_counterfactuals(
    verified: Verified, candidates: Candidates, rejects: Rejects, models: ModelPair,
    task: VectorTask, *, keep_all: bool = False,
) -> tuple[Verified, list[VerifiedCounterfactual]]:  # fmt: skip
    """Every covered input with the edits that show it, each confirmed on the graph that the edits lead to.

    If the graph that the edits lead to is not accepted (a mapping between two graphs cannot keep bonds, which a model may use), the claim is dropped,
    and the next recourse that covers the input takes it.
    """
    kept: dict[int, VerifiedCounterfactual] = {}
    while True:
        cover = verified.cover
        first = cover.first
        open_inputs = [i for i in np.flatnonzero(first >= 0).tolist() if i not in kept]
        if not open_inputs:
            break
        places, numbers = np.array(open_inputs), first[open_inputs]
        shown = verified.candidates[verified.pairs.candidates[cover.pairs[numbers, places]]]
        paths = [candidates.path(i, int(candidate)) for i, candidate in zip(open_inputs, shown, strict=True)]
        graphs = [apply_path(rejects.graphs[i], path) for i, path in zip(open_inputs, paths, strict=True)]
        scores, origins = models.scores(graphs), rejects.scores[places]
        there = (origins.embedding, origins.sizes, scores.embedding.astype(np.float64), scores.sizes)
        vectors, norms = covers.recourse_vectors(*there).astype(np.float32), covers.normalised_distances(*there)
        holds = distances(vectors, cover.centres[numbers]) <= inside(task.delta, DISPLAY_MARGIN)
        holds &= norms <= inside(task.theta, DISPLAY_MARGIN)
        holds &= scores.probability >= accepted(DISPLAY_MARGIN)
        for k in np.flatnonzero(holds).tolist():
            place, path = RejectPlace(open_inputs[k]), paths[k]
            member = CoveredInput(
                input=rejects.index(place), probability=float(scores.probability[k]), distance=float(norms[k]),
                num_edits=len(path), edits=path, counterfactual=graphs[k],
            )  # fmt: skip
            recourse, vector = int(numbers[k]), vectors[k]
            kept[place] = VerifiedCounterfactual(place=place, recourse=recourse, member=member, vector=vector)
        pairs = cover.pairs.copy()
        pairs[numbers[~holds], places[~holds]] = -1
        verified = replace(verified, cover=Cover(cover.centres, pairs))
    gains = (verified.cover.gains > 0) | keep_all
    rank = np.cumsum(gains) - 1
    entries = [replace(kept[i], recourse=int(rank[kept[i].recourse])) for i in sorted(kept)]
    return replace(verified, cover=verified.cover.select(gains)), entries


# Known vectors on unseen graphs.


def apply_vectors(
    explanation: Explanation,
    rejects: Rejects,
    models: ModelPair,
    task: VectorTask,
    plausibility: Plausibility,
    context: RunContext,
    *,
    warnings: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> Explanation:
    """The vectors of an explanation on other graphs: the search for recourses, with vectors that are known and do not move."""
    rejects = rejects.embedded(models)
    width = rejects.scores.embedding.shape[1]
    centres = np.zeros((len(explanation.recourses), width), dtype=np.float32)
    for place, recourse in enumerate(explanation.recourses if rejects else ()):
        assert recourse.vector is not None
        if len(recourse.vector) != width:
            got = len(recourse.vector)
            raise InputError(f"Recourses must be vectors of the embedder's width, {width} (got {got} numbers)")
        centres[place] = recourse.vector
    scorer = plausibility.scorer(models, rejects.dataset, task.algorithm, context)
    candidates = search_candidates(task, scorer, rejects, context, given=centres)
    context.clock.lap("search")
    candidates = plausibility.confirmed(candidates, task, rejects.graphs)
    applied, _ = explain_recourses(
        task, rejects, candidates, Chosen(centres=centres, pairs=candidates.pairs), models, plausibility, context.clock,
        words=[Words(recourse.summary, recourse.description) for recourse in explanation.recourses],
        warnings=warnings, notes=notes,
    )  # fmt: skip
    return applied
