"""Surroundings of nodes as hashes that add up over neighbours, and which edits leave them familiar."""

from __future__ import annotations

import numba
import numpy as np

from comrecgc.kernels.identity import GOLDEN, ROUND, SELF, mix

_LABELS = np.uint64(2**32)  # an edge label and a neighbour label in one word


@numba.njit(inline="always")
def neighbour_term(edge_label, label):  # type: ignore[no-untyped-def]
    """What a neighbour adds to the hash."""
    return mix((np.uint64(edge_label + 1) * _LABELS + np.uint64(label)) * GOLDEN ^ ROUND)


@numba.njit(inline="always")
def node_hash(label, total):  # type: ignore[no-untyped-def]
    """Hash of a node whose neighbours' terms add up to `total`."""
    return mix(mix(np.uint64(label + 1) * GOLDEN) * SELF + total)


@numba.njit(cache=True, nogil=True)
def _sums(labels, edges, edge_labels):  # type: ignore[no-untyped-def]
    sums = np.zeros(len(labels), dtype=np.uint64)
    for e in range(len(edges)):
        i, j = edges[e, 0], edges[e, 1]
        sums[i] += neighbour_term(edge_labels[e], labels[j])
        sums[j] += neighbour_term(edge_labels[e], labels[i])
    return sums


@numba.njit(cache=True, nogil=True)
def hashes(labels, edges, edge_labels):  # type: ignore[no-untyped-def]
    """Hash of the label of every node and the multiset of (edge label, neighbour label) pairs around it, `[N]`."""
    sums = _sums(labels, edges, edge_labels)
    result = np.empty(len(labels), dtype=np.uint64)
    for v in range(len(labels)):
        result[v] = node_hash(labels[v], sums[v])
    return result


@numba.njit(inline="always")
def _is_known(known, value):  # type: ignore[no-untyped-def]
    place = np.searchsorted(known, value)
    return place < len(known) and known[place] == value


@numba.njit(cache=True, nogil=True)
def familiar_edits(labels, edges, edge_labels, num_labels, known):  # type: ignore[no-untyped-def]
    """Which parts of edits leave familiar surroundings.

    relabel `[n, L]`: node and all its neighbours after it takes the label. tie `[n, L]`: the node after it gains such a
    neighbour. leaf `[L, L]`: a new node of the first label tied to one of the second. remove `[n]`: all neighbours after the
    node is gone. cut `[m]`: both ends after the edge is gone.
    """
    n, m = len(labels), len(edges)
    sums = _sums(labels, edges, edge_labels)
    relabel, tie = np.empty((n, num_labels), np.bool_), np.empty((n, num_labels), np.bool_)
    leaf, remove, cut = np.empty((num_labels, num_labels), np.bool_), np.ones(n, np.bool_), np.empty(m, np.bool_)
    for v in range(n):
        for label in range(num_labels):
            relabel[v, label] = _is_known(known, node_hash(label, sums[v]))
            tie[v, label] = _is_known(known, node_hash(labels[v], sums[v] + neighbour_term(0, label)))
    for label in range(num_labels):
        for other in range(num_labels):
            leaf[label, other] = _is_known(known, node_hash(label, neighbour_term(0, other)))
    for e in range(m):
        cut[e] = True
        for side in range(2):
            changed, beside = edges[e, side], edges[e, 1 - side]
            rest = sums[beside] - neighbour_term(edge_labels[e], labels[changed])
            alone = _is_known(known, node_hash(labels[beside], rest))
            remove[changed] &= alone
            cut[e] &= alone
            for label in range(num_labels):
                if relabel[changed, label]:
                    relabel[changed, label] = _is_known(
                        known, node_hash(labels[beside], rest + neighbour_term(edge_labels[e], label))
                    )
    return relabel, tie, leaf, remove, cut
