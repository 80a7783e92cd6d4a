"""Where rules fail, and why: inputs that a rule can be carried out on and does not turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from comrecgc.algorithms.rules.mined import MinedRules
from comrecgc.cover import Reason
from comrecgc.graphs import ChangedGraphs, Graph, Ladder, NeighbourIndex, Rule, Rung, Site, carry_out, distinct_sites

_MOST_TRIED = 12  # inputs looked at for each rule
_MOST_PLACES = 6


@dataclass(frozen=True, eq=False, kw_only=True)
class Failure:
    """An input that a rule does not turn.

    Args:
        place: The input, by its place among the rejects.
        site: Where the rule is carried out, as far up the ladder as it can be.
        reason: Why that is not enough: `TOO_FAR`, `OFF_RUNG` or `STILL_REJECTED`.
    """

    place: int
    site: Site
    reason: Reason


def failures_of(
    mined: MinedRules, rules: Mapping[int, Rule], ladder: Ladder, rung: Rung, theta: float, num_each: int = 2
) -> dict[int, list[Failure]]:
    """A few failures of each rule, found without the model: what is within θ and on the rung, and is not in the table, is rejected.

    Args:
        mined: The table and what it was mined from.
        rules: Rules by their rows of the table.
        ladder: Says how a changed graph compares with the data.
        rung: Where results must stand; a panel's consent is not asked for here.
        theta: `θ`.
        num_each: Failures of a rule to look for.
    """
    wanted = min(rung, Rung.PLAUSIBLE)
    tried = [
        (row, place, site, after)
        for row, rule in rules.items()
        for place, site, after in _tries(mined, row, rule, theta, num_each)
    ]
    if not tried:
        return {}
    graphs = mined.rejects.graphs
    changed = ChangedGraphs.from_graphs([graphs[place] for _, place, _, _ in tried], [after for *_, after in tried])
    stands = ladder.rungs(changed) >= wanted
    found: dict[int, dict[int, Failure]] = {}
    for (row, place, site, _), stood in zip(tried, stands.tolist(), strict=True):
        reason = Reason.STILL_REJECTED if stood else Reason.OFF_RUNG
        known = found.setdefault(row, {}).get(place)
        if known is None or (stood and known.reason == Reason.OFF_RUNG):
            found[row][place] = Failure(place=place, site=site, reason=reason)
    return {row: list(failures.values()) for row, failures in found.items()}


def _tries(mined: MinedRules, row: int, rule: Rule, theta: float, num_each: int) -> list[tuple[int, Site, Graph]]:
    """Results within θ on some inputs that the rule does not turn, of about the size that most have."""
    table, graphs = mined.table, mined.rejects.graphs
    can = table.can_be_carried_out(row)
    can[table.input[table.ptr[row] : table.ptr[row + 1]]] = False
    places = np.flatnonzero(can)
    sizes = np.array([graphs[place].size for place in places.tolist()])
    order = places[np.lexsort((places, sizes))]
    found: list[tuple[int, Site, Graph]] = []
    met = 0
    for place in _spread(order[len(order) // 4 :].tolist(), _MOST_TRIED):
        graph = graphs[place]
        results = [
            (place, site, carry_out(rule, graph, site))
            for site in distinct_sites(rule, NeighbourIndex(graph), _MOST_PLACES)
        ]
        near = [result for result in results if rule.distance(graph, result[2]) <= theta]
        found += near
        met += bool(near)
        if met == num_each:
            break
    return found


def _spread(places: Sequence[int], most: int) -> Sequence[int]:
    return places[:: max(1, len(places) // most)][:most]
