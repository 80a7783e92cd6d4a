"""The ladder of changes in a run: edits that keep to a rung, candidates that a panel confirms, and where results stand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from comrecgc.algorithms.inputs import ModelPair
from comrecgc.algorithms.settings import ResolvedSettings, Settings
from comrecgc.algorithms.vectors.candidates import Candidates, Stands, ball_cover
from comrecgc.data import GraphDataset
from comrecgc.errors import InputError
from comrecgc.graphs import AllOf, BoolArray, ChangedGraphs, Constraint, Graph, GraphBatch, Ladder, Rung, rung_shares
from comrecgc.models import Classifier, Panel, PanelMember, PanelTraining, as_classifier, load_panel, obtain_panel
from comrecgc.run import Engine, Progress
from comrecgc.scoring import NeighbourhoodScorer

_GRAPHS_AT_ONCE = 4096


@dataclass(frozen=True, eq=False, kw_only=True)
class Judges:
    """Who judges counterfactuals besides the model that is explained.

    Args:
        ladder: Says how a changed graph compares with the data.
        panel: Other classifiers, asked about accepted graphs; None if there are none.
        why_no_panel: Why there are none, as a sentence.
    """

    ladder: Ladder
    panel: Panel | None = None
    why_no_panel: str = "There is no panel."

    def constraint(self, settings: Settings) -> Constraint | None:
        """Edits that keep to the rung of the settings and to their own constraint."""
        parts = [settings.constraint, self.ladder.constraint(Rung.parse(settings.changes))]
        given = [part for part in parts if part is not None]
        return None if not given else given[0] if len(given) == 1 else AllOf(*given)

    def scorer(
        self, models: ModelPair, dataset: GraphDataset, settings: Settings, device: torch.device | str
    ) -> NeighbourhoodScorer:
        """Scores the edits that `constraint` allows."""
        return NeighbourhoodScorer(
            models.classifier,
            models.embedder,
            dataset.num_labels,
            constraint=self.constraint(settings),
            device=device,
            num_threads=settings.num_jobs,
        )

    def confirmed(self, candidates: Candidates, settings: ResolvedSettings) -> Candidates:
        """The candidates the settings allow: all, or on the highest rung those that most of the panel accept."""
        if settings.changes != str(Rung.CONFIRMED):
            return candidates
        panel = self.panel
        if panel is None:
            raise InputError(f"changes='confirmed' needs a panel. {self.why_no_panel}")
        used, place = np.unique(candidates.pairs.candidates, return_inverse=True)
        parts = [used[start : start + _GRAPHS_AT_ONCE].tolist() for start in range(0, len(used), _GRAPHS_AT_ONCE)]
        votes = [panel.confirms(GraphBatch.from_graphs(map(candidates.graph, part))) for part in parts]
        accepted: BoolArray = np.concatenate([np.zeros(0, dtype=bool), *votes])
        pairs, centres = candidates.pairs.subset(accepted[place]), candidates.centres
        if centres is not None:
            centres = ball_cover(settings).centres(pairs, np.random.default_rng([settings.seed, 2]), previous=centres)
        return replace(candidates, pairs=pairs, centres=centres)

    def stands(self, settings: Settings) -> Stands | None:
        """Judges whether changed graphs stand on the rung of the settings; None where any change is allowed."""
        rung = Rung.parse(settings.changes)
        if rung == Rung.ANY:
            return None
        if rung == Rung.CONFIRMED and self.panel is None:
            raise InputError(f"changes='confirmed' needs a panel. {self.why_no_panel}")
        return lambda before, after: self.judge(before, after).rungs >= rung

    def judge(self, before: Sequence[Graph], after: Sequence[Graph], confirmed: BoolArray | None = None) -> Verdicts:
        """Where some counterfactuals stand.

        Args:
            before: The inputs.
            after: What each became, nodes that are kept having the same ids.
            confirmed: Whether most of the panel accept each, where that is known; otherwise the panel is asked.
        """
        changed = ChangedGraphs.from_graphs(before, after)
        if confirmed is None and self.panel is not None:
            confirmed = self.panel.confirms(changed.after)
        return Verdicts(self.ladder.rungs(changed, confirmed=confirmed), confirmed)


@dataclass(frozen=True, eq=False)
class Verdicts:
    """Where counterfactuals stand on the ladder.

    Args:
        rungs: The highest rung of each, `[n]`.
        confirmed: Whether most of the panel accept each, whatever its rung, `[n]`; None without a panel.
    """

    rungs: npt.NDArray[np.int8]
    confirmed: BoolArray | None

    def shares(self, rows: Sequence[int] | slice = slice(None)) -> dict[str, float]:
        """Share of some counterfactuals that reach each rung, and that the panel accepts."""
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


ObtainPanel = Callable[[float | None], tuple[Panel | None, str]]
"""Loads or trains a panel before a deadline, with a sentence on it; called only if there is something to explain."""


def agreement_source(
    models: Sequence[Classifier | Callable[..., Any] | str | Path], dataset: GraphDataset
) -> ObtainPanel:
    """Models, or files of them, that are explained together with another: a panel that must be unanimous."""
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
    panel = Panel(tuple(members), unanimous=True)
    return lambda _: (panel, sentence)


def panel_source(
    dataset: GraphDataset,
    files: Sequence[str | Path] = (),
    training: PanelTraining | None = None,
    *,
    has_classes: bool = True,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> ObtainPanel:
    """Obtains a panel when it is called: from files, from the cache, or by training."""
    return lambda deadline: obtain_panel(
        dataset,
        files=files,
        training=training,
        has_classes=has_classes,
        engine=engine,
        deadline=deadline,
        progress=progress,
    )
