"""Training of the paper's classifiers (COMRECGC, section 4.2): Adam, 80/10/10 split, best validation epoch kept; and where trained models are kept."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import torch
from platformdirs import user_cache_path
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

import comrecgc.run
from comrecgc.data import GraphDataset
from comrecgc.errors import InputError
from comrecgc.graphs import GraphBatch, LongArray, fingerprint
from comrecgc.models import training_kernels
from comrecgc.models.classifier import log_odds, predict
from comrecgc.models.gradients import Backprop, ColouredGraphs, Float32Array, Targets, loss_of
from comrecgc.models.networks import ARCHITECTURES, NUM_LAYERS, GraphClassifier, load_classifier, save_classifier
from comrecgc.run import Progress, check_writable, facts_path, only_writer_of, read_bytes, write_bytes, writing_weights


class TrainingRun:
    """Adam on mini-batches of the training graphs, with the best epoch kept: by validation accuracy, ties by validation loss.

    The parameters of the model, which is on the CPU, change in place. `classes` may be numbers as targets of the log-odds. `balanced` gives both
    classes the same weight, whatever their sizes.
    """

    def __init__(
        self,
        model: GraphClassifier,
        graphs: ColouredGraphs,
        classes: Targets,
        *,
        train: LongArray,
        validation: LongArray,
        rng: np.random.Generator,
        balanced: bool = False,
    ) -> None:
        self.model, self.rng, self._balanced = model, rng, balanced
        self.epoch, self.step = 0, 0
        self.best_epoch, self.best_accuracy, self._best_loss = 0, -1.0, float("inf")
        self._graphs, self._classes, self._train, self._validation = graphs, classes, train, validation
        self._backprop = Backprop(model, graphs.max_degree)
        self._first, self._second = (np.zeros(len(self._backprop.parameters)) for _ in range(2))
        self._validation_batch = graphs.select(validation)
        self._best_state = self._state()

    def advance(self, batch_size: int, learning_rate: float) -> tuple[float, float]:
        """One epoch; its mean training loss and the validation accuracy after it."""
        loss = 0.0
        train = with_equal_classes(self._train, self._classes) if self._balanced else self._train
        for chosen, batch in self._graphs.batches(self.rng.permutation(train), batch_size):
            loss += self._backprop.loss(batch, self._classes[chosen]) * len(chosen)
            self.step += 1
            parameters, gradient = self._backprop.parameters, self._backprop.gradient
            training_kernels.adam(parameters, gradient, self._first, self._second, self.step, learning_rate)
        self.epoch += 1
        accuracy, validation_loss = self._validate()
        if (accuracy, -validation_loss) > (self.best_accuracy, -self._best_loss):
            self.best_epoch, self.best_accuracy, self._best_loss = self.epoch, accuracy, validation_loss
            self._best_state = self._state()
        return loss / len(train), accuracy

    def take_best(self) -> None:
        """Give the model the parameters of the best epoch."""
        # In place, because the model's tensors and the flat parameter vector share their memory.
        ours = self.model.state_dict()
        for name, value in self._best_state.items():
            ours[name].copy_(torch.from_numpy(value))

    def _validate(self) -> tuple[float, float]:
        logits = self._backprop.logits(self._validation_batch)
        targets = self._classes[self._validation]
        loss = loss_of(logits, targets, np.empty_like(logits))
        if targets.dtype.kind == "f":
            return max(0.0, 1 - loss / max(float(np.var(targets)), 1e-12)), loss
        right = (logits[:, 1] > logits[:, 0]) == targets
        if self._balanced:
            return float(np.mean([right[targets == each].mean() for each in np.unique(targets)])), loss
        return float(right.mean()), loss

    def _state(self) -> dict[str, Float32Array]:
        """A copy of the model's parameters and running moments."""
        return {
            name: value.numpy().copy()
            for name, value in self.model.state_dict().items()
            if not name.endswith("num_batches_tracked")
        }


