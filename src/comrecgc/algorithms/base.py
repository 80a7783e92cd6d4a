"""What an algorithm is, and what comes in: a frozen, validated, documented configuration that finds candidates for common recourses of rejected graphs.

An algorithm is a `@dataclass(frozen=True, kw_only=True)` whose fields are made with `option`: default, help text and limits are written there
once, and the check, the docstring, the command line and the stored parameters follow from it. What all algorithms share is a `Task`.
"""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NewType, TypeVar, cast

import numpy as np
import numpy.typing as npt

from comrecgc.cover import FloatArray
from comrecgc.data import DatasetIndex, GraphDataset, Numbers, from_pyg
from comrecgc.errors import InputError
from comrecgc.graphs import Graph, GraphBatch, IntArray, LongArray
from comrecgc.models import Classifier, Embedder, Panel, Predictions

if TYPE_CHECKING:
    from comrecgc.algorithms.vectors.candidates import Candidates, Stands
    from comrecgc.run import RunContext
    from comrecgc.scoring import NeighbourhoodScorer

CHANGES = ("any", "connected", "plausible", "confirmed")
RECOURSES = ("vectors", "rules")
AUTO = "auto"
PAPER_DELTA = 0.02


def option(
    default: Any,
    help: str,
    *,
    least: float | None = None,
    most: float | None = None,
    above: float | None = None,
    below: float | None = None,
    choices: tuple[str, ...] = (),
    panel: str | None = None,
    command_line: bool = True,
) -> Any:
    """A field of an algorithm: default, help in a sentence, limits (`least`, `most`, `above`, `below`) or `choices`.

    `panel` is its heading on the command line, by default that of the algorithm; `command_line` whether it is there at all.
    """
    limits = {"least": least, "most": most, "above": above, "below": below}
    known = {"help": help, "limits": limits, "choices": choices, "panel": panel, "command_line": command_line}
    return field(default=default, metadata=known)


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """A way to find common recourses."""

    name: ClassVar[str]
    """Name on the command line and in stored parameters."""

    recourse: ClassVar[str]
    """What it yields: "rules" or "vectors"."""

    default_recourses: ClassVar[int] = 100
    """`R` where the task leaves it open."""

    changes: str = option(
        "plausible",
        "Which changes are allowed: any, connected (no more components than before), plausible (every node touched looks like the data), "
        "confirmed (and most of a panel of other classifiers accept the result).",
        choices=CHANGES,
        panel="Trust",
    )

    def __init_subclass__(cls) -> None:
        """Give fields with another default the help and limits they inherit, and add the help of every field to the docstring."""
        inherited: dict[str, Field[Any]] = getattr(cls, "__dataclass_fields__", {})
        for name in inherited.keys() & vars(cls).keys():
            setattr(cls, name, field(default=vars(cls)[name], metadata=inherited[name].metadata))
        own = {name: value for name, value in vars(cls).items() if isinstance(value, Field)}
        lines = [f"    {name}: {known.metadata['help']}" for name, known in (inherited | own).items() if known.metadata]
        cls.__doc__ = "\n".join([(cls.__doc__ or "").rstrip(), "", "Args:", *lines])

    def __post_init__(self) -> None:
        for known in fields(self):
            if known.metadata:
                object.__setattr__(self, known.name, _checked(known, getattr(self, known.name)))

    def parameters(self) -> dict[str, Any]:
        """What determines the answer, as JSON values; models and the rung of changes have places of their own."""
        left_out = ("changes", "embedder")
        values = {known.name: getattr(self, known.name) for known in fields(self) if known.name not in left_out}
        return {name: _json_value(value) for name, value in values.items()}

    @property
    def wants_panel(self) -> bool:
        """Whether other classifiers are asked by default."""
        return self.recourse == "rules" or self.changes == "confirmed"


A_co = TypeVar("A_co", bound=Algorithm, covariant=True)


