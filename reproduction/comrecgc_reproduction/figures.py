"""The paper's figures: coverage and length against R (Figure 2), and common recourses on Mutagenicity, found by search (Figures 1, 3 and 4)."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.registry import Rules
from comrecgc.drawing import STYLE, Pen, draw_rule
from comrecgc.explainer import CommonRecourseExplainer
from comrecgc.explanation import catalogue_of
from comrecgc.graphs import Change, Graph, Rule, Schema, carry_out
from comrecgc.run import RunContext, write_atomically, write_text
from comrecgc_reproduction import paper
from comrecgc_reproduction.methods import MOST_RECOURSES, Method, moving_walk, published, rules, source, vectors
from comrecgc_reproduction.paper import DATASETS, TITLES
from comrecgc_reproduction.results import CachedResult
from comrecgc_reproduction.runner import Runner, versions
from comrecgc_reproduction.setups import Setup
from comrecgc_reproduction.tables import NOT_RUN

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PUBLISHED = "COMRECGC as published"
METHODS: tuple[tuple[str, Method], ...] = (
    ("counterfactuals in the data", source("dataset", problem="fc")),
    ("LocalRWExplainer", source("gcf-nearest", problem="fc")),
    ("GCFExplainer", source("gcfexplainer", problem="fc")),
    (_PUBLISHED, published(5, problem="fc")),
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
    _PUBLISHED: paper.FC_COMRECGC,
}

Curves = dict[str, dict[str, CachedResult]]  # by dataset and method


def draw_curves(runner: Runner) -> Path:
    """Draw the figure; returns the SVG. The numbers go beside it as CSV. Titles say how many curves were not run.

    A panel a dataset: coverage and length of the paper's methods as in the paper, and below, coverage of ours on an axis that shows few recourses.
    A curve ends where another recourse covers nothing more.
    """
    curves: Curves = {}
    for dataset in DATASETS:
        cells = {name: runner.results(method, dataset)[0] for name, method in METHODS}
        # Cells taken from another run may have no curve.
        curves[dataset] = {name: cell for name, cell in cells.items() if cell is not None and cell["curve"]}
    write_text(runner.folder / "curves.csv", _csv(curves))
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4 * len(DATASETS), 8), layout="constrained")
    above, middle, below = figure.subplots(3, len(DATASETS), sharey="row")
    for column, (dataset, lines) in enumerate(curves.items()):
        for name, cell in lines.items():
            style: dict[str, Any] = {"color": _COLOURS[name], "label": name}
            shares, counts = 100 * np.asarray(cell["curve"]), np.arange(1, len(cell["curve"]) + 1)
            if name in _PRINTED:
                above[column].plot(counts, shares, **style)
                lengths = np.cumsum(cell["lengths"])
                middle[column].plot(np.arange(1, len(lengths) + 1), lengths, **style)
            if name not in _PRINTED or name == _PUBLISHED:
                below[column].plot(counts, shares, **style)
        for name, line in _PRINTED.items():
            printed = line[DATASETS.index(dataset)]
            above[column].plot([MOST_RECOURSES], [printed.coverage], "o", color=_COLOURS[name])
            middle[column].plot([MOST_RECOURSES], [printed.length], "o", color=_COLOURS[name])
        absent = len(METHODS) - len(lines)
        above[column].set(title=TITLES[column] + (f" ({absent} of {len(METHODS)} curves not run)" if absent else ""))
        below[column].set(xlabel="recourses R", ylim=(-2, 102), xscale="log", xlim=(0.9, 1.1 * MOST_RECOURSES))
        below[column].set(xticks=(1, 3, 10, 30, 100), xticklabels=("1", "3", "10", "30", "100"))
        for axes in (above[column], middle[column]):
            axes.set(xlim=(-2, 1.04 * MOST_RECOURSES))
        for axes in (above[column], middle[column], below[column]):
            axes.grid(alpha=0.3)
            axes.minorticks_off()
    above[0].set_ylabel("% covered, the paper's methods")
    middle[0].set_ylabel("sum of lengths")
    below[0].set_ylabel("% covered, with ours")
    drawn = {line.get_label(): line for axes in (*above, *below) for line in axes.lines}
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
_EXAMPLES = 2  # molecules beside a rule, as in the paper
_ARROW = (
    '<svg class="drawing rule" width="60" height="20" xmlns="http://www.w3.org/2000/svg">'
    '<path class="arrow" d="M10 10H48M42 5L48 10L42 15"/></svg>'
)

Difference = tuple[tuple[str, int], ...]  # atoms added (positive) or removed, by name


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """A recourse that the paper shows.

    Args:
        name: Short name, also of its file.
        figure: Number of the figure in the paper.
        words: The paper's description.
        difference: Atoms added (positive) or removed. Hydrogens may differ, since ours follow valences; rules with the same are preferred.
    """

    name: str
    figure: str
    words: str
    difference: Difference


WANTED = (
    Wanted(name="nitro", figure="Figure 1", words="removing NO2", difference=(("N", -1), ("O", -2))),
    Wanted(
        name="carbon", figure="Figure 3", words="removing two hydrogens and a carbon", difference=(("C", -1), ("H", -2))
    ),
    Wanted(
        name="exchange",
        figure="Figure 4",
        words="removing a nitrogen and a hydrogen, adding an oxygen and a carbon",
        difference=(("C", 1), ("H", -1), ("N", -1), ("O", 1)),
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
            f"{found['words']}: works for {found['turned']} of the {found['applicable']} molecules it can be carried out on"
            f"{'' if found['exact'] else ', with other hydrogens than in the paper'}. Rules of the table that do the like: {found['alike']}.\n"
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
        Rules(changes="plausible", choose="coverage"),
        panel=False,
        jury=False,
        context=RunContext(jobs=setup.jobs, progress=setup.progress),
    ).fit(setup.whole)
    mined, dataset = explainer.mined_, setup.whole
    assert mined is not None
    inputs = mined.rejects.graphs
    catalogue, rules = catalogue_of(mined), [record.rule for record in mined.rules()]
    table, names = mined.table, dataset.label_names
    found: dict[str, Any] = {}
    for wanted in WANTED:
        rows = best_rules(
            wanted, [difference(rule, names) for rule in rules], table.rules.num_changes, table.num_accepted
        )
        if not rows:
            found[wanted.name] = None
            continue
        row = rows[0]
        turned = sorted(table.entries.input[table.entries_of(row)].tolist(), key=lambda i: (inputs[i].size, i))[
            :_EXAMPLES
        ]
        sites = mined.sites(row, turned)
        results = [(inputs[i], carry_out(rules[row], inputs[i], site)) for i, site in zip(turned, sites, strict=True)]
        found[wanted.name] = {
            "words": catalogue[row].summary,
            "turned": int(table.num_accepted[row]),
            "applicable": int(table.rules.num_applicable[row]),
            "alike": len(rows),
            "exact": difference(rules[row], names) == wanted.difference,
            "picture": with_examples(
                draw_rule(rules[row], dataset.schema, title=wanted.words), results, dataset.schema
            ),
        }
    return found


def best_rules(
    wanted: Wanted, differences: Sequence[Difference], num_changes: npt.ArrayLike, num_accepted: npt.ArrayLike
) -> list[int]:
    """Rules that do what is wanted, hydrogens apart: first those with the same hydrogens, then those of fewer changes, then those that work most often."""
    changes, accepted = np.asarray(num_changes), np.asarray(num_accepted)
    alike = [row for row, found in enumerate(differences) if _heavy(found) == _heavy(wanted.difference)]
    return sorted(alike, key=lambda row: (differences[row] != wanted.difference, changes[row], -accepted[row], row))


def difference(rule: Rule, label_names: Sequence[str]) -> Difference:
    """Atoms that a rule adds or removes, by name."""
    counts = Counter(label_names[label] for label in rule.after.labels)
    counts.subtract(label_names[label] for label in rule.before.labels)
    return tuple(sorted((name, count) for name, count in counts.items() if count))


def _heavy(found: Difference) -> Difference:
    return tuple((name, count) for name, count in found if name != "H")


def with_examples(rule: str, results: Sequence[tuple[Graph, Graph]], schema: Schema) -> str:
    """One picture of a rule and, below it, of molecules before and after."""
    pen, rows = Pen(schema), [[rule]]
    for number, (before, after) in enumerate(results, start=1):
        picture = pen.draw_change(Change.between(before, after), f"molecule {number}")
        rows.append([picture.before, _ARROW, picture.after])
    top, width, placed = 0.0, 0.0, list[str]()
    for row in rows:
        sizes = [tuple(map(float, re.findall(r' (?:width|height)="([\d.]+)"', svg)[:2])) for svg in row]
        left, height = 0.0, max(tall for _, tall in sizes)
        for svg, (wide, tall) in zip(row, sizes, strict=True):
            at = f'<svg x="{left:g}" y="{top + (height - tall) / 2:g}" '
            placed.append(svg.replace("<svg ", at, 1))
            left += wide
        top, width = top + height, max(width, left)
    head = (
        f'<svg width="{width:g}" height="{top:g}" viewBox="0 0 {width:g} {top:g}" xmlns="http://www.w3.org/2000/svg">'
    )
    return f"{head}<style>{STYLE}</style>{''.join(placed)}</svg>"
