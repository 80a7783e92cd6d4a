"""`comrecgc merge`: the shards of a run in, the run out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from comrecgc.cli.app import app, guarded


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
