"""The table of rules inside the page: small enough for one file, complete enough to choose again.

One gzip stream: the length of a JSON text (4 bytes, little endian), the text, then arrays one after the other, each beginning at a multiple
of eight bytes. The text lists them (`arrays`: type, offset, length) and holds everything that is not a number. Of an entry of the table, an input
that a rule turns, the page has the probability afterwards, the panel's votes and the nodes that the changes name: with the rule's pattern that is
enough to carry out the rule and draw the result.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from comrecgc import graphs as rewriting
from comrecgc.algorithms.rules.choice import DOUBT, KINDS, MOST_PARTS, NUM_SPLITS, SLACK, choose
from comrecgc.algorithms.rules.mined import MinedRules
from comrecgc.algorithms.rules.reading import MinedRule
from comrecgc.algorithms.rules.table import RuleTable
from comrecgc.data import Goal
from comrecgc.drawing import depict, induced_subgraph
from comrecgc.evidence import Evidence
from comrecgc.explanation import NUMBERS, CommonRecourse, Explanation, RuleChooser, at_least, catalogue_of
from comrecgc.graphs import ChangedGraphs, Graph, NeighbourIndex, Pattern, Rule, Rung, Schema, Site
from comrecgc.molecules import charge_sign, read_atom
from comrecgc.report.views import badges, clipped, listed_pairs, place_share, property_words, thing_of, trust_facts
from comrecgc.wording import describe_group

# Nodes that changes name, over all entries, at most; of a larger table the page knows the places in the first inputs of each rule alone.
MOST_PLACES = 1_500_000

_FEWEST_PLACES = 8  # of a rule, enough to show some
_NOWHERE = -32768
_LIKELY_RULES = 20
_MOST_TRIED = 12  # inputs looked at for failures of each rule
_MOST_SITES = 6
_FAILURES = 2
_SCALE = 256  # positions are kept as whole numbers, an edge being so long

Array = npt.NDArray[Any]


def loaded_chooser(explanation: Explanation) -> RuleChooser | None:
    """The table that an explanation was chosen from; None if it is empty or not available."""
    chooser = None if explanation.chooser is None else explanation.chooser.in_memory()
    return chooser if isinstance(chooser, RuleChooser) and len(chooser.mined.table) else None


def packed_table(explanation: Explanation, chooser: RuleChooser, evidence: Evidence | None = None) -> str:
    """Everything that the page needs to choose, carry out and draw rules, in base64, with the evidence on the rules that the run chose."""
    table, records = chooser.mined.table, chooser.mined.rules()
    rows = {recourse.row: recourse for recourse in explanation.recourses if recourse.row is not None}
    rules = catalogue_of(chooser.mined, rows)
    arrays = {
        **_rule_arrays(table),
        **_entry_arrays(table, records),
        **_input_arrays(explanation, chooser),
        **_number_arrays(explanation, chooser),
    }
    facts = {
        **_names(explanation, chooser),
        "chosen": list(rows),
        "rules": [_rule(record, rule) for record, rule in zip(records, rules, strict=True)],
        "known": {row: _exact(recourse, explanation) for row, recourse in rows.items()},
        "groups": _groups(table, explanation.schema),
        "failures": _failures(chooser, records, list(rows)),
        "evidence": {} if evidence is None else _evidence(list(rows), evidence),
    }
    return base64.b64encode(_pack(facts, arrays)).decode()


def _pack(facts: Mapping[str, Any], arrays: Mapping[str, Array]) -> bytes:
    places, start = {}, 0
    for name, array in arrays.items():
        places[name] = [array.dtype.str[1:], start, array.size]
        start += -(-array.nbytes // 8) * 8
    text = json.dumps({**facts, "arrays": places}, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    text += b" " * (-(4 + len(text)) % 8)
    parts = [len(text).to_bytes(4, "little"), text]
    for array in arrays.values():
        content = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        parts += [content, b"\0" * (-len(content) % 8)]
    return gzip.compress(b"".join(parts), compresslevel=9, mtime=0)


def _names(explanation: Explanation, chooser: RuleChooser) -> dict[str, Any]:
    """Names on the page, and the settings of the run."""
    table, task = chooser.mined.table, chooser.task
    inputs, schema = list(explanation.inputs.values()), explanation.schema
    return {
        "labels": schema.label_names,
        "edgeLabels": schema.edge_label_names,
        "classes": schema.class_names,
        "isMolecular": schema.is_molecular,
        "atoms": [_atom(name) for name in schema.label_names] if schema.is_molecular else [],
        "dataset": schema.dataset,
        "names": [clipped(it.name) for it in inputs] if any(it.name for it in inputs) else [],
        "kinds": list(KINDS),
        "theta": task.theta,
        "changes": explanation.changes,
        "hasPanel": table.has_panel,
        "hasJury": table.has_jury,
        "goal": _goal(explanation),
        "slack": SLACK,
        "doubt": DOUBT,
        "mostParts": MOST_PARTS,
        "splits": NUM_SPLITS,
        "maxChanges": int(table.rules.num_changes.max(initial=1)),
        "complete": chooser.mined.complete,
        "numRecourses": task.num_recourses,
        "wishes": chooser.wishes.stated(),
        "bound": explanation.metrics.get("coverage_bound"),
    }


def _goal(explanation: Explanation) -> dict[str, Any] | None:
    """The goal in numbers, where there is one."""
    numbers = explanation.facts.facts.get(NUMBERS)
    if not isinstance(numbers, Mapping):
        return None
    goal = Goal(**numbers["goal"])
    return {
        "name": clipped(numbers["name"]), "amount": goal.amount, "sign": goal.sign, "isRelative": goal.is_relative, "unit": numbers["unit"],
        "noise": numbers["noise"] or numbers["unit"],
    }  # fmt: skip


def _number_arrays(explanation: Explanation, chooser: RuleChooser) -> dict[str, Array]:
    """Numbers of the inputs, predicted and measured, and the surplus of every result over the goal."""
    numbers = explanation.facts.facts.get(NUMBERS)
    if not isinstance(numbers, Mapping):
        return {}
    indices = [str(index) for index in chooser.mined.rejects.indices.tolist()]
    return {
        "surplus": (numbers["unit"] * chooser.mined.table.entries.margin).astype(np.float32),
        "number": np.array([numbers["predicted"].get(index, np.nan) for index in indices], np.float32),
        "measured": np.array([numbers["measured"].get(index, np.nan) for index in indices], np.float32),
    }


def _atom(name: str) -> list[Any]:
    """Text and valence of an atom: element, charge, fixed hydrogens, bonds."""
    atom = read_atom(name)
    if atom is None:
        return [clipped(name), "", None, []]
    return [atom.element, charge_sign(atom.charge), atom.hydrogens, list(atom.valences)]


def _rule_arrays(table: RuleTable) -> dict[str, Array]:
    turned = np.zeros((len(table), table.num_inputs), bool)
    turned[table.entries.rule, table.entries.input] = True
    return {
        "radius": table.rules.radius.astype(np.uint8),
        "generalOf": table.rules.general_row.astype(np.int32),
        "kindOf": table.rules.kinds.astype(np.int8),
        "cost": table.rules.cost.astype(np.int32),
        "strays": table.rules.strays,
        "adds": table.rules.adds.astype(np.uint8),
        "removes": table.rules.removes.astype(np.uint8),
        "attached": table.attached,
        "applicable": table.rules.applicable,
        "turned": np.packbits(turned, axis=1),
        "random": np.nan_to_num(table.rules.random_success, nan=-1.0).astype(np.float32),
    }


def _entry_arrays(table: RuleTable, rules: Sequence[MinedRule]) -> dict[str, Array]:
    """Arrays of the entries, rule after rule; sites are stored column after column, which packs better."""
    widths = 2 * table.rules.num_changes  # nodes that the changes of a rule name
    most = _most_entries(table.num_accepted, widths)
    columns = [_aligned(table, row, rule, most).T.ravel() for row, rule in enumerate(rules)]
    places = np.concatenate([np.zeros(0, np.int64), *columns])
    small = places.max(initial=0) < np.iinfo(np.uint8).max
    after = 1 / (1 + np.exp(-table.entries.margin.astype(np.float64)))
    return {
        "afterwards": np.round(255 * after).astype(np.uint8),
        "votes": np.maximum(table.entries.votes, 0).astype(np.uint8),
        "truth": np.maximum(table.entries.truth, 0).astype(np.uint8),
        "places": places.astype(np.uint8 if small else np.uint16),
        "numPlaces": np.minimum(table.num_accepted, most).astype(np.int32),
    }


def _most_entries(accepted: Array, widths: Array) -> int:
    """The number of entries per rule that keep their sites, so that the page stays small."""
    most = int(accepted.max(initial=0))
    while most > _FEWEST_PLACES and int((np.minimum(accepted, most) * widths).sum()) > MOST_PLACES:
        most = max(_FEWEST_PLACES, most * 4 // 5)
    return most


def _aligned(table: RuleTable, row: int, rule: MinedRule, most: int) -> Array:
    """Nodes that the changes of a rule name, in the order of the changes of its first entry, `[entries, 2 * changes]`."""
    start, num = int(table.ptr[row]), len(rule.ends)
    stop = min(int(table.ptr[row + 1]), start + most)
    changes = table.entries.change[start:stop, :num].astype(np.int64)
    names = changes[:, :, 0] * 40_000 + changes[:, :, 3]  # kind and value
    order = np.argsort(names, axis=1, kind="stable")
    first = np.argsort(np.argsort(names[0], kind="stable"), kind="stable")
    order = order[:, first]
    sorted_changes = np.take_along_axis(changes, order[:, :, None], axis=1)
    nodes = sorted_changes[:, :, 1:3].reshape(stop - start, 2 * num)
    return np.where(nodes < 0, 0, nodes)


def _input_arrays(explanation: Explanation, chooser: RuleChooser) -> dict[str, Array]:
    """Arrays of the inputs, positions of their nodes, and the split."""
    rejects, seed = chooser.mined.rejects, chooser.task.random_state
    graphs = list(rejects.graphs)
    labels = np.concatenate([np.zeros(0, np.int64), *(graph.labels for graph in graphs)])
    edges = np.concatenate([np.zeros((0, 2), np.int64), *(graph.edges for graph in graphs)])
    bonds = [graph.edge_labels for graph in graphs if graph.edge_labels is not None]
    return {
        "index": rejects.indices.astype(np.int32),
        "needed": chooser.mined.table.needed.astype(np.uint8),
        "beforehand": (1 / (1 + np.exp(-chooser.mined.table.base))).astype(np.float32),
        "nodePtr": np.cumsum([0, *(graph.num_nodes for graph in graphs)]).astype(np.int32),
        "edgePtr": np.cumsum([0, *(graph.num_edges for graph in graphs)]).astype(np.int32),
        "nodeLabels": labels.astype(np.uint16),
        "edges": edges.astype(np.uint16),
        "bonds": np.concatenate([np.zeros(0, np.int64), *bonds]).astype(np.uint16),
        "positions": _positions(graphs, explanation),
        "foldOf": _folds(len(graphs), seed, 10),  # as the run's own figures split the inputs
        "ruleFoldOf": _folds(len(graphs), seed, 11),
    }


def _folds(num_inputs: int, seed: int, purpose: int) -> Array:
    folds = np.arange(num_inputs) % NUM_SPLITS
    np.random.default_rng([seed, purpose]).shuffle(folds)
    return folds.astype(np.uint8)


def _positions(graphs: Sequence[Graph], explanation: Explanation) -> Array:
    """Where rdkit draws the atoms of each molecule, hydrogens apart, which the page puts where there is room; nothing otherwise."""
    if not explanation.schema.is_molecular:
        return np.zeros(0, np.int16)
    names = explanation.schema.label_names
    found = []
    for graph in graphs:
        heavy = frozenset(node for node, label in enumerate(graph.labels.tolist()) if names[label] != "H")
        part = induced_subgraph(graph, heavy if heavy else frozenset(range(graph.num_nodes)))
        placed = depict(part, names) or {}
        points = [placed.get(int(node)) for node in graph.ids.tolist()]
        found += [(_NOWHERE, _NOWHERE) if point is None else _whole(*point) for point in points]
    return np.array(found, np.int16).reshape(-1)


def _whole(x: float, y: float) -> tuple[int, int]:
    return tuple(max(-32000, min(32000, round(_SCALE * value))) for value in (x, y))  # type: ignore[return-value]


def _rule(record: MinedRule, words: CommonRecourse) -> list[Any]:
    """A rule in the order in which the page's script unpacks it."""
    rule = record.rule
    return [
        words.summary,
        words.description,
        words.smirks or "",
        _side(rule.before),
        _side(rule.after),
        [node for pair in rule.kept for node in pair],
        [int(closed) for closed in rule.closed],
        [node for ends in record.ends for node in ends],
    ]


