"""The result of a run: which few recourses turn which rejected graphs into accepted ones."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from comrecgc.algorithms.base import CHANGES, RECOURSES
from comrecgc.data import Attributes
from comrecgc.errors import InputError
from comrecgc.explanation.records import (
    CommonRecourse,
    CoveredInput,
    RejectedInput,
    RunFacts,
    Scene,
    Uncovered,
    json_values,
)
from comrecgc.graphs import Graph, Rule, Schema, apply_path, carry_out, is_site
from comrecgc.models import Classifier

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from torch_geometric.data import Data

    from comrecgc.explanation.rules import RuleChooser
    from comrecgc.explanation.stored import StoredChooser


Metric = float | int | None


@dataclass(frozen=True, eq=False)
class Origin:
    """What an explanation is of, as it was at hand in the run; no file holds it.

    Args:
        classifier: The model.
        attributes: The tensors of the user's graphs; None where labels are all there is.
    """

    classifier: Classifier
    attributes: Attributes | None


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
        warnings: What a reader must know before trusting the figures, one sentence each.
        notes: What reading and searching did, one sentence each.
        shortcuts: Rules that move the explained model and that models of other kinds do not believe; they cover nothing here.
        recourse: Kind of the recourses, "vectors" or "rules".
        changes: Which changes the counterfactuals were found with: "any", "connected", "plausible" or "confirmed".
        facts: Versions, seconds and memory of the run; two explanations are equal whatever these are.
        chooser: Rules: chooses again; None where the table of rules is not at hand.
        origin: The model and the tensors of the user's graphs; None where they are not at hand.
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
    facts: RunFacts = field(default_factory=RunFacts, compare=False)
    chooser: RuleChooser | StoredChooser | None = field(default=None, compare=False, repr=False)
    origin: Origin | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("parameters", "metrics"):
            object.__setattr__(self, name, json_values(name, getattr(self, name)))
        object.__setattr__(self, "inputs", {int(index): self.inputs[index] for index in sorted(self.inputs)})
        for name in ("recourses", "uncovered", "warnings", "notes", "shortcuts"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        check_inputs(self)
        check_kind(self)
        check_cover(self)
        check_metrics(self)
        check_paths(self)
        scene = Scene(self.inputs, self.schema)
        object.__setattr__(self, "recourses", tuple(recourse.in_scene(scene) for recourse in self.recourses))

    def using(self, **others: Any) -> Explanation:
        """The same explanation with other `facts`, `chooser` or `origin`; what was found is not checked again."""
        assert others.keys() <= {"facts", "chooser", "origin"}
        found = copy.copy(self)
        for name, value in others.items():
            object.__setattr__(found, name, value)
        return found

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
        """Choose rules again under other wishes, from the table the run made; nothing is searched. None is as it was.

        Args:
            num_recourses: `R`, rules to choose at most.
            min_success: Least share of the graphs a rule can be carried out on that it turns.
            min_support: Fewest graphs that it turns.
            max_cost: Most elements that it changes.
            max_changes: Most changes made together.
            forbidden_labels: Names of node labels that it must not add.
            forbidden_groups: Names of groups that it must not attach, as sentences have them: "nitro (–NO2)", or "nitro" or "–NO2" alone.
            forbidden_kinds: Kinds of change that it must not consist of: relabel, attach, detach, swap, join, cut, rebond, tie.
            protected_labels: Names of node labels that it must not remove or relabel.
            radii: Radii its context may have: 0 for what changes and what it hangs on, 1 for the exact neighbours of that too, 2 for theirs.
            confirmed: Count only results that most of the panel accept.
            min_truth: Count only results that come true at least this likely, according to the jury, and prefer the likeliest; 0 counts all.
        """
        if self.recourse != "rules":
            raise InputError("Only rules can be chosen again (got an explanation by vectors)")
        if self.chooser is None:
            raise InputError("choose needs the table of rules: take the result of fit, or of comrecgc.open_run")
        chosen = self.chooser(
            num_recourses=num_recourses, min_success=min_success, min_support=min_support, max_cost=max_cost,
            max_changes=max_changes, forbidden_labels=forbidden_labels, forbidden_groups=forbidden_groups,
            forbidden_kinds=forbidden_kinds, protected_labels=protected_labels, radii=radii, confirmed=confirmed,
            min_truth=min_truth,
        )  # fmt: skip
        return chosen.using(origin=self.origin)

    @property
    def coverage(self) -> float:
        """Share of the inputs covered by all recourses together."""
        return self.coverage_curve[-1] if self.recourses else 0.0

    @property
    def coverage_curve(self) -> tuple[float, ...]:
        """Share of the inputs covered by the first 1, 2, … R recourses."""
        total = max(1, len(self.inputs))
        return tuple(covered / total for covered in accumulate(recourse.gain for recourse in self.recourses))

    def covering(self, index: int) -> tuple[int, CoveredInput] | None:
        """The place of the first recourse that covers an input, and how it does; None for an uncovered one."""
        if index not in self.inputs:
            raise InputError(f"Not an index of an input (got {index})")
        for place, recourse in enumerate(self.recourses):
            for member in recourse.covered:
                if member.input == index:
                    return place, member
        return None

    def to_frame(self) -> pd.DataFrame:
        """One row per recourse. Needs pandas."""
        from comrecgc.explanation.folder import recourse_rows

        try:
            import pandas as pd
        except ImportError as error:
            raise InputError("to_frame needs pandas: pip install 'comrecgc[notebook]'") from error
        header, *rows = recourse_rows(self)
        return pd.DataFrame(rows, columns=header).set_index("recourse")

    def counterfactual(self, index: int) -> Data:
        """What comes of an input, as PyG `Data` in the features of the user's own graphs: kept edges in their order, new ones behind.

        Nodes and edges that do not change have their own rows of every tensor, others those of a typical node or edge of their label. An explanation
        from a file has no features, so `x` is one-hot in the labels.

        Args:
            index: Index in the dataset of an input that is covered.
        """
        from comrecgc.explanation.folder import pyg_counterfactual

        return pyg_counterfactual(self, index)

    def to_pyg(self, index: int) -> Any:
        """What the recourse of one input changes, as a `torch_geometric.explain.Explanation`, for PyG's metrics and drawings.

        It has the graph's own tensors, and edges in their order. `node_mask` `[n, 1]` is 1 for nodes that go, change their label, or lose or gain an edge;
        `edge_mask` for edges that go or change their label. `prediction` and `target` are the model's scores and class. `counterfactual` is what comes of
        the graph, and `recourse` the place of the recourse.

        Args:
            index: Index in the dataset of an input that is covered.
        """
        from comrecgc.explanation.folder import pyg_explanation

        return pyg_explanation(self, index)

    def plot(self) -> Figure:
        """The coverage curve, and for rules how often each works, as a figure. Needs matplotlib."""
        from comrecgc.explanation.display import plot_explanation

        return plot_explanation(self)

    def to_json(self) -> str:
        """The text of `explanation.json`: the same for the same result, whatever the run's timings."""
        from comrecgc.explanation.document import encode_explanation

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
        from comrecgc.explanation.folder import load_explanation

        return load_explanation(folder)

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
    schema = explanation.schema
    texts = (schema.dataset, *schema.label_names, *schema.class_names, *(schema.edge_label_names or ()))
    texts += (*explanation.warnings, *explanation.notes)
    texts += tuple(text for recourse in explanation.recourses for text in (recourse.summary, recourse.description))
    for text in texts:
        try:
            text.encode()
        except (UnicodeEncodeError, AttributeError):
            raise InputError(f"Names and words must be text that UTF-8 can hold (got {text!r:.80})") from None
    if len(explanation.schema.class_names) != 2:
        raise InputError(f"class_names must be two, reject and accept (got {len(explanation.schema.class_names)})")
    for index, rejected in explanation.inputs.items():
        graph = rejected.graph
        if index < 0:
            raise InputError(f"Indices of inputs must not be negative (got {index})")
        if graph.next_id != graph.num_nodes or graph.ids[-1] != graph.num_nodes - 1:
            raise InputError(f"Inputs must be graphs as read from data, ids equal to positions (got input {index})")
        _check_labels(f"input {index}", int(graph.labels.max()), len(explanation.schema.label_names))
        if explanation.schema.edge_label_names is not None and graph.edge_labels is not None and graph.num_edges:
            largest = int(graph.edge_labels.max())
            if largest >= len(explanation.schema.edge_label_names):
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
    """Every input stands in exactly one place, and a recourse speaks of inputs only."""
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
    """Every path of edits leads from its input to its counterfactual."""
    for place, recourse in enumerate(explanation.recourses):
        for member in recourse.covered:
            graph, num_labels = explanation.inputs[member.input].graph, len(explanation.schema.label_names)
            _check_path(place, member, graph, num_labels, recourse.rule)


