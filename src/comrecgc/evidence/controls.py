"""Controls: classifiers that know nothing, explained by the same pipeline. What is said of them must be worse.

Two have the architecture of the explained model and random weights, one the mirror image of the other: random weights often follow something, such as size, that
goes with the labels by luck, and what one of the two has by luck the other lacks. A third, and a panel of its own, is trained on labels dealt out at random. All
reject as large a share of the data as the explained model does, which shifts one bias.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from comrecgc.algorithms.base import Algorithm, VectorAlgorithm
from comrecgc.algorithms.rules.algorithm import Rules
from comrecgc.algorithms.rules.mining import log_odds
from comrecgc.data import GraphDataset
from comrecgc.evidence.subject import Subject
from comrecgc.explainer import CommonRecourseExplainer
from comrecgc.graphs import GraphBatch
from comrecgc.models import (
    Classifier,
    GraphClassifier,
    Panel,
    PanelTraining,
    obtain_panel,
    predict,
)
from comrecgc.run import Engine, Progress, RunContext

MOST_REJECTS = 200
"""Rejects of each classifier of a control that are explained."""

SHUFFLED_TRAINING = PanelTraining(models=("gcn", "gcn", "gin", "sage"), epochs=100, patience=40, number=9)
"""How classifiers of shuffled labels are trained; the first is explained, the others are its panel."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Ignorant:
    """A classifier that knows nothing of the labels, and who is asked about it.

    Args:
        name: What was done to it.
        dataset: The data with the labels it is held to.
        classifier: The model.
        panel: Other models of these labels.
    """

    name: str
    dataset: GraphDataset
    classifier: Classifier
    panel: Panel | None


def random_weights(subject: Subject) -> tuple[Ignorant, Ignorant]:
    """The explained model's architecture with weights as training would begin with, and its mirror image, which accepts what it rejects."""
    model = subject.classifier
    architecture, hidden = ("gcn", 20) if not isinstance(model, GraphClassifier) else (model.architecture, model.hidden)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(subject.seed)
        drawn = GraphClassifier(architecture, subject.dataset.features, hidden=hidden).eval()
    mirrored = copy.deepcopy(drawn)
    with torch.no_grad():
        mirrored.fc.weight.copy_(drawn.fc.weight.flip(0))
    first, second = (
        Ignorant(
            name="random weights",
            dataset=subject.dataset,
            classifier=_calibrated(model, subject),
            panel=subject.judges.panel,
        )
        for model in (drawn, mirrored)
    )
    return first, second


def shuffled_labels(
    subject: Subject,
    *,
    training: PanelTraining = SHUFFLED_TRAINING,
    folder: Path | None = None,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Ignorant | None:
    """A classifier and a panel trained on shuffled labels; None where none can be trained.

    Args:
        subject: What they are compared with.
        training: How they are trained.
        folder: Where they are kept; None for the user's cache.
        engine: Where they are trained; None for two at a time here.
        progress: Called as work proceeds.
    """
    rng = np.random.default_rng([subject.seed, 23])
    dataset = replace(subject.dataset, classes=rng.permutation(subject.dataset.classes))
    panel, _ = obtain_panel(dataset, training=training, folder=folder, engine=engine, progress=progress)
    if panel is None or len(panel) < 2:
        return None
    first, *others = panel.members
    assert isinstance(first.classifier, GraphClassifier)
    return Ignorant(
        name="shuffled labels",
        dataset=dataset,
        classifier=_calibrated(first.classifier, subject),
        panel=Panel(tuple(others)),
    )


def explained(ignorant: Ignorant, subject: Subject, seconds: float | None = None) -> Subject:
    """The same pipeline on another classifier, on some of its rejects.

    Args:
        ignorant: The classifier.
        subject: What was done with the true one.
        seconds: Time for a search of vectors.
    """
    dataset = ignorant.dataset
    rejects = np.flatnonzero(~predict(ignorant.classifier, dataset).accepted)
    rng = np.random.default_rng([subject.seed, 24])
    left_out = np.sort(rng.permutation(rejects)[MOST_REJECTS:])
    kept = np.setdiff1d(np.arange(len(dataset)), left_out)
    explained_on = dataset.subset(kept.tolist())
    task, panel = subject.settings, ignorant.panel
    algorithm: Algorithm = task.algorithm
    if isinstance(algorithm, VectorAlgorithm):
        algorithm = replace(algorithm, embedder=subject.embedder)
    elif isinstance(algorithm, Rules):
        algorithm = replace(algorithm, sample=len(explained_on))
    found = CommonRecourseExplainer(
        ignorant.classifier, algorithm, theta=task.theta, num_recourses=task.num_recourses, random_state=task.random_state,
        panel=False if panel is None else panel, context=RunContext(time_budget=seconds),
    ).fit(explained_on)  # fmt: skip
    return replace(
        subject,
        explanation=found.explanation_,
        dataset=dataset,
        classifier=ignorant.classifier,
        judges=replace(subject.judges, panel=panel),
        mined=found.mined_,
        labels=explained_on.classes,
        shown_again=(),
    )


def _calibrated(model: GraphClassifier, subject: Subject) -> GraphClassifier:
    """The model with its bias shifted so that it rejects as many graphs as the explained one does."""
    batch = GraphBatch.from_graphs(subject.dataset.graphs)
    share = float((subject.classifier.accept_probability(batch) <= 0.5).mean())
    margins = log_odds(model.accept_probability(batch))
    shifted = GraphClassifier(model.architecture, model.features.numpy(), hidden=model.hidden).eval()
    shifted.load_state_dict(model.state_dict())
    with torch.no_grad():
        shifted.fc.bias[1] -= float(np.quantile(margins, share))
    return shifted
