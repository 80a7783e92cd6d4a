"""GREED: A Neural Framework for Learning Graph Distance Functions (Ranjan et al., NeurIPS 2022).

A siamese network: the graph edit distance of two graphs is the Euclidean distance of their embeddings. Eight GIN layers
with a residual connection every second one, the node states of all layers summed over each graph, and a two-layer head.

A trained one is kept as safetensors with a JSON header file; the released `.pt` state dicts load as they are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.functional import relu

from comrecgc import run
from comrecgc.data import GraphDataset
from comrecgc.errors import InputError
from comrecgc.graphs import Graph, GraphBatch, pointers
from comrecgc.models.edit_distance import SWEEPS
from comrecgc.models.greed_pairs import KINDS, LabelledGroups, PairGenerator
from comrecgc.models.networks import GraphTensors, evaluation_mode
from comrecgc.models.training import CachedModel, ModelFile, data_fingerprint
from comrecgc.run import Engine, LocalEngine, Progress, save_weights

FloatArray = npt.NDArray[np.float32]


@runtime_checkable
class Embedder(Protocol):
    """Maps graphs to vectors whose distances stand for graph edit distances."""

    def embed(self, batch: GraphBatch) -> FloatArray:
        """Embedding `z(G)` of every graph, `[B, width]`."""
        ...


@dataclass(frozen=True)
class FunctionEmbedder:
    """A plain function from a list of graphs to an array, as an embedder."""

    function: Callable[[Sequence[Graph]], Any]

    def embed(self, batch: GraphBatch) -> FloatArray:
        result = np.asarray(self.function(list(batch)), dtype=np.float32)
        if result.ndim != 2 or len(result) != len(batch):
            raise InputError(
                f"An embedder must give one row per graph (got shape {result.shape} for {len(batch)} graphs)"
            )
        if not np.isfinite(result).all():
            raise InputError(f"An embedder must give finite numbers (got {result[~np.isfinite(result)][0]})")
        return result


def as_embedder(embedder: Embedder | Callable[[Sequence[Graph]], Any]) -> Embedder:
    """The embedder itself, or a function from graphs to an array `[len, width]` wrapped as one."""
    if isinstance(embedder, Embedder):
        return embedder
    if callable(embedder):
        return FunctionEmbedder(embedder)
    raise InputError(f"An embedder is a model with `embed` or a function of graphs (got {type(embedder).__name__})")


class Greed(nn.Module):
    """The embedding network; names of its parameters are those of the released checkpoints. `head_widths` are those of the head's hidden layers."""

    def __init__(
        self,
        num_labels: int,
        *,
        num_layers: int = 8,
        width: int = 64,
        output_width: int = 64,
        head_widths: tuple[int, ...] | None = None,
    ) -> None:
        super().__init__()
        head_widths = (width,) if head_widths is None else head_widths
        sizes = {"num_labels": num_labels, "num_layers": num_layers, "width": width, "output_width": output_width}
        for name, value in {**sizes, "head_widths": min(head_widths, default=1)}.items():
            if value < 1:
                raise InputError(f"{name} must be at least 1 (got {value})")
        self.num_labels, self.num_layers, self.width = num_labels, num_layers, width
        self.output_width, self.head_widths = output_width, head_widths
        self.facts: dict[str, Any] = {}  # facts from its file
        self.pre = nn.Linear(num_labels, width)
        self.convs = nn.ModuleList(GINLayer(width) for _ in range(num_layers))
        widths = (width * (num_layers + 1), *head_widths)
        hidden = [layer for pair in pairwise(widths) for layer in (nn.Linear(*pair), nn.ReLU())]
        self.post = nn.Sequential(*hidden, nn.Linear(widths[-1], output_width))

    def forward(self, graphs: GraphTensors) -> Tensor:
        """Embedding of every graph, `[B, output_width]`."""
        x = self.pre.weight.t()[graphs.labels] + self.pre.bias  # [N, width]: a one-hot product is a look-up
        residual = x
        pooled = [graphs.graph_sum(x)]
        for depth, conv in enumerate(self.convs):
            x = conv(x, graphs)
            if depth % 2 == 1:
                x = x + residual
                residual = x
            x = relu(x)
            pooled.append(graphs.graph_sum(x))
        result: Tensor = self.post(torch.cat(pooled, dim=1))
        return result

    def embed(self, batch: GraphBatch, *, max_nodes: int = 100_000) -> FloatArray:
        """Embedding of every graph as an array, `[B, output_width]`; `max_nodes` of one forward pass bound memory, and a single larger graph passes alone."""
        if len(batch.labels) and batch.labels.max() >= self.num_labels:
            raise InputError(f"The embedder knows labels 0…{self.num_labels - 1} (got label {batch.labels.max()})")
        if (batch.node_counts() == 0).any():
            raise InputError(f"A graph needs at least one node (got none in graph {int(batch.node_counts().argmin())})")
        device = self.pre.weight.device
        with evaluation_mode(self):
            parts = (GraphTensors.from_batch(part, device) for part in batch.chunks(max_nodes))
            rows = [self(part).float().cpu().numpy() for part in parts]
        return np.concatenate(rows) if rows else np.zeros((0, self.output_width), dtype=np.float32)


