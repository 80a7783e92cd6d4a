"""The result of a run: a few recourses that turn rejected graphs into accepted ones, the inputs that each covers, and the uncovered inputs."""

from __future__ import annotations

import copy
import json
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.base import CHANGES, RECOURSES
from comrecgc.cover import Reason
from comrecgc.data import Attributes, DatasetIndex
from comrecgc.errors import InputError
from comrecgc.graphs import EditPath, Graph, Rule, Schema, apply_path, carry_out, is_site
from comrecgc.models import Classifier

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from torch_geometric.data import Data

    from comrecgc.explanation.rules import RuleChooser
    from comrecgc.explanation.stored import StoredChooser


Position = tuple[float, float]


@dataclass(frozen=True)
class RejectedInput:
    """A graph that the classifier rejects, as read from the dataset, with its name and its stereo marks."""

    graph: Graph
    reject_probability: float
    name: str = ""
    stereo: str = ""

    def __post_init__(self) -> None:
        _check(self, reject_probability=_share)


@dataclass(frozen=True, kw_only=True)
class Uncovered:
    """An input that no chosen recourse covers, by its index in the dataset, and why."""

    input: DatasetIndex
    reason: Reason

    def __post_init__(self) -> None:
        if self.reason not in list(Reason):
            known = ", ".join(repr(reason.value) for reason in Reason)
            raise InputError(f"reason must be one of {known} (got {self.reason!r})")
        _set(self, input=int(self.input), reason=Reason(self.reason))


@dataclass(frozen=True, kw_only=True)
class CoveredInput:
    """An input that a recourse covers, and the counterfactual that shows it.

    Args:
        input: Index in the dataset.
        probability: Probability of accept of the counterfactual.
        distance: `d(G, H)`, the normalised distance: of the embedding for vectors, of the change itself for rules.
        num_edits: True edit count from the input to the counterfactual.
        edits: Path from the input to the counterfactual, in the input's node ids.
        counterfactual: The graph at the end of that path.
        position: Where the recourse vector lies on the 2-D map.
        site: Rules: the input node that each node of the rule's left-hand side stands for.
        cost: Rules: what the change costs, in unit edits.
        truth: Rules: how likely the counterfactual truly is of the class accept, according to the jury; None where there was none.
    """

    input: DatasetIndex
    probability: float
    distance: float
    num_edits: int
    edits: EditPath
    counterfactual: Graph
    position: Position = (0.0, 0.0)
    site: tuple[int, ...] = ()
    cost: float | None = None
    truth: float | None = None

    def __post_init__(self) -> None:
        x, y = (_finite("position", value) for value in self.position)
        _check(self, probability=_share, distance=_not_negative, num_edits=_not_negative)
        _check(self, cost=_not_negative, truth=_share)
        _set(self, input=int(self.input), num_edits=int(self.num_edits), edits=tuple(self.edits), position=(x, y))
        _set(self, site=tuple(int(node) for node in self.site))


