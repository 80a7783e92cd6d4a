"""The run folder: an explanation as `explanation.json` and as tables, a manifest with their checksums, and all of it read back.

msgspec checks types and sizes while it parses, and names the place of an error. Relations between values are checked here and, for files and runs
alike, when an `Explanation` is built.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec
import numpy as np
from msgspec import Meta, Struct, field

from comrecgc.data import DatasetIndex
from comrecgc.errors import InputError
from comrecgc.explanation.assembly import NUMBERS, expected_after, number_after
from comrecgc.explanation.records import CommonRecourse, CoveredInput, Explanation, RejectedInput, RunFacts, Uncovered
from comrecgc.graphs import Edit, EditKind, Graph, Pattern, Rule, Schema
from comrecgc.molecules import PROPERTIES, facts_of, load_rdkit, restore_stereo, sanitise, to_smiles
from comrecgc.run import read_bytes, write_json, write_text

if TYPE_CHECKING:
    import pandas as pd

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
    label_names: tuple[str, ...]
    class_names: tuple[str, str]
    is_molecular: bool
    warnings: list[str]
    notes: list[str]
    recourses: list[_Recourse]
    uncovered: list[Uncovered]
    inputs: list[_Input]
    shortcuts: list[_Recourse] = []
    edge_label_names: tuple[str, ...] | None = None
    recourse: str
    changes: str


def parse(text: bytes, kind: type[T]) -> T:
    """A JSON document of a given shape; errors name the place."""
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
    schema = msgspec.convert(document, Schema, from_attributes=True)
    plain = ("parameters", "metrics", "uncovered", "warnings", "notes", "recourse", "changes")
    fields = {name: getattr(document, name) for name in plain}
    explanation = Explanation(schema=schema, inputs=inputs, recourses=recourses, shortcuts=shortcuts, **fields)
    curve, stated = explanation.coverage_curve, document.coverage_curve
    if len(curve) != len(stated) or not np.allclose(stated, curve, rtol=0, atol=1e-9):
        raise InputError("coverage_curve must follow from the gains of the recourses")
    return explanation.using(facts=facts)


def _recourse(where: str, record: _Recourse, inputs: Mapping[int, RejectedInput], labels: LabelWords) -> CommonRecourse:
    members = [
        _member(f"{where}.covered[{place}]", member, inputs, labels) for place, member in enumerate(record.covered)
    ]
    plain = ("summary", "description", "statistics", "also_covers", "share_valid", "vector")
    known: dict[str, Any] = {name: getattr(record, name) for name in plain}
    with _within(where):
        if record.rule is not None:
            known |= {"rule": _rule(record.rule), "row": record.rule.row, "smirks": record.rule.smirks}
        recourse = CommonRecourse(covered=tuple(members), **known)
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
    before = inputs[index].graph
    next_id = before.num_nodes + sum(edit.kind == EditKind.ADD_NODE for edit in edits)
    plain = ("probability", "distance", "num_edits", "position", "site", "cost", "truth")
    known = {name: getattr(record, name) for name in plain}
    with _within(where):
        after = _counterfactual(record.counterfactual, next_id, before.source)
        return CoveredInput(input=index, edits=tuple(edits), counterfactual=after, **known)


def _graph(record: _Graph) -> Graph:
    edge_labels = None if record.edge_labels is None else np.array(record.edge_labels, dtype=np.int32)
    return Graph(record.labels, np.array(record.edges, dtype=np.int32).reshape(-1, 2), edge_labels)


def _counterfactual(record: _Counterfactual, next_id: int, source: int) -> Graph:
    graph, ids = _graph(record), np.array(record.ids, dtype=np.int32)
    if len(ids) != graph.num_nodes or (np.diff(ids) <= 0).any() or ids[0] < 0 or ids[-1] >= next_id:
        raise InputError(f"counterfactual.ids must be one increasing id per node, below {next_id}")
    return Graph.assemble(graph.labels, graph.edges, graph.edge_labels, ids, next_id, source)


@contextmanager
def _within(where: str | Path) -> Iterator[None]:
    """Errors within the block are prefixed with the file, or the place in it."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    except RecursionError:  # a little less deep than what the JSON parser itself refuses
        raise InputError(f"{where}: lists and objects must not be nested so deep") from None


