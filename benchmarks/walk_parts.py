"""What parts of a walk are worth: processor time with and without the cache of neighbourhoods and the progress of shards.

    python benchmarks/walk_parts.py                                 # the planted molecules, untrained models
    python benchmarks/walk_parts.py --dataset aids --checkpoints DIR

The walks take turns on one core and all find the same candidates; ratios are of the least of three times each.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import released
from comrecgc.algorithms.paper.walk import MultiHeadWalk, ShardedWalk
from comrecgc.run import RunContext
from comrecgc.scoring import NeighbourhoodScorer


def main() -> None:
    arguments = parse_arguments()
    subject = released.load(arguments)
    rejects = list(subject.rejects())
    scorer = NeighbourhoodScorer(subject.classifier, subject.embedder, subject.dataset.num_labels, num_threads=1)
    walk = MultiHeadWalk(num_steps=arguments.steps, max_distance=released.theta_of(arguments), max_cost=2)
    variants = {
        "as it is": (walk, True),
        "without the cache": (replace(walk, cache_bytes=1), True),
        "without progress": (walk, False),
    }
    seconds: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(4):  # the first compiles
        for name, (variant, shown) in variants.items():
            bar = (lambda *_: None) if shown else None
            started = time.process_time()
            pool = ShardedWalk(walk=variant, num_shards=2).run(scorer, rejects, RunContext(jobs=1, progress=bar))
            seconds[name].append(time.process_time() - started)
    print(f"{subject.dataset.name}: {len(rejects)} rejects, {arguments.steps} steps, {len(pool)} candidates")
    least = {name: min(times[1:]) for name, times in seconds.items()}
    for name, value in least.items():
        print(f"  {name:20} {value:6.2f} s, {value / least['as it is']:.2f} times")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="What parts of a walk are worth")
    released.add_arguments(parser)
    parser.add_argument("--steps", type=int, default=400)
    return parser.parse_args()


if __name__ == "__main__":
    main()
