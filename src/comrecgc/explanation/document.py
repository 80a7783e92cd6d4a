"""`explanation.json`: an explanation as text, and back.

msgspec checks types and sizes while it parses and names the place of whatever is wrong. What must hold between values is
checked here and, for files and runs alike, in `checks`.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Annotated, Any, TypeVar

import msgspec
import numpy as np
from msgspec import Meta, Struct, field

from comrecgc.data import DatasetIndex
from comrecgc.errors import InputError
from comrecgc.explanation.explanation import (
    CommonRecourse,
    CoveredInput,
    Explanation,
    RejectedInput,
    RunFacts,
    Uncovered,
)
from comrecgc.explanation.trust import NUMBERS
from comrecgc.graphs import Edit, EditKind, Graph, Pattern, Rule, Schema

FORMAT = 2

_KINDS = {kind.name.lower(): kind for kind in EditKind}

T = TypeVar("T")

Integer = Annotated[int, Meta(gt=-(2**31), lt=2**31)]
Number = Annotated[float, Meta(ge=-1e300, le=1e300)]


class _Graph(Struct):
    labels: list[Integer]
    edges: list[tuple[Integer, Integer]]
    edge_labels: list[Integer] | None = None


class _Input(_Graph, kw_only=True):
    input: Integer
    reject_probability: Number
    name: str = ""
    stereo: Annotated[str, Meta(pattern=r"^((@@?( \d{1,9}){3,9}|(cis|trans)( \d{1,9}){4})(;|$))*$")] = ""


class _Counterfactual(_Graph, kw_only=True):
    ids: list[Integer]


class _Member(Struct):
    input: Integer
    probability: Number
    distance: Number
    num_edits: Integer
    edits: list[list[Integer | str]]
    counterfactual: _Counterfactual
    position: tuple[Number, Number] = (0.0, 0.0)
    site: tuple[Integer, ...] = ()
    cost: Number | None = None
    truth: Number | None = None


class _Side(Struct):
    labels: tuple[Integer, ...]
    edges: tuple[tuple[Integer, Integer], ...] = ()
    edge_labels: tuple[Integer, ...] | None = None
    closed: tuple[bool, ...] = ()


class _Rule(Struct):
    before: _Side
    after: _Side
    kept: tuple[tuple[Integer, Integer], ...] = ()
    radius: Annotated[int, Meta(ge=0, le=2)] = 0
    smirks: str | None = None
    num_changes: Annotated[int, Meta(ge=1, le=3)] = 1
    row: Annotated[int, Meta(ge=0, lt=2**31)] | None = None


class _Recourse(Struct, kw_only=True):
    summary: str
    description: str
    gain: Integer
    also_covers: list[Integer]
    covered: list[_Member]
    vector: list[Number] | None = None
    norm: Number | None = None
    rule: _Rule | None = None
    statistics: dict[str, Any] = field(default_factory=dict)
    share_valid: Number | None = None


class _Document(Struct, kw_only=True):
    format: Integer
    dataset: str
    parameters: dict[str, Any]
    metrics: dict[str, Any]
    coverage_curve: list[Number]
    label_names: list[str]
    class_names: tuple[str, str]
    is_molecular: bool
    warnings: list[str]
    notes: list[str]
    recourses: list[_Recourse]
    uncovered: list[Uncovered]
    inputs: list[_Input]
    shortcuts: list[_Recourse] = []
    edge_label_names: list[str] | None = None
    recourse: str
    changes: str


def parse(text: bytes, kind: type[T]) -> T:
    """A JSON document of a given shape; whatever is wrong is named by its place."""
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.ValidationError as error:
        rule, _, place = str(error).partition(" - at `$")
        raise InputError(f"{place.rstrip('`').lstrip('.') or 'the document'}: {rule}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"not valid JSON: {error}".splitlines()[0]) from None
    except RecursionError:
        raise InputError("lists and objects must not be nested so deep") from None


def check_format(found: int) -> None:
    """Refuse a file written in a format this version does not know."""
    if found != FORMAT:
        raise InputError(f"format must be {FORMAT}, all this version reads (got {found})")


def decode_explanation(text: bytes, facts: RunFacts) -> Explanation:
    """The explanation in the text of an `explanation.json`."""

    class Head(Struct):
        format: Integer

    check_format(parse(text, Head).format)
    document = parse(text, _Document)
    inputs: dict[int, RejectedInput] = {}
    for place, record in enumerate(document.inputs):
        with _within(f"inputs[{place}]"):
            # A relative goal needs graphs that know which input they come from.
            graph = _graph(record).of_source(record.input) if NUMBERS in facts.facts else _graph(record)
            inputs[record.input] = RejectedInput(graph, record.reject_probability, record.name, record.stereo)
    if len(inputs) < len(document.inputs):
        raise InputError("inputs must name every input once")
    labels = LabelWords(document.label_names)
    recourses, shortcuts = (
        tuple(_recourse(f"{name}[{place}]", record, inputs, labels) for place, record in enumerate(records))
        for name, records in (("recourses", document.recourses), ("shortcuts", document.shortcuts))
    )
    bonds = None if document.edge_label_names is None else tuple(document.edge_label_names)
    names = tuple(document.label_names)
    plain = ("parameters", "metrics", "uncovered", "warnings", "notes", "recourse", "changes")
    explanation = Explanation(
        schema=Schema(names, bonds, document.is_molecular, document.class_names, document.dataset),
        inputs=inputs,
        recourses=recourses,
        shortcuts=shortcuts,
        facts=facts,
        **{name: getattr(document, name) for name in plain},
    )
    curve, stated = explanation.coverage_curve, document.coverage_curve
    if len(curve) != len(stated) or not np.allclose(stated, curve, rtol=0, atol=1e-9):
        raise InputError("coverage_curve must follow from the gains of the recourses")
    return explanation


def _recourse(where: str, record: _Recourse, inputs: Mapping[int, RejectedInput], labels: LabelWords) -> CommonRecourse:
    members = tuple(
        _member(f"{where}.covered[{place}]", member, inputs, labels) for place, member in enumerate(record.covered)
    )
    of_rule: dict[str, Any] = {} if record.rule is None else {"row": record.rule.row, "smirks": record.rule.smirks}
    plain = ("summary", "description", "statistics", "also_covers", "share_valid")
    with _within(where):
        recourse = CommonRecourse(
            vector=None if record.vector is None else tuple(record.vector),
            rule=None if record.rule is None else _rule(record.rule),
            covered=members,
            **of_rule,
            **{name: getattr(record, name) for name in plain},
        )
    if record.gain != recourse.gain:
        raise InputError(f"{where}.gain must be the number of inputs in covered, {recourse.gain} (got {record.gain})")
    length, stated = recourse.norm, math.nan if record.norm is None else record.norm
    if length is not None and not math.isclose(stated, length, rel_tol=1e-5, abs_tol=1e-12):
        raise InputError(f"{where}.norm must be the length of the vector, {length:g} (got {record.norm})")
    return recourse


def _rule(record: _Rule) -> Rule:
    for side in (record.before, record.after):
        if min(side.labels, default=0) < 0:
            raise InputError(f"Labels of a rule must not be negative (got {min(side.labels)})")
    before, after = (Pattern(side.labels, side.edges, side.edge_labels) for side in (record.before, record.after))
    return Rule(before, after, record.kept, record.before.closed, record.radius, record.num_changes)


def _member(where: str, record: _Member, inputs: Mapping[int, RejectedInput], labels: LabelWords) -> CoveredInput:
    index = DatasetIndex(record.input)
    if index not in inputs:
        raise InputError(f"{where}.input must be the index of an input (got {index})")
    edits = []
    for place, words in enumerate(record.edits):
        with _within(f"{where}.edits[{place}]"):
            edits.append(labels.edit(words))
    next_id = inputs[index].graph.num_nodes + sum(edit.kind == EditKind.ADD_NODE for edit in edits)
    source, plain = (
        inputs[index].graph.source,
        ("probability", "distance", "num_edits", "position", "site", "cost", "truth"),
    )
    with _within(where):
        return CoveredInput(
            input=index,
            edits=tuple(edits),
            counterfactual=_counterfactual(record.counterfactual, next_id, source),
            **{name: getattr(record, name) for name in plain},
        )


def _graph(record: _Graph) -> Graph:
    edge_labels = None if record.edge_labels is None else np.array(record.edge_labels, dtype=np.int32)
    return Graph(record.labels, np.array(record.edges, dtype=np.int32).reshape(-1, 2), edge_labels)


def _counterfactual(record: _Counterfactual, next_id: int, source: int) -> Graph:
    graph, ids = _graph(record), np.array(record.ids, dtype=np.int32)
    if len(ids) != graph.num_nodes or (np.diff(ids) <= 0).any() or ids[0] < 0 or ids[-1] >= next_id:
        raise InputError(f"counterfactual.ids must be one increasing id per node, below {next_id}")
    return Graph.assemble(graph.labels, graph.edges, graph.edge_labels, ids, next_id, source)


@contextmanager
def _within(where: str) -> Iterator[None]:
    """Complaints within the block get the place in the file."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{where}: {error}") from error


