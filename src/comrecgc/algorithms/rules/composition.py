"""Composite rules: two or three changes made together, found by what each does alone.

How much a change raises the log-odds of accept is roughly added when several are made together. So for every pair of rules the inputs that
they should turn are predicted from what each does alone, the most promising pairs are made at their best places and scored for real, those that
turn the most at many places, and what is still open decides which are tried next. Rules of three changes are pairs that worked, or came close,
with one more.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.rules import composition_kernels
from comrecgc.algorithms.rules.mining import ACCEPTED, Changes, ChangeScorer, Columns, FloatArray, IntArray, Oracle
from comrecgc.run import Progress

_PLACES, _MORE_PLACES = (
    40,
    200,
)  # places of a pair of rules in an input that are tried, beyond the best; the second where there are few of both
_MOST_PLACES = 12_000_000  # places of all pairs in all inputs up to which more are tried
_MANY_CHANGES = 2_000_000  # single changes of all inputs from which on no more pairs are tried than asked for
_MOST_CHECKED = 6_000  # molecules of two changes, or three, that are looked at one by one in a round: some seconds
_CLOSEST = 3  # places of a rule that is not accepted in an input to which more changes may be added
_PAIRS = 4  # kinds of change from here on have two nodes and no anchor (`change_kernels.JOIN`)


@dataclass(frozen=True, eq=False, kw_only=True)
class ChangeRows(Columns):
    """Single changes made together, one or several a row, and what came of it.

    Args:
        key: Key of the rule at radius 0 that a row carries out, `[V]`.
        input: Place among the inputs, `[V]`.
        part: The single changes, `[V, m]`; -1 where a row has fewer.
        margin: Log-odds of accept, `[V]`.
        goal: Log-odds of what counts, `[V]`.
    """

    key: npt.NDArray[np.uint64]
    input: IntArray
    part: IntArray
    margin: FloatArray
    goal: FloatArray

    @classmethod
    def of(cls, singles: Changes) -> ChangeRows:
        """Single changes, each a row."""
        part = np.arange(len(singles), dtype=np.int32)[:, None]
        return cls(key=singles.rule[:, 0], input=singles.input, part=part, margin=singles.margin, goal=singles.goal)

    def keys(self, radius: int, singles: Changes, scorer: ChangeScorer) -> npt.NDArray[np.uint64]:
        """Key at a radius of the rule that each row carries out, `[V]`; at radius 2, of single changes, 0 where too much lies around."""
        if radius == 0:
            return self.key
        exact = singles.rule[self.part, 1]
        if self.part.shape[1] > 1:
            return scorer.exact_keys(self.input, singles.change[self.part, 0], exact)
        return (
            exact[:, 0]
            if radius == 1
            else scorer.widened_keys(self.input, singles.change[self.part[:, 0], 0], exact[:, 0])
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Parts:
    """Rules as parts of larger ones: their best places in every input.

    Args:
        made: What the places speak of.
        row: Rows of `made`, place after place, the best of an input first.
        height: How much each raises the log-odds of what counts.
        first: Where the places in an input begin, `[K, N]`.
        num: How many there are, `[K, N]`.
        rise: How much the best of them raises the log-odds, `[K, N]`; -inf where there is none.
        cost: What that costs, `[K, N]`.
        grown: What it adds to the size of the graph, `[K, N]`.
    """

    made: ChangeRows
    row: npt.NDArray[np.int64]
    height: npt.NDArray[np.float32]
    first: npt.NDArray[np.int32]
    num: npt.NDArray[np.int32]
    rise: npt.NDArray[np.float32]
    cost: npt.NDArray[np.int32]
    grown: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.first)


def composite_keys(members: npt.NDArray[np.uint64], change: IntArray) -> npt.NDArray[np.uint64]:
    """Key of each row, `[V]`, whatever the order of its changes; a single change has the key of its rule."""
    if members.shape[1] == 1:
        return members[:, 0]
    total = np.zeros(len(members), np.uint64)
    for k in range(members.shape[1]):
        beside = np.zeros(len(members), np.uint64)
        for j in range(members.shape[1]):
            shares = (change[:, j, 1] == change[:, k, 1]) & (change[:, j, 0] < _PAIRS) & (change[:, k, 0] < _PAIRS)
            if j != k:
                beside += np.where(shares, _mix(members[:, j]), np.uint64(0))
        total += _mix(_mix(members[:, k]) + beside)
    return _mix(total + np.uint64(members.shape[1]))


def _mix(x: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Finaliser of splitmix64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


@dataclass(frozen=True, kw_only=True)
class Composition:
    """How much a search for composite rules tries.

    Args:
        num_parts: Single rules that are combined.
        num_tried: Pairs made at their best places in every round, where there are many single changes; up to three times as many where there are few,
        num_kept: and of these, those made at many places.
        num_rounds: Rounds; those after the first look at what ten rules leave open.
        num_extended: Pairs that are extended by a third change.
        slack: Log-odds that a prediction may lack at the best places, in shares of what the input lacks,
        further_slack: and at others.
        most_changes: Changes of a rule at most.
    """

    num_parts: int = 400
    num_tried: int = 400
    num_kept: int = 150
    num_rounds: int = 3
    num_extended: int = 200
    slack: float = 0.3
    further_slack: float = 1.0
    most_changes: int = 3


class CompositeSearch:
    """Makes single changes together, on some inputs.

    Args:
        config: How much is tried.
        singles: Single changes, scored.
        base: Log-odds of what counts, of every input as it is.
        scorer: Carries out and scores changes.
        oracle: The models that decide.
        most_nodes: Nodes of all graphs made of two changes, and as many again of three; where there would be more, fewer places are tried.
        deadline: When to stop, as `time.monotonic()` counts.
        progress: Called as work proceeds.
    """

    def __init__(
        self,
        config: Composition,
        singles: Changes,
        base: FloatArray,
        scorer: ChangeScorer,
        oracle: Oracle,
        *,
        most_nodes: float = np.inf,
        deadline: float | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.deadline, self.out_of_time, self.cut_short = deadline, False, False
        self.config, self.singles, self.base = config, singles, base
        self.scorer, self.oracle, self.progress = scorer, oracle, progress
        self.watch: Progress | None = None
        self.need = np.maximum(-base, 1e-6).astype(np.float32)
        self.size = np.array([graph.size for graph in scorer.inputs])
        self.theta = scorer.vocabulary.theta
        self.most_nodes = most_nodes / (2 * config.num_rounds)  # of what is made at once
        effort = min(max(_MANY_CHANGES / max(len(singles), 1), 1.0), 3.0)
        self.num_tried, self.num_kept = int(effort * config.num_tried), int(effort * config.num_kept)
        accepted = singles.accepted
        # What covers what so far: rules of one change, at radius 0.
        self.sets = _sets(singles.rule[accepted, 0], singles.input[accepted])

    def search(self) -> tuple[list[ChangeRows], bool]:
        """Rules of two changes, and of three, as far as they were worth a try, and whether there was time for all."""
        if self.config.most_changes < 2 or not len(self.singles):
            return [], True
        single = self.parts(ChangeRows.of(self.singles), self.config.num_parts)
        found = self.combine(single, single)
        if found and self.config.most_changes > 2:
            found += self.combine(self.parts(ChangeRows.concatenate(found), self.config.num_extended), single)
        return found, not self.out_of_time

    def carry_out(self, pairs: npt.NDArray[np.uint64], triples: npt.NDArray[np.uint64]) -> list[ChangeRows]:
        """Known rules of several changes, made at the places where a search would make them.

        Args:
            pairs: Single rules to be carried out together, `[P, 2]`.
            triples: Keys of pairs, and a single rule to be carried out beside each, `[T, 2]`.
        """
        parts = np.unique(np.concatenate([pairs.ravel(), triples[:, 1]]))
        single = self.parts(ChangeRows.of(self.singles), parts)
        found = [self.make(single, single, np.searchsorted(parts, pairs), same=True)]
        if len(triples):
            names = np.unique(triples[:, 0])
            both = np.stack([np.searchsorted(names, triples[:, 0]), np.searchsorted(parts, triples[:, 1])], axis=1)
            found.append(self.make(self.parts(found[0], names), single, both, same=False))
        return found

    def parts(self, made: ChangeRows, wanted: int | npt.NDArray[np.uint64]) -> Parts:
        """The rules of these keys, which increase, or as many as close most of the gaps to oracle, over all inputs."""
        rise = (made.goal - self.base[made.input]).astype(np.float32)
        rows = np.flatnonzero(np.isfinite(rise))
        rise = rise[rows]
        names, of = np.unique(made.key[rows], return_inverse=True)
        order = np.lexsort((rows, -rise, made.input[rows], of))
        rows, rise, of = rows[order], rise[order], of[order]
        at = made.input[rows]
        best = np.ones(len(rows), bool)  # best place of each rule in each input
        best[1:] = (of[1:] != of[:-1]) | (at[1:] != at[:-1])
        first = np.flatnonzero(best)
        index = np.full(len(names), -1)
        if isinstance(wanted, int):
            share = np.clip(rise[first] / self.need[at[first]], 0.0, 1.0)
            worth = np.bincount(of[first], share, minlength=len(names))
            chosen = np.sort(np.argsort(-worth, kind="stable")[:wanted])
            index[chosen] = np.arange(len(chosen))
            num_parts = len(chosen)
        else:
            chosen = np.flatnonzero(np.isin(names, wanted))
            index[chosen] = np.searchsorted(wanted, names[chosen])
            num_parts = len(wanted)
        kept = index[of[first]] >= 0
        ends = np.append(first[1:], len(rows))[kept]
        first = first[kept]
        part, where = index[of[first]], at[first]
        shape = (num_parts, len(self.base))
        starts, nums, costs, growths = (np.zeros(shape, np.int32) for _ in range(4))
        rises = np.full(shape, -np.inf, np.float32)
        starts[part, where], nums[part, where], rises[part, where] = first, ends - first, rise[first]
        singles = made.part[rows[first]]
        costs[part, where] = self.singles.cost[singles].sum(axis=1)
        growths[part, where] = self.singles.grown[singles].sum(axis=1)
        return Parts(
            made=made, row=rows, height=rise, first=starts, num=nums, rise=rises, cost=costs, grown=growths
        )  # fmt: skip

    def combine(self, left: Parts, right: Parts) -> list[ChangeRows]:
        """The most promising combinations, scored; round after round, by what is still open."""
        done: list[ChangeRows] = []
        tried = np.zeros((len(left), len(right)), bool)
        same = left is right
        stage = f"combining {left.made.part.shape[1] + right.made.part.shape[1]} changes"
        for round_ in range(self.config.num_rounds):
            if self.deadline is not None and time.monotonic() > self.deadline:
                self.out_of_time = True
                break
            weight = self._open_weight() if round_ else np.ones(len(self.base), np.float32)
            worth = composition_kernels.pair_worth(
                left.rise, left.cost, left.grown, right.rise, right.cost, right.grown,
                self.need, self.size, self.theta, weight, same,
            )  # fmt: skip
            worth[tried] = 0
            flat = worth.ravel()
            best = np.argsort(-flat, kind="stable")[: self.num_tried]
            best = best[flat[best] > 0]
            if not len(best):
                break
            pairs = np.stack(np.unravel_index(best, worth.shape), axis=1)
            tried[pairs[:, 0], pairs[:, 1]] = True
            self.watch = self._within(stage, round_)
            made = self._make_best(left, right, pairs, weight, same=same)
            if self.cut_short:  # made on some of the inputs alone: how often a rule works would be wrong
                self.out_of_time = True
                break
            done.append(made)
            accepted = made.goal > ACCEPTED
            self.sets += _sets(made.key[accepted], made.input[accepted])
            self.out_of_time |= self.deadline is not None and time.monotonic() > self.deadline
            if self.progress is not None:
                self.progress(stage, round_ + 1, self.config.num_rounds, "")
        return done

    def _within(self, stage: str, round_: int) -> Progress | None:
        """Tells of the work within a round."""
        progress, rounds = self.progress, self.config.num_rounds
        if progress is None:
            return None
        return lambda what, done, total, _: progress(stage, round_, rounds, f"{what} {done}/{total}")

    def _open_weight(self) -> npt.NDArray[np.float32]:
        """Inputs that the best ten rules so far leave open count in full, the others a tenth."""
        from scipy.sparse import csr_array

        from comrecgc.cover import greedy_cover

        counts = [len(items) for items in self.sets]
        if not counts:
            return np.ones(len(self.base), np.float32)
        indices = np.concatenate(self.sets)
        incidence = csr_array(
            (np.ones(len(indices), bool), indices, np.cumsum([0, *counts])), shape=(len(counts), len(self.base))
        )
        weight = np.ones(len(self.base), np.float32)
        for row in greedy_cover(incidence, 10).order.tolist():
            weight[self.sets[row]] = 0.1
        return weight

    def make(self, left: Parts, right: Parts, pairs: npt.NDArray[np.int64], *, same: bool) -> ChangeRows:
        """Make and score pairs of rules: at their best places, and at more where those are not accepted."""
        turned = np.zeros((len(pairs), len(self.base)), bool)
        tried = [self._made_at(left, right, pairs, turned, same=same, further=further) for further in (False, True)]
        return _closest(ChangeRows.concatenate([made for made, _ in tried]))

    def _make_best(
        self, left: Parts, right: Parts, pairs: npt.NDArray[np.int64], weight: npt.NDArray[np.float32], *, same: bool
    ) -> ChangeRows:
        """What `make` makes of those pairs that turn the most at their best places."""
        turned = np.zeros((len(pairs), len(self.base)), bool)
        made, pair = self._made_at(left, right, pairs, turned, same=same, further=False, permit=False)
        best = np.argsort(-(turned @ weight), kind="stable")[: self.num_kept]
        if self.oracle.permission is not None:
            best = best[
                : max(1, int(np.searchsorted(np.cumsum(turned[best].sum(axis=1)), _MOST_CHECKED, side="right")))
            ]
        best = np.sort(best)
        kept = np.flatnonzero(np.isin(pair, best))
        made, pair = self._permitted(made.take(kept), pair[kept], turned)
        most = int(np.clip(_MOST_PLACES // max(turned[best].size, 1), _PLACES, _MORE_PLACES))
        more, _ = self._made_at(
            left, right, pairs[best], turned[best], same=same, further=True, most_places=most, permit=False
        )
        return _closest(ChangeRows.concatenate([made, more]))

    def _permitted(
        self, made: ChangeRows, pair: npt.NDArray[np.int64], turned: npt.NDArray[np.bool_]
    ) -> tuple[ChangeRows, npt.NDArray[np.int64]]:
        """The rows that count, of those that the model was asked about alone; `turned` forgets the others."""
        if self.oracle.permission is None:
            return made, pair
        likely = np.flatnonzero(made.margin > ACCEPTED)
        allowed, late = self.oracle.permits(
            self.scorer, made.input[likely], self.singles.change[made.part[likely], 0],
            deadline=self.deadline, progress=self.watch,
        )  # fmt: skip
        self.cut_short |= bool(np.isin(made.input[likely], late).any())
        refused = likely[~allowed]
        turned[pair[refused], made.input[refused]] = False
        kept = np.setdiff1d(np.arange(len(pair)), refused)
        return made.take(kept), pair[kept]

    def _made_at(
        self,
        left: Parts,
        right: Parts,
        pairs: npt.NDArray[np.int64],
        turned: npt.NDArray[np.bool_],
        *,
        same: bool,
        further: bool,
        most_places: int = _PLACES,
        permit: bool = True,
    ) -> tuple[ChangeRows, npt.NDArray[np.int64]]:
        """Pairs of rules made at their best places, or further ones, where they have not turned an input; notes those that they turn now."""
        least = self.need * np.float32(1 - (self.config.further_slack if further else self.config.slack))
        where = ~turned
        for k, (a, b) in enumerate(pairs.tolist()):
            cost, grown = left.cost[a] + right.cost[b], left.grown[a] + right.grown[b]
            where[k] &= (left.rise[a] + right.rise[b] > least) & (cost <= self.theta * (2 * self.size + grown))
        pair, one, other = composition_kernels.place_pairs(
            pairs, where, left.first, left.num, left.height, right.first, right.num, right.height, least, most_places, further, same
        )  # fmt: skip
        one, other = left.row[one], right.row[other]
        some = self.scorer.some_places(left.made.input[one], pair, self.most_nodes)
        if some is not None:
            pair, one, other = pair[some], one[some], other[some]
        inputs, part = left.made.input[one], np.concatenate([left.made.part[one], right.made.part[other]], axis=1)
        change = self.singles.change[part, 0]
        margin, goal, late = self.oracle.judge(
            self.scorer, inputs, change, permit=permit, deadline=self.deadline, progress=self.watch
        )
        self.cut_short |= bool(np.isin(inputs, late).any())
        key = composite_keys(self.singles.rule[part, 0], change)
        made = ChangeRows(key=key, input=inputs, part=part, margin=margin, goal=goal)
        accepted = np.flatnonzero(goal > ACCEPTED)
        turned[pair[accepted], made.input[accepted]] = True
        possible = np.flatnonzero(np.isfinite(margin))
        return made.take(possible), pair[possible]


def _closest(made: ChangeRows) -> ChangeRows:
    """Rows that are accepted, and of the others the few of each rule and input that come closest."""
    order = np.lexsort((np.arange(len(made.goal)), -made.goal, made.input, made.key))
    new = (
        np.r_[True, (np.diff(made.key[order]) != 0) | (np.diff(made.input[order]) != 0)]
        if len(order)
        else np.zeros(0, bool)
    )
    rank = np.arange(len(order)) - np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))
    return made.take(np.sort(order[(rank < _CLOSEST) | (made.goal[order] > ACCEPTED)]))


def _sets(rules: npt.NDArray[np.int64] | npt.NDArray[np.uint64], inputs: IntArray) -> list[IntArray]:
    """Inputs of each rule."""
    if not len(rules):
        return []
    order = np.lexsort((inputs, rules))
    rules, inputs = rules[order], inputs[order]
    return [np.unique(part) for part in np.split(inputs, np.flatnonzero(rules[1:] != rules[:-1]) + 1)]
