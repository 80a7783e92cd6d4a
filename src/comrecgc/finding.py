"""The whole way, step by step: from a classifier and graphs to the explanation of its rejects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import torch

from comrecgc.algorithms.baselines.summary import GlobalSummary
from comrecgc.algorithms.inputs import ModelPair, Rejects
from comrecgc.algorithms.judges import Judges, ObtainPanel
from comrecgc.algorithms.rules.census import Recipes
from comrecgc.algorithms.rules.files import save_table
from comrecgc.algorithms.rules.mined import (
    COUNTED_RULES,
    MOST_RULES,
    MinedRules,
    acceptance_of,
    mine_rules,
    stored_rules,
    workshop_of,
)
from comrecgc.algorithms.rules.population import CensusWork, Population, Shard, take_census
from comrecgc.algorithms.settings import ResolvedSettings, Settings
from comrecgc.algorithms.vectors.candidates import choose_recourses, find_candidates, one_edit_length
from comrecgc.data import GraphDataset
from comrecgc.explanation import (
    RULES,
    Explanation,
    RuleChooser,
    Verified,
    assemble,
    count_chosen,
    explain_recourses,
    explain_rules,
    stamped,
)
from comrecgc.models import Agreement, Classifier, Embedder, predict
from comrecgc.molecules import ladder_of
from comrecgc.run import Clock, Engine, LocalEngine, Progress

_EMBEDDER_SHARE = 0.5  # of the time that is left may go into training the embedder,
_PANEL_SHARE = 0.25  # and this share into training a panel

ObtainEmbedder = Callable[[float | None], Embedder]
"""Loads or trains an embedder before a deadline (`time.monotonic()`); called only if there is something to explain."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Found:
    """What a run ends with.

    Args:
        explanation: What was found.
        settings: The settings with nothing left open.
        models: Classifier and embedder; no embedder where none was needed.
        rejects: The inputs.
        judges: The ladder of changes, and the panel if there is one.
        verified: Every recourse and pair that a plain forward pass confirmed.
        search_curve: Coverage as the search went on.
        mined: The table of rules, where recourses are rules.
        summary: A few counterfactuals near many inputs, where a baseline was asked for them.
    """

    explanation: Explanation
    settings: ResolvedSettings
    models: ModelPair
    rejects: Rejects
    judges: Judges
    verified: Verified
    search_curve: tuple[float, ...] = ()
    mined: MinedRules | None = None
    summary: GlobalSummary | None = None


def find_recourses(
    settings: Settings,
    dataset: GraphDataset,
    classifier: Classifier,
    obtain_embedder: ObtainEmbedder,
    obtain_panel: ObtainPanel | None = None,
    *,
    clock: Clock,
    device: torch.device | str = "cpu",
    has_classes: bool = True,
    progress: Progress | None = None,
    checkpoint: Path | None = None,
    resume: bool = False,
    population: Population | None = None,
    engine: Engine | None = None,
    shard: Shard | None = None,
) -> Found:
    """The pipeline: from a classifier and graphs to the explanation.

    Args:
        settings: What is asked.
        dataset: The graphs, or the sample of them that is studied.
        classifier: The model to be explained.
        obtain_embedder: Gives the embedder, once there are rejects to embed.
        obtain_panel: Gives the panel; None for none.
        clock: Times the stages and keeps the budget.
        device: Where torch models run.
        has_classes: Whether the classes of the dataset are true ones.
        progress: Called as work proceeds.
        checkpoint: Folder that keeps an unfinished search.
        resume: Go on from what that folder holds.
        population: All graphs, where the dataset is a sample of them.
        engine: Where rules are carried out on all graphs; None for threads.
        shard: Which part of all graphs; None for all.
    """
    predictions = predict(classifier, dataset)
    rejects = Rejects.of(dataset, predictions)
    if population is not None:
        rejects = replace(rejects, indices=population.studied[rejects.indices])
    warnings, notes = [predictions.warning] if predictions.warning else [], list(dataset.notes)
    accuracy = None
    if has_classes and len(dataset):
        agreement = Agreement.of(predictions, dataset)
        accuracy = agreement.accuracy
        if agreement.has_both:
            notes.append(agreement.sentence)
            warnings += [agreement.warning] if agreement.warning else []
    if progress is not None:
        progress("rejected graphs", len(rejects), len(dataset), predictions.warning or "")
    judges = Judges(ladder=ladder_of(dataset.graphs, dataset.label_names))
    clock.lap("inputs")
    if rejects and obtain_panel is not None:
        panel, sentence = obtain_panel(clock.training_deadline(_PANEL_SHARE))
        judges = replace(judges, panel=panel, why_no_panel=sentence)
        notes.append(sentence)
        if panel is not None and panel.unanimous:
            rejects = rejects.rejected_by(panel)
        clock.lap("panel")
    if not rejects:
        resolved, nothing = settings.resolved(), Verified.nothing(0)
        explanation = assemble(
            resolved, rejects, judges, parameters=resolved.parameters(), warnings=warnings, notes=notes
        )
        explanation = stamped(explanation, clock, seed=settings.seed, model_accuracy=accuracy)
        models = ModelPair(classifier)
        return Found(
            explanation=explanation, settings=resolved, models=models, rejects=rejects, judges=judges, verified=nothing
        )
    if settings.recourse == "rules":
        take = None if population is None else partial(_census, population.dataset, engine, shard)
        return _find_rules(
            settings, rejects, classifier, judges, clock, accuracy, warnings, notes, progress, checkpoint, take,
            resume=resume,
        )  # fmt: skip
    models = ModelPair(classifier, obtain_embedder(clock.training_deadline(_EMBEDDER_SHARE)))
    rejects = rejects.embedded(models)
    scorer = judges.scorer(models, dataset, settings, device)
    resolved = settings.resolved(one_edit_length(scorer, rejects, settings.seed))
    clock.lap("embedder")
    candidates = find_candidates(
        resolved, scorer, rejects, stands=judges.stands(resolved) if resolved.baseline is not None else None,
        deadline=clock.search_deadline(len(rejects)), progress=progress, checkpoint=checkpoint, resume=resume,
    )  # fmt: skip
    clock.lap("search")
    candidates = judges.confirmed(candidates, resolved)
    chosen = choose_recourses(resolved, candidates)
    clock.lap("selection")
    if settings.has_automatic_delta:
        notes.append(f"Δ = {resolved.delta:.4g} is half the median length of a one-edit recourse on this data.")
    if not candidates.complete:
        notes.append(f"The time budget of {settings.time_budget:g} s ended the search.")
    explanation, verified = explain_recourses(
        resolved, rejects, candidates, chosen, models, judges, clock, warnings=warnings, notes=notes
    )
    return Found(
        explanation=stamped(explanation, clock, seed=settings.seed, model_accuracy=accuracy),
        settings=resolved,
        models=models,
        rejects=rejects,
        judges=judges,
        verified=verified,
        search_curve=candidates.curve,
        summary=candidates.summary,
    )


