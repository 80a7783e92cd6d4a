"""The paper's tables of other explainers, ours beside theirs: coverage, cost, minutes and peak memory of each row.

    python benchmarks/baselines.py                                                 # the planted molecules, a minute
    python benchmarks/baselines.py --dataset aids --checkpoints DIR                # a benchmark with the released models in DIR/aids/
    python benchmarks/baselines.py --dataset aids --checkpoints DIR --names gcfexplainer --set alpha=0 --steps 50000
    python benchmarks/baselines.py --dataset aids --checkpoints DIR --speed        # GCFExplainer's steps per second, and of one Data per neighbour

Every row is appended to `--out` as JSON when it is done; a row that is there is not computed again, and one that was interrupted goes on.
Walks are kept beside that file. Each row has: FCR and FC at R = 100 (coverage by members of a cluster strictly within Δ, sum of
lengths, coverage at R = 10), coverage and median cost of ten graphs at θ = 0.1.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Batch

import released
from comrecgc.algorithms.baselines.baseline import Baseline, Counterfactuals, Subject
from comrecgc.algorithms.baselines.gcfexplainer import GCFExplainer, GcfWalker
from comrecgc.algorithms.registry import ALGORITHMS, algorithm_of, owners_of
from comrecgc.cover import PublishedClustering, RecoursePairs, few_counterfactuals, pairs_within, with_counterfactuals
from comrecgc.graphs import GraphBatch, apply_edit, one_edit_table, to_data
from comrecgc.run import RunContext, reproducible
from comrecgc.scoring import NeighbourhoodScorer
from comrecgc_reproduction.summary import summarise

BASELINES = [name for name, made in ALGORITHMS.items() if issubclass(made, Baseline)]
_DELTA, _R, _K, _SUMMARY_THETA = 0.02, 100, 10, 0.1


def main() -> None:
    arguments = parse_arguments()
    subject = as_subject(released.load(arguments), arguments.jobs)
    if arguments.speed:
        print_speed(subject, arguments.seed)
        return
    done = [json.loads(line) for line in arguments.out.read_text().splitlines()] if arguments.out.exists() else []
    options = {name: json.loads(value) for name, _, value in (text.partition("=") for text in arguments.set)}
    for name in arguments.names:
        given = {key: value for key, value in options.items() if name in owners_of(key)}
        if arguments.steps and name in owners_of("num_steps"):
            given.setdefault("num_steps", arguments.steps)
        key = {"dataset": arguments.dataset, "baseline": name, "seed": arguments.seed, "options": given}
        known = [row for row in done if {part: row.get(part) for part in key} == key]
        row = known[0] if known else key | measured(subject, name, given, arguments)
        if not known:
            with arguments.out.open("a") as file:
                file.write(json.dumps(row) + "\n")
        print(json.dumps(row), flush=True)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Other explainers beside the paper's figures")
    released.add_arguments(parser)
    parser.add_argument("--names", nargs="+", default=["dataset", "published", "gcfexplainer"], choices=BASELINES)
    parser.add_argument("--set", nargs="*", default=[], help="options of the baselines, as NAME=VALUE")
    parser.add_argument("--steps", type=int, help="of the walks; their own default unless said, 500 for planted")
    parser.add_argument("--min-samples", type=int, help="2 unless said; 3 for mutagenicity, 1 for dataset")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("baselines.jsonl"))
    parser.add_argument("--speed", action="store_true")
    arguments = parser.parse_args()
    arguments.theta = released.theta_of(arguments)
    if arguments.dataset == "planted" and arguments.steps is None:
        arguments.steps = 500
    return arguments


def as_subject(loaded: released.Subject, jobs: int) -> Subject:
    scorer = NeighbourhoodScorer(loaded.classifier, loaded.embedder, loaded.dataset.num_labels, num_threads=jobs)
    return Subject(
        scorer=scorer, inputs=[graph.fresh() for graph in loaded.rejects().graphs], graphs=loaded.dataset.graphs
    )


def measured(subject: Subject, name: str, options: dict[str, Any], arguments: argparse.Namespace) -> dict[str, Any]:
    """One row."""
    started, busy = time.monotonic(), time.process_time()
    baseline = algorithm_of(name, options)
    assert isinstance(baseline, Baseline)
    given = "-".join(f"{option}={value}" for option, value in sorted(options.items()))
    kept = arguments.out.parent / f"{arguments.out.stem}-kept" / f"{arguments.dataset}-{name}-{arguments.seed}-{given}"
    kept.mkdir(parents=True, exist_ok=True)
    with reproducible():
        found = baseline.run(subject, np.random.default_rng(arguments.seed), RunContext(checkpoint=kept, resume=True))
    walk = time.monotonic() - started
    row: dict[str, Any] = {"found": len(found), "search_minutes": round(walk / 60, 2)}
    if found.found:
        usual = 3 if arguments.dataset == "mutagenicity" and name != "dataset" else baseline.choice.min_samples
        least = arguments.min_samples or usual
        row |= clustered(subject, found, baseline.fc_subset, arguments.theta, least, arguments.seed)
        row |= summary(subject, found)
    row |= {
        "minutes": round((time.monotonic() - started) / 60, 2),
        "cpu_minutes": round((time.process_time() - busy) / 60, 2),
    }
    return row | {"gigabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2)}


def clustered(
    subject: Subject, found: Counterfactuals, few: str, theta: float, min_samples: int, seed: int
) -> dict[str, Any]:
    """FCR and FC as published."""
    ends, sizes = subject.embedded([each.graph for each in found.found])
    pairs = pairs_within(*subject.embedded(subject.inputs), ends, sizes, theta)
    clustering = PublishedClustering(theta=theta, delta=_DELTA, num_recourses=_R, min_samples=min_samples)

    def told(some: RecoursePairs) -> list[float]:
        chosen = clustering.choose(some)
        first_ten = chosen.gains[:10].sum() / chosen.num_inputs
        return [round(100 * chosen.coverage, 2), round(chosen.total_length, 3), round(100 * first_ten, 2)]

    fewer = few_counterfactuals(pairs, few, seed)
    fc = told(with_counterfactuals(pairs, fewer))
    return {"pairs": len(pairs), "min_samples": min_samples, "fcr": told(pairs), "fc": [len(fewer), *fc]}


def summary(subject: Subject, found: Counterfactuals) -> dict[str, Any]:
    """Ten graphs, as GCFExplainer measures them."""
    chosen = summarise(found, subject, num_graphs=min(_K, len(found)), theta=_SUMMARY_THETA)
    return {"k10": [round(100 * chosen.coverage, 2), round(chosen.cost, 4)]}


def print_speed(subject: Subject, seed: int, steps: int = 300) -> None:
    """Steps per second of GCFExplainer's walk, on one thread, against making one `Data` of every neighbour."""
    with reproducible():
        walker = GcfWalker(GCFExplainer(), subject, seed)
        state = walker.begin(np.random.default_rng(seed))
        for _ in range(30):
            walker.step(state)
        busy, stood = time.process_time(), []
        for _ in range(steps):
            stood.append(state.current)
            walker.step(state)
        ours = steps / (time.process_time() - busy)
        new = {each.key: each.graph for each in stood}
        some = list(new.values())[:: max(1, len(new) // 10)][:10]
        busy, features = time.process_time(), np.eye(subject.scorer.num_labels, dtype=np.float32)
        for graph in some:
            table = one_edit_table(graph, subject.scorer.num_labels)
            data = [to_data(apply_edit(graph, table[i]), features) for i in range(len(table))]
            with torch.no_grad():
                Batch.from_data_list(data)
                batch = GraphBatch.from_graphs(apply_edit(graph, table[i]) for i in range(len(table)))
                subject.classifier.accept_probability(batch)
                subject.embedder.embed(batch)
        # A neighbourhood is scored once, when the head first stands there; later steps from it are free for both.
        plain = len(some) / (time.process_time() - busy) * steps / len(new)
    print(
        f"{ours:.1f} steps/s, {plain:.2f} with one Data per neighbour: {ours / plain:.0f} times (CPU time, one thread)"
    )


if __name__ == "__main__":
    main()
