"""From recourses and their counterfactuals to the explanation, and the evidence for rules.

Evidence for rules comes from members of the jury that took no part, from pairs of real graphs, and from measured effects on a number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.base import Task
from comrecgc.algorithms.inputs import RejectPlace, Rejects
from comrecgc.algorithms.matched_pairs import LabelledGraphs, MatchedPairs
from comrecgc.algorithms.plausibility import Plausibility, Verdicts
from comrecgc.algorithms.rules.algorithm import Rules
from comrecgc.algorithms.rules.choice import RuleFilter, choose
from comrecgc.algorithms.rules.mined import MinedRules
from comrecgc.algorithms.rules.reading import MinedRule
from comrecgc.cover import Reason
from comrecgc.data import DatasetIndex, Goal, GraphDataset
from comrecgc.errors import InputError
from comrecgc.explanation.records import CommonRecourse, CoveredInput, Explanation, RejectedInput, RunFacts, Uncovered
from comrecgc.graphs import Graph, GraphBatch, NeighbourIndex, Rule, Rung, Site, carry_out_everywhere, edits_between
from comrecgc.models import Classifier, GoalClassifier, GraphClassifier, Jury, JuryReport, NumberJury, log_odds
from comrecgc.molecules import has_rdkit, is_valid_molecule, property_changes, to_smiles
from comrecgc.run import Clock, peak_memory, versions


@dataclass(frozen=True, eq=False, kw_only=True)
class VerifiedCounterfactual:
    """An input under the first recourse that covers it, and the counterfactual that shows it, confirmed by a plain forward pass."""

    place: RejectPlace
    recourse: int  # place of the recourse
    member: CoveredInput  # its index in the dataset and its place on the map are filled in by `assemble`
    vector: npt.NDArray[np.float32] | None = None  # vectors: `r(G, H)`, `[d]`
    confirmed: bool | None = None  # whether most of the panel accept it; none where that is not known

    @classmethod
    def by_rule(
        cls, recourse: int, rule: Rule, place: int, graph: Graph, site: Site, changed: Graph, probability: float, *,
        confirmed: bool | None = None, truth: float | None = None,
    ) -> VerifiedCounterfactual:  # fmt: skip
        """The result of a rule at a site of a graph."""
        cost = rule.cost + graph.size + rule.size_change - changed.size  # with edges that go with removed nodes
        known: dict[str, Any] = {"probability": probability, "counterfactual": changed, "truth": truth}
        known |= {"distance": rule.distance(graph, changed), "site": site, "num_edits": cost, "cost": cost}
        member = CoveredInput(input=DatasetIndex(place), edits=edits_between(graph, changed), **known)
        return cls(place=RejectPlace(place), recourse=recourse, member=member, confirmed=confirmed)


def assemble(
    task: Task[Any],
    rejects: Rejects,
    plausibility: Plausibility | None,
    recourses: Sequence[CommonRecourse] = (),
    shown: Sequence[VerifiedCounterfactual] = (),
    turned: Sequence[Iterable[int]] = (),
    reasons: Mapping[int, Reason] | None = None,
    figures: Mapping[str, float | int | None] | None = None,
    *,
    parameters: Mapping[str, Any],
    warnings: Sequence[str] = (),
    notes: Sequence[str] = (),
    shortcuts: Sequence[CommonRecourse] = (),
) -> Explanation:
    """Build the explanation from recourses, with words and statistics and without inputs, and one counterfactual of each input that they cover.

    `turned` has the positions of all inputs that each recourse covers, including those that an earlier one covers. `reasons` says why an input is
    left out, by its position among the rejects. Without `plausibility` rungs are not computed.
    """
    dataset = rejects.dataset
    is_known = any(it.confirmed is not None for it in shown)
    known = np.array([bool(it.confirmed) for it in shown], bool) if is_known else None
    verdicts, after = Verdicts(np.zeros(0, np.int8), None), [it.member.counterfactual for it in shown]
    if plausibility is not None:
        verdicts = plausibility.judge([rejects.graphs[it.place] for it in shown], after, known)
    if task.recourse == "rules":
        assert (verdicts.rungs >= Rung.parse(task.changes)).all(), "a counterfactual is off the rung of the run"
        assert all(it.member.distance <= task.theta for it in shown), "a counterfactual is farther than theta"
    positions = map_positions([it.vector for it in shown if it.vector is not None]) or [(0.0, 0.0)] * len(shown)
    members: list[list[int]] = [[] for _ in recourses]
    for k, it in enumerate(shown):
        members[it.recourse].append(k)
    complete, covered = [], set[int]()
    for recourse, rows, places in zip(recourses, members, turned, strict=True):
        graphs, before = [after[k] for k in rows], [rejects.graphs[shown[k].place] for k in rows]
        valid, properties = _chemistry(before, graphs, dataset, is_rule=recourse.rule is not None)
        figures_of = {**recourse.statistics, **verdicts.shares(rows), **properties}
        of = [replace(shown[k].member, input=rejects.index(shown[k].place), position=positions[k]) for k in rows]
        also = rejects.indices[sorted(set(places) & covered)].tolist()
        known_of = {"statistics": figures_of, "covered": tuple(of), "also_covers": also, "share_valid": valid}
        complete.append(replace(recourse, **known_of))
        covered |= {shown[k].place for k in rows}
    metrics = {"coverage": len(shown) / max(len(rejects), 1), **(figures or {}), **verdicts.shares()}
    metrics |= {**verdicts.coverage(len(rejects)), "num_inputs": len(rejects), "num_recourses": len(recourses)}
    names, stereos = (texts or [""] * len(rejects) for texts in (rejects.names, rejects.stereo))
    columns = (rejects.indices.tolist(), rejects.graphs, rejects.scores.probability.tolist(), names, stereos)
    inputs = {index: RejectedInput(graph, 1 - p, *texts) for index, graph, p, *texts in zip(*columns, strict=True)}
    uncovered = [
        Uncovered(input=rejects.index(RejectPlace(place)), reason=reason)
        for place, reason in sorted((reasons or {}).items())
        if place not in covered
    ]
    return Explanation(
        schema=dataset.schema, parameters=parameters, metrics=metrics, inputs=inputs, recourses=tuple(complete),
        uncovered=tuple(uncovered), warnings=tuple(warnings), notes=tuple(notes), shortcuts=tuple(shortcuts),
        recourse=task.recourse, changes=task.changes,
    )  # fmt: skip


def explain_nothing(task: Task[Any], rejects: Rejects, *, warnings: Sequence[str], notes: Sequence[str]) -> Explanation:
    """The explanation if the model rejects no graph."""
    return assemble(task, rejects, None, parameters=task.parameters(), warnings=warnings, notes=notes)


def map_positions(vectors: Sequence[npt.NDArray[np.float32]]) -> list[tuple[float, float]]:
    """Vectors on a plane: their two principal components, signs fixed by the largest entry of each axis."""
    if not vectors:
        return []
    rows = np.stack(vectors).astype(np.float64)
    centred = rows - rows.mean(axis=0)
    covariance = centred.T @ centred
    axes = np.linalg.eigh(covariance)[1][:, ::-1][:, :2]  # [d, 2]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
    plane = np.zeros((len(rows), 2))
    plane[:, : axes.shape[1]] = centred @ axes
    return [(round(x, 6), round(y, 6)) for x, y in plane.tolist()]


def _chemistry(
    before: Sequence[Graph], after: Sequence[Graph], dataset: GraphDataset, *, is_rule: bool
) -> tuple[float | None, dict[str, Any]]:
    """Share of counterfactuals that are valid molecules, None if rdkit cannot check it; and how a rule changes properties, empty if bonds are not known."""
    valid, changes, names = None, None, dataset.label_names
    with suppress(InputError):  # no rdkit, or edge labels that are no bonds
        if dataset.is_molecular and after:
            valid = float(np.mean([is_valid_molecule(graph, names) for graph in after]))
        if is_rule and dataset.is_molecular and dataset.edge_label_names:
            changes = property_changes(before, after, names)
    return valid, {} if changes is None else {"properties": changes}


def with_run_facts(
    explanation: Explanation, clock: Clock, *, seed: int | None = None, model_accuracy: float | None = None
) -> Explanation:
    """The explanation with the facts of its run: seed, versions, seconds and memory."""
    measured: dict[str, Any] = {"versions": versions(), "seconds": clock.seconds, "peak_memory": peak_memory()}
    return explanation.using(facts=RunFacts(seed=seed, model_accuracy=model_accuracy, **measured))


# What speaks for rules.


HARDLY = 0.05  # share of the inputs below which hardly anything is expected to come true

NUM_SHORTCUTS = 5  # shortcuts of the model that are listed, at most

BELIEVED = 0.5  # results that are less likely than this to come true move the explained model alone

_PRIOR = 10.0  # real pairs that the jury's estimate of classes weighs as much as
_MOST_LISTED = 100  # pairs of a rule


@dataclass(frozen=True, eq=False, kw_only=True)
class Trust:
    """Evidence for the results of the chosen rules."""

    report: JuryReport | None  # what the jury says of each result shown
    pairs: Sequence[MatchedPairs] | None  # real graphs that differ by each rule; none where no classes are known
    shown: Sequence[VerifiedCounterfactual]
    num_inputs: int
    weighed: bool = False  # whether the jury knows of the pairs already, as it does of numbers

    def statistics(self, recourse: int, dataset: GraphDataset) -> dict[str, Any]:
        """Figures of one recourse; empty without jury and pairs."""
        report, pairs = self.report, None if self.pairs is None else self.pairs[recourse]
        said: dict[str, Any] = {}
        rows = [k for k, it in enumerate(self.shown) if it.recourse == recourse]
        known = [truth for k in rows if (truth := self.shown[k].member.truth) is not None]
        if rows and (report is not None or known):
            mean = float(report.expected[rows].mean()) if report is not None else float(np.mean(known))
            expected, interval = expected_share(mean, MatchedPairs() if self.weighed or pairs is None else pairs)
            said |= {"expected_true": expected, "expected_interval": list(interval)}
        if rows and report is not None:
            said["jury_confirmed"] = int(report.confirmed[rows].sum())
        if pairs is not None and len(pairs):
            said["pairs"] = {**pairs.figures(), "listed": _listed(pairs, dataset)}
        return said

    def figures(self, statistics: Sequence[dict[str, Any]]) -> dict[str, float]:
        """Figures of all recourses together."""
        count = np.array([sum(it.recourse == k for it in self.shown) for k in range(len(statistics))])
        if not any("expected_true" in one for one in statistics):
            return {}
        expected = np.array([one.get("expected_true", 0.0) for one in statistics])
        figures = {"expected_true": float(np.average(expected, weights=count))}
        if self.report is None:
            return figures
        confirmed = int(self.report.confirmed.sum())
        figures["jury_confirmed"] = confirmed / max(self.num_inputs, 1)
        return figures | {"jury_share": confirmed / len(self.shown)}


def trust_in(
    task: Task[Rules],
    mined: MinedRules,
    plausibility: Plausibility,
    records: Sequence[MinedRule],
    shown: Sequence[VerifiedCounterfactual],
) -> Trust:
    """Ask members that took no part in the choice of the rules about the results shown, and look for pairs of real graphs."""
    jury, rejects = plausibility.jury, mined.rejects
    if jury is None:
        return Trust(report=None, pairs=None, shown=shown, num_inputs=len(rejects))
    graphs, report = LabelledGraphs(rejects.dataset), None
    pairs = [mined.pairs[it.row] if it.row in mined.pairs else graphs.pairs(it.rule) for it in records]
    if shown:
        places = np.array([it.place for it in shown])
        before = GraphBatch.from_graphs(rejects.graphs[place] for place in places.tolist())
        after = GraphBatch.from_graphs(it.member.counterfactual for it in shown)
        folds = jury.folds[rejects.indices[places]]
        known = _measured(jury, pairs, shown, rejects) if isinstance(jury, NumberJury) else None
        report = jury.report(before, after, folds, _relatives(task, plausibility), known)
    return Trust(report=report, pairs=pairs, shown=shown, num_inputs=len(rejects), weighed=isinstance(jury, NumberJury))


def _measured(
    jury: NumberJury, pairs: Sequence[MatchedPairs], shown: Sequence[VerifiedCounterfactual], rejects: Rejects
) -> npt.NDArray[np.float64]:
    """Correction of each result's predicted change by measured pairs of its rule, and the remaining variance, `[B, 2]`."""
    indices = rejects.indices[[it.place for it in shown]]
    known, of = np.zeros((len(shown), 2)), np.array([it.recourse for it in shown])
    for number, own in enumerate(pairs):
        known[of == number] = np.stack(jury.effect(own.listed, indices[of == number]), axis=1)
    return known


