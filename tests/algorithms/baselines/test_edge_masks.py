from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torch_geometric.nn import GraphConv, global_add_pool

from comrecgc.algorithms.baselines.baseline import CHECKPOINT, Baseline
from comrecgc.algorithms.baselines.edge_masks import (
    CFF,
    Block,
    CFGNNExplainer,
    RCExplainer,
    block_ends,
    explain_by_masks,
    removal,
    without_edges,
)
from comrecgc.errors import InputError
from comrecgc.graphs import BoolArray, GraphBatch, apply_path
from comrecgc.models import as_classifier
from comrecgc.run import RunContext
from tests.algorithms.baselines.networks import dataset, random_graphs, rows_of, subject
from tests.algorithms.baselines.subjects import small_subject
from tests.models.data import Stranger

EXPLAINERS = [CFF(epochs=60), CFGNNExplainer(iterations=60, learning_rate=1.0), RCExplainer(epochs=2)]


class CountsEdges(torch.nn.Module):
    """Rejects graphs of five edges and more."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.head = GraphConv(3, 1), torch.nn.Linear(1, 2)
        with torch.no_grad():
            self.conv.lin_rel.weight.fill_(0.5)
            self.conv.lin_rel.bias.zero_()
            self.conv.lin_root.weight.zero_()
            self.head.weight.copy_(torch.tensor([[1.0], [-1.0]]))
            self.head.bias.copy_(torch.tensor([-4.5, 4.5]))

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        return self.head(global_add_pool(self.conv(x, edge_index, edge_weight), batch))  # type: ignore[no-any-return]


class Killed(Exception):
    pass


def test_blocks_hold_every_graph_once() -> None:
    assert block_ends([]) == []
    assert block_ends([10, 9000, 10]) == [1, 2, 3]
    assert block_ends([1000] * 9) == [4, 8, 9]


def test_removed_edges_as_edits_and_as_a_batch_are_the_same_graphs() -> None:
    graphs = random_graphs(6)
    batch = GraphBatch.from_graphs(graphs)
    removed = np.random.default_rng(0).random(len(batch.edges)) < 0.4
    fewer = without_edges(batch, removed)
    for place, (graph, part) in enumerate(zip(graphs, np.split(removed, batch.edge_ptr[1:-1]), strict=True)):
        assert apply_path(graph, removal(graph, part)) == fewer[place]


def test_a_killed_run_goes_on_to_the_same_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("comrecgc.algorithms.checkpoint.SECONDS", 0.0)
    monkeypatch.setattr("comrecgc.algorithms.baselines.edge_masks.BLOCK_NODES", 30)
    given, cff, seen = subject(), CFF(epochs=20), list[int]()
    whole = cff.run(given, np.random.default_rng(5))

    def killed(block: Block) -> BoolArray | None:
        seen.append(len(block.graphs.batch))
        if len(seen) == 3:
            raise Killed
        return cff.remove(block)

    with pytest.raises(Killed):
        explain_by_masks(cff, given, killed, np.random.default_rng(5), RunContext(checkpoint=tmp_path))
    assert (tmp_path / CHECKPOINT).exists()
    asked: list[int] = []

    def watched(block: Block) -> BoolArray | None:
        asked.append(len(block.graphs.batch))
        return cff.remove(block)

    rest = explain_by_masks(cff, given, watched, np.random.default_rng(5), RunContext(checkpoint=tmp_path, resume=True))
    assert rows_of(rest) == rows_of(whole)
    assert sum(asked) == len(given.inputs) - sum(seen[:2])


def test_a_block_that_is_out_of_time_gives_nothing() -> None:
    cff, steps = CFF(epochs=10**6), list[int]()

    def counted(_what: str, done: int, _: int, __: str) -> None:
        steps.append(done)

    found = cff.run(subject(), np.random.default_rng(0), RunContext(time_budget=0.4, progress=counted))
    assert not found.complete
    assert len(found) == 0
    assert not steps


@pytest.mark.parametrize("explainer", EXPLAINERS, ids=lambda explainer: type(explainer).__name__)
def test_a_pyg_model_with_edge_weights_is_explained(explainer: Baseline) -> None:
    data = dataset(random_graphs(40))
    given = small_subject(classifier=as_classifier(CountsEdges(), data), dataset=data)
    assert [graph for graph in data.graphs if graph.num_edges >= 5] == list(given.inputs)
    found = explainer.run(given, np.random.default_rng(0))
    assert found.complete
    assert len(found) > len(given.inputs) / 2
    assert all(each.graph.num_edges <= 4 for each in found.found)
    if isinstance(explainer, RCExplainer):  # the others give up where many edges would have to go
        assert [each.input for each in found.found] == list(range(len(given.inputs)))
        assert all(each.graph.num_edges == 4 for each in found.found)


def test_a_deeper_head_is_refused_where_it_matters() -> None:
    data = dataset(random_graphs(20))
    given = small_subject(classifier=as_classifier(Stranger(deep=True), data), dataset=data)
    with pytest.raises(InputError, match="got 2 linear layers"):
        RCExplainer(epochs=1).run(given, np.random.default_rng(0))
    assert CFF(epochs=2).run(given, np.random.default_rng(0)).complete
