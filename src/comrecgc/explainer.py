"""The façade: a trained model and some graphs in, a few common recourses out. Reads like the pipeline it runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch

from comrecgc.algorithms.baselines.registry import make_baseline
from comrecgc.algorithms.baselines.source import Baseline
from comrecgc.algorithms.inputs import Graphs, ModelPair, as_dataset, over_labels_of
from comrecgc.algorithms.judges import Judges, ObtainPanel, agreement_source, panel_source
from comrecgc.algorithms.rules.population import population_of
from comrecgc.algorithms.settings import Settings
from comrecgc.data import GraphDataset
from comrecgc.errors import InputError
from comrecgc.explanation import (
    Explanation,
    apply_recourses,
    json_values,
    load_explanation,
    stored_rejects,
    stored_settings,
)
from comrecgc.finding import ObtainEmbedder, find_recourses
from comrecgc.graphs import Constraint, Graph
from comrecgc.models import (
    Classifier,
    Embedder,
    EmbedderTraining,
    Panel,
    as_classifier,
    as_embedder,
    load_panel,
    train_embedder,
)
from comrecgc.molecules import ladder_facts, ladder_from_facts
from comrecgc.run import (
    Clock,
    Engine,
    Progress,
    check_writable,
    engine_of,
    read_json,
    refusing_damage,
    reproducible,
    write_json,
)
from comrecgc.terminal import bars

if TYPE_CHECKING:
    from distributed import Client


QUICK_TRAINING = EmbedderTraining(effort=0.2)
"""How an embedder is trained where nobody says how."""

EXPLAINER = "explainer.json"
"""File of a saved explainer in its folder."""

_GIVEN_AGAIN = ("model", "embedder", "panel", "agree", "constraint", "cluster", "device")
"""Arguments that no file holds."""

_ONE_NUMBER = "The model answers one number per graph, which is read as a logit: above 0 is accepted. `threshold` sets another limit."


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
        sample: Rules: graphs that are studied where there are more; the rules found are carried out on all.
        cluster: A `dask.distributed.Client`, or the address of a scheduler, whose workers carry rules out on all graphs, train a panel, and
            compute edit distances for an embedder; None for this machine.
        jobs: Cores to use, None for all; the answer does not depend on it.
        device: Where torch models run.
        random_state: Seed of everything random.
        label_names: Name of each node label, where the graphs do not bring names.
        target_class: The class that means accept; needed for models of three classes and more, 1 by default.
        source_class: Explain only graphs that the model puts into this class; None for all that it does not put into the target.
        threshold: For a regression model: graphs are accepted if its number is above this.
        accept: "higher" (the default) or "lower": on which side of the threshold graphs are accepted.
        bins: Cut columns of `x` with more values than this into so many ranges; the model sees the median of a node's range.

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
    sample: int = 5000
    cluster: Client | str | None = None
    jobs: int | None = None
    device: torch.device | str = "cpu"
    random_state: int = 0
    label_names: Sequence[str] | None = None
    target_class: int | None = None
    source_class: int | None = None
    threshold: float | None = None
    accept: str | None = None
    bins: int | None = None

    def fit(
        self,
        graphs: Graphs,
        *,
        progress: Progress | bool | None = None,
        checkpoint: str | Path | None = None,
        resume: bool = False,
        started: float | None = None,
    ) -> Self:
        """Find the common recourses of the graphs that the model rejects.

        Args:
            graphs: A PyG dataset, a list of PyG `Data` or a `GraphDataset`; they are left as they are.
            progress: True to show it, as a bar, as lines or below the cell of a notebook; or a function, called with the stage, how much
                is done, how much there is, and a word on how it goes.
            checkpoint: Folder that keeps an unfinished search; None keeps none.
            resume: Go on from what that folder holds; the answer is the same as without the interruption.
            started: When the time budget began, as `time.monotonic()` counts; None for now.
        """
        if isinstance(progress, bool):
            with bars() if progress else nullcontext() as shown:
                return self.fit(graphs, progress=shown, checkpoint=checkpoint, resume=resume, started=started)
        settings, clock = self._settings(), Clock(self.time_budget, started)
        dataset, has_classes = as_dataset(graphs, self.label_names, target=self.target_class, bins=self.bins)
        classifier = self._classifier(dataset)
        if not has_classes and self.threshold is None and getattr(classifier, "num_scores", None) == 1:
            dataset = replace(dataset, notes=(*dataset.notes, _ONE_NUMBER))
        engine = engine_of(self.cluster, settings.num_jobs)
        with reproducible():
            population = population_of(dataset, classifier, settings)
            study = dataset if population is None else population.study
            found = find_recourses(
                settings, study, classifier, self._embedder_source(study, engine, progress),
                self._panel_source(study, has_classes, engine, progress),
                clock=clock, device=self.device, has_classes=has_classes, progress=progress,
                checkpoint=None if checkpoint is None else Path(checkpoint), resume=resume,
                population=population, engine=engine,
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
        alphabet = None if self.bins is None else self.dataset_.features
        dataset = over_labels_of(as_dataset(graphs, alphabet=alphabet)[0], self.dataset_)
        with reproducible():
            if self.embedder_ is None and self.settings_.recourse == "vectors":  # fit had nothing to embed
                engine = engine_of(self.cluster, self.settings_.num_jobs)
                self.embedder_ = self._embedder_source(self.dataset_, engine, progress)(None)
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
        if self.dataset_.edge_features is not None:
            facts["edge_features"] = self.dataset_.edge_features.tolist()
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
            if (rows := facts.get("edge_features")) is not None:
                names = rejects.dataset.edge_label_names or tuple(map(str, range(len(rows))))
                known = np.array(rows, dtype=np.float32)
                loaded.dataset_ = replace(loaded.dataset_, edge_features=known, edge_label_names=names)
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
        asked = {name: getattr(self, name) for name in ("target_class", "source_class", "threshold", "accept")}
        if isinstance(self.model, Classifier) and any(value is not None for value in asked.values()):
            given = next(name for name, value in asked.items() if value is not None)
            raise InputError(
                f"{given} is for models that are not a Classifier yet: give it to as_classifier (got both)"
            )
        return as_classifier(self.model, dataset, **asked)

    def _embedder_source(self, dataset: GraphDataset, engine: Engine, progress: Progress | None) -> ObtainEmbedder:
        if self.embedder is not None and not isinstance(self.embedder, EmbedderTraining):
            given = as_embedder(self.embedder)
            return lambda _: given
        training = self.embedder or QUICK_TRAINING
        return lambda deadline: train_embedder(
            dataset.graphs, dataset.num_labels, training, progress=progress, deadline=deadline, engine=engine
        )

    def _panel_source(
        self, dataset: GraphDataset, has_classes: bool, engine: Engine, progress: Progress | None
    ) -> ObtainPanel | None:
        if self.agree:
            if self.panel is not None:
                raise InputError("agree takes the place of the panel (got both)")
            return agreement_source(self.agree, dataset)
        given = self._settings().wants_panel if self.panel is None else self.panel
        if isinstance(given, bool):
            return panel_source(dataset, has_classes=has_classes, engine=engine, progress=progress) if given else None
        panel = given if isinstance(given, Panel) else load_panel(given, label_names=dataset.label_names)
        return lambda _: (panel, f"A panel of {len(panel)} given classifiers was asked too.")


def _parameter_names() -> list[str]:
    return [each.name for each in fields(CommonRecourseExplainer)]
