"""Tests of comrecgc.models.training and comrecgc.models.greed: models from files and from the cache."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from comrecgc.errors import InputError
from comrecgc.models import ClassifierTraining, EmbedderTraining, ModelFile, obtain_classifier, obtain_embedder
from tests.stubs import small_dataset

DATASET = small_dataset(40)
TRAINING = ClassifierTraining(epochs=2, hidden=4)


def test_a_model_is_trained_once_and_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("comrecgc.models.training.user_cache_path", lambda name: tmp_path / "cache" / name)
    stages: list[str] = []
    files = []
    for run in ("one", "two"):
        _, file = obtain_classifier(
            DATASET, None, tmp_path / run, training=TRAINING, progress=lambda *at: stages.append(at[0])
        )
        files.append(file)
        assert file.path == "classifier.safetensors"
        assert (tmp_path / run / "classifier.json").exists()
    assert stages == ["training gcn"] * 2  # two epochs, the first time only
    assert files[0] == files[1]
    _, other = obtain_classifier(DATASET[:39], None, tmp_path / "three", training=TRAINING)
    assert other != files[0]


def test_without_a_cache_models_are_trained_in_the_run_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setattr("comrecgc.models.training.user_cache_path", lambda name: tmp_path / "file" / name)
    _, file = obtain_embedder(DATASET, None, tmp_path / "run", training=EmbedderTraining(effort=0.001))
    assert (tmp_path / "run" / file.path).is_file()


def test_a_changed_or_missing_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "weights.pth"
    path.write_bytes(b"one")
    file = ModelFile.of(path, tmp_path)
    assert file.path == "weights.pth"
    assert ModelFile.of(path, tmp_path / "elsewhere").path == path.resolve().as_posix()
    assert file.find(tmp_path, "classifier") == path
    path.write_bytes(b"two")
    with pytest.raises(InputError, match="has changed since the run"):
        file.find(tmp_path, "classifier")
    path.unlink()
    with pytest.raises(InputError, match="give its file with --classifier"):
        file.find(tmp_path, "classifier")
    with pytest.raises(InputError, match="Cannot read"):
        obtain_classifier(DATASET, path, tmp_path, training=TRAINING)


def test_whatever_a_model_depends_on_is_in_its_cache_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("comrecgc.models.training.user_cache_path", lambda name: tmp_path / "cache" / name)
    classes = DATASET.classes.copy()
    classes[0] = 1 - classes[0]
    features = np.array([[1, 0], [0, 1], [1, 1]], dtype=np.float32)
    runs = [
        (DATASET, TRAINING),
        (replace(DATASET, classes=classes), TRAINING),  # a class corrected in a table
        (replace(DATASET, features=features), TRAINING),
        (DATASET, replace(TRAINING, learning_rate=0.02)),
        (DATASET, replace(TRAINING, hidden=5)),
    ]
    sums = {
        obtain_classifier(dataset, None, tmp_path / str(run), training=training)[1].sha256
        for run, (dataset, training) in enumerate(runs)
    }
    assert len(sums) == len(runs)


def test_a_training_cut_short_is_not_kept_for_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("comrecgc.models.training.user_cache_path", lambda name: tmp_path / "cache" / name)
    kept = tmp_path / "cache" / "comrecgc" / "models"
    long = replace(TRAINING, epochs=10**6, patience=None)
    started = time.monotonic()
    obtain_classifier(DATASET, None, tmp_path / "short", training=long, deadline=started + 1)
    obtain_embedder(DATASET, None, tmp_path / "short", training=EmbedderTraining(effort=1.0), deadline=started + 3)
    assert time.monotonic() - started < 20
    assert (tmp_path / "short" / "classifier.safetensors").exists()
    assert (tmp_path / "short" / "embedder.safetensors").exists()
    assert not list(kept.glob("*.safetensors"))
    obtain_classifier(DATASET, None, tmp_path / "whole", training=TRAINING, deadline=time.monotonic() + 600)
    assert len(list(kept.glob("*.safetensors"))) == 1
