"""Lower bounds: the linear relaxation of the edit distance, solved from its dual without an LP solver.

Every pair (edge of the left graph, edge of the right graph) carries a reward of 2 if the mapping lays one on the other.
The dual splits it between the two ends: arc `a = i→j` on arc `b = k→l` gives `share[a, b]` to the *branch* "i goes to k"
and the rest, `share[twin a, twin b]`, to the branch "j goes to l". A branch is worth its label match plus the best
matching of its arcs; the best assignment of branches then bounds the gain from above, whatever the shares:

- shares of 1 give the classical branch bound;
- the best shares give the two-sided FORI linear relaxation (D'Ascenzo et al., 2025), because both kinds of
  assignment polytope are integral.

Shares are improved first by levelling slack between the two ends (never worsens the bound), then by subgradient steps
of Polyak's length towards the best known mapping. On the way, whatever could not be part of a better mapping is struck
out by its reduced cost, which can make the bound stronger than the relaxation itself."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
LongArray = npt.NDArray[np.int64]

IMPOSSIBLE = -1e6  # share of an arc pair that no better mapping can use
_FORBIDDEN = 1e6  # cost of a branch that no better mapping can use
MARGIN = 1e-6  # rounding errors stay far below it, steps of the integer gain far above
_LEVELLINGS = 5
_STEP = 2.0
_PATIENCE = 15

# Rows of the two arrays: few arrays are passed about because compiled code counts references to each.
ROW_PRICE, COLUMN_PRICE, _DISTANCE = 0, 1, 2
COLUMN_OF, _ROW_OF, _PARENT, _SETTLED = 0, 1, 2, 3


class AssignmentScratch(NamedTuple):
    """Scratch for assignments of up to `size` columns; holds the answer of the last one.

    Args:
        prices: Prices of the rows, prices of the columns, and path lengths, `[3, size]`.
        places: Column of each row, row of each column (-1: free), parents on paths, settled marks, `[4, size]`.
    """

    prices: npt.NDArray[np.float64]
    places: LongArray


class Dual(NamedTuple):
    """Where the ascent stands; changed in place.

    Args:
        share: Reward of an arc pair at its tails, `[2·m_left, 2·m_right]`.
        slack: How far each arc pair is from its branch's best matching, same shape.
        used: Scratch marks on arc pairs, same shape.
        cost: Minus the worth of each branch, `[n_left, n_right]`.
        dead: Branches struck out, same shape.
        stale: Branches whose worth must be computed again, same shape.
        step: Scale of the next step, iterations since the bound last improved, iterations so far, `[3]`.
        leader: Scratch for the assignment of branches; holds its prices.
        inner: Scratch for matchings within a branch.
        block: Scratch matrix for matchings within a branch.
        picked: Scratch list of arc pairs, `[·, 2]`.
    """

    share: FloatArray
    slack: FloatArray
    used: npt.NDArray[np.bool_]
    cost: FloatArray
    dead: npt.NDArray[np.bool_]
    stale: npt.NDArray[np.bool_]
    step: FloatArray
    leader: AssignmentScratch
    inner: AssignmentScratch
    block: FloatArray
    picked: LongArray


@numba.njit(cache=True, nogil=True)
def make_dual(left, right):  # type: ignore[no-untyped-def]
    """Even shares: the first bound they give is the branch bound."""
    n_left, n_right = len(left.labels), len(right.labels)
    arcs_left, arcs_right = len(left.head), len(right.head)
    degree = 1
    for i in range(n_left):
        degree = max(degree, left.ptr[i + 1] - left.ptr[i])
    for k in range(n_right):
        degree = max(degree, right.ptr[k + 1] - right.ptr[k])
    return Dual(
        np.ones((arcs_left, arcs_right)),
        np.zeros((arcs_left, arcs_right)),
        np.zeros((arcs_left, arcs_right), dtype=np.bool_),
        np.zeros((n_left, n_right)),
        np.zeros((n_left, n_right), dtype=np.bool_),
        np.ones((n_left, n_right), dtype=np.bool_),
        np.array([_STEP, 0.0, 0.0]),
        make_scratch(n_right),
        make_scratch(degree),
        np.zeros((degree, degree)),
        np.zeros((arcs_left + 1, 2), dtype=np.int64),
    )


@numba.njit(cache=True, nogil=True)
def ascend(left, right, joined, dual, image, gain, bound, iterations):  # type: ignore[no-untyped-def]
    """Tighten the bound; stops early when no mapping can beat the best one known.

    Args:
        left: The smaller side.
        right: The larger side.
        joined: Adjacency of the right side.
        dual: State, changed in place.
        image: Best mapping known, `[n_left]`; overwritten when a better one is met.
        gain: Its gain.
        bound: Upper bound on the gain known so far.
        iterations: How many bounds to compute at most.

    Returns:
        The best gain known and an upper bound on the gain of any mapping that beats it; it is the best when the bound
        is below `gain + 1`.
    """
    step = dual.step
    for _ in range(iterations):
        _value_branches(left, right, dual)
        current = -assign(dual.cost, len(left.labels), len(right.labels), dual.leader.prices, dual.leader.places)
        if current < bound - 1e-4:
            bound = current
            step[1] = 0.0
        else:
            step[1] += 1.0
            if step[1] >= _PATIENCE:
                step[0], step[1] = 0.5 * step[0], 0.0
        if bound >= gain + 1 - MARGIN:
            met = mapping_gain(left, right, joined, dual.leader.places[COLUMN_OF])
            if met > gain:
                gain = met
                for i in range(len(left.labels)):
                    image[i] = dual.leader.places[COLUMN_OF, i]
        if bound < gain + 1 - MARGIN:
            break
        _strike_out(left, right, dual, current - (gain + 1) + MARGIN, step[1] == 0.0)
        if step[2] < _LEVELLINGS:
            _level(left, right, dual)
        elif not _descend(left, right, dual, current - (gain + 1) + 0.05):
            break
        step[2] += 1.0
    return gain, bound


@numba.njit(cache=True, nogil=True)
def restart_steps(dual):  # type: ignore[no-untyped-def]
    """Long steps again, as the problem has changed; levelling is not repeated."""
    dual.step[0], dual.step[1], dual.step[2] = _STEP, 0.0, float(_LEVELLINGS)


@numba.njit(cache=True, nogil=True)
def _value_branches(left, right, dual):  # type: ignore[no-untyped-def]
    """Bring the cost of every stale branch, and the slack of its arc pairs, up to date."""
    share, slack, cost, dead, stale, block = dual.share, dual.slack, dual.cost, dual.dead, dual.stale, dual.block
    prices, places = dual.inner.prices, dual.inner.places
    for i in range(len(left.labels)):
        for k in range(len(right.labels)):
            if dead[i, k]:
                cost[i, k] = _FORBIDDEN
            elif stale[i, k]:
                worth = 1.0 if left.labels[i] == right.labels[k] else 0.0
                a0, a1, b0, b1 = left.ptr[i], left.ptr[i + 1], right.ptr[k], right.ptr[k + 1]
                cost[i, k] = -worth - _match_arcs(share, slack, a0, a1, b0, b1, block, prices, places)
                stale[i, k] = False


@numba.njit(cache=True, nogil=True)
def _match_arcs(share, slack, a0, a1, b0, b1, block, prices, places):  # type: ignore[no-untyped-def]
    """Worth of the best matching of arcs `a0 … a1` with arcs `b0 … b1`; writes the slack of their pairs."""
    if a1 - a0 <= 1 or b1 - b0 <= 1:
        best = 0.0
        for a in range(a0, a1):
            for b in range(b0, b1):
                best = max(best, share[a, b])
        for a in range(a0, a1):
            for b in range(b0, b1):
                slack[a, b] = best - share[a, b]
        return best
    if a1 - a0 <= b1 - b0:
        _fill_block(share, a0, a1, b0, b1, block)
        worth = -assign(block, a1 - a0, b1 - b0, prices, places)
        for a in range(a0, a1):
            for b in range(b0, b1):
                slack[a, b] = -prices[ROW_PRICE, a - a0] - prices[COLUMN_PRICE, b - b0] - share[a, b]
        return worth
    _fill_block(share.T, b0, b1, a0, a1, block)
    worth = -assign(block, b1 - b0, a1 - a0, prices, places)
    for a in range(a0, a1):
        for b in range(b0, b1):
            slack[a, b] = -prices[ROW_PRICE, b - b0] - prices[COLUMN_PRICE, a - a0] - share[a, b]
    return worth


@numba.njit(cache=True, nogil=True)
def _fill_block(share, a0, a1, b0, b1, block):  # type: ignore[no-untyped-def]
    """Minus the shares of arc pairs, as costs; a pair need not be matched, so at most 0."""
    for a in range(a0, a1):
        for b in range(b0, b1):
            block[a - a0, b - b0] = min(0.0, -share[a, b])


@numba.njit(cache=True, nogil=True)
def _strike_out(left, right, dual, room, arc_pairs_too):  # type: ignore[no-untyped-def]
    """Drop branches (and arc pairs) that would push the bound below one more than the best gain known."""
    rows, columns = dual.leader.prices[ROW_PRICE], dual.leader.prices[COLUMN_PRICE]
    for i in range(len(left.labels)):
        for k in range(len(right.labels)):
            if dual.dead[i, k]:
                continue
            reduced = dual.cost[i, k] - rows[i] - columns[k]
            if reduced > room:
                kill_branch(left, right, dual, i, k)
            elif arc_pairs_too:
                for a in range(left.ptr[i], left.ptr[i + 1]):
                    for b in range(right.ptr[k], right.ptr[k + 1]):
                        if dual.share[a, b] != IMPOSSIBLE and dual.slack[a, b] + reduced > room:
                            dual.stale[i, k] = True
                            _kill_arc_pair(left, right, dual, a, b)


@numba.njit(cache=True, nogil=True)
def kill_branch(left, right, dual, i, k):  # type: ignore[no-untyped-def]
    """Forbid `i` to go to `k`."""
    dual.dead[i, k] = True
    for a in range(left.ptr[i], left.ptr[i + 1]):
        for b in range(right.ptr[k], right.ptr[k + 1]):
            _kill_arc_pair(left, right, dual, a, b)


@numba.njit(cache=True, nogil=True)
def _kill_arc_pair(left, right, dual, a, b):  # type: ignore[no-untyped-def]
    """Forbid arc `a` to lie on arc `b`; the branch at its tails is the caller's to mark."""
    dual.share[a, b] = IMPOSSIBLE
    dual.share[left.twin[a], right.twin[b]] = IMPOSSIBLE
    dual.stale[left.head[a], right.head[b]] = True


