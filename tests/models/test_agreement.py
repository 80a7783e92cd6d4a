from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from comrecgc.data import GraphDataset
from comrecgc.graphs import Graph
from comrecgc.models import Agreement, Predictions


def dataset(classes: list[int]) -> GraphDataset:
    return GraphDataset(
        name="toy", graphs=(Graph([0], []),) * len(classes), classes=np.array(classes), label_names=("C",), class_names=("toxic", "safe")
    )  # fmt: skip


def test_recalls_and_a_sentence() -> None:
    agreement = Agreement.of(Predictions(probability=np.array([0.1, 0.9, 0.9, 0.9, 0.2])), dataset([0, 0, 1, 1, 1]))
    assert agreement.accuracy == pytest.approx(0.6)
    assert agreement.recall_on_rejects == pytest.approx(0.5)
    assert agreement.recall_on_accepts == pytest.approx(2 / 3)
    assert agreement.balanced_accuracy == pytest.approx(7 / 12)
    assert "50% of the 2 of class toxic" in agreement.sentence
    assert agreement.sentence.endswith("It rejects 2, 1 of them rightly.")
    assert agreement.warning is not None
    assert agreement.warning.startswith("The balanced accuracy of the model is 0.58")


def test_warnings() -> None:
    fine = Agreement(num_rejects=100, num_accepts=100, rejected=90, accepted=80, class_names=("toxic", "safe"))
    assert fine.warning is None
    blind = replace(fine, rejected=5, accepted=100)
    assert blind.warning is not None
    assert blind.warning.startswith("The model hardly ever predicts toxic: it knows 5% of them.")
    assert replace(fine, num_rejects=0, rejected=0).warning is None
