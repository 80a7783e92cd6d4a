"""Evidence as a record and as a file: `evidence.json` in the run folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from comrecgc.algorithms.matched_pairs import MatchedPairs
from comrecgc.algorithms.rules.choice import wilson_interval
from comrecgc.errors import InputError
from comrecgc.evidence.controls import RandomRules
from comrecgc.evidence.other_models import Answer, ModelSummary, by_architecture, summaries
from comrecgc.evidence.verdict import Level, Verdict
from comrecgc.run import read_json, write_text

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
        similar: For each of its changes, pairs that differ by that change alone; none for vectors.
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
    similar: tuple[MatchedPairs, ...] = ()
    plausibility: Figures = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """The record as JSON values, with what follows from its counts."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        plain["verdict"] |= {"sentence": self.verdict.sentence}
        plain["pairs"] = self.pairs.figures()
        plain["similar"] = [pairs.figures() for pairs in self.similar]
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
        figures: Of the whole explanation, by the names of `docs/trust.md`.
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
    def models(self) -> list[ModelSummary]:
        """What each other model says of all recourses."""
        return summaries([recourse.answers for recourse in self.recourses])

    @property
    def architectures(self) -> list[ModelSummary]:
        """The same by architecture."""
        return summaries([recourse.answers for recourse in self.recourses], architectures=True)

    @property
    def sentence(self) -> str:
        """The whole in a few sentences."""
        if not self.recourses:
            return "There are no recourses to judge."
        counts = [f"{num} {level}" for level, num in self.levels.items()]
        noun = "rules" if self.recourse == "rules" else "recourses"
        shortcuts = sum(recourse.verdict.shortcut for recourse in self.recourses)
        also = (
            f", {shortcuts} of them {'shortcuts' if shortcuts > 1 else 'a shortcut'} of this model" if shortcuts else ""
        )
        strong, backed = (self.figures.get(f"{name}_coverage") or 0.0 for name in ("strong", "backed"))
        return (
            f"Of {len(self.recourses)} {noun}, {counts[0]}, {counts[1]}, {counts[2]}{also}. The strong ones cover {strong:.1%} of "
            f"the rejects, strong and mixed ones {backed:.1%}. {self._comparison(noun)}"
        ).rstrip()

    @property
    def better_than_ignorance(self) -> bool | None:
        """Whether strong and mixed recourses cover more than those of every classifier that knows nothing; None without such controls."""
        own, controls = self._backed(self.figures), [self._backed(control.figures) for control in self.controls[1:]]
        known = [interval for interval in controls if interval is not None]
        return None if own is None or not known else own[0] > max(high for _, high in known)

    def _comparison(self, noun: str) -> str:
        shares = [control.figures.get("backed_coverage") for control in self.controls[1:]]
        if self.better_than_ignorance is None:
            return ""
        most = max(share for share in shares if share is not None)
        if self.better_than_ignorance:
            return f"Those of classifiers that know nothing cover at most {most:.1%}: these {noun} are about the data, not only about the model."
        better = "not clearly better" if (self.figures.get("backed_coverage") or 0.0) > most else "no better"
        return (
            f"Those of classifiers that know nothing cover {most:.1%}: "
            f"by this evidence these {noun} are {better} than those of a model that knows nothing."
        )

    @staticmethod
    def _backed(figures: Figures) -> tuple[float, float] | None:
        """95% interval of what strong and mixed recourses cover."""
        share, num = figures.get("backed_coverage"), figures.get("num_inputs")
        return None if share is None or not num else wilson_interval(round(share * num), int(num))

    def document(self) -> dict[str, Any]:
        """The record as JSON values."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        plain["recourses"] = [recourse.document() for recourse in self.recourses]
        told: dict[str, Any] = {
            "sentence": self.sentence,
            "better_than_ignorance": self.better_than_ignorance,
            "levels": self.levels,
        }
        told |= {"models": msgspec.to_builtins(self.models), "architectures": msgspec.to_builtins(self.architectures)}
        return {"format": self.format, **told, **plain}

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