@dataclass(frozen=True, kw_only=True)
class CommonRecourse:
    """One change that turns many rejected graphs into accepted ones: a vector of the embedding, or a rewrite rule.

    Args:
        summary: The change in a few words: "remove N, 2 O (nitro)".
        vector: Vectors: the recourse `r`, float32, stored with as many digits as identify a float32.
        rule: Rules: the rewrite rule.
        row: Rules: its row of the rule table of the run.
        smirks: Rules of molecules: the same as SMIRKS.
        statistics: Figures of the recourse on the inputs it can be carried out on, as JSON values by name.
        description: A longer summary.
        covered: Inputs covered by this recourse and not by one chosen before it.
        also_covers: Further inputs that this recourse covers, which one chosen before it covers already.
        share_valid: Share of `covered` whose counterfactual is a valid molecule; None for other graphs.
        scene: The explanation it belongs to, with the graphs and names for drawing; set by the explanation.
    """

    summary: str
    vector: tuple[float, ...] | None = None
    rule: Rule | None = None
    row: int | None = None
    smirks: str | None = None
    statistics: Mapping[str, Any] = field(default_factory=dict)
    description: str = ""
    covered: tuple[CoveredInput, ...] = ()
    also_covers: tuple[int, ...] = ()
    share_valid: float | None = None
    scene: Explanation | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if (self.vector is None) == (self.rule is None):
            raise InputError("A recourse is either a vector or a rule (got both or neither)")
        _check(self, statistics=json_values, share_valid=_share, vector=_float32s)
        _set(self, covered=tuple(self.covered), also_covers=tuple(int(index) for index in self.also_covers))

    @property
    def norm(self) -> float | None:
        """`‖r‖`; None for a rule."""
        return None if self.vector is None else math.hypot(*self.vector)

    @property
    def gain(self) -> int:
        """Number of inputs that this recourse covers and none chosen before it does."""
        return len(self.covered)

    @property
    def median_edits(self) -> float | None:
        """Median true edit count over `covered`."""
        return statistics.median(member.num_edits for member in self.covered) if self.covered else None

    @property
    def median_distance(self) -> float | None:
        """Median `d(G, H)` over `covered`."""
        return statistics.median(member.distance for member in self.covered) if self.covered else None

    def plot(self, example: int = 0) -> Figure:
        """Draw one covered input before and after, with what changes highlighted. Needs matplotlib.

        Args:
            example: Place in `covered`.
        """
        from comrecgc.explanation.display import plot_change

        if self.scene is None:
            raise InputError("Only a recourse of an Explanation can be drawn (got one on its own)")
        if not -len(self.covered) <= example < len(self.covered):
            raise InputError(f"example must be a place in covered, of {len(self.covered)} inputs (got {example})")
        return plot_change(self.covered[example], self.scene, title=self.summary)

    def _repr_html_(self) -> str:
        from comrecgc.explanation.display import recourse_html

        return recourse_html(self)


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """Facts of one run that are no part of its result, such as seconds of each stage and bytes of memory. They go into the manifest, not into `explanation.json`.

    `facts` holds anything else, such as names of checkpoints and steps walked.
    """

    seed: int | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    peak_memory: int | None = None
    model_accuracy: float | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check(self, versions=json_values, seconds=json_values, facts=json_values, model_accuracy=_share)
        for stage, seconds in self.seconds.items():
            if not 0 <= seconds < math.inf:
                raise InputError(f"seconds of a stage must be finite and not negative (got {seconds} for {stage!r})")
        if self.peak_memory is not None:
            _not_negative("peak_memory", self.peak_memory)


def number_in(values: Mapping[str, Any], name: str) -> float | None:
    """The named value if it is a number, else None, since files may hold anything."""
    value = values.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def interval_in(values: Mapping[str, Any], name: str = "interval") -> tuple[float, float] | None:
    """The named value if it is an interval, else None."""
    found = values.get(name)
    if isinstance(found, list) and len(found) == 2 and all(isinstance(end, int | float) for end in found):
        return float(found[0]), float(found[1])
    return None


def json_values(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """A copy with plain JSON values, equal to what a file would return."""
    try:
        copied: dict[str, Any] = json.loads(
            json.dumps(dict(values), ensure_ascii=False, allow_nan=False, default=_plain).encode()
        )
    except (TypeError, ValueError) as error:  # encoding errors are ValueErrors
        raise InputError(f"{name} must be JSON values, numbers finite (got one that is not: {error})") from error
    return copied


def _plain(value: object) -> object:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} is not a JSON value")


def _set(record: object, **values: object) -> None:
    """Normalise fields of a frozen record."""
    for name, value in values.items():
        object.__setattr__(record, name, value)


def _check(record: object, **checks: Callable[[str, Any], object]) -> None:
    """Check and normalise fields of a frozen record that are not None."""
    known = {name: (check, getattr(record, name)) for name, check in checks.items()}
    _set(record, **{name: check(name, value) for name, (check, value) in known.items() if value is not None})


def _float32s(name: str, values: Sequence[float] | npt.NDArray[np.float32]) -> tuple[float, ...]:
    with np.errstate(over="ignore"):  # too large is refused as not finite
        numbers = tuple(float(str(value)) for value in np.asarray(values, dtype=np.float32).ravel())
    if not numbers or not all(map(math.isfinite, numbers)):
        raise InputError(f"{name} must hold finite numbers, at least one (got {len(numbers)} numbers)")
    return numbers