@dataclass(frozen=True, kw_only=True)
class ClassifierTraining:
    """How to train a classifier; the defaults are the paper's, with early stopping added.

    Args:
        model: `gcn`, `gat`, `sage` or `gin`.
        hidden: Width of every layer.
        epochs: Most epochs.
        patience: Epochs without a better validation accuracy after which to stop; None never stops early.
        learning_rate: Step size of Adam.
        batch_size: Graphs in a mini-batch.
        seed: Seed of the split, the first weights and the order of the graphs.
        balanced: Whether both classes have the same weight: graphs of the smaller class are repeated, and the best epoch is the one of the
            best balanced accuracy.
    """

    model: str = "gcn"
    hidden: int = 20
    epochs: int = 1000
    patience: int | None = 200
    learning_rate: float = 0.001
    batch_size: int = 128
    seed: int = 0
    balanced: bool = False

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


@dataclass(frozen=True)
class EpochReport:
    """Figures after an epoch, for a progress bar; accuracies are on the validation graphs."""

    epoch: int
    epochs: int
    loss: float
    accuracy: float
    best_accuracy: float


@dataclass(frozen=True, eq=False, kw_only=True)
class TrainedClassifier:
    """A trained model and its training."""

    model: GraphClassifier  # the model, with the weights of its best validation epoch
    accuracy: dict[str, float]  # on `train`, `validation` and `test`; of numbers, the share of their variance
    best_epoch: int  # the epoch whose weights were kept, counted from 1
    epochs: int  # number of epochs run
    split: Split  # the graphs to train, validate and test on


def train_classifier(
    dataset: GraphDataset,
    training: ClassifierTraining,
    *,
    out: str | Path | None = None,
    facts: dict[str, Any] | None = None,
    progress: Callable[[EpochReport], None] | None = None,
    deadline: float | None = None,
) -> TrainedClassifier:
    """Train a classifier on a dataset.

    The same dataset and settings give the same weights, whatever the number of cores.

    Args:
        dataset: Graphs with their classes; both classes must occur.
        training: The settings.
        out: File to write, ending in `.safetensors`; a JSON file of facts goes beside it.
        facts: Further facts to write.
        progress: Called after every epoch.
        deadline: Time to finish by, in seconds of `time.monotonic`; the best epoch until then is kept, and at least one is run.
    """
    started, out = time.monotonic(), None if out is None else Path(out)
    with writing_weights(out):
        rng = np.random.default_rng(training.seed)
        split = split_dataset(dataset, rng)
        run = _start(dataset, training, split, rng)
        with threadpool_limits(limits=1, user_api="blas"):
            while not _is_over(run, training) and (run.epoch == 0 or deadline is None or time.monotonic() < deadline):
                loss, accuracy = run.advance(training.batch_size, training.learning_rate)
                if progress is not None:
                    progress(EpochReport(run.epoch, training.epochs, loss, accuracy, run.best_accuracy))
        run.take_best()
        result = _result(run, dataset, split)
        result.model.facts = (facts or {}) | _facts(result, dataset, training, time.monotonic() - started)
        if out is not None:
            save_classifier(result.model, out, result.model.facts)
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


def _start(dataset: GraphDataset, training: ClassifierTraining, split: Split, rng: np.random.Generator) -> TrainingRun:
    with torch.random.fork_rng(devices=[]):  # torch initialises weights from its global generator only
        torch.manual_seed(int(rng.integers(2**63)))
        model = GraphClassifier(training.model, dataset.features, hidden=training.hidden)
    graphs = ColouredGraphs(GraphBatch.from_graphs(dataset), NUM_LAYERS)
    targets: Targets = dataset.classes.astype(np.int64)
    if (scale := _number_scale(dataset, split)) is not None and dataset.values is not None:
        targets = (dataset.values - scale[0]) / scale[1]
    balanced = training.balanced and targets.dtype.kind != "f"
    return TrainingRun(
        model, graphs, targets, train=split.train, validation=split.validation, rng=rng, balanced=balanced
    )


