"""The live page in a headless Chromium: every control, and the same choice as in Python."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

from comrecgc.algorithms.matched_pairs import MatchedPairs
from comrecgc.algorithms.rules.choice import KINDS, LEAST_TRUTH, RuleFilter, choose, held_out
from comrecgc.cover import Reason
from comrecgc.errors import InputError
from comrecgc.evidence import Evidence, RecourseEvidence
from comrecgc.evidence.verdict import Finding, Verdict
from comrecgc.explanation import Explanation
from comrecgc.graphs import Graph, graph_key
from comrecgc.report import write_report
from comrecgc.report.explorer import _pack
from tests.report.browsing import NARROW, Open, browser, open_page
from tests.report.live import chooser_of, live_explanation, roofed_explanation

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

__all__ = ["browser", "open_page"]  # fixtures

NUM_WISHES = 200
CHOOSE = """(asked) => asked.map((wish) => {
  const sets = { forbiddenLabels: new Set(wish.labels), protectedLabels: new Set(wish.protected),
                 forbiddenGroups: new Set(wish.groups), forbiddenKinds: new Set(wish.kinds) };
  const found = comrecgc.choose({ ...wish, ...sets });
  return [found.rules, found.added, found.bound, comrecgc.heldOut({ ...wish, ...sets })];
})"""


@pytest.fixture(scope="module")
def live() -> Explanation:
    return live_explanation()


@pytest.fixture(scope="module")
def report(live: Explanation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("live") / "report.html"
    write_report(live, path)
    return path


@pytest.fixture
def page(report: Path, open_page: Open) -> Page:
    return settled(open_page(report))


def settled(page: Page) -> Page:
    page.wait_for_selector("html[data-settled=yes]")
    return page


def chosen(page: Page) -> list[int]:
    return [int(row.get_attribute("data-rule") or -1) for row in page.locator("#table .row").all()]


def browsed(page: Page) -> Locator:
    """The rules that were not chosen, which are shown when asked for."""
    if not page.locator("#more-table").is_visible():
        page.locator("#more-holder > summary").click()
    page.locator("#more-table .row").first.wait_for()
    return page.locator("#more-table .row")


def slide(page: Page, control: str, value: float) -> None:
    """Move a slider as its user does, and wait for the answer."""
    page.locator(control).fill(str(value))
    settled(page)


def random_wishes(rng: np.random.Generator, explanation: Explanation) -> Iterator[tuple[int, RuleFilter]]:
    table = chooser_of(explanation).mined.table
    num_labels, num_groups = table.rules.adds.shape[1], len(table.groups)

    def some(size: int, most: int) -> tuple[int, ...]:
        return tuple(sorted(rng.choice(size, int(rng.integers(0, min(most, size) + 1)), replace=False).tolist()))

    for _ in range(NUM_WISHES):
        yield (
            int(rng.integers(1, 30)),
            RuleFilter(
                min_success=float(rng.choice([0.0, 0.05, 0.2, 0.35, 0.5, 1 / 3, 0.8])),
                min_support=int(rng.choice([1, 2, 3, 6])),
                max_cost=None if rng.random() < 0.5 else int(rng.integers(1, 12)),
                max_changes=int(rng.integers(1, 4)),
                radii=((0, 1, 2), (0, 1), (0, 2), (0,), (1,), (2,))[int(rng.integers(6))],
                forbidden_labels=some(num_labels, 2),
                forbidden_groups=some(num_groups, 6),
                forbidden_kinds=tuple(KINDS[k] for k in some(len(KINDS), 2)),
                protected_labels=some(num_labels, 1),
                confirmed=bool(rng.random() < 0.4),
                min_truth=float(rng.choice([0.0, 0.5, 0.6, 0.77, 0.9, 1.0])),
            ),
        )


def asked(num: int, wishes: RuleFilter) -> dict[str, Any]:
    """RuleFilter as the page's script has them."""
    return {
        "num": num, "minSuccess": wishes.min_success, "minSupport": wishes.min_support, "maxCost": wishes.max_cost,
        "maxChanges": wishes.max_changes, "radii": list(wishes.radii), "labels": list(wishes.forbidden_labels),
        "protected": list(wishes.protected_labels), "groups": list(wishes.forbidden_groups),
        "kinds": [KINDS.index(kind) for kind in wishes.forbidden_kinds], "confirmed": wishes.confirmed,
        "minTruth": wishes.min_truth,
    }  # fmt: skip