class LabelWords:
    """Edits as lists of words and numbers: `["relabel", 3, "C"]`, `["add_node", 3, "O"]`, `["remove_node", 7]`.

    Labels go by their names. A label whose name another label has too is followed by its number.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._place = {name: label for label, name in reversed(list(enumerate(names)))}
        self._ambiguous = {name for name, count in Counter(names).items() if count > 1}

    def words(self, edit: Edit) -> list[str | int]:
        """An edit as a list."""
        parts: list[str | int] = [edit.kind.name.lower(), edit.first]
        if edit.kind == EditKind.REMOVE_NODE:
            return parts
        if edit.kind.joins_nodes:
            return [*parts, edit.second]
        name = self._names[edit.second]
        return [*parts, name, edit.second] if name in self._ambiguous else [*parts, name]

    def edit(self, words: Sequence[str | int]) -> Edit:
        """The edit in a list."""
        kind = _KINDS.get(str(words[0])) if words else None
        if kind is None:
            raise InputError(f"must begin with one of {', '.join(_KINDS)} (got {words!r:.60})")
        arguments = words[1:]
        names_label = kind in (EditKind.RELABEL, EditKind.ADD_NODE)
        wanted = 1 if kind == EditKind.REMOVE_NODE else 2
        if names_label and len(arguments) > 1 and arguments[1] in self._ambiguous:
            wanted = 3
        if len(arguments) != wanted:
            raise InputError(f"must have {wanted} arguments after {words[0]!r} (got {words!r:.60})")
        name = arguments[1] if names_label else None
        numbers = [argument for place, argument in enumerate(arguments) if not (names_label and place == 1)]
        if not all(isinstance(number, int) for number in numbers):
            raise InputError(f"must name nodes by their ids (got {words!r:.60})")
        if name is None:
            return Edit(kind, *map(int, numbers))
        if name not in self._place:
            raise InputError(f"must be the name of a label (got {name!r:.60})")
        label = int(numbers[1]) if wanted == 3 else self._place[str(name)]
        if not 0 <= label < len(self._names) or self._names[label] != name:
            raise InputError(f"must be the number of a label named {name!r:.40} (got {label})")
        return Edit(kind, int(numbers[0]), label)


def encode_explanation(explanation: Explanation) -> str:
    """The text of `explanation.json`, one line per graph so that it can be read and compared by eye."""
    schema, labels = explanation.schema, LabelWords(explanation.schema.label_names)
    parts = {
        "format": _text(FORMAT),
        **{name: _text(getattr(schema if hasattr(schema, name) else explanation, name)) for name in _PLAIN},
        "recourses": _lines(_encode_recourse(recourse, labels) for recourse in explanation.recourses),
        "shortcuts": _lines(_encode_recourse(recourse, labels) for recourse in explanation.shortcuts),
        "uncovered": _lines(_text({"input": it.input, "reason": it.reason}) for it in explanation.uncovered),
        "inputs": _lines(
            _text(
                {"input": index, "reject_probability": it.reject_probability}
                | {key: text for key, text in (("name", it.name), ("stereo", it.stereo)) if text}
                | encode_graph(it.graph)
            )
            for index, it in explanation.inputs.items()
        ),
    }
    return "{" + ",\n".join(f"{_text(key)}: {value}" for key, value in parts.items()) + "}\n"


_PLAIN = (
    "dataset", "recourse", "changes", "parameters", "metrics", "coverage_curve", "label_names", "edge_label_names",
    "class_names", "is_molecular", "warnings", "notes",
)  # fmt: skip


def encode_graph(graph: Graph) -> dict[str, Any]:
    """A graph as lists; edge labels only where it has them."""
    record: dict[str, Any] = {"labels": graph.labels.tolist(), "edges": graph.edges.tolist()}
    return record if graph.edge_labels is None else {**record, "edge_labels": graph.edge_labels.tolist()}


def _encode_recourse(recourse: CommonRecourse, labels: LabelWords) -> str:
    what: dict[str, object] = {"vector": recourse.vector, "norm": recourse.norm}
    if recourse.rule is not None:
        what = {"rule": _encode_rule(recourse.rule) | {"smirks": recourse.smirks, "row": recourse.row}}
    names = ("summary", "description", "gain", "share_valid", "also_covers")
    values = {**what, "statistics": recourse.statistics, **{name: getattr(recourse, name) for name in names}}
    parts = {key: _text(value) for key, value in values.items()}
    parts["covered"] = _lines(_text(_encode_member(member, labels)) for member in recourse.covered)
    return "{" + ", ".join(f"{_text(key)}: {value}" for key, value in parts.items()) + "}"


def _encode_rule(rule: Rule) -> dict[str, Any]:
    return {
        "before": {**asdict(rule.before), "closed": rule.closed},
        "after": asdict(rule.after),
        "kept": rule.kept,
        "radius": rule.radius,
        "num_changes": rule.num_changes,
    }


def _encode_member(member: CoveredInput, labels: LabelWords) -> dict[str, object]:
    return {
        **{name: getattr(member, name) for name in ("input", "probability", "distance", "num_edits")},
        **({} if member.cost is None else {"cost": member.cost, "site": member.site}),
        **({} if member.truth is None else {"truth": member.truth}),
        "position": member.position,
        "edits": [labels.words(edit) for edit in member.edits],
        "counterfactual": {**encode_graph(member.counterfactual), "ids": member.counterfactual.ids.tolist()},
    }


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _lines(items: Iterable[str]) -> str:
    body = ",\n".join(items)
    return f"[\n{body}]" if body else "[]"
