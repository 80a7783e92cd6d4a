"""Speed of the ground everything stands on: listing, building and identifying all one-edit neighbours of a molecule.

    python benchmarks/graphs.py

Against one networkx graph per neighbour, which is how one would write it first; both do the same work in one run.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import networkx as nx
import numpy as np

from comrecgc.graphs import Graph, allowed_edits, apply_edit, batch_keys, edited_batch, to_networkx

NUM_LABELS = 10


def main() -> None:
    graph = molecule(60)
    table = allowed_edits(graph, NUM_LABELS)
    batch = edited_batch(graph, table)
    batch_keys(batch)  # compiles
    print(f"{graph.num_nodes} nodes, {graph.num_edges} edges, {len(table)} one-edit neighbours; best of 5")
    listed = best(lambda: allowed_edits(graph, NUM_LABELS))
    built = best(lambda: edited_batch(graph, table))
    keyed = best(lambda: batch_keys(batch))
    sample = np.random.default_rng(0).choice(len(table), 50, replace=False)
    plain_built = best(lambda: [to_networkx(apply_edit(graph, table[int(i)])) for i in sample]) * len(table) / 50
    few = [to_networkx(batch[int(i)]) for i in sample]
    plain_keyed = best(lambda: [wl_hash(g) for g in few]) * len(table) / 50
    print(f"list all edits       {listed * 1e3:9.2f} ms")
    print(
        f"build all neighbours {built * 1e3:9.2f} ms   one networkx graph each {plain_built * 1e3:9.0f} ms   {plain_built / built:7.0f}x"
    )
    print(
        f"key all neighbours   {keyed * 1e3:9.2f} ms   networkx's WL hash      {plain_keyed * 1e3:9.0f} ms   {plain_keyed / keyed:7.0f}x"
    )


def molecule(num_nodes: int) -> Graph:
    """A tree with two rings and random labels, as bushy as a molecule."""
    rng = np.random.default_rng(0)
    edges = [(i, int(rng.integers(max(0, i - 3), i))) for i in range(1, num_nodes)] + [(0, 30), (10, 40)]
    return Graph(rng.integers(0, NUM_LABELS, num_nodes), edges)


def wl_hash(graph: nx.Graph[int]) -> str:
    return str(nx.weisfeiler_lehman_graph_hash(graph, node_attr="label", iterations=8))


def best(call: Callable[[], object]) -> float:
    """Seconds of the fastest of 5 calls."""
    seconds = []
    for _ in range(5):
        started = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


if __name__ == "__main__":
    main()
