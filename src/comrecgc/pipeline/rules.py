"""Rule recourses in a run: mine every change, put the rules into a table, choose a few, and say what each does and where."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from comrecgc.classifiers import Classifier
from comrecgc.datasets import GraphDataset
from comrecgc.errors import InputError
from comrecgc.explanation import CommonRecourse, CoveredInput, Explanation, Reason, RejectedInput, StoredRule, Uncovered
from comrecgc.graphs import (
    Graph,
    GraphBatch,
    Ladder,
    Rule,
    Rung,
    Site,
    Surroundings,
    can_be_carried_out,
    carry_out,
    distinct_sites,
    edits_between,
    find_sites,
    graph_key,
)
from comrecgc.molecules import MolecularChemistry, bonding_under, is_valid_molecule, ladder_facts, smirks_of
from comrecgc.pipeline.inputs import Progress, RejectPlace, Rejects
from comrecgc.pipeline.rungs import Judges
from comrecgc.pipeline.settings import SHOWN, Settings, accepted
from comrecgc.rules import (
    Acceptance,
    Composition,
    RuleChoice,
    RuleTable,
    Vocabulary,
    Wishes,
    Workshop,
    choose,
    held_out,
    held_out_success,
    load_table,
    log_odds,
    read_rule,
    save_table,
    tabulate,
    wilson_interval,
)
from comrecgc.wording import describe_rule

SECONDS_FOR_BOUND = 5.0
"""Time to look for the best choice of rules, or a bound on it."""

SECONDS_TO_CHOOSE = 0.5
"""The same, where somebody waits for another choice."""

RULES = "rules.npz"
"""File of the table of rules in a run folder."""


@dataclass(frozen=True, eq=False, kw_only=True)
class MinedRules:
    """What mining a dataset ends with: enough to choose rules again and again.

    Args:
        table: The rules and the inputs each turns.
        workshop: Carries out changes.
        rejects: The inputs.
        complete: Whether there was time for all that was to be tried.
    """

    table: RuleTable
    workshop: Workshop
    rejects: Rejects
    complete: bool = True

    @cached_property
    def elements(self) -> dict[tuple[int, ...], npt.NDArray[np.int64]]:
        """How many nodes of each label, and edges of each kind (labels of both ends, of the edge), every input has, `[N]`."""
        batch = GraphBatch.from_graphs(self.rejects.graphs)
        bonds = np.zeros(len(batch.edges), np.int64) if batch.edge_labels is None else batch.edge_labels
        rows = np.concatenate([np.sort(batch.labels[batch.edges], axis=1), np.asarray(bonds)[:, None]], axis=1)
        kinds, kind = np.unique(rows, axis=0, return_inverse=True)
        owners, num = batch.graph_of_node(), len(batch)
        edges = owners[batch.edges[:, 0]] if len(batch.edges) else np.zeros(0, np.int64)
        found: dict[tuple[int, ...], npt.NDArray[np.int64]] = {
            (label,): np.bincount(owners[batch.labels == label], minlength=num)
            for label in np.unique(batch.labels).tolist()
        }
        for place, name in enumerate(kinds.tolist()):
            found[tuple(name)] = np.bincount(edges[kind.ravel() == place], minlength=num)
        return found

    def may_hold(self, rule: Rule) -> npt.NDArray[np.bool_]:
        """Inputs with as many nodes of each label and edges of each kind as a rule finds, `[N]`."""
        before = rule.before
        needed = Counter[tuple[int, ...]]((label,) for label in before.labels)
        for (i, j), bond in before.bonds.items():
            needed[(*sorted((before.labels[i], before.labels[j])), bond)] += 1
        mask = np.ones(len(self.rejects), bool)
        for name, count in needed.items():
            mask &= self.elements[name] >= count if name in self.elements else False
        return mask


def mine_rules(
    settings: Settings,
    rejects: Rejects,
    classifier: Classifier,
    judges: Judges,
    *,
    deadline: float | None = None,
    progress: Progress | None = None,
) -> MinedRules:
    """Mine every change of every reject, and combinations of the promising ones.

    Args:
        settings: What is asked.
        rejects: The inputs.
        classifier: The model.
        judges: The ladder and the panel.
        deadline: When composite rules must stop being tried, as `time.monotonic()` counts.
        progress: Called as work proceeds.
    """
    rung = Rung.parse(settings.changes)
    panel = () if judges.panel is None else tuple(member.classifier for member in judges.panel.members)
    if rung == Rung.CONFIRMED and not panel:
        raise InputError(f"changes='confirmed' needs a panel. {judges.why_no_panel}")
    vocabulary = Vocabulary.of(rejects.dataset, rung=rung, theta=settings.theta, ladder=judges.ladder)
    workshop = Workshop(inputs=rejects.graphs, vocabulary=vocabulary, jobs=settings.num_jobs)
    acceptance = Acceptance(classifier=classifier, panel=panel, confirm=rung == Rung.CONFIRMED)
    base = log_odds(rejects.scores.probability)
    singles = workshop.changes(acceptance, progress)
    composition = Composition(most_changes=settings.max_changes)
    composites, complete = composition.search(
        singles, acceptance.log_odds(rejects.graphs, base), workshop, acceptance, deadline=deadline, progress=progress
    )
    table = tabulate(singles, composites, workshop, base, acceptance=acceptance)
    return MinedRules(table=table, workshop=workshop, rejects=rejects, complete=complete)


def stored_rules(settings: Settings, rejects: Rejects, ladder: Ladder, path: Path) -> MinedRules:
    """What mining ended with, read from a file; no model is needed.

    Args:
        settings: What was asked.
        rejects: The inputs.
        ladder: The ladder of the dataset.
        path: The table.
    """
    names, rung = rejects.dataset.edge_label_names, Rung.parse(settings.changes)
    table, complete = load_table(
        path, rejects.graphs, num_labels=rejects.dataset.num_labels, num_edge_labels=len(names or "-")
    )
    chemistry, bonding = ladder.chemistry, None
    if isinstance(chemistry, MolecularChemistry) and rung >= Rung.PLAUSIBLE and len(rejects):
        bonding = bonding_under(chemistry, labelled=rejects.graphs[0].edge_labels is not None)
    vocabulary = Vocabulary(
        groups=table.groups, names=np.zeros(len(table.groups), np.uint64), rung=rung, theta=settings.theta,
        num_labels=rejects.dataset.num_labels, num_edge_labels=len(names or "-"), ladder=ladder, bonding=bonding,
        offered=np.ones(len(table.groups), bool),
    )  # fmt: skip
    workshop = Workshop(inputs=rejects.graphs, vocabulary=vocabulary)
    return MinedRules(table=table, workshop=workshop, rejects=rejects, complete=complete)


@dataclass(frozen=True, eq=False, kw_only=True)
class RuleChooser:
    """Chooses rules again from the table of a run; it is what `Explanation.choose` calls.

    Args:
        settings: What was asked.
        mined: The table and what it was mined from.
        judges: The ladder, and the panel's votes on what the table holds are in it.
        wishes: What chosen rules had to be like.
        warnings: What a reader must know, one sentence each.
        notes: What the run did, one sentence each.
    """

    settings: Settings
    mined: MinedRules
    judges: Judges
    wishes: Wishes
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __call__(self, **wishes: Any) -> Explanation:
        """Another choice; wishes are those of `Explanation.choose`."""
        return self.wishing(**wishes).chosen()

    def wishing(self, **wishes: Any) -> RuleChooser:
        """The same with other wishes, checked; those that are None stay."""
        given = {name: value for name, value in wishes.items() if value is not None}
        for name in ("forbidden_labels", "protected_labels"):
            if name in given:
                given[name] = tuple(self._label(label) for label in given[name])
        if "forbidden_kinds" in given:
            given["forbidden_kinds"] = tuple(given["forbidden_kinds"])
        if given.get("confirmed") and not self.mined.table.majority:
            raise InputError("confirmed needs a panel, and the run asked none")
        settings = replace(self.settings, **{name: given[name] for name in _ASKED if name in given})
        given.pop("num_recourses", None)
        return replace(self, settings=settings, wishes=replace(self.wishes, **given))

    def chosen(self) -> Explanation:
        """What these wishes lead to."""
        notes = [note for note in self.notes if note not in _notes(self.mined)]  # which are added again
        found = explain_rules(
            self.settings, self.mined, self.judges, self.wishes,
            seconds=SECONDS_TO_CHOOSE, warnings=self.warnings, notes=notes,
        )  # fmt: skip
        return found.with_chooser(self)

    def save(self, folder: Path) -> Mapping[str, Any]:
        """Write the table to a run folder; what the manifest must say of it."""
        path = folder / RULES
        save_table(path, self.mined.table, self.mined.rejects.graphs, complete=self.mined.complete)
        return {RULES: hashlib.sha256(path.read_bytes()).hexdigest(), "ladder": ladder_facts(self.judges.ladder)}

    def _label(self, name: str) -> int:
        names = self.mined.rejects.dataset.label_names
        if name not in names:
            raise InputError(f"Node labels are {', '.join(names)} (got {name!r})")
        return names.index(name)


_ASKED = ("num_recourses", "min_success", "min_support", "max_cost", "max_changes")


def explain_rules(
    settings: Settings,
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
    wishes = settings.wishes() if wishes is None else wishes
    chosen = choose(table, settings.num_recourses, wishes, seconds=seconds)
    rules = [_rule_of(mined, int(row)) for row in chosen.rules]
    shown = _shown_members(mined, chosen, rules, wishes)
    if classifier is not None:
        shown = _confirmed_members(shown, classifier)
    confirmed = np.array([bool(member.confirmed) for member in shown], bool) if table.majority else None
    verdicts = judges.judge(
        [rejects.graphs[member.place] for member in shown], [member.counterfactual for member in shown], confirmed
    )
    statistics = _statistics(mined, chosen, rules, settings)
    recourses = []
    turned = [set(table.input[table.ptr[row] : table.ptr[row + 1]].tolist()) for row in chosen.rules]
    covered_before: set[int] = set()
    for place, rule in enumerate(rules):
        rows = [k for k, member in enumerate(shown) if member.recourse == place]
        members = [shown[k] for k in rows]
        words = describe_rule(
            rule,
            rejects.dataset.label_names,
            edge_label_names=rejects.dataset.edge_label_names,
            is_molecular=rejects.dataset.is_molecular,
            places=[(rejects.graphs[member.place], member.site) for member in members],
        )
        also = sorted(turned[place] & covered_before)
        recourses.append(
            CommonRecourse(
                summary=words.summary,
                description=words.description,
                rule=StoredRule.of(rule, smirks=_smirks(rule, rejects.dataset)),
                statistics=statistics[place] | verdicts.shares(rows),
                covered=tuple(_covered(member, rejects, rule) for member in members),
                also_covers=tuple(rejects.indices[also].tolist()),
                share_valid=_share_valid([member.counterfactual for member in members], rejects.dataset),
            )
        )
        covered_before |= {member.place for member in members}
    return _explanation(
        settings, rejects, recourses, _reasons(mined, covered_before),
        {
            "coverage": len(covered_before) / max(len(rejects), 1),
            **_figures(mined, chosen, settings, wishes),
            **verdicts.shares(),
            **verdicts.coverage(len(rejects)),
        },
        parameters=settings.parameters() | {"wishes": wishes.stated()}, warnings=warnings, notes=(*notes, *_notes(mined)),
    )  # fmt: skip


def _explanation(
    settings: Settings,
    rejects: Rejects,
    recourses: Sequence[CommonRecourse],
    reasons: Mapping[int, Reason],
    figures: Mapping[str, float | int | None],
    *,
    parameters: Mapping[str, Any],
    warnings: Sequence[str],
    notes: Sequence[str],
) -> Explanation:
    """The explanation that rules on some rejects are."""
    return Explanation(
        dataset=rejects.dataset.name,
        parameters=parameters,
        metrics={**figures, "num_inputs": len(rejects), "num_recourses": len(recourses)},
        inputs={
            int(index): RejectedInput(graph, 1 - float(probability))
            for index, graph, probability in zip(
                rejects.indices, rejects.graphs, rejects.scores.probability, strict=True
            )
        },
        recourses=tuple(recourses),
        uncovered=tuple(
            Uncovered(input=rejects.index(RejectPlace(place)), reason=reason)
            for place, reason in sorted(reasons.items())
        ),
        label_names=rejects.dataset.label_names,
        class_names=rejects.dataset.class_names,
        edge_label_names=rejects.dataset.edge_label_names,
        is_molecular=rejects.dataset.is_molecular,
        warnings=tuple(warnings),
        notes=tuple(notes),
        recourse="rules",
        changes=settings.changes,
    )


MOST_PLACES = 64
"""Places of a rule in an unseen graph that are tried at most."""


def apply_rules(
    explanation: Explanation,
    rejects: Rejects,
    classifier: Classifier,
    judges: Judges,
    settings: Settings,
    *,
    warnings: Sequence[str] = (),
    notes: Sequence[str] = (),
    progress: Progress | None = None,
) -> Explanation:
    """Carry the rules of an explanation out on other graphs.

    Args:
        explanation: The rules.
        rejects: The graphs.
        classifier: The model.
        judges: The ladder that the rules were found with, and the panel.
        settings: Limits that hold for these graphs too.
        warnings: What a reader must know, one sentence each.
        notes: What the run did, one sentence each.
        progress: Called as work proceeds.
    """
    rules = [recourse.rule.rewriting for recourse in explanation.recourses if recourse.rule is not None]
    rung = Rung.parse(settings.changes)
    turned: list[dict[int, _Member]] = [{} for _ in rules]
    can = np.zeros((len(rules), len(rejects)), bool)
    reasons: dict[int, Reason] = {}
    for place, graph in enumerate(rejects.graphs):
        where, tried, far = Surroundings(graph), [], False
        for number, rule in enumerate(rules):
            sites = distinct_sites(rule, where, MOST_PLACES)
            can[number, place] = bool(sites)
            made = [(number, site, carry_out(rule, graph, site)) for site in sites]
            near = [one for one in made if rule.distance(graph, one[2]) <= settings.theta]
            far |= len(near) < len(made)
            tried += near
        reasons[place] = Reason.TOO_FAR if far else Reason.NOWHERE
        if tried:
            results = [result for _, _, result in tried]
            reasons[place] = _first_members(turned, place, graph, tried, results, classifier, judges, rung)
        if progress is not None:
            progress("applying rules", place + 1, len(rejects), "")
    members = [member for found in turned for member in found.values()]
    first: dict[int, _Member] = {}
    for member in members:
        first.setdefault(member.place, member)
    verdicts = judges.judge([rejects.graphs[place] for place in first], [it.counterfactual for it in first.values()])
    order = list(first)
    recourses, before = [], set[int]()
    for number, (recourse, rule) in enumerate(zip(explanation.recourses, rules, strict=True)):
        rows = [k for k, place in enumerate(order) if first[place].recourse == number]
        shown = [first[order[k]] for k in rows]
        num_can, num_turned = int(can[number].sum()), len(turned[number])
        also = sorted(set(turned[number]) & before)
        recourses.append(
            CommonRecourse(
                summary=recourse.summary,
                description=recourse.description,
                rule=recourse.rule,
                statistics={
                    "applicable": num_can,
                    "accepted": num_turned,
                    "success": num_turned / max(num_can, 1),
                    "interval": list(wilson_interval(num_turned, num_can)),
                    "cost": rule.cost,
                    "num_changes": rule.num_changes,
                    **verdicts.shares(rows),
                },
                covered=tuple(_covered(member, rejects, rule) for member in shown),
                also_covers=tuple(rejects.indices[also].tolist()),
                share_valid=_share_valid([member.counterfactual for member in shown], rejects.dataset),
            )
        )
        before |= {member.place for member in shown}
    return _explanation(
        settings, rejects, recourses,
        {place: reason for place, reason in reasons.items() if place not in first},
        {
            "coverage": len(first) / max(len(rejects), 1),
            **verdicts.shares(),
            **verdicts.coverage(len(rejects)),
        },
        parameters=explanation.parameters, warnings=warnings, notes=notes,
    )  # fmt: skip


def _first_members(
    turned: list[dict[int, _Member]],
    place: int,
    graph: Graph,
    tried: Sequence[tuple[int, Site, Graph]],
    results: Sequence[Graph],
    classifier: Classifier,
    judges: Judges,
    rung: Rung,
) -> Reason:
    """Enter the best place of every rule that turns a graph; why none does, otherwise."""
    probability = classifier.accept_probability(GraphBatch.from_graphs(results))
    likely = np.argsort(-probability, kind="stable")
    likely = likely[probability[likely] > accepted(SHOWN / 2)]
    if not len(likely):
        return Reason.STILL_REJECTED
    standing = judges.judge([graph] * len(likely), [results[k] for k in likely]).rungs
    for k, reached in zip(likely.tolist(), standing, strict=True):
        number, site, result = tried[k]
        if reached >= rung and place not in turned[number]:
            turned[number][place] = _Member(
                recourse=number, place=place, site=site, counterfactual=result, probability=float(probability[k])
            )
    return Reason.OFF_RUNG


@dataclass(frozen=True, eq=False, kw_only=True)
class _Member:
    """An input under the first rule that turns it."""

    recourse: int
    place: int
    site: Site
    counterfactual: Graph
    probability: float
    confirmed: bool | None = None


def _rule_of(mined: MinedRules, row: int) -> Rule:
    """The rule in a row of the table, read off the first input that it turns."""
    table = mined.table
    entry = int(table.ptr[row])
    graph = mined.rejects.graphs[table.input[entry]]
    rule, _ = read_rule(graph, *_built(mined, entry), table.change[entry], table.groups, int(table.radius[row]))
    return rule


def _built(mined: MinedRules, entry: int) -> tuple[Graph, list[int]]:
    """The graph after an entry of the table, and which node each of its nodes was."""
    table = mined.table
    batch, origins = mined.workshop.built(
        table.input[entry : entry + 1], table.change[entry : entry + 1].astype(np.int32)
    )
    return batch[0], origins[0].tolist()


def _shown_members(mined: MinedRules, chosen: RuleChoice, rules: Sequence[Rule], wishes: Wishes) -> list[_Member]:
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
                _Member(
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
    for site in find_sites(rule, Surroundings(graph), frozenset(nodes)):
        changed = carry_out(rule, graph, site)
        if graph_key(changed) == wanted:
            return site, changed
    raise AssertionError("a rule can be carried out where it was mined")


def _confirmed_members(members: Sequence[_Member], classifier: Classifier) -> list[_Member]:
    """Those that a plain forward pass accepts, with the probability it gives."""
    if not members:
        return []
    probability = classifier.accept_probability(GraphBatch.from_graphs(member.counterfactual for member in members))
    return [
        replace(member, probability=float(p))
        for member, p in zip(members, probability, strict=True)
        if p > accepted(SHOWN / 2)
    ]


def _covered(member: _Member, rejects: Rejects, rule: Rule) -> CoveredInput:
    graph = rejects.graphs[member.place]
    cost = rule.cost + graph.size + rule.grown - member.counterfactual.size  # with edges that go with removed nodes
    return CoveredInput(
        input=rejects.index(RejectPlace(member.place)),
        probability=member.probability,
        distance=rule.distance(graph, member.counterfactual),
        num_edits=cost,
        edits=edits_between(graph, member.counterfactual),
        counterfactual=member.counterfactual,
        site=member.site,
        cost=cost,
    )


def _statistics(
    mined: MinedRules, chosen: RuleChoice, rules: Sequence[Rule], settings: Settings
) -> list[dict[str, Any]]:
    table = mined.table
    rng = np.random.default_rng([settings.seed, 11])
    unseen = held_out_success(table, chosen.rules.tolist(), rng)
    found = []
    for row, rule, (seen, held) in zip(chosen.rules.tolist(), rules, unseen, strict=True):
        entries = slice(int(table.ptr[row]), int(table.ptr[row + 1]))
        inputs = table.input[entries]
        applicable, turned = _num_applicable(mined, row, rule), len(inputs)
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


def _num_applicable(mined: MinedRules, row: int, rule: Rule) -> int:
    """Inputs that a rule can be carried out on.

    The table knows those of single changes, but for places where nodes that the rule finds are joined otherwise too; of composite rules
    it knows where each part can be.
    """
    table, graphs = mined.table, mined.rejects.graphs
    sure = np.zeros(len(graphs), bool)
    sure[table.input[table.ptr[row] : table.ptr[row + 1]]] = True
    if rule.num_changes == 1:
        sure |= table.can_be_carried_out(row)
    maybe = np.flatnonzero(mined.may_hold(rule) & ~sure).tolist()
    return int(sure.sum()) + sum(can_be_carried_out(rule, graphs[i]) for i in maybe)


def _figures(mined: MinedRules, chosen: RuleChoice, settings: Settings, wishes: Wishes) -> dict[str, float | None]:
    """Figures of the whole choice."""
    table, num = mined.table, settings.num_recourses
    measured = held_out(table, num, wishes, np.random.default_rng([settings.seed, 10]))
    names = {1: "one", 2: "two", 3: "three"}
    frontier = {
        f"coverage_up_to_{names[most]}_changes": choose(table, num, wishes.limited(most)).coverage
        for most in range(1, min(wishes.max_changes, settings.max_changes) + 1)
    }
    costs = table.cost[chosen.rules]
    return {
        "held_out_coverage": None if measured is None else measured.coverage,
        "held_out_success": None if measured is None else measured.success,
        "coverage_bound": chosen.bound / max(chosen.num_inputs, 1),
        "coverable": len(np.unique(table.input)) / max(table.num_inputs, 1),
        **frontier,
        "mean_cost": float(np.average(costs, weights=chosen.gains)) if len(costs) else 0.0,
        "num_rules": len(table),
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


def _notes(mined: MinedRules) -> list[str]:
    table = mined.table
    if not table.num_left_out:
        return []
    return [
        f"{table.num_left_out} rules that turn at most {table.most_left_out} graphs each were left out of the table of rules."
    ]


def _share_valid(graphs: Sequence[Graph], dataset: GraphDataset) -> float | None:
    if not dataset.is_molecular or not graphs:
        return None
    try:
        return float(np.mean([is_valid_molecule(graph, dataset.label_names) for graph in graphs]))
    except InputError:  # no rdkit, or edge labels that are no bonds
        return None


def _smirks(rule: Rule, dataset: GraphDataset) -> str | None:
    return smirks_of(rule, dataset.label_names, dataset.edge_label_names) if dataset.is_molecular else None


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
