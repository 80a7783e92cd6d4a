"""How fast whole neighbourhoods are scored (probability and embedding) against one PyG `Data` per neighbour.

Both sides run in this process on the same inputs with the same released weights, in turns. The baseline builds one
`Data` per neighbour, `Batch.from_data_list`, and runs the two networks written with PyG's own layers. Times are wall
milliseconds per input, the best of some repeats, averaged over the inputs. Run it on a quiet machine: torch's threads wait
for each other, so where other work takes a core the baseline suffers most and the ratio flatters.

    python benchmarks/neighbourhood.py --data-root DATASETS --checkpoints CHECKPOINTS
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.data import Batch
from torch_geometric.nn import GCNConv, GINConv, global_add_pool, global_max_pool

from comrecgc.data.loading import load_benchmark
from comrecgc.graphs import Graph, allowed_edits, apply_edit, to_data
from comrecgc.models import load_classifier, load_embedder, predict
from comrecgc.scoring import NeighbourhoodScorer

TARGETS = {"mutagenicity": 40, "nci1": 40, "aids": 20}
LARGEST_FOR_BASELINE = 60


class PlainGCN(nn.Module):
    """The released classifiers, in PyG's layers."""

    def __init__(self, num_labels: int, hidden: int = 20) -> None:
        super().__init__()
        self.convs = nn.ModuleList(GCNConv(width, hidden) for width in (num_labels, hidden, hidden))
        self.bns = nn.ModuleList(nn.BatchNorm1d(hidden) for _ in range(3))
        self.fc = nn.Linear(hidden, 2)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        for conv, norm in zip(self.convs, self.bns, strict=True):
            x = norm(conv(x, edge_index)).relu()
        return self.fc(global_max_pool(x, batch)).softmax(dim=1)[:, 1]  # type: ignore[no-any-return]


class PlainGreed(nn.Module):
    """The released embedders, in PyG's layers."""

    def __init__(self, num_labels: int, num_layers: int = 8, width: int = 64) -> None:
        super().__init__()
        self.pre = nn.Linear(num_labels, width)
        self.convs = nn.ModuleList(
            GINConv(nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width)), train_eps=True)
            for _ in range(num_layers)
        )
        self.post = nn.Sequential(nn.Linear(width * (num_layers + 1), width), nn.ReLU(), nn.Linear(width, width))

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        x = self.pre(x)
        residual, pooled = x, [global_add_pool(x, batch)]
        for depth, conv in enumerate(self.convs):
            x = conv(x, edge_index)
            if depth % 2 == 1:
                x = residual = x + residual
            x = x.relu()
            pooled.append(global_add_pool(x, batch))
        return self.post(torch.cat(pooled, dim=1))  # type: ignore[no-any-return]


