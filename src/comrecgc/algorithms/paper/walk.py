"""COMRECGC (ICML 2025), section 3.2 and Algorithm 5: the multi-head vertex-reinforced random walk.

Heads walk in the space of graphs, one edit a step. A lead, drawn anew each step, goes where oracle is likely and
where heads have been before; the others follow it, each taking the edit (or none) that makes its own recourse most like the
lead's. Every accepted graph a head stands on is a candidate. Now and then all heads go back to input graphs.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.paper.neighbourhoods import NeighbourhoodCache
from comrecgc.cover import FloatArray, recourse_vectors
from comrecgc.errors import InputError
from comrecgc.graphs import BoolArray, EditPath, Graph, GraphBatch, StayNear, apply_edit, batch_keys
from comrecgc.scoring import Neighbourhood, NeighbourhoodScorer

_REDRAWS = 2  # moves of a lead beyond the distance limit before all its neighbours are measured

Progress = Callable[["WalkState"], None]
"""Called after every step."""


@dataclass(frozen=True, eq=False, slots=True)
class Head:
    """Where one head stands.

    Args:
        start: Index of the input it started from.
        graph: The graph it stands on.
        key: Identity of that graph.
        probability: Its probability of accept.
        embedding: Its `z`.
        path: Edits from the input to it.
    """

    start: int
    graph: Graph
    key: int
    probability: float
    embedding: FloatArray
    path: EditPath = ()


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


@dataclass(eq=False, slots=True)
class WalkState:
    """Everything a walk is at one moment.

    Args:
        rng: Source of all its randomness.
        heads: The heads.
        starts: `t(G)`: how many walks have started from each input, `[num_inputs]`.
        pool: Candidates found.
        visits: How often heads have stood on each graph, by identity; `C(v)` is one more.
        step: Steps done.
    """

    rng: np.random.Generator
    heads: list[Head]
    starts: npt.NDArray[np.int64]
    pool: CandidatePool
    visits: Counter[int] = field(default_factory=Counter)
    step: int = 0


@dataclass(frozen=True, kw_only=True)
class MultiHeadWalk:
    """The walk and its parameters; with one head it is the plain vertex-reinforced walk.

    Args:
        num_heads: `k`, at most the number of inputs.
        num_steps: `M`.
        teleport: `τ`, the probability that a step sends all heads back to inputs.
        capacity: Candidates kept, the most visited ones.
        max_distance: Normalised distance from its input a head may reach (the paper's analysis has 3θ/2); None for any.
        max_cost: Elements of its input (nodes, edges, labels) a head may have changed at once; None for any number.
        sample: Edits looked at of a graph that has more, drawn uniformly anew each time; None for all.
        cache_bytes: Memory for neighbourhoods scored before.
    """

    num_heads: int = 5
    num_steps: int = 50_000
    teleport: float = 0.05
    capacity: int = 100_000
    max_distance: float | None = None
    max_cost: int | None = None
    sample: int | None = 2000
    cache_bytes: int = 512 << 20

    def __post_init__(self) -> None:
        if self.num_heads < 1:
            raise InputError(f"num_heads must be at least 1 (got {self.num_heads})")
        if self.num_steps < 1:
            raise InputError(f"num_steps must be at least 1 (got {self.num_steps})")
        for name in ("capacity", "max_cost", "sample"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name} must be at least 1 (got {value})")
        if self.cache_bytes < 0:
            raise InputError(f"cache_bytes must not be negative (got {self.cache_bytes})")
        if not 0 < self.teleport < 1:
            raise InputError(f"teleport must lie strictly between 0 and 1 (got {self.teleport})")
        if self.max_distance is not None and not self.max_distance > 0:
            raise InputError(f"max_distance must be positive (got {self.max_distance})")

    def run(
        self,
        scorer: NeighbourhoodScorer,
        inputs: Sequence[Graph],
        rng: np.random.Generator,
        *,
        progress: Progress | None = None,
    ) -> CandidatePool:
        """Walk from the inputs for `num_steps` steps.

        Args:
            scorer: Scores graphs and their neighbourhoods.
            inputs: The rejected graphs.
            rng: Source of all randomness.
            progress: Called after every step.
        """
        walker = Walker(self, scorer, inputs)
        state = walker.begin(rng)
        while state.step < self.num_steps:
            walker.step(state)
            if progress is not None:
                progress(state)
        return state.pool


class Walker:
    """A walk bound to its inputs and models: what a step needs but does not change.

    Args:
        walk: The parameters.
        scorer: Scores graphs and their neighbourhoods.
        inputs: The rejected graphs.
    """

    def __init__(self, walk: MultiHeadWalk, scorer: NeighbourhoodScorer, inputs: Sequence[Graph]) -> None:
        if len(inputs) < walk.num_heads:
            raise InputError(
                f"Each head starts from an input of its own (got {walk.num_heads} heads for {len(inputs)} inputs)"
            )
        if scorer.classifier is None or scorer.embedder is None:
            raise InputError("A walk needs a scorer with a classifier and an embedder (got None)")
        self.walk = walk
        self.scorer = scorer
        self.inputs = [graph.fresh() for graph in inputs]
        batch = GraphBatch.from_graphs(self.inputs)
        self.origins = scorer.embedder.embed(batch)  # z(G), [num_inputs, width]
        self.probabilities = scorer.classifier.accept_probability(batch)
        self.keys = batch_keys(batch)
        limits = None if walk.max_cost is None else [StayNear(graph, walk.max_cost) for graph in self.inputs]
        self.neighbourhoods = NeighbourhoodCache(scorer, walk.cache_bytes, walk.sample, limits)

    def begin(self, rng: np.random.Generator) -> WalkState:
        """The heads on different inputs drawn at random."""
        state = WalkState(
            rng=rng, heads=[], starts=np.zeros(len(self.inputs), np.int64), pool=CandidatePool(self.walk.capacity)
        )
        for start in rng.choice(len(self.inputs), self.walk.num_heads, replace=False).tolist():
            self._place(state, start)
        return state

    def step(self, state: WalkState) -> None:
        """One step of Algorithm 5: move or teleport, then count where the heads stand."""
        teleports = state.rng.random() < self.walk.teleport
        lead = int(state.rng.integers(self.walk.num_heads))
        if teleports:
            state.heads = []
            for _ in range(self.walk.num_heads):
                self._place(state, draw(teleport_distribution(state.starts), state.rng))
        else:
            self._move_lead(state, lead)
            self._move_followers(state, lead)
        self._count(state)
        state.step += 1

    def _place(self, state: WalkState, start: int) -> None:
        state.starts[start] += 1
        state.heads.append(
            Head(
                start=start,
                graph=self.inputs[start],
                key=int(self.keys[start]),
                probability=float(self.probabilities[start]),
                embedding=self.origins[start],
            )
        )

    def _move_lead(self, state: WalkState, lead: int) -> None:
        head = state.heads[lead]
        (around,) = self.neighbourhoods.of([head.graph], [head.start], "probability", state.rng)
        assert around.probability is not None
        counts = np.fromiter(map(state.visits.get, around.keys.tolist(), repeat(0)), np.float64, len(around))
        weights = around.probability * (1 + counts)
        for attempt in itertools.count():
            total = weights.sum()
            if not total > 0:  # nowhere to go: stay
                return
            place = draw(weights / total, state.rng)
            (chosen,) = self.scorer.complete([around.select(np.array([place]))])
            if self._within(self._recourses(head, chosen))[0]:
                state.heads[lead] = _moved(head, chosen)
                return
            weights[place] = 0
            if attempt == _REDRAWS:  # the limit is near: look at all neighbours at once
                (around,) = self.scorer.complete([around])
                weights = np.where(self._within(self._recourses(head, around)), weights, 0.0)

    def _within(self, recourses: FloatArray) -> BoolArray:
        """Which recourses lead to graphs within the distance limit, `[N]`."""
        if self.walk.max_distance is None:
            return np.ones(len(recourses), dtype=bool)
        result: BoolArray = np.linalg.norm(recourses, axis=1) <= self.walk.max_distance
        return result

    def _move_followers(self, state: WalkState, lead: int) -> None:
        """Each follower takes the neighbour, or stays, whose recourse is nearest to the lead's after its move."""
        target = self._recourse(state.heads[lead])
        followers = [i for i in range(len(state.heads)) if i != lead]
        heads = [state.heads[i] for i in followers]
        hoods = self.neighbourhoods.of(
            [head.graph for head in heads], [head.start for head in heads], "embedding", state.rng
        )
        moves = {}
        for i, around in zip(followers, hoods, strict=True):
            recourses = self._recourses(state.heads[i], around)
            distances = np.linalg.norm(recourses - target, axis=1)
            distances[~self._within(recourses)] = np.inf
            stay = np.linalg.norm(self._recourse(state.heads[i]) - target)
            if len(distances) and distances.min() < stay:
                moves[i] = around.select(np.array([distances.argmin()]))
        for i, chosen in zip(moves, self.scorer.complete(list(moves.values())), strict=True):
            state.heads[i] = _moved(state.heads[i], chosen)

    def _recourse(self, head: Head) -> FloatArray:
        """`r(G,H)` of where the head stands."""
        origin = self.inputs[head.start]
        return recourse_vectors(self.origins[head.start], origin.size, head.embedding, head.graph.size)

    def _recourses(self, head: Head, around: Neighbourhood) -> FloatArray:
        """`r(G,v)` of every neighbour, `[N, width]`."""
        assert around.embedding is not None
        sizes = around.graph.size + around.table.size_changes()
        return recourse_vectors(self.origins[head.start], self.inputs[head.start].size, around.embedding, sizes)

    def _count(self, state: WalkState) -> None:
        for head in state.heads:
            state.visits[head.key] += 1
            if head.probability > 0.5 and not state.pool.revisit(head.key):
                state.pool.add(Candidate(head.key, head.graph, head.probability, head.start, head.path))


def _moved(head: Head, chosen: Neighbourhood) -> Head:
    """The head after it took the one edit of a neighbourhood cut down to it."""
    assert chosen.probability is not None
    assert chosen.embedding is not None
    edit = chosen.table[0]
    return Head(
        start=head.start,
        graph=apply_edit(head.graph, edit),
        key=int(chosen.keys[0]),
        probability=float(chosen.probability[0]),
        embedding=chosen.embedding[0].copy(),  # not a view that keeps a whole neighbourhood alive
        path=(*head.path, edit),
    )


def teleport_distribution(starts: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """`p(G) ∝ exp(−t(G))` over the inputs (equation 3)."""
    weights = np.exp(-(starts - starts.min()).astype(np.float64))
    result: npt.NDArray[np.float64] = weights / weights.sum()
    return result


def draw(probabilities: npt.NDArray[np.floating], rng: np.random.Generator) -> int:
    """An index drawn with the given probabilities, from one uniform number."""
    cumulative = np.cumsum(probabilities, dtype=np.float64)
    return min(int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right")), len(cumulative) - 1)
