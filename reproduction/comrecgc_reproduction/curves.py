"""The paper's figure of FC: coverage and length against R, for every method."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from comrecgc.run import write_atomically, write_text
from comrecgc_reproduction.cells import Cell
from comrecgc_reproduction.laboratory import Laboratory
from comrecgc_reproduction.methods import MOST_RECOURSES, Method, moving_walk, published, rules, source, vectors
from comrecgc_reproduction.paper import DATASETS

METHODS: tuple[tuple[str, Method], ...] = (
    ("counterfactuals in the data", source("dataset", problem="fc")),
    ("LocalRWExplainer", source("gcf-nearest", problem="fc")),
    ("GCFExplainer", source("gcfexplainer", problem="fc")),
    ("COMRECGC as published", published(5, problem="fc")),
    ("COMRECGC, heads that advance", moving_walk(problem="fc")),
    ("our vectors", vectors(problem="fc")),
    ("rules, any change", rules("any")),
    ("rules, plausible changes", rules("plausible")),
)

_COLOURS = {name: f"C{place}" for place, (name, _) in enumerate(METHODS)}
_COUNTS = range(1, MOST_RECOURSES + 1)

Curves = dict[str, dict[str, Cell]]  # by dataset and method


def draw_curves(laboratory: Laboratory) -> Path:
    """Draw the figure; returns the SVG. The numbers go beside it as CSV. Titles say how many curves were not run."""
    curves: Curves = {}
    for dataset in DATASETS:
        cells = {name: laboratory.results(method, dataset)[0] for name, method in METHODS}
        curves[dataset] = {name: cell for name, cell in cells.items() if cell is not None}
    write_text(laboratory.folder / "curves.csv", _csv(curves))
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4 * len(DATASETS), 6), layout="constrained")
    above, below = figure.subplots(2, len(DATASETS), sharey="row", sharex=True)
    for column, (dataset, lines) in enumerate(curves.items()):
        for name, cell in lines.items():
            style: dict[str, Any] = {"color": _COLOURS[name], "linestyle": _style(name), "label": name}
            above[column].plot(_COUNTS, 100 * _held(cell["curve"]), **style)
            if cell["lengths"]:
                below[column].plot(_COUNTS, _held(np.cumsum(cell["lengths"])), **style)
        absent = len(METHODS) - len(lines)
        title = f"{dataset} ({absent} of {len(METHODS)} curves not run)" if absent else dataset
        above[column].set(title=title, ylim=(-2, 102), xscale="log")
        below[column].set(xlabel="recourses R", xticks=(1, 3, 10, 30, 100), xticklabels=("1", "3", "10", "30", "100"))
        for axes in (above[column], below[column]):
            axes.grid(alpha=0.3)
            axes.minorticks_off()
    above[0].set_ylabel("% of rejects covered")
    below[0].set_ylabel("sum of lengths")
    drawn = {line.get_label(): line for axes in above for line in axes.lines}
    shown = [name for name, _ in METHODS if name in drawn]
    figure.legend([drawn[name] for name in shown], shown, loc="outside lower center", ncols=4, frameon=False)
    path = laboratory.folder / "curves.svg"
    for suffix in ("svg", "png"):
        metadata: dict[str, Any] = {"Date": None} if suffix == "svg" else {"Software": None}
        write_atomically(
            path.with_suffix(f".{suffix}"),
            lambda file, suffix=suffix, metadata=metadata: figure.savefig(
                file, format=suffix, dpi=120, metadata=metadata
            ),  # type: ignore[misc]
        )
    return path


def _held(values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """A curve up to a hundred recourses; where nothing more is gained, fewer are chosen and it stays as it is."""
    known = np.asarray(values, dtype=np.float64)
    return np.append(known, np.full(len(_COUNTS) - len(known), known[-1] if len(known) else 0.0))


def _style(name: str) -> str:
    return "-" if "our" in name or "rules" in name else "--"


def _csv(curves: Curves) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["dataset", "method", "recourses", "coverage", "length"])
    for dataset, lines in curves.items():
        for name, cell in lines.items():
            lengths = np.cumsum(cell["lengths"])
            for count, share in enumerate(cell["curve"], start=1):
                length = f"{lengths[count - 1]:.6g}" if count <= len(lengths) else ""
                writer.writerow([dataset, name, count, f"{share:.6g}", length])
    return text.getvalue()
