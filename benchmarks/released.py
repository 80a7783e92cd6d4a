"""The dataset and the models a benchmark runs on, as asked for on its command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from comrecgc.data import GraphDataset, load_dataset, paper_theta
from comrecgc.models import GraphClassifier, Greed, load_classifier, load_embedder, predict


@dataclass(frozen=True)
class Subject:
    """A dataset and its models.

    Args:
        dataset: The dataset.
        classifier: Classifies its graphs.
        embedder: Embeds them.
    """

    dataset: GraphDataset
    classifier: GraphClassifier
    embedder: Greed

    def rejects(self) -> GraphDataset:
        """The graphs that the classifier rejects."""
        return self.dataset.subset(predict(self.classifier, self.dataset).rejects)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dataset", default="planted")
    parser.add_argument("--checkpoints", type=Path, help="folder with DATASET/classifier.pth and DATASET/greed.pt")
    parser.add_argument("--data-root", type=Path)
    parser.add_argument("--theta", type=float, help="0.1 unless said, 0.15 for proteins")


def load(
    arguments: argparse.Namespace, without: Callable[[GraphDataset], tuple[GraphClassifier, Greed]] | None = None
) -> Subject:
    """What the arguments say; without checkpoints the models are made by `without`, or are not trained at all."""
    dataset = load_dataset(arguments.dataset, root=arguments.data_root)
    if arguments.checkpoints is None:
        return Subject(dataset, *(without or untrained)(dataset))
    folder = arguments.checkpoints / dataset.name
    return Subject(dataset, load_classifier(folder / "classifier.pth"), load_embedder(folder / "greed.pt"))


def untrained(dataset: GraphDataset) -> tuple[GraphClassifier, Greed]:
    """Models that say arbitrary things at the speed of trained ones."""
    torch.manual_seed(0)
    return GraphClassifier("gcn", dataset.num_labels).eval(), Greed(dataset.num_labels)


def theta_of(arguments: argparse.Namespace) -> float:
    """The paper's θ unless another was asked for."""
    return arguments.theta or paper_theta(arguments.dataset)
