"""The verdict on a recourse: strong, mixed or weak, with the reasons in words.

Six questions are asked. Each answer speaks for the recourse or against it, is undecided, or is silent because there is too little to go by.

| question                                                     | for                                | against                              |
|--------------------------------------------------------------|------------------------------------|--------------------------------------|
| Does it work in other models of the same data?               | in at least `MOST_MODELS` of them  | in fewer than `FEW_MODELS` of them   |
| Do labels of matched pairs in the data change as it says?    | the interval lies above one half   | the interval lies below one half     |
| … of pairs that differ by one of its changes alone?          | the same, of all of them           | the same, of one change              |
| Are its inputs truly labelled reject?                        | much more often than other graphs  | no more often than other graphs      |
| Does it hold on unseen graphs?                               | at least `HOLDS` of its success    | less                                 |
| Does it beat random rules of the same kind?                  | its interval lies above theirs     | it does not                          |

Strong: matched pairs speak for it, its inputs are labelled reject, and nothing speaks against it. Weak: other models, pairs, labels or unseen
graphs speak against it; or no pairs speak for it, and its inputs are hardly rejects in truth or no other model can be asked. Mixed: the rest.

Pairs that differ by one change alone are asked where pairs of the whole rule decide nothing; they never make it strong. Nor do other models alone: a
harmless group that goes with the class is learned by every model of the data, and only pairs of graphs that differ by nothing else can tell. A weak
recourse that the explained model itself obeys at least every other time is a shortcut: it says what moves this one model. `benchmarks/evidence.py`
measures what the limits separate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from comrecgc.algorithms.matched_pairs import MatchedPairs
from comrecgc.algorithms.rules.choice import wilson_interval
from comrecgc.evidence.controls import RandomRules
from comrecgc.evidence.other_models import Answer

Level = Literal["strong", "mixed", "weak"]
Speaks = Literal["for", "against", "undecided", "silent"]

MOST_MODELS = 0.75
"""Share of other models in which a recourse must work for them to speak for it."""

FEW_MODELS = 0.5
"""Share below which they speak against it."""

LEAST_PAIRS = 5
"""Matched pairs with different labels before they say anything."""

HOLDS = 0.8
"""Share of the success on graphs seen that must remain on unseen ones."""

TRULY = 1 / 3
"""How far from the share of all graphs to certainty the share of its inputs that are labelled reject must lie."""

OBEYED = 0.5
"""Success from which a weak recourse is called a shortcut of the model."""

UNTESTED = "a shortcut that every model learns would look the same"
"""What is said of a recourse that works in other models and that no pairs of the data support."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The answer to one question.

    Args:
        question: "other models", "matched pairs", "similar pairs", "labels of inputs", "unseen graphs", "random rules" or "shortcut of all models".
        speaks: "for", "against", "undecided", or "silent" where there is too little to go by.
        sentence: Why, in words.
    """

    question: str
    speaks: Speaks
    sentence: str


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What to think of a recourse.

    Args:
        level: strong, mixed or weak.
        shortcut: Whether it moves the explained model and hardly any other.
        findings: The answers behind it.
    """

    level: Level
    shortcut: bool
    findings: tuple[Finding, ...]

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        reasons = "; ".join(finding.sentence for finding in self.findings)
        return f"{self.level}{' (a shortcut of this model)' if self.shortcut else ''}: {reasons}"


def judge(
    *,
    answers: Sequence[Answer],
    pairs: MatchedPairs,
    similar: Sequence[MatchedPairs] = (),
    labelled: tuple[int, int] | None = None,
    share_reject: float = 0.0,
    success: float | None = None,
    interval: tuple[float, float] | None = None,
    unseen: Sequence[tuple[str, float | None, float | None]] = (),
    like: RandomRules | None = None,
) -> Verdict:
    """The verdict on one recourse.

    Args:
        answers: What other models say.
        pairs: Pairs of graphs in the data.
        similar: For each of its changes, pairs that differ by that change alone, wherever it is made.
        labelled: Inputs it turns that are truly labelled reject, and how many it turns; None without labels.
        share_reject: Share of all graphs that are labelled so.
        success: Share of the inputs it can be carried out on that it turns; None where nobody knows.
        interval: 95% interval of it.
        unseen: Splits with the success on unseen and on seen graphs.
        like: Random rules of the same kind.
    """
    models, matched = _other_models(answers), _matched_pairs(pairs)
    decided = matched.speaks in ("for", "against") or sum(similar, MatchedPairs()) == pairs  # or the same pairs again
    near = [] if decided else _similar_pairs(similar)
    labels, held, random = _labels(labelled, share_reject), _unseen(unseen), _random(interval, like)
    decisive = (models, matched, *near, *labels, *held)
    findings = (*decisive, *random)
    about_rejects = all(finding.speaks == "for" for finding in labels)
    by_pairs = any(finding.speaks == "for" for finding in (matched, *near))
    level: Level = "mixed"
    if _against(decisive) or not (by_pairs or (about_rejects and models.speaks in ("for", "undecided"))):
        level = "weak"
    elif matched.speaks == "for" and about_rejects and not _against(findings):
        level = "strong"
    shortcut = models.speaks == "against" and not by_pairs and success is not None and success >= OBEYED
    if level == "mixed" and models.speaks == "for" and not by_pairs:
        findings += (Finding(question="shortcut of all models", speaks="undecided", sentence=UNTESTED),)
    return Verdict(level=level, shortcut=shortcut, findings=findings)


