"""Epochs per second of classifier training, beside a plain PyG loop: python benchmarks/training.py

Both train the same network from the same data with the same batch size, and look at the validation graphs after every
epoch. They take turns, so that a busy machine slows both; the figure of each is the median over the rounds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import torch
import torch.nn.functional as F
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]
from torch import Tensor
from torch.nn import BatchNorm1d, Linear, ModuleList, ReLU, Sequential
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv, global_max_pool

from comrecgc.data import GraphDataset, load_dataset
from comrecgc.graphs import GraphBatch
from comrecgc.models import ClassifierTraining, GraphClassifier, split_dataset
from comrecgc.models.gradients import ColouredGraphs
from comrecgc.models.training import Split, TrainingRun

SETTINGS = ClassifierTraining()
LAYERS: dict[str, Callable[[int, int], torch.nn.Module]] = {
    "gcn": GCNConv,
    "gat": GATConv,
    "sage": SAGEConv,
    "gin": lambda i, o: GINConv(Sequential(Linear(i, o), ReLU(), Linear(o, o))),
}


class PlainModel(torch.nn.Module):
    """The paper's classifier as one writes it with PyG."""

    def __init__(self, name: str, width: int) -> None:
        super().__init__()
        hidden = SETTINGS.hidden
        self.convs = ModuleList(LAYERS[name](width if depth == 0 else hidden, hidden) for depth in range(3))
        self.bns = ModuleList(BatchNorm1d(hidden) for _ in range(3))
        self.fc = Linear(hidden, 2)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        for conv, norm in zip(self.convs, self.bns, strict=True):
            x = F.relu(norm(conv(x, edge_index)))
        return F.log_softmax(self.fc(global_max_pool(x, batch)), dim=-1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", nargs="*", default=["aids", "mutagenicity"])
    parser.add_argument("--models", nargs="*", default=list(LAYERS))
    parser.add_argument("--rounds", type=int, default=5, help="how often the two take turns")
    parser.add_argument("--threads", type=int, default=1, help="threads of the PyG loop; ours uses one")
    parser.add_argument("--data-root", type=Path, help="folder with the benchmark archives")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print(f"{'dataset':14}{'model':6}{'PyG epochs/s':>14}{'ours epochs/s':>15}{'ratio':>8}")
    for name in options.datasets:
        dataset = load_dataset(name, root=options.data_root)
        split = split_dataset(dataset, np.random.default_rng(0))
        for model in options.models:
            plain, ours = plain_epoch(model, dataset, split), our_epoch(model, dataset, split)
            with threadpool_limits(limits=1, user_api="blas"):
                seconds = [(timed(plain, 1), timed(ours, 5)) for _ in range(options.rounds + 1)][1:]
            slow, fast = (median(column) for column in zip(*seconds, strict=True))
            print(f"{name:14}{model:6}{1 / slow:14.1f}{1 / fast:15.1f}{slow / fast:7.1f}x", flush=True)


def plain_epoch(name: str, dataset: GraphDataset, split: Split) -> Callable[[], object]:
    data: list[Data] = dataset.to_pyg()
    train = DataLoader([data[i] for i in split.train], batch_size=SETTINGS.batch_size, shuffle=True)
    validation = DataLoader([data[i] for i in split.validation], batch_size=SETTINGS.batch_size)
    model = PlainModel(name, dataset.features.shape[1])
    optimiser = torch.optim.Adam(model.parameters(), lr=SETTINGS.learning_rate)

    def epoch() -> float:
        model.train()
        for batch in train:
            optimiser.zero_grad()
            loss = F.nll_loss(model(batch.x, batch.edge_index, batch.batch), batch.y)
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        model.eval()
        with torch.no_grad():
            right = [model(b.x, b.edge_index, b.batch).argmax(dim=-1) == b.y for b in validation]
        return float(torch.cat(right).float().mean())

    return epoch


def our_epoch(name: str, dataset: GraphDataset, split: Split) -> Callable[[], object]:
    features = dataset.features
    graphs = ColouredGraphs(GraphBatch.from_graphs(dataset), 3)
    run = TrainingRun(
        GraphClassifier(name, features, hidden=SETTINGS.hidden),
        graphs,
        dataset.classes.astype(np.int64),
        train=split.train,
        validation=split.validation,
        rng=np.random.default_rng(0),
    )
    return lambda: run.advance(SETTINGS.batch_size, SETTINGS.learning_rate)


def timed(epoch: Callable[[], object], repeats: int) -> float:
    started = time.perf_counter()
    for _ in range(repeats):
        epoch()
    return (time.perf_counter() - started) / repeats


if __name__ == "__main__":
    main()
