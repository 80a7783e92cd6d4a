"""From recourses and the counterfactuals that show them to the explanation: the same for rules and vectors, found or applied."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.base import Task
from comrecgc.algorithms.inputs import RejectPlace, Rejects
from comrecgc.algorithms.plausibility import Plausibility, Verdicts
from comrecgc.cover import Reason
from comrecgc.data import DatasetIndex, GraphDataset
from comrecgc.errors import InputError
from comrecgc.explanation.explanation import (
    CommonRecourse,
    CoveredInput,
    Explanation,
    RejectedInput,
    RunFacts,
    Uncovered,
)
from comrecgc.graphs import Graph, Rule, Rung, Site, edits_between
from comrecgc.molecules import is_valid_molecule, property_changes
from comrecgc.run import Clock, peak_memory, versions


@dataclass(frozen=True, eq=False, kw_only=True)
class VerifiedCounterfactual:
    """An input under the first recourse that covers it, and the counterfactual that shows it, confirmed by a plain forward pass.

    Args:
        place: Place among the rejects.
        recourse: Place of the recourse.
        member: The counterfactual and how it is reached; its index in the dataset and its place on the map are filled in by `assemble`.
        vector: Vectors: `r(G, H)`, `[d]`.
        confirmed: Whether most of the panel accept it; None where that is not known.
    """

    place: RejectPlace
    recourse: int
    member: CoveredInput
    vector: npt.NDArray[np.float32] | None = None
    confirmed: bool | None = None

    @classmethod
    def by_rule(
        cls, recourse: int, rule: Rule, place: int, graph: Graph, site: Site, changed: Graph, probability: float, *,
        confirmed: bool | None = None, truth: float | None = None,
    ) -> VerifiedCounterfactual:  # fmt: skip
        """What a rule makes of a graph at a site."""
        cost = rule.cost + graph.size + rule.size_change - changed.size  # with edges that go with removed nodes
        member = CoveredInput(
            input=DatasetIndex(place),
            probability=probability,
            distance=rule.distance(graph, changed),
            num_edits=cost,
            edits=edits_between(graph, changed),
            counterfactual=changed,
            site=site,
            cost=cost,
            truth=truth,
        )
        return cls(place=RejectPlace(place), recourse=recourse, member=member, confirmed=confirmed)


def assemble(
    task: Task[Any],
    rejects: Rejects,
    plausibility: Plausibility | None,
    recourses: Sequence[CommonRecourse] = (),
    shown: Sequence[VerifiedCounterfactual] = (),
    turned: Sequence[Iterable[int]] = (),
    reasons: Mapping[int, Reason] | None = None,
    figures: Mapping[str, float | int | None] | None = None,
    *,
    parameters: Mapping[str, Any],
    warnings: Sequence[str] = (),
    notes: Sequence[str] = (),
    shortcuts: Sequence[CommonRecourse] = (),
) -> Explanation:
    """Build the explanation from recourses, with words and statistics and without inputs, and one counterfactual of each input that they cover.

    `turned` has the places of all inputs that each recourse covers, whether or not an earlier one does, and `reasons` why an input is left out, by its
    place among the rejects. Without `plausibility` there is nothing to judge.
    """
    dataset = rejects.dataset
    known = (
        np.array([bool(it.confirmed) for it in shown], bool) if any(it.confirmed is not None for it in shown) else None
    )
    verdicts, after = Verdicts(np.zeros(0, np.int8), None), [it.member.counterfactual for it in shown]
    if plausibility is not None:
        verdicts = plausibility.judge([rejects.graphs[it.place] for it in shown], after, known)
    if task.recourse == "rules":
        assert (verdicts.rungs >= Rung.parse(task.changes)).all(), "a counterfactual is off the rung of the run"
        assert all(it.member.distance <= task.theta for it in shown), "a counterfactual is farther than theta"
    positions = map_positions([it.vector for it in shown if it.vector is not None]) or [(0.0, 0.0)] * len(shown)
    members: list[list[int]] = [[] for _ in recourses]
    for k, it in enumerate(shown):
        members[it.recourse].append(k)
    complete, covered = [], set[int]()
    for recourse, rows, places in zip(recourses, members, turned, strict=True):
        graphs, before = [after[k] for k in rows], [rejects.graphs[shown[k].place] for k in rows]
        figures_of = {**recourse.statistics, **verdicts.shares(rows)}
        if recourse.rule is not None:
            figures_of |= _properties(before, graphs, dataset)
        members_of = [
            replace(shown[k].member, input=rejects.index(shown[k].place), position=positions[k]) for k in rows
        ]
        also = rejects.indices[sorted(set(places) & covered)].tolist()
        valid = _share_valid(graphs, dataset)
        complete.append(
            replace(recourse, statistics=figures_of, covered=tuple(members_of), also_covers=also, share_valid=valid)
        )
        covered |= {shown[k].place for k in rows}
    names, stereos = (texts or [""] * len(rejects) for texts in (rejects.names, rejects.stereo))
    return Explanation(
        schema=dataset.schema,
        parameters=parameters,
        metrics={
            "coverage": len(shown) / max(len(rejects), 1),
            **(figures or {}),
            **verdicts.shares(),
            **verdicts.coverage(len(rejects)),
            "num_inputs": len(rejects),
            "num_recourses": len(recourses),
        },
        inputs={
            int(index): RejectedInput(graph, 1 - float(probability), name, stereo)
            for index, graph, probability, name, stereo in zip(
                rejects.indices, rejects.graphs, rejects.scores.probability, names, stereos, strict=True
            )
        },
        recourses=tuple(complete),
        uncovered=tuple(
            Uncovered(input=rejects.index(RejectPlace(place)), reason=reason)
            for place, reason in sorted((reasons or {}).items())
            if place not in covered
        ),
        warnings=tuple(warnings),
        notes=tuple(notes),
        shortcuts=tuple(shortcuts),
        recourse=task.recourse,
        changes=task.changes,
    )


def explain_nothing(task: Task[Any], rejects: Rejects, *, warnings: Sequence[str], notes: Sequence[str]) -> Explanation:
    """The explanation where the model rejects no graph."""
    return assemble(task, rejects, None, parameters=task.parameters(), warnings=warnings, notes=notes)


def map_positions(vectors: Sequence[npt.NDArray[np.float32]]) -> list[tuple[float, float]]:
    """Vectors on a plane: their two principal components, signs fixed by the largest entry of each axis."""
    if not vectors:
        return []
    rows = np.stack(vectors).astype(np.float64)
    centred = rows - rows.mean(axis=0)
    covariance = centred.T @ centred
    axes = np.linalg.eigh(covariance)[1][:, ::-1][:, :2]  # [d, 2]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
    plane = np.zeros((len(rows), 2))
    plane[:, : axes.shape[1]] = centred @ axes
    return [(round(x, 6), round(y, 6)) for x, y in plane.tolist()]


def _share_valid(graphs: Sequence[Graph], dataset: GraphDataset) -> float | None:
    """Share of counterfactuals that are valid molecules; None if rdkit cannot check it."""
    with suppress(InputError):  # no rdkit, or edge labels that are no bonds
        if dataset.is_molecular and graphs:
            return float(np.mean([is_valid_molecule(graph, dataset.label_names) for graph in graphs]))
    return None


def _properties(before: Sequence[Graph], after: Sequence[Graph], dataset: GraphDataset) -> dict[str, Any]:
    """How the properties of the covered molecules change; nothing where bonds are not known."""
    found = None
    with suppress(InputError):  # no rdkit, or edge labels that are no bonds
        if dataset.is_molecular and dataset.edge_label_names:
            found = property_changes(before, after, dataset.label_names)
    return {} if found is None else {"properties": found}


def stamped(
    explanation: Explanation, clock: Clock, *, seed: int | None = None, model_accuracy: float | None = None
) -> Explanation:
    """The explanation with the facts of its run: seed, versions, seconds and memory."""
    used = peak_memory()
    facts = RunFacts(
        seed=seed, versions=versions(), seconds=clock.seconds, peak_memory=used, model_accuracy=model_accuracy
    )
    return explanation.using(facts=facts)
