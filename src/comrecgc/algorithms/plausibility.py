"""Plausibility of changes in a run: edits that keep to a rung, candidates that a panel confirms, and the rung of each result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.base import Task, VectorAlgorithm, VectorTask
from comrecgc.algorithms.inputs import ModelPair
from comrecgc.algorithms.matched_pairs import calibrated
from comrecgc.algorithms.vectors.candidates import Candidates, RungCheck, ball_cover
from comrecgc.data import GraphDataset
from comrecgc.errors import InputError
from comrecgc.graphs import AllOf, ChangedGraphs, Constraint, Graph, GraphBatch, Ladder, Rung, batched, rung_shares
from comrecgc.models import (
    Classifier,
    Jury,
    Panel,
    PanelMember,
    PanelTraining,
    as_classifier,
    load_panel,
    obtain_panel,
    train_jury,
    train_number_jury,
)
from comrecgc.molecules import Valence
from comrecgc.run import RunContext
from comrecgc.scoring import NeighbourhoodScorer

_PANEL_SHARE = 0.25  # of the time that is left may go into training a panel

VALENCE = "valence"
"""A constraint by its name: no atom gets more bonds than it can carry."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Plausibility:
    """The ladder, panel and jury of a run: conditions on counterfactuals besides the explained model."""

    ladder: Ladder  # says how a changed graph compares with the data
    panel: Panel | None = None  # other classifiers, asked about accepted graphs; None if there are none
    why_no_panel: str = "There is no panel."  # why there are none, as a sentence
    jury: Jury | None = None  # models of other kinds that say how likely results come true; None if there are none

    def constraint(self, algorithm: VectorAlgorithm, label_names: Sequence[str]) -> Constraint | None:
        """Constraint of the algorithm's rung and of its own constraint."""
        own = Valence.of_elements(label_names) if algorithm.constraint == VALENCE else algorithm.constraint
        parts = [own, self.ladder.constraint(Rung.parse(algorithm.changes))]
        given = [part for part in parts if part is not None]
        return None if not given else given[0] if len(given) == 1 else AllOf(*given)

    def scorer(
        self, models: ModelPair, dataset: GraphDataset, algorithm: VectorAlgorithm, context: RunContext
    ) -> NeighbourhoodScorer:
        """Scores the edits that `constraint` allows."""
        return NeighbourhoodScorer(
            models.classifier,
            models.embedder,
            dataset.num_labels,
            constraint=self.constraint(algorithm, dataset.label_names),
            device=context.device,
            num_threads=context.num_jobs,
        )

    def confirmed(self, candidates: Candidates, task: VectorTask, inputs: Sequence[Graph]) -> Candidates:
        """The candidates the task allows: all, or on the highest rung the pairs with their inputs that the panel confirms."""
        if task.changes != str(Rung.CONFIRMED):
            return candidates
        panel = self.panel
        if panel is None:
            raise InputError(f"changes='confirmed' needs a panel. {self.why_no_panel}")
        used, place = np.unique(candidates.pairs.candidates, return_inverse=True)
        none = np.zeros((len(panel), 0), bool)
        after = [panel.accepts(batch) for batch in batched(map(candidates.graph, used.tolist()))]
        before = panel.accepts(GraphBatch.from_graphs(inputs))
        confirmed = panel.confirmed(
            before[:, candidates.pairs.inputs], np.concatenate([none, *after], axis=1)[:, place]
        )
        pairs, centres = candidates.pairs.subset(confirmed), candidates.centres
        if centres is not None:
            centres = ball_cover(task).centres(pairs, np.random.default_rng([task.random_state, 2]), previous=centres)
        return replace(candidates, pairs=pairs, centres=centres)

    def rung_check(self, task: Task[Any]) -> RungCheck:
        """A test whether changed graphs are on the rung of the task; None if any change is allowed."""
        rung = Rung.parse(task.changes)
        if rung == Rung.ANY:
            return None
        if rung == Rung.CONFIRMED and self.panel is None:
            raise InputError(f"changes='confirmed' needs a panel. {self.why_no_panel}")
        return lambda before, after: self.judge(before, after).rungs >= rung

    def judge(
        self, before: Sequence[Graph], after: Sequence[Graph], confirmed: npt.NDArray[np.bool_] | None = None
    ) -> Verdicts:
        """The rung of some counterfactuals, whose kept nodes have the same ids; the panel is asked unless `confirmed` is given."""
        changed = ChangedGraphs.from_graphs(before, after)
        if confirmed is None and self.panel is not None:
            confirmed = self.panel.confirms_changes(GraphBatch.from_graphs(before), changed.after)
        return Verdicts(self.ladder.rungs(changed, confirmed=confirmed), confirmed)


