"""Controls, which should score worse: uninformed classifiers explained by the same pipeline, and random rules similar to the chosen ones.

Two classifiers have the architecture of the explained model and random weights, one the mirror image of the other: random weights often follow
something, such as size, that correlates with the labels by chance, and the mirror image has the opposite correlation. A third, with its own panel, is
trained on shuffled labels. One bias of each is shifted so that all reject as large a share of the data as the explained model.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from comrecgc import graphs as rewriting
from comrecgc.algorithms.base import Algorithm, VectorAlgorithm
from comrecgc.algorithms.rules.algorithm import Rules
from comrecgc.algorithms.rules.mining import ChangeScorer, Oracle
from comrecgc.algorithms.rules.reading import read_rule
from comrecgc.algorithms.rules.vocabulary import Vocabulary
from comrecgc.data import GraphDataset
from comrecgc.evidence.evaluation import EvaluatedRun
from comrecgc.explainer import CommonRecourseExplainer
from comrecgc.graphs import Constraint, Graph, GraphBatch, NeighbourIndex, Rule, Rung
from comrecgc.models import Classifier, GraphClassifier, Panel, PanelTraining, log_odds, obtain_panel, predict
from comrecgc.run import RunContext, available_cores

MOST_REJECTS = 200  # rejects of each classifier of a control that are explained

# How classifiers of shuffled labels are trained; the first is explained, the others are its panel.
SHUFFLED_TRAINING = PanelTraining(models=("gcn", "gcn", "gin", "sage"), epochs=100, patience=40, number=9)

DRAWN = 4  # random rules per rule

_VOCABULARY_INPUTS = 60  # inputs whose changes are drawn from
_TRIED_INPUTS = 120  # inputs on which a random rule is tried
_PLACES = 12  # of a random rule in one input
_OFFERS = 200  # changes looked at for each drawn, to come near in cost


@dataclass(frozen=True, eq=False, kw_only=True)
class ControlClassifier:
    """An uninformed classifier, and the panel that votes on its results."""

    name: str  # what was done to it
    dataset: GraphDataset  # with the labels it is held to
    classifier: Classifier
    panel: Panel | None  # other models of these labels


def random_weights(subject: EvaluatedRun) -> tuple[ControlClassifier, ControlClassifier]:
    """The explained model's architecture with initial weights, and its mirror image, which accepts what the first rejects."""
    model = subject.classifier
    architecture, hidden = ("gcn", 20) if not isinstance(model, GraphClassifier) else (model.architecture, model.hidden)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(subject.seed)
        drawn = GraphClassifier(architecture, subject.dataset.features, hidden=hidden).eval()
    mirrored = copy.deepcopy(drawn)
    with torch.no_grad():
        mirrored.fc.weight.copy_(drawn.fc.weight.flip(0))
    known, panel = subject.dataset, subject.plausibility.panel
    first, second = (
        ControlClassifier(name="random weights", dataset=known, classifier=_calibrated(it, subject), panel=panel)
        for it in (drawn, mirrored)
    )
    return first, second


def shuffled_labels(
    subject: EvaluatedRun, *, training: PanelTraining = SHUFFLED_TRAINING, **place: Any
) -> ControlClassifier | None:
    """A classifier and a panel trained on shuffled labels; None if training is impossible. Further arguments are those of `obtain_panel`."""
    rng = np.random.default_rng([subject.seed, 23])
    dataset = replace(subject.dataset, classes=rng.permutation(subject.dataset.classes))
    panel, _ = obtain_panel(dataset, training=training, **place)
    if panel is None or len(panel) < 2:
        return None
    first, *others = panel.members
    assert isinstance(first.classifier, GraphClassifier)
    model, rest = _calibrated(first.classifier, subject), Panel(tuple(others))
    return ControlClassifier(name="shuffled labels", dataset=dataset, classifier=model, panel=rest)


