"""Training of graph classifiers: message passing over distinct states and its gradients, batch norm, Adam.

`edges` are three arrays, `neighbours`, `ptr` and `own`: output row `i` receives from input rows `neighbours[ptr[i] : ptr[i + 1]]` and from its own input row
`own[i]`. Over plain nodes `own[i]` is `i`; over distinct states it is the row of the node's state. All loops run in a
fixed order on one thread, so results do not depend on the number of cores.
"""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def nodes_of(graphs, node_ptr):  # type: ignore[no-untyped-def]
    """The nodes of some graphs of a batch, one after the other."""
    nodes = np.empty((node_ptr[graphs + 1] - node_ptr[graphs]).sum(), dtype=np.int64)
    place = 0
    for g in graphs:
        for v in range(node_ptr[g], node_ptr[g + 1]):
            nodes[place] = v
            place += 1
    return nodes


@numba.njit(cache=True, nogil=True)
def distinct_states(nodes, colours, rows):  # type: ignore[no-untyped-def]
    """One node per colour, in order of appearance, and how many share it; `rows` gets the row of each colour."""
    representatives = np.empty(len(nodes), dtype=np.int64)
    counts = np.empty(len(nodes), dtype=np.int64)
    n = 0
    for v in nodes:
        row = rows[colours[v]]
        if row < 0:
            row = n
            rows[colours[v]] = row
            representatives[row] = v
            counts[row] = 0
            n += 1
        counts[row] += 1
    return representatives[:n].copy(), counts[:n].copy()


@numba.njit(cache=True, nogil=True)
def edges_of(representatives, neighbours, neighbour_ptr, colours, rows):  # type: ignore[no-untyped-def]
    """Rows of the round before for each representative itself and for its neighbours: `own`, `neighbours`, their ptr."""
    n = len(representatives)
    ptr = np.zeros(n + 1, dtype=np.int64)
    own = np.empty(n, dtype=np.int64)
    for i in range(n):
        v = representatives[i]
        own[i] = rows[colours[v]]
        ptr[i + 1] = ptr[i] + neighbour_ptr[v + 1] - neighbour_ptr[v]
    found = np.empty(ptr[n], dtype=np.int64)
    slot = 0
    for v in representatives:
        for e in range(neighbour_ptr[v], neighbour_ptr[v + 1]):
            found[slot] = rows[colours[neighbours[e]]]
            slot += 1
    return own, found, ptr


@numba.njit(cache=True, nogil=True)
def members_of(graphs, node_ptr, colours, rows, num_rows):  # type: ignore[no-untyped-def]
    """The distinct rows of each graph, one graph after the other, and where each graph's begin."""
    seen = np.full(num_rows, -1, dtype=np.int64)
    ptr = np.zeros(len(graphs) + 1, dtype=np.int64)
    members = np.empty((node_ptr[graphs + 1] - node_ptr[graphs]).sum(), dtype=np.int64)
    place = 0
    for position, g in enumerate(graphs):
        for v in range(node_ptr[g], node_ptr[g + 1]):
            row = rows[colours[v]]
            if seen[row] != position:
                seen[row] = position
                members[place] = row
                place += 1
        ptr[position + 1] = place
    return members[:place].copy(), ptr


@numba.njit(cache=True, nogil=True)
def gather(edges, weights, x, y, out):  # type: ignore[no-untyped-def]
    """`out[i] = row[i] * (sum of col[j] * x[j] over the neighbours j) + diagonal[i] * y[own[i]]`, `[n, C]`, with `weights` these three."""
    (neighbours, ptr, own), (row, col, diagonal) = edges, weights
    n, width = out.shape
    for i in range(n):
        for c in range(width):
            out[i, c] = 0
        for e in range(ptr[i], ptr[i + 1]):
            j = neighbours[e]
            weight = col[j]
            for c in range(width):
                out[i, c] += weight * x[j, c]
        weight, self_weight, j = row[i], diagonal[i], own[i]
        for c in range(width):
            out[i, c] = weight * out[i, c] + self_weight * y[j, c]


@numba.njit(cache=True, nogil=True)
def gather_backward(edges, weights, grad, grad_x, grad_y):  # type: ignore[no-untyped-def]
    """Gradients of `gather`, added to `grad_x` and `grad_y`, which may be the same array."""
    (neighbours, ptr, own), (row, col, diagonal) = edges, weights
    n, width = grad.shape
    for i in range(n):
        for e in range(ptr[i], ptr[i + 1]):
            j = neighbours[e]
            weight = row[i] * col[j]
            for c in range(width):
                grad_x[j, c] += weight * grad[i, c]
        weight, j = diagonal[i], own[i]
        for c in range(width):
            grad_y[j, c] += weight * grad[i, c]


