"""A GCN over graphs with weighted edges, and its gradient in the weights.

Node `i` has neighbours `neighbours[neighbour_ptr[i] : neighbour_ptr[i + 1]]`, tied to it by the undirected edges at the same places of
`edges`, whose weights are in `weights`. All loops run in a fixed order on one thread.
"""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def scales(neighbour_ptr, edges, weights, scale):  # type: ignore[no-untyped-def]
    """`scale[i]`: one over the root of the weighted degree of `i`, a loop of weight 1 counted."""
    for i in range(len(scale)):
        degree = weights.dtype.type(1)
        for e in range(neighbour_ptr[i], neighbour_ptr[i + 1]):
            degree += weights[edges[e]]
        scale[i] = 1 / np.sqrt(degree)


@numba.njit(cache=True, nogil=True)
def scales_backward(neighbour_ptr, edges, scale, grad_scale, grad_weights):  # type: ignore[no-untyped-def]
    """Gradient of `scales`, added to `grad_weights`."""
    for i in range(len(scale)):
        slope = -grad_scale[i] * scale[i] * scale[i] * scale[i] / 2
        for e in range(neighbour_ptr[i], neighbour_ptr[i + 1]):
            grad_weights[edges[e]] += slope


@numba.njit(cache=True, nogil=True)
def layer(neighbours, neighbour_ptr, edges, weights, scale, x, factor, shift, out):  # type: ignore[no-untyped-def]
    """`out[i] = relu(factor * scale[i] * (scale[i] * x[i] + sum of weight * scale[j] * x[j]) + shift)`, `[N, C]`."""
    n, width = out.shape
    for i in range(n):
        for c in range(width):
            out[i, c] = scale[i] * x[i, c]
        for e in range(neighbour_ptr[i], neighbour_ptr[i + 1]):
            j = neighbours[e]
            weight = weights[edges[e]] * scale[j]
            for c in range(width):
                out[i, c] += weight * x[j, c]
        for c in range(width):
            value = factor[c] * scale[i] * out[i, c] + shift[c]
            out[i, c] = max(0, value)


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def layer_backward(  # type: ignore[no-untyped-def]
    neighbours, neighbour_ptr, edges, weights, scale, x, factor, out, grad, grad_x, grad_scale, grad_weights
):
    """Gradients of `layer`: fills `grad_x`, adds to `grad_scale` and `grad_weights`; `grad`, that of `out`, is spoilt."""
    n, width = out.shape
    for i in range(n):
        for c in range(width):
            grad[i, c] = factor[c] * grad[i, c] if out[i, c] > 0 else 0
    for i in range(n):
        slope = grad_scale[i]
        for c in range(width):
            grad_x[i, c] = 0
        for e in range(neighbour_ptr[i], neighbour_ptr[i + 1]):
            j = neighbours[e]
            weight = weights[edges[e]] * scale[j]
            product = x.dtype.type(0)
            for c in range(width):
                grad_x[i, c] += weight * grad[j, c]
                product += grad[i, c] * x[j, c]
            grad_weights[edges[e]] += scale[i] * scale[j] * product
            slope += weight * product
        for c in range(width):
            slope += x[i, c] * (grad_x[i, c] + 2 * scale[i] * grad[i, c])
            grad_x[i, c] = scale[i] * (grad_x[i, c] + scale[i] * grad[i, c])
        grad_scale[i] = slope


@numba.njit(cache=True, nogil=True)
def pool(node_ptr, x, out, ties):  # type: ignore[no-untyped-def]
    """Largest value of each graph's nodes per channel, and how many nodes have it, `[B, C]`."""
    count, width = out.shape
    for g in range(count):
        for c in range(width):
            out[g, c] = -np.inf
            ties[g, c] = 0
        for i in range(node_ptr[g], node_ptr[g + 1]):
            for c in range(width):
                if x[i, c] > out[g, c]:
                    out[g, c] = x[i, c]
                    ties[g, c] = 1
                elif x[i, c] == out[g, c]:
                    ties[g, c] += 1


@numba.njit(cache=True, nogil=True)
def pool_backward(node_ptr, x, out, ties, grad, grad_x):  # type: ignore[no-untyped-def]
    """Gradient of `pool`: nodes that tie share it, as in torch."""
    count, width = out.shape
    for g in range(count):
        for i in range(node_ptr[g], node_ptr[g + 1]):
            for c in range(width):
                grad_x[i, c] = grad[g, c] / ties[g, c] if x[i, c] == out[g, c] else 0
