"""A jury: models of other kinds than the explained network, which say how likely a changed graph truly is of the class accept.

Networks of one family learn the same mistakes from the same data: what a network confuses, its relatives confirm. Linear models and trees on counts of
neighbourhoods err elsewhere. Some members choose recourses, others take no part in any choice and only report. Every member is cross-fitted: the
result of a change is judged by a copy that was not trained on the original graph. A stack, fitted on answers out of fold, weighs each member by its
skill on unseen graphs.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numba
import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from comrecgc.data import GraphDataset
from comrecgc.errors import InputError
from comrecgc.graphs import GraphBatch, KeyArray, group_neighbours
from comrecgc.models.classifier import Classifier
from comrecgc.run import Progress

FloatArray = npt.NDArray[np.float64]

NUM_FOLDS = 4
"""Folds of the data; a graph is judged by copies that were trained on the other three."""

LEAST_BALANCED = 0.55
"""Balanced accuracy on unseen graphs below which a member only guesses and is left out."""

_LEAST_GRAPHS = 5  # of each class in every part
_FIRMEST = 0.99  # no member is taken for surer than this
_SHRINKAGE = 0.01  # of the stack towards the plain mean of log-odds
_FEWEST_SURE = 20  # answers by which noise is judged
_MOST_NOISE = 0.2
_ASKED_AT_ONCE = 4096  # graphs whose counts are in memory
_TREES = 100


@dataclass(frozen=True)
class Kind:
    """A kind of model."""

    name: str  # what it is called
    radius: int  # largest radius of the neighbourhoods that it counts
    model: str  # its name in scikit-learn
    options: dict[str, Any]

    def make(self, seed: int) -> Any:
        """A new model: trees, or a linear one on scaled counts."""
        from sklearn import ensemble, linear_model
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import MaxAbsScaler

        if hasattr(ensemble, self.model):
            return getattr(ensemble, self.model)(random_state=seed, **self.options)
        return make_pipeline(MaxAbsScaler(), getattr(linear_model, self.model)(**self.options))


BOOSTING: dict[str, Any] = {"learning_rate": 0.15, "max_leaf_nodes": 15, "min_samples_leaf": 5}
_LOGISTIC: dict[str, Any] = {"C": 3.0, "class_weight": "balanced", "max_iter": 300}
_FOREST: dict[str, Any] = {"n_estimators": _TREES, "class_weight": "balanced_subsample"}

_BALANCED: dict[str, Any] = {"class_weight": "balanced"}

CHOOSING = (
    Kind("logistic regression", 1, "LogisticRegression", _LOGISTIC),
    Kind("random forest", 1, "RandomForestClassifier", _FOREST),
    Kind("boosted trees", 1, "HistGradientBoostingClassifier", {"max_iter": _TREES} | _BALANCED | BOOSTING),
)
"""Kinds that estimate the truth of every result, by which recourses are chosen."""

REPORTING = (
    Kind("logistic regression of wider neighbourhoods", 2, "LogisticRegression", _LOGISTIC),
    Kind("extra trees", 1, "ExtraTreesClassifier", {"n_estimators": _TREES} | _BALANCED),
    Kind("random forest of wider neighbourhoods", 2, "RandomForestClassifier", _FOREST),
)
"""Kinds that take no part in any choice and report on the results shown."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Juror:
    """One member, trained once without each part of the data."""

    name: str  # its kind
    counts: NeighbourhoodCounts  # what it sees of a graph
    models: tuple[Any, ...]  # the copy that was trained without each part, `[NUM_FOLDS]`
    unseen: FloatArray  # answers for the data, `[n]`, each by the copy that was not trained on the graph
    skill: float  # how good these are: balanced accuracy, or the share of the variance of numbers


