"""What a run is asked to do: every parameter checked, and what a preset leaves open filled in."""

from __future__ import annotations

import math
import os
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from comrecgc.errors import InputError

PRESETS = ("default", "paper")
PROBLEMS = ("fcr", "fc")
SELECTIONS = ("ball", "dbscan")
AUTO = "auto"

PAPER_DELTA = 0.02
_WALK_ONLY = ("num_heads", "num_steps", "teleport")
_NOT_THE_ANSWER = ("jobs",)


@dataclass(frozen=True)
class Limits:
    """How far a counterfactual may lie from its input, `θ`, and its vector from a recourse, `Δ`."""

    theta: float
    delta: float


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Parameters of a run.

    Args:
        theta: `θ`, the largest normalised distance of a counterfactual.
        delta: `Δ`, how near a recourse must come to cover an input; "auto" is half the median length of a one-edit
            recourse on the data, and 0.02 under the paper's preset.
        num_recourses: `R`, common recourses to choose, at most.
        problem: "fcr", or "fc" where all counterfactuals come from a small set as well.
        selection: "ball" or "dbscan"; None for the preset's own.
        preset: "default" searches towards shared recourses; "paper" walks and clusters as the paper does.
        directional: Only recourses longer than Δ, whose balls exclude "change nothing"; None for yes exactly where Δ is
            "auto".
        num_heads: `k`, heads of the paper's walk.
        num_steps: `M`, its steps.
        teleport: `τ`, its probability of going back to the inputs.
        time_budget: Seconds for the whole run; what is found by then is the answer. None for as long as it takes.
        jobs: Cores to use, None for all; the answer does not depend on it.
        seed: Seed of all draws.
        constraint: Which edits are allowed, in words; None for all.
    """

    theta: float = 0.1
    delta: float | str = AUTO
    num_recourses: int = 100
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
    constraint: str | None = None

    def __post_init__(self) -> None:
        _check_positive("theta", self.theta)
        if isinstance(self.delta, str) and self.delta != AUTO:
            raise InputError(f"delta must be a positive number or {AUTO!r} (got {self.delta!r})")
        if not isinstance(self.delta, str):
            _check_positive("delta", self.delta)
        for name in ("num_recourses", "num_heads", "num_steps"):
            _check_count(name, getattr(self, name), least=1)
        _check_count("random_state", self.seed, least=0)
        for name, allowed in (("preset", PRESETS), ("problem", PROBLEMS), ("selection", SELECTIONS)):
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

    def completed(self, one_edit_length: float | None) -> Settings:
        """The same with nothing left open.

        Args:
            one_edit_length: Median length of a one-edit recourse on the data; None or 0 where there is none, and then an
                automatic `Δ` is a fifth of `θ`, the paper's ratio.
        """
        is_auto = self.delta == AUTO and self.preset != "paper"
        delta = self.delta
        if delta == AUTO:
            delta = (
                PAPER_DELTA if self.preset == "paper" else one_edit_length / 2 if one_edit_length else self.theta / 5
            )
        return replace(
            self,
            delta=float(delta),
            selection=self.selection or ("dbscan" if self.preset == "paper" else "ball"),
            directional=is_auto if self.directional is None else bool(self.directional),
        )

    @property
    def radius(self) -> float:
        """`Δ` as a number, once the settings are complete."""
        assert not isinstance(self.delta, str)
        return self.delta

    @property
    def limits(self) -> Limits:
        return Limits(self.theta, self.radius)

    @property
    def num_jobs(self) -> int:
        return self.jobs or available_cores()

    def parameters(self) -> dict[str, Any]:
        """What determines the answer, for the explanation."""
        left_out = _NOT_THE_ANSWER if self.preset == "paper" else (*_NOT_THE_ANSWER, *_WALK_ONLY)
        return {name: value for name, value in asdict(self).items() if name not in left_out}


def available_cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _check_positive(name: str, value: Any) -> None:
    if not _is_number(value) or not 0 < value < math.inf:
        raise InputError(f"{name} must be a positive number (got {value!r})")


def _check_count(name: str, value: Any, *, least: int) -> None:
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise InputError(f"{name} must be an integer of at least {least} (got {value!r})")
