"""One run, from a dataset and perhaps models to a folder with everything in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from comrecgc.baselines import GlobalSummary
from comrecgc.classifiers import ClassifierTraining, Panel, PanelTraining
from comrecgc.datasets import GraphDataset
from comrecgc.embedding import Embedder, EmbedderTraining
from comrecgc.engine import engine_of
from comrecgc.errors import InputError
from comrecgc.explainer import QUICK_TRAINING
from comrecgc.explanation import Explanation, encode_graph
from comrecgc.graphs import Constraint
from comrecgc.molecules import Valence, are_types, ladder_facts
from comrecgc.pipeline import (
    Clock,
    ObtainPanel,
    Progress,
    Rejects,
    Settings,
    Shard,
    agreement_source,
    apply_recourses,
    find_recourses,
    first_sample,
    num_blocks_of,
    panel_source,
    population_of,
    stored_settings,
    with_label_names,
)
from comrecgc.report import write_report
from comrecgc.runs.compilation import Compilation
from comrecgc.runs.evaluation import run_judges, run_models, save_panel, save_witnesses, witnesses_of
from comrecgc.runs.folder import REPORT, SUMMARY, WITNESSES, RunFolder
from comrecgc.runs.models import ModelFile, checksum, data_fingerprint, obtain_classifier, obtain_embedder
from comrecgc.storage import write_json
from comrecgc.threads import reproducible

_MAY_CHANGE = ("jobs", "time_budget")  # between an interruption and going on
_LOPSIDED = 0.2  # share of the smaller class below which classes are weighted
_CLASSIFIER_SHARE = 0.3  # of the time that is left may go into training the classifier


def explain_dataset(
    dataset: GraphDataset,
    out: str | Path,
    settings: Settings | None = None,
    *,
    classifier: Path | None = None,
    embedder: Path | None = None,
    panel: Sequence[Path] | bool | None = None,
    agree: Sequence[Path] = (),
    classifier_training: ClassifierTraining | None = None,
    embedder_training: EmbedderTraining | None = None,
    panel_training: PanelTraining | None = None,
    resume: bool = False,
    overwrite: bool = False,
    progress: Progress | None = None,
    started: float | None = None,
    compilation: Compilation | None = None,
    cluster: str | None = None,
    shard: Shard | None = None,
) -> Explanation:
    """Explain a classifier on a dataset and write the run folder.

    Args:
        dataset: The data.
        out: The run folder.
        settings: Parameters of the run.
        classifier: A checkpoint; None trains one, or takes one trained on the same data before.
        embedder: A checkpoint; None trains one, or takes one trained on the same data before.
        panel: Files of other classifiers that are asked about counterfactuals too, True to train some, False for none; None
            trains some for rules, and where changes must be confirmed.
        agree: Files of classifiers that are explained at the same time: all must reject an input and accept its counterfactual.
        classifier_training: How to train a classifier.
        embedder_training: How to train an embedder.
        panel_training: How to train a panel.
        resume: Go on with the run in the folder; a finished one is returned as it is.
        overwrite: Replace the run in the folder.
        progress: Called as work proceeds.
        started: When the time budget began, as `time.monotonic()` counts; None for now.
        compilation: Compiling that began before; it is waited for once all models are there.
        cluster: Address of a dask scheduler whose workers carry rules out on all graphs, train a panel, and compute edit distances for
            an embedder; None for this machine.
        shard: Carry rules out on this part of the graphs only, to be merged with the others; None for all.
    """
    settings = settings or Settings()
    if agree and (panel or settings.changes != "confirmed"):
        raise InputError(
            f"agree takes the place of a panel and asks for changes='confirmed' (got {settings.changes!r})"
        )
    clock = Clock(settings.time_budget, started)
    classifier_training, embedder_training = (
        classifier_training or ClassifierTraining(balanced=_is_lopsided(dataset)),
        embedder_training or QUICK_TRAINING,
    )
    asked = {field.name: getattr(settings, field.name) for field in fields(Settings) if field.name not in _MAY_CHANGE}
    request = asked | {
        "dataset": dataset.name,
        "data": data_fingerprint(dataset),
        "classifier": classifier_training.stated() if classifier is None else checksum(classifier),
        "embedder": _asked_of_embedder(settings, embedder, embedder_training),
        "constraint": None if settings.constraint is None else repr(settings.constraint),
        "baseline": settings.baseline_facts(),
    }
    engine = engine_of(cluster, settings.num_jobs)
    if shard is not None:
        if settings.recourse != "rules" or len(dataset) <= settings.sample:
            raise InputError(
                f"Shards are of runs by rules on more graphs than the sample of {settings.sample} (got {len(dataset)})"
            )
        request["shard"] = asdict(shard) | {"num_blocks": num_blocks_of(len(dataset))}
    if panel is None:
        panel = settings.wants_panel
    request["panel"] = panel if isinstance(panel, bool) else [checksum(path) for path in panel]
    if panel is True and panel_training is not None:
        request["panel"] = asdict(panel_training)
    panel_files = () if isinstance(panel, bool) else panel
    if agree:
        request["agree"] = [checksum(path) for path in agree]
    with RunFolder.open(out, request, resume=resume, overwrite=overwrite) as folder:
        if folder.is_finished:
            return Explanation.load(folder.path)
        files: dict[str, ModelFile] = {}
        model, files["classifier"] = obtain_classifier(
            first_sample(dataset, settings), classifier, folder.path, training=classifier_training,
            deadline=clock.training_deadline(_CLASSIFIER_SHARE), progress=progress,
        )  # fmt: skip
        clock.lap("classifier")
        with reproducible():
            population = population_of(dataset, model, settings)
        study = dataset if population is None else population.study

        def embedder_before(deadline: float | None) -> Embedder:
            found, files["embedder"] = obtain_embedder(
                study,
                embedder,
                folder.path,
                training=embedder_training,
                engine=engine,
                deadline=deadline,
                progress=progress,
            )
            return found

        others: ObtainPanel | None = None
        if agree:
            others = agreement_source(agree, study)
        elif panel:
            others = panel_source(study, panel_files, panel_training, engine=engine, progress=progress)
        with reproducible():
            found = find_recourses(
                settings, study, model, embedder_before,
                _after_compiling(others, compilation, progress),
                clock=clock, progress=progress, checkpoint=folder.path, resume=resume,
                population=population, engine=engine, shard=shard,
            )  # fmt: skip
        facts: dict[str, Any] = {
            "request": folder.request,
            "models": {what: asdict(file) for what, file in files.items()},
            "panel": [asdict(file) for file in save_panel(found.judges.panel, folder.path, dataset.label_names)],
            "agree": bool(agree),
            "ladder": ladder_facts(found.judges.ladder),
            "search_curve": found.search_curve,
        }
        if settings.recourse == "vectors":
            save_witnesses(witnesses_of(found.verified, found.rejects), folder.path / WITNESSES)
            facts[WITNESSES] = checksum(folder.path / WITNESSES)
        if found.summary is not None:
            write_json(folder.path / SUMMARY, summary_document(found.summary, found.rejects))
        explanation = found.explanation.with_facts(replace(found.explanation.facts, facts=facts))
        tell = progress or (lambda *_: None)
        tell("writing report and tables", 0, 2, "")
        write_report(explanation, folder.path / REPORT)  # the manifest, which makes the folder whole, comes last
        tell("writing report and tables", 1, 2, "")
        explanation.save(folder.path)
        tell("writing report and tables", 2, 2, "")
        folder.finish()
        return explanation


def _after_compiling(
    panel: ObtainPanel | None, compilation: Compilation | None, progress: Progress | None
) -> ObtainPanel | None:
    """Obtains the panel and then waits for compiling to end; without a panel it is waited for at once."""
    if compilation is None:
        return panel

    def wait() -> None:
        if compilation.is_busy and progress is not None:
            progress("compiling, once per machine, about a minute", 0, 1, "")
        compilation.wait()

    if panel is None:
        wait()
        return None

    def obtain(deadline: float | None) -> tuple[Panel | None, str]:
        found = panel(deadline)
        wait()
        return found

    return obtain


def summary_document(summary: GlobalSummary, rejects: Rejects) -> dict[str, Any]:
    """A global summary as JSON values: `k` counterfactuals, what they cover, and the inputs they were made from, if any."""
    return {
        "theta": summary.theta,
        "coverage": summary.coverage,
        "median_cost": summary.cost,
        "coverage_curve": list(summary.curve),
        "graphs": [
            {
                "gain": gain,
                "probability": each.probability,
                "input": None if each.input is None else int(rejects.indices[each.input]),
                **encode_graph(each.graph),
            }
            for each, gain in zip(summary.chosen, summary.gains.tolist(), strict=True)
        ],
    }


def _is_lopsided(dataset: GraphDataset) -> bool:
    """Whether a table of molecules has so few of a class that a model could do without it; benchmarks are trained on as in the paper."""
    share = float(np.mean(dataset.classes)) if len(dataset) else 0.5
    return are_types(dataset.label_names) and 0 < min(share, 1 - share) < _LOPSIDED


def _asked_of_embedder(settings: Settings, file: Path | None, training: EmbedderTraining) -> float | str | None:
    """What a run depends on that its embedder comes from; nothing for rules, which need none."""
    if settings.recourse == "rules":
        return None
    return training.effort if file is None else checksum(file)


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
    try:
        settings = replace(
            stored_settings(explanation), jobs=jobs, time_budget=time_budget, constraint=_stored_constraint(explanation)
        )
    except InputError as error:
        raise InputError(f"{run}: the parameters of the run cannot be used: {error}") from error
    with reproducible():
        judges = run_judges(run, explanation, dataset)
        return apply_recourses(explanation, dataset, models, settings, judges, progress=progress)


def _stored_constraint(explanation: Explanation) -> Constraint | None:
    stated = explanation.parameters.get("constraint")
    if stated is None:
        return None
    valence = Valence.of_elements(explanation.label_names) if explanation.is_molecular else None
    if stated != repr(valence):
        raise InputError(f"Only Python can apply recourses found under a constraint of your own (got {stated!s:.60})")
    return valence
