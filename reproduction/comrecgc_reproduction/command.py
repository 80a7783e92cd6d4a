"""The work of `comrecgc reproduce`: experiments by name, one after the other."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from comrecgc.errors import InputError
from comrecgc.run import bars, only_writer_in, out, write_text
from comrecgc_reproduction.catalogue import ALL, EXPERIMENTS, experiments_of
from comrecgc_reproduction.results import scale_of
from comrecgc_reproduction.runner import Runner

_say = partial(out.print, markup=False, highlight=False, soft_wrap=True)


def carry_out(
    names: list[str],
    *,
    listed: bool,
    scale: str,
    seeds: int | None,
    computed: bool,
    folder: Path,
    checkpoints: Path | None,
    cells: Path | None,
    jobs: int,
    data_root: Path | None,
    resume: bool,
) -> None:
    """Regenerate tables and figures into a folder; arguments as of the command."""
    if listed or not names:
        for experiment in EXPERIMENTS.values():
            _say(str(experiment))
        _say(f"{ALL:10} every one; tables share what they need (quick 8 min, full 8.5 h a seed)")
        return
    wanted, size = experiments_of(names), scale_of(scale)
    if checkpoints is not None and not checkpoints.is_dir():
        raise InputError(f"--checkpoints must be a folder (got {checkpoints})")
    if seeds is not None:
        size = replace(size, num_seeds=seeds)
    if checkpoints is None and not computed:
        out.print("No --checkpoints: classifiers and embedders are trained here.")
    if computed and cells is None and not (folder / "cells").is_dir():
        raise InputError(f"--computed needs the cells of an earlier run (got none in {folder})")
    folder.mkdir(parents=True, exist_ok=True)
    with only_writer_in(folder), bars() as bar:
        runner = Runner(
            folder=folder, scale=size, checkpoints=checkpoints, data_root=data_root, jobs=jobs, computes=not computed,
            progress=bar,
        )  # fmt: skip
        if not (resume or computed or runner.cells.is_empty):
            raise InputError(
                f"{folder} holds cells of an earlier run: --resume goes on with them, or give another --out"
            )
        if cells is not None:
            runner.cells.take(cells)
        for experiment in wanted:
            path = experiment.carry_out(runner)
            write_text(folder / "cells.csv", runner.cells.listing())
            _say(f"{experiment.number}, {experiment.title}: {path}")
