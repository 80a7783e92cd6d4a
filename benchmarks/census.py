"""What a census costs: processor time per graph and memory, against the number of graphs; threads beside a dask cluster in one run.

    python benchmarks/census.py --graphs 5000 10000 20000               # growth
    python benchmarks/census.py --graphs 10000 --workers 1 2            # threads and a LocalCluster side by side, and bytes moved
    python benchmarks/census.py --graphs 20000 --greedi 10              # what a choice in two rounds loses

Graphs are generated molecules, one in two with a toxic group; the classifier is trained on a few. Rules are mined once, on `--sample` graphs.
"""

from __future__ import annotations

import argparse
import json
import pickle
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from comrecgc.classifiers import Classifier, ClassifierTraining, predict, train_classifier
from comrecgc.datasets import GraphDataset, load_planted
from comrecgc.datasets.planted_molecules import ELEMENTS, grow_molecule
from comrecgc.engine import Engine, LocalEngine, connect
from comrecgc.graphs import GraphBatch
from comrecgc.molecules import BOND_NAMES, ladder_of
from comrecgc.pipeline import Judges, Rejects, Settings, mine_rules
from comrecgc.pipeline.census import CensusWork, take_census
from comrecgc.pipeline.mined_rules import COUNTED_RULES, acceptance_of, workshop_of
from comrecgc.rules import Recipes
from comrecgc.selection import packed_cover, two_round_cover
from comrecgc.threads import reproducible


def main() -> None:
    arguments = parse_arguments()
    classifier = train_classifier(load_planted(num_graphs=400), ClassifierTraining(epochs=300, patience=60)).model
    with reproducible():
        work, seconds = prepared(classifier, arguments.sample, arguments.rules)
        print(
            f"{len(work.recipes.key)} rules of a sample of {arguments.sample} graphs, mined in {seconds:.0f} s of processor time",
            flush=True,
        )
        rows = [row for count in arguments.graphs for row in measure(work, molecules(count, seed=1), arguments)]
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=int, nargs="*", default=[5000, 10_000, 20_000], help="how many graphs")
    parser.add_argument("--sample", type=int, default=5000, help="graphs that rules are mined on")
    parser.add_argument("--rules", type=int, default=COUNTED_RULES, help="rules that are carried out on all graphs")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--workers", type=int, nargs="*", default=[], help="workers of LocalClusters beside the threads"
    )
    parser.add_argument("--greedi", type=int, default=0, help="parts of a choice in two rounds")
    parser.add_argument("--json", type=Path, help="write the figures here")
    return parser.parse_args()


def molecules(count: int, seed: int) -> GraphDataset:
    """Generated molecules, one in two with a toxic group."""
    rng = np.random.default_rng(seed)
    graphs = tuple(grow_molecule(rng, toxic=index % 2 == 0) for index in range(count))
    return GraphDataset(
        name="molecules", graphs=graphs, classes=(np.arange(count) % 2).astype(np.int8),
        label_names=ELEMENTS, edge_label_names=BOND_NAMES[:3],
    )  # fmt: skip


def prepared(classifier: Classifier, sample: int, rules: int) -> tuple[CensusWork, float]:
    """Rules of a sample, ready to be carried out elsewhere, and the processor time that took."""
    started, settings, data = time.process_time(), Settings(recourse="rules"), molecules(sample, seed=0)
    rejects = Rejects.of(data, predict(classifier, data))
    judges = Judges(ladder=ladder_of(data.graphs, data.label_names))
    mined = mine_rules(settings, rejects, classifier, judges, most_rules=rules)
    workshop = workshop_of(settings, rejects, judges.ladder)
    acceptance = acceptance_of(settings, classifier, judges)
    recipes = Recipes.of(mined.table, workshop)
    work = CensusWork(recipes=recipes, vocabulary=workshop.vocabulary, acceptance=acceptance)
    return work, time.process_time() - started


def measure(work: CensusWork, data: GraphDataset, arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    engines: list[tuple[str, Engine, Any]] = [(f"{arguments.jobs} threads", LocalEngine(jobs=arguments.jobs), None)]
    for count in arguments.workers:
        from distributed import LocalCluster

        cluster = LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=None)
        engines.append((f"{count} workers", connect(cluster.scheduler_address), cluster))
    for name, engine, cluster in engines:
        started, used = time.monotonic(), time.process_time()
        census = take_census(work, data, engine)
        assert census is not None
        row: dict[str, Any] = {
            "graphs": len(data), "engine": name, "rejects": census.num_inputs, "seconds": time.monotonic() - started,
            "processor": time.process_time() - used, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2,
        }  # fmt: skip
        first = data.graphs[:2000]
        row["bytes_in"] = len(pickle.dumps(GraphBatch.from_graphs(first))) / len(first)
        row["bytes_out"] = census.turned.nbytes / len(data)
        line = (
            f"{row['graphs']:8} graphs, {row['rejects']:7} rejected, {name}: {row['seconds']:.1f} s, {row['processor']:.1f} s of this process, "
            f"{1000 * row['processor'] / row['graphs']:.2f} ms per graph, peak {row['peak']:.2f} GB, {row['bytes_in']:.0f} bytes per graph "
            f"there and {row['bytes_out']:.0f} back"
        )
        if arguments.greedi:
            central = packed_cover(census.turned, 10)
            parts = two_round_cover(np.array_split(census.turned, arguments.greedi, axis=1), 10)
            row |= {"central": central.covered, "two_rounds": parts.covered}
            line += f"; two rounds cover {parts.covered / central.covered:.4f} of what one does"
        print(line, flush=True)
        yield row
        if cluster is not None:
            cluster.close()
    sys.stdout.flush()


if __name__ == "__main__":
    main()
