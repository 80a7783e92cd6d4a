"""Known recourses on unseen graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from comrecgc.algorithms.base import DISPLAY_MARGIN, Task, VectorTask, accepted
from comrecgc.algorithms.inputs import ModelPair, Rejects
from comrecgc.algorithms.plausibility import Plausibility
from comrecgc.algorithms.rules.algorithm import Rules
from comrecgc.algorithms.rules.mined import permission_of
from comrecgc.cover import Reason
from comrecgc.data import GraphDataset
from comrecgc.explanation.assembly import VerifiedCounterfactual, assemble, stamped
from comrecgc.explanation.explanation import Explanation
from comrecgc.explanation.records import CommonRecourse
from comrecgc.explanation.rules import success_figures
from comrecgc.explanation.vectors import apply_vectors
from comrecgc.graphs import Graph, GraphBatch, NeighbourIndex, Rule, Rung, Site, carry_out, distinct_sites
from comrecgc.models import Classifier, predict
from comrecgc.run import RunContext

MOST_PLACES = 64
"""Places of a rule in an unseen graph that are tried at most."""


def apply_rules(
    explanation: Explanation,
    rejects: Rejects,
    classifier: Classifier,
    plausibility: Plausibility,
    task: Task[Rules],
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
        plausibility: The ladder that the rules were found with, and the panel.
        task: Limits that hold for these graphs too.
        context: Time and progress.
        warnings: What a reader must know, one sentence each.
        notes: What the run did, one sentence each.
    """
    rules = [recourse.rule for recourse in explanation.recourses if recourse.rule is not None]
    rung, permission = Rung.parse(task.changes), permission_of(task.algorithm, plausibility.ladder)
    turned: list[dict[int, VerifiedCounterfactual]] = [{} for _ in rules]
    can = np.zeros((len(rules), len(rejects)), bool)
    reasons: dict[int, Reason] = {}
    for place, graph in enumerate(rejects.graphs):
        where, tried, far = NeighbourIndex(graph), [], False
        for number, rule in enumerate(rules):
            sites = distinct_sites(rule, where, MOST_PLACES)
            made = [(number, site, carry_out(rule, graph, site)) for site in sites]
            if permission is not None and permission.wishes:
                wanted = permission.permits_results(graph, [result for _, _, result in made])
                made = [one for one, is_wanted in zip(made, wanted, strict=True) if is_wanted]
            can[number, place] = bool(made)
            near = [one for one in made if rule.distance(graph, one[2]) <= task.theta]
            far |= len(near) < len(made)
            tried += near
        reasons[place] = Reason.TOO_FAR if far else Reason.NOWHERE
        if tried:
            results = [result for _, _, result in tried]
            reasons[place] = _first_members(turned, rules, place, graph, tried, results, classifier, plausibility, rung)
        context.tell("applying rules", place + 1, len(rejects))
    first: dict[int, VerifiedCounterfactual] = {}
    for found in turned:
        for place, it in found.items():
            first.setdefault(place, it)
    recourses = [
        CommonRecourse(
            summary=recourse.summary,
            description=recourse.description,
            rule=rule,
            row=recourse.row,
            smirks=recourse.smirks,
            statistics=success_figures(int(can[number].sum()), len(turned[number]), rule),
        )
        for number, (recourse, rule) in enumerate(zip(explanation.recourses, rules, strict=True))
    ]
    return assemble(
        task, rejects, plausibility, recourses, list(first.values()), turned, reasons,
        parameters=explanation.parameters, warnings=warnings, notes=notes,
    )  # fmt: skip


def _first_members(
    turned: list[dict[int, VerifiedCounterfactual]],
    rules: Sequence[Rule],
    place: int,
    graph: Graph,
    tried: Sequence[tuple[int, Site, Graph]],
    results: Sequence[Graph],
    classifier: Classifier,
    plausibility: Plausibility,
    rung: Rung,
) -> Reason:
    """Enter the best place of every rule that turns a graph; why none does, otherwise."""
    probability = classifier.accept_probability(GraphBatch.from_graphs(results))
    likely = np.argsort(-probability, kind="stable")
    likely = likely[probability[likely] > accepted(DISPLAY_MARGIN / 2)]
    if not len(likely):
        return Reason.STILL_REJECTED
    standing = plausibility.judge([graph] * len(likely), [results[k] for k in likely]).rungs
    for k, reached in zip(likely.tolist(), standing, strict=True):
        number, site, result = tried[k]
        if reached >= rung and place not in turned[number]:
            turned[number][place] = VerifiedCounterfactual.by_rule(
                number, rules[number], place, graph, site, result, float(probability[k])
            )
    return Reason.OFF_RUNG


def apply_recourses(
    explanation: Explanation,
    dataset: GraphDataset,
    models: ModelPair,
    task: Task[Any],
    plausibility: Plausibility,
    context: RunContext,
) -> Explanation:
    """The recourses of an explanation with the rejects of another dataset that each covers."""
    predictions = predict(models.classifier, dataset)
    warnings = [predictions.warning] if predictions.warning else []
    notes = [*dataset.notes, f"The recourses were found on {explanation.schema.dataset}."]
    rejects = Rejects.of(dataset, predictions)
    if explanation.recourse == "rules":
        applied = apply_rules(
            explanation, rejects, models.classifier, plausibility, task, context, warnings=warnings, notes=notes
        )
    else:
        assert isinstance(task, VectorTask)
        applied = apply_vectors(
            explanation, rejects, models, task, plausibility, context, warnings=warnings, notes=notes
        )
    return stamped(applied, context.clock, seed=task.random_state)
