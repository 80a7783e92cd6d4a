"""Another choice from the table of rules of a run, by other wishes; no search."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from comrecgc.errors import InputError
from comrecgc.explanation import Explanation
from comrecgc.molecules import ladder_facts
from comrecgc.pipeline.census import CENSUS, save_census
from comrecgc.pipeline.mined_rules import MinedRules
from comrecgc.pipeline.rules import explain_rules, table_notes
from comrecgc.pipeline.rungs import Judges
from comrecgc.pipeline.settings import Settings
from comrecgc.rules import Wishes, save_table
from comrecgc.wording import describe_group

SECONDS_TO_CHOOSE = 0.5
"""Time to look for the best choice, or a bound on it, where somebody waits."""

RULES = "rules.npz"
"""File of the table of rules in a run folder."""

_ASKED = ("num_recourses", "min_success", "min_support", "max_cost", "max_changes")


@dataclass(frozen=True, eq=False, kw_only=True)
class RuleChooser:
    """Chooses rules again from the table of a run; it is what `Explanation.choose` calls.

    Args:
        settings: What was asked.
        mined: The table and what it was mined from.
        judges: The ladder, and the panel's votes on what the table holds are in it.
        wishes: What chosen rules had to be like.
        warnings: What a reader must know, one sentence each.
        notes: What the run did, one sentence each.
    """

    settings: Settings
    mined: MinedRules
    judges: Judges
    wishes: Wishes
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __call__(self, **wishes: Any) -> Explanation:
        """Another choice; wishes are those of `Explanation.choose`."""
        return self.wishing(**wishes).chosen()

    def wishing(self, **wishes: Any) -> RuleChooser:
        """The same with other wishes, checked; those that are None stay."""
        given = {name: value for name, value in wishes.items() if value is not None}
        for name in ("forbidden_labels", "protected_labels"):
            if name in given:
                given[name] = tuple(self._label(label) for label in given[name])
        if "forbidden_groups" in given:
            given["forbidden_groups"] = tuple(
                place for name in given["forbidden_groups"] for place in self._groups(name)
            )
        for name in ("forbidden_kinds", "radii"):
            if name in given:
                given[name] = tuple(given[name])
        if given.get("confirmed") and not self.mined.table.majority:
            raise InputError("confirmed needs a panel, and the run asked none")
        settings = replace(self.settings, **{name: given[name] for name in _ASKED if name in given})
        given.pop("num_recourses", None)
        return replace(self, settings=settings, wishes=replace(self.wishes, **given))

    def chosen(self) -> Explanation:
        """What these wishes lead to."""
        notes = [note for note in self.notes if note not in table_notes(self.mined)]  # which are added again
        found = explain_rules(
            self.settings, self.mined, self.judges, self.wishes,
            seconds=SECONDS_TO_CHOOSE, warnings=self.warnings, notes=notes,
        )  # fmt: skip
        return found.with_chooser(self)

    def save(self, folder: Path) -> Mapping[str, Any]:
        """Write the table to a run folder; what the manifest must say of it."""
        path = folder / RULES
        save_table(path, self.mined.table, self.mined.rejects.graphs, complete=self.mined.complete)
        said = {RULES: hashlib.sha256(path.read_bytes()).hexdigest(), "ladder": ladder_facts(self.judges.ladder)}
        if self.mined.census is not None:
            save_census(folder / CENSUS, self.mined.census, self.mined.table.key)
            said[CENSUS] = hashlib.sha256((folder / CENSUS).read_bytes()).hexdigest()
        return said

    def in_memory(self) -> RuleChooser:
        """The chooser with its table: itself."""
        return self

    def _label(self, name: str) -> int:
        names = self.mined.rejects.dataset.label_names
        if name not in names:
            raise InputError(f"Node labels are {', '.join(names)} (got {name!r})")
        return names.index(name)

    def _groups(self, name: str) -> list[int]:
        """Groups of the table that are called so; several may be, joined by other bonds."""
        dataset = self.mined.rejects.dataset
        called = [
            describe_group(
                group.labels, group.bonds, group.bond, dataset.label_names,
                edge_label_names=dataset.edge_label_names, is_molecular=dataset.is_molecular,
            )
            for group in self.mined.table.groups
        ]  # fmt: skip
        wanted = _plain(name)
        found = [
            place
            for place, text in enumerate(called)
            if wanted in {_plain(text), *map(_plain, text.rstrip(")").split(" ("))}
        ]
        if not found:
            near = difflib.get_close_matches(name, called, n=3, cutoff=0.0)
            raise InputError(
                f"A group must be one of the data, as sentences call it (got {name!r}; near are {'; '.join(near)})"
            )
        return found


def _plain(name: str) -> str:
    """A name as people type it: any dash, any case."""
    return name.replace("–", "-").replace("−", "-").strip().strip("-").casefold()
