"""The page as a person uses it, in a headless Chromium."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from comrecgc.data import load_planted
from comrecgc.report import write_report
from tests.explanations import explain, planted_explanation, planted_rules, random_explanation, tiny_dataset
from tests.report.browsing import NARROW, WIDE, Open, browser, open_page
from tests.report.test_pages import HOSTILE

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["browser", "open_page"]  # fixtures


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(planted_explanation(), path)
    return path


@pytest.fixture(scope="module")
def rule_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rules") / "report.html"
    write_report(planted_rules(), path)
    return path


def shown_rows(page: Page) -> int:
    return page.locator("#table .row:visible").count()


def test_the_slider_moves_the_marker_and_filters_the_table(report: Path, open_page: Open) -> None:
    page, curve = open_page(report), planted_explanation().coverage_curve
    assert shown_rows(page) == 6
    places = [page.locator("#marker").get_attribute("cx")]
    page.locator("#first").focus()
    for expected in (5, 4):
        page.keyboard.press("ArrowLeft")
        assert shown_rows(page) == expected
        places.append(page.locator("#marker").get_attribute("cx"))
    assert float(places[0] or 0) > float(places[1] or 0) > float(places[2] or 0)
    assert page.locator("#first-words").inner_text() == f"4 cover {curve[3]:.1%}"
    assert page.locator("#count").inner_text() == "4 of 6 recourses"
    page.keyboard.press("Home")
    assert shown_rows(page) == 1
    assert page.locator("#first-words").inner_text() == f"1 covers {curve[0]:.1%}"


def test_search_and_kind_filter_the_table(report: Path, open_page: Open) -> None:
    page = open_page(report)
    page.locator("#search").fill("nitro")
    assert shown_rows(page) == 4
    page.locator("#kind").select_option("relabel")
    assert shown_rows(page) == 2
    page.locator("#search").fill("no such words")
    assert shown_rows(page) == 0
    page.locator("#reset").click()
    assert shown_rows(page) == 6
    index = planted_explanation().recourses[2].covered[0].input
    page.locator("#search").fill(str(index))
    assert [row.get_attribute("id") for row in page.locator("#table .row:visible").all()] == ["recourse-3"]


def test_a_recourse_opens_its_drawings_by_mouse_and_keyboard(report: Path, open_page: Open) -> None:
    page = open_page(report)
    assert page.locator("#detail-1 svg").count() == 0
    button = page.locator("#recourse-1 button")
    button.focus()
    page.keyboard.press("Enter")
    assert button.get_attribute("aria-expanded") == "true"
    assert page.locator("#detail-1 .example svg.drawing:visible").count() == 8
    page.locator("#recourse-1 td.r").first.click()
    assert button.get_attribute("aria-expanded") == "false"
    assert page.locator("#detail-1 svg:visible").count() == 0


def test_an_open_recourse_hides_with_its_row(report: Path, open_page: Open) -> None:
    page = open_page(report)
    page.locator("#recourse-6 button").click()
    assert page.locator("#detail-6").is_visible()
    page.locator("#first").focus()
    page.keyboard.press("ArrowLeft")
    assert not page.locator("#detail-6").is_visible()
    page.keyboard.press("ArrowRight")
    assert page.locator("#detail-6").is_visible()


def test_a_point_of_the_map_opens_its_recourse(report: Path, open_page: Open) -> None:
    page = open_page(report)
    ink = page.evaluate(
        "() => { const c = document.getElementById('map');"
        " return c.getContext('2d').getImageData(0, 0, c.width, c.height).data.filter((v, i) => i % 4 == 3 && v).length }"
    )
    assert ink > 500
    page.locator("#map-key button").first.click()
    assert page.locator("#detail-1").is_visible()


def test_inputs_not_covered_are_drawn_when_opened(report: Path, open_page: Open) -> None:
    page = open_page(report)
    reason = page.locator(".reason").first
    reason.locator("> summary").click()
    reason.locator(".cards svg").first.wait_for()
    assert reason.locator(".indices").is_visible()


def test_a_link_to_a_recourse_opens_it(report: Path, open_page: Open) -> None:
    page = open_page(report, fragment="#recourse-2")
    assert page.locator("#detail-2").is_visible()
    assert not page.locator("#detail-1").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_scrolls_sideways_on_a_phone(report: Path, open_page: Open, scheme: str) -> None:
    page = open_page(report, NARROW, scheme)
    for button in page.locator("#table .row button").all():
        button.click()
    for summary in page.locator("summary:visible").all():
        summary.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW


def test_a_rule_opens_its_facts_and_examples(rule_report: Path, open_page: Open) -> None:
    page = open_page(rule_report)
    assert page.locator(".pattern svg:visible").count() == 3
    assert page.locator("#map").count() == 0
    assert page.locator("#detail-1 .example svg.drawing:visible").count() == 8  # the first is open
    page.locator("#recourse-2 button").focus()
    page.keyboard.press("Enter")
    assert page.locator("#detail-2 .known dt").first.inner_text() == "Works for"
    assert page.locator("#detail-2 code").inner_text() == "[C:1][N](=[O])[O]>>[C:1][F]"
    assert page.locator("#detail-2 .example svg.drawing:visible").count() == 8
    page.locator("#first").focus()
    page.keyboard.press("Home")
    assert page.locator("#count").inner_text() == "1 of 3 rules"


def test_rules_are_found_by_what_they_do_and_cover(rule_report: Path, open_page: Open) -> None:
    page = open_page(rule_report)
    page.locator("#kind").select_option("cut")
    assert [row.get_attribute("id") for row in page.locator("#table .row:visible").all()] == ["recourse-2"]
    page.locator("#kind").select_option("")
    also = planted_rules().recourses[2].also_covers[0]
    page.locator("#search").fill(str(also))
    assert "recourse-3" in [row.get_attribute("id") for row in page.locator("#table .row:visible").all()]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_rules_fit_on_a_phone(rule_report: Path, open_page: Open, scheme: str) -> None:
    page = open_page(rule_report, NARROW, scheme)
    for button in page.locator("#table .row button[aria-expanded=false]").all()[::-1]:
        button.click()
    for summary in page.locator("summary:visible").all():
        summary.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW


def test_dark_mode_is_dark(report: Path, open_page: Open) -> None:
    colours = [
        open_page(report, WIDE, scheme).evaluate("getComputedStyle(document.documentElement).backgroundColor")
        for scheme in ("light", "dark")
    ]
    brightness = [sum(int(part) for part in colour[4:-1].split(",")) for colour in colours]
    assert brightness[0] > 700
    assert brightness[1] < 100


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_hostile_names_do_no_harm(open_page: Open, tmp_path: Path, width: int) -> None:
    dataset = tiny_dataset((HOSTILE, "C", "n" * 4000), name=HOSTILE + "w" * 2000)
    explanation = random_explanation(replace(dataset, class_names=(HOSTILE, "c" * 3000)), 1)
    write_report(replace(explanation, warnings=(HOSTILE,), parameters={HOSTILE: HOSTILE}), tmp_path / "r.html")
    page = open_page(tmp_path / "r.html", width)
    page.locator("#recourse-1 button").click()
    assert page.locator("#detail-1 svg").count() >= 2
    assert page.locator("img").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_an_empty_report_opens(open_page: Open, tmp_path: Path) -> None:
    write_report(explain(tiny_dataset(), []), tmp_path / "r.html")
    page = open_page(tmp_path / "r.html")
    page.locator(".reason > summary").first.click()
    page.locator(".cards svg").first.wait_for()  # drawings come when the browser tells that the list is open


def test_a_hundred_recourses_of_thousands_of_inputs_open_at_once(open_page: Open, tmp_path: Path) -> None:
    some = load_planted(num_graphs=200)
    rejected = [graph for graph, accepted in zip(some.graphs, some.classes, strict=True) if not accepted]
    graphs = tuple(rejected[i % len(rejected)] for i in range(2438))
    many = replace(some, graphs=graphs, classes=np.zeros(len(graphs), dtype=np.int8))
    path = tmp_path / "r.html"
    write_report(random_explanation(many, 100, in_words=False), path)
    assert path.stat().st_size < 15_000_000
    seconds = []
    for _ in range(3):
        begin = time.perf_counter()
        page = open_page(path)
        assert page.locator("#marker").count() == 1
        seconds.append(time.perf_counter() - begin)
    assert min(seconds) < 10  # 0.3 s on a quiet machine, but tests run on busy ones
    page.locator("#first").focus()
    page.keyboard.press("Home")
    assert shown_rows(page) == 1
