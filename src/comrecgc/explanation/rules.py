"""From the table of rules to the explanation: the choice of a few rules, with words, sites and statistics."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.base import DISPLAY_MARGIN, Task, accepted
from comrecgc.algorithms.matched_pairs import LabelledGraphs
from comrecgc.algorithms.plausibility import Plausibility
from comrecgc.algorithms.rules import choice as choices
from comrecgc.algorithms.rules.algorithm import RULES, Rules, save_table
from comrecgc.algorithms.rules.choice import RuleChoice, RuleFilter, choose, wilson_interval
from comrecgc.algorithms.rules.mined import MinedRules, count_places, count_rules_exactly, most_nodes_of, oracle_of
from comrecgc.algorithms.rules.permission import can_be_carried_out_within
from comrecgc.algorithms.rules.population import CENSUS, FullChoice, sample_note, save_census
from comrecgc.algorithms.rules.reading import MinedRule
from comrecgc.algorithms.rules.table import RuleTable
from comrecgc.cover import Reason
from comrecgc.data import GraphDataset
from comrecgc.errors import InputError
from comrecgc.explanation import assembly
from comrecgc.explanation.assembly import VerifiedCounterfactual
from comrecgc.explanation.records import CommonRecourse, Explanation
from comrecgc.graphs import Graph, GraphBatch, Rule, Site, carry_out
from comrecgc.models import Classifier, checksum
from comrecgc.molecules import SmartsWishes, ladder_facts, smirks_of
from comrecgc.run import RunContext
from comrecgc.wording import RuleAt, describe_group, describe_rules

# Results that are less likely to reach a goal in numbers do not count: what is expected of others exceeds it.
LEAST_LIKELY = 0.5

_MOST_WEIGHED = 100  # rules whose measured pairs are looked for before any is chosen for a number
_MOST_ROUNDS = 16  # of choosing and counting
_LIMITS = ("min_success", "min_support", "max_cost", "max_changes")


class ChosenRules(NamedTuple):
    """The chosen rules on the mined inputs, and for all inputs if those are a sample."""

    choice: RuleChoice
    whole: FullChoice | None

    @property
    def rows(self) -> list[int]:
        """Rows of the table, in the order of choice."""
        rows: list[int] = self.choice.rules.tolist()
        return rows


@dataclass(frozen=True, eq=False, kw_only=True)
class RuleChooser:
    """Chooses rules from the table of a run and explains them; `Explanation.choose` chooses again with it."""

    task: Task[Rules]
    mined: MinedRules  # the table, the panel's votes on what it holds, and what it was mined from
    plausibility: Plausibility
    wishes: RuleFilter  # what chosen rules have to be like
    warnings: tuple[str, ...] = ()  # what a reader must know, one sentence each
    notes: tuple[str, ...] = ()  # what the run did, one sentence each

    @classmethod
    def of(
        cls, task: Task[Rules], mined: MinedRules, plausibility: Plausibility, **texts: tuple[str, ...]
    ) -> RuleChooser:
        """A chooser with the conditions of the task. Rules of molecules chosen for truth exchange atoms and groups, and leave single bonds of the skeleton alone."""
        wishes, dataset = task.algorithm.wishes(), mined.rejects.dataset
        if dataset.goal is not None and wishes.min_truth:
            wishes = replace(wishes, min_truth=LEAST_LIKELY)
        if wishes.min_truth and dataset.is_molecular and mined.table.has_jury:
            wishes = replace(wishes, forbidden_kinds=choices.SKELETON_KINDS)
        return cls(task=task, mined=mined, plausibility=plausibility, wishes=wishes, **texts)

    def choice(self, *, bounded: bool = False) -> ChosenRules:
        """The chosen rules, for all inputs if there is a census; `bounded` computes the best choice, or a bound on it."""
        table, census = self.mined.table, self.mined.census
        choice = choose(table, self.task.num_recourses, self.wishes, bounded=bounded)
        whole = None
        if census is not None:
            whole = FullChoice.chosen(census, table, self.task, self.wishes, on_sample=choice)
        return ChosenRules(choice if whole is None else choice.of(whole.choice.rules, table, self.wishes), whole)

    def with_counts(self, classifier: Classifier, context: RunContext) -> RuleChooser:
        """The same chooser, with chosen rules counted at all of their sites, and real pairs weighed in their expected truth.

        That may change the choice; so rules are chosen and counted until nothing new is chosen.
        """
        mined, jury = self.mined, self.plausibility.jury
        context = context.searching(len(mined.rejects))
        oracle = oracle_of(self.task, mined.rejects, classifier, self.plausibility, chosen=True)
        most_nodes = most_nodes_of(oracle, mined.rejects, context.deadline)
        graphs, counted = LabelledGraphs(mined.rejects.dataset), set[int]()
        if mined.table.has_jury and mined.rejects.dataset.goal is not None:
            worth = np.bincount(mined.table.entries.rule, self.wishes.worth(mined.table), minlength=len(mined.table))
            likely = np.lexsort((np.arange(len(worth)), -worth))[:_MOST_WEIGHED]
            mined = assembly.weigh_pairs(mined, likely.tolist(), graphs, jury)
        for _ in range(_MOST_ROUNDS):
            rows = sorted(set(replace(self, mined=mined).choice().rows) - counted)
            if not rows:
                break
            counted |= set(rows)
            mined = count_rules_exactly(mined, rows, oracle, context, most_nodes=most_nodes)
            if mined.table.has_jury:
                turning = [row for row in rows if mined.table.num_accepted[row]]
                mined = assembly.weigh_pairs(mined, turning, graphs, jury)
        found = replace(self, mined=mined.without_empty())
        if context.is_late:
            return found
        return replace(found, mined=count_places(found.mined, found.choice().rows, oracle))

    def explain(self, classifier: Classifier | None = None) -> Explanation:
        """Choose rules and assemble an explanation, which can choose again; with a classifier every claim is first confirmed by a plain forward pass."""
        task, mined, wishes, rejects = self.task, self.mined, self.wishes, self.mined.rejects
        chosen = self.choice(bounded=True)
        records = mined.rules(chosen.rows)
        shown = _first_counterfactuals(mined, records, wishes)
        if classifier is not None:
            shown = _confirmed(shown, classifier)
        statistics = _statistics(mined, records, task)
        if chosen.whole is not None:
            statistics = [
                one | {"population": all_} for one, all_ in zip(statistics, chosen.whole.statistics(), strict=True)
            ]
        trust = assembly.trust_in(task, mined, self.plausibility, records, shown)
        trusted = [trust.statistics(k, rejects.dataset) for k in range(len(records))]
        if classifier is not None and rejects.dataset.goal is not None:
            graphs = LabelledGraphs(rejects.dataset)
            pairs = trust.pairs or [graphs.pairs(record.rule) for record in records]
            trusted = [
                known | assembly.effect_of(record, mined, classifier, self.plausibility.jury, own, graphs)
                for known, record, own in zip(trusted, records, pairs, strict=True)
            ]
        places: list[list[tuple[Graph, Site]]] = [[] for _ in records]
        for it in shown:
            places[it.recourse].append((rejects.graphs[it.place], it.member.site))
        recourses = [
            replace(recourse, statistics=figures | jury)
            for recourse, figures, jury in zip(
                _in_words(records, places, rejects.dataset), statistics, trusted, strict=True
            )
        ]
        sets = mined.table.incidence(wishes.counts(mined.table))
        figures = rule_figures(mined, chosen.choice, task, wishes) | trust.figures(trusted)
        added = table_notes(mined)  # an earlier choice may have added them
        notes = [note for note in self.notes if note not in added and COUNT_NOTE not in note]
        return assembly.assemble(
            task, rejects, self.plausibility, recourses, shown,
            [sets.indices[sets.indptr[row] : sets.indptr[row + 1]].tolist() for row in chosen.rows],
            _reasons(mined, wishes),
            figures if chosen.whole is None else figures | chosen.whole.figures(),
            parameters=task.parameters() | {"wishes": wishes.stated()},
            warnings=(*assembly.trust_warnings(mined, figures, len(shown) / max(len(rejects), 1), wishes), *self.warnings),
            shortcuts=_shortcut_recourses(task, mined, wishes, chosen.rows),
            notes=(*notes, *added, *_count_notes(mined, chosen.rows)),
        ).using(chooser=self)  # fmt: skip

    def __call__(self, **wishes: Any) -> Explanation:
        """Choose again; arguments are those of `Explanation.choose`."""
        return self.with_wishes(**wishes).explain()

    def with_wishes(self, **wishes: Any) -> RuleChooser:
        """The same chooser with other conditions, checked; None keeps a condition."""
        given = {name: value for name, value in wishes.items() if value is not None}
        # What each name stands for; kinds and radii stand for themselves.
        read = {"forbidden_labels": self._labels, "protected_labels": self._labels, "forbidden_groups": self._groups}
        for name in [name for name in given if name in (*read, "forbidden_kinds", "radii")]:
            parts = [read[name](one) if name in read else [one] for one in given[name]]
            given[name] = tuple(value for part in parts for value in part)
        if given.get("confirmed") and not self.mined.table.has_panel:
            raise InputError("confirmed needs a panel (got a run without one)")
        if given.get("min_truth") and not self.mined.table.has_jury:
            raise InputError("min_truth needs a jury (got a run without one)")
        algorithm = replace(self.task.algorithm, **{name: given[name] for name in _LIMITS if name in given})
        num_recourses = given.pop("num_recourses", self.task.num_recourses)
        task = replace(self.task, algorithm=algorithm, num_recourses=num_recourses)
        return replace(self, task=task, wishes=replace(self.wishes, **given))

    def save(self, folder: Path) -> Mapping[str, Any]:
        """Write the table to a run folder; returns its entries for the manifest."""
        path = folder / RULES
        save_table(path, self.mined.table, self.mined.rejects.graphs, complete=self.mined.complete)
        said = {RULES: checksum(path), "ladder": ladder_facts(self.plausibility.ladder)}
        if self.mined.census is not None:
            save_census(folder / CENSUS, self.mined.census, self.mined.table.rules.key)
            said[CENSUS] = checksum(folder / CENSUS)
        return said

    def in_memory(self) -> RuleChooser:
        """The chooser with its table: itself."""
        return self

    def _labels(self, name: str) -> list[int]:
        names = self.mined.rejects.dataset.label_names
        if name not in names:
            raise InputError(f"Node labels are {', '.join(names)} (got {name!r})")
        return [names.index(name)]

    def _groups(self, name: str) -> list[int]:
        """Groups of the table with this name; several may have it, with other bonds."""
        schema = self.mined.rejects.dataset.schema
        called = [describe_group(it.labels, it.bonds, it.bond, schema) for it in self.mined.table.groups]
        wanted = _plain(name)
        found = [
            place
            for place, text in enumerate(called)
            if wanted in {_plain(text), *map(_plain, text.rstrip(")").split(" ("))}
        ]
        if not found:
            near = difflib.get_close_matches(name, called, n=3, cutoff=0.0)
            raise InputError(
                f"A group must be one that occurs in the data, named as in sentences (got {name!r}; similar ones: {'; '.join(near)})"
            )
        return found


def _plain(name: str) -> str:
    """A name normalised for comparison: any dash, any case."""
    return name.replace("–", "-").replace("−", "-").strip().strip("-").casefold()


def _first_counterfactuals(
    mined: MinedRules, records: Sequence[MinedRule], wishes: RuleFilter
) -> list[VerifiedCounterfactual]:
    """Every input that a chosen rule turns, under the first such rule, at the site recorded in the table."""
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
    probability = classifier.accept_probability(GraphBatch.from_graphs(it.member.counterfactual for it in shown))
    return [
        replace(it, member=replace(it.member, probability=float(p)))
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
    unseen = choices.held_out_success(table, [record.row for record in records], rng)
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


def at_least(known: Mapping[str, Any]) -> str:
    """ "at least " if a rule was not tried at all of its places."""
    return "at least " if known.get("exact") is False else ""


def position_words(places: Mapping[str, Any]) -> str:
    """The position where a rule works far more often: ": 70% of those ortho to a ring nitrogen, 12% of others"; empty if there is none."""
    where = places.get("where")
    if not isinstance(where, Sequence) or [type(it) for it in where] != [str, int, float, float]:
        return ""
    return f": {where[2]:.0%} of those {where[0]}, {where[3]:.0%} of others"


def _truth_figures(table: RuleTable, entries: npt.NDArray[np.int64]) -> dict[str, Any]:
    """The jury's estimates of all results of a rule, shown or not."""
    if not table.has_jury or not len(entries):
        return {}
    truth = table.entries.truth[entries]
    likely = int((truth >= round(100 * choices.LEAST_TRUTH)).sum())
    return {"mean_truth": float(truth.mean()) / 100, "likely_true": likely}


