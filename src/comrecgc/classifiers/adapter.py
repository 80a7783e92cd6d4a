"""Any model as the classifier to be explained: a torch module, or a plain function of graphs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch

from comrecgc.classifiers.classifier import CHUNK_NODES, Classifier, FloatArray, check_labels
from comrecgc.classifiers.model import GraphClassifier, evaluating
from comrecgc.datasets import GraphDataset
from comrecgc.errors import InputError
from comrecgc.graphs import Graph, GraphBatch, to_data

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


if TYPE_CHECKING:
    from torch_geometric.data import Batch, Data

CALLS = ("tensors", "data", "data_list", "graphs", "smiles", "molecules")
_TRIAL_GRAPHS = 256


@dataclass(frozen=True, eq=False, kw_only=True)
class AdaptedClassifier:
    """A model, how to call it, and how to read its answers. Made by `as_classifier`.

    Args:
        model: A torch module or a function.
        call: How it is called, one of `CALLS`.
        features: Feature row of each node label, `[num_labels, width]`.
        edge_features: Feature row of each edge label, for models that take `edge_attr`.
        output: Which of several outputs holds the scores.
        kwargs: Further keyword arguments of every call.
        num_scores: Scores per graph.
        return_type: What the scores are, one of `RETURN_TYPES`.
        target_class: The class that means accept.
    """

    model: Callable[..., Any]
    call: str
    features: npt.NDArray[np.float32]
    edge_features: npt.NDArray[np.float32] | None
    output: int | str | None
    kwargs: Mapping[str, Any]
    num_scores: int | None = None
    return_type: str = "raw"
    target_class: int = 1

    @property
    def num_labels(self) -> int:
        return len(self.features)

    def accept_probability(self, batch: GraphBatch) -> FloatArray:
        """Probability of the target class of every graph, `[B]`, asked in parts of bounded size."""
        check_labels(batch, self.num_labels)
        parts = [
            class_probability(self.scores(part), self.return_type, self.target_class)
            for part in batch.chunks(CHUNK_NODES)
        ]
        return np.concatenate([np.zeros(0), *parts])

    def scores(self, batch: GraphBatch) -> FloatArray:
        """The scores in the model's answer, `[B, K]`."""
        chosen = choose_output(self.answer(batch), self.output)
        return as_scores(chosen, len(batch), len(batch.labels), self.num_scores)

    def answer(self, batch: GraphBatch) -> Any:
        """Whatever the model answers; a module is in evaluation mode meanwhile, and without gradients."""
        context = evaluating(self.model) if isinstance(self.model, torch.nn.Module) else nullcontext()
        with context:
            return self._asked(batch)

    @property
    def takes_edge_weights(self) -> bool:
        """Whether the model is a module that may be given `edge_weight`; one that takes `data` may still not read it."""
        named = self.call == "tensors" and "edge_weight" in model_parameters(self.model)
        return isinstance(self.model, torch.nn.Module) and (named or self.call == "data")

    def weighted_scores(self, batch: GraphBatch, edge_weight: torch.Tensor) -> torch.Tensor:
        """The scores of graphs with weighted edges as a tensor with gradients, `[B, K]`, in the module's present mode.

        Args:
            batch: The graphs.
            edge_weight: Weight of each entry of `batch.edge_index()`, `[2M]`.
        """
        scores = choose_output(self._asked(batch, edge_weight.to(model_device(self.model))), self.output)
        assert isinstance(scores, torch.Tensor)
        return scores.reshape(len(batch), -1)

    def _asked(self, batch: GraphBatch, edge_weight: torch.Tensor | None = None) -> Any:
        arguments, named = self._arguments(batch)
        if edge_weight is not None and self.call == "data":
            arguments[0].edge_weight = edge_weight
        elif edge_weight is not None:
            named["edge_weight"] = edge_weight
        try:
            return self.model(*arguments, **named, **self.kwargs)
        except Exception as error:  # a model may fail in any way; whatever it says becomes one line
            raise InputError(self._failure(error, batch)) from error

    def _arguments(self, batch: GraphBatch) -> tuple[list[Any], dict[str, Any]]:
        if self.call == "graphs":
            return [list(batch)], {}
        if self.call == "data_list":
            return [[self._data(batch.select([place])) for place in range(len(batch))]], {}
        data = self._batch(batch)
        if self.call == "data":
            return [data], {}
        named = {} if self.edge_features is None else {"edge_attr": data.edge_attr}
        parameters = model_parameters(self.model)
        if "batch" in parameters:
            named["batch"] = data.batch
        nodes = _node_parameter(parameters, {*named, *self.kwargs})
        if nodes is not None:  # by name: a model may take them in any order
            return [], {nodes: data.x, "edge_index": data.edge_index, **named}
        return [data.x, data.edge_index, *([] if "batch" in named else [data.batch])], named

    def _batch(self, batch: GraphBatch) -> Batch:
        """The graphs as one PyG `Batch` of new tensors, on the model's device."""
        from torch_geometric.data import Batch

        result = Batch(
            x=torch.from_numpy(self.features[batch.labels]),
            edge_index=torch.from_numpy(batch.edge_index()),
            batch=torch.from_numpy(batch.graph_of_node()),
            ptr=torch.from_numpy(batch.node_ptr.copy()),
            **self._edge_attr(batch),
        )
        return result.to(model_device(self.model))

    def _data(self, batch: GraphBatch) -> Data:
        """A batch of one graph as PyG `Data`."""
        return to_data(batch[0], self.features).update(self._edge_attr(batch)).to(model_device(self.model))

    def _edge_attr(self, batch: GraphBatch) -> dict[str, torch.Tensor]:
        if self.edge_features is None:
            return {}
        if batch.edge_labels is None:
            raise InputError("edge_features needs graphs with edge labels (got graphs without)")
        if batch.edge_labels.max(initial=0) >= len(self.edge_features):
            raise InputError(
                f"edge_features needs a row for every edge label (got {len(self.edge_features)}, "
                f"label {batch.edge_labels.max()})"
            )
        return {"edge_attr": torch.from_numpy(self.edge_features[np.tile(batch.edge_labels, 2)])}

    def _failure(self, error: Exception, batch: GraphBatch) -> str:
        width, expected = self.features.shape[1], _input_width(self.model)
        if expected is not None and expected != width:
            return f"The model's first layer must take features as wide as the data's, {width} (got {expected})"
        words = " ".join(str(error).split())
        shape = f"{len(batch)} graphs, node features [{len(batch.labels)}, {width}]"
        return f"The model failed on {shape}: {type(error).__name__}: {words}"


