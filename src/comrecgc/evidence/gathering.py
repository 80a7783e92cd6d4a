"""All evidence on an explanation or on a finished run: other models, matched pairs, unseen graphs, random rules, controls, and a verdict on each recourse."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from comrecgc.algorithms.inputs import ModelPair
from comrecgc.algorithms.matched_pairs import LabelledGraphs, MatchedPairs, single_changes
from comrecgc.algorithms.rules.choice import wilson_interval
from comrecgc.data import GraphDataset
from comrecgc.evidence.controls import (
    ControlClassifier,
    RandomControl,
    explained,
    random_rules,
    random_weights,
    shuffled_labels,
)
from comrecgc.evidence.evaluation import WITNESSES, load_witnesses
from comrecgc.evidence.measures import plausibility, reviewers_figures, unseen
from comrecgc.evidence.other_models import Answer, answers, compared, confirmed_share
from comrecgc.evidence.subject import Subject, data_of_run
from comrecgc.evidence.verdict import (
    EVIDENCE,
    LEVELS,
    ControlEvidence,
    Evidence,
    Figures,
    RecourseEvidence,
    Split,
    judge,
)
from comrecgc.explanation import Explanation
from comrecgc.graphs import Graph
from comrecgc.models import Panel, PanelTraining, obtain_panel
from comrecgc.run import Engine, Progress, RunContext, reproducible

SECOND_PANEL = PanelTraining(number=1)
"""The panel that took no part in any choice."""

SECONDS_FOR_VECTORS = 60.0
"""Time for the search of vectors on a control."""

_SHARES = ("coverage", "confirmed_coverage", "second_panel_coverage", "strong_coverage", "backed_coverage")
_COUNTS = ("num_inputs", "pairs_as_said", "pairs_against", *LEVELS)


def gather(
    subject: Subject,
    *,
    second_panel: Panel | PanelTraining = SECOND_PANEL,
    with_controls: bool = True,
    has_classes: bool = True,
    folder: Path | None = None,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Evidence:
    """Gather all evidence on an explanation; the second panel took no part in the choice.

    Explaining classifiers that know nothing takes most of the time. Without true classes there are no other models, pairs and controls. Trained models are
    kept in `folder`, or in the user's cache.
    """
    second: Panel | None
    notes: list[str] = []
    trained: dict[str, Any] = {"folder": folder, "engine": engine, "progress": progress}
    if isinstance(second_panel, Panel):
        second = second_panel
    else:
        second, sentence = obtain_panel(subject.dataset, training=second_panel, has_classes=has_classes, **trained)
        notes.append(f"Second panel: {sentence}")
    recourses, figures, random = _examined(subject, second, has_classes=has_classes, progress=progress)
    controls = [ControlEvidence(name="explained model", figures=_control_figures(figures, recourses))]
    if random is not None:
        controls.append(_random_control(random, recourses))
    if with_controls and has_classes and subject.explanation.inputs:
        shuffled = shuffled_labels(subject, **trained)
        for ignorant, panel in ((random_weights(subject), second), ((shuffled,) if shuffled else (), None)):
            if ignorant:
                if progress is not None:
                    progress(f"control: {ignorant[0].name}", len(controls), 4, "")
                controls.append(_control(ignorant, subject, panel))
    explanation = subject.explanation
    each, whole = plausibility(subject)
    recourses = [replace(it, plausibility=known) for it, known in zip(recourses, each, strict=True)]
    return Evidence(
        dataset=explanation.schema.dataset,
        recourse=explanation.recourse,
        changes=explanation.changes,
        recourses=tuple(recourses),
        controls=tuple(controls),
        figures={**figures, **whole},
        reviewers=reviewers_figures(subject, figures, whole, recourses),
        notes=tuple(notes),
    )


def _examined(
    subject: Subject, second: Panel | None, *, has_classes: bool, progress: Progress | None = None
) -> tuple[list[RecourseEvidence], dict[str, float | int | None], RandomControl | None]:
    """Evidence on each recourse and on the whole, without controls."""
    explanation = subject.explanation
    first = subject.plausibility.panel
    chosen_with = explanation.changes == "confirmed" or subject.wishes.confirmed
    panels = [(panel, used) for panel, used in ((first, chosen_with), (second, False)) if panel is not None]
    classes = subject.dataset.classes if has_classes else None

    def tell(done: int, word: str) -> None:
        if progress is not None:
            progress("evidence", done, 3, word)

    said: Sequence[tuple[Answer, ...]] = [()] * len(subject.results)
    if panels:
        said = answers(subject.results, panels, classes)
    tell(1, "other models")
    pairs, similar = _pairs(subject, has_classes=has_classes)
    tell(2, "matched pairs")
    random = random_rules(subject)
    if random is not None and panels:
        said = compared(said, answers(random.results, panels))
    tell(3, "random changes")
    splits = unseen(subject)
    found = []
    for place, recourse in enumerate(explanation.recourses):
        applicable, accepted = (int(recourse.statistics.get(name) or 0) for name in ("applicable", "accepted"))
        success = accepted / applicable if applicable else None
        held = tuple(Split(it.split, it.success[place], it.seen_success[place]) for it in splits)
        known: dict[str, Any] = {"answers": said[place], "pairs": pairs[place], "similar": similar[place]}
        known |= {"success": success, "unseen": held, "random": None if random is None else random.like[place]}
        verdict = judge(
            **known,
            interval=None if success is None else wilson_interval(accepted, applicable),
            labelled=subject.labelled_reject(place) if has_classes else None,
            share_reject=float((subject.dataset.classes == 0).mean()) if has_classes else 0.0,
        )
        found.append(RecourseEvidence(summary=recourse.summary, verdict=verdict, **known))
    members = [member for recourse in explanation.recourses for member in recourse.covered]
    before = [explanation.inputs[member.input].graph for member in members]
    after = [member.counterfactual for member in members]
    num = len(explanation.inputs)
    turned: dict[str, set[int]] = {level: set() for level in LEVELS}
    for evidence, recourse in zip(found, explanation.recourses, strict=True):
        turned[evidence.verdict.level] |= {member.input for member in recourse.covered} | set(recourse.also_covers)
    figures: dict[str, float | int | None] = {
        "num_inputs": num,
        "coverage": explanation.coverage,
        "confirmed_coverage": None if first is None else confirmed_share(first, before, after, num),
        "second_panel_coverage": None if second is None else confirmed_share(second, before, after, num),
        "strong_coverage": len(turned["strong"]) / max(num, 1),
        "backed_coverage": len(turned["strong"] | turned["mixed"]) / max(num, 1),
        **{f"held_out_coverage_{split.split}": split.coverage for split in splits},
    }
    return found, figures, random


def _pairs(subject: Subject, *, has_classes: bool) -> tuple[list[MatchedPairs], list[tuple[MatchedPairs, ...]]]:
    """For each recourse the pairs that differ by it, and by each of its changes alone; none for vectors and without classes."""
    recourses = subject.explanation.recourses
    if not has_classes or subject.explanation.recourse == "vectors":
        return [MatchedPairs()] * len(recourses), [()] * len(recourses)
    graphs, rules = LabelledGraphs(subject.dataset), [it.rule for it in recourses if it.rule is not None]
    parts = [part for rule in rules for part in (rule, *single_changes(rule))]
    known = {part: replace(graphs.pairs(part), listed=()) for part in parts}  # the explanation lists them
    return [known[rule] for rule in rules], [tuple(known[part] for part in single_changes(rule)) for rule in rules]


def _control(ignorant: Sequence[ControlClassifier], subject: Subject, second: Panel | None) -> ControlEvidence:
    """What the same pipeline and the same questions say of classifiers that know nothing, all of one name."""
    seconds = None if subject.task.recourse == "rules" else SECONDS_FOR_VECTORS
    found = []
    for one in ignorant:
        recourses, figures, _ = _examined(explained(one, subject, seconds), second, has_classes=True)
        found.append(_control_figures(figures, recourses))
    return ControlEvidence(name=ignorant[0].name, figures={name: _pooled(name, found) for name in found[0]})


def _pooled(name: str, found: Sequence[Figures]) -> float | int | None:
    """A figure of several classifiers together: the sum of counts, the mean of shares."""
    known = [value for figures in found if (value := figures[name]) is not None]
    if name in _COUNTS:
        return int(sum(known))
    return float(np.mean(known)) if known else None


def _control_figures(figures: Figures, recourses: Sequence[RecourseEvidence]) -> Figures:
    pairs = sum((recourse.pairs for recourse in recourses), MatchedPairs())
    turned = [answer.share_turned for recourse in recourses for answer in recourse.answers if not answer.chosen_with]
    known = [share for share in turned if share is not None]
    levels = [recourse.verdict.level for recourse in recourses]
    return {
        "num_inputs": figures.get("num_inputs"),
        **{name: figures.get(name) for name in _SHARES},
        "turned_in_other_models": float(np.mean(known)) if known else None,
        "pairs_as_said": pairs.as_said,
        "pairs_against": pairs.against,
        **{level: levels.count(level) for level in LEVELS},
    }


def _random_control(random: RandomControl, recourses: Sequence[RecourseEvidence]) -> ControlEvidence:
    """What random changes do to the explained model, and to others where they turn it."""
    known = [answer.random_share for recourse in recourses for answer in recourse.answers]
    shares = [share for share in known if share is not None]
    applicable, accepted = (sum(getattr(like, name) for like in random.like) for name in ("applicable", "accepted"))
    return ControlEvidence(
        name="random changes",
        figures={
            "coverage": random.coverage,
            "success": accepted / applicable if applicable else None,
            "turned_in_other_models": float(np.mean(shares)) if shares else None,
        },
    )


def run_evidence(
    folder: str | Path,
    dataset: GraphDataset,
    models: ModelPair,
    context: RunContext,
    *,
    with_controls: bool = True,
    second_panel: PanelTraining | None = None,
    cache: Path | None = None,
) -> Evidence:
    """Gather the evidence on a run and keep it in its folder.

    Args:
        folder: The run folder.
        dataset: The data that the run explained.
        models: The classifier that was explained, and the embedder.
        context: Cores, cluster and progress.
        with_controls: Whether classifiers that know nothing are explained too.
        second_panel: How models that took no part in the choice are trained.
        cache: Where trained models are kept; None for the user's cache.
    """
    folder = Path(folder)
    explanation = Explanation.load(folder)
    dataset = data_of_run(folder, explanation, dataset)
    with reproducible():
        subject = Subject.of_run(folder, explanation, models, dataset)
        evidence = gather(
            replace(subject, shown_again=_witnessed(folder, explanation)),
            with_controls=with_controls,
            folder=cache,
            engine=context.engine,
            progress=context.report,
            second_panel=SECOND_PANEL if second_panel is None else second_panel,
        )
    evidence = replace(evidence, explanation=_checksum(folder))
    evidence.save(folder)
    return evidence


def load_evidence(folder: str | Path) -> Evidence | None:
    """The evidence in a run folder; None if there is none for the explanation it holds now."""
    path = Path(folder) / EVIDENCE
    if not path.exists():
        return None
    evidence = Evidence.load(path)
    return evidence if evidence.explanation == _checksum(Path(folder)) else None


def _checksum(folder: Path) -> str:
    return hashlib.sha256((folder / "explanation.json").read_bytes()).hexdigest()


def _witnessed(folder: Path, explanation: Explanation) -> list[list[tuple[Graph, Graph]]]:
    """Results of vectors for inputs that an earlier one covers already."""
    if explanation.recourse != "vectors" or explanation.facts.facts.get(WITNESSES) is None:
        return []
    witnesses = load_witnesses(folder / WITNESSES)
    found: list[list[tuple[Graph, Graph]]] = [[] for _ in explanation.recourses]
    also = {(place, index) for place, it in enumerate(explanation.recourses) for index in it.also_covers}
    for place, index, graph in witnesses.claims.tolist():
        if (place, index) in also and graph < len(witnesses.graphs):
            found[place].append((explanation.inputs[index].graph, witnesses.graphs[graph]))
    return found
