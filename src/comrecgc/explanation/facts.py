"""What is true of one run but not of what it found: versions, seconds, memory. Kept out of `explanation.json`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from comrecgc.errors import InputError


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """Facts of a run for its manifest.

    Args:
        seed: Seed of the run.
        versions: Version of each package that matters, and of Python.
        seconds: Wall-clock seconds of each stage, in order.
        peak_memory: Largest resident memory, in bytes.
        model_accuracy: Share of the dataset's graphs that the classifier gets right.
        facts: Anything else worth keeping: names of checkpoints, steps walked.
    """

    seed: int | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    peak_memory: int | None = None
    model_accuracy: float | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("versions", "seconds", "facts"):
            object.__setattr__(self, name, json_values(name, getattr(self, name)))
        for stage, seconds in self.seconds.items():
            if not 0 <= seconds < math.inf:
                raise InputError(f"seconds of a stage must be finite and not negative (got {seconds} for {stage!r})")
        if self.peak_memory is not None and self.peak_memory < 0:
            raise InputError(f"peak_memory must not be negative (got {self.peak_memory})")
        if self.model_accuracy is not None and not 0 <= self.model_accuracy <= 1:
            raise InputError(f"model_accuracy must lie in [0, 1] (got {self.model_accuracy})")


def json_values(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """A copy with plain JSON values, which is what comes back from a file."""
    try:
        copy: dict[str, Any] = json.loads(
            json.dumps(dict(values), ensure_ascii=False, allow_nan=False, default=_plain).encode()
        )
    except (TypeError, ValueError) as error:  # encoding errors are ValueErrors
        raise InputError(f"{name} must be JSON values, numbers finite (got one that is not: {error})") from error
    return copy


def _plain(value: object) -> object:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} is not a JSON value")
