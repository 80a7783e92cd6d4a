"""Choice of a few rules that together turn the most inputs, under given conditions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.rules.table import RuleTable
from comrecgc.cover import Choice, exact_cover, greedy_cover, lp_bound, packed_cover
from comrecgc.errors import InputError
from comrecgc.graphs import BoolArray, LongArray

if TYPE_CHECKING:
    from comrecgc.algorithms.rules.population import Census

KINDS = ("relabel", "attach", "detach", "swap", "join", "cut", "rebond", "tie")
"""Kinds of change, by their number in `change_kernels`."""

SKELETON_KINDS = ("join", "cut", "rebond")
"""Kinds of change that alter single bonds; a chemist exchanges atoms and groups, and does not open or fuse rings bond by bond."""

NUM_SPLITS = 5

SLACK = 0.05
"""Rules whose gain is at most this share below the best count as equal; then fewer changes or a higher success decide."""

LEAST_TRUTH = 0.6
"""Least likelihood of truth of results that count, if rules are chosen for truth."""

DOUBT = 2
"""Failures added to the results of every rule when rules are ordered by trust, since few results say little."""

_FEW_ENTRIES = 50_000  # of a table whose optimum is looked for: a second or two

MOST_PARTS = 3
"""Most rules that may replace a more general one."""


@dataclass(frozen=True, kw_only=True)
class RuleFilter:
    """Conditions that a rule must meet to be chosen."""

    min_success: float = 0.0  # least share of the inputs a rule can be carried out on that it turns
    min_support: int = 1  # fewest inputs that it turns
    max_cost: int | None = None  # most elements that it changes
    max_changes: int = 3  # most changes
    radii: tuple[int, ...] = (0, 1, 2)  # radii its context may have
    forbidden_labels: tuple[int, ...] = ()  # node labels that it must not add
    forbidden_groups: tuple[int, ...] = ()  # groups, by their index in the table, that it must not attach
    forbidden_kinds: tuple[str, ...] = ()  # kinds of change that it must not consist of
    protected_labels: tuple[int, ...] = ()  # node labels that it must not remove or relabel
    confirmed: bool = False  # count only results that most of the panel accept
    # Count only results that come true at least this likely, according to the jury, and prefer the likeliest; 0
    # counts all alike
    min_truth: float = 0.0

    def __post_init__(self) -> None:
        for name in ("min_success", "min_truth"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"{name} must lie in [0, 1] (got {getattr(self, name)})")
        for name in ("min_support", "max_cost"):
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1 (got {getattr(self, name)})")
        if self.max_changes not in (1, 2, 3):
            raise InputError(f"max_changes must be 1, 2 or 3 (got {self.max_changes})")
        if not self.radii or not set(self.radii) <= {0, 1, 2}:
            raise InputError(f"radii must be some of 0, 1 and 2 (got {list(self.radii)})")
        unknown = [kind for kind in self.forbidden_kinds if kind not in KINDS]
        if unknown:
            raise InputError(f"Kinds of change are {', '.join(KINDS)} (got {unknown[0]!r})")

    def stated(self) -> dict[str, Any]:
        """The conditions that differ from their defaults, as plain values."""
        values = {
            each.name: getattr(self, each.name) for each in fields(self) if getattr(self, each.name) != each.default
        }
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    def counts(self, table: RuleTable) -> BoolArray:
        """Which entries of a table count, `[E]`; without a jury, `min_truth` is ignored."""
        mask = table.confirmed.copy() if self.confirmed else np.ones(len(table.entries), bool)
        if self.min_truth and table.has_jury:
            mask &= table.entries.truth >= round(100 * self.min_truth)
        return mask

    def worth(self, table: RuleTable) -> LongArray:
        """Worth of each entry, `[E]`: 1, or for truth the likelihood that it comes true minus that it does not, in tenths, minus one for every
        further change; 0 if it does not count."""
        counts = self.counts(table)
        if not (self.min_truth and table.has_jury):
            return counts.astype(np.int64)
        surplus = (2 * table.entries.truth.astype(np.int64) - 95) // 10  # rounded
        further = table.rules.num_changes[table.entries.rule] - 1
        return np.where(counts, np.maximum(surplus - further, 1), 0)

    def limited(self, max_changes: int) -> RuleFilter:
        """The same conditions with fewer changes."""
        return replace(self, max_changes=min(max_changes, self.max_changes))

    def allowed(self, table: RuleTable, census: Census | None = None) -> BoolArray:
        """Which rules of a table may be chosen, `[K]`; success and support come from the census, if given."""
        known = table if census is None else census
        mask = (known.success >= self.min_success) & (known.num_accepted >= self.min_support)
        mask &= (table.rules.num_changes <= self.max_changes) & np.isin(table.rules.radius, self.radii)
        if self.max_cost is not None:
            mask &= table.rules.cost <= self.max_cost
        numbers = [KINDS.index(kind) for kind in self.forbidden_kinds]
        mask &= ~np.isin(table.rules.kinds, numbers).any(axis=1)
        if self.forbidden_groups:
            mask &= ~np.isin(table.attached, self.forbidden_groups).any(axis=1)
        if self.forbidden_labels:
            mask &= ~table.rules.adds[:, list(self.forbidden_labels)].any(axis=1)
        if self.protected_labels:
            mask &= ~table.rules.removes[:, list(self.protected_labels)].any(axis=1)
        return mask


@dataclass(frozen=True, eq=False, kw_only=True)
class RuleChoice:
    """Chosen rules."""

    rules: LongArray  # rows of the table, in the order of choice, `[R]`
    gains: LongArray  # inputs that each adds, `[R]`
    bound: int  # no choice of as many rules from the table turns more inputs
    bound_by: str  # what says so: "optimum", "relaxation" or "greedy"
    num_inputs: int  # inputs there are

    @property
    def curve(self) -> npt.NDArray[np.float64]:
        """Share of inputs that the first 1, 2, … rules turn, `[R]`."""
        return np.cumsum(self.gains) / max(self.num_inputs, 1)

    @property
    def coverage(self) -> float:
        return float(self.gains.sum()) / max(self.num_inputs, 1)

    def of(self, rules: LongArray, table: RuleTable, wishes: RuleFilter) -> RuleChoice:
        """The choice of other rules on the same inputs; the bound stays."""
        sets, left = table.incidence(wishes.counts(table)), np.ones(table.num_inputs, bool)
        gains = []
        for row in rules.tolist():
            items = sets.indices[sets.indptr[row] : sets.indptr[row + 1]]
            gains.append(int(left[items].sum()))
            left[items] = False
        return replace(self, rules=rules, gains=np.array(gains, np.int64))


def choose(table: RuleTable, num_rules: int, wishes: RuleFilter | None = None, *, bounded: bool = False) -> RuleChoice:
    """Choose rules greedily, each for the inputs it adds.

    Ties among rules that add nearly the same (`SLACK`) go to fewer changes, then to drug-like results, higher success, lower cost, smaller radius. If
    rules are left over, specific rules of the same changes replace a general one, provided that they turn all inputs it adds: "of a nitro group" and
    "of a nitrosamine".
    The bound follows from the greedy gains; with `bounded` the optimum, or a bound by linear programming, is computed.
    """
    if num_rules < 1:
        raise InputError(f"num_recourses must be at least 1 (got {num_rules})")
    wishes = wishes or RuleFilter()
    rows = np.flatnonzero(wishes.allowed(table))
    worth = wishes.worth(table)
    sets, (layers, weights) = table.incidence(worth > 0)[rows], _layers(table, worth)
    greedy = plain = greedy_cover(sets, num_rules, tie_break=_preference(table, rows, table.success[rows]), slack=SLACK)
    if len(weights) > 1:
        greedy = _greedy(table, layers, weights, rows, num_rules)
    bound, by = int(plain.bound), "greedy"
    if bounded and len(rows) and bound > plain.covered:
        relaxed = lp_bound(sets, num_rules)
        if relaxed is not None and relaxed < bound:
            bound, by = int(relaxed), "relaxation"
        if relaxed is not None and bound > plain.covered and sets.nnz <= _FEW_ENTRIES:
            best = exact_cover(sets, num_rules)
            if best is not None:
                bound, by = int((sets[best].sum(axis=0) > 0).sum()), "optimum"
    if bound == plain.covered:
        by = "optimum"
    order = greedy.order
    spelt_out = _spelt_out(table, rows, sets, order, num_rules)
    if len(spelt_out) > len(order):
        order = spelt_out[_greedy(table, layers, weights, rows[spelt_out], num_rules).order]
    chosen = RuleChoice(
        rules=rows[order], gains=np.zeros(0, np.int64), bound=bound, bound_by=by, num_inputs=table.num_inputs
    )
    if len(weights) == 1:
        return chosen.of(rows[order], table, wishes)
    found = chosen.of(by_trust(table, rows[order], worth), table, wishes)
    return replace(found, rules=found.rules[found.gains > 0], gains=found.gains[found.gains > 0])


def by_trust(table: RuleTable, rules: LongArray, worth: LongArray) -> LongArray:
    """Order of rules, those whose results are most likely to come true first."""
    total = np.bincount(table.entries.rule, worth, minlength=len(table))
    count = np.bincount(table.entries.rule, worth > 0, minlength=len(table))
    return rules[np.argsort(-(total / (count + DOUBT))[rules], kind="stable")]


def _layers(table: RuleTable, worth: LongArray) -> tuple[Any, LongArray]:
    """The inputs of each rule in layers, `[K, N * layers]`, and the weight of a layer, `[layers]`.

    An entry of worth `w` contains its input in layers 1 to `w`. So the weighted coverage of a choice is the sum over inputs of the best worth of a
    chosen rule: choosing for truth is a maximum cover too.
    """
    from scipy.sparse import csr_array

    levels = np.unique(worth[worth > 0])
    levels = levels if len(levels) else np.ones(1, np.int64)
    depth = np.searchsorted(levels, worth, side="right")
    item = np.repeat(table.entries.input.astype(np.int64) * len(levels), depth)
    ends = np.cumsum(depth)
    item += np.arange(len(item)) - np.repeat(ends - depth, depth)
    ptr = np.concatenate([[0], ends])[table.ptr]
    sets = csr_array((np.ones(len(item), bool), item, ptr), shape=(len(table), table.num_inputs * len(levels)))
    return sets, np.diff(levels, prepend=0)


def _greedy(table: RuleTable, layers: Any, weights: LongArray, rows: LongArray, num_rules: int,
            success: npt.NDArray[np.float64] | None = None, seen: BoolArray | None = None, slack: float = SLACK) -> Choice:  # fmt: skip
    """Greedy choice among some rules by the worth of their entries, on the seen inputs."""
    success = table.success[rows] if success is None else success
    values = np.tile(weights.astype(np.float64), table.num_inputs)
    if seen is not None:
        values *= np.repeat(seen, len(weights))
    return greedy_cover(
        layers[rows], num_rules, weights=values, tie_break=_preference(table, rows, success), slack=slack
    )


def _spelt_out(table: RuleTable, rows: LongArray, sets: Any, order: LongArray, num_rules: int) -> LongArray:
    """Chosen rules, general ones replaced by specific ones if there is room; positions among the allowed `rows`."""
    general, success = table.rules.general_row[rows], table.success[rows]
    left, room, result = np.ones(table.num_inputs, bool), num_rules - len(order), []
    for place in order.tolist():
        added = np.zeros(table.num_inputs, bool)
        added[sets.indices[sets.indptr[place] : sets.indptr[place + 1]]] = True
        added &= left
        left &= ~added
        parts = np.flatnonzero((general == rows[place]) & (success >= (1 - SLACK) * success[place]))
        cover = greedy_cover(
            sets[parts][:, np.flatnonzero(added)],
            min(room + 1, MOST_PARTS),
            tie_break=_preference(table, rows[parts], success[parts]),
        )
        if len(cover.order) > 1 and cover.covered == added.sum():
            result += parts[cover.order].tolist()
            room -= len(cover.order) - 1
        else:
            result.append(place)
    return np.array(result, np.int64)


def choose_for_all(table: RuleTable, census: Census, num_rules: int, wishes: RuleFilter | None = None) -> RuleChoice:
    """Choose rules greedily on the inputs of a census."""
    wishes = wishes or RuleFilter()
    rows = np.flatnonzero(wishes.allowed(table, census) & _mostly_true(table, wishes))
    preference = _preference(table, rows, census.success[rows])
    greedy = packed_cover(census.turned[rows], num_rules, tie_break=preference, slack=SLACK)
    chosen, bound = rows[greedy.order], int(greedy.bound)
    return RuleChoice(rules=chosen, gains=greedy.gains, bound=bound, bound_by="greedy", num_inputs=census.num_inputs)


def _mostly_true(table: RuleTable, wishes: RuleFilter) -> BoolArray:
    """Rules whose results count on average on the mined inputs, `[K]`; a census has no estimates of single results."""
    if not (wishes.min_truth and table.has_jury):
        return np.ones(len(table), bool)
    return table.mean_truth >= wishes.min_truth


@dataclass(frozen=True, kw_only=True)
class HeldOut:
    """Coverage and success on unseen inputs of rules chosen on four fifths of them: means over five splits."""

    coverage: float  # share of the others that they turn
    seen_coverage: float  # share of the inputs they were chosen on
    success: float  # share of the others a rule can be carried out on that it turns, over all chosen rules


Folds = npt.NDArray[np.int64] | np.random.Generator
"""The fold of each input, one of five, `[N]`, or a generator that draws it."""


def held_out(
    table: RuleTable, num_rules: int, wishes: RuleFilter | None, folds: Folds, *, slack: float = SLACK
) -> HeldOut | None:
    """Choose on four fifths and measure on the other, five times; None for fewer than ten inputs. `folds` is the fold of each input, or a generator that draws it.

    Least support and success are judged on the seen inputs only.
    """
    if table.num_inputs < 2 * NUM_SPLITS:
        return None
    wishes = wishes or RuleFilter()
    folds = _folds(table, folds)
    worth = wishes.worth(table)
    sets, (layers, weights) = table.incidence(worth > 0), _layers(table, worth)
    applicable = np.unpackbits(table.rules.applicable, axis=1, count=table.num_inputs).astype(bool)
    allowed = replace(wishes, min_success=0.0, min_support=1).allowed(table)
    unseen, seen_share, success = [], [], []
    for fold in range(NUM_SPLITS):
        seen = folds != fold
        inside = sets[:, np.flatnonzero(seen)]
        accepted = np.asarray(inside.sum(axis=1)).ravel()
        rate = accepted / np.maximum((applicable & seen).sum(axis=1), 1)
        rows = np.flatnonzero(allowed & (rate >= wishes.min_success) & (accepted >= wishes.min_support))
        chosen = rows[_greedy(table, layers, weights, rows, num_rules, rate[rows], seen, slack).order]
        reached = np.asarray(sets[chosen].sum(axis=0)).ravel() > 0
        unseen.append(float(reached[~seen].mean()))
        seen_share.append(float(reached[seen].mean()))
        can = applicable[chosen][:, ~seen].sum()
        turned = sets[chosen][:, np.flatnonzero(~seen)].sum()
        success.append(float(turned) / max(int(can), 1))
    return HeldOut(
        coverage=float(np.mean(unseen)), seen_coverage=float(np.mean(seen_share)), success=float(np.mean(success))
    )


def held_out_success(table: RuleTable, rules: Sequence[int], folds: Folds) -> list[tuple[float, float]]:
    """Mean success of each rule on the seen and unseen parts of five splits, over the splits where it can be carried out."""
    folds = _folds(table, folds)
    result = []
    for rule in rules:
        can = table.can_be_carried_out(rule)
        turned = np.zeros(table.num_inputs, bool)
        turned[table.inputs_of(rule)] = True
        rates = [
            (turned[mask & can].mean() if (mask & can).any() else np.nan)
            for fold in range(NUM_SPLITS)
            for mask in (folds != fold, folds == fold)
        ]
        result.append(
            (float(np.nanmean(rates[0::2])), float(np.nanmean(rates[1::2]))) if can.any() else (np.nan, np.nan)
        )
    return result


def _folds(table: RuleTable, folds: Folds) -> LongArray:
    if not isinstance(folds, np.random.Generator):
        return folds
    drawn = np.arange(table.num_inputs) % NUM_SPLITS
    folds.shuffle(drawn)
    return drawn


def _preference(table: RuleTable, rows: LongArray, success: npt.NDArray[np.float64]) -> tuple[npt.NDArray[Any], ...]:
    """Among rules that add the same: fewer changes, then properties in the range of drugs, the higher success, the lower cost, the smaller radius."""
    return (
        table.rules.num_changes[rows],
        table.rules.strays[rows],
        -success,
        table.rules.cost[rows],
        table.rules.radius[rows],
        table.rules.key[rows],
    )


def wilson_interval(successes: int, trials: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson's interval for a share: with 95% confidence, the true share lies within."""
    if trials == 0:
        return 0.0, 1.0
    share = successes / trials
    centre = share + z * z / (2 * trials)
    spread = z * float(np.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials)))
    scale = 1 + z * z / trials
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)