def address(num: int, wishes: RuleFilter, explanation: Explanation) -> str:
    """The same wishes in the page's address; groups that no rule attaches are no wish there."""
    chooser = chooser_of(explanation)
    table = chooser.mined.table
    attached = set(
        np.where(np.isin(table.rules.kinds, (1, 3)), table.entries.change[table.ptr[:-1], :, 3], -1).ravel().tolist()
    )
    lists = {
        "no-add": wishes.forbidden_labels, "protect": wishes.protected_labels,
        "no-group": [group for group in wishes.forbidden_groups if group in attached],
        "no-kind": [KINDS.index(kind) for kind in wishes.forbidden_kinds], "radii": wishes.radii,
    }  # fmt: skip
    parts = [f"{name}={'.'.join(map(str, values))}" for name, values in lists.items()]
    parts += [
        f"rules={num}", f"success={wishes.min_success}", f"support={wishes.min_support}",
        f"edits={wishes.max_cost or 'any'}", f"changes={wishes.max_changes}", f"confirmed={int(wishes.confirmed)}",
        f"truth={wishes.min_truth}",
    ]  # fmt: skip
    return "#" + "&".join(parts)


def test_the_page_chooses_as_python_does(live: Explanation, page: Page) -> None:
    table = chooser_of(live).mined.table
    assert set(table.rules.radius.tolist()) == {0, 1, 2}
    assert check_choices(live, page) < NUM_WISHES / 2


def test_nodes_that_are_tied_to_two_others_are_chosen_and_made_as_in_python(open_page: Open, tmp_path: Path) -> None:
    roofed = roofed_explanation()
    table = chooser_of(roofed).mined.table
    assert {KINDS.index("tie"), KINDS.index("relabel")} <= set(table.rules.kinds.ravel().tolist())
    write_report(roofed, tmp_path / "report.html")
    page = settled(open_page(tmp_path / "report.html"))
    assert check_choices(roofed, page) < NUM_WISHES
    check_results(roofed, page)


def check_choices(live: Explanation, page: Page) -> int:
    """Random wishes lead to the same choice, bound and figure on unseen graphs; how many of them no rule meets."""
    table = chooser_of(live).mined.table
    wishes = list(random_wishes(np.random.default_rng(1), live))
    found = page.evaluate(CHOOSE, [asked(num, wish) for num, wish in wishes])
    empty = 0
    for (num, wish), (rules, added, bound, unseen) in zip(wishes, found, strict=True):
        wanted = choose(table, num, wish)
        assert rules == wanted.rules.tolist()
        assert added == wanted.gains.tolist()
        assert bound == wanted.bound
        measured = held_out(table, num, wish, np.random.default_rng([chooser_of(live).task.random_state, 10]))
        assert measured is not None
        assert unseen == pytest.approx(measured.coverage, abs=1e-12)
        empty += not rules
    return empty


def test_python_asks_for_truth_as_the_page_does(live: Explanation) -> None:
    table = chooser_of(live).mined.table
    found = live.choose(min_truth=0.8)
    assert [it.row for it in found.recourses] == choose(table, 5, RuleFilter(min_truth=0.8)).rules.tolist()
    assert found.coverage < live.choose(min_truth=0.0).coverage
    believed = set(table.entries.input[table.entries.truth >= 80].tolist())
    places = {index: place for place, index in enumerate(found.inputs)}
    more = {one.input for one in found.uncovered if one.reason is Reason.BUDGET_EXHAUSTED}
    assert more == {one.input for one in found.uncovered if places[one.input] in believed}
    assert any(one.reason is Reason.NOT_BELIEVED for one in found.uncovered)
    with pytest.raises(InputError, match="min_truth needs a jury"):
        roofed_explanation().choose(min_truth=0.8)


