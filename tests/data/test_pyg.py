"""Tests `comrecgc.data.pyg` and `comrecgc.data.alphabet`."""

from __future__ import annotations

import copy
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data, HeteroData, InMemoryDataset
from torch_geometric.datasets import TUDataset

from comrecgc.data import from_pyg, load_dataset, load_planted
from comrecgc.data.loading import load_benchmark
from comrecgc.errors import InputError
from comrecgc.graphs import Graph

BOTH_WAYS = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
NO_EDGES = torch.zeros(2, 0, dtype=torch.long)
FEATURES = st.tuples(st.sampled_from([-1.5, 0.0, 1.0, 7.25]), st.integers(-2, 2))


def data(**changes: Any) -> Data:
    """A path of three nodes labelled 0, 2, 0 of three, class 1."""
    parts = {"x": torch.eye(3)[[0, 2, 0]], "edge_index": BOTH_WAYS, "y": torch.tensor([1])} | changes
    return Data(**{name: value for name, value in parts.items() if value is not None})


def test_one_hot_columns_are_the_labels() -> None:
    dataset = from_pyg([data(), data(y=torch.tensor([0]))], name="mine")
    assert dataset.name == "mine"
    assert list(dataset) == [Graph([0, 2, 0], [(0, 1), (1, 2)])] * 2
    assert dataset.label_names == ("0", "1", "2")  # column 1 is a label too, though no node has it
    assert np.array_equal(dataset.features, np.eye(dataset.num_labels))
    assert dataset.classes.tolist() == [1, 0]
    assert dataset.notes == ()


def test_other_features_are_labels_by_their_distinct_rows() -> None:
    rows = torch.tensor([[2.5, -1.0], [0.0, 3.0], [2.5, -1.0]])
    dataset = from_pyg([data(x=rows)])
    assert dataset[0].labels.tolist() == [1, 0, 1]
    assert dataset.features.tolist() == [[0.0, 3.0], [2.5, -1.0]]
    assert dataset.label_names == ("(0, 3)", "(2.5, -1)")
    assert torch.equal(dataset.to_pyg()[0].x, rows)


@pytest.mark.parametrize("x", [torch.tensor([4, 6, 4]), torch.tensor([[4.0], [6.0], [4.0]], dtype=torch.float64)])
def test_one_number_a_node_names_its_label(x: torch.Tensor) -> None:
    dataset = from_pyg([data(x=x)])
    assert dataset[0].labels.tolist() == [0, 1, 0]
    assert dataset.label_names == ("4", "6")


def test_zeros_of_either_sign_are_one_label() -> None:
    assert from_pyg([data(x=torch.tensor([[0.0, 5.0], [-0.0, 5.0], [1.0, 1.0]]))])[0].labels.tolist() == [0, 0, 1]


def test_no_features_is_one_label() -> None:
    dataset = from_pyg([data(x=None, num_nodes=4), data(x=None)])
    assert [graph.num_nodes for graph in dataset] == [4, 3]
    assert dataset.label_names == ("node",)


def test_names_may_be_given() -> None:
    dataset = from_pyg([data()], label_names=["C", "N", "O"], class_names=("bad", "good"))
    assert dataset.is_molecular
    assert dataset.class_names == ("bad", "good")


@pytest.mark.parametrize(
    ("values", "options", "expected"),
    [
        ([0, 1], {}, [0, 1]),
        ([0, 1], {"accept": 0}, [1, 0]),
        ([1, 1], {}, [1, 1]),
        ([0, 0], {}, [0, 0]),
        ([-1, 1], {}, [0, 1]),
        ([2, 1], {"accept": 1}, [0, 1]),
        ([7, 7], {"classes": [1, 0]}, [1, 0]),
        ([7, 7], {"classes": [4, 3], "accept": 3}, [0, 1]),
    ],
)
def test_classes(values: list[int], options: dict[str, Any], expected: list[int]) -> None:
    assert from_pyg([data(y=torch.tensor([y])) for y in values], **options).classes.tolist() == expected


