"""A panel: other classifiers, trained afresh on the same labels, that vote on counterfactuals.

A counterfactual that only the explained model accepts may be a quirk of one training run. One that most classifiers of other seeds, splits and
architectures accept too says something about the data.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from comrecgc.data import GraphDataset
from comrecgc.errors import InputError
from comrecgc.graphs import BoolArray, GraphBatch
from comrecgc.models.classifier import Classifier
from comrecgc.models.networks import GraphClassifier, load_classifier, save_classifier
from comrecgc.models.training import (
    CachedModel,
    ClassifierTraining,
    EpochReport,
    ModelFile,
    data_fingerprint,
    split_dataset,
    train_classifier,
)
from comrecgc.run import Engine, LocalEngine, Progress

_SEEDS_APART = 1000  # between panels; the seeds people give their own models are smaller


@dataclass(frozen=True, kw_only=True)
class PanelTraining:
    """How to train the classifiers of a panel: for fewer epochs than the explained model, which costs a point of accuracy.

    Args:
        models: Architecture of each member.
        epochs: Most epochs.
        patience: Stop after so many epochs without a better validation accuracy.
        learning_rate: Step size of Adam.
        number: Number of the panel: panels of different numbers share no seed, so that one can check choices made with another.
    """

    models: tuple[str, ...] = ("gcn", "gcn", "gin", "sage")
    epochs: int = 200
    patience: int = 80
    learning_rate: float = 0.003
    number: int = 0

    def __post_init__(self) -> None:
        if not self.models:
            raise InputError("A panel needs at least one member (got none)")
        if self.number < 0:
            raise InputError(f"number must not be negative (got {self.number})")
        self.members()  # checks the rest

    def members(self) -> tuple[ClassifierTraining, ...]:
        """The training of each member; its seed decides its split of the data too."""
        return tuple(
            ClassifierTraining(
                model=model,
                epochs=self.epochs,
                patience=self.patience,
                learning_rate=self.learning_rate,
                seed=_SEEDS_APART * (self.number + 1) + place,
            )
            for place, model in enumerate(self.models)
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class PanelMember:
    """One classifier of a panel."""

    name: str  # its architecture and seed, or its file
    classifier: Classifier
    accuracy: float | None = None  # share of right answers on graphs it was not trained on; None if not known


@dataclass(frozen=True, eq=False)
class Panel:
    """Classifiers that vote on graphs."""

    members: tuple[PanelMember, ...]
    unanimous: bool = (
        False  # whether all must accept, as when several models are explained at once; otherwise a majority
    )

    def __post_init__(self) -> None:
        if not self.members:
            raise InputError("A panel needs at least one member (got none)")

    def __len__(self) -> int:
        return len(self.members)

    @property
    def majority(self) -> int:
        """Number of votes that confirm: more than half of the panel, or all."""
        return len(self.members) if self.unanimous else len(self.members) // 2 + 1

    def votes(self, batch: GraphBatch) -> npt.NDArray[np.int8]:
        """How many members accept each graph, `[B]`."""
        return np.asarray(self.accepts(batch).sum(axis=0), np.int8)

    def accepts(self, batch: GraphBatch) -> BoolArray:
        """Which members accept each graph, `[members, B]`."""
        return np.array([member.classifier.accept_probability(batch) > 0.5 for member in self.members])

    def confirms_changes(self, before: GraphBatch, after: GraphBatch) -> BoolArray:
        """Whether most members that reject a graph accept its result, `[B]`; the votes of others say nothing about the change."""
        return self.confirmed(self.accepts(before), self.accepts(after))

    def confirmed(self, before: BoolArray, after: BoolArray) -> BoolArray:
        """The same, given what the members accept before and after, `[members, B]` each."""
        heard = ~before
        num = heard.sum(axis=0)
        needed = len(self.members) if self.unanimous else num // 2 + 1
        return np.asarray(((after & heard).sum(axis=0) >= needed) & (num > 0))

    def confirms(self, batch: GraphBatch) -> BoolArray:
        """Whether most members accept each graph, `[B]`."""
        return np.asarray(self.votes(batch) >= self.majority)


def load_panel(
    files: Sequence[str | Path], *, label_names: Sequence[str] | None = None, unanimous: bool = False
) -> Panel:
    """A panel of classifiers from files, as `load_classifier` takes them."""
    models = [(Path(path).name, load_classifier(path, label_names=label_names)) for path in files]
    members = (
        PanelMember(name=str(model.facts.get("name") or name), classifier=model, accuracy=_accuracy(model))
        for name, model in models
    )
    return Panel(tuple(members), unanimous)


def save_panel(panel: Panel | None, folder: Path, label_names: Sequence[str]) -> list[ModelFile]:
    """Write the members of a panel to the run folder."""
    files = []
    for place, member in enumerate(panel.members if panel is not None else ()):
        if not isinstance(member.classifier, GraphClassifier):
            raise InputError(
                f"Only classifiers of this package can be kept with a run (got {member.name} in the panel)"
            )
        path = folder / f"panel-{place + 1}.safetensors"
        accuracy = {} if member.accuracy is None else {"accuracy": {"test": member.accuracy}}
        save_classifier(member.classifier, path, {"name": member.name, "label_names": list(label_names), **accuracy})
        files.append(ModelFile.of(path, folder))
    return files


def obtain_panel(
    dataset: GraphDataset,
    *,
    files: Sequence[str | Path] = (),
    training: PanelTraining | None = None,
    has_classes: bool = True,
    folder: Path | None = None,
    engine: Engine | None = None,
    deadline: float | None = None,
    progress: Progress | None = None,
) -> tuple[Panel | None, str]:
    """The panel for a dataset, and a sentence on it; None and the reason if there are no labels or no time.

    Members are trained unless `files` are given, each in a process of its own, and kept in `folder`, or in the user's cache; an interrupted training resumes.
    The panel does not depend on the engine. `deadline` is in seconds of `time.monotonic`.
    """
    if files:
        panel = load_panel(files, label_names=dataset.label_names)
        return panel, f"A panel of {len(panel)} given classifiers was asked too."
    members = (training or PanelTraining()).members()
    try:
        if not has_classes:
            raise InputError("the graphs have no classes to train it on")
        for member in members:
            split_dataset(dataset, np.random.default_rng(member.seed))
    except InputError as error:
        reason = str(error)
        return None, f"There is no panel: {reason[:1].lower()}{reason[1:].rstrip('.')}."
    try:
        panel = _train_members(dataset, members, folder, engine or LocalEngine(jobs=2), deadline, progress)
    except _OutOfTimeError:
        return None, "There is no panel: there was no time to train it."
    return panel, _sentence(panel, dataset)


class _OutOfTimeError(Exception):
    """The deadline came before a member was trained."""


def _train_members(
    dataset: GraphDataset,
    members: Sequence[ClassifierTraining],
    folder: Path | None,
    engine: Engine,
    deadline: float | None,
    progress: Progress | None,
) -> Panel:
    if sum(not _cached(dataset, member, folder).is_there for member in members) < 2:
        engine = LocalEngine()
    # Machines agree on the time of day only.
    until = None if deadline is None else time.time() + deadline - time.monotonic()
    results = engine.map(_train, (dataset, folder, until), members, processes=True)
    panel = []
    for training, model in zip(members, results, strict=True):
        name = f"{training.model} of seed {training.seed}"
        panel.append(PanelMember(name=name, classifier=model, accuracy=_accuracy(model)))
        if progress is not None:
            progress("training the panel", len(panel), len(members), f"{name}: {panel[-1].accuracy:.1%}")
    return Panel(tuple(panel))


def _train(shared: tuple[GraphDataset, Path | None, float | None], training: ClassifierTraining) -> GraphClassifier:
    """Train one member, or load it from the cache."""
    dataset, folder, until = shared
    cached = _cached(dataset, training, folder)

    def watch(_: EpochReport) -> None:
        if until is not None and time.time() > until:
            raise _OutOfTimeError

    if until is not None and time.time() > until and not cached.is_there:
        raise _OutOfTimeError
    return cached.obtain(
        load_classifier,
        lambda out, facts: train_classifier(dataset, training, out=out, facts=facts, progress=watch).model,
    )


def _cached(dataset: GraphDataset, training: ClassifierTraining, folder: Path | None) -> CachedModel:
    """The cache entry of a member."""
    key = [data_fingerprint(dataset), asdict(training)]
    return CachedModel.of(f"{dataset.name}-{training.model}-{training.seed}", key, folder)


def _accuracy(model: GraphClassifier) -> float | None:
    accuracy = getattr(model, "facts", {}).get("accuracy")
    test = accuracy.get("test") if isinstance(accuracy, dict) else None
    return float(test) if isinstance(test, int | float) else None


def _sentence(panel: Panel, dataset: GraphDataset) -> str:
    known = [member.accuracy for member in panel.members if member.accuracy is not None]
    commonest = max(float(dataset.classes.mean()), 1 - float(dataset.classes.mean()))
    return (
        f"A panel of {len(panel)} classifiers was trained on the same labels: right on {min(known):.0%} to "
        f"{max(known):.0%} of graphs they were not trained on; the most frequent class has {commonest:.0%}."
    )
