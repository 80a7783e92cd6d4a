"""Recourses found on some graphs, applied to others: the same search, with centres that do not move."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from comrecgc.classifiers import predict
from comrecgc.datasets import GraphDataset
from comrecgc.errors import InputError
from comrecgc.explanation import Explanation
from comrecgc.neighbourhood import NeighbourhoodScorer
from comrecgc.pipeline.candidates import Progress, directed_search, reporter, searched_candidates
from comrecgc.pipeline.clock import Clock
from comrecgc.pipeline.conclusion import conclude
from comrecgc.pipeline.inputs import rejects_of
from comrecgc.pipeline.margins import CHOSEN, inside
from comrecgc.pipeline.settings import Settings
from comrecgc.pipeline.verification import Models
from comrecgc.recourse.ball import BallCover
from comrecgc.recourse.pairs import FloatArray
from comrecgc.wording import Words


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


def apply_recourses(
    explanation: Explanation,
    dataset: GraphDataset,
    models: Models,
    *,
    scorer: NeighbourhoodScorer,
    settings: Settings,
    progress: Progress | None = None,
) -> Explanation:
    """The recourses of an explanation with the rejects of another dataset that each covers.

    Args:
        explanation: Recourses found before.
        dataset: Unseen graphs over the same labels.
        models: Classifier and embedder.
        scorer: Scores neighbourhoods with the same models.
        settings: Complete settings of the run that found the recourses.
        progress: Called as the search goes on.
    """
    clock = Clock(settings.time_budget)
    predictions = predict(models.classifier, dataset)
    rejects = rejects_of(dataset, predictions)
    clock.make_room_for(len(rejects.graphs))
    # Without recourses or inputs there is nothing to aim at, and vectors are as wide as the search's.
    width = models.scores(rejects.graphs[:1]).embedding.shape[1] if rejects.graphs else 1
    centres = np.zeros((len(explanation.recourses), width), dtype=np.float32)
    if rejects.graphs and len(centres):
        if len(explanation.recourses[0].vector) != width:
            got = len(explanation.recourses[0].vector)
            raise InputError(f"Recourses must be vectors of the embedder's width, {width} (got {got} numbers)")
        centres[:] = [recourse.vector for recourse in explanation.recourses]
    cover = GivenCentres(delta=inside(settings.radius, CHOSEN), given=centres)
    search = replace(directed_search(settings, cover), head_effort=0.0)
    state = search.run(scorer, rejects.graphs, seed=settings.seed, deadline=clock.deadline, progress=reporter(progress))
    clock.lap("search")
    candidates = searched_candidates(state, rejects.graphs)
    applied, _ = conclude(
        settings,
        rejects,
        candidates,
        centres,
        candidates.pairs,
        models,
        clock,
        words=[Words(recourse.summary, recourse.description) for recourse in explanation.recourses],
        warnings=[predictions.warning] if predictions.warning else [],
        notes=[*dataset.notes, f"The recourses were found on {explanation.dataset}."],
    )
    return clock.stamped(applied, seed=settings.seed)
