"""Numbers instead of classes: a model that answers a number, read with a goal; and a jury of linear models and trees that predict a measured number.

The predicted effect of a change is the difference of two answers of the same copies, none of which was trained on the original graph. Its error is
estimated from measured pairs: graphs of the table that differ by one change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from comrecgc.data import Goal, GraphDataset
from comrecgc.errors import InputError
from comrecgc.graphs import GraphBatch, LongArray
from comrecgc.models import jury
from comrecgc.models.adapter import as_classifier, over_dataset
from comrecgc.models.classifier import Classifier, log_odds
from comrecgc.models.jury import NUM_FOLDS, FloatArray, Jury, JuryReport, Likeness, ask_members, harmonic_mean
from comrecgc.models.networks import GraphClassifier
from comrecgc.run import Progress

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class GoalClassifier:
    """A number with a goal as a classifier: a graph is accepted if its number reaches the threshold of the graph it comes from."""

    model: Classifier  # its log-odds are the number less `centre`, in units of `unit`
    goal: Goal  # what is to become of the number
    centre: float  # the number at even odds
    unit: float  # spread of the numbers
    starts: FloatArray  # number of every graph of the data as it is, by its `source`, `[n]`; empty where the goal is a value

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
        found = replace(self, model=over_dataset(self.model, dataset), starts=np.zeros(0))
        if not self.goal.is_relative:
            return found
        return replace(found, starts=found.numbers(GraphBatch.from_graphs(dataset.graphs)))


def as_goal_classifier(model: Any, dataset: GraphDataset, goal: Goal) -> GoalClassifier:
    """A regression model with a goal: a network that was trained on numbers, a torch module or a function with one output, or what `as_classifier` makes of a
    model with any `threshold`, for a function of SMILES say.
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
    """The same graphs with their positions as sources, so that changed graphs are compared with the original."""
    if dataset.attributes is not None:
        return dataset
    return replace(dataset, graphs=tuple(graph.of_source(place) for place, graph in enumerate(dataset.graphs)))


# The jury: its members see counts of neighbourhoods, and are cross-fitted.

LEAST_SHARE = 0.05
"""Explained share of the variance of unseen numbers below which a member only guesses and is left out."""

_LEAST_GRAPHS = 40
_FOREST: dict[str, Any] = {"n_estimators": 60, "max_features": 0.3}
_MOST_PAIRS = 150  # of a rule that are weighed
_LEVELS = np.linspace(0.0025, 0.9975, 200)

CHOOSING = (
    jury.Kind("ridge regression of wider neighbourhoods", 2, "Ridge", {"alpha": 1.0}),
    jury.Kind("random forest", 1, "RandomForestRegressor", _FOREST),
    jury.Kind("boosted trees", 1, "HistGradientBoostingRegressor", {"max_iter": 80} | jury.BOOSTING),
)
"""Kinds that estimate every change, by which recourses are chosen."""

REPORTING = (
    jury.Kind("ridge regression", 1, "Ridge", {"alpha": 1.0}),
    jury.Kind("extra trees of wider neighbourhoods", 2, "ExtraTreesRegressor", _FOREST),
)
"""Kinds that take no part in any choice and report on the results shown."""