def _finite(name: str, value: float) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise InputError(f"{name} must be finite (got {number})")
    return number


def _not_negative(name: str, value: float) -> float:
    if _finite(name, value) < 0:
        raise InputError(f"{name} must not be negative (got {value})")
    return float(value)


def _share(name: str, value: float) -> float:
    number = float(value)
    if not 0 <= number <= 1:
        raise InputError(f"{name} must lie in [0, 1] (got {number})")
    return number


# The whole.


Metric = float | int | None


@dataclass(frozen=True, eq=False)
class Origin:
    """The model and the data of an explanation in memory; files do not hold them."""

    classifier: Classifier
    attributes: Attributes | None  # the tensors of the user's graphs; none where labels are all there is


@dataclass(frozen=True, eq=False)
class AtHand:
    """Attachments of an explanation that are no part of the result."""

    facts: RunFacts = field(default_factory=RunFacts)
    chooser: RuleChooser | StoredChooser | None = None
    origin: Origin | None = None


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """Common recourses in order of selection, with everything needed to check and draw them.

    Every input is covered by exactly one recourse, the first that reaches it, or listed in `uncovered`. No recourses
    at all is a valid answer.

    Args:
        schema: Names of the dataset, its labels and classes.
        parameters: Parameters of the run, as JSON values.
        metrics: Figures of the run by name (`coverage`, `total_length`, `cost` …).
        inputs: The rejected graphs by index in the dataset.
        recourses: The common recourses, in order of selection.
        uncovered: The inputs that no recourse covers.
        warnings: Reasons to be careful with the figures, one sentence each.
        notes: Remarks on reading the data and on the search, one sentence each.
        shortcuts: Rules that move the explained model and that models of other kinds do not believe; they count for no coverage.
        recourse: Kind of the recourses, "vectors" or "rules".
        changes: Which changes the counterfactuals were found with: "any", "connected", "plausible" or "confirmed".
        at_hand: Facts of the run, the chooser and the model; they do not count for equality.
    """

    schema: Schema
    parameters: Mapping[str, Any]
    metrics: Mapping[str, Metric]
    inputs: Mapping[int, RejectedInput]
    recourses: tuple[CommonRecourse, ...]
    uncovered: tuple[Uncovered, ...]
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    shortcuts: tuple[CommonRecourse, ...] = ()
    recourse: str = "vectors"
    changes: str = "any"
    at_hand: AtHand = field(default_factory=AtHand, compare=False, repr=False)

    def __post_init__(self) -> None:
        _check(self, parameters=json_values, metrics=json_values)
        _set(self, inputs={int(index): self.inputs[index] for index in sorted(self.inputs)})
        lists = ("recourses", "uncovered", "warnings", "notes", "shortcuts")
        _set(self, **{name: tuple(getattr(self, name)) for name in lists})
        for check in (check_inputs, check_kind, check_cover, check_metrics, check_paths):
            check(self)
        _set(self, recourses=tuple(copy.copy(recourse) for recourse in self.recourses))
        for recourse in self.recourses:
            _set(recourse, scene=self)

    def using(self, **others: Any) -> Explanation:
        """The same explanation with other `facts`, `chooser` or `origin`; its records are not checked again."""
        found = copy.copy(self)
        _set(found, at_hand=replace(self.at_hand, **others))
        return found

    @property
    def facts(self) -> RunFacts:
        """Versions, seconds and memory of the run."""
        return self.at_hand.facts

    @property
    def chooser(self) -> RuleChooser | StoredChooser | None:
        """Rules: the function that chooses again; None if the table of rules is not available."""
        return self.at_hand.chooser

    @property
    def origin(self) -> Origin | None:
        """The model and the tensors of the user's graphs; None if they are not available."""
        return self.at_hand.origin

    def choose(
        self,
        *,
        num_recourses: int | None = None,
        min_success: float | None = None,
        min_support: int | None = None,
        max_cost: int | None = None,
        max_changes: int | None = None,
        forbidden_labels: Sequence[str] | None = None,
        forbidden_groups: Sequence[str] | None = None,
        forbidden_kinds: Sequence[str] | None = None,
        protected_labels: Sequence[str] | None = None,
        radii: Sequence[int] | None = None,
        confirmed: bool | None = None,
        min_truth: float | None = None,
    ) -> Explanation:
        """Choose rules again under other conditions, from the table of the run, without a search. None keeps the run's setting.

        Args:
            num_recourses: `R`, most rules to choose.
            min_success: Least success of a rule: of the graphs it can be carried out on, the share that it turns.
            min_support: Fewest graphs that it turns.
            max_cost: Most elements that it changes.
            max_changes: Most changes made together.
            forbidden_labels: Names of node labels that it must not add.
            forbidden_groups: Names of groups that it must not attach, as sentences have them: "nitro (–NO2)", or "nitro" or "–NO2" alone.
            forbidden_kinds: Kinds of change that it must not consist of: relabel, attach, detach, swap, join, cut, rebond, tie.
            protected_labels: Names of node labels that it must not remove or relabel.
            radii: Radii its context may have: 0 for the change and its anchor, 1 with the anchor's exact neighbours, 2 with theirs.
            confirmed: Count only results that most of the panel accept.
            min_truth: Count only results whose likelihood of truth, according to the jury, is at least this, and prefer the likeliest; 0 counts all.
        """
        wishes = {name: value for name, value in locals().items() if name != "self"}
        if self.recourse != "rules":
            raise InputError("Only rules can be chosen again (got an explanation by vectors)")
        if self.chooser is None:
            raise InputError("choose needs the table of rules: take the result of fit, or of comrecgc.open_run")
        return self.chooser(**wishes).using(origin=self.origin)

    @property
    def coverage(self) -> float:
        """Share of the inputs covered by all recourses together."""
        return self.coverage_curve[-1] if self.recourses else 0.0

    @property
    def least_truth(self) -> float | None:
        """Likelihood of truth, according to the jury, from which results count as covered; None if all count."""
        wishes = self.parameters.get("wishes")
        least = number_in(wishes, "min_truth") if isinstance(wishes, Mapping) else None
        return least if least and number_in(self.metrics, "expected_true") is not None else None

    @property
    def coverage_curve(self) -> tuple[float, ...]:
        """Share of the inputs covered by the first 1, 2, … R recourses."""
        total = max(1, len(self.inputs))
        return tuple(covered / total for covered in accumulate(recourse.gain for recourse in self.recourses))

    @property
    def counterfactuals(self) -> tuple[list[Graph], list[Graph]]:
        """The covered inputs with their counterfactuals, recourse after recourse."""
        members = [member for recourse in self.recourses for member in recourse.covered]
        return [self.inputs[member.input].graph for member in members], [it.counterfactual for it in members]

    def covering(self, index: int) -> tuple[int, CoveredInput] | None:
        """The index of the recourse that covers an input, and its `CoveredInput`; None for an uncovered one."""
        if index not in self.inputs:
            raise InputError(f"Not an index of an input (got {index})")
        members = ((place, member) for place, recourse in enumerate(self.recourses) for member in recourse.covered)
        return next((found for found in members if found[1].input == index), None)

    def to_frame(self) -> pd.DataFrame:
        """One row per recourse. Needs pandas."""
        from comrecgc.explanation.folder import frame_of, recourse_rows

        return frame_of(recourse_rows(self)).set_index("recourse")

    def counterfactual(self, index: int) -> Data:
        """The counterfactual of an input as PyG `Data` with the features of the user's graphs: kept edges in their order, then new ones.

        Unchanged nodes and edges keep their rows of every tensor; others get those of a typical node or edge of their label. An explanation from a
        file has no features, so `x` is one-hot in the labels.

        Args:
            index: Index in the dataset of an input that is covered.
        """
        from comrecgc.explanation.display import pyg_counterfactual

        return pyg_counterfactual(self, index)

    def to_pyg(self, index: int) -> Any:
        """The change of one input as a `torch_geometric.explain.Explanation`, for PyG's metrics and drawings.

        It has the graph's own tensors, and edges in their order. `node_mask` `[n, 1]` is 1 for nodes that are removed or relabelled, or that lose or
        gain an edge; `edge_mask` for edges that are removed or relabelled. `prediction` and `target` are the model's scores and class.
        `counterfactual` is the graph after the change, and `recourse` the index of the recourse.

        Args:
            index: Index in the dataset of an input that is covered.
        """
        from comrecgc.explanation.display import pyg_explanation

        return pyg_explanation(self, index)

    def plot(self) -> Figure:
        """The coverage curve, and for rules how often each works, as a figure. Needs matplotlib."""
        from comrecgc.explanation.display import plot_explanation

        return plot_explanation(self)

    def to_json(self) -> str:
        """The text of `explanation.json`, which does not depend on the run's timings."""
        from comrecgc.explanation.folder import encode_explanation

        return encode_explanation(self)

    def save(self, folder: str | Path) -> None:
        """Write the run folder: `manifest.json`, `explanation.json`, `recourses.csv`, `coverage_curve.csv`, `rules.npz` for rules."""
        from comrecgc.explanation.folder import save_explanation

        save_explanation(self, Path(folder))

    def to_sdf(self, path: str | Path) -> None:
        """Write every counterfactual of molecules to an SDF file, with names, probabilities, SMIRKS and properties."""
        from comrecgc.explanation.folder import write_sdf

        write_sdf(self, path)

    @classmethod
    def load(cls, folder: str | Path) -> Explanation:
        """The explanation in a run folder, checked against the manifest's checksums and for consistency."""
        from comrecgc.explanation.folder import read_explanation

        return read_explanation(folder)

    def __repr__(self) -> str:
        return (
            f"Explanation({self.schema.dataset!r}, recourses={len(self.recourses)}, inputs={len(self.inputs)}, "
            f"coverage={self.coverage:.1%})"
        )

    def _repr_html_(self) -> str:
        from comrecgc.explanation.display import explanation_html

        return explanation_html(self)


