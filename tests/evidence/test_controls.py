from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from comrecgc.data import GraphDataset
from comrecgc.evidence.controls import explain_control, random_weights, shuffled_labels
from comrecgc.evidence.evaluation import EvaluatedRun
from comrecgc.evidence.gathering import gather
from comrecgc.graphs import GraphBatch
from comrecgc.models import PanelTraining, log_odds
from tests.evidence.scenes import honest, num_rejects, subject_of, trees
from tests.stubs import AvoidsLabel

QUICK = PanelTraining(models=("gcn", "gin"), epochs=3, number=9)


@pytest.fixture(scope="module")
def dataset() -> GraphDataset:
    return trees(160)


@pytest.fixture(scope="module")
def subject(dataset: GraphDataset) -> EvaluatedRun:
    return subject_of(dataset, AvoidsLabel(2, 4))


def test_a_control_rejects_as_many_and_knows_nothing(
    dataset: GraphDataset, subject: EvaluatedRun, tmp_path: Path
) -> None:
    wanted = num_rejects(subject.classifier, dataset)
    drawn, shuffled = random_weights(subject), shuffled_labels(subject, training=QUICK, folder=tmp_path)
    assert shuffled is not None
    for control in (*drawn, shuffled):
        assert abs(num_rejects(control.classifier, dataset) - wanted) <= 0.1 * len(dataset)
    assert shuffled.dataset.classes.sum() == dataset.classes.sum()
    assert (shuffled.dataset.classes != dataset.classes).mean() > 0.2
    assert shuffled.panel is not None
    assert len(shuffled.panel) == 1  # the first is explain_control


def test_random_weights_come_with_their_mirror_image(dataset: GraphDataset, subject: EvaluatedRun) -> None:
    batch = GraphBatch.from_graphs(dataset.graphs)
    drawn, mirrored = (log_odds(control.classifier.accept_probability(batch)) for control in random_weights(subject))
    np.testing.assert_allclose(np.diff(drawn), -np.diff(mirrored), atol=1e-4)


def test_the_same_seed_draws_the_same_control(subject: EvaluatedRun) -> None:
    first, second = (random_weights(subject)[0].classifier.state_dict() for _ in range(2))  # type: ignore[attr-defined]
    assert all((first[name] == second[name]).all() for name in first)


def test_rules_of_random_weights_cover_much_and_are_called_weak(subject: EvaluatedRun) -> None:
    control = explain_control(random_weights(subject)[0], subject)
    evidence = gather(control, second_panel=honest(), with_controls=False)
    true = gather(subject, second_panel=honest(), with_controls=False)
    assert evidence.figures["coverage"] > 0.5  # type: ignore[operator]
    assert true.levels["strong"] > evidence.levels["strong"]
    assert evidence.levels["weak"] >= evidence.levels["strong"] + evidence.levels["mixed"]


def test_where_no_model_can_be_trained_there_is_no_control_of_shuffled_labels(
    subject: EvaluatedRun, tmp_path: Path
) -> None:
    alone = PanelTraining(models=("gcn",), epochs=1)
    assert shuffled_labels(subject, training=alone, folder=tmp_path) is None
