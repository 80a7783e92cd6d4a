"""From chosen recourses to the explanation: check every claim, then put it into words."""

from __future__ import annotations

from collections.abc import Sequence

from comrecgc.explanation import Explanation
from comrecgc.pipeline.assembly import assemble, reasons_for
from comrecgc.pipeline.candidates import Candidates
from comrecgc.pipeline.clock import Clock
from comrecgc.pipeline.inputs import Rejects
from comrecgc.pipeline.settings import Settings
from comrecgc.pipeline.verification import Models, Verified, first_entries, verify
from comrecgc.recourse import RecoursePairs
from comrecgc.recourse.pairs import FloatArray
from comrecgc.wording import Words


def conclude(
    settings: Settings,
    rejects: Rejects,
    candidates: Candidates,
    centres: FloatArray,
    pairs: RecoursePairs,
    models: Models,
    clock: Clock,
    *,
    words: Sequence[Words] | None = None,
    warnings: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> tuple[Explanation, Verified]:
    """The explanation that recourses give, every claim in it confirmed by a plain forward pass.

    Args:
        settings: Complete settings.
        rejects: The inputs.
        candidates: What was found around them, by whatever method.
        centres: The chosen recourses, in order, `[R, d]`.
        pairs: The pairs that may be used to cover inputs.
        models: Classifier and embedder.
        clock: Times the stages.
        words: Words of each recourse, all of which are then kept; by default they are read off the edits, and recourses
            that cover nothing new are left out.
        warnings: What a reader must know, one sentence each.
        notes: What the run did, one sentence each.
    """
    keep_all = words is not None
    graphs, limits = rejects.graphs, settings.limits
    verified = verify(candidates, pairs, centres, graphs, models, limits, keep_all=keep_all)
    verified, entries = first_entries(verified, candidates, graphs, models, limits, keep_all=keep_all)
    clock.lap("verification")
    covered = verified.cover.first >= 0
    reasons = reasons_for(settings, candidates.pairs, covered, complete=candidates.complete)
    explanation = assemble(settings, rejects, verified, entries, reasons, words=words, warnings=warnings, notes=notes)
    clock.lap("words")
    return explanation, verified