class LabelWords:
    """Edits as lists of words and numbers: `["relabel", 3, "C"]`, `["add_node", 3, "O"]`, `["remove_node", 7]`.

    Labels are written by name. If several labels share a name, the label's number follows.
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
        **{
            name: _lines(_encode_recourse(recourse, labels) for recourse in getattr(explanation, name))
            for name in ("recourses", "shortcuts")
        },
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


# Molecules as a table and as SDF.


MOLECULES = "molecules.csv"
COLUMNS = (
    "input", "name", "smiles", "reject_probability", "recourse", "summary", "counterfactual", "probability", "edits", "smirks",
    "value", "predicted_before", "predicted_after", "expected_after", *(f"{name}_before" for name in PROPERTIES), *(f"{name}_after" for name in PROPERTIES), "alerts_before", "alerts_after",
)  # fmt: skip


def molecule_rows(explanation: Explanation) -> list[list[Any]] | None:
    """A header, then a row for every input; None if inputs are no molecules, bonds are not known or rdkit is not installed."""
    if not explanation.schema.is_molecular or not explanation.schema.edge_label_names:
        return None
    try:
        return [list(COLUMNS), *([record[name] for name in COLUMNS] for record in _records(explanation))]
    except InputError:  # no rdkit, or edge labels that are no bonds
        return None


def write_sdf(explanation: Explanation, path: str | Path) -> None:
    """Every counterfactual as a record of an SDF file, with what it was made from and how as properties."""
    chem = load_rdkit()
    from rdkit.Chem import rdDepictor

    if not explanation.schema.is_molecular or not explanation.schema.edge_label_names:
        raise InputError("Only molecules with known bonds can be written as SDF (got other graphs)")
    names = explanation.schema.label_names
    with chem.SDWriter(str(path)) as writer:
        for record in _records(explanation):
            graph = record["graph"]
            molecule = None if graph is None else sanitise(graph, names)
            if molecule is None:
                continue
            restore_stereo(molecule, graph, explanation.inputs[record["input"]].stereo)
            rdDepictor.Compute2DCoords(molecule)
            molecule.SetProp("_Name", record["name"] or f"input {record['input']}")
            for key in COLUMNS:
                if record[key] is not None:
                    molecule.SetProp(key, str(record[key]))
            writer.write(molecule)


def _records(explanation: Explanation) -> list[dict[str, Any]]:
    names = explanation.schema.label_names
    listed = list(enumerate(explanation.recourses))
    covering = {int(it.input): (place, recourse, it) for place, recourse in listed for it in recourse.covered}
    records, numbers = [], explanation.facts.facts.get(NUMBERS)
    for index, it in explanation.inputs.items():
        record: dict[str, Any] = dict.fromkeys(COLUMNS)
        record |= {"input": index, "name": it.name, "smiles": to_smiles(it.graph, names, it.stereo), "graph": None}
        record["reject_probability"] = round(it.reject_probability, 4)
        if numbers:
            record["value"] = numbers["measured"].get(str(index))
            record["predicted_before"] = numbers["predicted"].get(str(index))
        if index in covering:
            place, recourse, member = covering[index]
            after = member.counterfactual
            record |= {"recourse": place + 1, "summary": recourse.summary, "smirks": recourse.smirks}
            record |= {"probability": round(member.probability, 4), "edits": member.num_edits}
            record |= {"counterfactual": to_smiles(after, names, it.stereo), "graph": after}
            record |= _facts(it.graph, names, "before") | _facts(after, names, "after")
            if numbers:
                record["predicted_after"] = number_after(numbers, index, member.probability)
                record["expected_after"] = expected_after(numbers, index, recourse.statistics)
        records.append(record)
    return records


def _facts(graph: Graph, names: Sequence[str], when: str) -> dict[str, Any]:
    properties, alerts = facts_of(graph, tuple(names)) or ({}, frozenset())
    facts: dict[str, Any] = {f"{name}_{when}": value for name, value in properties.items()}
    return facts | ({f"alerts_{when}": "; ".join(sorted(alerts))} if properties else {})


# The files.


MANIFEST = "manifest.json"
EXPLANATION = "explanation.json"
RECOURSES = "recourses.csv"
CURVE = "coverage_curve.csv"
PAIRS = "pairs.csv"

Cell = str | int | float | None

_COLUMNS = "recourse summary description gain coverage also_covers norm median_edits median_distance share_valid inputs".split()
_RULE_COLUMNS = "applicable accepted success success_low success_high held_out_success places places_accepted too_far confirmed cost smirks".split()
_MOLECULE_COLUMNS = (
    "example_name example_before example_after logp tpsa weight sa_score qed lose_alerts gain_alerts".split()
)
_PAIR_COLUMNS: list[Cell] = [*"recourse before before_label after after_label before_smiles after_smiles".split()]
# A spreadsheet runs a cell that begins so as a formula; some take the full-width signs of East Asian text for the same.
_FORMULA_STARTS = ("=", "+", "-", "@", "＝", "＋", "－", "＠")


class _Manifest(Struct):
    format: Integer
    sha256: dict[str, str]


def save_explanation(explanation: Explanation, folder: Path) -> None:
    """Write the files of a run; the manifest goes last, so a folder with one that fits is whole."""
    curve: list[list[Any]] = [["recourses", "coverage"], *map(list, enumerate(explanation.coverage_curve, 1))]
    tables: dict[str, list[list[Any]]] = {RECOURSES: recourse_rows(explanation), CURVE: curve}
    if (molecules := molecule_rows(explanation)) is not None:
        tables[MOLECULES] = molecules
    if len(pairs := pair_rows(explanation)) > 1:
        tables[PAIRS] = pairs
    texts = {EXPLANATION: encode_explanation(explanation)} | {name: csv_text(it) for name, it in tables.items()}
    for name, text in texts.items():
        write_text(folder / name, text)
    facts = vars(explanation.facts)
    if explanation.chooser is not None:
        facts = facts | {"facts": {**explanation.facts.facts, **explanation.chooser.save(folder)}}
    head = {"format": FORMAT, "dataset": explanation.schema.dataset, "parameters": explanation.parameters}
    checksums = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}
    write_json(folder / MANIFEST, head | facts | {"sha256": checksums})


def read_explanation(folder: str | Path) -> Explanation:
    """The explanation in a run folder, checked against the manifest's checksums and for consistency."""
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder} is not a run folder: there is no such folder")
    if not (folder / MANIFEST).is_file():
        raise InputError(f"{folder} is not the folder of a finished run: it has no {MANIFEST}")
    text = read_bytes(folder / MANIFEST)
    with _within(folder / MANIFEST):
        manifest, facts = parse(text, _Manifest), parse(text, RunFacts)
        check_format(manifest.format)
    contents = {name: read_bytes(folder / name) for name in (EXPLANATION, RECOURSES, CURVE)}
    for name, content in contents.items():
        if hashlib.sha256(content).hexdigest() != manifest.sha256.get(name):
            raise InputError(f"{folder / name} is damaged: its SHA-256 must be the one in {MANIFEST}")
    with _within(folder / EXPLANATION):
        return decode_explanation(contents[EXPLANATION], facts)


