"""Known recourses on graphs that were not there when they were found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from comrecgc.algorithms.base import SHOWN, Task, VectorTask, accepted
from comrecgc.algorithms.inputs import ModelPair, Rejects
from comrecgc.algorithms.judges import Judges
from comrecgc.algorithms.rules.algorithm import Rules
from comrecgc.algorithms.rules.choice import wilson_interval
from comrecgc.algorithms.rules.mined import permission_of
from comrecgc.algorithms.vectors.candidates import Chosen, search_candidates
from comrecgc.cover import Reason
from comrecgc.data import GraphDataset
from comrecgc.errors import InputError
from comrecgc.explanation.assembly import TurnedInput, covered_input, explanation_of, share_valid, stamped
from comrecgc.explanation.explanation import Explanation
from comrecgc.explanation.records import CommonRecourse
from comrecgc.explanation.vectors import explain_recourses
from comrecgc.graphs import Graph, GraphBatch, Rung, Site, Surroundings, carry_out, distinct_sites
from comrecgc.models import Classifier, predict
from comrecgc.run import RunContext
from comrecgc.wording import Words

# Rules carried out on unseen graphs, with the reason where none works.


MOST_PLACES = 64
"""Places of a rule in an unseen graph that are tried at most."""


def apply_rules(
    explanation: Explanation,
    rejects: Rejects,
    classifier: Classifier,
    judges: Judges,
    settings: Task[Rules],
    context: RunContext,
    *,
    warnings: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> Explanation:
    """Carry the rules of an explanation out on other graphs.

    Args:
        explanation: The rules.
        rejects: The graphs.
        classifier: The model.
        judges: The ladder that the rules were found with, and the panel.
        settings: Limits that hold for these graphs too.
        context: Time and progress.
        warnings: What a reader must know, one sentence each.
        notes: What the run did, one sentence each.
    """
    rules = [recourse.rule.rewriting for recourse in explanation.recourses if recourse.rule is not None]
    rung, permission = Rung.parse(settings.changes), permission_of(settings.algorithm, judges.ladder)
    turned: list[dict[int, TurnedInput]] = [{} for _ in rules]
    can = np.zeros((len(rules), len(rejects)), bool)
    reasons: dict[int, Reason] = {}
    for place, graph in enumerate(rejects.graphs):
        where, tried, far = Surroundings(graph), [], False
        for number, rule in enumerate(rules):
            sites = distinct_sites(rule, where, MOST_PLACES)
            made = [(number, site, carry_out(rule, graph, site)) for site in sites]
            if permission is not None and permission.wishes:
                wanted = permission.permits_results(graph, [result for _, _, result in made])
                made = [one for one, is_wanted in zip(made, wanted, strict=True) if is_wanted]
            can[number, place] = bool(made)
            near = [one for one in made if rule.distance(graph, one[2]) <= settings.theta]
            far |= len(near) < len(made)
            tried += near
        reasons[place] = Reason.TOO_FAR if far else Reason.NOWHERE
        if tried:
            results = [result for _, _, result in tried]
            reasons[place] = _first_members(turned, place, graph, tried, results, classifier, judges, rung)
        context.tell("applying rules", place + 1, len(rejects))
    members = [member for found in turned for member in found.values()]
    first: dict[int, TurnedInput] = {}
    for member in members:
        first.setdefault(member.place, member)
    verdicts = judges.judge([rejects.graphs[place] for place in first], [it.counterfactual for it in first.values()])
    order = list(first)
    recourses, before = [], set[int]()
    for number, (recourse, rule) in enumerate(zip(explanation.recourses, rules, strict=True)):
        rows = [k for k, place in enumerate(order) if first[place].recourse == number]
        shown = [first[order[k]] for k in rows]
        num_can, num_turned = int(can[number].sum()), len(turned[number])
        also = sorted(set(turned[number]) & before)
        recourses.append(
            CommonRecourse(
                summary=recourse.summary,
                description=recourse.description,
                rule=recourse.rule,
                statistics={
                    "applicable": num_can,
                    "accepted": num_turned,
                    "success": num_turned / max(num_can, 1),
                    "interval": list(wilson_interval(num_turned, num_can)),
                    "cost": rule.cost,
                    "num_changes": rule.num_changes,
                    **verdicts.shares(rows),
                },
                covered=tuple(covered_input(member, rejects, rule) for member in shown),
                also_covers=tuple(rejects.indices[also].tolist()),
                share_valid=share_valid([member.counterfactual for member in shown], rejects.dataset),
            )
        )
        before |= {member.place for member in shown}
    return explanation_of(
        settings, rejects, recourses,
        {place: reason for place, reason in reasons.items() if place not in first},
        {
            "coverage": len(first) / max(len(rejects), 1),
            **verdicts.shares(),
            **verdicts.coverage(len(rejects)),
        },
        parameters=explanation.parameters, warnings=warnings, notes=notes,
    )  # fmt: skip


def _first_members(
    turned: list[dict[int, TurnedInput]],
    place: int,
    graph: Graph,
    tried: Sequence[tuple[int, Site, Graph]],
    results: Sequence[Graph],
    classifier: Classifier,
    judges: Judges,
    rung: Rung,
) -> Reason:
    """Enter the best place of every rule that turns a graph; why none does, otherwise."""
    probability = classifier.accept_probability(GraphBatch.from_graphs(results))
    likely = np.argsort(-probability, kind="stable")
    likely = likely[probability[likely] > accepted(SHOWN / 2)]
    if not len(likely):
        return Reason.STILL_REJECTED
    standing = judges.judge([graph] * len(likely), [results[k] for k in likely]).rungs
    for k, reached in zip(likely.tolist(), standing, strict=True):
        number, site, result = tried[k]
        if reached >= rung and place not in turned[number]:
            turned[number][place] = TurnedInput(
                recourse=number, place=place, site=site, counterfactual=result, probability=float(probability[k])
            )
    return Reason.OFF_RUNG


def apply_recourses(
    explanation: Explanation,
    dataset: GraphDataset,
    models: ModelPair,
    settings: Task[Any],
    judges: Judges,
    context: RunContext,
) -> Explanation:
    """The recourses of an explanation with the rejects of another dataset that each covers.

    The search is the same as for finding recourses, with recourses that are known and do not move.
    """
    clock = context.clock
    predictions = predict(models.classifier, dataset)
    warnings = [predictions.warning] if predictions.warning else []
    notes = [*dataset.notes, f"The recourses were found on {explanation.dataset}."]
    if explanation.recourse == "rules":
        rejects = Rejects.of(dataset, predictions)
        applied = apply_rules(
            explanation, rejects, models.classifier, judges, settings, context, warnings=warnings, notes=notes
        )
        return stamped(applied, clock, seed=settings.random_state)
    rejects = Rejects.of(dataset, predictions).embedded(models)
    width = rejects.scores.embedding.shape[1]
    centres = np.zeros((len(explanation.recourses), width), dtype=np.float32)
    for place, recourse in enumerate(explanation.recourses if rejects else ()):
        assert recourse.vector is not None
        if len(recourse.vector) != width:
            got = len(recourse.vector)
            raise InputError(f"Recourses must be vectors of the embedder's width, {width} (got {got} numbers)")
        centres[place] = recourse.vector
    assert isinstance(settings, VectorTask)
    scorer = judges.scorer(models, dataset, settings.algorithm, context)
    candidates = search_candidates(settings, scorer, rejects, context, given=centres)
    clock.lap("search")
    candidates = judges.confirmed(candidates, settings)
    applied, _ = explain_recourses(
        settings, rejects, candidates, Chosen(centres=centres, pairs=candidates.pairs), models, judges, clock,
        words=[Words(recourse.summary, recourse.description) for recourse in explanation.recourses],
        warnings=warnings, notes=notes,
    )  # fmt: skip
    return stamped(applied, clock, seed=settings.random_state)
