"""The paper's figure of FC: coverage and length against R, for every method."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

from comrecgc.experiments.laboratory import Laboratory
from comrecgc.experiments.methods import Method, published, rules, source, vectors
from comrecgc.experiments.paper import DATASETS
from comrecgc.storage import write_atomically, write_text

METHODS: tuple[tuple[str, Method], ...] = (
    ("counterfactuals in the data", source("dataset", problem="fc")),
    ("LocalRWExplainer", source("gcf-nearest", problem="fc")),
    ("GCFExplainer", source("gcfexplainer", problem="fc")),
    ("COMRECGC as published", published(5, problem="fc")),
    ("our vectors", vectors(problem="fc")),
    ("rules, plausible changes", rules("plausible")),
)


def draw_curves(laboratory: Laboratory) -> Path:
    """Draw the figure; returns the SVG. The numbers go beside it as CSV."""
    curves = {
        dataset: [(name, laboratory.results(method, dataset)[0]) for name, method in METHODS] for dataset in DATASETS
    }
    write_text(laboratory.folder / "curves.csv", _csv(curves))
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4 * len(DATASETS), 3.4), layout="constrained")
    for axes, (dataset, lines) in zip(figure.subplots(1, len(DATASETS), sharey=True), curves.items(), strict=True):
        for name, result in lines:
            curve = result["curve"]
            axes.plot(range(1, len(curve) + 1), [100 * share for share in curve], label=name)
        axes.set(title=dataset, xlabel="recourses", ylim=(0, 100), xscale="log")
        axes.grid(alpha=0.3)
    figure.axes[0].set_ylabel("% of rejects covered")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
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


def _csv(curves: dict[str, list[tuple[str, dict[str, Any]]]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["dataset", "method", "recourses", "coverage"])
    for dataset, lines in curves.items():
        for name, result in lines:
            for count, share in enumerate(result["curve"], start=1):
                writer.writerow([dataset, name, count, f"{share:.6g}"])
    return text.getvalue()
