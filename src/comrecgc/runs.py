"""One run, from a dataset and perhaps models to a folder with everything in it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from comrecgc.algorithms.baselines.source import CHECKPOINT as BASELINE_CHECKPOINT
from comrecgc.algorithms.baselines.summary import GlobalSummary
from comrecgc.algorithms.inputs import Rejects, with_label_names
from comrecgc.algorithms.judges import ObtainPanel, agreement_source, panel_source
from comrecgc.algorithms.rules.population import (
    BLOCK_FILES,
    CENSUS,
    Shard,
    first_sample,
    merged_blocks,
    num_blocks_of,
    population_of,
)
from comrecgc.algorithms.settings import Settings
from comrecgc.compilation import Compilation
from comrecgc.data import GraphDataset
from comrecgc.errors import InputError
from comrecgc.evidence import (
    EVIDENCE,
    WITNESSES,
    load_evidence,
    run_judges,
    run_models,
    save_panel,
    save_witnesses,
    witnesses_of,
)
from comrecgc.explainer import QUICK_TRAINING
from comrecgc.explanation import (
    RULES,
    Explanation,
    RuleChooser,
    apply_recourses,
    encode_graph,
    explain_rules,
    load_explanation,
    rule_chooser,
    stored_settings,
    table_notes,
)
from comrecgc.finding import find_recourses
from comrecgc.graphs import Constraint
from comrecgc.models import (
    ClassifierTraining,
    Embedder,
    EmbedderTraining,
    ModelFile,
    Panel,
    PanelTraining,
    checksum,
    data_fingerprint,
    obtain_classifier,
    obtain_embedder,
)
from comrecgc.molecules import Valence, are_types, ladder_facts
from comrecgc.report import write_report
from comrecgc.run import (
    FOLDER_LOCK,
    Clock,
    Progress,
    check_writable,
    engine_of,
    facts_path,
    only_writer_in,
    read_json,
    reason_of,
    reproducible,
    write_json,
)

# The folder of a run: begun, interrupted, resumed, finished.


REQUEST = "run.json"
MANIFEST = "manifest.json"
REPORT = "report.html"
SUMMARY = "summary.json"

# In the order of removal: the file that says whose the others are goes last, the one that says they are whole first.
_UNFINISHED = ("search.npz", "walk-*.npz", "baseline-*.npz", BASELINE_CHECKPOINT, REQUEST)
_FINISHED = (
    MANIFEST, "explanation.json", "recourses.csv", "coverage_curve.csv", "molecules.csv", REPORT, EVIDENCE, WITNESSES, RULES, CENSUS, SUMMARY,
    "panel-*.safetensors", "panel-*.json", BLOCK_FILES,
)  # fmt: skip


@dataclass(frozen=True)
class RunFolder:
    """A run on disk.

    Args:
        path: The folder.
        request: What the run was asked to do, as JSON values; it resumes only with the very same.
    """

    path: Path
    request: dict[str, Any]

    @classmethod
    @contextmanager
    def open(cls, path: str | Path, request: dict[str, Any], *, resume: bool, overwrite: bool) -> Iterator[RunFolder]:
        """Take a folder for a run, before any work is done; while the block runs no other run may take it.

        Args:
            path: The folder; it is made if needed.
            request: What the run is asked to do.
            resume: Go on with the run the folder holds, if it is the same; start one where it holds none.
            overwrite: Replace the run the folder holds.
        """
        path = Path(path)
        if path.exists() and not path.is_dir():
            raise InputError(f"Cannot write to {path}: it is a file, and a run needs a folder")
        check_writable(path)
        folder = cls(path, json.loads(json.dumps(request)))
        with only_writer_in(path):
            folder._begin(resume=resume, overwrite=overwrite)
            yield folder

    def _begin(self, *, resume: bool, overwrite: bool) -> None:
        if overwrite:
            self._remove(*_FINISHED, *_UNFINISHED)
        elif resume:
            self._check_request()
        elif any(entry.name != FOLDER_LOCK for entry in self.path.iterdir()):
            raise InputError(
                f"{self.path} is not empty: --resume goes on with the run in it, --overwrite replaces it; "
                "or choose another --out"
            )
        if self.is_finished:
            self.finish()  # it was, but perhaps killed before it had cleared up
        else:
            write_json(self.path / REQUEST, self.request)

    @property
    def is_finished(self) -> bool:
        return (self.path / MANIFEST).exists()

    def finish(self) -> None:
        """Remove what only an unfinished run needs; the blocks of a shard stay, to be merged."""
        self._remove(*_UNFINISHED, *(() if "shard" in self.request else (BLOCK_FILES,)))

    def _check_request(self) -> None:
        """Refuse to go on with a run that was asked for something else."""
        if self.is_finished:
            found = Explanation.load(self.path).facts.facts.get("request")
        elif (self.path / REQUEST).exists():
            found = read_json(self.path / REQUEST)
        else:
            return
        found = found if isinstance(found, dict) else {}
        for name, value in self.request.items():
            if found.get(name) != value:
                raise InputError(
                    f"{self.path} holds a run with {name} {found.get(name)!r}, and resuming needs the same (got {value!r})"
                )

    def _remove(self, *patterns: str) -> None:
        for pattern in patterns:
            for file in self.path.glob(pattern):
                try:
                    file.unlink()
                except OSError as error:
                    raise InputError(f"Cannot remove {file}: {reason_of(error)}") from error


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
        "classifier": asdict(classifier_training) if classifier is None else checksum(classifier),
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


def rewrite_report(folder: str | Path) -> None:
    """Write the report of a run again, with the evidence on it if there is some."""
    write_report(load_explanation(folder), Path(folder) / REPORT, load_evidence(folder))


# Choosing again from a finished run: its table of rules is read back, and nothing is searched.


def choose_again(
    run: str | Path, out: str | Path | None = None, *, overwrite: bool = False, **wishes: Any
) -> Explanation:
    """Choose from a finished run under other wishes.

    Args:
        run: The run folder.
        out: A folder for the other choice, with a report; None writes nothing.
        overwrite: Replace the run in that folder.
        wishes: Those of `Explanation.choose`.
    """
    run = Path(run)
    explanation = load_explanation(run)
    if explanation.recourse == "rules" and explanation.chooser is None:
        raise InputError(f"{run} keeps no table of rules to choose from")
    chosen = explanation.choose(**wishes)
    if out is None:
        return chosen
    if Path(out).resolve() == run.resolve():
        raise InputError(f"--out must be another folder than the run's own (got {out})")
    request = dict(explanation.facts.facts.get("request") or {}) | {"chosen_from": str(run), **chosen.parameters}
    with RunFolder.open(out, request, resume=False, overwrite=overwrite) as folder:
        return write_choice(chosen, run, folder)


def write_choice(chosen: Explanation, run: Path, folder: RunFolder) -> Explanation:
    """Write what was chosen from a run, with its models, to another folder."""
    facts = dict(chosen.facts.facts) | {"request": folder.request}
    models, panel = facts.get("models"), facts.get("panel")
    if isinstance(models, dict):
        facts["models"] = {what: _carried(file, run, folder.path) for what, file in models.items()}
    if isinstance(panel, list):
        facts["panel"] = [_carried(file, run, folder.path) for file in panel]
    chosen = chosen.with_facts(replace(chosen.facts, facts=facts))
    write_report(chosen, folder.path / REPORT)
    chosen.save(folder.path)
    folder.finish()
    return chosen


def _carried(entry: Any, source: Path, target: Path) -> Any:
    """The model's file as the other manifest names it; what lies in the run folder is copied."""
    if not isinstance(entry, dict) or not isinstance(entry.get("path"), str) or Path(entry["path"]).is_absolute():
        return entry
    name = Path(entry["path"]).name
    for file in (source / name, facts_path(source / name)):
        try:
            if file.exists():
                shutil.copyfile(file, target / file.name)
        except OSError as error:
            raise InputError(f"Cannot copy {file}: {reason_of(error)}") from error
    return asdict(ModelFile(name, str(entry.get("sha256"))))


