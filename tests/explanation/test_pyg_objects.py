"""Counterfactuals and explanations as PyG objects: in the features of the user's own graphs, asked again by the user's own call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch_geometric.data import Batch, Data
from torch_geometric.explain import Explainer, fidelity, unfaithfulness
from torch_geometric.explain.algorithm import DummyExplainer
from torch_geometric.nn import GINEConv, global_add_pool
from torch_geometric.transforms import AddRandomWalkPE
from torch_geometric.utils import to_undirected

from comrecgc import CommonRecourseExplainer, Rules, RunContext, from_pyg, open_run
from comrecgc.errors import InputError


class GINE(nn.Module):
    """Accepts graphs whose weighted sum of numbers and kinds is high."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.conv, self.last = GINEConv(nn.Linear(4, 4), edge_dim=1), nn.Linear(4, 2)

    def forward(self, x, edge_index, edge_attr, batch=None):  # type: ignore[no-untyped-def]
        batch = torch.zeros(len(x), dtype=torch.long) if batch is None else batch
        return self.last(global_add_pool(torch.tanh(self.conv(x, edge_index, edge_attr)), batch))


def tree(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 10))
    edges = torch.tensor([[int(rng.integers(node)), node] for node in range(1, n)]).T
    edge_index = to_undirected(edges)[:, torch.tensor(rng.permutation(2 * (n - 1)))]  # any order
    low, high = edge_index.min(dim=0).values, edge_index.max(dim=0).values
    numbers = torch.tensor(rng.normal(size=(n, 2)), dtype=torch.float32)
    x = torch.cat([torch.eye(2)[torch.tensor(rng.integers(0, 2, n))], numbers], dim=1)
    return Data(x=x, edge_index=edge_index, edge_attr=torch.sin(low * 7.0 + high)[:, None], y=torch.tensor([seed % 2]))


GRAPHS = [tree(seed) for seed in range(30)]


def balanced(model: Any, **further: Any) -> Any:
    """The model with a bias under which half of the graphs are accepted."""
    graphs = Batch.from_data_list([GRAPHS[k] if not further else further["encode"](GRAPHS[k]) for k in range(30)])
    more = {"pe": graphs.pe} if further else {}
    with torch.no_grad():
        scores = model(x=graphs.x, edge_index=graphs.edge_index, edge_attr=graphs.edge_attr, batch=graphs.batch, **more)
        model.last.bias[1] -= (scores[:, 1] - scores[:, 0]).median() + 0.01
    return model


def probability(model: nn.Module, data: Data, target: int = 1) -> float:
    """By the user's own call."""
    with torch.no_grad():
        b = Batch.from_data_list([data])
        return float(model(b.x, b.edge_index, b.edge_attr, b.batch).softmax(dim=1)[0, target])


@pytest.fixture(scope="module", params=[1, 0])
def fitted(request: pytest.FixtureRequest) -> CommonRecourseExplainer:
    rules = Rules(max_changes=1, changes="connected")
    return CommonRecourseExplainer(
        balanced(GINE()), rules, accept=request.param, theta=0.2, panel=False, context=RunContext(jobs=1)
    ).fit(GRAPHS)


def test_every_counterfactual_holds_on_the_users_own_features(fitted: CommonRecourseExplainer) -> None:
    explanation, model = fitted.explanation_, fitted.model
    assert isinstance(model, nn.Module)
    assert explanation.coverage > 0.5
    target = fitted.accept if isinstance(fitted.accept, int) else 1
    for recourse in explanation.recourses:
        for member in recourse.covered:
            data = explanation.counterfactual(member.input)
            assert probability(model, data, target) == pytest.approx(member.probability, abs=1e-5)
            assert probability(model, data, target) > 0.5
            assert probability(model, GRAPHS[member.input], target) <= 0.5
            kept = [int(i) for i in member.counterfactual.ids if i < GRAPHS[member.input].num_nodes]
            rows = [data.x[list(member.counterfactual.ids).index(i)] for i in kept]
            own = GRAPHS[member.input].x
            same = [torch.equal(row, own[i]) for row, i in zip(rows, kept, strict=True)]
            assert same.count(False) <= 1  # one change relabels one node


