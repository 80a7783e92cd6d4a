"""The table of rules and inputs: where each rule can be carried out, where that is accepted, and how.

Everything else follows from it: the choice of rules, their statistics, another choice, the interactive page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.rules.composition import ChangeRows
from comrecgc.algorithms.rules.mining import ACCEPTED, Changes, ChangeScorer, Columns, Oracle, is_first, ranks_of_alike
from comrecgc.algorithms.rules.vocabulary import Group
from comrecgc.graphs import BoolArray, GraphBatch, IntArray, KeyArray, LongArray, NeighbourIndex
from comrecgc.run import UNLIMITED, RunContext
from comrecgc.scoring import change_kernels

if TYPE_CHECKING:
    from scipy.sparse import csr_array


MOST_CHANGES = 3
"""Most changes of a rule."""

_ONE, _SPREAD = np.uint64(1), np.uint64(0x9E3779B97F4A7C15)  # tell the same change of different inputs apart
_NEEDS_CONTEXT = (change_kernels.RELABEL, change_kernels.JOIN, change_kernels.CUT, change_kernels.REBOND)
_LOOKED_AT = 12_000  # rules, those that turn the most inputs, of which the table keeps some
_LEAST_INPUTS = 2  # that a rule of a table turns
WIDE = 2
"""Radius that only rules of one change have."""
_SELDOM_FAILS = (0.9, 0.5)  # success from which rules are kept for it,
_FOR_SUCCESS = 1 / 6  # each in this share of the table
MOST_EXPECTED = 400
"""Number of these that a table for numbers keeps: the ones with the most likely results."""
SHOWN_TRUTH = 50
"""Least estimate of the jury, in percent, for rdkit to check a result in numbers; others are not shown."""
_SPARE = 80  # more that are looked at
_ALIKE = 2  # results of a change in the same surroundings that are looked at; all others are taken to be like them


@dataclass(frozen=True, eq=False, kw_only=True)
class RuleColumns(Columns):
    """Columns of a table, a row per rule."""

    key: KeyArray  # what the rule is known by, `[K]`, increasing
    general: KeyArray  # the rule of the same changes at radius 0, `[K]`, in the table or not
    radius: npt.NDArray[np.int8]  # radius of its context, `[K]`
    kinds: npt.NDArray[np.int8]  # kind of each of its changes, `[K, 3]`; -1 where it has fewer
    cost: IntArray  # elements that it changes, `[K]`
    # Node labels of which it leaves more than it finds, `[K, L]`; hydrogens that only follow do not count
    adds: BoolArray
    removes: BoolArray  # node labels of which it leaves fewer, `[K, L]`
    applicable: npt.NDArray[np.uint8]  # inputs that hold what it finds, `[K, N]`, eight to a byte
    # Share of all changes of the same kind, on the inputs it can be carried out on, that are accepted, `[K]`; NaN for
    # composite rules
    random_success: npt.NDArray[np.float32]
    # Whether each rule was counted at all of its sites, `[K]`; otherwise it may turn more inputs than are listed
    exact: BoolArray
    # Properties of molecules that leave the range of drugs when it is carried out, on average, `[K]`; 0 where not
    # checked
    strays: npt.NDArray[np.int8]

    @property
    def num_changes(self) -> LongArray:
        """Changes of each rule, `[K]`."""
        return np.asarray((self.kinds >= 0).sum(axis=1))

    @cached_property
    def num_applicable(self) -> LongArray:
        """Inputs that each rule can be carried out on, `[K]`."""
        return np.asarray(np.bitwise_count(self.applicable).sum(axis=1), np.int64)

    @cached_property
    def general_row(self) -> LongArray:
        """Row of the rule of the same changes at radius 0, `[K]`; -1 for those at radius 0, and where it is not in the table."""
        place = np.searchsorted(self.key, self.general)
        known = self.key[np.minimum(place, max(len(self) - 1, 0))] == self.general
        return np.where(known & (self.radius > 0), place, -1)


@dataclass(frozen=True, eq=False, kw_only=True)
class Entries(Columns):
    """Entries of a table, one per rule and input that it turns, rule after rule."""

    rule: LongArray  # row of the rule, `[E]`, not decreasing
    input: IntArray  # an input where it is accepted within θ, on the rung, `[E]`, increasing within a rule
    # How it is carried out there, `[E, 3, 4]` (`change_kernels`); a kind of -1 is no change
    change: npt.NDArray[np.int16]
    margin: npt.NDArray[np.float32]  # log-odds of accept afterwards, `[E]`
    # How many of the panel reject the input and accept the result, `[E]`; -1 without a panel
    votes: npt.NDArray[np.int8]
    # How likely the result truly is of the class accept, according to the jury, in percent, `[E]`; -1 without a
    # jury
    truth: npt.NDArray[np.int8]


@dataclass(frozen=True, kw_only=True)
class MiningCounts:
    """Counts of mining: how much was tried, and how much the table leaves out."""

    num_left_out: int = 0  # rules that turn so few inputs that they were left out
    most_left_out: int = 0  # inputs that any of those turns at most
    num_scored: int = 0  # graphs that the explained model was asked about, inputs included; 0 if not counted
    num_untried: int = 0  # changes that it was not asked about, since there was no time for so many
    num_out_of_time: int = 0  # inputs that there was no time for; the table does not speak of them


@dataclass(frozen=True, eq=False, kw_only=True)
class RuleTable:
    """Rules and the inputs that they turn."""

    rules: RuleColumns  # the rules, one a row
    entries: Entries  # each rule on each input that it turns
    base: npt.NDArray[np.float64]  # log-odds of accept of every input as it is, `[N]`
    # Votes of the panel that confirm a change of each input, `[N]`; 0 where there is no panel
    needed: npt.NDArray[np.int8]
    groups: tuple[Group, ...]  # the groups that changes speak of
    counts: MiningCounts = MiningCounts()  # how much was looked at, and what was left out

    def __len__(self) -> int:
        return len(self.rules)

    @property
    def num_inputs(self) -> int:
        return len(self.base)

    @cached_property
    def ptr(self) -> LongArray:
        """Where the entries of each rule begin, `[K + 1]`."""
        return np.searchsorted(self.entries.rule, np.arange(len(self) + 1))

    @cached_property
    def confirmed(self) -> BoolArray:
        """Which entries most of the panel accept, `[E]`."""
        needed = self.needed[self.entries.input]
        return (self.entries.votes >= needed) & (needed > 0)

    @property
    def has_panel(self) -> bool:
        """Whether a panel was asked."""
        return bool((self.needed > 0).any())

    @cached_property
    def mean_truth(self) -> npt.NDArray[np.float64]:
        """Share of the results of each rule that the jury expects to come true, `[K]`."""
        total = np.bincount(self.entries.rule, self.entries.truth / 100, minlength=len(self))
        return np.asarray(total / np.maximum(self.num_accepted, 1))

    @property
    def has_jury(self) -> bool:
        """Whether a jury was asked."""
        return bool((self.entries.truth >= 0).any())

    @cached_property
    def attached(self) -> npt.NDArray[np.int16]:
        """The group that each change of a rule brings, `[K, 3]`; -1 where it brings none."""
        brings = np.isin(self.rules.kinds, (change_kernels.ATTACH, change_kernels.SWAP, change_kernels.TIE))
        return np.where(brings, self.entries.change[self.ptr[:-1], :, 3], -1).astype(np.int16)

    def can_be_carried_out(self, rule: int) -> BoolArray:
        """Inputs that a rule can be carried out on, `[N]`."""
        return np.unpackbits(self.rules.applicable[rule], count=self.num_inputs).astype(bool)

    @cached_property
    def num_accepted(self) -> LongArray:
        """Inputs that each rule turns, `[K]`."""
        return np.diff(self.ptr)

    @cached_property
    def success(self) -> npt.NDArray[np.float64]:
        """Share of the inputs it can be carried out on that a rule turns, `[K]`."""
        return self.num_accepted / np.maximum(self.rules.num_applicable, 1)

    def incidence(self, counts: BoolArray | None = None) -> csr_array:
        """Which inputs each rule turns, `[K, N]`; only by some entries, `[E]`, where these are given."""
        from scipy.sparse import csr_array

        mask = np.ones(len(self.entries), bool) if counts is None else counts
        ptr = np.concatenate([[0], np.cumsum(mask)])[self.ptr]
        return csr_array(
            (np.ones(int(mask.sum()), bool), self.entries.input[mask], ptr), shape=(len(self), self.num_inputs)
        )

    def entries_of(self, rule: int) -> LongArray:
        """Places of the entries of a rule."""
        return np.arange(self.ptr[rule], self.ptr[rule + 1])

    def of_rules(self, rows: LongArray) -> RuleTable:
        """The table of some rules only, by increasing rows."""
        entries = self.entries.take(np.flatnonzero(np.isin(self.entries.rule, rows)))
        return replace(
            self, rules=self.rules.take(rows), entries=replace(entries, rule=np.searchsorted(rows, entries.rule))
        )

    def inputs_of(self, rule: int) -> IntArray:
        """Inputs that a rule turns, increasing."""
        return self.entries.input[self.ptr[rule] : self.ptr[rule + 1]]

    def entry(self, rule: int, input_: int) -> int:
        """The entry of a rule and an input; -1 if the rule does not turn it."""
        at = int(np.searchsorted(self.inputs_of(rule), input_)) + int(self.ptr[rule])
        return at if at < self.ptr[rule + 1] and self.entries.input[at] == input_ else -1


@dataclass(frozen=True, eq=False, kw_only=True)
class Tabulation:
    """Builds a table from mined changes; rules that turn at least two inputs are kept."""

    scorer: ChangeScorer  # what they were mined with
    oracle: Oracle  # the models that decided; the panel and the jury are asked about what is kept
    # Rules that it keeps: those that turn the most inputs, a third for those that do so nearly wherever they can be carried out.
    most_rules: int = 3000
    # Labels that say enough of a node for a group to be exchanged there, `[L]`; all other changes are then made only in their exact surroundings.
    # "Replace hydroxy on a carbon by ethylamino" makes an amide of an acid and an amine of an alcohol, which is no advice. None where
    # every rule may come without surroundings.
    definite: BoolArray | None = None
    context: RunContext = UNLIMITED

    def table(self, singles: Changes, composites: Sequence[ChangeRows], base: npt.NDArray[np.float64]) -> RuleTable:
        """The table of mined changes; `base` is the log-odds of accept of every unchanged input.

        Of several sites where a rule turns an input, the one of highest probability is kept; if the panel's votes count, the one with most votes,
        then the highest probability.
        """
        rows = self._accepted(singles, composites, best=True)
        key, start, accepted, kept, applicable = self._usual_rules(rows, singles, self._expectation(singles))
        left_out = np.setdiff1d(np.arange(len(key)), kept)
        entries = rows.take(np.flatnonzero(np.isin(rows.key, key[kept])))
        change = _changes(entries, singles)
        votes = self.oracle.votes(self.scorer, entries.input, change)
        truth = self.oracle.truth(self.scorer, entries.input, change, self.context)
        first = rows.take(start[kept])
        change = _changes(first, singles)
        gained = _labels_gained(first.input, change, self.scorer)
        return RuleTable(
            rules=RuleColumns(
                key=key[kept],
                general=first.general,
                radius=first.radius,
                kinds=change[:, :, 0].astype(np.int8),
                cost=np.where(first.part >= 0, singles.cost[first.part], 0).sum(axis=1).astype(np.int32),
                adds=gained > 0,
                removes=gained < 0,
                applicable=applicable,
                random_success=_random_success(singles, change[:, :, 0], applicable, len(base)),
                exact=(change[:, 1, 0] < 0) & (first.radius < WIDE) & (singles.num_untried == 0),
                strays=np.zeros(len(change), np.int8),
            ),
            entries=Entries(
                rule=np.searchsorted(key[kept], entries.key),
                input=entries.input,
                change=_changes(entries, singles).astype(np.int16),
                margin=entries.margin.astype(np.float32),
                votes=votes,
                truth=truth,
            ),
            base=base,
            needed=self.oracle.votes_needed(self.scorer.inputs),
            groups=self.scorer.vocabulary.groups,
            counts=MiningCounts(
                num_left_out=len(left_out),
                most_left_out=int(accepted[left_out].max(initial=0)),
                num_scored=len(base) + self.oracle.tally.graphs,
                num_untried=singles.num_untried,
            ),
        )

    def permitted(
        self, singles: Changes, composites: Sequence[ChangeRows]
    ) -> tuple[Changes, list[ChangeRows], IntArray]:
        """The mined changes after permission is checked for the rows that the table keeps, and the inputs that there was no time for.

        Results are looked at one by one, which takes long. So only the best place of a rule in an input is, all others where that is refused, and
        only of rules that the table would keep; what takes the place of rules that lose too many is looked at in the next round. The table is the same as if
        all were looked at; for numbers, as if results of a change in the same surroundings were all like the first two. Of inputs that were looked at by
        the deadline, a random sample, only the first place of a rule may count.
        """
        made = [ChangeRows.of(singles), *composites]
        ends = np.cumsum([len(each) for each in made])
        goal, inputs = (np.concatenate([getattr(each, name) for each in made]) for name in ("goal", "input"))
        part = np.concatenate([np.pad(it.part, [(0, 0), (0, MOST_CHANGES - it.part.shape[1])], constant_values=-1) for it in made])  # fmt: skip
        num_parts = (part >= 0).sum(axis=1)
        places = np.concatenate([each.key for each in made]) ^ (inputs.astype(np.uint64) + _ONE) * _SPREAD
        seen, late = np.zeros(len(goal), bool), np.zeros(0, np.int32)
        left_out: IntArray | None = None  # inputs of which nothing was looked at
        every = self._accepted(singles, composites)
        expected, wide = self._expectation(singles), np.zeros(len(goal), np.uint64)
        if expected is not None:  # chosen rules are looked at again, so what is alike here need not be
            wide[every.row[every.radius == WIDE]] = every.key[every.radius == WIDE]
        while True:
            rows = every.take(np.flatnonzero(goal[every.row] > ACCEPTED)).best()
            for spare in (
                (0, _SPARE) if expected else (0,)
            ):  # what soon takes the place of others is looked at with them
                key, _, _, kept, _ = self._usual_rules(rows, singles, expected, spare)
                asked = np.unique(rows.row[np.isin(rows.key, key[kept])])
                asked = asked[~seen[asked]]
                if not len(asked):
                    break
            if len(late) or not len(asked):
                goals = np.split(goal, ends[:-1])
                singles = replace(singles, goal=goals[0], margin=np.where(np.isnan(goals[0]), np.nan, singles.margin))
                composites = [replace(each, goal=goals[k + 1]) for k, each in enumerate(composites)]
                return singles, composites, late[:0] if left_out is None else left_out
            while len(asked) and not len(late):
                alike = wide[asked]
                if self.oracle.least_truth:  # what is not expected is not looked at
                    change = np.where((part[asked] >= 0)[:, :, None], singles.change[part[asked], 0], -1)
                    alike ^= (self.oracle.truth(self.scorer, inputs[asked], change) >= SHOWN_TRUTH).astype(np.uint64)
                first, of = _first_of_alike(alike)
                for num in np.unique(num_parts[asked]).tolist():
                    some = asked[first & (num_parts[asked] == num)]
                    change = singles.change[part[some, :num], 0]
                    allowed, untried = self.oracle.permits(self.scorer, inputs[some], change, self.context)
                    goal[some[~allowed]] = np.nan
                    seen[some] = True
                    late = np.union1d(late, untried).astype(np.int32)
                left_out = late if left_out is None else left_out
                bad, looked = (np.bincount(of, each) for each in (np.isnan(goal[asked]), first))
                same = ~first & ((bad == 0) | (bad == looked))[of] & (not len(late))
                goal[asked[same & (bad > 0)[of]]] = np.nan
                seen[asked[same]] = True
                refused = places[asked[np.isnan(goal[asked])]]
                left = np.flatnonzero((goal > ACCEPTED) & ~seen)
                asked = np.union1d(asked[~seen[asked]], left[np.isin(places[left], refused)])
            if len(late):  # what takes the place of what was refused was not looked at
                singles = replace(singles, num_untried=singles.num_untried + int((goal[~seen] > ACCEPTED).sum()))
                goal[~seen] = np.nan

    def _usual_rules(
        self,
        rows: RuleRows,
        singles: Changes,
        expected: Callable[[RuleRows], npt.NDArray[np.float64]] | None,
        spare: int = 0,
    ) -> tuple[KeyArray, LongArray, LongArray, LongArray, npt.NDArray[np.uint8]]:
        """The keys of all rules, where each begins, how many inputs it turns; which the table keeps, and the inputs that hold what these find."""
        key, start, accepted = np.unique(rows.key, return_index=True, return_counts=True)
        common = np.lexsort((key, -accepted))[:_LOOKED_AT]
        common = np.sort(common[accepted[common] >= _LEAST_INPUTS])
        applicable = _applicable(rows.take(start[common]), singles, self.scorer)
        success = accepted[common] / np.maximum(np.bitwise_count(applicable).sum(axis=1), 1)
        worth = _kept(key[common], accepted[common], success, self.most_rules)
        if expected is not None:
            held = rows.take(np.flatnonzero(np.isin(rows.key, key[common[worth]])))
            total = np.bincount(np.searchsorted(key[common[worth]], held.key), expected(held), minlength=len(worth))
            worth = worth[np.sort(np.argsort(-total, kind="stable")[: MOST_EXPECTED + spare])]
        return key, start, accepted, common[worth], applicable[worth]

    def _expectation(self, singles: Changes) -> Callable[[RuleRows], npt.NDArray[np.float64]] | None:
        """The jury's estimates of rows, asked once each; None if they do not decide which rules are kept."""
        if not self.oracle.least_truth:
            return None
        known: dict[int, float] = {}

        def expected(rows: RuleRows) -> npt.NDArray[np.float64]:
            new = rows.take(np.flatnonzero([row not in known for row in rows.row.tolist()]))
            said = self.oracle.truth(self.scorer, new.input, _changes(new, singles))
            known.update(zip(new.row.tolist(), said.tolist(), strict=True))
            return np.maximum(np.array([known[row] for row in rows.row.tolist()]) - SHOWN_TRUTH + 5.0, 0)

        return expected

    def _accepted(self, singles: Changes, composites: Sequence[ChangeRows], *, best: bool = False) -> RuleRows:
        """The accepted rows of every rule and input, in their order; those of wide rules that turn enough inputs. Only the best of each are fewer to hold at once."""
        parts, first = [], 0
        for made in (ChangeRows.of(singles), *composites):
            where = np.flatnonzero(made.goal > ACCEPTED)
            accepted, places = made.take(where), where + first
            first += len(made)
            for radius in (0, 1, WIDE) if made.part.shape[1] == 1 else (0, 1):
                rows, row = accepted, places
                if self.definite is not None and radius < WIDE:
                    change = singles.change[rows.part, 0]
                    enough = np.flatnonzero(_say_enough(rows.input, change, radius, self.scorer, self.definite))
                    rows, row = rows.take(enough), row[enough]
                found = RuleRows(
                    key=rows.keys(radius, singles, self.scorer),
                    general=rows.key,
                    radius=np.full(len(rows), radius, np.int8),
                    input=rows.input,
                    part=np.pad(rows.part, [(0, 0), (0, MOST_CHANGES - rows.part.shape[1])], constant_values=-1),
                    margin=rows.margin,
                    goal=rows.goal,
                    row=row,
                ).ordered()
                found = found.best() if best else found
                parts.append(found.turning(_LEAST_INPUTS) if radius == WIDE else found)  # since there are so many
        found = RuleRows.concatenate(parts).ordered()
        return found.best() if best else found


