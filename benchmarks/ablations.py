"""What hand-written code gains over the library that could replace it: python benchmarks/ablations.py --data-root DATASETS

Each piece is measured with and without, in turns in one run; what gains less than 1.5 times end to end does not stay.

- *gradients*: epochs of classifier training with `models/gradients.py`, against torch's autograd over the same
  distinct states. A plain PyG loop stands beside both.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]
from torch import Tensor, from_numpy

from comrecgc.data import GraphDataset, load_dataset
from comrecgc.graphs import GraphBatch
from comrecgc.models import GraphClassifier, PanelTraining, split_dataset, train_classifier
from comrecgc.models.gradients import ColouredGraphs, Round, StateBatch
from comrecgc.models.training import Split
from training import SETTINGS, our_epoch, plain_epoch, timed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-root", type=Path, default=os.environ.get("COMRECGC_DATA"))
    parser.add_argument("--checkpoints", type=Path, default=os.environ.get("COMRECGC_CHECKPOINTS"))
    parser.add_argument("--datasets", nargs="+", default=["aids", "mutagenicity"])
    parser.add_argument("--rounds", type=int, default=3, help="how often the sides take turns")
    parser.add_argument("--only", choices=["gradients", "whole"])
    options = parser.parse_args()
    if options.data_root is None:
        print("skipped: give --data-root or set COMRECGC_DATA")
        return
    options.checkpoints = options.checkpoints or Path(options.data_root).parent / "checkpoints"
    torch.set_num_threads(1)
    if options.only in (None, "gradients"):
        compare_gradients(options)
    if options.only in (None, "whole"):
        compare_whole(options)


# Gradients


def compare_gradients(options: argparse.Namespace) -> None:
    print(f"\n{'training':16}{'model':8}{'PyG s':>8}{'autograd s':>12}{'ours s':>8}{'gain':>7}{'over PyG':>10}")
    for name in options.datasets:
        dataset = load_dataset(name, root=options.data_root)
        split = split_dataset(dataset, np.random.default_rng(0))
        for model in ("gcn", "gat", "sage", "gin"):
            epochs = [make(model, dataset, split) for make in (plain_epoch, autograd_epoch, our_epoch)]
            with threadpool_limits(limits=1, user_api="blas"):
                seconds = [[timed(epoch, 1) for epoch in epochs] for _ in range(options.rounds + 1)][1:]
            plain, autograd, ours = (median(column) for column in zip(*seconds, strict=True))
            print(
                f"{name:16}{model:8}{plain:8.2f}{autograd:12.2f}{ours:8.3f}{autograd / ours:6.1f}x{plain / ours:9.1f}x",
                flush=True,
            )


def compare_whole(options: argparse.Namespace) -> None:
    """Processor seconds of all the training of a first run, compilation included, and of as many epochs by autograd."""
    print(f"\n{'whole training':16}{'epochs':>8}{'autograd s':>12}{'ours s':>8}{'gain':>7}")
    for name in options.datasets:
        dataset = load_dataset(name, root=options.data_root)
        split = split_dataset(dataset, np.random.default_rng(0))
        ours, autograd, epochs = 0.0, 0.0, 0
        for training in (SETTINGS, *PanelTraining().members()):
            started = time.process_time()
            count = train_classifier(dataset, training).epochs
            ours, epochs = ours + time.process_time() - started, epochs + count
            epoch = autograd_epoch(training.model, dataset, split)
            epoch()
            started = time.process_time()
            for _ in range(options.rounds):
                epoch()
            autograd += (time.process_time() - started) / options.rounds * count
        print(f"{name:16}{epochs:8}{autograd:12.0f}{ours:8.0f}{autograd / ours:6.1f}x", flush=True)


def autograd_epoch(name: str, dataset: GraphDataset, split: Split) -> Callable[[], object]:
    graphs, model = ColouredGraphs(GraphBatch.from_graphs(dataset), 3), GraphClassifier(name, dataset.features)
    optimiser = torch.optim.Adam(model.parameters(), lr=SETTINGS.learning_rate, fused=True)
    rng, classes = np.random.default_rng(0), from_numpy(dataset.classes.astype(np.int64))
    validation = graphs.select(split.validation)

    def epoch() -> float:
        for chosen, batch in graphs.batches(rng.permutation(split.train), SETTINGS.batch_size):
            optimiser.zero_grad()
            loss = F.cross_entropy(logits(model, batch, training=True), classes[from_numpy(chosen)])
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        with torch.no_grad():
            return float(logits(model, validation, training=False).argmax(dim=1).float().mean())

    return epoch


def logits(model: Any, batch: StateBatch, *, training: bool) -> Tensor:
    """The classifier over distinct states, in torch operations."""
    x, degrees = model.features[from_numpy(batch.labels)], from_numpy(batch.degrees)
    for conv, norm, states in zip(model.convs, model.bns, batch.rounds, strict=True):
        x = convolved(model.architecture, conv, x, degrees, states)
        degrees = from_numpy(states.degrees)
        counts = from_numpy(states.counts).float()
        mean, variance = norm.running_mean[None], norm.running_var[None]
        if training:
            share = (counts / counts.sum())[None]
            mean = share @ x
            variance = share @ (x - mean) ** 2
            with torch.no_grad():
                norm.running_mean.lerp_(mean[0], norm.momentum)
                norm.running_var.lerp_(variance[0], norm.momentum)
        x = F.relu((x - mean) * ((variance + norm.eps).rsqrt() * norm.weight) + norm.bias)
    pooled = torch.segment_reduce(x[from_numpy(batch.members)], "max", offsets=from_numpy(batch.member_ptr), axis=0)
    return model.fc(pooled)  # type: ignore[no-any-return]


def convolved(name: str, conv: Any, x: Tensor, degrees: Tensor, states: Round) -> Tensor:
    own, neighbours, ptr, after = (
        from_numpy(array) for array in (states.own, states.neighbours, states.neighbour_ptr, states.degrees)
    )

    def neighbour_sum(sent: Tensor) -> Tensor:
        return F.embedding_bag(neighbours, sent, ptr, mode="sum", include_last_offset=True)

    if name == "gcn":
        sent = F.linear(x, conv.lin.weight) * (degrees + 1.0).rsqrt()[:, None]
        return (neighbour_sum(sent) + sent[own]) * (after + 1.0).rsqrt()[:, None]
    if name == "gin":
        return conv.nn(neighbour_sum(x) + (1 + conv.eps) * x[own])  # type: ignore[no-any-return]
    if name == "sage":
        return conv.lin_l(neighbour_sum(x) / after.clamp(min=1)[:, None]) + conv.lin_r(x)[own]  # type: ignore[no-any-return]
    x = F.linear(x, conv.lin.weight)
    source, target = x @ conv.att_src[0, 0], x @ conv.att_dst[0, 0]
    receivers = torch.cat([torch.repeat_interleave(ptr.diff()), torch.arange(len(own))])
    senders = torch.cat([neighbours, own])
    scores = F.leaky_relu(source[senders] + target[own][receivers], 0.2)
    weights = torch.exp(scores - scores.detach().max())
    totals = torch.zeros(len(own)).index_add(0, receivers, weights)
    messages = (weights / totals[receivers])[:, None] * x[senders]
    return torch.zeros(len(own), x.shape[1]).index_add(0, receivers, messages)


if __name__ == "__main__":
    main()
