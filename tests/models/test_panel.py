from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from comrecgc.data import GraphDataset, load_planted
from comrecgc.errors import InputError
from comrecgc.graphs import GraphBatch
from comrecgc.models import (
    ClassifierTraining,
    Panel,
    PanelMember,
    PanelTraining,
    load_panel,
    obtain_panel,
    predict,
    train_classifier,
)
from comrecgc.run import LocalEngine
from tests.models.data import marked_dataset, random_batch

QUICK = PanelTraining(models=("gcn", "gin", "sage"), epochs=4)


@pytest.fixture(scope="module")
def dataset() -> GraphDataset:
    return load_planted(num_graphs=80)


def panel_of(dataset: GraphDataset, folder: Path, training: PanelTraining = QUICK, jobs: int = 1) -> Panel:
    panel, _ = obtain_panel(dataset, training=training, folder=folder, engine=LocalEngine(jobs=jobs))
    assert panel is not None
    return panel


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.safetensors"))}


class Fixed:
    """Accepts graphs with at least so many nodes."""

    num_labels = 3

    def __init__(self, nodes: int) -> None:
        self.nodes = nodes

    def accept_probability(self, batch: GraphBatch) -> np.ndarray:
        return np.where(batch.node_counts() >= self.nodes, 0.9, 0.1)


@pytest.mark.parametrize(("size", "majority"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3)])
def test_votes_and_majority(size: int, majority: int) -> None:
    panel = Panel(tuple(PanelMember(name=str(i), classifier=Fixed(2 + i)) for i in range(size)))
    batch = random_batch(0)
    expected = [sum(count >= 2 + i for i in range(size)) for count in batch.node_counts().tolist()]
    assert panel.majority == majority
    assert panel.votes(batch).tolist() == expected
    assert panel.votes(batch).dtype == np.int8
    assert panel.confirms(batch).tolist() == [votes >= majority for votes in expected]
    assert panel.votes(GraphBatch.from_graphs([])).tolist() == []


def test_members_are_what_plain_training_gives(dataset: GraphDataset, tmp_path: Path) -> None:
    panel = panel_of(dataset, tmp_path)
    trained = [train_classifier(dataset, member) for member in QUICK.members()]
    batch = GraphBatch.from_graphs(dataset)
    accepted = np.stack([predict(each.model, batch).accepted for each in trained])
    assert panel.votes(batch).tolist() == accepted.sum(axis=0).tolist()
    assert [member.accuracy for member in panel.members] == [each.accuracy["test"] for each in trained]


def test_the_panel_learns_what_is_planted(tmp_path: Path) -> None:
    dataset = load_planted(num_graphs=300)
    panel, sentence = obtain_panel(
        dataset, training=PanelTraining(models=("gin",) * 2), folder=tmp_path, engine=LocalEngine()
    )
    assert panel is not None
    right = panel.confirms(GraphBatch.from_graphs(dataset)) == dataset.classes
    assert right.mean() > 0.9
    assert sentence.startswith("A panel of 2 classifiers was trained on the same labels: right on ")


def test_same_bytes_for_any_number_of_jobs(dataset: GraphDataset, tmp_path: Path) -> None:
    panel_of(dataset, tmp_path / "one", jobs=1)
    panel_of(dataset, tmp_path / "two", jobs=2)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert len(contents(tmp_path / "one")) == 3


def test_a_trained_panel_is_read_from_the_cache(dataset: GraphDataset, tmp_path: Path) -> None:
    first = panel_of(dataset, tmp_path)
    times = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    again, _ = obtain_panel(dataset, training=QUICK, folder=tmp_path, deadline=time.monotonic() - 1)
    assert again is not None
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == times
    batch = GraphBatch.from_graphs(dataset)
    assert again.votes(batch).tolist() == first.votes(batch).tolist()
    assert [member.accuracy for member in again.members] == [member.accuracy for member in first.members]


