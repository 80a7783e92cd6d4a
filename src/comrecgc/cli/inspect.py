"""Commands on a finished run: `choose`, `apply`, `evaluate`, `report`."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from comrecgc.cli.app import AllJobs, ClassifierFile, DataRoot, Dataset, EmbedderFile, TimeBudget, app, guarded
from comrecgc.terminal import bars, out

RunFolder = Annotated[Path, typer.Argument(metavar="DIR", help="A run folder.", show_default=False)]


@app.command()
@guarded
def choose(
    folder: RunFolder,
    recourses: Annotated[
        int | None, typer.Option(min=1, help="R: rules to choose, at most.", show_default="as in the run")
    ] = None,
    min_success: Annotated[
        float | None,
        typer.Option(
            help="Least share of the graphs a rule can be carried out on that it turns.", show_default="as in the run"
        ),
    ] = None,
    min_support: Annotated[
        int | None, typer.Option(min=1, help="Fewest graphs that a rule turns.", show_default="as in the run")
    ] = None,
    max_cost: Annotated[
        int | None, typer.Option(min=1, help="Most elements that a rule changes.", show_default="as in the run")
    ] = None,
    max_changes: Annotated[
        int | None, typer.Option(min=1, max=3, help="Most changes made together.", show_default="as in the run")
    ] = None,
    forbid_label: Annotated[
        list[str] | None, typer.Option(help="A node label that rules must not add, once per label.", show_default=False)
    ] = None,
    forbid_kind: Annotated[
        list[str] | None,
        typer.Option(
            help="relabel, attach, detach, swap, join, cut or rebond: a kind of change that rules must not consist of, once "
            "per kind.",
            show_default=False,
        ),
    ] = None,
    protect_label: Annotated[
        list[str] | None,
        typer.Option(help="A node label that rules must not remove or relabel, once per label.", show_default=False),
    ] = None,
    confirmed: Annotated[
        bool | None,
        typer.Option("--confirmed", help="Count only results that most of the panel accept.", show_default=False),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--out", help="A run folder for this choice.", show_default="only a summary")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the run in that folder.")] = False,
) -> None:
    """Choose again from the rules of a finished run, under other wishes; nothing is searched."""
    from comrecgc.cli.summary import print_summary
    from comrecgc.runs import choose_again

    chosen = choose_again(
        folder, output, overwrite=overwrite, num_recourses=recourses, min_success=min_success, min_support=min_support,
        max_cost=max_cost, max_changes=max_changes, forbidden_labels=forbid_label, forbidden_kinds=forbid_kind,
        protected_labels=protect_label, confirmed=confirmed,
    )  # fmt: skip
    print_summary(chosen, output)


@app.command()
@guarded
def apply(
    run: Annotated[Path, typer.Option(help="The run folder whose recourses are used.")],
    dataset: Dataset,
    output: Annotated[
        Path | None, typer.Option("--out", help="A .json file for the result.", show_default="only a summary")
    ] = None,
    classifier: ClassifierFile = None,
    embedder: EmbedderFile = None,
    jobs: AllJobs = None,
    time_budget: TimeBudget = None,
    data_root: DataRoot = None,
) -> None:
    """Use the recourses of a run on unseen graphs: a checked counterfactual for each reject, or why there is none."""
    from comrecgc.cli.summary import headline, print_reasons, recourse_table
    from comrecgc.datasets import load_dataset
    from comrecgc.errors import InputError
    from comrecgc.runs import apply_run
    from comrecgc.storage import check_writable, write_text

    if output is not None:
        if output.is_dir():
            raise InputError(f"Cannot write {output}: it is a folder")
        check_writable(output.parent)
    loaded = load_dataset(dataset, root=data_root, need_classes=False)
    with bars() as bar:
        applied = apply_run(
            run,
            loaded,
            classifier=classifier,
            embedder=embedder,
            jobs=jobs,
            time_budget=time_budget,
            progress=bar,
        )
    out.print(headline(applied), markup=False, soft_wrap=True)
    if applied.recourses:
        out.print(recourse_table(applied))
    print_reasons(applied)
    if output is not None:
        write_text(output, applied.to_json())
        out.print(f"saved to {output}", markup=False, soft_wrap=True)


@app.command()
@guarded
def evaluate(
    folder: RunFolder,
    classifier: ClassifierFile = None,
    embedder: EmbedderFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Recompute every figure of a run from its stored graphs and models; exit code 1 if any differs."""
    from rich.table import Table

    from comrecgc.runs import evaluate_run

    figures = evaluate_run(folder, classifier=classifier, embedder=embedder)
    if as_json:
        out.print_json(json.dumps([asdict(figure) | {"agrees": figure.agrees} for figure in figures]))
        raise typer.Exit(0 if all(figure.agrees for figure in figures) else 1)
    table = Table("figure", "stored", "recomputed", "")
    for figure in figures:
        recomputed = "cannot be told" if figure.recomputed is None else f"{figure.recomputed:.6g}"
        stored, verdict = "", ""
        if figure.stored is not None:
            stored, verdict = f"{figure.stored:.6g}", "same" if figure.agrees else "DIFFERS"
        table.add_row(figure.name, stored, recomputed, verdict)
    out.print(table)
    if not all(figure.agrees for figure in figures):
        raise typer.Exit(1)


@app.command()
@guarded
def report(folder: RunFolder) -> None:
    """Write report.html of a run folder again."""
    from comrecgc.explanation import Explanation
    from comrecgc.report import write_report
    from comrecgc.runs import REPORT

    write_report(Explanation.load(folder), folder / REPORT)
    out.print(f"report: {folder / REPORT}", markup=False, soft_wrap=True)
