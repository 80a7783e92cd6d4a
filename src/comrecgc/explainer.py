"""The façade: a trained model and some graphs in, a few common recourses out. Reads like the pipeline it runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch

from comrecgc.baselines import Baseline, GlobalSummary, make_baseline
from comrecgc.classifiers import (
    Agreement,
    Classifier,
    Panel,
    PanelMember,
    PanelTraining,
    as_classifier,
    load_panel,
    obtain_panel,
    predict,
)
from comrecgc.datasets import GraphDataset
from comrecgc.embedding import Embedder, EmbedderTraining, as_embedder, train_embedder
from comrecgc.errors import InputError
from comrecgc.explanation import Explanation, json_values
from comrecgc.graphs import Constraint, Graph
from comrecgc.molecules import ladder_facts, ladder_from_facts, ladder_of
from comrecgc.neighbourhood import NeighbourhoodScorer
from comrecgc.pipeline import (
    RULES,
    Chosen,
    Clock,
    Graphs,
    Judges,
    MinedRules,
    ModelPair,
    Progress,
    Rejects,
    ResolvedSettings,
    RuleChooser,
    Settings,
    Verified,
    apply_rules,
    as_dataset,
    assemble,
    choose_recourses,
    explain_recourses,
    explain_rules,
    find_candidates,
    load_explanation,
    mine_rules,
    one_edit_length,
    over_labels_of,
    stored_rejects,
    stored_rules,
    stored_settings,
)
from comrecgc.rules import save_table
from comrecgc.storage import check_writable, read_json, refusing_damage, write_json
from comrecgc.threads import reproducible
from comrecgc.wording import Words

QUICK_TRAINING = EmbedderTraining(effort=0.2)
"""How an embedder is trained where nobody says how."""

EXPLAINER = "explainer.json"
"""File of a saved explainer in its folder."""

_GIVEN_AGAIN = ("model", "embedder", "panel", "agree", "constraint", "device")
"""Arguments that no file holds."""

_EMBEDDER_SHARE = 0.5  # of the time that is left may go into training the embedder,
_PANEL_SHARE = 0.25  # and this share into training a panel

ObtainEmbedder = Callable[[float | None], Embedder]
"""Loads or trains an embedder before a deadline (`time.monotonic()`); called only if there is something to explain."""

ObtainPanel = Callable[[float | None], tuple[Panel | None, str]]
"""Loads or trains a panel before a deadline, with a sentence on it; called only if there is something to explain."""


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
) -> Found:
    """The pipeline: from a classifier and graphs to the explanation.

    Args:
        settings: What is asked.
        dataset: The graphs.
        classifier: The model to be explained.
        obtain_embedder: Gives the embedder, once there are rejects to embed.
        obtain_panel: Gives the panel; None for none.
        clock: Times the stages and keeps the budget.
        device: Where torch models run.
        has_classes: Whether the classes of the dataset are true ones.
        progress: Called as work proceeds.
        checkpoint: Folder that keeps an unfinished search.
        resume: Go on from what that folder holds.
    """
    predictions = predict(classifier, dataset)
    rejects = Rejects.of(dataset, predictions)
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
        explanation = assemble(resolved, rejects, nothing, judges, warnings=warnings, notes=notes)
        explanation = clock.stamped(explanation, seed=settings.seed, model_accuracy=accuracy)
        models = ModelPair(classifier)
        return Found(
            explanation=explanation, settings=resolved, models=models, rejects=rejects, judges=judges, verified=nothing
        )
    if settings.recourse == "rules":
        return _find_rules(
            settings, rejects, classifier, judges, clock, accuracy, warnings, notes, progress, checkpoint, resume=resume
        )
    models = ModelPair(classifier, obtain_embedder(clock.training_deadline(_EMBEDDER_SHARE)))
    rejects = rejects.embedded(models)
    scorer = _scorer(models, dataset, settings, judges, device)
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
        explanation=clock.stamped(explanation, seed=settings.seed, model_accuracy=accuracy),
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
    *,
    resume: bool,
) -> Found:
    """Rules need no embedder: their distance is the cost of the change itself. The table is kept as soon as there is one."""
    table = None if checkpoint is None else checkpoint / RULES
    if table is not None and resume and table.exists():
        mined = stored_rules(settings, rejects, judges.ladder, table)
    else:
        mined = mine_rules(
            settings, rejects, classifier, judges, deadline=clock.search_deadline(len(rejects)), progress=progress
        )
        if table is not None:
            save_table(table, mined.table, rejects.graphs, complete=mined.complete)
    clock.lap("mining")
    if not mined.complete:
        notes = [
            *notes,
            f"The time budget of {settings.time_budget:g} s ended the search for rules of several changes.",
        ]
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
        explanation=clock.stamped(explanation, seed=settings.seed, model_accuracy=accuracy),
        settings=settings.resolved(),
        models=ModelPair(classifier),
        rejects=rejects,
        judges=judges,
        verified=Verified.nothing(len(rejects)),
        mined=mined,
    )


def explain(model: Classifier | Callable[..., Any], graphs: Graphs, **options: Any) -> Explanation:
    """Explain a classifier in one call.

    Args:
        model: The classifier, as for `CommonRecourseExplainer`.
        graphs: A PyG dataset, a list of PyG `Data` or a `GraphDataset`.
        options: Any other argument of `CommonRecourseExplainer`.
    """
    unknown = sorted(set(options) - set(_parameter_names()))
    if unknown:
        raise InputError(f"Options are {', '.join(_parameter_names()[1:])} (got {unknown[0]!r})")
    return CommonRecourseExplainer(model, **options).fit(graphs).explanation_


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
        settings, _scorer(models, dataset, settings, judges, device), rejects,
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


def _scorer(
    models: ModelPair, dataset: GraphDataset, settings: Settings, judges: Judges, device: torch.device | str
) -> NeighbourhoodScorer:
    return NeighbourhoodScorer(
        models.classifier,
        models.embedder,
        dataset.num_labels,
        constraint=judges.constraint(settings),
        device=device,
        num_threads=settings.num_jobs,
    )


@dataclass(eq=False, repr=False)
class CommonRecourseExplainer:
    """Global counterfactual explanation of a graph classifier by common recourses (COMRECGC, ICML 2025).

    The constructor only keeps its arguments; `fit` checks them and does the work.

    Args:
        model: The classifier: a `torch.nn.Module`, a function, or a `Classifier`. For anything `as_classifier` cannot guess,
            call that first.
        embedder: Vectors: where distances come from: an `Embedder`, a function of graphs, an `EmbedderTraining` to train one on the
            graphs of `fit`, or None to train one quickly.
        recourse: "rules", changes that a person can carry out, or "vectors" of the embedding, as in the paper; None for rules, but
            for the paper's preset and problem.
        changes: Which changes are allowed; None for "plausible", and "any" under the paper's preset. "any", "connected" (no more components than before), "plausible" (every node
            touched looks like the data) or "confirmed" (and most of a panel of other classifiers accept the result).
        panel: Other classifiers that are asked about accepted results: a `Panel`, files of classifiers, True to train some on the
            classes of the graphs (once; they are kept), False for none. None trains them for rules, and where "confirmed" asks for them.
        agree: Further classifiers, or files of them, that are explained at the same time: inputs are the graphs that all of them and the
            model reject, and counterfactuals must be accepted by all. They take the place of the panel, and changes are "confirmed".
        theta: `θ`, the largest normalised distance of a counterfactual.
        delta: `Δ`, how near a recourse must come to cover a graph; "auto" is half the median length of a one-edit recourse
            on the data, and the paper's 0.02 under its preset.
        num_recourses: `R`, common recourses to find, at most; None for 10 rules or 100 vectors.
        max_changes: Rules: changes made together at most, 1 to 3.
        min_success: Rules: least share of the graphs a rule can be carried out on that it turns.
        min_support: Rules: fewest graphs that it turns.
        max_cost: Rules: most elements that it changes.
        problem: "fcr", or "fc" to draw all counterfactuals from a set no larger than the rejects.
        selection: "ball" or "dbscan"; None for what the preset takes.
        preset: "default" searches towards shared recourses, "paper" walks and clusters as the paper does.
        directional: Only recourses longer than Δ, whose balls exclude "change nothing"; None for yes where Δ is "auto".
        num_heads: `k` of the paper's walk.
        num_steps: `M` of the paper's walk.
        teleport: `τ` of the paper's walk.
        baseline: Another explainer to take counterfactuals from: a `Baseline` or its name. Recourses are vectors then, and what is left
            open is as in the paper.
        min_samples: Baselines: vectors that make a cluster; None for 2, and 1 for counterfactuals in the data.
        summary: Baselines: `k`, also choose so many counterfactuals that are near many inputs.
        constraint: Which edits are allowed; None for all.
        protect: Rules: SMARTS of what must stay in a molecule.
        forbid: Rules: SMARTS of what no result may have.
        only: Rules: SMARTS of where molecules may change.
        allow_alerts: Rules: allow changes that bring structural alerts (Brenk's catalog) to molecules of a table.
        time_budget: Seconds `fit` may take; what is found by then is the answer.
        jobs: Cores to use, None for all; the answer does not depend on it.
        device: Where torch models run.
        random_state: Seed of everything random.
        label_names: Name of each node label, where the graphs do not bring names.

    Attributes:
        explanation_: What was found.
        search_curve_: Coverage as the search went on.
        classifier_: The model as a `Classifier`.
        embedder_: The embedder, trained if need be; None where nothing was rejected.
        dataset_: The graphs of `fit`.
        rejects_: Those of them the model rejects.
        judges_: The ladder of changes on those graphs, and the panel if there is one.
        settings_: The parameters with nothing left open, the `Δ` used among them.
        verified_: Vectors: every recourse and pair a plain forward pass confirmed.
        mined_: Rules: the table of rules, to choose from again.
        summary_: Baselines: the counterfactuals near many inputs, if they were asked for.
    """

    model: Classifier | Callable[..., Any]
    embedder: Embedder | Callable[[Sequence[Graph]], Any] | EmbedderTraining | None = None
    _: KW_ONLY
    recourse: str | None = None
    changes: str | None = None
    panel: Panel | Sequence[str | Path] | bool | None = None
    agree: Sequence[Classifier | Callable[..., Any] | str | Path] = ()
    theta: float = 0.1
    delta: float | str = "auto"
    num_recourses: int | None = None
    max_changes: int = 2
    min_success: float = 0.0
    min_support: int = 1
    max_cost: int | None = None
    problem: str = "fcr"
    selection: str | None = None
    preset: str = "default"
    directional: bool | None = None
    num_heads: int = 5
    num_steps: int = 50_000
    teleport: float = 0.05
    baseline: Baseline | str | None = None
    min_samples: int | None = None
    summary: int | None = None
    constraint: Constraint | None = None
    protect: Sequence[str] = ()
    forbid: Sequence[str] = ()
    only: Sequence[str] = ()
    allow_alerts: bool = False
    time_budget: float | None = None
    jobs: int | None = None
    device: torch.device | str = "cpu"
    random_state: int = 0
    label_names: Sequence[str] | None = None

    def fit(
        self,
        graphs: Graphs,
        *,
        progress: Progress | None = None,
        checkpoint: str | Path | None = None,
        resume: bool = False,
        started: float | None = None,
    ) -> Self:
        """Find the common recourses of the graphs that the model rejects.

        Args:
            graphs: A PyG dataset, a list of PyG `Data` or a `GraphDataset`; they are left as they are.
            progress: Called with the stage, how much is done, how much there is, and a word on how it goes.
            checkpoint: Folder that keeps an unfinished search; None keeps none.
            resume: Go on from what that folder holds; the answer is the same as without the interruption.
            started: When the time budget began, as `time.monotonic()` counts; None for now.
        """
        settings, clock = self._settings(), Clock(self.time_budget, started)
        dataset, has_classes = as_dataset(graphs, self.label_names)
        classifier = self._classifier(dataset)
        obtain_embedder = self._embedder_source(dataset, progress)
        with reproducible():
            found = find_recourses(
                settings, dataset, classifier, obtain_embedder, self._panel_source(dataset, has_classes, progress),
                clock=clock, device=self.device, has_classes=has_classes, progress=progress,
                checkpoint=None if checkpoint is None else Path(checkpoint), resume=resume,
            )  # fmt: skip
        self.explanation_, self.search_curve_, self.settings_ = found.explanation, found.search_curve, found.settings
        self.dataset_, self.rejects_, self.verified_ = dataset, found.rejects, found.verified
        self.judges_, self.mined_, self.summary_ = found.judges, found.mined, found.summary
        self.classifier_, self.embedder_ = found.models.classifier, found.models.embedder
        return self

    def explain(self, graphs: Graphs, *, progress: Progress | None = None) -> Explanation:
        """Apply the recourses found to unseen graphs.

        Args:
            graphs: Unseen graphs, as for `fit`; those the model accepts need no recourse and are left out.
            progress: Called as work proceeds.

        Returns:
            The same recourses with the unseen rejects that each covers: `covering(i)` gives the edits for graph `i`, and
            `uncovered` the reason where there are none.
        """
        if not hasattr(self, "explanation_"):
            raise InputError("explain needs recourses: call fit first")
        dataset = over_labels_of(as_dataset(graphs)[0], self.dataset_)
        with reproducible():
            if self.embedder_ is None and self.settings_.recourse == "vectors":  # fit had nothing to embed
                self.embedder_ = self._embedder_source(self.dataset_, progress)(None)
            models = ModelPair(self.classifier_, self.embedder_)
            return apply_recourses(
                self.explanation_, dataset, models, self.settings_, self.judges_, device=self.device, progress=progress
            )

    def save(self, folder: str | Path) -> None:
        """Write what `fit` found to a folder, so that `load` can go on with it; models are kept by you.

        The folder is a run folder besides: `comrecgc report`, `comrecgc choose` and `comrecgc.load_explanation` read it.

        Args:
            folder: The folder; it is made if need be.
        """
        if not hasattr(self, "explanation_"):
            raise InputError("save needs recourses: call fit first")
        folder = Path(folder)
        check_writable(folder)
        self.explanation_.save(folder)
        params = {name: value for name, value in self.get_params().items() if name not in _GIVEN_AGAIN}
        facts = {"ladder": ladder_facts(self.judges_.ladder), "features": self.dataset_.features.tolist()}
        write_json(folder / EXPLAINER, facts | {"parameters": json_values("parameters", params)})

    @classmethod
    def load(
        cls,
        folder: str | Path,
        model: Classifier | Callable[..., Any],
        embedder: Embedder | Callable[[Sequence[Graph]], Any] | None = None,
        *,
        panel: Panel | Sequence[str | Path] | None = None,
        constraint: Constraint | None = None,
    ) -> Self:
        """An explainer that goes on with what `save` wrote: it can `explain` unseen graphs, and choose rules again.

        Args:
            folder: What `save` wrote.
            model: The classifier that was explained.
            embedder: The embedder, where recourses are vectors.
            panel: Other classifiers that are asked about accepted results.
            constraint: Which edits are allowed.
        """
        folder = Path(folder)
        explanation = load_explanation(folder)
        with refusing_damage(folder / EXPLAINER, advice=""):
            facts = read_json(folder / EXPLAINER)
            parameters: dict[str, Any] = {
                name: tuple(value) if isinstance(value, list) else value for name, value in facts["parameters"].items()
            }
            loaded = cls(model, embedder, **parameters, panel=panel, constraint=constraint)
            features = np.array(facts["features"], dtype=np.float32)
            ladder = ladder_from_facts(facts["ladder"], explanation.label_names)
            rejects = stored_rejects(explanation)
            loaded.dataset_ = replace(rejects.dataset, features=features)
        loaded.explanation_, loaded.rejects_ = explanation, rejects
        loaded.settings_ = replace(stored_settings(explanation), constraint=constraint, jobs=loaded.jobs)
        loaded.classifier_ = loaded._classifier(loaded.dataset_)
        loaded.embedder_ = None if embedder is None else as_embedder(embedder)
        asked = load_panel(panel, label_names=explanation.label_names) if isinstance(panel, Sequence) else panel
        loaded.judges_ = Judges(ladder=ladder, panel=asked)
        return loaded

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """The arguments of the constructor by name."""
        return {name: getattr(self, name) for name in _parameter_names()}

    def set_params(self, **params: Any) -> Self:
        """Set arguments of the constructor by name."""
        for name, value in params.items():
            if name not in _parameter_names():
                raise InputError(f"Parameters are {', '.join(_parameter_names())} (got {name!r})")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        shown = [type(self.model).__name__] + ([] if self.embedder is None else [type(self.embedder).__name__])
        shown += [
            f"{each.name}={getattr(self, each.name)!r}"
            for each in fields(self)
            if each.name not in ("model", "embedder") and getattr(self, each.name) is not each.default
        ]
        return f"{type(self).__name__}({', '.join(shown)})"

    def _settings(self) -> Settings:
        names = {each.name for each in fields(Settings)} & set(_parameter_names())
        values = {name: getattr(self, name) for name in names}
        if self.agree:
            if self.changes not in (None, "confirmed"):
                raise InputError(f"agree asks for changes='confirmed' (got {self.changes!r})")
            values["changes"] = "confirmed"
        if isinstance(self.baseline, str):
            values["baseline"] = make_baseline(self.baseline)
        return Settings(**values, seed=self.random_state)

    def _classifier(self, dataset: GraphDataset) -> Classifier:
        if isinstance(self.model, torch.nn.Module):
            self.model.to(self.device)
        return as_classifier(self.model, dataset)

    def _embedder_source(self, dataset: GraphDataset, progress: Progress | None) -> ObtainEmbedder:
        if self.embedder is not None and not isinstance(self.embedder, EmbedderTraining):
            given = as_embedder(self.embedder)
            return lambda _: given
        training = self.embedder or QUICK_TRAINING
        return lambda deadline: train_embedder(
            dataset.graphs, dataset.num_labels, training, progress=progress, deadline=deadline
        )

    def _panel_source(self, dataset: GraphDataset, has_classes: bool, progress: Progress | None) -> ObtainPanel | None:
        if self.agree:
            if self.panel is not None:
                raise InputError("agree takes the place of the panel (got both)")
            return agreement_source(self.agree, dataset)
        given = self._settings().wants_panel if self.panel is None else self.panel
        if isinstance(given, bool):
            return panel_source(dataset, has_classes=has_classes, jobs=self.jobs, progress=progress) if given else None
        panel = given if isinstance(given, Panel) else load_panel(given, label_names=dataset.label_names)
        return lambda _: (panel, f"A panel of {len(panel)} given classifiers was asked too.")


def agreement_source(
    models: Sequence[Classifier | Callable[..., Any] | str | Path], dataset: GraphDataset
) -> ObtainPanel:
    """Models, or files of them, that are explained together with another: a panel that must be unanimous."""
    members: list[PanelMember] = []
    for place, model in enumerate(models):
        if isinstance(model, str | Path):
            members += load_panel([model], label_names=dataset.label_names).members
        else:
            members.append(PanelMember(name=f"model {place + 2}", classifier=as_classifier(model, dataset)))
    names = ", ".join(member.name for member in members)
    sentence = (
        f"{len(members) + 1} classifiers are explained at once, the others being {names}: "
        "all reject every input and accept every counterfactual."
    )
    panel = Panel(tuple(members), unanimous=True)
    return lambda _: (panel, sentence)


def panel_source(
    dataset: GraphDataset,
    files: Sequence[str | Path] = (),
    training: PanelTraining | None = None,
    *,
    has_classes: bool = True,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> ObtainPanel:
    """Obtains a panel when it is called: from files, from the cache, or by training."""
    return lambda deadline: obtain_panel(
        dataset,
        files=files,
        training=training,
        has_classes=has_classes,
        jobs=jobs,
        deadline=deadline,
        progress=progress,
    )


def _parameter_names() -> list[str]:
    return [each.name for each in fields(CommonRecourseExplainer)]
