"""Tests of comrecgc.algorithms.baselines.baseline.

Also tests comrecgc.algorithms.baselines.baseline.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from comrecgc.algorithms.base import option
from comrecgc.algorithms.baselines.baseline import CHECKPOINT, Baseline, Counterfactuals, explain_each
from comrecgc.errors import InputError
from comrecgc.graphs import Edit, EditKind, EditPath, apply_path
from comrecgc.run import RunContext
from tests.algorithms.baselines.subjects import small_subject

SUBJECT = small_subject()


@dataclass(frozen=True, kw_only=True)
class Options(Baseline):
    name: ClassVar[str] = "relabels"

    size: int = option(1, "A size.", least=1)

    def run(self, *_: object, **__: object) -> Counterfactuals:
        raise AssertionError("these tests give the options only")


class Killed(Exception):
    pass


def relabelled(place: int, rng: np.random.Generator) -> list[EditPath]:
    """Every C becomes an A or a B by lot; inputs at even places are left alone as well, which is no counterfactual."""
    labels = SUBJECT.inputs[place].labels.tolist()
    edits = [Edit(EditKind.RELABEL, node, int(rng.integers(2))) for node, label in enumerate(labels) if label == 2]
    return [tuple(edits), ()] if place % 2 == 0 else [tuple(edits)]


def rows_of(found: Counterfactuals) -> list[tuple[int | None, EditPath, float]]:
    return [(each.input, each.path, each.probability) for each in found.found]


def test_every_input_is_explained_and_what_is_rejected_is_dropped() -> None:
    found = explain_each(Options(), SUBJECT, relabelled, np.random.default_rng(0))
    assert [each.input for each in found.found] == list(range(len(SUBJECT.inputs)))
    assert found.complete
    for each in found.found:
        assert each.input is not None
        assert each.graph == apply_path(SUBJECT.inputs[each.input], each.path)
        assert 2 not in each.graph.labels
        assert each.probability == pytest.approx(0.9 - 0.001 * each.graph.num_nodes)


def test_a_killed_run_goes_on_to_the_same_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("comrecgc.algorithms.checkpoint.SECONDS", 0.0)
    whole = explain_each(Options(), SUBJECT, relabelled, np.random.default_rng(5))

    def killed(place: int, rng: np.random.Generator) -> list[EditPath]:
        if place == 4:
            raise Killed
        return relabelled(place, rng)

    with pytest.raises(Killed):
        explain_each(Options(), SUBJECT, killed, np.random.default_rng(5), RunContext(checkpoint=tmp_path))
    asked: list[int] = []

    def watched(place: int, rng: np.random.Generator) -> list[EditPath]:
        asked.append(place)
        return relabelled(place, rng)

    rest = explain_each(
        Options(), SUBJECT, watched, np.random.default_rng(5), RunContext(checkpoint=tmp_path, resume=True)
    )
    assert rows_of(rest) == rows_of(whole)
    assert asked == list(range(4, len(SUBJECT.inputs)))


def test_no_time_is_an_incomplete_answer(tmp_path: Path) -> None:
    found = explain_each(
        Options(), SUBJECT, relabelled, np.random.default_rng(0), RunContext(time_budget=1e-9, checkpoint=tmp_path)
    )
    assert not found.complete
    assert len(found) == 0


@pytest.mark.parametrize("what", ["options", "seed"])
def test_a_checkpoint_of_something_else_is_refused(tmp_path: Path, what: str) -> None:
    explain_each(Options(), SUBJECT, relabelled, np.random.default_rng(0), RunContext(checkpoint=tmp_path))
    options = Options(size=2) if what == "options" else Options()
    rng = np.random.default_rng(1 if what == "seed" else 0)
    with pytest.raises(InputError, match="other parameters"):
        explain_each(options, SUBJECT, relabelled, rng, RunContext(checkpoint=tmp_path, resume=True))


def test_a_damaged_checkpoint_is_one_line(tmp_path: Path) -> None:
    (tmp_path / CHECKPOINT).write_bytes(b"no archive")
    with pytest.raises(InputError, match="damaged"):
        explain_each(
            Options(), SUBJECT, relabelled, np.random.default_rng(0), RunContext(checkpoint=tmp_path, resume=True)
        )
