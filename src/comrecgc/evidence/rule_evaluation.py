"""Independent recomputation of every claim of a run by rules, with networkx and plain forward passes, from the definition of a rule.

A rule can be carried out where its `before` maps one-to-one into the graph: labels equal, its edges present with equal edge labels, no
neighbour of a `closed` node outside the map, and nodes that `after` joins and `before` does not, not joined in the graph. The code that mines rules
is not used here.
"""

from __future__ import annotations

import itertools
import operator
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from comrecgc.algorithms.inputs import RejectPlace
from comrecgc.algorithms.plausibility import Verdicts
from comrecgc.algorithms.rules.choice import wilson_interval
from comrecgc.algorithms.rules.mined import MinedRules, permission_of
from comrecgc.algorithms.rules.population import population_of
from comrecgc.data import GraphDataset
from comrecgc.evidence.evaluation import TOLERANCE, EvaluatedRun, Figure, metric_figures
from comrecgc.explanation import NUMBERS, CoveredInput, RuleChooser, VerifiedCounterfactual, rule_figures, trust_in
from comrecgc.graphs import Graph, GraphBatch, Rule, Rung, to_networkx
from comrecgc.models import Jury, train_jury

if TYPE_CHECKING:
    import networkx as nx

_NOT_RECOMPUTED = {
    "coverage_bound": "the search for the best choice is not repeated",
    **dict.fromkeys(
        ("expected_true", "jury_confirmed", "jury_share"),
        "a jury is trained on classes, which a run does not keep: give --dataset",
    ),
}

SAMPLED_RULES = 3
SAMPLED_INPUTS = 300
_MOST_PLACES = 2000  # of a rule in one graph that are looked at
# Nodes and edges of all results of a rule; dense graphs reach it before all inputs are looked at.
_MOST_WRITTEN = 5_000_000
# Nodes of one label in a rule that networkx matches in reasonable time wherever they are densely joined.
_MOST_ALIKE = 10


class Outcome(NamedTuple):
    """A rule carried out in networkx: the graph afterwards, with the input's nodes and new ones `("new", k)`, and the number of changed elements."""

    graph: nx.Graph[Any]
    cost: int


def recheck_rules(subject: EvaluatedRun, dataset: GraphDataset | None = None) -> list[Figure]:
    """The figures of a run by rules, as stated and as recomputed; figures of the jury need the data with its classes."""
    explanation, mined = subject.explanation, subject.mined
    inputs = explanation.inputs
    if not inputs:
        return [Figure(name, value, value) for name, value in explanation.metrics.items()]
    rejected = subject.classifier.accept_probability(GraphBatch.from_graphs(it.graph for it in inputs.values())) <= 0.5
    figures = [Figure("rejected inputs", len(inputs), int(rejected.sum()))]
    entries = [(recourse.rule, member) for recourse in explanation.recourses for member in recourse.covered]
    recomputed: dict[str, float | None] = {"num_inputs": len(inputs), "num_recourses": len(explanation.recourses)}
    if entries:
        verdicts = subject.plausibility.judge(
            [inputs[member.input].graph for _, member in entries], [member.counterfactual for _, member in entries]
        )
        holds, more = _shown(subject, entries, verdicts)
        figures += more
        recomputed["coverage"] = float(holds.sum()) / len(inputs)
        recomputed |= verdicts.shares() | verdicts.coverage(len(inputs))
        recomputed["mean_cost"] = float(np.mean([member.cost or 0.0 for _, member in entries]))
    figures += _sampled(subject)
    if mined is not None:
        recomputed |= _from_table(subject, mined)
        if entries and mined.table.has_jury:
            recomputed |= _expected(subject, mined, dataset)
    return figures + metric_figures(explanation, recomputed, _NOT_RECOMPUTED)


def _shown(
    subject: EvaluatedRun, entries: list[tuple[Rule | None, CoveredInput]], verdicts: Verdicts
) -> tuple[np.ndarray, list[Figure]]:
    """Which of the counterfactuals shown hold, and how many agree with the rule, the model and the ladder."""
    explanation = subject.explanation
    graphs = {index: as_networkx(it.graph) for index, it in explanation.inputs.items()}
    batch = GraphBatch.from_graphs(member.counterfactual for _, member in entries)
    probability = np.asarray(subject.classifier.accept_probability(batch), np.float64)
    possible, same, costs = (np.zeros(len(entries), bool) for _ in range(3))
    for k, (rule, member) in enumerate(entries):
        assert rule is not None
        graph = graphs[member.input]
        possible[k] = is_place(rule, graph, dict(enumerate(member.site)))
        if not possible[k]:
            continue
        outcome = carried_out(rule, graph, dict(enumerate(member.site)))
        same[k] = is_same(outcome.graph, member.counterfactual)
        share = outcome.cost / (explanation.inputs[member.input].graph.size + member.counterfactual.size)
        is_stated = outcome.cost == member.cost == member.num_edits and abs(share - member.distance) <= TOLERANCE
        costs[k] = is_stated and share <= subject.task.theta
    stated = np.array([member.probability for _, member in entries])
    on_rung, accepted = verdicts.rungs >= Rung.parse(explanation.changes), probability > 0.5
    count = len(entries)
    return possible & same & costs & accepted & on_rung, [
        Figure("places where the rule can be carried out", count, int(possible.sum())),
        Figure("carrying it out gives the counterfactual", count, int(same.sum())),
        Figure("costs and distances as stated, within theta", count, int(costs.sum())),
        Figure("counterfactuals accepted", count, int(accepted.sum())),
        Figure("probabilities as stated", count, int((np.abs(stated - probability) <= TOLERANCE * 10).sum())),
        Figure(f"counterfactuals on the rung {explanation.changes}", count, int(on_rung.sum())),
    ]