class GINLayer(nn.Module):
    """How Powerful are Graph Neural Networks? (Xu et al., ICLR 2019): `MLP((1+ε)x + Σ neighbours)`."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.eps = nn.Parameter(torch.zeros(1))
        self.nn = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))

    def forward(self, x: Tensor, graphs: GraphTensors) -> Tensor:
        result: Tensor = self.nn((1 + self.eps) * x + graphs.neighbour_sum(x))
        return result


KIND = "greed"


def save_embedder(model: Greed, path: Path, facts: dict[str, Any]) -> None:
    """Write `path` (safetensors) and the JSON file beside it, with further facts: label names, held-out errors, seed …"""
    sizes = {
        name: getattr(model, name) for name in ("num_labels", "num_layers", "width", "output_width", "head_widths")
    }
    save_weights(path, dict(model.state_dict()), {"kind": KIND, **sizes, **facts})


def load_embedder(path: str | Path, *, label_names: Sequence[str] | None = None) -> Greed:
    """An embedder from a file written by `save_embedder`, or a released GREED state dict (`.pt`, `.pth`).

    Args:
        path: The file.
        label_names: Names of the data's node labels; an embedder for another alphabet is refused.
    """
    path = Path(path)
    state, facts = run.load_model(path, kind=KIND)
    state = {name.removeprefix("embed_model."): tensor for name, tensor in state.items()}
    model = run.load_checked(partial(Greed, **_sizes(state, path)), state, path, "GREED embedder")
    run.check_alphabet(path, facts, model.num_labels, label_names)
    model.facts = facts
    return model


def _sizes(state: dict[str, Tensor], path: Path) -> dict[str, Any]:
    """The sizes behind a state dict."""
    layers = sum(name.startswith("convs.") and name.endswith(".eps") for name in state)
    head = [state[name] for name in sorted(state) if name.startswith("post.") and name.endswith(".weight")]
    matrices = [tensor for tensor in (state.get("pre.weight"), *head) if tensor is not None and tensor.ndim == 2]
    if layers == 0 or len(head) < 2 or len(matrices) != len(head) + 1:
        raise InputError(f"{path} must be a GREED embedder with pre, convs and post (got {', '.join(list(state)[:3])})")
    width, num_labels = matrices[0].shape
    return {
        "num_labels": num_labels,
        "num_layers": layers,
        "width": width,
        "output_width": len(head[-1]),
        "head_widths": tuple(len(matrix) for matrix in head[:-1]),
    }


# Training on any dataset: split the graphs, label pairs with edit distances, fit, measure on held-out graphs.


_SHARES = (0.4, 0.85, 0.95)  # of the time until a deadline: labels made, network fitted, errors measured
_TOLERANCE = 0.95  # of a label, which is an upper bound: what lies between costs nothing
_WARM_UP = 20  # steps whose time predicts how many more fit before a deadline


@dataclass(frozen=True, kw_only=True)
class EmbedderTraining:
    """How to train an embedder.

    Args:
        effort: Scales the number of labelled pairs and of steps; 1 takes minutes on AIDS-size data.
        num_steps: Optimiser steps at effort 1.
        learning_rate: Peak of the one-cycle schedule of AdamW.
        weight_decay: Of AdamW.
        groups_per_step: Groups drawn for a step, in the order of `KINDS`.
        kind_weights: Weight of each kind's mean loss, in the order of `KINDS`.
        held_out: Share of graphs kept for measuring.
        width: Width of the network and of the embedding.
        num_layers: GIN layers; fewer than the released eight fit as well and train and score in half the time.
        head_widths: Widths of the head's hidden layers.
        seed: Seed of all random numbers.
        jobs: Threads for the edit distances; the answer does not depend on it.
    """

    effort: float = 1.0
    num_steps: int = 14_000
    learning_rate: float = 3e-3
    weight_decay: float = 0.02
    groups_per_step: tuple[int, int, int, int] = (6, 6, 14, 4)
    kind_weights: tuple[float, float, float, float] = (1.5, 0.9, 8.0, 0.3)
    held_out: float = 0.2
    width: int = 64
    num_layers: int = 4
    head_widths: tuple[int, ...] = (64,)
    seed: int = 0
    jobs: int = 1

    def __post_init__(self) -> None:
        if not self.effort > 0:
            raise InputError(f"effort must be positive (got {self.effort})")
        if not 0 < self.held_out < 1:
            raise InputError(f"held_out must lie between 0 and 1 (got {self.held_out})")

    @property
    def total_steps(self) -> int:
        return max(1, round(self.num_steps * self.effort))

    def generator(self, engine: Engine) -> PairGenerator:
        """The generator of pairs for this effort."""
        scale = min(self.effort, 4.0) ** 0.7  # more labels help less than more steps
        plain = PairGenerator()
        counts = {name: max(4, round(getattr(plain, name) * scale)) for name in _COUNTS}
        return PairGenerator(**counts, engine=engine)


_COUNTS = ("num_far", "num_near", "num_chains", "num_paths")


def split_graphs(num_graphs: int, held_out: float, seed: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Indices of the graphs to train on and of those to measure on."""
    order = np.random.default_rng([seed, 0]).permutation(num_graphs)
    num_test = min(max(2, round(held_out * num_graphs)), num_graphs - 2)
    return np.sort(order[num_test:]), np.sort(order[:num_test])


