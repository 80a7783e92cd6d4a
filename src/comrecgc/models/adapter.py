"""Adapters from any model, a torch module or a plain function of graphs, to a `Classifier`; and a check before the search.

The explained function must be the user's. So the model scores the user's graphs by the user's own call, and the same graphs as the search presents
them. If answers differ, the reason is found by changing the user's graphs one step at a time.
"""

from __future__ import annotations

import copy
import inspect
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch

from comrecgc.data import Attributes, GraphDataset
from comrecgc.errors import InputError
from comrecgc.graphs import BoolArray, Graph, GraphBatch, LongArray, to_data
from comrecgc.models import classifier as base
from comrecgc.models.classifier import (
    Classifier,
    FloatArray,
    ScoreReading,
    as_scores,
    check_labels,
    choose_output,
    find_output,
)
from comrecgc.models.networks import GraphClassifier, evaluation_mode

if TYPE_CHECKING:
    from torch_geometric.data import Batch, Data


_TRIAL_GRAPHS = 256
_CHUNK_NODES = 4_096  # nodes of a batch: four times as many leave the processor's cache


@dataclass(frozen=True, eq=False, kw_only=True)
class AdaptedClassifier:
    """A model, how to call it, and how to read its answers. Made by `as_classifier`."""

    model: Callable[..., Any]  # a torch module or a function
    call: str  # how it is called, one of `CALLS`
    features: npt.NDArray[
        Any
    ]  # row of each node label, `[num_labels, width]`; `[num_labels]` where the model takes integers
    edge_features: (
        npt.NDArray[Any] | None
    )  # row of each edge label, for `edge_attr`; beside `attributes` only where they have none
    edge_weights: npt.NDArray[np.float32] | None = (
        None  # of each edge label, for models that must be given `edge_weight`
    )
    attributes: Attributes | None = (
        None  # the data's own tensors, which the model gets; None where these tables are all there is
    )
    output: int | str | None = None  # which of several outputs holds the scores
    kwargs: Mapping[str, Any] = field(default_factory=dict)  # further keyword arguments of every call
    num_scores: int | None = None  # scores per graph
    reading: ScoreReading = field(default_factory=ScoreReading)  # how the scores are read
    traced_graphs: int | None = None  # graphs that a traced model answers for at a time; None if it follows the batch

    @property
    def num_labels(self) -> int:
        return len(self.features)

    def accept_probability(self, batch: GraphBatch) -> FloatArray:
        """Probability of the target class of every graph, `[B]`, computed in parts of bounded size."""
        check_labels(batch, self.num_labels)
        parts = [self.reading.probability(self.scores(part)) for part in batch.chunks(_CHUNK_NODES)]
        return np.concatenate([np.zeros(0), *parts])

    def explained(self, batch: GraphBatch) -> BoolArray | None:
        """Mask of the graphs of the class to explain, `[B]`; None if that is every class but the target."""
        if self.reading.source_class is None:
            return None
        parts = [self.reading.explained(self.scores(part)) for part in batch.chunks(_CHUNK_NODES)]
        return np.concatenate([np.zeros(0, dtype=bool), *parts])

    def scores(self, batch: GraphBatch) -> FloatArray:
        """The scores in the model's answer, `[B, K]`."""
        chosen = choose_output(self.answer(batch), self.output)
        return as_scores(chosen, len(batch), len(batch.labels), self.num_scores)

    @property
    def by_label(self) -> bool:
        """Whether the model sees only labels and edges of a graph."""
        return self.attributes is None or self.attributes.by_label

    def over(self, dataset: GraphDataset) -> AdaptedClassifier:
        """The same model for graphs of another dataset over the same labels."""
        return self if self.attributes is None else replace(self, attributes=dataset.attributes or self.attributes)

    def own_scores(self, data: Sequence[Data]) -> FloatArray:
        """The scores in the model's answer on PyG graphs as they are, `[B, K]`."""
        from torch_geometric.data import Batch

        device = base.model_device(self.model)
        try:
            if self.call == "data_list":
                arguments, named = [[copy.copy(one).to(device) for one in data]], dict[str, Any]()
            else:
                arguments, named = self._pass(_with_x(Batch.from_data_list(list(data)).to(device)))
            with evaluation_mode(self.model):
                answer = self.model(*arguments, **named, **self.kwargs)
        except Exception as error:  # a model may fail in any way
            raise InputError(f"{type(error).__name__}: {' '.join(str(error).split())[:160]}") from error
        num_nodes = sum(int(one.num_nodes or 0) for one in data)
        return as_scores(choose_output(answer, self.output), len(data), num_nodes, self.num_scores)

    def prediction(self, graph: Graph) -> tuple[torch.Tensor, int]:
        """The scores of one graph, `[1, K]`, and the model's own class for it."""
        scores = torch.from_numpy(self.scores(GraphBatch.from_graphs([graph]))).float()
        if scores.shape[1] > 1:
            return scores, int(scores.argmax())
        return scores, int(scores[0, 0] > (0.5 if self.reading.return_type == "probs" else 0))

    def further_arguments(self, data: Data) -> dict[str, Any]:
        """Arguments of the model for one graph besides `x` and `edge_index`, by name."""
        from torch_geometric.data import Batch

        if self.call != "tensors":
            return {}
        positional, named = self._pass(_with_x(Batch.from_data_list([data])))
        kept = named.items() if positional else list(named.items())[2:]
        return dict(kept) | dict(self.kwargs)

    def answer(self, batch: GraphBatch) -> Any:
        """The model's raw answer; a module is called in evaluation mode, without gradients."""
        with evaluation_mode(self.model):
            if self.traced_graphs is None:
                return self._call(batch)
            starts = range(0, len(batch), self.traced_graphs)
            parts = [batch.select(np.arange(len(batch))[start : start + self.traced_graphs]) for start in starts]
            return torch.cat([self._call(part)[: len(part)] for part in parts])

    @property
    def takes_edge_weights(self) -> bool:
        """Whether the model is a module that accepts `edge_weight`; a module that takes `data` may still ignore it."""
        named = self.call == "tensors" and "edge_weight" in base.model_parameters(self.model)
        return isinstance(self.model, torch.nn.Module) and (named or self.call == "data")

    def weighted_scores(self, batch: GraphBatch, edge_weight: torch.Tensor) -> torch.Tensor:
        """The scores of graphs with weights of the entries of `batch.edge_index()`, `[2M]`, as a tensor with gradients, `[B, K]`, in the module's present mode."""
        scores = choose_output(self._call(batch, edge_weight.to(base.model_device(self.model))), self.output)
        assert isinstance(scores, torch.Tensor)
        return scores.reshape(len(batch), -1)

    def _call(self, batch: GraphBatch, edge_weight: torch.Tensor | None = None) -> Any:
        arguments, named = self._arguments(batch, edge_weight)
        try:
            return self.model(*arguments, **named, **self.kwargs)
        except Exception as error:  # a model may fail in any way; its message becomes one line
            raise InputError(self._failure(error, batch)) from error

    def _arguments(self, batch: GraphBatch, edge_weight: torch.Tensor | None) -> tuple[list[Any], dict[str, Any]]:
        if self.call == "graphs":
            return [list(batch)], {}
        if self.call == "data_list":
            return [[self._data(batch.select([place])) for place in range(len(batch))]], {}
        data = self._batch(batch)
        if edge_weight is not None:
            own = data.get("edge_weight")
            data.edge_weight = edge_weight if own is None else edge_weight * own
        return self._pass(data)

    def _pass(self, data: Batch) -> tuple[list[Any], dict[str, Any]]:
        """The arguments of a call: the batch, or those of its tensors that the model's parameters name."""
        if self.call == "data":
            return [data], {}
        parameters = base.model_parameters(self.model)
        wanted = [name for name in parameters if name not in ("x", "edge_index", "batch", "y", *self.kwargs)]
        named = {name: data[name] for name in wanted if data.get(name) is not None}
        weight = parameters.get("edge_weight")
        if weight is not None and weight.default is weight.empty and "edge_weight" not in {*named, *self.kwargs}:
            named["edge_weight"] = _only_column(data)
        if "batch" in parameters:
            named["batch"] = data.batch
        nodes = _node_parameter(parameters, {*named, *self.kwargs})
        if nodes is not None:  # by name: a model may take them in any order
            return [], {nodes: data.x, "edge_index": data.edge_index, **named}
        return [data.x, data.edge_index, *([] if "batch" in named else [data.batch])], named

    def _batch(self, batch: GraphBatch) -> Batch:
        """The graphs as one PyG `Batch` of new tensors, on the model's device."""
        from torch_geometric.data import Batch

        own = self.attributes
        if own is not None and own.transform is not None:
            graphs = [own.transformed(own.data(batch.select([place]))) for place in range(len(batch))]
            result = Batch.from_data_list(graphs)
        elif own is not None:
            result = Batch(**own.tensors(batch) | self._of_edges(batch))
        else:
            result = Batch(
                x=torch.from_numpy(self.features[batch.labels]),
                edge_index=torch.from_numpy(batch.edge_index()),
                batch=torch.from_numpy(batch.graph_of_node()),
                ptr=torch.from_numpy(batch.node_ptr.copy()),
                **self._of_edges(batch),
            )
        return _with_x(result.to(base.model_device(self.model)))

    def _data(self, batch: GraphBatch) -> Data:
        """A batch of one graph as PyG `Data`."""
        own = self.attributes
        data = to_data(batch[0], self.features) if own is None else own.transformed(own.data(batch))
        return _with_x(data.update(self._of_edges(batch)).to(base.model_device(self.model)))

    def _of_edges(self, batch: GraphBatch) -> dict[str, torch.Tensor]:
        """Edge attributes or weights for the model, one row per direction of each edge."""
        tables = {"edge_attr": self.edge_features, "edge_weight": self.edge_weights}
        return {name: self._edge_rows(batch, table) for name, table in tables.items() if table is not None}

    def _edge_rows(self, batch: GraphBatch, table: npt.NDArray[Any]) -> torch.Tensor:
        if batch.edge_labels is None:
            if len(table) == 1:  # every edge is the same
                return torch.from_numpy(np.repeat(table, 2 * len(batch.edges), axis=0))
            raise InputError("edge_features needs graphs with edge labels (got graphs without)")
        if batch.edge_labels.max(initial=0) >= len(table):
            raise InputError(
                f"edge_features needs a row for every edge label (got {len(table)}, label {batch.edge_labels.max()})"
            )
        return torch.from_numpy(table[np.tile(batch.edge_labels, 2)])

    def _failure(self, error: Exception, batch: GraphBatch) -> str:
        width, expected = self.features[:1].size, base.input_width(self.model)
        if expected is not None and expected != width:
            return f"The model's first layer must take features as wide as the data's, {width} (got {expected})"
        shape = f"{len(batch)} graphs, node features [{len(batch.labels)}, {width}]"
        if isinstance(self.model, torch.jit.ScriptModule):
            return f"The model failed on {shape}: {str(error).strip().splitlines()[-1]}"  # the rest is the trace
        return f"The model failed on {shape}: {type(error).__name__}: {' '.join(str(error).split())}"


