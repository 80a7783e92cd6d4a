"""The algorithms by name."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from comrecgc.algorithms.base import Algorithm, options_of
from comrecgc.algorithms.baselines.baseline import DatasetCounterfactuals
from comrecgc.algorithms.baselines.edge_masks import CFF, CFGNNExplainer, RCExplainer
from comrecgc.algorithms.baselines.gcfexplainer import GCFExplainer, GCFNearest
from comrecgc.algorithms.baselines.local_walk import LocalWalk
from comrecgc.algorithms.baselines.published import PublishedWalk
from comrecgc.algorithms.paper.walk import PaperWalk
from comrecgc.algorithms.rules.algorithm import Rules
from comrecgc.algorithms.vectors.candidates import Vectors
from comrecgc.errors import InputError

ALGORITHMS: dict[str, type[Algorithm]] = {
    made.name: made
    for made in (
        Rules, Vectors, PaperWalk, PublishedWalk, GCFExplainer, GCFNearest, LocalWalk, DatasetCounterfactuals, RCExplainer, CFF, CFGNNExplainer,
    )
}  # fmt: skip
"""Every algorithm by its name on the command line and in stored parameters."""


def algorithm_of(name: str, options: Mapping[str, Any] | None = None) -> Algorithm:
    """An algorithm by its name, with the fields that differ from their defaults."""
    made = ALGORITHMS.get(name)
    if made is None:
        near = difflib.get_close_matches(name, ALGORITHMS, n=1, cutoff=0.6)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise InputError(f"Algorithms are {', '.join(ALGORITHMS)} (got {name!r}{hint})")
    known = list(options_of(made))
    for option in options or {}:
        if option not in known:
            owners = owners_of(option)
            hint = f", an option of {', '.join(owners)}" if owners else ""
            raise InputError(f"Options of {name} are {', '.join(known)} (got {option!r}{hint})")
    return made.from_options(options or {})


def owners_of(option: str) -> list[str]:
    """Names of the algorithms that have an option."""
    return [name for name, made in ALGORITHMS.items() if option in options_of(made)]
