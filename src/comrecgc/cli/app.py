"""The application, shared options, and failure of commands in one line with exit code 2."""

from __future__ import annotations

import errno
import functools
import inspect
import io
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, ParamSpec, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from comrecgc import __version__
from comrecgc.errors import InputError
from comrecgc.run import RunContext, err, out, reason_of

if TYPE_CHECKING:
    from comrecgc.data import GraphDataset


OTHERS = "The paper's method and baselines"
HEADINGS = ("Data", "Model", "Options", "Rules", "Molecules", "Vectors", OTHERS, "Trust", "Output", "Scale")
"""Headings of options, in display order."""

_VALUES = {"int": "N", "float": "X", "path": "PATH", "bool": ""}


class Command(TyperCommand):
    """A command whose help lists options under their headings, a line or two each."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write usage, text and options as plain lines, since boxes of three columns take three times the room."""
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            heading = getattr(parameter, "rich_help_panel", None) or "Options"
            if parameter.param_type_name == "option" and (row := self.row(ctx, parameter)):
                groups.setdefault(heading, []).append(row)
        for heading in sorted(groups, key=HEADINGS.index):
            with formatter.section(heading):
                formatter.write_dl(groups[heading])
        self.format_epilog(ctx, formatter)

    def row(self, ctx: Any, parameter: Any) -> tuple[str, str] | None:
        """An option and its help; None leaves it out."""
        names, value = parameter.opts[0], ""
        if parameter.secondary_opts and parameter.default is not False and parameter.default is not None:
            names += f"/{parameter.secondary_opts[0]}"
        if not parameter.is_flag:
            kind = parameter.display_type(ctx).removeprefix("list[").strip("<>[]").split(" ")[0]
            value = parameter.metavar or _VALUES.get(kind, "TEXT")
        shown = parameter.show_default
        if not isinstance(shown, str):
            known = shown and parameter.default not in (None, False, True) and not callable(parameter.default)
            shown = str(parameter.default) if known else "required" if parameter.required else ""
        return f"{names} {value}".strip(), (parameter.help or "") + (f" [{shown}]" if shown else "")


class _Commands(TyperGroup):
    """Commands in order of use, one of which is built only when it is called: its options need all algorithms, which take seconds to import."""

    def list_commands(self, ctx: Any) -> list[str]:
        order = ("demo", "explain", "choose", "apply", "evaluate", "report", "compare", "train", "reproduce")
        return sorted(super().list_commands(ctx), key=order.index)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        if name == "explain":
            from comrecgc.cli.explain import explain_command

            command = explain_command()
        return name, command, rest


