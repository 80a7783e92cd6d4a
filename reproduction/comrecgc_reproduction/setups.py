"""The setup of an experiment: a dataset, the classifier to be explained and the embedder, released or trained here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from comrecgc.data import GraphDataset, load_dataset
from comrecgc.models import (
    Classifier,
    ClassifierTraining,
    Embedder,
    EmbedderTraining,
    obtain_classifier,
    obtain_embedder,
)
from comrecgc_reproduction.mean_pool import obtain_mean_pooled
from comrecgc_reproduction.results import Scale

Progress = Callable[[str, int, int, str], None]

_SEED = 0  # of the embedder and of the sample


@dataclass(frozen=True, eq=False, kw_only=True)
class Setup:
    """A dataset and the models of an experiment.

    Args:
        name: Name of the dataset.
        model: Kind of the classifier.
        scale: How large the experiment is.
        models: Folder for trained models.
        checkpoints: Folder with released models: NAME/classifier.pth (a GCN) and NAME/greed.pt.
        data_root: Folder to look for archives in first.
        jobs: Cores to use.
        progress: Called as models are trained.
        training_seed: Seed of a classifier that is trained here.
        swapped: Whether the classes are exchanged, so that the other graphs are rejected.
        pool: How a classifier that is trained here pools its nodes: "max", as the released ones, or "mean".
        effort: Share of the scale's effort that an embedder trained here takes.
        most_size: Graphs with more nodes and edges than this are not explained; None for all graphs.
        sibling: A setup of the same graphs whose embedder this one shares, so that graphs are embedded once for both.
    """

    name: str
    model: str
    scale: Scale
    models: Path
    checkpoints: Path | None = None
    data_root: Path | None = None
    jobs: int = 1
    progress: Progress | None = None
    training_seed: int = 0
    swapped: bool = False
    pool: str = "max"
    effort: float = 1.0
    most_size: int | None = None
    sibling: Setup | None = None

    @property
    def label(self) -> str:
        """Dataset and model in a word; cells are named after it."""
        varied = (
            f"trained {self.training_seed}" if self.training_seed else "",
            "swapped" if self.swapped else "",
            "" if self.pool == "max" else f"{self.pool} pool",
            "" if self.effort == 1 else f"effort {self.effort:g}",
            "" if self.most_size is None else f"up to {self.most_size}",
        )
        return " ".join([self.name, self.model, *filter(None, varied)])

    @cached_property
    def whole(self) -> GraphDataset:
        """All graphs of the dataset: models are trained on these."""
        whole = load_dataset(self.name, root=self.data_root)
        if not self.swapped:
            return whole
        accept, reject = whole.class_names
        return replace(whole, classes=1 - np.asarray(whole.classes), class_names=(reject, accept))

    @cached_property
    def dataset(self) -> GraphDataset:
        """The graphs that are explained: all, or a sample with as many of each class, the same in every run."""
        whole, most = self.whole, self.scale.most_graphs
        if self.most_size is not None:
            whole = whole.subset([i for i, graph in enumerate(whole.graphs) if graph.size <= self.most_size])
        if most is None or len(whole) <= most:
            return whole
        order = np.random.default_rng(_SEED).permutation(len(whole))
        chosen = [order[whole.classes[order] == which][: most // 2] for which in (0, 1)]
        return whole.subset(np.sort(np.concatenate(chosen)).tolist())

    @property
    def released_classifier(self) -> Path | None:
        """The released classifier, where there is one of this kind."""
        return self._released("classifier.pth") if self.model == "gcn" else None

    @property
    def released_embedder(self) -> Path | None:
        """The released embedder, where there is one."""
        return self._released("greed.pt")

    @cached_property
    def classifier(self) -> Classifier:
        """The classifier to be explained."""
        training = ClassifierTraining(model=self.model, epochs=self.scale.epochs, seed=self.training_seed)
        folder = self.models / replace(self, effort=1.0, most_size=None).label.replace(" ", "-")
        if self.pool == "mean":
            return obtain_mean_pooled(self.whole, training, folder / "classifier.safetensors")
        return obtain_classifier(
            self.whole, self.released_classifier, folder, training=training, progress=self.progress
        )[0]

    @cached_property
    def embedder(self) -> Embedder:
        """The embedder that measures distances."""
        if self.sibling is not None:
            return self.sibling.embedder
        training = EmbedderTraining(effort=self.scale.effort * self.effort, jobs=self.jobs, seed=_SEED)
        folder = self.models / (self.name if self.effort == 1 else f"{self.name}-effort-{self.effort:g}")
        return obtain_embedder(self.whole, self.released_embedder, folder, training=training, progress=self.progress)[0]

    @property
    def provenance(self) -> str:
        """The origin of the models, in words."""
        classifier = "released" if self.released_classifier is not None else "trained here"
        embedder = "released" if self.released_embedder is not None else "trained here"
        return f"{self.name}: {self.model} {classifier}, embedder {embedder}"

    def _released(self, file: str) -> Path | None:
        path = None if self.checkpoints is None else self.checkpoints / self.name / file
        return path if path is not None and path.is_file() else None
