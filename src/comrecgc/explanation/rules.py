"""From the table of rules to the explanation: a few are chosen, and each says what it does, where and how often."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.base import DISPLAY_MARGIN, Task, accepted
from comrecgc.algorithms.inputs import Rejects
from comrecgc.algorithms.matched_pairs import LabelledGraphs
from comrecgc.algorithms.plausibility import Plausibility
from comrecgc.algorithms.rules.algorithm import Rules
from comrecgc.algorithms.rules.choice import (
    LEAST_TRUTH,
    SKELETON_KINDS,
    RuleChoice,
    RuleFilter,
    choose,
    held_out,
    held_out_success,
    wilson_interval,
)
from comrecgc.algorithms.rules.mined import MinedRules, count_places, count_rules_exactly, most_nodes_of, oracle_of
from comrecgc.algorithms.rules.permission import can_be_carried_out_within
from comrecgc.algorithms.rules.population import FullChoice, sample_note
from comrecgc.algorithms.rules.reading import MinedRule
from comrecgc.algorithms.rules.table import RuleTable
from comrecgc.cover import Reason
from comrecgc.data import GraphDataset
from comrecgc.explanation.assembly import VerifiedCounterfactual, assemble
from comrecgc.explanation.effects import effect_of
from comrecgc.explanation.explanation import Explanation
from comrecgc.explanation.records import CommonRecourse
from comrecgc.explanation.trust import Trust, shortcuts, trust_in, trust_warnings, weigh_pairs
from comrecgc.graphs import (
    ChangedGraphs,
    Graph,
    GraphBatch,
    Ladder,
    NeighbourIndex,
    Rule,
    Rung,
    Site,
    carry_out,
    distinct_sites,
)
from comrecgc.models import Classifier, NumberJury
from comrecgc.molecules import SmartsWishes, smirks_of
from comrecgc.run import RunContext
from comrecgc.wording import RuleAt, Words, describe_rules

LEAST_LIKELY = 0.5
"""Results that are less likely to reach a goal in numbers do not count: what is expected of others exceeds it."""

_MOST_WEIGHED = 100  # rules whose measured pairs are looked for before any is chosen for a number
_MOST_ROUNDS = 16  # of choosing and counting
_MOST_TRIED = 12  # inputs looked at for each rule
_MOST_PLACES = 6


@dataclass(frozen=True, eq=False, kw_only=True)
class ChosenRules:
    """The rules that wishes lead to.

    Args:
        choice: The rules on the inputs that were mined.
        whole: The choice for all inputs, where those that were mined are a sample; None where they are all.
    """

    choice: RuleChoice
    whole: FullChoice | None

    @property
    def rows(self) -> list[int]:
        """Rows of the table, in the order of choice."""
        rows: list[int] = self.choice.rules.tolist()
        return rows


def choose_rules(task: Task[Rules], mined: MinedRules, wishes: RuleFilter, *, bounded: bool = False) -> ChosenRules:
    """Choose rules from a table; for all inputs where there is a census of them.

    Args:
        task: How many, and on which rung.
        mined: The table and what it was mined from.
        wishes: What chosen rules must be like.
        bounded: Whether to look for the best choice, or a bound on it.
    """
    choice = choose(mined.table, task.num_recourses, wishes, bounded=bounded)
    if mined.census is None:
        return ChosenRules(choice=choice, whole=None)
    whole = FullChoice.chosen(mined.census, mined.table, task, wishes, on_sample=choice)
    if whole is None:
        return ChosenRules(choice=choice, whole=None)
    return ChosenRules(choice=choice.of(whole.choice.rules, mined.table, wishes), whole=whole)


def count_chosen(
    task: Task[Rules],
    mined: MinedRules,
    plausibility: Plausibility,
    classifier: Classifier,
    context: RunContext,
) -> MinedRules:
    """The same table in which the rules that are chosen are counted at all of their sites, and real pairs are weighed in what is expected of them.

    That may change the choice; so rules are chosen and counted until nothing new is chosen.

    Args:
        task: What is asked.
        mined: The table and what it was mined from.
        plausibility: The ladder and the panel.
        classifier: The model.
        context: Time and progress.
    """
    deadline = context.clock.search_deadline(len(mined.rejects))
    oracle = oracle_of(task, mined.rejects, classifier, plausibility, chosen=True)
    wishes = wishes_of(task, mined)
    most_nodes = most_nodes_of(oracle, mined.rejects, deadline)
    graphs, counted = LabelledGraphs(mined.rejects.dataset), set[int]()
    if mined.table.has_jury and mined.rejects.dataset.goal is not None:
        worth = np.bincount(mined.table.entries.rule, wishes.worth(mined.table), minlength=len(mined.table))
        likely = np.lexsort((np.arange(len(worth)), -worth))[:_MOST_WEIGHED]
        mined = weigh_pairs(mined, likely.tolist(), graphs, plausibility.jury)
    for _ in range(_MOST_ROUNDS):
        rows = sorted(set(choose_rules(task, mined, wishes).rows) - counted)
        if not rows:
            break
        counted |= set(rows)
        mined = count_rules_exactly(
            mined, rows, oracle, most_nodes=most_nodes, deadline=deadline, progress=context.report
        )
        if mined.table.has_jury:
            mined = weigh_pairs(
                mined, [row for row in rows if mined.table.num_accepted[row]], graphs, plausibility.jury
            )
    mined = mined.without_empty()
    if deadline is not None and time.monotonic() > deadline:
        return mined
    return count_places(mined, choose_rules(task, mined, wishes).rows, oracle)


def wishes_of(task: Task[Rules], mined: MinedRules) -> RuleFilter:
    """What the task wishes rules to be like; rules of molecules that are to come true exchange atoms and groups, and leave single bonds of the skeleton alone."""
    wishes = task.algorithm.wishes()
    if mined.rejects.dataset.goal is not None and wishes.min_truth:
        wishes = replace(wishes, min_truth=LEAST_LIKELY)
    is_chemistry = mined.rejects.dataset.is_molecular and mined.table.has_jury
    return replace(wishes, forbidden_kinds=SKELETON_KINDS) if wishes.min_truth and is_chemistry else wishes


def explain_rules(
    task: Task[Rules],
    mined: MinedRules,
    plausibility: Plausibility,
    wishes: RuleFilter | None = None,
    *,
    classifier: Classifier | None = None,
    warnings: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> Explanation:
    """Choose rules from the table, and put them into an explanation.

    Args:
        task: What is asked.
        mined: The table and what it was mined from.
        plausibility: The ladder and the panel.
        wishes: What chosen rules must be like; by default what the task say.
        classifier: If given, every claim is confirmed by a plain forward pass first.
        warnings: What a reader must know, one sentence each.
        notes: What the run did, one sentence each.
    """
    table, rejects = mined.table, mined.rejects
    wishes = wishes_of(task, mined) if wishes is None else wishes
    chosen = choose_rules(task, mined, wishes, bounded=True)
    records = mined.rules(chosen.rows)
    shown = _first_counterfactuals(mined, records, wishes)
    if classifier is not None:
        shown = _confirmed(shown, classifier)
    statistics = _statistics(mined, records, task)
    if chosen.whole is not None:
        statistics = [
            one | {"population": all_} for one, all_ in zip(statistics, chosen.whole.statistics(), strict=True)
        ]
    trust = trust_in(task, mined, plausibility, records, shown)
    trusted = [trust.statistics(k, rejects.dataset) for k in range(len(records))]
    if rejects.dataset.goal is not None:
        trusted = _with_effects(trusted, trust, mined, plausibility, classifier, records)
    recourses = [
        CommonRecourse(
            summary=said.summary,
            description=said.description,
            rule=record.rule,
            row=record.row,
            smirks=_smirks(record.rule, rejects.dataset),
            statistics=figures | jury,
        )
        for record, said, figures, jury in zip(
            records, _words(records, shown, rejects), statistics, trusted, strict=True
        )
    ]
    sets = table.incidence(wishes.counts(table))
    figures = _figures(mined, chosen.choice, task, wishes) | trust.figures(trusted)
    return assemble(
        task, rejects, plausibility, recourses, shown,
        [sets.indices[sets.indptr[row] : sets.indptr[row + 1]].tolist() for row in chosen.rows],
        _reasons(mined),
        figures if chosen.whole is None else figures | chosen.whole.figures(),
        parameters=task.parameters() | {"wishes": wishes.stated()},
        warnings=(*trust_warnings(mined, figures, len(shown) / max(len(rejects), 1), wishes), *warnings),
        shortcuts=_shortcut_recourses(task, mined, wishes, chosen.rows),
        notes=(*notes, *table_notes(mined), *_count_notes(mined, chosen.rows)),
    )  # fmt: skip


def _with_effects(
    trusted: Sequence[dict[str, Any]], trust: Trust, mined: MinedRules, plausibility: Plausibility, classifier: Classifier | None,
    records: Sequence[MinedRule],
) -> list[dict[str, Any]]:  # fmt: skip
    """The statistics of rules with what each does to the number."""
    if classifier is None:
        return list(trusted)
    graphs = LabelledGraphs(mined.rejects.dataset)
    jury = plausibility.jury if isinstance(plausibility.jury, NumberJury) else None
    pairs = trust.pairs or [graphs.pairs(record.rule) for record in records]
    return [
        known | effect_of(record, mined, classifier, jury, own, graphs)
        for known, record, own in zip(trusted, records, pairs, strict=True)
    ]


def _words(records: Sequence[MinedRule], shown: Sequence[VerifiedCounterfactual], rejects: Rejects) -> list[Words]:
    """Each rule in words, from the places where it is shown."""
    dataset = rejects.dataset
    places: list[list[tuple[Graph, Site]]] = [[] for _ in records]
    for it in shown:
        places[it.recourse].append((rejects.graphs[it.place], it.site))
    return describe_rules(
        [RuleAt(record.rule, at) for record, at in zip(records, places, strict=True)],
        dataset.schema,
    )


def _first_counterfactuals(
    mined: MinedRules, records: Sequence[MinedRule], wishes: RuleFilter
) -> list[VerifiedCounterfactual]:
    """Every input that a chosen rule turns, under the first that does, at the very site of the table."""
    table, graphs, found = mined.table, mined.rejects.graphs, []
    taken: set[int] = set()
    counts = wishes.counts(table)
    for number, record in enumerate(records):
        entries = table.entries_of(record.row)
        entries = entries[counts[entries]]
        entries = entries[~np.isin(table.entries.input[entries], list(taken))]
        places: list[int] = table.entries.input[entries].tolist()
        taken |= set(places)
        for entry, place, site in zip(entries.tolist(), places, mined.sites(record.row, places), strict=True):
            found.append(
                VerifiedCounterfactual.by_rule(
                    number, record.rule, place, graphs[place], site, carry_out(record.rule, graphs[place], site),
                    float(1 / (1 + np.exp(-np.float64(table.entries.margin[entry])))),
                    confirmed=bool(table.confirmed[entry]) if table.has_panel else None,
                    truth=int(table.entries.truth[entry]) / 100 if table.has_jury else None,
                )
            )  # fmt: skip
    return found


def _confirmed(shown: Sequence[VerifiedCounterfactual], classifier: Classifier) -> list[VerifiedCounterfactual]:
    """Those that a plain forward pass accepts, with the probability it gives."""
    if not shown:
        return []
    probability = classifier.accept_probability(GraphBatch.from_graphs(it.graph for it in shown))
    return [
        replace(it, probability=float(p))
        for it, p in zip(shown, probability, strict=True)
        if p > accepted(DISPLAY_MARGIN / 2)
    ]


def success_figures(applicable: int, turned: int, rule: Rule) -> dict[str, Any]:
    """How often a rule works, and what it costs."""
    return {
        "applicable": applicable,
        "accepted": turned,
        "success": turned / max(applicable, 1),
        "interval": list(wilson_interval(turned, applicable)),
        "cost": rule.cost,
        "num_changes": rule.num_changes,
    }


def _statistics(mined: MinedRules, records: Sequence[MinedRule], task: Task[Rules]) -> list[dict[str, Any]]:
    table = mined.table
    rng = np.random.default_rng([task.random_state, 11])
    unseen = held_out_success(table, [record.row for record in records], rng)
    found = []
    for record, (seen, held) in zip(records, unseen, strict=True):
        entries = table.entries_of(record.row)
        inputs = table.entries.input[entries]
        applicable = _num_applicable(mined, record, task.algorithm.smarts())
        before = 1 / (1 + np.exp(-table.base[inputs]))
        after = 1 / (1 + np.exp(-table.entries.margin[entries].astype(np.float64)))
        found.append(
            {
                **success_figures(applicable, len(inputs), record.rule),
                "exact": bool(table.rules.exact[record.row]),
                "median_rise": float(np.median(after - before)) if len(inputs) else 0.0,
                "held_out": {"success": _number(held), "seen_success": _number(seen)},
                "random_success": _number(float(table.rules.random_success[record.row])),
                "confirmed": int(table.confirmed[entries].sum()) if table.has_panel else None,
                **_truth_figures(table, entries),
                **({"places": mined.places[record.row]._asdict()} if record.row in mined.places else {}),
            }
        )
    return found


def position_words(places: Mapping[str, Any]) -> str:
    """Where a rule works far more often than elsewhere: ": 70% of those ortho to a ring nitrogen, 12% of others"; empty where nothing decides."""
    where = places.get("where")
    if not isinstance(where, Sequence) or [type(it) for it in where] != [str, int, float, float]:
        return ""
    return f": {where[2]:.0%} of those {where[0]}, {where[3]:.0%} of others"


def _truth_figures(table: RuleTable, entries: npt.NDArray[np.int64]) -> dict[str, Any]:
    """What the jury expects of all results of a rule, shown or not."""
    if not table.has_jury or not len(entries):
        return {}
    truth = table.entries.truth[entries]
    return {"mean_truth": float(truth.mean()) / 100, "likely_true": int((truth >= round(100 * LEAST_TRUTH)).sum())}


def _shortcut_recourses(
    task: Task[Rules], mined: MinedRules, wishes: RuleFilter, chosen: Sequence[int]
) -> list[CommonRecourse]:
    """Rules that move the model alone, with their words and statistics, without inputs."""
    records = mined.rules(shortcuts(mined, wishes, chosen))
    known = {
        record.row: recourse
        for record, recourse in zip(records, catalogue_of(mined, rows=[record.row for record in records]), strict=True)
    }
    return [
        replace(known[record.row], statistics=figures)
        for record, figures in zip(records, _statistics(mined, records, task), strict=True)
    ]


def _num_applicable(mined: MinedRules, record: MinedRule, wishes: SmartsWishes) -> int:
    """Inputs that a rule can be carried out on, somewhere where a chemist's wishes let it; the table knows nothing of wishes."""
    table, rejects = mined.table, mined.rejects
    if not wishes:
        return int(table.rules.num_applicable[record.row])
    maybe = table.can_be_carried_out(record.row)
    turned = table.inputs_of(record.row)
    maybe[turned] = False
    names = rejects.dataset.label_names
    return len(turned) + sum(
        can_be_carried_out_within(record.rule, rejects.graphs[i], wishes, names) for i in np.flatnonzero(maybe).tolist()
    )


