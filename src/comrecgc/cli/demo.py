"""`comrecgc demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from comrecgc.cli.app import Seed, app, guarded


@app.command()
@guarded
def demo(
    out_folder: Annotated[Path, typer.Option("--out", help="Where models and report go.")] = Path("comrecgc-demo"),
    seed: Seed = 0,
) -> None:
    """The whole pipeline on built-in molecules, in about a minute; ends with the path of a report."""
    from comrecgc.demo import run_demo

    run_demo(out_folder, seed)
