"""Choosing again from a finished run: its table of rules is read back, and nothing is searched."""

from __future__ import annotations

import shutil
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from comrecgc.errors import InputError
from comrecgc.explanation import Explanation
from comrecgc.pipeline import load_explanation
from comrecgc.report import write_report
from comrecgc.runs.folder import REPORT, RunFolder
from comrecgc.runs.models import ModelFile
from comrecgc.storage import facts_path, reason_of


def choose_again(
    run: str | Path, out: str | Path | None = None, *, overwrite: bool = False, **wishes: Any
) -> Explanation:
    """Choose from a finished run under other wishes.

    Args:
        run: The run folder.
        out: A folder for the other choice, with a report; None writes nothing.
        overwrite: Replace the run in that folder.
        wishes: Those of `Explanation.choose`.
    """
    run = Path(run)
    explanation = load_explanation(run)
    if explanation.recourse == "rules" and explanation.chooser is None:
        raise InputError(f"{run} keeps no table of rules to choose from")
    chosen = explanation.choose(**wishes)
    if out is None:
        return chosen
    if Path(out).resolve() == run.resolve():
        raise InputError(f"--out must be another folder than the run's own (got {out})")
    request = dict(explanation.facts.facts.get("request") or {}) | {"chosen_from": str(run), **chosen.parameters}
    with RunFolder.open(out, request, resume=False, overwrite=overwrite) as folder:
        return write_choice(chosen, run, folder)


def write_choice(chosen: Explanation, run: Path, folder: RunFolder) -> Explanation:
    """Write what was chosen from a run, with its models, to another folder."""
    facts = dict(chosen.facts.facts) | {"request": folder.request}
    models, panel = facts.get("models"), facts.get("panel")
    if isinstance(models, dict):
        facts["models"] = {what: _carried(file, run, folder.path) for what, file in models.items()}
    if isinstance(panel, list):
        facts["panel"] = [_carried(file, run, folder.path) for file in panel]
    chosen = chosen.with_facts(replace(chosen.facts, facts=facts))
    write_report(chosen, folder.path / REPORT)
    chosen.save(folder.path)
    folder.finish()
    return chosen


def _carried(entry: Any, source: Path, target: Path) -> Any:
    """The model's file as the other manifest names it; what lies in the run folder is copied."""
    if not isinstance(entry, dict) or not isinstance(entry.get("path"), str) or Path(entry["path"]).is_absolute():
        return entry
    name = Path(entry["path"]).name
    for file in (source / name, facts_path(source / name)):
        try:
            if file.exists():
                shutil.copyfile(file, target / file.name)
        except OSError as error:
            raise InputError(f"Cannot copy {file}: {reason_of(error)}") from error
    return asdict(ModelFile(name, str(entry.get("sha256"))))
