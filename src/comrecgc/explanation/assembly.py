"""What recourses do to inputs, as an explanation holds it: shared by vectors and rules, found or applied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from comrecgc.algorithms.base import Task
from comrecgc.algorithms.inputs import RejectPlace, Rejects
from comrecgc.cover import Reason
from comrecgc.data import GraphDataset
from comrecgc.errors import InputError
from comrecgc.explanation.explanation import Explanation
from comrecgc.explanation.records import CommonRecourse, CoveredInput, RejectedInput, RunFacts, Uncovered
from comrecgc.graphs import Graph, Rule, Site, edits_between
from comrecgc.molecules import is_valid_molecule
from comrecgc.run import Clock, peak_memory, versions


@dataclass(frozen=True, eq=False, kw_only=True)
class TurnedInput:
    """An input under the first rule that turns it."""

    recourse: int
    place: int
    site: Site
    counterfactual: Graph
    probability: float
    confirmed: bool | None = None


def covered_input(member: TurnedInput, rejects: Rejects, rule: Rule) -> CoveredInput:
    """An input under a rule, as an explanation holds it."""
    graph = rejects.graphs[member.place]
    cost = rule.cost + graph.size + rule.grown - member.counterfactual.size  # with edges that go with removed nodes
    return CoveredInput(
        input=rejects.index(RejectPlace(member.place)),
        probability=member.probability,
        distance=rule.distance(graph, member.counterfactual),
        num_edits=cost,
        edits=edits_between(graph, member.counterfactual),
        counterfactual=member.counterfactual,
        site=member.site,
        cost=cost,
    )


def explanation_of(
    settings: Task[Any],
    rejects: Rejects,
    recourses: Sequence[CommonRecourse],
    reasons: Mapping[int, Reason],
    figures: Mapping[str, float | int | None],
    *,
    parameters: Mapping[str, Any],
    warnings: Sequence[str],
    notes: Sequence[str],
) -> Explanation:
    """The explanation that recourses on some rejects are; `reasons` are by place among the rejects, for those not covered."""
    return Explanation(
        dataset=rejects.dataset.name,
        parameters=parameters,
        metrics={**figures, "num_inputs": len(rejects), "num_recourses": len(recourses)},
        inputs={
            int(index): RejectedInput(graph, 1 - float(probability), name)
            for index, graph, probability, name in zip(
                rejects.indices,
                rejects.graphs,
                rejects.scores.probability,
                rejects.names or [""] * len(rejects),
                strict=True,
            )
        },
        recourses=tuple(recourses),
        uncovered=tuple(
            Uncovered(input=rejects.index(RejectPlace(place)), reason=reason)
            for place, reason in sorted(reasons.items())
        ),
        label_names=rejects.dataset.label_names,
        class_names=rejects.dataset.class_names,
        edge_label_names=rejects.dataset.edge_label_names,
        is_molecular=rejects.dataset.is_molecular,
        warnings=tuple(warnings),
        notes=tuple(notes),
        recourse=settings.recourse,
        changes=settings.changes,
    )


def explain_nothing(
    settings: Task[Any], rejects: Rejects, *, warnings: Sequence[str], notes: Sequence[str]
) -> Explanation:
    """The explanation where the model rejects no graph."""
    return explanation_of(
        settings, rejects, (), {}, {"coverage": 0.0}, parameters=settings.parameters(), warnings=warnings, notes=notes
    )


def share_valid(graphs: Sequence[Graph], dataset: GraphDataset) -> float | None:
    """Share of counterfactuals that are valid molecules; None where nobody can tell."""
    if not dataset.is_molecular or not graphs:
        return None
    try:
        return float(np.mean([is_valid_molecule(graph, dataset.label_names) for graph in graphs]))
    except InputError:  # no rdkit, or edge labels that are no bonds
        return None


def stamped(
    explanation: Explanation, clock: Clock, *, seed: int | None = None, model_accuracy: float | None = None
) -> Explanation:
    """The explanation with the facts of its run: seed, versions, seconds and memory."""
    facts = RunFacts(
        seed=seed,
        versions=versions(),
        seconds=clock.seconds,
        peak_memory=peak_memory(),
        model_accuracy=model_accuracy,
    )
    return explanation.with_facts(facts)
