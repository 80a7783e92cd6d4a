"""Models and features the package has never seen: is the function that is explained the user's function?

    python benchmarks/own_models.py [NAME ...] [--size 150] [--csv FILE]

Every trial trains a PyG model (or an SVM) on made graphs, explains it with the default rules, and asks the model again about every counterfactual:
as `Data` with the user's own features, one graph at a time, by the user's own call. Rejects are counted by hand too. Molecules are
drawn from Mutagenicity, in PyG's form, as MUTAG has it.
"""

from __future__ import annotations

import argparse
import csv
import resource
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import torch
from sklearn.svm import SVC
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GATv2Conv, GCNConv, GINConv, GINEConv, GPSConv, global_add_pool, global_mean_pool
from torch_geometric.transforms import AddRandomWalkPE, VirtualNode
from torch_geometric.utils import to_undirected

from comrecgc import CommonRecourseExplainer, Rules, RunContext, as_classifier, from_pyg, load_dataset

_WIDTH = 24
_COLOURS = {"label_names": ["red", "green", "blue"]}


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What a user brings.

    Args:
        graphs: PyG graphs with `y`.
        model: Made for them; trained here unless `fit` is given.
        call: The user's own call: scores of a batch.
        transform: A PyG transform that the model needs.
        names: Arguments of `from_pyg`.
        options: Arguments of the explainer.
        reading: Arguments of `as_classifier`, where the model's answer cannot be guessed.
        accepts: Which scores mean accept.
        loss: What training lowers.
        fit: Trains a model that is no torch module.
    """

    graphs: Sequence[Data]
    model: Any
    call: Callable[[Any, Batch], Tensor]
    transform: Any = None
    names: dict[str, Any] = field(default_factory=lambda: dict(_COLOURS))
    options: dict[str, Any] = field(default_factory=dict)
    reading: dict[str, Any] = field(default_factory=dict)
    accepts: Callable[[Tensor], Tensor] = lambda scores: scores.argmax(1) == 1
    loss: Callable[[Tensor, Tensor], Tensor] = nn.functional.cross_entropy
    fit: Callable[[], None] | None = None


def mlp(width: int) -> nn.Module:
    return nn.Sequential(nn.Linear(width, _WIDTH), nn.ReLU(), nn.Linear(_WIDTH, _WIDTH))


class Network(nn.Module):
    """Two layers, batch norm, dropout and a pooled answer."""

    def __init__(
        self, layers: Sequence[nn.Module], width: int, num_scores: int = 2, pool: Any = global_mean_pool
    ) -> None:
        super().__init__()
        self.layers, self.pool = nn.ModuleList(layers), pool
        self.norms = nn.ModuleList(nn.BatchNorm1d(width) for _ in layers)
        self.scores = nn.Linear(width, num_scores)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        return self.answer(x, batch, lambda layer, x: layer(x, edge_index))

    def answer(self, x: Tensor, batch: Tensor, step: Callable[[Any, Tensor], Tensor]) -> Tensor:
        for layer, norm in zip(self.layers, self.norms, strict=True):
            x = nn.functional.dropout(norm(step(layer, x)).relu(), 0.1, self.training)
        scores: Tensor = self.scores(self.pool(x, batch))
        return scores


class BondNetwork(Network):
    """Takes `edge_attr`."""

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor, batch: Tensor) -> Tensor:  # type: ignore[override]
        return self.answer(x, batch, lambda layer, x: layer(x, edge_index, edge_attr))


class WeightNetwork(Network):
    """PyG's usual signature: weights before the batch, and not required."""

    def forward(  # type: ignore[override]
        self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None, batch: Tensor | None = None
    ) -> Tensor:
        assert batch is not None
        return self.answer(x, batch, lambda layer, x: layer(x, edge_index, edge_weight))


class EncodedNetwork(Network):
    """Takes positional encodings beside `x`."""

    def forward(self, x: Tensor, edge_index: Tensor, random_walk_pe: Tensor, batch: Tensor) -> Tensor:  # type: ignore[override]
        return super().forward(torch.cat([x, random_walk_pe], 1), edge_index, batch)


class GlobalNetwork(nn.Module):
    """GPS: message passing and attention over the whole graph."""

    def __init__(self, num_features: int) -> None:
        super().__init__()
        self.first = nn.Linear(num_features, _WIDTH)
        self.layers = nn.ModuleList(GPSConv(_WIDTH, GINConv(mlp(_WIDTH)), heads=2) for _ in range(2))
        self.scores = nn.Linear(_WIDTH, 2)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Any:
        x = self.first(x)
        for layer in self.layers:
            x = layer(x, edge_index, batch)
        return self.scores(global_add_pool(x, batch))