def train_embedder(
    graphs: Sequence[Graph],
    num_labels: int,
    training: EmbedderTraining,
    *,
    out: str | Path | None = None,
    facts: dict[str, Any] | None = None,
    progress: Progress | None = None,
    deadline: float | None = None,
    engine: Engine | None = None,
) -> Greed:
    """Train an embedder, and save it if asked.

    Without a deadline, or with one far enough away, the same graphs and settings give the same weights.

    Args:
        graphs: The dataset's graphs.
        num_labels: Size of their label alphabet.
        training: How to train.
        out: File to save to, ending in `.safetensors`.
        facts: Further facts to save, such as label names.
        progress: Called as work proceeds.
        deadline: Time to finish by, in seconds of `time.monotonic`; a near one means fewer labels and steps.
        engine: Where edit distances are computed; None for `training.jobs` threads.

    Returns:
        The embedder in evaluation mode; `facts["held_out"]` has its errors on held-out graphs, and
        `facts["cut_short"]` whether labels or steps were left out for the deadline.
    """
    if len(graphs) < 10:
        raise InputError(f"Training an embedder needs at least 10 graphs (got {len(graphs)})")
    out = None if out is None else Path(out)
    engine, report = engine or LocalEngine(jobs=training.jobs), progress or (lambda *_: None)
    started = time.monotonic()
    labelled_by, fitted_by, measured_by = (
        None if deadline is None else started + share * (deadline - started) for share in _SHARES
    )
    train, test = split_graphs(len(graphs), training.held_out, training.seed)

    def groups_of(
        name: str, indices: npt.NDArray[np.intp], generator: PairGenerator, by: float | None
    ) -> LabelledGroups:
        """Labelled groups of some graphs, as many as can be made by a deadline."""
        some = [graphs[i] for i in indices]
        said: Progress = lambda what, *rest: report(f"{what}, {name}", *rest)
        return generator.generate(some, num_labels, seed=training.seed, progress=said, deadline=by)

    with run.writing_weights(out):
        groups = groups_of("train", train, training.generator(engine), labelled_by)
        cut_short = labelled_by is not None and time.monotonic() >= labelled_by
        with run.one_thread():
            model, is_whole = _Fit(training, num_labels, groups, report).run(fitted_by)
        measured = groups_of("test", test, _measured(training, engine), measured_by)
        model.facts = {
            **(facts or {}),
            "training": settings(training),
            "train_graphs": train.tolist(),
            "held_out": held_out_errors(model, measured),
            "cut_short": cut_short or not is_whole,
            "seconds": round(time.monotonic() - started, 1),
        }
        if out is not None:
            save_embedder(model, out, model.facts)
        return model


