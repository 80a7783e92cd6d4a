"""Known recourses on graphs that were not there when they were found."""

from __future__ import annotations

import numpy as np
import torch

from comrecgc.classifiers import predict
from comrecgc.datasets import GraphDataset
from comrecgc.errors import InputError
from comrecgc.explanation import Explanation
from comrecgc.pipeline.assembly import explain_recourses
from comrecgc.pipeline.clock import Clock
from comrecgc.pipeline.inputs import ModelPair, Progress, Rejects
from comrecgc.pipeline.rule_application import apply_rules
from comrecgc.pipeline.rungs import Judges
from comrecgc.pipeline.settings import ResolvedSettings
from comrecgc.pipeline.vectors import Chosen, find_candidates
from comrecgc.wording import Words


def apply_recourses(
    explanation: Explanation,
    dataset: GraphDataset,
    models: ModelPair,
    settings: ResolvedSettings,
    judges: Judges,
    *,
    device: torch.device | str = "cpu",
    progress: Progress | None = None,
) -> Explanation:
    """The recourses of an explanation with the rejects of another dataset that each covers.

    The search is the same as for finding recourses, with recourses that are known and do not move.
    """
    clock = Clock(settings.time_budget)
    predictions = predict(models.classifier, dataset)
    warnings = [predictions.warning] if predictions.warning else []
    notes = [*dataset.notes, f"The recourses were found on {explanation.dataset}."]
    if explanation.recourse == "rules":
        rejects = Rejects.of(dataset, predictions)
        applied = apply_rules(
            explanation, rejects, models.classifier, judges, settings, warnings=warnings, notes=notes, progress=progress
        )
        return clock.stamped(applied, seed=settings.seed)
    rejects = Rejects.of(dataset, predictions).embedded(models)
    width = rejects.scores.embedding.shape[1]
    centres = np.zeros((len(explanation.recourses), width), dtype=np.float32)
    for place, recourse in enumerate(explanation.recourses if rejects else ()):
        assert recourse.vector is not None
        if len(recourse.vector) != width:
            got = len(recourse.vector)
            raise InputError(f"Recourses must be vectors of the embedder's width, {width} (got {got} numbers)")
        centres[place] = recourse.vector
    candidates = find_candidates(
        settings, judges.scorer(models, dataset, settings, device), rejects,
        given=centres, deadline=clock.search_deadline(len(rejects)), progress=progress,
    )  # fmt: skip
    clock.lap("search")
    candidates = judges.confirmed(candidates, settings)
    applied, _ = explain_recourses(
        settings, rejects, candidates, Chosen(centres=centres, pairs=candidates.pairs), models, judges, clock,
        words=[Words(recourse.summary, recourse.description) for recourse in explanation.recourses],
        warnings=warnings, notes=notes,
    )  # fmt: skip
    return clock.stamped(applied, seed=settings.seed)