def recourse_rows(explanation: Explanation) -> list[list[Cell]]:
    """A header, then a row for every recourse in order of selection; rules have columns of their own at the end."""
    are_rules = explanation.recourse == "rules"
    with_molecules = are_rules and any("properties" in recourse.statistics for recourse in explanation.recourses)
    of_rules, of_molecules = _RULE_COLUMNS if are_rules else [], _MOLECULE_COLUMNS if with_molecules else []
    rows: list[list[Cell]] = [[*_COLUMNS, *of_rules, *of_molecules]]
    for place, (recourse, coverage) in enumerate(zip(explanation.recourses, explanation.coverage_curve, strict=True)):
        own: dict[str, Cell] = {"recourse": place + 1, "coverage": coverage, "also_covers": len(recourse.also_covers)}
        own["inputs"] = " ".join(str(member.input) for member in recourse.covered)
        cells: list[Cell] = [own[name] if name in own else getattr(recourse, name) for name in _COLUMNS]
        cells += _rule_cells(recourse) if are_rules else []
        rows.append([*cells, *(_molecule_cells(explanation, recourse) if with_molecules else ())])
    return rows


def _rule_cells(recourse: CommonRecourse) -> list[Cell]:
    known = dict(recourse.statistics)
    ends = known.get("interval")
    known["success_low"], known["success_high"] = ends if isinstance(ends, list) and len(ends) == 2 else (None, None)
    held_out, places = (it if isinstance(it := known.get(name), dict) else {} for name in ("held_out", "places"))
    known |= {"held_out_success": held_out.get("success"), "smirks": recourse.smirks, "places": places.get("places")}
    known |= {"places_accepted": places.get("accepted"), "too_far": places.get("too_far")}
    cells = [known.get(name) for name in _RULE_COLUMNS]
    return [cell if isinstance(cell, str | int | float) else None for cell in cells]  # files may hold anything


