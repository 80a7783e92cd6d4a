"""A stranger's model of three classes that is shown whole graphs, some of them large: how long rules take, and what was left out.

    python benchmarks/whole_graphs.py --data-root DATASETS

Proteins by how dense they are and how many of their elements are helices; a PyG model learns to tell them apart.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GraphConv, global_mean_pool

import comrecgc
from comrecgc.graphs import Graph

SPARSE, HELICES, SHEETS = range(3)


class Network(torch.nn.Module):
    """Two layers of messages, the mean of all nodes, three scores."""

    def __init__(self, num_labels: int) -> None:
        super().__init__()
        self.first, self.second = GraphConv(num_labels, 32), GraphConv(32, 32)
        self.scores = torch.nn.Linear(32, 3)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        x = self.first(x, edge_index).relu()
        x = self.second(x, edge_index).relu()
        return self.scores(global_mean_pool(x, batch))  # type: ignore[no-any-return]


def as_data(graph: Graph, num_labels: int) -> Data:
    """A graph as PyG has it, with its class."""
    dense = 2 * graph.num_edges / max(graph.num_nodes, 1) >= 3.4
    kind = (HELICES if (graph.labels == 0).mean() > 0.5 else SHEETS) if dense else SPARSE
    edges = np.concatenate([graph.edges, graph.edges[:, ::-1]]).T.astype(np.int64)
    x = torch.eye(num_labels)[torch.from_numpy(graph.labels.astype(np.int64))]
    return Data(x=x, edge_index=torch.from_numpy(edges), y=torch.tensor([kind]))


def trained(data: list[Data], num_labels: int, epochs: int) -> Network:
    """The network after some epochs."""
    torch.manual_seed(0)
    model = Network(num_labels)
    optimiser = torch.optim.Adam(model.parameters(), 1e-2)
    for _ in range(epochs):
        for batch in DataLoader(data, 64, shuffle=True):
            optimiser.zero_grad()
            scores = model(batch.x, batch.edge_index, batch.batch)
            torch.nn.functional.cross_entropy(scores, batch.y).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
    return model.eval()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-root", type=Path)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--time-budget", type=float)
    asked = parser.parse_args()
    dataset = comrecgc.load_dataset("proteins", root=asked.data_root)
    data = [as_data(graph, dataset.num_labels) for graph in dataset]
    model = trained(data, dataset.num_labels, asked.epochs)
    whole = next(iter(DataLoader(data, len(data))))
    right = (model(whole.x, whole.edge_index, whole.batch).argmax(1) == whole.y).float().mean()
    print(f"{len(data)} graphs, the largest of {max(graph.num_nodes for graph in dataset)} nodes; right on {right:.1%}")
    begun, processor = time.monotonic(), time.process_time()
    explanation = (
        comrecgc.CommonRecourseExplainer(
            model,
            accept=HELICES,
            theta=0.15,
            panel=False,
            random_state=0,
            context=comrecgc.RunContext(time_budget=asked.time_budget),
        )
        .fit(data)
        .explanation_
    )
    print(f"{time.monotonic() - begun:.0f} s, {time.process_time() - processor:.0f} s of processor time")
    unseen = explanation.metrics["held_out_coverage"]
    print(f"{explanation.coverage:.1%} of {len(explanation.inputs)} rejects; unseen {unseen or 0:.1%}")
    print(*explanation.notes, sep="\n")
    made = [as_data(member.counterfactual, dataset.num_labels) for each in explanation.recourses for member in each.covered]  # fmt: skip
    batch = next(iter(DataLoader(made, len(made))))
    turned = int((model(batch.x, batch.edge_index, batch.batch).argmax(1) == HELICES).sum())
    print(f"a plain forward pass accepts {turned} of {len(made)} counterfactuals")
    for recourse in explanation.recourses:
        known = recourse.statistics
        print(f"{recourse.summary}: {known.get('accepted')} of {known.get('applicable')}")


if __name__ == "__main__":
    main()
