"""What the paper concludes from its tables, and whether the tables computed here say the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from comrecgc_reproduction.coverage import COPIED, ONE_HEAD
from comrecgc_reproduction.paper import OTHER_MODELS
from comrecgc_reproduction.tables import Entry, Table


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A row of a table is above another one on every dataset.

    Args:
        words: What the paper says.
        table: Name of the table.
        above: The row that should have the larger values.
        below: The other row.
        reported_below: The row that the paper compared with, where it is another one than `below`.
        is_length: Whether lengths are compared; coverages otherwise.
    """

    words: str
    table: str
    above: str
    below: str
    reported_below: str | None = None
    is_length: bool = False

    def gaps(self, table: Table) -> tuple[list[float | None], list[float | None]]:
        """How far the row is above the other one on each dataset, here and in the paper; None for what is missing."""
        above, below, reported = (
            self._entries(table, name) for name in (self.above, self.below, self.reported_below or self.below)
        )
        here = [_gap(one.mean, other.mean) for one, other in zip(above, below, strict=True)]
        return here, [_gap(one.printed, other.printed) for one, other in zip(above, reported, strict=True)]

    def _entries(self, table: Table, name: str) -> list[Entry]:
        (row,) = [row for row in table.rows if row.name == name]
        pairs = zip(table.columns, row.entries, strict=True)
        return [entry for column, entry in pairs if column.endswith("length") == self.is_length]


def _gap(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other


_FIVE = "COMRECGC, 5 heads"

CLAIMS = (
    Claim(words="FCR: covers more than GCFExplainer", table="fcr", above=_FIVE, below="GCFExplainer"),
    Claim(words="FC: covers more than GCFExplainer", table="fc", above="COMRECGC", below="GCFExplainer"),
    Claim(words="FC: covers more than LocalRWExplainer", table="fc", above="COMRECGC", below="LocalRWExplainer"),
    Claim(words="FC: is shorter than GCFExplainer", table="fc", above="GCFExplainer", below="COMRECGC", is_length=True),
    Claim(words="ten recourses cover more than ten graphs of GCFExplainer", table="ten", above="COMRECGC", below="GCFExplainer"),
    Claim(words="six heads cover more than two", table="fcr", above="COMRECGC, 6 heads", below="COMRECGC, 2 heads"),
    Claim(words="several heads cover more than one (the paper has GCFExplainer for one)", table="ablation", above=_FIVE, below=ONE_HEAD, reported_below=COPIED),
    Claim(words="clusters cover more than the walk alone", table="ablation", above=_FIVE, below="without clusters"),
    Claim(words="Δ = 0.04 covers more than 0.02", table="grid", above="θ = 0.1, Δ = 0.04", below="θ = 0.1, Δ = 0.02"),
    Claim(words="θ = 0.15 covers more than 0.1", table="grid", above="θ = 0.15, Δ = 0.02", below="θ = 0.1, Δ = 0.02"),
    *(
        Claim(words=f"{model.upper()}: covers more than GCFExplainer", table="models", above=f"{model}: COMRECGC", below=f"{model}: GCFExplainer")
        for model in OTHER_MODELS
    ),
    Claim(words="IMDB-BINARY and IMDB-MULTI: covers more than GCFExplainer", table="social", above="gin: COMRECGC", below="gin: GCFExplainer"),
)  # fmt: skip


def claim_lines(tables: Mapping[str, Table]) -> list[list[str]]:
    """For each claim its words and table, on how many datasets it holds here and in the paper, and by how much."""
    lines = []
    for claim in CLAIMS:
        here, reported = claim.gaps(tables[claim.table])
        lines.append([claim.words, tables[claim.table].number, _held(here), _said(here), _said(reported)])
    return lines


def _held(gaps: list[float | None]) -> str:
    known = [gap for gap in gaps if gap is not None]
    return f"{sum(gap > 0 for gap in known)} of {len(known)}" if known else "not run"


def _said(gaps: list[float | None]) -> str:
    return " / ".join("–" if gap is None else f"{gap:+.1f}" for gap in gaps)