def _molecule_cells(explanation: Explanation, recourse: CommonRecourse) -> list[Cell]:
    """A molecule before and after, and the median changes of properties."""
    known = recourse.statistics.get("properties")
    known = known if isinstance(known, dict) else {}
    example: list[Cell] = [None, None, None]
    if recourse.covered:
        before, names = explanation.inputs[recourse.covered[0].input], explanation.schema.label_names
        graphs = (before.graph, recourse.covered[0].counterfactual)
        example = [before.name, None, None]
        with suppress(InputError):  # no rdkit here
            example[1:] = [to_smiles(graph, names, before.stereo) for graph in graphs]
    cells = [known.get(name) for name in _MOLECULE_COLUMNS[len(example) :]]
    return [*example, *(cell if isinstance(cell, str | int | float) else None for cell in cells)]


def pair_rows(explanation: Explanation) -> list[list[Cell]]:
    """A header, then the pairs of real graphs that differ by exactly a recourse, with their labels; molecules with their SMILES."""
    rows: list[list[Cell]] = [_PAIR_COLUMNS]
    for place, recourse in enumerate(explanation.recourses):
        pairs = recourse.statistics.get("pairs")
        listed = pairs.get("listed") if isinstance(pairs, dict) else None
        for pair in listed if isinstance(listed, list) else ():
            before, after = ({} if not isinstance(it := pair.get(side), dict) else it for side in ("before", "after"))
            names = [before.get("name"), before.get("label"), after.get("name"), after.get("label")]
            rows.append([place + 1, *names, before.get("smiles"), after.get("smiles")])
    return rows


def frame_of(rows: list[list[Any]]) -> pd.DataFrame:
    """Rows below their header as a data frame. Needs pandas."""
    try:
        import pandas as pd
    except ImportError as error:
        raise InputError("to_frame needs pandas: pip install 'comrecgc[notebook]'") from error
    return pd.DataFrame(rows[1:], columns=rows[0])


def csv_text(rows: Iterable[Sequence[Cell]]) -> str:
    """Rows as CSV; every row is one line, and text that a spreadsheet would run as a formula gets a quote before it."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([_defused(cell) for cell in row] for row in rows)
    return text.getvalue()


def _defused(cell: Cell) -> Cell:
    if not isinstance(cell, str):
        return cell
    words = " ".join("".join(char for char in cell if char.isprintable() or char.isspace()).split())
    return f"'{words}" if words.startswith(_FORMULA_STARTS) else words