def _sampled(subject: EvaluatedRun) -> list[Figure]:
    """Statistics of some rules, by matching their patterns in all or some inputs."""
    recourses, inputs = subject.explanation.recourses, list(subject.explanation.inputs.values())
    table, rng = None if subject.mined is None else subject.mined.table, np.random.default_rng(0)
    numbers: list[int] = rng.permutation(len(recourses)).tolist()
    rules = {number: rule for number in numbers if (rule := recourses[number].rule) is not None}
    # What is exact for single changes comes first; and networkx must find the places of a rule in reasonable time.
    matched = [k for k, rule in rules.items() if max(Counter(rule.before.labels).values(), default=0) <= _MOST_ALIKE]
    matched = sorted(sorted(matched, key=lambda number: rules[number].num_changes > 1)[:SAMPLED_RULES])
    drawn = np.sort(rng.permutation(len(inputs))[:SAMPLED_INPUTS])
    right = sum(_interval_is_right(recourse.statistics) for recourse in recourses)
    figures = [Figure("intervals of success as stated", len(recourses), right)]
    for number in matched:
        row, known = recourses[number].row, recourses[number].statistics
        can, turned, unsure, sample = set[int](), set[int](), set[int](), list[int]()
        written = 0
        for place in drawn.tolist():
            graph = inputs[place].graph
            is_possible, turns, num_places = _tried(rules[number], graph, subject)
            if is_possible:
                can.add(place)
            if turns:
                turned.add(place)
            if num_places > _MOST_PLACES:
                unsure.add(place)
            sample.append(place)
            written += num_places * graph.size
            if written > _MOST_WRITTEN:
                break
        name = f"rule {number + 1}: graphs of {len(sample)} that it"
        if len(sample) == len(inputs) and not unsure:
            figures.append(Figure(f"{name} can be carried out on", known.get("applicable"), len(can)))
        elif table is not None and row is not None and not subject.task.algorithm.smarts():
            bits = table.can_be_carried_out(row)
            held = {place for place in sample if bits[place]} - unsure
            figures.append(Figure(f"{name} can be carried out on", len(held), len(can - unsure)))
        if table is not None and row is not None and not subject.wishes.confirmed:
            # The table also holds what is accepted and not confirmed.
            stated = (set(table.inputs_of(row).tolist()) & set(sample)) - unsure
            turned -= unsure
            if not known.get("exact"):
                turned &= stated  # mining looks for composite rules where their parts are promising: there may be more
            figures.append(Figure(f"{name} turns", len(stated), len(turned)))
    return figures


def _interval_is_right(known: Mapping[str, Any]) -> bool:
    """Whether the success and interval of a rule follow from its counts."""
    applicable, accepted = known.get("applicable"), known.get("accepted")
    if not isinstance(applicable, int) or not isinstance(accepted, int) or accepted > applicable:
        return False
    try:
        stated = np.array([known.get("success", np.nan), *known.get("interval", (np.nan, np.nan))], np.float64)
    except (TypeError, ValueError):  # files may hold anything
        return False
    wanted = np.array([accepted / max(applicable, 1), *wilson_interval(accepted, applicable)])
    return stated.shape == wanted.shape and bool(np.allclose(stated, wanted, atol=TOLERANCE))


def _from_table(subject: EvaluatedRun, mined: MinedRules) -> dict[str, float | None]:
    """Figures that follow from the table alone."""
    task, wishes = subject.task, subject.wishes
    chosen = RuleChooser(task=task, mined=mined, plausibility=subject.plausibility, wishes=wishes).choice()
    figures = rule_figures(mined, chosen.choice, task, wishes) | (
        {} if chosen.whole is None else chosen.whole.figures()
    )
    # The search for the bound is not repeated, and costs are those of the results shown.
    return {name: it for name, it in figures.items() if name not in ("coverage_bound", "mean_cost", "num_out_of_time")}


