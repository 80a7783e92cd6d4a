from __future__ import annotations

import numpy as np
import pytest

from comrecgc.graphs import GraphBatch
from comrecgc.models import Classifier, GraphClassifier, Predictions, predict
from comrecgc.models.classifier import FloatArray
from tests.models.data import random_batch


class Constant:
    """Gives every graph the same probability."""

    num_labels = 3

    def __init__(self, probability: float) -> None:
        self.probability = probability

    def accept_probability(self, batch: GraphBatch) -> FloatArray:
        return np.full(len(batch), self.probability)


def test_both_classes() -> None:
    predictions = Predictions(probability=np.array([0.2, 0.5, 0.51, 1.0]))
    assert predictions.accepted.tolist() == [False, False, True, True]
    assert predictions.rejects.tolist() == [0, 1]
    assert predictions.accepts.tolist() == [2, 3]
    assert predictions.warning is None


@pytest.mark.parametrize(("probability", "rejects", "words"), [(0.9, 0, "accepts all 12"), (0.1, 12, "rejects all 12")])
def test_a_model_that_always_answers_the_same_is_valid_and_says_so(
    probability: float, rejects: int, words: str
) -> None:
    predictions = predict(Constant(probability), random_batch(0))
    assert len(predictions.rejects) == rejects
    assert predictions.warning is not None
    assert words in predictions.warning


def test_no_graphs() -> None:
    predictions = predict(Constant(0.4), [])
    assert predictions.warning == "There are no graphs to classify."
    assert len(predictions.rejects) == len(predictions.accepts) == 0


def test_graphs_and_their_batch_are_the_same_to_predict() -> None:
    batch, model = random_batch(1), GraphClassifier("gcn", 3)
    np.testing.assert_array_equal(predict(model, batch).probability, predict(model, list(batch)).probability)


def test_protocol() -> None:
    assert isinstance(Constant(0.5), Classifier)
    assert isinstance(GraphClassifier("gcn", 2), Classifier)
    assert not isinstance(object(), Classifier)
