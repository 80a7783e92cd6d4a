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
from comrecgc_reproduction.claims import claim_lines
from comrecgc_reproduction.differences import NEAR, NEAR_LENGTH, variants_csv
from comrecgc_reproduction.figures import WANTED, found_recourses, save_figure
from comrecgc_reproduction.methods import source
from comrecgc_reproduction.paper import copied_summaries
from comrecgc_reproduction.results import machine
from comrecgc_reproduction.runner import Runner, versions
from comrecgc_reproduction.tables import NOT_RUN, OURS, PAPERS, Entry, Row, Table

if TYPE_CHECKING:
    from comrecgc_reproduction.catalogue import Experiment

_MARKERS, _NAMED = ("o", "s", "^", "D", "v", "P", "X", "<", ">"), 5  # of the picture of reported values
_MOSTLY = 0.75  # share of the figures of a table that is mostly reproduced

# Tables without a print to compare with.
_UNCOMPARED = {
    "times": "not compared: another machine",
    "globalgce": "not compared: GlobalGCE's values are not at hand",
    "differences": "[below](#values-that-differ)",
}
# Where values differ, and what is not known.
_WHY = {
    "accuracy": "split and seed are not known",
    "fc": "[Proteins](#values-that-differ)",
    "models": "[these networks were not released](#values-that-differ)",
    "social": "[no model was released, and the archives name no genres](#values-that-differ)",
    "ablation": "[how recourses were chosen is not known](#values-that-differ)",
    "ten": "[rows of other explainers are copied](#values-that-differ)",
    "fine": "[Δ = 0.025](#values-that-differ)",
    "grid": "[Proteins at Δ = 0.04](#values-that-differ)",
    "local": "[settings of CF-GNNExplainer are not known](#values-that-differ)",
}

# Processor minutes of a cell that was not run: the first words of its name, and nci1, mutagenicity, aids, proteins, another dataset.
_MINUTES = {
    "moving walk": (21, 21, 2, 33, 10),
    "vectors": (6, 5, 5, 4, 6),
    "gcfexplainer": (10, 9, 1, 5, 3),
    "published": (1.5, 3, 0.4, 0.4, 0.3),
    "localwalk": (3, 2.5, 1, 1.5, 2),
    "accuracy": (2, 2, 0.2, 0.2, 1),
    "rules": (2, 2.5, 1, 0.7, 0.5),
    "without clusters": (0.5, 0.5, 0.3, 0.5, 0.5),
}

_HEAD = """# Reproducing the paper

One command regenerates each table and figure of the paper, with the reported value beside ours.
`comrecgc reproduce page` wrote this page from the cells of such a run.
[How to run it](#run-it) stands at the end.
"""

_SETTINGS = """## What was run

The paper leaves settings open. We take them from the released code and from results saved in earlier versions of its notebook.

| setting | value | source |
| --- | --- | --- |
| heads | **they never move**: every candidate is one edit from an input | released code; in the text heads advance |
| k, M, τ | 5 heads, 50,000 steps, τ = 0.05 | text |
| neighbours of a graph | 1,000 of more, drawn anew at every restart | notebook |
| `min_samples` of DBSCAN | 2; on Mutagenicity 3; for counterfactuals in the data 1 | notebook |
| table of visited graphs | 100,000; on Proteins 50,000 | code, notebook |
| length ("cost") | sum of the norms of the chosen recourses | code; the text defines a sum over inputs |
| R, T | 100 recourses; FC: as many counterfactuals as inputs | text |

Rows named COMRECGC follow the released code. Rows "heads that advance" follow the text, with as many steps.
"""

