from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from comrecgc.errors import InputError
from comrecgc.models import ARCHITECTURES, GraphClassifier, load_classifier, save_classifier
from tests.models.data import random_batch


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("suffix", [".safetensors", ".pth", ".pt"])
def test_a_written_classifier_answers_as_before(architecture: str, suffix: str, tmp_path: Path) -> None:
    model, path = GraphClassifier(architecture, 3, hidden=7), tmp_path / f"model{suffix}"
    if suffix == ".safetensors":
        save_classifier(model, path, {"label_names": ["C", "N", "O"]})
    else:
        torch.save(model.state_dict(), path)
    loaded = load_classifier(path)
    assert (loaded.architecture, loaded.hidden, loaded.num_labels) == (architecture, 7, 3)
    assert not loaded.training
    np.testing.assert_array_equal(loaded.accept_probability(random_batch(0)), model.accept_probability(random_batch(0)))


def test_facts_and_feature_rows_come_back(tmp_path: Path) -> None:
    table = np.array([[0.25, 1.0], [3.0, 0.5], [1.0, 1.0]], dtype=np.float32)
    save_classifier(GraphClassifier("gin", table), tmp_path / "a.safetensors", {"accuracy": {"test": 0.9}})
    loaded = load_classifier(tmp_path / "a.safetensors")
    np.testing.assert_array_equal(loaded.features.numpy(), table)
    assert loaded.facts["accuracy"] == {"test": 0.9}
    assert json.loads((tmp_path / "a.json").read_text())["architecture"] == "gin"


def test_one_hot_rows_are_not_written_out(tmp_path: Path) -> None:
    save_classifier(GraphClassifier("gcn", 4), tmp_path / "a.safetensors", {})
    assert json.loads((tmp_path / "a.json").read_text())["features"] is None


def state() -> dict[str, torch.Tensor]:
    return dict(GraphClassifier("gcn", 3).state_dict())


def without(name: str) -> dict[str, torch.Tensor]:
    return {key: value for key, value in state().items() if key != name}


@pytest.mark.parametrize(
    ("contents", "words"),
    [
        ({}, r"must be a classifier with convs\.0"),
        ({"embed.weight": torch.ones(2, 2)}, r"with convs\.0 \(got embed\.weight\)"),
        (without("bns.1.weight"), r"bns\.1\.weight must have shape \(20,\)"),
        (state() | {"fc.weight": torch.ones(3, 20)}, "must classify into 2 classes"),
        (without("fc.weight"), "must classify into 2 classes"),
        (state() | {"convs.3.bias": torch.ones(1)}, r"unknown parameter \(got 'convs\.3\.bias'\)"),
        (state() | {"convs.1.bias": torch.ones(4)}, r"convs\.1\.bias must have shape \(20,\) \(got \(4,\)\)"),
    ],
)
def test_other_state_dicts_are_refused(contents: dict[str, torch.Tensor], words: str, tmp_path: Path) -> None:
    torch.save(contents, tmp_path / "a.pth")
    with pytest.raises(InputError, match=words) as caught:
        load_classifier(tmp_path / "a.pth")
    assert "\n" not in str(caught.value)
    assert str(tmp_path / "a.pth") in str(caught.value)


def test_missing_and_damaged_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Cannot read"):
        load_classifier(tmp_path / "none.pth")
    with pytest.raises(InputError, match="Cannot read"):
        load_classifier(tmp_path / "none.safetensors")
    (tmp_path / "a.pth").write_bytes(b"not a checkpoint")
    with pytest.raises(InputError, match="damaged"):
        load_classifier(tmp_path / "a.pth")
    save_classifier(GraphClassifier("gcn", 3), tmp_path / "b.safetensors", {})
    contents = (tmp_path / "b.safetensors").read_bytes()
    (tmp_path / "b.safetensors").write_bytes(contents[: len(contents) // 2])
    with pytest.raises(InputError, match="damaged"):
        load_classifier(tmp_path / "b.safetensors")


@pytest.mark.parametrize("table", [[[1.0], [2.0]], "abc", [1.0, 2.0]])
def test_a_features_that_does_not_fit_is_refused(table: object, tmp_path: Path) -> None:
    save_classifier(GraphClassifier("gcn", 3), tmp_path / "a.safetensors", {"features": table})
    with pytest.raises(InputError, match=r"a\.json: features must"):
        load_classifier(tmp_path / "a.safetensors")
