"""Trust in rules: what members of the jury that took no part say of the results shown, pairs of real graphs, and what is expected to come true."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.base import Task
from comrecgc.algorithms.inputs import Rejects
from comrecgc.algorithms.matched_pairs import LabelledGraphs, MatchedPairs
from comrecgc.algorithms.plausibility import Plausibility
from comrecgc.algorithms.rules.algorithm import Rules
from comrecgc.algorithms.rules.choice import RuleFilter, choose
from comrecgc.algorithms.rules.mined import MinedRules
from comrecgc.algorithms.rules.reading import MinedRule
from comrecgc.data import GraphDataset
from comrecgc.explanation.assembly import VerifiedCounterfactual
from comrecgc.graphs import GraphBatch, Rung
from comrecgc.models import Jury, JuryReport, NumberJury
from comrecgc.molecules import has_rdkit, to_smiles

HARDLY = 0.05
"""Share of the inputs below which hardly anything is expected to come true."""

NUM_SHORTCUTS = 5
"""Shortcuts of the model that are listed, at most."""

BELIEVED = 0.5
"""Results that are less likely than this to come true move the explained model alone."""

_PRIOR = 10.0  # real pairs that the jury's estimate of classes weighs as much as
_MOST_LISTED = 100  # pairs of a rule


@dataclass(frozen=True, eq=False, kw_only=True)
class Trust:
    """What speaks for the results of the chosen rules.

    Args:
        report: What the jury says of each result shown; None where there is none.
        pairs: Pairs of real graphs that differ by each rule; None where no classes are known.
        shown: The results.
        num_inputs: Inputs there are.
        weighed: Whether what the jury says knows of the pairs already, as it does of numbers.
    """

    report: JuryReport | None
    pairs: Sequence[MatchedPairs] | None
    shown: Sequence[VerifiedCounterfactual]
    num_inputs: int
    weighed: bool = False

    def statistics(self, recourse: int, dataset: GraphDataset) -> dict[str, Any]:
        """Figures of one recourse; none where nobody was asked."""
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
        return figures | {
            "jury_confirmed": confirmed / max(self.num_inputs, 1),
            "jury_share": confirmed / len(self.shown),
        }


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
    """What measured pairs of the rule of each result add to its predicted change, and the variance that they leave, `[B, 2]`."""
    indices = rejects.indices[[it.place for it in shown]]
    known, of = np.zeros((len(shown), 2)), np.array([it.recourse for it in shown])
    for number, own in enumerate(pairs):
        known[of == number] = np.stack(jury.effect(own.listed, indices[of == number]), axis=1)
    return known


def _relatives(task: Task[Rules], plausibility: Plausibility) -> list[Any]:
    """Networks of the panel that took no part: they do where results must be confirmed, and where models are explained together."""
    panel = plausibility.panel
    if panel is None or panel.unanimous or Rung.parse(task.changes) == Rung.CONFIRMED:
        return []
    return [member.classifier for member in panel.members]


def expected_share(estimate: float, pairs: MatchedPairs) -> tuple[float, tuple[float, float]]:
    """Share of the results of a rule that are expected to come true, and its 95% interval.

    Pairs of real graphs whose first is labelled reject say it outright; the jury's estimate weighs as much as ten of them.
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
    """Rows of rules, none of them chosen, that move the explained model for many inputs, and that the jury does not believe."""
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
    """What a reader must know first."""
    expected = figures.get("expected_true")
    if not wishes.min_truth or not mined.table.has_jury:
        return []
    believed = figures.get("jury_confirmed")
    if min(coverage * (expected or 0.0), 1.0 if believed is None else believed) >= HARDLY:
        return []
    sentence = (
        f"Hardly any change is expected to come true: models of other kinds that took no part accept results for {believed or 0.0:.1%} of the rejects. "
        "What else moves this model is listed as its shortcuts."
    )
    return [sentence]
