"""Shards of one run, each made by itself, joined to the run they are parts of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from comrecgc.errors import InputError
from comrecgc.explanation import Explanation
from comrecgc.pipeline import RuleChooser, explain_rules, load_explanation, merged_blocks, rule_chooser, table_notes
from comrecgc.runs.choosing import write_choice
from comrecgc.runs.evaluation import run_judges, run_models
from comrecgc.runs.folder import RunFolder
from comrecgc.threads import reproducible

_SHARD = "shard"


def merge_shards(shards: Sequence[str | Path], out: str | Path, *, overwrite: bool = False) -> Explanation:
    """The run that some shards are parts of, as it would be in one piece; only files are needed.

    Args:
        shards: Folders of all shards of a run.
        out: The run folder.
        overwrite: Replace the run in that folder.
    """
    folders = [Path(shard) for shard in shards]
    if not folders:
        raise InputError("merge needs the folders of all shards (got none)")
    found = {folder: load_explanation(folder) for folder in folders}
    requests = {folder: _request(folder, explanation) for folder, explanation in found.items()}
    first = min(folders, key=lambda folder: requests[folder][_SHARD]["number"])
    request = requests[first]
    _check(requests, request)
    plain = {name: value for name, value in request.items() if name != _SHARD}
    explanation = found[first]
    with reproducible():
        chooser = _chooser(first, explanation)
        census = merged_blocks(folders, chooser.mined.table, request[_SHARD]["num_blocks"])
        chooser = replace(chooser, mined=replace(chooser.mined, census=census))
        merged = explain_rules(
            chooser.settings, chooser.mined, chooser.judges, chooser.wishes,
            classifier=run_models(first, explanation).classifier, warnings=chooser.warnings, notes=chooser.notes,
        )  # fmt: skip
    with RunFolder.open(out, plain, resume=False, overwrite=overwrite) as folder:
        return write_choice(merged.with_chooser(chooser).with_facts(explanation.facts), first, folder)


def _chooser(folder: Path, explanation: Explanation) -> RuleChooser:
    """What a shard was chosen by, with its panel and without the notes that are written anew."""
    chooser = rule_chooser(folder, explanation)
    notes = tuple(note for note in chooser.notes if note not in table_notes(chooser.mined))
    return replace(chooser, judges=run_judges(folder, explanation), notes=notes)


def _request(folder: Path, explanation: Explanation) -> dict[str, Any]:
    request = explanation.facts.facts.get("request")
    if not isinstance(request, dict) or not isinstance(request.get(_SHARD), dict):
        raise InputError(f"{folder} must be a shard, made with --shard i/n (got a run of its own)")
    return request


def _check(requests: dict[Path, dict[str, Any]], first: dict[str, Any]) -> None:
    """All shards are of one run, and all are there."""
    for folder, request in requests.items():
        for name in sorted({*request, *first} - {_SHARD}):
            if request.get(name) != first.get(name):
                raise InputError(
                    f"{folder} is a shard of another run: {name} must be {first.get(name)!r} (got {request.get(name)!r})"
                )
        for name in ("count", "num_blocks"):
            if request[_SHARD].get(name) != first[_SHARD].get(name):
                raise InputError(f"{folder} is a shard of another run: it is one of {request[_SHARD].get('count')}")
    there = {request[_SHARD].get("number") for request in requests.values()}
    missing = sorted(set(range(1, first[_SHARD]["count"] + 1)) - there)
    if missing:
        raise InputError(f"All shards are needed (got none that is {missing[0]}/{first[_SHARD]['count']})")