_RUN = """## Run it

```sh
comrecgc reproduce --list
comrecgc reproduce fcr --checkpoints CHECKPOINTS --out reproduction                 # few graphs, short walks
comrecgc reproduce all --scale full --checkpoints CHECKPOINTS --out full            # as in the paper
comrecgc reproduce fcr fc --scale full --seeds 1 --checkpoints CHECKPOINTS --out full --resume
comrecgc reproduce page --scale full --seeds 1 --checkpoints CHECKPOINTS --out full --resume   # this page, in full/page
```

`CHECKPOINTS` is a folder with the models that [the authors released](https://github.com/ssggreg/COMRECGC): `NAME/classifier.pth` and `NAME/greed.pt`.
Other models are trained. GAT, GraphSAGE, GIN and all models of the social networks were never released.

Every value is a cell: a JSON file in `OUT/cells`, computed once and used by every table that needs it.
A killed run loses at most one cell. `--resume` continues and ends with the same tables, to the last byte.
`--cells cells.jsonl` starts from the cells of another run, such as [those of this page](reproduction/cells.jsonl).
`--computed` writes the tables without computing anything; missing values read "not run".
`--scale quick` takes 50 graphs of each dataset and walks of 300 steps. It shows that everything runs; its values are not comparable.
"""

_FOOT = """## What the paper leaves unclear

- The split of the released classifiers. Their accuracy is given on all graphs.
- Tables 10 and 12: GAT on Proteins has the three accuracies of GCN (0.780, 0.820, 0.730), and GraphSAGE and GIN share two of theirs (0.847, 0.748).
- Table 9, "without multi-head", repeats the row of GCFExplainer. Our table has a run of one head beside it.
- Table 4, "LocalRWExplainer": the reported row matches GCFExplainer's counterfactuals, reduced to the nearest of each input, and our row is that.
  A walk around each input, as in the text, has a row of its own.
- Table 5: the graphs are those of θ = 0.1 on every dataset; for recourses on Proteins we take θ = 0.15, as elsewhere.
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
        _HEAD, _verdicts(runner, experiments, tables, minutes), _claims(tables), _SETTINGS, _figures(runner), _differences(runner, tables),
        _ours(tables), _globalgce(tables), _not_run(runner.asked), _FOOT, _RUN,
    ]  # fmt: skip
    path = folder / "reproduction.md"
    write_text(path, "\n".join(parts))
    return path


def _verdicts(
    runner: Runner, experiments: Sequence[Experiment], tables: dict[str, Table], minutes: dict[str, tuple[float, int]]
) -> str:
    total = sum(spent for spent, _ in minutes.values()) / 60
    expected = sum(_expected(name) for name, seconds in runner.asked.items() if seconds is None) / 60
    most = runner.scale.most_graphs
    graphs = "All graphs" if most is None else f"Only {most} graphs of each dataset, so values are not comparable"
    columns = [
        "table",
        "verdict",
        "values near",
        "lengths near",
        "here (reported)",
        "furthest from the paper",
        "minutes",
    ]
    columns += ["cells not run"] if expected else []
    lines = [
        "## Verdict per table",
        "",
        f"{graphs}, θ = 0.1 (Proteins 0.15), Δ = 0.02, R = 100; released models where there are any.",
        f"{_seeds(tables.values())} Rounding differs between processors and library versions, and moves a walk as another seed does.",
        f"A value is *near* if it is within {NEAR:g} points of the reported one, or {NEAR / 100:g} of an accuracy; a length if within {NEAR_LENGTH:g}.",
        f"A table is *reproduced* if all its values are near, and *mostly* if {_MOSTLY:.0%} are; lengths do not count. A value that several tables repeat counts at the first.",
        f"Coverages stand in the order {' / '.join(paper.TITLES)}, with the reported ones in brackets. All rows: [tables.csv](reproduction/tables.csv).",
        "Time, memory, machine and versions of every cell: [cells.csv](reproduction/cells.csv). Minutes are processor time of seed 0; a shared cell counts at its first table.",
        "",
        _line(columns),
        _line(["---"] * len(columns)),
    ]
    seen = set[tuple[str, float, float]]()
    for experiment in experiments:
        table, (spent, absent) = tables.get(experiment.name), minutes[experiment.name]
        cells = [f"`{experiment.name}`, {experiment.number}: {experiment.title}"]
        cells += _pictured(experiment.name) if table is None else _judged(table, seen)
        cells += [f"{spent:.1f}"] + ([str(absent) if absent else ""] if expected else [])
        lines.append(_line(cells))
    lines += [
        "",
        f"The cells took {total:.1f} processor hours ({machine()}; {versions()[:-1]}).",
        f"Cells that were not run take about {60 * expected:.0f} minutes more, [by method](#not-run)."
        if expected
        else "",
        "",
        "![Every reported coverage against ours](images/reproduction-printed.svg)",
        "",
    ]
    return "\n".join(lines)


def _seeds(tables: Iterable[Table]) -> str:
    """What ± means, and how far seeds are apart."""
    entries = [
        entry for table in tables for row in table.rows for _, entry in _shares(table, row) if len(entry.values) > 1
    ]
    if not entries:
        return "Every value is of seed 0."
    widest = max(max(entry.values) - min(entry.values) for entry in entries)
    seeds = " or ".join(map(str, sorted({len(entry.values) for entry in entries})))
    return f"A value with ± is the mean and standard deviation of {seeds} seeds, at most {widest:.1f} points apart; others are of seed 0."


def _pictured(name: str) -> list[str]:
    return [f"[{'closest rules' if name == 'pictures' else 'drawn'}](#figures)", "", "", "", ""]


def _judged(table: Table, seen: set[tuple[str, float, float]]) -> list[str]:
    """The verdict, the number of values and of lengths close to the reported ones, the row of the paper's method, and the value that differs most.

    `seen` holds what earlier tables reported and found: a value that is repeated does not count again.
    """
    if table.name == "theory":
        wrong = [row for row in table.rows if not _holds(row)]
        verdict = "does not hold" if wrong else "holds, as far as checked"
        return [
            verdict,
            f"{len(table.rows) - len(wrong)} of {len(table.rows)} checks",
            "",
            "Theorems 1 and 3 are not among them",
            "",
        ]
    if table.name in _UNCOMPARED:
        return [_UNCOMPARED[table.name], "", "", _minutes_words(table) if table.name == "times" else "", ""]
    near = NEAR / 100 if table.name == "accuracy" else NEAR if table.name != "datasets" else 0.0
    known, lengths, printed = list[tuple[Row, str, Entry]](), list[bool](), 0
    for row in table.rows:
        for column, entry in zip(table.columns, row.entries, strict=True):
            if entry.printed is None:
                continue
            is_length = column.endswith("length")
            value = (column, entry.printed, entry.mean if entry.mean is not None else -1.0)
            if entry.mean is not None and value in seen:
                continue
            printed += not is_length
            if entry.difference is None:
                continue
            if "%" in column or is_length:  # those of the tables of coverage
                seen.add(value)
            if is_length:
                lengths.append(abs(entry.difference) <= NEAR_LENGTH)
            else:
                known.append((row, column, entry))
    if not known:
        return [NOT_RUN, f"none of {printed} run", "", "", ""]
    row, column, furthest = max(known, key=lambda it: abs(it[2].difference or 0.0))
    close = sum(abs(entry.difference or 0.0) <= near for *_, entry in known)
    verdict = "reproduced" if close == len(known) else "mostly" if close >= _MOSTLY * len(known) else "differs"
    verdict += " so far" if printed > len(known) else ""
    if table.name in _WHY and close < len(known):
        verdict += f": {_WHY[table.name]}"
    return [
        verdict,
        f"{close} of {len(known)}" + (f" ({printed} reported)" if printed > len(known) else ""),
        f"{sum(lengths)} of {len(lengths)}" if lengths else "",
        _headline(table, [row for row, *_ in known]),
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


def _headline(table: Table, rows: Sequence[Row]) -> str:
    """The coverage of COMRECGC, of five heads where there are several rows; of the first row where COMRECGC has none of its own."""
    if not table.columns[0].endswith("%"):
        return ""
    own = [row for row in rows if "COMRECGC" in row.name] or list(rows)
    row = next((row for row in own if "5 heads" in row.name), own[0])
    shares = [entry for _, entry in _shares(table, row)]
    here = " / ".join(entry.measured_words(1) for entry in shares)
    return f"{row.name}: {here} ({' / '.join(entry.printed_words for entry in shares)})"


def _shares(table: Table, row: Row) -> list[tuple[str, Entry]]:
    """Values without lengths, which the paper calls cost."""
    pairs = zip(table.columns, row.entries, strict=True)
    return [(column, entry) for column, entry in pairs if not column.endswith("length")]


def _claims(tables: dict[str, Table]) -> str:
    lines = [
        "## The paper's conclusions",
        "",
        f"Points of coverage, or lengths, by which COMRECGC is ahead ({' / '.join(paper.TITLES)}). The paper could not compute θ = 0.15 on NCI1 and Mutagenicity.",
        "",
        _line(["the paper says", "table", "holds here on", "ahead here", "ahead in the paper"]),
        _line(["---"] * 5),
        *(_line(cells) for cells in claim_lines(tables)),
    ]
    return "\n".join([*lines, ""])


def _ours(tables: dict[str, Table]) -> str:
    table, social = tables["fcr"], {row.name: row for row in tables["social"].rows}
    on_social = [
        " and ".join(entry.measured_words(1) for _, entry in _shares(tables["social"], social[f"gin: {name}"]))
        for name in ("rules, any change", "COMRECGC")
    ]
    lines = [
        "## Ours in the same table",
        "",
        "Coverage in percent at R = 100 (`comrecgc reproduce fcr --scale full`).",
        "A rule covers an input if its result is accepted within θ. Rules have no Δ, so they answer another question than vectors do.",
        f"On IMDB-BINARY and IMDB-MULTI rules cover {on_social[0]}%, COMRECGC {on_social[1]}%.",
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
        "GlobalGCE (He et al. 2024) also explains by rules, on NCI1, Mutagenicity, AIDS, ENZYMES and PROTEINS.",
        "Coverage in percent of our first rules (`comrecgc reproduce globalgce --scale full`). The values of its paper and the archive of ENZYMES were not at hand.",
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
        "**Figure 2**: FC coverage and length against the number of recourses. Dots are the values of the paper's Table 4, at R = 100.",
        "A curve ends where another recourse covers nothing more; the lengths of the tables count a hundred. Rules have no length.",
        "",
        "![Coverage and length against R](images/reproduction-curves.svg)",
        "",
    ]
    found = found_recourses(runner)
    lines.append(
        "Figures 1, 3 and 4 of the paper show common recourses on Mutagenicity. Here is the rule closest to each, with two rejected molecules and their "
        "accepted results. Orange is removed, blue is new, purple is another atom or bond.\n"
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
    hydrogens = (
        ""
        if it["exact"]
        else " Our changes keep valences, so the number of hydrogens is another one than in the paper."
    )
    return f"Ours: {it['words']}. It flips {it['turned']} of the {it['applicable']} molecules it applies to.{hydrogens}"


def _behind(table: Table) -> list[str]:
    """How far GCFExplainer is behind COMRECGC on other networks and on GCN, in the paper and here."""
    shares = {row.name: [entry for _, entry in _shares(table, row)] for row in table.rows}
    others = [entry for model in paper.OTHER_MODELS for entry in shares[f"{model}: GCFExplainer"]]
    ahead = [entry for model in paper.OTHER_MODELS for entry in shares[f"{model}: COMRECGC"]]
    reported = [float(ours.printed or 0) - float(other.printed or 0) for ours, other in zip(ahead, others, strict=True)]
    gcn = zip(paper.FCR_HEADS[5], paper.FCR_GCFEXPLAINER, strict=True)
    with_gcn = [float(ours.coverage or 0) - float(other.coverage or 0) for ours, other in gcn]
    pairs = [(ours.mean, other.mean) for ours, other in zip(ahead, others, strict=True)]
    here = [ours - other for ours, other in pairs if ours is not None and other is not None]
    gaps = [entry.difference for entry in others if entry.difference is not None]
    said = f"On GAT, GraphSAGE and GIN the paper has GCFExplainer {_range(reported)} points behind COMRECGC, on GCN {_range(with_gcn)}."
    if not here or not gaps:
        return [said]
    lower = sum(gap < 0 for gap in gaps)
    return [
        f"{said} Here it is {_range(here)} behind on these networks. {lower} of its {len(gaps)} values are lower here than reported, by up to {-min(gaps):.1f} points."
    ]


def _range(points: Sequence[float]) -> str:
    return f"{min(points):.1f} to {max(points):.1f}"


def _few_inputs(runner: Runner) -> list[str]:
    """How many graphs the networks of the social datasets reject."""
    counts = [
        cell["inputs"]
        for data in paper.SOCIAL
        for cell in runner.results(source("gcfexplainer"), data, "gin")[:1]
        if cell is not None and "inputs" in cell
    ]
    if len(counts) < len(paper.SOCIAL):
        return []
    return [
        f"Our GIN rejects {counts[0]} graphs of IMDB-BINARY and {counts[1]} of IMDB-MULTI. These numbers vary much with the training seed, so the coverages say little."
    ]


def _differences(runner: Runner, tables: dict[str, Table]) -> str:
    table, (copied, summaries) = tables["differences"], copied_summaries()
    lines = [
        "## Values that differ",
        "",
        "Settings were varied, those that the paper leaves open and some that it fixes (`comrecgc reproduce differences --scale full`).",
        f"A variant is near if its coverage is within {NEAR:g} points of the reported one and its length within {NEAR_LENGTH:g}. It shows that the value can be reached, not how it was.",
        "",
        f"- **Table 5** compares COMRECGC with ten graphs of other explainers. {copied} of these {summaries} values equal those in GCFExplainer's paper (Huang et al., WSDM 2023), rounded. That paper does not give the settings of RCExplainer and CFF.",
        "- **Table 6**: the paper, too, wonders why a larger Δ covers less on Proteins.",
        "- **Table 9**: with two heads, a hundred recourses without clusters cover at most 200 inputs. The paper has exactly 200 on three datasets, so a match there is weak evidence; on Proteins it has 124.",
        *(f"- **Tables 13 to 15**: {said}" for said in _behind(tables["models"])),
        *(
            f"- **Table 16**: the archives name no genres, so which class is action, or comedy, is a guess. {said}"
            for said in _few_inputs(runner)
        ),
        "",
        "The second number of a pair is the length. Every variant: [variants.csv](reproduction/variants.csv).",
        "",
        _line(
            ["value", "varied", "reported", "range here", "the reported value is", "nearest variant", "variants near"]
        ),
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
    """Scatter plot of every reported coverage against ours, each once; the few that are furthest apart are named."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 6.2), layout="constrained")
    axes = figure.subplots()
    axes.fill_between(
        [-2, 102],
        [-2 - NEAR, 102 - NEAR],
        [-2 + NEAR, 102 + NEAR],
        color="0.9",
        linewidth=0,
        label=f"within {NEAR:g} points",
    )
    seen, named = set[tuple[str, float, float]](), list[tuple[float, float, float, str]]()
    for count, table in enumerate(tables):
        points = list[tuple[float, float]]()
        for row in table.rows:
            for column, entry in _shares(table, row):
                if row.kind != PAPERS or not column.endswith("%") or entry.printed is None or entry.mean is None:
                    continue
                if (column, entry.printed, entry.mean) not in seen:
                    seen.add((column, entry.printed, entry.mean))
                    points.append((entry.printed, entry.mean))
                    named.append(
                        (abs(entry.mean - entry.printed), *points[-1], f"{row.name}, {column.removesuffix(', %')}")
                    )
        if points:
            axes.plot(
                *zip(*points, strict=True), _MARKERS[count % len(_MARKERS)], markersize=5, alpha=0.8, label=table.number
            )
    for _, reported, mean, name in sorted(named, reverse=True)[:_NAMED]:
        side = "right" if reported > 50 else "left"
        axes.annotate(
            name,
            (reported, mean),
            (-6 if side == "right" else 6, 0),
            textcoords="offset points",
            fontsize="x-small",
            ha=side,
            va="center",
        )
    axes.set(xlabel="reported, %", ylabel="here, %", xlim=(-2, 102), ylim=(-2, 102), aspect="equal")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small", frameon=False, loc="upper left")
    save_figure(figure, path)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
