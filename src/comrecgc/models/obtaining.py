"""The models of a run: loaded from files, or trained once and kept in the user's cache."""

from __future__ import annotations

import functools
import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
from platformdirs import user_cache_path

from comrecgc.data import GraphDataset
from comrecgc.errors import InputError
from comrecgc.graphs import fingerprint
from comrecgc.models.greed import Greed, load_embedder
from comrecgc.models.greed_training import EmbedderTraining, train_embedder
from comrecgc.models.networks import GraphClassifier, load_classifier
from comrecgc.models.training import ClassifierTraining, EpochReport, train_classifier
from comrecgc.run import Engine, Progress, check_writable, facts_path, only_writer_of, reason_of, write_atomically

_M = TypeVar("_M", GraphClassifier, Greed)


@dataclass(frozen=True)
class ModelFile:
    """A model's file as a manifest names it.

    Args:
        path: Where it is; relative to the run folder if it is in there.
        sha256: Checksum of the file.
    """

    path: str
    sha256: str

    @classmethod
    def of(cls, path: Path, folder: Path) -> ModelFile:
        """The file at a path, for a run in a folder."""
        inside = path.resolve().is_relative_to(folder.resolve())
        shown = path.resolve().relative_to(folder.resolve()) if inside else path.resolve()
        return cls(shown.as_posix(), checksum(path))

    def find(self, folder: Path, what: str) -> Path:
        """The very same file again.

        Args:
            folder: The run folder.
            what: What the model is, which is also the option that names another file.
        """
        path = folder / self.path
        if not path.is_file():
            raise InputError(f"The {what} of the run is gone: give its file with --{what} (got no {path})")
        if checksum(path) != self.sha256:
            raise InputError(f"{path} has changed since the run: its SHA-256 must be {self.sha256[:12]}…")
        return path


def checksum(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(_bytes(path)).hexdigest()


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"Cannot read {path}: {reason_of(error)}") from error


def data_fingerprint(dataset: GraphDataset, *, with_classes: bool = True) -> str:
    """The same exactly for the same graphs, label names and features, and classes where these count."""
    digest = hashlib.sha256(fingerprint(dataset.graphs).encode())
    digest.update(json.dumps(dataset.label_names).encode())
    digest.update(np.ascontiguousarray(dataset.features).tobytes())
    if with_classes:
        digest.update(np.asarray(dataset.classes, dtype=np.int8).tobytes())
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
    """The classifier in a file, or one trained on the dataset, now or in an earlier run.

    Args:
        dataset: The data it is for.
        path: A checkpoint; None to train.
        folder: The run folder, which gets a copy of what was trained.
        training: How to train.
        deadline: When a training must stop, as `time.monotonic()` counts.
        progress: Called as the training goes on.
    """
    if path is not None:
        return load_classifier(path, label_names=dataset.label_names), ModelFile.of(path, folder)

    def report(epoch: EpochReport) -> None:
        if progress is not None:
            words = f"validation {epoch.accuracy:.1%}, best {epoch.best_accuracy:.1%}"
            progress(f"training {training.model}", epoch.epoch, epoch.epochs, words)

    return _trained(
        f"{dataset.name}-{training.model}",
        [data_fingerprint(dataset), training.stated()],
        folder / "classifier.safetensors",
        lambda out: train_classifier(dataset, training, out=out, resume=True, progress=report, deadline=deadline).model,
        deadline,
    )


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
    """The embedder in a file, or one trained on the dataset, now or in an earlier run.

    Args:
        dataset: The data it is for.
        path: A checkpoint; None to train.
        folder: The run folder, which gets a copy of what was trained.
        training: How to train.
        engine: Where edit distances are computed; None for threads.
        deadline: When a training must stop, as `time.monotonic()` counts.
        progress: Called as the training goes on.
    """
    if path is not None:
        return load_embedder(path, label_names=dataset.label_names), ModelFile.of(path, folder)
    facts = {"dataset": dataset.name, "label_names": list(dataset.label_names)}

    def report(what: str, done: int, total: int, word: str) -> None:
        if progress is not None:
            progress(f"embedder: {what}", done, total, word)

    return _trained(
        f"{dataset.name}-greed",
        [data_fingerprint(dataset, with_classes=False), asdict(replace(training, jobs=1))],
        folder / "embedder.safetensors",
        lambda out: train_embedder(
            dataset.graphs,
            dataset.num_labels,
            training,
            out=out,
            resume=True,
            facts=facts,
            progress=report,
            deadline=deadline,
            engine=engine,
        ),
        deadline,
    )


def _trained(
    name: str, key: list[Any], target: Path, train: Callable[[Path], _M], deadline: float | None
) -> tuple[_M, ModelFile]:
    """Train in the cache, where an earlier or interrupted training of the same kind is taken up, and copy the result.

    With a deadline, what the cache does not have is trained in the run folder, and kept in the cache only if it is whole.

    Args:
        name: What the model is, for people who look into the cache.
        key: All that the model depends on, as JSON values.
        target: The copy for the run.
        train: Trains into a file.
        deadline: When the training must stop, as `time.monotonic()` counts.
    """
    plain = "".join(char if char.isalnum() or char in "-_" else "-" for char in name)
    digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:16]
    cached = user_cache_path("comrecgc") / "models" / f"{plain}-{digest}.safetensors"
    try:
        check_writable(cached.parent)
    except InputError:
        return train(target), ModelFile.of(target, target.parent)
    if deadline is None or cached.exists():
        with only_writer_of(cached.with_suffix(".turn"), wait=True):  # who trains the same elsewhere does it for both
            model = train(cached)
            _copy_model(cached, target)
    else:
        model = train(target)
        if time.monotonic() < deadline and not model.facts.get("cut_short"):
            _copy_model(target, cached)
    return model, ModelFile.of(target, target.parent)


def _copy_model(source: Path, target: Path) -> None:
    """Weights and their facts; the weights, which make the copy whole, go last."""
    for file, copy in ((facts_path(source), facts_path(target)), (source, target)):
        contents = _bytes(file)
        write_atomically(copy, functools.partial(_write, contents))


def _write(contents: bytes, file: BinaryIO) -> None:
    file.write(contents)