def as_classifier(
    model: Classifier | Callable[..., Any],
    dataset: GraphDataset,
    *,
    return_type: str | None = None,
    accept: int | str | None = None,
    reject: int | None = None,
    decision: str | None = None,
    threshold: float | None = None,
    call: str | None = None,
    output: int | str | None = None,
    edge_features: npt.ArrayLike | None = None,
    featurise: Callable[[Any], Any] | None = None,
    **kwargs: Any,
) -> Classifier:
    """Adapt a model to the `Classifier` that the pipeline needs, and try it on some of the data.

    Errors of the model show here: a wrong width, NaN, an answer of another form.

    Args:
        model: A `Classifier`, which is checked and returned; a `torch.nn.Module`; or any function.
        dataset: The data the model is for: its labels, their feature rows, and graphs to try the model on.
        return_type: Kind of the model's answers, in PyG's words: `raw` scores (logits), `probs` or `log_probs`. Detected from several scores per
            graph; for a single score it may have to be given.
        accept: The class that means accept; needed for three classes and more. A single score is about class 1. With a threshold: the accepted side,
            "higher" (the default) or "lower".
        reject: Explain only the graphs that the model assigns to this class; None for all that are not accepted.
        decision: Of three classes and more: "argmax" accepts a graph if the target is its likeliest class (the default), "rest" if
            the target is likelier than all others together.
        threshold: For a regression model, which answers one number per graph: the graph is accepted if the number is above this.
        call: How the model is called: `tensors` for `model(x, edge_index, batch)`, `data` for `model(data)` with a PyG
            `Batch`, `data_list` for a list of PyG `Data`, `graphs` for a list of `comrecgc.graphs.Graph`, `smiles` for a list of SMILES
            (without stereo marks), `molecules` for a list of rdkit molecules. By default a module's signature decides between the first
            two, and a function gets a `data_list`.
        output: Which output holds the scores, where the model gives several: an index, a key or an attribute.
        edge_features: Feature row of each edge label, `[num_edge_labels, width]`, for models that take `edge_attr`; the dataset's
            own by default. A model that must be given `edge_weight` gets the only column of them, or ones.
        featurise: Makes PyG `Data` of an rdkit molecule, for models with features of atoms and bonds of their own.
        **kwargs: Further arguments of every call of the model.
    """
    if isinstance(model, Classifier) and not kwargs:
        return _check_alphabet(model, dataset)
    if isinstance(model, type):
        raise InputError(
            f"The model must be an instance, as {model.__name__}(…) makes it (got the class {model.__name__})"
        )
    if not callable(model):
        raise InputError(f"The model must be a torch module, a function or a Classifier (got {type(model).__name__})")
    for name, value, allowed in (("return_type", return_type, base.RETURN_TYPES), ("call", call, base.CALLS)):
        if value is not None and value not in allowed:
            raise InputError(f"{name} must be one of {', '.join(allowed)} (got {value!r})")
    reading = partial(
        ScoreReading.of, return_type=return_type, accept=accept, reject=reject, decision=decision, threshold=threshold
    )
    # What torch.compile was given: batches of every size would be compiled anew.
    model = getattr(model, "_orig_mod", model)
    call = call or base.detect_call(model)
    if call in ("smiles", "molecules") or featurise is not None:
        from comrecgc.models.molecules import as_molecule_classifier

        return as_molecule_classifier(
            model, dataset, call=call, featurise=featurise, reading=reading, output=output, kwargs=kwargs
        )
    own = dataset.attributes
    has_bonds = own is not None and ("edge_attr" in own.edges or own.transform is not None)
    adapted = AdaptedClassifier(
        model=model,
        call=call,
        features=np.array(dataset.features, dtype=np.float32),
        edge_features=None
        if has_bonds and edge_features is None
        else _edge_features(model, call, dataset, edge_features, kwargs),
        edge_weights=_edge_weights(model, call, dataset, kwargs) if own is None else None,
        attributes=own,
        output=output,
        kwargs=kwargs,
    )
    trial = GraphBatch.from_graphs(trial_graphs(dataset))
    if isinstance(model, torch.jit.ScriptModule):
        adapted = replace(adapted, traced_graphs=_traced_graphs(adapted, trial))
    try:
        answer = adapted.answer(trial)
    except InputError:
        adapted, answer = _in_another_form(adapted, dataset, trial)
    output = find_output(answer, len(trial)) if output is None else output
    scores = as_scores(choose_output(answer, output), len(trial), len(trial.labels))
    return replace(adapted, output=output, num_scores=scores.shape[1], reading=reading(scores))


