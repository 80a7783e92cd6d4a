"""Evidence as a record and as a file: `evidence.json` in the run folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from comrecgc.errors import InputError
from comrecgc.evidence.matched_pairs import MatchedPairs
from comrecgc.evidence.other_models import Answer, by_architecture
from comrecgc.evidence.random_rules import RandomRules
from comrecgc.evidence.verdict import Level, Verdict
from comrecgc.storage import read_json, write_text

EVIDENCE = "evidence.json"
"""File of the evidence in a run folder."""

FORMAT = 1
LEVELS: tuple[Level, ...] = ("strong", "mixed", "weak")

Figures = Mapping[str, float | int | None]


@dataclass(frozen=True, kw_only=True)
class Split:
    """Success of a rule on unseen and seen graphs of a split, means over five parts."""

    split: str
    unseen: float | None
    seen: float | None


@dataclass(frozen=True, kw_only=True)
class RecourseEvidence:
    """What is known of one recourse.

    Args:
        summary: What it does.
        verdict: What to think of it, and why.
        success: Share of the inputs it can be carried out on that it turns; None for vectors.
        unseen: The same on unseen graphs.
        answers: What other models say.
        pairs: Pairs of graphs in the data that differ by it.
        random: Random rules of the same kind; None for vectors.
        plausibility: How much its results look like the data.
    """

    summary: str
    verdict: Verdict
    success: float | None
    unseen: tuple[Split, ...]
    answers: tuple[Answer, ...]
    pairs: MatchedPairs
    random: RandomRules | None
    plausibility: Figures = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """The record as JSON values, with what follows from its counts."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        plain["verdict"] |= {"sentence": self.verdict.sentence}
        plain["pairs"] = self.pairs.figures()
        for answer, said in zip(self.answers, plain["answers"], strict=True):
            said |= {"share_turned": answer.share_turned, "random_share": answer.random_share, "works": answer.works}
        plain["by_architecture"] = by_architecture(self.answers)
        if self.random is not None:
            plain["random"]["success"] = self.random.success
        return plain


@dataclass(frozen=True, kw_only=True)
class ControlEvidence:
    """The same pipeline on the explained model, or on a classifier that knows nothing.

    Args:
        name: Which classifier, or which rules.
        figures: Coverage by who is asked, matched pairs, other models, and how many recourses are strong, mixed and weak.
    """

    name: str
    figures: Figures


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """All evidence on an explanation.

    Args:
        dataset: Name of the dataset.
        recourse: "rules" or "vectors".
        changes: The rung of changes.
        recourses: Evidence on each recourse, in order.
        controls: The true model first, then those that know nothing.
        figures: Of the whole explanation, by the names of `docs/evidence.md`.
        reviewers: Figures under the names that papers on counterfactuals use.
        notes: What was asked and left out, one sentence each.
        explanation: SHA-256 of the explanation it belongs to; empty outside of a run folder.
    """

    dataset: str
    recourse: str
    changes: str
    recourses: tuple[RecourseEvidence, ...]
    controls: tuple[ControlEvidence, ...]
    figures: Figures
    reviewers: Figures = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    explanation: str = ""
    format: int = FORMAT

    @property
    def levels(self) -> dict[Level, int]:
        """How many recourses are strong, mixed and weak."""
        found = [recourse.verdict.level for recourse in self.recourses]
        return {level: found.count(level) for level in LEVELS}

    @property
    def sentence(self) -> str:
        """The whole in one sentence."""
        if not self.recourses:
            return "There are no recourses to judge."
        counts = [f"{num} {level}" for level, num in self.levels.items()]
        noun = "rules" if self.recourse == "rules" else "recourses"
        shortcuts = sum(recourse.verdict.shortcut for recourse in self.recourses)
        also = f", {shortcuts} of them shortcuts of this model" if shortcuts else ""
        share = self.figures.get("strong_coverage") or 0.0
        return (
            f"Of {len(self.recourses)} {noun}, {counts[0]}, {counts[1]}, {counts[2]}{also}. "
            f"The strong ones cover {share:.1%} of the rejects."
        )

    def document(self) -> dict[str, Any]:
        """The record as JSON values."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        plain["recourses"] = [recourse.document() for recourse in self.recourses]
        return {"format": self.format, "sentence": self.sentence, "levels": self.levels, **plain}

    def save(self, folder: Path) -> None:
        """Write `evidence.json`."""
        write_text(folder / EVIDENCE, json.dumps(self.document(), indent=1, allow_nan=False) + "\n")

    @classmethod
    def load(cls, path: Path) -> Evidence:
        """The evidence in a file."""
        try:
            evidence = msgspec.convert(read_json(path), cls)
        except (msgspec.ValidationError, RecursionError) as error:
            raise InputError(f"{path} is no evidence: {error}".splitlines()[0]) from None
        if evidence.format != FORMAT:
            raise InputError(f"{path}: format must be {FORMAT} (got {evidence.format})")
        return evidence
