"""The page of the documentation: a verdict per table and a picture per figure, all from the cells of a run."""

from __future__ import annotations

import csv
import io
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from comrecgc.run import write_text
from comrecgc_reproduction import paper
from comrecgc_reproduction.differences import NEAR, NEAR_LENGTH, variants_csv
from comrecgc_reproduction.figures import WANTED, found_recourses, save_figure
from comrecgc_reproduction.paper import copied_summaries
from comrecgc_reproduction.results import machine
from comrecgc_reproduction.runner import Runner, versions
from comrecgc_reproduction.tables import NOT_RUN, OURS, PAPERS, Entry, Row, Table

if TYPE_CHECKING:
    from comrecgc_reproduction.catalogue import Experiment

_MOSTLY = 0.75  # share of the figures of a table that is mostly reproduced

# Tables without a print to compare with.
_UNCOMPARED = {
    "times": "not compared: the paper used an L4 GPU",
    "globalgce": "not compared: its print is not at hand",
    "differences": "[below](#figures-that-differ)",
}
# What the paper leaves open where figures differ.
_WHY = {
    "accuracy": "split and seed are not known",
    "models": "[these networks were not released](#figures-that-differ)",
    "social": "[no model was released, and it depends on which class is rejected](#figures-that-differ)",
    "ablation": "[how recourses were chosen is not known](#figures-that-differ)",
    "ten": "[rows of other explainers are copied](#figures-that-differ)",
    "fine": "[Δ = 0.025](#figures-that-differ)",
    "grid": "[Proteins at Δ = 0.04](#figures-that-differ)",
    "local": "settings of CF-GNNExplainer are not known",
}

# Processor minutes of a cell that was not run: the first words of its name, and nci1, mutagenicity, aids, proteins, another dataset.
_MINUTES = {
    "moving walk": (6, 7, 2, 10, 6),
    "vectors": (6, 5, 5, 4, 6),
    "gcfexplainer": (10, 9, 1, 5, 3),
    "published": (1.5, 3, 0.4, 0.4, 0.3),
    "localwalk": (3, 2.5, 1, 1.5, 2),
    "accuracy": (2, 2, 0.2, 0.2, 1),
    "rules": (2, 2.5, 1, 0.7, 0.5),
    "without clusters": (0.5, 0.5, 0.3, 0.5, 0.5),
}

_HEAD = """# Reproducing the paper

One command regenerates each table and figure of the paper, with the paper's figure beside ours.
`comrecgc reproduce page` wrote this page from the cells of such a run.

```sh
comrecgc reproduce --list
comrecgc reproduce fcr --checkpoints CHECKPOINTS --out reproduction                 # few graphs, short walks
comrecgc reproduce all --scale full --checkpoints CHECKPOINTS --out full            # as in the paper
comrecgc reproduce fcr fc --scale full --seeds 1 --checkpoints CHECKPOINTS --out full --resume
comrecgc reproduce page --scale full --seeds 1 --checkpoints CHECKPOINTS --out full --resume   # this page, in full/page
```

`CHECKPOINTS` is a folder with the authors' released models: `NAME/classifier.pth` and `NAME/greed.pt`.
What is not there is trained. GAT, GraphSAGE, GIN and all models of the social networks were never released.

Every figure is a cell: a JSON file in `OUT/cells`, computed once and used by every table that needs it.
A killed run loses at most one cell. `--resume` continues and ends with the same files.
`--cells cells.jsonl` starts from the cells of another run, such as [those of this page](reproduction/cells.jsonl).
`--computed` writes the tables without computing anything; what is missing stands there as "not run".
`--scale quick` takes 50 graphs of each dataset and walks of 300 steps. It shows that everything runs; its figures mean little.
"""

_FOOT = """## What cannot be reproduced

- The split of the released classifiers is not known. Their accuracy is given on all graphs.
- The paper's row "without multi-head" is its GCFExplainer row, copied. The table has a run of one head beside it.
- "LocalRWExplainer" in the paper's FC table is GCFExplainer's pool, reduced to the nearest counterfactual of each input.
  The row `gcf-nearest` is that. A walk around each input, as the text says, has a row of its own.
- The worked example of FC uses `f1(G3) = H1` in its text where its table has `f3(G3) = H1`. Both cover three inputs.
"""