def _first_of_alike(keys: KeyArray) -> tuple[BoolArray, LongArray]:
    """The first two rows of each key, all of key 0, and a number for rows that are alike, `[V]` each."""
    order = np.argsort(keys, kind="stable")
    alone = np.where(keys[order] == 0, np.arange(len(keys)), -1)
    first, of = np.empty(len(keys), bool), np.empty(len(keys), np.int64)
    first[order] = ranks_of_alike(keys[order], alone) < _ALIKE
    of[order] = np.cumsum(is_first(keys[order], alone)) - 1
    return first, of


@dataclass(frozen=True, eq=False, kw_only=True)
class RuleRows(ChangeRows):
    """Accepted changes as entries of rules; the key is the rule's, at its own radius."""

    general: KeyArray  # key of the rule of the same changes at radius 0, `[V]`
    radius: npt.NDArray[np.int8]  # radius of the rule, `[V]`
    row: LongArray  # the row that it was, single changes and composites end to end, `[V]`

    def ordered(self) -> RuleRows:
        """The rows of one rule and input after the other, the best first."""
        return self.take(np.lexsort((np.arange(len(self.key)), -self.goal, self.input, self.key)))

    @property
    def first(self) -> BoolArray:
        """Which rows, sorted by `ordered`, are the best of a rule and an input, `[V]`."""
        return is_first(self.key, self.input)

    def best(self) -> RuleRows:
        """The best row of every rule and input, of rows in their order."""
        return self.take(np.flatnonzero(self.first))

    def turning(self, least: int) -> RuleRows:
        """The rows, in their order, of rules that turn at least so many inputs."""
        keys, of = np.unique(self.key, return_inverse=True)
        enough = (np.bincount(of, self.first, minlength=len(keys)) >= least) & (keys > 0)
        return self.take(np.flatnonzero(enough[of]))


