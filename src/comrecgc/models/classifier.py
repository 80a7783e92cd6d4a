"""The `Classifier` protocol, its predictions, the reading of any model's scores, and the detection of a model's call.

A model may answer with a row of class scores, a single score, or a number with a threshold; `ScoreReading` turns each into the probability of accept.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
import numpy.typing as npt
import torch

from comrecgc.data import GraphDataset
from comrecgc.errors import InputError
from comrecgc.graphs import BoolArray, Graph, GraphBatch, LongArray

FloatArray = npt.NDArray[np.float64]

CHUNK_NODES = 100_000
"""Most nodes of one forward pass, which bounds memory whatever the size of the batch."""


@runtime_checkable
class Classifier(Protocol):
    """A binary graph classifier over node labels `0 … num_labels-1`; it accepts a graph iff the probability is > 0.5."""

    @property
    def num_labels(self) -> int:
        """Size of the node label alphabet the classifier knows."""
        ...

    def accept_probability(self, batch: GraphBatch) -> FloatArray:
        """Probability of accept of every graph of the batch, `[B]`."""
        ...


@dataclass(frozen=True, eq=False, kw_only=True)
class Predictions:
    """Answers of a classifier on some graphs."""

    probability: FloatArray  # of accept, `[B]`
    explained: BoolArray | None = None  # mask of the graphs that are to be explained if rejected, `[B]`; None for all

    @property
    def accepted(self) -> BoolArray:
        """Mask of the accepted graphs, `[B]`; a tie is a reject."""
        return self.probability > 0.5

    @property
    def rejects(self) -> LongArray:
        """Indices of the rejected graphs, the inputs of an explanation."""
        return np.flatnonzero(~self.accepted if self.explained is None else ~self.accepted & self.explained)

    @property
    def accepts(self) -> LongArray:
        """Indices of the accepted graphs."""
        return np.flatnonzero(self.accepted)

    @property
    def warning(self) -> str | None:
        """A warning if nothing is rejected, or nothing accepted; None if both classes occur."""
        count = len(self.probability)
        if count == 0:
            return "There are no graphs to classify."
        if self.accepted.all():
            return (
                f"The classifier accepts all {count} graphs: there are no rejects to explain. "
                "If accept is the wrong class, choose another with accept."
            )
        if not self.accepted.any():
            return f"The classifier rejects all {count} graphs: no graph shows what it accepts."
        if len(self.rejects) == 0:
            return f"None of the {count} graphs is of the source class: there are no rejects to explain."
        return None


def predict(classifier: Classifier, graphs: GraphBatch | Iterable[Graph]) -> Predictions:
    """Apply the classifier to graphs; a classifier that always answers the same is valid and gives a `warning`."""
    batch = graphs if isinstance(graphs, GraphBatch) else GraphBatch.from_graphs(graphs)
    explained = getattr(classifier, "explained", None)  # of several classes only one may be explained
    probability = classifier.accept_probability(batch)
    return Predictions(probability=probability, explained=None if explained is None else explained(batch))


LEAST_BALANCED = 0.7
"""Balanced accuracy below which there is a warning: an explanation of a bad model says nothing about the data."""

_HARDLY = 0.1  # of the graphs of a class that are predicted so


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """Agreement of predictions with classes."""

    num_rejects: int  # graphs of the class reject
    num_accepts: int
    rejected: int  # rejects that the model rejects
    accepted: int  # accepts that it accepts
    class_names: tuple[str, str]

    @classmethod
    def of(cls, predictions: Predictions, dataset: GraphDataset) -> Agreement:
        """How predictions on a dataset agree with its classes."""
        is_accept = dataset.classes == 1
        accepted = predictions.accepted
        return cls(
            num_rejects=int((~is_accept).sum()),
            num_accepts=int(is_accept.sum()),
            rejected=int((~is_accept & ~accepted).sum()),
            accepted=int((is_accept & accepted).sum()),
            class_names=dataset.class_names,
        )

    @property
    def accuracy(self) -> float:
        """Share of graphs that the model gets right."""
        return (self.rejected + self.accepted) / max(self.num_rejects + self.num_accepts, 1)

    @property
    def recall_on_rejects(self) -> float:
        """Share of rejects that the model rejects."""
        return self.rejected / max(self.num_rejects, 1)

    @property
    def recall_on_accepts(self) -> float:
        """Share of accepts that the model accepts."""
        return self.accepted / max(self.num_accepts, 1)

    @property
    def balanced_accuracy(self) -> float:
        """Mean of both recalls."""
        return float(np.mean([self.recall_on_rejects, self.recall_on_accepts]))

    @property
    def has_both(self) -> bool:
        return self.num_rejects > 0 and self.num_accepts > 0

    @property
    def sentence(self) -> str:
        """The agreement in one sentence."""
        reject, accept = self.class_names
        said = self.rejected + self.num_accepts - self.accepted
        return (
            f"The model gets {self.accuracy:.1%} of the graphs right, training graphs included: {self.recall_on_rejects:.0%} of the "
            f"{self.num_rejects} of class {reject}, {self.recall_on_accepts:.0%} of the {self.num_accepts} of class {accept} (balanced accuracy "
            f"{self.balanced_accuracy:.2f}). It rejects {said}, {self.rejected} of them rightly."
        )

    @property
    def warning(self) -> str | None:
        """A warning if the model is so inaccurate that an explanation may be about the model only; else None."""
        if not self.has_both:
            return None
        recalls = (self.recall_on_rejects, self.recall_on_accepts)
        for name, recall in zip(self.class_names, recalls, strict=True):
            if recall < _HARDLY:
                return f"The model hardly ever predicts {name}: it knows {recall:.0%} of them. Its rules may say little about the data."
        if self.balanced_accuracy < LEAST_BALANCED:
            return (
                f"The balanced accuracy of the model is {self.balanced_accuracy:.2f}, and guessing has 0.50: "
                "its rules may say little about the data."
            )
        return None


def check_labels(batch: GraphBatch, num_labels: int) -> None:
    """Refuse a batch with labels beyond the classifier's alphabet."""
    if len(batch.labels) and batch.labels.max() >= num_labels:
        raise InputError(f"The classifier knows node labels 0…{num_labels - 1} (got {batch.labels.max()})")


