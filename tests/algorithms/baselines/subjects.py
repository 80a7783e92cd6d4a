"""Small things to explain, with models whose answers anyone can work out."""

from __future__ import annotations

from comrecgc.algorithms.baselines.baseline import Subject
from comrecgc.data import GraphDataset
from comrecgc.models import Classifier, Embedder, predict
from comrecgc.scoring import NeighbourhoodScorer
from tests.stubs import AvoidsLabel, Histogram, small_dataset


def small_subject(
    num_graphs: int = 24,
    *,
    classifier: Classifier | None = None,
    embedder: Embedder | None = None,
    dataset: GraphDataset | None = None,
) -> Subject:
    """Trees over A, B and C; by default those with a C are rejected."""
    dataset = dataset or small_dataset(num_graphs)
    classifier = classifier or AvoidsLabel(2, dataset.num_labels)
    scorer = NeighbourhoodScorer(classifier, embedder or Histogram(dataset.num_labels), dataset.num_labels)
    inputs = [dataset.graphs[i].fresh() for i in predict(classifier, dataset).rejects.tolist()]
    return Subject(scorer=scorer, inputs=inputs, graphs=dataset.graphs)


class Killed(Exception):
    """What ends a run from outside."""


def killing(*_: object) -> None:
    """A progress that ends the run when it is first called."""
    raise Killed