def _measured(training: EmbedderTraining, engine: Engine) -> PairGenerator:
    """The generator of pairs to measure errors on; the same for every effort from 1 on."""
    share = min(1.0, max(0.05, training.effort))
    counts = {"num_far": round(12 * share) or 1, "num_near": round(40 * share), "num_chains": round(60 * share)}
    return PairGenerator(
        **counts, num_paths=0, far_size=10, near_size=5, chain_size=7, sweeps=2 * SWEEPS, engine=engine
    )


def held_out_errors(model: Greed, groups: LabelledGroups) -> dict[str, dict[str, float]]:
    """Root mean square error and bias of predicted edit distances for each kind of pair.

    Pairs of equal graphs do not count, since their distance is right by construction.
    """
    embeddings = model.embed(groups.graphs)
    predicted = np.linalg.norm(embeddings[groups.pairs[:, 0]] - embeddings[groups.pairs[:, 1]], axis=1)
    kinds = np.repeat(groups.kinds, np.diff(groups.pair_ptr))
    result = {}
    for index, kind in enumerate(KINDS):
        chosen = (kinds == index) & (groups.distances > 0)
        if chosen.any():
            error = predicted[chosen] - groups.distances[chosen]
            result[kind] = {
                "rmse": round(float(np.sqrt((error**2).mean())), 4),
                "bias": round(float(error.mean()), 4),
                "mean_distance": round(float(groups.distances[chosen].mean()), 4),
                "pairs": int(chosen.sum()),
            }
    return result