def _number_scale(dataset: GraphDataset, split: Split) -> tuple[float, float] | None:
    """Centre and unit of numbers: a network's log-odds are the number minus the centre, in units. None for classes."""
    if dataset.goal is None or dataset.values is None:
        return None
    values = dataset.values[split.train]
    return float(np.mean(values)), float(np.std(values)) or 1.0


def with_equal_classes(indices: LongArray, classes: Targets) -> LongArray:
    """Indices with those of the smaller class repeated, so that both classes have about the same number."""
    parts = [indices[classes[indices] == each] for each in (0, 1)]
    small, large = sorted(parts, key=len)
    times = max(round(len(large) / max(len(small), 1)), 1)
    return np.concatenate([large, *([small] * times)])


def _is_over(run: TrainingRun, training: ClassifierTraining) -> bool:
    waited = run.epoch - run.best_epoch
    return run.epoch >= training.epochs or (training.patience is not None and waited >= training.patience)


def _result(run: TrainingRun, dataset: GraphDataset, split: Split) -> TrainedClassifier:
    model = run.model.eval()
    predictions, values, scale = predict(model, dataset), dataset.values, _number_scale(dataset, split)
    if scale is not None and values is not None:
        error = scale[0] + scale[1] * log_odds(predictions.probability) - values
        accuracy = {
            name: max(0.0, 1 - float((error[indices] ** 2).mean() / max(float(np.var(values[indices])), 1e-12)))
            for name, indices in vars(split).items()
        }
    else:
        right = predictions.accepted == dataset.classes
        accuracy = {name: float(right[indices].mean()) for name, indices in vars(split).items()}
    return TrainedClassifier(model=model, accuracy=accuracy, best_epoch=run.best_epoch, epochs=run.epoch, split=split)


def _facts(
    result: TrainedClassifier, dataset: GraphDataset, training: ClassifierTraining, seconds: float
) -> dict[str, Any]:
    scale = _number_scale(dataset, result.split)
    numbers = {} if scale is None else {"name": dataset.numbers.name, "centre": scale[0], "unit": scale[1]}
    return ({"number": numbers} if numbers else {}) | {
        "dataset": dataset.name,
        "training": asdict(training),
        "label_names": list(dataset.label_names),
        "class_names": list(dataset.class_names),
        "accuracy": result.accuracy,
        "best_epoch": result.best_epoch,
        "epochs": result.epochs,
        "seconds": round(seconds, 1),
        "split": {name: indices.tolist() for name, indices in vars(result.split).items()},
        "versions": comrecgc.run.versions(),
    }


# Models of a run: loaded from files, or trained once and kept in the user's cache.


class _HasFacts(Protocol):
    facts: dict[str, Any]


_M = TypeVar("_M", bound=_HasFacts)


@dataclass(frozen=True)
class ModelFile:
    """The file of a model, as a manifest names it."""

    path: str  # relative if it is in the run folder
    sha256: str  # its checksum

    @classmethod
    def of(cls, path: Path, folder: Path) -> ModelFile:
        """The model file at a path, relative to a run folder if inside it."""
        inside = path.resolve().is_relative_to(folder.resolve())
        shown = path.resolve().relative_to(folder.resolve()) if inside else path.resolve()
        return cls(shown.as_posix(), checksum(path))

    def find(self, folder: Path, what: str) -> Path:
        """The path of the file, checked against its checksum; `what` is the kind of model, which is also the option that names another file."""
        path = folder / self.path
        if not path.is_file():
            raise InputError(f"The {what} of the run is missing: give its file with --{what} (got no {path})")
        if checksum(path) != self.sha256:
            raise InputError(f"{path} has changed since the run: its SHA-256 must be {self.sha256[:12]}…")
        return path