def explain_control(control: ControlClassifier, subject: EvaluatedRun, seconds: float | None = None) -> EvaluatedRun:
    """Run the same pipeline on another classifier, on some of its rejects. There is no jury, because a jury knows the labels."""
    dataset = control.dataset
    rejects = np.flatnonzero(~predict(control.classifier, dataset).accepted)
    rng = np.random.default_rng([subject.seed, 24])
    left_out = np.sort(rng.permutation(rejects)[MOST_REJECTS:])
    kept = np.setdiff1d(np.arange(len(dataset)), left_out)
    explained_on = dataset.subset(kept.tolist())
    task, panel = subject.task, control.panel
    algorithm: Algorithm = task.algorithm
    if isinstance(algorithm, VectorAlgorithm):
        algorithm = replace(algorithm, embedder=subject.embedder)
    elif isinstance(algorithm, Rules):
        algorithm = replace(algorithm, sample=len(explained_on))
    found = CommonRecourseExplainer(
        control.classifier, algorithm, theta=task.theta, num_recourses=task.num_recourses, random_state=task.random_state,
        panel=False if panel is None else panel, jury=False, context=RunContext(time_budget=seconds, progress=False),
    ).fit(explained_on)  # fmt: skip
    known: dict[str, Any] = {"explanation": found.explanation_, "dataset": dataset, "classifier": control.classifier}
    plausibility, labels = replace(subject.plausibility, panel=panel), explained_on.classes
    return replace(subject, **known, plausibility=plausibility, mined=found.mined_, labels=labels, shown_again=())


def _calibrated(model: GraphClassifier, subject: EvaluatedRun) -> GraphClassifier:
    """The model with its bias shifted so that it rejects as many graphs as the explained one."""
    batch = GraphBatch.from_graphs(subject.dataset.graphs)
    share = float((subject.classifier.accept_probability(batch) <= 0.5).mean())
    margins = log_odds(model.accept_probability(batch))
    shifted = GraphClassifier(model.architecture, model.features.numpy(), hidden=model.hidden).eval()
    shifted.load_state_dict(model.state_dict())
    with torch.no_grad():
        shifted.fc.bias[1] -= float(np.quantile(margins, share))
    return shifted


@dataclass(frozen=True, kw_only=True)
class RandomRules:
    """Counts of random rules similar to one rule, on the same model."""

    rules: int  # that could be carried out somewhere
    applicable: int  # inputs that they can be carried out on, in all
    accepted: int  # those of them that they turn
    mean_cost: float  # elements that they change

    @property
    def success(self) -> float | None:
        """Share of the inputs they can be carried out on that they turn."""
        return self.accepted / self.applicable if self.applicable else None


@dataclass(frozen=True, eq=False, kw_only=True)
class RandomControl:
    """Random rules similar to those of an explanation: as many changes, of the same kinds."""

    like: tuple[RandomRules, ...]  # for each rule, how those drawn for it fare
    # Inputs and what they become at a random place, whatever the model says of it.
    results: list[list[tuple[Graph, Graph]]]
    coverage: float  # share of the inputs tried that the first rule drawn for each turns, all together
    drawn: tuple[tuple[Rule, ...], ...] = ()  # none for vectors


