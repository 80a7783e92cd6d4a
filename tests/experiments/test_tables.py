"""Tables: figures beside those of the paper."""

from __future__ import annotations

import csv
import io

import pytest

from comrecgc.experiments import Entry, Row, Table
from comrecgc.experiments.tables import PAPERS


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
