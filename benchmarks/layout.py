"""Where to draw nodes: stress majorisation (`comrecgc.drawing.pen`) against networkx's Kamada-Kawai layout.

    python benchmarks/layout.py --data-root DATASETS

Both begin from a fixed place, so drawings are the same in every run. Stress is the mean of `(distance on paper − hops)² / hops²`
over pairs of nodes, at the scale that makes it least; "on each other" counts nodes closer than half an edge to another.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import networkx as nx
import numpy as np
import numpy.typing as npt

from comrecgc.data import load_dataset
from comrecgc.drawing import layout_change
from comrecgc.graphs import Graph, to_networkx

Layout = Callable[[Graph], npt.NDArray[np.float64]]


def stress_majorised(graph: Graph) -> npt.NDArray[np.float64]:
    return np.array(list(layout_change(graph, graph).values()))


def kamada_kawai(graph: Graph) -> npt.NDArray[np.float64]:
    return np.array(list(nx.kamada_kawai_layout(to_networkx(graph)).values()))


def quality(graph: Graph, positions: npt.NDArray[np.float64]) -> tuple[float, int]:
    """Stress over pairs of nodes that are connected, and the nodes that lie on another."""
    hops = np.full((graph.num_nodes, graph.num_nodes), np.inf)
    for node, lengths in nx.all_pairs_shortest_path_length(to_networkx(graph)):
        hops[node, list(lengths)] = list(lengths.values())
    i, j = np.nonzero(np.triu(np.isfinite(hops), k=1))
    if len(i) == 0:
        return 0.0, 0
    lengths, wanted = np.linalg.norm(positions[i] - positions[j], axis=1), hops[i, j]
    scale = (lengths / wanted).sum() / ((lengths / wanted) ** 2).sum()
    close = lengths * scale < 0.5
    return float(((lengths * scale - wanted) ** 2 / wanted**2).mean()), len(set(i[close]) | set(j[close]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-root")
    parser.add_argument("--graphs", type=int, default=60)
    options = parser.parse_args()
    layouts: dict[str, Layout] = {"stress majorisation": stress_majorised, "networkx Kamada-Kawai": kamada_kawai}
    print(f"{'data':<14} {'nodes':>6} {'layout':<24} {'ms a graph':>10} {'stress':>8} {'on each other':>14}")
    for name in ("proteins", "imdb-binary", "mutagenicity"):
        dataset = load_dataset(name, options.data_root)
        connected = [graph for graph in dataset if graph.num_nodes > 1 and nx.is_connected(to_networkx(graph))]
        graphs = connected[:: max(1, len(connected) // options.graphs)][: options.graphs]
        nodes = np.mean([graph.num_nodes for graph in graphs])
        for what, layout in layouts.items():
            layout(graphs[0])
            start = time.perf_counter()
            drawn = [layout(graph) for graph in graphs]
            spent = 1000 * (time.perf_counter() - start) / len(graphs)
            stress, crowded = np.array([quality(*each) for each in zip(graphs, drawn, strict=True)]).T
            share = crowded.sum() / sum(graph.num_nodes for graph in graphs)
            print(f"{name:<14} {nodes:6.1f} {what:<24} {spent:10.1f} {stress.mean():8.3f} {share:14.1%}")


if __name__ == "__main__":
    main()