@pytest.mark.parametrize("y", [torch.tensor(1), torch.tensor([[1.0]]), torch.tensor([True]), 1])
def test_shapes_of_class(y: Any) -> None:
    assert from_pyg([data(y=y)]).classes.tolist() == [1]


@pytest.mark.parametrize(
    "edge_attr", [torch.tensor([0, 0, 2, 2]), torch.tensor([[0.0], [0.0], [2.0], [2.0]]), torch.eye(3)[[0, 0, 2, 2]]]
)
def test_edge_attributes_that_are_labels(edge_attr: torch.Tensor) -> None:
    dataset = from_pyg([data(edge_attr=edge_attr)])
    assert dataset[0].edge_labels is not None
    assert dataset[0].edge_labels.tolist() == [0, 2]
    assert dataset.edge_label_names == ("0", "1", "2")


@pytest.mark.parametrize(
    ("edge_attr", "why"),
    [
        (torch.tensor([0.5, 0.5, float("nan"), 1.0]), r"they are not all finite numbers"),
        (torch.tensor([0, 1, 2, 2]), r"graph 0 has an edge with two different ones"),
        (torch.tensor([0, 1]), r"graph 0 has them in shape \[2, 1\] for 4 edges"),
    ],
)
def test_edge_attributes_that_are_no_labels_are_noted(edge_attr: torch.Tensor, why: str) -> None:
    dataset = from_pyg([data(edge_attr=edge_attr)])
    assert dataset[0].edge_labels is None
    assert re.search(f"^Edge attributes are no labels: {why}", dataset.notes[0])


def test_one_way_and_repeated_edges_are_repaired_and_noted() -> None:
    dataset = from_pyg([data(edge_index=torch.tensor([[0, 0, 2], [1, 1, 1]]))])
    assert dataset[0] == Graph([0, 2, 0], [(0, 1), (1, 2)])
    assert dataset.notes == (
        "1 of 3 rows of edges repeated an earlier row and were merged.",
        "2 of 2 edges were listed in one direction only and taken as undirected.",
    )


def test_graphs_without_edges() -> None:
    dataset = from_pyg([data(edge_index=NO_EDGES)])
    assert dataset[0].num_edges == 0