@numba.njit(cache=True, nogil=True)
def _level(left, right, dual):  # type: ignore[no-untyped-def]
    """Give both ends of every arc pair the same slack; a branch's reduced cost counts, split over its arcs.

    No branch gains more than its slack, so the bound cannot worsen.
    """
    rows, columns = dual.leader.prices[ROW_PRICE], dual.leader.prices[COLUMN_PRICE]
    share, slack = dual.share, dual.slack
    for i in range(len(left.labels)):
        for k in range(len(right.labels)):
            matched = min(left.ptr[i + 1] - left.ptr[i], right.ptr[k + 1] - right.ptr[k])
            if matched == 0 or dual.dead[i, k]:
                continue
            extra = (dual.cost[i, k] - rows[i] - columns[k]) / matched
            dual.stale[i, k] = True
            for a in range(left.ptr[i], left.ptr[i + 1]):
                for b in range(right.ptr[k], right.ptr[k + 1]):
                    slack[a, b] += extra
    for a in range(len(left.head)):
        if left.twin[a] < a:
            continue
        for b in range(len(right.head)):
            if share[a, b] != IMPOSSIBLE:
                there = right.twin[b]
                share[a, b] += 0.5 * (slack[a, b] - slack[left.twin[a], there])
                share[left.twin[a], there] = 2.0 - share[a, b]