def plain(model: Any, batch: Batch) -> Any:
    return model(batch.x, batch.edge_index, batch.batch)


def bonded(model: Any, batch: Batch) -> Any:
    return model(batch.x, batch.edge_index, batch.edge_attr, batch.batch)


def random_tree(rng: np.random.Generator) -> Tensor:
    return torch.tensor([[int(rng.integers(node)), node] for node in range(1, int(rng.integers(8, 14)))]).T


def kinds_of(rng: np.random.Generator, tree: Tensor, num_kinds: int = 3) -> Tensor:
    return torch.eye(num_kinds)[torch.from_numpy(rng.integers(0, num_kinds, int(tree.max()) + 1))]


def molecules(size: int) -> tuple[list[Data], dict[str, Any]]:
    """Molecules of Mutagenicity with bond orders as `edge_attr`, in PyG's order of edges, and what their columns mean."""
    dataset = load_dataset("mutagenicity")
    small = [i for i, graph in enumerate(dataset) if 10 <= graph.num_nodes <= 28][:size]
    graphs = []
    for i in small:
        graph = dataset[i]
        assert graph.edge_labels is not None
        edge_index = torch.from_numpy(np.concatenate([graph.edges, graph.edges[:, ::-1]]).T.astype(np.int64))
        bonds = torch.eye(3)[torch.from_numpy(np.tile(graph.edge_labels, 2).astype(np.int64))]
        x = torch.eye(dataset.num_labels)[torch.from_numpy(graph.labels.astype(np.int64))]
        graphs.append(Data(x=x, edge_index=edge_index, edge_attr=bonds, y=torch.tensor([int(dataset.classes[i])])))
    return graphs, {"label_names": dataset.label_names, "edge_label_names": ["single", "double", "triple"]}


def gine(size: int, rng: np.random.Generator) -> Trial:  # noqa: ARG001
    graphs, names = molecules(size)
    widths = (graphs[0].num_node_features, _WIDTH)
    model = BondNetwork([GINEConv(mlp(width), edge_dim=3) for width in widths], _WIDTH)
    return Trial(graphs=graphs, model=model, call=bonded, names=names)


def gatv2(size: int, rng: np.random.Generator) -> Trial:  # noqa: ARG001
    graphs, names = molecules(size)
    layers = [GATv2Conv(width, 16, heads=4, edge_dim=3, dropout=0.2) for width in (graphs[0].num_node_features, 64)]
    return Trial(graphs=graphs, model=BondNetwork(layers, 64), call=bonded, names=names)


def coloured(size: int, rng: np.random.Generator, transform: Any = None) -> list[Data]:
    """Trees of three colours; those with two red nodes side by side are of class 0."""
    graphs = []
    for _ in range(size):
        tree = random_tree(rng)
        x = kinds_of(rng, tree)
        red_pair = (x[tree[0], 0] * x[tree[1], 0]).any()
        graph = Data(x=x, edge_index=to_undirected(tree), y=torch.tensor([0 if red_pair else 1]))
        graphs.append(graph if transform is None else transform(graph))
    return graphs


def gcn(size: int, rng: np.random.Generator) -> Trial:
    return Trial(
        graphs=coloured(size, rng), model=Network([GCNConv(3, _WIDTH), GCNConv(_WIDTH, _WIDTH)], _WIDTH), call=plain
    )


def gps(size: int, rng: np.random.Generator) -> Trial:
    return Trial(graphs=coloured(size, rng), model=GlobalNetwork(3), call=plain)


def encodings(size: int, rng: np.random.Generator) -> Trial:
    transform = AddRandomWalkPE(4, attr_name="random_walk_pe")
    model = EncodedNetwork([GINConv(mlp(7)), GINConv(mlp(_WIDTH))], _WIDTH)

    def call(model: Any, batch: Batch) -> Any:
        return model(batch.x, batch.edge_index, batch.random_walk_pe, batch.batch)

    return Trial(
        graphs=coloured(size, rng),
        model=model,
        call=call,
        transform=transform,
        names=_COLOURS | {"transform": transform},
    )


def virtual_node(size: int, rng: np.random.Generator) -> Trial:
    model = Network([GINConv(mlp(3)), GINConv(mlp(_WIDTH))], _WIDTH)
    return Trial(
        graphs=coloured(size, rng),
        model=model,
        call=plain,
        transform=VirtualNode(),
        names=_COLOURS | {"transform": VirtualNode()},
    )