def _figures(mined: MinedRules, chosen: RuleChoice, task: Task[Rules], wishes: RuleFilter) -> dict[str, float | None]:
    """Figures of the whole choice."""
    table, num = mined.table, task.num_recourses
    measured = held_out(table, num, wishes, np.random.default_rng([task.random_state, 10]))
    names = {1: "one", 2: "two", 3: "three"}
    frontier = {
        f"coverage_up_to_{names[most]}_changes": choose(table, num, wishes.limited(most)).coverage
        for most in range(1, min(wishes.max_changes, int(table.rules.num_changes.max(initial=1))) + 1)
    }
    costs = table.rules.cost[chosen.rules]
    return {
        "held_out_coverage": None if measured is None else measured.coverage,
        "held_out_success": None if measured is None else measured.success,
        "coverage_bound": chosen.bound / max(chosen.num_inputs, 1),
        "coverable": len(np.unique(table.entries.input)) / max(table.num_inputs, 1),
        **frontier,
        "mean_cost": float(np.average(costs, weights=chosen.gains)) if chosen.gains.any() else 0.0,
        "num_rules": len(table),
        "oracle_calls": table.counts.num_scored or None,
        "num_out_of_time": table.counts.num_out_of_time or None,
    }


def _reasons(mined: MinedRules) -> dict[int, Reason]:
    """Why each input would be left out."""
    table = mined.table
    turned = set(np.unique(table.entries.input).tolist())
    nothing = Reason.NO_COUNTERFACTUAL if mined.complete else Reason.OUT_OF_TIME
    return {place: Reason.BUDGET_EXHAUSTED if place in turned else nothing for place in range(table.num_inputs)}