def random_rules(subject: EvaluatedRun) -> RandomControl | None:
    """Draw and try random rules: as many changes, of the same kinds, of similar cost; None if none was found."""
    if subject.mined is None and subject.explanation.recourses:
        return _random_edits(subject)
    if subject.mined is None or subject.rows is None or not len(subject.rows):
        return None
    rng = np.random.default_rng([subject.seed, 21])
    graphs, table = subject.mined.rejects.graphs, subject.mined.table
    drawn_from = [graphs[i] for i in np.sort(rng.permutation(len(graphs))[:_VOCABULARY_INPUTS])]
    tried_on = [graphs[i] for i in np.sort(rng.permutation(len(graphs))[:_TRIED_INPUTS])]
    rung = min(Rung.parse(subject.explanation.changes), Rung.PLAUSIBLE)
    vocabulary = Vocabulary.of(subject.dataset, rung=rung, theta=subject.task.theta, ladder=subject.plausibility.ladder)
    scorer = ChangeScorer(inputs=drawn_from, vocabulary=vocabulary, jobs=available_cores())
    offer = _Offer(scorer, subject.classifier)
    where = [NeighbourIndex(graph) for graph in tried_on]
    like, results, drawn, first = [], [], list[tuple[Rule, ...]](), np.zeros(len(tried_on), bool)
    for row, recourse in zip(subject.rows.tolist(), subject.explanation.recourses, strict=True):
        assert recourse.rule is not None
        kinds = [kind for kind in table.rules.kinds[row].tolist() if kind >= 0]
        rules = offer.draw(kinds, int(table.rules.cost[row]), int(table.rules.radius[row]), rng)
        can, turned, pairs = 0, 0, list[tuple[Graph, Graph]]()
        for number, rule in enumerate(rules):
            fits, found, anyhow = _tried(rule, where, subject, rung, rng)
            can, turned = can + fits, turned + len(found)
            pairs += [(tried_on[i], graph) for i, graph in anyhow.items()]
            if number == 0:
                first[sorted(found)] = True
        cost = float(np.mean([rule.cost for rule in rules])) if rules else 0.0
        like.append(RandomRules(rules=len(rules), applicable=can, accepted=turned, mean_cost=cost))
        results.append(pairs)
        drawn.append(tuple(rules))
    coverage = float(first.mean()) if len(first) else 0.0
    return RandomControl(like=tuple(like), results=results, coverage=coverage, drawn=tuple(drawn))


