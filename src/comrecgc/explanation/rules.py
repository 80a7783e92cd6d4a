"""From the table of rules to the explanation: a few are chosen, and each says what it does, where and how often."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from comrecgc.algorithms.base import SHOWN, Task, accepted
from comrecgc.algorithms.inputs import Rejects
from comrecgc.algorithms.judges import Judges
from comrecgc.algorithms.rules.algorithm import Rules
from comrecgc.algorithms.rules.choice import RuleChoice, Wishes, choose, held_out, held_out_success, wilson_interval
from comrecgc.algorithms.rules.mined import MinedRules
from comrecgc.algorithms.rules.permission import can_be_carried_out_within
from comrecgc.algorithms.rules.population import Whole, sample_note
from comrecgc.algorithms.rules.reading import read_rule, read_rules
from comrecgc.cover import Reason
from comrecgc.data import GraphDataset
from comrecgc.errors import InputError
from comrecgc.explanation.assembly import TurnedInput, covered_input, explanation_of, share_valid
from comrecgc.explanation.explanation import Explanation
from comrecgc.explanation.records import CommonRecourse, StoredRule
from comrecgc.graphs import Graph, GraphBatch, Rule, Site, Surroundings, carry_out, find_sites, graph_key
from comrecgc.models import Classifier
from comrecgc.molecules import SmartsWishes, property_changes, smirks_of
from comrecgc.wording import RuleAt, Words, describe_rules

SECONDS_FOR_BOUND = 5.0
"""Time to look for the best choice of rules, or a bound on it."""


def explain_rules(
    settings: Task[Rules],
    mined: MinedRules,
    judges: Judges,
    wishes: Wishes | None = None,
    *,
    classifier: Classifier | None = None,
    seconds: float = SECONDS_FOR_BOUND,
    warnings: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> Explanation:
    """Choose rules from the table, and put them into an explanation.

    Args:
        settings: What is asked.
        mined: The table and what it was mined from.
        judges: The ladder and the panel.
        wishes: What chosen rules must be like; by default what the settings say.
        classifier: If given, every claim is confirmed by a plain forward pass first.
        seconds: Time to look for the best choice, or a bound on it.
        warnings: What a reader must know, one sentence each.
        notes: What the run did, one sentence each.
    """
    table, rejects = mined.table, mined.rejects
    wishes = settings.algorithm.wishes() if wishes is None else wishes
    chosen = choose(table, settings.num_recourses, wishes, seconds=seconds)
    whole = None if mined.census is None else Whole.chosen(mined.census, table, settings, wishes, on_sample=chosen)
    chosen = chosen if whole is None else chosen.of(whole.choice.rules, table, wishes)
    rules = [rule for rule, _ in read_rules(table, mined.workshop, chosen.rules.tolist())]
    shown = _shown_members(mined, chosen, rules, wishes)
    if classifier is not None:
        shown = _confirmed_members(shown, classifier)
    confirmed = np.array([bool(member.confirmed) for member in shown], bool) if table.majority else None
    verdicts = judges.judge(
        [rejects.graphs[member.place] for member in shown], [member.counterfactual for member in shown], confirmed
    )
    statistics = _statistics(mined, chosen, rules, settings)
    if whole is not None:
        statistics = [one | {"population": all_} for one, all_ in zip(statistics, whole.statistics(), strict=True)]
    recourses = []
    incidence = table.incidence(confirmed=wishes.confirmed)
    turned = [
        set(incidence.indices[incidence.indptr[row] : incidence.indptr[row + 1]].tolist()) for row in chosen.rules
    ]
    covered_before: set[int] = set()
    words = _words(rules, shown, rejects)
    for place, rule in enumerate(rules):
        rows = [k for k, member in enumerate(shown) if member.recourse == place]
        members = [shown[k] for k in rows]
        also = sorted(turned[place] & covered_before)
        recourses.append(
            CommonRecourse(
                summary=words[place].summary,
                description=words[place].description,
                rule=StoredRule.of(rule, smirks=_smirks(rule, rejects.dataset)),
                statistics=statistics[place] | verdicts.shares(rows) | _properties(members, rejects),
                covered=tuple(covered_input(member, rejects, rule) for member in members),
                also_covers=tuple(rejects.indices[also].tolist()),
                share_valid=share_valid([member.counterfactual for member in members], rejects.dataset),
            )
        )
        covered_before |= {member.place for member in members}
    return explanation_of(
        settings, rejects, recourses, _reasons(mined, covered_before),
        {
            "coverage": len(covered_before) / max(len(rejects), 1),
            **_figures(mined, chosen, settings, wishes),
            **({} if whole is None else whole.figures()),
            **verdicts.shares(),
            **verdicts.coverage(len(rejects)),
        },
        parameters=settings.parameters() | {"wishes": wishes.stated()}, warnings=warnings, notes=(*notes, *table_notes(mined)),
    )  # fmt: skip


def _words(rules: Sequence[Rule], shown: Sequence[TurnedInput], rejects: Rejects) -> list[Words]:
    """Each rule in words, from the places where it is shown."""
    dataset = rejects.dataset
    places = [[(rejects.graphs[it.place], it.site) for it in shown if it.recourse == k] for k in range(len(rules))]
    return describe_rules(
        [RuleAt(rule, at) for rule, at in zip(rules, places, strict=True)],
        dataset.label_names,
        edge_label_names=dataset.edge_label_names,
        is_molecular=dataset.is_molecular,
    )


def _built(mined: MinedRules, entry: int) -> tuple[Graph, list[int]]:
    """The graph after an entry of the table, and which node each of its nodes was."""
    table = mined.table
    batch, origins = mined.workshop.built(
        table.input[entry : entry + 1], table.change[entry : entry + 1].astype(np.int32)
    )
    return batch[0], origins[0].tolist()


def _shown_members(mined: MinedRules, chosen: RuleChoice, rules: Sequence[Rule], wishes: Wishes) -> list[TurnedInput]:
    """Every input that a chosen rule turns, under the first that does, at the place the table names."""
    table, members = mined.table, []
    taken: set[int] = set()
    for place, (row, rule) in enumerate(zip(chosen.rules.tolist(), rules, strict=True)):
        for entry in range(int(table.ptr[row]), int(table.ptr[row + 1])):
            input_ = int(table.input[entry])
            if input_ in taken or (wishes.confirmed and not table.confirmed[entry]):
                continue
            site, changed = _site(mined, entry, rule)
            taken.add(input_)
            probability = float(1 / (1 + np.exp(-np.float64(table.margin[entry]))))
            members.append(
                TurnedInput(
                    recourse=place,
                    place=input_,
                    site=site,
                    counterfactual=changed,
                    probability=probability,
                    confirmed=bool(table.confirmed[entry]),
                )
            )
    return members


def _site(mined: MinedRules, entry: int, rule: Rule) -> tuple[Site, Graph]:
    """Where an entry of the table carries its rule out, in the order of the rule's nodes, and what comes of it."""
    table = mined.table
    graph = mined.rejects.graphs[table.input[entry]]
    built, origin = _built(mined, entry)
    _, nodes = read_rule(graph, built, origin, table.change[entry], table.groups, rule.radius)
    wanted = graph_key(built)
    for site in find_sites(rule, Surroundings(graph), frozenset(nodes), distinct=True):
        changed = carry_out(rule, graph, site)
        if graph_key(changed) == wanted:
            return site, changed
    raise AssertionError("a rule can be carried out where it was mined")


