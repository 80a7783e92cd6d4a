"""A census finds on the inputs of a table what the table says, however they are cut into blocks."""

from __future__ import annotations

import numpy as np
import pytest

from comrecgc.rules import Acceptance, Census, Recipes, Wishes, choose, choose_for_all, count_rules
from tests.rules.test_table import Mined


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "edge labels"])
def mined(request: pytest.FixtureRequest) -> Mined:
    return Mined(edge_labels=request.param)


def counted(mined: Mined, size: int) -> list[Census]:
    recipes, acceptance = Recipes.of(mined.table, mined.workshop), Acceptance(classifier=mined.model)
    return [
        count_rules(
            recipes,
            mined.inputs[start : start + size],
            mined.base[start : start + size],
            mined.workshop.vocabulary,
            acceptance,
        )
        for start in range(0, len(mined.inputs), size)
    ]


@pytest.mark.parametrize("size", [1000, 7])
def test_it_finds_what_the_table_says(mined: Mined, size: int) -> None:
    table, parts = mined.table, counted(mined, size)
    assert set(table.num_changes.tolist()) == {1, 2, 3}
    bits = np.concatenate([np.unpackbits(part.turned, axis=1, count=part.num_inputs) for part in parts], axis=1)
    assert np.array_equal(bits.astype(bool), table.incidence().toarray())
    whole = Census.joined(parts)
    assert whole.num_inputs == table.num_inputs
    assert np.array_equal(whole.num_applicable, table.num_applicable)
    assert np.array_equal(whole.num_accepted, table.num_accepted)


def test_the_choice_is_that_of_the_table(mined: Mined) -> None:
    census = Census.joined(counted(mined, 8))
    for wishes in (Wishes(), Wishes(min_success=0.5), Wishes(max_changes=1, min_support=3)):
        ours, theirs = choose_for_all(mined.table, census, 4, wishes), choose(mined.table, 4, wishes)
        assert np.array_equal(ours.rules, theirs.rules)
        assert np.array_equal(ours.gains, theirs.gains)
        assert theirs.gains.sum() <= ours.bound
        again = theirs.of(ours.rules, mined.table, wishes)
        assert np.array_equal(again.gains, theirs.gains)


def test_no_inputs_are_a_census_too(mined: Mined) -> None:
    recipes = Recipes.of(mined.table, mined.workshop)
    empty = count_rules(recipes, [], mined.base[:0], mined.workshop.vocabulary, Acceptance(classifier=mined.model))
    assert empty.num_inputs == 0
    assert not empty.num_accepted.any()
    assert not empty.num_applicable.any()