def table_notes(mined: MinedRules) -> list[str]:
    """What a reader must know of the table."""
    table, notes = mined.table, []
    if mined.census is not None:
        notes.append(sample_note(table, mined.census))
    if late := table.counts.num_out_of_time:
        notes.append(
            f"{table.num_inputs} of {table.num_inputs + late} rejected molecules were tried before the time budget ended, in random order. All figures are about these."
        )
    if table.counts.num_left_out:
        graphs = "graph" if table.counts.most_left_out == 1 else "graphs"
        notes.append(
            f"{table.counts.num_left_out} rules that turn at most {table.counts.most_left_out} {graphs} each were left out of the table of rules."
        )
    if table.counts.num_untried:
        notes.append(
            f"The model was asked about {table.counts.num_scored} graphs. It was not asked about {table.counts.num_untried} further changes, at other places of the same "
            "rules: they would take too long. So rules may work for more graphs than is said."
        )
    return notes


COUNT_NOTE = "were not tried at all of their places"


def _count_notes(mined: MinedRules, rows: Sequence[int]) -> list[str]:
    """Whether rules may work for more graphs than is said."""
    open_rows = int((~mined.table.rules.exact[rows]).sum()) if rows else 0
    return (
        [f"{open_rows} of the {len(rows)} rules {COUNT_NOTE}: they may work for more graphs than is said."]
        if open_rows
        else []
    )


