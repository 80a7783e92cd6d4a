"""Limits a little inside `θ`, `Δ` and one half, so that rounding never decides what is claimed.

Another batch, machine or precision changes probabilities and normalised distances by a few 10⁻⁶. Each stage leaves more room
than the next needs: what was chosen is confirmed, and what was confirmed is shown.
"""

from __future__ import annotations

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
