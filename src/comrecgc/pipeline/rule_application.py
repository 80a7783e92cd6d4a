"""Rules carried out on unseen graphs, with the reason where none works."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from comrecgc.classifiers import Classifier
from comrecgc.explanation import CommonRecourse, Explanation, Reason
from comrecgc.graphs import (
    Graph,
    GraphBatch,
    Rung,
    Site,
    Surroundings,
    carry_out,
    distinct_sites,
)
from comrecgc.pipeline.inputs import Progress, Rejects
from comrecgc.pipeline.mined_rules import permission_of
from comrecgc.pipeline.records import TurnedInput, covered_input, explanation_of, share_valid
from comrecgc.pipeline.rungs import Judges
from comrecgc.pipeline.settings import SHOWN, Settings, accepted
from comrecgc.rules import (
    wilson_interval,
)

MOST_PLACES = 64
"""Places of a rule in an unseen graph that are tried at most."""


def apply_rules(
    explanation: Explanation,
    rejects: Rejects,
    classifier: Classifier,
    judges: Judges,
    settings: Settings,
    *,
    warnings: Sequence[str] = (),
    notes: Sequence[str] = (),
    progress: Progress | None = None,
) -> Explanation:
    """Carry the rules of an explanation out on other graphs.

    Args:
        explanation: The rules.
        rejects: The graphs.
        classifier: The model.
        judges: The ladder that the rules were found with, and the panel.
        settings: Limits that hold for these graphs too.
        warnings: What a reader must know, one sentence each.
        notes: What the run did, one sentence each.
        progress: Called as work proceeds.
    """
    rules = [recourse.rule.rewriting for recourse in explanation.recourses if recourse.rule is not None]
    rung, permission = Rung.parse(settings.changes), permission_of(settings, judges.ladder)
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
        if progress is not None:
            progress("applying rules", place + 1, len(rejects), "")
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