@dataclass(frozen=True, eq=False, kw_only=True)
class Jury:
    """Members that choose and members that report."""

    choosing: tuple[Juror, ...]  # members by which recourses are chosen
    reporting: tuple[Juror, ...]  # members that take no part in a choice
    folds: npt.NDArray[np.int64]  # the part of the data that each graph belongs to, `[n]`
    targets: npt.NDArray[Any]  # what they were trained on, `[n]`: which graphs have the class accept, or numbers
    places: npt.NDArray[np.int64] | None = None  # place in that data of each graph of a larger dataset, `[total]`
    guests: tuple[Classifier, ...] = ()  # models that the user brings; they report too

    def spread(self, places: npt.NDArray[np.int64], total: int) -> Self:
        """The same for a sample of a larger dataset, whose graphs are known by their places in it."""
        within = np.zeros(total, np.int64)
        within[places] = np.arange(len(places))
        return replace(self, folds=np.where(np.isin(np.arange(total), places), self.folds[within], 0), places=within)

    @cached_property
    def _stacks(self) -> tuple[Stack, Stack]:
        """The stacks of members that choose and of members that report."""
        ours, theirs = ([member.unseen for member in some] for some in (self.choosing, self.reporting))
        return Stack.of(ours, self.targets), Stack.of(theirs, self.targets)

    def truth(self, batch: GraphBatch, folds: npt.NDArray[np.int64], starts: FloatArray | None = None) -> FloatArray:
        """How likely each graph truly is of the class accept, according to the members that choose, `[B]`.

        `folds` are the folds of the original graphs, `[B]`; `starts` is for a jury for numbers.
        """
        del starts
        return self._stacks[0].probability(ask_members(self.choosing, batch, folds))

    def report(
        self, before: GraphBatch, after: GraphBatch, folds: npt.NDArray[np.int64], others: Sequence[Classifier] = (), known: FloatArray | None = None
    ) -> JuryReport:  # fmt: skip
        """The report on inputs and their results; `others` are further models that took no part in the choice, `known` is for a jury for numbers."""
        del known
        said = ask_members((*self.choosing, *self.reporting), after, folds)
        earlier = ask_members(self.reporting, before, folds)
        chose, later = said[:, : len(self.choosing)], said[:, len(self.choosing) :]
        # The estimate that chose is too high for what it chose. Where the others do not share it, hardly anything is left of the harmonic mean.
        expected = harmonic_mean(self._stacks[0].probability(chose), self._stacks[1].probability(later))
        for model in (*self.guests, *others):
            earlier = np.c_[earlier, model.accept_probability(before)]
            later = np.c_[later, model.accept_probability(after)]
        return JuryReport(expected, heard=earlier <= 0.5, agree=(earlier <= 0.5) & (later > 0.5))

    @property
    def sentence(self) -> str:
        """The jury in one sentence."""
        return f"A jury of other kinds of model estimates which results come true (balanced accuracy on unseen graphs): {self.named_members}."

    @property
    def named_members(self) -> str:
        """The members with the skill of each on unseen graphs."""
        chose, took_no_part = (
            ", ".join(f"{member.name} ({member.skill:.2f})" for member in members)
            for members in (self.choosing, self.reporting)
        )
        return f"{chose} choose; {took_no_part} took no part and report"


def harmonic_mean(ours: FloatArray, theirs: FloatArray) -> FloatArray:
    """The harmonic mean of two probabilities, which is small if they disagree."""
    return np.asarray(2 * ours * theirs / np.maximum(ours + theirs, 1e-9))


@dataclass(frozen=True, eq=False)
class JuryReport:
    """A jury's report on some results."""

    expected: FloatArray  # how likely each is of the class accept: harmonic mean of members that chose and that did not, `[B]`
    heard: npt.NDArray[np.bool_]  # which reporting members reject the input, so that their word counts, `[B, m]`
    agree: npt.NDArray[np.bool_]  # which of those accept the result, `[B, m]`

    @property
    def confirmed(self) -> npt.NDArray[np.bool_]:
        """Which results are accepted by most of the members that reject the input, `[B]`."""
        return np.asarray(2 * self.agree.sum(axis=1) > self.heard.sum(axis=1))