def checksum(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(read_bytes(path)).hexdigest()


def data_fingerprint(dataset: GraphDataset, *, with_classes: bool = True) -> str:
    """A hash of graphs, label names and features, and of classes unless these do not count."""
    digest = hashlib.sha256(fingerprint(dataset.graphs).encode())
    digest.update(json.dumps(dataset.label_names).encode())
    digest.update(np.ascontiguousarray(dataset.features).tobytes())
    if with_classes:
        digest.update(np.asarray(dataset.classes, dtype=np.int8).tobytes())
        digest.update(b"" if dataset.values is None else np.ascontiguousarray(dataset.values).tobytes())
    return digest.hexdigest()


def obtain_classifier(
    dataset: GraphDataset,
    path: Path | None,
    folder: Path,
    *,
    training: ClassifierTraining,
    deadline: float | None = None,
    progress: Progress | None = None,
) -> tuple[GraphClassifier, ModelFile]:
    """Load a classifier from a file, or train one on the dataset unless the cache has it; the run folder gets a copy of what was trained."""
    if path is not None:
        return load_classifier(path, label_names=dataset.label_names), ModelFile.of(path, folder)

    def report(epoch: EpochReport) -> None:
        if progress is not None:
            words = f"validation {epoch.accuracy:.1%}, best {epoch.best_accuracy:.1%}"
            progress(f"training {training.model}", epoch.epoch, epoch.epochs, words)

    model = CachedModel.of(f"{dataset.name}-{training.model}", [data_fingerprint(dataset), asdict(training)])
    return model.copied(
        folder / "classifier.safetensors",
        load_classifier,
        lambda out, facts: (
            train_classifier(dataset, training, out=out, facts=facts, progress=report, deadline=deadline).model
        ),
        deadline,
    )


Load = Callable[[Path], _M]
Train = Callable[[Path | None, dict[str, Any]], _M]
"""Trains a model into a file, or into none, with these among its facts."""


@dataclass(frozen=True)
class CachedModel:
    """A trained model in the user's cache."""

    path: Path | None  # its file, whether it is there or not; None if the cache cannot be written
    digest: str  # hash of all that determines the model, which is among its facts

    @classmethod
    def of(cls, name: str, key: list[Any], folder: Path | None = None) -> CachedModel:
        """The cache entry of the model with this `key` of JSON values, in a folder or the user's cache."""
        plain = "".join(char if char.isalnum() or char in "-_" else "-" for char in name)
        digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:16]
        folder = user_cache_path("comrecgc") / "models" if folder is None else folder
        try:
            check_writable(folder)
        except InputError:
            return cls(None, digest)
        return cls(folder / f"{plain}-{digest}.safetensors", digest)

    @property
    def is_there(self) -> bool:
        """Whether the model was trained before."""
        return self.path is not None and self.path.exists()

    def obtain(self, load: Load[_M], train: Train[_M]) -> _M:
        """Load the model, or train it if it is missing or damaged; without a cache it is trained and not kept."""
        if self.path is None:
            return train(None, {})
        with only_writer_of(self.path.with_suffix(".turn"), wait=True):  # another process may train the same model
            return self._known(self.path, load) or train(self.path, {"key": self.digest})

    def copied(self, target: Path, load: Load[_M], train: Train[_M], deadline: float | None) -> tuple[_M, ModelFile]:
        """Obtain the model, with a copy in the run folder.

        With a deadline, a model that the cache lacks is trained in the run folder, and copied to the cache only if training was not cut short.
        """
        if self.path is not None and (deadline is None or self.is_there):
            model = self.obtain(load, train)
            _copy_model(self.path, target)
            return model, ModelFile.of(target, target.parent)
        known = self._known(target, load)
        model = known or train(target, {"key": self.digest})
        in_time = deadline is not None and time.monotonic() < deadline
        if self.path is not None and known is None and in_time and not model.facts.get("cut_short"):
            _copy_model(target, self.path)
        return model, ModelFile.of(target, target.parent)

    def _known(self, path: Path, load: Load[_M]) -> _M | None:
        """The model in a file; None if the file is missing, damaged or of another model."""
        with suppress(InputError):
            if path.exists() and (model := load(path)).facts.get("key") == self.digest:
                return model
        return None


def _copy_model(source: Path, target: Path) -> None:
    """Copy weights and their facts, the weights last, since a model without facts would be incomplete."""
    for file, copy in ((facts_path(source), facts_path(target)), (source, target)):
        write_bytes(copy, read_bytes(file))
