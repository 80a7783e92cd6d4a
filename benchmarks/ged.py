"""Graph edit distance on fixed pairs of real molecules: python benchmarks/ged.py --pairs 100 --seed 0

Far pairs are two random graphs of a dataset; near pairs are a random graph and its nearest by branch bound among 200
others. For every effort: processor milliseconds per pair, share of pairs closed (distance known), mean gap
(upper − lower) / upper, and the bounds as a share of the best upper bound known. networkx searches for as long as our
"normal" effort took (and for 20 times as long), pair by pair; where it has found nothing by then, the path that deletes
one graph and inserts the other counts.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import networkx as nx
import numpy as np
import numpy.typing as npt

from comrecgc.data import load_dataset
from comrecgc.graphs import Graph, to_networkx
from comrecgc.models import ged_interval
from comrecgc.models.edit_distance import Effort

sys.path.append(str(Path(__file__).parents[1]))
from tests.models.bounds import branch_bound, linear_bound

Pairs = list[tuple[Graph, Graph]]
Bounds = tuple[float, float]  # lower, upper
Row = tuple[str, npt.NDArray[np.float64], npt.NDArray[np.float64]]  # method, seconds [P], bounds [P, 2]

EFFORTS: dict[str, str | Effort] = {
    "annealing alone": Effort(sweeps=20, ascents=0, nodes=0),
    "fast": "fast",
    "normal": "normal",
    "thorough": "thorough",
}
NETWORKX_FACTORS = (1, 20)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="*", default=["aids", "mutagenicity"])
    parser.add_argument("--pairs", type=int, default=100, help="pairs of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data-root", type=Path, help="folder with the benchmark archives")
    parser.add_argument("--linear", type=int, default=20, help="pairs to solve the linear relaxation of with HiGHS")
    parser.add_argument("--networkx", type=int, default=20, help="pairs to give networkx")
    options = parser.parse_args()
    ged_interval(Graph([0], []), Graph([1, 1], [(0, 1)]))  # compile
    for name in options.datasets:
        graphs = tuple(load_dataset(name, options.data_root).graphs)
        rng = np.random.default_rng(options.seed)
        for kind, pairs in (
            ("far", far_pairs(graphs, options.pairs, rng)),
            ("near", near_pairs(graphs, options.pairs, rng)),
        ):
            report(f"{name}, {kind}", pairs, options.seed, options.linear, options.networkx)


def far_pairs(graphs: tuple[Graph, ...], count: int, rng: np.random.Generator) -> Pairs:
    choices = (rng.choice(len(graphs), 2, replace=False) for _ in range(count))
    return [(graphs[i], graphs[j]) for i, j in choices]


def near_pairs(graphs: tuple[Graph, ...], count: int, rng: np.random.Generator) -> Pairs:
    pairs = []
    for _ in range(count):
        i, *others = rng.choice(len(graphs), 201, replace=False)
        pairs.append((graphs[i], min((graphs[j] for j in others), key=lambda other: branch_bound(graphs[i], other))))
    return pairs


def report(title: str, pairs: Pairs, seed: int, num_linear: int, num_networkx: int) -> None:
    """Run every method and print one line each."""
    rows = [measure("branch bound", pairs, lambda source, target: (branch_bound(source, target), np.inf))]
    for name, effort in EFFORTS.items():
        rows.append(measure(name, pairs, partial(bracket, effort=effort, seed=seed)))
    best = np.min([bounds[:, 1] for _, _, bounds in rows], axis=0)
    limit = next(seconds for name, seconds, _ in rows if name == "normal")
    linear = measure("linear relaxation (HiGHS)", pairs[:num_linear], lambda *pair: (linear_bound(*pair), np.inf))
    rows.append(linear)
    for factor in NETWORKX_FACTORS:
        method = partial(networkx_bounds, limits=iter((factor * limit).tolist()))
        rows.append(measure(f"networkx, {factor} x the time of normal", pairs[:num_networkx], method))
    print(f"\n{title}: {len(pairs)} pairs, mean distance {best.mean():.1f}")
    print(
        f"{'method':36} {'ms/pair':>9} {'closed':>7} {'gap':>7} {'lower':>7} {'upper':>7}   (as share of the best known)"
    )
    for row in rows:
        print(line(row, best))


def measure(name: str, pairs: Pairs, method: Callable[[Graph, Graph], Bounds]) -> Row:
    seconds, bounds = [], []
    for pair in pairs:
        start = time.process_time()
        bounds.append(method(*pair))
        seconds.append(time.process_time() - start)
    return name, np.array(seconds), np.array(bounds, dtype=float).reshape(-1, 2)


def bracket(source: Graph, target: Graph, effort: str | Effort, seed: int) -> Bounds:
    interval = ged_interval(source, target, effort=effort, seed=seed)
    return interval.lower, interval.upper


def networkx_bounds(source: Graph, target: Graph, limits: Iterator[float]) -> Bounds:
    """Best cost networkx meets in time: the search behind `optimize_graph_edit_distance`, which has no limit itself."""
    start, seconds, upper = time.process_time(), next(limits), float(source.size + target.size)
    found = nx.optimize_edit_paths(
        to_networkx(source),
        to_networkx(target),
        node_match=lambda first, second: first["label"] == second["label"],
        strictly_decreasing=True,
        timeout=max(4 * seconds, 1e-3),  # by the clock, which runs faster than the processor on a busy machine
    )
    for _, _, cost in found:
        if time.process_time() - start > seconds:
            break
        upper = min(upper, float(cost))
    return 0.0, upper


def line(row: Row, best: npt.NDArray[np.float64]) -> str:
    name, seconds, bounds = row
    if not len(bounds):
        return f"{name:36} not run"
    lower, upper, known = bounds[:, 0], bounds[:, 1], best[: len(bounds)]
    text = f"{name:36} {1000 * seconds.mean():9.2f}"
    if np.isinf(upper).any():
        return f"{text} {'':7} {'':7} {lower.sum() / known.sum():7.3f}"
    if not lower.any():
        return f"{text} {'':7} {'':7} {'':7} {upper.sum() / known.sum():7.3f}"
    gap = np.mean((upper - lower) / np.maximum(upper, 1))
    shares = f"{lower.sum() / known.sum():7.3f} {upper.sum() / known.sum():7.3f}"
    return f"{text} {np.mean(lower == upper):7.2f} {gap:7.3f} {shares}"


if __name__ == "__main__":
    main()
