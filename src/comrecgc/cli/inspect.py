"""Commands on a finished run: `choose`, `apply`, `evaluate`, `report`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from comrecgc.cli.app import AllJobs, ClassifierFile, Cluster, DataRoot, Dataset, EmbedderFile, TimeBudget, app, guarded
from comrecgc.cli.options import (
    Accept,
    Bins,
    ClassNames,
    IdColumn,
    Reject,
    SkipBad,
    SmilesColumn,
    Standardise,
    TargetColumn,
    Threshold,
    load_table_or_dataset,
)
from comrecgc.errors import InputError
from comrecgc.terminal import bars, out

if TYPE_CHECKING:
    from comrecgc.data import GraphDataset
    from comrecgc.evidence import Evidence


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
    forbid_group: Annotated[
        list[str] | None,
        typer.Option(
            help="A group that rules must not attach, by its name or formula, once per group; one that is left when atoms go is not attached.",
            show_default=False,
        ),
    ] = None,
    forbid_kind: Annotated[
        list[str] | None,
        typer.Option(
            help="relabel, attach, detach, swap, join, cut, rebond or tie: a kind of change that rules must not consist of, "
            "once per kind.",
            show_default=False,
        ),
    ] = None,
    protect_label: Annotated[
        list[str] | None,
        typer.Option(help="A node label that rules must not remove or relabel, once per label.", show_default=False),
    ] = None,
    radius: Annotated[
        list[int] | None,
        typer.Option(
            min=0,
            max=2,
            show_default="all",
            help="How far the surroundings reach that a rule asks for, once per radius: 0 what changes, 1 its neighbours, 2 theirs.",
        ),
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
        max_cost=max_cost, max_changes=max_changes, forbidden_labels=forbid_label, forbidden_groups=forbid_group,
        forbidden_kinds=forbid_kind, protected_labels=protect_label, radii=radius, confirmed=confirmed,
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
    smiles: SmilesColumn = None,
    target: TargetColumn = None,
    accept: Accept = None,
    reject: Reject = None,
    bins: Bins = None,
    threshold: Threshold = None,
    id_column: IdColumn = None,
    class_names: ClassNames = None,
    skip_bad: SkipBad = False,
    standardise: Standardise = True,
    classifier: ClassifierFile = None,
    embedder: EmbedderFile = None,
    jobs: AllJobs = None,
    time_budget: TimeBudget = None,
    data_root: DataRoot = None,
) -> None:
    """Use the recourses of a run on unseen graphs: a checked counterfactual for each reject, or why there is none."""
    from comrecgc.cli.summary import headline, print_reasons, recourse_table
    from comrecgc.explanation import Explanation
    from comrecgc.molecules import are_types
    from comrecgc.run import check_writable, write_text
    from comrecgc.runs import apply_run

    if output is not None:
        if output.is_dir():
            raise InputError(f"Cannot write {output}: it is a folder")
        check_writable(output.parent)
    names = Explanation.load(run).label_names
    loaded = load_table_or_dataset(
        dataset, data_root, smiles=smiles, target=target, accept=accept, reject=reject, bins=bins, threshold=threshold, id_column=id_column,
        class_names=class_names, skip_bad=skip_bad, standardise=standardise,
        need_classes=False, label_names=names if are_types(names) else None,
    )  # fmt: skip
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
    evidence: Annotated[
        bool,
        typer.Option(
            "--evidence",
            help="Also ask whether to believe it: other models, matched pairs, unseen graphs, controls, a verdict on each recourse.",
        ),
    ] = False,
    dataset: Annotated[
        str | None,
        typer.Option(help="With --evidence: the data of the run, by name or path.", show_default="the run's own name"),
    ] = None,
    no_controls: Annotated[
        bool, typer.Option("--no-controls", help="With --evidence: explain no classifiers that know nothing.")
    ] = False,
    smiles: SmilesColumn = None,
    target: TargetColumn = None,
    accept: Accept = None,
    reject: Reject = None,
    bins: Bins = None,
    threshold: Threshold = None,
    id_column: IdColumn = None,
    class_names: ClassNames = None,
    skip_bad: SkipBad = False,
    standardise: Standardise = True,
    jobs: AllJobs = None,
    cluster: Cluster = None,
    data_root: DataRoot = None,
) -> None:
    """Recompute every figure of a run from its stored graphs and models; exit code 1 if any differs."""
    from rich.table import Table

    from comrecgc.evidence import evaluate_run

    if not evidence and (dataset is not None or no_controls or cluster is not None):
        raise InputError("--dataset, --no-controls and --cluster go with --evidence")
    figures = evaluate_run(folder, classifier=classifier, embedder=embedder)
    gathered = None
    if evidence:
        read = partial(
            load_table_or_dataset, data_root=data_root, smiles=smiles, target=target, accept=accept, reject=reject, bins=bins,
            threshold=threshold, id_column=id_column, class_names=class_names, skip_bad=skip_bad, standardise=standardise,
        )  # fmt: skip
        gathered = _gathered(
            folder,
            dataset,
            read,
            classifier=classifier,
            embedder=embedder,
            with_controls=not no_controls,
            jobs=jobs,
            cluster=cluster,
        )
    if as_json:
        rows = [asdict(figure) | {"agrees": figure.agrees} for figure in figures]
        out.print_json(json.dumps(rows if gathered is None else {"figures": rows, "evidence": gathered.document()}))
        raise typer.Exit(0 if all(figure.agrees for figure in figures) else 1)
    table = Table("figure", "stored", "recomputed", "")
    for figure in figures:
        recomputed = "cannot be told" if figure.recomputed is None else f"{figure.recomputed:.6g}"
        stored, verdict = "", ""
        if figure.stored is not None:
            stored, verdict = f"{figure.stored:.6g}", "same" if figure.agrees else "DIFFERS"
        table.add_row(figure.name, stored, recomputed, verdict)
    out.print(table)
    if gathered is not None:
        from comrecgc.cli.summary import print_evidence

        print_evidence(gathered)
    if not all(figure.agrees for figure in figures):
        raise typer.Exit(1)


def _gathered(
    folder: Path,
    dataset: str | None,
    read: Callable[[str], GraphDataset],
    *,
    classifier: Path | None,
    embedder: Path | None,
    with_controls: bool,
    jobs: int | None,
    cluster: str | None,
) -> Evidence:
    """The evidence on a run, which the report shows from then on."""
    from comrecgc.evidence import run_evidence
    from comrecgc.explanation import Explanation
    from comrecgc.runs import rewrite_report

    name = dataset or Explanation.load(folder).dataset
    try:
        loaded = read(name)
    except InputError as error:
        if dataset is not None:
            raise
        raise InputError(f"{folder} explains {name!r}; give its data with --dataset. {error}") from error
    with bars() as bar:
        found = run_evidence(
            folder,
            loaded,
            classifier=classifier,
            embedder=embedder,
            with_controls=with_controls,
            jobs=jobs,
            cluster=cluster,
            progress=bar,
        )
    rewrite_report(folder)
    return found


@app.command()
@guarded
def report(
    folder: RunFolder,
    sdf: Annotated[
        Path | None,
        typer.Option("--sdf", help="Molecules: also write the counterfactuals to this SDF file.", show_default=False),
    ] = None,
) -> None:
    """Write report.html of a run folder again."""
    from comrecgc.explanation import Explanation
    from comrecgc.runs import REPORT, rewrite_report

    if sdf is not None:
        Explanation.load(folder).to_sdf(sdf)
        out.print(f"molecules: {sdf}", markup=False, soft_wrap=True)
    rewrite_report(folder)
    out.print(f"report: {folder / REPORT}", markup=False, soft_wrap=True)


# `comrecgc compare`: finished runs side by side.


@app.command()
@guarded
def compare(
    folders: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Two or more run folders.", show_default=False)
    ],
    name: Annotated[
        list[str] | None,
        typer.Option(help="What a run is called, once per run.", show_default="the names of the folders"),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--out", help="A folder for comparison.html, comparison.md and comparison.csv.", show_default="only print"
        ),
    ] = None,
    style: Annotated[Literal["md", "csv"], typer.Option("--format", help="What is printed.")] = "md",
) -> None:
    """Compare finished runs on the same graphs: which rules hold for all, which for one, and which graphs each covers."""
    from comrecgc.explanation import load_explanation
    from comrecgc.report import compare as compare_explanations
    from comrecgc.run import check_writable, write_text

    if output is not None:
        check_writable(output)
    names = name or _names(folders)
    found = compare_explanations(*(load_explanation(folder) for folder in folders), names=names)
    out.print(found.to_markdown() if style == "md" else found.to_csv(), markup=False, soft_wrap=True, highlight=False)
    if output is not None:
        write_text(output / "comparison.md", found.to_markdown())
        write_text(output / "comparison.csv", found.to_csv())
        found.write_page(output / "comparison.html")
        out.print(f"page: {output / 'comparison.html'}", markup=False, soft_wrap=True)


def _names(folders: list[Path]) -> list[str]:
    """The names of the folders, or their paths where names are not enough."""
    names = [folder.resolve().name for folder in folders]
    return names if len(set(names)) == len(names) else [str(folder) for folder in folders]


# `comrecgc merge`: the shards of a run in, the run out.


@app.command()
@guarded
def merge(
    shards: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="The folders of all shards.", show_default=False)
    ],
    output: Annotated[Path, typer.Option("--out", help="The run folder.", show_default=False)],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the run in the folder.")] = False,
) -> None:
    """Join the shards of a run, which `explain --shard i/n` made; the result is that of one run."""
    from comrecgc.cli.summary import print_summary
    from comrecgc.runs import merge_shards

    print_summary(merge_shards(shards, output, overwrite=overwrite), output)