def _smirks(rule: Rule, dataset: GraphDataset) -> str | None:
    return smirks_of(rule, dataset.label_names, dataset.edge_label_names) if dataset.is_molecular else None


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


# Every rule of the table as the page shows it.


def catalogue_of(
    mined: MinedRules, known: Mapping[int, CommonRecourse] | None = None, rows: Sequence[int] | None = None
) -> list[CommonRecourse]:
    """Every rule of a table in its order, with its words, without inputs and statistics.

    Args:
        mined: The table and what it was mined from.
        known: Recourses of rows that are in words already, from more places than the one that is looked at here.
        rows: Only these rules; None for all.
    """
    table, dataset, known = mined.table, mined.rejects.dataset, known or {}
    records = [record for record in mined.rules(rows) if record.row not in known]
    first = [mined.rejects.graphs[table.entries.input[table.ptr[record.row]]] for record in records]
    words = describe_rules(
        [RuleAt(record.rule, [(graph, record.site)]) for record, graph in zip(records, first, strict=True)],
        dataset.schema,
        taken=frozenset(recourse.summary for recourse in known.values()),
    )
    found = dict(known) | {
        record.row: CommonRecourse(
            summary=said.summary,
            description=said.description,
            rule=record.rule,
            row=record.row,
            smirks=_smirks(record.rule, dataset),
        )
        for record, said in zip(records, words, strict=True)
    }
    return [found[row] for row in (range(len(table)) if rows is None else rows)]