def write_page(runner: Runner, experiments: Sequence[Experiment]) -> Path:
    """Write `page/reproduction.md` with its tables and pictures beside it; returns the page.

    Args:
        runner: Holds the cells; nothing is computed.
        experiments: The tables and figures, in the order of the page.
    """
    runner = replace(runner, computes=False, asked={})
    folder = runner.folder / "page"
    tables, minutes = dict[str, Table](), dict[str, tuple[float, int]]()
    for experiment in experiments:
        before = dict(runner.asked)
        result = experiment.run(runner)
        if isinstance(result, Table):
            tables[experiment.name] = result
        new = [seconds for name, seconds in runner.asked.items() if name not in before]
        minutes[experiment.name] = sum(filter(None, new)) / 60, sum(seconds is None for seconds in new)
    _copy_pictures(runner, folder / "images")
    _draw_printed(tables.values(), folder / "images" / "reproduction-printed.svg")
    write_text(folder / "reproduction" / "cells.csv", runner.cells.listing())
    write_text(folder / "reproduction" / "cells.jsonl", runner.cells.lines())
    write_text(folder / "reproduction" / "tables.csv", _csv(tables.values()))
    write_text(folder / "reproduction" / "variants.csv", variants_csv(runner))
    parts = [
        _HEAD, _verdicts(runner, experiments, tables, minutes), _ours(tables), _globalgce(tables), _figures(runner),
        _differences(tables["differences"], tables["models"]), _not_run(runner.asked), _FOOT,
    ]  # fmt: skip
    path = folder / "reproduction.md"
    write_text(path, "\n".join(parts))
    return path


def _verdicts(
    runner: Runner, experiments: Sequence[Experiment], tables: dict[str, Table], minutes: dict[str, tuple[float, int]]
) -> str:
    total = sum(spent for spent, _ in minutes.values()) / 60
    expected = sum(_expected(name) for name, seconds in runner.asked.items() if seconds is None) / 60
    columns = ["table", "verdict", "figures near the print", "here (printed)", "furthest from the print", "minutes"]
    columns += ["cells not run"] if expected else []
    lines = [
        "## Verdict per table",
        "",
        "Full size: all graphs, the released models, θ = 0.1 (Proteins 0.15), Δ = 0.02, R = 100.",
        "A figure with ± is the mean and standard deviation of its seeds; one without is of seed 0. Seeds 1 and 2 were run where three seeds take at most an hour.",
        "Walks depend on rounding: another processor or library version changes a figure a little, as another seed does.",
        f"A figure is *near* if it is within {NEAR:g} points of the print, or {NEAR / 100:g} of an accuracy.",
        f"A table is *reproduced* if all its figures are near, and *mostly* if {_MOSTLY:.0%} are. The table shows the coverage of COMRECGC, or of the row named.",
        f"Datasets are in the order {' / '.join(paper.TITLES)}; the paper's figures are in brackets. All rows: [tables.csv](reproduction/tables.csv).",
        "Seconds, machine and versions of every cell: [cells.csv](reproduction/cells.csv), with the most memory that its process had held until then.",
        "Minutes are of one processor, each cell counted at the first table that uses it.",
        "",
        _line(columns),
        _line(["---"] * len(columns)),
    ]
    for experiment in experiments:
        table, (spent, absent) = tables.get(experiment.name), minutes[experiment.name]
        cells = [f"`{experiment.name}`, {experiment.number}: {experiment.title}"]
        cells += _pictured(experiment.name) if table is None else _judged(table)
        cells += [f"{spent:.1f}"] + ([str(absent) if absent else ""] if expected else [])
        lines.append(_line(cells))
    lines += [
        "",
        f"The cells took {total:.1f} processor hours ({machine()}; {versions()[:-1]}).",
        f"Those that were not run are expected to take {expected:.1f} more, [by method](#not-run)." if expected else "",
        "",
        "![Every coverage that the paper printed, against ours](images/reproduction-printed.svg)",
        "",
    ]
    return "\n".join(lines)


def _pictured(name: str) -> list[str]:
    return [f"[drawn]({'#figures' if name in ('curves', 'pictures') else ''})", "", "", ""]


