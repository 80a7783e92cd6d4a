"""A jury for numbers: linear models and trees on counts of neighbourhoods that predict a measured number, each cross-fitted.

What a change does is the difference of two answers of the same copies, none of which was trained on the graph that is changed. How sure that is follows from
measured pairs: graphs of the table that differ by one change.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from comrecgc.data import Goal, GraphDataset
from comrecgc.graphs import GraphBatch
from comrecgc.models.classifier import Classifier
from comrecgc.models.jury import (
    FloatArray,
    Juror,
    JuryReport,
    Kind,
    answer_by_fold,
    ask_members,
    stratified_folds,
    train_copies,
)
from comrecgc.models.neighbourhoods import NeighbourhoodCounts
from comrecgc.run import Progress

LEAST_SHARE = 0.05
"""Share of the variance of unseen numbers below which a member only guesses, and is not heard."""

_LEAST_GRAPHS = 40
_TREES = 60
_COLUMNS = 0.3  # share that a split of a tree looks at


def _ridge(_: int) -> Any:
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler

    return make_pipeline(MaxAbsScaler(), Ridge(alpha=1.0))


def _trees(name: str) -> Callable[[int], Any]:
    def make(seed: int) -> Any:
        from sklearn import ensemble

        return getattr(ensemble, name)(_TREES, max_features=_COLUMNS, random_state=seed)

    return make


def _boosted(seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(
        max_iter=80, learning_rate=0.15, max_leaf_nodes=15, min_samples_leaf=5, random_state=seed
    )


CHOOSING = (
    Kind("ridge regression of wider neighbourhoods", 2, _ridge),
    Kind("random forest", 1, _trees("RandomForestRegressor")),
    Kind("boosted trees", 1, _boosted),
)
"""Kinds that estimate every change, by which recourses are chosen."""

REPORTING = (
    Kind("ridge regression", 1, _ridge),
    Kind("extra trees of wider neighbourhoods", 2, _trees("ExtraTreesRegressor")),
)
"""Kinds that take no part in any choice, and are asked about what is shown."""


@dataclass(frozen=True, eq=False, kw_only=True)
class NumberJury:
    """Members that choose and members that report, about numbers.

    Args:
        choosing: Members by which recourses are chosen.
        reporting: Members that take no part in a choice.
        folds: The part of the data that each graph belongs to, `[n]`.
        values: The measured numbers, `[n]`.
        goal: What is to become of them.
        noise: Standard deviation of a measured change about what the jury predicts.
        prior: Measured pairs that the jury's estimate weighs as much as.
        return_share: How much of what a graph's own number exceeds its prediction by goes when it is changed.
        guests: Models that the user brings; none for numbers.
    """

    choosing: tuple[Juror, ...]
    reporting: tuple[Juror, ...]
    folds: npt.NDArray[np.int64]
    values: FloatArray
    goal: Goal
    noise: float = 1.0
    prior: float = 10.0
    return_share: float = 0.0
    guests: tuple[Classifier, ...] = ()

    def spread(self, places: npt.NDArray[np.int64], total: int) -> NumberJury:
        """The same for a sample of a larger dataset, whose graphs are known by their places in it."""
        folds = np.zeros(total, np.int64)
        folds[places] = self.folds
        return replace(self, folds=folds)

    @cached_property
    def weights(self) -> tuple[FloatArray, FloatArray]:
        """Weight of each member that chooses, and that reports: none negative, and those that fit the answers out of fold best."""
        return tuple(
            _weights([member.unseen for member in members], self.values) for members in (self.choosing, self.reporting)
        )  # type: ignore[return-value]

    def numbers(self, batch: GraphBatch, folds: npt.NDArray[np.int64], *, reporting: bool = False) -> FloatArray:
        """The number of each graph according to the members that choose, or to those that report, `[B]`."""
        members = self.reporting if reporting else self.choosing
        weights = self.weights[int(reporting)]
        return np.asarray(ask_members(members, batch, folds) @ weights[:-1] + weights[-1])

    @cached_property
    def unseen(self) -> FloatArray:
        """Number of every graph of the data by copies that were not trained on it, `[n]`."""
        weights = self.weights[0]
        return np.asarray(np.stack([member.unseen for member in self.choosing], axis=1) @ weights[:-1] + weights[-1])

    def likely(self, before: FloatArray, after: FloatArray) -> FloatArray:
        """How likely a change of the number reaches the goal, `[B]`."""
        from scipy.special import ndtr

        return np.asarray(ndtr(self.goal.surplus(before, after) / self.noise))

    def truth(self, batch: GraphBatch, folds: npt.NDArray[np.int64], before: FloatArray) -> FloatArray:
        """How likely each graph reaches the goal, by the members that choose, `[B]`; `before` is their number of what each was made from."""
        return self.likely(before, self.numbers(batch, folds))

    def report(
        self, before: GraphBatch, after: GraphBatch, folds: npt.NDArray[np.int64], others: Sequence[Classifier] = ()
    ) -> JuryReport:
        """What is to be said of results that are shown; `others` know classes alone, and are not asked."""
        del others
        ours, theirs = (
            self.likely(self.numbers(before, folds, reporting=who), self.numbers(after, folds, reporting=who))
            for who in (False, True)
        )
        expected = 2 * ours * theirs / np.maximum(ours + theirs, 1e-9)
        earlier, later = ask_members(self.reporting, before, folds), ask_members(self.reporting, after, folds)
        heard = np.ones_like(earlier, dtype=bool)
        agree = np.stack([self.goal.surplus(earlier[:, k], later[:, k]) >= 0 for k in range(earlier.shape[1])], axis=1)
        return JuryReport(expected, heard=heard, agree=agree)

    @property
    def sentence(self) -> str:
        """The jury in one sentence."""

        def named(members: Sequence[Juror]) -> str:
            return ", ".join(f"{member.name} ({member.balanced_accuracy:.2f})" for member in members)

        return (
            f"A jury of other kinds of model predicts the numbers too (share of the variance of unseen ones): {named(self.choosing)} choose; "
            f"{named(self.reporting)} took no part and report. Measured changes lie {self.noise:.2g} about what it predicts."
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
    """Train a jury on the numbers of some graphs, and a sentence on it; None and the reason where that cannot be.

    Args:
        dataset: Graphs with their numbers.
        goal: What is to become of these.
        seed: Of the parts of the data and of the trees.
        jobs: Copies trained at a time; the jury does not depend on it.
        deadline: When to give up, in seconds of `time.monotonic`.
        progress: Called after each member.
    """
    values = dataset.values
    if values is None:
        return None, "There is no jury: the graphs have no numbers to train it on."
    if len(values) < _LEAST_GRAPHS:
        return None, f"There is no jury: it needs {_LEAST_GRAPHS} graphs with numbers (got {len(values)})."
    folds = stratified_folds(values > np.median(values), np.random.default_rng([seed, 40]))
    batch = GraphBatch.from_graphs(dataset.graphs)
    kinds, members = (*CHOOSING, *REPORTING), []
    tables = {radius: NeighbourhoodCounts.of(batch, radius) for radius in (1, 2)}
    counted = {radius: counts.count(batch) for radius, counts in tables.items()}
    for place, kind in enumerate(kinds):
        if deadline is not None and time.monotonic() > deadline:
            return None, "There is no jury: there was no time to train it."
        models = train_copies(kind, counted[kind.radius], values, folds, seed + place, jobs)
        unseen = answer_by_fold(models, counted[kind.radius], folds)
        share = 1 - float(((unseen - values) ** 2).mean() / max(float(values.var()), 1e-12))
        members.append(
            Juror(name=kind.name, counts=tables[kind.radius], models=models, unseen=unseen, balanced_accuracy=share)
        )
        if progress is not None:
            progress("training the jury", len(members), len(kinds), f"{kind.name}: {share:.2f}")
    choosing, reporting = (
        tuple(member for member in some if member.balanced_accuracy >= LEAST_SHARE)
        for some in (members[: len(CHOOSING)], members[len(CHOOSING) :])
    )
    if not choosing or not reporting:
        return None, "There is no jury: models of other kinds only guess the numbers of unseen graphs."
    jury = NumberJury(choosing=choosing, reporting=reporting, folds=folds, values=values, goal=goal)
    jury = replace(jury, noise=float(np.std(jury.unseen - values)) or 1.0)
    return jury, jury.sentence


def _weights(unseen: Sequence[FloatArray], values: FloatArray) -> FloatArray:
    """Weights of answers that fit the numbers best, none negative, and what is added, `[m + 1]`."""
    from scipy.optimize import nnls

    said = np.stack(unseen, axis=1)
    centre = values.mean()
    weights = nnls(said - centre, values - centre)[0]
    return np.append(weights, centre * (1 - weights.sum()))
