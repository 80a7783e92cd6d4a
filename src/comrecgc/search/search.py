"""Search beyond the paper: sweep every input's neighbours, then walk uncovered inputs towards the recourses others share."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from comrecgc.errors import InputError
from comrecgc.graphs import Graph
from comrecgc.neighbourhood import NeighbourhoodScorer
from comrecgc.recourse.ball import BallCover
from comrecgc.search.rounds import Searcher
from comrecgc.search.state import SearchProgress, SearchState
from comrecgc.search.storage import load_search, save_search, search_facts


@dataclass(frozen=True, kw_only=True)
class DirectedSearch:
    """Anytime search for counterfactuals that share few recourses.

    Round 0 looks at every one-edit neighbour of every input and keeps accepted ones within θ. Every further round
    chooses provisional centres by ball cover and, for each input that none covers, expands the graphs seen so far whose
    recourse lies nearest to some centre: first the best for each of several centres, then the best overall. Effort
    moves to the inputs that remain. It ends when rounds bring nothing, when all are covered, or when time is up.

    Args:
        theta: Largest distance `θ` of a counterfactual.
        cover: How centres are chosen.
        max_rounds: Rounds after the sweep, at most.
        effort: Expansions a round spends on uncovered inputs, per input of the run; each is one scored neighbourhood.
        head_effort: The same, on inputs that none of the first tenth of the centres covers.
        most_expansions: Expansions of one input in one round, at most.
        patience: It ends when this many rounds together bring less than `least_gain`.
        least_gain: Share of the inputs.
        num_found: Counterfactuals kept per input: half nearest to centres, half as if drawn at random.
        num_frontier: Unexpanded graphs kept per input.
        reach: How far from the input graphs may lie to be expanded, in `θ`.
        max_neighbours: Neighbours scored of one graph; of more, a uniform sample.
        max_leads: Graphs kept in all, about 0.5 kB each at width 64; of more inputs, fewer graphs each are kept.
    """

    theta: float
    cover: BallCover
    max_rounds: int = 20
    effort: float = 4.0
    head_effort: float = 1.0
    most_expansions: int = 24
    patience: int = 3
    least_gain: float = 0.002
    num_found: int = 96
    num_frontier: int = 64
    reach: float = 1.5
    max_neighbours: int = 20_000
    max_leads: int = 2_000_000

    def __post_init__(self) -> None:
        if not 0 < self.theta < math.inf:
            raise InputError(f"theta must be positive and finite (got {self.theta})")
        for name in ("most_expansions", "patience", "num_found", "num_frontier", "max_neighbours", "max_leads"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1 (got {getattr(self, name)})")
        if self.max_rounds < 0:
            raise InputError(f"max_rounds must not be negative (got {self.max_rounds})")
        if not self.effort > 0:
            raise InputError(f"effort must be positive (got {self.effort})")
        for name in ("head_effort", "least_gain"):
            if not getattr(self, name) >= 0:
                raise InputError(f"{name} must not be negative (got {getattr(self, name)})")
        if not self.reach >= 1:
            raise InputError(f"reach must be at least 1 (got {self.reach})")

    def run(
        self,
        scorer: NeighbourhoodScorer,
        inputs: Sequence[Graph],
        *,
        seed: int = 0,
        deadline: float | None = None,
        progress: Callable[[SearchProgress], None] | None = None,
        checkpoint: Path | None = None,
        resume: bool = False,
        checkpoint_seconds: float = 30.0,
    ) -> SearchState:
        """Search from the rejected graphs.

        Args:
            scorer: Scores neighbourhoods; its constraint holds for every edit.
            inputs: The rejected graphs, with fresh ids.
            seed: Seed of all draws.
            deadline: When to stop expanding, as `time.monotonic()` counts; centres for what was found by then are still
                chosen. The checkpoint keeps the search as it was before that, to go on from with more time.
            progress: Called now and then with how far the search has come.
            checkpoint: An `.npz` file that keeps the search; None keeps none.
            resume: Go on from the checkpoint, if there is one.
            checkpoint_seconds: Time between two checkpoints.
        """
        searcher = Searcher(self._sized(len(inputs)), scorer, deadline)
        state = searcher.begin(inputs, seed)
        facts = {} if checkpoint is None else search_facts(self, scorer, state)
        if resume and checkpoint is not None and checkpoint.exists():
            state = load_search(checkpoint, state, facts)
        saved = time.monotonic()
        while not state.ended:
            before, state = state, searcher.step(state)
            if progress is not None:
                progress(state.progress)
            if checkpoint is not None and (state.ended or time.monotonic() - saved >= checkpoint_seconds):
                was_cut = state.ended and not state.complete
                save_search(checkpoint, before if was_cut else state, facts)
                saved = time.monotonic()
        return state

    def _sized(self, num_inputs: int) -> DirectedSearch:
        """The same search, keeping so few graphs of each input that all together stay within `max_leads`."""
        share = min(1.0, self.max_leads / max(1, num_inputs * (self.num_found + self.num_frontier)))
        found, frontier = (max(1, int(share * most)) for most in (self.num_found, self.num_frontier))
        return replace(self, num_found=found, num_frontier=frontier)
