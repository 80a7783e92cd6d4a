"""`comrecgc baseline`: other explainers' counterfactuals, alone or side by side."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from comrecgc.cli.app import (
    AllJobs,
    ClassifierFile,
    DataRoot,
    Dataset,
    EmbedderFile,
    Resume,
    Seed,
    TimeBudget,
    app,
    guarded,
)
from comrecgc.cli.explain import parse_delta
from comrecgc.errors import InputError
from comrecgc.terminal import bars, out

if TYPE_CHECKING:
    from comrecgc.explanation import Explanation


@app.command()
@guarded
def baseline(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME...",
            help="published, gcfexplainer, gcf-nearest, local-walk, dataset, rcexplainer, cff, cf-gnnexplainer; with several names, also "
            "vectors and rules for what this package finds.",
            show_default=False,
        ),
    ],
    dataset: Dataset,
    classifier: ClassifierFile = None,
    embedder: EmbedderFile = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="The run folder; with several names, a folder with a run folder for each, the table and the picture.",
            show_default="comrecgc-DATASET-NAME",
        ),
    ] = None,
    theta: Annotated[
        float | None,
        typer.Option(help="θ: largest normalised distance of a counterfactual.", show_default="0.1; proteins 0.15"),
    ] = None,
    delta: Annotated[str, typer.Option(help="Δ: how near a recourse must come to cover a graph.")] = "0.02",
    recourses: Annotated[int, typer.Option(min=1, help="R: recourses to find, at most.")] = 100,
    problem: Annotated[
        Literal["fcr", "fc"], typer.Option(help="fcr, or fc with no more counterfactuals than rejects.")
    ] = "fcr",
    selection: Annotated[
        Literal["ball", "dbscan"] | None,
        typer.Option(help="How recourses are chosen.", show_default="dbscan as published; ball for vectors"),
    ] = None,
    min_samples: Annotated[
        int | None,
        typer.Option(min=1, help="Vectors that make a cluster.", show_default="2; 1 for dataset"),
    ] = None,
    summary: Annotated[
        int | None,
        typer.Option(min=1, help="k: also choose so many counterfactuals near many inputs.", show_default="none"),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="OPTION=VALUE", help="An option of the baseline; NAME.OPTION=VALUE with several names."
        ),
    ] = None,
    changes: Annotated[
        Literal["any", "connected", "plausible", "confirmed"] | None,
        typer.Option(help="Which changes are allowed.", show_default="any; plausible for rules"),
    ] = None,
    panel: Annotated[
        list[Path] | None,
        typer.Option(help="A classifier that is asked about counterfactuals too, once per file.", show_default="none"),
    ] = None,
    seed: Seed = 0,
    jobs: AllJobs = None,
    time_budget: TimeBudget = None,
    resume: Resume = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the run in the folder.")] = False,
    data_root: DataRoot = None,
) -> None:
    """Take the counterfactuals of another explainer as the source of common recourses, or compare several.

    With several names, each is a run of its own: --resume goes on with the first that is not finished, and --time-budget is for each.
    """
    from comrecgc.algorithms.settings import Settings
    from comrecgc.cli.summary import print_summary
    from comrecgc.data import load_dataset, paper_theta
    from comrecgc.run import read_json
    from comrecgc.runs import SUMMARY, explain_dataset
    from comrecgc.sources import OWN_SOURCES, compare_sources, source_settings

    if len(set(names)) < len(names):
        raise InputError(f"Every name once (got {', '.join(names)})")
    if len(names) == 1 and names[0] in OWN_SOURCES:
        raise InputError(f"comrecgc explain --recourse {names[0]} finds them (got {names[0]} as the only name)")
    shared = Settings(
        theta=paper_theta(dataset) if theta is None else theta,
        delta=parse_delta(delta),
        recourse="vectors",
        num_recourses=recourses,
        problem=problem,
        selection=selection,
        directional=False if delta != "auto" else None,
        changes="any",
        time_budget=time_budget,
        jobs=jobs,
        seed=seed,
    )
    options = parse_options(names, setting or [])
    rows = {
        name: source_settings(name, options[name], shared, changes=changes, min_samples=min_samples, summary=summary)
        for name in names
    }
    loaded = load_dataset(dataset, root=data_root)
    folder = output or Path(f"comrecgc-{loaded.name}-{'-'.join(names)}")
    with bars() as bar:
        runs: dict[str, Callable[[Path], Explanation]] = {
            name: partial(
                explain_dataset, loaded, settings=row, classifier=classifier, embedder=embedder,
                panel=list(panel) if panel else None if name == "rules" else row.changes == "confirmed",
                resume=resume, overwrite=overwrite, progress=bar, started=time.monotonic() if len(names) == 1 else None,
            )
            for name, row in rows.items()
        }  # fmt: skip
        if len(names) == 1:
            explanation = runs[names[0]](folder)
        else:
            compare_sources(folder, runs, loaded, recourses)
    if len(names) > 1:
        out.print((folder / "comparison.md").read_text(encoding="utf-8"), markup=False, soft_wrap=True, highlight=False)
        out.print(f"picture: {folder / 'coverage.svg'}", markup=False, soft_wrap=True)
        return
    print_summary(explanation, folder)
    if (folder / SUMMARY).exists():
        chosen: Any = read_json(folder / SUMMARY)
        out.print(
            f"{len(chosen['graphs'])} counterfactuals are within {chosen['theta']:g} of {chosen['coverage']:.1%} of the inputs; median "
            f"distance {chosen['median_cost']:.4f}",
            markup=False, soft_wrap=True,
        )  # fmt: skip


def parse_options(names: Sequence[str], settings: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Options of each baseline, from OPTION=VALUE or NAME.OPTION=VALUE."""
    options: dict[str, dict[str, Any]] = {name: {} for name in names}
    for text in settings:
        key, equals, value = text.partition("=")
        owner, dot, option = key.rpartition(".")
        if not dot and len(names) == 1:
            owner, option = names[0], key
        if not equals or owner not in options or not option:
            wanted = "OPTION=VALUE" if len(names) == 1 else "NAME.OPTION=VALUE with one of the names"
            raise InputError(f"--set takes {wanted} (got {text!r})")
        try:
            options[owner][option] = json.loads(value)
        except json.JSONDecodeError:
            options[owner][option] = value
    return options
