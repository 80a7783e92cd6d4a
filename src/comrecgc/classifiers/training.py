"""Training of the paper's classifiers (COMRECGC, section 4.2): Adam, 80/10/10 split, best validation epoch kept."""

from __future__ import annotations

import hashlib
import platform
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

import comrecgc
from comrecgc.classifiers.checkpoint import load_classifier, save_classifier
from comrecgc.classifiers.classifier import predict
from comrecgc.classifiers.model import ARCHITECTURES, NUM_LAYERS, GraphClassifier
from comrecgc.classifiers.run import Run
from comrecgc.classifiers.states import ColouredGraphs
from comrecgc.datasets import GraphDataset
from comrecgc.errors import InputError
from comrecgc.graphs import GraphBatch, LongArray
from comrecgc.storage import check_output, facts_path, only_writer_of


@dataclass(frozen=True, kw_only=True)
class ClassifierTraining:
    """How a classifier is trained; the defaults are the paper's, with early stopping added.

    Args:
        model: `gcn`, `gat`, `sage` or `gin`.
        hidden: Width of every layer.
        epochs: Most epochs.
        patience: Stop after so many epochs without a better validation accuracy; None never stops early.
        learning_rate: Step size of Adam.
        batch_size: Graphs in a mini-batch.
        seed: Decides the split, the first weights and the order of the graphs.
    """

    model: str = "gcn"
    hidden: int = 20
    epochs: int = 1000
    patience: int | None = 200
    learning_rate: float = 0.001
    batch_size: int = 128
    seed: int = 0

    def __post_init__(self) -> None:
        if self.model not in ARCHITECTURES:
            raise InputError(f"model must be one of {', '.join(ARCHITECTURES)} (got {self.model!r})")
        for name in ("hidden", "epochs", "batch_size"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1 (got {getattr(self, name)})")
        if self.patience is not None and self.patience < 1:
            raise InputError(f"patience must be at least 1, or None (got {self.patience})")
        if not 0 < self.learning_rate < np.inf:
            raise InputError(f"learning_rate must be positive (got {self.learning_rate})")
        if self.seed < 0:
            raise InputError(f"seed must not be negative (got {self.seed})")


@dataclass(frozen=True, eq=False, kw_only=True)
class Split:
    """Indices of the training, validation and test graphs."""

    train: LongArray
    validation: LongArray
    test: LongArray


@dataclass(frozen=True, kw_only=True)
class EpochReport:
    """What a progress bar shows after an epoch; accuracies are on the validation graphs."""

    epoch: int
    epochs: int
    loss: float
    accuracy: float
    best_accuracy: float


@dataclass(frozen=True, eq=False, kw_only=True)
class TrainedClassifier:
    """A trained model and how it came about.

    Args:
        model: The model, with the weights of its best validation epoch.
        accuracy: Share of right answers on the `train`, `validation` and `test` graphs.
        best_epoch: The epoch the weights are of, counted from 1.
        epochs: How many epochs were run.
        split: Which graphs were used for what.
    """

    model: GraphClassifier
    accuracy: dict[str, float]
    best_epoch: int
    epochs: int
    split: Split


def train_classifier(
    dataset: GraphDataset,
    training: ClassifierTraining,
    *,
    out: str | Path | None = None,
    resume: bool = False,
    progress: Callable[[EpochReport], None] | None = None,
    checkpoint_seconds: float = 10.0,
) -> TrainedClassifier:
    """Train a classifier on a dataset.

    The same dataset and settings give the same weights, also when the run is killed and resumed, and whatever the number
    of cores.

    Args:
        dataset: Graphs with their classes; both classes must occur.
        training: The settings.
        out: Where to write the result, ending in `.safetensors`; a JSON file of facts goes beside it, and while training
            runs a file ending in `.training.npz` holds what is needed to resume.
        resume: Go on from what an earlier run with the same `out` left; start afresh where it left nothing.
        progress: Called after every epoch.
        checkpoint_seconds: How often the run is written down.
    """
    out = None if out is None else Path(out)
    if out is not None:
        check_output(out)
    with nullcontext() if out is None else only_writer_of(out, facts_path(out), _checkpoint_path(out)):
        return _trained(dataset, training, out, progress, resume=resume, checkpoint_seconds=checkpoint_seconds)


def _trained(
    dataset: GraphDataset,
    training: ClassifierTraining,
    out: Path | None,
    progress: Callable[[EpochReport], None] | None,
    *,
    resume: bool,
    checkpoint_seconds: float,
) -> TrainedClassifier:
    facts = {"dataset": dataset.name, "fingerprint": _fingerprint(dataset), "training": asdict(training)}
    checkpoint = None if out is None else _checkpoint_path(out)
    if resume and out is not None and checkpoint is not None and out.exists() and not checkpoint.exists():
        return _finished(out, facts)
    rng = np.random.default_rng(training.seed)
    split = split_dataset(dataset, rng)
    run = _start(dataset, training, split, rng)
    if resume and checkpoint is not None and checkpoint.exists():
        run.load(checkpoint, facts)
    elif checkpoint is not None:
        run.save(checkpoint, facts)  # from here on resuming means this run, not what an earlier one left
    started = written = time.monotonic()
    with threadpool_limits(limits=1, user_api="blas"):
        while not _is_over(run, training):
            loss, accuracy = run.advance(training.batch_size, training.learning_rate)
            if checkpoint is not None and time.monotonic() - written >= checkpoint_seconds:
                run.save(checkpoint, facts)
                written = time.monotonic()
            if progress is not None:
                report = EpochReport(
                    epoch=run.epoch,
                    epochs=training.epochs,
                    loss=loss,
                    accuracy=accuracy,
                    best_accuracy=run.best.accuracy,
                )
                progress(report)
    run.take_best()
    result = _result(run, dataset, split)
    if out is not None and checkpoint is not None:
        save_classifier(result.model, out, facts | _facts(result, dataset, time.monotonic() - started))
        checkpoint.unlink(missing_ok=True)
    return result


def split_dataset(dataset: GraphDataset, rng: np.random.Generator) -> Split:
    """A random split, 80% to train, 10% to validate, 10% to test."""
    tenth = max(round(len(dataset) / 10), 1)
    order = rng.permutation(len(dataset))
    split = Split(train=order[2 * tenth :], validation=order[:tenth], test=order[tenth : 2 * tenth])
    if len(split.train) == 0 or len(np.unique(dataset.classes[split.train])) < 2:
        counts = np.bincount(dataset.classes, minlength=2)
        raise InputError(
            f"Training needs graphs of both classes among the 80% to train on "
            f"(got {counts[0]} {dataset.class_names[0]} and {counts[1]} {dataset.class_names[1]} in all)"
        )
    return split


def _start(dataset: GraphDataset, training: ClassifierTraining, split: Split, rng: np.random.Generator) -> Run:
    with torch.random.fork_rng(devices=[]):  # torch draws first weights from its global generator only
        torch.manual_seed(int(rng.integers(2**63)))
        model = GraphClassifier(training.model, dataset.features, hidden=training.hidden)
    graphs = ColouredGraphs(GraphBatch.from_graphs(dataset), NUM_LAYERS)
    classes = dataset.classes.astype(np.int64)
    return Run(model, graphs, classes, train=split.train, validation=split.validation, rng=rng)


def _is_over(run: Run, training: ClassifierTraining) -> bool:
    waited = run.epoch - run.best.epoch
    return run.epoch >= training.epochs or (training.patience is not None and waited >= training.patience)


def _result(run: Run, dataset: GraphDataset, split: Split) -> TrainedClassifier:
    model = run.model.eval()
    right = predict(model, dataset).accepted == dataset.classes
    accuracy = {name: float(right[indices].mean()) for name, indices in vars(split).items()}
    return TrainedClassifier(model=model, accuracy=accuracy, best_epoch=run.best.epoch, epochs=run.epoch, split=split)


def _facts(result: TrainedClassifier, dataset: GraphDataset, seconds: float) -> dict[str, Any]:
    return {
        "label_names": list(dataset.label_names),
        "class_names": list(dataset.class_names),
        "accuracy": result.accuracy,
        "best_epoch": result.best_epoch,
        "epochs": result.epochs,
        "seconds": round(seconds, 1),
        "split": {name: indices.tolist() for name, indices in vars(result.split).items()},
        "versions": {
            "comrecgc": comrecgc.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
            "torch": torch.__version__,
        },
    }


def _finished(out: Path, facts: dict[str, Any]) -> TrainedClassifier:
    """The result an earlier run with the same settings wrote."""
    model = load_classifier(out)
    for name, value in facts.items():
        if model.facts.get(name) != value:
            raise InputError(f"{out} is of another run: {name} must be {value!r} (got {model.facts.get(name)!r})")
    split = Split(**{name: np.array(indices) for name, indices in model.facts["split"].items()})
    chosen = {name: model.facts[name] for name in ("accuracy", "best_epoch", "epochs")}
    return TrainedClassifier(model=model, split=split, **chosen)


def _checkpoint_path(out: Path) -> Path:
    return out.with_suffix(".training.npz")


def _fingerprint(dataset: GraphDataset) -> str:
    """A hash of everything training sees."""
    batch = GraphBatch.from_graphs(dataset)
    digest = hashlib.sha256()
    for array in (batch.labels, batch.edges, batch.node_ptr, dataset.classes, dataset.features):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]
