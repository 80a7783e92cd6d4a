"""The tables of a run folder: one row a recourse, and coverage against the number of recourses."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from comrecgc.explanation.explanation import Explanation

Cell = str | int | float | None

_COLUMNS = "recourse summary description gain coverage also_covers norm median_edits median_distance share_valid inputs".split()
# A spreadsheet runs a cell that begins so as a formula; some take the full-width signs of East Asian text for the same.
_FORMULA_STARTS = ("=", "+", "-", "@", "＝", "＋", "－", "＠")


def recourse_rows(explanation: Explanation) -> list[list[Cell]]:
    """A header, then a row for every recourse in order of selection."""
    rows: list[list[Cell]] = [[*_COLUMNS]]
    for place, (recourse, coverage) in enumerate(zip(explanation.recourses, explanation.coverage_curve, strict=True)):
        rows.append(
            [
                place + 1,
                recourse.summary,
                recourse.description,
                recourse.gain,
                coverage,
                len(recourse.also_covers),
                recourse.norm,
                recourse.median_edits,
                recourse.median_distance,
                recourse.share_valid,
                " ".join(str(member.input) for member in recourse.covered),
            ]
        )
    return rows


def curve_rows(explanation: Explanation) -> list[list[Cell]]:
    """A header, then the share covered by the first 1, 2, … R recourses."""
    rows: list[list[Cell]] = [["recourses", "coverage"]]
    rows += [[place + 1, share] for place, share in enumerate(explanation.coverage_curve)]
    return rows


def csv_text(rows: Iterable[Sequence[Cell]]) -> str:
    """Rows as CSV; every row is one line, and text that a spreadsheet would run as a formula gets a quote before it."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([_defused(cell) for cell in row] for row in rows)
    return text.getvalue()


def _defused(cell: Cell) -> Cell:
    if not isinstance(cell, str):
        return cell
    words = " ".join("".join(char for char in cell if char.isprintable() or char.isspace()).split())
    return f"'{words}" if words.startswith(_FORMULA_STARTS) else words
