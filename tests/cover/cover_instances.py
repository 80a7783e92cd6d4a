"""Random instances of maximum coverage and their optimum by brute force."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt


def random_sets(seed: int, num_sets: int, num_items: int, density: float) -> npt.NDArray[np.bool_]:
    return np.random.default_rng(seed).random((num_sets, num_items)) < density


def random_weights(num_items: int) -> npt.NDArray[np.float64]:
    return np.random.default_rng(0).random(num_items)


def best_covered(
    incidence: npt.NDArray[np.bool_], num_sets: int, weights: npt.NDArray[np.float64] | None = None
) -> float:
    """What the best choice covers, by trying all."""
    values = np.ones(incidence.shape[1]) if weights is None else weights
    choices = itertools.combinations(range(len(incidence)), min(num_sets, len(incidence)))
    return max(float(incidence[list(some)].any(axis=0) @ values) for some in choices)
