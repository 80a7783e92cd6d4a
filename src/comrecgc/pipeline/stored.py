"""What a run folder holds, read back: settings, inputs, wishes and the table of rules; nothing is searched and no model is needed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from comrecgc.datasets import GraphDataset
from comrecgc.errors import InputError
from comrecgc.explanation import Explanation
from comrecgc.molecules import ladder_from_facts
from comrecgc.pipeline.census import CENSUS, load_census
from comrecgc.pipeline.inputs import Rejects, Scores
from comrecgc.pipeline.mined_rules import stored_rules
from comrecgc.pipeline.rule_chooser import RULES, RuleChooser
from comrecgc.pipeline.rungs import Judges
from comrecgc.pipeline.settings import ResolvedSettings, Settings
from comrecgc.rules import Wishes
from comrecgc.storage import reason_of, refusing_damage


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
    try:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(f"Cannot read {path}: {reason_of(error)}") from error
    if found != explanation.facts.facts.get(RULES):
        raise InputError(f"{path} is damaged: its SHA-256 must be the one in the manifest")
    settings = replace(stored_settings(explanation), seed=explanation.parameters.get("seed", 0))
    ladder = ladder_from_facts(explanation.facts.facts.get("ladder"), explanation.label_names)
    mined = stored_rules(settings, stored_rejects(explanation), ladder, path)
    if CENSUS in explanation.facts.facts:
        mined = replace(mined, census=load_census(folder / CENSUS, mined.table.key))
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


def stored_settings(explanation: Explanation) -> ResolvedSettings:
    """The settings of a run, read back from its parameters; the constraint is left out."""
    known = {field.name for field in fields(Settings)} - {
        "jobs",
        "time_budget",
        "constraint",
        "baseline",
        "min_samples",
        "summary",
    }
    values = {name: value for name, value in explanation.parameters.items() if name in known}
    theta, delta = values.get("theta"), values.get("delta")
    if theta is None or (explanation.recourse == "vectors" and (delta is None or isinstance(delta, str))):
        raise InputError(f"The run must state theta and delta as positive numbers (got {theta!r} and {delta!r})")
    return Settings(**values, recourse=explanation.recourse, changes=explanation.changes).resolved()
