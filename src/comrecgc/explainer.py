"""The façade: from a trained model and graphs to a few common recourses, step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch

from comrecgc import explanation, models
from comrecgc.algorithms.base import Algorithm, Task, VectorAlgorithm, VectorTask
from comrecgc.algorithms.inputs import Graphs, ModelPair, Rejects, as_dataset, over_labels_of
from comrecgc.algorithms.plausibility import Plausibility, agreement_panel, find_jury, find_panel
from comrecgc.algorithms.rules.algorithm import Rules
from comrecgc.algorithms.rules.mined import MinedRules
from comrecgc.algorithms.rules.population import FullDataset, population_of
from comrecgc.algorithms.vectors.candidates import choose_recourses, one_edit_length
from comrecgc.data import Goal, GraphDataset
from comrecgc.errors import InputError
from comrecgc.explanation import Explanation, Origin, RuleChooser, Verified
from comrecgc.graphs import GraphBatch
from comrecgc.models import Classifier, Embedder, EmbedderTraining, GoalClassifier, Panel, PanelTraining
from comrecgc.molecules import ladder_facts, ladder_of
from comrecgc.run import RunContext, check_writable, reproducible

QUICK_TRAINING = EmbedderTraining(effort=0.2)
"""Default embedder training."""

_EMBEDDER_SHARE = 0.5  # of the time that is left may go into training the embedder

_AT_GOAL = "All {} graphs are at the goal already, {}: there is nothing to explain."
_ONE_NUMBER = "The model answers one number per graph, which is read as a logit: above 0 is accepted. `threshold` sets another limit."


@dataclass(eq=False, repr=False)
class CommonRecourseExplainer:
    """Global counterfactual explanation of a graph classifier by common recourses (COMRECGC, ICML 2025).

    The constructor only keeps its arguments; `fit` checks them and does the work.

    Args:
        model: The classifier: a `torch.nn.Module`, a function, a `Classifier`, or a file. If its answers cannot be read without hints, call
            `as_classifier` first.
        algorithm: How recourses are found, with its options: `Rules`, `Vectors`, `PaperWalk`, `PublishedWalk`, `GCFExplainer`, …
        accept: The class that means accept, 1 by default, required for models of three classes and more; with `threshold`, "higher" (the default) or
            "lower". For a model that answers a number also a `Goal`: a rise, a fall, or a value to reach.
        reject: Explain only graphs that the model assigns to this class; None for all that it does not accept.
        threshold: For a regression model: graphs are accepted if its number is above this.
        theta: `θ`, the largest normalised distance of a counterfactual.
        num_recourses: `R`, most common recourses to find; None for 10 rules or 100 vectors.
        panel: Other classifiers that vote on accepted results: a `Panel`, files of classifiers, a `PanelTraining`, True to train some
            on the classes of the graphs (once; they are kept), False for none. None trains them for rules, and where changes must be confirmed.
        jury: Models of other kinds that estimate which results come true: True or None trains some on the classes of the graphs (rules only), False
            asks none; further classifiers, or files of them, report beside them and choose nothing.
        agree: Further classifiers, or files of them, that are explained at the same time: inputs are the graphs that all of them and the
            model reject, and counterfactuals must be accepted by all. They take the place of the panel, and changes are "confirmed".
        random_state: Seed of everything random.
        context: How the run goes: time budget, cores, progress, checkpoints.

    Attributes:
        explanation_: What was found.
        search_curve_: Coverage as the search went on.
        classifier_: The model as a `Classifier`.
        embedder_: The embedder, trained if necessary; None if nothing was rejected.
        dataset_: The graphs of `fit`.
        rejects_: The graphs that the model rejects.
        plausibility_: The ladder of changes on those graphs, and the panel if there is one.
        task_: The task with every default filled in, including the `Δ` used.
        verified_: Vectors: every recourse and pair that a plain forward pass confirmed; None if nothing was rejected.
        mined_: Rules: the table of rules, to choose from again.
    """

    model: Classifier | Callable[..., Any] | str | Path
    algorithm: Algorithm = Rules()  # noqa: RUF009  # frozen
    _: KW_ONLY
    accept: int | str | Goal | None = None
    reject: int | None = None
    threshold: float | None = None
    theta: float = 0.1
    num_recourses: int | None = None
    panel: Panel | PanelTraining | Sequence[str | Path] | bool | None = None
    jury: Sequence[Classifier | Callable[..., Any] | str | Path] | bool | None = None
    agree: Sequence[Classifier | Callable[..., Any] | str | Path] = ()
    random_state: int = 0
    context: RunContext = RunContext()  # noqa: RUF009  # frozen

    def fit(self, graphs: Graphs) -> Self:
        """Find the common recourses of the graphs that the model rejects.

        Args:
            graphs: A PyG dataset, a list of PyG `Data` or a `GraphDataset`; not modified.
        """
        task = self.task()
        with self.context.begun() as context, reproducible():
            clock = context.clock
            self.dataset_, has_classes = as_dataset(
                graphs, target=self.accept if isinstance(self.accept, int) else None
            )
            self.dataset_, has_classes = self._aimed(self.dataset_, has_classes=has_classes)
            self.classifier_ = self._classifier(self.dataset_)
            if not has_classes and self.threshold is None and getattr(self.classifier_, "num_scores", None) == 1:
                self.dataset_ = replace(self.dataset_, notes=(*self.dataset_.notes, _ONE_NUMBER))
            doubts = models.check_own_data(self.classifier_, self.dataset_, strict=self.context.strict)
            population = None  # all graphs, where there are so many that rules are mined on a sample
            if isinstance(task.algorithm, Rules):
                sample = task.algorithm.sample
                population = population_of(self.dataset_, self.classifier_, sample, task.random_state)
            study = self.dataset_ if population is None else population.study
            inputs = _Inputs.of(study, self.classifier_, population, has_classes=has_classes)
            if isinstance(self.classifier_, GoalClassifier):
                inputs.describe_numbers(self.classifier_, study)
            inputs.warnings += doubts
            context.show_progress("rejected graphs", len(inputs.rejects), len(study), *inputs.warnings[:1])
            clock.lap("inputs")
            self.plausibility_ = self._plausibility(inputs, population, context, has_classes=has_classes)
            self.search_curve_: tuple[float, ...] = ()
            self.embedder_: Embedder | None = None
            self.mined_: MinedRules | None = None
            self.rejects_, self.task_ = inputs.rejects, task
            self.verified_: Verified | None = None
            if not inputs.rejects:
                self.task_ = task if task.recourse == "rules" else VectorTask.of(task)
                found = explanation.explain_nothing(
                    self.task_, inputs.rejects, warnings=inputs.warnings, notes=inputs.notes
                )
            elif isinstance(task.algorithm, Rules):
                found = self._fit_rules(task, inputs, population, context)
            else:
                found = self._fit_vectors(task, inputs, context)
            found = explanation.with_run_facts(found, clock, seed=self.random_state, model_accuracy=inputs.accuracy)
            if isinstance(self.classifier_, GoalClassifier):
                jury = self.plausibility_.jury
                numbers = explanation.number_facts(
                    self.classifier_,
                    self.rejects_,
                    self.dataset_,
                    jury if isinstance(jury, models.NumberJury) else None,
                )
                found = found.using(
                    facts=replace(found.facts, facts={**found.facts.facts, explanation.NUMBERS: numbers})
                )
            self.explanation_ = found.using(origin=Origin(self.classifier_, self.dataset_.attributes))
        return self

    def _fit_rules(
        self, task: Task[Rules], inputs: _Inputs, population: FullDataset | None, context: RunContext
    ) -> Explanation:
        """Mine a table of rules, and choose from it; no embedder is needed, as the distance is the cost of the change itself."""
        if context.before_search is not None:
            context.before_search()
        mined = task.algorithm.find(task, self.classifier_, inputs.rejects, self.plausibility_, context, population)
        self.rejects_ = mined.rejects
        if not mined.complete:
            inputs.notes.append(_out_of_time(context, "the search for rules of several changes"))
        texts = {"warnings": tuple(inputs.warnings), "notes": tuple(inputs.notes)}
        chooser = RuleChooser.of(task, mined, self.plausibility_, **texts).with_counts(self.classifier_, context)
        context.clock.lap("counting")
        found = chooser.explain(self.classifier_)
        context.clock.lap("choice")
        self.mined_ = chooser.mined
        return found

    def _fit_vectors(self, task: Task[VectorAlgorithm], inputs: _Inputs, context: RunContext) -> Explanation:
        """Embed the rejects, find candidates, choose recourses, and confirm every claim."""
        self.embedder_ = self._embedder(inputs.rejects.dataset, context)
        pair = ModelPair(self.classifier_, self.embedder_)
        self.rejects_ = rejects = inputs.rejects.embedded(pair)
        scorer = self.plausibility_.scorer(pair, rejects.dataset, task.algorithm, context)
        self.task_ = resolved = VectorTask.of(task, one_edit_length(scorer, rejects, task.random_state))
        context.clock.lap("embedder")
        if context.before_search is not None:
            context.before_search()
        candidates = task.algorithm.find(resolved, scorer, rejects, self.plausibility_.rung_check(resolved), context)
        context.clock.lap("search")
        candidates = self.plausibility_.confirmed(candidates, resolved, rejects.graphs)
        chosen = choose_recourses(resolved, candidates, context.num_jobs)
        context.clock.lap("selection")
        if isinstance(task.algorithm.choice.delta, str):
            inputs.notes.append(
                f"Δ = {resolved.delta:.4g} is half the median length of a one-edit recourse on this data."
            )
        if not candidates.complete:
            inputs.notes.append(_out_of_time(context, "the search"))
        found, self.verified_ = explanation.explain_recourses(
            resolved, rejects, candidates, chosen, pair, self.plausibility_, context.clock,
            warnings=inputs.warnings, notes=inputs.notes,
        )  # fmt: skip
        self.search_curve_ = candidates.curve
        return found

    def explain(self, graphs: Graphs) -> Explanation:
        """Apply the recourses found to unseen graphs.

        Args:
            graphs: Unseen graphs, as for `fit`; those the model accepts need no recourse and are left out.

        Returns:
            The same recourses with the unseen rejects that each covers: `covering(i)` gives the edits for graph `i`, and `uncovered` the reason if
            there are none.
        """
        if not hasattr(self, "explanation_"):
            raise InputError("explain needs recourses: call fit first")
        dataset = over_labels_of(as_dataset(graphs, like=self.dataset_)[0], self.dataset_)
        if isinstance(self.classifier_, GoalClassifier):
            dataset = models.with_sources(dataset)
        with self.context.begun() as context, reproducible():
            if self.embedder_ is None and self.task_.recourse == "vectors":  # fit had nothing to embed
                self.embedder_ = self._embedder(self.dataset_, context)
            pair = ModelPair(models.over_dataset(self.classifier_, dataset), self.embedder_)
            found = explanation.apply_recourses(
                self.explanation_, dataset, pair, self.task_, self.plausibility_, context
            )
            return found.using(origin=Origin(pair.classifier, dataset.attributes))

    def save(self, folder: str | Path) -> None:
        """Write what `fit` found to a run folder; `comrecgc.open_run` goes on with it, given the model.

        Args:
            folder: The folder, created if it does not exist.
        """
        if not hasattr(self, "explanation_"):
            raise InputError("save needs recourses: call fit first")
        check_writable(Path(folder))
        facts = dict(self.explanation_.facts.facts) | {
            "ladder": ladder_facts(self.plausibility_.ladder),
            "features": self.dataset_.features.tolist(),
        }
        if self.dataset_.attributes is not None and not self.dataset_.attributes.by_label:
            facts["own_features"] = True
        if self.dataset_.edge_features is not None:
            facts["edge_features"] = self.dataset_.edge_features.tolist()
        self.explanation_.using(facts=replace(self.explanation_.facts, facts=facts)).save(folder)

    def task(self) -> Task[Any]:
        """The checked task."""
        algorithm = self.algorithm
        if self.agree:
            if self.panel:
                raise InputError("agree replaces the panel: give one of them (got both)")
            if algorithm.changes not in ("confirmed", type(algorithm).changes):
                raise InputError(f"agree asks for changes='confirmed' (got {algorithm.changes!r})")
            algorithm = replace(algorithm, changes="confirmed")
        return Task(
            algorithm=algorithm, theta=self.theta, num_recourses=self.num_recourses,  # type: ignore[arg-type]  # None is filled in
            random_state=self.random_state,
        )  # fmt: skip

    def __repr__(self) -> str:
        shown = [type(self.model).__name__] + [
            f"{each.name}={getattr(self, each.name)!r}"
            for each in fields(self)
            if each.name != "model" and getattr(self, each.name) is not each.default
        ]
        return f"{type(self).__name__}({', '.join(shown)})"

    def _aimed(self, dataset: GraphDataset, *, has_classes: bool) -> tuple[GraphDataset, bool]:
        """The graphs with the goal for their numbers, and whether their classes are known; without a goal both are unchanged."""
        goal = self.accept if isinstance(self.accept, Goal) else dataset.goal
        if goal is None:
            return dataset, has_classes
        given = self.panel or self.agree or self.threshold is not None or self.reject is not None
        if self.algorithm.recourse != "rules" or given:
            raise InputError(
                "A goal in numbers needs rules, and no panel, agree, reject or threshold (got one of these)"
            )
        return models.with_sources(dataset.aiming(goal)), False

    def _classifier(self, dataset: GraphDataset) -> Classifier:
        model = self.model
        if isinstance(model, str | Path):
            model = models.load_classifier(Path(model), label_names=dataset.label_names)
        if isinstance(model, torch.nn.Module):
            try:
                model.to(self.context.device)
            except (AssertionError, RuntimeError) as error:  # torch asserts that it was compiled with CUDA
                reason = str(error).partition("\n")[0]
                raise InputError(
                    f"device must be one that torch can use here (got {self.context.device}: {reason})"
                ) from error
        if dataset.goal is not None:
            return models.as_goal_classifier(model, dataset, dataset.goal)
        given = {name: getattr(self, name) for name in ("accept", "reject", "threshold")}
        if isinstance(model, Classifier) and any(value is not None for value in given.values()):
            name = next(name for name, value in given.items() if value is not None)
            raise InputError(f"{name} is for models that are not a Classifier yet: give it to as_classifier (got both)")
        return models.over_dataset(models.as_classifier(model, dataset, **given), dataset)

    def _plausibility(
        self, inputs: _Inputs, population: FullDataset | None, context: RunContext, *, has_classes: bool
    ) -> Plausibility:
        """The ladder of changes of the data, the panel and the jury; other models decide what is rejected only with `agree`."""
        study = inputs.rejects.dataset
        plausibility = Plausibility(ladder=ladder_of(study.graphs, study.label_names, study.edge_label_names))
        if inputs.rejects and self.jury is not False and self.algorithm.recourse == "rules":
            guests = () if self.jury is None or self.jury is True else self.jury
            jury, sentence = find_jury(guests, study, context, has_classes=has_classes, seed=self.random_state)
            inputs.notes.append(sentence)
            if jury is not None and population is not None:
                jury = jury.spread(population.studied, len(population.dataset))
            plausibility = replace(plausibility, jury=jury)
            context.clock.lap("jury")
        wanted = self.algorithm.wants_panel and study.goal is None if self.panel is None else self.panel
        if not inputs.rejects or not (self.agree or wanted):
            return plausibility
        if self.agree:
            panel: Panel | None
            panel, sentence = agreement_panel(self.agree, study)
            inputs.rejects = inputs.rejects.rejected_by(panel)
        else:
            panel, sentence = find_panel(wanted, study, context, has_classes=has_classes)
        inputs.notes.append(sentence)
        context.clock.lap("panel")
        return replace(plausibility, panel=panel, why_no_panel=sentence)

    def _embedder(self, study: GraphDataset, context: RunContext) -> Embedder:
        given = self.algorithm.embedder if isinstance(self.algorithm, VectorAlgorithm) else None
        if isinstance(given, str | Path):
            return models.load_embedder(Path(given), label_names=study.label_names)
        if given is not None and not isinstance(given, EmbedderTraining):
            return models.as_embedder(given)
        training, deadline = given or QUICK_TRAINING, context.clock.training_deadline(_EMBEDDER_SHARE)
        how: dict[str, Any] = {"progress": context.report, "deadline": deadline, "engine": context.engine}
        if context.folder is None:
            return models.train_embedder(study.graphs, study.num_labels, training, **how)
        return models.obtain_embedder(study, None, context.folder, training=training, **how)[0]


@dataclass(eq=False)
class _Inputs:
    """The rejected graphs, warnings and notes on them, and the accuracy of the model if classes are known."""

    rejects: Rejects
    warnings: list[str]
    notes: list[str]
    accuracy: float | None = None

    def describe_numbers(self, classifier: GoalClassifier, study: GraphDataset) -> None:
        """Add a note on the agreement of measured numbers with the model's answers."""
        at_goal = _AT_GOAL.format(len(study), classifier.goal.words(study.numbers.name))
        self.warnings = [at_goal] if len(study) and not self.rejects else []
        if study.values is not None and len(study):
            error = np.abs(classifier.numbers(GraphBatch.from_graphs(study.graphs)) - study.values)
            self.notes.append(
                f"The model answers {study.numbers.name} with a median error of {float(np.median(error)):.2g}."
            )

    @classmethod
    def of(
        cls, study: GraphDataset, classifier: Classifier, population: FullDataset | None, *, has_classes: bool
    ) -> _Inputs:
        """The rejects among the graphs of the dataset or of its sample."""
        predictions = models.predict(classifier, study)
        rejects = Rejects.of(study, predictions)
        if population is not None:
            rejects = replace(rejects, indices=population.studied[rejects.indices])
        inputs = cls(rejects, [predictions.warning] if predictions.warning else [], list(study.notes))
        if has_classes and len(study):
            agreement = models.Agreement.of(predictions, study)
            inputs.accuracy = agreement.accuracy
            if agreement.has_both:
                inputs.notes.append(agreement.sentence)
                inputs.warnings += [agreement.warning] if agreement.warning else []
        return inputs


def _out_of_time(context: RunContext, what: str) -> str:
    return f"The time budget of {context.time_budget:g} s ended {what}."
