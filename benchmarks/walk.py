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

from comrecgc.classifiers import GraphClassifier, load_classifier, predict
from comrecgc.datasets import GraphDataset, load_dataset
from comrecgc.embedding import Greed, load_embedder
from comrecgc.graphs import Graph, GraphBatch
from comrecgc.neighbourhood import NeighbourhoodScorer
from comrecgc.terminal import bars
from comrecgc.walk import Candidate, MultiHeadWalk, ShardedWalk


def main() -> None:
    arguments = parse_arguments()
    dataset = load_dataset(arguments.dataset, root=arguments.data_root)
    classifier, embedder = load_models(dataset, arguments.checkpoints)
    rejects = [dataset[int(i)] for i in predict(classifier, dataset).rejects]
    walk = MultiHeadWalk(
        num_heads=arguments.heads,
        num_steps=arguments.steps,
        max_distance=arguments.max_distance,
        sample=arguments.sample or None,
    )
    sharded = ShardedWalk(walk=walk, num_shards=arguments.jobs, seed=arguments.seed)
    scorer = NeighbourhoodScorer(classifier, embedder, dataset.num_labels, num_threads=1)
    started = time.monotonic()
    with bars() as bar:
        pool = list(sharded.run(scorer, rejects, jobs=arguments.jobs, bar=bar))
    seconds = time.monotonic() - started
    print(f"{dataset.name}: {len(rejects)} rejects, k={walk.num_heads}, M={walk.num_steps}, {arguments.jobs} shards")
    limit = (
        "none" if walk.max_distance is None else f"{walk.max_distance:g} = {walk.max_distance / arguments.theta:.2f} θ"
    )
    print(f"  distance limit {limit}, edits looked at {walk.sample or 'all'}")
    print(
        f"  {seconds / 60:.1f} min, {walk.num_steps / seconds:.1f} steps/s (50,000 steps in "
        f"{seconds / walk.num_steps * 50_000 / 60:.0f} min), peak {peak_gigabytes(arguments.jobs):.1f} GB"
    )
    print(f"  nodes: inputs {mean_nodes(rejects):.1f}, candidates {mean_nodes([each.graph for each in pool]):.1f}")
    print(
        f"  {len(pool)} candidates; inputs within {arguments.theta}: {share_within(rejects, pool, embedder, arguments.theta):.1%}"
    )
    steps = Counter(min(len(candidate.path), 20) for candidate in pool)
    spread = ", ".join(
        f"{length if length < 20 else '20+'}: {steps[length] / len(pool):.0%}" for length in sorted(steps)
    )
    print(f"  edits from the start: {spread}")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="A whole walk")
    parser.add_argument("--dataset", default="planted")
    parser.add_argument("--checkpoints", type=Path, help="folder with DATASET/classifier.pth and DATASET/greed.pt")
    parser.add_argument("--data-root", type=Path)
    parser.add_argument("--heads", type=int, default=5)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--theta", type=float, help="default 0.1, 0.15 for proteins")
    parser.add_argument(
        "--max-distance", type=float, help="how far heads may go; the paper has 1.5 times theta; default any"
    )
    parser.add_argument(
        "--sample", type=int, default=10_000, help="edits looked at of larger neighbourhoods; 0 for all"
    )
    parser.add_argument("--jobs", type=int, default=2, help="shards, each a process")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    arguments.theta = arguments.theta or (0.15 if arguments.dataset == "proteins" else 0.1)
    arguments.steps = arguments.steps or (2000 if arguments.dataset == "planted" else 50_000)
    return arguments


def load_models(dataset: GraphDataset, checkpoints: Path | None) -> tuple[GraphClassifier, Greed]:
    if checkpoints is not None:
        folder = checkpoints / dataset.name
        return load_classifier(folder / "classifier.pth"), load_embedder(folder / "greed.pt")
    torch.manual_seed(0)
    return GraphClassifier("gcn", dataset.num_labels).eval(), Greed(dataset.num_labels)


def mean_nodes(graphs: Sequence[Graph]) -> float:
    return float(np.mean([graph.num_nodes for graph in graphs])) if graphs else 0.0


def share_within(rejects: Sequence[Graph], pool: Sequence[Candidate], embedder: Greed, theta: float) -> float:
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


def peak_gigabytes(jobs: int) -> float:
    """Peak memory of this process and its workers together, at most."""
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    largest_worker = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss if jobs > 1 else 0
    return float(np.ceil((own + jobs * largest_worker) / 1024**2 * 10) / 10)


if __name__ == "__main__":
    main()
