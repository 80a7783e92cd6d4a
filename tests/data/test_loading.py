from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from comrecgc.data import GraphDataset, PlantedDataset, load_dataset
from comrecgc.data.loading import BENCHMARKS, TUMeaning, from_tu_folder, load_benchmark
from comrecgc.errors import InputError
from comrecgc.graphs import Graph

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
    assert benchmarks["proteins"].notes == (
        "1 node attribute was left out (attribute 1), since rules need labels of a finite alphabet. --bin 1=4 cuts one into four ranges.",
    )


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
    with pytest.raises(InputError, match="one of aids, mutagenicity"):
        load_benchmark("enzymes")


WriteTU = Callable[..., Path]
README = """Node labels were converted to integer values using this map:
Component 0:
	5	C
	6	O
	8	N
Edge labels were converted to integer values using this map:
Component 0:
	{first}
	{second}
Class labels were converted to integer values using this map:
	3	bad
	7	good
"""


def test_smaller_class_is_reject_and_unnamed_labels_name_themselves(write_tu: WriteTU) -> None:
    dataset = from_tu_folder(write_tu())
    assert dataset.name == "TINY"
    assert dataset.classes.tolist() == [1, 0]
    assert dataset.class_names == ("class 3", "class 7")
    assert dataset.label_names == ("5", "6", "8")
    assert dataset.edge_label_names == ("0", "1")
    assert not dataset.is_molecular


def test_the_readme_gives_names_and_bonds(write_tu: WriteTU) -> None:
    dataset = from_tu_folder(write_tu(label_readme=README.format(first="0\t1", second="1\t3")), name="mine")
    assert dataset.name == "mine"
    assert dataset.label_names == ("C", "O", "N")
    assert dataset.class_names == ("bad", "good")
    assert dataset.edge_label_names == ("single", "double", "triple")
    assert dataset[0].edge_labels is not None
    assert dataset[0].edge_labels.tolist() == [0, 2]  # valence 3 is a triple bond, though only two values occur
    assert dataset.is_molecular


def test_a_readme_of_atomic_numbers_names_elements(write_tu: WriteTU) -> None:
    numbers = README.replace("\tC", "\t6").replace("\tO", "\t8").replace("\tN", "\t7")
    dataset = from_tu_folder(write_tu(label_readme=numbers.format(first="0\t1", second="1\t3")))
    assert dataset.label_names == ("C", "O", "N")
    assert dataset.is_molecular


def test_edge_names_that_are_no_bonds_stay(write_tu: WriteTU) -> None:
    dataset = from_tu_folder(write_tu(label_readme=README.format(first="0\tnear", second="1\tfar")))
    assert dataset.edge_label_names == ("near", "far")


def test_accept_may_be_chosen(write_tu: WriteTU) -> None:
    dataset = from_tu_folder(write_tu(label_readme=README.format(first="0\t1", second="1\t2")), accept=3)
    assert dataset.classes.tolist() == [0, 1]
    assert dataset.class_names == ("good", "bad")


def test_rare_labels_are_dropped_with_their_graphs_and_columns_closed_up(write_tu: WriteTU) -> None:
    folder = write_tu(graph_indicator="1\n1\n1\n2\n3\n", graph_labels="7\n3\n3\n", node_labels="5\n8\n5\n6\n8\n")
    assert "class 7" in from_tu_folder(folder).notes[0]  # the class that is reached
    dataset = from_tu_folder(folder, rare=1)
    assert list(dataset) == [Graph([0, 1, 0], [(0, 1), (1, 2)]), Graph([1], [])]
    assert dataset.label_names == ("5", "8")
    assert dataset.classes.tolist() == [1, 0]
    assert dataset.notes[0] == "1 graphs with labels that occur at most 1 times were dropped: 6."


def test_no_node_labels_is_one_label(write_tu: WriteTU) -> None:
    dataset = from_tu_folder(write_tu(node_labels=None, edge_labels=None))
    assert dataset.label_names == ("node",)
    assert dataset.edge_label_names is None


