from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.transforms import AddRandomWalkPE, OneHotDegree, VirtualNode

from comrecgc.data import GraphDataset, from_pyg
from comrecgc.data.attributes import medoids
from comrecgc.errors import InputError
from comrecgc.graphs import Edit, EditKind, Graph, GraphBatch, apply_edit, edited_batch, one_edit_table

BOTH_WAYS = torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])


def path(seed: int, **changes: Any) -> Data:
    """A path of four nodes of two kinds, with numbers at nodes and edges."""
    rng = np.random.default_rng(seed)
    kind = torch.eye(2)[torch.tensor([0, 1, 0, 1])]
    parts: dict[str, Any] = {
        "x": torch.cat([kind, torch.tensor(rng.normal(size=(4, 3)), dtype=torch.float32)], dim=1),
        "edge_index": BOTH_WAYS,
        "edge_attr": torch.eye(2)[torch.tensor([0, 0, 1, 1, 0, 0])],
        "edge_weight": torch.tensor(rng.uniform(size=6), dtype=torch.float64),  # another number each way
        "charge": torch.tensor(rng.integers(-1, 2, 4)),
        "temperature": torch.tensor([float(seed)]),
        "y": torch.tensor([seed % 2]),
    }
    return Data(**parts | changes)


def dataset_of(num: int = 12, **options: Any) -> GraphDataset:
    return from_pyg([path(seed) for seed in range(num)], **options)


def tensors_of(dataset: GraphDataset, graph: Graph) -> dict[str, torch.Tensor]:
    assert dataset.attributes is not None
    return dataset.attributes.tensors(GraphBatch.from_graphs([graph]))


def test_a_graph_that_nothing_changes_has_its_own_tensors() -> None:
    dataset = dataset_of()
    assert dataset.label_names == ("0", "1")
    assert dataset.attributes is not None
    for seed, graph in enumerate(dataset):
        own, back = path(seed), dataset.attributes.data(graph)
        for key in ("x", "edge_index", "edge_attr", "edge_weight", "charge", "temperature", "y"):
            assert torch.equal(own[key], back[key]), key  # in the user's own order
        batch = tensors_of(dataset, graph)
        assert batch["temperature"].tolist() == [float(seed)]
        assert batch["edge_weight"].dtype == torch.float64


@pytest.mark.parametrize("batched", [False, True])
def test_what_an_edit_does_not_touch_stays(batched: bool) -> None:
    dataset, own = dataset_of(), path(5)
    graph = dataset[5].fresh()
    for edit, kept in (
        (Edit(EditKind.RELABEL, 1, 0), [0, 2, 3]),
        (Edit(EditKind.REMOVE_NODE, 0, -1), [1, 2, 3]),
        (Edit(EditKind.ADD_NODE, 3, 1), [0, 1, 2, 3]),
        (Edit(EditKind.REMOVE_EDGE, 1, 2), [0, 1, 2, 3]),
        (Edit(EditKind.ADD_EDGE, 0, 3), [0, 1, 2, 3]),
    ):
        after = apply_edit(graph, edit)
        if batched:
            table = one_edit_table(graph, 2)
            place = next(k for k in range(len(table)) if table[k] == edit)
            batch = edited_batch(graph, table, with_edge_labels=True).select([place])
        else:
            batch = GraphBatch.from_graphs([after])
        assert dataset.attributes is not None
        found = dataset.attributes.tensors(batch)
        assert batch.ids is not None
        ids = batch.ids.tolist()
        for node in kept:
            assert torch.equal(found["x"][ids.index(node)], own.x[node])
            assert found["charge"][ids.index(node)] == own.charge[node]
        weights = {(int(i), int(j)): w for (i, j), w in zip(own.edge_index.T, own.edge_weight, strict=True)}
        for (i, j), weight in zip(found["edge_index"].T.tolist(), found["edge_weight"], strict=True):
            pair = (ids[i], ids[j])
            assert (weight == weights[pair]) if pair in weights else (weight in own_weights(dataset))


def own_weights(dataset: GraphDataset) -> torch.Tensor:
    return torch.cat([path(seed).edge_weight for seed in range(len(dataset))])


