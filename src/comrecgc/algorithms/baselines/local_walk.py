"""A random walk around each input, and the nearest counterfactual it meets: LocalRWExplainer as COMRECGC's text has it.

Its tables have something else, `GCFNearest`. The text leaves the walk open. Here each input has a reinforced walk of its own:
a neighbour is drawn with its probability of accept times its frequency, with no regard to other inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from comrecgc.algorithms.base import option
from comrecgc.algorithms.baselines.baseline import Baseline
from comrecgc.algorithms.baselines.frequencies import FrequencyTable
from comrecgc.algorithms.baselines.source import Counterfactuals, Progress, Subject, embedded, explain_each
from comrecgc.algorithms.paper.walk import draw
from comrecgc.cover import normalised_distances
from comrecgc.graphs import EditPath, Graph, apply_edit


@dataclass(frozen=True, kw_only=True)
class LocalWalk(Baseline):
    """One walk per input: LocalRWExplainer as COMRECGC's text has it."""

    name: ClassVar[str] = "localwalk"

    num_steps: int = option(50_000, "Steps of all walks together, shared evenly; each has at least one.", least=1)
    teleport: float = option(0.1, "τ: probability of a step back to the input.", above=0, below=1)
    sample: int | None = option(1000, "Edits scored of a graph that has more, drawn anew each time.", least=1)

    def run(
        self,
        subject: Subject,
        rng: np.random.Generator,
        *,
        deadline: float | None = None,
        progress: Progress | None = None,
        checkpoint: Path | None = None,
        resume: bool = False,
    ) -> Counterfactuals:
        """Walk around one input after the other."""
        if not subject.inputs:
            return Counterfactuals(())
        return explain_each(
            self, subject, lambda place, own: self._nearest(subject, place, own), rng,
            deadline=deadline, progress=progress, checkpoint=checkpoint, resume=resume,
        )  # fmt: skip

    def _nearest(self, subject: Subject, place: int, rng: np.random.Generator) -> Sequence[EditPath]:
        """Edits to the nearest counterfactual that a walk around the input meets; none if it meets none."""
        start, met = subject.inputs[place], dict[int, tuple[Graph, EditPath]]()
        num_steps = max(1, self.num_steps // len(subject.inputs))
        graph, path, table = start, EditPath(), FrequencyTable(num_steps + 1)
        for _ in range(num_steps):
            if rng.random() < self.teleport:
                graph, path = start, ()
                continue
            (around,) = subject.scorer.score([graph], embedding=False, sample=self.sample, rng=rng)
            assert around.probability is not None
            keys = around.keys.tolist()
            weights = around.probability * np.fromiter(table.frequency(keys), np.float64, len(keys))
            if not weights.sum() > 0:
                continue
            at = draw(weights, rng)
            graph, path = apply_edit(graph, around.table[at]), (*path, around.table[at])
            accepted = bool(around.probability[at] > 0.5)
            table.visit(keys[at], accepted=accepted)
            if accepted:
                met.setdefault(keys[at], (graph, path))
        if not met:
            return ()
        (origin,), (size,) = embedded(subject, [start])
        ends, sizes = embedded(subject, [graph for graph, _ in met.values()])
        nearest = int(normalised_distances(origin, size, ends, sizes).argmin())
        return (list(met.values())[nearest][1],)
