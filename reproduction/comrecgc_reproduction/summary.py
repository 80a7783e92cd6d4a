"""Global counterfactuals (GCFExplainer): a few accepted graphs close to as many inputs as possible."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.baselines.baseline import Counterfactual, Counterfactuals, Subject
from comrecgc.cover import greedy_cover, incidence_of, pairs_within
from comrecgc.cover.greedy import with_zero_gains
from comrecgc.errors import InputError


@dataclass(frozen=True, eq=False, kw_only=True)
class GlobalSummary:
    """`k` counterfactuals for all inputs.

    Args:
        chosen: The counterfactuals, in order of choice.
        gains: Inputs within θ of each and of none before, `[k]`.
        num_inputs: How many inputs there are.
        cost: Median over all inputs, covered or not, of the distance to the nearest of the chosen; of an even number the lower one.
        theta: `θ`.
    """

    chosen: tuple[Counterfactual, ...]
    gains: npt.NDArray[np.int64]
    num_inputs: int
    cost: float
    theta: float

    @property
    def coverage(self) -> float:
        """Share of the inputs within θ of one of the chosen."""
        return float(self.gains.sum()) / max(1, self.num_inputs)

    @property
    def curve(self) -> tuple[float, ...]:
        """Share covered by the first 1, 2, … of them."""
        return tuple((np.cumsum(self.gains) / max(1, self.num_inputs)).tolist())


def summarise(
    found: Counterfactuals, subject: Subject, *, num_graphs: int = 10, theta: float = 0.1, among: int | None = None
) -> GlobalSummary:
    """Choose counterfactuals greedily by the inputs they cover; ties go to those that the baseline ranks higher.

    Args:
        found: The counterfactuals of a baseline.
        subject: The models and the graphs.
        num_graphs: `k`; the choice goes on without gain.
        theta: `θ`: a graph covers the inputs at most this far away.
        among: How many of the first counterfactuals to choose from; None for as many as there are inputs, as GCFExplainer does,
            and for all where no order is given to them (as with counterfactuals made from no input).
    """
    if num_graphs < 1:
        raise InputError(f"A summary must have at least 1 graph (got {num_graphs})")
    if not theta > 0:
        raise InputError(f"theta must be positive (got {theta})")
    if among is None:
        among = len(subject.inputs) if any(each.input is not None for each in found.found) else len(found)
    pool = found.found[:among]
    if len(pool) < num_graphs:
        raise InputError(f"A summary can have at most {len(pool)} graphs, as many as were found (got {num_graphs})")
    origins, sizes = subject.embedded(subject.inputs)
    ends, other_sizes = subject.embedded([each.graph for each in pool])
    pairs = pairs_within(origins, sizes, ends, other_sizes, theta)
    choice = greedy_cover(incidence_of(pairs.candidates, pairs.inputs, (len(pool), len(origins))), num_graphs)
    order, gains = with_zero_gains(choice, num_graphs, len(pool))
    gaps = np.linalg.norm(origins[:, None].astype(np.float64) - ends[order], axis=2)
    nearest = np.sort((gaps / (sizes[:, None] + other_sizes[order])).min(axis=1))
    return GlobalSummary(
        chosen=tuple(pool[i] for i in order.tolist()),
        gains=gains,
        num_inputs=len(origins),
        cost=float(nearest[(len(nearest) - 1) // 2]),
        theta=theta,
    )
