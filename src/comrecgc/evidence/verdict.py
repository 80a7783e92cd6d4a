"""The evidence on an explanation, and the verdict on each recourse: strong, mixed or weak, with the reasons in words.

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
recourse that turns the explained model at least every other time is a shortcut: it shows what moves this one model. `benchmarks/evidence.py`
measures what the limits separate.

**Other models** are asked one by one: does a recourse turn them too, or is it a quirk of the model that is explained?
"Most of the panel accept the result" flatters a recourse whose inputs the panel accepts anyway. Here only inputs count that the other model
rejects too, and the recourse must turn them; and more of them than random changes of the same kind do, since some models accept after almost any change.
A panel that only guesses does not count: models that learned nothing can still agree with each other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.matched_pairs import MatchedPairs
from comrecgc.algorithms.rules.choice import wilson_interval
from comrecgc.errors import InputError
from comrecgc.evidence.controls import RandomRules
from comrecgc.graphs import BoolArray, Graph, GraphBatch
from comrecgc.models import Classifier, Panel
from comrecgc.run import read_json, write_text

LEAST_INPUTS = 5  # inputs that another model must reject too before its answer counts

TURNS_MOST = 0.5  # share of them that a recourse must turn to work in another model too

_GRAPHS_AT_ONCE = 4096


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Answers of one other model on the results of one recourse."""

    member: str  # the model: its architecture and seed, or its file
    chosen_with: bool  # whether it took part in the choice of the recourse, so that its answer is no surprise
    results: int  # it was asked about
    accepted: int  # of these results
    rejects: int  # inputs of these results that it rejects, as the explained model does
    turned: int  # those of them whose result it accepts
    architecture: str = ""  # gcn, gat, sage or gin; empty for models of one's own
    guesses: bool = (
        False  # whether its panel is no better than the commonest class, so that its answer counts for nothing
    )
    random_rejects: int = 0  # inputs that it rejects among those that random changes of the same kind were made to
    random_turned: int = 0  # those of them whose result it accepts

    @property
    def share_turned(self) -> float | None:
        """Share of the inputs it rejects too that are turned; None for too few of them."""
        return self.turned / self.rejects if self.rejects >= LEAST_INPUTS else None

    @property
    def works(self) -> bool | None:
        """Whether the recourse turns most of these inputs, and more than random changes do; None if there are too few inputs or the panel guesses."""
        if self.share_turned is None or self.guesses:
            return None
        least = self.random_share
        beats = least is None or wilson_interval(self.turned, self.rejects)[0] > least
        return self.share_turned >= TURNS_MOST and beats

    @property
    def random_share(self) -> float | None:
        """Share turned by random changes; None for too few."""
        return self.random_turned / self.random_rejects if self.random_rejects >= LEAST_INPUTS else None


@dataclass(frozen=True, kw_only=True)
class ModelSummary:
    """Answers of one other model, or of all of one architecture, on all recourses together."""

    name: str
    chosen_with: bool  # whether it took part in the choice
    models: int  # that it stands for
    works: int  # recourses that work there, summed over models
    asked: int  # recourses about which it can tell, summed over models
    rejects: int  # inputs that it rejects too, over all recourses
    turned: int  # those of them that are turned

    @property
    def title(self) -> str:
        """The model, or how many of an architecture: "all 4 gin"."""
        return self.name if self.models == 1 else f"all {self.models} {self.name}"


def summaries(said: Sequence[Sequence[Answer]], *, architectures: bool = False) -> list[ModelSummary]:
    """Summary of each other model, or with `architectures` of each architecture, on all recourses, in the order of the panels."""
    rows: dict[tuple[str, bool], list[Answer]] = {}
    for answer in (answer for row in said for answer in row):
        name = answer.architecture if architectures else answer.member
        if name:
            rows.setdefault((name, answer.chosen_with), []).append(answer)
    found = []
    for (name, chosen_with), row in rows.items():
        works = [answer.works for answer in row if answer.works is not None]
        counts = {"models": len({answer.member for answer in row}), "works": sum(works), "asked": len(works)}
        counts |= {count: sum(getattr(answer, count) for answer in row) for count in ("rejects", "turned")}
        found.append(ModelSummary(name=name, chosen_with=chosen_with, **counts))
    return found