def _relatives(task: Task[Rules], plausibility: Plausibility) -> list[Any]:
    """Networks of the panel that took no part in the choice; none if results must be confirmed or if models are explained together."""
    panel = plausibility.panel
    if panel is None or panel.unanimous or Rung.parse(task.changes) == Rung.CONFIRMED:
        return []
    return [member.classifier for member in panel.members]


def expected_share(estimate: float, pairs: MatchedPairs) -> tuple[float, tuple[float, float]]:
    """Share of the results of a rule that are expected to come true, and its 95% interval.

    Pairs of real graphs whose first is labelled reject are direct observations; the jury's estimate weighs as much as ten of them.
    """
    turned, stayed = pairs.as_said + _PRIOR * estimate, pairs.stays_reject + _PRIOR * (1 - estimate)
    from scipy.stats import beta

    low, high = (float(beta.ppf(level, turned + 0.5, stayed + 0.5)) for level in (0.025, 0.975))
    return turned / (turned + stayed), (low, high)


def weigh_pairs(mined: MinedRules, rows: Sequence[int], graphs: LabelledGraphs, jury: Jury | None = None) -> MinedRules:
    """The same table in which the jury's estimates of some rules follow real pairs of the data too."""
    table, truth, pairs = mined.table, mined.table.entries.truth.astype(np.float64), dict(mined.pairs)
    for record in mined.rules([row for row in rows if row not in pairs]):
        entries, found = table.entries_of(record.row), graphs.pairs(record.rule)
        pairs[record.row] = found
        if isinstance(jury, NumberJury):
            added, variance = jury.effect(found.listed, mined.rejects.indices[table.entries.input[entries]])
            surplus = jury.effects.surplus(truth[entries] / 100) + jury.goal.sign * added
            truth[entries] = 100 * jury.effects.likely(surplus, variance)
            continue
        mean = float(truth[entries].mean()) / 100
        share = expected_share(mean, found)[0]
        if share < mean:  # each doubt or hope grows by the same factor, so that the mean is the share
            truth[entries] *= share / mean
        elif mean < 1:
            truth[entries] = 100 - (100 - truth[entries]) * (1 - share) / (1 - mean)
    estimates = np.clip(np.rint(truth), 0, 100).astype(np.int8)
    return replace(mined, table=replace(table, entries=replace(table.entries, truth=estimates)), pairs=pairs)


