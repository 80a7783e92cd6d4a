"""Experiments by name; what is printed in the paper fits its tables."""

from __future__ import annotations

import pytest

from comrecgc.errors import InputError
from comrecgc_reproduction import ALL, EXPERIMENTS, experiments_of, paper


def test_names() -> None:
    assert [experiment.name for experiment in experiments_of(["fc", "fcr"])] == ["fc", "fcr"]
    assert experiments_of([ALL]) == experiments_of(["fc", ALL]) == list(EXPERIMENTS.values())
    with pytest.raises(InputError, match="did you mean theory"):
        experiments_of(["theorie"])


def test_every_line_of_the_paper_has_a_figure_for_every_dataset() -> None:
    lines = [*paper.FCR_HEADS.values(), *paper.GRID.values(), paper.FC_COMRECGC, paper.CF_GNNEXPLAINER]
    lines += [line for pair in paper.OTHER_MODELS.values() for line in pair]
    assert all(len(line) == len(paper.DATASETS) for line in lines)
    assert all(len(line) == 1 for line in paper.FINE_DELTA.values())
    assert len(paper.SOCIAL_COMRECGC) == len(paper.SOCIAL)
