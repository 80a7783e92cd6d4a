"""Tests of comrecgc.report.pages.

Also tests comrecgc.report.views.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from comrecgc.explanation import Explanation
from comrecgc.explanation.records import AtHand, RunFacts
from comrecgc.graphs import Edit, EditKind
from comrecgc.report import write_report
from comrecgc.report.pages import render_report
from tests.explanations import explain, planted_explanation, tiny_dataset

HOSTILE = '</script><script>alert("x")</script><img src=x onerror=alert(1)>\u2028\u202eשלום'


class Page(HTMLParser):
    """The elements of a page, their attributes, and its words."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words += data


def embedded(html: str) -> dict[str, object]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    assert found is not None
    document: dict[str, object] = json.loads(found[1])
    return document


@pytest.fixture(scope="module")
def planted() -> Explanation:
    return planted_explanation()


def test_the_page_says_what_was_found(planted: Explanation) -> None:
    html = render_report(planted)
    page = Page(html)
    found = (
        f"{len(planted.recourses)} common recourses turn {planted.coverage:.1%} of {len(planted.inputs)} toxic graphs"
    )
    assert f"{found} into harmless" in page.words
    for recourse in planted.recourses:
        assert recourse.summary in page.words
    for words in ("Model accuracy", "87.0%", "13.0% of the inputs are covered by changing nothing.", "theta", "3.11"):
        assert words in page.words
    for reason in {entry.reason for entry in planted.uncovered}:
        assert reason.value.capitalize() in page.words
    assert len([1 for tag, attributes in page.elements if tag == "tr" and attributes.get("class") == "row"]) == len(
        planted.recourses
    )


def test_the_embedded_data_draws_examples_and_map(planted: Explanation) -> None:
    data = embedded(render_report(planted))
    recourses = data["recourses"]
    assert isinstance(recourses, list)
    for recourse, shown in zip(planted.recourses, recourses, strict=True):
        assert shown["inputs"] == [member.input for member in recourse.covered]
        assert len(shown["points"]) == recourse.gain
        assert 1 <= len(shown["examples"]) <= 4
        for example in shown["examples"]:
            assert example["before"].startswith("<svg")
            assert example["after"].endswith("</svg>")
            assert example["steps"]


def test_nothing_is_fetched_and_nothing_foreign_runs(planted: Explanation) -> None:
    html = render_report(planted)
    page = Page(html)
    policy = next(
        attributes["content"] or ""
        for tag, attributes in page.elements
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    (script,) = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    (style,) = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    for text in (script, style):
        checksum = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{checksum}'" in policy
    for _, attributes in page.elements:
        assert not any(name.startswith("on") or name == "style" for name in attributes)
        assert (attributes.get("src") or "data:").startswith("data:")
        assert (attributes.get("href") or "#").startswith(("#", "data:"))
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", html)


def test_hostile_names_are_harmless() -> None:
    dataset = tiny_dataset((HOSTILE, "C", HOSTILE + "2"), name=HOSTILE)
    dataset = replace(dataset, class_names=(HOSTILE, "b" * 3000), notes=(HOSTILE,), edge_label_names=(HOSTILE, HOSTILE))
    explanation = explain(dataset, [[(0, (Edit(EditKind.RELABEL, 3, 2),))]], warnings=(HOSTILE,))
    explanation = replace(
        explanation,
        parameters={HOSTILE: HOSTILE},
        at_hand=AtHand(RunFacts(versions={HOSTILE: HOSTILE}, seconds={HOSTILE: 1.0}, facts={HOSTILE: [HOSTILE]})),
    )
    html = render_report(explanation)
    page = Page(html)
    assert [tag for tag, _ in page.elements].count("script") == 2
    assert not [tag for tag, _ in page.elements if tag == "img"]
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    assert embedded(html)
    assert "\u2028" not in re.findall(r'id="data">(.*?)</script>', html, re.DOTALL)[0]


def test_an_empty_explanation_has_a_page() -> None:
    page = Page(render_report(explain(tiny_dataset(), [])))
    assert "No common recourse was found" in page.words
    assert "3 of 3 inputs (100.0%)" in page.words
    assert not [tag for tag, attributes in page.elements if attributes.get("id") == "first"]


def test_a_page_without_metrics_and_facts(planted: Explanation) -> None:
    page = Page(render_report(replace(planted, metrics={}, at_hand=AtHand())))
    assert "Model accuracy" not in page.words
    assert "Trivial" not in page.words


def test_the_page_depends_on_the_explanation_alone(planted: Explanation, tmp_path: Path) -> None:
    planted.save(tmp_path)
    write_report(Explanation.load(tmp_path), tmp_path)
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == render_report(planted)
    write_report(planted, tmp_path / "other.html")
    assert (tmp_path / "other.html").read_bytes() == (tmp_path / "report.html").read_bytes()