@dataclass(frozen=True, eq=False, kw_only=True)
class EffectModel:
    """Effect of a rule on a number, from predictions and measured pairs.

    A measured change is the predicted one times `weight`, plus an effect of the rule, plus an error. Effects of a rule in two graphs correlate with the likeness of the graphs: pairs of one series agree, and say little about other series.
    When a graph is changed, a `return_share` of the difference between its own measurement and its prediction goes back: that is no effect of a rule.
    """

    weight: float = 1.0
    return_share: float = 0.0
    seen: float = 1.0  # the weight in pairs of which one graph was seen in training
    strength: float = 0.3  # variance of effects of rules, in variances of errors
    shared: float = 0.3  # share of that variance which graphs have in common however unlike they are
    errors: FloatArray = field(
        default_factory=lambda: np.zeros(1)
    )  # quantiles of measured changes about predicted ones

    def likely(self, surplus: FloatArray, variance: FloatArray | float | None = None) -> FloatArray:
        """Probability that changes expected to exceed the goal by `surplus` reach it, `[B]`; `variance` is what remains of the variance of the rule's effect, given the pairs."""
        left = self.strength if variance is None else variance
        scale = np.sqrt((1 + left) / (1 + self.strength))
        levels = np.linspace(0, 1, len(self.errors) + 2)[1:-1]
        return np.asarray(1 - np.interp(-surplus / scale, self.errors, levels, left=0.0, right=1.0))

    def surplus(self, likely: FloatArray) -> FloatArray:
        """What `likely` was asked about without pairs, `[B]`."""
        return -np.interp(1 - likely, np.linspace(0, 1, len(self.errors) + 2)[1:-1], self.errors)

    def effect(self, rest: FloatArray, among: FloatArray, across: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Effect of a rule in some graphs, and its variance in variances of errors, `[Q]` each.

        `rest` is what measured pairs of the rule leave unexplained, `[P]`, `among` the likeness of their graphs to each other, `[P, P]`, and `across` that of
        the other graphs to these, `[Q, P]`.
        """
        near, far = (self.strength * (self.shared + (1 - self.shared) * likeness**2) for likeness in (among, across))
        solved = np.linalg.solve(near + np.eye(len(rest)), np.c_[rest, far.T])
        return far @ solved[:, 0], self.strength - (far * solved[:, 1:].T).sum(axis=1)


@dataclass(frozen=True, eq=False, kw_only=True)
class MeasuredGraphs:
    """Measured graphs with the models' predictions."""

    values: FloatArray  # their numbers, `[n]`
    answers: FloatArray  # their numbers according to copies that lack each part of the data, `[NUM_FOLDS, n]`
    folds: npt.NDArray[np.int64]  # the part that each belongs to, `[n]`; -1 for graphs that no copy was trained on
    likeness: Likeness  # how alike they are

    def changes(self, first: IntArray, second: IntArray) -> tuple[FloatArray, FloatArray, npt.NDArray[np.bool_]]:
        """Predicted change of pairs and the surprise of the first number, `[P]` each, by copies that lack either; and which pairs no such copy was trained on."""
        one, two = self.folds[first], self.folds[second]
        one, two = np.where(one < 0, two, one), np.where(two < 0, one, two)
        before, after = ((self.answers[one, graphs] + self.answers[two, graphs]) / 2 for graphs in (first, second))
        return after - before, self.values[first] - before, one == two

    def unexplained(self, first: IntArray, second: IntArray, model: EffectModel) -> FloatArray:
        """Residuals of measured changes, `[P]`."""
        predicted, _, unseen = self.changes(first, second)
        return np.asarray(
            self.values[second] - self.values[first] - np.where(unseen, model.weight, model.seen) * predicted
        )

    def effect(
        self, pairs: Sequence[tuple[int, int]], graphs: IntArray, model: EffectModel
    ) -> tuple[FloatArray, FloatArray]:
        """Effect of a rule in some graphs beyond the prediction, and its variance, `[Q]` each, from its measured pairs."""
        pairs = pairs[:: -(-len(pairs) // _MOST_PAIRS)] if pairs else ()
        first, second = np.array(pairs, np.int64).reshape(-1, 2).T
        between = self.likeness.between
        return model.effect(self.unexplained(first, second, model), between(first, first), between(graphs, first))


@dataclass(frozen=True, eq=False, kw_only=True)
class NumberJury(Jury):
    """A jury for numbers: members that choose and members that report."""

    goal: Goal  # what is to become of them
    effects: EffectModel = field(default_factory=EffectModel)  # how predictions and measured pairs are put together
    measured: MeasuredGraphs | None = None  # the graphs that it was trained on; None before pairs are looked for

    @cached_property
    def weights(self) -> tuple[FloatArray, FloatArray]:
        """Weight of each member that chooses, and that reports: none negative, and those that fit the answers out of fold best."""
        ours, theirs = ([member.unseen for member in some] for some in (self.choosing, self.reporting))
        return _weights(ours, self.targets), _weights(theirs, self.targets)

    def numbers(self, batch: GraphBatch, folds: npt.NDArray[np.int64], *, reporting: bool = False) -> FloatArray:
        """The number of each graph according to the members that choose, or to those that report, `[B]`."""
        members = self.reporting if reporting else self.choosing
        weights = self.weights[int(reporting)]
        return np.asarray(ask_members(members, batch, folds) @ weights[:-1] + weights[-1])

    def answers(self, batch: GraphBatch) -> FloatArray:
        """The number of each graph according to the copies that lack each part of the data, `[NUM_FOLDS, B]`."""
        return np.stack([self.numbers(batch, np.full(len(batch), fold)) for fold in range(NUM_FOLDS)])

    def effect(self, pairs: Sequence[tuple[int, int]], indices: IntArray) -> tuple[FloatArray, FloatArray]:
        """Correction of a rule's predicted change in graphs of the data by its measured pairs, and the remaining variance, `[Q]` each."""
        if self.measured is None:
            return np.zeros(len(indices)), np.full(len(indices), self.effects.strength)
        return self.measured.effect(pairs, self._studied(indices), self.effects)

    def num_series(self, pairs: Sequence[tuple[int, int]]) -> float:
        """Pairs that are unlike each other: those of one series count as one."""
        assert self.measured is not None
        first = np.array(pairs, np.int64).reshape(-1, 2)[:, 0]
        return float((1 / (self.measured.likeness.between(first, first) ** 2).sum(axis=1)).sum())

    def _studied(self, indices: IntArray) -> IntArray:
        return indices if self.places is None else self.places[indices]

    def surplus(self, before: FloatArray, after: FloatArray) -> FloatArray:
        """By how much each change of what is predicted is expected to exceed the goal, `[B]`."""
        return self.goal.surplus(before, before + self.effects.weight * (after - before))

    def truth(self, batch: GraphBatch, folds: npt.NDArray[np.int64], starts: FloatArray | None = None) -> FloatArray:
        """How likely each graph reaches the goal, by the members that choose, `[B]`; `starts` are their numbers of what each was made from."""
        assert starts is not None
        return self.effects.likely(self.surplus(starts, self.numbers(batch, folds)))

    def report(
        self, before: GraphBatch, after: GraphBatch, folds: npt.NDArray[np.int64], others: Sequence[Classifier] = (), known: FloatArray | None = None
    ) -> JuryReport:  # fmt: skip
        """The report on inputs and their results; `others` know only classes and are ignored.

        `known` is what measured pairs add to the predicted change and the variance that they leave, `[B, 2]`; None without pairs.
        """
        del others
        added, variance = (0.0, None) if known is None else known.T
        said = []
        for who in (False, True):
            numbers = (self.numbers(batch, folds, reporting=who) for batch in (before, after))
            surplus = self.surplus(*numbers) + self.goal.sign * added
            said.append(self.effects.likely(surplus, variance))
        expected = harmonic_mean(*said)
        earlier, later = ask_members(self.reporting, before, folds), ask_members(self.reporting, after, folds)
        agree = np.stack([self.goal.surplus(earlier[:, k], later[:, k]) >= 0 for k in range(earlier.shape[1])], axis=1)
        return JuryReport(expected, heard=np.ones_like(agree), agree=agree)

    @property
    def sentence(self) -> str:
        """The jury in one sentence."""
        low, high = np.quantile(self.effects.errors, (0.25, 0.75))
        return (
            f"A jury of other kinds of model predicts the numbers too (share of the variance of unseen ones): {self.named_members}. "
            f"Half of the measured changes lie {low:+.2g} to {high:+.2g} about what it predicts."
        )


def train_number_jury(
    dataset: GraphDataset,
    goal: Goal,
    *,
    seed: int = 0,
    jobs: int = 1,
    deadline: float | None = None,
    progress: Progress | None = None,
) -> tuple[NumberJury | None, str]:
    """Train a jury on the numbers of some graphs, and a sentence on it; None and the reason if that is impossible. It does not depend on `jobs`."""
    values = dataset.values
    if values is None:
        return None, "There is no jury: the graphs have no numbers to train it on."
    if len(values) < _LEAST_GRAPHS:
        return None, f"There is no jury: it needs {_LEAST_GRAPHS} graphs with numbers (got {len(values)})."
    folds, variance = jury.stratified_folds(values > np.median(values), np.random.default_rng([seed, 40])), values.var()
    members = jury.train_members(
        (CHOOSING, REPORTING), dataset, values, folds, lambda unseen: 1 - float(((unseen - values) ** 2).mean() / max(variance, 1e-12)), LEAST_SHARE,
        seed=seed, jobs=jobs, deadline=deadline, progress=progress,
    )  # fmt: skip
    if isinstance(members, str):
        return None, members
    found = NumberJury(choosing=members[0], reporting=members[1], folds=folds, targets=values, goal=goal)
    weights = found.weights[0]
    unseen = np.stack([member.unseen for member in found.choosing], axis=1) @ weights[:-1] + weights[-1]
    found = replace(found, effects=EffectModel(errors=np.quantile(values - unseen, _LEVELS)))
    return found, found.sentence


def _weights(unseen: Sequence[FloatArray], values: FloatArray) -> FloatArray:
    """Non-negative weights of answers that fit the numbers best, and the intercept, `[m + 1]`."""
    from scipy.optimize import nnls

    said = np.stack(unseen, axis=1)
    centre = values.mean()
    weights = nnls(said - centre, values - centre)[0]
    return np.append(weights, centre * (1 - weights.sum()))
