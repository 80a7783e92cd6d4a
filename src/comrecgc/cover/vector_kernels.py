"""Recourse vectors: pairs within θ, balls of radius Δ, what they cover and where their centres drift."""

from __future__ import annotations

import numba
import numpy as np

_ROUNDS = 14  # drifts of one refinement
_SHORTER = np.float32(1 - 1e-4)  # what a pull must bring, so that pulling comes to an end
_SURE = 1 - 4e-6  # of Δ: what single precision finds this close is within Δ in double precision


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def distance(first, second):  # type: ignore[no-untyped-def]
    """`‖first − second‖` of two single-precision vectors, in double precision."""
    total = 0.0
    for k in range(len(first)):
        difference = np.float64(first[k]) - np.float64(second[k])
        total += difference * difference
    return np.sqrt(total)


@numba.njit(cache=True, nogil=True)
def screen(products, squares, other_squares, reach, other_reach, slack):  # type: ignore[no-untyped-def]
    """Mark with NaN the pairs that may lie within θ; how many there are of each input.

    `reach` is `θ·|G|`, so that a pair is within θ if its embeddings are within the sum of its two reaches.
    """
    counts = np.zeros(len(products), dtype=np.int64)
    for i in range(len(products)):
        for j in range(products.shape[1]):
            both = squares[i] + other_squares[j]
            bound = reach[i] + other_reach[j]
            if both - 2 * np.float64(products[i, j]) <= bound * bound + slack * (both + bound * bound):
                products[i, j] = np.nan
                counts[i] += 1
    return counts


@numba.njit(cache=True, nogil=True)
def decide(marked, counts, first, sizes, second, other_sizes, theta):  # type: ignore[no-untyped-def]
    """Of the marked pairs those within θ: input within the block, candidate, norm."""
    inputs = np.empty(counts.sum(), dtype=np.int32)
    candidates = np.empty(len(inputs), dtype=np.int32)
    norms = np.empty(len(inputs), dtype=np.float32)
    place = 0
    for i in range(len(first)):
        if counts[i] == 0:
            continue
        for j in range(len(second)):
            if np.isnan(marked[i, j]):
                norm = distance(first[i], second[j]) / (sizes[i] + other_sizes[j])
                if norm <= theta:
                    inputs[place], candidates[place], norms[place] = i, j, norm
                    place += 1
    return inputs[:place].copy(), candidates[:place].copy(), norms[:place].copy()


@numba.njit(cache=True, nogil=True)
def fill_vectors(origins, sizes, ends, other_sizes, inputs, candidates, vectors):  # type: ignore[no-untyped-def]
    """`r(G,H) = (z(H) − z(G)) / (|G| + |H|)` of each pair, into `vectors [n, d]`."""
    for row in range(len(inputs)):
        i, j = inputs[row], candidates[row]
        elements = np.float64(sizes[i] + other_sizes[j])
        for k in range(vectors.shape[1]):
            vectors[row, k] = (np.float64(ends[j, k]) - np.float64(origins[i, k])) / elements


@numba.njit(cache=True, nogil=True)
def means(vectors, labels, num_clusters):  # type: ignore[no-untyped-def]
    """Mean of the vectors under each label, `[num_clusters, d]`; label -1 is left out."""
    sums = np.zeros((num_clusters, vectors.shape[1]))
    counts = np.zeros(num_clusters, dtype=np.int64)
    for i in range(len(labels)):
        if labels[i] >= 0:
            counts[labels[i]] += 1
            for k in range(vectors.shape[1]):
                sums[labels[i], k] += vectors[i, k]
    means = np.empty(sums.shape, dtype=np.float32)
    for c in range(num_clusters):
        for k in range(vectors.shape[1]):
            means[c, k] = sums[c, k] / counts[c]
    return means


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def near_box(points, members, low, high, bound):  # type: ignore[no-untyped-def]
    """Which members come within the square root of `bound` of a box, `[n]`."""
    result = np.empty(len(members), dtype=np.bool_)
    for i in range(len(members)):
        total = np.float32(0)
        for k in range(len(low)):
            outside = max(low[k] - points[members[i], k], points[members[i], k] - high[k], np.float32(0))
            total += outside * outside
        result[i] = total <= bound
    return result


