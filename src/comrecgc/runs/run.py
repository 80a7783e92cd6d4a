"""One run, from a dataset and perhaps models to a folder with everything in it."""

from __future__ import annotations

import time
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from comrecgc.classifiers import ClassifierTraining
from comrecgc.datasets import GraphDataset
from comrecgc.embedding import EmbedderTraining
from comrecgc.errors import InputError
from comrecgc.explainer import CommonRecourseExplainer
from comrecgc.explanation import Explanation
from comrecgc.graphs import Constraint, fingerprint
from comrecgc.molecules import Valence
from comrecgc.pipeline.application import apply_recourses
from comrecgc.pipeline.candidates import Progress
from comrecgc.pipeline.inputs import with_label_names
from comrecgc.pipeline.settings import Settings
from comrecgc.report import write_report
from comrecgc.runs.evaluation import run_models
from comrecgc.runs.folder import REPORT, WITNESSES, RunFolder
from comrecgc.runs.models import QUICK, checksum, obtain_classifier, obtain_embedder
from comrecgc.runs.witnesses import save_witnesses, witnesses_of
from comrecgc.threads import reproducible

_MAY_CHANGE = ("jobs", "time_budget")  # between an interruption and going on


def explain_dataset(
    dataset: GraphDataset,
    out: str | Path,
    settings: Settings | None = None,
    *,
    classifier: Path | None = None,
    embedder: Path | None = None,
    constraint: Constraint | None = None,
    classifier_training: ClassifierTraining | None = None,
    embedder_training: EmbedderTraining | None = None,
    resume: bool = False,
    overwrite: bool = False,
    progress: Progress | None = None,
    started: float | None = None,
) -> Explanation:
    """Explain a classifier on a dataset and write the run folder.

    Args:
        dataset: The data.
        out: The run folder.
        settings: Parameters of the run.
        classifier: A checkpoint; None trains one, or takes one trained on the same data before.
        embedder: A checkpoint; None trains one, or takes one trained on the same data before.
        constraint: Which edits are allowed; None for all.
        classifier_training: How to train a classifier.
        embedder_training: How to train an embedder.
        resume: Go on with the run in the folder; a finished one is returned as it is.
        overwrite: Replace the run in the folder.
        progress: Called as work proceeds.
        started: When the time budget began, as `time.monotonic()` counts; None for now.
    """
    settings = settings or Settings()
    started = time.monotonic() if started is None else started
    classifier_training, embedder_training = classifier_training or ClassifierTraining(), embedder_training or QUICK
    request = {name: value for name, value in asdict(settings).items() if name not in _MAY_CHANGE} | {
        "dataset": dataset.name,
        "graphs": fingerprint(dataset.graphs),
        "classifier": asdict(classifier_training) if classifier is None else checksum(classifier),
        "embedder": embedder_training.effort if embedder is None else checksum(embedder),
        "constraint": None if constraint is None else repr(constraint),
    }
    with RunFolder.open(out, request, resume=resume, overwrite=overwrite) as folder:
        if folder.is_finished:
            return Explanation.load(folder.path)
        model, model_file = obtain_classifier(
            dataset, classifier, folder.path, training=classifier_training, progress=progress
        )
        greed, greed_file = obtain_embedder(
            dataset, embedder, folder.path, training=embedder_training, progress=progress
        )
        waited = time.monotonic() - started
        explainer = CommonRecourseExplainer(model, greed, constraint=constraint, **_arguments(settings))
        explainer.fit(dataset, progress=progress, checkpoint=folder.path, resume=resume, started=started)
        save_witnesses(witnesses_of(explainer.verified_, explainer.rejects_), folder.path / WITNESSES)
        facts = {
            "request": folder.request,
            "models": {"classifier": asdict(model_file), "embedder": asdict(greed_file)},
            "search_curve": explainer.search_curve_,
            WITNESSES: checksum(folder.path / WITNESSES),
        }
        return _written(explainer.explanation_, folder, facts, waited)


def _arguments(settings: Settings) -> dict[str, Any]:
    """Settings as arguments of the explainer."""
    arguments = asdict(settings)
    arguments["random_state"] = arguments.pop("seed")
    del arguments["constraint"]  # words; the rule itself goes beside them
    return arguments


def _written(explanation: Explanation, folder: RunFolder, facts: dict[str, Any], waited: float) -> Explanation:
    """The explanation as it is on disk: the report first, then the files a manifest makes whole."""
    now = time.monotonic()
    write_report(explanation, folder.path / REPORT)
    seconds = {"reading and training": round(waited, 3), **explanation.facts.seconds}
    seconds["report"] = round(time.monotonic() - now, 3)
    explanation = replace(explanation, facts=replace(explanation.facts, seconds=seconds, facts=facts))
    explanation.save(folder.path)
    folder.finish()
    return explanation


def apply_run(
    run: str | Path,
    dataset: GraphDataset,
    *,
    classifier: str | Path | None = None,
    embedder: str | Path | None = None,
    jobs: int | None = None,
    time_budget: float | None = None,
    progress: Progress | None = None,
) -> Explanation:
    """Apply the recourses of a run folder to the rejects of another dataset.

    Args:
        run: The run folder.
        dataset: Unseen graphs; their labels are matched by name.
        classifier: The classifier's file; by default the one the manifest names.
        embedder: The same for the embedder.
        jobs: Cores to use, None for all.
        time_budget: Seconds to take at most.
        progress: Called as work proceeds.
    """
    run = Path(run)
    explanation = Explanation.load(run)
    dataset = with_label_names(dataset, explanation.label_names)
    models = run_models(run, explanation, classifier=classifier, embedder=embedder)
    settings = replace(_stored_settings(run, explanation), jobs=jobs, time_budget=time_budget)
    constraint = _stored_constraint(explanation)
    with reproducible():
        scorer = models.scorer(dataset.num_labels, constraint=constraint, num_threads=settings.num_jobs)
        return apply_recourses(explanation, dataset, models, scorer=scorer, settings=settings, progress=progress)


def _stored_settings(run: Path, explanation: Explanation) -> Settings:
    known = {field.name for field in fields(Settings)} - set(_MAY_CHANGE)
    try:
        return Settings(**{k: v for k, v in explanation.parameters.items() if k in known}).completed(None)
    except InputError as error:
        raise InputError(f"{run}: the parameters of the run cannot be used: {error}") from error


def _stored_constraint(explanation: Explanation) -> Constraint | None:
    stated = explanation.parameters.get("constraint")
    if stated is None:
        return None
    valence = Valence.of_elements(explanation.label_names) if explanation.is_molecular else None
    if stated != repr(valence):
        raise InputError(f"Only Python can apply recourses found under a constraint of your own (got {stated!s:.60})")
    return valence