def test_wishes_in_the_address_are_answered_and_kept(live: Explanation, page: Page) -> None:
    table = chooser_of(live).mined.table
    for num, wish in list(random_wishes(np.random.default_rng(2), live))[:15]:
        page.evaluate("(hash) => { window.location.hash = hash; }", address(num, wish, live))
        page.wait_for_function("(num) => Number(document.getElementById('wish-num').value) === num", arg=num)
        settled(page)
        wanted = choose(table, num, wish)
        assert chosen(page) == wanted.rules.tolist()
        share = f"{wanted.coverage:.1%}"
        assert page.locator("#title-count").inner_text() == f"{wanted.gains.sum():,}"
        if len(wanted.rules):
            assert share in page.locator("#answer").inner_text()


def test_results_are_those_of_the_compiled_code(live: Explanation, page: Page) -> None:
    check_results(live, page)


def check_results(live: Explanation, page: Page) -> None:
    """Changed graphs are those that the compiled code makes."""
    mined = chooser_of(live).mined
    table = mined.table
    entries = np.random.default_rng(3).choice(
        len(table.entries.input), min(150, len(table.entries.input)), replace=False
    )
    rows, inputs = table.entries.rule[entries], table.entries.input[entries]
    wanted, _ = mined.scorer.built(inputs, table.entries.change[entries].astype(np.int32))
    places = [[int(row), int(mined.rejects.indices[place])] for row, place in zip(rows, inputs, strict=True)]
    found = page.evaluate("(asked) => asked.map(([rule, index]) => comrecgc.result(rule, index))", places)
    for result, graph in zip(found, wanted, strict=True):
        assert result is not None
        names = {node: k for k, node in enumerate(n for n, one in enumerate(result["nodes"]) if one["after"] >= 0)}
        labels = [result["nodes"][node]["after"] for node in names]
        edges = [edge for edge in result["edges"] if edge["after"] >= 0]
        made = Graph(labels, [[names[e["i"]], names[e["j"]]] for e in edges], [e["after"] for e in edges])
        assert graph_key(made) == graph_key(graph)


def test_it_begins_with_what_the_run_chose(live: Explanation, page: Page) -> None:
    words = [bdi.inner_text() for bdi in page.locator("#table .row th bdi").all()]
    assert words == [recourse.summary for recourse in live.recourses]
    assert page.locator("[data-figure=covered] dd").first.inner_text() == f"{live.coverage:.1%}"
    assert page.locator("[data-figure=unseen] dd").first.inner_text() == f"{live.metrics['held_out_coverage']:.1%}"
    assert page.locator("[data-figure=bound] dd").first.inner_text() == f"{live.metrics['coverage_bound']:.1%}"
    confirmed = f"{live.metrics['confirmed_coverage']:.1%}"
    assert page.locator("[data-figure=confirmed] dd").first.inner_text() == confirmed
    assert page.locator("[data-figure=cost] dd").first.inner_text() == f"{live.metrics['mean_cost']:.1f}"
    assert page.locator("#reset").is_disabled()


def test_every_wish_has_a_control(live: Explanation, page: Page) -> None:
    table = chooser_of(live).mined.table

    def answers(num: int = 5, **wishes: Any) -> bool:
        settled(page)
        wanted: list[int] = choose(table, num, RuleFilter(**{"min_truth": LEAST_TRUTH, **wishes})).rules.tolist()
        return chosen(page) == wanted

    slide(page, "#wish-num-range", 8)
    assert answers(8)
    assert page.locator("#curve .dot").count() == len(choose(table, 8, RuleFilter(min_truth=LEAST_TRUTH)).rules)
    slide(page, "#wish-num", 5)
    slide(page, "#wish-success", 50)
    assert answers(min_success=0.5)
    assert page.locator("#wish-success-words").inner_text() == "at least 50%"
    slide(page, "#wish-support", 3)
    assert answers(min_success=0.5, min_support=3)
    slide(page, "#wish-support", 1)
    slide(page, "#wish-success", 0)
    slide(page, "#wish-edits", 4)
    assert answers(max_cost=4)
    page.locator("#reset").click()
    assert answers()
    page.locator("#wish-changes").select_option("1")
    assert answers(max_changes=1)
    page.locator("#reset").click()
    page.locator("#wish-confirmed").check()
    assert answers(confirmed=True)
    slide(page, "#wish-truth", 80)
    assert answers(confirmed=True, min_truth=0.8)
    page.locator("#wish-true").uncheck()
    assert answers(confirmed=True, min_truth=0.0)
    assert not page.locator("#wish-truth").is_visible()
    page.locator("#reset").click()
    page.locator("#wish-kinds [data-value='0']").click()
    assert answers(forbidden_kinds=("relabel",))
    page.locator("#wish-adds [data-value='0']").click()
    assert answers(forbidden_kinds=("relabel",), forbidden_labels=(0,))
    page.locator("#wish-kinds [data-value='0']").click()
    page.locator("#wish-adds [data-value='0']").click()
    page.locator("#wish-protects [data-value='1']").click()
    assert answers(protected_labels=(1,))
    page.locator("#reset").click()
    names = page.locator("#wish-group option").all_inner_texts()[1:]
    assert len(set(names)) == len(names)
    for name in names[2:5]:
        page.locator("#wish-group").select_option(name)
        settled(page)
        groups = parse_qs(urlsplit(page.url).fragment)["no-group"][0].split(".")
        assert answers(forbidden_groups=tuple(map(int, groups)))
        page.locator("#wish-groups button").click()
        assert answers()


