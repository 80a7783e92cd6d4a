"""`comrecgc explain`: a dataset and perhaps models in, a run folder out."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from comrecgc.cli.app import (
    AllJobs,
    ClassifierFile,
    Cluster,
    DataRoot,
    Dataset,
    EmbedderFile,
    Resume,
    Seed,
    TimeBudget,
    app,
    guarded,
)
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
from comrecgc.terminal import bars, err


@app.command()
@guarded
def explain(
    dataset: Dataset,
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
    output: Annotated[
        Path | None, typer.Option("--out", help="The run folder.", show_default="comrecgc-DATASET")
    ] = None,
    theta: Annotated[
        float | None,
        typer.Option(help="θ: largest normalised distance of a counterfactual.", show_default="0.1; proteins 0.15"),
    ] = None,
    delta: Annotated[
        str,
        typer.Option(
            help="Δ: how near a recourse must come to cover a graph; auto is half the median length of a one-edit recourse "
            "(0.02 with --preset paper)."
        ),
    ] = "auto",
    recourse: Annotated[
        Literal["rules", "vectors"] | None,
        typer.Option(
            help="rules: changes a person can carry out; vectors of the embedding, as in the paper.",
            show_default="rules; vectors with --preset paper or --problem fc",
        ),
    ] = None,
    recourses: Annotated[
        int | None, typer.Option(min=1, help="R: recourses to find, at most.", show_default="10 rules, 100 vectors")
    ] = None,
    max_changes: Annotated[int, typer.Option(min=1, max=3, help="Rules: changes made together, at most.")] = 2,
    min_success: Annotated[
        float, typer.Option(help="Rules: least share of the graphs a rule can be carried out on that it turns.")
    ] = 0.0,
    min_support: Annotated[int, typer.Option(min=1, help="Rules: fewest graphs that a rule turns.")] = 1,
    max_cost: Annotated[
        int | None, typer.Option(min=1, help="Rules: most elements that a rule changes.", show_default="no limit")
    ] = None,
    protect: Annotated[
        list[str] | None,
        typer.Option(help="Rules: SMARTS of what must stay in a molecule, once per pattern.", show_default=False),
    ] = None,
    forbid: Annotated[
        list[str] | None,
        typer.Option(help="Rules: SMARTS of what no result may have, once per pattern.", show_default=False),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Rules: SMARTS of where molecules may change, once per pattern.", show_default=False),
    ] = None,
    allow_alerts: Annotated[
        bool,
        typer.Option(
            "--allow-alerts",
            help="Rules: allow changes of a table's molecules that bring structural alerts (Brenk) or fall apart.",
        ),
    ] = False,
    heads: Annotated[int, typer.Option(min=1, help="k: heads of the paper's walk.")] = 5,
    steps: Annotated[int, typer.Option(min=1, help="M: steps of the paper's walk.")] = 50_000,
    teleport: Annotated[float, typer.Option(help="τ: how often the paper's walk goes back to the inputs.")] = 0.05,
    problem: Annotated[
        Literal["fcr", "fc"], typer.Option(help="fcr, or fc with no more counterfactuals than rejects.")
    ] = "fcr",
    selection: Annotated[
        Literal["ball", "dbscan"] | None,
        typer.Option(help="How recourses are chosen.", show_default="ball; dbscan with --preset paper"),
    ] = None,
    preset: Annotated[
        Literal["default", "paper"], typer.Option(help="Directed search, or the paper's walk and clusters.")
    ] = "default",
    directional: Annotated[
        bool | None,
        typer.Option(
            "--directional/--any-direction",
            help="Only recourses longer than Δ, which exclude changing nothing.",
            show_default="directional where Δ is auto",
        ),
    ] = None,
    changes: Annotated[
        Literal["any", "connected", "plausible", "confirmed"] | None,
        typer.Option(
            help="Which changes are allowed: connected adds no components, plausible touches no node that looks unlike the "
            "data afterwards, confirmed is accepted by most of a panel too.",
            show_default="plausible; any with --preset paper",
        ),
    ] = None,
    panel: Annotated[
        list[Path] | None,
        typer.Option(
            help="A classifier of the panel, once per file.",
            show_default="trained for rules, and where changes are confirmed",
        ),
    ] = None,
    agree: Annotated[
        list[Path] | None,
        typer.Option(
            help="A classifier that is explained at the same time, once per file: all must reject an input and accept its "
            "counterfactual.",
            show_default=False,
        ),
    ] = None,
    no_panel: Annotated[bool, typer.Option("--no-panel", help="Ask no other classifiers.")] = False,
    valence: Annotated[
        bool, typer.Option("--valence", help="Vectors: only edits that give no atom more bonds than it can carry.")
    ] = False,
    sample: Annotated[
        int,
        typer.Option(
            min=10, help="Rules: graphs that are studied where there are more; the rules found are carried out on all."
        ),
    ] = 5000,
    cluster: Cluster = None,
    shard: Annotated[
        str | None,
        typer.Option(
            help="Rules: i/n carries them out on one of n parts of the graphs; `comrecgc merge` joins the parts.",
            show_default=False,
        ),
    ] = None,
    seed: Seed = 0,
    jobs: AllJobs = None,
    time_budget: TimeBudget = None,
    resume: Resume = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the run in the folder.")] = False,
    data_root: DataRoot = None,
) -> None:
    """Find the common recourses of a classifier on a dataset; models that are not given are trained, once.

    Exit code 3 means that the time budget ended the search before anything was found.
    """
    started = time.monotonic()
    from comrecgc.algorithms.rules.population import Shard
    from comrecgc.algorithms.settings import Settings
    from comrecgc.cli.summary import print_summary
    from comrecgc.compilation import Compilation
    from comrecgc.cover import Reason
    from comrecgc.data import paper_theta
    from comrecgc.molecules import Valence
    from comrecgc.runs import explain_dataset

    if no_panel and panel:
        raise InputError("--panel and --no-panel cannot both be given")
    if agree and (panel or no_panel):
        raise InputError("--agree takes the place of --panel: they cannot both be given")
    if agree and changes not in (None, "confirmed"):
        raise InputError(f"--agree asks for --changes confirmed (got {changes})")
    settings = Settings(
        theta=paper_theta(dataset) if theta is None else theta,
        delta=parse_delta(delta),
        recourse=recourse or "",
        num_recourses=recourses,  # type: ignore[arg-type]  # None is filled in
        max_changes=max_changes,
        min_success=min_success,
        min_support=min_support,
        max_cost=max_cost,
        protect=tuple(protect or ()),
        forbid=tuple(forbid or ()),
        only=tuple(only or ()),
        allow_alerts=allow_alerts,
        problem=problem,
        selection=selection,
        preset=preset,
        changes="confirmed" if agree else changes or "",
        directional=directional,
        num_heads=heads,
        num_steps=steps,
        teleport=teleport,
        time_budget=time_budget,
        jobs=jobs,
        seed=seed,
        sample=sample,
    )
    loaded = load_table_or_dataset(
        dataset, data_root, smiles=smiles, target=target, accept=accept, reject=reject, bins=bins, threshold=threshold, id_column=id_column,
        class_names=class_names, skip_bad=skip_bad, standardise=standardise,
    )  # fmt: skip
    if valence:
        settings = replace(settings, constraint=Valence.of_elements(loaded.label_names))
    folder = output or Path(f"comrecgc-{loaded.name}")
    compilation = Compilation.start() if settings.recourse == "rules" else None
    with bars() as bar:
        explanation = explain_dataset(
            loaded,
            folder,
            settings,
            classifier=classifier,
            embedder=embedder,
            panel=False if no_panel or agree else panel,
            agree=agree or (),
            resume=resume,
            overwrite=overwrite,
            progress=bar,
            started=started,
            compilation=compilation,
            cluster=cluster,
            shard=None if shard is None else Shard.parse(shard),
        )
    print_summary(explanation, folder)
    if not explanation.recourses and any(entry.reason == Reason.OUT_OF_TIME for entry in explanation.uncovered):
        err.print(f"nothing was found: the time budget of {time_budget:g} s ended the search", soft_wrap=True)
        raise typer.Exit(3)


def parse_delta(text: str) -> float | str:
    """Δ as a number, or "auto"."""
    try:
        return float(text)
    except ValueError:
        if text == "auto":
            return text
        raise InputError(f"--delta must be a positive number or auto (got {text!r})") from None