class _Fit:
    """The optimisation."""

    def __init__(self, training: EmbedderTraining, num_labels: int, groups: LabelledGroups, progress: Progress) -> None:
        self.training, self.groups, self.progress = training, groups, progress
        self.distances = torch.from_numpy(groups.distances)
        self.pools = [groups.of_kind(kind) for kind in KINDS]
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(training.seed)
            self.model = Greed(
                num_labels, num_layers=training.num_layers, width=training.width, output_width=training.width,
                head_widths=training.head_widths,
            )  # fmt: skip
        self.optimiser = torch.optim.AdamW(
            self.model.parameters(), lr=training.learning_rate, weight_decay=training.weight_decay
        )

    def run(self, deadline: float | None = None) -> tuple[Greed, bool]:
        """Fit the network; returns it and whether all steps were done, as a near deadline allows fewer."""
        step, total, started = 0, self.training.total_steps, time.monotonic()
        self.model.train()
        smoothed: float | None = None
        while step < total and (deadline is None or step == 0 or time.monotonic() < deadline):
            loss = self._step(step, total)
            step += 1
            smoothed = loss if smoothed is None else 0.99 * smoothed + 0.01 * loss
            if deadline is not None and step == _WARM_UP:
                now = time.monotonic()
                total = min(total, step + int(0.95 * (deadline - now) * _WARM_UP / (now - started)))
            if step % 25 == 0 or step == total:
                self.progress("training", step, total, f"loss {smoothed:.3f}")
        return self.model.eval(), step >= self.training.total_steps

    def _step(self, step: int, total: int) -> float:
        for group in self.optimiser.param_groups:
            group["lr"] = self.training.learning_rate * _one_cycle(step / total)
        graphs, pairs, chosen, kinds = self._draw(np.random.default_rng([self.training.seed, 2, step]))
        embeddings = self.model(graphs)
        distance = torch.sqrt(((embeddings[pairs[:, 0]] - embeddings[pairs[:, 1]]) ** 2).sum(dim=1) + 1e-8)
        upper = self.distances[chosen]
        losses = (distance - upper).relu() ** 2 + (_TOLERANCE * upper - distance).relu() ** 2
        total_loss = losses.new_zeros(())
        for kind, weight in enumerate(self.training.kind_weights):
            of_kind = losses[kinds == kind]
            if len(of_kind):
                total_loss = total_loss + weight * of_kind.mean()
        self.optimiser.zero_grad(set_to_none=True)
        total_loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 10.0)
        self.optimiser.step()
        return float(total_loss.detach())

    def _draw(self, rng: np.random.Generator) -> tuple[GraphTensors, Tensor, Tensor, Tensor]:
        """The graphs of some groups, their pairs as rows of the batch, the pairs' indices, and their kinds."""
        groups = self.groups
        drawn = np.concatenate(
            [
                rng.choice(pool, min(count, len(pool)), replace=False)
                for pool, count in zip(self.pools, self.training.groups_per_step, strict=True)
            ]
        )
        members = _ranges(groups.group_ptr, drawn)
        pairs = _ranges(groups.pair_ptr, drawn)
        starts = pointers(np.diff(groups.group_ptr)[drawn])[:-1] - groups.group_ptr[drawn]
        shift = np.repeat(starts, np.diff(groups.pair_ptr)[drawn])
        kinds = np.repeat(groups.kinds[drawn], np.diff(groups.pair_ptr)[drawn])
        return (
            GraphTensors.from_batch(groups.graphs.select(members)),
            torch.from_numpy(groups.pairs[pairs] + shift[:, None]),
            torch.from_numpy(pairs),
            torch.from_numpy(kinds),
        )


def _ranges(ptr: npt.NDArray[np.int64], chosen: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
    return np.concatenate([np.arange(ptr[g], ptr[g + 1]) for g in chosen])


def _one_cycle(share: float) -> float:
    """Learning rate as a share of its peak: a linear rise over the first twentieth, then a half cosine to zero."""
    rise = 0.05
    return share / rise if share < rise else 0.5 * (1 + float(np.cos(np.pi * (share - rise) / (1 - rise))))


def settings(training: EmbedderTraining) -> dict[str, Any]:
    """The settings that determine the result: all except the number of jobs."""
    names = [name for name in training.__dataclass_fields__ if name != "jobs"]
    return {name: getattr(training, name) for name in names}


def obtain_embedder(
    dataset: GraphDataset,
    path: Path | None,
    folder: Path,
    *,
    training: EmbedderTraining,
    engine: Engine | None = None,
    deadline: float | None = None,
    progress: Progress | None = None,
) -> tuple[Greed, ModelFile]:
    """Load an embedder from a file, or train one on the dataset unless the cache has it; the run folder gets a copy of what was trained."""
    if path is not None:
        return load_embedder(path, label_names=dataset.label_names), ModelFile.of(path, folder)
    about = {"dataset": dataset.name, "label_names": list(dataset.label_names)}

    def report(what: str, done: int, total: int, word: str) -> None:
        if progress is not None:
            progress(f"embedder: {what}", done, total, word)

    def train(out: Path | None, facts: dict[str, Any]) -> Greed:
        how: dict[str, Any] = {"progress": report, "deadline": deadline, "engine": engine}
        return train_embedder(dataset.graphs, dataset.num_labels, training, out=out, facts=about | facts, **how)

    key = [data_fingerprint(dataset, with_classes=False), settings(training)]
    return CachedModel.of(f"{dataset.name}-greed", key).copied(
        folder / "embedder.safetensors", load_embedder, train, deadline
    )