RETURN_TYPES = ("raw", "probs", "log_probs")
"""Kinds of scores, as PyG names them: logits, probabilities, logarithms of probabilities."""

DECISIONS = ("argmax", "rest")
"""Conditions for accepting the target of several classes: likeliest of all, or likelier than all others together."""

_TOLERANCE = 1e-3


@dataclass(frozen=True, kw_only=True)
class ScoreReading:
    """How to turn scores into the probability of accept."""

    return_type: str = "raw"  # what the scores are, one of `RETURN_TYPES`
    target_class: int = 1  # the class that means accept
    source_class: int | None = None  # the class whose graphs are explained; None for all that are not accepted
    decision: str = "argmax"  # when the target is accepted, one of `DECISIONS`
    threshold: float | None = None  # of a single number per graph: what separates reject from accept
    higher: bool = True  # whether numbers above the threshold are accepted
    spread: float = 1.0  # standard deviation of the numbers, the unit of their distance from the threshold

    @classmethod
    def of(
        cls,
        scores: FloatArray,
        *,
        return_type: str | None = None,
        accept: int | str | None = None,
        reject: int | None = None,
        decision: str | None = None,
        threshold: float | None = None,
    ) -> ScoreReading:
        """The reading for answers on some graphs, `[B, K]`; arguments as for `as_classifier`, inferred from the answers if None."""
        if threshold is None and isinstance(accept, str):
            raise InputError(f"accept is a class, or a side of a threshold (got {accept!r})")
        if threshold is not None:
            if not np.isfinite(threshold):
                raise InputError(f"threshold must be a finite number (got {threshold})")
            if isinstance(accept, str) and accept not in ("higher", "lower"):
                raise InputError(f"accept must be 'higher' or 'lower' where there is a threshold (got {accept!r})")
            if scores.shape[1] != 1:
                raise InputError(f"threshold is for models that answer one number per graph (got {scores.shape[1]})")
            if isinstance(accept, int) or reject is not None or return_type not in (None, "raw"):
                raise InputError("threshold and a class must not both be given: a number has no classes (got both)")
            spread = float(np.std(scores)) or 1.0
            return cls(threshold=float(threshold), higher=accept != "lower", spread=spread)
        if decision is not None and decision not in DECISIONS:
            raise InputError(f"decision must be one of {', '.join(DECISIONS)} (got {decision!r})")
        assert not isinstance(accept, str)
        target, largest = check_target_class(scores.shape[1], accept), max(scores.shape[1], 2) - 1
        if reject is not None and (not 0 <= reject <= largest or reject == target):
            raise InputError(f"reject must lie in 0…{largest} and not be the target (got {reject})")
        reading = cls(
            return_type=return_type or detect_return_type(scores),
            target_class=target,
            source_class=reject,
            decision=decision or "argmax",
        )
        reading.probability(scores)
        return reading

    def probability(self, scores: FloatArray) -> FloatArray:
        """Probability of accept, `[B]`."""
        if self.threshold is not None:
            _check(scores, "raw")
            above = (scores[:, 0] - self.threshold) / self.spread
            return _sigmoid(above if self.higher else -above)
        return class_probability(scores, self.return_type, self.target_class, decision=self.decision)

    def explained(self, scores: FloatArray) -> BoolArray:
        """Mask of the graphs that are to be explained if rejected, `[B]`: all, or those of the source class."""
        if self.source_class is None:
            return np.ones(len(scores), dtype=bool)
        if scores.shape[1] == 1:
            return np.asarray(class_probability(scores, self.return_type, self.source_class) >= 0.5)
        return np.asarray(scores.argmax(axis=1) == self.source_class)

    def log_odds(self, scores: torch.Tensor) -> torch.Tensor:
        """The logarithm of the odds of accept, `[B, K]` to `[B]`, with gradients; positive exactly where a graph is accepted."""
        if self.threshold is not None:
            above = (scores[:, 0] - self.threshold) / self.spread
            return above if self.higher else -above
        if scores.shape[1] == 1:
            single = scores[:, 0]
            if self.return_type == "probs":
                single = torch.logit(single, eps=torch.finfo(single.dtype).eps)
            elif self.return_type == "log_probs":
                single = single - torch.log(-torch.expm1(single.clamp(max=-torch.finfo(single.dtype).eps)))
            return single if self.target_class == 1 else -single
        tiny = torch.finfo(scores.dtype).tiny
        logs = scores.clamp(min=tiny).log() if self.return_type == "probs" else scores
        others = torch.cat([logs[:, : self.target_class], logs[:, self.target_class + 1 :]], dim=1)
        against = others.amax(dim=1) if self.decision == "argmax" else torch.logsumexp(others, dim=1)
        return logs[:, self.target_class] - against


