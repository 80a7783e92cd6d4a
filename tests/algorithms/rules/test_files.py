"""Tests of comrecgc.algorithms.rules.algorithm.

Also tests comrecgc.algorithms.rules.mined.
"""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from comrecgc.algorithms.registry import Rules
from comrecgc.algorithms.rules.algorithm import load_table, save_table
from comrecgc.algorithms.rules.mined import MinedRules
from comrecgc.algorithms.rules.table import RuleTable
from comrecgc.errors import InputError
from comrecgc.explainer import CommonRecourseExplainer
from comrecgc.run import RunContext
from tests.stubs import AvoidsLabel, small_dataset

DATASET = small_dataset(30)


@pytest.fixture(scope="module")
def mined() -> MinedRules:
    made = CommonRecourseExplainer(
        AvoidsLabel(2, 3), Rules(max_changes=2), theta=0.3, panel=False, context=RunContext(jobs=1)
    ).fit(DATASET)
    assert made.mined_ is not None
    return made.mined_


def read(path: Path, mined: MinedRules) -> RuleTable:
    return load_table(path, mined.rejects.graphs, num_labels=3)[0]


def test_a_table_survives_a_file(mined: MinedRules, tmp_path: Path) -> None:
    save_table(tmp_path / "rules.npz", mined.table, mined.rejects.graphs, complete=False)
    again, complete = load_table(tmp_path / "rules.npz", mined.rejects.graphs, num_labels=3)
    assert not complete
    assert len(again) > 10
    for name in ("groups", "counts"):
        assert getattr(mined.table, name) == getattr(again, name), name
    np.testing.assert_array_equal(mined.table.base, again.base)
    np.testing.assert_array_equal(mined.table.needed, again.needed)
    for ours, theirs in ((mined.table.rules, again.rules), (mined.table.entries, again.entries)):
        for field in fields(ours):
            one, other = getattr(ours, field.name), getattr(theirs, field.name)
            assert one.dtype == other.dtype, field.name
            np.testing.assert_array_equal(one, other)


def test_a_table_of_another_dataset_is_refused_in_one_line(mined: MinedRules, tmp_path: Path) -> None:
    path = tmp_path / "rules.npz"
    save_table(path, mined.table, mined.rejects.graphs, complete=True)
    with pytest.raises(InputError, match=r"rules\.npz is a rule table") as refusal:
        load_table(path, mined.rejects.graphs[1:], num_labels=3)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("key", lambda table: table.rules.key[::-1].copy()),
        ("radius", lambda table: table.rules.radius + 3),
        ("kinds", lambda table: np.full_like(table.rules.kinds, 7)),
        ("kinds", lambda table: table.rules.kinds[:, :2]),
        ("cost", lambda table: 0 * table.rules.cost),
        ("adds", lambda table: table.rules.adds[:, :2]),
        ("applicable", lambda table: 0 * table.rules.applicable),
        ("applicable", lambda table: table.rules.applicable | 255),
        ("rule", lambda table: table.entries.rule[::-1].copy()),
        ("rule", lambda table: table.entries.rule[:-1]),
        ("rule", lambda table: table.entries.rule + (table.entries.rule > 0)),
        ("rule", lambda table: table.entries.rule - 1),
        ("input", lambda table: table.entries.input + 1000),
        ("input", lambda table: 0 * table.entries.input - 1),
        ("change", lambda table: table.entries.change + np.array([0, 100, 0, 0], np.int16)),
        (
            "change",
            lambda table: (
                table.entries.change * np.array([1, 1, 1, 100], np.int16) + np.array([0, 0, 0, 100], np.int16)
            ),
        ),
        ("margin", lambda table: table.entries.margin[1:]),
        ("margin", lambda table: np.full_like(table.entries.margin, np.nan)),
        ("votes", lambda table: table.entries.votes - 5),
        ("truth", lambda table: table.entries.truth - 5),
        ("base", lambda table: table.base[1:]),
        ("random_success", lambda table: table.rules.random_success + 2),
    ],
)
def test_numbers_that_cannot_be_are_refused(name: str, wrong: Any, mined: MinedRules, tmp_path: Path) -> None:
    path = tmp_path / "rules.npz"
    table, changed = mined.table, {name: wrong(mined.table)}
    if name == "base":
        table = replace(table, base=changed["base"])
    elif hasattr(table.rules, name):
        table = replace(table, rules=replace(table.rules, **changed))
    else:
        table = replace(table, entries=replace(table.entries, **changed))
    save_table(path, table, mined.rejects.graphs, complete=True)
    with pytest.raises(InputError, match=r"rules\.npz is damaged"):
        read(path, mined)