@numba.njit(cache=True, nogil=True)
def attend(edges, x, scores, slope, alphas, out):  # type: ignore[no-untyped-def]
    """Attention over neighbours and self, by scores of sources and targets: fills the weights of neighbours `[E]` and of self `[n]`, and `out [n, C]`."""
    (neighbours, ptr, own), (source, target), (alpha, self_alpha) = edges, scores, alphas
    n, width = out.shape
    for i in range(n):
        goal = target[own[i]]
        self_alpha[i] = _leaky(source[own[i]] + goal, slope)
        highest = self_alpha[i]
        for e in range(ptr[i], ptr[i + 1]):
            alpha[e] = _leaky(source[neighbours[e]] + goal, slope)
            highest = max(highest, alpha[e])
        self_alpha[i] = np.exp(self_alpha[i] - highest)
        total = self_alpha[i]
        for e in range(ptr[i], ptr[i + 1]):
            alpha[e] = np.exp(alpha[e] - highest)
            total += alpha[e]
        self_alpha[i] /= total
        weight, j = self_alpha[i], own[i]
        for c in range(width):
            out[i, c] = weight * x[j, c]
        for e in range(ptr[i], ptr[i + 1]):
            alpha[e] /= total
            weight, j = alpha[e], neighbours[e]
            for c in range(width):
                out[i, c] += weight * x[j, c]


@numba.njit(cache=True, nogil=True)
def attend_backward(edges, x, scores, slope, alphas, grad, grad_x, grad_scores):  # type: ignore[no-untyped-def]
    """Gradients of `attend`, added to the last two."""
    (neighbours, ptr, own), (source, target), (alpha, self_alpha) = edges, scores, alphas
    grad_source, grad_target = grad_scores
    n, width = grad.shape
    for i in range(n):
        # Softmax: d score = weight * (d weight - sum of weight * d weight), where d weight = <grad_i, x_j>.
        me = own[i]
        self_slope = _dot(grad, i, x, me)
        mean = self_alpha[i] * self_slope
        for c in range(width):
            grad_x[me, c] += self_alpha[i] * grad[i, c]
        for e in range(ptr[i], ptr[i + 1]):
            j = neighbours[e]
            mean += alpha[e] * _dot(grad, i, x, j)
            for c in range(width):
                grad_x[j, c] += alpha[e] * grad[i, c]
        for e in range(ptr[i], ptr[i + 1]):
            j = neighbours[e]
            score_slope = alpha[e] * (_dot(grad, i, x, j) - mean)
            if source[j] + target[me] <= 0:
                score_slope *= slope
            grad_source[j] += score_slope
            grad_target[me] += score_slope
        score_slope = self_alpha[i] * (self_slope - mean)
        if source[me] + target[me] <= 0:
            score_slope *= slope
        grad_source[me] += score_slope
        grad_target[me] += score_slope


@numba.njit(cache=True, nogil=True)
def pool_max(members, member_ptr, x, out, argmax):  # type: ignore[no-untyped-def]
    """Largest `x` over each graph's member rows, `out [B, C]`, and the row holding it; 0 and -1 without members."""
    width = x.shape[1]
    for g in range(len(member_ptr) - 1):
        if member_ptr[g] == member_ptr[g + 1]:
            out[g] = 0
            argmax[g] = -1
            continue
        first = members[member_ptr[g]]
        for c in range(width):
            out[g, c] = x[first, c]
            argmax[g, c] = first
        for place in range(member_ptr[g] + 1, member_ptr[g + 1]):
            v = members[place]
            for c in range(width):
                if x[v, c] > out[g, c] or np.isnan(x[v, c]):
                    out[g, c] = x[v, c]
                    argmax[g, c] = v


@numba.njit(cache=True, nogil=True)
def pool_max_backward(argmax, grad, grad_x):  # type: ignore[no-untyped-def]
    """Each graph's gradient is added to the row that held the maximum."""
    for g in range(grad.shape[0]):
        for c in range(grad.shape[1]):
            if argmax[g, c] >= 0:
                grad_x[argmax[g, c], c] += grad[g, c]


@numba.njit(cache=True, nogil=True)
def normalise(x, counts, weight, bias, eps, mean, variance, out):  # type: ignore[no-untyped-def]
    """Batch norm, then ReLU, where row `i` stands for `counts[i]` nodes; fills the moments `[C]` and `out [n, C]`."""
    n, width = x.shape
    mean[:] = 0
    variance[:] = 0
    total = 0.0
    for i in range(n):
        count = counts[i]
        total += count
        for c in range(width):
            value = np.float64(x[i, c])
            mean[c] += count * value
            variance[c] += count * value * value
    scale, shift = np.empty(width, dtype=x.dtype), np.empty(width, dtype=x.dtype)
    for c in range(width):
        mean[c] /= total
        variance[c] = max(variance[c] / total - mean[c] * mean[c], 0.0)
        inverse = 1 / np.sqrt(variance[c] + eps)
        scale[c] = weight[c] * inverse
        shift[c] = bias[c] - mean[c] * weight[c] * inverse
    zero = x.dtype.type(0)
    for i in range(n):
        for c in range(width):
            out[i, c] = max(x[i, c] * scale[c] + shift[c], zero)
    return total