def test_input_is_not_modified() -> None:
    original = data(x=torch.tensor([[-0.0, 1.5], [2.0, 2.0], [0.0, 1.5]]), edge_attr=torch.tensor([0, 0, 1, 1]))
    before = copy.deepcopy(original)
    from_pyg([original])
    assert original.to_dict().keys() == before.to_dict().keys()
    for name, value in before.to_dict().items():
        assert torch.equal(original[name], value)
    assert torch.signbit(original.x[0, 0])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"x": torch.diag(torch.tensor([1.0, float("nan"), 1.0]))},
            r"finite numbers in x \(got \[0\.0, nan, .* node 1\)",
        ),
        ({"x": torch.full((3, 3), float("inf"))}, r"finite numbers in x \(got \[inf, inf, inf\] at node 0\)"),
        ({"x": torch.eye(3)[:, :2]}, r"must have x of shape \[nodes, 3\] \(got \[3, 2\]\)"),
        ({"x": torch.ones(3, 2, 2)}, r"must have x of shape \[nodes, 3\] \(got \[3, 2, 2\]\)"),
        ({"x": torch.eye(3, dtype=torch.complex64)}, r"must have real numbers in x \(got complex64\)"),
        ({"x": torch.eye(3, dtype=torch.long) << 40}, r"integers of at most 16777216 in x \(got 0…1099511627776\)"),
        ({"x": None}, r"must have x exactly if graph 0 has \(got none\)"),
        ({"x": torch.zeros(0, 3), "edge_index": NO_EDGES}, r"at least one node \(got none\)"),
        ({"edge_index": None}, r"must have an edge_index \(got none\)"),
        ({"edge_index": BOTH_WAYS.T}, r"edge_index of integers, \[2, edges\] \(got int64 of shape \[4, 2\]\)"),
        ({"edge_index": BOTH_WAYS.float()}, r"edge_index of integers, \[2, edges\] \(got float32"),
        ({"edge_index": BOTH_WAYS + 1}, r"must have nodes 0…2 in edge_index \(got \[2, 3\]\)"),
        ({"edge_index": BOTH_WAYS - 1}, r"must have nodes 0…2 in edge_index \(got \[-1, 0\]\)"),
        ({"edge_index": torch.tensor([[0, 1], [1, 1]])}, r"must not have self-loops: .* \(got one at node 1\)"),
        ({"y": None}, r"must have a class y, or classes must be given \(got none\)"),
        ({"y": torch.tensor([0, 1])}, r"must have one number as its class y \(got \[0, 1\]\)"),
        ({"y": torch.tensor([float("nan")])}, r"must have one number as its class y \(got \[nan\]\)"),
    ],
)
def test_the_graph_that_breaks_a_rule_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"^Graph 1 .*{message}") as caught:
        from_pyg([data(), data(**changes), data()])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("graphs", "options", "message"),
    [
        ([], {}, r"at least one graph \(got none\)"),
        (data(), {}, "a PyG dataset or a list"),
        (3, {}, "a PyG dataset or a list"),
        ([data(), HeteroData()], {}, r"Graph 1 must be one torch_geometric\.data\.Data"),
        ([Batch.from_data_list([data(), data()])], {}, "Graph 0 must be one .*"),
        ([data(y=0), data(y=1), data(y=2)], {}, "y has 3 classes"),
        ([data(y=5)], {}, "y must have two classes"),
        ([data()], {"accept": 2}, "accept must be one"),
        ([data()], {"classes": [0, 1]}, "classes must be one integer per graph"),
        ([data()], {"label_names": ["C"]}, "label_names must name each"),
    ],
)
def test_bad_calls(graphs: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        from_pyg(graphs, **options)


def test_numbers_are_clustered_and_whole_numbers_are_categories() -> None:
    whole = from_pyg([data(x=torch.arange(60)[:, None])])
    assert whole.num_labels == 60
    numbers = from_pyg([data(x=torch.arange(60)[:, None] / 7)])
    assert numbers.label_names[0] == "0…1"
    assert numbers.num_labels == 8
    assert from_pyg([data(x=torch.arange(60)[:, None] / 7)], bins=3).num_labels == 3


def test_numbers_in_three_heaps_become_three_labels() -> None:
    rng = np.random.default_rng(0)
    heap = rng.integers(0, 3, 300)
    x = torch.tensor(rng.normal(scale=3, size=(3, 18))[heap] + rng.normal(size=(300, 18)), dtype=torch.float32)
    found = from_pyg([data(x=x)])
    assert len({(int(a), int(b)) for a, b in zip(heap, found[0].labels, strict=True)}) == found.num_labels == 3
    assert len(set(found.label_names)) == 3
    assert all(len(name) < 16 for name in found.label_names)


def test_our_own_graphs_come_back() -> None:
    planted = load_planted(num_graphs=60)
    back = from_pyg(planted.to_pyg(), label_names=planted.label_names)
    assert list(back) == list(planted)
    assert (back.classes == planted.classes).all()
    for ours, theirs in zip(planted, back, strict=True):
        assert np.array_equal(ours.edge_labels, theirs.edge_labels)  # type: ignore[arg-type]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(FEATURES, min_size=1, max_size=6), min_size=1, max_size=4))
def test_features_are_rebuilt_exactly(rows: list[list[tuple[float, int]]]) -> None:
    graphs = [data(x=torch.tensor(part, dtype=torch.float32), edge_index=NO_EDGES) for part in rows]
    dataset = from_pyg(graphs)
    for graph, rebuilt in zip(graphs, dataset.to_pyg(), strict=True):
        assert torch.equal(graph.x, rebuilt.x)


def test_a_real_benchmark_equals_our_own_reader(data_root: Path, tmp_path: Path) -> None:
    raw = tmp_path / "AIDS" / "raw"
    raw.mkdir(parents=True)
    with zipfile.ZipFile(data_root / "AIDS.zip") as archive:
        for member in archive.namelist():
            with archive.open(member) as source, (raw / member.rpartition("/")[2]).open("wb") as target:
                shutil.copyfileobj(source, target)
    theirs = from_pyg(TUDataset(str(tmp_path), "AIDS"), accept=0)
    ours = load_benchmark("aids", data_root)
    used = [0, 1, 2, 3, 4, 5, 7, 8, 11]  # raw labels that are not rare
    kept = [i for i, graph in enumerate(theirs) if set(graph.labels.tolist()) <= set(used)]
    assert theirs.name == "AIDS"
    assert theirs.classes[kept].tolist() == ours.classes.tolist()
    for ours_graph, index in zip(ours, kept, strict=True):
        assert np.array_equal(np.array(used)[ours_graph.labels], theirs[index].labels)
        assert np.array_equal(ours_graph.edges, theirs[index].edges)
        assert np.array_equal(ours_graph.edge_labels, theirs[index].edge_labels)  # type: ignore[arg-type]


def test_several_classes() -> None:
    graphs = [data(y=0), data(y=1), data(y=2)]
    assert from_pyg(graphs, accept=1).classes.tolist() == [0, 1, 0]
    between = from_pyg(graphs, accept=2, reject=0)
    assert between.classes.tolist() == [0, 1]
    assert between.class_names == ("class 0", "class 2")
    assert from_pyg([data(y=-1), data(y=1)]).classes.tolist() == [0, 1]


def test_rows_of_edge_attributes_are_labels_with_features() -> None:
    bonds = torch.tensor([[1.5, 0.0], [1.5, 0.0], [1.0, 1.0], [1.0, 1.0]])
    dataset = from_pyg([data(edge_attr=bonds), data(y=1, edge_attr=bonds)])
    assert dataset.edge_label_names == ("(1, 1)", "(1.5, 0)")
    assert dataset.edge_features is not None
    labels = dataset[0].edge_labels
    assert labels is not None
    assert sorted(map(tuple, dataset.edge_features[labels].tolist())) == [(1.0, 1.0), (1.5, 0.0)]


def test_labels_come_from_categories_and_the_user_may_choose() -> None:
    rng = np.random.default_rng(0)
    kind = torch.eye(3)[rng.integers(0, 3, 40)]
    x = torch.cat([torch.tensor(rng.normal(size=(40, 2)), dtype=torch.float32), kind], dim=1)
    graph = data(x=x, other=torch.arange(40) % 2)
    dataset = from_pyg([graph])
    assert dataset.label_names == ("2", "3", "4")  # the one-hot columns
    assert np.array_equal(dataset[0].labels, kind.argmax(dim=1))
    chosen = from_pyg([graph], labels=[0, 1], bins=4)
    assert chosen.num_labels == 4
    assert all(name.startswith("x[") for name in chosen.label_names)
    assert from_pyg([graph], labels="other").label_names == ("0", "1")
    with pytest.raises(InputError, match="labels must be columns"):
        from_pyg([graph], labels=[5])
    with pytest.raises(InputError, match="labels must name a tensor"):
        from_pyg([graph], labels="none")


def test_constant_and_wide_rows_have_names_that_say_something() -> None:
    assert from_pyg([data(x=torch.ones(3, 10))]).label_names == ("node",)
    wide = from_pyg([data(x=torch.tensor([[1.0, 0, 1, 0, 1, 1], [0.0, 1, 1, 0, 0, 0], [0, 1, 1, 0, 0, 0]]))])
    assert wide.label_names == ("1", "0+4+5")
    numbers = from_pyg([data(x=torch.tensor([[1.0, 0, 2, 7, 1, 1], [0.0, 1, 3, 0, 0, 0], [0, 1, 3, 0, 0, 0]]))])
    assert not any("row" in name for name in numbers.label_names)


def test_a_file_of_graphs(tmp_path: Path) -> None:
    torch.save([data(y=0), data(y=1), data(y=1)], tmp_path / "mine.pt")
    dataset = load_dataset(str(tmp_path / "mine.pt"))
    assert dataset.name == "mine"
    assert dataset.classes.tolist() == [0, 1, 1]
    whole, slices = InMemoryDataset.collate([data(y=0), data(y=1)])
    torch.save((whole.to_dict(), slices, Data), tmp_path / "data.pt")
    assert load_dataset(str(tmp_path / "data.pt")).classes.tolist() == [0, 1]
    torch.save({"weights": torch.ones(3)}, tmp_path / "other.pt")
    with pytest.raises(InputError, match=r"must hold a list of torch_geometric.data.Data"):
        load_dataset(str(tmp_path / "other.pt"))
    torch.save([Path("x")], tmp_path / "code.pt")
    with pytest.raises(InputError, match=r"must hold a list .* \(UnpicklingError\)"):
        load_dataset(str(tmp_path / "code.pt"))
    with pytest.raises(InputError, match="Cannot read"):
        load_dataset(str(tmp_path / "none.pt"))


def bonded(kinds: list[int], **more: Any) -> Data:
    """Three carbons in a path; `kinds` are the columns of their two bonds."""
    labels = torch.tensor([kinds[0], kinds[0], kinds[1], kinds[1]])
    return data(x=torch.eye(7)[[0, 0, 0]], edge_attr=torch.eye(4)[labels], **more)


def test_molecules_of_pyg_have_the_names_that_are_known() -> None:
    mutag = from_pyg([bonded([0, 1]), bonded([2, 3], y=torch.tensor([0]))], name="MUTAG")
    assert mutag.label_names == ("C", "N", "O", "F", "I", "Cl", "Br")
    assert mutag.edge_label_names == ("single", "double", "triple", "aromatic")
    assert mutag.is_molecular
    assert [graph.edge_labels.tolist() for graph in mutag] == [[3, 0], [1, 2]]  # type: ignore[union-attr]
    assert mutag.edge_features is not None
    assert mutag.edge_features.argmax(axis=1).tolist() == [1, 2, 3, 0]  # the column of each bond
    ptc = [
        data(x=torch.eye(18)[[5, 5, 2]], edge_attr=torch.eye(4)[[2, 2, 1, 1]], y=torch.tensor([kind]))
        for kind in (0, 1)
    ]
    acid = from_pyg(ptc, name="PTC_MR")[0]  # C–C=O
    assert [from_pyg(ptc, name="PTC_MR").label_names[label] for label in acid.labels] == ["C", "C", "O"]
    assert acid.edge_labels is not None
    assert acid.edge_labels.tolist() == [0, 1]


def test_bonds_are_never_taken_by_their_position() -> None:
    elements = ["C", "N", "O", "F", "I", "Cl", "Br"]
    unknown = from_pyg([bonded([0, 1])], label_names=elements)
    assert not unknown.is_molecular
    assert any("edge_label_names" in note for note in unknown.notes)
    named = from_pyg(
        [bonded([0, 1])], label_names=elements, edge_label_names=["aromatic", "single", "double", "triple"]
    )
    assert named.is_molecular
    assert named[0].edge_labels is not None
    assert named[0].edge_labels.tolist() == [3, 0]
    orders = from_pyg([data(edge_attr=torch.tensor([1.5, 1.5, 2.0, 2.0]))], label_names=["C", "N", "O"])
    assert orders[0].edge_labels is not None
    assert orders[0].edge_labels.tolist() == [3, 1]  # bond orders say themselves
    with pytest.raises(InputError, match="edge_label_names must name each of the 4"):
        from_pyg([bonded([0, 1])], edge_label_names=["single"])
    with pytest.raises(InputError, match="edge_label_names needs edge labels"):
        from_pyg([data()], edge_label_names=["single"])


def test_graphs_made_of_smiles_are_molecules() -> None:
    pytest.importorskip("rdkit")
    from torch_geometric.utils import from_smiles

    graphs = [from_smiles(smiles) for smiles in ("c1ccccc1O", "CC(=O)N", "C#N")]
    dataset = from_pyg(graphs, classes=[0, 1, 1])
    assert dataset.label_names == ("C", "N", "O")
    assert dataset.is_molecular
    assert dataset[0].edge_labels is not None
    assert sorted(dataset[0].edge_labels.tolist()) == [0, 3, 3, 3, 3, 3, 3]
    assert sorted(dataset[1].edge_labels.tolist()) == [0, 0, 1]  # type: ignore[union-attr]