@dataclass(frozen=True, kw_only=True)
class Task(Generic[A_co]):
    """What is asked of a run: an algorithm, and the limits that every algorithm has."""

    algorithm: A_co
    theta: float = 0.1  # `θ`, the largest normalised distance of a counterfactual
    num_recourses: int = None  # type: ignore[assignment]  # `R`, at most; by default what is usual of the algorithm
    random_state: int = 0  # seed of everything random

    def __post_init__(self) -> None:
        if not isinstance(cast("object", self.algorithm), Algorithm):
            raise InputError(f"algorithm must be one of comrecgc's, as comrecgc.Rules() (got {self.algorithm!r:.80})")
        check_positive("theta", self.theta)
        if self.theta > 1:
            raise InputError(f"theta is a share of the nodes and edges of two graphs, at most 1 (got {self.theta:g})")
        if cast("int | None", self.num_recourses) is None:
            object.__setattr__(self, "num_recourses", self.algorithm.default_recourses)
        check_count("num_recourses", self.num_recourses, least=1)
        check_count("random_state", self.random_state, least=0)

    @property
    def recourse(self) -> str:
        """ "rules" or "vectors"."""
        return self.algorithm.recourse

    @property
    def changes(self) -> str:
        """Which changes are allowed."""
        return self.algorithm.changes

    def parameters(self) -> dict[str, Any]:
        """What determines the answer, as JSON values for the explanation."""
        shared = {name: getattr(self, name) for name in ("theta", "num_recourses", "random_state")}
        return {"algorithm": self.algorithm.name, **shared, **self.algorithm.parameters()}


@dataclass(frozen=True, kw_only=True)
class VectorAlgorithm(Algorithm, ABC):
    """A source of counterfactuals whose recourses are vectors of an embedding."""

    recourse: ClassVar[str] = "vectors"
    as_published: ClassVar[bool] = False  # whether clusters are formed and counted as the published code does
    fc_subset: ClassVar[str] = "nearest"  # how FC picks at most as many counterfactuals as inputs

    embedder: Any = option(  # noqa: RUF009
        None,
        "Embedder that distances come from: a file, an Embedder, a function of graphs, or an EmbedderTraining; by default one is trained "
        "quickly on the graphs.",
        panel="Model",
    )
    delta: float | str = option(
        AUTO,
        "Δ: how near a recourse must come to cover a graph; auto is half the median length of a one-edit recourse on the data.",
        above=0,
        choices=(AUTO,),
        panel="Vectors",
    )
    problem: str = option(
        "fcr",
        "fcr, or fc to draw all counterfactuals from a set no larger than the rejects.",
        choices=("fcr", "fc"),
        panel="Vectors",
    )
    num_counterfactuals: int | None = option(
        None,
        "T of fc: most graphs that counterfactuals come from; by default one per reject.",
        least=1,
        panel="Vectors",
    )
    selection: str = option(
        "ball", "How recourses are chosen: balls or clusters.", choices=("ball", "dbscan"), panel="Vectors"
    )
    directional: bool | None = option(
        None,
        "Only recourses longer than Δ, which exclude changing nothing; by default where Δ is auto.",
        panel="Vectors",
    )
    min_samples: int = option(2, "Vectors that make a cluster.", least=1, panel="Vectors")
    constraint: Any = option(  # noqa: RUF009
        None,
        "Which edits are allowed: valence (no atom gets more bonds than it can carry), or a Constraint; by default all.",
        panel="Vectors",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.constraint, str) and self.constraint != "valence":
            raise InputError(f"constraint must be 'valence' or a Constraint (got {self.constraint!r})")
        if self.num_counterfactuals is not None and self.problem != "fc":
            raise InputError(f"num_counterfactuals is T of problem='fc' (got problem={self.problem!r})")

    @abstractmethod
    def find(
        self, task: VectorTask, scorer: NeighbourhoodScorer, rejects: Rejects, stands: Stands, context: RunContext
    ) -> Candidates:
        """Look for counterfactuals of the rejects.

        Args:
            task: What is asked.
            scorer: Scores the edits that are allowed.
            rejects: The inputs, embedded.
            stands: Says whether results stand on the rung that is asked for; None where any change is allowed.
            context: Time, progress and checkpoints.
        """


@dataclass(frozen=True, kw_only=True)
class VectorTask(Task[VectorAlgorithm]):
    """A task by vectors with nothing left open: `Δ` is a number, and the direction is decided."""

    delta: float
    directional: bool  # whether recourses must be longer than `Δ`

    @classmethod
    def of(cls, task: Task[VectorAlgorithm], one_edit_length: float | None = None) -> VectorTask:
        """The task with `Δ` half the median length of a one-edit recourse where that is wanted; without one, a fifth of `θ`, the paper's ratio."""
        algorithm = task.algorithm
        delta = algorithm.delta
        if isinstance(delta, str):
            delta = one_edit_length / 2 if one_edit_length else task.theta / 5
        is_automatic = isinstance(algorithm.delta, str)
        directional = is_automatic if algorithm.directional is None else bool(algorithm.directional)
        return cls(
            algorithm=algorithm, theta=task.theta, num_recourses=task.num_recourses, random_state=task.random_state,
            delta=float(delta), directional=directional,
        )  # fmt: skip

    def parameters(self) -> dict[str, Any]:
        """What determines the answer, `Δ` as the number that was used."""
        return super().parameters() | {"delta": self.delta, "directional": self.directional}


