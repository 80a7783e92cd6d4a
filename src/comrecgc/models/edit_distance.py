"""Mappings between the nodes of two graphs, and the edit paths behind them: upper bounds of the graph edit distance."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from comrecgc.errors import InputError
from comrecgc.graphs import EditPath, Graph, GraphBatch, IntArray, LongArray, edits_between, pointers
from comrecgc.models import edit_distance_kernels

SWEEPS = 40
"""Swaps tried by the annealing, per pair of nodes; of two hundred pairs of AIDS graphs costs are then 1% above the edit distance."""


@dataclass(frozen=True, kw_only=True, eq=False)
class NodeMapping:
    """A mapping from the nodes of G to those of H."""

    cost: int  # cost of the edit path of `places`; no less than the edit distance, and mostly equal to it
    places: IntArray  # position in H of each node of G, -1 for a deleted one, `[n]`; nodes of H not named are inserted


def map_nodes(source: Graph, target: Graph, *, sweeps: int = SWEEPS, seed: int = 0) -> NodeMapping:
    """A cheap mapping from the nodes of G, where edits start, to those of H: unit costs, edge labels ignored."""
    return map_pairs([(source, target)], sweeps=sweeps, seed=seed)[0]


def map_pairs(pairs: Iterable[tuple[Graph, Graph]], *, sweeps: int = SWEEPS, seed: int = 0) -> list[NodeMapping]:
    """Cheap mappings between many pairs (G, H), the same as `map_nodes` finds for each pair."""
    pairs = list(pairs)
    swapped = [_order(source) > _order(target) for source, target in pairs]
    ordered = [(pair[1], pair[0]) if swap else pair for pair, swap in zip(pairs, swapped, strict=True)]
    distinct = {id(graph): graph for pair in ordered for graph in pair}
    place = {key: index for index, key in enumerate(distinct)}
    batch = GraphBatch.from_graphs(distinct.values())
    indices = np.array([[place[id(graph)] for graph in pair] for pair in ordered], dtype=np.int64).reshape(-1, 2)
    map_ptr = pointers([pair[0].num_nodes for pair in ordered])
    maps = np.arange(map_ptr[-1]) - np.repeat(map_ptr[:-1], np.diff(map_ptr))  # start from equal positions
    costs = np.zeros(len(pairs), dtype=np.int64)
    edit_distance_kernels.solve_pairs(
        batch.labels, batch.edges, batch.node_ptr, batch.edge_ptr, indices, maps, map_ptr, costs, sweeps, seed
    )
    images = np.split(maps, map_ptr[1:-1]) if pairs else []
    return [
        NodeMapping(cost=int(cost), places=_places(image, source if swap else None))
        for (source, _), swap, cost, image in zip(pairs, swapped, costs, images, strict=True)
    ]


def _order(graph: Graph) -> tuple[int, int, bytes, bytes]:
    """Sort key that decides which graph of a pair is the smaller; by contents, so that (G, H) and (H, G) agree."""
    return graph.num_nodes, graph.num_edges, graph.labels.tobytes(), graph.edges.tobytes()


def _places(image: LongArray, larger: Graph | None) -> IntArray:
    """The mapping from the first graph, given the mapping from the smaller one; `larger` if the first graph is the larger."""
    if larger is None:
        return image.astype(np.int32)
    inverse = np.full(larger.num_nodes, -1, dtype=np.int32)
    inverse[image] = np.arange(len(image))
    return inverse


def edit_path(source: Graph, target: Graph, places: npt.ArrayLike) -> EditPath:
    """Edits, in node ids of `source`, that turn it into a graph isomorphic to `target` by the given mapping.

    A leaf goes with its edge, and a new node comes with one, wherever possible (each costs 2). `places` are positions in `target` of the nodes of `source`,
    -1 for a deleted one, `[n]`; some node must stay.
    """
    image = np.asarray(places)
    kept = image[image != -1]
    if image.shape != (source.num_nodes,) or not len(kept) or len(np.unique(kept)) != len(kept):
        raise InputError(f"places must send every node of the source to a place of its own, or to -1 (got {image})")
    ids = np.arange(source.next_id, source.next_id + target.num_nodes, dtype=np.int32)
    ids[kept] = source.ids[image != -1]
    order = np.argsort(ids)
    plain = Graph(target.labels[order], np.argsort(order)[target.edges])
    return edits_between(source, Graph.assemble(plain.labels, plain.edges, None, ids[order], int(ids.max()) + 1))