# What must hold of an explanation, whether a run made it or a file did.


_LARGEST = 1e300


def check_inputs(explanation: Explanation) -> None:
    """Names are text, and input graphs are as read from data over the named labels."""
    schema, names = explanation.schema, explanation.schema.edge_label_names
    texts = (schema.dataset, *schema.label_names, *schema.class_names, *(schema.edge_label_names or ()))
    texts += (*explanation.warnings, *explanation.notes)
    texts += tuple(text for recourse in explanation.recourses for text in (recourse.summary, recourse.description))
    for text in texts:
        try:
            text.encode()
        except (UnicodeEncodeError, AttributeError):
            raise InputError(f"Names and words must be text that UTF-8 can hold (got {text!r:.80})") from None
    if len(schema.class_names) != 2:
        raise InputError(f"class_names must be two, reject and accept (got {len(schema.class_names)})")
    for index, rejected in explanation.inputs.items():
        graph = rejected.graph
        if index < 0:
            raise InputError(f"Indices of inputs must not be negative (got {index})")
        if graph.next_id != graph.num_nodes or graph.ids[-1] != graph.num_nodes - 1:
            raise InputError(f"Inputs must be graphs as read from data, ids equal to positions (got input {index})")
        _check_labels(f"input {index}", int(graph.labels.max()), len(schema.label_names))
        largest = -1 if names is None or graph.edge_labels is None else int(graph.edge_labels.max(initial=-1))
        if names is not None and largest >= len(names):
            raise InputError(f"Every edge label needs a name (got edge label {largest} in input {index})")