def _confirmed_members(members: Sequence[TurnedInput], classifier: Classifier) -> list[TurnedInput]:
    """Those that a plain forward pass accepts, with the probability it gives."""
    if not members:
        return []
    probability = classifier.accept_probability(GraphBatch.from_graphs(member.counterfactual for member in members))
    return [
        replace(member, probability=float(p))
        for member, p in zip(members, probability, strict=True)
        if p > accepted(SHOWN / 2)
    ]


def _statistics(
    mined: MinedRules, chosen: RuleChoice, rules: Sequence[Rule], settings: Task[Rules]
) -> list[dict[str, Any]]:
    table = mined.table
    rng = np.random.default_rng([settings.random_state, 11])
    unseen = held_out_success(table, chosen.rules.tolist(), rng)
    found = []
    for row, rule, (seen, held) in zip(chosen.rules.tolist(), rules, unseen, strict=True):
        entries = slice(int(table.ptr[row]), int(table.ptr[row + 1]))
        inputs = table.input[entries]
        applicable, turned = _num_applicable(mined, row, rule, settings.algorithm.smarts()), len(inputs)
        before = 1 / (1 + np.exp(-table.base[inputs]))
        after = 1 / (1 + np.exp(-table.margin[entries].astype(np.float64)))
        found.append(
            {
                "applicable": applicable,
                "accepted": turned,
                "success": turned / max(applicable, 1),
                "interval": list(wilson_interval(turned, applicable)),
                "median_rise": float(np.median(after - before)) if turned else 0.0,
                "cost": rule.cost,
                "num_changes": rule.num_changes,
                "held_out": {"success": _number(held), "seen_success": _number(seen)},
                "random_success": _number(float(table.random_success[row])),
                "confirmed": int(table.confirmed[entries].sum()) if table.majority else None,
            }
        )
    return found


def _num_applicable(mined: MinedRules, row: int, rule: Rule, wishes: SmartsWishes) -> int:
    """Inputs that a rule can be carried out on, somewhere where a chemist's wishes let it; the table knows nothing of wishes."""
    table, rejects = mined.table, mined.rejects
    if not wishes:
        return int(table.num_applicable[row])
    maybe = table.can_be_carried_out(row)
    turned = table.input[table.ptr[row] : table.ptr[row + 1]]
    maybe[turned] = False
    names = rejects.dataset.label_names
    return len(turned) + sum(
        can_be_carried_out_within(rule, rejects.graphs[i], wishes, names) for i in np.flatnonzero(maybe).tolist()
    )


