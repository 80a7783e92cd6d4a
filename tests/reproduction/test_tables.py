"""Tables: figures beside those of the paper."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from operator import itemgetter

import pytest

from comrecgc_reproduction.runner import covered_by_first
from comrecgc_reproduction.tables import PAPERS, Entry, Row, Table


def table() -> Table:
    rows = (
        Row(name="COMRECGC", kind=PAPERS, entries=(Entry(values=(42.0, 44.0), printed=42.9), Entry())),
        Row(name="rules", kind="ours", entries=(Entry(values=(99.0,)), Entry(printed=3.0))),
    )
    return Table(name="t", number="Table 9", title="A table", columns=("a", "b"), rows=rows, notes=("A note.",))


def test_mean_spread_and_difference() -> None:
    entry = Entry(values=(42.0, 44.0), printed=42.9)
    assert entry.mean == 43.0
    assert entry.spread == pytest.approx(2**0.5)
    assert entry.difference == pytest.approx(0.1)
    assert entry.words(1) == "43.0 ± 1.4 (+0.1)"
    assert entry.printed_words == "42.9"
    assert Entry().words(1) == Entry().printed_words == "–"
    assert Entry(printed=3.0).words(1) == "–"
    assert Entry(printed=128663.0).printed_words == "128663"


def test_what_was_not_run_is_said() -> None:
    cells = [{"x": 42.0}, None, {"x": 44.0}]
    some = Entry.of(cells, itemgetter("x"), 42.9)
    assert (some.values, some.missing, some.not_run) == ((42.0, 44.0), 1, False)
    assert some.words(1) == "43.0 ± 1.4 (+0.1)"
    none = Entry.of([None], itemgetter("x"), 3.0)
    assert none.words(1) == "not run"
    assert Entry.of([{"x": None}], itemgetter("x")).words(1) == "–"  # it was run and has no such figure
    rows = (Row(name="a", entries=(some, none)), Row(name="b", entries=(Entry.of([None], itemgetter("x")), Entry())))
    lines = replace(table(), rows=rows).markdown().splitlines()
    assert "| a | here | 43.0 ± 1.4 (+0.1) | not run |" in lines
    assert "| b | here | not run | – |" in lines
    assert "Not all of it was run: 2 of 4 figures were not run; 1 have fewer seeds than the scale." in lines
    assert not [line for line in table().markdown().splitlines() if "Not all" in line]


def test_markdown_has_a_cell_for_every_figure() -> None:
    lines = table().markdown().splitlines()
    assert lines[0] == "## A table (Table 9)"
    assert lines[2:8] == [
        "|  |  | a | b |",
        "| --- | --- | --- | --- |",
        "| COMRECGC | printed in the paper | 42.9 | – |",
        "| COMRECGC | the paper's method, run here | 43.0 ± 1.4 (+0.1) | – |",
        "| rules | printed in the paper | – | 3 |",
        "| rules | ours | 99.0 | – |",
    ]
    assert "A note." in lines


def test_csv_has_a_line_for_every_figure() -> None:
    rows = list(csv.DictReader(io.StringIO(table().csv())))
    assert len(rows) == 4
    assert rows[0] == {
        "row": "COMRECGC", "method": PAPERS, "column": "a",
        "mean": "43", "spread": "1.41421", "seeds": "2", "paper": "42.9", "difference": "0.1",
    }  # fmt: skip
    assert rows[3]["mean"] == ""


@pytest.mark.parametrize(("count", "share"), [(1, 20.0), (2, 50.0), (3, 60.0), (100, 60.0)])
def test_coverage_of_the_first_few(count: int, share: float) -> None:
    assert covered_by_first({"curve": [0.2, 0.5, 0.6]}, count) == pytest.approx(share)
    assert covered_by_first({"curve": [], "coverage": 0.0}, count) == 0
    assert covered_by_first({"curve": [], "coverage": 0.5}, count) is None
