"""What a run is asked to do: one record of all parameters, checked when made and passed whole from then on."""

from __future__ import annotations

import math
import os
from dataclasses import asdict, dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from comrecgc.algorithms.baselines.registry import baseline_name
from comrecgc.algorithms.baselines.source import Baseline
from comrecgc.algorithms.rules.choice import Wishes
from comrecgc.errors import InputError
from comrecgc.graphs import Constraint
from comrecgc.molecules import SmartsWishes

PRESETS = ("default", "paper")
RECOURSES = ("vectors", "rules")
CHANGES = ("any", "connected", "plausible", "confirmed")
PROBLEMS = ("fcr", "fc")
SELECTIONS = ("ball", "dbscan")
AUTO = "auto"

PAPER_DELTA = 0.02
_CHOICES = {
    "preset": PRESETS,
    "problem": PROBLEMS,
    "selection": SELECTIONS,
    "recourse": RECOURSES,
    "changes": CHANGES,
}
_WALK_ONLY = ("num_heads", "num_steps", "teleport")
_VECTORS_ONLY = ("delta", "problem", "selection", "directional", "preset")
_SMARTS = ("protect", "forbid", "only")
_BASELINES_ONLY = ("baseline", "min_samples", "summary")
_RULES_ONLY = ("max_changes", "min_success", "min_support", "max_cost")
_NOT_PARAMETERS = ("jobs", "sample", "recourse", "changes")  # the last two have a place of their own in an explanation


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Parameters of a run, some of them perhaps open until the data is known.

    They are those of `CommonRecourseExplainer`, where each is explained; `seed` is its `random_state`. What is left empty follows
    from the rest: the paper's preset and its second problem ask for vectors, everything else for rules; changes are plausible but
    for the paper's preset, which allows any; ten rules are chosen, or a hundred vectors. A baseline is taken as its authors have it:
    vectors from any changes, Δ = 0.02, clusters.
    """

    recourse: str = ""
    changes: str = ""
    theta: float = 0.1
    delta: float | str = AUTO
    num_recourses: int = None  # type: ignore[assignment]  # filled in when made
    max_changes: int = 2
    min_success: float = 0.0
    min_support: int = 1
    max_cost: int | None = None
    problem: str = "fcr"
    selection: str | None = None
    preset: str = "default"
    directional: bool | None = None
    num_heads: int = 5
    num_steps: int = 50_000
    teleport: float = 0.05
    time_budget: float | None = None
    jobs: int | None = None
    seed: int = 0
    constraint: Constraint | None = None
    protect: tuple[str, ...] = ()
    forbid: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    baseline: Baseline | None = None
    min_samples: int | None = None
    summary: int | None = None
    allow_alerts: bool = False
    sample: int = 5000

    def __post_init__(self) -> None:
        of_paper = self.is_of_paper
        _fill(self, recourse="vectors" if of_paper or self.problem == "fc" else "rules")
        _fill(self, changes="any" if of_paper else "plausible")
        _fill(self, num_recourses=10 if self.recourse == "rules" else 100)
        if self.recourse == "rules" and (of_paper or self.problem == "fc"):
            raise InputError("Baselines, the paper's preset and problem 'fc' are about vectors (got recourse='rules')")
        if self.baseline is None and (self.min_samples is not None or self.summary is not None):
            raise InputError("min_samples and summary are options of baselines (got none)")
        for name in ("min_samples", "summary"):
            if getattr(self, name) is not None:
                _check_count(name, getattr(self, name), least=1)
        if self.recourse == "rules" and self.constraint is not None:
            raise InputError("A constraint limits edits, which only vectors are found by (got recourse='rules')")
        _check_count("max_changes", self.max_changes, least=1)
        _check_count("min_support", self.min_support, least=1)
        if not _is_number(self.min_success):
            raise InputError(f"min_success must lie in [0, 1] (got {self.min_success!r})")
        if self.max_cost is not None:
            _check_count("max_cost", self.max_cost, least=1)
        self.wishes()  # checks its own
        for name in _SMARTS:
            values = getattr(self, name)
            object.__setattr__(self, name, (values,) if isinstance(values, str) else tuple(values))
        if self.smarts() and self.recourse == "vectors":
            raise InputError("protect, forbid and only limit rules (got recourse='vectors')")
        _check_positive("theta", self.theta)
        if isinstance(self.delta, str) and self.delta != AUTO:
            raise InputError(f"delta must be a positive number or {AUTO!r} (got {self.delta!r})")
        if not isinstance(self.delta, str):
            _check_positive("delta", self.delta)
        for name in ("num_recourses", "num_heads", "num_steps", "sample"):
            _check_count(name, getattr(self, name), least=1)
        _check_count("random_state", self.seed, least=0)
        for name, allowed in _CHOICES.items():
            value = getattr(self, name)
            if value not in allowed and not (name == "selection" and value is None):
                raise InputError(f"{name} must be one of {', '.join(allowed)} (got {value!r})")
        if self.directional is not None and not isinstance(self.directional, bool | np.bool_):
            raise InputError(f"directional must be True, False or None (got {self.directional!r})")
        if not _is_number(self.teleport) or not 0 < self.teleport < 1:
            raise InputError(f"teleport must lie strictly between 0 and 1 (got {self.teleport!r})")
        if self.time_budget is not None:
            _check_positive("time_budget", self.time_budget)
        if self.jobs is not None:
            _check_count("jobs", self.jobs, least=1)

    def resolved(self, one_edit_length: float | None = None) -> ResolvedSettings:
        """The same with nothing left open.

        Args:
            one_edit_length: Median length of a one-edit recourse on the data; None or 0 where there is none, and then an
                automatic `Δ` is a fifth of `θ`, the paper's ratio.
        """
        of_paper = self.is_of_paper
        delta = self.delta
        if isinstance(delta, str):
            delta = PAPER_DELTA if of_paper else one_edit_length / 2 if one_edit_length else self.theta / 5
        values = {field.name: getattr(self, field.name) for field in fields(self)} | {
            "delta": float(delta),
            "selection": self.selection or ("dbscan" if of_paper else "ball"),
            "directional": self.has_automatic_delta if self.directional is None else bool(self.directional),
        }
        return ResolvedSettings(**values)

    def wishes(self) -> Wishes:
        """What chosen rules must be like."""
        return Wishes(
            max_changes=self.max_changes, min_success=self.min_success, min_support=self.min_support, max_cost=self.max_cost,
            confirmed=self.changes == "confirmed",
        )  # fmt: skip

    def smarts(self) -> SmartsWishes:
        """What a chemist wants kept, avoided or changed."""
        return SmartsWishes(protect=self.protect, forbid=self.forbid, only=self.only)

    @property
    def wants_panel(self) -> bool:
        """Whether other classifiers are to be asked where nobody says so."""
        return self.recourse == "rules" or self.changes == "confirmed"

    @property
    def is_of_paper(self) -> bool:
        """Whether what is left open is as in the paper."""
        return self.preset == "paper" or self.baseline is not None

    @property
    def has_automatic_delta(self) -> bool:
        """Whether `Δ` is to be measured on the data."""
        return self.delta == AUTO and not self.is_of_paper

    @property
    def num_jobs(self) -> int:
        return self.jobs or available_cores()

    def parameters(self) -> dict[str, Any]:
        """What determines the answer, as plain values for the explanation."""
        left_out = {*_NOT_PARAMETERS, *(() if self.preset == "paper" else _WALK_ONLY)}
        left_out |= set(_VECTORS_ONLY if self.recourse == "rules" else _RULES_ONLY)
        left_out |= {name for name in (*_SMARTS, "allow_alerts") if not getattr(self, name)}
        left_out |= set(_BASELINES_ONLY)
        values = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in left_out}
        values |= {"constraint": None if self.constraint is None else repr(self.constraint)}
        if self.baseline is not None:
            values |= {"baseline": self.baseline_facts(), "min_samples": self.min_samples, "summary": self.summary}
        return values

    def baseline_facts(self) -> dict[str, Any] | None:
        """The name and the options of the baseline."""
        if self.baseline is None:
            return None
        made: object = self.baseline  # anyone's, perhaps no dataclass
        options = asdict(made) if is_dataclass(made) and not isinstance(made, type) else {}
        return {"name": baseline_name(self.baseline), "options": options}


@dataclass(frozen=True, kw_only=True)
class ResolvedSettings(Settings):
    """Settings with nothing left open: `Δ` is a number, and selection and direction are decided."""

    delta: float
    selection: str
    directional: bool


# Limits are kept a little inside `θ`, `Δ` and one half, so that rounding never decides what is claimed: another batch,
# machine or precision changes probabilities and normalised distances by a few 10⁻⁶. Each stage leaves more room than the
# next needs: what was chosen is confirmed, and what was confirmed is shown.

CHOSEN = 2.4e-5
"""Room that search and selection leave."""

CLAIMED = 1.8e-5
"""Room that a claim has when a plain pass confirms it."""

SHOWN = 1.2e-5
"""Room that it has when the very graph its edits lead to is looked at once more."""

_SMALL = 1e-3  # of smaller limits the room is a share


def inside(limit: float, room: float) -> float:
    """`θ` or `Δ` less the room."""
    return limit - room * min(1.0, limit / _SMALL)


def accepted(room: float) -> float:
    """The probability of accept that is needed: one half and the room."""
    return 0.5 + room


def available_cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _fill(record: object, **values: object) -> None:
    """Give fields of a frozen record that are empty a value."""
    for name, value in values.items():
        if getattr(record, name) in (None, ""):
            object.__setattr__(record, name, value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _check_positive(name: str, value: Any) -> None:
    if not _is_number(value) or not 0 < value < math.inf:
        raise InputError(f"{name} must be a positive number (got {value!r})")


def _check_count(name: str, value: Any, *, least: int) -> None:
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise InputError(f"{name} must be an integer of at least {least} (got {value!r})")
