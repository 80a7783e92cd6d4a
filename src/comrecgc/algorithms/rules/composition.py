"""Composite rules: two or three changes made together, predicted from the effect of each alone.

The rises of the log-odds of accept by several changes roughly add up. So the inputs that each pair of rules should turn are predicted from the rises
of both. The most promising pairs are made at their best sites and scored by the model, the best of them at many sites. Inputs not yet turned decide
which pairs are tried next. Rules of three changes are pairs that worked, or came close, with one more change.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.rules import composition_kernels
from comrecgc.algorithms.rules.mining import ACCEPTED, Changes, ChangeScorer, Columns, Oracle, is_first, ranks_of_alike
from comrecgc.cover import greedy_cover, incidence_of
from comrecgc.graphs import BoolArray, IntArray, KeyArray, LongArray
from comrecgc.run import UNLIMITED, RunContext

# Places of a pair of rules in an input that are tried, beyond the best; the second where there are few of both.
_PLACES, _MORE_PLACES = 40, 200
_MOST_PLACES = 12_000_000  # places of all pairs in all inputs up to which more are tried
_MANY_CHANGES = 2_000_000  # single changes of all inputs from which on no more pairs are tried than asked for
_MOST_CHECKED = 6_000  # molecules of two changes, or three, that are looked at one by one in a round: some seconds
_CLOSEST = 3  # places of a rule that is not accepted in an input to which more changes may be added
_PAIRS = 4  # kinds of change from here on have two nodes and no anchor (`change_kernels.JOIN`)


@dataclass(frozen=True, eq=False, kw_only=True)
class ChangeRows(Columns):
    """Rows of one or several changes made together, and their scores."""

    key: KeyArray  # key of the rule at radius 0 that a row carries out, `[V]`
    input: IntArray  # place among the inputs, `[V]`
    part: IntArray  # the single changes, `[V, m]`; -1 where a row has fewer
    margin: npt.NDArray[np.float64]  # log-odds of accept, `[V]`
    goal: npt.NDArray[np.float64]  # log-odds of what counts, `[V]`

    @classmethod
    def of(cls, singles: Changes) -> ChangeRows:
        """Single changes, each a row."""
        part = np.arange(len(singles), dtype=np.int32)[:, None]
        return cls(key=singles.rule[:, 0], input=singles.input, part=part, margin=singles.margin, goal=singles.goal)

    def keys(self, radius: int, singles: Changes, scorer: ChangeScorer) -> KeyArray:
        """Key at a radius of the rule that each row carries out, `[V]`; at radius 2 only for single changes, 0 where the surroundings are too large."""
        if radius == 0:
            return self.key
        exact = singles.rule[self.part, 1]
        if self.part.shape[1] > 1:
            return scorer.exact_keys(self.input, singles.change[self.part, 0], exact)
        if radius == 1:
            return np.asarray(exact[:, 0])
        return scorer.widened_keys(self.input, singles.change[self.part[:, 0], 0], exact[:, 0])


@dataclass(frozen=True, eq=False, kw_only=True)
class Parts:
    """Rules as parts of composite ones: their best sites in every input."""

    made: ChangeRows  # what the places speak of
    row: LongArray  # rows of `made`, place after place, the best of an input first
    height: npt.NDArray[np.float32]  # how much each raises the log-odds of what counts
    first: IntArray  # where the places in an input begin, `[K, N]`
    num: IntArray  # how many there are, `[K, N]`
    rise: npt.NDArray[np.float32]  # how much the best of them raises the log-odds, `[K, N]`; -inf where there is none
    cost: IntArray  # what that costs, `[K, N]`
    grown: IntArray  # what it adds to the size of the graph, `[K, N]`

    def __len__(self) -> int:
        return len(self.first)


def composite_keys(members: KeyArray, change: IntArray) -> KeyArray:
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


def _mix(x: KeyArray) -> KeyArray:
    """Finaliser of splitmix64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


@dataclass(frozen=True, kw_only=True)
class Composition:
    """Budget of a search for composite rules."""

    num_parts: int = 400  # single rules that are combined
    # Pairs made at their best places in every round, where there are many single changes; up to three times as many
    # where there are few,
    num_tried: int = 400
    num_kept: int = 150  # and of these, those made at many places
    num_rounds: int = 3  # rounds; those after the first look at what ten rules leave open
    num_extended: int = 200  # pairs that are extended by a third change
    slack: float = 0.3  # log-odds that a prediction may lack at the best places, in shares of what the input lacks,
    further_slack: float = 1.0  # and at others
    most_changes: int = 3  # changes of a rule at most