def _side(pattern: Pattern) -> list[Any]:
    bonds = [label for _, label in sorted(pattern.bonds.items())]
    return [list(pattern.labels), [node for edge in sorted(pattern.edges) for node in edge], bonds]


def _exact(recourse: CommonRecourse, explanation: Explanation) -> dict[str, Any]:
    """Figures of a chosen rule beyond the table: the inputs that the whole pattern fits, and the agreement of other models."""
    statistics = recourse.statistics
    return {
        "applicable": statistics.get("applicable"),
        "least": at_least(statistics),
        "places": place_share(statistics),
        "valid": recourse.share_valid,
        "properties": property_words(statistics),
        "badges": badges(recourse),
        "facts": trust_facts(recourse, f"{thing_of(explanation)}s", explanation.schema.class_names),
        "pairs": listed_pairs(recourse),
        "effect": _effect(statistics),
    }


def _effect(statistics: Mapping[str, Any]) -> list[list[Any]]:
    """Changes of the number that a picture shows: who says so, and how much each is."""
    effect = statistics.get("effect")
    if not isinstance(effect, Mapping):
        return []
    said = [[f"predicted by the {who}", known["changes"]] for who, known in effect["predicted"].items()]
    return [*said, *([["measured", effect["measured"]["changes"]]] if effect["measured"]["pairs"] else [])]