class Baseline:
    """One `Data` per neighbour."""

    def __init__(self, classifier: nn.Module, embedder: nn.Module, num_labels: int) -> None:
        self.num_labels = num_labels
        self.features = np.eye(num_labels, dtype=np.float32)
        self.models = (PlainGCN(num_labels).eval(), PlainGreed(num_labels).eval())
        self.models[0].load_state_dict(classifier.state_dict())
        self.models[1].load_state_dict(embedder.state_dict())

    def __call__(self, graph: Graph) -> tuple[Tensor, Tensor]:
        table = allowed_edits(graph, self.num_labels)
        neighbours = [to_data(apply_edit(graph, table[i]), self.features) for i in range(len(table))]
        batch = Batch.from_data_list(neighbours)
        with torch.inference_mode():
            probability, embedding = (model(batch.x, batch.edge_index, batch.batch) for model in self.models)
        return probability, embedding


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-root", type=Path, default=os.environ.get("COMRECGC_DATA"))
    parser.add_argument("--checkpoints", type=Path, default=os.environ.get("COMRECGC_CHECKPOINTS"))
    parser.add_argument("--datasets", nargs="+", default=["mutagenicity", "nci1", "aids", "proteins"])
    parser.add_argument("--inputs", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.data_root is None:
        print("skipped: give --data-root or set COMRECGC_DATA")
        return
    root = options.checkpoints or Path(options.data_root).parent / "checkpoints"
    torch.set_num_threads(options.threads)
    print(f"{options.threads} threads, {options.inputs} inputs, load of the machine {os.getloadavg()[0]:.1f}")
    columns = "".join(
        f"{name:>9}" for name in ("naive", "generic", "fast", "p only", "z only", "together", "ratio", "target")
    )
    print(f"{'dataset':14}{columns}   error of p and z")
    for name in options.datasets:
        measure(name, Path(options.data_root), root / name, options)


def measure(name: str, data_root: Path, checkpoints: Path, options: argparse.Namespace) -> None:
    dataset = load_benchmark(name, data_root)
    classifier, embedder = load_classifier(checkpoints / "classifier.pth"), load_embedder(checkpoints / "greed.pt")
    rejects = predict(classifier, dataset.graphs).rejects
    order = np.random.default_rng(options.seed).permutation(rejects)
    graphs = [dataset[i] for i in order if dataset[i].num_nodes <= LARGEST_FOR_BASELINE or name in TARGETS]
    graphs = graphs[: options.inputs]
    baseline = Baseline(classifier, embedder, dataset.num_labels)
    scorer = NeighbourhoodScorer(classifier, embedder, dataset.num_labels, num_threads=options.threads)
    generic = NeighbourhoodScorer(classifier, embedder, dataset.num_labels, fast=False)
    errors = compare(baseline, scorer, dataset.num_labels, graphs[:4])
    sides: dict[str, Callable[[Graph], object]] = {
        "naive": baseline,
        "generic": lambda graph: generic.score([graph]),
        "fast": lambda graph: scorer.score([graph]),
        "p only": lambda graph: scorer.score([graph], embedding=False),
        "z only": lambda graph: scorer.score([graph], probability=False),
    }
    best = {side: np.full(len(graphs), np.inf) for side in sides}
    together = np.inf
    for _ in range(options.repeats):
        for i, graph in enumerate(graphs):
            for side, function in sides.items():
                best[side][i] = min(best[side][i], seconds(lambda: function(graph)))  # noqa: B023
        together = min(together, seconds(lambda: scorer.score(graphs)) / len(graphs))
    naive, generic_time, fast, p_only, z_only = (1000 * times.mean() for times in best.values())
    print(
        f"{name:14}{naive:9.1f}{generic_time:9.1f}{fast:9.2f}{p_only:9.2f}{z_only:9.2f}{1000 * together:9.2f}"
        f"{naive / fast:8.0f}x{TARGETS.get(name, '-'):>9}   {errors[0]:.0e}, {errors[1]:.0e}",
        flush=True,
    )
    if name == "proteins":
        largest = max(dataset.graphs, key=lambda graph: graph.num_nodes)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start = time.perf_counter()
        neighbourhood = scorer.score([largest])[0]
        taken = time.perf_counter() - start
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        assert neighbourhood.embedding is not None
        print(
            f"largest graph of proteins: {largest.num_nodes} nodes, {len(neighbourhood)} distinct neighbours, {taken:.1f} s, "
            f"peak memory +{grown:.0f} MB, of which the embeddings are {neighbourhood.embedding.nbytes / 2**20:.0f} MB"
        )


def compare(
    baseline: Baseline, scorer: NeighbourhoodScorer, num_labels: int, graphs: list[Graph]
) -> tuple[float, float]:
    """Largest difference to the baseline: of probabilities, and of embeddings relative to their largest entry."""
    worst = np.zeros(2)
    for graph in graphs:
        scored = scorer.score([graph])[0]
        everything = allowed_edits(graph, num_labels)
        place = {everything[i]: i for i in range(len(everything))}
        chosen = [place[scored.table[i]] for i in range(len(scored))]
        probability, embedding = (output.numpy()[chosen] for output in baseline(graph))
        worst[0] = max(worst[0], np.abs(probability - scored.probability).max())
        worst[1] = max(worst[1], np.abs(embedding - scored.embedding).max() / np.abs(embedding).max())
    return float(worst[0]), float(worst[1])


def seconds(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
