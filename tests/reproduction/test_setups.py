"""Models that were not released are trained once, and the tables say so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from comrecgc.models import predict
from comrecgc_reproduction import Runner, scale_of
from comrecgc_reproduction.setups import Setup

SCALE = replace(scale_of("quick"), epochs=1)


def setup(tmp_path: Path, **options: Any) -> Setup:
    return Setup(**{"name": "planted", "model": "gcn", "scale": SCALE, "models": tmp_path / "models", **options})


def test_what_is_missing_is_trained_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("comrecgc.models.training.user_cache_path", lambda name: tmp_path / name)
    said: list[str] = []
    first = setup(tmp_path, checkpoints=tmp_path, progress=lambda what, *_: said.append(what))
    answers = predict(first.classifier, first.dataset).accepted
    assert any("training" in what for what in said)
    assert first.provenance == "planted: gcn trained here, embedder trained here"
    said.clear()
    again = setup(tmp_path, progress=lambda what, *_: said.append(what))
    assert np.array_equal(predict(again.classifier, again.dataset).accepted, answers)
    assert not any("training" in what for what in said)


def test_what_is_there_is_taken_as_released(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoints" / "planted"
    folder.mkdir(parents=True)
    (folder / "classifier.pth").touch()
    assert setup(tmp_path, checkpoints=folder.parent).provenance == "planted: gcn released, embedder trained here"
    other = Setup(name="planted", model="gin", scale=SCALE, models=tmp_path, checkpoints=folder.parent)
    assert other.released_classifier is None
    runner = Runner(folder=tmp_path, scale=SCALE, checkpoints=folder.parent)
    assert runner.setup("planted").released_classifier is not None
    assert runner.setup("planted", trained=True).released_classifier is None


def test_a_small_scale_takes_as_many_of_each_class(tmp_path: Path) -> None:
    some = setup(tmp_path).dataset
    assert len(some) == SCALE.most_graphs
    assert some.classes.sum() * 2 == SCALE.most_graphs
    assert [graph.size for graph in some.graphs] == [graph.size for graph in setup(tmp_path).dataset.graphs]


def test_classes_are_swapped_and_seeds_give_other_classifiers(tmp_path: Path) -> None:
    plain, swapped = setup(tmp_path), setup(tmp_path, swapped=True)
    np.testing.assert_array_equal(swapped.whole.classes, 1 - plain.whole.classes)
    assert swapped.whole.class_names == plain.whole.class_names[::-1]
    labels = {it.label for it in (plain, swapped, setup(tmp_path, training_seed=1))}
    assert len(labels) == 3


def test_large_graphs_are_left_out_where_asked_and_the_models_stay(tmp_path: Path) -> None:
    whole = setup(tmp_path).whole
    most = int(np.median([graph.size for graph in whole.graphs]))
    some = setup(tmp_path, most_size=most, scale=replace(SCALE, most_graphs=None))
    assert [g.size for g in some.dataset.graphs] == [g.size for g in whole.graphs if g.size <= most]
    assert 0 < len(some.dataset) < len(whole) == len(some.whole)
    assert some.label == f"planted gcn up to {most}"
    assert setup(tmp_path, effort=0.1, pool="mean").label == "planted gcn mean pool effort 0.1"


def test_setups_of_the_same_graphs_share_their_embedder(tmp_path: Path) -> None:
    runner = Runner(folder=tmp_path, scale=SCALE)
    first = runner.setup("planted")
    first.__dict__["embedder"] = embedder = object()  # in place of one that is trained
    assert runner.setup("planted", "gin").embedder is embedder
    assert runner.setup("planted", "gin", training_seed=1, swapped=True).embedder is embedder
    assert runner.setup("planted", "gin", most_size=20).embedder is embedder
    assert runner.setup("planted", effort=0.5).sibling is None  # another embedder
    assert runner.setup("planted", trained=True).sibling is None
    assert runner.setup("aids").sibling is None