def _evidence(rows: Sequence[int], evidence: Evidence) -> dict[int, dict[str, Any]]:
    """The verdict on each rule that the run chose, and why."""
    return {
        row: {
            "level": one.verdict.level,
            "shortcut": one.verdict.shortcut,
            "findings": [[finding.question, finding.speaks, finding.sentence] for finding in one.verdict.findings],
        }
        for row, one in zip(rows, evidence.recourses, strict=True)
    }


def _failures(chooser: RuleChooser, records: Sequence[MinedRule], chosen: Sequence[int]) -> dict[int, list[list[Any]]]:
    """A few failures of rules that readers are likely to open: inputs where the rule can be carried out and does not turn them, with reason and site.

    They are found without the model: a result within θ and on the rung that is not in the table is rejected. The panel is not asked.
    """
    wanted = min(Rung.parse(chooser.task.changes), Rung.PLAUSIBLE)
    tried = [
        (row, place, site, after)
        for row in _likely_rows(chooser, chosen)
        for place, site, after in _tries(chooser.mined, row, records[row].rule, chooser.task.theta)
    ]
    if not tried:
        return {}
    graphs = chooser.mined.rejects.graphs
    changed = ChangedGraphs.from_graphs([graphs[place] for _, place, _, _ in tried], [after for *_, after in tried])
    stands = chooser.plausibility.ladder.rungs(changed) >= wanted
    found: dict[int, dict[int, list[Any]]] = {}
    for (row, place, site, _), stood in zip(tried, stands.tolist(), strict=True):
        known = found.setdefault(row, {}).get(place)
        if known is None or (stood and known[1] == "rung"):
            found[row][place] = [place, "rejected" if stood else "rung", list(site)]
    return {row: list(failures.values()) for row, failures in found.items()}