@dataclass(frozen=True, eq=False)
class Stack:
    """Answers of several members as one probability: a logistic regression on their log-odds."""

    weights: FloatArray  # weight of each member, none negative, `[m]`
    offset: float  # what is added
    noise: float = 0.0  # share of labels that are wrong: how often the surest answers disagree with them

    @classmethod
    def of(cls, unseen: Sequence[FloatArray], accepted: npt.NDArray[np.bool_]) -> Stack:
        """Fit the stack on answers out of fold, both classes weighing the same."""
        from scipy.optimize import minimize

        said = _log_odds(np.stack(unseen, axis=1))
        sign = np.where(accepted, 1.0, -1.0)
        weight = np.where(accepted, 0.5 / accepted.mean(), 0.5 / (1 - accepted.mean())) / len(accepted)
        plain = np.append(np.full(said.shape[1], 1 / said.shape[1]), 0.0)

        def loss(values: FloatArray) -> tuple[float, FloatArray]:
            margin = sign * (said @ values[:-1] + values[-1])
            slope = -weight * sign / (1 + np.exp(margin))
            away = values - plain
            total = float((weight * np.logaddexp(0, -margin)).sum() + _SHRINKAGE * (away**2).sum())
            return total, np.append(said.T @ slope, slope.sum()) + 2 * _SHRINKAGE * away

        bounds = [(0, None)] * said.shape[1] + [(None, None)]
        found = minimize(loss, plain, jac=True, bounds=bounds, method="L-BFGS-B").x
        stack = cls(found[:-1], float(found[-1]))
        together = stack.probability(np.stack(unseen, axis=1))
        surest = np.argsort(-np.abs(together - 0.5), kind="stable")[: max(_FEWEST_SURE, len(together) // 4)]
        wrong = float(((together > 0.5) != accepted)[surest].mean())
        return replace(stack, noise=min(wrong, _MOST_NOISE))

    def probability(self, said: FloatArray) -> FloatArray:
        """One probability from those of all members, `[B, m]` to `[B]`; it refers to the true label, corrected for label noise."""
        labelled = 1 / (1 + np.exp(-(_log_odds(said) @ self.weights + self.offset)))
        return np.clip((labelled - self.noise) / (1 - 2 * self.noise), 0, 1)


def train_jury(
    dataset: GraphDataset,
    *,
    has_classes: bool = True,
    seed: int = 0,
    jobs: int = 1,
    deadline: float | None = None,
    progress: Progress | None = None,
) -> tuple[Jury | None, str]:
    """Train a jury on the classes of some graphs, and a sentence on it; None and the reason if that is impossible.

    `has_classes` says whether the classes are true ones; `deadline` is in seconds of `time.monotonic`. The jury does not depend on `jobs`.
    """
    accepted = np.asarray(dataset.classes) == 1
    fewest = int(min(accepted.sum(), (~accepted).sum()))
    if not has_classes:
        return None, "There is no jury: the graphs have no classes to train it on."
    if fewest < _LEAST_GRAPHS * NUM_FOLDS:
        return None, f"There is no jury: it needs {_LEAST_GRAPHS * NUM_FOLDS} graphs of each class (got {fewest})."
    folds = stratified_folds(accepted, np.random.default_rng([seed, 40]))

    def balanced(unseen: FloatArray) -> float:
        right = (unseen > 0.5) == accepted
        return float(np.mean([right[accepted].mean(), right[~accepted].mean()]))

    by_chance = float(np.sqrt(0.25 / accepted.sum() + 0.25 / (~accepted).sum())) / 2  # standard deviation of a guess
    members = train_members(
        (CHOOSING, REPORTING), dataset, accepted, folds, balanced, max(LEAST_BALANCED, 0.5 + 3 * by_chance), seed=seed, jobs=jobs, deadline=deadline, progress=progress
    )  # fmt: skip
    if isinstance(members, str):
        return None, members
    jury = Jury(choosing=members[0], reporting=members[1], folds=folds, targets=accepted)
    return jury, jury.sentence


def train_members(
    kinds: tuple[tuple[Kind, ...], tuple[Kind, ...]],
    dataset: GraphDataset,
    targets: npt.NDArray[Any],
    folds: npt.NDArray[np.int64],
    skill: Callable[[FloatArray], float],
    least: float,
    *,
    seed: int,
    jobs: int,
    deadline: float | None,
    progress: Progress | None,
) -> tuple[tuple[Juror, ...], tuple[Juror, ...]] | str:
    """Members that choose and members that report, without those that only guess; or the reason why there are none.

    `targets` and `folds` are of each graph, `[n]`; `skill` says how good answers out of fold are, and below `least` a member only guesses.
    Members do not depend on `jobs`.
    """
    batch, members = GraphBatch.from_graphs(dataset.graphs), list[Juror]()
    together = (*kinds[0], *kinds[1])
    counts = {
        radius: NeighbourhoodCounts.of(batch, radius, rings=not dataset.is_molecular)
        for radius in sorted({kind.radius for kind in together})
    }
    tables = {radius: known.count(batch) for radius, known in counts.items()}
    for place, kind in enumerate(together):
        if deadline is not None and time.monotonic() > deadline:
            return "There is no jury: there was no time to train it."
        models = train_copies(kind, tables[kind.radius], targets, folds, seed + place, jobs)
        with threadpool_limits(1):
            unseen = answer_by_fold(models, tables[kind.radius], folds)
        members.append(Juror(name=kind.name, counts=counts[kind.radius], models=models, unseen=unseen, skill=skill(unseen)))  # fmt: skip
        if progress is not None:
            progress("training the jury", len(members), len(together), f"{kind.name}: {members[-1].skill:.2f}")
    chose, report = (
        tuple(member for member in some if member.skill >= least)
        for some in (members[: len(kinds[0])], members[len(kinds[0]) :])
    )
    if chose and report:
        return chose, report
    best = max(member.skill for member in members)
    return f"There is no jury: models of other kinds only guess what unseen graphs are (at most {best:.2f}, where {least:.2f} is needed)."


def train_copies(
    kind: Kind, table: npt.NDArray[np.float32], accepted: npt.NDArray[Any], folds: npt.NDArray[np.int64], seed: int, jobs: int
) -> tuple[Any, ...]:  # fmt: skip
    """A copy for each fold, trained on the others in one thread, so that it is the same on any machine."""

    def train(fold: int) -> Any:
        rows = folds != fold
        with threadpool_limits(1, user_api="openmp"):  # whose limit is that of the thread which sets it
            return kind.make(seed).fit(table[rows], accepted[rows])

    with threadpool_limits(1), warnings.catch_warnings(record=True):
        # Threads share the filters, and scikit-learn resets them: what it silences in one thread, it would utter in another.
        warnings.simplefilter("ignore")
        with ThreadPoolExecutor(max(1, jobs)) as pool:
            return tuple(pool.map(train, range(NUM_FOLDS)))


def stratified_folds(accepted: npt.NDArray[np.bool_], rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Folds of the data with equal shares of both classes, `[n]`."""
    folds = np.zeros(len(accepted), np.int64)
    for rows in (np.flatnonzero(accepted), np.flatnonzero(~accepted)):
        folds[rng.permutation(rows)] = np.arange(len(rows)) % NUM_FOLDS
    return folds


def ask_members(members: Sequence[Juror], batch: GraphBatch, folds: npt.NDArray[np.int64]) -> FloatArray:
    """Answer of each member, `[B, m]`; counts that several members need are computed once."""
    if len(folds) != len(batch):
        raise InputError(f"folds must be one per graph, {len(batch)} (got {len(folds)})")
    said = np.zeros((len(batch), len(members)))
    with threadpool_limits(1):
        for start in range(0, len(batch), _ASKED_AT_ONCE):
            rows = np.arange(start, min(start + _ASKED_AT_ONCE, len(batch)))
            part, tables = batch.select(rows), dict[int, npt.NDArray[np.float32]]()
            for place, member in enumerate(members):
                radius = member.counts.radius
                if radius not in tables:
                    tables[radius] = member.counts.count(part)
                said[rows, place] = answer_by_fold(member.models, tables[radius], folds[rows])
    return said


def answer_by_fold(models: Sequence[Any], table: npt.NDArray[np.float32], folds: npt.NDArray[np.int64]) -> FloatArray:
    """Answer for each row by the copy that was not trained on its fold, `[B]`."""
    said = np.zeros(len(table))
    for fold, model in enumerate(models):
        rows = np.flatnonzero(folds == fold)
        if len(rows):
            said[rows] = _probability(model, table[rows])
    return said


def _probability(model: Any, table: npt.NDArray[np.float32]) -> FloatArray:
    """Probability of accept of each row, or its number; trees of a forest are evaluated one by one, in any thread."""
    trees = getattr(model, "estimators_", None)
    if trees is None:
        return np.asarray(model.predict_proba(table)[:, 1] if hasattr(model, "predict_proba") else model.predict(table))
    return np.asarray(np.mean([tree.tree_.predict(table)[:, -1] for tree in trees], axis=0))


def _log_odds(probability: FloatArray) -> FloatArray:
    clipped = np.clip(probability, 1 - _FIRMEST, _FIRMEST)
    return np.asarray(np.log(clipped) - np.log1p(-clipped))


# Counts of neighbourhoods: what models that are no networks see of a labelled graph.
#
# The neighbourhood of a node at radius r is its label and, edge labels included, the neighbourhoods of its neighbours at radius r − 1
# (Weisfeiler-Lehman; for molecules these are Morgan's). A graph becomes the numbers of its nodes that have each neighbourhood, and its size:
# what no neighbourhood shows, such as the number of rings, is in that. Where labels say nothing of rings, as those of molecules do, the sizes
# of rings are counted too: no neighbourhood tells a house from a five-cycle and a triangle.


MOST_COLUMNS = 1024
"""Most neighbourhoods that are counted: the most frequent ones."""

RINGS = range(3, 9)
"""Sizes of rings that are counted."""

LEAST_GRAPHS = 2
"""Least number of graphs with a neighbourhood for it to be counted."""


@dataclass(frozen=True, eq=False, kw_only=True)
class NeighbourhoodCounts:
    """The neighbourhoods of some graphs, to be counted in others."""

    colours: KeyArray  # hash of each counted neighbourhood, `[C]`, increasing; radii have different hashes
    radius: int  # largest radius
    rings: bool = False  # whether nodes are counted by the smallest ring that they are part of, too

    @classmethod
    def of(cls, batch: GraphBatch, radius: int, *, rings: bool = False) -> NeighbourhoodCounts:
        """The neighbourhoods that several graphs of a batch have."""
        found, graphs = [], []
        graph_of_node = batch.graph_of_node()
        for colours in node_colours(batch, radius):
            order = np.lexsort((graph_of_node, colours))
            sorted_colours, owners = colours[order], graph_of_node[order]
            new = np.ones(len(order), bool)
            new[1:] = (np.diff(owners) != 0) | (sorted_colours[1:] != sorted_colours[:-1])
            known, count = np.unique(sorted_colours[new], return_counts=True)
            found.append(known[count >= LEAST_GRAPHS])
            graphs.append(count[count >= LEAST_GRAPHS])
        colours, count = np.concatenate(found), np.concatenate(graphs)
        common = np.lexsort((colours, -count))[:MOST_COLUMNS]
        return cls(colours=np.sort(colours[common]), radius=radius, rings=rings)

    def count(self, batch: GraphBatch) -> npt.NDArray[np.float32]:
        """Counts of each neighbourhood and of ring nodes in each graph; then nodes, edges, and edges minus nodes, `[B, C + 3]`."""
        num, graph_of_node = len(self.colours), batch.graph_of_node()
        table = np.zeros(len(batch) * num, np.float32)
        nodes, edges = batch.node_counts(), batch.edge_counts()
        size = np.stack([nodes, edges, edges - nodes], axis=1).astype(np.float32)
        for colours in node_colours(batch, self.radius):
            if not num:
                break
            place = np.minimum(np.searchsorted(self.colours, colours), num - 1)
            known = self.colours[place] == colours
            cells = graph_of_node[known] * num + place[known]
            table += np.bincount(cells, minlength=len(table)).astype(np.float32)
        parts = [table.reshape(len(batch), num), size]
        if self.rings:
            of_node = smallest_rings(*group_neighbours(batch), RINGS[-1])
            of_ring = [np.bincount(graph_of_node[of_node == ring], minlength=len(batch)) for ring in RINGS]
            parts.insert(1, np.stack(of_ring, axis=1).astype(np.float32))
        return np.concatenate(parts, axis=1)


class Likeness:
    """Likeness of graphs (Tanimoto): shared neighbourhoods of radius 0 to 2 over all neighbourhoods of either, each counted once.

    Args:
        batch: The graphs.
    """

    def __init__(self, batch: GraphBatch) -> None:
        from scipy.sparse import csr_matrix

        owner = np.tile(batch.graph_of_node(), 3)
        _, column = np.unique(np.concatenate(list(node_colours(batch, 2))), return_inverse=True)
        self._sets = csr_matrix((np.ones(len(owner), np.float32), (owner, column)), (len(batch), column.max() + 1))
        self._sets.data[:] = 1
        self._sizes = np.diff(self._sets.indptr)

    def between(self, first: npt.NDArray[np.int64], second: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Likeness of some graphs to others, given by positions, `[F, S]`."""
        shared = (self._sets[first] @ self._sets[second].T).toarray().astype(np.float64)
        return np.asarray(shared / (self._sizes[first][:, None] + self._sizes[second][None] - shared))


def node_colours(batch: GraphBatch, radius: int) -> Sequence[KeyArray]:
    """Hash of the neighbourhood of every node at radius 0, 1, …, `[N]` each.

    Sums of mixed hashes stand for multisets, so the order of nodes and edges does not matter. All arithmetic is modulo 2^64.
    """
    start, stop = batch.edges.T
    labels = np.zeros(len(start), np.int32) if batch.edge_labels is None else batch.edge_labels
    edge = mixed_keys(labels.astype(np.uint64) + np.uint64(1) << np.uint64(32))
    colours = [mixed_keys(batch.labels.astype(np.uint64) + np.uint64(1))]
    for step in range(1, radius + 1):
        known, total = colours[-1], np.zeros(len(batch.labels), np.uint64)
        np.add.at(total, start, mixed_keys(known[stop] ^ edge))
        np.add.at(total, stop, mixed_keys(known[start] ^ edge))
        colours.append(mixed_keys(known * np.uint64(3) + mixed_keys(total) + np.uint64(step)))
    return colours


def mixed_keys(values: KeyArray) -> KeyArray:
    """The finaliser of SplitMix64: every bit of the result depends on every bit of the value."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(values ^ (values >> np.uint64(31)))


@numba.njit(cache=True)
def smallest_rings(neighbours, ptr, most):  # type: ignore[no-untyped-def]
    """Nodes of the smallest ring that each node is part of, `[N]`; 0 for none of up to `most` nodes.

    Breadth-first search from each node: a ring closes where two paths through different neighbours meet.
    """
    num = len(ptr) - 1
    found = np.zeros(num, np.int32)
    seen, depth, branch, parent, queue = np.full((5, num), -1)
    for root in range(num):
        best, head, tail = most + 1, 0, 1
        queue[0], seen[root], depth[root], parent[root] = root, root, 0, -1
        while head < tail:
            node = queue[head]
            head += 1
            if 2 * depth[node] + 1 >= best:
                break
            for k in range(ptr[node], ptr[node + 1]):
                other = neighbours[k]
                if other == parent[node]:
                    continue
                if seen[other] != root:
                    seen[other], depth[other], parent[other] = root, depth[node] + 1, node
                    branch[other] = other if node == root else branch[node]
                    queue[tail] = other
                    tail += 1
                elif other != root and branch[other] != branch[node]:
                    best = min(best, depth[node] + depth[other] + 1)
        found[root] = best if best <= most else 0
    return found