def _changes(rows: ChangeRows, singles: Changes) -> IntArray:
    """The changes of each row, `[V, 3, 4]`; a kind of -1 where it has fewer."""
    return np.where((rows.part >= 0)[:, :, None], singles.change[rows.part, 0], -1)


def _say_enough(
    inputs: IntArray, changes: IntArray, radius: int, scorer: ChangeScorer, definite: BoolArray
) -> BoolArray:
    """Rows all of whose changes are specific about their sites, `[V]`.

    At radius 0 these exchange groups on nodes of definite labels. At radius 1 all do but those that attach a group to a leaf, as it may hang on
    anything: they give one group the place of another, on a node of which nothing is said.
    """
    batch = GraphBatch.from_graphs(scorer.inputs)
    kind, node = changes[:, :, 0], batch.node_ptr[inputs][:, None] + np.maximum(changes[:, :, 1], 0)
    if radius == 0:
        enough = ~np.isin(kind, _NEEDS_CONTEXT) & definite[batch.labels[node]]
    else:
        degrees = np.bincount(batch.edges.ravel(), minlength=len(batch.labels))
        enough = (kind != change_kernels.ATTACH) | (degrees[node] > 1)
    return np.asarray(((kind < 0) | enough).all(axis=1), bool)


def _kept(key: KeyArray, accepted: LongArray, success: npt.NDArray[np.float64], most: int) -> LongArray:
    """Which rules the table keeps, increasing: those that turn the most inputs, some of them among those that seldom fail."""
    order = np.lexsort((key, -accepted))
    if len(order) <= most:
        return np.arange(len(key))
    reserved = int(most * _FOR_SUCCESS)
    common = most - reserved * len(_SELDOM_FAILS)
    kept, rest = order[:common], order[common:]
    for least in _SELDOM_FAILS:
        firm = rest[success[rest] >= least][:reserved]
        kept, rest = np.concatenate([kept, firm]), rest[~np.isin(rest, firm)]
    return np.sort(np.concatenate([kept, rest[: most - len(kept)]]))


