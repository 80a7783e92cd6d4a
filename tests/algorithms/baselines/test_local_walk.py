from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from comrecgc.algorithms.baselines.local_walk import LocalWalk
from comrecgc.errors import InputError
from comrecgc.graphs import apply_path
from tests.algorithms.baselines.subjects import small_subject

SUBJECT = small_subject(20)


def test_at_most_one_counterfactual_per_input_made_from_it() -> None:
    found = LocalWalk(num_steps=40 * len(SUBJECT.inputs)).run(SUBJECT, np.random.default_rng(0)).found
    assert len({each.input for each in found}) == len(found) > 0
    for each in found:
        assert each.input is not None
        assert each.graph == apply_path(SUBJECT.inputs[each.input], each.path)
        assert 2 not in each.graph.labels


def test_one_step_finds_what_one_edit_turns() -> None:
    found = LocalWalk(num_steps=1).run(SUBJECT, np.random.default_rng(0)).found
    assert {len(each.path) for each in found} == {1}


def test_an_input_does_not_depend_on_the_others() -> None:
    walk = LocalWalk(num_steps=30 * len(SUBJECT.inputs))
    some = LocalWalk(num_steps=30 * 3)
    whole = walk.run(SUBJECT, np.random.default_rng(0)).found
    part = some.run(replace(SUBJECT, inputs=SUBJECT.inputs[:3]), np.random.default_rng(0)).found
    assert [(each.input, each.path) for each in part] == [
        (each.input, each.path) for each in whole if each.input is not None and each.input < 3
    ]


def test_bad_options_are_one_line() -> None:
    with pytest.raises(InputError, match="got"):
        LocalWalk(num_steps=0)