def over_dataset(classifier: Classifier, dataset: GraphDataset) -> Classifier:
    """The classifier for graphs of a dataset; a model that sees the data's own tensors then gets those of this dataset."""
    over = getattr(classifier, "over", None)
    return classifier if over is None else over(dataset)


def _traced_graphs(adapted: AdaptedClassifier, trial: GraphBatch) -> int | None:
    """Fixed number of graphs that a traced module answers for; None if it follows the batch."""
    try:
        answer = adapted.answer(trial.select([0]))
    except InputError:
        return None
    if not isinstance(answer, torch.Tensor) or not answer.ndim or len(trial) < 2:
        return None
    if len(answer) > 1:
        return len(answer)
    try:
        adapted.answer(trial.select([0, 1]))
    except InputError:
        return 1
    return None


def _in_another_form(
    adapted: AdaptedClassifier, dataset: GraphDataset, trial: GraphBatch
) -> tuple[AdaptedClassifier, Any]:
    """The classifier with features in a form that the model accepts, and its answer on the trial; raises the first error if no form works.

    Integer-valued features may be meant for an `Embedding`, which takes integers, as columns or one per node.
    """
    first = adapted
    if adapted.attributes is not None and adapted.attributes.by_label:
        edges = adapted.edge_features
        if edges is None:
            edges = _edge_features(adapted.model, adapted.call, dataset, None, adapted.kwargs)
        weights = _edge_weights(adapted.model, adapted.call, dataset, adapted.kwargs)
        adapted = replace(adapted, attributes=None, edge_features=edges, edge_weights=weights)
    forms = itertools.product(_forms(adapted.features), _forms(adapted.edge_features))
    for nodes, edges in forms if adapted.attributes is None else ():
        try:
            formed = replace(adapted, features=nodes, edge_features=edges)
            answer = formed.answer(trial)
            as_scores(choose_output(answer, find_output(answer, len(trial))), len(trial), len(trial.labels))
        except InputError:
            continue
        return formed, answer
    return first, first.answer(trial)


