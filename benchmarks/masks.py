"""The explainers that mask edges beside their published figures: what they find, what their summaries cover, seconds and memory.

    python benchmarks/masks.py --checkpoints DIR                                        # defaults, three seeds, four datasets
    python benchmarks/masks.py --checkpoints DIR --dataset aids --only cff --set weight=1000 factual=0.6 --seeds 0
    python benchmarks/masks.py --checkpoints DIR --loose                                # what rests on nodes left alone

Two uses: a summary of k = 10 counterfactuals at θ = 0.1 with its median distance, as GCFExplainer's tables have RCExplainer and CF², and
common recourse of 100 vectors (θ = 0.1, Proteins 0.15; Δ = 0.02), as COMRECGC's tables have CF-GNNExplainer.
With `--loose` nodes left without an edge are dropped, and only what is still accepted counts. With `--keep` runs are kept in a folder and
not done twice.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np

import released
from comrecgc.algorithms.baselines.baseline import Baseline, Counterfactuals, Subject
from comrecgc.algorithms.registry import algorithm_of
from comrecgc.cover import PublishedClustering, normalised_distances, pairs_within
from comrecgc.data import paper_theta
from comrecgc.models import predict
from comrecgc.run import RunContext
from comrecgc.scoring import NeighbourhoodScorer
from comrecgc_reproduction.methods import without_isolated_nodes
from comrecgc_reproduction.summary import summarise

DATASETS = ("nci1", "mutagenicity", "aids", "proteins")
NAMES = ("rcexplainer", "cff", "cfgnnexplainer")
PUBLISHED = {
    "rcexplainer": {"summary": (15.22, 31.99, 8.96, 8.74), "median": (0.1370, 0.1290, 0.1531, 0.2283)},
    "cff": {"summary": (17.61, 30.43, 3.39, 3.83), "median": (0.1331, 0.1327, 0.1669, 0.2557)},
    "cfgnnexplainer": {"recourse": (9.1, 8.4, 0.1, 0.0), "cost": (7.5, 8.90, 0.35, 0.0)},
}


def main() -> None:
    arguments = parse_arguments()
    options = {name: json.loads(value) for name, _, value in (pair.partition("=") for pair in arguments.set)}
    for dataset in DATASETS if arguments.dataset == "all" else (arguments.dataset,):
        subject = load(argparse.Namespace(**{**vars(arguments), "dataset": dataset}))
        for name in (arguments.only,) if arguments.only else NAMES:
            rows = [measured(subject, dataset, name, options, seed, arguments) for seed in arguments.seeds]
            show(dataset, name, rows)


def load(arguments: argparse.Namespace) -> Subject:
    given = released.load(arguments)
    rejects = predict(given.classifier, given.dataset).rejects.tolist()
    scorer = NeighbourhoodScorer(given.classifier, given.embedder, given.dataset.num_labels)
    inputs = [given.dataset.graphs[index].fresh() for index in rejects]
    return Subject(scorer=scorer, inputs=inputs, graphs=given.dataset.graphs)


def measured(
    subject: Subject, dataset: str, name: str, options: dict[str, Any], seed: int, arguments: argparse.Namespace
) -> dict[str, float]:
    """One run and its figures, also written to the record."""
    kept: Path | None = None
    if arguments.keep is not None:
        words = "-".join(f"{option}{value}" for option, value in sorted(options.items()))
        kept = arguments.keep / "-".join(filter(None, (dataset, name, words, str(seed))))
        kept.mkdir(parents=True, exist_ok=True)
    wall, cpu = time.monotonic(), time.process_time()
    baseline = algorithm_of(name, options)
    assert isinstance(baseline, Baseline)
    found = baseline.run(subject, np.random.default_rng(seed), RunContext(checkpoint=kept, resume=kept is not None))
    took = {"seconds": time.monotonic() - wall, "cpu": time.process_time() - cpu}
    took["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    if arguments.loose:
        found = without_isolated_nodes(subject, found)
    min_samples = 3 if dataset == "mutagenicity" else 2  # as the paper's tables were made
    figures = {**took, **figures_of(subject, found, paper_theta(dataset), min_samples)}
    if arguments.record is not None:
        facts = {"dataset": dataset, "name": name, "seed": seed, "options": options, "loose": arguments.loose}
        with arguments.record.open("a") as record:
            record.write(json.dumps(facts | {key: round(value, 4) for key, value in figures.items()}) + "\n")
    return figures


def figures_of(subject: Subject, found: Counterfactuals, theta: float, min_samples: int) -> dict[str, float]:
    """Share of inputs with a counterfactual, edges taken away, and the figures of the two tables."""
    figures = {"found": 100 * len(found) / len(subject.inputs)}
    if len(found) == 0:
        return figures
    (z, sizes), (ends, end_sizes) = (
        subject.embedded(graphs) for graphs in (subject.inputs, [each.graph for each in found.found])
    )
    own = np.array([each.input for each in found.found])
    summary = summarise(found, subject, num_graphs=min(10, len(found)), theta=0.1)
    clustering = PublishedClustering(theta=theta, delta=0.02, num_recourses=100, min_samples=min_samples)
    recourses = clustering.choose(pairs_within(z, sizes, ends, end_sizes, theta))
    return figures | {
        "removed": float(np.mean([len(each.path) for each in found.found])),
        "distance": float(normalised_distances(z[own], sizes[own], ends, end_sizes).mean()),
        "summary": 100 * summary.coverage,
        "median": summary.cost,
        "recourse": 100 * recourses.coverage,
        "cost": recourses.total_length,
    }


def show(dataset: str, name: str, rows: list[dict[str, float]]) -> None:
    """Mean and range over the seeds, and what was published."""
    print(f"{dataset}, {name}, {len(rows)} seeds")
    place = DATASETS.index(dataset) if dataset in DATASETS else None
    for key in dict.fromkeys(key for row in rows for key in row):
        values = [row[key] for row in rows if key in row]
        theirs = PUBLISHED[name].get(key)
        beside = "" if theirs is None or place is None else f"   published {theirs[place]:g}"
        print(f"  {key:9} {np.mean(values):9.4g}  ({min(values):.4g} to {max(values):.4g}){beside}", flush=True)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    released.add_arguments(parser)
    parser.set_defaults(dataset="all")
    parser.add_argument("--only", choices=NAMES)
    parser.add_argument("--set", nargs="*", default=[], metavar="OPTION=VALUE", help="options other than the defaults")
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--keep", type=Path, help="folder that keeps runs")
    parser.add_argument("--record", type=Path, help="file that gets a line of JSON per run")
    parser.add_argument("--loose", action="store_true", help="drop nodes that are left without an edge")
    return parser.parse_args()


if __name__ == "__main__":
    main()