def test_the_same_choice_on_the_command_line_is_shown(page: Page, report: Path) -> None:
    slide(page, "#wish-success", 50)
    page.locator("#wish-adds [data-value='0']").click()
    command = f"comrecgc choose {report.parent} --recourses 5 --min-success 0.5 --forbid-label C"
    assert page.locator("#command code").inner_text() == command
    browsed(page).first.get_by_role("button", name="Pick").click()
    assert not page.locator("#command").is_visible()  # which has no such option
    page.locator("#reset").click()
    page.locator("#wish-true").uncheck()
    assert page.locator("#command code").inner_text().endswith("--recourses 5 --min-truth 0")
    page.locator("#wish-group").select_option(label="acetyl (–CO–CH3)")
    assert "--forbid-group 'acetyl (–CO–CH3)'" in page.locator("#command code").inner_text()


def test_a_rule_picked_by_hand_is_kept_and_the_others_follow(page: Page) -> None:
    before = chosen(page)
    row = browsed(page).nth(4)
    picked = int(row.get_attribute("data-rule") or -1)
    row.get_by_role("button", name="Pick").click()
    settled(page)
    assert chosen(page)[0] == picked
    assert len(chosen(page)) == 5
    assert "1 picked by hand" in page.locator("#picked").inner_text()
    page.locator("#recourse-1").get_by_role("button", name="Drop").click()
    settled(page)
    assert picked not in chosen(page)
    assert chosen(page) == before
    page.locator("#dropped-rules button").click()
    settled(page)
    assert not page.locator("#dropped").is_visible()
    assert chosen(page) == before
    page.locator("#recourse-3").get_by_role("button", name="Keep").click()
    settled(page)
    assert chosen(page)[0] == before[2]


def test_what_remains_is_what_rules_would_add(live: Explanation, page: Page) -> None:
    table = chooser_of(live).mined.table
    likely = RuleFilter(min_truth=LEAST_TRUTH).counts(table)

    def turned(rule: int) -> set[int]:
        entries = table.entries_of(rule)
        return set(table.entries.input[entries[likely[entries]]].tolist())

    covered = set[int]().union(*map(turned, chosen(page)))
    browsed(page)
    page.locator("#more-sort").select_option("adds")
    adds = []
    for row in browsed(page).all():
        left = turned(int(row.get_attribute("data-rule") or -1)) - covered
        assert int(row.locator("[data-name='would add']").inner_text()) == len(left)
        adds.append(len(left))
    assert adds == sorted(adds, reverse=True)


def test_rules_are_searched_and_sorted(live: Explanation, page: Page) -> None:
    table = chooser_of(live).mined.table
    word = max(browsed(page).locator("th bdi").first.inner_text().split(), key=len)
    page.locator("#more-search").fill(word)
    texts = [bdi.inner_text() for bdi in page.locator("#more-table .row th bdi").all()]
    assert any(word in text for text in texts)
    page.locator("#more-search").fill("no rule says this")
    assert page.locator("#more-table .row").count() == 0
    place = int(table.entries.input[0])
    page.locator("#more-search").fill(str(int(chooser_of(live).mined.rejects.indices[place])))
    rows = [int(row.get_attribute("data-rule") or -1) for row in page.locator("#more-table .row").all()]
    assert rows
    assert all(table.entry(rule, place) >= 0 for rule in rows)
    page.locator("#more-search").fill("")
    page.locator("#more-sort").select_option("success")
    rows = [int(row.get_attribute("data-rule") or -1) for row in page.locator("#more-table .row").all()]
    assert (np.diff(table.success[rows]) <= 0).all()
    page.locator("#more-rows").click()
    assert page.locator("#more-table .row").count() == 40


