"""Kernels of composition: the inputs that every pair of rules should turn, the sites to try, and keys of composite rules."""

from __future__ import annotations

import numba
import numpy as np

from comrecgc.graphs.graph_kernels import chain, mix
from comrecgc.scoring import change_kernels as ck

_NEAR = 3  # places of a rule, the best ones, beside which others of the other are tried


@numba.njit(cache=True, nogil=True)
def pair_worth(rise, cost, grown, other_rise, other_cost, other_grown, need, size, theta, weight, same):  # type: ignore[no-untyped-def]
    """Weight of the inputs that each pair of rules should turn within θ, `[A, B]`; if `same`, only where `b >= a`."""
    # rise, cost, grown: what a rule adds to the log-odds of each input (-inf where it cannot be carried out), what that costs and adds to its
    # size, [A, N]; other_…: the same of the other rules, [B, N]; need, size, weight: what each input lacks, its size and weight, [N].
    worth = np.zeros((len(rise), len(other_rise)), np.float32)
    for a in range(len(rise)):
        for b in range(a if same else 0, len(other_rise)):
            total = np.float32(0)
            for i in range(len(need)):
                if rise[a, i] + other_rise[b, i] > need[i]:
                    if cost[a, i] + other_cost[b, i] <= theta * (2 * size[i] + grown[a, i] + other_grown[b, i]):
                        total += weight[i]
            worth[a, b] = total
    return worth


@numba.njit(cache=True, nogil=True)
def place_pairs(pairs, where, first, num, rise, other_first, other_num, other_rise, least, most, further, same):  # type: ignore[no-untyped-def]
    """Sites of two rules to try together: the pair, and a site of each, `[V]`.

    The best site of one with the best and second best of the other; with `further`, instead, the best few of one with others of the other.
    """
    # pairs: which rules, [P, 2]; where: in which inputs, [P, N]; first, num: where the places of a rule in an input begin, best first, and how many
    # there are, [A, N]; rise: what each place adds to the log-odds; other_…: the same of the other rules; least: what both must add, [N];
    # most: places tried of a pair in an input; same: whether both are the same rules.
    out, count = np.empty((4096, 3), np.int64), 0
    for p in range(len(pairs)):
        a, b = pairs[p, 0], pairs[p, 1]
        for i in range(where.shape[1]):
            if not where[p, i]:
                continue
            tried = 0
            for far in range(max(num[a, i], other_num[b, i]) if further else 2):
                for near in range(min(far + 1, _NEAR if further else 1)):
                    for turn in range(2 if near < far else 1):
                        x, y = (near, far) if turn == 0 else (far, near)
                        if x >= num[a, i] or y >= other_num[b, i] or tried == most:
                            continue
                        if (same and a == b and x >= y) or (further and x + y <= 1):
                            continue
                        place, other = first[a, i] + x, other_first[b, i] + y
                        if rise[place] + other_rise[other] <= least[i]:
                            continue
                        if count == len(out):
                            wider = np.empty((2 * count, 3), np.int64)
                            for row in range(count):
                                for k in range(3):
                                    wider[row, k] = out[row, k]
                            out = wider
                        out[count, 0], out[count, 1], out[count, 2] = p, place, other
                        count += 1
                        tried += 1
                if tried == most:
                    break
    return out[:count, 0].copy(), out[:count, 1].copy(), out[:count, 2].copy()


@numba.njit(cache=True, nogil=True)
def exact_keys(labels, edges, bonds, w, changes, members):  # type: ignore[no-untyped-def]
    """Key of each row of changes with the exact surroundings of all its anchors, `[V]`, whatever their order.

    Besides the rules at radius 1, the key holds how the surroundings overlap: every node that is, or is next to, more than one anchor counts. Anchors
    that look alike are told apart in a second round, by the nodes they share with others.
    """
    # changes: made together, [V, m, 4]; members: keys of their rules at radius 1, [V, m].
    ck.load(w, labels, edges, bonds)
    rows, num = w.rows, changes.shape[1]
    keys = np.empty(len(changes), np.uint64)
    anchors, roles = np.empty(2 * num, np.int64), np.empty(2 * num, np.uint64)
    shared = np.empty(2 * num, np.uint64)
    for i in range(len(changes)):
        total, count = np.uint64(0), 0
        for k in range(num):
            total += mix(members[i, k])
            for end in range(2 if changes[i, k, 0] >= ck.JOIN else 1):
                v = np.int64(changes[i, k, 1 + end])
                anchors[count], roles[count] = v, chain(members[i, k], ck.hash_of(rows, v))
                count += 1
        for _ in range(2):
            shared[:count] = np.uint64(0)
            for a in range(count):
                v = anchors[a]
                for k in range(ck.FIRST - 2, ck.FIRST + 2 * rows[v, ck.DEGREE], 2):
                    u = v if k < ck.FIRST else rows[v, k]
                    meets, first, term = 0, -1, np.uint64(0)
                    for b in range(count):
                        place = ck.place_of(rows, anchors[b], u)
                        if anchors[b] == u or place >= 0:
                            meets += 1
                            first = b if first < 0 else first
                            term += chain(roles[b], 0 if anchors[b] == u else rows[anchors[b], place + 1] + 1)
                    if meets > 1:
                        term = chain(term, rows[u, ck.LABEL])
                        shared[a] += chain(term, 0 if u == v else rows[v, k + 1] + 1)
                        if first == a:
                            total += term
            for a in range(count):
                roles[a] = chain(roles[a], shared[a])
        keys[i] = mix(total + np.uint64(num))
    return keys
