"""The walk of the paper (COMRECGC, ICML 2025) as a source of counterfactuals."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from comrecgc.algorithms.base import PAPER_DELTA, VectorAlgorithm, VectorTask, option
from comrecgc.algorithms.checkpoint import Reached
from comrecgc.algorithms.inputs import Rejects
from comrecgc.algorithms.paper.shards import ShardedWalk
from comrecgc.algorithms.paper.walk import MultiHeadWalk
from comrecgc.algorithms.plausibility import Plausibility
from comrecgc.algorithms.vectors.candidates import Candidates, pair_candidates
from comrecgc.graphs import Graph
from comrecgc.run import RunContext
from comrecgc.scoring import NeighbourhoodScorer

_WALK_REACH = 1.0  # in θ: how far from their inputs heads go; nothing beyond θ can be a counterfactual
_WALK_COST = 2  # elements of their inputs heads change at once, where that is enough: a leaf and its edge, or two edits
_ENOUGH = 0.9  # share of the inputs that one edit must turn into accepted ones for that,
_LOOKED_AT = 200  # of so many inputs
_MAX_CANDIDATES = 100_000
_NUM_SHARDS = 2


@dataclass(frozen=True, kw_only=True)
class PaperWalk(VectorAlgorithm):
    """COMRECGC (ICML 2025): the multi-head vertex-reinforced walk and clusters of the paper's text."""

    name: ClassVar[str] = "paper"

    changes: str = "any"
    delta: float | str = PAPER_DELTA
    selection: str = "dbscan"
    num_heads: int = option(5, "k: heads of the walk.", least=1)
    num_steps: int = option(50_000, "M: steps of the walk.", least=1)
    teleport: float = option(0.05, "τ: probability of a step back to the inputs.", above=0, below=1)

    def find(
        self,
        task: VectorTask,
        scorer: NeighbourhoodScorer,
        rejects: Rejects,
        plausibility: Plausibility,  # noqa: ARG002
        context: RunContext,
    ) -> Candidates:
        """Walk; every input is paired with every candidate within θ, whichever input it was reached from."""
        inputs, found = rejects.graphs, list[Reached]()
        deadline = context.clock.search_deadline(len(rejects))
        if inputs:
            walk = MultiHeadWalk(
                num_heads=min(self.num_heads, len(inputs)),
                num_steps=self.num_steps,
                teleport=self.teleport,
                capacity=_MAX_CANDIDATES,
                max_distance=_WALK_REACH * task.theta,
                max_cost=max_walk_cost(scorer, inputs, task.random_state),
            )
            sharded = ShardedWalk(
                walk=walk,
                num_shards=min(_NUM_SHARDS, self.num_steps),
                seed=task.random_state,
                checkpoint=context.folder,
            )
            found = sharded.run(
                scorer, inputs, jobs=context.num_jobs, resume=context.resume, deadline=deadline, bar=context.report
            )
        assert scorer.embedder is not None
        rows = [(reached.graph, reached.start, reached.path) for reached in found]
        candidates = pair_candidates(rejects, scorer.embedder, rows, task.theta, own_only=self.changes != "any")
        return replace(candidates, complete=deadline is None or time.monotonic() < deadline)


def max_walk_cost(scorer: NeighbourhoodScorer, inputs: Sequence[Graph], seed: int) -> int | None:
    """How many elements of their inputs heads may change at once: two where one edit flips nearly every input.

    The recourses of few edits are those that inputs share. Where one edit is not enough, any number may be changed.
    """
    rng = np.random.default_rng(seed)
    some = [inputs[i] for i in rng.permutation(len(inputs))[:_LOOKED_AT]]
    around = scorer.score(some, embedding=False, sample=MultiHeadWalk.sample, rng=rng)
    flips = [hood.probability is not None and bool((hood.probability > 0.5).any()) for hood in around]
    return _WALK_COST if np.mean(flips) >= _ENOUGH else None
