"""The parts of an explanation: common recourses, the inputs each covers, and the inputs that nothing covers."""

from __future__ import annotations

import copy
import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from comrecgc.cover import Reason
from comrecgc.data import DatasetIndex
from comrecgc.errors import InputError
from comrecgc.graphs import EditPath, Graph, Rule, Schema

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Position = tuple[float, float]


@dataclass(frozen=True)
class RejectedInput:
    """A graph that the classifier rejects, as read from the dataset, with what the data calls it and its stereo marks, which graphs do not hold."""

    graph: Graph
    reject_probability: float
    name: str = ""
    stereo: str = ""

    def __post_init__(self) -> None:
        _set(self, reject_probability=_share("reject_probability", self.reject_probability))


@dataclass(frozen=True, kw_only=True)
class Uncovered:
    """An input that no chosen recourse covers, by its index in the dataset, and why."""

    input: DatasetIndex
    reason: Reason

    def __post_init__(self) -> None:
        if self.reason not in list(Reason):
            raise InputError(
                f"reason must be one of {', '.join(repr(reason.value) for reason in Reason)} (got {self.reason!r})"
            )
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
        _set(
            self,
            input=int(self.input),
            probability=_share("probability", self.probability),
            distance=_not_negative("distance", self.distance),
            num_edits=int(_not_negative("num_edits", self.num_edits)),
            edits=tuple(self.edits),
            position=(x, y),
            site=tuple(int(node) for node in self.site),
            cost=None if self.cost is None else _not_negative("cost", self.cost),
            truth=None if self.truth is None else _share("truth", self.truth),
        )


@dataclass(frozen=True)
class Scene:
    """What a recourse needs to draw its examples. An `Explanation` gives it to its recourses."""

    inputs: Mapping[int, RejectedInput]
    schema: Schema


@dataclass(frozen=True, kw_only=True)
class CommonRecourse:
    """One change that turns many rejected graphs into accepted ones: a vector of the embedding, or a rewrite rule.

    Args:
        summary: What it does, in a few words: "remove N, 2 O (nitro)".
        vector: Vectors: the recourse `r`, float32; kept as floats with as many digits as tell float32 values apart.
        rule: Rules: the rewrite rule.
        row: Rules: its row of the rule table of the run.
        smirks: Rules of molecules: the same as SMIRKS.
        statistics: How the recourse fares where it can be carried out, as JSON values by name.
        description: The summary at more length.
        covered: Inputs covered by this recourse and by none chosen before it.
        also_covers: Inputs that this recourse covers too, but that one chosen before it covers already.
        share_valid: Share of `covered` whose counterfactual is a valid molecule; None where that means nothing.
        scene: The graphs and names for drawing; set by the `Explanation`.
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
    scene: Scene | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if (self.vector is None) == (self.rule is None):
            raise InputError("A recourse is either a vector or a rule (got both or neither)")
        _set(
            self,
            vector=None if self.vector is None else _float32s(self.vector),
            statistics=json_values("statistics", self.statistics),
            covered=tuple(self.covered),
            also_covers=tuple(int(index) for index in self.also_covers),
            share_valid=None if self.share_valid is None else _share("share_valid", self.share_valid),
        )

    @property
    def norm(self) -> float | None:
        """`‖r‖`; None for a rule."""
        return None if self.vector is None else math.hypot(*self.vector)

    @property
    def gain(self) -> int:
        """How many inputs this recourse covers that none chosen before it does."""
        return len(self.covered)

    @property
    def median_edits(self) -> float | None:
        """Median true edit count over `covered`."""
        return statistics.median(member.num_edits for member in self.covered) if self.covered else None

    @property
    def median_distance(self) -> float | None:
        """Median `d(G, H)` over `covered`."""
        return statistics.median(member.distance for member in self.covered) if self.covered else None

    def in_scene(self, scene: Scene) -> CommonRecourse:
        """The same recourse, able to draw its examples."""
        shown = copy.copy(self)
        _set(shown, scene=scene)
        return shown

    def plot(self, example: int = 0) -> Figure:
        """Draw one covered input before and after, with what changes highlighted. Needs matplotlib.

        Args:
            example: Place in `covered`.
        """
        from comrecgc.explanation.display import plot_change

        if self.scene is None:
            raise InputError("Only a recourse of an Explanation can be drawn (got one that stands alone)")
        if not -len(self.covered) <= example < len(self.covered):
            raise InputError(f"example must be a place in covered, of {len(self.covered)} inputs (got {example})")
        return plot_change(self.covered[example], self.scene, title=self.summary)

    def _repr_html_(self) -> str:
        from comrecgc.explanation.display import recourse_html

        return recourse_html(self)


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """What is true of one run but not of what it found, such as seconds of each stage and bytes of memory. The manifest has it, `explanation.json` not.

    `facts` are anything else worth keeping: names of checkpoints, steps walked.
    """

    seed: int | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    peak_memory: int | None = None
    model_accuracy: float | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _set(self, **{name: json_values(name, getattr(self, name)) for name in ("versions", "seconds", "facts")})
        for stage, seconds in self.seconds.items():
            if not 0 <= seconds < math.inf:
                raise InputError(f"seconds of a stage must be finite and not negative (got {seconds} for {stage!r})")
        if self.peak_memory is not None:
            _not_negative("peak_memory", self.peak_memory)
        if self.model_accuracy is not None:
            _share("model_accuracy", self.model_accuracy)


def number_in(values: Mapping[str, Any], name: str) -> float | None:
    """A figure, if it is there and is one: files may hold anything."""
    value = values.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def interval_in(values: Mapping[str, Any], name: str = "interval") -> tuple[float, float] | None:
    """An interval, if it is there and is one."""
    found = values.get(name)
    if isinstance(found, list) and len(found) == 2 and all(isinstance(end, int | float) for end in found):
        return float(found[0]), float(found[1])
    return None


def json_values(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """A copy with plain JSON values, which is what comes back from a file."""
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


def _float32s(values: Sequence[float] | npt.NDArray[np.float32]) -> tuple[float, ...]:
    with np.errstate(over="ignore"):  # too large is refused as not finite
        numbers = tuple(float(str(value)) for value in np.asarray(values, dtype=np.float32).ravel())
    if not numbers or not all(map(math.isfinite, numbers)):
        raise InputError(f"vector must hold finite numbers, at least one (got {len(numbers)} numbers)")
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
