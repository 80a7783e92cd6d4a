"""The exact count of chosen rules: every site of a rule in every input is tried, where mining tries the promising ones."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.rules.matcher import Holders
from comrecgc.algorithms.rules.mined import MinedRules
from comrecgc.algorithms.rules.mining import ACCEPTED, Acceptance, IntArray
from comrecgc.algorithms.rules.reading import MinedRule, entry_sites, read_rule, rule_isomorphism
from comrecgc.algorithms.rules.table import RuleTable
from comrecgc.graphs import ChangedGraphs, GraphBatch, Rule, Rung, carry_out
from comrecgc.run import Progress

MOST_SITES = 50_000
"""Sites of a rule in one input that are tried."""

_INPUTS_AT_ONCE = 128


def count_rules_exactly(
    mined: MinedRules,
    rows: Sequence[int],
    acceptance: Acceptance,
    *,
    most_nodes: float = np.inf,
    deadline: float | None = None,
    progress: Progress | None = None,
) -> MinedRules:
    """The same table in which some rules are counted at all of their sites.

    An input that a rule turns at a site that mining did not try becomes an entry of the rule. Entries whose pattern differs from that of the rule go.

    Args:
        mined: The table and what it was mined from.
        rows: Rules to count; those that are exact already are left as they are.
        acceptance: Who is asked.
        most_nodes: Nodes of changed graphs that the model is shown; rules beyond are not counted.
        deadline: When to stop, as `time.monotonic()` counts; rules that are left are not counted.
        progress: Called as work proceeds.
    """
    table, matcher = mined.table, Holders(mined.rejects.graphs)
    open_rows = [row for row in rows if not table.exact[row]]
    parts: dict[int, _Entries] = {}
    exact: dict[int, bool] = {}
    asked_before = acceptance.tally.graphs
    for done, row in enumerate(open_rows):
        if deadline is not None and time.monotonic() > deadline:
            break
        counted = _count(mined, mined.rules([row])[0], matcher, acceptance, most_nodes, deadline)
        if counted is None:
            break
        parts[row], shown, exact[row] = counted
        most_nodes -= shown
        if progress is not None:
            progress("counting chosen rules", done + 1, len(open_rows), "")
    if not parts:
        return mined
    asked = acceptance.tally.graphs - asked_before
    table = _with_entries(table, parts, exact, table.num_scored + asked if table.num_scored else 0)
    return replace(mined, table=table, records={row: it for row, it in mined.records.items() if row not in parts})


_Entries = tuple[IntArray, npt.NDArray[np.int16], npt.NDArray[np.float32], npt.NDArray[np.int8]]
"""Input, change, margin and votes of the entries of a rule."""


def _count(
    mined: MinedRules,
    record: MinedRule,
    matcher: Holders,
    acceptance: Acceptance,
    most_nodes: float,
    deadline: float | None,
) -> tuple[_Entries, float, bool] | None:
    """The entries of a rule, the nodes that the model was shown, and whether that is all; None if there are too many sites, or no time."""
    table, row, workshop = mined.table, record.row, mined.workshop
    entries = np.arange(table.ptr[row], table.ptr[row + 1])
    if record.rule.radius > (1 if record.rule.num_changes == 1 else 0):  # keys of less say all of the pattern
        same = [site is not None for site in entry_sites(table, workshop, record.rule, entries)]
        entries = entries[np.array(same, bool)]
    asked = table.can_be_carried_out(row)
    asked[table.input[entries]] = False
    sizes = np.array([graph.num_nodes for graph in workshop.inputs])
    found: list[tuple[int, IntArray, float]] = []
    shown, is_exact = 0.0, True
    places = np.flatnonzero(asked)
    for start in range(0, len(places), _INPUTS_AT_ONCE):
        block = np.zeros(len(asked), bool)
        block[places[start : start + _INPUTS_AT_ONCE]] = True
        inputs, sites = matcher.sites(record.rule, block, MOST_SITES)
        changes = record.changes_at(sites)
        _, first = np.unique(np.c_[inputs, changes.reshape(len(inputs), -1)], axis=0, return_index=True)
        inputs, sites, changes = inputs[first], sites[first], changes[first]
        shown += float(sizes[inputs].sum()) if acceptance.is_asked else 0.0
        if shown > most_nodes or (deadline is not None and time.monotonic() > deadline):
            return None
        margin, goal = acceptance.judge(workshop, inputs, changes, deadline=deadline)
        best = _best(mined, record, inputs, changes, margin, goal)
        impossible = np.isnan(margin) & ~np.isin(inputs, [place for place, _, _ in best])
        is_exact &= not _turns_where_parts_touch(mined, record.rule, inputs[impossible], sites[impossible], acceptance)
        found += best
    new_inputs = np.array([place for place, _, _ in found], np.int32)
    new_changes = np.full((len(found), *table.change.shape[1:]), -1, np.int16)
    for k, (_, change, _) in enumerate(found):
        new_changes[k, : len(change)] = change
    votes = acceptance.votes(workshop, new_inputs, new_changes[:, : len(record.change)].astype(np.int32))
    inputs = np.concatenate([table.input[entries], new_inputs])
    order = np.argsort(inputs, kind="stable")
    counted = (
        inputs[order],
        np.concatenate([table.change[entries], new_changes])[order],
        np.concatenate([table.margin[entries], np.array([each[2] for each in found], np.float32)])[order],
        np.concatenate([table.votes[entries], votes])[order],
    )
    return counted, shown, is_exact


def _best(
    mined: MinedRules,
    record: MinedRule,
    inputs: IntArray,
    changes: IntArray,
    margin: npt.NDArray[np.float64],
    goal: npt.NDArray[np.float64],
) -> list[tuple[int, IntArray, float]]:
    """The best accepted changes of every input that carry out this very rule.

    Hydrogens that follow may be more or fewer at other sites, which is another rule.
    """
    accepted = np.flatnonzero(goal > ACCEPTED)
    order = accepted[np.lexsort((accepted, -goal[accepted], inputs[accepted]))]
    found: dict[int, tuple[int, IntArray, float]] = {}
    for k in order.tolist():
        place = int(inputs[k])
        if place not in found and _carries_out(mined, record, place, changes[k]):
            found[place] = (place, changes[k], float(margin[k]))
    return list(found.values())


def _carries_out(mined: MinedRules, record: MinedRule, place: int, change: IntArray) -> bool:
    """Whether changes of an input are the rule."""
    graph = mined.workshop.inputs[place]
    batch, origin = mined.workshop.changed(place, change[None])
    rule, _ = read_rule(graph, batch[0], origin.tolist(), change, mined.table.groups, record.rule.radius)
    return rule_isomorphism(record.rule, rule) is not None


def _turns_where_parts_touch(
    mined: MinedRules, rule: Rule, inputs: IntArray, sites: IntArray, acceptance: Acceptance
) -> bool:
    """Whether a rule turns an input at a site where a closed node has more neighbours in the map than `before` says.

    The pattern fits there, as where a chain fits a ring, but no changes of groups do the same; the table has no entry for it.
    """
    closed = [node for node, is_closed in enumerate(rule.closed) if is_closed]
    degrees = [mined.workshop.inputs[place].degrees() for place in inputs.tolist()]
    usual = sum(len(rule.before.neighbours[node]) for node in closed)
    rows = [k for k, degree in enumerate(degrees) if degree[sites[k, closed]].sum() > usual]
    if not rows:
        return False
    vocabulary, graphs = mined.workshop.vocabulary, [mined.workshop.inputs[inputs[k]] for k in rows]
    results = [carry_out(rule, graph, tuple(sites[k].tolist())) for k, graph in zip(rows, graphs, strict=True)]
    distance = [rule.distance(graph, result) for graph, result in zip(graphs, results, strict=True)]
    accepted = acceptance.classifier.accept_probability(GraphBatch.from_graphs(results)) > 0.5
    rungs = vocabulary.ladder.rungs(ChangedGraphs.from_graphs(graphs, results))
    holds = accepted & (np.array(distance) <= vocabulary.theta) & (rungs >= min(vocabulary.rung, Rung.PLAUSIBLE))
    return bool(holds.any())


def _with_entries(
    table: RuleTable, parts: dict[int, _Entries], is_exact: dict[int, bool], num_scored: int
) -> RuleTable:
    """The table with the entries of some rules replaced."""
    exact = table.exact.copy()
    exact[list(parts)] = list(is_exact.values())
    columns = [
        parts.get(row, (table.input[part], table.change[part], table.margin[part], table.votes[part]))
        for row in range(len(table))
        for part in [slice(int(table.ptr[row]), int(table.ptr[row + 1]))]
    ]
    input_, change, margin, votes = (np.concatenate(column) for column in zip(*columns, strict=True))
    ptr = np.concatenate([[0], np.cumsum([len(column[0]) for column in columns])]).astype(np.int64)
    return replace(
        table, ptr=ptr, input=input_, change=change, margin=margin, votes=votes, exact=exact, num_scored=num_scored
    )
