"""How time and memory of a whole run grow with the number of graphs and with their size.

    python benchmarks/scaling.py                                            # 1,000 and 10,000 small graphs; large ones
    python benchmarks/scaling.py --graphs 1000 10000 100000 --time-budget 900
    python benchmarks/scaling.py --graphs --nodes 100 500 2000 --plot scaling.svg

Graphs are built-in molecules, or many of them joined to one graph of the size asked for; one in two has a toxic group and is
rejected. Models are trained on a few of them. Every run is a process of its own, which the system limits to `--memory`.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from comrecgc.algorithms.registry import Vectors
from comrecgc.data import GraphDataset, load_planted
from comrecgc.data.planted import ELEMENTS, grow_molecule
from comrecgc.explainer import CommonRecourseExplainer
from comrecgc.graphs import Graph
from comrecgc.models import ClassifierTraining, EmbedderTraining, predict, train_classifier, train_embedder
from comrecgc.run import RunContext

LARGE = 50  # rejected graphs of each of the larger sizes


def main() -> None:
    arguments = parse_arguments()
    cases = [(count, None) for count in arguments.graphs] + [(2 * LARGE, size) for size in arguments.nodes]
    rows = []
    for num_graphs, num_nodes in cases:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            row = pool.apply(measure, (num_graphs, num_nodes, arguments))
        print(describe(row), flush=True)
        rows.append(row)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")
    if arguments.plot:
        plot(rows, arguments.plot)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=int, nargs="*", default=[1000, 10_000], help="how many small graphs")
    parser.add_argument("--nodes", type=int, nargs="*", default=[100, 500], help="nodes of large graphs")
    parser.add_argument("--time-budget", type=float, default=300.0, help="seconds of a run")
    parser.add_argument("--memory", type=float, default=8.0, help="GB a run may have")
    parser.add_argument("--recourses", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--plot", type=Path, help="draw them here")
    return parser.parse_args()


def measure(num_graphs: int, num_nodes: int | None, arguments: argparse.Namespace) -> dict[str, Any]:
    """One run in a process of its own."""
    limit = int(arguments.memory * 1e9)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    dataset = load_planted(num_graphs=num_graphs) if num_nodes is None else joined(num_graphs, num_nodes)
    some = dataset.subset(range(min(len(dataset), 400)))
    classifier = train_classifier(some, ClassifierTraining(epochs=300, patience=60)).model
    embedder = train_embedder(load_planted().graphs, dataset.num_labels, EmbedderTraining(effort=0.03))
    rejects = dataset.subset(predict(classifier, dataset).rejects)
    before = peak_gigabytes()
    explainer = CommonRecourseExplainer(
        classifier,
        Vectors(embedder=embedder, changes="any"),
        num_recourses=arguments.recourses,
        random_state=0,
        context=RunContext(
            time_budget=arguments.time_budget, jobs=arguments.jobs, progress=show if sys.stderr.isatty() else None
        ),
    )
    started = time.monotonic()
    found = explainer.fit(rejects).explanation_
    return {
        "graphs": num_graphs,
        "rejects": len(rejects),
        "nodes": float(np.mean([graph.num_nodes for graph in rejects])),
        "seconds": time.monotonic() - started,
        "coverage": found.coverage,
        "before": before,
        "peak": peak_gigabytes(),
        "stages": dict(found.facts.seconds),
    }


def joined(num_graphs: int, num_nodes: int) -> GraphDataset:
    """Graphs of that many nodes: harmless molecules joined in a chain, in every other one a toxic one among them."""
    rng = np.random.default_rng(0)
    graphs = [chain(rng, num_nodes, toxic=index % 2 == 0) for index in range(num_graphs)]
    classes = (np.arange(num_graphs) % 2).astype(np.int8)
    return GraphDataset(name="joined", graphs=tuple(graphs), classes=classes, label_names=ELEMENTS)


def chain(rng: np.random.Generator, num_nodes: int, *, toxic: bool) -> Graph:
    parts = [grow_molecule(rng, toxic=toxic)]
    while sum(part.num_nodes for part in parts) < num_nodes:
        parts.append(grow_molecule(rng, toxic=False))
    rng.shuffle(parts)
    starts = np.cumsum([0, *(part.num_nodes for part in parts[:-1])])
    edges = [part.edges + start for part, start in zip(parts, starts, strict=True)]
    edges.append(np.stack([starts[:-1], starts[1:]], axis=1))
    return Graph(np.concatenate([part.labels for part in parts]), np.concatenate(edges))


def show(what: str, done: int, total: int, word: str) -> None:
    sys.stderr.write(f"\r{what} {done}/{total} {word}\033[K")


def peak_gigabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2


def describe(row: dict[str, Any]) -> str:
    stages = ", ".join(f"{stage} {seconds:.0f}" for stage, seconds in row["stages"].items())
    return (
        f"{row['rejects']:6} rejects of {row['nodes']:6.1f} nodes: {row['seconds']:6.1f} s ({stages}), "
        f"peak {row['peak']:.2f} GB (before the run {row['before']:.2f}), coverage {row['coverage']:.1%}"
    )


def plot(rows: list[dict[str, Any]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.2), layout="constrained")
    axes = figure.subplots(1, 2)
    small = [row for row in rows if row["nodes"] < 50]
    large = [row for row in rows if row["nodes"] >= 50]
    for axis, part, name, label in (
        (axes[0], small, "rejects", "rejected graphs of about 20 nodes"),
        (axes[1], large, "nodes", f"nodes of {LARGE} rejected graphs"),
    ):
        places = [row[name] for row in part]
        axis.plot(places, [row["seconds"] for row in part], "o-", label="seconds")
        axis.plot(places, [1000 * (row["peak"] - row["before"]) for row in part], "s--", label="MB of a run")
        axis.set(xscale="log", yscale="log", xlabel=label)
        axis.legend()
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


if __name__ == "__main__":
    main()
