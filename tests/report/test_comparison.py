from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import comrecgc
from comrecgc.algorithms.registry import Rules
from comrecgc.cli.app import app
from comrecgc.data import load_planted
from comrecgc.errors import InputError
from comrecgc.explainer import CommonRecourseExplainer
from comrecgc.explanation import Explanation
from comrecgc.report import compare
from comrecgc.report.comparison import Comparison
from comrecgc.run import RunContext
from tests.explanations import explain, planted_explanation, planted_rules
from tests.report.live import chooser_of, live_explanation
from tests.report.test_pages import HOSTILE, Page
from tests.stubs import AvoidsLabel, small_dataset

DATASET = small_dataset(60)


def explained(label: int, theta: float = 0.3) -> Explanation:
    model = AvoidsLabel(label, 3)
    made = CommonRecourseExplainer(
        model, Rules(changes="connected"), theta=theta, num_recourses=4, panel=False, context=RunContext(jobs=1)
    )
    return made.fit(DATASET).explanation_


@pytest.fixture(scope="module")
def same() -> Comparison:
    """Two runs of one model, of which the second may change less."""
    return compare(explained(2), explained(2, theta=0.2), names=["wide", "narrow"])


@pytest.fixture(scope="module")
def other() -> Comparison:
    """Two models that reject different graphs for different reasons."""
    return compare(explained(2), explained(1), names=["no C", "no B"])


def test_a_run_agrees_with_itself() -> None:
    run = explained(2)
    found = compare(run, run)
    assert len(found.recourses) == len(run.recourses)
    assert all(all(one.holds) for one in found.recourses)
    assert {one.verdict(found.names) for one in found.recourses} == {"holds for both"}
    assert found.overlap(0, 1)["both"] == round(run.coverage * len(run.inputs))
    assert found.rules_cover(0, 1) == pytest.approx(run.coverage)


def test_rules_are_looked_up_in_the_table_of_every_run(same: Comparison) -> None:
    for one in same.recourses:
        key = None
        for run, standing in zip(same.runs, one.standings, strict=True):
            table = run.table
            assert table is not None
            if standing.place is not None:
                key = int(table.rules.key[run.rows[standing.place - 1]])
        assert key is not None
        for run, standing in zip(same.runs, one.standings, strict=True):
            table = run.table
            assert table is not None
            rows = np.flatnonzero(table.rules.key == key).tolist()
            assert standing.accepted == (int(table.num_accepted[rows[0]]) if rows else 0)


def test_rules_of_one_key_and_other_patterns_are_told_apart() -> None:
    """A key is read off surroundings and may be that of several patterns, of which each table has one."""
    one, other = explained(2), explained(2)
    first, mined = other.recourses[0].row, chooser_of(other).mined
    assert first is not None
    record = mined.rules([first])[0]
    changed = replace(record.rule, before=replace(record.rule.before, labels=(0,) * len(record.rule.before.labels)))
    assert changed != record.rule
    mined.records[first] = replace(record, rule=changed)
    found = compare(one, other)
    assert [standing.place for standing in found.recourses[0].standings] == [1, None]
    assert found.recourses[0].standings[1].accepted == 0
    assert len(one.recourses) == 1
    assert found.rules_cover(0, 1) == 0


def test_places_are_those_that_the_explanation_keeps_not_those_of_a_new_choice() -> None:
    run = live_explanation()
    others = run.choose(radii=[2]).using(chooser=run.chooser)
    rows = [[recourse.row for recourse in each.recourses] for each in (run, others)]
    wanted = [
        [each.index(row) + 1 if row in each else None for each in rows] for row in dict.fromkeys(rows[0] + rows[1])
    ]
    assert [None, 1] in wanted
    assert [[standing.place for standing in one.standings] for one in compare(run, others).recourses] == wanted


