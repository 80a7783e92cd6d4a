"""Tests of comrecgc.models.jury."""

from __future__ import annotations

import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize

from comrecgc.data import GraphDataset
from comrecgc.graphs import Graph, GraphBatch
from comrecgc.models.jury import NUM_FOLDS, Jury, Stack, ask_members, train_copies, train_jury


def paths(num: int = 160, noise: float = 0.0, seed: int = 0) -> GraphDataset:
    """Paths of two labels, rejected where two nodes of label 1 are neighbours."""
    rng = np.random.default_rng(seed)
    graphs, classes = [], []
    for _ in range(num):
        labels = (rng.random(8) < 0.35).astype(np.int32)
        graphs.append(Graph(labels, np.array([[k, k + 1] for k in range(7)], np.int32)))
        classes.append(not (labels[1:] & labels[:-1]).any())
    wrong = rng.random(num) < noise
    return GraphDataset(
        name="paths", graphs=tuple(graphs), classes=(np.array(classes) ^ wrong).astype(np.int8), label_names=("a", "b")
    )


@pytest.fixture(scope="module")
def jury() -> Jury:
    found, sentence = train_jury(paths())
    assert found is not None, sentence
    return found


def test_a_jury_knows_what_neighbourhoods_say(jury: Jury) -> None:
    new = paths(seed=5)
    truth = jury.truth(GraphBatch.from_graphs(new.graphs), np.zeros(len(new), np.int64))
    assert ((truth > 0.5) == (new.classes == 1)).mean() > 0.9


def test_nobody_is_asked_about_what_it_was_trained_on(jury: Jury) -> None:
    data = paths()
    batch = GraphBatch.from_graphs(data.graphs)
    for member in (*jury.choosing, *jury.reporting):
        assert np.allclose(ask_members([member], batch, jury.folds)[:, 0], member.unseen)
    # A copy that saw a graph of a wrong label repeats it; the copy that is asked does not.
    wrong = replace(data, classes=data.classes.copy())
    wrong.classes[3] = 1 - wrong.classes[3]
    again, _ = train_jury(wrong)
    assert again is not None
    forest = again.choosing[1]
    said = [ask_members([forest], batch.select([3]), np.array([fold]))[0, 0] for fold in range(NUM_FOLDS)]
    others = [value for fold, value in enumerate(said) if fold != again.folds[3]]
    assert abs(said[again.folds[3]] - wrong.classes[3]) > np.mean([abs(value - wrong.classes[3]) for value in others])


def test_warnings_of_training_stay_within_it(capfd: pytest.CaptureFixture[str]) -> None:
    class Warns:
        def fit(self, *_: object) -> Warns:
            warnings.resetwarnings()  # as scikit-learn does in the threads of a forest
            warnings.warn("of a forest", UserWarning, stacklevel=1)
            return self

    kind, table, accepted = SimpleNamespace(make=lambda _seed: Warns()), np.zeros((8, 1), np.float32), np.ones(8)
    before = list(warnings.filters)
    with warnings.catch_warnings(record=True) as heard:
        copies = train_copies(kind, table, accepted, np.arange(8) % NUM_FOLDS, seed=0, jobs=2)  # type: ignore[arg-type]
    assert len(copies) == NUM_FOLDS
    assert not heard
    assert not capfd.readouterr().err
    assert warnings.filters == before


def test_same_seed_same_jury_on_any_number_of_jobs(jury: Jury) -> None:
    again, _ = train_jury(paths(), jobs=3)
    other, _ = train_jury(paths(), seed=1)
    assert again is not None
    assert other is not None
    batch, folds = GraphBatch.from_graphs(paths(seed=9).graphs), np.arange(160) % NUM_FOLDS
    assert np.array_equal(again.truth(batch, folds), jury.truth(batch, folds))
    assert not np.array_equal(other.folds, jury.folds)


def test_a_word_counts_only_where_the_input_is_rejected(jury: Jury) -> None:
    data = paths(seed=9)
    rejected = [graph for graph, label in zip(data.graphs, data.classes, strict=True) if label == 0][:20]
    accepted = [graph for graph, label in zip(data.graphs, data.classes, strict=True) if label == 1][:20]
    folds = np.zeros(20, np.int64)
    report = jury.report(GraphBatch.from_graphs(accepted), GraphBatch.from_graphs(accepted), folds)
    assert report.agree.mean() < 0.1  # they accept the result, and accepted the input already
    report = jury.report(GraphBatch.from_graphs(rejected), GraphBatch.from_graphs(accepted), folds)
    assert report.confirmed.mean() > 0.8
    assert (report.agree <= report.heard).all()


def test_a_stack_is_the_logistic_regression_of_log_odds() -> None:
    rng = np.random.default_rng(0)
    accepted = rng.random(400) < 0.3
    good = np.clip(0.5 + 0.3 * np.where(accepted, 1, -1) + 0.2 * rng.standard_normal(400), 0.02, 0.98)
    bad = rng.random(400) * 0.9 + 0.05
    stack = Stack.of([good, bad], accepted)
    assert stack.weights[0] > 5 * stack.weights[1] >= 0

    def loss(values: np.ndarray) -> float:
        odds = np.log(np.stack([good, bad]) / (1 - np.stack([good, bad])))
        margin = np.where(accepted, 1, -1) * (values[:2] @ odds + values[2])
        weight = np.where(accepted, 0.5 / accepted.mean(), 0.5 / (1 - accepted.mean()))
        return float((weight * np.log1p(np.exp(-margin))).mean() + 0.01 * ((values - [0.5, 0.5, 0]) ** 2).sum())

    plain = minimize(loss, [0.5, 0.5, 0.0], bounds=[(0, None), (0, None), (None, None)]).x
    assert np.allclose([*stack.weights, stack.offset], plain, atol=1e-3)


@pytest.mark.parametrize(
    ("dataset", "has_classes", "reason"),
    [
        (paths(), False, "no classes"),
        (replace(paths(), classes=np.ones(160, np.int8)), True, "of each class"),
        (replace(paths(), classes=(np.random.default_rng(3).random(160) < 0.5).astype(np.int8)), True, "only guess"),
    ],
)
def test_why_there_is_no_jury(dataset: GraphDataset, has_classes: bool, reason: str) -> None:
    found, sentence = train_jury(dataset, has_classes=has_classes)
    assert found is None
    assert reason in sentence


def test_wrong_labels_do_not_make_sure_answers_doubtful() -> None:
    clean, noisy = (train_jury(paths(num=600, noise=noise))[0] for noise in (0.0, 0.1))
    assert clean is not None
    assert noisy is not None
    assert clean._stacks[0].noise < 0.02
    assert 0.05 < noisy._stacks[0].noise < 0.16
    new = paths(num=300, seed=7)
    truth = noisy.truth(GraphBatch.from_graphs(new.graphs), np.zeros(len(new), np.int64))
    sure = truth > 0.9
    assert sure.mean() > 0.2
    assert new.classes[sure].mean() > 0.9
    assert abs(truth[sure].mean() - new.classes[sure].mean()) < 0.1
