"""A k-d tree over the leading principal components of many vectors, for finding what lies within a small radius.

Projection on orthonormal axes never makes a distance longer, so what is too far apart in a few components is too far
apart; the rest is decided on the vectors themselves in double precision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from comrecgc import kernels
from comrecgc.recourse.pairs import FloatArray

if TYPE_CHECKING:
    from comrecgc.kernels.tree import Tree

_NUM_COMPONENTS = 16
_SAMPLE = 50_000  # vectors the components are fitted on
_SPREAD_SAMPLE = 500  # vectors of a node that its spread is measured on


def build_tree(vectors: FloatArray) -> Tree:
    """The tree of some vectors, `[n, d]`, at least one."""
    components = _principal_components(vectors)
    sketch = components @ vectors.T
    depth = max(0, int(np.ceil(np.log2(len(vectors) / kernels.tree.LEAF))))
    order = np.arange(len(vectors))
    ranges = [(0, len(vectors))]
    for level in range(depth):
        first = (1 << level) - 1
        for start, stop in ranges[first : 2 * first + 1]:
            middle = (start + stop) // 2
            _split(order[start:stop], sketch, middle - start)
            ranges += [(start, middle), (middle, stop)]
    starts, stops = np.array(ranges, dtype=np.int64).T.copy()
    blocks = kernels.tree.blocks_of_leaves(sketch, order, starts[(1 << depth) - 1 :], stops[(1 << depth) - 1 :])
    low, high = kernels.tree.bounds_of_nodes(blocks, starts, stops)
    longest = np.sqrt(np.einsum("ij,ij->i", vectors, vectors).max())
    rounding = 2 * np.sqrt(len(components)) * (vectors.shape[1] + 16) * 2.0**-24 * longest
    return kernels.tree.Tree(order, blocks, starts, stops, low, high, float(rounding), components)


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
    kernels.tree.mark_owners(points, sketches, vectors, tree, radius, owners, marks)
