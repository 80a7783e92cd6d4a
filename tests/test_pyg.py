"""PyG's own `Explainer` with `comrecgc.pyg.CommonRecourse`, against the installed base class and metrics."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.explain import Explainer, ModelConfig
from torch_geometric.explain.metric import fidelity, unfaithfulness
from torch_geometric.nn import GraphConv, global_add_pool

from comrecgc import InputError, Rules
from comrecgc.pyg import CommonRecourse


class Counting(torch.nn.Module):
    """Accepts (class 1) graphs with no node of label 1; a convolution whose weights tell labels apart, summed."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = GraphConv(3, 3, bias=False)
        with torch.no_grad():
            self.conv.lin_rel.weight.copy_(torch.eye(3))
            self.conv.lin_root.weight.copy_(torch.eye(3))

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor, batch: torch.Tensor | None = None) -> torch.Tensor:
        batch = torch.zeros(len(x), dtype=torch.long) if batch is None else batch
        bad = global_add_pool(self.conv(x, edge_index), batch)[:, 1]
        return torch.stack([bad - 0.5, 0.5 - bad], dim=1)


def path(labels: list[int]) -> Data:
    ends = torch.tensor([(i, i + 1) for i in range(len(labels) - 1)]).T
    return Data(x=torch.eye(3)[labels], edge_index=torch.cat([ends, ends.flip(0)], dim=1))


GRAPHS = [path([0, 0, 2, 0, label, 0, 2, 0, 0, 2, *([0] * extra)]) for extra in range(6) for label in (0, 1, 2)]


def explainer_of(**config: str) -> tuple[Counting, Explainer, CommonRecourse]:
    model = Counting().eval()
    algorithm = CommonRecourse(GRAPHS, Rules(max_changes=1, changes="connected"), panel=False, jury=False, theta=0.2)
    settings = {"mode": "multiclass_classification", "task_level": "graph", "return_type": "raw"} | config
    explainer = Explainer(
        model, algorithm, explanation_type="model", node_mask_type="object", edge_mask_type="object",
        model_config=ModelConfig(**settings),
    )  # fmt: skip
    return model, explainer, algorithm


def test_a_rejected_graph_gets_the_change_that_turns_it() -> None:
    model, explainer, algorithm = explainer_of()
    data = GRAPHS[1]
    found = explainer(data.x, data.edge_index)
    (after,) = found.counterfactuals
    assert model(after.x, after.edge_index).argmax() == 1 != model(data.x, data.edge_index).argmax()
    assert found.node_mask.shape == (data.num_nodes, 1)
    assert found.edge_mask.shape == (data.edge_index.size(1),)
    assert found.node_mask[4] == 1, "the node of label 1 is what changes"
    assert found.target.tolist() == [0]
    assert algorithm.explanation.coverage == 1
    assert found.recourses == [0]
    assert fidelity(explainer, found) == (1, 0)  # accepted without what is marked, rejected with it alone
    whole, alone = torch.tensor([[2.5, -2.5], [0.5, -0.5]]).softmax(dim=1)  # its neighbours count it too
    assert unfaithfulness(explainer, found) == pytest.approx(1 - float((alone * (whole / alone).log()).sum().exp()))


def test_a_batch_is_explained_graph_by_graph() -> None:
    _, explainer, algorithm = explainer_of()
    batch = Batch.from_data_list(GRAPHS[:4])
    found = explainer(batch.x, batch.edge_index, batch=batch.batch)
    assert [after is not None for after in found.counterfactuals] == [False, True, False, False]
    for place, data in enumerate(GRAPHS[:4]):
        alone = explainer(data.x, data.edge_index)
        assert torch.equal(found.node_mask[batch.batch == place], alone.node_mask)
        assert torch.equal(found.edge_mask[batch.batch[batch.edge_index[0]] == place], alone.edge_mask)
    only = explainer(batch.x, batch.edge_index, batch=batch.batch, index=0)
    assert only.node_mask.sum() == 0, "the other graphs were not asked about"
    first = algorithm.explainer
    explainer(batch.x, batch.edge_index, batch=batch.batch)
    assert algorithm.explainer is first, "recourses are found once"


def test_what_it_cannot_do_is_refused() -> None:
    with pytest.raises(ValueError, match="does not support"):
        explainer_of(task_level="node")
    with pytest.raises(ValueError, match="does not support"):
        explainer_of(mode="regression")
    algorithm = CommonRecourse(GRAPHS)
    with pytest.raises(InputError, match="once a graph"):
        _ = algorithm.explanation
