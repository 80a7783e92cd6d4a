"""A figure of a run, as it is stated and as it is recomputed."""

from __future__ import annotations

import math
from dataclasses import dataclass

TOLERANCE = 1e-5
"""Of probabilities and distances: what another batch or machine may round differently."""


@dataclass(frozen=True)
class Figure:
    """One figure of a run.

    Args:
        name: What it is.
        stored: What the run says; None where it says nothing.
        recomputed: What its graphs and models say; None where they cannot tell.
    """

    name: str
    stored: float | None
    recomputed: float | None

    @property
    def agrees(self) -> bool:
        """Whether the two are the same up to rounding; what is not said or cannot be told is not held against the run."""
        if self.stored is None or self.recomputed is None:
            return True
        return math.isclose(self.stored, self.recomputed, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
