from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from comrecgc.datasets import BENCHMARKS, GraphDataset, load_benchmark
from comrecgc.errors import InputError

# graphs, nodes, edges, labels, graphs whose own class is reject
SIZES = {
    "aids": (1837, 28905, 29985, 9, 1467),
    "mutagenicity": (4308, 130719, 132707, 10, 2394),
    "nci1": (3978, 118714, 128663, 10, 1986),
    "proteins": (1113, 43471, 81044, 3, 450),
    "imdb-binary": (1000, 19773, 96531, 1, 500),
    "imdb-multi": (1500, 19502, 98903, 1, 500),
}
REJECTED_BY_CLASSIFIER = {"aids": 1473, "mutagenicity": 2438, "nci1": 1971, "proteins": 366}


@pytest.fixture(scope="module")
def benchmarks(data_root: Path) -> dict[str, GraphDataset]:
    return {name: load_benchmark(name, data_root) for name in BENCHMARKS}


def test_sizes_are_those_of_the_paper(benchmarks: dict[str, GraphDataset]) -> None:
    sizes = {
        name: (len(data), data.num_nodes, data.num_edges, data.num_labels, int((data.classes == 0).sum()))
        for name, data in benchmarks.items()
    }
    assert sizes == SIZES


def test_labels_are_elements_or_have_plain_names(benchmarks: dict[str, GraphDataset]) -> None:
    assert {name: data.label_names for name, data in benchmarks.items()} == {
        "aids": ("C", "O", "N", "Cl", "F", "S", "P", "Na", "Br"),
        "mutagenicity": ("C", "O", "Cl", "H", "N", "F", "Br", "S", "P", "Na"),
        "nci1": ("O", "N", "C", "S", "Cl", "P", "F", "*", "Br", "I"),
        "proteins": ("helix", "sheet", "turn"),
        "imdb-binary": ("actor",),
        "imdb-multi": ("actor",),
    }
    assert [name for name, data in benchmarks.items() if data.is_molecular] == ["aids", "mutagenicity", "nci1"]


def test_classes_mean_what_they_say(benchmarks: dict[str, GraphDataset]) -> None:
    assert {name: data.class_names for name, data in benchmarks.items()} == {
        "aids": ("inactive", "active"),
        "mutagenicity": ("mutagen", "nonmutagen"),
        "nci1": ("active", "inactive"),
        "proteins": ("non-enzyme", "enzyme"),
        "imdb-binary": ("action", "romance"),
        "imdb-multi": ("comedy", "romance or sci-fi"),
    }


def test_elements_of_nci1_bind_as_they_should(benchmarks: dict[str, GraphDataset]) -> None:
    data = benchmarks["nci1"]
    degrees = np.concatenate([graph.degrees() for graph in data])
    labels = np.concatenate([graph.labels for graph in data])
    largest = {name: int(degrees[labels == label].max()) for label, name in enumerate(data.label_names)}
    assert largest["O"] == 2
    assert largest["F"] == largest["Br"] == 1
    assert max(largest.values()) == 4  # perchlorate, phosphate, sulphone, quaternary carbon …
    assert 2 * (degrees[labels == data.label_names.index("C")] >= 2).sum() > (labels == 2).sum()


def test_bonds_of_molecules(benchmarks: dict[str, GraphDataset]) -> None:
    for name in ("aids", "mutagenicity"):
        data = benchmarks[name]
        assert data.edge_label_names == ("single", "double", "triple")
        hydrogens = data.label_names.index("H") if "H" in data.label_names else data.label_names.index("F")
        for graph in data.graphs[:300]:
            assert graph.edge_labels is not None
            ends = graph.labels[graph.edges]
            assert not graph.edge_labels[(ends == hydrogens).any(axis=1)].any()  # H and F only have single bonds


def test_repairs_and_dropped_graphs_are_noted(benchmarks: dict[str, GraphDataset]) -> None:
    assert benchmarks["mutagenicity"].notes == (
        "29 graphs with labels that occur at most 50 times were dropped: I, K, Li, Ca.",
    )
    assert benchmarks["imdb-binary"].notes == (
        "193062 of 386124 rows of edges repeated an earlier row and were merged.",
    )
    assert benchmarks["proteins"].notes == ()


def test_classes_agree_with_the_released_classifiers(
    benchmarks: dict[str, GraphDataset], checkpoint_root: Path
) -> None:
    import torch

    for name, num_rejected in REJECTED_BY_CLASSIFIER.items():
        file = checkpoint_root / name / "predictions.pt"
        predicted = torch.load(file, weights_only=True, map_location="cpu").numpy()
        assert len(predicted) == len(benchmarks[name])
        assert int((predicted == 0).sum()) == num_rejected
        assert (predicted == benchmarks[name].classes).mean() > 0.75  # a flipped class would give less than 0.25


def test_loading_takes_less_than_two_seconds(data_root: Path) -> None:
    for name in BENCHMARKS:
        start = time.process_time()
        load_benchmark(name.upper(), data_root)
        assert time.process_time() - start < 2


def test_unknown_benchmark() -> None:
    with pytest.raises(InputError, match=r"one of aids, mutagenicity, .* \(got 'enzymes'\)"):
        load_benchmark("enzymes")
