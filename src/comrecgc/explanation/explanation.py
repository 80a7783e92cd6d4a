"""The result of a run: which few recourses turn which rejected graphs into accepted ones."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from comrecgc.errors import InputError
from comrecgc.explanation.checks import check_cover, check_inputs, check_kind, check_metrics, check_paths
from comrecgc.explanation.records import (
    CommonRecourse,
    CoveredInput,
    RejectedInput,
    RunFacts,
    Scene,
    Uncovered,
    json_values,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Metric = float | int | None


class Chooser(Protocol):
    """Chooses rules again from the table they were chosen from. Whoever makes an explanation gives it one."""

    def __call__(self, **wishes: Any) -> Explanation:
        """Another choice; wishes are those of `Explanation.choose`."""
        ...

    def save(self, folder: Path) -> Mapping[str, Any]:
        """Write the table to a run folder; what the manifest must say of it."""
        ...

    def in_memory(self) -> Chooser:
        """The same with its table in memory."""
        ...


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """Common recourses in order of selection, with everything needed to check and draw them.

    Every input is covered by exactly one recourse, the first that reaches it, or listed in `uncovered`. No recourses
    at all is a valid answer.

    Args:
        dataset: Name of the dataset.
        parameters: Parameters of the run, as JSON values.
        metrics: Figures of the run by name (`coverage`, `total_length`, `cost` …).
        inputs: The rejected graphs by index in the dataset.
        recourses: The common recourses, in order of selection.
        uncovered: The inputs that no recourse covers.
        label_names: Name of each node label.
        class_names: What reject and accept mean.
        edge_label_names: Name of each edge label, if edges have labels.
        is_molecular: Whether labels are chemical elements.
        warnings: What a reader must know before trusting the figures, one sentence each.
        notes: What reading and searching did, one sentence each.
        recourse: Kind of the recourses, "vectors" or "rules".
        changes: Which changes the counterfactuals were found with: "any", "connected", "plausible" or "confirmed".
        facts: Versions, seconds and memory of the run; two explanations are equal whatever these are.
        chooser: Rules: chooses again; None where the table of rules is not at hand.
    """

    dataset: str
    parameters: Mapping[str, Any]
    metrics: Mapping[str, Metric]
    inputs: Mapping[int, RejectedInput]
    recourses: tuple[CommonRecourse, ...]
    uncovered: tuple[Uncovered, ...]
    label_names: tuple[str, ...]
    class_names: tuple[str, str] = ("reject", "accept")
    edge_label_names: tuple[str, ...] | None = None
    is_molecular: bool = False
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    recourse: str = "vectors"
    changes: str = "any"
    facts: RunFacts = field(default_factory=RunFacts, compare=False)
    chooser: Chooser | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("parameters", "metrics"):
            object.__setattr__(self, name, json_values(name, getattr(self, name)))
        object.__setattr__(self, "inputs", {int(index): self.inputs[index] for index in sorted(self.inputs)})
        for name in ("recourses", "uncovered", "label_names", "class_names", "warnings", "notes"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if self.edge_label_names is not None:
            object.__setattr__(self, "edge_label_names", tuple(self.edge_label_names))
        check_inputs(self)
        check_kind(self)
        check_cover(self)
        check_metrics(self)
        check_paths(self)
        scene = Scene(self.inputs, self.label_names, self.class_names, self.is_molecular, self.edge_label_names)
        object.__setattr__(self, "recourses", tuple(recourse.in_scene(scene) for recourse in self.recourses))

    def with_facts(self, facts: RunFacts) -> Explanation:
        """The same explanation with other facts of its run; what was found is not checked again."""
        stamped = copy.copy(self)
        object.__setattr__(stamped, "facts", facts)
        return stamped

    def with_chooser(self, chooser: Chooser) -> Explanation:
        """The same explanation, able to choose again."""
        able = copy.copy(self)
        object.__setattr__(able, "chooser", chooser)
        return able

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
        """
        if self.recourse != "rules":
            raise InputError("Only rules can be chosen again (got an explanation by vectors)")
        if self.chooser is None:
            raise InputError("choose needs the table of rules: take the result of fit, or comrecgc.load_explanation")
        return self.chooser(
            num_recourses=num_recourses, min_success=min_success, min_support=min_support, max_cost=max_cost,
            max_changes=max_changes, forbidden_labels=forbidden_labels, forbidden_groups=forbidden_groups,
            forbidden_kinds=forbidden_kinds, protected_labels=protected_labels, radii=radii, confirmed=confirmed,
        )  # fmt: skip

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

    def to_pyg(self, index: int) -> Any:
        """What the recourse of one input changes, as a `torch_geometric.explain.Explanation`, for PyG's metrics and drawings.

        `node_mask` `[n, 1]` is 1 for nodes that go, change their label, or lose or gain an edge; `edge_mask` `[2m]` for edges that go or
        change their label. `x` is one-hot in the labels; `counterfactual` is what comes of it, as `Data`; `recourse` is the place of
        the recourse, and `prediction` the probabilities of reject and accept.

        Args:
            index: Index in the dataset of an input that is covered.
        """
        from comrecgc.explanation.pyg import pyg_explanation

        return pyg_explanation(self, index)

    def plot(self) -> Figure:
        """The coverage curve, and for rules how often each works, as a figure. Needs matplotlib."""
        from comrecgc.explanation.plot import plot_explanation

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
        from comrecgc.explanation.molecule_table import write_sdf

        write_sdf(self, path)

    @classmethod
    def load(cls, folder: str | Path) -> Explanation:
        """The explanation in a run folder, checked against the manifest's checksums and for consistency."""
        from comrecgc.explanation.folder import load_explanation

        return load_explanation(folder)

    def __repr__(self) -> str:
        return (
            f"Explanation({self.dataset!r}, recourses={len(self.recourses)}, inputs={len(self.inputs)}, "
            f"coverage={self.coverage:.1%})"
        )

    def _repr_html_(self) -> str:
        from comrecgc.explanation.notebook import explanation_html

        return explanation_html(self)