def _expected(subject: EvaluatedRun, mined: MinedRules, dataset: GraphDataset | None) -> dict[str, float | None]:
    """Figures of what is expected to come true: by a jury trained again, or by the table's estimates if rules were chosen without one."""
    explanation, plausibility, study = subject.explanation, subject.plausibility, mined.rejects.dataset
    if "jury_confirmed" in explanation.metrics:
        jury, study = _trained_again(subject, dataset) or (None, study)
        if jury is None:
            return {}
        plausibility = replace(plausibility, jury=jury)
    place, table = {index: RejectPlace(k) for k, index in enumerate(explanation.inputs)}, mined.table
    shown = []
    for number, recourse in enumerate(explanation.recourses):
        for it in recourse.covered:
            if recourse.row is not None:
                truth = float(table.entries.truth[table.entry(recourse.row, place[it.input])] / 100)
                it = replace(it, truth=truth)  # noqa: PLW2901
            shown.append(VerifiedCounterfactual(place=place[it.input], recourse=number, member=it))
    records = mined.rules([recourse.row for recourse in explanation.recourses if recourse.row is not None])
    asked = replace(mined, rejects=replace(mined.rejects, dataset=study))
    trust = trust_in(subject.task, asked, plausibility, records, shown)
    return dict(trust.figures([trust.statistics(number, study) for number in range(len(records))]))


def _trained_again(subject: EvaluatedRun, dataset: GraphDataset | None) -> tuple[Jury, GraphDataset] | None:
    """The jury of a run and its training graphs; None without classes, or if it had guests, which runs do not store."""
    facts, task = subject.explanation.facts.facts, subject.task
    request = facts.get("request")
    has_guests = isinstance(request, dict) and isinstance(request.get("jury"), list)
    if dataset is None or NUMBERS in facts or has_guests:
        return None
    population = population_of(dataset, subject.classifier, task.algorithm.sample, task.random_state)
    study = dataset if population is None else population.study
    jury, _ = train_jury(study, seed=task.random_state)
    if jury is None:
        return None
    return jury if population is None else jury.spread(population.studied, len(dataset)), study


def _tried(rule: Rule, graph: Graph, subject: EvaluatedRun) -> tuple[bool, bool, int]:
    """Whether a rule can be carried out in a graph, whether some place has an accepted result, and how many places there are.

    At most `_MOST_PLACES` places are tried; those that break a chemist's wishes do not count.
    """
    task, plausibility, names = subject.task, subject.plausibility, subject.explanation.schema.label_names
    wishes, plain = task.algorithm.smarts(), as_networkx(graph)
    places = list(itertools.islice(all_places(rule, plain), _MOST_PLACES + 1))
    if not places:
        return False, False, 0
    results: dict[tuple[Any, ...], Graph] = {}
    can = not wishes
    for place in places[:_MOST_PLACES]:
        name = (frozenset(place[i] for i in _removed(rule)), *(place[i] for i, _ in rule.kept))
        if name not in results:
            outcome = carried_out(rule, plain, place)
            after = as_graph(outcome.graph, graph)
            if wishes and not wishes.allows(graph, after, names):
                continue
            can = True
            if outcome.cost / (graph.size + after.size) <= task.theta:
                results[name] = after
    if not results:
        return can, False, len(places)
    made = list(results.values())
    probability = subject.classifier.accept_probability(GraphBatch.from_graphs(made))
    likely = [each for each, p in zip(made, probability, strict=True) if p > 0.5]
    permission = permission_of(task.algorithm, plausibility.ladder, chosen=True)
    if likely and permission is not None and not permission.chemistry.has_types:  # others are looked at while mining
        batch = GraphBatch.from_graphs(likely)
        kept = np.concatenate([np.where(each.ids < graph.num_nodes, each.ids, -1) for each in likely])
        likely = [each for each, is_kept in zip(likely, permission.permits(graph, batch, kept), strict=True) if is_kept]
    rungs = plausibility.judge([graph] * len(likely), likely).rungs if likely else np.zeros(0, np.int8)
    return True, bool((rungs >= Rung.parse(subject.explanation.changes)).any()), len(places)


def as_networkx(graph: Graph) -> nx.Graph[Any]:
    """A graph with `label` on its nodes and edges."""
    plain = to_networkx(graph)
    for i, j in plain.edges if graph.edge_labels is None else ():
        plain.edges[i, j]["label"] = 0
    return plain