def _listed(pairs: MatchedPairs, dataset: GraphDataset) -> list[dict[str, Any]]:
    """The pairs by name, with their labels; molecules with their SMILES."""
    is_table = dataset.is_molecular and bool(dataset.edge_label_names) and has_rdkit()

    def one(place: int) -> dict[str, Any]:
        known: dict[str, Any] = {"name": dataset.names[place] if dataset.names else str(place)}
        if dataset.goal is not None and dataset.values is not None:
            known["label"] = float(dataset.values[place])
        else:
            known["label"] = dataset.class_names[int(dataset.classes[place])]
        stereo = dataset.stereo[place] if dataset.stereo else ""
        return known | ({"smiles": to_smiles(dataset.graphs[place], dataset.label_names, stereo)} if is_table else {})

    return [{"before": one(first), "after": one(second)} for first, second in pairs.listed[:_MOST_LISTED]]


def shortcuts(mined: MinedRules, wishes: RuleFilter, chosen: Sequence[int]) -> list[int]:
    """Rows of rules that turn the explained model for many inputs and that the jury does not believe; none of them is chosen."""
    table = mined.table
    if not table.has_jury or not len(table):
        return []
    rows = np.setdiff1d(np.flatnonzero(table.mean_truth < BELIEVED), chosen)
    doubted = table.of_rules(rows)
    plain = RuleFilter(max_changes=wishes.max_changes, min_support=wishes.min_support)
    return rows[choose(doubted, NUM_SHORTCUTS, plain).rules].tolist() if len(rows) else []


