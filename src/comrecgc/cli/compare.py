"""`comrecgc compare`: finished runs side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from comrecgc.cli.app import app, guarded
from comrecgc.terminal import out


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
    from comrecgc.report import compare as compare_explanations
    from comrecgc.runs import load_explanation
    from comrecgc.storage import check_writable, write_text

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