def test_new_and_relabelled_nodes_get_a_typical_node_of_their_label() -> None:
    dataset = dataset_of()
    rows = torch.cat([path(seed).x for seed in range(len(dataset))]).numpy()
    mine = rows[rows[:, 0] == 1]
    spread = rows.std(axis=0)
    scaled = (mine - mine.mean(axis=0)) / np.where(spread > 0, spread, 1)
    expected = mine[(scaled**2).sum(axis=1).argmin()]  # by brute force
    graph = dataset[0].fresh()
    relabelled = tensors_of(dataset, apply_edit(graph, Edit(EditKind.RELABEL, 1, 0)))["x"][1]
    added = tensors_of(dataset, apply_edit(graph, Edit(EditKind.ADD_NODE, 1, 0)))["x"][4]
    assert np.allclose(relabelled, expected)
    assert np.allclose(added, expected)


def test_labels_that_say_all_are_recognised() -> None:
    plain = [
        Data(x=torch.eye(2)[torch.tensor([0, 1, 0, 1])], edge_index=BOTH_WAYS, y=torch.tensor([k])) for k in (0, 1)
    ]
    dataset = from_pyg(plain)
    assert dataset.attributes is not None
    assert dataset.attributes.by_label
    numbers = dataset_of().attributes
    assert numbers is not None
    assert not numbers.by_label


def test_a_transform_is_applied_to_every_changed_graph() -> None:
    plain = [path(seed, edge_weight=None) for seed in range(4)]
    dataset = from_pyg(plain, transform=AddRandomWalkPE(3, attr_name="pe"))
    assert dataset.attributes is not None
    cut = apply_edit(dataset[0].fresh(), Edit(EditKind.REMOVE_EDGE, 1, 2))
    seen = dataset.attributes.transformed(dataset.attributes.data(cut))
    expected = AddRandomWalkPE(3, attr_name="pe")(Data(edge_index=seen.edge_index, num_nodes=4)).pe
    assert torch.allclose(seen.pe, expected)
    assert "changed" not in seen
    degrees = from_pyg([Data(edge_index=BOTH_WAYS, num_nodes=4, y=k) for k in (0, 1)], transform=OneHotDegree(4))
    assert degrees.attributes is not None
    assert degrees.attributes.original(0).x.argmax(dim=1).tolist() == [1, 2, 2, 1]
    more = from_pyg(plain, transform=VirtualNode())
    assert more.attributes is not None
    assert more.attributes.original(0).num_nodes == 5
    assert more[0].num_nodes == 4


def test_encodings_that_would_not_follow_are_noted() -> None:
    with_pe = AddRandomWalkPE(3, attr_name="pe")
    assert any(
        "transform=" in note for note in from_pyg([with_pe(path(seed, edge_weight=None)) for seed in (0, 1)]).notes
    )


def test_tensors_of_other_shapes_are_left_out_with_the_reason() -> None:
    graphs = [path(0, odd=torch.zeros(3)), path(1, odd=torch.zeros(5))]
    assert any(note.startswith("odd was left out: graph 0 has 3 rows") for note in from_pyg(graphs).notes)


def test_unseen_graphs_get_the_typical_nodes_of_known_ones() -> None:
    known = dataset_of(8)
    unseen = from_pyg([path(seed) for seed in (20, 21)], like=known)
    added = apply_edit(unseen[0].fresh(), Edit(EditKind.ADD_NODE, 1, 0))
    ours = apply_edit(known[0].fresh(), Edit(EditKind.ADD_NODE, 1, 0))
    assert torch.equal(tensors_of(unseen, added)["x"][4], tensors_of(known, ours)["x"][4])
    assert torch.equal(tensors_of(unseen, added)["x"][:4], path(20).x)
    with pytest.raises(InputError, match="seen in fit"):
        from_pyg([path(0, edge_attr=torch.zeros(6, 2))], like=known)


def test_medoids_by_brute_force() -> None:
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(40, 3)), rng.integers(0, 3, 40)
    scaled = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    found = medoids(labels, rows, 4)
    for label in range(3):
        mine = np.flatnonzero(labels == label)
        off = ((scaled[mine] - scaled[mine].mean(axis=0)) ** 2).sum(axis=1)
        assert found[label] == mine[off.argmin()]
    assert found[3] == (scaled**2).sum(axis=1).argmin()