def trust_warnings(
    mined: MinedRules, figures: Mapping[str, float | None], coverage: float, wishes: RuleFilter
) -> list[str]:
    """Warnings on the truth of the results."""
    expected = figures.get("expected_true")
    if not wishes.min_truth or not mined.table.has_jury:
        return []
    believed = figures.get("jury_confirmed")
    if min(coverage * (expected or 0.0), 1.0 if believed is None else believed) >= HARDLY:
        return []
    sentence = (
        f"Hardly any change is expected to come true: models of other kinds that took no part accept results for {believed or 0.0:.1%} of the rejects. "
        "Other rules that turn this model are listed as its shortcuts."
    )
    return [sentence]


# The effect of a rule on a number: what the model and a jury predict, what was measured on pairs of real graphs, and whether both agree.


FloatArray = npt.NDArray[np.float64]

ENOUGH = 5  # measured pairs from which a mean has an interval and a context is listed

_MOST_GRAPHS = 80  # that a rule is carried out on
_MOST_PLACES = 6
_MOST_CONTEXTS = 3
_LISTED = 60  # changes that a picture shows


NUMBERS = "numbers"
"""Key of the numbers of a run and their goal in the manifest."""


def number_facts(
    classifier: GoalClassifier, rejects: Rejects, dataset: GraphDataset, jury: NumberJury | None
) -> dict[str, Any]:
    """The goal of a run and the numbers of its inputs, measured and predicted, as plain values; `rejects.indices` refer to `dataset`."""
    indices, batch = rejects.indices.tolist(), GraphBatch.from_graphs(rejects.graphs)
    predicted = classifier.numbers(batch).tolist()
    # By copies of the jury that were not trained on the input.
    unseen = [] if jury is None else jury.numbers(batch, jury.folds[rejects.indices]).tolist()
    measured = [] if dataset.values is None else dataset.values[indices].tolist()
    return {
        "name": dataset.numbers.name, "goal": classifier.goal.stated(), "centre": classifier.centre, "unit": classifier.unit,
        "noise": None if jury is None else float(jury.effects.errors.std()), "return_share": 0.0 if jury is None else jury.effects.return_share,
        "unseen": dict(zip(map(str, indices), unseen, strict=False)),
        "measured": dict(zip(map(str, indices), measured, strict=False)), "predicted": dict(zip(map(str, indices), predicted, strict=True)),
    }  # fmt: skip


