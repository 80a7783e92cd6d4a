"""The networks written plainly with PyG's own layers: what the fast path must equal."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv, global_add_pool, global_max_pool

from comrecgc.graphs import GraphBatch
from comrecgc.models import GraphClassifier, Greed
from tests.graphs.strategies import random_graph

Array = npt.NDArray[np.float32]


def perceptron(inputs: int, hidden: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, hidden))


PYG_LAYERS = {
    "gcn": GCNConv,
    "gat": GATConv,
    "sage": SAGEConv,
    "gin": lambda inputs, hidden: GINConv(perceptron(inputs, hidden)),
}


def random_classifier(architecture: str, num_labels: int, *, hidden: int = 20, seed: int = 0) -> GraphClassifier:
    """A classifier with every weight and every moment of its batch norms drawn at random; it is undecided on average."""
    generator = torch.Generator().manual_seed(seed)
    model = GraphClassifier(architecture, num_labels, hidden=hidden)
    state = model.state_dict()
    with torch.no_grad():
        for name, tensor in state.items():
            if name.startswith("bns") and name.endswith(("running_var", "bias")):
                tensor.uniform_(0.5, 2.0, generator=generator)  # a shift upwards, so that no state is all zeros
            elif tensor.is_floating_point():
                tensor.copy_(torch.randn(tensor.shape, generator=generator))
        rng = np.random.default_rng(seed)
        margin = plain_margin(
            model.eval(), GraphBatch.from_graphs(random_graph(rng, 8, num_labels, 0.3) for _ in range(50))
        )
        state["fc.weight"] /= margin.std()
        state["fc.bias"] /= margin.std()
        state["fc.bias"][1] -= margin.mean() / margin.std()
    return model


def random_greed(num_labels: int, *, num_layers: int = 8, width: int = 64, seed: int = 0) -> Greed:
    """An embedder with weights drawn at random, small enough for its states not to explode."""
    generator = torch.Generator().manual_seed(seed)
    model = Greed(num_labels, num_layers=num_layers, width=width, output_width=width)
    with torch.no_grad():
        for tensor in model.state_dict().values():
            tensor.copy_(torch.randn(tensor.shape, generator=generator) * 0.8 / width**0.5)
    return model.eval()


def plain_margin(model: GraphClassifier, batch: GraphBatch) -> Tensor:
    """How far the score of accept is above that of reject."""
    x, edge_index, graph_of_node = inputs(model.num_labels, batch)
    with torch.no_grad():
        for layer, norm in zip(model.convs, model.bns, strict=True):
            conv = PYG_LAYERS[model.architecture](x.shape[1], model.hidden)
            conv.load_state_dict(layer.state_dict())
            x = norm(conv(x, edge_index)).relu()
        scores: Tensor = model.fc(global_max_pool(x, graph_of_node))
    return scores[:, 1] - scores[:, 0]


def plain_probability(model: GraphClassifier, batch: GraphBatch) -> Array:
    return plain_margin(model, batch).sigmoid().numpy()


def plain_embedding(model: Greed, batch: GraphBatch) -> Array:
    x, edge_index, graph_of_node = inputs(model.num_labels, batch)
    with torch.no_grad():
        x = model.pre(x)
        residual, pooled = x, [global_add_pool(x, graph_of_node)]
        for depth, layer in enumerate(model.convs):
            conv = GINConv(perceptron(model.width, model.width), train_eps=True)
            conv.load_state_dict(layer.state_dict())
            x = conv(x, edge_index)
            if depth % 2 == 1:
                x = residual = x + residual
            x = x.relu()
            pooled.append(global_add_pool(x, graph_of_node))
        return model.post(torch.cat(pooled, dim=1)).numpy()  # type: ignore[no-any-return]


def inputs(num_labels: int, batch: GraphBatch) -> tuple[Tensor, Tensor, Tensor]:
    features = nn.functional.one_hot(torch.from_numpy(batch.labels).long(), num_labels).float()
    return features, torch.from_numpy(batch.edge_index()), torch.from_numpy(batch.graph_of_node())


def assert_close(found: Array | None, expected: Array) -> None:
    """Equal to 1e-4, relative to the largest entry where that is larger than 1."""
    assert found is not None
    scale = max(1.0, float(np.abs(expected).max(initial=0)))
    np.testing.assert_allclose(found / scale, expected / scale, rtol=0, atol=1e-4)