def _against(findings: Sequence[Finding]) -> bool:
    return any(finding.speaks == "against" for finding in findings)


def _other_models(answers: Sequence[Answer]) -> Finding:
    asked = [answer.works for answer in answers if not answer.chosen_with and answer.works is not None]
    if not asked:
        blind = any(answer.guesses for answer in answers)
        words = "other models of these labels only guess" if blind else "no other model could be asked"
        return Finding(question="other models", speaks="silent", sentence=words)
    works, num = sum(asked), len(asked)
    sentence = f"works in {works} of {num} other models"
    if works >= MOST_MODELS * num:
        return Finding(question="other models", speaks="for", sentence=sentence)
    few = works < FEW_MODELS * num
    return Finding(question="other models", speaks="against" if few else "undecided", sentence=sentence)


def _matched_pairs(pairs: MatchedPairs) -> Finding:
    question = "matched pairs"
    if not pairs.changed:
        return Finding(question=question, speaks="silent", sentence="no pair of graphs in the data tests it")
    noun = "pair agrees" if pairs.changed == 1 else "pairs agree"
    sentence = f"{pairs.as_said} of {pairs.changed} matched {noun}"
    low, high = pairs.interval
    if pairs.changed < LEAST_PAIRS or low <= 0.5 <= high:
        speaks: Speaks = "silent" if pairs.changed < LEAST_PAIRS else "undecided"
        return Finding(question=question, speaks=speaks, sentence=f"{sentence}, which decides nothing")
    return Finding(question=question, speaks="for" if low > 0.5 else "against", sentence=sentence)


def _similar_pairs(similar: Sequence[MatchedPairs]) -> list[Finding]:
    """Pairs that differ by one of the changes alone; a change that labels contradict speaks against the whole."""
    question, whole = "similar pairs", sum(similar, MatchedPairs())
    if not len(whole):
        return []
    if not whole.changed:
        words = f"none of {len(whole)} pairs of graphs that differ by one of its changes alone changes its label"
        return [Finding(question=question, speaks="silent", sentence=words)]
    worst = [part for part in similar if part.changed >= LEAST_PAIRS and part.interval[1] < 0.5]
    said = worst[0] if worst else whole
    noun, verb = ("pair", "agrees") if said.changed == 1 else ("pairs", "agree")
    which = "one change" if worst else "one of its changes"
    words = f"{said.as_said} of {said.changed} {noun} of graphs that differ by {which} alone {verb}"
    low, enough = whole.interval[0], whole.changed >= LEAST_PAIRS
    speaks: Speaks = "against" if worst else "silent" if not enough else "for" if low > 0.5 else "undecided"
    return [Finding(question=question, speaks=speaks, sentence=words)]


def _labels(labelled: tuple[int, int] | None, share_reject: float) -> list[Finding]:
    if labelled is None or not labelled[1]:
        return []
    question, (rejects, num) = "labels of inputs", labelled
    share = rejects / num
    words = f"{share:.0%} of its inputs are labelled reject, {share_reject:.0%} of all graphs"
    low, _ = wilson_interval(rejects, num)
    clearly = low > share_reject and share >= share_reject + TRULY * (1 - share_reject)
    speaks: Speaks = "for" if clearly else "undecided" if share > share_reject else "against"
    return [Finding(question=question, speaks=speaks, sentence=words)]


def _unseen(splits: Sequence[tuple[str, float | None, float | None]]) -> list[Finding]:
    known = [(name, held, seen) for name, held, seen in splits if held is not None and seen]
    if not known:
        return []
    name, held, seen = min(known, key=lambda split: (split[1] or 0.0) / (split[2] or 1.0))
    assert held is not None
    assert seen is not None
    unseen = "graphs of unseen scaffolds" if name == "scaffold" else "unseen graphs"
    if held >= HOLDS * seen:
        return [Finding(question="unseen graphs", speaks="for", sentence=f"holds on {unseen}")]
    words = f"works for {held:.0%} of {unseen} and {seen:.0%} of those it was chosen on"
    return [Finding(question="unseen graphs", speaks="against", sentence=words)]


def _random(interval: tuple[float, float] | None, like: RandomRules | None) -> list[Finding]:
    if interval is None or like is None or like.success is None:
        return []
    if interval[0] > like.success:
        sentence = f"random rules like it work for {like.success:.0%}"
        return [Finding(question="random rules", speaks="for", sentence=sentence)]
    sentence = f"random rules like it work no less often ({like.success:.0%})"
    return [Finding(question="random rules", speaks="against", sentence=sentence)]
