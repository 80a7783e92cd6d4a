"""What a census costs: processor time per graph and memory; and threads beside workers of a dask cluster in one run.

    python benchmarks/census.py --graphs 5000 10000 20000                                        # growth with the number of graphs,
    python benchmarks/census.py --graphs 1000 --sample 300 --nodes 20 40 80 160                  # with their size,
    python benchmarks/census.py --graphs 1000 --sample 300 --labels 1 2 4                        # with labels: each in so many kinds,
    python benchmarks/census.py --graphs 1000 --sample 1000 --rules 150 600 2400                 # and with the number of rules
    python benchmarks/census.py --dataset aids --checkpoints DIR --sample 500 --block 100 --jobs 1 2 --workers 1 2
    python benchmarks/census.py --graphs 20000 --greedi 10                                       # what a choice in two rounds loses

Without `--dataset` graphs are generated molecules, one in two with a toxic group, and the classifier is trained on a few. Rules are mined once
for each kind of data, on `--sample` graphs.
"""

from __future__ import annotations

import argparse
import itertools
import pickle
import resource
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np

from comrecgc.algorithms.base import Task
from comrecgc.algorithms.inputs import Rejects
from comrecgc.algorithms.plausibility import Plausibility
from comrecgc.algorithms.rules import population as census
from comrecgc.algorithms.rules.algorithm import Rules
from comrecgc.algorithms.rules.mined import COUNTED_RULES, change_scorer_of, mine_rules, oracle_of
from comrecgc.algorithms.rules.population import Census, RuleIndex
from comrecgc.cover import packed_cover
from comrecgc.data import GraphDataset, load_dataset, paper_theta
from comrecgc.data.planted import ELEMENTS, grow_molecule
from comrecgc.graphs import Graph, GraphBatch
from comrecgc.models import Classifier, ClassifierTraining, load_classifier, predict, train_classifier
from comrecgc.molecules import BOND_NAMES, ladder_of
from comrecgc.run import Engine, LocalEngine, RunContext, available_cores, reproducible
from comrecgc.run.context import ClusterEngine, connect


def main() -> None:
    options = parse_arguments()
    census.BLOCK = options.block
    with reproducible():
        for nodes, kinds in itertools.product(options.nodes, options.labels):
            if options.dataset is None:
                some = molecules(400, seed=2, nodes=nodes, kinds=kinds)
                classifier: Classifier = train_classifier(some, ClassifierTraining(epochs=300, patience=60)).model
                sample, theta = molecules(options.sample, seed=0, nodes=nodes, kinds=kinds), 0.1
                many = [molecules(count, seed=1, nodes=nodes, kinds=kinds) for count in options.graphs]
            else:
                data, theta = load_dataset(options.dataset), paper_theta(options.dataset)
                classifier = load_classifier(options.checkpoints / options.dataset / "classifier.pth")
                drawn = np.random.default_rng(0).permutation(len(data))[: options.sample]
                sample, many = data.subset(drawn.tolist()), [data]
            for rules in options.rules:
                work = prepared(classifier, sample, rules, theta)
                for data in many:
                    measure(work, data, options)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=int, nargs="*", default=[5000, 10_000, 20_000], help="how many graphs")
    parser.add_argument("--nodes", type=int, nargs="*", default=[0], help="molecules are joined to at least so many")
    parser.add_argument("--labels", type=int, nargs="*", default=[0], help="kinds of each element; 0 keeps chemistry")
    parser.add_argument("--dataset", help="a benchmark instead")
    parser.add_argument("--checkpoints", type=Path, help="folder of its classifier")
    parser.add_argument("--sample", type=int, default=5000, help="graphs that rules are mined on")
    parser.add_argument("--rules", type=int, nargs="*", default=[COUNTED_RULES], help="rules carried out on all graphs")
    parser.add_argument("--block", type=int, default=census.BLOCK, help="graphs of a block")
    parser.add_argument("--jobs", type=int, nargs="*", default=[1], help="threads")
    parser.add_argument("--workers", type=int, nargs="*", default=[], help="workers of LocalClusters beside them")
    parser.add_argument("--repeats", type=int, default=1, help="how often, engines in turn")
    parser.add_argument("--idle", type=float, default=0, help="seconds to look what clusters take when nothing is done")
    parser.add_argument("--greedi", type=int, default=0, help="parts of a choice in two rounds")
    return parser.parse_args()


def molecules(count: int, seed: int, nodes: int = 0, kinds: int = 0) -> GraphDataset:
    """Generated molecules, one in two with a toxic group, joined to so many nodes, their elements split into kinds at random."""
    rng = np.random.default_rng(seed)
    graphs = [chain(rng, nodes, toxic=index % 2 == 0) for index in range(count)]
    names = list(ELEMENTS)
    if kinds:
        names = [f"{name} of kind {kind}" for name in ELEMENTS for kind in range(kinds)]
        graphs = [
            Graph(kinds * graph.labels + rng.integers(kinds, size=graph.num_nodes), graph.edges, graph.edge_labels)
            for graph in graphs
        ]
    return GraphDataset(
        name="molecules", graphs=tuple(graphs), classes=(np.arange(count) % 2).astype(np.int8),
        label_names=tuple(names), edge_label_names=BOND_NAMES[:3],
    )  # fmt: skip


