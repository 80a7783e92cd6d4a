"""The command-line reference, read from the commands themselves whenever the pages are built."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import typer
from typer.models import ArgumentInfo, OptionInfo

from comrecgc.cli.explain import full_explain

MARK = "<!-- commands -->"
_VALUES = {int: "INTEGER", float: "NUMBER", str: "TEXT", Path: "PATH"}


def on_page_markdown(markdown: str, **_: object) -> str:
    """Called by mkdocs with every page: puts the commands where the mark stands."""
    return markdown.replace(MARK, commands_markdown()) if MARK in markdown else markdown


def commands_markdown() -> str:
    """Every command with its arguments and options, as Markdown."""
    from comrecgc.cli.app import app

    return "\n\n".join(_section(name, command) for name, command in _commands(app, "comrecgc"))


def _commands(app: typer.Typer, prefix: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    for command in app.registered_commands:
        assert command.callback is not None
        name = command.name or command.callback.__name__.replace("_", "-")
        yield f"{prefix} {name}", full_explain() if name == "explain" else command.callback
    for group in app.registered_groups:
        assert group.typer_instance is not None
        yield from _commands(group.typer_instance, f"{prefix} {group.name}")


def _section(name: str, command: Callable[..., Any]) -> str:
    rows = ["| option | | default |", "|---|---|---|"]
    arguments = []
    hints = get_type_hints(command, include_extras=True)
    for parameter in inspect.signature(command).parameters.values():
        kind, info = _described(hints[parameter.name])
        if isinstance(info, ArgumentInfo):
            arguments.append(f" {info.metavar or parameter.name.upper()}")
        rows.append(_row(parameter, kind, info))
    return f"## {name}\n\n{inspect.getdoc(command)}\n\n    {name}{''.join(arguments)} [OPTIONS]\n\n" + "\n".join(rows)


def _described(hint: Any) -> tuple[Any, ArgumentInfo | OptionInfo]:
    """The type of a parameter without `None`, and what typer knows of it."""
    kind, *notes = get_args(hint)
    info = next(note for note in notes if isinstance(note, ArgumentInfo | OptionInfo))
    if get_origin(kind) in (Union, types.UnionType):
        kind = next(part for part in get_args(kind) if part is not type(None))
    return kind, info


def _row(parameter: inspect.Parameter, kind: Any, info: ArgumentInfo | OptionInfo) -> str:
    if isinstance(info, ArgumentInfo):
        name = info.metavar or parameter.name.upper()
    else:
        # Inside Annotated typer takes the first name of an option for a default until it builds the command.
        named = [text for text in (info.default, *(info.param_decls or ())) if isinstance(text, str)]
        name = ", ".join(named or [f"--{parameter.name.replace('_', '-')}"])
        name += "" if kind is bool else f" {_values(kind)}"
    return f"| `{name}` | {info.help or ''} | {_default(parameter, info)} |".replace("  |", " |")


def _values(kind: Any) -> str:
    if get_origin(kind) is list:
        return f"{_values(get_args(kind)[0])} …"
    return "{" + ",".join(get_args(kind)) + "}" if get_origin(kind) is Literal else _VALUES[kind]


def _default(parameter: inspect.Parameter, info: ArgumentInfo | OptionInfo) -> str:
    if parameter.default is parameter.empty:
        return "required"
    if isinstance(info.show_default, str):
        return info.show_default
    default = parameter.default
    return "" if default is None or default is False else f"`{default}`"
