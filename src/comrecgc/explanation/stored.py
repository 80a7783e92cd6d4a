"""Use of a stored run: load it without a model, choose again under other conditions, apply it to other graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from comrecgc.algorithms.base import DISPLAY_MARGIN, Task, VectorAlgorithm, VectorTask, accepted
from comrecgc.algorithms.inputs import ModelPair, Rejects, Scores
from comrecgc.algorithms.plausibility import VALENCE, Plausibility
from comrecgc.algorithms.registry import algorithm_of
from comrecgc.algorithms.rules.algorithm import RULES, Rules, stored_rules
from comrecgc.algorithms.rules.choice import RuleFilter
from comrecgc.algorithms.rules.mined import permission_of
from comrecgc.algorithms.rules.population import CENSUS, load_census
from comrecgc.cover import Reason
from comrecgc.data import GraphDataset
from comrecgc.errors import InputError
from comrecgc.explanation.assembly import VerifiedCounterfactual, assemble, with_run_facts
from comrecgc.explanation.records import Explanation
from comrecgc.explanation.rules import RuleChooser, success_figures
from comrecgc.explanation.vectors import apply_vectors
from comrecgc.graphs import Graph, GraphBatch, Ladder, NeighbourIndex, Rung, Site, carry_out_everywhere
from comrecgc.models import Classifier, checksum, predict
from comrecgc.molecules import ladder_from_facts
from comrecgc.run import RunContext, refusing_damage


def load_explanation(folder: str | Path) -> Explanation:
    """The explanation in a run folder, checked against the manifest's checksums and for consistency; rules can be chosen again."""
    explanation = Explanation.load(folder)
    if explanation.recourse != "rules" or RULES not in explanation.facts.facts:
        return explanation
    return explanation.using(chooser=StoredChooser(Path(folder), explanation))


@dataclass(frozen=True, eq=False)
class StoredChooser:
    """Chooses from the table in a run folder, which is loaded on first use."""

    folder: Path
    explanation: Explanation

    def __call__(self, **wishes: Any) -> Explanation:
        """Another choice; wishes are those of `Explanation.choose`."""
        # What is wished for is checked before, so that whatever else goes wrong is the file's fault.
        chooser = self.chooser.with_wishes(**wishes)
        with refusing_damage(self.folder / RULES, advice=""):
            return chooser.explain().using(facts=self.explanation.facts)

    def save(self, folder: Path) -> Mapping[str, Any]:
        """Write the table to another run folder; what the manifest must say of it."""
        return self.chooser.save(folder)

    def in_memory(self) -> RuleChooser:
        """The chooser with its table."""
        return self.chooser

    @cached_property
    def chooser(self) -> RuleChooser:
        return rule_chooser(self.folder, self.explanation)


def rule_chooser(folder: Path, explanation: Explanation) -> RuleChooser:
    """The chooser of a run, built from its folder."""
    path = folder / RULES
    if checksum(path) != explanation.facts.facts.get(RULES):
        raise InputError(f"{path} is damaged: its SHA-256 must be the one in the manifest")
    task = stored_task(explanation)
    ladder = ladder_from_facts(explanation.facts.facts.get("ladder"), explanation.schema.label_names)
    mined = stored_rules(task, stored_rejects(explanation), ladder, path)
    if CENSUS in explanation.facts.facts:
        mined = replace(mined, census=load_census(folder / CENSUS, mined.table.rules.key))
    return RuleChooser(
        task=task, mined=mined, plausibility=Plausibility(ladder=ladder), wishes=stored_wishes(explanation),
        warnings=explanation.warnings, notes=explanation.notes,
    )  # fmt: skip


def stored_rejects(explanation: Explanation) -> Rejects:
    """The inputs of a stored run."""
    inputs = list(explanation.inputs.values())
    graphs = tuple(it.graph for it in inputs)
    dataset = GraphDataset(
        name=explanation.schema.dataset, graphs=graphs, classes=np.zeros(len(graphs), np.int8), label_names=explanation.schema.label_names,
        class_names=explanation.schema.class_names, edge_label_names=explanation.schema.edge_label_names,
    )  # fmt: skip
    scores = Scores(
        1 - np.array([it.reject_probability for it in inputs], np.float64),
        np.zeros((len(graphs), 0), np.float32),
        np.array([graph.size for graph in graphs], np.int32),
    )
    names, stereo = (tuple(of) if any(of) else () for of in ([it.name for it in inputs], [it.stereo for it in inputs]))
    indices = np.array(list(explanation.inputs), np.int64)
    return Rejects(dataset=dataset, indices=indices, graphs=graphs, scores=scores, names=names, stereo=stereo)


def stored_wishes(explanation: Explanation) -> RuleFilter:
    """The conditions on the rules of a run."""
    stated = explanation.parameters.get("wishes", {})
    try:
        wishes = msgspec.convert(stated, RuleFilter)
    except (msgspec.ValidationError, TypeError) as error:
        raise InputError(f"The stored conditions on rules are damaged: {error}".splitlines()[0]) from None
    labels = (*wishes.forbidden_labels, *wishes.protected_labels)
    if any(not 0 <= label < len(explanation.schema.label_names) for label in labels):
        raise InputError("The stored conditions on rules must name node labels of the run")
    return wishes


