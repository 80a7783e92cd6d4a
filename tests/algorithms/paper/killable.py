"""A walk that can be killed from outside: `python -m tests.algorithms.paper.killable FOLDER [JOBS [STEPS]]` walks on from there."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from comrecgc.algorithms import checkpoint
from comrecgc.algorithms.checkpoint import Reached
from comrecgc.algorithms.paper.walk import MultiHeadWalk, ShardedWalk
from comrecgc.data import load_planted
from comrecgc.graphs import Constraint, EditKind
from comrecgc.models import GraphClassifier, Greed
from comrecgc.run import RunContext
from comrecgc.scoring import NeighbourhoodScorer

SCORER_INPUTS = sorted(load_planted(), key=lambda graph: graph.num_nodes)[:12]


def small_scorer(seed: int = 0, constraint: Constraint | None = None) -> NeighbourhoodScorer:
    """Untrained models: what they say is arbitrary, and the same every time."""
    torch.manual_seed(seed)
    classifier = GraphClassifier("gcn", load_planted().num_labels, hidden=8).eval()
    embedder = Greed(load_planted().num_labels, num_layers=2, width=16, output_width=16)
    return NeighbourhoodScorer(classifier, embedder, load_planted().num_labels, constraint=constraint, num_threads=1)


def listed(pool: Sequence[Reached]) -> list[tuple[int, float, int, tuple[tuple[EditKind, int, int], ...]]]:
    """Candidates as plain values, to compare."""
    return [(item.key, item.probability, item.start, item.path) for item in pool]


def main(folder: Path, jobs: int = 1, num_steps: int = 400) -> None:
    """Walk with a checkpoint after every step, and print the candidates."""
    walk = MultiHeadWalk(num_heads=3, num_steps=num_steps, teleport=0.1)
    sharded = ShardedWalk(walk=walk, num_shards=2, seed=1)
    checkpoint.SECONDS = 0.0
    scorer = small_scorer()
    scorer.score(SCORER_INPUTS[:1])
    sys.stdout.write("begun\n")
    sys.stdout.flush()
    for row in listed(sharded.run(scorer, SCORER_INPUTS, RunContext(jobs=jobs, checkpoint=folder, resume=True))):
        sys.stdout.write(f"{row}\n")


if __name__ == "__main__":
    torch.set_num_threads(1)
    np.seterr(all="raise", under="ignore")
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
