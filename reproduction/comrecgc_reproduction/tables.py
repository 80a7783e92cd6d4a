"""Tables: rows of figures with the paper's beside them, as Markdown and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from comrecgc.run import write_text
from comrecgc_reproduction.results import CachedResult

PRINTED = "printed in the paper"
PAPERS = "the paper's method, run here"
OURS = "ours"
HERE = "here"
NOT_RUN = "not run"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One figure of a table.

    Args:
        values: What was measured, one value a seed; empty if nothing was.
        printed: What the paper printed; None if nothing.
        missing: Seeds that were not run.
    """

    values: tuple[float, ...] = ()
    printed: float | None = None
    missing: int = 0

    @classmethod
    def of(
        cls,
        cells: Sequence[CachedResult | None],
        take: Callable[[CachedResult], float | None],
        printed: float | None = None,
    ) -> Entry:
        """A figure of some cells, one a seed.

        Args:
            cells: The cells; None for one that was not run.
            take: Takes the figure from a cell; None if it has none.
            printed: What the paper printed.
        """
        run = [cell for cell in cells if cell is not None]
        values = tuple(value for value in map(take, run) if value is not None)
        return cls(values=values, printed=printed, missing=len(cells) - len(run))

    @property
    def not_run(self) -> bool:
        """Whether a figure is missing because it was not computed."""
        return self.missing > 0 and not self.values

    @property
    def mean(self) -> float | None:
        """Mean over the seeds."""
        return float(np.mean(self.values)) if self.values else None

    @property
    def spread(self) -> float | None:
        """Standard deviation over the seeds; None for fewer than two."""
        return float(np.std(self.values, ddof=1)) if len(self.values) > 1 else None

    @property
    def difference(self) -> float | None:
        """Measured less printed."""
        return None if self.mean is None or self.printed is None else self.mean - self.printed

    def words(self, digits: int) -> str:
        """The measured mean, its spread and the difference from the print: "42.7 ± 0.3 (-0.2)"."""
        text = self.measured_words(digits)
        if self.difference is not None:
            text += f" ({self.difference:+.{digits}f})"
        return text

    def measured_words(self, digits: int) -> str:
        """The measured mean, with its spread if there are several seeds: "42.7 ± 0.3"."""
        if self.mean is None:
            return NOT_RUN if self.not_run else "–"
        return f"{self.mean:.{digits}f}" + ("" if self.spread is None else f" ± {self.spread:.{digits}f}")

    @property
    def printed_words(self) -> str:
        """What the paper printed."""
        return "–" if self.printed is None else f"{self.printed:.10g}"


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of a table: its name, whose method it is, and its figures.

    Args:
        name: What it is.
        entries: One a column.
        kind: Whose method it is: `PAPERS`, `OURS`, or `HERE` where that is no question.
    """

    name: str
    entries: tuple[Entry, ...]
    kind: str = HERE


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of the paper, regenerated.

    Args:
        name: Short name, also of files.
        number: Its number in the paper.
        title: Its title.
        columns: Names of the columns.
        rows: The rows.
        digits: Digits behind the point.
        notes: Sentences below it.
    """

    name: str
    number: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    digits: int = 1
    notes: tuple[str, ...] = ()

    def markdown(self) -> str:
        """The table as Markdown, with the paper's figures in a row above the measured ones."""
        head = ["", "", *self.columns]
        lines = [f"## {self.title} ({self.number})", "", _line(head), _line(["---"] * len(head))]
        for row in self.rows:
            if any(entry.printed is not None for entry in row.entries):
                lines.append(_line([row.name, PRINTED, *(entry.printed_words for entry in row.entries)]))
            if any(entry.values or entry.not_run for entry in row.entries):
                lines.append(_line([row.name, row.kind, *(entry.words(self.digits) for entry in row.entries)]))
        return "\n".join([*lines, "", *(f"{note}\n" for note in (*self._gaps(), *self.notes))])

    def _gaps(self) -> tuple[str, ...]:
        """Missing figures, in words; empty if there are none."""
        entries = [entry for row in self.rows for entry in row.entries]
        absent = sum(entry.not_run for entry in entries)
        fewer = sum(entry.missing > 0 and not entry.not_run for entry in entries)
        said = [f"{absent} of {len(entries)} figures were not run"] if absent else []
        said += [f"{fewer} have fewer seeds than the scale"] if fewer else []
        return (f"Not all of it was run: {'; '.join(said)}.",) if said else ()

    def csv(self) -> str:
        """The table as CSV, with a line per figure."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["row", "method", "column", "mean", "spread", "seeds", "paper", "difference"])
        for row in self.rows:
            for column, entry in zip(self.columns, row.entries, strict=True):
                figures = (entry.mean, entry.spread, len(entry.values), entry.printed, entry.difference)
                writer.writerow([row.name, row.kind, column, *("" if v is None else f"{v:.6g}" for v in figures)])
        return text.getvalue()

    def save(self, folder: Path) -> None:
        """Write both."""
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / f"{self.name}.md", self.markdown())
        write_text(folder / f"{self.name}.csv", self.csv())


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