def _judged(table: Table) -> list[str]:
    """The verdict, the number of figures close to the print, the row of the paper's method, and the figure that differs most."""
    if table.name == "theory":
        wrong = [row for row in table.rows if not _holds(row)]
        verdict = "does not hold" if wrong else "holds"
        return [verdict, f"{len(table.rows) - len(wrong)} of {len(table.rows)} statements hold", "", ""]
    if table.name in _UNCOMPARED:
        return [_UNCOMPARED[table.name], "", _minutes_words(table) if table.name == "times" else "", ""]
    near = NEAR / 100 if table.name == "accuracy" else NEAR if table.name != "datasets" else 0.0
    known = [
        (row, column, entry)
        for row in table.rows
        for column, entry in _shares(table, row)
        if entry.difference is not None
    ]
    printed = sum(entry.printed is not None for row in table.rows for _, entry in _shares(table, row))
    if not known:
        return [NOT_RUN, f"none of {printed} run", "", ""]
    row, column, furthest = max(known, key=lambda it: abs(it[2].difference or 0.0))
    close = sum(abs(entry.difference or 0.0) <= near for *_, entry in known)
    verdict = "reproduced" if close == len(known) else "mostly" if close >= _MOSTLY * len(known) else "differs"
    verdict += " so far" if printed > len(known) else ""
    if table.name in _WHY and close < len(known):
        verdict += f": {_WHY[table.name]}"
    return [
        verdict,
        f"{close} of {len(known)}" + (f" ({printed} printed)" if printed > len(known) else ""),
        _headline(table),
        f"{row.name}, {column}: {furthest.words(table.digits)}" if close < len(known) else "",
    ]


def _minutes_words(table: Table) -> str:
    """Processor minutes of COMRECGC as a whole, with the paper's, which stand in a row of their own."""
    printed, here = [row for row in table.rows if row.name == "COMRECGC"]
    said = " / ".join(entry.measured_words(1) for entry in here.entries)
    return f"COMRECGC, minutes: {said} ({' / '.join(entry.printed_words for entry in printed.entries)})"


def _holds(row: Row) -> bool:
    found, claimed = (entry.mean for entry in row.entries)
    if found is None or claimed is None:
        return False
    return found >= claimed if "at least" in row.name else found == claimed


def _headline(table: Table) -> str:
    """The coverage of COMRECGC, of five heads where there are several rows."""
    rows = [row for row in table.rows if "COMRECGC" in row.name and any(e.printed is not None for e in row.entries)]
    rows = [row for row in rows if "5 heads" in row.name] or rows
    if not rows:
        return ""
    shares = [entry for _, entry in _shares(table, rows[0])]
    here = " / ".join(entry.measured_words(1) for entry in shares)
    name = "" if len(rows) == 1 and "heads" not in rows[0].name else f"{rows[0].name}: "
    return f"{name}{here} ({' / '.join(entry.printed_words for entry in shares)})"


def _shares(table: Table, row: Row) -> list[tuple[str, Entry]]:
    """Figures without lengths, which the paper calls cost."""
    pairs = zip(table.columns, row.entries, strict=True)
    return [(column, entry) for column, entry in pairs if not column.endswith("length")]


def _ours(tables: dict[str, Table]) -> str:
    table = tables["fcr"]
    lines = [
        "## Ours in the same table",
        "",
        "Coverage in percent at R = 100 (`comrecgc reproduce fcr`). Rules here are chosen for coverage, as the table measures it.",
        "",
        _line(["", *paper.TITLES]),
        _line(["---"] * 5),
    ]
    rows = [row for row in table.rows if row.kind == OURS or "5 heads" in row.name]
    lines += [_line([row.name, *(entry.words(1) for _, entry in _shares(table, row))]) for row in rows]
    return "\n".join([*lines, ""])