def test_an_opened_rule_shows_what_it_does_and_where_it_fails(live: Explanation, page: Page) -> None:
    table = chooser_of(live).mined.table
    detail = page.locator("#recourse-1 + .detail")
    assert detail.count() == 0
    page.locator("#recourse-1 th button").click()
    rule = chosen(page)[0]
    facts = detail.locator(".known").inner_text()
    assert f"{table.num_accepted[rule]} of " in facts
    assert "with 95% confidence" in facts
    assert detail.locator(".examples").first.locator("svg.drawing").count() == 8
    fails = detail.locator(".example-block").nth(1)
    assert fails.locator("svg.drawing").count() == 4
    assert "model still rejects" in fails.inner_text() or "not plausible" in fails.inner_text()
    button = page.locator("#recourse-2 th button")
    button.focus()
    page.keyboard.press("Enter")
    assert button.get_attribute("aria-expanded") == "true"
    assert page.locator("#recourse-2 + .detail svg.drawing").count() > 0
    page.keyboard.press("Enter")
    assert page.locator("#recourse-2 + .detail").count() == 0


def test_the_first_rules_are_shown_at_the_top_and_open_below(page: Page) -> None:
    cards = page.locator("#first-rules li")
    rows = [bdi.inner_text() for bdi in page.locator("#table .row th bdi").all()]
    assert [card.locator("bdi").inner_text() for card in cards.all()] == rows[:3]
    assert cards.locator("svg.drawing").count() == 3
    cards.nth(1).locator("button").click()
    assert page.locator("#recourse-2 + .detail").is_visible()
    assert page.locator("#recourse-2 button").first.get_attribute("aria-expanded") == "true"
    slide(page, "#wish-success", 100)
    rows = [bdi.inner_text() for bdi in page.locator("#table .row th bdi").all()]
    assert [card.locator("bdi").inner_text() for card in cards.all()] == rows[:3]


def test_a_graph_opens_with_every_rule_that_works_for_it(live: Explanation, page: Page) -> None:
    mined = chooser_of(live).mined
    table = mined.table
    place = int(np.bincount(table.entries.input).argmax())
    page.locator("#lookup-number").fill(str(int(mined.rejects.indices[place])))
    page.keyboard.press("Enter")
    dialog = page.locator("#graph")
    assert dialog.is_visible()
    rules = table.entries.rule[table.entries.input == place]
    assert f"{len(rules)} rules work for it" in dialog.inner_text()
    costs = [int(re.findall(r"(\d+) edits?", text)[-1]) for text in dialog.locator("li summary").all_inner_texts()]
    assert costs == sorted(table.rules.cost[rules].tolist())[:20]
    dialog.locator("li summary").first.click()
    dialog.locator("li figure svg").first.wait_for()
    page.keyboard.press("Escape")
    assert not dialog.is_visible()
    page.locator("#lookup-number").fill("999999")
    page.keyboard.press("Enter")
    assert "no rejected molecule" in page.locator("#lookup-words").inner_text()
    page.locator("#lookup-any").click()
    assert "No rule chosen covers it." in dialog.inner_text()


def test_what_is_not_covered_can_be_opened(page: Page) -> None:
    group = page.locator(".reason:visible").first
    group.locator("summary").click()
    group.locator(".cards svg").first.wait_for()
    group.locator(".cards .link").first.click()
    assert page.locator("#graph").is_visible()