def six_classes(size: int, rng: np.random.Generator) -> Trial:
    """The class is the number of red nodes, up to five; class 2 is wanted."""
    graphs = coloured(2 * size, rng)
    for graph in graphs:
        graph.y = graph.x[:, 0].sum().clamp(max=5).long().reshape(1)
    model = Network([GINConv(mlp(3)), GINConv(mlp(_WIDTH))], _WIDTH, 6, global_add_pool)
    return Trial(
        graphs=graphs,
        model=model,
        call=plain,
        names=_COLOURS | {"accept": 2},
        options={"accept": 2},
        accepts=lambda scores: scores.argmax(1) == 2,
    )


def regression(size: int, rng: np.random.Generator) -> Trial:
    """The number of red nodes minus that of green ones; more than 1 is wanted."""
    graphs = coloured(size, rng)
    for graph in graphs:
        graph.y = (graph.x[:, 0].sum() - graph.x[:, 1].sum()).reshape(1)
    model = Network([GINConv(mlp(3)), GINConv(mlp(_WIDTH))], _WIDTH, 1, global_add_pool)
    return Trial(
        graphs=graphs, model=model, call=plain, names=_COLOURS | {"classes": [int(graph.y > 1) for graph in graphs]}, options={"threshold": 1.0}, accepts=lambda scores: scores.reshape(-1) > 1,
        loss=lambda scores, y: nn.functional.mse_loss(scores.reshape(-1), y),
    )  # fmt: skip


def edge_weight(size: int, rng: np.random.Generator) -> Trial:
    """Continuous weights decide together with the colours."""
    graphs = []
    for _ in range(size):
        tree = random_tree(rng)
        weight = torch.from_numpy(rng.uniform(0.1, 2, tree.shape[1])).float()
        edge_index, edge_weight = to_undirected(tree, weight)
        x = kinds_of(rng, tree)
        y = torch.tensor([int(weight.mean() + x[:, 0].mean() > 1.35)])
        graphs.append(Data(x=x, edge_index=edge_index, edge_weight=edge_weight, y=y))
    model = WeightNetwork([GCNConv(3, _WIDTH), GCNConv(_WIDTH, _WIDTH)], _WIDTH, pool=global_add_pool)

    def call(model: Any, batch: Batch) -> Any:
        return model(batch.x, batch.edge_index, batch.edge_weight, batch.batch)

    return Trial(graphs=graphs, model=model, call=call, options={"theta": 0.15})


def numbers(size: int, rng: np.random.Generator, *, with_kinds: bool) -> Trial:
    """Eighteen continuous columns as ENZYMES has, drawn around the centre of the node's kind; the kinds themselves are seen or not."""
    centres = rng.normal(scale=2, size=(3, 18))
    graphs = []
    for _ in range(size):
        tree = random_tree(rng)
        kinds = kinds_of(rng, tree)
        own = torch.from_numpy(centres[kinds.argmax(1)] + rng.normal(size=(len(kinds), 18))).float()
        y = torch.tensor([int(own[:, 0].mean() + 2 * kinds[:, 0].mean() > centres[:, 0].mean() + 0.67)])
        graphs.append(Data(x=torch.cat([own, kinds], 1) if with_kinds else own, edge_index=to_undirected(tree), y=y))
    model = Network([GINConv(mlp(21 if with_kinds else 18)), GINConv(mlp(_WIDTH))], _WIDTH)
    return Trial(graphs=graphs, model=model, call=plain, names={}, options={"theta": 0.15})


def wl_svm(size: int, rng: np.random.Generator) -> Trial:
    """A support vector machine on Weisfeiler-Lehman counts: no torch, a function of a list of `Data`."""
    graphs = coloured(size, rng)
    columns: dict[str, int] = {}

    def counts(data: Sequence[Data], *, grow: bool = False) -> np.ndarray[Any, Any]:
        rows = np.zeros((len(data), 4_000))
        for row, graph in enumerate(data):
            colours = [str(int(one)) for one in graph.x.argmax(1)]
            for _ in range(3):
                for colour in colours:
                    if grow:
                        columns.setdefault(colour, len(columns))
                    if colour in columns:
                        rows[row, columns[colour]] += 1
                near: list[list[str]] = [[] for _ in colours]
                for source, target in graph.edge_index.T.tolist():
                    near[target].append(colours[source])
                colours = [f"{own}({','.join(sorted(others))})" for own, others in zip(colours, near, strict=True)]
        return rows

    svm = SVC(kernel="linear", random_state=0)

    def model(data: Sequence[Data]) -> Tensor:
        return torch.from_numpy(svm.decision_function(counts(data)))

    def fit() -> None:
        svm.fit(counts(graphs, grow=True), [int(graph.y) for graph in graphs])

    return Trial(
        graphs=graphs, model=model, call=lambda model, batch: model(batch.to_data_list()), fit=fit, reading={"return_type": "raw"}, accepts=lambda scores: scores.reshape(-1) > 0,
    )  # fmt: skip