def _applicable(rules: RuleRows, singles: Changes, scorer: ChangeScorer) -> npt.NDArray[np.uint8]:
    """Inputs that each rule can be carried out on, packed; of composite rules, those that match each single change."""
    found = singles.found[rules.part, np.minimum(rules.radius, 1)[:, None]]
    found[rules.part < 0] = 0
    wide = np.flatnonzero(rules.radius == WIDE)
    wider = np.unique(found[wide, 0])
    change = singles.change[rules.part[wide, 0], 0]
    found[wide, 0] = scorer.widened_keys(rules.input[wide], change, found[wide, 0])
    return inputs_with_all(found, wider, scorer)


def inputs_with_all(found: KeyArray, wider: KeyArray, scorer: ChangeScorer) -> npt.NDArray[np.uint8]:
    """Inputs that match all of up to three left-hand sides, given by keys `[K, 3]`, 0 for none; `[K, N]`, packed.

    `wider` are keys at radius 1, increasing, that keys at radius 2 among them refine.
    """
    wanted, known = np.unique(found[found > 0]), scorer.holders
    new = np.array([key for key in wanted.tolist() if key not in known], np.uint64)
    if len(new):  # rounds of looking at results ask for nearly the same
        known.update(
            zip(new.tolist(), pack_bits(*scorer.finds(new, wider), (len(new), len(scorer.inputs))), strict=True)
        )
    holds = np.array([known[key] for key in wanted.tolist()], np.uint8).reshape(-1, -(-len(scorer.inputs) // 8))
    result = holds[np.searchsorted(wanted, found[:, 0])] if len(wanted) else holds
    for k in range(1, MOST_CHANGES):
        has = found[:, k] > 0
        result[has] &= holds[np.searchsorted(wanted, found[has, k])]
    return result


def pack_bits(rows: npt.NDArray[Any], columns: npt.NDArray[Any], shape: tuple[int, int]) -> npt.NDArray[np.uint8]:
    """A table of bits, eight columns to a byte, with the given positions set."""
    bits = np.zeros((shape[0], -(-shape[1] // 8)), np.uint8)
    np.bitwise_or.at(bits, (rows, columns // 8), (128 >> (columns % 8)).astype(np.uint8))
    return bits


def _labels_gained(inputs: IntArray, changes: IntArray, scorer: ChangeScorer) -> IntArray:
    """How many more nodes of each label there are after each row of changes, hydrogens that follow apart, `[K, L]`."""
    changing, groups = change_kernels, scorer.vocabulary.groups
    gained = np.zeros((len(inputs), scorer.vocabulary.num_labels), np.int32)
    where = {i: NeighbourIndex(scorer.inputs[i]) for i in np.unique(inputs).tolist()}
    for row, i, change in zip(gained, inputs.tolist(), changes.tolist(), strict=True):
        for kind, first, second, value in change:
            if kind == changing.RELABEL:
                row[where[i].labels[first]] -= 1
                row[value] += 1
            if kind in (changing.DETACH, changing.SWAP):
                for node in where[i].beyond(first, second):
                    row[where[i].labels[node]] -= 1
            if kind in (changing.ATTACH, changing.SWAP, changing.TIE):
                for label in groups[value].labels:
                    row[label] += 1
    return gained


def _random_success(
    singles: Changes, kinds: IntArray, applicable: npt.NDArray[np.uint8], num_inputs: int
) -> npt.NDArray[np.float32]:
    """Share of random changes of the same kind that are accepted, averaged over the inputs a rule can be carried out on."""
    result = np.full(len(kinds), np.nan, np.float32)
    kind = singles.change[:, 0, 0]
    for which in np.unique(kind).tolist():
        accepted = np.bincount(singles.input[(kind == which) & singles.accepted], minlength=num_inputs)
        share = accepted / np.maximum(singles.num_tried[which], 1)
        of_kind = np.flatnonzero((kinds[:, 0] == which) & (kinds[:, 1] < 0))
        for first in range(0, len(of_kind), 1000):
            part = of_kind[first : first + 1000]
            holds = np.unpackbits(applicable[part], axis=1, count=num_inputs)
            result[part] = holds @ share / np.maximum(holds.sum(axis=1), 1)
    return result
