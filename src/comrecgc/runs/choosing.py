"""Choosing again from a finished run: its table of rules is read back, and nothing is searched."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from comrecgc.datasets import GraphDataset
from comrecgc.errors import InputError
from comrecgc.explanation import Explanation
from comrecgc.molecules import ladder_from_facts
from comrecgc.pipeline import RULES, Judges, Rejects, RuleChooser, Scores, stored_rules
from comrecgc.report import write_report
from comrecgc.rules import Wishes
from comrecgc.runs.evaluation import stored_settings
from comrecgc.runs.folder import REPORT, RunFolder
from comrecgc.runs.models import ModelFile, checksum
from comrecgc.storage import facts_path, reason_of, refusing_damage


def load_explanation(folder: str | Path) -> Explanation:
    """The explanation in a run folder, checked against the manifest's checksums and for consistency; rules can be chosen again."""
    explanation = Explanation.load(folder)
    if explanation.recourse != "rules" or RULES not in explanation.facts.facts:
        return explanation
    return explanation.with_chooser(StoredChooser(Path(folder), explanation))


@dataclass(frozen=True, eq=False)
class StoredChooser:
    """Chooses from the table in a run folder, which is read when it is first needed."""

    folder: Path
    explanation: Explanation

    def __call__(self, **wishes: Any) -> Explanation:
        """Another choice; wishes are those of `Explanation.choose`."""
        # What is wished for is checked before, so that whatever else goes wrong is the file's fault.
        chooser = self.chooser.wishing(**wishes)
        with refusing_damage(self.folder / RULES, advice=""):
            return chooser.chosen().with_facts(self.explanation.facts)

    def save(self, folder: Path) -> Mapping[str, Any]:
        """Write the table to another run folder; what the manifest must say of it."""
        return self.chooser.save(folder)

    def in_memory(self) -> RuleChooser:
        """The chooser with its table."""
        return self.chooser

    @cached_property
    def chooser(self) -> RuleChooser:
        return rule_chooser(self.folder, self.explanation)


def rule_chooser(folder: Path, explanation: Explanation) -> RuleChooser:
    """The chooser of a run, made from what its folder holds."""
    path = folder / RULES
    if checksum(path) != explanation.facts.facts.get(RULES):
        raise InputError(f"{path} is damaged: its SHA-256 must be the one in the manifest")
    settings = replace(stored_settings(explanation), seed=explanation.parameters.get("seed", 0))
    ladder = ladder_from_facts(explanation.facts.facts.get("ladder"), explanation.label_names)
    mined = stored_rules(settings, stored_rejects(explanation), ladder, path)
    return RuleChooser(
        settings=settings, mined=mined, judges=Judges(ladder=ladder), wishes=stored_wishes(explanation),
        warnings=explanation.warnings, notes=explanation.notes,
    )  # fmt: skip


def stored_rejects(explanation: Explanation) -> Rejects:
    """The inputs of a run, as they were when it began."""
    inputs = list(explanation.inputs.values())
    graphs = tuple(it.graph for it in inputs)
    dataset = GraphDataset(
        name=explanation.dataset, graphs=graphs, classes=np.zeros(len(graphs), np.int8), label_names=explanation.label_names,
        class_names=explanation.class_names, edge_label_names=explanation.edge_label_names,
    )  # fmt: skip
    scores = Scores(
        1 - np.array([it.reject_probability for it in inputs], np.float64),
        np.zeros((len(graphs), 0), np.float32),
        np.array([graph.size for graph in graphs], np.int32),
    )
    names = tuple(it.name for it in inputs) if any(it.name for it in inputs) else ()
    indices = np.array(list(explanation.inputs), np.int64)
    return Rejects(dataset=dataset, indices=indices, graphs=graphs, scores=scores, names=names)


def stored_wishes(explanation: Explanation) -> Wishes:
    """What the rules of a run had to be like."""
    stated = explanation.parameters.get("wishes", {})
    try:
        wishes = msgspec.convert(stated, Wishes)
    except (msgspec.ValidationError, TypeError) as error:
        raise InputError(f"The wishes of a run must be as it stores them: {error}".splitlines()[0]) from None
    labels = (*wishes.forbidden_labels, *wishes.protected_labels)
    if any(not 0 <= label < len(explanation.label_names) for label in labels):
        raise InputError("The wishes of a run must speak of its node labels")
    return wishes


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