def _shortcut_recourses(
    task: Task[Rules], mined: MinedRules, wishes: RuleFilter, chosen: Sequence[int]
) -> list[CommonRecourse]:
    """Rules that move the model alone, with their words and statistics, without inputs."""
    rows = assembly.shortcuts(mined, wishes, chosen)
    statistics = _statistics(mined, mined.rules(rows), task)
    return [
        replace(recourse, statistics=figures)
        for recourse, figures in zip(catalogue_of(mined, rows=rows), statistics, strict=True)
    ]


def _num_applicable(mined: MinedRules, record: MinedRule, wishes: SmartsWishes) -> int:
    """Number of inputs that a rule can be carried out on within a chemist's wishes, which the table does not know."""
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


def rule_figures(
    mined: MinedRules, chosen: RuleChoice, task: Task[Rules], wishes: RuleFilter
) -> dict[str, float | None]:
    """Figures of the whole choice."""
    table, num = mined.table, task.num_recourses
    measured = choices.held_out(table, num, wishes, np.random.default_rng([task.random_state, 10]))
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


def _reasons(mined: MinedRules, wishes: RuleFilter) -> dict[int, Reason]:
    """The reason for each input if it is not covered."""
    table = mined.table
    nothing = Reason.NO_COUNTERFACTUAL if mined.complete else Reason.OUT_OF_TIME
    reasons = dict.fromkeys(range(table.num_inputs), nothing)
    reasons |= dict.fromkeys(table.entries.input.tolist(), Reason.NOT_BELIEVED)
    return reasons | dict.fromkeys(table.entries.input[wishes.counts(table)].tolist(), Reason.BUDGET_EXHAUSTED)


