"""Searches of a k-d tree over the leading components of many vectors."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from comrecgc.cover.vector_kernels import distance

FloatArray = npt.NDArray[np.float32]

LEAF = 64  # most vectors in a leaf
_STACK = 64  # more than the deepest tree needs
_FIRST_LOOK = 8  # components compared before the others; they tell most vectors apart


class Tree(NamedTuple):
    """A balanced binary tree: node `k` has the children `2k+1` and `2k+2`; the last level are the leaves.

    Args:
        order: Vector behind each place, `[n]`; a node holds consecutive places.
        sketch: Leading components of the vectors of each leaf, infinite where there is none, `[leaves, c, LEAF]`.
        starts: First place of each node, `[nodes]`.
        stops: One past its last place, `[nodes]`.
        low: Least components of each node's vectors, `[nodes, c]`.
        high: Greatest components, `[nodes, c]`.
        rounding: How much longer than the true distance one between sketches may come out.
        components: The axes of the sketches, `[c, d]`.
    """

    order: npt.NDArray[np.int64]
    sketch: FloatArray
    starts: npt.NDArray[np.int64]
    stops: npt.NDArray[np.int64]
    low: FloatArray
    high: FloatArray
    rounding: float
    components: FloatArray


@numba.njit(cache=True, nogil=True)
def blocks_of_leaves(sketch, order, starts, stops):  # type: ignore[no-untyped-def]
    """Sketches of the vectors of each leaf, infinite where there is none, `[leaves, c, LEAF]`."""
    blocks = np.full((len(starts), len(sketch), LEAF), np.inf, dtype=np.float32)
    for leaf in range(len(starts)):
        for k in range(len(sketch)):
            for o in range(stops[leaf] - starts[leaf]):
                blocks[leaf, k, o] = sketch[k, order[starts[leaf] + o]]
    return blocks


@numba.njit(cache=True, nogil=True)
def bounds_of_nodes(blocks, starts, stops):  # type: ignore[no-untyped-def]
    """Least and greatest components of each node's vectors, `[nodes, c]` each."""
    num_inner = len(starts) // 2
    low = np.full((len(starts), blocks.shape[1]), np.inf, dtype=np.float32)
    high = np.full((len(starts), blocks.shape[1]), -np.inf, dtype=np.float32)
    for node in range(len(starts) - 1, -1, -1):
        for k in range(blocks.shape[1]):
            if node >= num_inner:
                values = blocks[node - num_inner, k, : stops[node] - starts[node]]
                low[node, k], high[node, k] = values.min(), values.max()
            else:
                low[node, k] = min(low[2 * node + 1, k], low[2 * node + 2, k])
                high[node, k] = max(high[2 * node + 1, k], high[2 * node + 2, k])
    return low, high


@numba.njit(cache=True, nogil=True)
def neighbours_up_to(vectors, tree, radius, limit, begin, end, found, counts):  # type: ignore[no-untyped-def]
    """For the vectors of the leaves `begin…end`, up to `limit` vectors within the radius, themselves included.

    Looking ends when `limit` are found. Fills `found[vector]` and `counts[vector]`.
    """
    order, sketch, starts, stops, low, high, rounding, _ = tree
    bound = _squared_reach(radius, rounding)
    num_inner = len(starts) // 2
    stack = np.empty(_STACK, dtype=np.int64)
    squares = np.empty(LEAF, dtype=np.float32)
    for leaf in range(begin, end):
        first = starts[num_inner + leaf]
        for place in range(first, stops[num_inner + leaf]):
            i, point = order[place], sketch[leaf, :, place - first].copy()
            count = 0
            stack[0], top = 0, 1
            while top and count < limit:
                top -= 1
                node = stack[top]
                if not _box_is_near(point, low[node], high[node], bound):
                    continue
                if node < num_inner:
                    # The child that holds the place itself comes first: neighbours are most likely there.
                    nearer = 1 if place < stops[2 * node + 1] else 2
                    stack[top], stack[top + 1] = 2 * node + 3 - nearer, 2 * node + nearer
                    top += 2
                    continue
                if not _look_at_leaf(point, sketch[node - num_inner], bound, squares):
                    continue
                for o in range(stops[node] - starts[node]):
                    j = order[starts[node] + o]
                    if squares[o] <= bound and distance(vectors[i], vectors[j]) <= radius:
                        found[i, count] = j
                        count += 1
                        if count == limit:
                            break
            counts[i] = count


@numba.njit(cache=True, nogil=True)
def mark_owners(points, sketches, vectors, tree, radius, owners, marks):  # type: ignore[no-untyped-def]
    """Set the bit of the owner of every vector within the radius of each point."""
    order, sketch, starts, stops, low, high, rounding, _ = tree
    bound = _squared_reach(radius, rounding)
    num_inner = len(starts) // 2
    stack = np.empty(_STACK, dtype=np.int64)
    squares = np.empty(LEAF, dtype=np.float32)
    for p in range(len(points)):
        stack[0], top = 0, 1
        while top:
            top -= 1
            node = stack[top]
            if not _box_is_near(sketches[p], low[node], high[node], bound):
                continue
            if node < num_inner:
                stack[top], stack[top + 1] = 2 * node + 1, 2 * node + 2
                top += 2
                continue
            if not _look_at_leaf(sketches[p], sketch[node - num_inner], bound, squares):
                continue
            for o in range(stops[node] - starts[node]):
                j = order[starts[node] + o]
                word, bit = owners[j] // 64, np.uint64(1) << np.uint64(owners[j] % 64)
                if squares[o] <= bound and not marks[p, word] & bit and distance(points[p], vectors[j]) <= radius:
                    marks[p, word] |= bit


