"""COMRECGC (ICML 2025) as its authors ran it, beside the walk of the paper's text (`comrecgc.algorithms.paper`).

In every public revision of the code the heads never advance: the graphs chosen in a step are recorded, and the next step starts
again from the same inputs until all heads restart. So every counterfactual is one edit away from an input. As in the code, restarts
draw heads with replacement, and a head may not stay.

The code identifies graphs by the bytes of their embedding. Their last bits depend on the order of nodes and on the batch, and differ
from one pass on a GPU to the next. So an input is a new graph at every restart, its neighbours are drawn and scored anew, and no earlier
graph is recognised. The number of graphs in the authors' records agrees with this and with no other identity.
It also agrees with counting every visit once, although the public code counts a graph twice if a follower is the first to meet it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.base import option
from comrecgc.algorithms.baselines.baseline import Baseline, Counterfactual, Counterfactuals, CountingWalk, Subject
from comrecgc.algorithms.reinforced_walk import CountingState, FrequencyTable, draw, teleport_distribution
from comrecgc.cover import FloatArray, recourse_vectors
from comrecgc.graphs import EditTable, GraphBatch, allowed_edits, apply_edit, batch_keys
from comrecgc.run import UNLIMITED, Arrays, RunContext, require
from comrecgc.scoring import EditMemory

_EDIT_BITS, _RESTART_BITS = 20, 44  # an identity is the number of the edit, of the input and of the restart
_START = -1  # in place of an edit: the input itself


@dataclass(frozen=True, kw_only=True)
class PublishedWalk(Baseline):
    """COMRECGC as its authors ran it: the walk of the published code, with the settings of its tables."""

    name: ClassVar[str] = "published"

    num_heads: int = option(5, "k: heads of the walk.", least=1)
    num_steps: int = option(50_000, "M: steps of the walk.", least=1)
    teleport: float = option(0.05, "τ: probability that a step sends all heads to inputs.", above=0, below=1)
    sample: int = option(1000, "Edits scored of an input that has more, drawn when it is met as a new graph.", least=1)
    capacity: int = option(100_000, "Graphs the table of visits holds.", least=1)

    def run(self, subject: Subject, rng: np.random.Generator, context: RunContext = UNLIMITED) -> Counterfactuals:
        """Walk, and take every accepted graph of the table, most visited first."""
        if not subject.inputs:
            return Counterfactuals(())
        facts = self.facts(subject, rng)
        walker = PublishedWalker(self, subject, seed=int(rng.integers(2**63)), memory=self.memory())
        return walker.explain(facts, rng, context, len(subject.inputs))

    def memory(self) -> EditMemory:
        """A cache of scores of edits for the length of the walk."""
        return EditMemory()


@dataclass(frozen=True, eq=False)
class Surroundings:
    """The neighbours of one input that the walk sees."""

    numbers: npt.NDArray[np.int64]  # number of the edit that leads to each, among all of the input, `[N]`
    keys: npt.NDArray[np.uint64]  # identity of each, restarts aside, `[N]`
    probability: FloatArray  # probability of accept of each, `[N]`
    recourses: FloatArray  # `r(G,v)` of each, `[N, d]`


@dataclass(frozen=True, eq=False, slots=True)
class HeadMove:
    """The choice of a head in a step."""

    key: int  # identity of the graph, restarts aside
    origin: tuple[int, int]  # the input, and the number of an edit of it
    accepted: bool  # whether the graph is accepted
    recourse: FloatArray  # `r(G,v)`, `[d]`

    @classmethod
    def of(cls, place: int, around: Surroundings, at: int) -> HeadMove:
        """One of the neighbours of an input."""
        origin = (place, int(around.numbers[at]))
        return cls(int(around.keys[at]), origin, bool(around.probability[at] >= 0.5), around.recourses[at])


class Visit(NamedTuple):
    """A recorded graph: where it was met, and whether it counts as accepted."""

    key: int
    origin: tuple[int, int]
    accepted: bool


@dataclass(eq=False, kw_only=True)
class PublishedState(CountingState):
    """A published walk at one moment."""

    starts: npt.NDArray[np.int64]  # `t(G)`: heads ever started at each input, `[num_inputs]`
    seen: dict[int, Visit] = field(default_factory=dict)  # the first visit of each graph of the table
    heads: list[int] = field(default_factory=list)  # the input each head stands on
    chosen: list[HeadMove] = field(default_factory=list)  # by each head in the latest step, the lead first; not stored


class PublishedWalker(CountingWalk[PublishedState]):
    """A published walk bound to its inputs and models; the seed is for draws from large neighbourhoods."""

    kinds: ClassVar = {
        "starts": "i1", "heads": "i1", "keys": "u1", "frequencies": "i1", "inputs": "i1", "edits": "i1", "accepted": "i1",
    }  # fmt: skip

    def __init__(self, walk: PublishedWalk, subject: Subject, seed: int, memory: EditMemory | None = None) -> None:
        super().__init__(walk.num_steps, walk.teleport)
        self.walk, self.subject, self.seed = walk, subject, seed
        batch = GraphBatch.from_graphs(subject.inputs)
        self.origins = np.asarray(subject.embedder.embed(batch), dtype=np.float32)
        self.keys = [int(key) for key in batch_keys(batch)]
        self._memory = memory or EditMemory()
        self._around: dict[int, Surroundings] = {}  # of the inputs met since the restart `_met`
        self._met = 0

    def around(self, state: PublishedState, place: int) -> Surroundings:
        """The neighbours of an input, drawn and scored each time the input counts as a new graph."""
        met = self._restarts(state)
        if met != self._met:
            self._met, self._around = met, {}
        if place not in self._around:
            self._around[place] = self._scored(place, met)
        return self._around[place]

    def edits(self, place: int) -> EditTable:
        """All edits of an input, in the order that numbers them."""
        scorer = self.subject.scorer
        return allowed_edits(self.subject.inputs[place], scorer.num_labels, scorer.constraint)

    def _scored(self, place: int, met: int) -> Surroundings:
        graph, scorer, table = self.subject.inputs[place], self.subject.scorer, self.edits(place)
        numbers = np.arange(len(table))
        if len(table) > self.walk.sample:
            rng = np.random.default_rng([self.seed, place, met])
            numbers = np.sort(rng.choice(len(table), self.walk.sample, replace=False))
        keys = numbers.astype(np.uint64) + np.uint64((place + 1) << _EDIT_BITS)
        scores = partial(self._memory.scores, scorer, graph=graph, table=table, numbers=numbers)
        sizes = graph.size + table.select(numbers).size_changes()
        recourses = recourse_vectors(self.origins[place], graph.size, scores("embedding"), sizes)
        return Surroundings(numbers, keys, scores("probability"), recourses)

    def begin(self, rng: np.random.Generator) -> PublishedState:
        """The heads on inputs drawn with replacement."""
        starts = np.zeros(len(self.subject.inputs), np.int64)
        state = PublishedState(rng=rng, starts=starts, table=FrequencyTable(self.walk.capacity))
        self.restart(state)
        return state

    def restart(self, state: PublishedState) -> None:
        """Send all heads to inputs drawn with replacement, which are recorded as not accepted."""
        weights = teleport_distribution(state.starts)
        state.heads = [draw(weights, state.rng) for _ in range(self.walk.num_heads)]
        state.chosen = []
        np.add.at(state.starts, state.heads, 1)
        for visit in self._starts(state):
            self._record(state, visit)

    def move(self, state: PublishedState) -> None:
        """Let a lead and its followers choose graphs, which are recorded; the heads stay where they are."""
        state.chosen = []
        lead = int(state.rng.integers(self.walk.num_heads))
        around = self.around(state, state.heads[lead])
        if not len(around.keys):
            return
        keys = (around.keys ^ np.uint64(self._era(state))).tolist()
        counts = np.fromiter(state.table.frequency(keys), np.float64, len(keys))
        weights = around.probability * counts
        chosen = draw(weights if weights.sum() > 0 else np.ones_like(weights), state.rng)
        state.chosen = [HeadMove.of(state.heads[lead], around, chosen)]
        for place in (place for head, place in enumerate(state.heads) if head != lead):
            hood = self.around(state, place)
            if len(hood.keys):
                state.chosen.append(HeadMove.of(place, hood, _nearest(hood, state.chosen[0].recourse)))
        self._record_step(state)

    def found(self, state: PublishedState) -> tuple[Counterfactual, ...]:
        """The accepted graphs of the table in its order."""
        likely = [state.seen[key].origin for key in state.table.keys if state.seen[key].accepted]
        tables = {place: self.edits(place) for place, _ in likely}
        edits = [tables[place][number] for place, number in likely]
        inputs = self.subject.inputs
        graphs = [apply_edit(inputs[place], edit) for (place, _), edit in zip(likely, edits, strict=True)]
        probability = self.subject.accepted(graphs).tolist()
        return tuple(
            Counterfactual(graph=graph, probability=p, input=place, path=(edit,))
            for graph, p, (place, _), edit in zip(graphs, probability, likely, edits, strict=True)
            if p > 0.5
        )

    def _record_step(self, state: PublishedState) -> None:
        """Count what a step chose, the lead's graph first.

        A graph dropped from a full table within the step is added again beyond the capacity, and so is an input that a head stands on.
        """
        visits = [Visit(choice.key ^ self._era(state), choice.origin, choice.accepted) for choice in state.chosen]
        for visit in visits:
            self._record(state, visit)
        for visit in [*visits, *self._starts(state)]:
            if visit.key not in state.table:
                self._record(state, visit, beyond=True)

    def _starts(self, state: PublishedState) -> list[Visit]:
        """The inputs under the heads, which count as not accepted."""
        return [Visit(self.keys[place] ^ self._era(state), (place, _START), False) for place in state.heads]

    def _restarts(self, state: PublishedState) -> int:
        return int(state.starts.sum()) // self.walk.num_heads

    def _era(self, state: PublishedState) -> int:
        """A number that tells graphs met after the latest restart from those met before."""
        return self._restarts(state) << _RESTART_BITS

    def _record(self, state: PublishedState, visit: Visit, *, beyond: bool = False) -> None:
        dropped = state.table.visit(visit.key, accepted=visit.accepted, beyond=beyond)
        if dropped is not None:
            del state.seen[dropped]
        state.seen.setdefault(visit.key, visit)

    def encode(self, state: PublishedState) -> Arrays:
        """The state as arrays."""
        visits = [state.seen[key] for key in state.table.keys]
        origins = np.array([visit.origin for visit in visits], dtype=np.int64).reshape(-1, 2)
        return {
            **state.table.encode(),
            "starts": state.starts,
            "heads": np.array(state.heads, dtype=np.int64),
            "inputs": origins[:, 0],
            "edits": origins[:, 1],
            "accepted": np.array([visit.accepted for visit in visits], dtype=np.int64),
        }

    def decode(self, arrays: Arrays, rng: np.random.Generator, step: int) -> PublishedState:
        """The inverse of `encode`."""
        inputs, edits, accepted = arrays["inputs"], arrays["edits"], arrays["accepted"]
        heads, starts, num_inputs = (
            arrays["heads"].tolist(),
            arrays["starts"].astype(np.int64),
            len(self.subject.inputs),
        )
        require(starts.shape == (num_inputs,), "starts must be counted for every input")
        require(
            len(heads) == self.walk.num_heads and all(0 <= h < num_inputs for h in heads), "heads must be on inputs"
        )
        require(((inputs >= 0) & (inputs < num_inputs)).all() and (edits >= _START).all(), "graphs must be near inputs")
        table = FrequencyTable.decode(arrays, self.walk.capacity)
        columns = zip(table.keys, inputs.tolist(), edits.tolist(), accepted.tolist(), strict=True)
        seen = {key: Visit(key, (place, edit), bool(stands)) for key, place, edit, stands in columns}
        return PublishedState(rng=rng, step=step, starts=starts, table=table, seen=seen, heads=heads)


def _nearest(around: Surroundings, target: FloatArray) -> int:
    """The neighbour whose recourse is nearest to the lead's."""
    gaps = around.recourses - target
    return int(np.einsum("nd,nd->n", gaps, gaps).argmin())