class CompositeSearch:
    """Search for composite rules on some inputs.

    Changed graphs of two changes have at most `most_nodes` nodes in all, and so have those of three; if there would be more, fewer sites are tried.
    """

    def __init__(
        self,
        config: Composition,
        singles: Changes,
        base: npt.NDArray[np.float64],
        scorer: ChangeScorer,
        oracle: Oracle,
        context: RunContext = UNLIMITED,
        *,
        most_nodes: float = np.inf,
    ) -> None:
        self.context, self.out_of_time, self.cut_short = context, False, False
        self.config, self.singles, self.base = config, singles, base  # log-odds of what counts, of every input as it is
        self.scorer, self.oracle = scorer, oracle
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
        """Promising rules of two and of three changes, and whether there was time for all."""
        if self.config.most_changes < 2 or not len(self.singles):
            return [], True
        single = self.parts(ChangeRows.of(self.singles), self.config.num_parts)
        found = self.combine(single, single)
        if found and self.config.most_changes > 2:
            found += self.combine(self.parts(ChangeRows.concatenate(found), self.config.num_extended), single)
        return found, not self.out_of_time

    def carry_out(self, pairs: KeyArray, triples: KeyArray) -> list[ChangeRows]:
        """Known rules of several changes, carried out at the sites that a search would try.

        `pairs` are single rules to be carried out together, `[P, 2]`, `triples` keys of pairs and a single rule beside each, `[T, 2]`.
        """
        parts = np.unique(np.concatenate([pairs.ravel(), triples[:, 1]]))
        single = self.parts(ChangeRows.of(self.singles), parts)
        found = [self.make(single, single, np.searchsorted(parts, pairs), same=True)]
        if len(triples):
            names = np.unique(triples[:, 0])
            both = np.stack([np.searchsorted(names, triples[:, 0]), np.searchsorted(parts, triples[:, 1])], axis=1)
            found.append(self.make(self.parts(found[0], names), single, both, same=False))
        return found

    def parts(self, made: ChangeRows, wanted: int | KeyArray) -> Parts:
        """Parts of the rules `wanted`: increasing keys, or the number of rules that close most of the gaps to acceptance over all inputs."""
        rise = (made.goal - self.base[made.input]).astype(np.float32)
        rows = np.flatnonzero(np.isfinite(rise))
        rise = rise[rows]
        names, of = np.unique(made.key[rows], return_inverse=True)
        order = np.lexsort((rows, -rise, made.input[rows], of))
        rows, rise, of = rows[order], rise[order], of[order]
        at = made.input[rows]
        first = np.flatnonzero(is_first(of, at))  # best place of each rule in each input
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
        return Parts(made=made, row=rows, height=rise, first=starts, num=nums, rise=rises, cost=costs, grown=growths)

    def combine(self, left: Parts, right: Parts) -> list[ChangeRows]:
        """Score the most promising combinations, round after round, by the inputs still open."""
        done: list[ChangeRows] = []
        tried = np.zeros((len(left), len(right)), bool)
        same = left is right
        stage = f"combining {left.made.part.shape[1] + right.made.part.shape[1]} changes"
        for round_ in range(self.config.num_rounds):
            if self.context.is_late:
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
            made = self._make_best(left, right, pairs, weight, self._within(stage, round_), same=same)
            if self.cut_short:  # made on some of the inputs alone: how often a rule works would be wrong
                self.out_of_time = True
                break
            done.append(made)
            accepted = made.goal > ACCEPTED
            self.sets += _sets(made.key[accepted], made.input[accepted])
            self.out_of_time |= self.context.is_late
            self.context.show_progress(stage, round_ + 1, self.config.num_rounds)
        return done

    def _within(self, stage: str, round_: int) -> RunContext:
        """Progress of a round as a part of the whole stage."""
        show, rounds = self.context.show_progress, self.config.num_rounds
        return self.context.with_progress(
            lambda what, done, total, _: show(stage, round_, rounds, f"{what} {done}/{total}")
        )

    def _open_weight(self) -> npt.NDArray[np.float32]:
        """Weight of each input: 1 if the best ten rules so far leave it open, else a tenth."""
        weight = np.ones(len(self.base), np.float32)
        if not self.sets:
            return weight
        owners = np.repeat(np.arange(len(self.sets)), [len(items) for items in self.sets])
        incidence = incidence_of(owners, np.concatenate(self.sets), (len(self.sets), len(self.base)))
        for row in greedy_cover(incidence, 10).order.tolist():
            weight[self.sets[row]] = 0.1
        return weight

    def make(self, left: Parts, right: Parts, pairs: LongArray, *, same: bool) -> ChangeRows:
        """Make and score pairs of rules: at their best sites, and at further ones if those are not accepted."""
        turned = np.zeros((len(pairs), len(self.base)), bool)
        tried = [
            self._made_at(left, right, pairs, turned, self.context, same=same, further=further)
            for further in (False, True)
        ]
        return _closest(ChangeRows.concatenate([made for made, _ in tried]))

    def _make_best(
        self, left: Parts, right: Parts, pairs: LongArray, weight: npt.NDArray[np.float32], context: RunContext, *, same: bool
    ) -> ChangeRows:  # fmt: skip
        """`make` for the pairs that turn the most inputs at their best sites."""
        turned = np.zeros((len(pairs), len(self.base)), bool)
        made, pair = self._made_at(left, right, pairs, turned, context, same=same, further=False, permit=False)
        best = np.argsort(-(turned @ weight), kind="stable")[: self.num_kept]
        if self.oracle.permission is not None:
            few = np.searchsorted(np.cumsum(turned[best].sum(axis=1)), _MOST_CHECKED, side="right")
            best = best[: max(1, int(few))]
        best = np.sort(best)
        kept = np.flatnonzero(np.isin(pair, best))
        made = self._permitted(made.take(kept), pair[kept], turned, context)
        most = int(np.clip(_MOST_PLACES // max(turned[best].size, 1), _PLACES, _MORE_PLACES))
        more, _ = self._made_at(
            left, right, pairs[best], turned[best], context, same=same, further=True, most_places=most, permit=False
        )
        return _closest(ChangeRows.concatenate([made, more]))

    def _permitted(self, made: ChangeRows, pair: LongArray, turned: BoolArray, context: RunContext) -> ChangeRows:
        """The permitted rows among those that only the model has judged; the others are removed from `turned`."""
        if self.oracle.permission is None:
            return made
        likely = np.flatnonzero(made.margin > ACCEPTED)
        change = self.singles.change[made.part[likely], 0]
        allowed, late = self.oracle.permits(self.scorer, made.input[likely], change, context)
        self.cut_short |= bool(np.isin(made.input[likely], late).any())
        refused = likely[~allowed]
        turned[pair[refused], made.input[refused]] = False
        return made.take(np.setdiff1d(np.arange(len(pair)), refused))

    def _made_at(
        self,
        left: Parts,
        right: Parts,
        pairs: LongArray,
        turned: BoolArray,
        context: RunContext,
        *,
        same: bool,
        further: bool,
        most_places: int = _PLACES,
        permit: bool = True,
    ) -> tuple[ChangeRows, LongArray]:
        """Make pairs of rules at their best or at further sites of inputs not yet turned, and record in `turned` those turned now."""
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
        margin, goal, late = self.oracle.judge(self.scorer, inputs, change, context, permit=permit)
        self.cut_short |= bool(np.isin(inputs, late).any())
        key = composite_keys(self.singles.rule[part, 0], change)
        made = ChangeRows(key=key, input=inputs, part=part, margin=margin, goal=goal)
        accepted = np.flatnonzero(goal > ACCEPTED)
        turned[pair[accepted], made.input[accepted]] = True
        possible = np.flatnonzero(np.isfinite(margin))
        return made.take(possible), pair[possible]


def _closest(made: ChangeRows) -> ChangeRows:
    """The accepted rows, and the few others of each rule and input that come closest."""
    order = np.lexsort((np.arange(len(made.goal)), -made.goal, made.input, made.key))
    rank = ranks_of_alike(made.key[order], made.input[order])
    return made.take(np.sort(order[(rank < _CLOSEST) | (made.goal[order] > ACCEPTED)]))


def _sets(rules: LongArray | KeyArray, inputs: IntArray) -> list[IntArray]:
    """Inputs of each rule."""
    if not len(rules):
        return []
    order = np.lexsort((inputs, rules))
    rules, inputs = rules[order], inputs[order]
    return [np.unique(part) for part in np.split(inputs, np.flatnonzero(rules[1:] != rules[:-1]) + 1)]