def _figures(mined: MinedRules, chosen: RuleChoice, settings: Task[Rules], wishes: Wishes) -> dict[str, float | None]:
    """Figures of the whole choice."""
    table, num = mined.table, settings.num_recourses
    measured = held_out(table, num, wishes, np.random.default_rng([settings.random_state, 10]))
    names = {1: "one", 2: "two", 3: "three"}
    frontier = {
        f"coverage_up_to_{names[most]}_changes": choose(table, num, wishes.limited(most)).coverage
        for most in range(1, min(wishes.max_changes, settings.algorithm.max_changes) + 1)
    }
    costs = table.cost[chosen.rules]
    return {
        "held_out_coverage": None if measured is None else measured.coverage,
        "held_out_success": None if measured is None else measured.success,
        "coverage_bound": chosen.bound / max(chosen.num_inputs, 1),
        "coverable": len(np.unique(table.input)) / max(table.num_inputs, 1),
        **frontier,
        "mean_cost": float(np.average(costs, weights=chosen.gains)) if chosen.gains.any() else 0.0,
        "num_rules": len(table),
        "oracle_calls": table.num_scored or None,
    }


def _reasons(mined: MinedRules, covered: set[int]) -> dict[int, Reason]:
    """Why each input is left out."""
    table = mined.table
    turned = set(np.unique(table.input).tolist())
    nothing = Reason.NO_COUNTERFACTUAL if mined.complete else Reason.OUT_OF_TIME
    return {
        place: Reason.BUDGET_EXHAUSTED if place in turned else nothing
        for place in range(table.num_inputs)
        if place not in covered
    }


def table_notes(mined: MinedRules) -> list[str]:
    """What a reader must know of the table."""
    table, notes = mined.table, []
    if mined.census is not None:
        notes.append(sample_note(table, mined.census))
    if table.num_left_out:
        graphs = "graph" if table.most_left_out == 1 else "graphs"
        notes.append(
            f"{table.num_left_out} rules that turn at most {table.most_left_out} {graphs} each were left out of the table of rules."
        )
    if table.num_untried:
        notes.append(
            f"The model was asked about {table.num_scored} graphs. It was not asked about {table.num_untried} further changes, at other places of the same "
            "rules: they would take too long. So rules may work for more graphs than is said."
        )
    if table.num_unconfirmed:
        notes.append(
            f"{table.num_unconfirmed} rules that the panel confirms less than half of the time were left out: they move this model alone."
        )
    return notes


def _properties(members: Sequence[TurnedInput], rejects: Rejects) -> dict[str, Any]:
    """What a rule does to the properties of the molecules it covers; nothing where bonds are not known."""
    dataset = rejects.dataset
    if not dataset.is_molecular or not dataset.edge_label_names:
        return {}
    try:
        found = property_changes(
            [rejects.graphs[member.place] for member in members],
            [member.counterfactual for member in members],
            dataset.label_names,
        )
    except InputError:  # no rdkit, or edge labels that are no bonds
        return {}
    return {} if found is None else {"properties": found}


def _smirks(rule: Rule, dataset: GraphDataset) -> str | None:
    return smirks_of(rule, dataset.label_names, dataset.edge_label_names) if dataset.is_molecular else None


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


# Every rule of the table as a person can read it: the rule itself, its words, and which of its nodes a change speaks of.


@dataclass(frozen=True, eq=False, kw_only=True)
class CataloguedRule:
    """A rule of the table.

    Args:
        rule: The rule.
        ends: For each of its changes, as the rule's first entry in the table has them: the nodes of `rule.before` that the change names
            first and second; -1 where it names none.
        words: The rule in words; None where they are known otherwise.
        smirks: The rule as SMIRKS, for molecules.
    """

    rule: Rule
    ends: tuple[tuple[int, int], ...]
    words: Words | None
    smirks: str | None


def catalogue_of(mined: MinedRules, known: Mapping[int, str] | None = None) -> list[CataloguedRule]:
    """Every rule of a table, in its order.

    Args:
        mined: The table and what it was mined from.
        known: Lines of rows that are in words already, from more places than the one that is looked at here.
    """
    table, dataset, known = mined.table, mined.rejects.dataset, known or {}
    rows = [row for row in range(len(table)) if row not in known]
    first = [mined.rejects.graphs[table.input[table.ptr[row]]] for row in range(len(table))]
    words = describe_rules(
        [RuleAt(mined.rules[row][0], [(first[row], mined.rules[row][1])]) for row in rows],
        dataset.label_names,
        edge_label_names=dataset.edge_label_names,
        is_molecular=dataset.is_molecular,
        taken=frozenset(known.values()),
    )
    told = dict(zip(rows, words, strict=True))
    found = []
    for row, (rule, site) in enumerate(mined.rules):
        rank = {node: k for k, node in enumerate(site)}
        changes = table.change[int(table.ptr[row])].tolist()
        ends = tuple((rank[one], rank.get(other, -1)) for kind, one, other, _ in changes if kind >= 0)
        smirks = smirks_of(rule, dataset.label_names, dataset.edge_label_names) if dataset.is_molecular else None
        found.append(CataloguedRule(rule=rule, ends=ends, words=told.get(row), smirks=smirks))
    return found