@numba.njit(cache=True, nogil=True)
def _descend(left, right, dual, excess):  # type: ignore[no-untyped-def]
    """One subgradient step: where only one end wants an arc pair, its share there falls.

    Returns False if both ends agree everywhere: the shares are optimal.
    """
    share, used, picked = dual.share, dual.used, dual.picked
    count = _pick_arc_pairs(left, right, dual)
    disagreements = 0
    for p in range(count):
        if not used[left.twin[picked[p, 0]], right.twin[picked[p, 1]]]:
            disagreements += 1
    length = dual.step[0] * excess / max(1, disagreements)
    for p in range(count):
        a, b = picked[p]
        there, back = left.twin[a], right.twin[b]
        if not used[there, back]:
            # beyond 0 and 2 a share changes nothing for the better
            share[a, b] = max(0.0, share[a, b] - length)
            share[there, back] = 2.0 - share[a, b]
            dual.stale[left.head[there], right.head[back]] = True
            dual.stale[left.head[a], right.head[b]] = True
    for p in range(count):
        used[picked[p, 0], picked[p, 1]] = False
    return disagreements > 0


@numba.njit(cache=True, nogil=True)
def _pick_arc_pairs(left, right, dual):  # type: ignore[no-untyped-def]
    """Mark and list the arc pairs matched in the branches of the current assignment; returns how many."""
    count = 0
    share, block, used, picked = dual.share, dual.block, dual.used, dual.picked
    prices, places = dual.inner.prices, dual.inner.places
    for i in range(len(left.labels)):
        k = dual.leader.places[COLUMN_OF, i]
        a0, b0 = left.ptr[i], right.ptr[k]
        degree, there = left.ptr[i + 1] - a0, right.ptr[k + 1] - b0
        if degree == 0 or there == 0 or dual.dead[i, k]:
            continue
        if degree <= there:
            _fill_block(share, a0, a0 + degree, b0, b0 + there, block)
        else:
            _fill_block(share.T, b0, b0 + there, a0, a0 + degree, block)
        assign(block, min(degree, there), max(degree, there), prices, places)
        for row in range(min(degree, there)):
            column = places[COLUMN_OF, row]
            if block[row, column] < 0.0:
                a, b = (a0 + row, b0 + column) if degree <= there else (a0 + column, b0 + row)
                used[a, b] = True
                picked[count, 0], picked[count, 1] = a, b
                count += 1
    return count


