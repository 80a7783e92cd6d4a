"""GCFExplainer (Huang et al., WSDM 2023): a vertex-reinforced random walk over graphs for a few global counterfactuals.

One head walks by single edits. It prefers graphs that are likely accepted, near many inputs, near inputs that nothing found so far is
near to, and visited before. Now and then it goes back to an input that few counterfactuals are near to.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np

from comrecgc.algorithms.baselines.gcf_checkpoint import load_walk, save_walk
from comrecgc.algorithms.baselines.gcf_walk import GcfWalker
from comrecgc.algorithms.baselines.source import (
    CHECKPOINT,
    Counterfactuals,
    Progress,
    Subject,
    embedded,
    run_facts,
    walk_on,
)
from comrecgc.cover import nearest_of_all
from comrecgc.errors import InputError

IDENTITIES = ("graph", "path")
_REPORTED = 20  # steps between two reports


@dataclass(frozen=True, kw_only=True)
class GcfExplainer:
    """GCFExplainer's walk.

    Args:
        num_steps: `M`.
        teleport: `τ`, the probability of a step back to an input.
        theta: Normalised distance within which a graph covers an input during the walk.
        alpha: Weight of all inputs covered against inputs that nothing else covers, 0 to 1.
        capacity: Graphs the table of visits holds.
        sample: Edits looked at of a graph that has more, drawn once per graph; None for all.
        reinforcement: Whether visits count; without, all graphs are as if never seen.
        importance: Whether acceptance and coverage count; without, only visits do.
        dynamic_teleport: Whether inputs that few counterfactuals cover are gone back to more often; without, all alike.
        lazy: Whether to look at some of many options only.
        identity: When two graphs are the same: "graph" if they are isomorphic, "path" if they are also reached by the same edits from
            the same input. The released code knows graphs by the bytes of an embedding, whose last bits depend on the order of nodes
            and on the batch; its tables are as large as "path" gives them, or larger.
        cache_bytes: Memory for neighbourhoods scored before.
    """

    num_steps: int = 50_000
    teleport: float = 0.1
    theta: float = 0.05
    alpha: float = 0.5
    capacity: int = 100_000
    sample: int | None = 10_000
    reinforcement: bool = True
    importance: bool = True
    dynamic_teleport: bool = True
    lazy: bool = True
    identity: str = "path"
    cache_bytes: int = 512 << 20
    few: ClassVar[str] = "greedy"  # how COMRECGC's FC row takes no more counterfactuals than there are inputs

    def __post_init__(self) -> None:
        for name in ("num_steps", "capacity", "sample"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name} must be at least 1 (got {value})")
        if not 0 < self.teleport < 1:
            raise InputError(f"teleport must lie strictly between 0 and 1 (got {self.teleport})")
        if not self.theta > 0:
            raise InputError(f"theta must be positive (got {self.theta})")
        if self.identity not in IDENTITIES:
            raise InputError(f"identity must be one of {', '.join(IDENTITIES)} (got {self.identity!r})")
        if not 0 <= self.alpha <= 1:
            raise InputError(f"alpha must lie in [0, 1] (got {self.alpha})")
        if self.cache_bytes < 0:
            raise InputError(f"cache_bytes must not be negative (got {self.cache_bytes})")

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
        """Walk, and take every accepted graph of the table, most visited first."""
        if not subject.inputs:
            return Counterfactuals(())
        facts = run_facts(self, subject, rng) | {"baseline": "GcfExplainer"}  # what takes from this walk can share it
        del facts["options"]["cache_bytes"]
        path = None if checkpoint is None else checkpoint / CHECKPOINT
        walker = GcfWalker(self, subject, seed=int(rng.integers(2**63)))
        state = load_walk(path, walker, facts) if resume and path is not None and path.exists() else walker.begin(rng)
        walk_on(
            state, walker.step, self.num_steps, reported=_REPORTED, deadline=deadline, progress=progress,
            save=None if path is None else partial(save_walk, path, state, facts),
        )  # fmt: skip
        return Counterfactuals(walker.found(state), complete=state.step >= self.num_steps)


# The nearest of GCFExplainer's counterfactuals to each input: what COMRECGC's tables call LocalRWExplainer.


@dataclass(frozen=True, kw_only=True)
class GcfNearest(GcfExplainer):
    """GCFExplainer's walk; of what it finds, the counterfactuals nearest to some input, however far. Options as of the walk."""

    few: ClassVar[str] = "all"

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
        """Walk, and take the nearest."""
        walked = super().run(subject, rng, deadline=deadline, progress=progress, checkpoint=checkpoint, resume=resume)
        if not walked.found:
            return walked
        nearest = nearest_of_all(
            *embedded(subject, subject.inputs), *embedded(subject, [each.graph for each in walked.found])
        )
        return Counterfactuals(tuple(walked.found[i] for i in nearest.tolist()), walked.complete)
