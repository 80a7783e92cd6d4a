"""A k-d tree over the leading principal components of many vectors, for finding what lies within a small radius.

Projection on orthonormal axes never makes a distance longer, so what is too far apart in a few components is too far
apart; the rest is decided on the vectors themselves in double precision.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from comrecgc.recourse.distances import distance
from comrecgc.recourse.pairs import FloatArray

LEAF = 64  # most vectors in a leaf
STACK = 64  # more than the deepest tree needs
_NUM_COMPONENTS = 16
_FIRST_LOOK = 8  # components compared before the others; they tell most vectors apart
_SAMPLE = 50_000  # vectors the components are fitted on
_SPREAD_SAMPLE = 500  # vectors of a node that its spread is measured on


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


def build_tree(vectors: FloatArray) -> Tree:
    """The tree of some vectors, `[n, d]`, at least one."""
    components = _principal_components(vectors)
    sketch = components @ vectors.T
    depth = max(0, int(np.ceil(np.log2(len(vectors) / LEAF))))
    order = np.arange(len(vectors))
    ranges = [(0, len(vectors))]
    for level in range(depth):
        first = (1 << level) - 1
        for start, stop in ranges[first : 2 * first + 1]:
            middle = (start + stop) // 2
            _split(order[start:stop], sketch, middle - start)
            ranges += [(start, middle), (middle, stop)]
    starts, stops = np.array(ranges, dtype=np.int64).T.copy()
    blocks = _blocks(sketch, order, starts[(1 << depth) - 1 :], stops[(1 << depth) - 1 :])
    low, high = _bounds(blocks, starts, stops)
    longest = np.sqrt(np.einsum("ij,ij->i", vectors, vectors).max())
    rounding = 2 * np.sqrt(len(components)) * (vectors.shape[1] + 16) * 2.0**-24 * longest
    return Tree(order, blocks, starts, stops, low, high, float(rounding), components)


def _principal_components(vectors: FloatArray) -> FloatArray:
    """Orthonormal rows along which the vectors differ most, `[c, d]`."""
    sample = vectors[:: max(1, len(vectors) // _SAMPLE)].astype(np.float64)
    sample -= sample.mean(axis=0)
    axes = np.linalg.eigh(sample.T @ sample)[1]
    return np.ascontiguousarray(axes.T[::-1][:_NUM_COMPONENTS], dtype=np.float32)


def _split(order: npt.NDArray[np.int64], sketch: FloatArray, middle: int) -> None:
    """Reorder in place so that the first `middle` are the lower half along the component of widest spread."""
    sample = order[:: max(1, len(order) // _SPREAD_SAMPLE)]
    column = sketch[np.argmax(sketch[:, sample].std(axis=1))]
    order[:] = order[np.argpartition(column[order], middle)]


@numba.njit(cache=True, nogil=True)
def _blocks(sketch, order, starts, stops):  # type: ignore[no-untyped-def]
    blocks = np.full((len(starts), len(sketch), LEAF), np.inf, dtype=np.float32)
    for leaf in range(len(starts)):
        for k in range(len(sketch)):
            for o in range(stops[leaf] - starts[leaf]):
                blocks[leaf, k, o] = sketch[k, order[starts[leaf] + o]]
    return blocks


@numba.njit(cache=True, nogil=True)
def _bounds(blocks, starts, stops):  # type: ignore[no-untyped-def]
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
def squared_reach(radius, rounding):  # type: ignore[no-untyped-def]
    """Square of the distance between sketches beyond which vectors are surely farther apart than the radius."""
    return np.float32((radius + rounding) ** 2 * (1 + 1e-5))


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def box_is_near(point, low, high, bound):  # type: ignore[no-untyped-def]
    """Whether a box comes within the square root of `bound` of a point."""
    total = np.float32(0)
    for k in range(len(point)):
        outside = max(low[k] - point[k], point[k] - high[k], np.float32(0))
        total += outside * outside
    return total <= bound


@numba.njit(cache=True, nogil=True)
def look_at_leaf(point, block, bound, squares):  # type: ignore[no-untyped-def]
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
def neighbours_up_to(vectors, tree, radius, limit, begin, end, found, counts):  # type: ignore[no-untyped-def]
    """For the vectors of the leaves `begin…end`, up to `limit` vectors within the radius, themselves included.

    Looking ends when `limit` are found. Fills `found[vector]` and `counts[vector]`.
    """
    order, sketch, starts, stops, low, high, rounding, _ = tree
    bound = squared_reach(radius, rounding)
    num_inner = len(starts) // 2
    stack = np.empty(STACK, dtype=np.int64)
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
                if not box_is_near(point, low[node], high[node], bound):
                    continue
                if node < num_inner:
                    # The child that holds the place itself comes first: neighbours are most likely there.
                    nearer = 1 if place < stops[2 * node + 1] else 2
                    stack[top], stack[top + 1] = 2 * node + 3 - nearer, 2 * node + nearer
                    top += 2
                    continue
                if not look_at_leaf(point, sketch[node - num_inner], bound, squares):
                    continue
                for o in range(stops[node] - starts[node]):
                    j = order[starts[node] + o]
                    if squares[o] <= bound and distance(vectors[i], vectors[j]) <= radius:
                        found[i, count] = j
                        count += 1
                        if count == limit:
                            break
            counts[i] = count


def mark_owners(
    points: FloatArray,
    vectors: FloatArray,
    tree: Tree,
    radius: float,
    owners: npt.NDArray[np.int32],
    marks: npt.NDArray[np.uint64],
) -> None:
    """For each point, mark the owners of all vectors within the radius.

    Args:
        points: Points no longer than the longest vector, `[m, d]`.
        vectors: The vectors of the tree, `[n, d]`.
        tree: Their tree.
        radius: How near a vector must be; exactly this near is near.
        owners: Owner of each vector, `[n]`.
        marks: Bit `owner % 64` of word `owner // 64` is set, `[m, words]`.
    """
    sketches = np.ascontiguousarray(points @ tree.components.T)
    _mark_owners(points, sketches, vectors, tree, radius, owners, marks)


@numba.njit(cache=True, nogil=True)
def _mark_owners(points, sketches, vectors, tree, radius, owners, marks):  # type: ignore[no-untyped-def]
    order, sketch, starts, stops, low, high, rounding, _ = tree
    bound = squared_reach(radius, rounding)
    num_inner = len(starts) // 2
    stack = np.empty(STACK, dtype=np.int64)
    squares = np.empty(LEAF, dtype=np.float32)
    for p in range(len(points)):
        stack[0], top = 0, 1
        while top:
            top -= 1
            node = stack[top]
            if not box_is_near(sketches[p], low[node], high[node], bound):
                continue
            if node < num_inner:
                stack[top], stack[top + 1] = 2 * node + 1, 2 * node + 2
                top += 2
                continue
            if not look_at_leaf(sketches[p], sketch[node - num_inner], bound, squares):
                continue
            for o in range(stops[node] - starts[node]):
                j = order[starts[node] + o]
                word, bit = owners[j] // 64, np.uint64(1) << np.uint64(owners[j] % 64)
                if squares[o] <= bound and not marks[p, word] & bit and distance(points[p], vectors[j]) <= radius:
                    marks[p, word] |= bit
