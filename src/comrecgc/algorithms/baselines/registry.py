"""The baselines by name."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from comrecgc.algorithms.baselines.cf_gnnexplainer import CFGNNExplainer
from comrecgc.algorithms.baselines.cff import CFF
from comrecgc.algorithms.baselines.dataset import DatasetCounterfactuals
from comrecgc.algorithms.baselines.gcfexplainer import GcfExplainer, GcfNearest
from comrecgc.algorithms.baselines.local_walk import LocalWalk
from comrecgc.algorithms.baselines.published import PublishedWalk
from comrecgc.algorithms.baselines.rcexplainer import RCExplainer
from comrecgc.algorithms.baselines.source import Baseline
from comrecgc.errors import InputError

BASELINES: dict[str, Callable[..., Baseline]] = {
    "published": PublishedWalk,
    "gcfexplainer": GcfExplainer,
    "gcf-nearest": GcfNearest,
    "local-walk": LocalWalk,
    "dataset": DatasetCounterfactuals,
    "rcexplainer": RCExplainer,
    "cff": CFF,
    "cf-gnnexplainer": CFGNNExplainer,
}
"""Every baseline: its name on the command line, and the dataclass of its options."""


def make_baseline(name: str, **options: Any) -> Baseline:
    """A baseline by its name.

    Args:
        name: One of `BASELINES`.
        options: Options of it that are to differ from its defaults.
    """
    made = BASELINES.get(name)
    if made is None:
        near = difflib.get_close_matches(name, BASELINES, n=1, cutoff=0.0)
        raise InputError(f"Baselines are {', '.join(BASELINES)} (got {name!r}; the nearest is {near[0]})")
    known = [field.name for field in fields(made)]  # type: ignore[arg-type]
    for option in options:
        if option not in known:
            raise InputError(f"Options of {name} are {', '.join(known) or 'none'} (got {option!r})")
    return made(**options)


def baseline_name(baseline: Baseline) -> str:
    """The name of a baseline; that of its class if it is not one of ours."""
    names = [name for name, made in BASELINES.items() if made is type(baseline)]
    return names[0] if names else type(baseline).__name__
