"""The counterfactual candidates a walk finds: bounded in number, the most visited kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from comrecgc.errors import InputError
from comrecgc.graphs import EditPath, Graph


@dataclass(frozen=True, eq=False, slots=True)
class Candidate:
    """An accepted graph and how the walk came to it.

    Args:
        key: Identity of the graph.
        graph: The graph, its ids those of its start.
        probability: Probability of accept.
        start: Index of the input the path begins at.
        path: Edits from that input to the graph, as first walked.
        visits: How often heads stood on it.
    """

    key: int
    graph: Graph
    probability: float
    start: int
    path: EditPath
    visits: int = 1


class CandidatePool:
    """At most `capacity` candidates by graph identity; when there are too many, the least visited go, the newest first.

    Clearing out waits until a tenth too many have gathered, so that adding stays cheap.
    """

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise InputError(f"The candidate pool must hold at least 1 graph (got {capacity})")
        self.capacity = capacity
        self._candidates: dict[int, Candidate] = {}

    def __len__(self) -> int:
        return min(len(self._candidates), self.capacity)

    def __iter__(self) -> Iterator[Candidate]:
        """Candidates, most visited first, then in order of discovery."""
        ordered = sorted(self._candidates.values(), key=lambda candidate: -candidate.visits)
        return iter(ordered[: self.capacity])

    def add(self, candidate: Candidate) -> None:
        """Count the visits of a candidate; the first path to a graph stays."""
        known = self._candidates.get(candidate.key)
        if known is not None:
            candidate = replace(known, visits=known.visits + candidate.visits)
        self._candidates[candidate.key] = candidate
        if len(self._candidates) > self.capacity + max(16, self.capacity // 10):
            kept = {kept.key for kept in self}
            self._candidates = {key: value for key, value in self._candidates.items() if key in kept}

    def revisit(self, key: int) -> bool:
        """Count one more visit of a known candidate; whether it was known."""
        known = self._candidates.get(key)
        if known is None:
            return False
        self._candidates[key] = replace(known, visits=known.visits + 1)
        return True

    def in_order_of_discovery(self) -> Iterable[Candidate]:
        """All candidates held, uncut, as they came: what a checkpoint stores."""
        return self._candidates.values()

    @classmethod
    def merged(cls, pools: Iterable[CandidatePool], capacity: int) -> CandidatePool:
        """The union of several pools, visits added up."""
        union = cls(capacity)
        for pool in pools:
            for candidate in pool:
                union.add(candidate)
        return union
