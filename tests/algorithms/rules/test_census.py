"""A census finds on the inputs of a table what the table says, however they are cut into blocks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from comrecgc.algorithms.rules.choice import RuleFilter, choose, choose_for_all
from comrecgc.algorithms.rules.mining import Oracle
from comrecgc.algorithms.rules.population import Census, RuleIndex, count_rules
from comrecgc.algorithms.rules.reading import PatternMatcher, read_rules
from comrecgc.graphs import can_be_carried_out
from tests.algorithms.rules.test_reading import fits
from tests.algorithms.rules.test_table import Mined


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "edge labels"])
def mined(request: pytest.FixtureRequest) -> Mined:
    return Mined(edge_labels=request.param)


def counted(mined: Mined, size: int) -> list[Census]:
    index, oracle = RuleIndex.of(mined.table, mined.scorer), Oracle(classifier=mined.model)
    return [
        count_rules(
            index, mined.inputs[start : start + size], mined.base[start : start + size], mined.scorer.vocabulary, oracle
        )
        for start in range(0, len(mined.inputs), size)
    ]


@pytest.mark.parametrize("size", [1000, 7])
def test_it_finds_what_the_table_says(mined: Mined, size: int) -> None:
    table, parts = mined.table, counted(mined, size)
    assert set(table.rules.num_changes.tolist()) == {1, 2, 3}
    bits = np.concatenate([np.unpackbits(part.turned, axis=1, count=part.num_inputs) for part in parts], axis=1)
    assert np.array_equal(bits.astype(bool), table.incidence().toarray())
    whole = Census.joined(parts)
    assert whole.num_inputs == table.num_inputs
    assert np.array_equal(whole.num_accepted, table.num_accepted)


def test_it_counts_where_rules_can_be_carried_out_by_their_own_words(mined: Mined) -> None:
    """As the plain search says it, and networkx; what each change finds alone may need more room together."""
    rng, counts = np.random.default_rng(0), Census.joined(counted(mined, 7)).num_applicable
    rows = rng.permutation(len(mined.table))[:200].tolist()
    rules = [record.rule for record in read_rules(mined.table, mined.scorer, rows)]
    expected = [sum(can_be_carried_out(rule, graph) for graph in mined.inputs) for rule in rules]
    assert counts[rows].tolist() == expected
    assert counts[rows].tolist() != mined.table.rules.num_applicable[rows].tolist()
    for row, rule in zip(rows[:12], rules, strict=False):
        assert counts[row] == sum(fits(rule, graph) for graph in mined.inputs)


def test_the_choice_is_that_of_the_table(mined: Mined) -> None:
    census, rules = Census.joined(counted(mined, 8)), RuleIndex.of(mined.table, mined.scorer).rules
    held = np.packbits(PatternMatcher(mined.inputs).hold(rules), axis=1)
    table = replace(mined.table, rules=replace(mined.table.rules, applicable=held))
    for wishes in (RuleFilter(), RuleFilter(min_success=0.5), RuleFilter(max_changes=1, min_support=3)):
        ours, theirs = choose_for_all(table, census, 4, wishes), choose(table, 4, wishes)
        assert np.array_equal(ours.rules, theirs.rules)
        assert np.array_equal(ours.gains, theirs.gains)
        assert theirs.gains.sum() <= ours.bound
        again = theirs.of(ours.rules, table, wishes)
        assert np.array_equal(again.gains, theirs.gains)


def test_no_inputs_are_a_census_too(mined: Mined) -> None:
    index = RuleIndex.of(mined.table, mined.scorer)
    empty = count_rules(index, [], mined.base[:0], mined.scorer.vocabulary, Oracle(classifier=mined.model))
    assert empty.num_inputs == 0
    assert not empty.num_accepted.any()
    assert not empty.num_applicable.any()