# Limits are kept a little inside `θ`, `Δ` and one half, so that rounding never decides what is claimed: another batch,
# machine or precision changes probabilities and normalised distances by a few 10⁻⁶. Each stage leaves more room than the
# next needs: what was chosen is confirmed, and what was confirmed is shown.

SEARCH_MARGIN = 2.4e-5
"""Margin of search and selection."""

VERIFY_MARGIN = 1.8e-5
"""Margin of a claim that a plain pass confirms."""

DISPLAY_MARGIN = 1.2e-5
"""Margin of the final check of a counterfactual that is shown."""

_SMALL = 1e-3  # of smaller limits the margin is a share


def inside(limit: float, margin: float) -> float:
    """`θ` or `Δ` less the margin."""
    return limit - margin * min(1.0, limit / _SMALL)


def accepted(margin: float) -> float:
    """The probability of accept that is needed: one half and the margin."""
    return 0.5 + margin


# Checks of fields, from what `option` says of them.


def check_positive(name: str, value: Any) -> None:
    """Refuse what is not a positive number."""
    if not _is_number(value) or not 0 < value < math.inf:
        raise InputError(f"{name} must be a positive number (got {value!r})")


def check_count(name: str, value: Any, *, least: int) -> None:
    """Refuse what is not an integer of at least so much."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise InputError(f"{name} must be an integer of at least {least} (got {value!r})")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


_HOLDS = {"least": operator.ge, "most": operator.le, "above": operator.gt, "below": operator.lt}


def _checked(known: Field[Any], value: Any) -> Any:
    """The value of a field, checked; several texts become a tuple."""
    kind, choices = str(known.type), known.metadata["choices"]
    if kind == "Any" or (value is None and "None" in kind):
        return value
    if kind.startswith("tuple"):
        values = (value,) if isinstance(value, str) else value
        if not isinstance(values, list | tuple) or ("str" in kind and not all(isinstance(one, str) for one in values)):
            raise InputError(f"{known.name} must be a list of texts (got {value!r})")
        return tuple(values)
    if choices and isinstance(value, str):
        if value not in choices:
            wanted = f"one of {', '.join(choices)}" if kind == "str" else f"a positive number or {choices[0]!r}"
            raise InputError(f"{known.name} must be {wanted} (got {value!r})")
        return value
    if kind.startswith("bool"):
        if not isinstance(value, bool | np.bool_):
            raise InputError(f"{known.name} must be True or False (got {value!r})")
        return bool(value)
    if kind.startswith("int") and (not isinstance(value, int | np.integer) or isinstance(value, bool)):
        raise InputError(f"{known.name} must be an integer{_limits(known)} (got {value!r})")
    limits = [(_HOLDS[name], limit) for name, limit in known.metadata["limits"].items() if limit is not None]
    if not _is_number(value) or not math.isfinite(value) or not all(holds(value, limit) for holds, limit in limits):
        raise InputError(
            f"{known.name} must be {'an integer' if kind.startswith('int') else 'a number'}{_limits(known)} (got {value!r})"
        )
    return value


def _limits(known: Field[Any]) -> str:
    """The limits of a number in words."""
    words = {"least": "at least", "most": "at most", "above": "above", "below": "below"}
    said = [f"{words[name]} {limit:g}" for name, limit in known.metadata["limits"].items() if limit is not None]
    return f" {' and '.join(said)}" if said else ""


def _json_value(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)


# What comes in: the user's graphs as a dataset, the graphs the model rejects, and the models that judge them.


Graphs = GraphDataset | Iterable[Any]
"""A `GraphDataset`, a PyG dataset or a list of PyG `Data`."""


RejectPlace = NewType("RejectPlace", int)
"""Where a graph stands among the rejects. Its number in the dataset is a `DatasetIndex`."""


@dataclass(frozen=True, eq=False)
class Scores:
    """What the models say of some graphs in a plain forward pass."""

    probability: npt.NDArray[np.float64]  # probability of accept, `[n]`
    embedding: FloatArray  # `z`, `[n, d]`; no columns without an embedder
    sizes: IntArray  # `|G|`, `[n]`

    def __getitem__(self, rows: LongArray) -> Scores:
        return Scores(self.probability[rows], self.embedding[rows], self.sizes[rows])


@dataclass(frozen=True, eq=False)
class ModelPair:
    """The classifier to be explained and the embedder that measures distances, if any is needed."""

    classifier: Classifier
    embedder: Embedder | None = None

    def scores(self, graphs: GraphBatch | Iterable[Graph]) -> Scores:
        """A plain forward pass of both models."""
        batch = graphs if isinstance(graphs, GraphBatch) else GraphBatch.from_graphs(graphs)
        probability = np.asarray(self.classifier.accept_probability(batch), dtype=np.float64)
        return Scores(probability, self.embed(batch), sizes_of(batch))

    def embed(self, batch: GraphBatch) -> FloatArray:
        """`z` of every graph, `[n, d]`."""
        if self.embedder is None:
            return np.zeros((len(batch), 0), dtype=np.float32)
        return np.asarray(self.embedder.embed(batch), dtype=np.float32)


def sizes_of(batch: GraphBatch) -> IntArray:
    """`|G|` of every graph, `[n]`."""
    return (batch.node_counts() + batch.edge_counts()).astype(np.int32)


@dataclass(frozen=True, eq=False, kw_only=True)
class Rejects:
    """The graphs that the classifier rejects: the inputs of a run."""

    dataset: GraphDataset  # the dataset they come from
    indices: LongArray  # index in it of each, `[n]`
    graphs: Sequence[Graph]  # the graphs, with fresh ids
    scores: Scores  # what a plain pass says of them; the embedding has no columns until `embedded`
    names: tuple[str, ...] = ()  # what the data calls each; empty if it does not
    stereo: tuple[str, ...] = ()  # stereo marks of each; empty if the data has none

    @classmethod
    def of(cls, dataset: GraphDataset, predictions: Predictions) -> Rejects:
        """The rejects among the graphs of a dataset."""
        indices = predictions.rejects
        graphs = [dataset.graphs[i].fresh() for i in indices.tolist()]
        probability = np.asarray(predictions.probability, dtype=np.float64)[indices]
        empty = np.zeros((len(graphs), 0), dtype=np.float32)
        sizes = np.array([graph.size for graph in graphs], dtype=np.int32)
        known = (dataset.names, dataset.stereo)
        names, stereo = (tuple(of[i] for i in indices.tolist()) if of else () for of in known)
        return cls(
            dataset=dataset, indices=indices, graphs=graphs, scores=Scores(probability, empty, sizes), names=names, stereo=stereo,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.graphs)

    def embedded(self, models: ModelPair) -> Rejects:
        """The same with their embeddings, which are computed here and nowhere else."""
        embedding = models.embed(GraphBatch.from_graphs(self.graphs)) if self else np.zeros((0, 1), dtype=np.float32)
        return replace(self, scores=replace(self.scores, embedding=embedding))

    def rejected_by(self, panel: Panel) -> Rejects:
        """Those that every member of a panel rejects too."""
        batch = GraphBatch.from_graphs(self.graphs)
        return self.take(np.flatnonzero(panel.votes(batch) == 0) if self else np.zeros(0, np.int64))

    def take(self, places: LongArray) -> Rejects:
        """Some of them, by their places."""
        graphs = [self.graphs[i] for i in places.tolist()]
        names, stereo = (tuple(of[i] for i in places.tolist()) if of else () for of in (self.names, self.stereo))
        scores = self.scores[places]
        return replace(self, indices=self.indices[places], graphs=graphs, scores=scores, names=names, stereo=stereo)

    def index(self, place: RejectPlace) -> DatasetIndex:
        """The index in the dataset of the graph at a place."""
        return DatasetIndex(int(self.indices[place]))


def as_dataset(
    graphs: Graphs,
    label_names: Iterable[str] | None = None,
    *,
    target: int | None = None,
    like: GraphDataset | None = None,
) -> tuple[GraphDataset, bool]:
    """A `GraphDataset`, a PyG dataset or a list of PyG `Data` as a dataset, and whether true classes are known.

    `target` is the value of `y` that means accept, by default the larger of two; `like` a dataset whose labels the graphs are over.
    """
    names = None if label_names is None else tuple(label_names)
    if isinstance(graphs, GraphDataset):
        if names is None or names == graphs.label_names:
            return graphs, True
        if len(names) != graphs.num_labels:
            raise InputError(f"label_names must name each of the {graphs.num_labels} labels (got {len(names)} names)")
        return replace(graphs, label_names=names), True
    listed = list(graphs) if not hasattr(graphs, "edge_index") and hasattr(graphs, "__iter__") else graphs
    name = getattr(graphs, "name", None)
    if not isinstance(listed, list):
        return from_pyg(listed, name=name, label_names=names, like=like), False
    values = _classes_of(listed)
    if values is not None and target is not None and target in values:
        classes: list[int] | None = [int(value == target) for value in values]
    else:
        classes = (
            None if values is not None and (len(set(values)) == 2 or set(values) <= {0.0, 1.0}) else [0] * len(listed)
        )
        target = None
    known = classes is None or target is not None
    read = from_pyg(listed, name=name, classes=classes, label_names=names, like=like)
    return (read if known or values is None else read.with_numbers(Numbers(np.array(values)))), known


def _classes_of(graphs: list[Any]) -> list[float] | None:
    """The number that every graph has as `y`; None where one has none."""
    try:
        return [float(graph.y) for graph in graphs]
    except (AttributeError, TypeError, ValueError, RuntimeError):
        return None


def over_labels_of(dataset: GraphDataset, known: GraphDataset) -> GraphDataset:
    """Unseen graphs over the labels of the graphs an explanation was found on, matched by their features."""
    own, ours = dataset.attributes, known.attributes
    if own is not None and ours is not None:
        if own.alphabet is ours.alphabet:
            return dataset
        originals = [own.originals[graph.source] for graph in dataset.graphs]
        read = from_pyg(
            originals, name=dataset.name, classes=dataset.classes.tolist(), class_names=dataset.class_names,
            transform=own.transform, like=known,
        )  # fmt: skip
        return replace(read, names=dataset.names)
    dataset = _over_edge_labels_of(dataset, known)
    if dataset.label_names == known.label_names and np.array_equal(dataset.features, known.features):
        return dataset
    if dataset.features.shape[1] != known.features.shape[1]:
        raise InputError(
            f"Unseen graphs must have node features of width {known.features.shape[1]}, as those of fit "
            f"(got {dataset.features.shape[1]})"
        )
    labels = _places(dataset.features, known.features)
    for index, graph in enumerate(dataset.graphs):
        unknown = graph.labels[labels[graph.labels] < 0]
        if len(unknown):
            name = dataset.label_names[unknown[0]]
            raise InputError(f"Unseen graphs must have node features seen in fit (got {name!r} in graph {index})")
    return replace(dataset, graphs=_relabelled(dataset, labels), label_names=known.label_names, features=known.features)


def _over_edge_labels_of(dataset: GraphDataset, known: GraphDataset) -> GraphDataset:
    """The same for edge labels, where both have some and they are not the same already."""
    theirs, ours = dataset.edge_features, known.edge_features
    if theirs is None or ours is None or np.array_equal(theirs, ours) or theirs.shape[1] != ours.shape[1]:
        return dataset
    labels = _places(theirs, ours)
    graphs = []
    for index, graph in enumerate(dataset.graphs):
        assert graph.edge_labels is not None
        new = labels[graph.edge_labels]
        if (new < 0).any():
            row = theirs[graph.edge_labels[new < 0][0]].tolist()
            raise InputError(f"Unseen graphs must have edge features seen in fit (got {row} in graph {index})")
        graphs.append(Graph(graph.labels, graph.edges, new).of_source(graph.source))
    return replace(dataset, graphs=tuple(graphs), edge_label_names=known.edge_label_names, edge_features=ours)


def _places(rows: npt.NDArray[np.float32], known: npt.NDArray[np.float32]) -> IntArray:
    """Where each row stands among known ones, -1 for nowhere."""
    place = {row.tobytes(): label for label, row in enumerate(known)}
    return np.array([place.get(row.tobytes(), -1) for row in rows], dtype=np.int32)


def with_label_names(dataset: GraphDataset, label_names: Sequence[str]) -> GraphDataset:
    """The same graphs over another alphabet, which has all their labels, matched by name."""
    names = tuple(label_names)
    if dataset.label_names == names:
        return dataset
    used = {dataset.label_names[label] for graph in dataset.graphs for label in np.unique(graph.labels).tolist()}
    unknown = sorted(used - set(names))
    if unknown:
        raise InputError(f"The graphs must have node labels the run knows, {', '.join(names)} (got {unknown[0]!r})")
    labels = np.array([names.index(name) if name in names else -1 for name in dataset.label_names], dtype=np.int32)
    one_hot = np.eye(len(names), dtype=np.float32)
    return replace(dataset, graphs=_relabelled(dataset, labels), label_names=names, features=one_hot)


def _relabelled(dataset: GraphDataset, labels: IntArray) -> tuple[Graph, ...]:
    return tuple(
        Graph(labels[graph.labels], graph.edges, graph.edge_labels).of_source(graph.source) for graph in dataset.graphs
    )