def by_architecture(said: Sequence[Answer]) -> dict[str, float]:
    """Share of inputs turned in models of each architecture, mean over seeds."""
    shares: dict[str, list[float]] = {}
    for answer in said:
        if answer.share_turned is not None and answer.architecture:
            shares.setdefault(answer.architecture, []).append(answer.share_turned)
    return {name: float(np.mean(values)) for name, values in sorted(shares.items())}


def compared(said: Sequence[tuple[Answer, ...]], random: Sequence[tuple[Answer, ...]]) -> list[tuple[Answer, ...]]:
    """Answers on each recourse with what the same models say of random changes drawn for it; where those are too few, of all."""
    whole = [(sum(it.rejects for it in asked), sum(it.turned for it in asked)) for asked in zip(*random, strict=True)]
    found = []
    for row, likes in zip(said, random, strict=True):
        own = [(like.rejects, like.turned) for like in likes]
        counts = [it if it[0] >= 4 * LEAST_INPUTS else every for it, every in zip(own, whole, strict=True)]
        them = zip(row, counts, strict=True)
        found.append(tuple(replace(it, random_rejects=rejects, random_turned=turned) for it, (rejects, turned) in them))
    return found


def guesses(panel: Panel, classes: npt.NDArray[np.int8]) -> bool:
    """Whether a panel is right no more often than the commonest class, on the tenth of the graphs that each member was tested on.

    A panel whose members were never measured does not count as guessing.
    """
    known = [member.accuracy for member in panel.members if member.accuracy is not None]
    if not known or not len(classes):
        return False
    tested = len(known) * max(round(len(classes) / 10), 1)
    commonest = max(float(classes.mean()), 1 - float(classes.mean()))
    return wilson_interval(round(float(np.mean(known)) * tested), tested)[0] <= commonest


def answers(
    results: Sequence[Sequence[tuple[Graph, Graph]]],
    panels: Sequence[tuple[Panel, bool]],
    classes: npt.NDArray[np.int8] | None = None,
) -> list[tuple[Answer, ...]]:
    """Answers of each member of some panels, whether it took part in the choice or not, on the results of each recourse.

    True labels of the data tell panels that only guess.
    """
    sizes = [len(pairs) for pairs in results]
    ends = np.cumsum(sizes)
    before = [graph for pairs in results for graph, _ in pairs]
    after = [graph for pairs in results for _, graph in pairs]
    found: list[list[Answer]] = [[] for _ in results]
    for panel, chosen_with in panels:
        blind = classes is not None and guesses(panel, classes)
        for member in panel.members:
            masks = [accepts(member.classifier, graphs) for graphs in (before, after)]
            for place, (start, end) in enumerate(zip(ends - sizes, ends, strict=True)):
                old, new = (mask[start:end] for mask in masks)
                counts = {"results": int(end - start), "accepted": int(new.sum())}
                counts |= {"rejects": int((~old).sum()), "turned": int((new & ~old).sum())}
                kind = str(getattr(member.classifier, "architecture", ""))
                known = Answer(member=member.name, chosen_with=chosen_with, architecture=kind, guesses=blind, **counts)
                found[place].append(known)
    return [tuple(row) for row in found]


def confirmed_share(panel: Panel, before: Sequence[Graph], after: Sequence[Graph], num_inputs: int) -> float:
    """Share of all inputs whose counterfactual a panel confirms."""
    said = [np.array([accepts(member.classifier, graphs) for member in panel.members]) for graphs in (before, after)]
    return float(panel.confirmed(*said).sum()) / max(num_inputs, 1)


def accepts(classifier: Classifier, graphs: Sequence[Graph]) -> BoolArray:
    """Which graphs a classifier accepts, in batches of some thousand."""
    parts = [graphs[start : start + _GRAPHS_AT_ONCE] for start in range(0, len(graphs), _GRAPHS_AT_ONCE)]
    masks = [classifier.accept_probability(GraphBatch.from_graphs(part)) > 0.5 for part in parts]
    return np.concatenate([np.zeros(0, bool), *masks])


