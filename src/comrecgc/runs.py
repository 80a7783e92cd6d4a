"""Runs on disk: explaining a dataset into a folder, opening it again, and compiling kernels while models train."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import platform
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from importlib.metadata import version
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np
import torch

from comrecgc import evidence, models, run
from comrecgc.algorithms.base import Task, VectorAlgorithm
from comrecgc.algorithms.baselines.baseline import CHECKPOINT as BASELINE_CHECKPOINT
from comrecgc.algorithms.inputs import Graphs, ModelPair, as_dataset, over_labels_of, with_label_names
from comrecgc.algorithms.plausibility import VALENCE, Plausibility
from comrecgc.algorithms.rules.algorithm import Rules
from comrecgc.algorithms.rules.population import BLOCK_FILES, CENSUS, first_sample
from comrecgc.data import GraphDataset, load_planted
from comrecgc.errors import InputError
from comrecgc.evidence import EVIDENCE, WITNESSES, Evidence, Figure
from comrecgc.explainer import QUICK_TRAINING, CommonRecourseExplainer
from comrecgc.explanation import RULES, Explanation, apply_recourses, load_explanation, stored_rejects, stored_task
from comrecgc.models import Classifier, ClassifierTraining, Embedder, ModelFile, Panel, PanelTraining, checksum
from comrecgc.molecules import are_types, ladder_facts
from comrecgc.report import write_report
from comrecgc.run import Progress, RunContext, check_writable, reason_of, reproducible

# The folder of a run: begun, interrupted, resumed, finished.


REQUEST = "run.json"
MANIFEST = "manifest.json"
REPORT = "report.html"

# In the order of removal: the file that says whose the others are goes last, the one that says they are whole first.
_UNFINISHED = ("search.npz", "walk-*.npz", "baseline-*.npz", BASELINE_CHECKPOINT, REQUEST)
_FINISHED = (
    MANIFEST, "explanation.json", "recourses.csv", "coverage_curve.csv", "molecules.csv", REPORT, EVIDENCE, WITNESSES, RULES, CENSUS,
    "panel-*.safetensors", "panel-*.json", BLOCK_FILES,
)  # fmt: skip


@dataclass(frozen=True)
class RunFolder:
    """A run folder with its request as JSON values; a run resumes only with an equal request."""

    path: Path
    request: dict[str, Any]

    @classmethod
    @contextmanager
    def open(cls, path: str | Path, request: dict[str, Any], *, resume: bool, overwrite: bool) -> Iterator[RunFolder]:
        """Reserve a folder for a run before any work is done; it is locked while the block runs.

        `resume` goes on with the folder's run if the request is equal, and starts a new run in an empty folder; `overwrite` replaces a run.
        """
        path = Path(path)
        if path.exists() and not path.is_dir():
            raise InputError(f"Cannot write to {path}: it is a file, and a run folder is needed")
        check_writable(path)
        folder = cls(path, json.loads(json.dumps(request)))
        with run.only_writer_in(path):
            folder._begin(resume=resume, overwrite=overwrite)
            yield folder

    def _begin(self, *, resume: bool, overwrite: bool) -> None:
        if overwrite:
            self._remove(*_FINISHED, *_UNFINISHED)
        elif resume:
            self._check_request()
        elif any(entry.name != run.FOLDER_LOCK for entry in self.path.iterdir()):
            raise InputError(
                f"{self.path} is not empty: --resume goes on with the run in it, --overwrite replaces it; "
                "or choose another --out"
            )
        if self.is_finished:
            self.finish()  # it was, but perhaps killed before it had cleared up
        else:
            run.write_json(self.path / REQUEST, self.request)

    @property
    def is_finished(self) -> bool:
        return (self.path / MANIFEST).exists()

    def finish(self) -> None:
        """Remove files that only an unfinished run needs."""
        self._remove(*_UNFINISHED, BLOCK_FILES)

    def _check_request(self) -> None:
        """Refuse to resume a run with another request."""
        if self.is_finished:
            found = Explanation.load(self.path).facts.facts.get("request")
        elif (self.path / REQUEST).exists():
            found = run.read_json(self.path / REQUEST)
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


_LOPSIDED = 0.2  # share of the smaller class below which classes are weighted
_CLASSIFIER_SHARE = 0.3  # of the time that is left may go into training the classifier


NUMBER_TRAINING = ClassifierTraining(model="gin", hidden=32, epochs=300, patience=60, learning_rate=0.003)
"""Default training of a network that answers a number."""


def explain_dataset(
    dataset: GraphDataset,
    out: str | Path,
    explainer: CommonRecourseExplainer,
    *,
    training: ClassifierTraining | None = None,
    overwrite: bool = False,
    source: Mapping[str, Any] | None = None,
) -> Explanation:
    """Explain a classifier on a dataset and write the run folder. With `resume` in the context, a finished run is returned unchanged.

    The explainer is not fitted yet; its model is the file of a classifier, or None to train one or to use one trained on the same data before. The
    manifest stores `source`: the origin of the data and its reading options, as JSON values.
    """
    task = explainer.task()
    training = training or (
        ClassifierTraining(balanced=_is_lopsided(dataset), seed=task.random_state)
        if dataset.goal is None
        else replace(NUMBER_TRAINING, seed=task.random_state)
    )
    request = _request(dataset, explainer, task, training)
    with (
        explainer.context.begun() as begun,
        RunFolder.open(out, request, resume=begun.resume, overwrite=overwrite) as folder,
    ):
        if folder.is_finished:
            return Explanation.load(folder.path)
        context = replace(begun, checkpoint=folder.path).keeping(begun.clock)
        files, study = dict[str, ModelFile](), dataset
        if isinstance(task.algorithm, Rules):
            study = first_sample(dataset, task.algorithm.sample, task.random_state)
        model, files["classifier"] = models.obtain_classifier(
            study, _file_of(explainer.model), folder.path, training=training,
            deadline=context.clock.training_deadline(_CLASSIFIER_SHARE), progress=context.report,
        )  # fmt: skip
        context.clock.lap("classifier")
        fitted = replace(explainer, model=model, context=context).fit(dataset)
        if fitted.embedder_ is not None:
            given = getattr(task.algorithm, "embedder", None)
            file = Path(given) if isinstance(given, str | Path) else folder.path / "embedder.safetensors"
            files["embedder"] = ModelFile.of(file, folder.path)
        facts: dict[str, Any] = {
            **fitted.explanation_.facts.facts,
            "request": folder.request,
            "models": {what: asdict(file) for what, file in files.items()},
            "panel": [
                asdict(file) for file in models.save_panel(fitted.plausibility_.panel, folder.path, dataset.label_names)
            ],
            "agree": bool(explainer.agree),
            "ladder": ladder_facts(fitted.plausibility_.ladder),
            "search_curve": fitted.search_curve_,
            "source": dict(source or {}),
        }
        if fitted.verified_ is not None:
            evidence.save_witnesses(evidence.witnesses_of(fitted.verified_, fitted.rejects_), folder.path / WITNESSES)
            facts[WITNESSES] = checksum(folder.path / WITNESSES)
        explanation = fitted.explanation_.using(facts=replace(fitted.explanation_.facts, facts=facts))
        context.show_progress("writing report and tables", 0, 2)
        write_report(explanation, folder.path / REPORT)  # the manifest, which makes the folder whole, comes last
        context.show_progress("writing report and tables", 1, 2)
        explanation.save(folder.path)
        context.show_progress("writing report and tables", 2, 2)
        folder.finish()
        return explanation


def _request(
    dataset: GraphDataset, explainer: CommonRecourseExplainer, task: Task[Any], training: ClassifierTraining
) -> dict[str, Any]:
    """The request of a run as JSON values: everything that determines it."""
    file = _file_of(explainer.model)
    request = task.parameters() | {
        "changes": task.changes,
        "dataset": dataset.name,
        "data": models.data_fingerprint(dataset),
        "classifier": asdict(training) if file is None else checksum(file),
    }
    if dataset.goal is not None:
        request["goal"] = dataset.goal.stated()
    if isinstance(task.algorithm, VectorAlgorithm):
        embedder = task.algorithm.embedder or QUICK_TRAINING
        request["embedder"] = (
            embedder.effort if isinstance(embedder, models.EmbedderTraining) else checksum(Path(embedder))
        )
    panel = task.algorithm.wants_panel and dataset.goal is None if explainer.panel is None else explainer.panel
    request["panel"] = asdict(panel) if isinstance(panel, PanelTraining) else _stated(panel)
    if task.recourse == "rules":
        request["jury"] = _stated(explainer.jury is None or explainer.jury)
    if explainer.agree:
        request["agree"] = _stated(explainer.agree)
    return request


def _stated(asked: Any) -> bool | list[str]:
    """An option for other models as JSON: a flag, or checksums of files; models in memory are refused."""
    if isinstance(asked, bool):
        return asked
    files = [] if isinstance(asked, Panel) else list(asked)
    if not files or not all(isinstance(model, str | Path) for model in files):
        raise InputError("A run folder keeps models as files: name files of classifiers (got models in memory)")
    return [checksum(Path(file)) for file in files]


def _file_of(model: Any) -> Path | None:
    if model is not None and not isinstance(model, str | Path):
        raise InputError(f"A run folder keeps models as files: name the file (got a {type(model).__name__})")
    return None if model is None else Path(model)


def _is_lopsided(dataset: GraphDataset) -> bool:
    """Whether one class of a table of molecules is so rare that a model could ignore it; benchmarks are trained on as in the paper."""
    share = float(np.mean(dataset.classes)) if len(dataset) else 0.5
    return are_types(dataset.label_names) and 0 < min(share, 1 - share) < _LOPSIDED


# A finished run.


@dataclass(frozen=True, eq=False)
class Run:
    """A finished run, read back from its folder; models are loaded when they are first needed.

    Args:
        path: The run folder.
        explanation: What was found.
        classifier: The classifier, or its file; None for the file the manifest names.
        embedder: The same for the embedder.
        panel: Other classifiers that vote on accepted results; None for those in the run folder.
    """

    path: Path
    explanation: Explanation
    classifier: Classifier | Callable[..., Any] | str | Path | None = None
    embedder: Embedder | Callable[..., Any] | str | Path | None = None
    panel: Panel | Sequence[str | Path] | None = None

    @cached_property
    def dataset(self) -> GraphDataset:
        """The inputs of the run, with the features of its labels if they were stored."""
        dataset, facts = stored_rejects(self.explanation).dataset, self.explanation.facts.facts
        with run.refusing_damage(self.path / MANIFEST, advice=""):
            if (rows := facts.get("features")) is not None:
                dataset = replace(dataset, features=np.array(rows, dtype=np.float32))
            if (rows := facts.get("edge_features")) is not None:
                names = dataset.edge_label_names or tuple(map(str, range(len(rows))))
                dataset = replace(dataset, edge_features=np.array(rows, dtype=np.float32), edge_label_names=names)
        return dataset

    @cached_property
    def models(self) -> ModelPair:
        """The classifier, and the embedder if recourses are vectors."""
        if self.explanation.facts.facts.get("own_features"):
            raise InputError(
                "The model saw features of the graphs that the folder does not hold: go on with the explainer that was fitted"
            )
        given: dict[str, Any] = {"classifier": self.classifier, "embedder": self.embedder}
        files = {what: model for what, model in given.items() if model is None or isinstance(model, str | Path)}
        if "classifier" in files:
            loaded = evidence.run_models(self.path, self.explanation, **files)
            return loaded if "embedder" in files else replace(loaded, embedder=models.as_embedder(given["embedder"]))
        embedder = given["embedder"]
        if isinstance(embedder, str | Path):
            embedder = models.load_embedder(Path(embedder), label_names=self.explanation.schema.label_names)
        classifier = models.as_classifier(given["classifier"], self.dataset)
        return ModelPair(classifier, None if embedder is None else models.as_embedder(embedder))

    @cached_property
    def plausibility(self) -> Plausibility:
        """The ladder of changes of the run, and its panel."""
        plausibility = evidence.run_plausibility(self.path, self.explanation)
        if self.panel is None:
            return plausibility
        names = self.explanation.schema.label_names
        panel = self.panel if isinstance(self.panel, Panel) else models.load_panel(self.panel, label_names=names)
        return replace(plausibility, panel=panel)

    def evaluate(self, graphs: Graphs | None = None) -> list[Figure]:
        """Recompute every figure from the stored graphs and the models, from scratch.

        Args:
            graphs: The data that the run explained, with its classes, on which the jury is trained again. Without it, the jury's figures are not
                recomputed.
        """
        return evidence.evaluate_run(self.path, self.models, None if graphs is None else as_dataset(graphs)[0])

    def evidence(
        self,
        graphs: Graphs,
        *,
        with_controls: bool = True,
        second_panel: PanelTraining | None = None,
        cache: Path | None = None,
        context: RunContext | None = None,
    ) -> Evidence:
        """Gather evidence for and against the run: other models, matched pairs, unseen graphs, controls. It is stored in the run folder, and reports show it.

        Args:
            graphs: The data that the run explained.
            with_controls: Whether classifiers that know nothing are explained too.
            second_panel: How models that took no part in the choice are trained.
            cache: Where trained models are kept; None for the user's cache.
            context: Cores, cluster and progress.
        """
        with (context or RunContext()).begun() as begun:
            return evidence.run_evidence(
                self.path, as_dataset(graphs)[0], self.models, begun,
                with_controls=with_controls, second_panel=second_panel, cache=cache,
            )  # fmt: skip

    def apply(self, graphs: Graphs, context: RunContext | None = None) -> Explanation:
        """Apply the recourses to the rejects among unseen graphs.

        Args:
            graphs: Unseen graphs: labels of a dataset are matched by name, those of PyG graphs by their features.
            context: Time, cores and progress.
        """
        dataset = as_dataset(graphs)[0]
        if isinstance(graphs, GraphDataset):
            dataset = with_label_names(dataset, self.explanation.schema.label_names)
        else:
            dataset = over_labels_of(dataset, self.dataset)
        dataset = replace(dataset, class_names=self.explanation.schema.class_names)
        constraint = self.explanation.parameters.get("constraint")
        if constraint not in (None, VALENCE):
            raise InputError(
                f"Only the explainer itself can apply recourses found under a constraint of your own (got {constraint!s:.60})"
            )
        try:
            task = stored_task(self.explanation)
        except InputError as error:
            raise InputError(f"{self.path}: the parameters of the run cannot be used: {error}") from error
        with (context or RunContext()).begun() as begun, reproducible():
            return apply_recourses(self.explanation, dataset, self.models, task, self.plausibility, begun)

    def choose(self, out: str | Path | None = None, *, overwrite: bool = False, **limits: Any) -> Explanation:
        """Choose rules again under other limits, from the table of the run, without a search.

        Args:
            out: A folder for the other choice, with a report; None writes nothing.
            overwrite: Replace the run in that folder.
            limits: Those of `Explanation.choose`.
        """
        if self.explanation.recourse == "rules" and self.explanation.chooser is None:
            raise InputError(f"{self.path} holds no table of rules to choose from")
        chosen = self.explanation.choose(**limits)
        if out is None:
            return chosen
        if Path(out).resolve() == self.path.resolve():
            raise InputError(f"--out must be another folder than the run's own (got {out})")
        request = dict(self.explanation.facts.facts.get("request") or {})
        request |= {"chosen_from": str(self.path), **chosen.parameters}
        with RunFolder.open(out, request, resume=False, overwrite=overwrite) as folder:
            return write_choice(chosen, self.path, folder)

    def report(self) -> Path:
        """Write `report.html` again, with the evidence if there is any; returns its path."""
        path = self.path / REPORT
        write_report(self.explanation, path, evidence.load_evidence(self.path))
        return path


def open_run(
    path: str | Path,
    *,
    classifier: Classifier | Callable[..., Any] | str | Path | None = None,
    embedder: Embedder | Callable[..., Any] | str | Path | None = None,
    panel: Panel | Sequence[str | Path] | None = None,
) -> Run:
    """Open a finished run: a folder that `comrecgc explain` or `CommonRecourseExplainer.save` wrote.

    Args:
        path: The run folder; it is checked against the manifest's checksums and for consistency.
        classifier: The classifier, or its file, if the manifest names none or to use another.
        embedder: The same for the embedder.
        panel: Other classifiers that vote on accepted results; None for those in the run folder.
    """
    return Run(Path(path), load_explanation(path), classifier, embedder, panel)


def write_choice(chosen: Explanation, source: Path, folder: RunFolder) -> Explanation:
    """Write a choice from a run, with its models, to another folder."""
    facts = dict(chosen.facts.facts) | {"request": folder.request}
    if isinstance(files := facts.get("models"), dict):
        facts["models"] = {what: _carried(file, source, folder.path) for what, file in files.items()}
    if isinstance(panel := facts.get("panel"), list):
        facts["panel"] = [_carried(file, source, folder.path) for file in panel]
    chosen = chosen.using(facts=replace(chosen.facts, facts=facts))
    write_report(chosen, folder.path / REPORT)
    chosen.save(folder.path)
    folder.finish()
    return chosen


def _carried(entry: Any, source: Path, target: Path) -> Any:
    """The model's file as the other manifest names it; what lies in the run folder is copied."""
    if not isinstance(entry, dict) or not isinstance(entry.get("path"), str) or Path(entry["path"]).is_absolute():
        return entry
    name = Path(entry["path"]).name
    for file in (source / name, run.facts_path(source / name)):
        try:
            if file.exists():
                shutil.copyfile(file, target / file.name)
        except OSError as error:
            raise InputError(f"Cannot copy {file}: {reason_of(error)}") from error
    return asdict(ModelFile(name, str(entry.get("sha256"))))


