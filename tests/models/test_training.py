from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from comrecgc.errors import InputError
from comrecgc.models import (
    ARCHITECTURES,
    ClassifierTraining,
    GraphClassifier,
    load_classifier,
    predict,
    split_dataset,
    train_classifier,
)
from comrecgc.models.training import EpochReport, with_equal_classes
from tests.models.data import marked_dataset

QUICK = ClassifierTraining(hidden=8, epochs=12, patience=None, batch_size=16, learning_rate=0.01, seed=3)


def weights(model: GraphClassifier) -> dict[str, np.ndarray]:
    return {name: value.numpy() for name, value in model.state_dict().items()}


def assert_same(first: GraphClassifier, second: GraphClassifier) -> None:
    for name, value in weights(first).items():
        np.testing.assert_array_equal(value, weights(second)[name], err_msg=name)


@pytest.mark.parametrize("model", ARCHITECTURES)
def test_every_architecture_learns_a_plain_rule(model: str) -> None:
    dataset = marked_dataset(300)
    result = train_classifier(dataset, replace(QUICK, model=model, epochs=150, batch_size=64))
    assert min(result.accuracy.values()) > 0.95
    right = predict(result.model, dataset).accepted == dataset.classes
    for name, indices in vars(result.split).items():
        assert result.accuracy[name] == pytest.approx(right[indices].mean())


def test_same_seed_same_weights_other_seed_other_weights() -> None:
    dataset = marked_dataset()
    torch.manual_seed(0)
    before = torch.get_rng_state()
    first = train_classifier(dataset, QUICK)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(99)
    assert_same(first.model, train_classifier(dataset, QUICK).model)
    other = train_classifier(dataset, replace(QUICK, seed=4))
    assert not np.array_equal(other.split.test, first.split.test)
    assert not np.array_equal(weights(other.model)["fc.weight"], weights(first.model)["fc.weight"])


class Killed(BaseException):
    pass


def kill_at(epoch: int) -> Callable[[EpochReport], None]:
    def progress(report: EpochReport) -> None:
        if report.epoch == epoch:
            raise Killed

    return progress


def test_the_best_validation_epoch_is_kept() -> None:
    reports: list[EpochReport] = []
    dataset = marked_dataset(200)
    result = train_classifier(dataset, replace(QUICK, epochs=60), progress=reports.append)
    accuracies = [report.accuracy for report in reports]
    assert result.accuracy["validation"] == max(accuracies) == reports[-1].best_accuracy
    assert accuracies[result.best_epoch - 1] == max(accuracies)
    assert len(reports) == result.epochs == 60


def test_training_stops_when_patience_runs_out() -> None:
    result = train_classifier(marked_dataset(), replace(QUICK, epochs=500, patience=7))
    assert result.epochs == result.best_epoch + 7 < 500


def test_facts_beside_the_weights(tmp_path: Path) -> None:
    dataset = marked_dataset()
    result = train_classifier(dataset, QUICK, out=tmp_path / "m.safetensors")
    facts = json.loads((tmp_path / "m.json").read_text())
    assert facts["architecture"] == "gcn"
    assert facts["label_names"] == ["L0", "L1", "L2"]
    assert facts["class_names"] == ["reject", "accept"]
    assert facts["accuracy"] == result.accuracy
    assert facts["training"]["seed"] == 3
    assert sorted(facts["split"]["train"] + facts["split"]["validation"] + facts["split"]["test"]) == list(range(60))
    assert "torch" in facts["versions"]


def test_feature_rows_are_trained_on_and_kept(tmp_path: Path) -> None:
    table = np.array([[0.5, 0.0], [0.0, 1.0], [2.0, 2.0]], dtype=np.float32)
    dataset = replace(marked_dataset(), features=table)
    train_classifier(dataset, QUICK, out=tmp_path / "m.safetensors")
    np.testing.assert_array_equal(load_classifier(tmp_path / "m.safetensors").features.numpy(), table)


def test_split_is_a_partition_in_tenths() -> None:
    split = split_dataset(marked_dataset(100), np.random.default_rng(0))
    assert [len(part) for part in vars(split).values()] == [80, 10, 10]
    assert sorted(np.concatenate(list(vars(split).values())).tolist()) == list(range(100))


def test_data_that_cannot_be_learned_from_is_refused() -> None:
    with pytest.raises(InputError, match=r"graphs of both classes"):
        train_classifier(marked_dataset(300).subset([0, _first_reject()]), QUICK)
    accepted = marked_dataset(300)
    accepted = accepted.subset(np.flatnonzero(accepted.classes == 1).tolist())
    with pytest.raises(InputError, match=rf"\(got 0 reject and {len(accepted)} accept in all\)"):
        train_classifier(accepted, QUICK)


def _first_reject() -> int:
    classes = marked_dataset(300).classes
    return int(np.flatnonzero(classes != classes[0])[0])


def test_a_file_name_that_cannot_be_used_is_refused_before_training(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must end in \.safetensors \(got 'm\.pth'\)$"):
        train_classifier(marked_dataset(), QUICK, out=tmp_path / "m.pth", progress=kill_at(1))


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"model": "gnn"}, r"model must be one of gcn, gat, sage, gin \(got 'gnn'\)"),
        ({"hidden": 0}, r"hidden must be at least 1 \(got 0\)"),
        ({"epochs": 0}, r"epochs must be at least 1 \(got 0\)"),
        ({"batch_size": -1}, r"batch_size must be at least 1 \(got -1\)"),
        ({"patience": 0}, r"patience must be at least 1, or None \(got 0\)"),
        ({"learning_rate": 0.0}, r"learning_rate must be positive \(got 0\.0\)"),
        ({"learning_rate": float("nan")}, r"learning_rate must be positive \(got nan\)"),
        ({"seed": -1}, r"seed must not be negative \(got -1\)"),
    ],
)
def test_bad_settings_are_refused(setting: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=f"^{words}$"):
        ClassifierTraining(**setting)  # type: ignore[arg-type]


def test_a_deadline_is_kept_with_the_best_epoch_until_then() -> None:
    dataset = marked_dataset()
    training = ClassifierTraining(epochs=100_000, patience=None)
    train_classifier(dataset, replace(training, epochs=1))  # whatever has to be compiled is
    started = time.monotonic()
    trained = train_classifier(dataset, training, deadline=started + 2)
    assert 1.5 < time.monotonic() - started < 3
    assert 1 <= trained.best_epoch <= trained.epochs < 100_000
    assert train_classifier(dataset, training, deadline=0.0).epochs == 1


def test_classes_that_count_the_same() -> None:
    classes = np.array([0, 1, 1, 1, 1, 1, 0])
    indices = np.arange(7)
    assert sorted(with_equal_classes(indices, classes).tolist()) == [0, 0, 1, 2, 3, 4, 5, 6, 6]
    assert sorted(with_equal_classes(indices, 1 - classes).tolist()) == [0, 0, 1, 2, 3, 4, 5, 6, 6]
