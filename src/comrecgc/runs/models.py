"""The models of a run: loaded from files, or trained once and kept in the user's cache."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from platformdirs import user_cache_path

from comrecgc.classifiers import (
    ClassifierTraining,
    EpochReport,
    GraphClassifier,
    load_classifier,
    train_classifier,
)
from comrecgc.datasets import GraphDataset
from comrecgc.embedding import EmbedderTraining, Greed, load_embedder, train_embedder
from comrecgc.errors import InputError
from comrecgc.graphs import fingerprint
from comrecgc.pipeline.candidates import Progress
from comrecgc.storage import check_writable, facts_path, only_writer_of, reason_of, write_atomically

QUICK = EmbedderTraining(effort=0.2)

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


def obtain_classifier(
    dataset: GraphDataset,
    path: Path | None,
    folder: Path,
    *,
    training: ClassifierTraining | None = None,
    progress: Progress | None = None,
) -> tuple[GraphClassifier, ModelFile]:
    """The classifier in a file, or one trained on the dataset, now or in an earlier run.

    Args:
        dataset: The data it is for.
        path: A checkpoint; None to train.
        folder: The run folder, which gets a copy of what was trained.
        training: How to train; by default as the paper does.
        progress: Called as the training goes on.
    """
    training = training or ClassifierTraining()
    if path is not None:
        return load_classifier(path, label_names=dataset.label_names), ModelFile.of(path, folder)

    def report(epoch: EpochReport) -> None:
        if progress is not None:
            words = f"validation {epoch.accuracy:.1%}, best {epoch.best_accuracy:.1%}"
            progress(f"training {training.model}", epoch.epoch, epoch.epochs, words)

    return _trained(
        f"{training.model}-{training.epochs}-{training.patience}-{training.seed}",
        dataset,
        folder / "classifier.safetensors",
        lambda out: train_classifier(dataset, training, out=out, resume=True, progress=report).model,
    )


def obtain_embedder(
    dataset: GraphDataset,
    path: Path | None,
    folder: Path,
    *,
    training: EmbedderTraining | None = None,
    progress: Progress | None = None,
) -> tuple[Greed, ModelFile]:
    """The embedder in a file, or one trained on the dataset, now or in an earlier run.

    Args:
        dataset: The data it is for.
        path: A checkpoint; None to train.
        folder: The run folder, which gets a copy of what was trained.
        training: How to train; by default quickly.
        progress: Called as the training goes on.
    """
    training = training or QUICK
    if path is not None:
        return load_embedder(path, label_names=dataset.label_names), ModelFile.of(path, folder)
    facts = {"dataset": dataset.name, "label_names": list(dataset.label_names)}

    def report(what: str, done: int, total: int, word: str) -> None:
        if progress is not None:
            progress(f"embedder: {what}", done, total, word)

    return _trained(
        f"greed-{training.effort:g}-{training.seed}",
        dataset,
        folder / "embedder.safetensors",
        lambda out: train_embedder(
            dataset.graphs, dataset.num_labels, training, out=out, resume=True, facts=facts, progress=report
        ),
    )


def _copy(source: Path, target: Path) -> None:
    contents = _bytes(source)
    write_atomically(target, lambda file: file.write(contents))


def _trained(how: str, dataset: GraphDataset, target: Path, train: Callable[[Path], _M]) -> tuple[_M, ModelFile]:
    """Train in the cache, where an earlier or interrupted training of the same kind is taken up, and copy the result."""
    name = "".join(char if char.isalnum() or char in "-_" else "-" for char in dataset.name)
    cached = user_cache_path("comrecgc") / "models" / f"{name}-{fingerprint(dataset.graphs)[:12]}-{how}.safetensors"
    try:
        check_writable(cached.parent)
    except InputError:
        model = train(target)
    else:
        with only_writer_of(
            cached.with_suffix(".turn"), wait=True
        ):  # whoever trains the same elsewhere does it for both
            model = train(cached)
            for source, copy in ((facts_path(cached), facts_path(target)), (cached, target)):
                _copy(source, copy)
    return model, ModelFile.of(target, target.parent)