# Where rules fail, and why: inputs that a rule can be carried out on and does not turn.


@dataclass(frozen=True, eq=False, kw_only=True)
class Failure:
    """An input that a rule does not turn.

    Args:
        place: The input, by its place among the rejects.
        site: Where the rule is carried out, as far up the ladder as it can be.
        reason: Why that is not enough: `TOO_FAR`, `OFF_RUNG` or `STILL_REJECTED`.
    """

    place: int
    site: Site
    reason: Reason


def failures_of(
    mined: MinedRules, rules: Mapping[int, Rule], ladder: Ladder, rung: Rung, theta: float, num_each: int = 2
) -> dict[int, list[Failure]]:
    """A few failures of each rule, found without the model: what is within θ and on the rung, and is not in the table, is rejected.

    Args:
        mined: The table and what it was mined from.
        rules: Rules by their rows of the table.
        ladder: Says how a changed graph compares with the data.
        rung: Where results must stand; a panel's consent is not asked for here.
        theta: `θ`.
        num_each: Failures of a rule to look for.
    """
    wanted = min(rung, Rung.PLAUSIBLE)
    tried = [
        (row, place, site, after)
        for row, rule in rules.items()
        for place, site, after in _tries(mined, row, rule, theta, num_each)
    ]
    if not tried:
        return {}
    graphs = mined.rejects.graphs
    changed = ChangedGraphs.from_graphs([graphs[place] for _, place, _, _ in tried], [after for *_, after in tried])
    stands = ladder.rungs(changed) >= wanted
    found: dict[int, dict[int, Failure]] = {}
    for (row, place, site, _), stood in zip(tried, stands.tolist(), strict=True):
        reason = Reason.STILL_REJECTED if stood else Reason.OFF_RUNG
        known = found.setdefault(row, {}).get(place)
        if known is None or (stood and known.reason == Reason.OFF_RUNG):
            found[row][place] = Failure(place=place, site=site, reason=reason)
    return {row: list(failures.values()) for row, failures in found.items()}


def _tries(mined: MinedRules, row: int, rule: Rule, theta: float, num_each: int) -> list[tuple[int, Site, Graph]]:
    """Results within θ on some inputs that the rule does not turn, of about the size that most have."""
    table, graphs = mined.table, mined.rejects.graphs
    can = table.can_be_carried_out(row)
    can[table.inputs_of(row)] = False
    places = np.flatnonzero(can)
    sizes = np.array([graphs[place].size for place in places.tolist()])
    order = places[np.lexsort((places, sizes))]
    found: list[tuple[int, Site, Graph]] = []
    met = 0
    for place in _spread(order[len(order) // 4 :].tolist(), _MOST_TRIED):
        graph = graphs[place]
        results = [
            (place, site, carry_out(rule, graph, site))
            for site in distinct_sites(rule, NeighbourIndex(graph), _MOST_PLACES)
        ]
        near = [result for result in results if rule.distance(graph, result[2]) <= theta]
        found += near
        met += bool(near)
        if met == num_each:
            break
    return found


def _spread(places: Sequence[int], most: int) -> Sequence[int]:
    return places[:: max(1, len(places) // most)][:most]