def is_place(rule: Rule, graph: nx.Graph[Any], place: Mapping[int, Any]) -> bool:
    """Whether a rule can be carried out at a place: a node of the graph for each node of `before`."""
    before, mapped = rule.before, set(place.values())
    if set(place) != set(range(len(before.labels))) or len(mapped) < len(place) or not mapped <= set(graph):
        return False
    if any(graph.nodes[place[i]]["label"] != label for i, label in enumerate(before.labels)):
        return False
    for (i, j), bond in before.bonds.items():
        if not graph.has_edge(place[i], place[j]) or graph.edges[place[i], place[j]]["label"] != bond:
            return False
    for i, closed in enumerate(rule.closed):
        if closed and not set(graph[place[i]]) <= mapped:
            return False
    return not any(graph.has_edge(place[i], place[j]) for i, j in _apart(rule))


def all_places(rule: Rule, graph: nx.Graph[Any]) -> Iterator[dict[int, Any]]:
    """Every place of a rule, by networkx's matcher."""
    from networkx.algorithms.isomorphism import GraphMatcher

    pattern = as_networkx(Graph(rule.before.labels, rule.before.edges, rule.before.edge_labels))
    matcher = GraphMatcher(graph, pattern, node_match=operator.eq, edge_match=operator.eq)
    for mapping in matcher.subgraph_monomorphisms_iter():
        place = {i: node for node, i in mapping.items()}
        if is_place(rule, graph, place):
            yield place


def carried_out(rule: Rule, graph: nx.Graph[Any], place: Mapping[int, Any]) -> Outcome:
    """The graph after a rule, and what that costs, counted one element at a time."""
    image = dict(rule.kept)
    after = graph.copy()
    removed = [place[i] for i in _removed(rule)]
    cost = len(removed) + sum(1 for edge in graph.edges if set(edge) & set(removed))
    after.remove_nodes_from(removed)
    name: dict[int, Any] = {j: place[i] for i, j in image.items()}
    for k in range(len(rule.after.labels)):
        if k not in name:
            name[k] = ("new", k)
            after.add_node(name[k])
            cost += 1
        elif after.nodes[name[k]]["label"] != rule.after.labels[k]:
            cost += 1
        after.nodes[name[k]]["label"] = rule.after.labels[k]
    wanted = {frozenset((name[i], name[j])): bond for (i, j), bond in rule.after.bonds.items()}
    for i, j in rule.before.edges:
        ends = frozenset((place[i], place[j]))
        if i in image and j in image and ends not in wanted:
            after.remove_edge(*ends)
            cost += 1
    for ends, bond in wanted.items():
        if not after.has_edge(*ends) or after.edges[tuple(ends)]["label"] != bond:
            cost += 1
        after.add_edge(*ends, label=bond)
    return Outcome(after, cost)


def is_same(after: nx.Graph[Any], counterfactual: Graph) -> bool:
    """Whether the result of a rule is the counterfactual: kept nodes have the same ids, new ones may come in any order."""
    import networkx as nx

    stored = as_networkx(counterfactual)
    ids = counterfactual.ids.tolist()
    kept = {node for node in after if not isinstance(node, tuple)}
    for node in stored:
        stored.nodes[node]["kept"] = ids[node] if ids[node] in kept else -1
    for node in after:
        after.nodes[node]["kept"] = node if node in kept else -1
    if {stored.nodes[node]["kept"] for node in stored} - {-1} != kept:
        return False
    return bool(nx.is_isomorphic(after, stored, node_match=operator.eq, edge_match=operator.eq))


def as_graph(after: nx.Graph[Any], graph: Graph) -> Graph:
    """The result of a rule as a `Graph`, kept nodes with their ids."""
    kept = sorted(node for node in after if not isinstance(node, tuple))
    nodes = [*kept, *sorted(node for node in after if isinstance(node, tuple))]
    rank = {node: k for k, node in enumerate(nodes)}
    bonds: list[tuple[Any, Any, int]] = list(after.edges(data="label"))
    rows = sorted((*sorted((rank[i], rank[j])), bond) for i, j, bond in bonds)
    ids = [*kept, *range(graph.next_id, graph.next_id + len(nodes) - len(kept))]
    return Graph.assemble(
        np.array([after.nodes[node]["label"] for node in nodes], np.int32),
        np.array([row[:2] for row in rows], np.int32).reshape(-1, 2),
        None if graph.edge_labels is None else np.array([row[2] for row in rows], np.int32),
        np.array(ids, np.int32),
        graph.next_id + len(nodes) - len(kept),
        graph.source,
    )


def _removed(rule: Rule) -> list[int]:
    kept = {i for i, _ in rule.kept}
    return [i for i in range(len(rule.before.labels)) if i not in kept]


def _apart(rule: Rule) -> list[tuple[int, int]]:
    """Pairs of nodes of `before` that `after` joins and `before` does not."""
    back = {j: i for i, j in rule.kept}
    joined = [frozenset((back[i], back[j])) for i, j in rule.after.edges if i in back and j in back]
    there = {frozenset(edge) for edge in rule.before.edges}
    return [(i, j) for i, j in map(sorted, joined) if frozenset((i, j)) not in there]