@pytest.mark.parametrize(
    ("classes", "options", "message"),
    [
        ("7\n7\n", {}, r"must have two classes \(got 7\)"),
        ("7\n3\n", {"accept": 5}, "accept must be one"),
        ("7\n3\n", {"rare": 2}, "rare must leave some graphs of TINY"),
        ("7\n3\n", {"rare": -1}, "rare must not be negative"),
    ],
)
def test_bad_choices(write_tu: WriteTU, classes: str, options: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        from_tu_folder(write_tu(graph_labels=classes), **options)  # type: ignore[arg-type]


def test_several_classes(write_tu: WriteTU) -> None:
    folder = write_tu(graph_indicator="1\n1\n1\n2\n3\n", graph_labels="1\n2\n3\n", node_labels="5\n8\n5\n6\n8\n")
    rule = r"TINY has 3 classes: accept must name one of 1 \(1 graphs\), 2 \(1 graphs\), 3 .* \(got neither\)"
    with pytest.raises(InputError, match=rule):
        from_tu_folder(folder)
    against_all = from_tu_folder(folder, accept=2)
    assert against_all.classes.tolist() == [0, 1, 0]
    assert against_all.class_names == ("not class 2", "class 2")
    leaving_one = from_tu_folder(folder, reject="3")
    assert leaving_one.classes.tolist() == [1, 1, 0]
    between = from_tu_folder(folder, accept=1, reject=3)
    assert between.classes.tolist() == [1, 0]
    assert between.class_names == ("class 3", "class 1")
    assert "1 graphs of other classes were left out." in between.notes
    assert from_tu_folder(folder, need_classes=False).classes.tolist() == [0, 0, 0]
    with pytest.raises(InputError, match="accept and reject must be two classes"):
        from_tu_folder(folder, accept=1, reject=1)


def test_classes_may_be_negative(write_tu: WriteTU) -> None:
    folder = write_tu(graph_labels="1\n-1\n")
    assert from_tu_folder(folder).classes.tolist() == [1, 0]
    assert from_tu_folder(folder, accept="-1").classes.tolist() == [0, 1]


def test_numbers_of_graphs_become_classes_by_a_threshold(write_tu: WriteTU) -> None:
    folder = write_tu(graph_attributes="0.5, 3\n2.5, 1\n")
    (folder / "TINY_graph_labels.txt").unlink()
    with pytest.raises(InputError, match="has numbers instead of classes"):
        from_tu_folder(folder)
    assert from_tu_folder(folder, threshold=2.5).classes.tolist() == [0, 1]
    assert from_tu_folder(folder, threshold=1, accept="lower").classes.tolist() == [1, 0]
    with pytest.raises(InputError, match="threshold must lie between the values"):
        from_tu_folder(folder, threshold=9)


def test_attributes_are_noted_or_cut_into_ranges(write_tu: WriteTU) -> None:
    folder = write_tu(
        node_attributes="0.0, 9\n1.0, 9\n2.0, 9\n3.0, 9\n", label_readme="Node attributes:\t[charge, mass]\n"
    )
    assert from_tu_folder(folder).notes[-1] == (
        "2 node attributes were left out (charge, mass), since rules need labels of a finite alphabet. --bin charge=4 cuts one into four ranges."
    )
    plain = from_tu_folder(folder)
    cut = from_tu_folder(folder, bins={"charge": 2})
    assert any("mass" in note for note in cut.notes)
    low, high = "charge 0…1", "charge 2…3"
    expected = [f"{plain.label_names[label]}, {low}" for label in [*plain[0].labels, *plain[1].labels][:2]]
    expected += [f"{plain.label_names[label]}, {high}" for label in [*plain[0].labels, *plain[1].labels][2:]]
    assert [cut.label_names[label] for label in [*cut[0].labels, *cut[1].labels]] == expected
    assert from_tu_folder(folder, bins={"2": 3}).num_labels == plain.num_labels  # one value is one range
    with pytest.raises(InputError, match="bins must name node attributes of TINY"):
        from_tu_folder(folder, bins={"size": 3})
    (folder / "TINY_node_attributes.txt").write_text("0.0, x\n")
    assert from_tu_folder(folder).num_labels == plain.num_labels  # what is not used may be damaged
    with pytest.raises(InputError, match=r"node_attributes\.txt line 1"):
        from_tu_folder(folder, bins={"all": 3})


def test_names_of_labels_are_read_from_the_readme_of_the_archive(write_tu: WriteTU) -> None:
    folder = write_tu()
    (folder / "README.txt").write_text(
        "=== Description ===\n\nNode labels:\n\n  5  C\n  6  N\n\nGraph labels:\n  3 harmless\n 7 toxic\n"
    )
    dataset = from_tu_folder(folder)
    assert set(dataset.label_names) >= {"C", "N"}
    assert dataset.class_names == ("harmless", "toxic")


def test_meaning_checks_itself() -> None:
    with pytest.raises(InputError, match="rare"):
        TUMeaning(reject={0}, class_names=("a", "b"), rare=-1)


def test_a_folder_or_archive(
    write_tu: Callable[..., Path], write_zip: Callable[[Mapping[str, str]], Path], tiny_members: dict[str, str]
) -> None:
    assert list(load_dataset(str(write_tu()))) == list(load_dataset(write_zip(tiny_members)))


def test_a_table(tmp_path: Path) -> None:
    pytest.importorskip("rdkit", reason="SMILES need rdkit")
    (tmp_path / "mine.csv").write_text("smiles,class\nCCO,1\nCC,0\n")
    assert load_dataset(tmp_path / "mine.csv").name == "mine"


def test_planted_in_any_case() -> None:
    assert isinstance(load_dataset("Planted"), PlantedDataset)


def test_a_benchmark_in_any_case(data_root: Path) -> None:
    assert load_dataset("AIDS", data_root).name == "aids"


def test_a_path_with_the_name_of_a_benchmark_is_a_path(
    write_tu: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(write_tu("planted").parent)
    assert len(load_dataset(Path("planted"))) == len(load_dataset("./planted")) == 2
    assert len(load_dataset("planted")) == 600


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("mutagenity", "did you mean mutagenicity?"),
        ("imdb", "did you mean imdb-multi or imdb-binary?"),
        ("qqq", "'qqq')"),
    ],
)
def test_unknown_names_get_the_nearest(name: str, hint: str) -> None:
    with pytest.raises(InputError, match=r"^A dataset is one of aids, .*, planted, or the path") as caught:
        load_dataset(name)
    assert hint in str(caught.value)
    assert ("did you mean" in str(caught.value)) == (name != "qqq")


@pytest.mark.parametrize("name", ["missing.csv", "missing.zip", "missing.smi"])
def test_missing_files_are_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=name):
        load_dataset(tmp_path / name)
