"""What the search for pairs of changes misses: every pair of cheap changes of small graphs, made and scored.

    python benchmarks/all_pairs.py --dataset aids --checkpoints DIR [--inputs 100] [--cost 3]

Each of two changes costs at most `--cost` elements, and groups have one node. Only the result has to be plausible: rows tell pairs of
changes that are plausible by themselves from all pairs.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from comrecgc.algorithms.inputs import Rejects
from comrecgc.algorithms.rules.composition import composite_keys
from comrecgc.algorithms.rules.mining import ACCEPTED, ChangeScorer, Oracle
from comrecgc.algorithms.rules.vocabulary import Vocabulary
from comrecgc.cover import greedy_cover
from comrecgc.data import load_dataset, paper_theta
from comrecgc.graphs import Rung
from comrecgc.models import load_classifier, predict
from comrecgc.run import reproducible

_AT_ONCE = 400_000
Turned = dict[int, set[int]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", required=True)
    parser.add_argument("--checkpoints", type=Path, required=True)
    parser.add_argument("--inputs", type=int, help="so many rejects, drawn at random; all by default")
    parser.add_argument("--cost", type=int, default=3)
    options = parser.parse_args()
    dataset, theta = load_dataset(options.dataset), paper_theta(options.dataset)
    classifier = load_classifier(options.checkpoints / options.dataset / "classifier.pth")
    with reproducible():
        rejects = Rejects.of(dataset, predict(classifier, dataset)).graphs
        order = np.random.default_rng(0).permutation(len(rejects))
        inputs = [rejects[i] for i in np.sort(order[: options.inputs]).tolist()]
        vocabulary = Vocabulary.of(dataset, rung=Rung.PLAUSIBLE, theta=theta)
        small = np.array([len(group.labels) == 1 for group in vocabulary.groups])
        loose = replace(vocabulary, rung=Rung.ANY, offered=vocabulary.offered & small)
        judging, oracle = ChangeScorer(inputs=inputs, vocabulary=vocabulary), Oracle(classifier=classifier)
        started = time.process_time()
        singles = ChangeScorer(inputs=inputs, vocabulary=loose).changes(oracle)
        plausible = np.isfinite(judging.margins(classifier, singles.input, singles.change))
        alone: Turned = {}
        steps: Turned = {}
        anyhow: Turned = {}
        tried = 0
        for i, graph in enumerate(inputs):
            rows = np.flatnonzero((singles.input == i) & (singles.cost <= options.cost))
            for row in rows[plausible[rows] & (singles.margin[rows] > ACCEPTED)]:
                alone.setdefault(int(singles.rule[row, 0]), set()).add(i)
            one, other = (rows[side] for side in np.triu_indices(len(rows), 1))
            cost, grown = singles.cost[one] + singles.cost[other], singles.grown[one] + singles.grown[other]
            near = cost <= theta * (2 * graph.size + grown)
            one, other = one[near], other[near]
            tried += len(one)
            for first in range(0, len(one), _AT_ONCE):
                a, b = one[first : first + _AT_ONCE], other[first : first + _AT_ONCE]
                changes = np.concatenate([singles.change[a], singles.change[b]], axis=1)
                turns = judging.margins(classifier, np.full(len(a), i, np.int32), changes) > ACCEPTED
                keys = composite_keys(np.stack([singles.rule[a, 0], singles.rule[b, 0]], axis=1), changes)
                for found, mask in ((steps, turns & plausible[a] & plausible[b]), (anyhow, turns)):
                    for key in np.unique(keys[mask]).tolist():
                        found.setdefault(key, set()).add(i)
    print(
        f"{dataset.name}: {len(inputs)} rejects, {tried / len(inputs):,.0f} pairs each, {time.process_time() - started:.0f} s of one core"
    )
    for name, found in (("one change", {}), ("pairs of plausible changes", steps), ("all pairs", anyhow)):
        print(f"  {name:28}{covered(alone | found, len(inputs))}")


def covered(found: Mapping[int, set[int]], num_inputs: int) -> str:
    """Share of the inputs that the best 1, 3 and 10 rules turn, and all of them."""
    incidence = np.zeros((len(found), num_inputs), bool)
    for row, items in enumerate(found.values()):
        incidence[row, list(items)] = True
    curve = np.cumsum(greedy_cover(incidence, 10).gains) / num_inputs
    shares = [curve[min(budget, len(curve)) - 1] if len(curve) else 0.0 for budget in (1, 3, 10)]
    return " / ".join(f"{share:.1%}" for share in (*shares, incidence.any(axis=0).mean()))


if __name__ == "__main__":
    main()
