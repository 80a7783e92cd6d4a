"""A model that answers a number, read with a goal: a graph is accepted where its number reaches the threshold of the graph that it comes from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from comrecgc.data import Goal, GraphDataset
from comrecgc.errors import InputError
from comrecgc.graphs import GraphBatch, LongArray
from comrecgc.models.adapter import as_classifier, over_dataset
from comrecgc.models.classifier import Classifier, FloatArray, log_odds
from comrecgc.models.networks import GraphClassifier


@dataclass(frozen=True, eq=False, kw_only=True)
class GoalClassifier:
    """A number with a goal as a classifier.

    Args:
        model: A classifier whose log-odds are the number less `centre`, in units of `unit`.
        goal: What is to become of the number.
        centre: The number at even odds.
        unit: Spread of the numbers.
        starts: Number of every graph of the data as it is, by its `source`, `[n]`; empty where the goal is a value.
    """

    model: Classifier
    goal: Goal
    centre: float
    unit: float
    starts: FloatArray

    @property
    def num_labels(self) -> int:
        return self.model.num_labels

    def numbers(self, batch: GraphBatch) -> FloatArray:
        """The number of each graph, `[B]`."""
        return np.asarray(self.centre + self.unit * log_odds(self.model.accept_probability(batch)))

    def margins(self, model_log_odds: FloatArray, sources: LongArray) -> FloatArray:
        """Log-odds of reaching the goal, `[B]`, from those of the model; `sources` are the graphs that each comes from."""
        starts = self.starts[sources] if self.goal.is_relative else np.zeros(len(sources))
        numbers = self.centre + self.unit * model_log_odds
        return np.asarray(self.goal.sign * (numbers - self.goal.thresholds(starts)) / self.unit)

    def accept_probability(self, batch: GraphBatch) -> FloatArray:
        """Probability of accept, `[B]`: the distance from the threshold as log-odds."""
        sources = batch.sources()
        if self.goal.is_relative and len(sources) and sources.min() < 0:
            raise InputError("A relative goal needs graphs of the data, or changed ones (got others)")
        margin = self.margins(log_odds(self.model.accept_probability(batch)), sources)
        return np.asarray(np.exp(-np.logaddexp(0, -margin)))

    def over(self, dataset: GraphDataset) -> GoalClassifier:
        """The same for the graphs of a dataset, whose sources are their places."""
        model = over_dataset(self.model, dataset)
        starts = (
            replace(self, model=model).numbers(GraphBatch.from_graphs(dataset.graphs))
            if self.goal.is_relative
            else np.zeros(0)
        )
        return replace(self, model=model, starts=starts)


def as_goal_classifier(model: Any, dataset: GraphDataset, goal: Goal) -> GoalClassifier:
    """A regression model with a goal.

    Args:
        model: A network that was trained on numbers; a torch module or a function with one output; or what `as_classifier` makes of a model with any
            `threshold`, for a function of SMILES say.
        dataset: The data it is for.
        goal: What is to become of the number.
    """
    if isinstance(model, GoalClassifier):
        return replace(model, goal=goal).over(dataset)
    known = model.facts.get("number") if isinstance(model, GraphClassifier) else None
    if known is not None:
        inner: Classifier = model
        centre, unit = float(known["centre"]), float(known["unit"])
    elif (reading := getattr(model, "reading", None)) is not None and reading.threshold is not None and reading.higher:
        inner, centre, unit = model, reading.threshold, reading.spread  # as_classifier made it of a regression model
    else:
        if isinstance(model, Classifier):
            raise InputError(
                f"A goal needs a model that answers one number per graph (got the classifier {type(model).__name__})"
            )
        centre = goal.amount if dataset.values is None else float(np.mean(dataset.values))
        inner = as_classifier(model, dataset, threshold=centre)
        unit = float(inner.reading.spread)  # type: ignore[attr-defined]
    return GoalClassifier(model=inner, goal=goal, centre=centre, unit=unit, starts=np.zeros(0)).over(dataset)


def with_sources(dataset: GraphDataset) -> GraphDataset:
    """The same graphs, which know their places: changed ones are judged by the graph that they come from."""
    if dataset.attributes is not None:
        return dataset
    return replace(dataset, graphs=tuple(graph.of_source(place) for place, graph in enumerate(dataset.graphs)))