def _forms(table: npt.NDArray[Any] | None) -> list[Any]:
    """A table of features unchanged and, if it holds whole numbers, as integers, in columns or one per label."""
    if table is None or not (table == np.floor(table)).all():
        return [table]
    whole = table.astype(np.int64)
    return [table, whole, *([whole[:, 0]] if whole.shape[1] == 1 else [])]


def _edge_features(
    model: Callable[..., Any], call: str, dataset: GraphDataset, given: npt.ArrayLike | None, kwargs: Mapping[str, Any]
) -> npt.NDArray[np.float32] | None:
    """Feature rows of edge labels, if the model takes them: the given ones, or those of the data."""
    if given is not None:
        try:
            table = np.array(given, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise InputError("edge_features must be a table of numbers, a row per edge label") from error
        if table.ndim != 2 or len(table) == 0:
            raise InputError(f"edge_features must be a table, a row per edge label (got shape {table.shape})")
        return table
    parameter = base.model_parameters(model).get("edge_attr")
    if call == "graphs" or "edge_attr" in kwargs or (call == "tensors" and parameter is None):
        return None
    if dataset.edge_features is None and parameter is not None and parameter.default is parameter.empty:
        why = next((note for note in dataset.notes if note.startswith("Edge attributes")), "The graphs have none.")
        raise InputError(
            f"The model takes edge_attr: the graphs need edge labels, or edge_features a row for all. {why}"
        )
    return dataset.edge_features


def _edge_weights(
    model: Callable[..., Any], call: str, dataset: GraphDataset, kwargs: Mapping[str, Any]
) -> npt.NDArray[np.float32] | None:
    """Weights of edge labels, if the model requires them."""
    parameter = base.model_parameters(model).get("edge_weight")
    if call != "tensors" or "edge_weight" in kwargs or parameter is None or parameter.default is not parameter.empty:
        return None
    table = dataset.edge_features
    if table is not None and table.shape[1] == 1:
        return np.array(table[:, 0], dtype=np.float32)
    return np.ones(1 if table is None else len(table), dtype=np.float32)


def _check_alphabet(classifier: Classifier, dataset: GraphDataset) -> Classifier:
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


def trial_graphs(dataset: GraphDataset) -> list[Graph]:
    """Some graphs of the data, evenly spread; at least two, since a model may squeeze the answer for one."""
    if len(dataset) == 0:
        raise InputError(f"The dataset must have graphs to try the model on (got none in {dataset.name})")
    graphs = [dataset.graphs[index] for index in _evenly_spread(len(dataset), _TRIAL_GRAPHS)]
    return graphs * 2 if len(graphs) == 1 else graphs


def _evenly_spread(num: int, most: int) -> LongArray:
    """Some of `num` places, the first and the last among them."""
    return np.unique(np.linspace(0, num - 1, min(num, most)).astype(np.int64))


def _with_x(data: Any) -> Any:
    """The graphs with a column of ones where nodes have no features."""
    if data.get("x") is None:
        data.x = torch.ones(int(data.num_nodes), 1, device=data.edge_index.device)
    return data


def _only_column(data: Any) -> torch.Tensor:
    """Weights for a model that must be given some: the only column of the edges' attributes, or ones."""
    own = data.get("edge_attr")
    if own is not None and own.numel() == data.edge_index.shape[1]:
        weights: torch.Tensor = own.reshape(-1).float()
        return weights
    return torch.ones(data.edge_index.shape[1], device=data.edge_index.device)


def _node_parameter(parameters: Mapping[str, inspect.Parameter], others: set[str]) -> str | None:
    """The parameter for node features, if `edge_index` and `batch` are recognised by their names."""
    by_name = {name: p for name, p in parameters.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    if "edge_index" not in by_name or "batch" not in by_name:
        return None
    left = (name for name, p in by_name.items() if name not in {"edge_index", *others} and p.default is p.empty)
    return "x" if "x" in by_name else next(left, None)


# The check before a search: does the model answer the same about graphs as they are held here as about the user's own `Data`?

_ROUNDING = 1e-3  # of probabilities: sums in another order
_ASKED = 500  # graphs that are compared
_ALONE = 24  # graphs that are asked about one by one
_FEW = 2  # graphs, or one in a hundred, whose answers may differ
_CHUNK = 64  # of the user's graphs asked about together


def check_own_data(classifier: Classifier, dataset: GraphDataset, *, strict: bool = True) -> list[str]:
    """Notes on inconsistent answers of the model; empty if it answers the same in every form of call.

    With `strict` it is an error if the model is random, depends on the other graphs of a batch, or answers differently about the user's own graphs.
    """
    places = _evenly_spread(len(dataset), _ASKED)
    batch = GraphBatch.from_graphs(dataset.graphs[place] for place in places.tolist())
    held, again = classifier.accept_probability(batch), classifier.accept_probability(batch)
    chosen = _evenly_spread(len(batch), _ALONE)
    alone = held.copy()
    alone[chosen] = [classifier.accept_probability(batch.select([place]))[0] for place in chosen]
    problems, notes = list[str](), list[str]()
    if (worst := _worst(again, held)) is not None:
        problems.append(
            f"The model is random: called twice it answers {held[worst]:.3f} and {again[worst]:.3f} for graph {places[worst]}, as with dropout that is active in "
            "evaluation mode"
        )
    if (worst := _worst(alone, held)) is not None:
        problems.append(
            f"The model's answer depends on the other graphs of a batch: {alone[worst]:.3f} alone and {held[worst]:.3f} among others for graph "
            f"{places[worst]}, as if nodes were pooled or normalised over the whole batch"
        )
    if isinstance(classifier, AdaptedClassifier) and classifier.attributes is not None and not problems:
        problem, is_grave = _otherwise(classifier, classifier.attributes, batch, held)
        (problems if is_grave else notes).extend([problem] if problem else [])
    if problems and strict:
        raise InputError(f"{problems[0]}; RunContext(strict=False) goes on with a warning")
    return [f"{sentence}." for sentence in (*problems, *notes)]


def _worst(some: FloatArray, others: FloatArray) -> int | None:
    """The graph on which two answers differ most; None if they agree."""
    worst = int(np.abs(some - others).argmax())
    return worst if abs(some[worst] - others[worst]) > _ROUNDING else None


def _otherwise(classifier: AdaptedClassifier, own: Attributes, batch: GraphBatch, held: FloatArray) -> tuple[str, bool]:
    """The difference between answers on the user's own graphs and on our copies, if any, and whether it concerns more than a few graphs."""
    sources = batch.sources().tolist()
    try:
        theirs = _ask(classifier, [own.original(source) for source in sources])
    except InputError as error:
        return (f"The model fails on your unmodified graphs, so answers were not compared ({error})", False)
    worst, differs = _worst(theirs, held), np.flatnonzero(np.abs(theirs - held) > _ROUNDING)
    if worst is None:
        return "", False
    sides = int(((theirs > 0.5) != (held > 0.5)).sum())
    found = _reason(classifier, own, [sources[place] for place in differs[:_CHUNK].tolist()])
    sentence = (
        f"The model answers differently about your own graphs and about our copies of them, for {len(differs)} of {len(held)} "
        f"({sides} change class; graph {sources[worst]}: {theirs[worst]:.3f} and {held[worst]:.3f}): {found}"
    )
    return sentence, len(differs) > max(_FEW, len(held) // 100)


def _ask(classifier: AdaptedClassifier, graphs: Sequence[Any]) -> FloatArray:
    """Probability of accept of unmodified PyG graphs, `[B]`."""
    parts = [graphs[start : start + _CHUNK] for start in range(0, len(graphs), _CHUNK)]
    return np.concatenate([classifier.reading.probability(classifier.own_scores(part)) for part in parts])


def _reason(classifier: AdaptedClassifier, own: Attributes, sources: Sequence[int]) -> str:
    """The first step from the user's graphs to our copies that changes an answer."""
    steps: list[tuple[str, Callable[[Any], Any]]] = [
        (f"{key} was left out, since {why}", partial(_without, key=key)) for key, why in own.left_out.items()
    ]
    steps += [
        ("edges that are listed twice were merged", partial(_with_edges, own=own, choose=_first_rows)),
        ("edges that go one way were taken as undirected", partial(_with_edges, own=own, choose=_both_ways)),
        ("the edges come in another order, which the model reads", partial(_with_edges, own=own, choose=_sorted_rows)),
    ]
    graphs = [copy.copy(own.originals[source]) for source in sources]
    before = _ask(classifier, [own.transformed(graph) for graph in graphs])
    for words, step in steps:
        graphs = [step(copy.copy(graph)) for graph in graphs]
        try:
            after = _ask(classifier, [own.transformed(graph) for graph in graphs])
        except InputError:  # without what is left out the model cannot be asked at all
            return words
        if _worst(after, before) is not None:
            return words
    return "no reason was found"


def _without(data: Any, key: str) -> Any:
    if key in data:
        del data[key]
    return data


def _with_edges(data: Any, own: Attributes, choose: Callable[[LongArray, int], tuple[LongArray, LongArray]]) -> Any:
    """The graph with other rows of its edges: which rows, and the pairs of nodes they join."""
    rows, pairs = choose(data.edge_index.T.cpu().numpy(), int(data.num_nodes))
    for key in own.edges:
        data[key] = data[key][torch.from_numpy(rows)]
    data.edge_index = torch.from_numpy(np.ascontiguousarray(pairs.T))
    return data


def _first_rows(pairs: LongArray, num_nodes: int) -> tuple[LongArray, LongArray]:
    rows = np.sort(np.unique(pairs[:, 0] * num_nodes + pairs[:, 1], return_index=True)[1])
    return rows, pairs[rows]


def _both_ways(pairs: LongArray, num_nodes: int) -> tuple[LongArray, LongArray]:
    codes, back = pairs[:, 0] * num_nodes + pairs[:, 1], pairs[:, 1] * num_nodes + pairs[:, 0]
    lone = np.flatnonzero(~np.isin(back, codes))
    return np.concatenate([np.arange(len(pairs)), lone]), np.concatenate([pairs, pairs[lone][:, ::-1]])


def _sorted_rows(pairs: LongArray, _: int) -> tuple[LongArray, LongArray]:
    rows = np.lexsort((pairs.max(axis=1), pairs.min(axis=1), pairs[:, 0] > pairs[:, 1]))
    return rows, pairs[rows]