def table_notes(mined: MinedRules) -> list[str]:
    """Notes on the table."""
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
            f"The model scored {table.counts.num_scored} graphs. It was not asked about {table.counts.num_untried} further changes at other places of the same "
            "rules, which would take too long. So rules may work for more graphs than stated."
        )
    return notes


COUNT_NOTE = "were not tried at all of their places"


def _count_notes(mined: MinedRules, rows: Sequence[int]) -> list[str]:
    """Notes on rules that may work for more graphs than stated."""
    open_rows = int((~mined.table.rules.exact[rows]).sum()) if rows else 0
    note = f"{open_rows} of the {len(rows)} rules {COUNT_NOTE}: they may work for more graphs than stated."
    return [note] if open_rows else []


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


# Every rule of the table as the page shows it.


def catalogue_of(
    mined: MinedRules, known: Mapping[int, CommonRecourse] | None = None, rows: Sequence[int] | None = None
) -> list[CommonRecourse]:
    """Every rule of a table in its order, or those of some rows, with its words, without inputs and statistics.

    `known` are recourses of rows already put into words, from more sites than the one used here.
    """
    table, known = mined.table, known or {}
    records = [record for record in mined.rules(rows) if record.row not in known]
    first = [mined.rejects.graphs[table.entries.input[table.ptr[record.row]]] for record in records]
    places = [[(graph, record.site)] for record, graph in zip(records, first, strict=True)]
    taken = {recourse.summary for recourse in known.values()}
    found = dict(known) | {
        it.row: it for it in _in_words(records, places, mined.rejects.dataset, taken) if it.row is not None
    }
    return [found[row] for row in (range(len(table)) if rows is None else rows)]


def _in_words(
    records: Sequence[MinedRule],
    places: Sequence[Sequence[tuple[Graph, Site]]],
    dataset: GraphDataset,
    taken: Collection[str] = (),
) -> list[CommonRecourse]:
    """Rules as recourses with their words, read off some places of each; `taken` are lines that other rules have."""
    names, bonds = dataset.label_names, dataset.edge_label_names
    at = [RuleAt(record.rule, some) for record, some in zip(records, places, strict=True)]
    return [
        CommonRecourse(
            summary=said.summary,
            description=said.description,
            rule=record.rule,
            row=record.row,
            smirks=smirks_of(record.rule, names, bonds) if dataset.is_molecular else None,
        )
        for record, said in zip(records, describe_rules(at, dataset.schema, taken=taken), strict=True)
    ]