@dataclass(frozen=True, eq=False)
class Verdicts:
    """Rungs of counterfactuals, and the panel's votes."""

    rungs: npt.NDArray[np.int8]  # the highest rung of each, `[n]`
    confirmed: (
        npt.NDArray[np.bool_] | None
    )  # whether most of the panel accept each, whatever its rung, `[n]`; None without a panel

    def shares(self, rows: Sequence[int] | slice = slice(None)) -> dict[str, float]:
        """Shares of some counterfactuals that reach each rung and that the panel accepts."""
        named = {
            f"share_{rung}": share for rung, share in rung_shares(self.rungs[rows]).items() if rung != str(Rung.ANY)
        }
        if self.confirmed is None:
            del named[f"share_{Rung.CONFIRMED}"]
        return named

    def coverage(self, num_inputs: int) -> dict[str, float]:
        """Share of all inputs whose counterfactual most of the panel accept."""
        if self.confirmed is None or num_inputs == 0:
            return {}
        return {"confirmed_coverage": float(self.confirmed.sum()) / num_inputs}


# Where the panel comes from: files, the cache, training, or models that are explained together.

Models = Sequence[Classifier | Callable[..., Any] | str | Path]


def agreement_panel(models: Models, dataset: GraphDataset) -> tuple[Panel, str]:
    """Models, or files, that are explained together with another one: a panel that must be unanimous, and a sentence on it."""
    members: list[PanelMember] = []
    for place, model in enumerate(models):
        if isinstance(model, str | Path):
            members += load_panel([model], label_names=dataset.label_names).members
        else:
            members.append(PanelMember(name=f"model {place + 2}", classifier=as_classifier(model, dataset)))
    names = ", ".join(member.name for member in members)
    sentence = (
        f"{len(members) + 1} classifiers are explained at once, the others being {names}: "
        "all reject every input and accept every counterfactual."
    )
    return Panel(tuple(members), unanimous=True), sentence


def find_jury(
    guests: Models, dataset: GraphDataset, context: RunContext, *, has_classes: bool, seed: int
) -> tuple[Jury | None, str]:
    """The jury that estimates which results come true, and a sentence on it; guests, the user's models or files, only report."""
    if dataset.goal is not None:
        if guests:
            raise InputError("jury takes classifiers, and a goal in numbers has none (got some)")
        found, sentence = train_number_jury(
            dataset, dataset.goal, seed=seed, jobs=context.num_jobs, deadline=context.clock.training_deadline(_PANEL_SHARE), progress=context.report,
        )  # fmt: skip
        return (None, sentence) if found is None else calibrated(found, dataset)
    models = tuple(
        load_panel([model], label_names=dataset.label_names).members[0].classifier
        if isinstance(model, str | Path)
        else as_classifier(model, dataset)
        for model in guests
    )
    jury, sentence = train_jury(
        dataset, has_classes=has_classes, seed=seed, jobs=context.num_jobs,
        deadline=context.clock.training_deadline(_PANEL_SHARE), progress=context.report,
    )  # fmt: skip
    if jury is None or not models:
        return jury, sentence
    return replace(jury, guests=models), f"{sentence} {len(models)} given models report too."


def find_panel(
    panel: Panel | PanelTraining | Sequence[str | Path] | bool,
    dataset: GraphDataset,
    context: RunContext,
    *,
    has_classes: bool,
) -> tuple[Panel | None, str]:
    """The panel that votes on accepted results, and a sentence on it: a given panel, files, or one that is trained."""
    if isinstance(panel, Panel):
        return panel, f"A panel of {len(panel)} given classifiers was asked too."
    training = panel if isinstance(panel, PanelTraining) else None
    files = () if isinstance(panel, bool | PanelTraining) else panel
    return obtain_panel(
        dataset, files=files, training=training, has_classes=has_classes, engine=context.engine,
        deadline=context.clock.training_deadline(_PANEL_SHARE), progress=context.report,
    )  # fmt: skip
