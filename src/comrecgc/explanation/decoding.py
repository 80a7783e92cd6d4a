"""`explanation.json` back into an explanation; whatever is wrong is named by its place in the file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from comrecgc.explanation.document import Entry
from comrecgc.explanation.encoding import FORMAT, ambiguous_names
from comrecgc.explanation.explanation import Explanation
from comrecgc.explanation.facts import RunFacts
from comrecgc.explanation.recourse import CommonRecourse, CoveredInput, RejectedInput, Uncovered
from comrecgc.graphs import Edit, EditKind, Graph
from comrecgc.metrics import Reason

_KINDS = {kind.name.lower(): kind for kind in EditKind}


def check_format(document: Entry) -> None:
    """Refuse a file written in another format than this package's."""
    if document["format"].value != FORMAT:
        raise document["format"].error(f"must be {FORMAT}, the only format this version reads")


def decode_explanation(document: Entry, facts: RunFacts) -> Explanation:
    """The explanation in a parsed `explanation.json`."""
    check_format(document)
    label_names = _texts(document["label_names"])
    inputs = {record["input"].integer(): _input(record) for record in document["inputs"].items()}
    if len(inputs) < len(document["inputs"].items()):
        raise document["inputs"].error("must name every input once")
    edge_label_names = document.get("edge_label_names")
    reject, accept = _pair(document["class_names"])
    explanation = Explanation(
        dataset=document["dataset"].text(),
        parameters=document["parameters"].mapping(),
        metrics=document["metrics"].mapping(),
        inputs=inputs,
        recourses=tuple(_recourse(record, inputs, label_names) for record in document["recourses"].items()),
        uncovered=tuple(_uncovered(record) for record in document["uncovered"].items()),
        label_names=label_names,
        class_names=(reject.text(), accept.text()),
        edge_label_names=None if edge_label_names is None else _texts(edge_label_names),
        is_molecular=document["is_molecular"].flag(),
        warnings=_texts(document["warnings"]),
        notes=_texts(document["notes"]),
        facts=facts,
    )
    curve = [share.number() for share in document["coverage_curve"].items()]
    if len(curve) != len(explanation.recourses) or not np.allclose(
        curve, explanation.coverage_curve, rtol=0, atol=1e-9
    ):
        raise document["coverage_curve"].error("must follow from the gains of the recourses")
    return explanation


def _recourse(record: Entry, inputs: dict[int, RejectedInput], label_names: Sequence[str]) -> CommonRecourse:
    share_valid = record.get("share_valid")
    ambiguous = ambiguous_names(label_names)
    members = tuple(_member(member, inputs, label_names, ambiguous) for member in record["covered"].items())
    vector = tuple(value.number() for value in record["vector"].items())
    summary, description = record["summary"].text(), record["description"].text()
    also_covers = tuple(record["also_covers"].integers())
    share = None if share_valid is None else share_valid.number()
    recourse = record.made(
        lambda: CommonRecourse(
            vector=vector,
            summary=summary,
            description=description,
            covered=members,
            also_covers=also_covers,
            share_valid=share,
        )
    )
    if record["gain"].integer() != recourse.gain:
        raise record["gain"].error(f"must be the number of inputs in covered, {recourse.gain}")
    if not math.isclose(record["norm"].number(), recourse.norm, rel_tol=1e-5, abs_tol=1e-12):
        raise record["norm"].error(f"must be the length of the vector, {recourse.norm:g}")
    return recourse


def _member(
    record: Entry, inputs: dict[int, RejectedInput], label_names: Sequence[str], ambiguous: frozenset[str]
) -> CoveredInput:
    index = record["input"].integer()
    if index not in inputs:
        raise record["input"].error("must be the index of an input")
    edits = tuple(_edit(edit, label_names, ambiguous) for edit in record["edits"].items())
    num_added = sum(edit.kind == EditKind.ADD_NODE for edit in edits)
    x, y = _pair(record["position"])
    position = (x.number(), y.number())
    probability, distance = record["probability"].number(), record["distance"].number()
    num_edits = record["num_edits"].integer()
    counterfactual = _counterfactual(record["counterfactual"], inputs[index].graph.num_nodes + num_added)
    return record.made(
        lambda: CoveredInput(
            input=index,
            probability=probability,
            distance=distance,
            num_edits=num_edits,
            edits=edits,
            counterfactual=counterfactual,
            position=position,
        )
    )


def _edit(record: Entry, label_names: Sequence[str], ambiguous: frozenset[str]) -> Edit:
    kind, *arguments = record.items() or [Entry(None)]
    if not isinstance(kind.value, str) or kind.value not in _KINDS:
        raise record.error(f"must begin with one of {', '.join(_KINDS)}")
    edit_kind = _KINDS[kind.value]
    names_label = edit_kind in (EditKind.RELABEL, EditKind.ADD_NODE)
    wanted: Literal[1, 2, 3] = 1 if edit_kind == EditKind.REMOVE_NODE else 2
    if names_label and len(arguments) > 1 and arguments[1].text() in ambiguous:
        wanted = 3
    if len(arguments) != wanted:
        raise record.error(f"must have {wanted} arguments after {kind.value!r}")
    first = arguments[0].integer()
    if not names_label:
        return Edit(edit_kind, first, arguments[1].integer()) if wanted == 2 else Edit(edit_kind, first)
    name = arguments[1].text()
    if name not in label_names:
        raise arguments[1].error("must be the name of a label")
    label = label_names.index(name) if wanted == 2 else arguments[2].integer()
    if not 0 <= label < len(label_names) or label_names[label] != name:
        raise arguments[2].error(f"must be the number of a label named {name!r:.40}")
    return Edit(edit_kind, first, label)


def _input(record: Entry) -> RejectedInput:
    graph, probability = _graph(record), record["reject_probability"].number()
    return record.made(lambda: RejectedInput(graph, probability))


def _counterfactual(record: Entry, next_id: int) -> Graph:
    graph = _graph(record)
    ids = np.array(record["ids"].integers(), dtype=np.int32)
    if len(ids) != graph.num_nodes or (np.diff(ids) <= 0).any() or ids[0] < 0 or ids[-1] >= next_id:
        raise record["ids"].error(f"must be one increasing id per node, below {next_id}")
    return Graph.assemble(graph.labels, graph.edges, graph.edge_labels, ids, next_id)


def _graph(record: Entry) -> Graph:
    labels = record["labels"].integers()
    edges = [edge.integers() for edge in record["edges"].items()]
    if any(len(edge) != 2 for edge in edges):
        raise record["edges"].error("must be pairs")
    bonds = record.get("edge_labels")
    edge_labels = None if bonds is None else np.array(bonds.integers(), dtype=np.int32)
    return record.made(lambda: Graph(labels, np.array(edges, dtype=np.int32).reshape(-1, 2), edge_labels))


def _uncovered(record: Entry) -> Uncovered:
    reason = record["reason"]
    if reason.value not in [known.value for known in Reason]:
        raise reason.error(f"must be one of {', '.join(repr(known.value) for known in Reason)}")
    return Uncovered(input=record["input"].integer(), reason=Reason(reason.text()))


def _texts(node: Entry) -> tuple[str, ...]:
    return tuple(item.text() for item in node.items())


def _pair(node: Entry) -> tuple[Entry, Entry]:
    items = node.items()
    if len(items) != 2:
        raise node.error("must be a pair")
    return items[0], items[1]