def test_edges_that_stay_come_in_their_order(fitted: CommonRecourseExplainer) -> None:
    explanation = fitted.explanation_
    for recourse in explanation.recourses:
        member = recourse.covered[0]
        ids, before = member.counterfactual.ids.tolist(), GRAPHS[member.input].edge_index.T.tolist()
        after = [[ids[i], ids[j]] for i, j in explanation.counterfactual(member.input).edge_index.T.tolist()]
        kept = [pair for pair in after if pair in before]
        assert kept == [pair for pair in before if pair in kept]
        assert after[: len(kept)] == kept


def test_metrics_of_pyg_run(fitted: CommonRecourseExplainer) -> None:
    explanation, model = fitted.explanation_, fitted.model
    assert isinstance(model, nn.Module)
    pyg = Explainer(
        model, DummyExplainer(), explanation_type="model", node_mask_type="object", edge_mask_type="object",
        model_config={"mode": "multiclass_classification", "task_level": "graph", "return_type": "raw"},
    )  # fmt: skip
    index = explanation.recourses[0].covered[0].input
    found = explanation.to_pyg(index)
    own = GRAPHS[index]
    assert torch.equal(found.edge_index, own.edge_index)
    assert torch.equal(found.x, own.x)
    with torch.no_grad():
        scores = model(own.x, own.edge_index, own.edge_attr)
    assert torch.allclose(found.prediction, scores, atol=1e-5)  # by class, whichever means accept
    assert int(found.target) == int(scores.argmax())
    positive, negative = fidelity(pyg, found)
    assert {positive, negative} <= {0.0, 1.0}
    assert 0 <= unfaithfulness(pyg, found) <= 1


def test_unseen_graphs_too() -> None:
    explainer = CommonRecourseExplainer(
        balanced(GINE()), Rules(max_changes=1, changes="connected"), theta=0.2, panel=False, context=RunContext(jobs=1)
    ).fit(GRAPHS)
    unseen = [tree(seed) for seed in range(100, 130)]
    applied = explainer.explain(unseen)
    assert applied.coverage > 0.2
    for recourse in applied.recourses:
        for member in recourse.covered:
            assert probability(explainer.model, applied.counterfactual(member.input)) > 0.5  # type: ignore[arg-type]


def test_a_transform_runs_on_every_counterfactual() -> None:
    encode = AddRandomWalkPE(2, attr_name="pe")

    class Encoded(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = GINE()
            self.last = self.inner.last

        def forward(self, x, pe, edge_index, edge_attr, batch):  # type: ignore[no-untyped-def]
            return self.inner(torch.cat([x[:, :2], 4 * pe], dim=1), edge_index, edge_attr, batch)

    model = balanced(Encoded(), encode=encode)
    rules = Rules(max_changes=1, changes="connected")
    made = CommonRecourseExplainer(model, rules, theta=0.2, panel=False, context=RunContext(jobs=1))
    explanation = made.fit(from_pyg(GRAPHS, transform=encode)).explanation_
    assert explanation.recourses
    for recourse in explanation.recourses:
        for member in recourse.covered:
            b = Batch.from_data_list([encode(explanation.counterfactual(member.input))])
            with torch.no_grad():
                assert model(b.x, b.pe, b.edge_index, b.edge_attr, b.batch).argmax() == 1


def test_a_folder_without_the_features_says_so(fitted: CommonRecourseExplainer, tmp_path: Path) -> None:
    fitted.save(tmp_path / "run")
    run = open_run(tmp_path / "run", classifier=fitted.model)
    assert run.explanation == fitted.explanation_
    with pytest.raises(InputError, match="features of the graphs that the folder does not hold"):
        run.apply(GRAPHS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"context": RunContext(device="cuda")}, "device must be one that torch can use"),
        ({"theta": 10}, r"at most 1 \(got 10\)"),
    ],
)
def test_mistakes_are_answered_in_a_line(options: dict[str, Any], message: str) -> None:
    if "context" in options and torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(InputError, match=message) as caught:
        CommonRecourseExplainer(GINE(), Rules(), panel=False, **options).fit(GRAPHS)
    assert "\n" not in str(caught.value)