def stored_task(explanation: Explanation) -> Task[Any]:
    """The task of a run, read from its parameters, without any custom constraint."""
    given = dict(explanation.parameters)
    shared = {name: given.pop(name) for name in ("theta", "num_recourses", "random_state") if name in given}
    name, delta = given.pop("algorithm", None), given.get("delta")
    if "theta" not in shared or (explanation.recourse == "vectors" and (delta is None or isinstance(delta, str))):
        raise InputError(f"The run must state theta and delta as numbers (got {shared.get('theta')!r} and {delta!r})")
    if given.get("constraint") != VALENCE:
        given.pop("constraint", None)
    given.pop("wishes", None)
    algorithm = algorithm_of(str(name), given | {"changes": explanation.changes})
    if algorithm.recourse != explanation.recourse:
        raise InputError(f"An explanation by {explanation.recourse} is not of {name}")
    task = Task(algorithm=algorithm, **shared)
    return VectorTask.of(task) if isinstance(algorithm, VectorAlgorithm) else task  # type: ignore[arg-type]


# Recourses of an explanation on other graphs.


MOST_PLACES = 64  # places of a rule in an unseen graph that are tried at most


def apply_rules(
    explanation: Explanation,
    rejects: Rejects,
    classifier: Classifier,
    plausibility: Plausibility,
    task: Task[Rules],
    context: RunContext,
    *,
    warnings: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> Explanation:
    """Carry out the rules of an explanation on other graphs, within the limits of the task and on the ladder of the run."""
    rules = [recourse.rule for recourse in explanation.recourses if recourse.rule is not None]
    rung, permission = Rung.parse(task.changes), permission_of(task.algorithm, plausibility.ladder)
    turned: list[dict[int, VerifiedCounterfactual]] = [{} for _ in rules]
    can = np.zeros((len(rules), len(rejects)), bool)
    reasons: dict[int, Reason] = {}

    def turn(place: int, graph: Graph, tried: Sequence[tuple[int, Site, Graph]]) -> Reason:
        """Enter the best place of every rule that turns a graph; why none does, otherwise."""
        results = [result for _, _, result in tried]
        probability = classifier.accept_probability(GraphBatch.from_graphs(results))
        likely = np.argsort(-probability, kind="stable")
        likely = likely[probability[likely] > accepted(DISPLAY_MARGIN / 2)]
        if not len(likely):
            return Reason.STILL_REJECTED
        standing = plausibility.judge([graph] * len(likely), [results[k] for k in likely]).rungs
        for k, reached in zip(likely.tolist(), standing, strict=True):
            number, site, result = tried[k]
            if reached >= rung and place not in turned[number]:
                turned[number][place] = VerifiedCounterfactual.by_rule(
                    number, rules[number], place, graph, site, result, float(probability[k])
                )
        return Reason.OFF_RUNG

    for place, graph in enumerate(rejects.graphs):
        where, tried, far = NeighbourIndex(graph), [], False
        for number, rule in enumerate(rules):
            made = [(number, *found) for found in carry_out_everywhere(rule, where, MOST_PLACES)]
            if permission is not None and permission.wishes:
                wanted = permission.permits_results(graph, [result for _, _, result in made])
                made = [one for one, is_wanted in zip(made, wanted, strict=True) if is_wanted]
            can[number, place] = bool(made)
            near = [one for one in made if rule.distance(graph, one[2]) <= task.theta]
            far |= len(near) < len(made)
            tried += near
        reasons[place] = Reason.TOO_FAR if far else Reason.NOWHERE
        if tried:
            reasons[place] = turn(place, graph, tried)
        context.show_progress("applying rules", place + 1, len(rejects))
    first = dict(
        item for found in reversed(turned) for item in found.items()
    )  # of each input, the first rule is entered last
    shown = [it for number, found in enumerate(turned) for it in found.values() if first[it.place].recourse == number]
    recourses = [
        replace(recourse, statistics=success_figures(int(can[number].sum()), len(turned[number]), rule))
        for number, (recourse, rule) in enumerate(zip(explanation.recourses, rules, strict=True))
    ]
    return assemble(
        task, rejects, plausibility, recourses, shown, turned, reasons,
        parameters=explanation.parameters, warnings=warnings, notes=notes,
    )  # fmt: skip


_FOREIGN = 0.02  # least share of unfamiliar nodes that is worth a warning, where it is
_TIMES = 2.0  # this many times as large as among the inputs of the run


def _unlike(explanation: Explanation, graphs: Sequence[Graph], ladder: Ladder) -> str | None:
    """A warning where other graphs are unlike those that recourses were found on."""
    familiar = ladder.familiarity
    ours, theirs = (
        1 - float(familiar.is_familiar(familiar.hashes(GraphBatch.from_graphs(some))).mean()) if some else 0.0
        for some in ([it.graph for it in explanation.inputs.values()], list(graphs))
    )
    if theirs < max(_FOREIGN, _TIMES * ours):
        return None
    return (
        f"These graphs are unlike those of {explanation.schema.dataset}: {theirs:.1%} of their nodes have neighbours as hardly any node has there "
        f"({ours:.1%}). Neither the model nor the recourses may hold for them."
    )


def apply_recourses(
    explanation: Explanation,
    dataset: GraphDataset,
    models: ModelPair,
    task: Task[Any],
    plausibility: Plausibility,
    context: RunContext,
) -> Explanation:
    """The recourses of an explanation with the rejects of another dataset that each covers."""
    predictions = predict(models.classifier, dataset)
    warnings = [predictions.warning] if predictions.warning else []
    notes = [*dataset.notes, f"The recourses were found on {explanation.schema.dataset}."]
    rejects = Rejects.of(dataset, predictions)
    if unlike := _unlike(explanation, rejects.graphs, plausibility.ladder):
        warnings.append(unlike)
    texts = {"warnings": warnings, "notes": notes}
    if isinstance(task, VectorTask):
        applied = apply_vectors(explanation, rejects, models, task, plausibility, context, **texts)
    else:
        applied = apply_rules(explanation, rejects, models.classifier, plausibility, task, context, **texts)
    return with_run_facts(applied, context.clock, seed=task.random_state)
