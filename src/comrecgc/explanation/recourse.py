"""A common recourse and the inputs it covers; the inputs that nothing covers, and why."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from comrecgc.errors import InputError
from comrecgc.graphs import EditPath, Graph
from comrecgc.metrics import Reason

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Position = tuple[float, float]


@dataclass(frozen=True)
class RejectedInput:
    """A graph the classifier rejects.

    Args:
        graph: The graph as read from the dataset.
        reject_probability: Probability of reject.
    """

    graph: Graph
    reject_probability: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "reject_probability", _share("reject_probability", self.reject_probability))


@dataclass(frozen=True, kw_only=True)
class Uncovered:
    """An input that no chosen recourse covers.

    Args:
        input: Index in the dataset.
        reason: Why.
    """

    input: int
    reason: Reason

    def __post_init__(self) -> None:
        object.__setattr__(self, "input", int(self.input))
        try:
            object.__setattr__(self, "reason", Reason(self.reason))
        except ValueError:
            reasons = ", ".join(repr(reason.value) for reason in Reason)
            raise InputError(f"reason must be one of {reasons} (got {self.reason!r})") from None


@dataclass(frozen=True, kw_only=True)
class CoveredInput:
    """An input that a recourse covers, and the counterfactual that shows it.

    Args:
        input: Index in the dataset.
        probability: Probability of accept of the counterfactual.
        distance: `d(G, H)`, the normalised distance of the embedding.
        num_edits: True edit count from the input to the counterfactual.
        edits: Path from the input to the counterfactual, in the input's node ids.
        counterfactual: The graph at the end of that path.
        position: Where the recourse vector lies on the 2-D map.
    """

    input: int
    probability: float
    distance: float
    num_edits: int
    edits: EditPath
    counterfactual: Graph
    position: Position = (0.0, 0.0)

    def __post_init__(self) -> None:
        x, y = (_finite("position", value) for value in self.position)
        distance = _finite("distance", self.distance)
        if distance < 0:
            raise InputError(f"distance must not be negative (got {distance})")
        if self.num_edits < 0:
            raise InputError(f"num_edits must not be negative (got {self.num_edits})")
        for name, value in (
            ("input", int(self.input)),
            ("probability", _share("probability", self.probability)),
            ("distance", distance),
            ("num_edits", int(self.num_edits)),
            ("edits", tuple(self.edits)),
            ("position", (x, y)),
        ):
            object.__setattr__(self, name, value)


@dataclass(frozen=True)
class Scene:
    """What a recourse needs to draw its examples; an `Explanation` gives it to its recourses."""

    inputs: Mapping[int, RejectedInput]
    label_names: tuple[str, ...]
    class_names: tuple[str, str]
    is_molecular: bool


@dataclass(frozen=True, kw_only=True)
class CommonRecourse:
    """A direction of change that turns many rejected graphs into accepted ones.

    Args:
        vector: The recourse `r`, float32; kept as floats with as many digits as tell float32 values apart.
        summary: What it does, in a few words: "remove N, 2 O (nitro)".
        description: The same at more length.
        covered: Inputs covered by this recourse and by none chosen before it.
        also_covers: Inputs this recourse covers too, which one chosen before it covers already.
        share_valid: Share of `covered` whose counterfactual is a valid molecule; None where that means nothing.
        scene: The graphs and names for drawing; set by the `Explanation`.
    """

    vector: tuple[float, ...]
    summary: str
    description: str = ""
    covered: tuple[CoveredInput, ...] = ()
    also_covers: tuple[int, ...] = ()
    share_valid: float | None = None
    scene: Scene | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        vector = _float32s(self.vector)
        if not vector or not all(map(math.isfinite, vector)):
            raise InputError(f"vector must hold finite numbers, at least one (got {len(vector)} numbers)")
        object.__setattr__(self, "vector", vector)
        object.__setattr__(self, "covered", tuple(self.covered))
        object.__setattr__(self, "also_covers", tuple(int(index) for index in self.also_covers))
        if self.share_valid is not None:
            object.__setattr__(self, "share_valid", _share("share_valid", self.share_valid))

    @property
    def norm(self) -> float:
        """`‖r‖`."""
        return math.hypot(*self.vector)

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

    def plot(self, example: int = 0) -> Figure:
        """Draw one covered input before and after, with what changes highlighted. Needs matplotlib.

        Args:
            example: Place in `covered`.
        """
        from comrecgc.explanation.plot import plot_change

        if self.scene is None:
            raise InputError("Only a recourse of an Explanation can be drawn (got one that stands alone)")
        if not -len(self.covered) <= example < len(self.covered):
            raise InputError(f"example must be a place in covered, of {len(self.covered)} inputs (got {example})")
        return plot_change(self.covered[example], self.scene, title=self.summary)


def _float32s(values: Sequence[float] | npt.NDArray[np.float32]) -> tuple[float, ...]:
    with np.errstate(over="ignore"):  # too large is refused as not finite
        return tuple(float(str(value)) for value in np.asarray(values, dtype=np.float32).ravel())


def _finite(name: str, value: float) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise InputError(f"{name} must be finite (got {number})")
    return number


def _share(name: str, value: float) -> float:
    number = float(value)
    if not 0 <= number <= 1:
        raise InputError(f"{name} must lie in [0, 1] (got {number})")
    return number
