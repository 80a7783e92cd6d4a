"""The façade: a trained model and some graphs in, a few common recourses out. Reads like the pipeline it runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import torch

from comrecgc.classifiers import Classifier, as_classifier, predict
from comrecgc.datasets import GraphDataset
from comrecgc.embedding import Embedder, EmbedderTraining, as_embedder, train_embedder
from comrecgc.errors import InputError
from comrecgc.explanation import Explanation
from comrecgc.graphs import Constraint, Graph
from comrecgc.neighbourhood import NeighbourhoodScorer
from comrecgc.pipeline.application import apply_recourses
from comrecgc.pipeline.candidates import Progress, find_candidates
from comrecgc.pipeline.clock import Clock
from comrecgc.pipeline.conclusion import conclude
from comrecgc.pipeline.inputs import Graphs, as_dataset, over_labels_of, rejects_of
from comrecgc.pipeline.selection import choose_recourses, one_edit_length
from comrecgc.pipeline.settings import Settings
from comrecgc.pipeline.verification import Models
from comrecgc.threads import reproducible

_TRAINING = EmbedderTraining(effort=0.2)


class CommonRecourseExplainer:
    """Global counterfactual explanation of a graph classifier by common recourses (COMRECGC, ICML 2025).

    The constructor only keeps its arguments; `fit` checks them and does the work.

    Args:
        model: The classifier: a `torch.nn.Module`, a function, or a `Classifier`. For anything `as_classifier` cannot guess,
            call that first.
        embedder: Where distances come from: an `Embedder`, a function of graphs, an `EmbedderTraining` to train one on the
            graphs of `fit`, or None to train one quickly.
        theta: `θ`, the largest normalised distance of a counterfactual.
        delta: `Δ`, how near a recourse must come to cover a graph; "auto" is half the median length of a one-edit recourse
            on the data, and the paper's 0.02 under its preset.
        num_recourses: `R`, common recourses to find, at most.
        problem: "fcr", or "fc" to draw all counterfactuals from a set no larger than the rejects.
        selection: "ball" or "dbscan"; None for what the preset takes.
        preset: "default" searches towards shared recourses, "paper" walks and clusters as the paper does.
        directional: Only recourses longer than Δ, whose balls exclude "change nothing"; None for yes where Δ is "auto".
        num_heads: `k` of the paper's walk.
        num_steps: `M` of the paper's walk.
        teleport: `τ` of the paper's walk.
        constraint: Which edits are allowed; None for all.
        time_budget: Seconds `fit` may take; what is found by then is the answer.
        jobs: Cores to use, None for all; the answer does not depend on it.
        device: Where torch models run.
        random_state: Seed of everything random.
        label_names: Name of each node label, where the graphs do not bring names.

    Attributes:
        explanation_: What was found.
        search_curve_: Coverage as the search went on.
        classifier_: The model as a `Classifier`.
        embedder_: The embedder, trained if need be.
        dataset_: The graphs of `fit`.
        rejects_: Those of them the model rejects.
        settings_: The parameters with nothing left open, the `Δ` used among them.
        verified_: Every recourse and pair a plain forward pass confirmed.
    """

    explanation_: Explanation

    def __init__(
        self,
        model: Classifier | Callable[..., Any],
        embedder: Embedder | Callable[[Sequence[Graph]], Any] | EmbedderTraining | None = None,
        *,
        theta: float = 0.1,
        delta: float | str = "auto",
        num_recourses: int = 100,
        problem: str = "fcr",
        selection: str | None = None,
        preset: str = "default",
        directional: bool | None = None,
        num_heads: int = 5,
        num_steps: int = 50_000,
        teleport: float = 0.05,
        constraint: Constraint | None = None,
        time_budget: float | None = None,
        jobs: int | None = None,
        device: torch.device | str = "cpu",
        random_state: int = 0,
        label_names: Sequence[str] | None = None,
    ) -> None:
        self.model = model
        self.embedder = embedder
        self.theta = theta
        self.delta = delta
        self.num_recourses = num_recourses
        self.problem = problem
        self.selection = selection
        self.preset = preset
        self.directional = directional
        self.num_heads = num_heads
        self.num_steps = num_steps
        self.teleport = teleport
        self.constraint = constraint
        self.time_budget = time_budget
        self.jobs = jobs
        self.device = device
        self.random_state = random_state
        self.label_names = label_names

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
        checkpoint = None if checkpoint is None else Path(checkpoint)
        with reproducible():
            dataset, has_classes = as_dataset(graphs, self.label_names)
            models = Models(self._classifier(dataset), self._embedder(dataset, progress))
            clock.lap("models")
            predictions = predict(models.classifier, dataset)
            rejects = rejects_of(dataset, predictions)
            clock.make_room_for(len(rejects.graphs))
            scorer = self._scorer(models, dataset, settings)
            settings = settings.completed(one_edit_length(scorer, rejects.graphs, settings.seed))
            clock.lap("inputs")
            candidates = find_candidates(
                settings, scorer, rejects.graphs,
                deadline=clock.deadline, progress=progress, checkpoint=checkpoint, resume=resume,
            )  # fmt: skip
            clock.lap("search")
            centres, pairs = choose_recourses(settings, candidates)
            clock.lap("selection")
            explanation, verified = conclude(
                settings, rejects, candidates, centres, pairs, models, clock,
                warnings=[predictions.warning] if predictions.warning else [],
                notes=[*dataset.notes, *self._notes(settings, complete=candidates.complete)],
            )  # fmt: skip
        accuracy = float((predictions.accepted == dataset.classes).mean()) if has_classes and len(dataset) else None
        self.explanation_ = clock.stamped(explanation, seed=settings.seed, model_accuracy=accuracy)
        self.search_curve_ = candidates.curve
        self.classifier_, self.embedder_ = models.classifier, models.embedder
        self.dataset_, self.rejects_, self.settings_, self.verified_ = dataset, rejects, settings, verified
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
        dataset, _ = as_dataset(graphs)
        models = Models(self.classifier_, self.embedder_)
        with reproducible():
            return apply_recourses(
                self.explanation_,
                over_labels_of(dataset, self.dataset_),
                models,
                scorer=self._scorer(models, self.dataset_, self.settings_),
                settings=self.settings_,
                progress=progress,
            )

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
        defaults = inspect.signature(type(self)).parameters
        shown = [type(self.model).__name__] + ([] if self.embedder is None else [type(self.embedder).__name__])
        shown += [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if name not in ("model", "embedder") and value is not defaults[name].default
        ]
        return f"{type(self).__name__}({', '.join(shown)})"

    def _settings(self) -> Settings:
        names = "theta delta num_recourses problem selection preset directional num_heads num_steps teleport".split()
        return Settings(
            **{name: getattr(self, name) for name in (*names, "time_budget", "jobs")},
            seed=self.random_state,
            constraint=None if self.constraint is None else repr(self.constraint),
        )

    def _classifier(self, dataset: GraphDataset) -> Classifier:
        if isinstance(self.model, torch.nn.Module):
            self.model.to(self.device)
        return as_classifier(self.model, dataset)

    def _embedder(self, dataset: GraphDataset, progress: Progress | None) -> Embedder:
        if self.embedder is not None and not isinstance(self.embedder, EmbedderTraining):
            return as_embedder(self.embedder)
        return train_embedder(dataset.graphs, dataset.num_labels, self.embedder or _TRAINING, progress=progress)

    def _scorer(self, models: Models, dataset: GraphDataset, settings: Settings) -> NeighbourhoodScorer:
        return models.scorer(
            dataset.num_labels, constraint=self.constraint, device=self.device, num_threads=settings.num_jobs
        )

    def _notes(self, settings: Settings, *, complete: bool) -> list[str]:
        notes = []
        if self.delta == "auto" and settings.preset != "paper":
            notes.append(f"Δ = {settings.radius:.4g} is half the median length of a one-edit recourse on this data.")
        if not complete:
            notes.append(f"The time budget of {self.time_budget:g} s ended the search.")
        return notes


def _parameter_names() -> list[str]:
    return list(inspect.signature(CommonRecourseExplainer).parameters)
