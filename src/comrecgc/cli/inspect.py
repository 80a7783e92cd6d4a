"""Commands on finished runs: `choose`, `apply`, `evaluate`, `report`, `compare`."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from comrecgc.cli import app as cli
from comrecgc.cli import explain
from comrecgc.errors import InputError
from comrecgc.run import RunContext, bars, check_writable, out, write_text

_RUN = "as in the run"
LIMITS = (
    cli.option("num_recourses", int | None, None, "--recourses", "R: most rules to choose.", _RUN, min=1),
    cli.option(
        "min_success", float | None, None, "--min-success",
        "Least success of a rule: of the graphs it can be carried out on, the share that it turns.", _RUN,
    ),
    cli.option("min_support", int | None, None, "--min-support", "Fewest graphs that a rule turns.", _RUN, min=1),
    cli.option("max_cost", int | None, None, "--max-cost", "Most elements that a rule changes.", _RUN, min=1),
    cli.option("max_changes", int | None, None, "--max-changes", "Most changes made together.", _RUN, min=1, max=3),
    cli.option("forbidden_labels", list[str] | None, None, "--forbid-label", "A node label that rules must not add, once per label."),
    cli.option(
        "forbidden_groups", list[str] | None, None, "--forbid-group",
        "A group that rules must not attach, by its name or formula, once per group; a group that remains after atoms are removed does not count.",
    ),
    cli.option(
        "forbidden_kinds", list[str] | None, None, "--forbid-kind",
        "relabel, attach, detach, swap, join, cut, rebond or tie: a kind of change that rules must not consist of, once per kind.",
    ),
    cli.option("protected_labels", list[str] | None, None, "--protect-label", "A node label that rules must not remove or relabel, once per label."),
    cli.option(
        "radii", list[int] | None, None, "--radius",
        "Radius of a rule's context, once per radius: 0 the change and its anchor, 1 with the anchor's neighbours, 2 with theirs.", "all", min=0, max=2,
    ),
    cli.option("confirmed", bool | None, None, "--confirmed", "Count only results that most of the panel accept."),
    cli.option(
        "min_truth", float | None, None, "--min-truth",
        "Count only results that models of other kinds expect to come true at least this likely; 0 counts all that this model accepts.", _RUN,
    ),
)  # fmt: skip
"""Conditions on chosen rules, by their names in `Explanation.choose`."""


@cli.command(limits=LIMITS)
def choose(
    folder: cli.RunFolder,
    limits: dict[str, Any],
    output: Annotated[
        Path | None, typer.Option("--out", help="A run folder for this choice.", show_default="only a summary")
    ] = None,
    overwrite: cli.Overwrite = False,
) -> None:
    """Choose again from the rules of a finished run, under other conditions, without a search."""
    from comrecgc.runs import open_run

    explain.print_summary(open_run(folder).choose(output, overwrite=overwrite, **limits), output)


@cli.command()
def apply(
    run: Annotated[Path, typer.Option(help="The run folder whose recourses are used.")],
    data: cli.Data,
    classifier: cli.ClassifierFile = None,
    embedder: cli.EmbedderFile = None,
    output: Annotated[
        Path | None,
        cli.on_output(
            "--out",
            help="A .json file for the result, or a folder for it; molecules come as CSV too.",
            show_default="only a summary",
        ),
    ] = None,
    jobs: cli.Jobs = None,
    time_budget: cli.TimeBudget = None,
) -> None:
    """Use the recourses of a run on unseen graphs: a checked counterfactual for each reject, or the reason why there is none."""
    from comrecgc.explanation import csv_text, molecule_rows
    from comrecgc.molecules import are_types
    from comrecgc.runs import open_run

    if output is not None:
        output = output if output.suffix.lower() == ".json" else output / "applied.json"
        if output.is_dir():
            raise InputError(f"Cannot write {output}: it is a folder")
        check_writable(output.parent)
    opened = open_run(run, classifier=classifier, embedder=embedder)
    names = opened.explanation.schema.label_names
    known = names if are_types(names) else None
    loaded = cli.read_data(data, need_classes=False, label_names=known)
    with bars() as bar:
        applied = opened.apply(loaded, RunContext(jobs=jobs, time_budget=time_budget, progress=bar))
    explain.print_recourses(applied)
    if output is not None:
        write_text(output, applied.to_json())
        rows = molecule_rows(applied)
        if rows is not None:
            write_text(output.with_suffix(".csv"), csv_text(rows))
        also = "" if rows is None else f", molecules to {output.with_suffix('.csv')}"
        out.print(f"saved to {output}{also}", markup=False, soft_wrap=True)


@cli.command()
def evaluate(
    folder: cli.RunFolder,
    reading: dict[str, Any],
    classifier: cli.ClassifierFile = None,
    embedder: cli.EmbedderFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    evidence: Annotated[
        bool,
        typer.Option(
            "--evidence",
            help="Also gather evidence for and against the recourses: other models, matched pairs, unseen graphs, controls, a verdict on each recourse.",
        ),
    ] = False,
    dataset: Annotated[
        str | None,
        typer.Option(
            help="The data of the run, by name or path: the jury is trained on it again, and --evidence needs it.",
            show_default="with --evidence the run's own name",
        ),
    ] = None,
    no_controls: Annotated[
        bool,
        typer.Option(
            "--no-controls",
            help="With --evidence: leave out the controls, uninformed classifiers that take most of the time.",
        ),
    ] = False,
    jobs: cli.Jobs = None,
    cluster: cli.Cluster = None,
    data_root: cli.DataRoot = None,
) -> None:
    """Recompute every figure of a run from its stored graphs and models; exit code 1 if any differs."""
    from comrecgc.runs import open_run

    if not evidence and (no_controls or cluster is not None):
        raise InputError("--no-controls and --cluster go with --evidence")
    run = open_run(folder, classifier=classifier, embedder=embedder)
    loaded, gathered = None, None
    if evidence or dataset is not None:
        name = dataset or run.explanation.schema.dataset
        source = run.explanation.facts.facts.get("source")
        if dataset is None and isinstance(source, dict) and isinstance(source.get("dataset"), str):
            name, stored = source["dataset"], source.get("reading")
            known = stored if isinstance(stored, dict) else {}
            reading = {key: known.get(key) if value in (None, False) else value for key, value in reading.items()}
        try:
            loaded = cli.read_data(cli.Data(name, reading, data_root))
        except InputError as error:
            if dataset is not None:
                raise
            raise InputError(f"{folder} explains {name!r}; give its data with --dataset. {error}") from error
    figures = run.evaluate(loaded)
    if evidence and loaded is not None:
        with bars() as bar:
            context = RunContext(jobs=jobs, cluster=cluster, progress=bar)
            gathered = run.evidence(loaded, with_controls=not no_controls, context=context)
        run.report()
    if as_json:
        rows = [asdict(figure) | {"agrees": figure.agrees} for figure in figures]
        out.print_json(json.dumps(rows if gathered is None else {"figures": rows, "evidence": gathered.document()}))
    else:
        explain.print_figures(figures)
        if gathered is not None:
            explain.print_evidence(gathered)
    if not all(figure.agrees for figure in figures):
        raise typer.Exit(1)


@cli.command()
def report(
    folder: cli.RunFolder,
    sdf: Annotated[
        Path | None, typer.Option("--sdf", help="Molecules: also write the counterfactuals to this SDF file.")
    ] = None,
) -> None:
    """Write report.html of a run folder again."""
    from comrecgc.runs import open_run

    run = open_run(folder)
    if sdf is not None:
        run.explanation.to_sdf(sdf)
        out.print(f"molecules: {sdf}", markup=False, soft_wrap=True)
    out.print(f"report: {run.report()}", markup=False, soft_wrap=True)


# `comrecgc compare`: finished runs side by side.


@cli.command()
def compare(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Two or more run folders.")],
    name: Annotated[
        list[str] | None, typer.Option(help="Name of a run, once per run.", show_default="the names of the folders")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--out", help="A folder for comparison.html, comparison.md and comparison.csv.", show_default="only print"
        ),
    ] = None,
    style: Annotated[Literal["md", "csv"], typer.Option("--format", help="What is printed.")] = "md",
) -> None:
    """Compare finished runs on the same graphs: rules that hold for all or for one, and the graphs that each run covers."""
    from comrecgc.report import compare as compare_explanations
    from comrecgc.runs import open_run

    if output is not None:
        check_writable(output)
    names = name or _names(folders)
    found = compare_explanations(*(open_run(folder).explanation for folder in folders), names=names)
    out.print(found.to_markdown() if style == "md" else found.to_csv(), markup=False, soft_wrap=True, highlight=False)
    if output is not None:
        write_text(output / "comparison.md", found.to_markdown())
        write_text(output / "comparison.csv", found.to_csv())
        found.write_page(output / "comparison.html")
        out.print(f"page: {output / 'comparison.html'}", markup=False, soft_wrap=True)


def _names(folders: list[Path]) -> list[str]:
    """The names of the folders, or their paths if names are ambiguous."""
    names = [folder.resolve().name for folder in folders]
    return names if len(set(names)) == len(names) else [str(folder) for folder in folders]