# Compiled code made ready by a second process while the first one trains: the first use of the kernels takes about half a minute. What is compiled is kept
# beside the kernels, or in `$NUMBA_CACHE_DIR`, so that this happens once per machine and version.


_GRAPHS = 24  # enough for every kind of change to occur


@dataclass(frozen=True, eq=False)
class Compilation:
    """Compilation in another process; None if nothing is left to compile."""

    process: BaseProcess | None

    @classmethod
    def start(cls) -> Compilation:
        """Start, unless kernels are compiled already or there is no second core."""
        if _stamp().exists() or run.available_cores() < 2 or not os.access(_stamp().parent, os.W_OK):
            return cls(None)
        process = multiprocessing.get_context("spawn").Process(target=_compile_quietly, daemon=True)
        process.start()  # a daemon: a command that is over leaves nothing behind
        return cls(process)

    def wait(self, progress: Progress | None = None) -> None:
        """Wait for the compilation: to compile the same here would take longer."""
        if self.process is None:
            return
        if self.process.is_alive() and progress is not None:
            progress("compiling, once per machine, about half a minute", 0, 1, "")
        self.process.join()


def compile_kernels() -> None:
    """Mine rules of an untrained classifier on a few molecules, which compiles the kernels of mining."""
    dataset = load_planted(num_graphs=_GRAPHS)
    torch.manual_seed(0)
    members = []
    for name in models.ARCHITECTURES:
        model = models.GraphClassifier(name, dataset.features).eval()
        probability = models.predict(model, dataset).probability
        with torch.no_grad():  # about half of the molecules are rejects
            model.fc.bias[1] -= float(np.median(np.log(probability / (1 - probability))))
        members.append(models.PanelMember(name=name, classifier=model))
    explained = next(member.classifier for member in members if member.name == "gcn")
    panel = Panel(tuple(member for member in members if member.name in ("gcn", "gin", "sage")))
    CommonRecourseExplainer(explained, panel=panel, num_recourses=2, context=RunContext(jobs=1, progress=False)).fit(
        dataset
    )


def _stamp() -> Path:
    """A marker file for these compiled kernels, in the kernel cache, so that both are removed together."""
    folder = Path(__file__).parent
    digest = hashlib.sha256(f"{platform.python_version()} {version('numba')}".encode())
    for file in sorted(folder.rglob("*_kernels.py")):
        known = file.stat()
        digest.update(f"{file.name} {known.st_mtime_ns} {known.st_size}".encode())
    place = os.environ.get("NUMBA_CACHE_DIR")
    return (Path(place) if place else folder / "__pycache__") / f"compiled-{digest.hexdigest()[:16]}"


def _compile_quietly() -> None:
    """Compile everything without output, and leave the marker file."""
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    compile_kernels()
    with suppress(OSError):
        _stamp().touch()