@numba.njit(cache=True, nogil=True)
def note_neighbours(products, least, halves, vectors, rows, columns, radius, found, counts):  # type: ignore[no-untyped-def]
    """Note in `found[row]` the columns within the radius of each row, until it is full; `counts` says how many."""
    for i in range(len(rows)):
        row = rows[i]
        if not _any_near(products[i], least[i], halves):
            continue
        for j in range(len(columns)):
            if counts[row] == found.shape[1]:
                break
            if products[i, j] - halves[j] >= least[i] and distance(vectors[row], vectors[columns[j]]) <= radius:
                found[row, counts[row]] = columns[j]
                counts[row] += 1


@numba.njit(cache=True, nogil=True)
def join(products, least, halves, vectors, rows, columns, radius, parents):  # type: ignore[no-untyped-def]
    """Join the groups of rows and columns within the radius; the lowest vector stands for a group."""
    for i in range(len(rows)):
        if not _any_near(products[i], least[i], halves):
            continue
        root = _root(parents, rows[i])
        for j in range(len(columns)):
            if products[i, j] - halves[j] >= least[i]:
                branch = _root(parents, columns[j])
                if branch != root and distance(vectors[rows[i]], vectors[columns[j]]) <= radius:
                    root, branch = min(root, branch), max(root, branch)
                    parents[branch] = root


@numba.njit(cache=True, nogil=True)
def join_found(found, parents):  # type: ignore[no-untyped-def]
    """Join each vector's group to those of its known neighbours, -1 for none."""
    for i in range(len(found)):
        for j in found[i]:
            if j >= 0:
                first, second = _root(parents, i), _root(parents, j)
                parents[max(first, second)] = min(first, second)


@numba.njit(cache=True, nogil=True)
def _any_near(products, least, halves):  # type: ignore[no-untyped-def]
    # A count without a way out compiles to vector instructions.
    count = 0
    for j in range(len(halves)):
        count += products[j] - halves[j] >= least
    return count > 0


@numba.njit(cache=True, nogil=True)
def label_borders(labels, is_core, found):  # type: ignore[no-untyped-def]
    """Give every vector that is not core the lowest label among its core neighbours."""
    for i in range(len(labels)):
        if not is_core[i]:
            for j in found[i]:
                if j >= 0 and is_core[j] and (labels[i] < 0 or labels[j] < labels[i]):
                    labels[i] = labels[j]


@numba.njit(cache=True, nogil=True)
def roots(parents, members):  # type: ignore[no-untyped-def]
    """The lowest vector of the group of each member, `[n]`."""
    result = np.empty(len(members), dtype=np.int64)
    for i in range(len(members)):
        result[i] = _root(parents, members[i])
    return result


@numba.njit(cache=True, nogil=True)
def common_root(parents, members):  # type: ignore[no-untyped-def]
    """The lowest vector of the group that all members belong to; -1 if they belong to several."""
    root = _root(parents, members[0])
    for i in members:
        if _root(parents, i) != root:
            return -1
    return root


@numba.njit(cache=True, nogil=True, inline="always")
def _root(parents, i):  # type: ignore[no-untyped-def]
    while parents[i] != i:
        parents[i] = parents[parents[i]]
        i = parents[i]
    return i


@numba.njit(cache=True, nogil=True)
def keep_shortest(  # type: ignore[no-untyped-def]
    products, vectors, norms, inputs, begin, centres, squares, delta, slack, chosen, shortest
):
    """For each centre and input, keep the shortest vector within Δ and its pair."""
    for p in range(len(vectors)):
        square = np.float64(norms[p]) * np.float64(norms[p])
        i = inputs[p]
        for c in range(len(centres)):
            both = square + squares[c]
            if both - 2 * np.float64(products[p, c]) > delta * delta + slack * both:
                continue
            if norms[p] < shortest[c, i] and distance(vectors[p], centres[c]) <= delta:
                shortest[c, i] = norms[p]
                chosen[c, i] = begin + p


