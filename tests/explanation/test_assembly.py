"""Tests of comrecgc.explanation.assembly."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from comrecgc.algorithms.matched_pairs import LabelledGraphs, MatchedPairs
from comrecgc.algorithms.rules.choice import RuleFilter
from comrecgc.data import GraphDataset
from comrecgc.data.smiles import from_smiles_table
from comrecgc.explainer import CommonRecourseExplainer
from comrecgc.explanation.assembly import (
    BELIEVED,
    NUM_SHORTCUTS,
    Trust,
    VerifiedCounterfactual,
    expected_share,
    shortcuts,
    trust_in,
    trust_warnings,
    weigh_pairs,
)
from comrecgc.graphs import Graph, Pattern, Rule, carry_out
from comrecgc.models import JuryReport, Panel
from tests.evidence.scenes import Shortcut, honest, trees
from tests.stubs import Always, explainer_of

RELABEL = Rule(before=Pattern((2,), (), None), after=Pattern((0,), (), None), kept=((0, 0),), closed=(False,))
"""Relabel a C to A."""


@pytest.fixture(scope="module")
def fitted() -> CommonRecourseExplainer:
    """Graphs with a C are rejected; a D deceives the model, and nobody else."""
    return explainer_of(Shortcut(), theta=0.2, num_recourses=3, changes="connected", max_changes=1, panel=honest()).fit(
        trees()
    )


def test_the_expected_share_is_the_mean_of_a_beta_and_its_interval() -> None:
    share, (low, high) = expected_share(0.6, MatchedPairs(as_said=7, stays_reject=3, against=5, stays_accept=9))
    assert share == pytest.approx(
        13 / 20
    )  # the estimate weighs as much as ten pairs; pairs that begin at accept say nothing
    at = np.linspace(0, 1, 400_001)
    density = at**12.5 * (1 - at) ** 6.5
    below = np.cumsum(density) / density.sum()
    assert low == pytest.approx(at[np.searchsorted(below, 0.025)], abs=1e-4)
    assert high == pytest.approx(at[np.searchsorted(below, 0.975)], abs=1e-4)


def test_real_pairs_outweigh_the_jury() -> None:
    alone, (low, high) = expected_share(0.9, MatchedPairs())
    few, _ = expected_share(0.9, MatchedPairs(stays_reject=2))
    many, (lowest, highest) = expected_share(0.9, MatchedPairs(stays_reject=200))
    assert alone == pytest.approx(0.9)
    assert alone > few > 0.7
    assert many < 0.05
    assert highest - lowest < high - low


def test_shortcuts_move_the_model_and_not_the_jury(fitted: CommonRecourseExplainer) -> None:
    found, mined = fitted.explanation_, fitted.mined_
    assert mined is not None
    assert 0 < len(found.shortcuts) <= NUM_SHORTCUTS
    for shortcut in found.shortcuts:
        assert shortcut.row is not None
        assert shortcut.rule is not None
        assert not shortcut.covered
        assert mined.table.entries.truth[mined.table.entries_of(shortcut.row)].mean() < 100 * BELIEVED
        assert (shortcut.rule.after.labels + shortcut.rule.before.labels).count(3) == 1  # a D comes
    chosen = {recourse.row for recourse in found.recourses}
    assert not chosen & {shortcut.row for shortcut in found.shortcuts}
    true = [not (member.counterfactual.labels == 2).any() for one in found.recourses for member in one.covered]
    assert np.mean(true) > 0.9
    nobody = replace(mined.table.entries, truth=np.full_like(mined.table.entries.truth, -1))
    assert shortcuts(replace(mined, table=replace(mined.table, entries=nobody)), RuleFilter(), []) == []


def test_where_nothing_comes_true_the_reader_is_warned(fitted: CommonRecourseExplainer) -> None:
    assert not any("Hardly any" in warning for warning in fitted.explanation_.warnings)
    kept = fitted.explanation_.choose(protected_labels=["C"])  # what is left is to bring a D
    assert kept.coverage < 0.05
    assert kept.warnings[0].startswith("Hardly any")
    assert kept.shortcuts
    mined, wishes = fitted.mined_, RuleFilter(min_truth=0.6)
    assert mined is not None
    assert trust_warnings(mined, {"expected_true": 0.5}, 0.11, wishes) == []
    assert len(trust_warnings(mined, {"expected_true": 0.5}, 0.09, wishes)) == 1
    assert trust_warnings(mined, {"expected_true": 0.5}, 0.09, RuleFilter()) == []  # chosen for coverage


def shown(recourse: int, place: int, truth: float | None) -> VerifiedCounterfactual:
    graph = Graph([2, 0, 0], [[0, 1], [1, 2]])
    changed = carry_out(RELABEL, graph, (0,))
    return VerifiedCounterfactual.by_rule(recourse, RELABEL, place, graph, (0,), changed, 0.9, truth=truth)


def named_trees() -> GraphDataset:
    """A C, the same relabelled, and a third that is neither."""
    graphs = [Graph(labels, [[0, 1], [1, 2]]) for labels in ([2, 0, 1], [0, 0, 1], [3, 3, 3])]
    return GraphDataset(
        name="named", graphs=tuple(graphs), classes=np.array([0, 1, 1], np.int8), label_names=("A", "B", "C", "D"),
        names=("bad", "good", "other"), class_names=("no", "yes"),
    )  # fmt: skip


def test_figures_of_a_recourse_are_those_of_its_results() -> None:
    data = named_trees()
    report = JuryReport(
        np.array([0.9, 0.7, 0.2]),
        heard=np.array([[True, True], [True, True], [True, False]]),
        agree=np.array([[True, True], [True, False], [True, False]]),
    )
    pairs = [MatchedPairs(), LabelledGraphs(data).pairs(RELABEL)]
    results = [shown(0, 0, 0.5), shown(0, 1, 0.5), shown(1, 2, 0.5)]
    trust = Trust(report=report, pairs=pairs, shown=results, num_inputs=6)
    first, second = (trust.statistics(k, data) for k in (0, 1))
    assert first["expected_true"] == pytest.approx(0.8)
    assert first["jury_confirmed"] == 1  # of two members that are heard, one is not most
    assert "pairs" not in first
    assert second["expected_true"] == pytest.approx((2 + 1) / 11)  # ten at 0.2, and a pair that goes as said
    assert second["jury_confirmed"] == 1
    assert second["pairs"]["as_said"] == 1
    assert second["pairs"]["listed"] == [
        {"before": {"name": "bad", "label": "no"}, "after": {"name": "good", "label": "yes"}}
    ]
    figures = trust.figures([first, second])
    assert figures["expected_true"] == pytest.approx((2 * 0.8 + 3 / 11) / 3)
    assert figures["jury_confirmed"] == pytest.approx(2 / 6)
    assert figures["jury_share"] == pytest.approx(2 / 3)


def test_without_a_jury_only_what_the_table_knows_is_said() -> None:
    data = named_trees()
    known = Trust(report=None, pairs=None, shown=[shown(0, 0, 0.7), shown(0, 1, 0.9)], num_inputs=2)
    said = known.statistics(0, data)
    assert said.keys() == {"expected_true", "expected_interval"}
    assert said["expected_true"] == pytest.approx(0.8)
    assert known.figures([said]) == {"expected_true": pytest.approx(0.8)}
    unknown = Trust(report=None, pairs=None, shown=[shown(0, 0, None)], num_inputs=2)
    assert unknown.statistics(0, data) == {}
    assert unknown.figures([{}]) == {}


def test_pairs_of_molecules_come_with_their_smiles(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    (tmp_path / "two.csv").write_text("smiles,class\nCCO,0\nCCN,1\n")
    data = from_smiles_table(tmp_path / "two.csv")
    oxygen, nitrogen = (data.label_names.index(name) for name in "ON")
    rule = Rule(
        before=Pattern((oxygen,), (), None), after=Pattern((nitrogen,), (), None), kept=((0, 0),), closed=(False,)
    )
    said = Trust(report=None, pairs=[LabelledGraphs(data).pairs(rule)], shown=[], num_inputs=1).statistics(0, data)
    (pair,) = said["pairs"]["listed"]
    assert (pair["before"]["smiles"], pair["after"]["smiles"]) == ("CCO", "CCN")


def test_who_took_part_in_the_choice_does_not_report(fitted: CommonRecourseExplainer) -> None:
    plausibility, mined = fitted.plausibility_, fitted.mined_
    assert mined is not None
    jury = plausibility.jury
    assert jury is not None
    records = mined.rules([recourse.row for recourse in fitted.explanation_.recourses if recourse.row is not None])
    rule, graph = records[0].rule, mined.rejects.graphs[0]
    result = VerifiedCounterfactual.by_rule(0, rule, 0, graph, (0,), graph, 0.9)

    def num_asked(changes: str, panel: Panel | None, guests: int) -> int:
        task = replace(fitted.task_, algorithm=replace(fitted.task_.algorithm, changes=changes))
        asked = replace(plausibility, panel=panel, jury=replace(jury, guests=(Always(0.9, 4),) * guests))
        report = trust_in(task, mined, asked, records[:1], [result]).report
        assert report is not None
        return int(report.heard.shape[1])

    own, panel = len(jury.reporting), honest(4)
    assert not {id(member) for member in jury.choosing} & {id(member) for member in jury.reporting}
    assert num_asked("plausible", None, 0) == own
    assert num_asked("plausible", panel, 2) == own + 4 + 2
    assert num_asked("confirmed", panel, 2) == own + 2  # the panel decided what counts
    assert num_asked("plausible", replace(panel, unanimous=True), 0) == own  # explained together


def test_real_pairs_are_weighed_before_the_choice(fitted: CommonRecourseExplainer) -> None:
    mined = fitted.mined_
    assert mined is not None
    mined = replace(mined, pairs={})
    row, other = (recourse.row for recourse in (fitted.explanation_.recourses[0], fitted.explanation_.shortcuts[0]))
    assert row is not None
    assert other is not None

    class Contradicting:
        """Every pair of the data speaks against every rule."""

        def pairs(self, _: Rule) -> MatchedPairs:
            return MatchedPairs(stays_reject=40)

    weighed = weigh_pairs(mined, [row], Contradicting())  # type: ignore[arg-type]
    before, after = (it.table.entries.truth[it.table.entries_of(row)].mean() / 100 for it in (mined, weighed))
    assert before > 0.6
    assert after == pytest.approx(10 * before / 50, abs=0.02)  # the jury weighs as much as ten pairs
    untouched = mined.table.entries_of(other)
    assert np.array_equal(mined.table.entries.truth[untouched], weighed.table.entries.truth[untouched])
    again = weigh_pairs(weighed, [row], Contradicting())  # type: ignore[arg-type]
    assert np.array_equal(again.table.entries.truth, weighed.table.entries.truth)  # weighed once
    assert weighed.pairs[row].stays_reject == 40