def _check_labels(what: str, largest: int, num_labels: int) -> None:
    if largest >= num_labels:
        raise InputError(f"Every node label needs a name (got label {largest} of {num_labels} names in {what})")


def check_kind(explanation: Explanation) -> None:
    """All recourses are vectors of one length, or all are rules over the named labels."""
    for name, allowed in (("recourse", RECOURSES), ("changes", CHANGES)):
        if getattr(explanation, name) not in allowed:
            raise InputError(f"{name} must be one of {', '.join(allowed)} (got {getattr(explanation, name)!r:.80})")
    for place, recourse in enumerate(explanation.recourses):
        if (recourse.rule is not None) != (explanation.recourse == "rules"):
            raise InputError(f"Every recourse must be one of the {explanation.recourse} (got another at {place})")
        for side in () if recourse.rule is None else (recourse.rule.before, recourse.rule.after):
            _check_labels(
                f"the rule of recourse {place}", max(side.labels, default=0), len(explanation.schema.label_names)
            )
    widths = {len(recourse.vector) for recourse in explanation.recourses if recourse.vector is not None}
    if len(widths) > 1:
        raise InputError(f"Recourse vectors must all have one length (got {sorted(widths)})")


def check_cover(explanation: Explanation) -> None:
    """Every input is covered once or listed as uncovered, and recourses name only inputs."""
    listed = [member.input for recourse in explanation.recourses for member in recourse.covered]
    listed += [entry.input for entry in explanation.uncovered]
    _check_indices("covered and uncovered inputs", listed, explanation.inputs)
    missing = set(explanation.inputs) - set(listed)
    if missing:
        raise InputError(f"Every input must be covered or listed as uncovered (got neither for input {min(missing)})")
    earlier: set[int] = set()
    for place, recourse in enumerate(explanation.recourses):
        _check_indices(f"also_covers of recourse {place}", recourse.also_covers, explanation.inputs)
        early = set(recourse.also_covers) - earlier
        if early:
            raise InputError(
                f"also_covers of recourse {place} must name inputs covered by an earlier recourse (got {min(early)})"
            )
        earlier.update(member.input for member in recourse.covered)