app = typer.Typer(
    name="comrecgc",
    cls=_Commands,
    help="Explain a graph neural network globally: a few common recourses that turn many rejected graphs into accepted ones.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
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
            where = f"Cannot write {error.filename}" if error.filename else "Cannot write"
            err.print(f"error: {where}: {reason_of(error)}", markup=False, soft_wrap=True)
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            err.print("interrupted: the same command with --resume goes on from the last checkpoint", soft_wrap=True)
            raise typer.Exit(130) from None

    return run


def grouped(command: Callable[..., None], **tables: Sequence[inspect.Parameter]) -> Callable[..., None]:
    """The command with its groups expanded: a dataclass parameter becomes an option per field, and a parameter with a table a dictionary of the
    table's options.
    """
    tables = {"reading": DATA, **tables}

    def expand(made: Callable[..., Any]) -> list[inspect.Parameter]:
        hints, found = get_type_hints(made, include_extras=True), list[inspect.Parameter]()
        for name, one in inspect.signature(made).parameters.items():
            own = [one.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY)]
            found += tables[name] if name in tables else expand(hints[name]) if is_dataclass(hints[name]) else own
        return found

    def gather(made: Callable[..., Any], values: dict[str, Any]) -> Any:
        hints, given = get_type_hints(made), dict[str, Any]()
        for name in inspect.signature(made).parameters:
            if name in tables:
                given[name] = {option.name: values[option.name] for option in tables[name]}
            else:
                given[name] = gather(hints[name], values) if is_dataclass(hints[name]) else values[name]
        return made(**given)

    @functools.wraps(command)
    def run(**values: Any) -> None:
        gather(command, values)

    parameters = expand(command)
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def command(
    name: str | None = None, *, of: typer.Typer = app, **tables: Sequence[inspect.Parameter]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a function a command, with groups of options and one-line errors."""

    def add(function: Callable[..., None]) -> Callable[..., None]:
        of.command(name, cls=Command)(guarded(grouped(function, **tables)))
        return function

    return add


def option_name(field: str) -> str:
    """The option of a parameter: `num_recourses` is `--recourses`, `random_state` is `--seed`, any other keeps its name."""
    return "--" + ("seed" if field == "random_state" else field.removeprefix("num_").replace("_", "-"))


_of_data, _of_model, on_output, _on_scale = (
    functools.partial(typer.Option, rich_help_panel=heading) for heading in ("Data", "Model", "Output", "Scale")
)
Dataset = Annotated[
    str,
    _of_data(
        help="aids, mutagenicity, nci1, proteins, imdb-binary, imdb-multi, planted; "
        "or the path of a TU folder or .zip, of a .pt file with a list of PyG graphs, or of a .csv, .tsv, .smi, .sdf or .parquet file of molecules."
    ),
]
DataRoot = Annotated[
    Path | None, _of_data(help="Folder with the benchmark archives, before $COMRECGC_DATA and the user cache.")
]
Resume = Annotated[bool, on_output("--resume", help="Continue an interrupted run.")]
Overwrite = Annotated[bool, on_output("--overwrite", help="Replace the run in the folder.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same result.")]
Jobs = Annotated[
    int | None, _on_scale(min=1, help="Cores to use; the result does not depend on it.", show_default="all")
]
Cluster = Annotated[
    str | None,
    _on_scale(
        help="Address of a dask scheduler whose workers run independent blocks, tcp://host:port.",
        show_default="this machine",
    ),
]
TimeBudget = Annotated[
    float | None,
    _on_scale(help="Seconds for the whole run, which then ends with the result so far.", show_default="no limit"),
]
ClassifierFile = Annotated[Path | None, _of_model(help="Checkpoint of the classifier: .safetensors, .pth or .pt.")]
EmbedderFile = Annotated[Path | None, _of_model(help="Checkpoint of the GREED embedder: .safetensors, .pth or .pt.")]
RunFolder = Annotated[Path, typer.Argument(metavar="DIR", help="A run folder.")]


@dataclass(frozen=True)
class Output:
    """Options for the output folder of a run."""

    out: Annotated[Path | None, on_output("--out", help="The run folder.", show_default="comrecgc-DATASET")] = None
    overwrite: Overwrite = False
    resume: Resume = False


@dataclass(frozen=True)
class Scale:
    """Options for cores, time and cluster."""

    jobs: Jobs = None
    time_budget: TimeBudget = None
    cluster: Cluster = None

    def context(self, **more: Any) -> RunContext:
        """The context of a run of this scale."""
        return RunContext(**vars(self), **more)


# How data is read: options that every command that reads data shares.


def option(
    name: str, kind: Any, default: Any, flag: str, help: str, shown: str | bool = False, **more: Any
) -> inspect.Parameter:
    """A row of a table of options: its name in the dictionary, its type, and its typer option."""
    made = typer.Option(flag, help=help, show_default=shown, **more)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, made])


_data = functools.partial(option, rich_help_panel="Data")
DATA = (
    _data("smiles", str | None, None, "--smiles", "Tables: the column of SMILES.", "found"),
    _data("target", str | None, None, "--target", "Tables: the column of classes, or of numbers with --threshold.", "found"),
    _data(
        "accept", str | None, None, "--accept",
        "The class to reach, by its value or name; required for more than two classes. With --threshold: higher or lower.",
        "1, or the larger; higher",
    ),
    _data("reject", str | None, None, "--reject", "Archives, PyG files: the only class to leave.", "all others"),
    _data(
        "bins", list[str] | None, None, "--bin",
        "Archives, PyG files: a node attribute to cut into ranges, as NAME=4, once per attribute; 4 alone cuts every one.",
        "attributes are left out",
    ),
    _data("threshold", float | None, None, "--threshold", "Tables, archives of numbers: turn numbers into classes, high from X on."),
    _data("raise_by", float | None, None, "--raise", "Tables: keep the numbers; the goal is a rise of at least X."),
    _data("lower_by", float | None, None, "--lower", "Tables: keep the numbers; the goal is a fall of at least X."),
    _data("to", float | None, None, "--to", "Tables: keep the numbers; the goal is at least X, or with --accept lower at most X."),
    _data("id_column", str | None, None, "--id-column", "Tables: the column that names molecules.", "found"),
    _data("class_names", str | None, None, "--class-names", "Tables: names of reject and accept: toxic,harmless."),
    _data("skip_bad", bool, False, "--skip-bad", "Tables: leave out rows that cannot be read."),
    _data(
        "standardise", bool, True, "--standardise/--as-written",
        "Tables: keep the largest fragment, neutralise it, and merge molecules that become equal.", True,
    ),
)  # fmt: skip

_LONGEST_COUNT = 4  # digits


@dataclass(frozen=True)
class Data:
    """The dataset of a command, and the options of `DATA` it was read with."""

    dataset: Dataset
    reading: dict[str, Any]
    data_root: DataRoot = None

    @property
    def theta(self) -> float:
        """The default `θ` on the dataset."""
        from comrecgc.data import paper_theta

        return paper_theta(self.dataset)


def read_data(data: Data, *, need_classes: bool = True, label_names: Sequence[str] | None = None) -> GraphDataset:
    """Load the data that `--dataset` names, with its options; notes on repairs go to stderr."""
    from comrecgc.data import GraphReading, TableReading, is_table, load_dataset

    given = dict(data.reading)
    class_names, reject, bins = (given.pop(name) for name in ("class_names", "reject", "bins"))
    names = None if class_names is None else tuple(name.strip() for name in class_names.split(","))
    if names is not None and (len(names) != 2 or not all(names)):
        raise InputError(f"--class-names must name reject and accept: toxic,harmless (got {class_names!r})")
    on_error: Literal["skip", "raise"] = "skip" if given.pop("skip_bad") else "raise"
    table = TableReading(
        class_names=None if names is None else (names[0], names[1]), on_error=on_error, label_names=label_names, **given
    )
    how: TableReading | GraphReading = table
    if is_table(data.dataset):
        if reject is not None or bins:
            raise InputError("--reject and --bin are for archives and PyG files (got a table)")
    elif replace(table, accept=None, threshold=None, label_names=None) == TableReading():
        accept, threshold = given["accept"], given["threshold"]
        how = GraphReading(accept=accept, reject=reject, threshold=threshold, bins=_parse_bins(bins or ()))
    loaded = load_dataset(data.dataset, root=data.data_root, need_classes=need_classes, reading=how)
    for note in loaded.notes:
        err.print(f"note: {note}", markup=False, soft_wrap=True)
    return loaded


def _parse_bins(texts: Sequence[str]) -> dict[str, int]:
    """Parse NAME=4 into attribute and number of ranges; 4 alone means all attributes."""
    parsed = {}
    for text in texts:
        name, _, count = text.rpartition("=") if "=" in text else ("all", "=", text)
        if not name or not count.isdecimal() or len(count) > _LONGEST_COUNT:
            raise InputError(
                f"--bin must be a number of ranges, as 4, or one for an attribute, as charge=4 (got {text!r})"
            )
        parsed[name.strip()] = int(count)
    return parsed


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
    """Run the command line; signs that the terminal cannot show, such as θ, are replaced."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    _hear_interrupts()
    app()


@functools.cache
def _hear_interrupts() -> None:
    """Let a thread wait for Ctrl-C and pass it to the main thread by another signal, since rdkit replaces the handler of SIGINT while it matches and loses the signal."""
    if not hasattr(signal, "pthread_sigmask") or threading.current_thread() is not threading.main_thread():  # Windows
        return
    signal.signal(signal.SIGUSR1, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # in all threads, as they begin with the mask of this one

    def wait() -> None:
        while signal.sigwait({signal.SIGINT}):
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)

    threading.Thread(target=wait, daemon=True).start()
