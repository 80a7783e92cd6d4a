"""The paper's figures: coverage and length against R (Figure 2), and common recourses on Mutagenicity, found by search (Figures 1, 3 and 4)."""

from __future__ import annotations

import csv
import io
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.registry import Rules
from comrecgc.drawing import draw_rule
from comrecgc.explainer import CommonRecourseExplainer
from comrecgc.explanation import catalogue_of
from comrecgc.graphs import Rule
from comrecgc.run import RunContext, write_atomically, write_text
from comrecgc_reproduction import paper
from comrecgc_reproduction.methods import MOST_RECOURSES, Method, moving_walk, published, rules, source, vectors
from comrecgc_reproduction.paper import DATASETS
from comrecgc_reproduction.results import CachedResult
from comrecgc_reproduction.runner import Runner, versions
from comrecgc_reproduction.setups import Setup
from comrecgc_reproduction.tables import NOT_RUN

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
_PRINTED = {
    "counterfactuals in the data": paper.FC_DATASET,
    "LocalRWExplainer": paper.FC_LOCAL,
    "GCFExplainer": paper.FC_GCFEXPLAINER,
    "COMRECGC as published": paper.FC_COMRECGC,
}
_COUNTS = range(1, MOST_RECOURSES + 1)

Curves = dict[str, dict[str, CachedResult]]  # by dataset and method


def draw_curves(runner: Runner) -> Path:
    """Draw the figure; returns the SVG. The numbers go beside it as CSV. Titles say how many curves were not run."""
    curves: Curves = {}
    for dataset in DATASETS:
        cells = {name: runner.results(method, dataset)[0] for name, method in METHODS}
        # Cells taken from another run may have no curve.
        curves[dataset] = {name: cell for name, cell in cells.items() if cell is not None and cell["curve"]}
    write_text(runner.folder / "curves.csv", _csv(curves))
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4 * len(DATASETS), 6), layout="constrained")
    above, below = figure.subplots(2, len(DATASETS), sharey="row", sharex=True)
    for column, (dataset, lines) in enumerate(curves.items()):
        for name, cell in lines.items():
            style: dict[str, Any] = {"color": _COLOURS[name], "linestyle": _style(name), "label": name}
            above[column].plot(_COUNTS, 100 * _held(cell["curve"]), **style)
            if cell["lengths"]:
                below[column].plot(_COUNTS, _held(np.cumsum(cell["lengths"])), **style)
        for name, line in _PRINTED.items():
            printed = line[DATASETS.index(dataset)]
            above[column].plot([MOST_RECOURSES], [printed.coverage], "o", color=_COLOURS[name])
            below[column].plot([MOST_RECOURSES], [printed.length], "o", color=_COLOURS[name])
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
    path = runner.folder / "curves.svg"
    for suffix in ("svg", "png"):
        save_figure(figure, path.with_suffix(f".{suffix}"))
    return path


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure as its name ends; the same figure gives the same bytes."""
    import matplotlib as mpl

    kind = path.suffix[1:]
    metadata: dict[str, Any] = {"Date": None} if kind == "svg" else {"Software": None}
    with mpl.rc_context({"svg.hashsalt": path.name}):
        write_atomically(path, lambda file: figure.savefig(file, format=kind, dpi=120, metadata=metadata))


def _held(values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """A curve extended to a hundred recourses by its last value; fewer recourses are chosen if nothing more is gained."""
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


_DATASET = "mutagenicity"


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """A recourse that the paper shows.

    Args:
        name: Short name, also of its file.
        figure: Number of the figure in the paper.
        words: The paper's description.
        difference: Atoms added (positive) or removed, without hydrogens, since ours follow valences.
    """

    name: str
    figure: str
    words: str
    difference: tuple[tuple[str, int], ...]


WANTED = (
    Wanted(name="nitro", figure="Figure 1", words="removing NO2", difference=(("N", -1), ("O", -2))),
    Wanted(name="carbon", figure="Figure 3", words="removing two hydrogens and a carbon", difference=(("C", -1),)),
    Wanted(
        name="exchange",
        figure="Figure 4",
        words="removing a nitrogen and a hydrogen, adding an oxygen and a carbon",
        difference=(("C", 1), ("N", -1), ("O", 1)),
    ),
)


def found_recourses(runner: Runner) -> CachedResult | None:
    """The rules that match the paper's pictures, by name; None if they were not searched for."""
    setup = runner.setup(_DATASET)
    return runner.cells.value(f"pictures {_DATASET} {setup.model} {runner.scale}", lambda: _searched(setup))


def draw_recourses(runner: Runner) -> Path:
    """Find the recourses of the paper's pictures among plausible rules, and draw them; returns the page that lists them."""
    cell = found_recourses(runner)
    lines = ["## Common recourses that the paper shows", ""]
    for wanted in WANTED:
        lines.append(f"### {wanted.figure}: {wanted.words}\n")
        if cell is None:
            lines.append(f"{NOT_RUN.capitalize()}.\n")
            continue
        found = cell[wanted.name]
        if found is None:
            lines.append("No plausible rule of the table does this.\n")
            continue
        write_text(runner.folder / f"recourse-{wanted.name}.svg", found["picture"])
        lines.append(
            f"{found['words']}: works for {found['turned']} of the {found['applicable']} molecules it can be carried out on. "
            f"Rules of the table that do the like: {found['alike']}.\n"
        )
        lines.append(f"![{wanted.words}](recourse-{wanted.name}.svg)\n")
    path = runner.folder / "pictures.md"
    notes = (
        "All graphs of Mutagenicity, whatever the scale.",
        f"Models: {runner.setup(_DATASET).provenance}.",
        versions(),
    )
    write_text(path, "\n".join([*lines, *(f"{note}\n" for note in notes)]))
    return path


def _searched(setup: Setup) -> dict[str, Any]:
    """The words, counts and picture of the best rule for each wanted recourse, by name; None if no rule matches."""
    explainer = CommonRecourseExplainer(
        setup.classifier,
        Rules(changes="plausible"),
        panel=False,
        context=RunContext(jobs=setup.jobs, progress=setup.progress),
    ).fit(setup.whole)
    mined, dataset = explainer.mined_, setup.whole
    assert mined is not None
    catalogue, rules = catalogue_of(mined), [record.rule for record in mined.rules()]
    table = mined.table
    order = sorted(range(len(table)), key=lambda row: (table.rules.num_changes[row], -table.num_accepted[row], row))
    found: dict[str, Any] = {}
    for wanted in WANTED:
        rows = [row for row in order if difference(rules[row], dataset.label_names) == wanted.difference]
        if not rows:
            found[wanted.name] = None
            continue
        row, words = rows[0], catalogue[rows[0]]
        picture = draw_rule(
            rules[row], dataset.schema,
            title=wanted.words, standalone=True,
        )  # fmt: skip
        found[wanted.name] = {
            "words": words.summary,
            "turned": int(table.num_accepted[row]),
            "applicable": int(table.rules.num_applicable[row]),
            "alike": len(rows),
            "picture": picture,
        }
    return found


def difference(rule: Rule, label_names: tuple[str, ...]) -> tuple[tuple[str, int], ...]:
    """Atoms that a rule adds or removes, hydrogens apart, by name."""
    counts = Counter(label_names[label] for label in rule.after.labels)
    counts.subtract(label_names[label] for label in rule.before.labels)
    return tuple(sorted((name, count) for name, count in counts.items() if count and name != "H"))
