"""What must hold of an explanation, whether a run made it or a file did."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from comrecgc.errors import InputError
from comrecgc.explanation.records import CoveredInput, RejectedInput
from comrecgc.graphs import Graph, Rule, apply_path, carry_out, is_site

if TYPE_CHECKING:
    from comrecgc.explanation.explanation import Explanation

RECOURSES = ("vectors", "rules")
CHANGES = ("any", "connected", "plausible", "confirmed")

_LARGEST = 1e300


def check_inputs(explanation: Explanation) -> None:
    """Names are text, and input graphs are as read from data over the named labels."""
    texts = (explanation.dataset, *explanation.label_names, *explanation.class_names, *explanation.warnings)
    texts += (*explanation.notes, *(explanation.edge_label_names or ()))
    texts += tuple(text for recourse in explanation.recourses for text in (recourse.summary, recourse.description))
    for text in texts:
        try:
            text.encode()
        except (UnicodeEncodeError, AttributeError):
            raise InputError(f"Names and words must be text that UTF-8 can hold (got {text!r:.80})") from None
    if len(explanation.class_names) != 2:
        raise InputError(f"class_names must be two, reject and accept (got {len(explanation.class_names)})")
    for index, rejected in explanation.inputs.items():
        graph = rejected.graph
        if index < 0:
            raise InputError(f"Indices of inputs must not be negative (got {index})")
        if graph.next_id != graph.num_nodes or graph.ids[-1] != graph.num_nodes - 1:
            raise InputError(f"Inputs must be graphs as read from data, ids equal to positions (got input {index})")
        _check_labels(f"input {index}", int(graph.labels.max()), len(explanation.label_names))
        if explanation.edge_label_names is not None and graph.edge_labels is not None and graph.num_edges:
            largest = int(graph.edge_labels.max())
            if largest >= len(explanation.edge_label_names):
                raise InputError(f"Every edge label needs a name (got edge label {largest} in input {index})")


def _check_labels(what: str, largest: int, num_labels: int) -> None:
    if largest >= num_labels:
        raise InputError(f"Every node label needs a name (got label {largest} of {num_labels} names in {what})")


def check_kind(explanation: Explanation) -> None:
    """All recourses are vectors of one length, or all are rules over the named labels."""
    for name, allowed in (("recourse", RECOURSES), ("changes", CHANGES)):
        if getattr(explanation, name) not in allowed:
            raise InputError(f"{name} must be one of {', '.join(allowed)} (got {getattr(explanation, name)!r:.80})")
    for place, recourse in enumerate(explanation.recourses):
        if (recourse.rule is not None) != (explanation.recourse == "rules"):
            raise InputError(f"Every recourse must be one of the {explanation.recourse} (got another at {place})")
        for side in () if recourse.rule is None else (recourse.rule.before, recourse.rule.after):
            _check_labels(f"the rule of recourse {place}", max(side.labels, default=0), len(explanation.label_names))
    widths = {len(recourse.vector) for recourse in explanation.recourses if recourse.vector is not None}
    if len(widths) > 1:
        raise InputError(f"Recourse vectors must all have one length (got {sorted(widths)})")


def check_cover(explanation: Explanation) -> None:
    """Every input stands in exactly one place, and a recourse speaks of inputs only."""
    listed = [member.input for recourse in explanation.recourses for member in recourse.covered]
    listed += [entry.input for entry in explanation.uncovered]
    _check_indices("covered and uncovered inputs", listed, explanation.inputs)
    missing = set(explanation.inputs) - set(listed)
    if missing:
        raise InputError(f"Every input must be covered or listed as uncovered (got neither for input {min(missing)})")
    earlier: set[int] = set()
    for place, recourse in enumerate(explanation.recourses):
        _check_indices(f"also_covers of recourse {place}", recourse.also_covers, explanation.inputs)
        early = set(recourse.also_covers) - earlier
        if early:
            raise InputError(
                f"also_covers of recourse {place} must name inputs covered by an earlier recourse (got {min(early)})"
            )
        earlier.update(member.input for member in recourse.covered)


def _check_indices(what: str, indices: Sequence[int], inputs: Mapping[int, RejectedInput]) -> None:
    unknown = [index for index in indices if index not in inputs]
    if unknown:
        raise InputError(f"The {what} must be indices of inputs (got {unknown[0]})")
    if len(set(indices)) < len(indices):
        twice = next(index for place, index in enumerate(indices) if index in indices[:place])
        raise InputError(f"The {what} must be named once each (got {twice} twice)")


def check_metrics(explanation: Explanation) -> None:
    """Metrics are numbers, and those that follow from the recourses agree with them."""
    truth = {
        "coverage": explanation.coverage,
        "num_inputs": len(explanation.inputs),
        "num_recourses": len(explanation.recourses),
    }
    metrics: Mapping[str, object] = explanation.metrics
    for name, value in metrics.items():
        if value is not None and (
            isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > _LARGEST
        ):
            raise InputError(f"Metrics must be numbers or null (got {value!r:.80} for {name!r:.80})")
    for name, value in truth.items():
        stated = explanation.metrics.get(name, value)
        if stated is None or not math.isclose(stated, value, abs_tol=1e-6):
            raise InputError(f"The metric {name} must be what the recourses say, {value:g} (got {stated})")


def check_paths(explanation: Explanation) -> None:
    """Every path of edits leads from its input to its counterfactual."""
    for place, recourse in enumerate(explanation.recourses):
        for member in recourse.covered:
            rule = None if recourse.rule is None else recourse.rule.rewriting
            _check_path(place, member, explanation.inputs[member.input].graph, len(explanation.label_names), rule)


def _check_path(place: int, member: CoveredInput, graph: Graph, num_labels: int, rule: Rule | None) -> None:
    what = f"input {member.input} under recourse {place}"
    try:
        end = apply_path(graph, member.edits)
    except InputError as error:
        raise InputError(f"The edits of {what} cannot be made: {error}") from error
    _check_labels(f"the counterfactual of {what}", int(member.counterfactual.labels.max()), num_labels)
    if rule is None:
        if not same_graph(end, member.counterfactual):
            raise InputError(f"The edits of {what} must lead to its counterfactual, and they lead to another graph")
        return
    # Edits say nothing of edge labels; the rule does.
    if end != member.counterfactual or not np.array_equal(end.ids, member.counterfactual.ids):
        raise InputError(f"The edits of {what} must lead to its counterfactual, and they lead to another graph")
    if not is_site(rule, graph, member.site):
        raise InputError(f"The rule must be possible at the site of {what}")
    if not same_graph(carry_out(rule, graph, member.site), member.counterfactual):
        raise InputError(f"The rule must lead to the counterfactual of {what}, and it leads to another graph")


def same_graph(one: Graph, other: Graph) -> bool:
    """Whether labels, edges, ids and edge labels all agree."""
    same_bonds = (one.edge_labels is None) == (other.edge_labels is None) and (
        one.edge_labels is None or np.array_equal(one.edge_labels, other.edge_labels)  # type: ignore[arg-type]
    )
    return same_bonds and one == other and np.array_equal(one.ids, other.ids)