def expected_after(numbers: Mapping[str, Any], index: int, statistics: Mapping[str, Any] | None) -> float | None:
    """Expected number after a rule: the measured number plus the expected effect, minus a share of the deviation of the measurement from its prediction."""
    value, unseen = numbers["measured"].get(str(index)), numbers["unseen"].get(str(index))
    effect = (statistics or {}).get("effect") or {}
    if value is None or unseen is None or "expected" not in effect:
        return None
    return float(value + effect["expected"] - numbers["return_share"] * (value - unseen))


def stored_goal(numbers: Mapping[str, Any], model: Classifier) -> GoalClassifier:
    """The goal of a stored run; the numbers of its inputs are those predicted in the run."""
    goal = Goal(**numbers["goal"])
    indices = [int(index) for index in numbers["predicted"]]
    starts = np.zeros(1 + max(indices, default=0))
    starts[indices] = list(numbers["predicted"].values())
    return GoalClassifier(model=model, goal=goal, centre=numbers["centre"], unit=numbers["unit"], starts=starts)


def number_after(numbers: Mapping[str, Any], index: int, probability: float) -> float:
    """The number of a result, from the probability that it is accepted."""
    goal, start = Goal(**numbers["goal"]), np.array([numbers["predicted"][str(index)]])
    return float(goal.thresholds(start)[0] + goal.sign * numbers["unit"] * log_odds(np.array([probability]))[0])


