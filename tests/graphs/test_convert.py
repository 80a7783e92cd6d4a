from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given

from comrecgc.errors import InputError
from comrecgc.graphs import Graph, from_networkx, to_data, to_networkx
from tests.graphs.strategies import graphs


@given(graphs(max_nodes=6, edge_labels=True))
def test_networkx_round_trip(graph: Graph) -> None:
    back = from_networkx(to_networkx(graph))
    assert back == graph
    if graph.num_edges:
        assert back.edge_labels is not None
        assert graph.edge_labels is not None
        assert back.edge_labels.tolist() == graph.edge_labels.tolist()


def test_networkx_needs_labels_and_plain_edges() -> None:
    with pytest.raises(InputError, match="integer 'label' attribute"):
        from_networkx(nx.path_graph(3))
    with pytest.raises(InputError, match="undirected and simple"):
        from_networkx(nx.DiGraph([(0, 1)]))
    with pytest.raises(InputError, match="undirected and simple"):
        from_networkx(nx.MultiGraph([(0, 1)]))
    loop = nx.Graph([("a", "a")])
    loop.nodes["a"]["label"] = 0
    with pytest.raises(InputError, match="Self-loops"):
        from_networkx(loop)


def test_pyg_data_has_features_and_both_directions() -> None:
    data = to_data(Graph([1, 0, 1], [(0, 1), (1, 2)], [2, 0]), np.eye(2, dtype=np.float32), target=1)
    assert torch.equal(data.x, torch.tensor([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]))
    assert data.edge_index.tolist() == [[0, 1, 1, 2], [1, 2, 0, 1]]
    assert data.edge_label.tolist() == [2, 0, 2, 0]
    assert data.y.tolist() == [1]
    assert data.is_undirected()