def _check_indices(what: str, indices: Sequence[int], inputs: Mapping[int, RejectedInput]) -> None:
    unknown = [index for index in indices if index not in inputs]
    if unknown:
        raise InputError(f"The {what} must be indices of inputs (got {unknown[0]})")
    if len(set(indices)) < len(indices):
        twice = next(index for place, index in enumerate(indices) if index in indices[:place])
        raise InputError(f"The {what} must be named once each (got {twice} twice)")


def check_metrics(explanation: Explanation) -> None:
    """Metrics are numbers, and those that follow from the recourses agree with them."""
    truth = {
        "coverage": explanation.coverage,
        "num_inputs": len(explanation.inputs),
        "num_recourses": len(explanation.recourses),
    }
    metrics: Mapping[str, object] = explanation.metrics
    for name, value in metrics.items():
        if value is not None and (
            isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > _LARGEST
        ):
            raise InputError(f"Metrics must be numbers or null (got {value!r:.80} for {name!r:.80})")
    for name, value in truth.items():
        stated = explanation.metrics.get(name, value)
        if stated is None or not math.isclose(stated, value, abs_tol=1e-6):
            raise InputError(f"The metric {name} must be what the recourses say, {value:g} (got {stated})")


def check_paths(explanation: Explanation) -> None:
    """Every path of edits leads from its input to its counterfactual, and so does the rule."""
    entries = [(k, it.rule, member) for k, it in enumerate(explanation.recourses) for member in it.covered]
    for place, rule, member in entries:
        what, after = f"input {member.input} under recourse {place}", member.counterfactual
        graph = explanation.inputs[member.input].graph
        try:
            end = apply_path(graph, member.edits)
        except InputError as error:
            raise InputError(f"The edits of {what} cannot be made: {error}") from error
        _check_labels(f"the counterfactual of {what}", int(after.labels.max()), len(explanation.schema.label_names))
        # Edits say nothing of edge labels; the rule does.
        is_same = end == after and np.array_equal(end.ids, after.ids) if rule else same_graph(end, after)
        if not is_same:
            raise InputError(f"The edits of {what} must lead to its counterfactual, and they lead to another graph")
        if rule and not is_site(rule, graph, member.site):
            raise InputError(f"The rule must be possible at the site of {what}")
        if rule and not same_graph(carry_out(rule, graph, member.site), after):
            raise InputError(f"The rule must lead to the counterfactual of {what}, and it leads to another graph")


def same_graph(one: Graph, other: Graph) -> bool:
    """Whether labels, edges, ids and edge labels all agree."""
    bonds = [None if graph.edge_labels is None else graph.edge_labels.tolist() for graph in (one, other)]
    return bonds[0] == bonds[1] and one == other and np.array_equal(one.ids, other.ids)
