"""What a set of common recourses is worth: coverage, lengths, costs, and why an input is left out. Pure functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from comrecgc.cover.cover import Cover, cover_of
from comrecgc.cover.pairs import RecoursePairs
from comrecgc.errors import InputError
from comrecgc.graphs import BoolArray

Selection = Callable[[RecoursePairs], npt.ArrayLike]
"""Chooses recourses, `[R, d]`, from the pairs it is shown."""


class Reason(StrEnum):
    """Why no chosen recourse covers an input."""

    NO_COUNTERFACTUAL = "no counterfactual within theta found"
    NO_RECOURSE_NEAR = "no chosen recourse is near"
    BUDGET_EXHAUSTED = "more recourses would cover it"
    OUT_OF_TIME = "time ran out before one was found"
    NOWHERE = "no rule can be carried out"
    TOO_FAR = "carried out, too far from the graph"
    OFF_RUNG = "carried out, not on the rung of the rules"
    STILL_REJECTED = "carried out, still rejected"


@dataclass(frozen=True)
class Cost:
    """The shortest recourse that covers an input, over all covered inputs; 0 where there are none.

    Args:
        total: Sum, the paper's `cost(F)`.
        mean: Mean.
        median: Median.
    """

    total: float
    mean: float
    median: float


@dataclass(frozen=True)
class HeldOut:
    """Coverage of recourses chosen on some inputs only.

    Args:
        seen: Share covered of the inputs they were chosen on.
        unseen: Share covered of the others.
    """

    seen: float
    unseen: float


def coverage(cover: Cover) -> float:
    """Share of inputs covered by some recourse."""
    return _share(cover.first >= 0)


def coverage_curve(cover: Cover, num_recourses: int | None = None) -> npt.NDArray[np.float64]:
    """Share of inputs covered by the first 1, 2, … recourses; never falls.

    Args:
        cover: The recourses, in order.
        num_recourses: Length of the curve; where it goes beyond the recourses there are, it stays level.
    """
    length = len(cover) if num_recourses is None else num_recourses
    if length < 0:
        raise InputError(f"num_recourses must not be negative (got {length})")
    covered = np.zeros(length, dtype=np.float64)
    gains = cover.gains[:length]
    covered[: len(gains)] = gains
    return np.cumsum(covered) / max(1, cover.num_inputs)


def lengths(cover: Cover) -> npt.NDArray[np.float64]:
    """`‖r‖` of each recourse, `[R]`."""
    norms: npt.NDArray[np.float64] = np.linalg.norm(cover.centres.astype(np.float64), axis=1)
    return norms


def total_length(cover: Cover) -> float:
    """Sum of `‖r‖` over the recourses: what the paper's tables print as cost."""
    return float(lengths(cover).sum())


def cost(cover: Cover) -> Cost:
    """Sum, mean and median over covered inputs of the smallest `‖r‖` that covers each: the paper's formula."""
    if not len(cover):
        return Cost(0.0, 0.0, 0.0)
    shortest = np.where(cover.covers, lengths(cover)[:, None], np.inf).min(axis=0)
    shortest = shortest[np.isfinite(shortest)]
    if not len(shortest):
        return Cost(0.0, 0.0, 0.0)
    return Cost(float(shortest.sum()), float(shortest.mean()), float(np.median(shortest)))


def directional_coverage(cover: Cover, delta: float) -> float:
    """Coverage by recourses longer than Δ only, whose ball leaves out "change nothing"."""
    return coverage(cover.select(lengths(cover) > delta))


def trivial_coverage(pairs: RecoursePairs, delta: float) -> float:
    """What the recourse "change nothing" covers: inputs with a counterfactual at distance at most Δ."""
    near = pairs.subset(pairs.norms <= delta * (1 + 1e-6))  # norms are rounded; the cover decides
    return coverage(cover_of(near, np.zeros((1, pairs.width), dtype=np.float32), delta))


def held_out_coverage(
    pairs: RecoursePairs, select: Selection, delta: float, *, seed: int = 0, share: float = 0.2
) -> HeldOut:
    """Coverage of recourses on inputs they were not chosen on.

    Args:
        pairs: All pairs within θ.
        select: Chooses recourses from the pairs of the inputs it may see.
        delta: `Δ`.
        seed: Of the split.
        share: Share of the inputs held out.
    """
    if not 0 < share < 1:
        raise InputError(f"share must lie strictly between 0 and 1 (got {share})")
    unseen = np.zeros(pairs.num_inputs, dtype=np.bool_)
    unseen[np.random.default_rng(seed).permutation(pairs.num_inputs)[: round(share * pairs.num_inputs)]] = True
    centres = select(pairs.subset(~unseen[pairs.inputs]))
    covered = cover_of(pairs, centres, delta).first >= 0
    return HeldOut(seen=_share(covered[~unseen]), unseen=_share(covered[unseen]))


def why_not_covered(cover: Cover, pairs: RecoursePairs, further: Cover | None = None) -> list[Reason | None]:
    """The reason for each input, `[num_inputs]`; None for those that are covered.

    Args:
        cover: The chosen recourses.
        pairs: All pairs within θ.
        further: Recourses the same choice would make with a larger budget; None if nobody asked.
    """
    has_pair = np.bincount(pairs.inputs, minlength=pairs.num_inputs) > 0
    later = np.zeros_like(has_pair) if further is None else further.first >= 0
    return [
        None if covered else _reason(found, soon)
        for covered, found, soon in zip((cover.first >= 0).tolist(), has_pair.tolist(), later.tolist(), strict=True)
    ]


def _reason(has_counterfactual: bool, is_covered_later: bool) -> Reason:
    if not has_counterfactual:
        return Reason.NO_COUNTERFACTUAL
    return Reason.BUDGET_EXHAUSTED if is_covered_later else Reason.NO_RECOURSE_NEAR


def _share(flags: BoolArray) -> float:
    return float(flags.mean()) if len(flags) else 0.0