def chain(rng: np.random.Generator, nodes: int, *, toxic: bool) -> Graph:
    """Molecules joined in a row by single bonds, one of them toxic or none."""
    parts = [grow_molecule(rng, toxic=toxic)]
    while sum(part.num_nodes for part in parts) < nodes:
        parts.append(grow_molecule(rng, toxic=False))
    starts = np.cumsum([0, *(part.num_nodes for part in parts)])
    edges = [part.edges + start for part, start in zip(parts, starts, strict=False)]
    bonds = [part.edge_labels for part in parts if part.edge_labels is not None]
    ties = np.stack([starts[1:-1] - 1, starts[1:-1]], axis=1)
    return Graph(
        np.concatenate([part.labels for part in parts]),
        np.concatenate([*edges, ties]),
        np.concatenate([*bonds, np.zeros(len(ties), np.int32)]),
    )


def prepared(classifier: Classifier, sample: GraphDataset, rules: int, theta: float) -> census.CensusWork:
    """Rules of a sample, ready to be carried out elsewhere."""
    started, task = time.process_time(), Task(algorithm=Rules(), theta=theta)
    rejects = Rejects.of(sample, predict(classifier, sample))
    plausibility = Plausibility(ladder=ladder_of(sample.graphs, sample.label_names))
    mined = mine_rules(task, rejects, classifier, plausibility, RunContext(), most_rules=rules)
    scorer = change_scorer_of(task, rejects, plausibility.ladder, available_cores())
    oracle = oracle_of(task, rejects, classifier, plausibility)
    index = RuleIndex.of(mined.table, scorer)
    nodes = np.mean([graph.num_nodes for graph in sample.graphs])
    print(
        f"{len(index.key)} rules of {len(sample)} graphs of {nodes:.0f} nodes and {sample.num_labels} labels, mined in "
        f"{time.process_time() - started:.0f} s of processor time",
        flush=True,
    )
    return census.CensusWork(index=index, vocabulary=scorer.vocabulary, oracle=oracle)


def on(engine: Engine) -> RunContext:
    """A context whose blocks are counted by an engine."""
    context = RunContext()
    context.__dict__["engine"] = engine
    return context


def measure(work: census.CensusWork, data: GraphDataset, options: argparse.Namespace) -> None:
    """A census on every engine, each warmed up by a block, `--repeats` times in turn."""
    with engines(options) as known:
        for engine in known.values():
            census.take_census(work, data.subset(range(min(len(data), options.block))), on(engine))
        for name, engine in [*known.items()] * options.repeats:
            started, used = time.monotonic(), processor_seconds(engine)
            found = census.take_census(work, data, on(engine))
            seconds, used = time.monotonic() - started, processor_seconds(engine) - used
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
            print(
                f"{len(data):8} graphs, {found.num_inputs:7} rejected, {name}: {seconds:.1f} s, {used:.1f} s of processor time, "
                f"{1000 * used / len(data):.2f} ms per graph, {1000 * used / max(found.num_inputs, 1):.2f} per rejected one, peak here {peak:.2f} GB; {moved(data, found)}{rounds(found, options.greedi)}",
                flush=True,
            )

        for name, engine in known.items() if options.idle else ():
            used = processor_seconds(engine)
            time.sleep(options.idle)
            print(f"{name} idle: {(processor_seconds(engine) - used) / options.idle:.1%} of a core", flush=True)


@contextmanager
def engines(options: argparse.Namespace) -> Iterator[dict[str, Engine]]:
    """Threads, and clusters that end with the block."""
    known: dict[str, Engine] = {f"{jobs} threads": LocalEngine(jobs=jobs) for jobs in options.jobs}
    with ExitStack() as stack:
        for count in options.workers:
            from distributed import LocalCluster

            cluster = stack.enter_context(LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=None))
            engine = connect(cluster.scheduler_address)
            stack.callback(engine.client.close)
            known[f"{count} workers"] = engine
        yield known


def processor_seconds(engine: Engine) -> float:
    """Processor time of this process and of workers."""
    there = engine.client.run(time.process_time).values() if isinstance(engine, ClusterEngine) else ()
    return time.process_time() + sum(there)


def moved(data: GraphDataset, found: Census) -> str:
    """Bytes that travel to a worker and back."""
    first = data.graphs[:2000]
    there = len(pickle.dumps(GraphBatch.from_graphs(first))) / len(first)
    return f"{there:.0f} bytes per graph there and {found.turned.nbytes / len(data):.0f} back"


def rounds(found: Census, parts: int) -> str:
    """What a choice in two rounds covers, if it is asked for."""
    if not parts:
        return ""
    central = packed_cover(found.turned, 10)
    apart = two_round_cover(np.array_split(found.turned, parts, axis=1), 10)
    return f"; two rounds cover {apart / central.covered:.4f} of what one does"


def two_round_cover(parts: list[np.ndarray], num_sets: int) -> float:
    """Each part of the items chooses sets for itself, and the final choice is made among those alone.

    "Distributed Submodular Maximization" (Mirzasoleiman et al. 2016), GreeDi: only the sets that some part has chosen meet in one place.
    Returns how much they cover.

    Args:
        parts: Items of each set in every part, `[sets, …]` each.
        num_sets: Sets to choose, at most.
    """
    named = np.unique(np.concatenate([packed_cover(part, num_sets).order for part in parts]))
    final = packed_cover(np.concatenate([part[named] for part in parts], axis=1), num_sets)
    return final.covered


if __name__ == "__main__":
    main()