@numba.njit(cache=True, nogil=True)
def make_scratch(size):  # type: ignore[no-untyped-def]
    """Scratch for assignments of up to `size` columns."""
    return AssignmentScratch(np.zeros((3, size)), np.zeros((4, size), dtype=np.int64))


@numba.njit(cache=True, nogil=True)
def assign(cost, rows, columns, prices, places):  # type: ignore[no-untyped-def]
    """Give every row its own column at least total cost, by shortest augmenting paths.

    Afterwards `places[COLUMN_OF, i]` is the column of row `i`, and `prices[ROW_PRICE, i] + prices[COLUMN_PRICE, j]` is
    at most `cost[i, j]`, column prices are at most 0, and all prices add up to the cost returned.

    Args:
        cost: Its first `rows × columns` cells are the problem; no more rows than columns.
        rows: Number of rows.
        columns: Number of columns.
        prices: Of a `AssignmentScratch` with at least as many columns.
        places: Of the same workspace.
    """
    for j in range(columns):
        prices[COLUMN_PRICE, j] = 0.0
        places[_ROW_OF, j] = -1
    unassigned = 0
    for i in range(rows):
        cheapest, column = np.inf, -1
        for j in range(columns):
            if cost[i, j] < cheapest:
                cheapest, column = cost[i, j], j
            elif cost[i, j] == cheapest and places[_ROW_OF, column] != -1 and places[_ROW_OF, j] == -1:
                column = j
        prices[ROW_PRICE, i] = cheapest
        if places[_ROW_OF, column] == -1:
            places[_ROW_OF, column], places[COLUMN_OF, i] = i, column
        else:
            places[COLUMN_OF, i] = -1
            unassigned += 1
    if unassigned:
        for i in range(rows):
            if places[COLUMN_OF, i] == -1:
                _augment(cost, columns, i, prices, places)
    total = 0.0
    for i in range(rows):
        total += prices[ROW_PRICE, i]
    for j in range(columns):
        total += prices[COLUMN_PRICE, j]
    return total


@numba.njit(cache=True, nogil=True)
def _augment(cost, columns, start, prices, places):  # type: ignore[no-untyped-def]
    """Find row `start` a column along a shortest path of reassignments (Dijkstra on reduced costs)."""
    for j in range(columns):
        prices[_DISTANCE, j] = cost[start, j] - prices[ROW_PRICE, start] - prices[COLUMN_PRICE, j]
        places[_PARENT, j] = start
        places[_SETTLED, j] = 0
    while True:
        nearest, column = np.inf, -1
        for j in range(columns):
            if not places[_SETTLED, j]:
                length = prices[_DISTANCE, j]
                if length < nearest or (length == nearest and places[_ROW_OF, j] == -1):
                    nearest, column = length, j
        row = places[_ROW_OF, column]
        if row == -1:
            break
        places[_SETTLED, column] = 1
        base = nearest - prices[ROW_PRICE, row]
        for j in range(columns):
            if not places[_SETTLED, j]:
                through = base + cost[row, j] - prices[COLUMN_PRICE, j]
                if through < prices[_DISTANCE, j]:
                    prices[_DISTANCE, j] = through
                    places[_PARENT, j] = row
    prices[ROW_PRICE, start] += nearest
    for j in range(columns):
        if places[_SETTLED, j]:
            prices[COLUMN_PRICE, j] -= nearest - prices[_DISTANCE, j]
            prices[ROW_PRICE, places[_ROW_OF, j]] += nearest - prices[_DISTANCE, j]
    while True:
        row = places[_PARENT, column]
        places[_ROW_OF, column] = row
        column, places[COLUMN_OF, row] = places[COLUMN_OF, row], column
        if row == start:
            break


@numba.njit(cache=True, nogil=True)
def mapping_gain(left, right, joined, image):  # type: ignore[no-untyped-def]
    """Equal labels + 2 · edges kept when left node `i` goes to right node `image[i]`; `joined` belongs to the right."""
    gain = 0
    for i in range(len(left.labels)):
        if left.labels[i] == right.labels[image[i]]:
            gain += 1
        for a in range(left.ptr[i], left.ptr[i + 1]):
            gain += joined[image[i], image[left.head[a]]]  # every kept edge is met from both ends
    return gain
