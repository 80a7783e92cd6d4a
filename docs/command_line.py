"""The reference of commands and algorithms, read from the code whenever the pages are built."""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import typer.main

MARK = "<!-- commands -->"
ALGORITHMS_MARK = "<!-- algorithms -->"
_VALUES = {int: "INTEGER", float: "NUMBER", str: "TEXT", Path: "PATH"}


def on_page_markdown(markdown: str, **_: object) -> str:
    """Called by mkdocs with every page: replaces the marks by what they stand for."""
    for mark, made in ((MARK, commands_markdown), (ALGORITHMS_MARK, algorithms_markdown)):
        if mark in markdown:
            markdown = markdown.replace(mark, made())
    return markdown


def algorithms_markdown() -> str:
    """Every algorithm with its options, as Markdown."""
    from comrecgc.algorithms.base import options_of
    from comrecgc.algorithms.registry import ALGORITHMS

    sections = []
    for name, algorithm in ALGORITHMS.items():
        words = (inspect.getdoc(algorithm) or "").partition("\nArgs:")[0].strip()
        rows = [
            f"| `{each.name}` | {each.metadata['help']} | `{each.default!r}` |"
            for each in options_of(algorithm).values()
        ]
        head = [
            f"### comrecgc.{algorithm.__name__}",
            "",
            words,
            "",
            f"    --algorithm {name}",
            "",
            "| option | | default |",
            "|---|---|---|",
        ]
        sections.append("\n".join([*head, *rows]))
    return "\n\n".join(sections)


def commands_markdown() -> str:
    """Every command with its arguments and options, as Markdown."""
    from comrecgc.cli.app import app

    command: Any = typer.main.get_command(app)
    return "\n\n".join(_section(name, one) for name, one in _commands(command, "comrecgc", None))


def _commands(group: Any, prefix: str, parent: Any) -> Iterator[tuple[str, Any]]:
    from comrecgc.cli.explain import explain_command

    context = group.context_class(group, info_name=prefix, parent=parent)
    for name in group.list_commands(context):
        # The options of `explain` are those of all algorithms, which the list of commands does not load.
        command = explain_command() if name == "explain" else group.get_command(context, name)
        if hasattr(command, "commands"):
            yield from _commands(command, f"{prefix} {name}", context)
        else:
            yield f"{prefix} {name}", command


def _section(name: str, command: Any) -> str:
    context = command.context_class(command, info_name=name)
    shown = [parameter for parameter in command.get_params(context) if parameter.name != "help"]
    arguments = [f" {each.metavar or each.name.upper()}" for each in shown if each.param_type_name == "argument"]
    groups = dict.fromkeys(getattr(each, "rich_help_panel", None) or "" for each in shown)
    parts = [f"## {name}\n\n{inspect.cleandoc(command.help or '')}\n\n    {name}{''.join(arguments)} [OPTIONS]"]
    for group in sorted(groups, key=bool):
        rows = [_row(each) for each in shown if (getattr(each, "rich_help_panel", None) or "") == group]
        parts.append("\n".join([f"**{group}**\n" if group else "", "| option | | default |", "|---|---|---|", *rows]))
    return "\n\n".join(parts)


def _row(parameter: Any) -> str:
    is_argument = parameter.param_type_name == "argument"
    names = (
        (parameter.metavar or parameter.name.upper())
        if is_argument
        else ", ".join([*parameter.opts, *parameter.secondary_opts])
    )
    value = "" if is_argument or parameter.is_flag else f" {_values(parameter)}"
    help_text = (getattr(parameter, "help", None) or "").replace("|", "\\|")
    return f"| `{names}{value}` | {help_text} | {_default(parameter)} |".replace("  |", " |")


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    if isinstance(parameter.show_default, str):
        return str(parameter.show_default)
    default = parameter.default
    return "" if callable(default) or default is None or default is False or default == [] else f"`{default}`"


def _values(parameter: Any) -> str:
    kind = parameter.type_descriptor.annotation
    if parameter.metavar:
        return str(parameter.metavar).replace("|", "\\|")
    if get_origin(kind) in (Union, types.UnionType):
        kind = next(part for part in get_args(kind) if part is not type(None))
    many, kind = get_origin(kind) is list, get_args(kind)[0] if get_origin(kind) is list else kind
    name = "{" + ",".join(get_args(kind)) + "}" if get_origin(kind) is Literal else _VALUES.get(kind, "TEXT")
    return f"{name} …" if many else name
