"""Undirected edges out of the rows data comes in: each edge mostly twice, sometimes once, sometimes more often."""

from __future__ import annotations

import numpy as np

from comrecgc.graphs import LongArray


def merge_directions(pairs: LongArray, num_nodes: int) -> tuple[LongArray, LongArray, LongArray, tuple[str, ...]]:
    """Each undirected edge once.

    Args:
        pairs: Two different nodes in each row, `[E, 2]`.
        num_nodes: Number of nodes of all graphs.

    Returns:
        The edges with `i < j`, sorted, `[M, 2]`; the row each was first seen in, `[M]`; the edge of each row, `[E]`;
        a note on each thing that was not as it should be.
    """
    low, high = pairs.min(axis=1), pairs.max(axis=1)
    keys, first_row, edge_of_row = np.unique(low * num_nodes + high, return_index=True, return_inverse=True)
    edges = np.stack([keys // num_nodes, keys % num_nodes], axis=1)
    num_directed = len(np.unique(pairs[:, 0] * num_nodes + pairs[:, 1]))
    repeated, one_way = len(pairs) - num_directed, 2 * len(edges) - num_directed
    notes = []
    if repeated:
        notes.append(f"{repeated} of {len(pairs)} rows of edges repeated an earlier row and were merged.")
    if one_way:
        notes.append(f"{one_way} of {len(edges)} edges were listed in one direction only and taken as undirected.")
    return edges, first_row, edge_of_row, tuple(notes)
