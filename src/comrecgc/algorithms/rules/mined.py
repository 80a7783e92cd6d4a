"""Rules mined from a dataset or read back from a run folder, and the exact count of chosen rules."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.base import Task
from comrecgc.algorithms.inputs import Rejects
from comrecgc.algorithms.matched_pairs import MatchedPairs
from comrecgc.algorithms.plausibility import Plausibility
from comrecgc.algorithms.rules.composition import CompositeSearch, Composition
from comrecgc.algorithms.rules.mining import ACCEPTED, Changes, ChangeScorer, Oracle
from comrecgc.algorithms.rules.permission import MolecularPermission, is_alert
from comrecgc.algorithms.rules.population import Census
from comrecgc.algorithms.rules.reading import MinedRule, PatternMatcher, entry_sites, is_change_of, read_rules
from comrecgc.algorithms.rules.table import SHOWN_TRUTH, Entries, RuleTable, Tabulation
from comrecgc.algorithms.rules.vocabulary import Vocabulary
from comrecgc.errors import InputError
from comrecgc.graphs import BoolArray, ChangedGraphs, GraphBatch, IntArray, Ladder, Rule, Rung, Site, carry_out
from comrecgc.models import Classifier, Jury, NumberJury, log_odds
from comrecgc.molecules import POSITIONS, PROPERTIES, MolecularChemistry, has_rdkit, positions_of
from comrecgc.run import UNLIMITED, RunContext

if TYPE_CHECKING:
    from comrecgc.algorithms.rules.algorithm import Rules

MOST_RULES, CHECKED_RULES, COUNTED_RULES = 3000, 1500, 600
"""Rules that a table keeps; the second where rdkit looks at their results, the third where each is carried out on far more graphs than it was mined from."""

MOST_ASKED = 60_000_000
"""Nodes of graphs with one change that a model is shown, if only a forward pass can score them, and as many again of graphs with two, or three: about
a minute each. A few graphs of some hundred nodes reach it, where any two nodes may be joined."""

_SHARE_OF_SINGLES = 0.4  # of the time for the search that such a model is shown graphs with one change
_WEIGHED_RULES, _WEIGHED_RESULTS = 200, 2  # whose properties are compared with those of drugs
_LEAST_SECONDS = 3.0  # for looking at molecules, however late it is: rates of none would say nothing
_TIMED = 64  # inputs on which its speed is measured


class PlaceCount(NamedTuple):
    """How often a rule works over all its sites: a rule that works for a graph may do so at one site of many."""

    inputs: int  # inputs that were looked at, a random sample of those within θ
    places: int  # their places
    accepted: int  # places where it works
    too_far: int  # inputs that it can be carried out on, but not within θ; they are so small
    # The position in a molecule that decides, if one does, with its number of places, the share of them where it
    # works, and that of the others
    where: tuple[str, int, float, float] | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class MinedRules:
    """The result of mining a dataset, from which rules can be chosen again and again."""

    table: RuleTable  # the rules and the inputs each turns
    scorer: ChangeScorer  # carries out changes
    rejects: Rejects  # the inputs
    complete: bool = True  # whether there was time for all that was to be tried
    # What the rules do to all inputs, where those here are a sample; None where they are all
    census: Census | None = None
    # Rules that were read off the table already, by their rows
    records: dict[int, MinedRule] = field(default_factory=dict)
    # Pairs of real graphs that differ by a rule, by its row, where they were looked for; estimates of the table know
    # of them
    pairs: Mapping[int, MatchedPairs] = field(default_factory=dict)
    # How often rules work at their places, by their rows, where that was counted
    places: Mapping[int, PlaceCount] = field(default_factory=dict)

    def rules(self, rows: Sequence[int] | None = None) -> list[MinedRule]:
        """Rules of the table by their rows; None for all."""
        rows = range(len(self.table)) if rows is None else rows
        new = [row for row in rows if row not in self.records]
        self.records.update(zip(new, read_rules(self.table, self.scorer, new), strict=True))
        return [self.records[row] for row in rows]

    def without_empty(self) -> MinedRules:
        """The same without rules that no longer turn any input."""
        rows = np.flatnonzero(self.table.num_accepted)
        if len(rows) == len(self.table):
            return self
        place = {row: k for k, row in enumerate(rows.tolist())}
        census = self.census
        return replace(
            self, table=self.table.of_rules(rows), records={}, places={},
            pairs={place[row]: pairs for row, pairs in self.pairs.items() if row in place},
            census=None if census is None else replace(census, turned=census.turned[rows], num_applicable=census.num_applicable[rows]),
        )  # fmt: skip

    def sites(self, row: int, inputs: Sequence[int]) -> list[Site]:
        """Sites of a rule in inputs that it turns, in the order of its nodes, as recorded in the table."""
        entries = np.array([self.table.entry(row, place) for place in inputs], np.int64)
        found = entry_sites(self.table, self.scorer, self.rules([row])[0].rule, entries)
        assert all(site is not None for site in found), "the entries of a counted rule carry out its pattern"
        return [site for site in found if site is not None]


def mine_rules(
    task: Task[Rules],
    rejects: Rejects,
    classifier: Classifier,
    plausibility: Plausibility,
    context: RunContext,
    *,
    most_rules: int = MOST_RULES,
) -> MinedRules:
    """Mine every change of every reject, and combinations of the promising ones.

    With a time budget, composite rules are tried until the search must end, and models that need a forward pass score as many single changes as time
    allows. Inputs without time are left out; the others are a random sample of all.
    """
    context = context.searching(len(rejects))
    oracle = oracle_of(task, rejects, classifier, plausibility)
    most_rules = most_rules if oracle.permission is None else min(most_rules, CHECKED_RULES)
    scorer = change_scorer_of(task, rejects, plausibility.ladder, context.num_jobs)
    base = log_odds(rejects.scores.probability)
    counting = oracle.log_odds(rejects.graphs, base)
    most_nodes = most_nodes_of(oracle, rejects, context.deadline)
    singles = scorer.changes(oracle, context, base=counting, most_nodes=most_nodes, permit=False)
    chemistry = _typed_chemistry(plausibility.ladder) if Rung.parse(task.changes) >= Rung.PLAUSIBLE else None
    definite, total, late = None if chemistry is None else chemistry.aromatic, len(rejects), np.zeros(0, np.int32)
    tabulation = Tabulation(scorer=scorer, oracle=oracle, most_rules=most_rules, definite=definite, context=context)
    if oracle.permission is not None:
        at_least = None if context.deadline is None else max(context.deadline, time.monotonic() + _LEAST_SECONDS)
        singles, _, late = replace(tabulation, context=context.until(at_least)).permitted(singles, ())
    if 0 < len(late) < total:
        tried = np.setdiff1d(np.arange(total), late)
        rejects, singles, oracle = rejects.take(tried), singles.of_inputs(tried), oracle.of_inputs(tried)
        scorer, base, counting = replace(scorer, inputs=rejects.graphs), base[tried], counting[tried]
        tabulation = replace(tabulation, scorer=scorer, oracle=oracle)
    most_changes = most_changes_of(task.algorithm, singles, chemistry)
    composites, complete = CompositeSearch(
        Composition(most_changes=most_changes), singles, counting, scorer, oracle, context, most_nodes=most_nodes
    ).search()
    if composites and oracle.permission is not None:
        singles, composites, _ = tabulation.permitted(singles, composites)
    table = tabulation.table(singles, composites, base)
    table = replace(table, counts=replace(table.counts, num_out_of_time=total - len(rejects)))
    if chemistry is not None and oracle.permission is not None and table.has_jury:
        table = _with_strays(table, scorer, oracle.permission)
    mined = MinedRules(table=table, scorer=scorer, rejects=rejects, complete=complete and not len(late))
    return _exactly_applicable(mined, context.num_jobs)


def _with_strays(table: RuleTable, scorer: ChangeScorer, permission: MolecularPermission) -> RuleTable:
    """The same with the number of properties that rules lead out of the range of drugs, for the rules with the most likely results; others rank after them."""
    believed = np.bincount(table.entries.rule, np.maximum(table.entries.truth - 50.0, 0), minlength=len(table))
    strays = np.full(len(table), len(PROPERTIES), np.int8)
    for row in np.argsort(-believed, kind="stable")[:_WEIGHED_RULES].tolist():
        entries = table.entries_of(row)
        some = entries[np.linspace(0, len(entries) - 1, _WEIGHED_RESULTS).astype(np.int64)]
        change = table.entries.change[some, : table.rules.num_changes[row]].astype(np.int32)
        strays[row] = round(float(np.mean(permission.strays(scorer, table.entries.input[some], change))))
    return replace(table, rules=replace(table.rules, strays=strays))


def most_changes_of(rules: Rules, singles: Changes, chemistry: MolecularChemistry | None) -> int:
    """Most changes made together: the option, otherwise two, or one if that is enough for half of the molecules of a table."""
    if rules.max_changes is not None:
        return rules.max_changes
    turned = len(np.unique(singles.input[singles.accepted]))
    return 1 if chemistry is not None and 2 * turned >= singles.num_tried.shape[1] else 2


def most_nodes_of(oracle: Oracle, rejects: Rejects, deadline: float | None) -> float:
    """Total nodes of changed graphs that the model may score; with a deadline, as its speed allows. No limit for the package's own networks."""
    if not oracle.sees_graphs:
        return np.inf
    if deadline is None or not len(rejects):
        return MOST_ASKED
    sample = GraphBatch.from_graphs(rejects.graphs[:: -(-len(rejects) // _TIMED)])
    begun = time.monotonic()
    oracle.classifier.accept_probability(sample)
    now = time.monotonic()
    per_second = len(sample.labels) / max(now - begun, 1e-3)
    return min(MOST_ASKED, _SHARE_OF_SINGLES * max(deadline - now, 0.0) * per_second)


def _exactly_applicable(mined: MinedRules, jobs: int) -> MinedRules:
    """The same, with applicability counted by matching the pattern of every rule.

    Mining knows where each single change can be made. Several changes may need more room, and nodes matched by a rule may have further edges between them.
    """
    patterns = [record.rule for record in mined.rules()]
    held = PatternMatcher(mined.rejects.graphs).hold(patterns, mined.table.incidence().toarray(), jobs)
    rules = replace(mined.table.rules, applicable=np.packbits(held, axis=1))
    return replace(mined, table=replace(mined.table, rules=rules))


def _typed_chemistry(ladder: Ladder) -> MolecularChemistry | None:
    """The chemistry of molecules whose labels hold charges and aromaticity, as those of a table do; None for other graphs."""
    chemistry = ladder.chemistry
    return chemistry if isinstance(chemistry, MolecularChemistry) and chemistry.has_types else None


def change_scorer_of(task: Task[Rules], rejects: Rejects, ladder: Ladder, jobs: int) -> ChangeScorer:
    """The scorer of changes of the inputs; if results may not gain an alert, groups with one are not offered."""
    rung = Rung.parse(task.changes)
    vocabulary = Vocabulary.of(rejects.dataset, rung=rung, theta=task.theta, ladder=ladder)
    permission = permission_of(task.algorithm, ladder, chosen=True)
    if permission is not None and permission.avoid_alerts and not permission.chemistry.has_types:
        alerts = [is_alert(group, permission.chemistry.label_names) for group in vocabulary.groups]
        vocabulary = replace(vocabulary, offered=vocabulary.offered & ~np.array(alerts, bool))
    return ChangeScorer(inputs=rejects.graphs, vocabulary=vocabulary, jobs=jobs)


def oracle_of(
    task: Task[Rules], rejects: Rejects, classifier: Classifier, plausibility: Plausibility, *, chosen: bool = False
) -> Oracle:
    """The models that decide whether a changed input is accepted; `chosen` says that they judge chosen rules only."""
    confirm = Rung.parse(task.changes) == Rung.CONFIRMED
    panel = () if plausibility.panel is None else tuple(member.classifier for member in plausibility.panel.members)
    if confirm and not panel:
        raise InputError(f"changes='confirmed' needs a panel. {plausibility.why_no_panel}")
    unanimous = plausibility.panel is not None and plausibility.panel.unanimous
    jury = plausibility.jury
    return Oracle(
        classifier=classifier, panel=panel, confirm=confirm, needed=len(panel) if unanimous else None,
        permission=permission_of(task.algorithm, plausibility.ladder, chosen=chosen),
        jury=jury, folds=None if jury is None else jury.folds[rejects.indices], starts=_starts(jury, rejects),
        least_truth=SHOWN_TRUTH if isinstance(jury, NumberJury) and task.algorithm.wishes().min_truth else 0,
    )  # fmt: skip


def _starts(jury: Jury | None, rejects: Rejects) -> npt.NDArray[np.float64] | None:
    """The number that a jury of numbers predicts for each unchanged input."""
    if not isinstance(jury, NumberJury):
        return None
    return jury.numbers(GraphBatch.from_graphs(rejects.graphs), jury.folds[rejects.indices])


def permission_of(rules: Rules, ladder: Ladder, *, chosen: bool = False) -> MolecularPermission | None:
    """Conditions on changes of molecules besides the rung; None if there are none.

    Kernels check valences. Aromaticity and charges are checked if labels hold them, and wishes if any are stated. Molecules of archives, which have
    many changes, are checked only when rules are chosen, for truth or to stay drug-like.
    """
    chemistry, wishes = ladder.chemistry, rules.smarts()
    if not isinstance(chemistry, MolecularChemistry):
        if wishes:
            raise InputError(
                "protect, forbid and only are SMARTS, and for molecules with known atoms (got other graphs)"
            )
        return None
    looks = chosen and (rules.choose == "truth" or rules.keep_druglike)
    is_known = chemistry.has_types or (looks and ladder.familiarity.edge_labels)
    is_looked_at = is_known and Rung.parse(rules.changes) >= Rung.PLAUSIBLE and has_rdkit()
    if not wishes and not is_looked_at:
        return None
    return MolecularPermission(
        chemistry=chemistry, wishes=wishes, avoid_alerts=is_looked_at and not rules.allow_alerts, keep_druglike=is_looked_at and rules.keep_druglike
    )  # fmt: skip


# The exact count of chosen rules: every site of a rule in every input is tried, where mining tries the promising ones.


MOST_SITES = 50_000
"""Most sites of a rule that are tried in one input."""

_INPUTS_AT_ONCE = 128
_FEW_PLACES, _FAR_MORE, _DECIDES = 8, 0.25, 3.3  # places at a position; more share that works there; standard errors
_PLACED_INPUTS, _PLACED_SITES = 100, 200  # inputs in which the places of a rule are counted, and most places of one


def count_rules_exactly(
    mined: MinedRules,
    rows: Sequence[int],
    oracle: Oracle,
    context: RunContext = UNLIMITED,
    *,
    most_nodes: float = np.inf,
) -> MinedRules:
    """The table with some rules counted at all of their sites, as long as there is time.

    An input that a rule turns at a site that mining did not try becomes an entry. Entries with a pattern other than the rule's are removed. Rules
    that are exact already lose only results that the oracle does not permit. Rules with more than `most_nodes` nodes of changed graphs are not
    counted.
    """
    table, matcher = mined.table, PatternMatcher(mined.rejects.graphs)
    is_late = _looks_late(oracle)
    open_rows = [row for row in rows if is_late or not table.rules.exact[row]]
    parts: dict[int, Entries] = {}
    exact = table.rules.exact.copy()
    asked_before = oracle.tally.graphs
    for done, row in enumerate(open_rows):
        if context.is_late:
            break
        counted = _count(mined, mined.rules([row])[0], matcher, oracle, most_nodes, context)
        if counted is None:
            break
        parts[row], shown, exact[row] = counted
        most_nodes -= shown
        context.show_progress("counting chosen rules", done + 1, len(open_rows))
    if not parts:
        return mined
    counts = table.counts
    if counts.num_scored:
        counts = replace(counts, num_scored=counts.num_scored + oracle.tally.graphs - asked_before)
    others = table.entries.take(np.flatnonzero(~np.isin(table.entries.rule, list(parts))))
    entries = Entries.concatenate([others, *parts.values()])
    entries = entries.take(np.lexsort((entries.input, entries.rule)))
    table = replace(table, rules=replace(table.rules, exact=exact), entries=entries, counts=counts)
    return replace(mined, table=table, records={row: it for row, it in mined.records.items() if row not in parts})


def _count(
    mined: MinedRules,
    record: MinedRule,
    matcher: PatternMatcher,
    oracle: Oracle,
    most_nodes: float,
    context: RunContext,
) -> tuple[Entries, float, bool] | None:
    """The entries of a rule, the nodes that the model scored, and whether the count is complete; None if there are too many sites, or no time."""
    table, row, scorer, quiet = mined.table, record.row, mined.scorer, context.with_progress(None)
    entries = table.entries_of(row)
    if record.rule.radius > (1 if record.rule.num_changes == 1 else 0):  # keys of less say all of the pattern
        same = [site is not None for site in entry_sites(table, scorer, record.rule, entries)]
        entries = entries[np.array(same, bool)]
    asked = table.can_be_carried_out(row)
    permission = oracle.permission
    if permission is not None and _looks_late(oracle):  # mining did not ask it about all
        looked = entries[table.entries.truth[entries] >= oracle.least_truth] if oracle.least_truth else entries
        change = table.entries.change[looked, : len(record.change)].astype(np.int32)
        permitted, late = permission.allowed(scorer, table.entries.input[looked], change, quiet)
        if len(late):
            return None
        if table.rules.exact[row]:  # only inputs that it turned may be turned at another site
            asked &= np.isin(np.arange(len(asked)), table.entries.input[entries])
        entries = np.setdiff1d(entries, looked[~permitted])
    asked[table.entries.input[entries]] = False
    asked &= record.rule.cost <= scorer.vocabulary.theta * _sizes_together(mined, record.rule)
    sizes = np.array([graph.num_nodes for graph in scorer.inputs])
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
        shown += float(sizes[inputs].sum()) if oracle.sees_graphs else 0.0
        if shown > most_nodes or context.is_late:
            return None
        margin, goal, _ = oracle.judge(scorer, inputs, changes, permit=False)
        best = _best(mined, record, inputs, changes, margin, goal, oracle, quiet)
        if best is None:
            return None
        impossible = np.isnan(margin) & ~np.isin(inputs, [place for place, _, _ in best])
        is_exact &= not _turns_where_parts_touch(mined, record.rule, inputs[impossible], sites[impossible], oracle)
        found += best
    new_inputs = np.array([place for place, _, _ in found], np.int32)
    new_changes = np.full((len(found), *table.entries.change.shape[1:]), -1, np.int16)
    for k, (_, change, _) in enumerate(found):
        new_changes[k, : len(change)] = change
    new = Entries(
        rule=np.full(len(found), row),
        input=new_inputs,
        change=new_changes,
        margin=np.array([margin for _, _, margin in found], np.float32),
        votes=oracle.votes(scorer, new_inputs, new_changes[:, : len(record.change)].astype(np.int32)),
        truth=oracle.truth(scorer, new_inputs, new_changes[:, : len(record.change)].astype(np.int32)),
    )
    return Entries.concatenate([table.entries.take(entries), new]), shown, is_exact


def _looks_late(oracle: Oracle) -> bool:
    """Whether rdkit has yet to check some results: those of archives, and those that pairs made likely."""
    permission = oracle.permission
    return permission is not None and (not permission.chemistry.has_types or oracle.least_truth > 0)


def count_places(mined: MinedRules, rows: Sequence[int], oracle: Oracle) -> MinedRules:
    """The same with the success of some rules over all their sites; rules counted before are skipped."""
    matcher, scorer, counts = PatternMatcher(mined.rejects.graphs), mined.scorer, dict(mined.places)
    for record in mined.rules([row for row in rows if row not in counts]):
        holds = mined.table.can_be_carried_out(record.row)
        far = record.rule.cost > scorer.vocabulary.theta * _sizes_together(mined, record.rule)
        some = np.random.default_rng(0).permutation(np.flatnonzero(holds & ~far))[:_PLACED_INPUTS]
        inputs, sites = matcher.sites(record.rule, np.isin(np.arange(len(holds)), some), _PLACED_SITES)
        changes = record.changes_at(sites)
        _, first = np.unique(np.c_[inputs, changes.reshape(len(inputs), -1)], axis=0, return_index=True)
        works = oracle.judge(scorer, inputs[first], changes[first]).goal > ACCEPTED
        where = (
            _deciding_position(mined, inputs[first], changes[first, 0, 1], works) if len(record.change) == 1 else None
        )
        counts[record.row] = PlaceCount(len(some), len(first), int(works.sum()), int((holds & far).sum()), where)
    return replace(mined, places=counts)


def _deciding_position(
    mined: MinedRules, inputs: IntArray, atoms: IntArray, works: BoolArray
) -> tuple[str, int, float, float] | None:
    """The ring position at which a rule for molecules of a table works far more often than elsewhere; see `PlaceCount`."""
    if _typed_chemistry(mined.scorer.vocabulary.ladder) is None or not has_rdkit():
        return None
    names, found, least = mined.rejects.dataset.label_names, None, _DECIDES
    known = {place: positions_of(mined.scorer.inputs[place], names) for place in np.unique(inputs).tolist()}
    for name in POSITIONS:
        at = np.array([b in known[a].get(name, ()) for a, b in zip(inputs.tolist(), atoms.tolist(), strict=True)], bool)
        if min(at.sum(), (~at).sum()) >= _FEW_PLACES:
            inside, outside, all_ = works[at].mean(), works[~at].mean(), works.mean()
            z = (inside - outside) / max(np.sqrt(all_ * (1 - all_) * (1 / at.sum() + 1 / (~at).sum())), 1e-9)
            if inside - outside > _FAR_MORE and z > least:
                found, least = (name, int(at.sum()), float(inside), float(outside)), float(z)
    return found


def _sizes_together(mined: MinedRules, rule: Rule) -> IntArray:
    """`|G| + |H|` of every input and its result under a rule, `[N]`."""
    return np.array([2 * graph.size + rule.size_change for graph in mined.scorer.inputs], np.int32)


def _best(
    mined: MinedRules, record: MinedRule, inputs: IntArray, changes: IntArray, margin: npt.NDArray[np.float64], goal: npt.NDArray[np.float64],
    oracle: Oracle, context: RunContext,
) -> list[tuple[int, IntArray, float]] | None:  # fmt: skip
    """The best accepted and permitted changes of every input that carry out exactly this rule; None if there is no time to check them.

    A different number of hydrogens may follow at other sites, which is another rule. Results are checked in the order of their odds, until one is permitted.
    """
    accepted = np.flatnonzero(goal > ACCEPTED)
    order = accepted[np.lexsort((accepted, -goal[accepted], inputs[accepted]))]
    waiting: dict[int, list[int]] = {}
    for k in reversed(order.tolist()):
        waiting.setdefault(int(inputs[k]), []).append(k)
    found: dict[int, tuple[int, IntArray, float]] = {}
    while waiting:
        tried = []
        for place, left in list(waiting.items()):
            while left and not is_change_of(record.rule, mined.table, mined.scorer, place, changes[left[-1]]):
                left.pop()
            tried += [left.pop()] if left else []
        waiting = {place: left for place, left in waiting.items() if left}
        asked, permitted, late = np.sort(np.array(tried, np.int64)), np.ones(len(tried), bool), np.zeros(0, np.int32)
        if oracle.permission is not None and tried:
            permitted, late = oracle.permits(mined.scorer, inputs[asked], changes[asked], context)
        if np.isin(inputs[asked], late).any():
            return None
        for k in asked[permitted].tolist():
            found[int(inputs[k])] = (int(inputs[k]), changes[k], float(margin[k]))
            waiting.pop(int(inputs[k]), None)
    return [found[place] for place in sorted(found)]


def _turns_where_parts_touch(mined: MinedRules, rule: Rule, inputs: IntArray, sites: IntArray, oracle: Oracle) -> bool:
    """Whether a rule turns an input at a site where a closed node has more neighbours in the map than `before` says.

    The pattern matches there, as a chain matches part of a ring, but no change of groups does the same, so the table has no entry for it.
    """
    closed = [node for node, is_closed in enumerate(rule.closed) if is_closed]
    degrees = [mined.scorer.inputs[place].degrees() for place in inputs.tolist()]
    usual = sum(len(rule.before.neighbours[node]) for node in closed)
    rows = [k for k, degree in enumerate(degrees) if degree[sites[k, closed]].sum() > usual]
    if not rows:
        return False
    vocabulary, graphs = mined.scorer.vocabulary, [mined.scorer.inputs[inputs[k]] for k in rows]
    results = [carry_out(rule, graph, tuple(sites[k].tolist())) for k, graph in zip(rows, graphs, strict=True)]
    distance = [rule.distance(graph, result) for graph, result in zip(graphs, results, strict=True)]
    accepted = oracle.classifier.accept_probability(GraphBatch.from_graphs(results)) > 0.5
    rungs = vocabulary.ladder.rungs(ChangedGraphs.from_graphs(graphs, results))
    holds = accepted & (np.array(distance) <= vocabulary.theta) & (rungs >= min(vocabulary.rung, Rung.PLAUSIBLE))
    return bool(holds.any())