@numba.njit(cache=True, nogil=True)
def mark(products, centres, sums, vectors, squares, owners, radius, slack, sets):  # type: ignore[no-untyped-def]
    """Set the bit of the owner of every vector within the radius of each centre."""
    shrunk = squares * np.float32(1 - slack)
    for c in range(len(products)):
        least = np.float32(sums[c] * (1 - slack) - radius * radius)
        for j in range(len(squares)):
            if 2 * products[c, j] - shrunk[j] < least:
                continue
            both = np.float64(sums[c]) + np.float64(squares[j])
            inside = both * (1 + slack) - 2 * np.float64(products[c, j]) <= radius * radius
            if inside or distance(centres[c], vectors[j]) <= radius:
                sets[c, owners[j] >> 6] |= np.uint64(1) << np.uint64(owners[j] & 63)


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def drift(start, vectors, owners, delta, reach, least_norm):  # type: ignore[no-untyped-def]
    """The refinement of one start over the vectors near it."""
    width = len(start)
    centre = start.copy()
    _lengthen(centre, least_norm)
    best, best_gain, best_norm = centre.copy(), -1, np.float32(np.inf)
    sure = np.float32((_SURE * delta) ** 2)
    for t in range(_ROUNDS + 2):
        # The radius shrinks to Δ, and stays there for the last drifts.
        radius = max(np.float32(1), reach - (reach - 1) * t / np.float32(_ROUNDS - 1)) * delta
        total = np.zeros(width, dtype=np.float32)
        count, gain, j = 0, 0, 0
        while j < len(owners):
            owner, nearest, square = owners[j], -1, np.float32(np.inf)
            while j < len(owners) and owners[j] == owner:
                distance = np.float32(0)
                for k in range(width):
                    difference = vectors[j, k] - centre[k]
                    distance += difference * difference
                if distance < square:
                    nearest, square = j, distance
                j += 1
            if square <= radius * radius:
                count += 1
                for k in range(width):
                    total[k] += vectors[nearest, k]
            if square <= sure:
                gain += 1
        norm = np.float32(0)
        for k in range(width):
            norm += centre[k] * centre[k]
        if gain > best_gain or (gain == best_gain and norm < best_norm):
            best, best_gain, best_norm = centre.copy(), gain, norm
        if count == 0:
            break
        for k in range(width):
            centre[k] = total[k] / np.float32(count)
        _lengthen(centre, least_norm)
    return best, best_gain


@numba.njit(cache=True, nogil=True)
def lengthen(centres, least_norm):  # type: ignore[no-untyped-def]
    """Draw centres shorter than `least_norm` out to that length, in place."""
    for c in range(len(centres)):
        _lengthen(centres[c], least_norm)


@numba.njit(cache=True, nogil=True)
def _lengthen(centre, least_norm):  # type: ignore[no-untyped-def]
    norm = np.sqrt((centre * centre).sum())
    if norm < least_norm:
        if norm == 0:
            centre[0] = least_norm
        else:
            centre *= least_norm / norm


@numba.njit(cache=True, nogil=True)
def shorten(centre, points, delta, least_norm):  # type: ignore[no-untyped-def]
    """Pull the centre towards zero, then back into the balls around the points, farthest first, while that shortens it."""
    best = centre.copy()
    norm = np.sqrt((best * best).sum())
    pull = np.float32(0.1)
    while pull > 0.002 and norm > least_norm:
        trial = best * np.float32(max(1 - pull, least_norm / norm))
        inside = False
        for _ in range(50):
            farthest, apart = -1, 0.0
            for j in range(len(points)):
                other = distance(points[j], trial)
                if other > apart:
                    farthest, apart = j, other
            if apart <= delta:
                inside = True
                break
            trial = points[farthest] + (trial - points[farthest]) * np.float32(delta * 0.9999 / apart)
        length = np.sqrt((trial * trial).sum())
        if inside and least_norm <= length < norm * _SHORTER:
            best, norm = trial, length
        else:
            pull = np.float32(pull / 2)
    return best