def test_rules_of_different_models_hold_for_one(other: Comparison) -> None:
    verdicts = [one.verdict(other.names) for one in other.recourses]
    assert any(verdict.startswith("only no C") for verdict in verdicts)
    assert any(verdict.startswith("only no B") for verdict in verdicts)
    shares = other.overlap(0, 1)
    assert shares["shared"] == shares["both"] + shares["first"] + shares["second"] + shares["neither"]
    assert shares["shared"] == len(other.common)
    crossed = other.rules_cover(0, 1)
    assert crossed is not None
    assert crossed < other.runs[1].explanation.coverage


def test_vectors_are_compared_with_rules_by_what_they_cover() -> None:
    vectors, rules = planted_explanation(), planted_rules()
    found = compare(vectors, rules, names=["vectors", "rules"])
    assert len(found.recourses) == len(vectors.recourses) + len(rules.recourses)
    assert found.rules_cover(0, 1) is None
    first = found.recourses[0]
    covered = {member.input for member in vectors.recourses[0].covered}
    shares = [
        len(covered & {*(member.input for member in one.covered), *one.also_covers}) / len(covered)
        for one in rules.recourses
    ]
    assert first.standings[1].nearest_share == pytest.approx(max(shares))
    assert first.verdict(found.names) == "only vectors"


def test_the_tables_say_the_same(other: Comparison) -> None:
    rows = list(csv.DictReader(io.StringIO(other.to_csv())))
    assert [row["summary"] for row in rows] == [one.recourse.summary for one in other.recourses]
    frame = other.to_frame()
    assert frame["verdict"].tolist() == [row["verdict"] for row in rows]
    markdown = other.to_markdown()
    for one in other.recourses:
        assert f"| {one.recourse.summary} | {one.verdict(other.names)} |" in markdown
    assert other.recourses[0].recourse.summary in other._repr_html_()


def test_the_page_shows_every_recourse_and_loads_nothing(other: Comparison) -> None:
    page = Page(other.to_html())
    for one in other.recourses:
        assert one.recourse.summary in page.words
    assert "Only no C" in page.words
    assert not [tag for tag, _ in page.elements if tag == "script"]
    assert len([tag for tag, attributes in page.elements if "rule" in (attributes.get("class") or "").split()]) >= len(
        other.recourses
    )


def test_hostile_names_are_text() -> None:
    run = explained(2)
    page = Page(compare(run, run, names=[HOSTILE, "b"]).to_html())
    assert "img" not in [tag for tag, _ in page.elements]
    assert "onerror" in page.words


def test_runs_must_be_about_the_same_graphs() -> None:
    run = planted_rules()
    with pytest.raises(InputError, match="at least two"):
        compare(run)
    with pytest.raises(InputError, match="all different"):
        compare(run, run, names=["a", "a"])
    with pytest.raises(InputError, match="same labels"):
        compare(run, explained(2))
    with pytest.raises(InputError, match="same graphs"):
        compare(run, explain(load_planted(1, num_graphs=120), []))


def test_the_command_writes_page_and_tables(tmp_path: Path) -> None:
    for name, label in (("a", 2), ("b", 1)):
        (tmp_path / name).mkdir()
        explained(label).save(tmp_path / name)
    result = CliRunner().invoke(
        app, ["compare", str(tmp_path / "a"), str(tmp_path / "b"), "--out", str(tmp_path / "c")]
    )
    assert result.exit_code == 0, result.output
    assert "both reject" in result.output
    assert {file.name for file in (tmp_path / "c").iterdir()} == {"comparison.html", "comparison.md", "comparison.csv"}
    runs = [comrecgc.open_run(tmp_path / name).explanation for name in ("a", "b")]
    assert chooser_of(runs[0]) is not None
    assert comrecgc.compare(*runs, names=["a", "b"]).to_csv() == (tmp_path / "c" / "comparison.csv").read_text()
    wrong = CliRunner().invoke(app, ["compare", str(tmp_path / "a")])
    assert wrong.exit_code == 2