def effect_of(
    record: MinedRule, mined: MinedRules, classifier: Classifier, asked: Jury | None, pairs: MatchedPairs, graphs: LabelledGraphs
) -> dict[str, Any]:  # fmt: skip
    """Predicted and measured change of the number by a rule, as plain values; empty for classes. Predictions come from the jury members that report."""
    dataset = mined.rejects.dataset
    if dataset.goal is None or not isinstance(classifier, GoalClassifier):
        return {}
    jury = asked if isinstance(asked, NumberJury) else None
    predicted, indices, expected = _predicted(record, mined, classifier, jury, dataset.goal)
    said: dict[str, Any] = {"predicted": predicted}
    changes = measured_changes(pairs, dataset)
    said["measured"] = describe_measured(changes, dataset.goal)
    wider = [] if len(changes) < 2 * ENOUGH else _by_context(record, mined, graphs, dataset)
    if wider:
        said["measured"]["by_context"] = wider
    if predicted:
        if jury is not None:
            expected = jury.effects.weight * expected + jury.effect(pairs.listed, indices)[0]
            if len(changes) > 1:
                said["measured"]["series"] = jury.num_series(pairs.listed)
        said["expected"] = float(np.median(expected))
        said["disagreement"] = disagreement(said["measured"], (predicted.get("jury") or predicted["model"])["median"])
    return {"effect": said}


def measured_changes(pairs: MatchedPairs, dataset: GraphDataset) -> FloatArray:
    """Change of the number of every pair, `[P]`."""
    if dataset.values is None or not pairs.listed:
        return np.zeros(0)
    first, second = np.array(pairs.listed).T
    return np.asarray(dataset.values[second] - dataset.values[first])


def describe_measured(changes: FloatArray, goal: Goal) -> dict[str, Any]:
    """Mean with its 95% interval, quartiles, sign test and share of a rise or fall that is large enough."""
    from scipy.stats import binomtest, t

    count = len(changes)
    if not count:
        return {"pairs": 0}
    up, down = int((changes > 0).sum()), int((changes < 0).sum())
    said: dict[str, Any] = {"pairs": count, "mean": float(changes.mean()), "up": up, "down": down}
    said |= {"changes": _few(changes), **_quartiles(changes)}
    if up + down:
        said["sign_test"] = float(binomtest(up, up + down).pvalue)
    if count >= ENOUGH:
        half = float(t.ppf(0.975, count - 1) * changes.std(ddof=1) / np.sqrt(count))
        said["interval"] = [said["mean"] - half, said["mean"] + half]
    if goal.is_relative:
        said["reached"] = float((goal.sign * changes >= goal.amount).mean())
    return said


def disagreement(measured: dict[str, Any], predicted: float) -> str | None:
    """A sentence if measured pairs contradict the prediction, else None."""
    interval = measured.get("interval")
    if interval is None or interval[0] <= predicted <= interval[1]:
        return None
    mean = measured["mean"]
    if mean * predicted < 0:
        return f"Measured pairs go the other way: {mean:+.2f} on average, where {predicted:+.2f} is predicted."
    size = "smaller" if abs(mean) < abs(predicted) else "larger"
    return f"The measured change is {size} than predicted: {mean:+.2f} on average, against {predicted:+.2f}."


def effect_words(statistics: dict[str, Any] | Any) -> list[str]:
    """The effect of a rule in a few words: predicted, measured, and whether both disagree."""
    effect = (statistics or {}).get("effect")
    if not effect:
        return []
    words = [
        f"{who} predicts {known['median']:+.2f} ({known['q1']:+.2f} to {known['q3']:+.2f}), {known['reached']:.0%} reach the goal"
        for who, known in effect["predicted"].items()
    ]
    measured = effect["measured"]
    if count := measured["pairs"]:
        low, high = measured.get("interval", (None, None))
        interval = "" if low is None else f" ({low:+.2f} to {high:+.2f})"
        chance = f", sign test p = {measured['sign_test']:.2g}" if "sign_test" in measured else ""
        series = f" of about {measured['series']:.0f} series" if "series" in measured else ""
        on = f"{count} pair{'s' * (count != 1)}{series}: {measured['up']} up, {measured['down']} down{chance}"
        words.append(f"measured {measured['mean']:+.2f}{interval} on {on}")
    else:
        words.append("no measured pair")
    return words + ([effect["disagreement"]] if effect.get("disagreement") else [])


