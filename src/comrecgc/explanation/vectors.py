"""From chosen recourses to the explanation: every claim verified, figures, words, the map, reasons for what is left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.base import VectorTask
from comrecgc.algorithms.inputs import ModelPair, Rejects
from comrecgc.algorithms.judges import Judges
from comrecgc.algorithms.vectors.candidates import Candidates, Chosen
from comrecgc.cover import BallCover, Cover, Reason, RecoursePairs, cover_of, metrics
from comrecgc.explanation.assembly import explanation_of, share_valid
from comrecgc.explanation.explanation import Explanation
from comrecgc.explanation.records import CommonRecourse, CoveredInput
from comrecgc.explanation.verification import Entry, Verified, first_entries, verify
from comrecgc.run import Clock
from comrecgc.wording import Words, describe_recourse

LARGE_TRIVIAL_COVERAGE = 0.1
"""Share of inputs that "change nothing" may cover before a reader is warned."""


def explain_recourses(
    settings: VectorTask,
    rejects: Rejects,
    candidates: Candidates,
    chosen: Chosen,
    models: ModelPair,
    judges: Judges,
    clock: Clock,
    *,
    words: Sequence[Words] | None = None,
    warnings: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> tuple[Explanation, Verified]:
    """The explanation that chosen vectors give, every claim in it confirmed by a plain forward pass.

    Args:
        settings: What is asked.
        rejects: The inputs, embedded.
        candidates: What was found around them, by whatever method.
        chosen: The chosen recourses, in order, and the pairs that may be used to cover inputs.
        models: Classifier and embedder.
        judges: Say where counterfactuals stand on the ladder of changes.
        clock: Times the stages.
        words: Words of each recourse, all of which are then kept; by default they are read off the edits, and recourses
            that cover nothing new are left out.
        warnings: What a reader must know, one sentence each.
        notes: What the run did, one sentence each.
    """
    keep_all = words is not None
    verified = verify(candidates, chosen.pairs, chosen.centres, rejects, models, settings, keep_all=keep_all)
    verified, entries = first_entries(verified, candidates, rejects, models, settings, keep_all=keep_all)
    clock.lap("verification")
    covered = verified.cover.first >= 0
    reasons = reasons_for(settings, candidates.pairs, covered, complete=candidates.complete)
    explanation = assemble(
        settings, rejects, verified, judges, entries, reasons,
        words=words, warnings=warnings, notes=notes, figures=chosen.figures,
    )  # fmt: skip
    clock.lap("words")
    return explanation, verified


def assemble(
    settings: VectorTask,
    rejects: Rejects,
    verified: Verified,
    judges: Judges,
    entries: Sequence[Entry] = (),
    reasons: Sequence[Reason | None] = (),
    *,
    words: Sequence[Words] | None = None,
    warnings: Sequence[str] = (),
    notes: Sequence[str] = (),
    figures: Mapping[str, float] | None = None,
) -> Explanation:
    """The explanation of a verified cover; `figures` are added to its own."""
    dataset, cover = rejects.dataset, verified.cover
    positions = map_positions([entry.vector for entry in entries])
    verdicts = judges.judge([rejects.graphs[entry.place] for entry in entries], [entry.graph for entry in entries])
    recourses = []
    for place in range(len(cover)):
        rows = [k for k, entry in enumerate(entries) if entry.recourse == place]
        members = [entries[k] for k in rows]
        said = _words(members, rejects) if words is None else words[place]
        also = np.flatnonzero(cover.covers[place] & (cover.first < place))
        recourses.append(
            CommonRecourse(
                summary=said.summary,
                vector=tuple(cover.centres[place].tolist()),
                description=said.description,
                covered=tuple(_member(entries[k], rejects, positions[k]) for k in rows),
                also_covers=tuple(rejects.indices[also].tolist()),
                share_valid=share_valid([member.graph for member in members], dataset),
                statistics=verdicts.shares(rows),
            )
        )
    own = run_figures(cover, settings.delta, float(np.mean(verified.trivial >= 0)) if len(rejects) else 0.0)
    return explanation_of(
        settings, rejects, recourses,
        {place: reason for place, reason in enumerate(reasons) if reason},
        own | verdicts.shares() | verdicts.coverage(len(rejects)) | dict(figures or {}),
        parameters=settings.parameters(), warnings=(*warnings, *_trivial_warning(own, settings)), notes=notes,
    )  # fmt: skip


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
    settings: VectorTask, pairs: RecoursePairs, covered: npt.NDArray[np.bool_], *, complete: bool
) -> list[Reason | None]:
    """Why each input is not covered; None for one that is.

    As many recourses again are sought for what is left: an input that one of them covers fell to the budget of
    recourses. One that an unfinished search found no counterfactual of fell to the budget of time.

    Args:
        settings: What is asked.
        pairs: All pairs the search found.
        covered: Which inputs are covered, `[num_inputs]`.
        complete: Whether the search ended of itself.
    """
    open_pairs = pairs.subset(~covered[pairs.inputs])
    further = None
    if len(open_pairs):
        more = BallCover(
            delta=settings.delta,
            num_recourses=settings.num_recourses,
            longer_than=settings.delta if settings.directional else None,
            num_exchanges=0,
            num_seeds=1024,
            num_starts=8,
        )
        centres = more.centres(open_pairs, np.random.default_rng([settings.random_state, 3]))
        further = cover_of(open_pairs, centres, settings.delta)
    state = Cover(np.zeros((1, pairs.width), np.float32), np.where(covered, 0, -1)[None, :])
    reasons = metrics.why_not_covered(state, pairs, further)
    if complete:
        return reasons
    return [Reason.OUT_OF_TIME if reason == Reason.NO_COUNTERFACTUAL else reason for reason in reasons]


def map_positions(vectors: Sequence[npt.NDArray[np.float32]]) -> list[tuple[float, float]]:
    """Vectors on a plane: their two principal components, signs fixed by the largest entry of each axis."""
    if not vectors:
        return []
    rows = np.stack(vectors).astype(np.float64)
    centred = rows - rows.mean(axis=0)
    covariance = centred.T @ centred
    axes = np.linalg.eigh(covariance)[1][:, ::-1][:, :2]  # [d, 2]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
    plane = np.zeros((len(rows), 2))
    plane[:, : axes.shape[1]] = centred @ axes
    return [(round(x, 6), round(y, 6)) for x, y in plane.tolist()]


def _member(entry: Entry, rejects: Rejects, position: tuple[float, float]) -> CoveredInput:
    return CoveredInput(
        input=rejects.index(entry.place),
        probability=entry.probability,
        distance=entry.distance,
        num_edits=len(entry.path),
        edits=entry.path,
        counterfactual=entry.graph,
        position=position,
    )


def _words(members: Sequence[Entry], rejects: Rejects) -> Words:
    dataset = rejects.dataset
    return describe_recourse(
        [(rejects.graphs[member.place], member.path) for member in members],
        dataset.label_names,
        edge_label_names=dataset.edge_label_names,
        is_molecular=dataset.is_molecular,
    )


def _trivial_warning(figures: dict[str, float | int], settings: VectorTask) -> tuple[str, ...]:
    share = figures["trivial_coverage"]
    if share <= LARGE_TRIVIAL_COVERAGE:
        return ()
    advice = "" if settings.directional else "; choose a smaller delta, or directional recourses only"
    return (f"Changing nothing already covers {share:.1%} of the inputs at Δ = {settings.delta:.3g}{advice}.",)