# Shards of one run, each made by itself, joined to the run they are parts of.


_SHARD = "shard"


def merge_shards(shards: Sequence[str | Path], out: str | Path, *, overwrite: bool = False) -> Explanation:
    """The run that some shards are parts of, as it would be in one piece; only files are needed.

    Args:
        shards: Folders of all shards of a run.
        out: The run folder.
        overwrite: Replace the run in that folder.
    """
    folders = [Path(shard) for shard in shards]
    if not folders:
        raise InputError("merge needs the folders of all shards (got none)")
    found = {folder: load_explanation(folder) for folder in folders}
    requests = {folder: _request(folder, explanation) for folder, explanation in found.items()}
    first = min(folders, key=lambda folder: requests[folder][_SHARD]["number"])
    request = requests[first]
    _check(requests, request)
    plain = {name: value for name, value in request.items() if name != _SHARD}
    explanation = found[first]
    with reproducible():
        chooser = _chooser(first, explanation)
        census = merged_blocks(folders, chooser.mined.table, request[_SHARD]["num_blocks"])
        chooser = replace(chooser, mined=replace(chooser.mined, census=census))
        merged = explain_rules(
            chooser.settings, chooser.mined, chooser.judges, chooser.wishes,
            classifier=run_models(first, explanation).classifier, warnings=chooser.warnings, notes=chooser.notes,
        )  # fmt: skip
    with RunFolder.open(out, plain, resume=False, overwrite=overwrite) as folder:
        return write_choice(merged.with_chooser(chooser).with_facts(explanation.facts), first, folder)


def _chooser(folder: Path, explanation: Explanation) -> RuleChooser:
    """What a shard was chosen by, with its panel and without the notes that are written anew."""
    chooser = rule_chooser(folder, explanation)
    notes = tuple(note for note in chooser.notes if note not in table_notes(chooser.mined))
    return replace(chooser, judges=run_judges(folder, explanation), notes=notes)


def _request(folder: Path, explanation: Explanation) -> dict[str, Any]:
    request = explanation.facts.facts.get("request")
    if not isinstance(request, dict) or not isinstance(request.get(_SHARD), dict):
        raise InputError(f"{folder} must be a shard, made with --shard i/n (got a run of its own)")
    return request


def _check(requests: dict[Path, dict[str, Any]], first: dict[str, Any]) -> None:
    """All shards are of one run, and all are there."""
    for folder, request in requests.items():
        for name in sorted({*request, *first} - {_SHARD}):
            if request.get(name) != first.get(name):
                raise InputError(
                    f"{folder} is a shard of another run: {name} must be {first.get(name)!r} (got {request.get(name)!r})"
                )
        for name in ("count", "num_blocks"):
            if request[_SHARD].get(name) != first[_SHARD].get(name):
                raise InputError(f"{folder} is a shard of another run: it is one of {request[_SHARD].get('count')}")
    there = {request[_SHARD].get("number") for request in requests.values()}
    missing = sorted(set(range(1, first[_SHARD]["count"] + 1)) - there)
    if missing:
        raise InputError(f"All shards are needed (got none that is {missing[0]}/{first[_SHARD]['count']})")