def _check_path(place: int, member: CoveredInput, graph: Graph, num_labels: int, rule: Rule | None) -> None:
    what = f"input {member.input} under recourse {place}"
    try:
        end = apply_path(graph, member.edits)
    except InputError as error:
        raise InputError(f"The edits of {what} cannot be made: {error}") from error
    _check_labels(f"the counterfactual of {what}", int(member.counterfactual.labels.max()), num_labels)
    if rule is None:
        if not same_graph(end, member.counterfactual):
            raise InputError(f"The edits of {what} must lead to its counterfactual, and they lead to another graph")
        return
    # Edits say nothing of edge labels; the rule does.
    if end != member.counterfactual or not np.array_equal(end.ids, member.counterfactual.ids):
        raise InputError(f"The edits of {what} must lead to its counterfactual, and they lead to another graph")
    if not is_site(rule, graph, member.site):
        raise InputError(f"The rule must be possible at the site of {what}")
    if not same_graph(carry_out(rule, graph, member.site), member.counterfactual):
        raise InputError(f"The rule must lead to the counterfactual of {what}, and it leads to another graph")


def same_graph(one: Graph, other: Graph) -> bool:
    """Whether labels, edges, ids and edge labels all agree."""
    same_bonds = (one.edge_labels is None) == (other.edge_labels is None) and (
        one.edge_labels is None or np.array_equal(one.edge_labels, other.edge_labels)  # type: ignore[arg-type]
    )
    return same_bonds and one == other and np.array_equal(one.ids, other.ids)
