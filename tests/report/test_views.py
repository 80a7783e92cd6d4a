"""The page of a rule run: what it says, and that hostile names in it are text."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from pathlib import Path

import pytest

from comrecgc.cover import Reason
from comrecgc.explanation import Explanation
from comrecgc.explanation.records import AtHand
from comrecgc.graphs import Pattern, Rule
from comrecgc.report import write_report
from comrecgc.report.pages import render_report
from comrecgc.report.views import (
    REASONS,
    agreement,
    badges,
    listed_pairs,
    property_words,
    rule_facts,
    rule_figures,
    rule_kinds,
    rung_sentence,
    with_subscripts,
)
from tests.explanations import DOUBLE_BOND_TO_SINGLE, explain_by_rules, planted_rules, tiny_dataset
from tests.report.test_pages import HOSTILE, Page, embedded

# Relabels the only N of the tiny dataset.
RELABEL = Rule(Pattern((2,), (), ()), Pattern((0,), (), ()), kept=((0, 0),), closed=(False,))


@pytest.fixture(scope="module")
def rules() -> Explanation:
    return planted_rules()


@pytest.fixture(scope="module")
def html(rules: Explanation) -> str:
    return render_report(rules)


def words_of(html: str) -> str:
    return re.sub(r"\s+", " ", Page(html).words)


def test_the_top_says_what_the_rules_are_worth(rules: Explanation, html: str) -> None:
    words = words_of(html)
    num_covered = sum(recourse.gain for recourse in rules.recourses)
    assert re.search(rf"\b3 rules\b.*\b{num_covered} of the 60 molecules", words)
    assert re.search(r"All changes are plausible\b.*\brdkit\b", words)
    figures = re.search(r"unseen molecules77\.1%.*possible99\.4%.*Panel agrees12\.3%", words)
    assert figures, "each figure beside its name"
    assert re.search(r"one change each40\.0%.*two changes55\.2%", words)
    for part in ("toxic", "harmless", "4,000 rules", "A warning for rules.", "given classifiers"):
        assert part in words


PAIRS = {
    "as_said": 12, "against": 1, "stays_reject": 2, "stays_accept": 5,
    "listed": [{"before": {"name": "=A1", "label": "toxic", "smiles": "CN"}, "after": {"name": "B2", "label": "harmless", "smiles": "CO"}}],
}  # fmt: skip


def trusted(rules: Explanation) -> Explanation:
    """The same after a jury was asked, and pairs were found for the first rule."""
    first, *others = rules.recourses
    figures = {"expected_true": 0.93, "expected_interval": [0.78, 0.99], "jury_confirmed": 7, "pairs": PAIRS}
    first = replace(first, statistics={**first.statistics, **figures})
    doubted = replace(others[0], statistics={**others[0].statistics, "mean_truth": 0.31})
    metrics = {**rules.metrics, "jury_confirmed": 0.5, "expected_true": 0.79}
    return replace(rules, recourses=(first, *others), metrics=metrics, shortcuts=(doubted,))


def test_the_top_says_who_agrees_and_every_rule_what_speaks_for_it(rules: Explanation) -> None:
    found = trusted(rules)
    assert re.search(r"\b30 of them.*\b79%", agreement(found))
    (level, expected), (other, pairs) = badges(found.recourses[0])
    assert level == other == "strong"
    assert "93% (78–99%)" in expected
    assert "12 of 14" in pairs
    assert listed_pairs(found.recourses[0]) == [[("=A1", "toxic"), ("B2", "harmless")]]
    words = words_of(render_report(found))
    assert expected in words
    assert agreement(found) in words
    assert badges(rules.recourses[0]) == []
    assert "panel" in agreement(rules)


def test_shortcuts_have_a_section_of_their_own(rules: Explanation, html: str) -> None:
    page = render_report(trusted(rules))
    assert 'id="shortcuts-title"' in page
    assert "expected to come true: 31%" in words_of(page)
    assert 'id="shortcuts-title"' not in html


def test_pairs_are_rows_of_a_file(rules: Explanation, tmp_path: Path) -> None:
    trusted(rules).save(tmp_path)
    rows = list(csv.reader((tmp_path / "pairs.csv").read_text(encoding="utf-8").splitlines()))
    assert rows[0] == ["recourse", "before", "before_label", "after", "after_label", "before_smiles", "after_smiles"]
    assert rows[1:] == [["1", "'=A1", "toxic", "B2", "harmless", "CN", "CO"]]
    rules.save(tmp_path / "none")
    assert not (tmp_path / "none" / "pairs.csv").exists()


def test_a_rule_says_how_often_it_works(rules: Explanation, html: str) -> None:
    first = rules.recourses[0]
    known = first.statistics
    works = f"{known['accepted']} of {known['applicable']}"
    assert first.summary in Page(html).words
    assert f"{works} {known['success']:.0%} (71–85%)" in words_of(html)
    data = embedded(html)["recourses"]
    assert isinstance(data, list)
    facts = dict(data[0]["facts"])
    assert facts["Works for"].startswith(works)
    assert "with 95% confidence 71–85%" in facts["Works for"]
    assert facts["On unseen molecules"].startswith("78%")
    assert facts["Random changes"].startswith(
        "20% of all changes of the same kind work on these molecules; this rule works"
    )
    assert facts["Panel"].startswith(f"{known['confirmed'] / known['accepted']:.0%}: most of the panel accept")
    assert data[0]["smirks"] == "[C:1][N](=[O])[O]>>[C:1][F]"
    assert data[0]["inputs"] == [member.input for member in first.covered]
    assert data[2]["also"] == list(rules.recourses[2].also_covers) != []


def test_every_rule_is_drawn_before_and_after_with_examples(rules: Explanation, html: str) -> None:
    assert len(re.findall(r'<span class="pattern"><svg.*?</svg></span>', html)) == 3
    data = embedded(html)["recourses"]
    assert isinstance(data, list)
    for recourse, shown in zip(rules.recourses, data, strict=True):
        assert len(shown["examples"]) == min(4, recourse.gain)
        assert all(
            example["after"].endswith("</svg>") and example["steps"] is not None for example in shown["examples"]
        )


def test_a_bond_that_becomes_another_is_highlighted() -> None:
    to_single = replace(
        DOUBLE_BOND_TO_SINGLE,
        before=Pattern((0, 0), ((0, 1),), (1,)),
        after=Pattern((0, 0), ((0, 1),), (0,)),
        closed=(False, False),
    )
    shown = embedded(render_report(explain_by_rules(tiny_dataset(), [to_single])))["recourses"]
    assert isinstance(shown, list)
    assert all('<path class="other"' in shown[0]["examples"][0][side] for side in ("before", "after"))


def test_vectors_have_a_map_and_rules_have_none(html: str) -> None:
    assert not [1 for _, attributes in Page(html).elements if attributes.get("id") in ("map", "map-key")]


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_is_told_in_plain_words(rules: Explanation, reason: Reason) -> None:
    told = replace(rules, uncovered=tuple(replace(entry, reason=reason) for entry in rules.uncovered))
    assert REASONS.get(reason, (reason.value.capitalize(), ""))[0] in words_of(render_report(told))


def test_without_panel_held_out_and_statistics_nothing_is_made_up() -> None:
    bare = planted_rules(has_panel=False)
    bare = replace(
        bare, metrics={}, at_hand=AtHand(), recourses=tuple(replace(it, statistics={}) for it in bare.recourses)
    )
    page = Page(render_report(bare))
    for words in ("Panel", "unseen", "Best possible", "None"):
        assert words not in page.words
    assert [name for name, _ in rule_facts(bare.recourses[0])] == ["Valid molecules"]


def test_statistics_of_the_wrong_kind_are_left_out(rules: Explanation) -> None:
    odd = {"applicable": "x", "success": [1], "interval": 3, "held_out": 1, "confirmed": {}, "random_success": True}
    strange = replace(rules, recourses=tuple(replace(it, statistics=odd) for it in rules.recourses))
    assert [name for name, _ in rule_facts(strange.recourses[0])] == ["Valid molecules"]
    assert render_report(strange)


def test_a_proven_bound_reads_as_one(rules: Explanation) -> None:
    proven = replace(rules, metrics={**rules.metrics, "coverage_bound": rules.coverage})
    assert (
        "bound",
        "Best possible",
        f"{rules.coverage:.1%}",
        "no 3 of the 4,000 rules kept cover more: this choice is the best",
    ) in rule_figures(proven)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ("any", "whether or not its result makes"),
        ("connected", "breaks a molecule into more parts"),
        ("confirmed", "most of a panel of other"),
    ],
)
def test_the_rung_is_explained(rules: Explanation, changes: str, words: str) -> None:
    assert words in rung_sentence(replace(rules, changes=changes))


def test_a_share_below_all_is_told(rules: Explanation) -> None:
    most = replace(rules, metrics={**rules.metrics, "share_plausible": 0.9999})
    assert rung_sentence(most).startswith("99.9% of the changes shown are plausible")


def test_results_that_the_panel_rejects_are_warned_of(rules: Explanation) -> None:
    trusted = replace(rules, metrics={**rules.metrics, "confirmed_coverage": 0.9 * rules.coverage})
    assert "fewer than half of these results" in words_of(render_report(rules))
    assert "fewer than half of these results" not in words_of(render_report(trusted))
    assert "fewer than half of these results" not in words_of(render_report(planted_rules(has_panel=False)))


def test_kinds_of_a_rule(rules: Explanation) -> None:
    kinds = [rule_kinds(recourse.rule) for recourse in rules.recourses if recourse.rule]
    assert kinds == [["add", "remove"], ["cut"], ["relabel"]]


def test_hostile_names_are_harmless() -> None:
    dataset = tiny_dataset((HOSTILE, "C", HOSTILE + "2"), name=HOSTILE)
    dataset = replace(dataset, class_names=(HOSTILE, "b" * 3000), edge_label_names=(HOSTILE, HOSTILE + "2"))
    explanation = explain_by_rules(dataset, [RELABEL], smirks=HOSTILE, warnings=(HOSTILE,))
    explanation = replace(
        explanation,
        notes=(HOSTILE,),
        recourses=tuple(replace(it, summary=HOSTILE, description=HOSTILE) for it in explanation.recourses),
    )
    html = render_report(explanation)
    page = Page(html)
    assert [tag for tag, _ in page.elements].count("script") == 2
    assert not [tag for tag, _ in page.elements if tag == "img"]
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]


def test_the_page_depends_on_the_explanation_alone(rules: Explanation, html: str, tmp_path: Path) -> None:
    rules.save(tmp_path)
    write_report(Explanation.load(tmp_path), tmp_path)
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == html


def test_no_rules_at_all_is_a_page() -> None:
    page = Page(render_report(explain_by_rules(tiny_dataset(), [])))
    assert "No rule was found for 3" in page.words


def test_properties_are_told_where_they_are_known() -> None:
    known = {
        "logp": 0.93,
        "tpsa": -43.1,
        "weight": 23.0,
        "sa_score": 0.1,
        "num": 162,
        "lose_alerts": 150,
        "gain_alerts": 0,
    }
    assert property_words({"properties": known}) == (
        "logP +0.9, polar surface −43 Å², weight +23, difficulty of synthesis (1 to 10) +0.1 (medians of 162 molecules); "
        "150 lose a structural alert"
    )
    assert property_words({}) == property_words({"properties": {"num": "x"}}) == ""


def test_figures_of_formulas_are_below_and_those_of_smiles_are_not() -> None:
    assert with_subscripts("attach –C1CCC(N)CC1 to –C(CH3)3") == "attach –C1CCC(N)CC1 to –C(CH<sub>3</sub>)<sub>3</sub>"
    assert with_subscripts("decyl (–C10H21) by –n1cnnn1") == "decyl (–C<sub>10</sub>H<sub>21</sub>) by –n1cnnn1"