def motifs(size: int, rng: np.random.Generator, *, accept: int) -> Trial:
    """BA-2Motifs: a house (class 1) or a five-cycle (class 0) on a tree of preferential attachment; all features equal."""
    graphs = []
    for place in range(size):
        tree = nx.barabasi_albert_graph(20, 1, seed=int(rng.integers(2**31)))
        whole = nx.disjoint_union(tree, nx.house_graph() if place % 2 else nx.cycle_graph(5))
        whole.add_edge(int(rng.integers(20)), 20)
        edges = torch.tensor(list(whole.edges)).T
        graphs.append(Data(x=torch.full((25, 10), 0.1), edge_index=to_undirected(edges), y=torch.tensor([place % 2])))
    layers = [GINConv(mlp(width)) for width in (10, _WIDTH, _WIDTH)]
    return Trial(
        graphs=graphs, model=Network(layers, _WIDTH, pool=global_add_pool), call=plain, names={}, options={"accept": accept},
        accepts=lambda scores: scores.argmax(1) == accept,
    )  # fmt: skip


TRIALS: dict[str, Callable[[int, np.random.Generator], Trial]] = {
    "gcn": gcn,
    "gine": gine,
    "gatv2": gatv2,
    "gps": gps,
    "encodings": encodings,
    "virtual-node": virtual_node,
    "six-classes": six_classes,
    "regression": regression,
    "edge-weight": edge_weight,
    "numbers-and-kinds": partial(numbers, with_kinds=True),
    "numbers": partial(numbers, with_kinds=False),
    "wl-svm": wl_svm,
    "motifs": partial(motifs, accept=0),
    "motifs-reverse": partial(motifs, accept=1),
}


def train(trial: Trial, epochs: int = 60) -> None:
    """Train the model in the user's way."""
    if trial.fit is not None:
        return trial.fit()
    graphs = [trial.transform(graph.clone()) for graph in trial.graphs] if trial.transform else list(trial.graphs)
    optimizer = torch.optim.Adam(trial.model.parameters(), lr=0.01)
    for _ in range(epochs):
        for batch in DataLoader(graphs, 32, shuffle=True):
            optimizer.zero_grad()
            trial.loss(trial.call(trial.model, batch), batch.y).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    trial.model.eval()
    return None


def ask(trial: Trial, graph: Data) -> bool:
    """Whether the model accepts one graph, by the user's own call."""
    seen = trial.transform(graph.clone()) if trial.transform else graph
    with torch.no_grad():
        return bool(trial.accepts(trial.call(trial.model, Batch.from_data_list([seen])))[0])


def run(name: str, size: int) -> dict[str, object]:
    """Carry out a trial; what came of it."""
    torch.manual_seed(0)
    trial = TRIALS[name](size, np.random.default_rng(0))
    train(trial)
    rejects = sum(not ask(trial, graph) for graph in trial.graphs)
    data = from_pyg(list(trial.graphs), name=name, **trial.names)
    model = as_classifier(trial.model, data, **trial.reading) if trial.reading else trial.model
    start, busy = time.perf_counter(), time.process_time()
    explainer = CommonRecourseExplainer(model, Rules(), context=RunContext(jobs=2), **trial.options)
    found = explainer.fit(data).explanation_
    busy, took = time.process_time() - busy, time.perf_counter() - start
    results = [found.counterfactual(member.input) for recourse in found.recourses for member in recourse.covered]
    return {
        "trial": name,
        "graphs": len(trial.graphs),
        "rejects by hand": rejects,
        "rejects": len(found.inputs),
        "covered": len(results),
        "hold when asked again": sum(ask(trial, result) for result in results),
        "first rule": found.recourses[0].summary if found.recourses else "; ".join(found.warnings),
        "processor seconds": round(busy, 1),
        "seconds": round(took, 1),
        "memory, GB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*TRIALS, []], default=list(TRIALS))
    parser.add_argument("--size", type=int, default=188)
    parser.add_argument("--csv", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for name in arguments.names:
        rows.append(run(name, arguments.size))
        print(*(f"{key}: {value}" for key, value in rows[-1].items()), sep="; ", flush=True)
    if arguments.csv is not None:
        with arguments.csv.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    if any(row["covered"] != row["hold when asked again"] or row["rejects"] != row["rejects by hand"] for row in rows):
        sys.exit("The function explained is not the user's in the trials above whose figures differ.")


if __name__ == "__main__":
    main()
