"""How fast changed graphs are scored for the mining of rules.

`scoring`: every single plausible change of some rejected inputs, scored by the released network, as changed graphs per second; and the same
for a model that the package does not know, a torch_geometric GCN, against building one `Data` per changed graph and a `DataLoader`. Both
sides of a ratio run in this process, in turns, on the same changes.

    python benchmarks/rules.py --part scoring --data-root DATASETS --checkpoints CHECKPOINTS
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GCNConv, global_max_pool

from comrecgc.algorithms.rules.mining import ChangeScorer, Oracle
from comrecgc.algorithms.rules.vocabulary import Vocabulary
from comrecgc.data.loading import load_benchmark
from comrecgc.graphs import Rung, to_data
from comrecgc.models import as_classifier, load_classifier, log_odds, predict

TARGET_RATE, TARGET_RATIO = 200_000, 5


class StrangersGCN(nn.Module):
    """The released classifier as somebody else would write it."""

    def __init__(self, num_labels: int, hidden: int = 20) -> None:
        super().__init__()
        self.convs = nn.ModuleList(GCNConv(width, hidden) for width in (num_labels, hidden, hidden))
        self.bns = nn.ModuleList(nn.BatchNorm1d(hidden) for _ in range(3))
        self.fc = nn.Linear(hidden, 2)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        for conv, norm in zip(self.convs, self.bns, strict=True):
            x = norm(conv(x, edge_index)).relu()
        return self.fc(global_max_pool(x, batch))  # type: ignore[no-any-return]


def best(action: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Seconds of the quickest of some repeats: by the clock, and of all threads together."""
    seconds = []
    for _ in range(repeats):
        started, busy = time.perf_counter(), time.process_time()
        action()
        seconds.append((time.perf_counter() - started, time.process_time() - busy))
    clock, threads = zip(*seconds, strict=True)
    return min(clock), min(threads)


def scoring(options: argparse.Namespace) -> None:
    """Changed graphs per second for the released network, and the ratio for a stranger's."""
    dataset = load_benchmark(options.dataset, options.data_root)
    classifier = load_classifier(options.checkpoints / options.dataset / "classifier.pth")
    rejects = predict(classifier, dataset.graphs).rejects
    chosen = np.random.default_rng(options.seed).permutation(rejects)[: options.inputs]
    inputs = [dataset.graphs[i] for i in np.sort(chosen)]
    vocabulary = Vocabulary.of(dataset, rung=Rung.PLAUSIBLE, theta=options.theta)
    scorer = ChangeScorer(inputs=inputs, vocabulary=vocabulary, jobs=options.threads)
    oracle = Oracle(classifier=classifier)
    changes = scorer.changes(oracle)  # compiles, too

    print(f"{dataset.name}: {len(changes)} changed graphs of {len(inputs)} inputs, {options.threads} threads")
    actions: dict[str, Callable[[], object]] = {
        "scored": lambda: scorer.margins(classifier, changes.input, changes.change),
        "found and scored": lambda: scorer.changes(oracle),
    }
    for name, action in actions.items():
        clock, busy = best(action, options.repeats)
        rate, per_core = len(changes) / clock, len(changes) / busy
        print(f"  {name:18}{rate:10,.0f} per second (target {TARGET_RATE:,}); {per_core:,.0f} per second of one core")

    stranger = StrangersGCN(dataset.num_labels).eval()
    stranger.load_state_dict(classifier.state_dict())
    adapted = as_classifier(stranger, dataset)
    rows = np.arange(min(options.built, len(changes)))  # all changes of the first inputs, as mining has them
    few, change = changes.input[rows], changes.change[rows]
    features = np.eye(dataset.num_labels, dtype=np.float32)
    said: dict[str, np.ndarray] = {}

    def ours() -> None:
        said["ours"] = scorer.margins(adapted, few, change)

    def one_by_one() -> None:
        batch, _ = scorer.built(few, change)
        loader = DataLoader([to_data(graph, features) for graph in batch], batch_size=256)
        with torch.inference_mode():
            answers = [stranger(part.x, part.edge_index, part.batch).softmax(dim=1)[:, 1] for part in loader]
        said["plain"] = log_odds(torch.cat(answers).double().numpy())

    times = dict.fromkeys(("ours", "plain"), np.inf)
    for _ in range(options.repeats):
        times["ours"] = min(times["ours"], best(ours, 1)[0])
        times["plain"] = min(times["plain"], best(one_by_one, 1)[0])
    error = np.abs(said["ours"] - said["plain"]).max()
    print(
        f"  a stranger's GCN{len(rows) / times['ours']:10,.0f} per second; one Data each {len(rows) / times['plain']:,.0f}"
    )
    print(
        f"  ratio           {times['plain'] / times['ours']:10.1f} (target {TARGET_RATIO}); log-odds differ by {error:.1e}"
    )


PARTS = {"scoring": scoring}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=PARTS, default="scoring")
    parser.add_argument("--dataset", default="mutagenicity")
    parser.add_argument("--data-root", type=Path, default=os.environ.get("COMRECGC_DATA"))
    parser.add_argument("--checkpoints", type=Path, default=os.environ.get("COMRECGC_CHECKPOINTS"))
    parser.add_argument("--inputs", type=int, default=300)
    parser.add_argument("--built", type=int, default=4000, help="changed graphs that the stranger's model scores")
    parser.add_argument("--theta", type=float, default=0.1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.data_root is None:
        print("skipped: give --data-root or set COMRECGC_DATA")
        return
    options.data_root = Path(options.data_root)
    options.checkpoints = Path(options.checkpoints or options.data_root.parent / "checkpoints")
    torch.set_num_threads(options.threads)
    print(f"load of the machine {os.getloadavg()[0]:.1f}")
    PARTS[options.part](options)


if __name__ == "__main__":
    main()