def as_scores(answer: Any, num_graphs: int, num_nodes: int, num_scores: int | None = None) -> FloatArray:
    """A model's answer as an array, `[B, K]`; one score per graph is one column. Answers per node are recognised.

    If `K` is known, a squeezed answer is reshaped.
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


def choose_output(answer: Any, output: int | str | None) -> Any:
    """The output that `output` names, or the whole answer."""
    if output is None:
        return answer
    try:
        named = isinstance(output, str) and not isinstance(answer, Mapping) and hasattr(answer, output)
        return getattr(answer, str(output)) if named else answer[output]
    except (TypeError, LookupError) as error:
        raise InputError(f"output must name one of the model's outputs (got {output!r})") from error


def find_output(answer: Any, num_graphs: int) -> int | str | None:
    """The one output, of several, with a row of scores per graph; None if there is a single output."""
    several = isinstance(answer, tuple | Mapping) or (
        isinstance(answer, list) and any(hasattr(x, "shape") for x in answer)
    )
    if not several:
        return None
    items = answer.items() if isinstance(answer, Mapping) else enumerate(answer)
    shapes = {key: tuple(value.shape) for key, value in items if hasattr(value, "shape")}
    fitting = [key for key, shape in shapes.items() if len(shape) in (1, 2) and shape[0] == num_graphs]
    if len(fitting) != 1:
        found = ", ".join(f"{key!r}: {shape}" for key, shape in shapes.items())
        raise InputError(
            f"output must name the one of the model's outputs that holds the scores (got shapes {found or 'none'})"
        )
    return fitting[0]


def detect_return_type(scores: FloatArray) -> str:
    """`raw`, `probs` or `log_probs`, if the scores `[B, K]` leave no doubt; otherwise an `InputError` asks for `return_type`."""
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
    kinds = ", ".join(map(repr, RETURN_TYPES))
    raise InputError(
        f"return_type, in as_classifier(model, dataset, return_type=…), must be one of {kinds} (got {doubt})"
    )


def check_target_class(num_scores: int, target_class: int | None) -> int:
    """The class whose probability counts, checked: 1 by default for models of one or two classes."""
    num_classes = max(num_scores, 2)
    if target_class is None:
        if num_classes > 2:
            raise InputError(f"accept must choose the class to reach among 0…{num_classes - 1} (got none)")
        return 1
    if not 0 <= target_class < num_classes:
        raise InputError(f"accept must lie in 0…{num_classes - 1} (got {target_class})")
    return target_class


def class_probability(
    scores: FloatArray, return_type: str, target_class: int, *, decision: str = "argmax"
) -> FloatArray:
    """Probability of the target class, `[B]`; refuses scores that do not fit `return_type`. A single score is about class 1.

    Under "argmax" it is the target against the likeliest other class, so that it is above 0.5 exactly when the target's score is the
    largest. Under "rest" it is the target against all other classes together.
    """
    _check(scores, return_type)
    if scores.shape[1] == 1:
        single = scores[:, 0]
        readings = {"raw": _sigmoid(single), "probs": single, "log_probs": np.exp(np.minimum(single, 0))}
        probability = readings[return_type]
        return probability if target_class == 1 else np.asarray(1 - probability)
    target, others = scores[:, target_class], np.delete(scores, target_class, axis=1)
    if return_type == "probs":
        against = others.max(axis=1) if decision == "argmax" else others.sum(axis=1)
        return np.asarray(target / (target + against))
    with np.errstate(invalid="ignore"):  # a class of probability 0 has the logarithm -inf
        against = others.max(axis=1) if decision == "argmax" else np.logaddexp.reduce(others, axis=1)
        return _sigmoid(target - against)


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


def log_odds(probability: FloatArray) -> FloatArray:
    """`log(p / (1 - p))`, finite."""
    p = np.clip(probability, 1e-15, 1 - 1e-15)
    return np.log(p) - np.log1p(-p)


# How a model is called, as far as its signature and its layers show.

CALLS = ("tensors", "data", "data_list", "graphs", "smiles", "molecules")
"""Kinds of calls of a model: see `as_classifier`."""


def detect_call(model: Callable[..., Any]) -> str:
    """How a module wants to be called, by its signature; a function gets a list."""
    if not isinstance(model, torch.nn.Module):
        return "data_list"
    parameters = model_parameters(model)
    required = [p for p in parameters.values() if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    several = any(p.kind is p.VAR_POSITIONAL for p in required)
    if several or len(required) == 3 or ("edge_index" in parameters and "batch" in parameters):
        return "tensors"
    if len(required) == 1 and "edge_index" not in parameters:
        return "data"
    raise InputError(f"call must be one of {', '.join(CALLS)} (got forward({', '.join(parameters)}))")


def model_parameters(model: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """Parameters of a module's `forward` or of a function; empty if Python cannot inspect it."""
    if isinstance(model, torch.jit.ScriptModule):  # whose signature is TorchScript's and not Python's
        kind, method = inspect.Parameter.POSITIONAL_OR_KEYWORD, cast(Any, model.forward)
        return {
            each.name: inspect.Parameter(
                each.name, kind, default=each.default_value if each.has_default_value() else inspect.Parameter.empty
            )
            for each in method.schema.arguments[1:]
        }
    try:
        return inspect.signature(model.forward if isinstance(model, torch.nn.Module) else model).parameters
    except (TypeError, ValueError):
        return {}


def model_device(model: Callable[..., Any]) -> torch.device:
    """Device of a module; the CPU for functions."""
    if isinstance(model, torch.nn.Module):
        for tensor in (*model.parameters(), *model.buffers()):
            return tensor.device
    return torch.device("cpu")


def input_width(model: Callable[..., Any]) -> int | None:
    """Width of the features that the model's first layer takes; None if it has no such attribute."""
    if isinstance(model, torch.nn.Module):
        for layer in model.modules():
            for name in ("in_channels", "in_features"):
                if isinstance(width := getattr(layer, name, None), int) and width > 0:
                    return width
    return None