@numba.njit(cache=True, nogil=True)
def linked(vectors, tree, eps):  # type: ignore[no-untyped-def]
    """The lowest vector of each one's group.

    A node whose vectors all belong together is not entered by another vector of the same group; since groups only grow,
    that is noted once and stays true.
    """
    order, sketch, starts, stops, low, high, rounding, _ = tree
    bound = _squared_reach(eps, rounding)
    num_inner = len(starts) // 2
    together = stops - starts <= 1
    parents = np.arange(len(vectors))
    stack = np.empty(_STACK, dtype=np.int64)
    squares = np.empty(LEAF, dtype=np.float32)
    leaf = 0
    for place in range(len(order)):
        while place >= stops[num_inner + leaf]:
            leaf += 1
        i, point = order[place], sketch[leaf, :, place - starts[num_inner + leaf]].copy()
        root = _root(parents, i)
        stack[0], top = 0, 1
        while top:
            top -= 1
            node = stack[top]
            start, stop = starts[node], stops[node]
            # Every two vectors meet once: when the later place looks at the earlier one.
            if start >= place:
                continue
            if not together[node]:
                together[node] = _is_together(parents, order, together, start, stop, node, num_inner)
            if together[node] and _root(parents, order[start]) == root:
                continue
            if not _box_is_near(point, low[node], high[node], bound):
                continue
            if node < num_inner:
                stack[top], stack[top + 1] = 2 * node + 1, 2 * node + 2
                top += 2
                continue
            if not _look_at_leaf(point, sketch[node - num_inner], bound, squares):
                continue
            for other in range(start, min(stop, place)):
                if squares[other - start] <= bound:
                    branch = _root(parents, order[other])
                    if branch != root and distance(vectors[i], vectors[order[other]]) <= eps:
                        root, branch = min(root, branch), max(root, branch)
                        parents[branch] = root
    for i in range(len(parents)):
        parents[i] = _root(parents, i)
    return parents


@numba.njit(cache=True, nogil=True)
def label_borders(labels, is_core, found):  # type: ignore[no-untyped-def]
    """Give every vector that is not core the lowest label among its core neighbours."""
    for i in range(len(labels)):
        if not is_core[i]:
            for j in found[i]:
                if j >= 0 and is_core[j] and (labels[i] < 0 or labels[j] < labels[i]):
                    labels[i] = labels[j]


@numba.njit(cache=True, nogil=True)
def _squared_reach(radius, rounding):  # type: ignore[no-untyped-def]
    """Square of the distance between sketches beyond which vectors are surely farther apart than the radius."""
    return np.float32((radius + rounding) ** 2 * (1 + 1e-5))


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _box_is_near(point, low, high, bound):  # type: ignore[no-untyped-def]
    """Whether a box comes within the square root of `bound` of a point."""
    total = np.float32(0)
    for k in range(len(point)):
        outside = max(low[k] - point[k], point[k] - high[k], np.float32(0))
        total += outside * outside
    return total <= bound


@numba.njit(cache=True, nogil=True)
def _look_at_leaf(point, block, bound, squares):  # type: ignore[no-untyped-def]
    """Squared distances of a sketch to those of a leaf; whether some are within `bound`. If none, they are unfinished."""
    squares[:] = np.float32(0)
    for first, last in ((0, _FIRST_LOOK), (_FIRST_LOOK, len(point))):
        for k in range(first, min(last, len(point))):
            _add_squares(block[k], point[k], squares)
        num_near = 0
        for o in range(LEAF):
            num_near += squares[o] <= bound
        if num_near == 0:
            return False
    return True


@numba.njit(cache=True, nogil=True)
def _add_squares(row, value, squares):  # type: ignore[no-untyped-def]
    # Apart from the loop over components, so that it compiles to vector instructions.
    for o in range(LEAF):
        difference = row[o] - value
        squares[o] += difference * difference


@numba.njit(cache=True, nogil=True)
def _is_together(parents, order, together, start, stop, node, num_inner):  # type: ignore[no-untyped-def]
    """Whether the vectors of a node are now known to be of one group; an inner node asks its children's notes."""
    root = _root(parents, order[start])
    if node < num_inner:
        middle = (start + stop) // 2
        return together[2 * node + 1] and together[2 * node + 2] and _root(parents, order[middle]) == root
    others = 0
    for place in range(start + 1, stop):
        others += _root(parents, order[place]) != root
    return others == 0


@numba.njit(cache=True, nogil=True, inline="always")
def _root(parents, i):  # type: ignore[no-untyped-def]
    while parents[i] != i:
        parents[i] = parents[parents[i]]
        i = parents[i]
    return i