def _globalgce(tables: dict[str, Table]) -> str:
    rows = dict[tuple[str, str], Row]()
    for row in tables["globalgce"].rows:
        changes, budget = row.name.removeprefix("rules, ").split(": ")
        rows[changes, budget] = row
    budgets = list(dict.fromkeys(budget for _, budget in rows))
    lines = [
        "## The datasets of GlobalGCE",
        "",
        "GlobalGCE (He et al. 2024) also explains by rules, on NCI1, Mutagenicity, AIDS, ENZYMES and PROTEINS (`comrecgc reproduce globalgce`).",
        "Coverage in percent of our first rules. Its printed figures and budgets are not at hand. ENZYMES was not run: its archive was not at hand.",
        "",
        _line(["", *(name if int(name) > 1 else f"{name} rule" for name in budgets)]),
        _line(["---"] * (1 + len(budgets))),
    ]
    for place, dataset in enumerate(paper.TITLES):
        for changes in dict.fromkeys(name for name, _ in rows):
            shares = [rows[changes, budget].entries[place].words(1) for budget in budgets]
            lines.append(_line([f"{dataset}, {changes}", *shares]))
    return "\n".join([*lines, ""])


def _figures(runner: Runner) -> str:
    lines = [
        "## Figures",
        "",
        "**Figure 2**: FC coverage and length against the number of recourses, a panel a dataset. Dots at R = 100 are what the paper's Table 4 prints.",
        "",
        "![Coverage and length against R](images/reproduction-curves.svg)",
        "",
    ]
    found = found_recourses(runner)
    lines.append(
        "Figures 1, 3 and 4 show common recourses on Mutagenicity. Ours are rules; below each are two of the rejected molecules and their accepted results.\n"
    )
    for wanted in WANTED:
        it = None if found is None else found[wanted.name]
        lines.append(f"**{wanted.figure}**: {wanted.words}. " + _found_words(it) + "\n")
        if it is not None:
            lines.append(f"![{it['words']}](images/recourse-{wanted.name}.svg)\n")
    return "\n".join(lines)


def _found_words(it: dict[str, Any] | None) -> str:
    if it is None:
        return f"{NOT_RUN.capitalize()}."
    hydrogens = "" if it["exact"] else " Our changes follow valences, so hydrogens differ."
    return f"Ours: {it['words']}. It works for {it['turned']} of the {it['applicable']} molecules it can be carried out on.{hydrogens}"


def _behind(table: Table) -> str:
    """How far GCFExplainer is behind COMRECGC on other networks and on GCN, in print and here."""
    shares = {row.name: [entry for _, entry in _shares(table, row)] for row in table.rows}
    pairs = [
        pair
        for model in paper.OTHER_MODELS
        for pair in zip(shares[f"{model}: COMRECGC"], shares[f"{model}: GCFExplainer"], strict=True)
    ]
    printed = [float(ours.printed or 0) - float(other.printed or 0) for ours, other in pairs]
    here = [ours.mean - other.mean for ours, other in pairs if ours.mean is not None and other.mean is not None]
    gcn = zip(paper.FCR_HEADS[5], paper.FCR_GCFEXPLAINER, strict=True)
    with_gcn = [float(ours.coverage or 0) - float(other.coverage or 0) for ours, other in gcn]
    ranges = [f"{min(points):.1f} to {max(points):.1f}" for points in (printed, with_gcn, here) if points]
    return (
        f"In print GCFExplainer is {ranges[0]} points behind COMRECGC on GAT, GraphSAGE and GIN (Tables 13 to 15), but {ranges[1]} on GCN (Table 3)."
        + (f" Here it is {ranges[2]} behind on these networks." if here else "")
    )