def as_classifier(
    model: Classifier | Callable[..., Any],
    dataset: GraphDataset,
    *,
    return_type: str | None = None,
    target_class: int | None = None,
    call: str | None = None,
    output: int | str | None = None,
    edge_features: npt.ArrayLike | None = None,
    featurise: Callable[[Any], Any] | None = None,
    **kwargs: Any,
) -> Classifier:
    """Turn a model into the classifier the pipeline needs, and try it on some of the data.

    Whatever is wrong with the model shows here: a width that does not fit, NaN, an answer nobody can read.

    Args:
        model: A `Classifier`, which is only checked; a `torch.nn.Module`; or any function.
        dataset: The data the model is for: its labels, their feature rows, and graphs to try the model on.
        return_type: What the model answers, in PyG's words: `raw` scores (logits), `probs` or `log_probs`. Several scores
            a graph give this away; a single one may not, and then it has to be said.
        target_class: The class that means accept; needed for three classes and more, where a graph is accepted if this
            class is more likely than all others together. A single score is about class 1.
        call: How the model is called: `tensors` for `model(x, edge_index, batch)`, `data` for `model(data)` with a PyG
            `Batch`, `data_list` for a list of PyG `Data`, `graphs` for a list of `comrecgc.graphs.Graph`, `smiles` for a list of SMILES
            (without stereo marks), `molecules` for a list of rdkit molecules. By default a module's signature decides between the first
            two, and a function gets a `data_list`.
        output: Which output holds the scores, where the model gives several: an index, a key or an attribute.
        edge_features: Feature row of each edge label, `[num_edge_labels, width]`, for models that take `edge_attr`.
        featurise: Makes PyG `Data` of an rdkit molecule, for models with features of atoms and bonds of their own.
        **kwargs: Further arguments of every call of the model.
    """
    if isinstance(model, Classifier) and not kwargs:
        return _checked(model, dataset)
    if not callable(model):
        raise InputError(f"The model must be a torch module, a function or a Classifier (got {type(model).__name__})")
    for name, value, allowed in (("return_type", return_type, RETURN_TYPES), ("call", call, CALLS)):
        if value is not None and value not in allowed:
            raise InputError(f"{name} must be one of {', '.join(allowed)} (got {value!r})")
    if call in ("smiles", "molecules") or featurise is not None:
        from comrecgc.classifiers.molecules import as_molecule_classifier

        return as_molecule_classifier(
            model, dataset, call=call or _detect_call(model), featurise=featurise, return_type=return_type,
            target_class=target_class, output=output, kwargs=kwargs,
        )  # fmt: skip
    adapted = AdaptedClassifier(
        model=model,
        call=call or _detect_call(model),
        features=np.array(dataset.features, dtype=np.float32),
        edge_features=None if edge_features is None else _edge_table(edge_features),
        output=output,
        kwargs=kwargs,
    )
    trial = _trial(dataset)
    answer = adapted.answer(trial)
    output = find_output(answer, len(trial)) if output is None else output
    scores = as_scores(choose_output(answer, output), len(trial), len(trial.labels))
    target_class = check_target_class(scores.shape[1], target_class)
    return_type = return_type or detect_return_type(scores)
    class_probability(scores, return_type, target_class)
    found = {"output": output, "num_scores": scores.shape[1], "return_type": return_type, "target_class": target_class}
    return replace(adapted, **found)