def _find_rules(
    settings: Settings,
    rejects: Rejects,
    classifier: Classifier,
    judges: Judges,
    clock: Clock,
    accuracy: float | None,
    warnings: Sequence[str],
    notes: Sequence[str],
    progress: Progress | None,
    checkpoint: Path | None,
    take: TakeCensus | None,
    *,
    resume: bool,
) -> Found:
    """Rules need no embedder: their distance is the cost of the change itself. The table is kept as soon as there is one."""
    table = None if checkpoint is None else checkpoint / RULES
    if table is not None and resume and table.exists():
        mined = stored_rules(settings, rejects, judges.ladder, table)
    else:
        mined = mine_rules(
            settings, rejects, classifier, judges, most_rules=MOST_RULES if take is None else COUNTED_RULES,
            deadline=clock.search_deadline(len(rejects)), progress=progress,
        )  # fmt: skip
        if table is not None:
            save_table(table, mined.table, rejects.graphs, complete=mined.complete)
    clock.lap("mining")
    if take is not None:
        mined = take(settings, mined, classifier, judges, checkpoint, resume, progress)
        clock.lap("census")
    if not mined.complete:
        notes = [
            *notes,
            f"The time budget of {settings.time_budget:g} s ended the search for rules of several changes.",
        ]
    mined = count_chosen(
        settings, mined, judges, classifier, deadline=clock.search_deadline(len(rejects)), progress=progress
    )
    clock.lap("counting")
    explanation = explain_rules(settings, mined, judges, classifier=classifier, warnings=warnings, notes=notes)
    chooser = RuleChooser(
        settings=settings,
        mined=mined,
        judges=judges,
        wishes=settings.wishes(),
        warnings=tuple(warnings),
        notes=tuple(notes),
    )
    explanation = explanation.with_chooser(chooser)
    clock.lap("choice")
    return Found(
        explanation=stamped(explanation, clock, seed=settings.seed, model_accuracy=accuracy),
        settings=settings.resolved(),
        models=ModelPair(classifier),
        rejects=rejects,
        judges=judges,
        verified=Verified.nothing(len(rejects)),
        mined=mined,
    )


TakeCensus = Callable[
    [Settings, MinedRules, Classifier, Judges, Path | None, bool, Progress | None], MinedRules
]  # what a sample taught, with what it does to all graphs


def _census(
    dataset: GraphDataset,
    engine: Engine | None,
    shard: Shard | None,
    settings: Settings,
    mined: MinedRules,
    classifier: Classifier,
    judges: Judges,
    checkpoint: Path | None,
    resume: bool,
    progress: Progress | None,
) -> MinedRules:
    """The rules of a sample carried out on all graphs."""
    workshop = workshop_of(settings, mined.rejects, judges.ladder)
    work = CensusWork(
        recipes=Recipes.of(mined.table, workshop),
        vocabulary=workshop.vocabulary,
        acceptance=acceptance_of(settings, classifier, judges),
        unanimous=judges.panel is not None and judges.panel.unanimous,
    )
    census = take_census(
        work, dataset, engine or LocalEngine(jobs=settings.num_jobs),
        shard=shard, folder=checkpoint, resume=resume, progress=progress,
    )  # fmt: skip
    return replace(mined, census=census)