def _differences(table: Table, networks: Table) -> str:
    copied, summaries = copied_summaries()
    lines = [
        "## Figures that differ",
        "",
        "What the paper left open was varied (`comrecgc reproduce differences --scale full --seeds 1`).",
        f"A variant is near if its coverage is within {NEAR:g} points of the print and its length, where the paper printed one, within {NEAR_LENGTH:g}. Then what was varied can explain the print, the more so the more variants are near.",
        "Without clusters, a hundred recourses of two heads cover 200 inputs at most, and 200 inputs are the print on NCI1, Mutagenicity and AIDS. So a match there says little, and Proteins does not follow it.",
        f"Table 5 compares COMRECGC with the ten graphs of other explainers: {copied} of these {summaries} figures are those of GCFExplainer's paper (Huang et al., WSDM 2023), rounded. So they were copied, and the settings behind them are of another paper, which does not have them either.",
        _behind(networks),
        "Lengths stand behind coverages. Every variant: [variants.csv](reproduction/variants.csv).",
        "",
        _line(["figure", "varied", "printed", "range here", "the print is", "nearest variant", "variants near"]),
        _line(["---"] * 7),
    ]
    for row in table.rows:
        least, greatest, nearest_share, nearest_length, close, run, variants = row.entries
        name, varied, nearest = row.name.split(" — ")
        count = f"{close.mean:g} of {run.mean:g}" + (
            "" if run.mean == variants.mean else f"; {variants.mean:g} planned"
        )
        printed = f"{nearest_share.printed:g}" + (
            "" if nearest_length.printed is None else f"; {nearest_length.printed:g}"
        )
        if nearest_share.mean is None or nearest_share.printed is None:
            lines.append(_line([name, varied, printed, NOT_RUN, "", "", count]))
            continue
        low, high, wanted = float(least.mean or 0), float(greatest.mean or 0), nearest_share.printed
        within = (
            "inside the range" if low <= wanted <= high else "above the range" if wanted > high else "below the range"
        )
        found = "near a variant" if close.mean else within
        here = f"{low:.1f} to {high:.1f}"
        if run.mean == 1:  # no range
            found, here = "", f"{low:.1f}"
        total = "" if nearest_length.mean is None else f"; {nearest_length.mean:.2f}"
        lines.append(_line([name, varied, printed, here, found, f"{nearest}: {nearest_share.mean:.1f}{total}", count]))
    return "\n".join([*lines, ""])


def _not_run(asked: dict[str, float | None]) -> str:
    """Missing cells by method, with their expected minutes."""
    absent = [name for name, seconds in asked.items() if seconds is None]
    if not absent:
        return ""
    lines = ["## Not run", "", "Expected minutes are of one processor.", "", _line(["cells", "how many", "minutes"])]
    lines.append(_line(["---"] * 3))
    groups: dict[str, list[str]] = {}
    for name in absent:
        groups.setdefault(next((key for key in _MINUTES if name.startswith(key)), "others"), []).append(name)
    for key, names in groups.items():
        lines.append(_line([key, str(len(names)), f"{sum(map(_expected, names)):.0f}"]))
    return "\n".join([*lines, ""])


def _expected(name: str) -> float:
    places = [place for place, data in enumerate(("nci1", "mutagenicity", "aids", "proteins")) if f" {data} " in name]
    row = next((row for key, row in _MINUTES.items() if name.startswith(key)), (1,) * 5)
    # A cell that shares a search takes its clusters alone.
    is_walk = name.startswith(("published", "moving", "gcf"))
    shares_search = (is_walk and " fc " in name) or (
        name.startswith("published") and "delta 0.02 theta 0.1" not in name
    )
    if (
        name.startswith("published")
        and " mutagenicity " in name
        and " delta 0.0" in name
        and " delta 0.02 " not in name
    ):
        return 4.0  # clusters of 900,000 vectors that lie close
    return 2.0 if shares_search else float(row[places[0] if places else 4])


def _csv(tables: Iterable[Table]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for count, table in enumerate(tables):
        rows = list(csv.reader(io.StringIO(table.csv())))
        if count == 0:
            writer.writerow(["table", *rows[0]])
        writer.writerows([table.name, *row] for row in rows[1:])
    return text.getvalue()


def _copy_pictures(runner: Runner, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(runner.folder / "curves.svg", folder / "reproduction-curves.svg")
    for wanted in WANTED:
        path = runner.folder / f"recourse-{wanted.name}.svg"
        if path.exists():
            shutil.copyfile(path, folder / path.name)


def _draw_printed(tables: Iterable[Table], path: Path) -> None:
    """Scatter plot of every coverage that was both printed and run: the print on the x axis, ours on the y axis."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 5.4), layout="constrained")
    axes = figure.subplots()
    axes.plot([0, 100], [0, 100], color="0.7", linewidth=1)
    for table in tables:
        points = [
            (entry.printed, entry.mean)
            for row in table.rows
            if row.kind == PAPERS
            for column, entry in _shares(table, row)
            if column.endswith("%") and entry.difference is not None
        ]
        if points:
            axes.plot(*zip(*points, strict=True), ".", label=f"{table.name} ({table.number})")
    axes.set(xlabel="printed, %", ylabel="here, %", xlim=(0, 100), ylim=(0, 100), aspect="equal")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small", frameon=False)
    save_figure(figure, path)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