def _predicted(
    record: MinedRule, mined: MinedRules, classifier: GoalClassifier, jury: NumberJury | None, goal: Goal
) -> tuple[dict[str, Any], npt.NDArray[np.int64], FloatArray]:  # fmt: skip
    """Change on graphs that the model was not trained on, at the place that it prefers: by the model, and by members that report; and the indices of the
    graphs with the change of each, by those members where there are some."""
    rejects = mined.rejects
    places = np.flatnonzero(mined.table.can_be_carried_out(record.row))
    unseen = _unseen(classifier, rejects.indices[places])
    places = places[unseen] if unseen.sum() >= ENOUGH else places
    places = places[:: max(1, len(places) // _MOST_GRAPHS)][:_MOST_GRAPHS]
    made, owner = [], []
    for place in places.tolist():
        where = NeighbourIndex(rejects.graphs[place])
        results = [result for _, result in carry_out_everywhere(record.rule, where, _MOST_PLACES)]
        made += results
        owner += [place] * len(results)
    if not made:
        return {}, np.zeros(0, np.int64), np.zeros(0)
    after, of = GraphBatch.from_graphs(made), np.array(owner)
    numbers = goal.sign * classifier.numbers(after)
    order = np.lexsort((-numbers, of))
    best = order[np.r_[True, np.diff(of[order]) != 0]]
    before = GraphBatch.from_graphs(rejects.graphs[place] for place in of[best].tolist())
    indices, changed = rejects.indices[of[best]], [(classifier.numbers(before), goal.sign * numbers[best])]
    if jury is not None:
        folds = jury.folds[indices]
        changed.append((jury.numbers(before, folds, reporting=True), jury.numbers(after.select(best), folds, reporting=True)))  # fmt: skip
    said = {who: _summary(*each, goal) for who, each in zip(("model", "jury"), changed, strict=False)}
    return said, indices, changed[-1][1] - changed[-1][0]


def _summary(before: FloatArray, after: FloatArray, goal: Goal) -> dict[str, Any]:
    changes = after - before
    reached = float((goal.surplus(before, after) >= 0).mean())
    return {"graphs": len(changes), **_quartiles(changes), "reached": reached, "changes": _few(changes)}


def _quartiles(changes: FloatArray) -> dict[str, float]:
    low, middle, high = np.quantile(changes, (0.25, 0.5, 0.75))
    return {"q1": float(low), "median": float(middle), "q3": float(high)}


def _few(changes: FloatArray) -> list[float]:
    return [round(float(change), 3) for change in changes[:: max(1, len(changes) // _LISTED)][:_LISTED]]


def _unseen(classifier: GoalClassifier, indices: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Which graphs the model was not trained on; all if that is not known."""
    split = classifier.model.facts.get("split") if isinstance(classifier.model, GraphClassifier) else None
    return ~np.isin(indices, split.get("train", []) if isinstance(split, dict) else [])


def _by_context(
    record: MinedRule, mined: MinedRules, graphs: LabelledGraphs, dataset: GraphDataset
) -> list[dict[str, Any]]:
    """Measured changes of the same rule in narrower surroundings, those with the most inputs."""
    assert dataset.goal is not None
    table, rules = mined.table, mined.table.rules
    same = np.flatnonzero((rules.general == rules.general[record.row]) & (rules.radius > rules.radius[record.row]))
    rows = same[np.argsort(-table.num_accepted[same], kind="stable")][:_MOST_CONTEXTS]
    found = []
    for it in mined.rules(rows.tolist()):
        changes = measured_changes(graphs.pairs(it.rule), dataset)
        if len(changes) >= ENOUGH:
            found.append({"row": it.row, "radius": it.rule.radius, **describe_measured(changes, dataset.goal)})
    return found
