"""What models answer, as the probability of one class: raw scores, probabilities or their logarithms, one or many."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from comrecgc.classifiers.classifier import FloatArray
from comrecgc.errors import InputError

RETURN_TYPES = ("raw", "probs", "log_probs")
"""PyG's words: `raw` scores (logits), probabilities, logarithms of probabilities."""

_TOLERANCE = 1e-3


def as_scores(answer: Any, num_graphs: int, num_nodes: int, num_scores: int | None = None) -> FloatArray:
    """A model's answer as an array, `[B, K]`; one score per graph is one column.

    Args:
        answer: A tensor, an array or nested lists of numbers.
        num_graphs: How many graphs were asked about.
        num_nodes: How many nodes they have, to recognise answers about nodes.
        num_scores: `K`, once it is known: then an answer that was squeezed is brought back into shape.
    """
    if isinstance(answer, torch.Tensor):
        answer = answer.detach().double().cpu().numpy()
    try:
        scores = np.asarray(answer, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"The model must answer with numbers (got {type(answer).__name__})") from error
    if num_scores is not None and scores.size == num_graphs * num_scores:
        scores = scores.reshape(num_graphs, num_scores)
    if scores.ndim == 1:
        scores = scores[:, None]
    if scores.ndim != 2 or len(scores) != num_graphs or (num_scores is not None and scores.shape[1] != num_scores):
        hint = "; it answers per node: pool the nodes of each graph first" if scores.shape[:1] == (num_nodes,) else ""
        raise InputError(
            f"The model must answer one row of scores per graph (got shape {scores.shape} for {num_graphs} graphs{hint})"
        )
    if scores.shape[1] == 0:
        raise InputError("The model must answer at least one score per graph (got none)")
    if np.isnan(scores).any():
        place = int(np.flatnonzero(np.isnan(scores).any(axis=1))[0])
        raise InputError(f"The model must answer numbers (got NaN for graph {place} of {num_graphs})")
    return scores


def detect_return_type(scores: FloatArray) -> str:
    """`raw`, `probs` or `log_probs`, where the scores `[B, K]` leave no doubt; otherwise the question is asked."""
    within_unit = bool(((scores >= 0) & (scores <= 1)).all())
    if scores.shape[1] > 1:
        if np.allclose(_row_sums(scores, "probs"), 1, atol=_TOLERANCE) and within_unit:
            return "probs"
        if np.allclose(_row_sums(scores, "log_probs"), 1, atol=_TOLERANCE):
            return "log_probs"
        if not within_unit:
            return "raw"
        doubt = "scores in [0, 1] whose rows do not sum to 1"
    elif within_unit:
        doubt = "single scores in [0, 1], which may be probabilities or raw scores"
    elif (scores <= 0).all():
        doubt = "single scores below 0, which may be raw scores or log-probabilities"
    else:
        return "raw"
    raise InputError(f"return_type must say what the scores are: {', '.join(map(repr, RETURN_TYPES))} (got {doubt})")


def check_target_class(num_scores: int, target_class: int | None) -> int:
    """The class whose probability counts, checked: 1 by default for models of one or two classes."""
    num_classes = max(num_scores, 2)
    if target_class is None:
        if num_classes > 2:
            raise InputError(f"target_class must choose the class to reach among 0…{num_classes - 1} (got none)")
        return 1
    if not 0 <= target_class < num_classes:
        raise InputError(f"target_class must lie in 0…{num_classes - 1} (got {target_class})")
    return target_class


def class_probability(scores: FloatArray, return_type: str, target_class: int) -> FloatArray:
    """Probability of the target class against all the rest, `[B]`; refuses scores that are not what they should be.

    With two scores a graph it is above 0.5 exactly when the target's score is the larger one.

    Args:
        scores: What the model answered, `[B, K]`; a single score is about class 1.
        return_type: What the scores are.
        target_class: The class.
    """
    _check(scores, return_type)
    if scores.shape[1] == 1:
        single = scores[:, 0]
        probability = {"raw": _sigmoid(single), "probs": single, "log_probs": np.exp(np.minimum(single, 0))}[
            return_type
        ]
        return probability if target_class == 1 else np.asarray(1 - probability)
    if return_type == "probs":
        return np.asarray(scores[:, target_class] / scores.sum(axis=1))
    others = np.delete(scores, target_class, axis=1)
    with np.errstate(invalid="ignore"):  # a class of probability 0 has the logarithm -inf
        return _sigmoid(scores[:, target_class] - np.logaddexp.reduce(others, axis=1))


def _check(scores: FloatArray, return_type: str) -> None:
    if return_type != "log_probs" and not np.isfinite(scores).all():
        raise InputError(f"The model must answer finite scores (got {scores[~np.isfinite(scores)][0]})")
    if return_type == "raw":
        return
    low, high = (-_TOLERANCE, 1 + _TOLERANCE) if return_type == "probs" else (-np.inf, _TOLERANCE)
    wrong = scores[(scores < low) | (scores > high)]
    if wrong.size:
        where = "in [0, 1]" if return_type == "probs" else "below 0"
        raise InputError(f"return_type={return_type!r} needs scores {where} (got {wrong[0]:.6g})")
    sums = _row_sums(scores, return_type)
    if scores.shape[1] > 1 and not np.allclose(sums, 1, atol=_TOLERANCE):
        worst = sums[np.abs(sums - 1).argmax()]
        raise InputError(f"return_type={return_type!r} needs probabilities that sum to 1 (got {worst:.6g})")


def _row_sums(scores: FloatArray, return_type: str) -> FloatArray:
    with np.errstate(over="ignore"):
        return np.asarray((scores if return_type == "probs" else np.exp(scores)).sum(axis=1))


def _sigmoid(x: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-np.logaddexp(0, -x)))
