from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch_geometric.nn import GINConv, global_add_pool

from comrecgc.data import load_dataset
from comrecgc.errors import InputError
from comrecgc.graphs import Graph, GraphBatch
from comrecgc.models import Greed, as_embedder, load_embedder
from comrecgc.models.greed import save_embedder
from tests.graphs.strategies import random_graph


def plain_forward(model: Greed, batch: GraphBatch) -> torch.Tensor:
    """GREED as published, with PyG's own layers."""
    x = model.pre(nn.functional.one_hot(torch.from_numpy(batch.labels).long(), model.num_labels).float())
    edge_index = torch.from_numpy(batch.edge_index())
    residual, states = x, [x]
    for depth, layer in enumerate(model.convs):
        conv = GINConv(nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64)), train_eps=True)
        conv.load_state_dict(layer.state_dict())
        x = conv(x, edge_index)
        if depth & 1:
            x = x + residual
            residual = x
        x = x.relu()
        states.append(x)
    pooled = global_add_pool(torch.cat(states, dim=1), torch.from_numpy(batch.graph_of_node()))
    result: torch.Tensor = model.post(pooled)
    return result


def model_and_batch() -> tuple[Greed, GraphBatch]:
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    graphs = [random_graph(rng, int(rng.integers(1, 15)), 4, 0.2) for _ in range(50)]
    return Greed(4), GraphBatch.from_graphs(graphs)


def test_embedding_equals_a_plain_pyg_forward() -> None:
    model, batch = model_and_batch()
    with torch.no_grad():
        plain = plain_forward(model, batch).numpy()
    np.testing.assert_allclose(model.embed(batch), plain, atol=1e-4)


def test_chunks_change_nothing() -> None:
    model, batch = model_and_batch()
    np.testing.assert_allclose(model.embed(batch, max_nodes=10), model.embed(batch), atol=1e-5)
    assert model.embed(GraphBatch.from_graphs([])).shape == (0, 64)


def test_node_order_does_not_matter() -> None:
    model, _ = model_and_batch()
    rng = np.random.default_rng(1)
    graph = random_graph(rng, 12, 4, 0.3)
    both = model.embed(GraphBatch.from_graphs([graph, graph.permute(rng.permutation(12))]))
    np.testing.assert_allclose(both[0], both[1], atol=1e-5)


def test_embedding_keeps_the_training_mode() -> None:
    model, batch = model_and_batch()
    model.train()
    model.embed(batch)
    assert model.training


def test_bad_input() -> None:
    with pytest.raises(InputError, match=r"knows labels 0…3 \(got label 9\)"):
        Greed(4).embed(GraphBatch.from_graphs([Graph([9], [])]))
    with pytest.raises(InputError, match="num_layers must be at least 1"):
        Greed(4, num_layers=0)


def test_round_trip_through_a_file(tmp_path: Path) -> None:
    model, batch = model_and_batch()
    save_embedder(model, tmp_path / "embedder.safetensors", {"label_names": ["a", "b", "c", "d"]})
    loaded = load_embedder(tmp_path / "embedder.safetensors")
    np.testing.assert_array_equal(loaded.embed(batch), model.embed(batch))
    assert loaded.facts["label_names"] == ["a", "b", "c", "d"]


def test_other_sizes_survive_a_file(tmp_path: Path) -> None:
    _, batch = model_and_batch()
    model = Greed(4, num_layers=3, width=16, output_width=8, head_widths=(32, 24))
    save_embedder(model, tmp_path / "small.safetensors", {})
    loaded = load_embedder(tmp_path / "small.safetensors")
    assert loaded.head_widths == (32, 24)
    np.testing.assert_array_equal(loaded.embed(batch), model.embed(batch))


def test_an_embedder_for_another_alphabet_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "embedder.safetensors"
    save_embedder(Greed(2, num_layers=1, width=4), path, {"label_names": ["C", "N"]})
    load_embedder(path, label_names=["C", "N"])
    with pytest.raises(InputError, match="is for labels C, N"):
        load_embedder(path, label_names=["N", "C"])
    with pytest.raises(InputError, match="knows 2 node labels"):
        load_embedder(path, label_names=["C", "N", "O"])


def test_damaged_and_foreign_files_are_named(tmp_path: Path) -> None:
    model, _ = model_and_batch()
    path = tmp_path / "embedder.safetensors"
    save_embedder(model, path, {})
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="is damaged or half replaced"):
        load_embedder(path)
    path.unlink()
    with pytest.raises(InputError, match="Cannot read"):
        load_embedder(path)
    (tmp_path / "embedder.json").write_text('{"kind": "classifier"}')
    with pytest.raises(InputError, match=r"must describe a greed \(got 'classifier'\)"):
        load_embedder(path)
    torch.save({"fc.weight": torch.zeros(2, 2)}, tmp_path / "other.pt")
    with pytest.raises(InputError, match="must be a GREED embedder"):
        load_embedder(tmp_path / "other.pt")
    (tmp_path / "junk.pt").write_bytes(b"junk")
    with pytest.raises(InputError, match="damaged or not a PyTorch state dict"):
        load_embedder(tmp_path / "junk.pt")
    with pytest.raises(InputError, match="Cannot read"):
        load_embedder(tmp_path / "missing.pt")


def test_any_function_of_graphs_is_an_embedder() -> None:
    graphs = [Graph([0, 1], [(0, 1)]), Graph([2], [])]
    sizes = as_embedder(lambda batch: [[graph.num_nodes, graph.num_edges] for graph in batch])
    assert sizes.embed(GraphBatch.from_graphs(graphs)).tolist() == [[2.0, 1.0], [1.0, 0.0]]
    model, _ = model_and_batch()
    assert as_embedder(model) is model
    with pytest.raises(InputError, match="one row per graph"):
        as_embedder(lambda _: [[1.0]]).embed(GraphBatch.from_graphs(graphs))
    with pytest.raises(InputError, match="finite"):
        as_embedder(lambda _: [[1.0], [float("nan")]]).embed(GraphBatch.from_graphs(graphs))
    with pytest.raises(InputError, match="got int"):
        as_embedder(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["aids", "mutagenicity", "nci1", "proteins"])
def test_released_checkpoints_load_and_equal_a_plain_forward(name: str, data_root: Path, checkpoint_root: Path) -> None:
    model = load_embedder(checkpoint_root / name / "greed.pt")
    dataset = load_dataset(name, root=data_root)
    assert model.num_labels == dataset.num_labels
    batch = GraphBatch.from_graphs(dataset[:200])
    with torch.no_grad():
        plain = plain_forward(model, batch).numpy()
    np.testing.assert_allclose(model.embed(batch), plain, rtol=1e-4, atol=1e-3 * np.abs(plain).max())