def test_another_class_feature_option_or_number_is_another_panel(dataset: GraphDataset, tmp_path: Path) -> None:
    classes = dataset.classes.copy()
    classes[0] = 1 - classes[0]
    features = np.eye(dataset.num_labels, dtype=np.float32) * 2
    one = replace(QUICK, models=("gcn",))
    cases = [
        (dataset, one),
        (replace(dataset, classes=classes), one),
        (replace(dataset, features=features), one),
        (dataset, replace(one, epochs=3)),
        (dataset, replace(one, learning_rate=0.01)),
        (dataset, replace(one, number=1)),
    ]
    for count, (data, training) in enumerate(cases, start=1):
        panel_of(data, tmp_path, training)
        assert len(contents(tmp_path)) == count


@pytest.mark.parametrize("what", ["weights", "facts", "cut"])
def test_a_damaged_member_is_trained_again(dataset: GraphDataset, tmp_path: Path, what: str) -> None:
    one = replace(QUICK, models=("gcn",))
    panel_of(dataset, tmp_path, one)
    before = contents(tmp_path)
    (path,) = tmp_path.glob("*.safetensors")
    match what:
        case "weights":
            path.write_bytes(path.read_bytes()[:-1] + b"?")
        case "facts":
            path.with_suffix(".json").write_text("{}")
        case "cut":
            path.with_suffix(".json").unlink()
    panel_of(dataset, tmp_path, one)
    assert contents(tmp_path) == before


def test_panels_of_other_numbers_share_no_seed() -> None:
    seeds = [member.seed for number in range(3) for member in replace(QUICK, number=number).members()]
    assert len(set(seeds)) == len(seeds)
    assert ClassifierTraining().seed not in seeds


def test_given_classifiers_are_the_panel(dataset: GraphDataset, tmp_path: Path) -> None:
    panel = panel_of(dataset, tmp_path)
    files = sorted(tmp_path.glob("*.safetensors"))
    given, sentence = obtain_panel(dataset, files=files, has_classes=False)
    assert given is not None
    assert sentence == "A panel of 3 given classifiers was asked too."
    batch = GraphBatch.from_graphs(dataset)
    assert given.votes(batch).tolist() == panel.votes(batch).tolist()
    assert sorted(m.accuracy or 0 for m in given.members) == sorted(m.accuracy or 0 for m in panel.members)
    with pytest.raises(InputError, match="node labels"):
        load_panel(files, label_names=("C", "N"))


def test_why_there_is_no_panel(dataset: GraphDataset, tmp_path: Path) -> None:
    alike = replace(dataset, classes=np.zeros(len(dataset), dtype=np.int8))
    reasons = {
        "no classes": obtain_panel(dataset, has_classes=False),
        "one class": obtain_panel(alike, folder=tmp_path),
        "no time": obtain_panel(dataset, training=QUICK, folder=tmp_path, deadline=time.monotonic() - 1),
        "no time while training": obtain_panel(
            dataset, folder=tmp_path, deadline=time.monotonic() + 0.3, engine=LocalEngine()
        ),
    }
    assert all(panel is None for panel, _ in reasons.values())
    sentences = {name: sentence for name, (_, sentence) in reasons.items()}
    assert sentences == {
        "no classes": "There is no panel: the graphs have no classes to train it on.",
        "one class": "There is no panel: training needs graphs of both classes among the 80% to train on "
        "(got 80 toxic and 0 harmless in all).",
        "no time": "There is no panel: there was no time to train it.",
        "no time while training": "There is no panel: there was no time to train it.",
    }


def test_progress_names_members(tmp_path: Path) -> None:
    seen = []
    obtain_panel(
        marked_dataset(),
        training=QUICK,
        folder=tmp_path,
        engine=LocalEngine(),
        progress=lambda *report: seen.append(report[:3]),
    )
    assert seen == [("training the panel", done, 3) for done in (1, 2, 3)]


def test_without_a_cache_it_is_trained_all_the_same(dataset: GraphDataset, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert len(panel_of(dataset, tmp_path / "file", replace(QUICK, models=("gcn",)))) == 1


def test_bad_input() -> None:
    for wrong, message in [
        ({"models": ()}, "at least one member"),
        ({"models": ("mlp",)}, "model must be one of"),
        ({"epochs": 0}, "epochs must be at least 1"),
        ({"number": -1}, "number must not be negative"),
    ]:
        with pytest.raises(InputError, match=message):
            PanelTraining(**wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="at least one member"):
        Panel(())
