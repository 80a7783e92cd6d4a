"""A whole walk: minutes, steps per second, peak memory, candidates, and how far from the inputs they are.

    python benchmarks/walk.py                                       # the planted molecules, untrained models, a minute
    python benchmarks/walk.py --dataset aids --checkpoints DIR      # a benchmark with the released models in DIR/aids/

Every shard is a process on one core. The share of inputs with a counterfactual within θ is over all pairs of inputs and
candidates, as the next stage sees them.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

import released
from comrecgc.algorithms.checkpoint import Reached
from comrecgc.algorithms.paper.walk import MultiHeadWalk, ShardedWalk
from comrecgc.graphs import Graph, GraphBatch, simplify_path
from comrecgc.models import Greed
from comrecgc.run import RunContext, bars
from comrecgc.scoring import NeighbourhoodScorer


def main() -> None:
    arguments = parse_arguments()
    subject = released.load(arguments)
    dataset, embedder = subject.dataset, subject.embedder
    rejects = list(subject.rejects())
    walk = MultiHeadWalk(
        num_heads=arguments.heads,
        num_steps=arguments.steps,
        max_distance=arguments.reach and arguments.reach * arguments.theta,
        max_cost=arguments.cost,
        sample=arguments.sample or None,
    )
    sharded = ShardedWalk(walk=walk, num_shards=arguments.jobs, seed=arguments.seed)
    scorer = NeighbourhoodScorer(subject.classifier, embedder, dataset.num_labels, num_threads=1)
    started = time.monotonic()
    with bars() as bar:
        pool = list(
            sharded.run(
                scorer,
                rejects,
                RunContext(jobs=arguments.jobs, progress=bar, checkpoint=arguments.checkpoint, resume=arguments.resume),
            )
        )
    seconds = time.monotonic() - started
    print(f"{dataset.name}: {len(rejects)} rejects, k={walk.num_heads}, M={walk.num_steps}, {arguments.jobs} shards")
    limit = "none" if arguments.reach is None else f"{arguments.reach:g} θ"
    print(
        f"  distance limit {limit}, changed at once at most {walk.max_cost or 'any'}, edits looked at {walk.sample or 'all'}"
    )
    print(
        f"  {seconds / 60:.1f} min, {walk.num_steps / seconds:.1f} steps/s (50,000 steps in "
        f"{seconds / walk.num_steps * 50_000 / 60:.0f} min), {cpu_seconds() / 60:.1f} CPU min, "
        f"peak {peak_gigabytes(arguments.jobs):.1f} GB"
    )
    print(f"  nodes: inputs {mean_nodes(rejects):.1f}, candidates {mean_nodes([each.graph for each in pool]):.1f}")
    print(
        f"  {len(pool)} candidates; inputs within {arguments.theta}: {share_within(rejects, pool, embedder, arguments.theta):.1%}"
    )
    print(f"  moves from the start: {spread([len(candidate.path) for candidate in pool])}")
    shown = [pool[i] for i in np.unique(np.linspace(0, len(pool) - 1, 2000).astype(int))] if pool else []
    net = [len(simplify_path(rejects[candidate.start], candidate.path)) for candidate in shown]
    print(f"  edits from the start, moves that cancel aside: {spread(net)}")


def spread(lengths: Sequence[int]) -> str:
    counts = Counter(min(length, 20) for length in lengths)
    return ", ".join(
        f"{length if length < 20 else '20+'}: {counts[length] / len(lengths):.0%}" for length in sorted(counts)
    )


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="A whole walk")
    released.add_arguments(parser)
    parser.add_argument("--heads", type=int, default=5)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--reach", type=float, help="how far heads may go, in theta; the paper has 1.5; default any")
    parser.add_argument("--cost", type=int, help="elements of its input a head may have changed at once; default any")
    parser.add_argument("--sample", type=int, default=2000, help="edits looked at of larger neighbourhoods; 0 for all")
    parser.add_argument("--jobs", type=int, default=2, help="shards, each a process")
    parser.add_argument("--checkpoint", type=Path, help="folder that keeps the walk")
    parser.add_argument("--resume", action="store_true", help="go on from there; times are those of what is left")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    arguments.theta = released.theta_of(arguments)
    arguments.steps = arguments.steps or (2000 if arguments.dataset == "planted" else 50_000)
    return arguments


def mean_nodes(graphs: Sequence[Graph]) -> float:
    return float(np.mean([graph.num_nodes for graph in graphs])) if graphs else 0.0


def share_within(rejects: Sequence[Graph], pool: Sequence[Reached], embedder: Greed, theta: float) -> float:
    """Share of inputs with some candidate at normalised distance at most θ."""
    origins = torch.from_numpy(embedder.embed(GraphBatch.from_graphs(rejects)))
    sizes = torch.tensor([graph.size for graph in rejects])
    covered = torch.zeros(len(rejects), dtype=torch.bool)
    for start in range(0, len(pool), 2000):
        graphs = [candidate.graph for candidate in pool[start : start + 2000]]
        reached = torch.from_numpy(embedder.embed(GraphBatch.from_graphs(graphs)))
        distance = torch.cdist(origins, reached, compute_mode="donot_use_mm_for_euclid_dist")
        elements = sizes[:, None] + torch.tensor([graph.size for graph in graphs])
        covered |= (distance <= theta * elements).any(dim=1)
    return float(covered.float().mean())


def cpu_seconds() -> float:
    """Processor time of this process and its workers together: what a busy machine does not change much."""
    return sum(
        used.ru_utime + used.ru_stime
        for used in (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def peak_gigabytes(jobs: int) -> float:
    """Peak memory of this process and its workers together, at most."""
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    largest_worker = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss if jobs > 1 else 0
    return float(np.ceil((own + jobs * largest_worker) / 1024**2 * 10) / 10)


if __name__ == "__main__":
    main()
