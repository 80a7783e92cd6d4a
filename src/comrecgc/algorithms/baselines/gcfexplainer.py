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

from comrecgc.algorithms.base import option
from comrecgc.algorithms.baselines.baseline import Baseline
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

IDENTITIES = ("graph", "path")
_REPORTED = 20  # steps between two reports


@dataclass(frozen=True, kw_only=True)
class GCFExplainer(Baseline):
    """GCFExplainer's walk (Huang et al., WSDM 2023).

    The released code knows graphs by the bytes of an embedding, whose last bits depend on the order of nodes and on the batch; its tables
    are as large as `identity="path"` gives them, or larger.
    """

    name: ClassVar[str] = "gcfexplainer"
    few: ClassVar[str] = "greedy"

    num_steps: int = option(50_000, "M: steps of the walk.", least=1)
    teleport: float = option(0.1, "τ: probability of a step back to an input.", above=0, below=1)
    walk_theta: float = option(
        0.05, "Normalised distance within which a graph covers an input during the walk.", above=0
    )
    alpha: float = option(0.5, "Weight of all inputs covered against inputs that nothing else covers.", least=0, most=1)
    capacity: int = option(100_000, "Graphs the table of visits holds.", least=1)
    sample: int | None = option(10_000, "Edits scored of a graph that has more; all without a limit.", least=1)
    reinforcement: bool = option(True, "Whether visits count; without, all graphs are as if never seen.")
    importance: bool = option(True, "Whether acceptance and coverage count; without, only visits do.")
    dynamic_teleport: bool = option(True, "Whether inputs that few counterfactuals cover are gone back to more often.")
    lazy: bool = option(True, "Whether to look at some of many options only.")
    identity: str = option(
        "path",
        "When two graphs are the same: isomorphic (graph), or also reached by the same edits (path).",
        choices=IDENTITIES,
    )
    cache_bytes: int = option(512 << 20, "Memory for neighbourhoods scored before.", least=0, command_line=False)

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
        facts = run_facts(self, subject, rng) | {
            "baseline": GCFExplainer.name
        }  # what takes from this walk can share it
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
class GCFNearest(GCFExplainer):
    """GCFExplainer's walk; of what it finds, the counterfactuals nearest to some input, however far: the LocalRWExplainer of COMRECGC's tables."""

    name: ClassVar[str] = "gcf-nearest"
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
