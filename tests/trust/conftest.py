"""A run small enough to be repeated after every way of failing."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from comrecgc.models import ClassifierTraining, Greed, train_classifier
from comrecgc.models.greed import save_embedder
from tests.stubs import small_dataset

DATASET = small_dataset(30)


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Options that name a trained classifier and an embedder of random weights, which measures well enough here."""
    folder = tmp_path_factory.mktemp("models")
    train_classifier(DATASET, ClassifierTraining(epochs=150, seed=1), out=folder / "classifier.safetensors")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        save_embedder(Greed(3, num_layers=2, width=8, output_width=8), folder / "greed.safetensors", {})
    return ["--classifier", str(folder / "classifier.safetensors"), "--embedder", str(folder / "greed.safetensors")]


@pytest.fixture
def options(models: list[str], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """`comrecgc explain` on a few small trees."""
    monkeypatch.setattr("comrecgc.data.load_dataset", lambda *_, **__: DATASET)
    limits = ["--theta", "0.2", "--recourses", "3", "--jobs", "1"]
    return ["explain", "--dataset", "planted", *models, "--algorithm", "vectors", "--changes", "any", *limits]


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint after every step."""
    monkeypatch.setattr("comrecgc.algorithms.checkpoint.SECONDS", 0.0)


def one_line(text: str) -> str:
    """The error in what a command printed, which must be one line."""
    errors = [line for line in text.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, text
    assert text.rstrip().endswith(errors[0]), text
    assert "Traceback" not in text
    return errors[0]


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}
