"""The share of rejected graphs that R common recourses explain: coverage, length, minutes and peak memory of a whole run.

    python benchmarks/explain.py                                          # the planted molecules, models trained in a minute
    python benchmarks/explain.py --dataset aids --checkpoints DIR         # a benchmark with the released models in DIR/aids/
    python benchmarks/explain.py --dataset aids --checkpoints DIR --preset paper
    python benchmarks/explain.py --dataset aids --checkpoints DIR --held-out

`--held-out` finds recourses on 80% of the rejects and applies them to the other 20%, which the search never saw.
"""

from __future__ import annotations

import argparse
import resource
import time
from pathlib import Path

import numpy as np

import released
from comrecgc.algorithms.registry import algorithm_of
from comrecgc.data import GraphDataset
from comrecgc.explainer import CommonRecourseExplainer
from comrecgc.explanation import Explanation
from comrecgc.models import (
    ClassifierTraining,
    EmbedderTraining,
    GraphClassifier,
    Greed,
    train_classifier,
    train_embedder,
)
from comrecgc.run import RunContext


def main() -> None:
    arguments = parse_arguments()
    subject = released.load(arguments, without=trained)
    rejects = subject.rejects()
    order = np.random.default_rng(arguments.seed).permutation(len(rejects))
    shown = np.sort(order[len(order) // 5 :]) if arguments.held_out else np.arange(len(rejects))
    delta = arguments.delta if arguments.delta == "auto" else float(arguments.delta)
    given = {"embedder": subject.embedder, "changes": "any", "delta": delta}
    given |= {"selection": arguments.selection} if arguments.selection else {}
    given |= {"num_steps": arguments.steps} if arguments.preset == "paper" else {}
    explainer = CommonRecourseExplainer(
        subject.classifier,
        algorithm_of("paper" if arguments.preset == "paper" else "vectors", given),
        theta=released.theta_of(arguments),
        num_recourses=arguments.recourses,
        random_state=arguments.seed,
        context=RunContext(
            time_budget=arguments.time_budget,
            jobs=arguments.jobs,
            checkpoint=arguments.checkpoint,
            resume=arguments.checkpoint is not None,
        ),
    )
    started = time.monotonic()
    found = explainer.fit(rejects.subset(shown)).explanation_
    minutes = (time.monotonic() - started) / 60
    print(f"{subject.dataset.name}: {len(shown)} rejects, {explainer}")
    print_figures(found, minutes)
    if arguments.held_out:
        unseen = explainer.explain(rejects.subset(np.sort(order[: len(order) // 5])))
        print(f"  held out: {unseen.coverage:.1%} of {len(unseen.inputs)} unseen rejects (seen: {found.coverage:.1%})")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Coverage of a whole run")
    released.add_arguments(parser)
    parser.add_argument("--preset", choices=("default", "paper"), default="default")
    parser.add_argument("--selection", choices=("ball", "dbscan"))
    parser.add_argument("--delta", default="0.02")
    parser.add_argument("--recourses", type=int, default=100)
    parser.add_argument("--steps", type=int, default=50_000, help="of the paper's walk")
    parser.add_argument("--time-budget", type=float)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--checkpoint", type=Path, help="folder that keeps the search, or a walk of benchmarks/walk.py")
    parser.add_argument("--held-out", action="store_true")
    return parser.parse_args()


def trained(dataset: GraphDataset) -> tuple[GraphClassifier, Greed]:
    """Models trained in a minute."""
    model = train_classifier(dataset, ClassifierTraining(epochs=300, patience=60)).model
    return model, train_embedder(dataset.graphs, dataset.num_labels, EmbedderTraining(effort=0.06))


def print_figures(found: Explanation, minutes: float) -> None:
    curve = found.coverage_curve
    at = {size: curve[min(size, len(curve)) - 1] if curve else 0.0 for size in (1, 10, 100)}
    print("  coverage " + ", ".join(f"R={size}: {share:.1%}" for size, share in at.items()))
    print("  " + ", ".join(f"{name} {value:.4g}" for name, value in found.metrics.items()))
    seconds = ", ".join(f"{stage} {spent:.0f} s" for stage, spent in found.facts.seconds.items())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024**2
    print(f"  {minutes:.1f} min ({seconds}); peak {peak:.1f} GB, largest worker {children:.1f} GB")


if __name__ == "__main__":
    main()
