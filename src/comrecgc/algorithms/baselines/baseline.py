"""What other explainers have in common as sources of common recourses: they find counterfactuals, and clusters of their vectors are chosen.

To add one, write one file with a frozen keyword-only dataclass that inherits from `Baseline`, whose fields are its options, all with defaults,
and a method `run`; then name it in `algorithms.registry`. `explain_each` does the rest (order, seed, time, checkpoint, resuming) for a baseline
that explains one input after another: it needs only a function from (input, generator) to edits. Every counterfactual must be a discrete graph
that the classifier accepts in a plain pass; `accepted_graphs` asks it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from comrecgc.algorithms.base import PAPER_DELTA, VectorAlgorithm, VectorTask
from comrecgc.algorithms.baselines.source import UNLIMITED, Counterfactual, Counterfactuals, Subject
from comrecgc.algorithms.inputs import Rejects
from comrecgc.algorithms.plausibility import Plausibility
from comrecgc.algorithms.vectors.candidates import Candidates, Stands, pair_candidates
from comrecgc.errors import InputError
from comrecgc.graphs import Graph
from comrecgc.run import RunContext
from comrecgc.scoring import NeighbourhoodScorer


@dataclass(frozen=True, kw_only=True)
class Baseline(VectorAlgorithm):
    """Another explainer as a source of counterfactuals, with the paper's settings."""

    as_published: ClassVar[bool] = True

    changes: str = "any"
    delta: float | str = PAPER_DELTA
    selection: str = "dbscan"

    def options(self) -> dict[str, Any]:
        """The options of the explainer itself, which its counterfactuals depend on."""
        shared = {known.name for known in fields(Baseline)}
        return {known.name: getattr(self, known.name) for known in fields(self) if known.name not in shared}

    @abstractmethod
    def run(self, subject: Subject, rng: np.random.Generator, context: RunContext = UNLIMITED) -> Counterfactuals:
        """Find counterfactuals; what is found when time is up is the answer. All randomness comes from `rng`."""

    def find(
        self,
        task: VectorTask,
        scorer: NeighbourhoodScorer,
        rejects: Rejects,
        plausibility: Plausibility,
        context: RunContext,
    ) -> Candidates:
        """What the explainer finds. Every input is paired with every counterfactual within θ; on a rung only with what was made from it."""
        inputs, stands = rejects.graphs, plausibility.stands(task)
        subject = Subject(scorer=scorer, inputs=inputs, graphs=rejects.dataset.graphs)
        found = self.run(subject, np.random.default_rng(task.random_state), context)
        if stands is not None:
            found = replace(found, found=self._standing(found.found, inputs, stands))
        rows = [(each.graph, each.input, each.path) for each in found.found]
        candidates = pair_candidates(rejects, subject.embedder, rows, task.theta, own_only=stands is not None)
        return replace(candidates, complete=found.complete)

    def _standing(
        self, found: Sequence[Counterfactual], inputs: Sequence[Graph], stands: Stands
    ) -> tuple[Counterfactual, ...]:
        """The counterfactuals that were made from an input and stand on the rung."""
        made = [each for each in found if each.input is not None]
        if found and not made:
            raise InputError(
                f"The counterfactuals of {self.name} are made from no input, so only changes='any' fits (got {self.changes!r})"
            )
        if not made:
            return ()
        kept = stands([inputs[each.input] for each in made if each.input is not None], [each.graph for each in made])
        return tuple(each for each, stays in zip(made, kept.tolist(), strict=True) if stays)
