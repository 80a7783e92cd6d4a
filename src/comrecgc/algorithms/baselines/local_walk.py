"""LocalRWExplainer of COMRECGC's text (ICML 2025): a random walk around each input, and the nearest counterfactual it meets.

The rows of COMRECGC's tables are another method, `GCFNearest`. The text does not define the walk. Here each input has its own reinforced walk:
a neighbour is drawn with its probability of accept times its frequency, with no regard to other inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from comrecgc.algorithms.base import option
from comrecgc.algorithms.baselines.baseline import Baseline, Counterfactuals, Subject, explain_each
from comrecgc.algorithms.reinforced_walk import FrequencyTable, ReinforcedWalk, WalkState, draw
from comrecgc.cover import normalised_distances
from comrecgc.graphs import EditPath, Graph, apply_edit
from comrecgc.run import UNLIMITED, RunContext


@dataclass(frozen=True, kw_only=True)
class LocalWalk(Baseline):
    """One walk per input: LocalRWExplainer as described in COMRECGC's text."""

    name: ClassVar[str] = "localwalk"

    num_steps: int = option(50_000, "Steps of all walks together, shared evenly; each has at least one.", least=1)
    teleport: float = option(0.1, "τ: probability of a step back to the input.", above=0, below=1)
    sample: int | None = option(1000, "Edits scored of a graph that has more, drawn anew each time.", least=1)

    def run(self, subject: Subject, rng: np.random.Generator, context: RunContext = UNLIMITED) -> Counterfactuals:
        """Walk around one input after the other."""
        if not subject.inputs:
            return Counterfactuals(())
        return explain_each(self, subject, lambda place, own: self._nearest(subject, place, own), rng, context)

    def _nearest(self, subject: Subject, place: int, rng: np.random.Generator) -> Sequence[EditPath]:
        """Edits to the nearest counterfactual that a walk around the input meets; none if it meets none."""
        met = LocalWalker(self, subject, place).run(rng).met
        if not met:
            return ()
        (origin,), (size,) = subject.embedded([subject.inputs[place]])
        ends, sizes = subject.embedded([graph for graph, _ in met.values()])
        nearest = int(normalised_distances(origin, size, ends, sizes).argmin())
        return (list(met.values())[nearest][1],)


@dataclass(eq=False, kw_only=True)
class LocalState(WalkState):
    """A walk around one input at one moment."""

    graph: Graph  # where the head stands
    path: EditPath  # edits from the input to there
    table: FrequencyTable  # visits
    met: dict[int, tuple[Graph, EditPath]]  # accepted graphs and the edits to them, by identity


class LocalWalker(ReinforcedWalk[LocalState]):
    """A walk around one input. It is short, so it has no checkpoints."""

    def __init__(self, walk: LocalWalk, subject: Subject, place: int) -> None:
        super().__init__(max(1, walk.num_steps // len(subject.inputs)), walk.teleport)
        self.walk, self.scorer, self.input = walk, subject.scorer, subject.inputs[place]

    def begin(self, rng: np.random.Generator) -> LocalState:
        """The head on the input."""
        return LocalState(rng=rng, graph=self.input, path=(), table=FrequencyTable(self.num_steps + 1), met={})

    def restart(self, state: LocalState) -> None:
        """Go back to the input."""
        state.graph, state.path = self.input, ()

    def move(self, state: LocalState) -> None:
        """Go to a neighbour drawn by probability of accept times frequency."""
        (around,) = self.scorer.score([state.graph], embedding=False, sample=self.walk.sample, rng=state.rng)
        assert around.probability is not None
        keys = around.keys.tolist()
        weights = around.probability * np.fromiter(state.table.frequency(keys), np.float64, len(keys))
        if not weights.sum() > 0:
            return
        at = draw(weights, state.rng)
        state.graph, state.path = apply_edit(state.graph, around.table[at]), (*state.path, around.table[at])
        accepted = bool(around.probability[at] > 0.5)
        state.table.visit(keys[at], accepted=accepted)
        if accepted:
            state.met.setdefault(keys[at], (state.graph, state.path))
