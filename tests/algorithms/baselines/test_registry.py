from __future__ import annotations

import pytest
from comrecgc.algorithms.baselines.registry import BASELINES, baseline_name, make_baseline

from comrecgc.errors import InputError


@pytest.mark.parametrize("name", BASELINES)
def test_every_baseline_can_be_made_from_its_name(name: str) -> None:
    assert baseline_name(make_baseline(name)) == name


def test_an_unknown_name_is_told_with_the_nearest() -> None:
    with pytest.raises(InputError, match=r"Baselines are .*got 'datasets'; the nearest is dataset\)"):
        make_baseline("datasets")


def test_an_unknown_option_is_told() -> None:
    with pytest.raises(InputError, match="Options of dataset are none \\(got 'alpha'\\)"):
        make_baseline("dataset", alpha=1)
