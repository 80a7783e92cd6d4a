"""`comrecgc reproduce`: the paper's tables and figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from comrecgc.cli.app import Command, DataRoot, Jobs, Resume, app, guarded
from comrecgc.errors import InputError
from comrecgc.terminal import bars, out


@app.command(cls=Command)
@guarded
def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(help="What to reproduce; `--list` names them, `all` is every one.")
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="Name every table and figure, and stop.")] = False,
    scale: Annotated[str, typer.Option(help="quick (few graphs, short walks) or full (as in the paper).")] = "quick",
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Seeds of all that is random.", show_default="quick 1, full 3")
    ] = None,
    computed: Annotated[
        bool, typer.Option("--computed", help='Compute nothing: tables of the cells in --out, the others "not run".')
    ] = False,
    folder: Annotated[Path, typer.Option("--out", help="Gets tables, figures, models and cells.")] = Path(
        "comrecgc-reproduction"
    ),
    checkpoints: Annotated[
        Path | None,
        typer.Option(help="Folder with released models, NAME/classifier.pth and NAME/greed.pt; others are trained."),
    ] = None,
    jobs: Jobs = None,
    data_root: DataRoot = None,
    resume: Resume = False,
) -> None:
    """Regenerate the paper's tables and figures, each cell beside what the paper printed."""
    import os
    from dataclasses import replace

    from comrecgc.run import only_writer_in, write_text

    try:
        from comrecgc_reproduction import ALL, EXPERIMENTS, Runner, experiments_of, scale_of
    except ModuleNotFoundError as error:
        if error.name != "comrecgc_reproduction":
            raise
        message = "reproduce needs the package comrecgc_reproduction: install comrecgc from its source repository"
        raise InputError(message) from error

    if listed or not names:
        for experiment in EXPERIMENTS.values():
            out.print(str(experiment), markup=False, highlight=False, soft_wrap=True)
        out.print(
            f"{ALL:10} every one; tables share what they need (quick 19 min, full 21 h a seed)",
            markup=False, highlight=False, soft_wrap=True,
        )  # fmt: skip
        return
    wanted, size = experiments_of(names), scale_of(scale)
    if checkpoints is not None and not checkpoints.is_dir():
        raise InputError(f"--checkpoints must be a folder (got {checkpoints})")
    if seeds is not None:
        size = replace(size, num_seeds=seeds)
    if checkpoints is None and not computed:
        out.print("No --checkpoints: classifiers and embedders are trained here.")
    if computed and not (folder / "cells").is_dir():
        raise InputError(f"--computed needs the cells of an earlier run (got none in {folder})")
    folder.mkdir(parents=True, exist_ok=True)
    with only_writer_in(folder), bars() as bar:
        runner = Runner(
            folder=folder, scale=size, checkpoints=checkpoints, data_root=data_root,
            jobs=jobs or os.cpu_count() or 1, computes=not computed, progress=bar,
        )  # fmt: skip
        if not (resume or computed or runner.cells.is_empty):
            raise InputError(
                f"{folder} holds cells of an earlier run: --resume goes on with them, or give another --out"
            )
        for experiment in wanted:
            path = experiment.carry_out(runner)
            write_text(folder / "cells.csv", runner.cells.listing())
            out.print(f"{experiment.number}, {experiment.title}: {path}", markup=False, highlight=False, soft_wrap=True)
