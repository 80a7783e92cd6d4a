from __future__ import annotations

import numpy as np
import pytest
import torch

from comrecgc.classifiers.adapter import as_scores, check_target_class, class_probability, detect_return_type
from comrecgc.errors import InputError

LOGITS = np.array([[2.0, -1.0], [-0.5, 3.0], [0.25, 0.0]])
PROBABILITY = 1 / (1 + np.exp(LOGITS[:, 0] - LOGITS[:, 1]))
PROBS = np.stack([1 - PROBABILITY, PROBABILITY], axis=1)


@pytest.mark.parametrize(
    ("scores", "return_type"), [(LOGITS, "raw"), (PROBS, "probs"), (np.log(PROBS), "log_probs"), (LOGITS - 9, "raw")]
)
def test_several_scores_give_their_kind_away(scores: np.ndarray, return_type: str) -> None:
    assert detect_return_type(scores) == return_type
    np.testing.assert_allclose(class_probability(scores, return_type, 1), PROBABILITY)
    np.testing.assert_allclose(class_probability(scores, return_type, 0), 1 - PROBABILITY)


@pytest.mark.parametrize("scores", [[[3.0], [-1.0]], [[0.5], [1.5]], [[-2.0], [0.5]]])
def test_single_scores_that_can_only_be_raw(scores: list[list[float]]) -> None:
    assert detect_return_type(np.array(scores)) == "raw"


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        ([[0.2], [0.9]], r"single scores in \[0, 1\]"),
        ([[-0.2], [-3.0]], "single scores below 0"),
        ([[0.2, 0.9], [0.1, 0.3]], "rows do not sum to 1"),
    ],
)
def test_scores_that_leave_a_doubt_are_asked_about(scores: list[list[float]], words: str) -> None:
    with pytest.raises(InputError, match=rf"^return_type must say .*'raw', 'probs', 'log_probs' \(got .*{words}"):
        detect_return_type(np.array(scores))


@pytest.mark.parametrize(
    ("scores", "return_type", "expected"),
    [
        ([[0.0], [np.log(3)]], "raw", [0.5, 0.75]),
        ([[0.2], [1.0]], "probs", [0.2, 1.0]),
        ([[np.log(0.4)]], "log_probs", [0.4]),
    ],
)
def test_single_scores_are_about_class_one(scores: list[list[float]], return_type: str, expected: list[float]) -> None:
    np.testing.assert_allclose(class_probability(np.array(scores), return_type, 1), expected)
    np.testing.assert_allclose(class_probability(np.array(scores), return_type, 0), 1 - np.array(expected))


@pytest.mark.parametrize("return_type", ["raw", "probs", "log_probs"])
def test_three_classes_are_one_against_the_rest(return_type: str) -> None:
    probs = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    scores = {"raw": np.log(probs) + 4.0, "probs": probs, "log_probs": np.log(probs)}[return_type]
    for target in range(3):
        np.testing.assert_allclose(class_probability(scores, return_type, target), probs[:, target])


def test_above_one_half_means_the_larger_score_to_the_last_bit() -> None:
    close = np.array([[3.0, np.nextafter(3.0, 4)], [3.0, 3.0], [np.nextafter(3.0, 4), 3.0]])
    assert (class_probability(close, "raw", 1) > 0.5).tolist() == [True, False, False]
    assert (class_probability(np.array([[1e4, -1e4]]), "raw", 0)).tolist() == [1.0]


def test_certain_log_probabilities() -> None:
    assert class_probability(np.array([[0.0, -np.inf], [-np.inf, 0.0]]), "log_probs", 1).tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("scores", "return_type", "words"),
    [
        ([[0.2], [1.37]], "probs", r"return_type='probs' needs scores in \[0, 1\] \(got 1\.37\)"),
        ([[-0.5]], "probs", r"needs scores in \[0, 1\] \(got -0\.5\)"),
        ([[0.5, 0.9]], "probs", r"needs probabilities that sum to 1 \(got 1\.4\)"),
        ([[-1.0, 2.0]], "log_probs", r"return_type='log_probs' needs scores below 0 \(got 2\)"),
        ([[-1.0, -1.0]], "log_probs", r"sum to 1 \(got 0\.735759\)"),
        ([[np.inf, 0.0]], "raw", r"finite scores \(got inf\)"),
    ],
)
def test_scores_that_are_not_what_they_should_be_are_refused(scores: object, return_type: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        class_probability(np.array(scores), return_type, 1)


def test_answers_come_in_many_forms() -> None:
    assert as_scores([1, 2, 3], 3, 9).tolist() == [[1.0], [2.0], [3.0]]
    assert as_scores(torch.ones(2, 2, requires_grad=True), 2, 9).tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert as_scores(torch.tensor([4.0, 5.0]), 1, 9, num_scores=2).tolist() == [[4.0, 5.0]]  # squeezed
    assert as_scores(torch.tensor(4.0), 1, 9, num_scores=1).tolist() == [[4.0]]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (np.ones((9, 2)), r"one row of scores per graph \(got shape \(9, 2\) for 3 graphs; it answers per node"),
        (np.ones((3, 2, 2)), r"got shape \(3, 2, 2\) for 3 graphs\)"),
        (1.0, r"got shape \(\) for 3 graphs\)"),
        ("yes", r"must answer with numbers \(got str\)"),
        (np.ones((3, 0)), "at least one score"),
        ([0.0, float("nan"), 1.0], r"\(got NaN for graph 1 of 3\)"),
    ],
)
def test_answers_nobody_can_read_are_refused(answer: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        as_scores(answer, 3, 9)


def test_target_class() -> None:
    assert check_target_class(1, None) == check_target_class(2, None) == 1
    assert check_target_class(1, 0) == check_target_class(2, 0) == 0
    assert check_target_class(3, 2) == 2
    with pytest.raises(InputError, match=r"^target_class must choose the class to reach among 0…2 \(got none\)$"):
        check_target_class(3, None)
    for wrong in (-1, 2):
        with pytest.raises(InputError, match=rf"^target_class must lie in 0…1 \(got {wrong}\)$"):
            check_target_class(2, wrong)
