"""What an algorithm is: a frozen, validated, documented configuration that finds candidates for common recourses.

An algorithm is a `@dataclass(frozen=True, kw_only=True)` whose fields are made with `option`: default, help text and limits are written there
once, and the check, the docstring, the command line and the stored parameters follow from it. Options that several algorithms share can form a record
such as `VectorChoice`; the command line and the manifest list its fields one by one. What all algorithms share is a `Task`.
"""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, cast

import numpy as np

from comrecgc.errors import InputError

if TYPE_CHECKING:
    from comrecgc.algorithms.inputs import Rejects
    from comrecgc.algorithms.vectors.candidates import Candidates, RungCheck
    from comrecgc.run import RunContext
    from comrecgc.scoring import NeighbourhoodScorer

CHANGES = ("any", "connected", "plausible", "confirmed")
RECOURSES = ("vectors", "rules")
AUTO = "auto"


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

    `panel` is its heading on the command line, by default the algorithm's; `command_line` says whether it is an option there.
    """
    limits = {"least": least, "most": most, "above": above, "below": below}
    known = {"help": help, "limits": limits, "choices": choices, "panel": panel, "command_line": command_line}
    return field(default=default, metadata=known)


# Checks of fields, from what `option` says of them.


def check_count(name: str, value: Any, *, least: int) -> None:
    """Refuse a value that is not an integer of at least `least`."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise InputError(f"{name} must be an integer of at least {least} (got {value!r})")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


_HOLDS = {"least": operator.ge, "most": operator.le, "above": operator.gt, "below": operator.lt}


def _checked(known: Field[Any], value: Any) -> Any:
    """The checked value of a field; a list of texts becomes a tuple."""
    kind, choices = str(known.type), known.metadata["choices"]
    if kind == "Any" or (value is None and ("None" in kind or known.default is None)):
        return value
    if isinstance(known.default, Options):
        if not isinstance(value, type(known.default)):
            raise InputError(f"{known.name} must be a {type(known.default).__name__} (got {value!r:.80})")
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


@dataclass(frozen=True, kw_only=True)
class Options:
    """A record of options: checked when it is made, documented by the help of its fields."""

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

    def values(self) -> Iterator[tuple[str, Any]]:
        """Every option with its value; a nested record is replaced by its own options."""
        for known in fields(self):
            value = getattr(self, known.name)
            yield from value.values() if isinstance(value, Options) else ((known.name, value),)


@dataclass(frozen=True, kw_only=True)
class Algorithm(Options):
    """A way to find common recourses."""

    name: ClassVar[str]
    """Name on the command line and in stored parameters."""

    recourse: ClassVar[str]
    """What it yields: "rules" or "vectors"."""

    default_recourses: ClassVar[int] = 100
    """`R` where the task leaves it open."""

    changes: str = option(
        "plausible",
        "Which changes are allowed: any, connected (no more components than before), plausible (every touched node has neighbours as in the data), "
        "confirmed (and most of a panel of other classifiers accept the result).",
        choices=CHANGES,
        panel="Trust",
    )

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        """The algorithm from options that differ from their defaults; options of nested records are given beside the others."""
        given = dict(options)
        for known in fields(cls):
            if isinstance(known.default, Options):
                inner = {each.name: given.pop(each.name) for each in fields(known.default) if each.name in given}
                given[known.name] = replace(known.default, **inner)
        return cls(**given)

    def parameters(self) -> dict[str, Any]:
        """The parameters that determine the answer, as JSON values; models and the rung of changes are stored elsewhere."""
        return {name: _json_value(value) for name, value in self.values() if name not in ("changes", "embedder")}

    @property
    def wants_panel(self) -> bool:
        """Whether other classifiers are asked by default."""
        return self.recourse == "rules" or self.changes == "confirmed"


A_co = TypeVar("A_co", bound=Algorithm, covariant=True)


@dataclass(frozen=True, kw_only=True)
class Task(Generic[A_co]):
    """What a run is to find: an algorithm, and the limits common to all algorithms."""

    algorithm: A_co
    theta: float = 0.1  # `θ`, the largest normalised distance of a counterfactual
    num_recourses: int = None  # type: ignore[assignment]  # `R`, at most; by default what is usual of the algorithm
    random_state: int = 0  # seed of everything random

    def __post_init__(self) -> None:
        if not isinstance(cast("object", self.algorithm), Algorithm):
            raise InputError(f"algorithm must be one of comrecgc's, as comrecgc.Rules() (got {self.algorithm!r:.80})")
        if not _is_number(self.theta) or not 0 < self.theta < math.inf:
            raise InputError(f"theta must be a positive number (got {self.theta!r})")
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
        """The parameters that determine the answer, as JSON values for the explanation."""
        shared = {name: getattr(self, name) for name in ("theta", "num_recourses", "random_state")}
        return {"algorithm": self.algorithm.name, **shared, **self.algorithm.parameters()}


