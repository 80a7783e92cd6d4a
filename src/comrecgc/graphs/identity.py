"""Graph identity: a 64-bit Weisfeiler-Leman key, equal for isomorphic graphs whatever their node order.

Colours start from the labels and are refined by the multiset of neighbours' colours until the number of colours no
longer grows; the key hashes the multiset of colours one round later. Two graphs get the same key exactly when 1-WL
cannot tell them apart (up to 64-bit chance): such pairs exist (a 6-ring and two 3-rings, decalin and bicyclopentyl), but no
message-passing network tells them apart either, so they share probability and embedding too. Edge labels do not count.
Only integer arithmetic modulo 2^64 is used, so keys are the same in every process and on every platform.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from comrecgc import kernels
from comrecgc.graphs.batch import GraphBatch
from comrecgc.graphs.graph import Graph
from comrecgc.graphs.packed import PackedGraphs

KeyArray = npt.NDArray[np.uint64]


def graph_key(graph: Graph) -> int:
    """The key of one graph."""
    return int(kernels.identity.graph_key(graph.labels, graph.edges.astype(np.int64)))


def batch_keys(batch: GraphBatch) -> KeyArray:
    """The key of every graph of a batch, `[B]`."""
    keys: KeyArray = kernels.identity.graph_keys(batch.labels, batch.edges, batch.node_ptr, batch.edge_ptr)
    return keys


def fingerprint(graphs: Iterable[Graph]) -> str:
    """Tells lists of graphs apart, node order and edge labels included, since edits speak of both."""
    if isinstance(graphs, PackedGraphs):
        return graphs.fingerprint()
    batch = GraphBatch.from_graphs(graphs)
    digest = hashlib.sha256()
    for array in (batch.labels, batch.edges, batch.node_ptr, batch.edge_ptr, batch.edge_labels):
        digest.update(b"none" if array is None else np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]