def _checked(classifier: Classifier, dataset: GraphDataset) -> Classifier:
    if classifier.num_labels != dataset.num_labels:
        raise InputError(
            f"The classifier must know the {dataset.num_labels} node labels of {dataset.name} (got {classifier.num_labels})"
        )
    names = classifier.facts.get("label_names") if isinstance(classifier, GraphClassifier) else None
    if names is not None and tuple(names) != dataset.label_names:
        raise InputError(
            f"The classifier must know the node labels {', '.join(dataset.label_names)} (got {', '.join(names)})"
        )
    return classifier


def _trial(dataset: GraphDataset) -> GraphBatch:
    return GraphBatch.from_graphs(trial_graphs(dataset))


def trial_graphs(dataset: GraphDataset) -> list[Graph]:
    """Some graphs of the data, evenly spread; never a single one, whose answer might come squeezed."""
    if len(dataset) == 0:
        raise InputError(f"The model is tried on graphs of the dataset (got none in {dataset.name})")
    chosen = np.unique(np.linspace(0, len(dataset) - 1, _TRIAL_GRAPHS).astype(int))
    graphs = [dataset.graphs[index] for index in chosen]
    return graphs * 2 if len(graphs) == 1 else graphs


def _detect_call(model: Callable[..., Any]) -> str:
    if not isinstance(model, torch.nn.Module):
        return "data_list"
    parameters = model_parameters(model)
    required = [p for p in parameters.values() if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    several = any(p.kind is p.VAR_POSITIONAL for p in required)
    if several or len(required) == 3 or ("edge_index" in parameters and "batch" in parameters):
        return "tensors"
    if len(required) == 1 and "edge_index" not in parameters:
        return "data"
    raise InputError(
        f"call must say how the model is called: {', '.join(CALLS)} (got forward({', '.join(parameters)}))"
    )


def model_parameters(model: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """Parameters of a module's `forward` or of a function; none where Python cannot tell."""
    try:
        return inspect.signature(model.forward if isinstance(model, torch.nn.Module) else model).parameters
    except (TypeError, ValueError):
        return {}


def _node_parameter(parameters: Mapping[str, inspect.Parameter], others: set[str]) -> str | None:
    """Which parameter takes the node features, if `edge_index` and `batch` are known by their names."""
    by_name = [name for name, p in parameters.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    left = [
        name
        for name in by_name
        if name not in {"edge_index", *others} and parameters[name].default is inspect.Parameter.empty
    ]
    if "edge_index" not in by_name or "batch" not in by_name:
        return None
    return "x" if "x" in by_name else left[0] if left else None


def choose_output(answer: Any, output: int | str | None) -> Any:
    """The named one of several outputs, or the only one."""
    if output is None:
        return answer
    try:
        named = isinstance(output, str) and not isinstance(answer, Mapping) and hasattr(answer, output)
        return getattr(answer, str(output)) if named else answer[output]
    except (TypeError, LookupError) as error:
        raise InputError(f"output must name one of the model's outputs (got {output!r})") from error


def find_output(answer: Any, num_graphs: int) -> int | str | None:
    """The only one of several outputs that can hold a row of scores per graph; None where there is a single output."""
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
            f"output must say which of the model's outputs holds the scores (got shapes {found or 'none'})"
        )
    return fitting[0]


def model_device(model: Callable[..., Any]) -> torch.device:
    """Where a module is; the CPU for functions."""
    if isinstance(model, torch.nn.Module):
        for tensor in (*model.parameters(), *model.buffers()):
            return tensor.device
    return torch.device("cpu")


def _input_width(model: Callable[..., Any]) -> int | None:
    """Width of the features the model's first layer takes, where it says so."""
    if isinstance(model, torch.nn.Module):
        for layer in model.modules():
            for name in ("in_channels", "in_features"):
                if isinstance(width := getattr(layer, name, None), int) and width > 0:
                    return width
    return None


def _edge_table(edge_features: npt.ArrayLike) -> npt.NDArray[np.float32]:
    try:
        table = np.array(edge_features, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise InputError("edge_features must be a table of numbers, a row per edge label") from error
    if table.ndim != 2 or len(table) == 0:
        raise InputError(f"edge_features must be a table, a row per edge label (got shape {table.shape})")
    return table
