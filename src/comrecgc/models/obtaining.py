"""The models of a run: loaded from files, or trained once and kept in the user's cache."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from platformdirs import user_cache_path

from comrecgc.data import GraphDataset
from comrecgc.errors import InputError
from comrecgc.graphs import fingerprint
from comrecgc.models.greed import EmbedderTraining, Greed, load_embedder, settings, train_embedder
from comrecgc.models.networks import GraphClassifier, load_classifier
from comrecgc.models.training import ClassifierTraining, EpochReport, train_classifier
from comrecgc.run import Engine, Progress, check_writable, facts_path, only_writer_of, read_bytes, write_bytes

_M = TypeVar("_M", GraphClassifier, Greed)


@dataclass(frozen=True)
class ModelFile:
    """The file of a model, as a manifest names it.

    Args:
        path: Path of the file; relative if it is in the run folder.
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
        """The path of the file, checked against its checksum.

        Args:
            folder: The run folder.
            what: Kind of model, which is also the option that names another file.
        """
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
    """Load a classifier from a file, or train one on the dataset unless the cache has it.

    Args:
        dataset: The data it is for.
        path: A checkpoint; None to train.
        folder: The run folder, which gets a copy of what was trained.
        training: How to train.
        deadline: When training must stop, in seconds of `time.monotonic`.
        progress: Called as training proceeds.
    """
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
    """Load an embedder from a file, or train one on the dataset unless the cache has it.

    Args:
        dataset: The data it is for.
        path: A checkpoint; None to train.
        folder: The run folder, which gets a copy of what was trained.
        training: How to train.
        engine: Where edit distances are computed; None for threads.
        deadline: When training must stop, in seconds of `time.monotonic`.
        progress: Called as training proceeds.
    """
    if path is not None:
        return load_embedder(path, label_names=dataset.label_names), ModelFile.of(path, folder)
    about = {"dataset": dataset.name, "label_names": list(dataset.label_names)}

    def report(what: str, done: int, total: int, word: str) -> None:
        if progress is not None:
            progress(f"embedder: {what}", done, total, word)

    key = [data_fingerprint(dataset, with_classes=False), settings(training)]
    return CachedModel.of(f"{dataset.name}-greed", key).copied(
        folder / "embedder.safetensors",
        load_embedder,
        lambda out, facts: train_embedder(
            dataset.graphs,
            dataset.num_labels,
            training,
            out=out,
            facts=about | facts,
            progress=report,
            deadline=deadline,
            engine=engine,
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
        """The place of a model that the JSON values of `key` determine, in a folder or the user's cache."""
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
        """Whether it was trained before."""
        return self.path is not None and self.path.exists()

    def obtain(self, load: Load[_M], train: Train[_M]) -> _M:
        """Load the model, or train it where it is missing or damaged; without a cache it is trained and not kept."""
        if self.path is None:
            return train(None, {})
        with only_writer_of(
            self.path.with_suffix(".turn"), wait=True
        ):  # another process may be training the same model
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
        """The model in a file; None if there is none, another, or a damaged one."""
        with suppress(InputError):
            if path.exists() and (model := load(path)).facts.get("key") == self.digest:
                return model
        return None


def _copy_model(source: Path, target: Path) -> None:
    """Copy weights and their facts; the weights come last, since a model without facts would be incomplete."""
    for file, copy in ((facts_path(source), facts_path(target)), (source, target)):
        write_bytes(copy, read_bytes(file))