# The verdict on a recourse, and all evidence as a record.


Level = Literal["strong", "mixed", "weak"]
Speaks = Literal["for", "against", "undecided", "silent"]

MOST_MODELS = 0.75  # share of other models in which a recourse must work for them to speak for it

FEW_MODELS = 0.5  # share below which they speak against it

LEAST_PAIRS = 5  # matched pairs with different labels before they say anything

HOLDS = 0.8  # share of the success on graphs seen that must remain on unseen ones

# How far from the share of all graphs to certainty the share of its inputs that are labelled reject must lie.
TRULY = 1 / 3

OBEYED = 0.5  # success from which a weak recourse is called a shortcut of the model

# What is said of a recourse that works in other models and that no pairs of the data support.
UNTESTED = "a shortcut that every model learns would look the same"


@dataclass(frozen=True)
class UnseenSuccess:
    """Success of a rule on unseen and seen graphs of a split, means over five parts."""

    split: str
    unseen: float | None
    seen: float | None


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The answer to one question, "other models" or another, whether it speaks "for" or "against" the recourse, and why, in words."""

    question: str
    speaks: Speaks
    sentence: str


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The verdict on a recourse."""

    level: Level
    shortcut: bool  # whether it moves the explained model and hardly any other
    findings: tuple[Finding, ...]  # the answers behind it

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
    unseen: Sequence[UnseenSuccess] = (),
    random: RandomRules | None = None,
) -> Verdict:
    """The verdict on one recourse, from its evidence (`RecourseEvidence`).

    `labelled` are the inputs it turns that are truly labelled reject, and all that it turns; `share_reject` is the share of all graphs that are labelled so.
    """
    models, matched = _other_models(answers), _matched_pairs(pairs)
    decided = matched.speaks in ("for", "against") or sum(similar, MatchedPairs()) == pairs  # or the same pairs again
    near = [] if decided else _similar_pairs(similar)
    labels, held = _labels(labelled, share_reject), _unseen(unseen)
    decisive = (models, matched, *near, *labels, *held)
    findings = (*decisive, *_random(interval, random))
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
    speaks: Speaks = "for" if works >= MOST_MODELS * num else "against" if works < FEW_MODELS * num else "undecided"
    return Finding(question="other models", speaks=speaks, sentence=f"works in {works} of {num} other models")


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


def _unseen(splits: Sequence[UnseenSuccess]) -> list[Finding]:
    known = [(it.split, it.unseen, it.seen) for it in splits if it.unseen is not None and it.seen]
    if not known:
        return []
    name, held, seen = min(known, key=lambda split: split[1] / split[2])
    unseen = "graphs of unseen scaffolds" if name == "scaffold" else "unseen graphs"
    if held >= HOLDS * seen:
        return [Finding(question="unseen graphs", speaks="for", sentence=f"holds on {unseen}")]
    words = f"works for {held:.0%} of {unseen} and {seen:.0%} of those it was chosen on"
    return [Finding(question="unseen graphs", speaks="against", sentence=words)]


def _random(interval: tuple[float, float] | None, like: RandomRules | None) -> list[Finding]:
    if interval is None or like is None or like.success is None:
        return []
    beats, share = interval[0] > like.success, f"{like.success:.0%}"
    words = f"random rules like it work {f'for {share}' if beats else f'no less often ({share})'}"
    return [Finding(question="random rules", speaks="for" if beats else "against", sentence=words)]


# All evidence as a record and as a file: `evidence.json` in the run folder.


EVIDENCE = "evidence.json"
"""File of the evidence in a run folder."""

FORMAT = 1
LEVELS: tuple[Level, ...] = ("strong", "mixed", "weak")

Figures = Mapping[str, float | int | None]


