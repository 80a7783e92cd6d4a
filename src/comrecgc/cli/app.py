"""The application, the options its commands share, and how they fail: one line, exit code 2."""

from __future__ import annotations

import errno
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, ParamSpec

import typer

from comrecgc import __version__
from comrecgc.errors import InputError
from comrecgc.terminal import err, out

app = typer.Typer(
    name="comrecgc",
    help="Explain a graph neural network globally: a few common recourses that turn many rejected graphs into accepted ones.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)

P = ParamSpec("P")

# What the disk says when it is full or cannot be written to, also to libraries that keep files of their own.
_STORAGE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)


def guarded(command: Callable[P, None]) -> Callable[P, None]:
    """The command with bad input as one line on stderr and exit code 2, and Ctrl-C as exit code 130."""

    @functools.wraps(command)
    def run(*arguments: P.args, **options: P.kwargs) -> None:
        try:
            command(*arguments, **options)
        except InputError as error:
            err.print(f"error: {error}", markup=False, soft_wrap=True)
            raise typer.Exit(2) from None
        except OSError as error:
            if error.errno not in _STORAGE:
                raise
            from comrecgc.run import reason_of

            where = f"Cannot write {error.filename}" if error.filename else "Cannot write"
            err.print(f"error: {where}: {reason_of(error)}", markup=False, soft_wrap=True)
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            err.print("interrupted: the same command with --resume goes on from the last checkpoint", soft_wrap=True)
            raise typer.Exit(130) from None

    return run


Dataset = Annotated[
    str,
    typer.Option(
        help="aids, mutagenicity, nci1, proteins, imdb-binary, imdb-multi, planted; "
        "or the path of a TU folder or .zip, of a .pt file with a list of PyG graphs, or of a .csv, .tsv, .smi, .sdf or .parquet file of molecules.",
    ),
]
DataRoot = Annotated[
    Path | None,
    typer.Option(
        help="Folder with the benchmark archives, before $COMRECGC_DATA and the user cache.", show_default=False
    ),
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on from where an interrupted run stopped.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same result.")]
Jobs = Annotated[int, typer.Option(min=1, help="Cores to use; the result does not depend on it.")]
AllJobs = Annotated[
    int | None, typer.Option(min=1, help="Cores to use; the result does not depend on it.", show_default="all")
]
Cluster = Annotated[
    str | None,
    typer.Option(
        help="Address of a dask scheduler whose workers do what can be done apart, tcp://host:port.",
        show_default="this machine",
    ),
]
TimeBudget = Annotated[
    float | None,
    typer.Option(help="Seconds the whole run may take; what is found by then is the answer.", show_default="no limit"),
]
ClassifierFile = Annotated[
    Path | None,
    typer.Option(help="Checkpoint of the classifier: .safetensors, .pth or .pt.", show_default=False),
]
EmbedderFile = Annotated[
    Path | None,
    typer.Option(help="Checkpoint of the GREED embedder: .safetensors, .pth or .pt.", show_default=False),
]


def _print_version(wanted: bool) -> None:
    if wanted:
        out.print(f"comrecgc {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Options before a command."""


def main() -> None:
    """Run the command line."""
    app()
