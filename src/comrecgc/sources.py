"""Several sources of counterfactuals on one dataset: a run folder each, and one table and one picture of all."""

from __future__ import annotations

import csv
import difflib
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from comrecgc.algorithms.baselines.registry import BASELINES, make_baseline
from comrecgc.algorithms.settings import Settings
from comrecgc.data import GraphDataset
from comrecgc.errors import InputError
from comrecgc.explanation import Explanation
from comrecgc.run import check_writable, read_json, write_atomically, write_text
from comrecgc.runs import SUMMARY

OWN_SOURCES = ("vectors", "rules")
"""What this package finds itself, as rows of a comparison."""

TABLE = "comparison"
PICTURE = "coverage"
_AT = (1, 10)  # recourses at which coverage is told, besides all
_SHARES = {
    "share_connected": "connected",
    "share_plausible": "plausible",
    "share_confirmed": "confirmed",
    "confirmed_coverage": "confirmed coverage",
}


@dataclass(frozen=True, eq=False, kw_only=True)
class ComparedSource:
    """One row of a comparison.

    Args:
        name: A baseline, or one of `OWN_SOURCES`.
        explanation: What came of it.
        summary: Its global summary, as JSON values, if there is one.
    """

    name: str
    explanation: Explanation
    summary: Mapping[str, Any] | None = None

    def figures(self, num_recourses: int) -> dict[str, float | None]:
        """The figures of the row by name; None where there is none. Shares are percentages."""
        curve, metrics = self.explanation.coverage_curve, self.explanation.metrics
        at = [size for size in _AT if size < num_recourses] + [num_recourses]
        row: dict[str, float | None] = {
            f"R={size}": 100 * curve[min(size, len(curve)) - 1] if curve else 0.0 for size in at
        }
        published = metrics.get("published_coverage")
        row["as published"] = None if published is None else 100 * published
        row["length"] = metrics.get("published_length", metrics.get("total_length"))
        for name, shown in _SHARES.items():
            share = metrics.get(name)
            row[shown] = None if share is None else 100 * share
        if self.summary is not None:
            row |= {"k graphs": 100 * self.summary["coverage"], "median cost": self.summary["median_cost"]}
        row["minutes"] = sum(self.explanation.facts.seconds.values()) / 60
        return row


def source_settings(
    name: str,
    options: Mapping[str, Any],
    settings: Settings,
    *,
    changes: str | None = None,
    min_samples: int | None = None,
    summary: int | None = None,
) -> Settings:
    """The settings of one row.

    Args:
        name: A baseline, or one of `OWN_SOURCES`.
        options: Options of the baseline.
        settings: What all rows share.
        changes: Which changes are allowed; None for any, and plausible ones for rules.
        min_samples: Baselines: vectors that make a cluster.
        summary: Baselines: how many counterfactuals to choose.
    """
    if name not in OWN_SOURCES:
        if name not in BASELINES:
            names = [*BASELINES, *OWN_SOURCES]
            near = difflib.get_close_matches(name, names, n=1, cutoff=0.0)[0]
            raise InputError(f"Sources are {', '.join(names)} (got {name!r}; the nearest is {near})")
        made = make_baseline(name, **options)
        return replace(settings, baseline=made, changes=changes or "any", min_samples=min_samples, summary=summary)
    if options:
        raise InputError(f"Only baselines have options of their own (got {next(iter(options))!r} for {name})")
    if name == "rules":
        return replace(
            settings, recourse="rules", changes=changes or "plausible", problem="fcr", selection=None, directional=None
        )
    return replace(settings, changes=changes or "any")


def compare_sources(
    out: str | Path,
    rows: Mapping[str, Callable[[Path], Explanation]],
    dataset: GraphDataset,
    num_recourses: int,
) -> list[ComparedSource]:
    """Run every source in a folder of its own; after each, write the table and the picture of those done so far.

    Args:
        out: The folder; row NAME is the run folder `out/NAME`.
        rows: Makes the run of each row in a folder, or takes it up there.
        dataset: The data.
        num_recourses: `R`, where the picture ends.
    """
    folder = Path(out)
    check_writable(folder)
    done: list[ComparedSource] = []
    for name, run in rows.items():
        explanation = run(folder / name)
        path = folder / name / SUMMARY
        done.append(
            ComparedSource(name=name, explanation=explanation, summary=read_json(path) if path.exists() else None)
        )
        write_text(folder / f"{TABLE}.md", to_markdown(done, dataset.name, num_recourses))
        write_text(folder / f"{TABLE}.csv", to_csv(done, num_recourses))
        for kind in ("svg", "png"):
            write_picture(done, dataset.name, num_recourses, folder / f"{PICTURE}.{kind}")
    return done


def to_markdown(rows: Sequence[ComparedSource], title: str, num_recourses: int) -> str:
    """The table in Markdown, columns that no row fills left out."""
    columns, cells = _cells(rows, num_recourses)
    lines = [["source", *columns], ["---"] * (len(columns) + 1)]
    lines += [
        [
            row.name,
            *(
                "" if value is None else f"{value:.4f}" if column == "median cost" else f"{value:.1f}"
                for column, value in zip(columns, line, strict=True)
            ),
        ]
        for row, line in zip(rows, cells, strict=True)
    ]
    inputs = rows[0].explanation.metrics.get("num_inputs") if rows else 0
    head = (
        f"Coverage of the {inputs} rejected graphs of {title} in percent by the first R recourses; `as published` counts members of a "
        "cluster strictly within Δ of its centroid, as the paper's tables do. Connected, plausible and confirmed are shares of the "
        "counterfactuals shown."
    )
    return f"# {title}\n\n{head}\n\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def to_csv(rows: Sequence[ComparedSource], num_recourses: int) -> str:
    """The same table as CSV."""
    columns, cells = _cells(rows, num_recourses)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["source", *columns])
    writer.writerows(
        [row.name, *("" if value is None else f"{value:.6g}" for value in line)]
        for row, line in zip(rows, cells, strict=True)
    )
    return text.getvalue()


def _cells(rows: Sequence[ComparedSource], num_recourses: int) -> tuple[list[str], list[list[float | None]]]:
    figures = [row.figures(num_recourses) for row in rows]
    order = ["as published", "length", *_SHARES.values(), "k graphs", "median cost", "minutes"]
    names = [name for name in (figures[0] if figures else {}) if name.startswith("R=")] + order
    columns = [name for name in names if any(row.get(name) is not None for row in figures)]
    return columns, [[row.get(name) for name in columns] for row in figures]


def write_picture(rows: Sequence[ComparedSource], title: str, num_recourses: int, path: Path) -> None:
    """Coverage against R, one line per row; the kind of file is that of its name."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InputError("The picture needs matplotlib: pip install 'comrecgc[notebook]'") from error
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for row in rows:
        curve = [100 * share for share in row.explanation.coverage_curve[:num_recourses]]
        curve += [curve[-1] if curve else 0.0] * (num_recourses - len(curve))
        axes.plot(range(1, num_recourses + 1), curve, label=row.name, marker="o" if num_recourses == 1 else None)
    axes.set_xlabel("recourses R")
    axes.set_ylabel("rejected graphs covered (%)")
    axes.set_title(title, parse_math=False)
    axes.set_ylim(0, None)
    axes.grid(alpha=0.3)
    axes.legend()
    kind = path.suffix[1:]
    with rc_context({"svg.hashsalt": "comrecgc"}):  # the same file from the same figures
        write_atomically(
            path,
            lambda file: figure.savefig(file, format=kind, dpi=150, metadata={"Date": None} if kind == "svg" else None),
        )