@numba.njit(cache=True, nogil=True)
def normalise_backward(  # type: ignore[no-untyped-def]
    x, counts, weight, eps, mean, variance, out, grad, grad_x, grad_weight, grad_bias
):
    """Gradients of `normalise`; `grad[i]` and `grad_x[i]` are sums over the `counts[i]` nodes of the row."""
    n, width = x.shape
    inverse, centre = np.empty(width, dtype=x.dtype), np.empty(width, dtype=x.dtype)
    for c in range(width):
        inverse[c] = 1 / np.sqrt(variance[c] + eps)
        centre[c] = mean[c]
    total, along = np.zeros(width), np.zeros(width)
    zero = x.dtype.type(0)
    nodes = 0.0
    for i in range(n):
        nodes += counts[i]
        for c in range(width):
            g = grad[i, c] if out[i, c] > zero else zero
            total[c] += g
            along[c] += g * ((x[i, c] - centre[c]) * inverse[c])
    flat, slope, scale = np.empty(width, dtype=x.dtype), np.empty(width, dtype=x.dtype), np.empty(width, dtype=x.dtype)
    for c in range(width):
        grad_bias[c], grad_weight[c] = total[c], along[c]
        flat[c], slope[c], scale[c] = total[c] / nodes, along[c] / nodes * inverse[c], weight[c] * inverse[c]
    for i in range(n):
        count = counts[i]
        for c in range(width):
            g = grad[i, c] if out[i, c] > zero else zero
            grad_x[i, c] = scale[c] * (g - count * (flat[c] + (x[i, c] - centre[c]) * slope[c]))


@numba.njit(cache=True, nogil=True)
def add_relu(x, bias):  # type: ignore[no-untyped-def]
    """`x = relu(x + bias)` in place."""
    zero = x.dtype.type(0)
    for i in range(x.shape[0]):
        for c in range(x.shape[1]):
            x[i, c] = max(x[i, c] + bias[c], zero)


@numba.njit(cache=True, nogil=True)
def add_relu_backward(out, grad, grad_bias):  # type: ignore[no-untyped-def]
    """`grad = 0` in place wherever `out` is not positive; what is left of each column adds up to `grad_bias [C]`."""
    total = np.zeros(out.shape[1])
    zero = out.dtype.type(0)
    for i in range(out.shape[0]):
        for c in range(out.shape[1]):
            grad[i, c] = grad[i, c] if out[i, c] > zero else zero
            total[c] += grad[i, c]
    for c in range(out.shape[1]):
        grad_bias[c] = total[c]


@numba.njit(cache=True, nogil=True)
def cross_entropy(logits, targets, grad):  # type: ignore[no-untyped-def]
    """Mean cross entropy of the rows, and its gradient in `grad [B, K]`."""
    count, classes = logits.shape
    loss = 0.0
    for g in range(count):
        highest = logits[g].max()
        total = 0.0
        for k in range(classes):
            total += np.exp(np.float64(logits[g, k] - highest))
        for k in range(classes):
            grad[g, k] = np.exp(np.float64(logits[g, k] - highest)) / total / count
        grad[g, targets[g]] -= 1 / count
        loss += np.log(total) - (logits[g, targets[g]] - highest)
    return loss / count


@numba.njit(cache=True, nogil=True)
def squared_error(logits, targets, grad):  # type: ignore[no-untyped-def]
    """Mean squared error of the log-odds of two classes, read as a number, and its gradient in `grad [B, 2]`."""
    count = len(logits)
    loss = 0.0
    for g in range(count):
        error = np.float64(logits[g, 1]) - np.float64(logits[g, 0]) - targets[g]
        grad[g, 1] = 2 * error / count
        grad[g, 0] = -2 * error / count
        loss += error * error
    return loss / count


@numba.njit(cache=True, nogil=True)
def adam(parameters, grad, first, second, step, learning_rate):  # type: ignore[no-untyped-def]
    """One step of Adam (Kingma and Ba 2015) with its usual constants, in place; `step` counts from 1."""
    rate = learning_rate / (1 - 0.9**step)
    root = np.sqrt(1 - 0.999**step)
    for p in range(len(parameters)):
        g = np.float64(grad[p])
        first[p] = 0.9 * first[p] + 0.1 * g
        second[p] = 0.999 * second[p] + 0.001 * g * g
        parameters[p] -= rate * first[p] / (np.sqrt(second[p]) / root + 1e-8)


@numba.njit(cache=True, nogil=True, inline="always")
def _leaky(value, slope):  # type: ignore[no-untyped-def]
    return value if value > 0 else value * slope


@numba.njit(cache=True, nogil=True, fastmath=True)
def _dot(a, i, b, j):  # type: ignore[no-untyped-def]
    total = a[i, 0] * b[j, 0]
    for c in range(1, a.shape[1]):
        total += a[i, c] * b[j, c]
    return total
