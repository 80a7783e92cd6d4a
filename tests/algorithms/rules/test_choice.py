"""Choice of rules: greedy, its guarantee and its bound, wishes, held-out figures, intervals."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from comrecgc.algorithms.rules.choice import (
    SLACK,
    RuleFilter,
    by_trust,
    choose,
    held_out,
    held_out_success,
    wilson_interval,
)
from comrecgc.algorithms.rules.table import Entries, RuleColumns, RuleTable
from comrecgc.algorithms.rules.vocabulary import Group
from comrecgc.errors import InputError

seeds = st.integers(0, 10**6)
LEAF = Group((0,), (), (), 0)


def table_of(
    turns: Any, can: Any = None, *, votes: Any = None, needed: int = 0, truth: Any = None, **columns: Any
) -> RuleTable:
    """A table of single relabellings that turn the given inputs, `[K, N]`."""
    turns = np.asarray(turns, bool)
    can = turns if can is None else np.asarray(can, bool)
    num_rules, num_inputs = turns.shape
    entries = int(turns.sum())
    change = np.full((entries, 3, 4), -1, np.int16)
    change[:, 0] = (0, 0, -1, 1)
    rules: dict[str, Any] = {
        "key": np.arange(1, num_rules + 1, dtype=np.uint64),
        "general": np.arange(1, num_rules + 1, dtype=np.uint64),
        "radius": np.zeros(num_rules, np.int8),
        "kinds": np.tile(np.array([0, -1, -1], np.int8), (num_rules, 1)),
        "cost": np.ones(num_rules, np.int32),
        "adds": np.zeros((num_rules, 3), bool),
        "removes": np.zeros((num_rules, 3), bool),
        "applicable": np.packbits(can, axis=1),
        "random_success": np.zeros(num_rules, np.float32),
        "exact": np.ones(num_rules, bool),
        "strays": np.zeros(num_rules, np.int8),
    }
    rule, input_ = np.nonzero(turns)
    return RuleTable(
        rules=RuleColumns(**(rules | columns)),
        entries=Entries(
            rule=rule,
            input=input_.astype(np.int32),
            change=change,
            margin=np.ones(entries, np.float32),
            votes=np.full(entries, -1, np.int8) if votes is None else votes,
            truth=np.full(entries, -1, np.int8) if truth is None else np.asarray(truth, np.int8),
        ),
        base=-np.ones(num_inputs),
        needed=np.full(num_inputs, needed, np.int8),
        groups=(LEAF,),
    )


def random_table(rng: np.random.Generator, num_rules: int = 7, num_inputs: int = 9) -> RuleTable:
    turns = rng.random((num_rules, num_inputs)) < rng.uniform(0.1, 0.6)
    turns[:, 0] |= ~turns.any(axis=1)
    return table_of(turns, turns | (rng.random(turns.shape) < 0.3), cost=rng.integers(1, 9, num_rules).astype(np.int32))


@given(seeds, st.integers(1, 4), st.booleans())
def test_greedy_keeps_its_guarantee_and_its_bound(seed: int, num_rules: int, reliable: bool) -> None:
    table = random_table(np.random.default_rng(seed))
    turns = table.incidence().toarray()
    if reliable:
        table = table_of(turns)
    optimum = max(turns[list(rows)].any(axis=0).sum() for rows in combinations(range(len(turns)), num_rules))
    chosen = choose(table, num_rules)
    covered = int(chosen.gains.sum())
    assert covered <= optimum <= chosen.bound
    # A step may add less than the best does, by the slack.
    assert covered >= (1 - np.exp(-(1 - SLACK))) * optimum
    exact = choose(table, num_rules, bounded=True)
    assert exact.bound >= optimum
    if exact.bound_by == "optimum":
        assert exact.bound == optimum


@given(seeds)
def test_gains_are_what_each_adds(seed: int) -> None:
    table = random_table(np.random.default_rng(seed))
    turns = table.incidence().toarray()
    chosen = choose(table, 4)
    covered = np.zeros(table.num_inputs, bool)
    for place, (rule, gain) in enumerate(zip(chosen.rules, chosen.gains, strict=True)):
        open_ = turns[:, ~covered].sum(axis=1)
        assert gain == open_[rule]
        assert gain >= (1 - SLACK) * open_.max()
        covered |= turns[rule]
        assert chosen.curve[place] == pytest.approx(covered.mean())
    assert chosen.coverage == pytest.approx(covered.mean())
    assert len(chosen.rules) == 4 or turns[:, ~covered].sum() == 0


@pytest.mark.parametrize(
    "columns",
    [
        {"can": [[1, 1, 1, 1], [1, 1, 1, 0]]},  # success
        {"cost": np.array([3, 2], np.int32)},
        {"kinds": np.array([[0, 4, -1], [0, -1, -1]], np.int8)},
        {"radius": np.array([1, 0], np.int8)},
        {"strays": np.array([1, 0], np.int8), "cost": np.array([1, 2], np.int32)},
    ],
    ids=["success", "cost", "changes", "context", "drug-like"],
)
def test_of_rules_that_add_the_same_the_better_is_chosen(columns: dict[str, Any]) -> None:
    chosen = choose(table_of([[1, 1, 0, 0], [1, 1, 0, 0]], **columns), 1)
    assert chosen.rules.tolist() == [1]


def test_fewer_changes_come_before_a_slightly_higher_success() -> None:
    turns = np.ones((2, 40), bool)
    turns[1, 0] = False
    table = table_of(turns, np.ones((2, 40)), kinds=np.array([[0, 4, -1], [0, -1, -1]], np.int8))
    assert choose(table, 1).rules.tolist() == [1]


TURNS = [[1, 1, 1, 1, 0, 0], [1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 1, 0], [0, 0, 0, 0, 0, 1]]
WISHED = table_of(
    TURNS,
    [[1, 1, 1, 1, 1, 1], [1, 1, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 1]],
    cost=np.array([5, 1, 3, 2], np.int32),
    kinds=np.array([[3, -1, -1], [0, -1, -1], [1, 4, -1], [2, 0, 5]], np.int8),
    radius=np.array([0, 1, 0, 0], np.int8),
    adds=np.array([[1, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 0]], bool),
    removes=np.array([[0, 0, 0], [1, 0, 0], [0, 0, 1], [0, 0, 0]], bool),
)


@pytest.mark.parametrize(
    ("wishes", "allowed"),
    [
        (RuleFilter(), [0, 1, 2, 3]),
        (RuleFilter(min_success=0.6), [0, 1, 3]),
        (RuleFilter(min_success=1.0), [1, 3]),
        (RuleFilter(min_support=2), [0, 1, 2]),
        (RuleFilter(max_cost=2), [1, 3]),
        (RuleFilter(max_changes=1), [0, 1]),
        (RuleFilter(max_changes=2), [0, 1, 2]),
        (RuleFilter(radii=(1,)), [1]),
        (RuleFilter(forbidden_kinds=("relabel",)), [0, 2]),
        (RuleFilter(forbidden_kinds=("join", "swap")), [1, 3]),
        (RuleFilter(forbidden_labels=(0,)), [1, 2, 3]),
        (RuleFilter(protected_labels=(0, 2)), [0, 3]),
        (RuleFilter(forbidden_groups=(1,)), [1, 3]),
        (RuleFilter(forbidden_groups=(7,)), [0, 1, 2, 3]),
    ],
)
def test_wishes(wishes: RuleFilter, allowed: list[int]) -> None:
    assert np.flatnonzero(wishes.allowed(WISHED)).tolist() == allowed
    assert set(choose(WISHED, 4, wishes).rules.tolist()) <= set(allowed)


@pytest.mark.parametrize(
    ("wishes", "words"),
    [
        ({"min_success": 1.5}, r"min_success must lie in \[0, 1\]"),
        ({"min_support": 0}, "min_support must be at least 1"),
        ({"max_cost": 0}, "max_cost must be at least 1"),
        ({"max_changes": 4}, "max_changes must be"),
        ({"forbidden_kinds": ("paint",)}, "got 'paint'"),
    ],
)
def test_wishes_that_make_no_sense(wishes: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        RuleFilter(**wishes)


def test_at_least_one_rule() -> None:
    with pytest.raises(InputError, match="num_recourses must be at least 1"):
        choose(WISHED, 0)


def test_nothing_is_chosen_where_nothing_is_allowed() -> None:
    chosen = choose(WISHED, 3, RuleFilter(min_support=9), bounded=True)
    assert len(chosen.rules) == 0
    assert chosen.coverage == 0
    assert chosen.bound == 0


def test_confirmed_counts_only_what_most_of_the_panel_accept() -> None:
    table = table_of([[1, 1, 1], [1, 1, 0]], votes=np.array([1, 0, 0, 2, 3], np.int8), needed=2)
    assert choose(table, 1).rules.tolist() == [0]
    chosen = choose(table, 1, RuleFilter(confirmed=True))
    assert chosen.rules.tolist() == [1]
    assert chosen.gains.tolist() == [2]


@given(seeds)
def test_held_out_figures_are_measured_on_the_other_fifth(seed: int) -> None:
    table = random_table(np.random.default_rng(seed), num_inputs=15)
    wishes = RuleFilter(min_success=0.4, min_support=2)
    measured = held_out(table, 2, wishes, np.random.default_rng(seed))
    assert measured is not None
    folds = np.arange(15) % 5
    np.random.default_rng(seed).shuffle(folds)
    turns = table.incidence().toarray()
    can = np.array([table.can_be_carried_out(rule) for rule in range(len(table))])
    unseen, seen_share, success = [], [], []
    for fold in range(5):
        seen = folds != fold
        part = table_of(turns[:, seen], can[:, seen], cost=table.rules.cost)
        rules = choose(part, 2, wishes).rules
        unseen.append(turns[rules][:, ~seen].any(axis=0).mean())
        seen_share.append(turns[rules][:, seen].any(axis=0).mean())
        success.append(turns[rules][:, ~seen].sum() / max(can[rules][:, ~seen].sum(), 1))
    assert measured.coverage == pytest.approx(np.mean(unseen))
    assert measured.seen_coverage == pytest.approx(np.mean(seen_share))
    assert measured.success == pytest.approx(np.mean(success))


def test_held_out_needs_ten_inputs() -> None:
    assert held_out(WISHED, 2, None, np.random.default_rng(0)) is None


@given(seeds)
@pytest.mark.filterwarnings("ignore:Mean of empty slice")
def test_held_out_success_of_a_rule(seed: int) -> None:
    table = random_table(np.random.default_rng(seed), num_inputs=15)
    folds = np.arange(15) % 5
    np.random.default_rng(seed).shuffle(folds)
    found = held_out_success(table, range(len(table)), np.random.default_rng(seed))
    for rule, (seen, unseen) in enumerate(found):
        can, turned = table.can_be_carried_out(rule), table.incidence().toarray()[rule]
        for value, is_seen in ((seen, True), (unseen, False)):
            masks = [can & ((folds != fold) == is_seen) for fold in range(5)]
            rates = [turned[mask].mean() for mask in masks if mask.any()]
            assert value == pytest.approx(np.mean(rates), nan_ok=True)


@given(st.integers(0, 60), st.integers(0, 60))
def test_wilson_interval_equals_scipy(successes: int, failures: int) -> None:
    trials = successes + failures
    if trials == 0:
        assert wilson_interval(0, 0) == (0.0, 1.0)
        return
    wanted = binomtest(successes, trials).proportion_ci(0.95, method="wilson")
    assert wilson_interval(successes, trials) == pytest.approx((wanted.low, wanted.high), abs=1e-4)


def test_choice_does_not_depend_on_the_order_of_rules() -> None:
    table = random_table(np.random.default_rng(8), num_rules=12, num_inputs=20)
    turns, can = table.incidence().toarray(), [table.can_be_carried_out(rule) for rule in range(12)]
    order = np.random.default_rng(9).permutation(12)
    other = table_of(turns[order], np.array(can)[order], cost=table.rules.cost[order], key=table.rules.key[order])
    one, two = choose(table, 5), choose(other, 5)
    assert table.rules.key[one.rules].tolist() == other.rules.key[two.rules].tolist()
    assert replace(two, rules=one.rules).gains.tolist() == one.gains.tolist()


def spelt_out_table(*, misses: int = 0) -> RuleTable:
    """A general rule, two that say where and turn what it turns (but for a few inputs), and another rule."""
    turns = np.zeros((4, 20), bool)
    turns[0, :12] = turns[1, :6] = turns[2, 6 : 12 - misses] = turns[3, 12:15] = True
    can = turns.copy()
    can[0, 15] = True
    return table_of(
        turns, can, general=np.array([1, 1, 1, 4], np.uint64), radius=np.array([0, 1, 1, 0], np.int8)
    )  # fmt: skip


def test_with_room_to_spare_a_general_rule_gives_way_to_those_that_say_where() -> None:
    table = spelt_out_table()
    assert table.rules.general_row.tolist() == [-1, 0, 0, -1]
    assert choose(table, 2).rules.tolist() == [0, 3]  # no room
    spelt_out = choose(table, 3)
    assert sorted(spelt_out.rules.tolist()) == [1, 2, 3]
    assert spelt_out.gains.tolist() == [6, 6, 3]
    assert spelt_out.coverage == choose(table, 2).coverage


def test_a_general_rule_stays_where_specific_ones_would_lose_inputs_or_are_not_wished() -> None:
    assert choose(spelt_out_table(misses=1), 5).rules.tolist()[0] == 0
    assert choose(spelt_out_table(), 5, RuleFilter(radii=(0,))).rules.tolist() == [0, 3]


# Chosen for truth.


def judged_table(rng: np.random.Generator, num_rules: int = 7, num_inputs: int = 9) -> RuleTable:
    turns = rng.random((num_rules, num_inputs)) < 0.5
    turns[:, 0] |= ~turns.any(axis=1)
    return table_of(turns, truth=rng.integers(0, 101, int(turns.sum())))


def reached(table: RuleTable, rows: Any, wishes: RuleFilter) -> float:
    """What the results of some rules are worth: of every input the best, by the definition."""
    best = np.zeros(table.num_inputs)
    for rule, input_, truth in zip(table.entries.rule, table.entries.input, table.entries.truth, strict=True):
        if rule in rows and truth >= 100 * wishes.min_truth:
            best[input_] = max(best[input_], 1, np.floor((2 * int(truth) - 100) / 10 + 0.5))
    return float(best.sum())


@given(seeds, st.integers(1, 3), st.sampled_from([0.3, 0.5, 0.6, 0.8]))
def test_choosing_for_truth_maximises_what_results_are_worth(seed: int, num_rules: int, least: float) -> None:
    table, wishes = judged_table(np.random.default_rng(seed)), RuleFilter(min_truth=least)
    best = max(reached(table, rows, wishes) for rows in combinations(range(len(table)), num_rules))
    chosen = choose(table, num_rules, wishes)
    assert reached(table, chosen.rules.tolist(), wishes) >= (1 - np.exp(-(1 - SLACK))) * best - 1e-9
    assert (table.entries.truth[wishes.counts(table)] >= round(100 * least)).all()


@given(seeds)
def test_without_a_jury_truth_is_coverage(seed: int) -> None:
    table = random_table(np.random.default_rng(seed))
    assert choose(table, 3, RuleFilter(min_truth=0.6)).rules.tolist() == choose(table, 3).rules.tolist()


def test_sure_results_come_before_many_doubtful_ones() -> None:
    table = table_of([[1, 1, 1, 1, 0], [1, 1, 1, 0, 1]], truth=[60, 60, 60, 60, 95, 95, 95, 95])
    assert choose(table, 1, RuleFilter(min_truth=0.6)).rules.tolist() == [1]
    assert choose(table, 1).rules.tolist() == [0]


def test_the_surest_rule_is_first_and_few_results_are_not_sure() -> None:
    turns = np.zeros((3, 40), bool)
    turns[0, :20], turns[1, 20:38], turns[2, 38:] = True, True, True
    table = table_of(turns, truth=[70] * 20 + [95] * 18 + [100] * 2)
    worth = RuleFilter(min_truth=0.6).worth(table)
    assert by_trust(table, np.array([0, 1, 2]), worth).tolist() == [1, 2, 0]
    chosen = choose(table, 3, RuleFilter(min_truth=0.6))
    assert chosen.rules.tolist() == [1, 2, 0]
    assert chosen.gains.tolist() == [18, 2, 20]


def test_results_that_do_not_count_cover_nothing() -> None:
    table = table_of([[1, 1, 1, 1]], truth=[10, 59, 60, 99])
    assert choose(table, 1, RuleFilter(min_truth=0.6)).gains.tolist() == [2]
    assert choose(table, 1, RuleFilter(min_truth=1.0)).rules.tolist() == []
    with pytest.raises(InputError, match="min_truth"):
        RuleFilter(min_truth=1.5)


def test_a_further_change_costs_a_tenth() -> None:
    kinds = np.array([[0, 4, -1], [0, -1, -1]], np.int8)
    table = table_of([[1, 1, 1], [1, 1, 1]], truth=[90, 90, 90, 88, 88, 61], kinds=kinds)
    assert RuleFilter(min_truth=0.6).worth(table).tolist() == [7, 7, 7, 8, 8, 2]
    assert RuleFilter().worth(table).tolist() == [1] * 6


def test_a_rule_that_surer_rules_leave_nothing_is_not_shown() -> None:
    # The first rule is taken for many inputs; two surer ones then turn all of them.
    table = table_of([[1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1]], truth=[70, 70, 70, 70, 99, 99, 99, 99])
    chosen = choose(table, 3, RuleFilter(min_truth=0.6))
    assert sorted(chosen.rules.tolist()) == [1, 2]
    assert (chosen.gains > 0).all()