def _random_edits(subject: EvaluatedRun) -> RandomControl:
    """As many random edits as counterfactuals of each recourse take, each of them on the rung."""
    rng = np.random.default_rng([subject.seed, 21])
    inputs, recourses = subject.explanation.inputs, subject.explanation.recourses
    constraint = subject.plausibility.constraint(subject.task.algorithm, subject.dataset.label_names)
    most = max(5, _TRIED_INPUTS * DRAWN // len(recourses))
    like, results, covered = [], [], set[int]()
    tried: set[int] = set()
    for recourse in recourses:
        made = list[tuple[int, Graph]]()
        for k in np.sort(rng.permutation(len(recourse.covered))[:most]).tolist():
            member = recourse.covered[k]
            graph = _edited(inputs[member.input].graph, len(member.edits), constraint, subject.dataset.num_labels, rng)
            if graph is not None:
                made.append((member.input, graph))
        tried |= {index for index, _ in made}
        accepted = np.zeros(0, bool)
        if made:
            accepted = subject.classifier.accept_probability(GraphBatch.from_graphs(graph for _, graph in made)) > 0.5
        covered |= {made[k][0] for k in np.flatnonzero(accepted).tolist()}
        cost = float(np.mean([len(member.edits) for member in recourse.covered])) if recourse.covered else 0.0
        num = {"rules": len(made), "applicable": len(made), "accepted": int(accepted.sum())}
        like.append(RandomRules(**num, mean_cost=cost))
        results.append([(inputs[index].graph, graph) for index, graph in made])
    return RandomControl(like=tuple(like), results=results, coverage=len(covered) / max(len(tried), 1))


def _edited(
    graph: Graph, num_edits: int, constraint: Constraint | None, num_labels: int, rng: np.random.Generator
) -> Graph | None:
    """A graph after random edits; None if none is allowed."""
    for _ in range(num_edits):
        table = rewriting.one_edit_table(graph, num_labels)
        allowed = np.flatnonzero(np.ones(len(table), bool) if constraint is None else constraint.allowed(graph, table))
        if not len(allowed):
            return None
        graph = rewriting.apply_edit(graph, table[int(rng.choice(allowed))])
    return graph


class _Offer:
    """All single changes of some inputs, for random draws."""

    def __init__(self, scorer: ChangeScorer, classifier: Classifier) -> None:
        self.scorer, self.classifier = scorer, classifier
        self.singles = scorer.changes(Oracle(classifier=classifier))
        self.kind: npt.NDArray[np.int32] = self.singles.change[:, 0, 0]
        self.of_input = np.searchsorted(self.singles.input, np.arange(len(scorer.inputs) + 1))

    def draw(self, kinds: Sequence[int], cost: int, radius: int, rng: np.random.Generator) -> list[Rule]:
        """Rules of changes of these kinds and similar cost, at most `DRAWN`."""
        inputs, changes, costs = self._places(kinds, rng)
        order = np.argsort(np.abs(costs - cost), kind="stable")
        rules: list[Rule] = []
        for k in order.tolist():
            if len(rules) == DRAWN:
                break
            margin = self.scorer.margins(self.classifier, inputs[k : k + 1], changes[k : k + 1])
            if not np.isfinite(margin[0]):  # they cannot be made together, or leave the rung
                continue
            batch, origins = self.scorer.built(inputs[k : k + 1], changes[k : k + 1])
            graph = self.scorer.inputs[int(inputs[k])]
            rule, _ = read_rule(graph, batch[0], origins[0].tolist(), changes[k], self.scorer.vocabulary.groups, radius)
            if rule not in rules:
                rules.append(rule)
        return rules

    def _places(
        self, kinds: Sequence[int], rng: np.random.Generator
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """Random places of changes of these kinds in one input each: inputs, changes `[V, k, 4]` and about what they cost."""
        first = np.flatnonzero(self.kind == kinds[0])
        first = rng.choice(first, min(_OFFERS, len(first)), replace=False) if len(first) else first
        rows = [[int(row)] for row in first]
        for kind in kinds[1:]:
            longer = []
            for row in rows:
                i = int(self.singles.input[row[0]])
                others = np.arange(self.of_input[i], self.of_input[i + 1])
                others = others[self.kind[others] == kind]
                if len(others):
                    longer.append([*row, int(rng.choice(others))])
            rows = longer
        places = np.array(rows, np.int64).reshape(len(rows), len(kinds))
        change = self.singles.change[places.ravel(), 0].reshape(len(rows), len(kinds), 4).astype(np.int32)
        return self.singles.input[places[:, 0]], change, self.singles.cost[places].sum(axis=1)


def _tried(
    rule: Rule, where: Sequence[NeighbourIndex], subject: EvaluatedRun, rung: Rung, rng: np.random.Generator
) -> tuple[int, set[int], dict[int, Graph]]:
    """The number of inputs a rule can be carried out on, the inputs it turns, and results of the others at a random site."""
    owners, made, can = list[int](), list[Graph](), 0
    anyhow: dict[int, int] = {}
    for place, around in enumerate(where):
        found = [result for _, result in rewriting.carry_out_everywhere(rule, around, _PLACES)]
        near = [result for result in found if rule.distance(around.graph, result) <= subject.task.theta]
        can += bool(found)
        if near:
            anyhow[place] = len(made) + int(rng.integers(len(near)))
        owners += [place] * len(near)
        made += near
    if not made:
        return can, set(), {}
    probability = subject.classifier.accept_probability(GraphBatch.from_graphs(made))
    asked = sorted({*np.flatnonzero(probability > 0.5).tolist(), *anyhow.values()})
    before = [where[owners[k]].graph for k in asked]
    standing = subject.plausibility.judge(before, [made[k] for k in asked], np.zeros(len(asked), bool)).rungs
    on_rung = {k for k, reached in zip(asked, standing.tolist(), strict=True) if reached >= rung}
    turned = {owners[k] for k in on_rung if probability[k] > 0.5}
    return can, turned, {place: made[k] for place, k in anyhow.items() if k in on_rung}