@dataclass(frozen=True, kw_only=True)
class RecourseEvidence:
    """The evidence on one recourse."""

    summary: str  # what it does
    verdict: Verdict  # what to think of it, and why
    success: float | None  # share of the inputs it can be carried out on that it turns; none for vectors
    unseen: tuple[UnseenSuccess, ...]  # the same on unseen graphs
    answers: tuple[Answer, ...]  # of other models
    pairs: MatchedPairs  # of graphs in the data that differ by it
    random: RandomRules | None  # of the same kind; none for vectors
    similar: tuple[MatchedPairs, ...] = ()  # pairs that differ by one of its changes alone; none for vectors
    plausibility: Figures = field(default_factory=dict)  # how much its results look like the data

    def document(self) -> dict[str, Any]:
        """The record as JSON values, with derived figures."""
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
    """Figures of the pipeline on the explained model, or on an uninformed classifier."""

    name: str  # which classifier, or which rules
    figures: Figures  # coverage by who is asked, matched pairs, other models, and how many recourses are of each level

    def share(self, name: str) -> str:
        """A share in per cent; a dash if unknown."""
        share = self.figures.get(name)
        return "–" if share is None else f"{share:.1%}"

    @property
    def pairs(self) -> str:
        """Number of pairs of real graphs whose label changes as the recourses claim, in words."""
        said, against = self.figures.get("pairs_as_said"), self.figures.get("pairs_against")
        if said is None or against is None:
            return "–"
        return f"{said} of {said + against}" if said + against else "none"

    @property
    def verdicts(self) -> str:
        """How many recourses are strong, mixed and weak: "3 / 2 / 1"."""
        levels = [self.figures.get(level) for level in LEVELS]
        return "–" if None in levels else " / ".join(str(level) for level in levels)


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """All evidence on an explanation."""

    dataset: str  # its name
    recourse: str  # "rules" or "vectors"
    changes: str  # the rung of changes
    recourses: tuple[RecourseEvidence, ...]  # evidence on each, in order
    controls: tuple[ControlEvidence, ...]  # the true model first, then those that know nothing
    figures: Figures  # of the whole explanation, by the names of `docs/trust.md`
    reviewers: Figures = field(default_factory=dict)  # under the names that papers on counterfactuals use
    notes: tuple[str, ...] = ()  # what was asked and left out, one sentence each
    explanation: str = ""  # SHA-256 of the explanation it belongs to; empty outside of a run folder
    format: int = FORMAT

    @property
    def levels(self) -> dict[Level, int]:
        """How many recourses are strong, mixed and weak."""
        found = [recourse.verdict.level for recourse in self.recourses]
        return {level: found.count(level) for level in LEVELS}

    @property
    def models(self) -> list[ModelSummary]:
        """Summary of each other model on all recourses."""
        return summaries([recourse.answers for recourse in self.recourses])

    @property
    def architectures(self) -> list[ModelSummary]:
        """The same by architecture."""
        return summaries([recourse.answers for recourse in self.recourses], architectures=True)

    @property
    def sentence(self) -> str:
        """The evidence in a few sentences."""
        if not self.recourses:
            return "There are no recourses to judge."
        counts = [f"{num} {level}" for level, num in self.levels.items()]
        noun = "rules" if self.recourse == "rules" else "recourses"
        shortcuts = sum(recourse.verdict.shortcut for recourse in self.recourses)
        called = "shortcuts" if shortcuts > 1 else "a shortcut"
        also = f", {shortcuts} of them {called} of this model" if shortcuts else ""
        strong, backed = (self.figures.get(f"{name}_coverage") or 0.0 for name in ("strong", "backed"))
        return (
            f"Of {len(self.recourses)} {noun}, {counts[0]}, {counts[1]}, {counts[2]}{also}. The strong ones cover {strong:.1%} of "
            f"the rejects, strong and mixed ones {backed:.1%}. {self._comparison(noun)}"
        ).rstrip()

    @property
    def better_than_ignorance(self) -> bool | None:
        """Whether strong and mixed recourses cover more than those of every uninformed classifier; None without such controls."""
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
        names = ("format", "sentence", "better_than_ignorance", "levels", "models", "architectures")
        return {name: msgspec.to_builtins(getattr(self, name)) for name in names} | plain

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