def test_the_choice_can_be_taken_away(live: Explanation, page: Page) -> None:
    table = chooser_of(live).mined.table
    rules = chosen(page)
    with page.expect_download() as saved:
        page.locator("#export-csv").click()
    rows = list(csv.DictReader(io.StringIO(Path(saved.value.path()).read_text(encoding="utf-8"))))
    assert [row["summary"] for row in rows] == [recourse.summary for recourse in live.recourses]
    assert [int(row["accepted"]) for row in rows] == table.num_accepted[rules].tolist()
    statistics = [recourse.statistics for recourse in live.recourses]
    assert [float(row["success"]) for row in rows] == pytest.approx([one["success"] for one in statistics])
    assert [float(row["success_low"]) for row in rows] == pytest.approx([one["interval"][0] for one in statistics])
    assert [float(row["held_out_success"]) for row in rows] == pytest.approx(
        [one["held_out"]["success"] for one in statistics]
    )
    with page.expect_download() as saved:
        page.locator("#export-json").click()
    document = json.loads(Path(saved.value.path()).read_text(encoding="utf-8"))
    assert document["coverage"] == live.coverage
    for one, recourse in zip(document["recourses"], live.recourses, strict=True):
        assert recourse.rule is not None
        assert one["rule"]["before"]["labels"] == list(recourse.rule.before.labels)
        assert one["rule"]["smirks"] == recourse.smirks
        assert one["gain"] == recourse.gain


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_scrolls_sideways_on_a_phone(report: Path, open_page: Open, scheme: str) -> None:
    page = settled(open_page(report, NARROW, scheme))
    for button in page.locator("#table th button[aria-expanded=false]").all()[::-1]:
        button.click()
    browsed(page).locator("th button").first.click()
    for summary in page.locator(".reason:visible summary").all():
        summary.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW
    page.locator("#lookup-any").click()
    box = page.locator("#graph").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= NARROW


def test_paper_shows_the_answer_and_not_the_controls(page: Page) -> None:
    page.emulate_media(media="print")
    assert not page.locator("#wishes").is_visible()
    assert not page.locator("#more-table").is_visible()
    assert page.locator("#table .row").first.is_visible()


def test_a_link_to_a_rule_opens_it(report: Path, open_page: Open) -> None:
    page = settled(open_page(report, fragment="#recourse-2"))
    assert page.locator("#recourse-2 + .detail").is_visible()
    assert page.locator("#recourse-1 + .detail").count() == 0


def test_controls_have_names_and_answers_are_announced(live: Explanation, page: Page) -> None:
    assert page.get_by_role("slider", name="Success of each").count() == 1
    assert page.get_by_role("checkbox", name="most of the panel accept it too").count() == 1
    assert page.get_by_role("button", name="replace an atom", pressed=False).count() == 1
    assert page.locator("#answer[role=status]").inner_text().startswith(f"{len(live.recourses)} rules cover")
    unnamed = page.evaluate(
        "[...document.querySelectorAll('button, input, select')].filter((it) => it.checkVisibility() &&"
        " !(it.textContent.trim() || it.ariaLabel || it.labels?.length)).map((it) => it.id)"
    )
    assert unnamed == []


def test_names_and_verdicts_are_shown_and_hostile_ones_do_no_harm(
    live: Explanation, open_page: Open, tmp_path: Path
) -> None:
    hostile = '</script><img src=x onerror=alert(1)>"\u2028'
    chooser = chooser_of(live)
    rejects = chooser.mined.rejects
    renamed = replace(
        rejects.dataset, label_names=tuple(f"{hostile}{name}" for name in live.schema.label_names), name=hostile
    )
    called = tuple(f"{hostile} no. {place}" for place in range(len(rejects)))
    mined = replace(chooser.mined, rejects=replace(rejects, dataset=renamed, names=called))
    found = replace(chooser, mined=mined).explain()
    verdict = Verdict(
        level="weak", shortcut=True, findings=(Finding(question="other models", speaks="against", sentence=hostile),)
    )
    known = RecourseEvidence(
        summary="", verdict=verdict, success=None, unseen=(), answers=(), pairs=MatchedPairs(), random=None
    )
    evidence = Evidence(
        dataset="",
        recourse="rules",
        changes="plausible",
        recourses=(known,) * len(found.recourses),
        controls=(),
        figures={},
    )
    write_report(found, tmp_path / "r.html", evidence)
    page = settled(open_page(tmp_path / "r.html", NARROW))
    assert page.locator("#recourse-2 .verdict.weak").inner_text() == "weak, a shortcut"
    page.locator("#recourse-1 th button").click()
    assert page.locator("#recourse-1 + .detail .evidence li.against").inner_text() == hostile
    page.locator("#lookup-number").fill("no. 7")
    page.keyboard.press("Enter")
    assert page.locator("#graph-title").inner_text().startswith(f"Graph {rejects.indices[7]} (</script><img")
    assert page.locator("img").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW


def test_a_table_of_three_thousand_rules_is_chosen_from_at_once(report: Path, open_page: Open, tmp_path: Path) -> None:
    """As large as tables get: 2,500 inputs, a tenth of which each of 3,000 rules turns."""
    html = report.read_text(encoding="utf-8")
    path = tmp_path / "r.html"
    packed = base64.b64encode(large_table()).decode()
    path.write_text(re.sub(r'(id="packed">)[^<]*', rf"\g<1>{packed}", html), encoding="utf-8")
    assert path.stat().st_size < 15_000_000
    page = settled(open_page(path))
    milliseconds = []
    for success in (20, 5, 15, 10, 0):
        slide(page, "#wish-success", success)
        milliseconds.append(float(page.locator("html").get_attribute("data-milliseconds") or "inf"))
    assert len(chosen(page)) == 10
    assert min(milliseconds) < 100


def large_table(num_rules: int = 3000, num_inputs: int = 2500) -> bytes:
    rng = np.random.default_rng(0)
    turned = rng.random((num_rules, num_inputs)) < 0.2 * rng.random((num_rules, 1))
    entries = int(turned.sum())
    rule = ["words", "more words", "", [[0], [], []], [[1], [], []], [0, 0], [0], [0, -1]]
    facts: dict[str, Any] = {
        "chosen": list(range(10)), "labels": ["C", "O"], "edgeLabels": None, "classes": ["reject", "accept"], "isMolecular": True, "dataset": "large", "names": [], "atoms": [["C", "", None, [4]], ["O", "", None, [2]]],
        "kinds": list(KINDS), "theta": 0.1, "changes": "plausible", "hasPanel": False, "hasJury": True, "slack": 0.05, "doubt": 2, "mostParts": 3, "splits": 5,
        "maxChanges": 1, "complete": True, "numRecourses": 10, "wishes": {"min_truth": 0.6}, "bound": None, "rules": [rule] * num_rules,
        "known": {}, "groups": [], "failures": {}, "evidence": {},
    }  # fmt: skip
    arrays: dict[str, Any] = {
        "generalOf": np.where(np.arange(num_rules) % 3, np.arange(num_rules) // 3 * 3, -1).astype(np.int32),
        "radius": np.zeros(num_rules, np.uint8), "kindOf": np.tile(np.array([0, -1, -1], np.int8), num_rules),
        "cost": rng.integers(1, 9, num_rules).astype(np.int32), "strays": rng.integers(0, 3, num_rules).astype(np.int8), "adds": np.zeros(2 * num_rules, np.uint8),
        "removes": np.zeros(2 * num_rules, np.uint8), "attached": np.full(3 * num_rules, -1, np.int16),
        "applicable": np.packbits(np.ones_like(turned), axis=1), "turned": np.packbits(turned, axis=1),
        "random": np.full(num_rules, -1, np.float32), "afterwards": np.full(entries, 200, np.uint8),
        "votes": np.zeros(entries, np.uint8), "truth": rng.integers(0, 101, entries).astype(np.uint8), "needed": np.zeros(num_inputs, np.uint8), "places": np.zeros(2 * num_rules, np.uint8),
        "numPlaces": np.ones(num_rules, np.int32), "index": np.arange(num_inputs, dtype=np.int32),
        "beforehand": np.full(num_inputs, 0.1, np.float32), "nodePtr": np.arange(num_inputs + 1, dtype=np.int32),
        "edgePtr": np.zeros(num_inputs + 1, np.int32), "nodeLabels": np.zeros(num_inputs, np.uint16),
        "edges": np.zeros(0, np.uint16), "bonds": np.zeros(0, np.uint16), "positions": np.zeros(0, np.int16),
        "foldOf": (np.arange(num_inputs) % 5).astype(np.uint8), "ruleFoldOf": (np.arange(num_inputs) % 5).astype(np.uint8),
    }  # fmt: skip
    return _pack(facts, arrays)
