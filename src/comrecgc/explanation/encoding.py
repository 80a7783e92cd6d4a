"""`explanation.json`: an explanation as text, and back. Format 1."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from comrecgc.graphs import Edit, EditKind, Graph

if TYPE_CHECKING:
    from comrecgc.explanation.explanation import Explanation
    from comrecgc.explanation.recourse import CommonRecourse, CoveredInput

FORMAT = 1


def encode_explanation(explanation: Explanation) -> str:
    """The text of `explanation.json`, one line a graph so that it can be read and compared by eye."""
    ambiguous = ambiguous_names(explanation.label_names)
    names = explanation.label_names
    parts = {
        "format": _text(FORMAT),
        "dataset": _text(explanation.dataset),
        "parameters": _text(explanation.parameters),
        "metrics": _text(explanation.metrics),
        "coverage_curve": _text(explanation.coverage_curve),
        "label_names": _text(explanation.label_names),
        "edge_label_names": _text(explanation.edge_label_names),
        "class_names": _text(explanation.class_names),
        "is_molecular": _text(explanation.is_molecular),
        "warnings": _text(explanation.warnings),
        "notes": _text(explanation.notes),
        "recourses": _lines(_encode_recourse(recourse, names, ambiguous) for recourse in explanation.recourses),
        "uncovered": _lines(_text({"input": it.input, "reason": it.reason}) for it in explanation.uncovered),
        "inputs": _lines(
            _text({"input": index, "reject_probability": it.reject_probability, **encode_graph(it.graph)})
            for index, it in explanation.inputs.items()
        ),
    }
    return "{" + ",\n".join(f"{_text(key)}: {value}" for key, value in parts.items()) + "}\n"


def ambiguous_names(label_names: Iterable[str]) -> frozenset[str]:
    """Names that more than one label has, so that an edit must give the label's number as well."""
    return frozenset(name for name, count in Counter(label_names).items() if count > 1)


def encode_edit(edit: Edit, label_names: Sequence[str], ambiguous: frozenset[str]) -> list[str | int]:
    """An edit as its name and arguments: `["relabel", 3, "C"]`, `["add_node", 3, "O"]`, `["remove_node", 7]`, `["add_edge", 1, 2]`.

    A label whose name another label has too is followed by its number.
    """
    parts: list[str | int] = [edit.kind.name.lower(), edit.first]
    if edit.kind.joins_nodes:
        return [*parts, edit.second]
    if edit.kind == EditKind.REMOVE_NODE:
        return parts
    name = label_names[edit.second]
    return [*parts, name, edit.second] if name in ambiguous else [*parts, name]


def encode_graph(graph: Graph) -> dict[str, Any]:
    """A graph as lists; edge labels only where it has them."""
    record: dict[str, Any] = {"labels": graph.labels.tolist(), "edges": graph.edges.tolist()}
    return record if graph.edge_labels is None else {**record, "edge_labels": graph.edge_labels.tolist()}


def _encode_recourse(recourse: CommonRecourse, label_names: Sequence[str], ambiguous: frozenset[str]) -> str:
    parts = {
        "vector": _text(recourse.vector),
        "norm": _text(recourse.norm),
        "summary": _text(recourse.summary),
        "description": _text(recourse.description),
        "gain": _text(recourse.gain),
        "share_valid": _text(recourse.share_valid),
        "also_covers": _text(recourse.also_covers),
        "covered": _lines(_encode_member(member, label_names, ambiguous) for member in recourse.covered),
    }
    return "{" + ", ".join(f"{_text(key)}: {value}" for key, value in parts.items()) + "}"


def _encode_member(member: CoveredInput, label_names: Sequence[str], ambiguous: frozenset[str]) -> str:
    return _text(
        {
            "input": member.input,
            "probability": member.probability,
            "distance": member.distance,
            "num_edits": member.num_edits,
            "position": member.position,
            "edits": [encode_edit(edit, label_names, ambiguous) for edit in member.edits],
            "counterfactual": {**encode_graph(member.counterfactual), "ids": member.counterfactual.ids.tolist()},
        }
    )


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _lines(items: Iterable[str]) -> str:
    body = ",\n".join(items)
    return f"[\n{body}]" if body else "[]"