def _tries(mined: MinedRules, row: int, rule: Rule, theta: float) -> list[tuple[int, Site, Graph]]:
    """Results within θ on some inputs that the rule does not turn, of about the size that most have."""
    table, graphs = mined.table, mined.rejects.graphs
    can = table.can_be_carried_out(row)
    can[table.inputs_of(row)] = False
    places = np.flatnonzero(can)
    sizes = np.array([graphs[place].size for place in places.tolist()])
    order = places[np.lexsort((places, sizes))]
    order = order[len(order) // 4 :]
    found: list[tuple[int, Site, Graph]] = []
    met = 0
    for place in order[:: max(1, len(order) // _MOST_TRIED)][:_MOST_TRIED].tolist():
        near = rewriting.carry_out_everywhere(rule, NeighbourIndex(graphs[place]), _MOST_SITES, theta)
        found += [(place, site, after) for site, after in near]
        met += bool(near)
        if met == _FAILURES:
            break
    return found


def _likely_rows(chooser: RuleChooser, chosen: Sequence[int]) -> list[int]:
    """Rules that the run chose, or that common wishes choose."""
    table, wishes = chooser.mined.table, chooser.wishes
    others = [replace(wishes, min_success=0.5), replace(wishes, min_success=0.8), wishes.limited(1)]
    if table.has_panel:
        others.append(replace(wishes, confirmed=True))
    choices = [choose(table, _LIKELY_RULES, other) for other in others]
    return sorted({*chosen, *(row for choice in choices for row in choice.rules.tolist())})


def _groups(table: RuleTable, schema: Schema) -> list[list[Any]]:
    """Number and name of every group that some rule attaches, by name."""
    groups = {k: table.groups[k] for k in np.unique(table.attached).tolist() if k >= 0}
    named = [(describe_group(it.labels, it.bonds, it.bond, schema), k) for k, it in groups.items()]
    return [[k, name] for name, k in sorted(named, key=lambda item: (item[0].strip("–=≡").lower(), item[1]))]