_of_vectors = partial(option, panel="Vectors")


@dataclass(frozen=True, kw_only=True)
class VectorChoice(Options):
    """How recourses are chosen among the vectors of an embedding. None stands for the algorithm's own default."""

    delta: float | str = _of_vectors(
        None, "Δ: largest distance between a recourse and the vector of a graph that it covers; auto is half the median length of a one-edit recourse on the data.",
        above=0, choices=(AUTO,),
    )  # fmt: skip
    problem: str = _of_vectors(
        "fcr",
        "fcr (find common recourse), or fc (the same with counterfactuals from few graphs).",
        choices=("fcr", "fc"),
    )
    num_counterfactuals: int | None = _of_vectors(
        None, "With fc, T: most graphs that counterfactuals come from; by default one per reject.", least=1
    )
    selection: str = _of_vectors(None, "How recourses are chosen: balls or clusters.", choices=("ball", "dbscan"))
    directional: bool | None = _of_vectors(
        None, 'Use only recourses longer than Δ, which rules out "change nothing"; by default if Δ is auto.'
    )
    min_samples: int = _of_vectors(None, "Fewest vectors of a cluster.", least=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.num_counterfactuals is not None and self.problem != "fc":
            raise InputError(f"num_counterfactuals is T of problem='fc' (got problem={self.problem!r})")


PAPER_CHOICE = VectorChoice(delta=0.02, selection="dbscan", min_samples=2)
"""The choice of the paper's experiments."""


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
    choice: VectorChoice = option(  # noqa: RUF009
        VectorChoice(delta=AUTO, selection="ball", min_samples=2),
        "How recourses are chosen among vectors: a `VectorChoice`.",
    )
    constraint: Any = _of_vectors(  # noqa: RUF009
        None,
        "Which edits are allowed: valence (no atom gets more bonds than it can carry), or a Constraint; by default all.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.constraint, str) and self.constraint != "valence":
            raise InputError(f"constraint must be 'valence' or a Constraint (got {self.constraint!r})")
        usual = {name: value for name, value in type(self).choice.values() if getattr(self.choice, name) is None}
        object.__setattr__(self, "choice", replace(self.choice, **usual))

    @abstractmethod
    def find(
        self, task: VectorTask, scorer: NeighbourhoodScorer, rejects: Rejects, check: RungCheck, context: RunContext
    ) -> Candidates:
        """Look for counterfactuals of the rejects.

        Args:
            task: What the run is to find.
            scorer: Scores the edits that are allowed.
            rejects: The inputs, embedded.
            check: Tells whether results are on the rung of the task; None if any change is allowed.
            context: Time, progress and checkpoints.
        """


@dataclass(frozen=True, kw_only=True)
class VectorTask(Task[VectorAlgorithm]):
    """A task for vectors with its defaults resolved: `delta` is a number and `directional` a bool."""

    delta: float
    directional: bool  # whether recourses must be longer than `Δ`

    @classmethod
    def of(cls, task: Task[VectorAlgorithm], one_edit_length: float | None = None) -> VectorTask:
        """Resolve the defaults of a task: `delta="auto"` is half of `one_edit_length`, the median, or a fifth of `θ` (the paper's ratio) without it."""
        choice = task.algorithm.choice
        delta, is_automatic = choice.delta, isinstance(choice.delta, str)
        if isinstance(delta, str):
            delta = one_edit_length / 2 if one_edit_length else task.theta / 5
        directional = is_automatic if choice.directional is None else bool(choice.directional)
        return cls(
            algorithm=task.algorithm, theta=task.theta, num_recourses=task.num_recourses, random_state=task.random_state,
            delta=float(delta), directional=directional,
        )  # fmt: skip

    def parameters(self) -> dict[str, Any]:
        """The parameters that determine the answer, with the number used for `Δ`."""
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
    """The limit (`θ` or `Δ`) minus the margin."""
    return limit - margin * min(1.0, limit / _SMALL)


def accepted(margin: float) -> float:
    """The least probability of accept: one half plus the margin."""
    return 0.5 + margin


def options_of(made: type[Algorithm]) -> dict[str, Field[Any]]:
    """The options of an algorithm by name, with its own defaults; a nested record is replaced by its own options."""
    found: dict[str, Field[Any]] = {}
    for known in fields(made):
        if not isinstance(known.default, Options):
            found[known.name] = known
            continue
        for inner in fields(known.default):
            found[inner.name] = own = field(default=getattr(known.default, inner.name), metadata=inner.metadata)
            own.name, own.type = inner.name, inner.type
    return found
