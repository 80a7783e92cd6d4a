"""GCFExplainer's walk: where the head stands, what it sees, and how it draws.

Every option's importance needs its embedding, which costs most, and most options cover no input. So of many options the head looks at
some only: it draws with a bound in place of what is unknown, looks at the option drawn, and keeps it with the ratio of the two. That is
the same distribution as long as the bound holds. It is twice the largest value known, and raised when an option exceeds it (Caffo et
al., Biometrika 2002); `lazy=False` looks at every option.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.baselines.frequencies import FrequencyTable
from comrecgc.algorithms.baselines.source import Counterfactual, Subject, accepted_graphs
from comrecgc.algorithms.paper.walk import draw
from comrecgc.cover import FloatArray
from comrecgc.graphs import EditPath, EditTable, Graph, GraphBatch, KeyArray, apply_edit, batch_keys, pointers
from comrecgc.scoring import Neighbourhood

if TYPE_CHECKING:
    from comrecgc.algorithms.baselines.gcfexplainer import GCFExplainer


Places = npt.NDArray[np.int32]
Weights = npt.NDArray[np.float64]

_FIRST_LOOK, _MOST_LOOKS = 32, 1024  # options drawn at first, twice as many each time after, and at most
_SLACK = 2.0  # of the bound over the largest bracket known
_SMALL = 256  # options; of so few all are looked at


@dataclass(frozen=True, eq=False, slots=True)
class Visited:
    """A graph the head has stood on.

    Args:
        key: Identity of the graph.
        graph: The graph, its ids those of its start.
        start: The input the path begins at.
        path: Edits from that input, as first walked.
        probability: Probability of accept.
        embedding: Its `z`.
        covers: Inputs within θ, increasing.
    """

    key: int
    graph: Graph
    start: int
    path: EditPath
    probability: float
    embedding: FloatArray
    covers: Places

    @property
    def accepted(self) -> bool:
        return self.probability >= 0.5


class Hood:
    """The neighbours of a graph, and what those looked at so far cover.

    Args:
        hood: The neighbours, with probabilities.
    """

    def __init__(self, hood: Neighbourhood) -> None:
        assert hood.probability is not None
        self.hood = hood
        self.keys: list[int] = hood.keys.tolist()
        self.probability = hood.probability
        self.covers: dict[int, Places] = {}
        self.embedding: dict[int, FloatArray] = {}
        self.size = 64 * len(self.keys)  # bytes, about

    def is_of(self, graph: Graph) -> bool:
        """Whether the edits are of this very graph, and not of one isomorphic to it."""
        return self.hood.graph == graph and np.array_equal(self.hood.graph.ids, graph.ids)

    def grown(self, num_rows: int, num_covered: int) -> int:
        """Bytes, about, by which it grows when so many neighbours are looked at that cover so many inputs in all."""
        more = 500 * num_rows + 4 * num_covered
        self.size += more
        return more


@dataclass(eq=False)
class GcfState:
    """Everything a walk is at one moment.

    Args:
        rng: Source of all its randomness.
        current: Where the head stands.
        table: Visits.
        seen: The graphs of the table.
        counts: `n(G)`: accepted graphs among the first entries of the table, as many as inputs, that cover each input.
        step: Steps done.
    """

    rng: np.random.Generator
    current: Visited
    table: FrequencyTable
    seen: dict[int, Visited]
    counts: npt.NDArray[np.int64]
    step: int = 0


class GcfWalker:
    """A walk bound to its inputs and models.

    Args:
        walk: The parameters.
        subject: The models and the graphs.
        seed: Of the draws from large neighbourhoods.
    """

    def __init__(self, walk: GCFExplainer, subject: Subject, seed: int) -> None:
        self.walk = walk
        self.subject = subject
        self.seed = seed
        batch = GraphBatch.from_graphs(subject.inputs)
        plain = np.asarray(subject.embedder.embed(batch), dtype=np.float32)
        self.embeddings = plain.astype(np.float64)
        self.squares = np.square(self.embeddings).sum(axis=1)
        self.sizes = np.array([graph.size for graph in subject.inputs], dtype=np.float64)
        probability = np.asarray(subject.classifier.accept_probability(batch), dtype=np.float64).tolist()
        rows = zip(batch_keys(batch).tolist(), subject.inputs, probability, plain, strict=True)
        self.inputs = [
            Visited(
                key, graph, place, (), p, z, np.flatnonzero(self._gaps(z[None], [graph.size])[0] <= 0).astype(np.int32)
            )
            for place, (key, graph, p, z) in enumerate(rows)
        ]
        self._cache: OrderedDict[int, Hood] = OrderedDict()
        self._bytes = 0

    def begin(self, rng: np.random.Generator) -> GcfState:
        """The head on an input drawn at random."""
        table = FrequencyTable(self.walk.capacity)
        counts = np.zeros(len(self.inputs), np.int64)
        state = GcfState(rng, self.inputs[0], table, {}, counts)
        self._visit(state, self.inputs[draw(self.teleport_weights(state), rng)])
        return state

    def step(self, state: GcfState) -> None:
        """Go back to an input, or to one of the options; then count the visit."""
        if state.rng.random() < self.walk.teleport:
            self._visit(state, self.inputs[draw(self.teleport_weights(state), state.rng)])
        else:
            self._visit(state, self._moved(state))
        state.step += 1

    def found(self, state: GcfState) -> tuple[Counterfactual, ...]:
        """The accepted graphs of the table in its order, as a plain pass says."""
        likely = [state.seen[key] for key in state.table.keys if state.seen[key].accepted]
        probability = accepted_graphs(self.subject, [each.graph for each in likely]).tolist()
        return tuple(
            Counterfactual(graph=each.graph, probability=p, input=each.start, path=each.path)
            for each, p in zip(likely, probability, strict=True)
            if p > 0.5
        )

    def teleport_weights(self, state: GcfState) -> Weights:
        """`exp(−n(G))` of each input."""
        if not self.walk.dynamic_teleport:
            return np.ones(len(self.inputs))
        result: Weights = np.exp(-(state.counts - state.counts.min()).astype(np.float64))
        return result

    def brackets(self, state: GcfState, covers: Sequence[Places], *, counted: bool = False) -> Weights:
        """`α·ind(v) + (1−α)·gain(v)` of some graphs: the share of inputs covered, and of those that nothing else covers.

        Args:
            state: The walk.
            covers: Inputs that each graph covers.
            counted: Whether the graphs are themselves among the first accepted entries of the table, which `n(G)` counts.
        """
        worth = self.walk.alpha + (1 - self.walk.alpha) * (state.counts == int(counted))
        sums = np.concatenate([np.zeros(1), np.cumsum(worth[np.concatenate([np.zeros(0, np.int32), *covers])])])
        ends = pointers([len(each) for each in covers])
        result: Weights = (sums[ends[1:]] - sums[ends[:-1]]) / len(self.inputs)
        return result

    def options(self, state: GcfState) -> tuple[Hood, list[int], Weights]:
        """The neighbourhood, keys of all options, the graph itself first, and probability times frequency of each, `[N+1]`."""
        around = self.around(state.current)
        keys = [state.current.key, *around.keys]
        probability = np.concatenate([[state.current.probability], around.probability]).astype(np.float64)
        if not self.walk.importance:
            probability = np.ones(len(keys))
        if self.walk.reinforcement:
            probability *= np.fromiter(state.table.frequency(keys), np.float64, len(keys))
        return around, keys, probability

    def around(self, visited: Visited) -> Hood:
        """The neighbours of a graph, other than itself, with probabilities."""
        known = self._cache.pop(visited.key, None)
        # Isomorphic graphs share a key, but edits are of one layout.
        if known is None or not known.is_of(visited.graph):
            self._bytes -= 0 if known is None else known.size
            rng = np.random.default_rng([self.seed, visited.key])
            (hood,) = self.subject.scorer.score([visited.graph], embedding=False, sample=self.walk.sample, rng=rng)
            keys = hood.keys
            if self.walk.identity == "path":
                hood = replace(hood, keys=_mixed(visited.key, hood.table))
            known = Hood(hood.select(keys != np.uint64(visited.key)))
            self._bytes += known.size
        self._cache[visited.key] = known
        while self._bytes > self.walk.cache_bytes and len(self._cache) > 1:
            self._bytes -= self._cache.popitem(last=False)[1].size
        return known

    def importances(self, state: GcfState) -> Weights:
        """`I(v)` of every option, the graph itself first, `[N+1]`: what `step` draws by, with frequencies."""
        around, keys, _ = self.options(state)
        self._look(state, around, range(len(around.keys)))
        brackets = self.brackets(state, [state.current.covers, *(around.covers[i] for i in range(len(around.keys)))])
        for place, bracket in self._known(state, keys).items():
            brackets[place] = bracket
        probability = np.concatenate([[state.current.probability], around.probability]).astype(np.float64)
        return probability * brackets if brackets.any() else probability

    def _moved(self, state: GcfState) -> Visited:
        """An option drawn with weight importance times frequency."""
        around, keys, plain = self.options(state)
        if not self.walk.importance:
            return self._option(state, around, keys, draw(plain, state.rng))
        # What is known must depend on the walk alone and not on what happens to be in the cache: the draws go by it.
        known = self._known(state, keys)
        bound = _SLACK * max(*known.values(), 1 / len(self.inputs))
        brackets = np.full(len(keys), bound)
        looked = set(known)
        if not self.walk.lazy or len(around.keys) <= _SMALL:
            self._look(state, around, range(len(around.keys)))
            brackets[1:] = self.brackets(state, [around.covers[i] for i in range(len(around.keys))])
            looked = set(range(len(keys)))
        brackets[list(known)] = list(known.values())
        count = _FIRST_LOOK
        while (weights := plain * brackets).sum() > 0:
            drawn, lots = _draws(weights, count, state.rng), state.rng.random(count)
            new = [place for place in dict.fromkeys(drawn) if place not in looked]
            self._look(state, around, [place - 1 for place in new])
            true = dict(
                zip(new, self.brackets(state, [around.covers[place - 1] for place in new]).tolist(), strict=True)
            )
            highest = max(true.values(), default=0.0)
            if highest <= bound:
                for place, lot in zip(drawn, lots.tolist(), strict=True):
                    if lot * brackets[place] < true.get(place, brackets[place]):
                        return self._option(state, around, keys, place)
            else:  # the bound was wrong: draw anew
                bound = _SLACK * highest
                brackets[[place for place in range(len(keys)) if place not in looked]] = bound
            brackets[new] = list(true.values())
            looked.update(new)
            count = min(2 * count, _MOST_LOOKS)
        # No option covers anything.
        return self._option(state, around, keys, draw(plain if plain.sum() > 0 else np.ones(len(keys)), state.rng))

    def _option(self, state: GcfState, around: Hood, keys: Sequence[int], place: int) -> Visited:
        """An option as a graph; one seen before is what it was then."""
        current = state.current
        if place == 0 or keys[place] in state.seen:
            return current if place == 0 else state.seen[keys[place]]
        row = place - 1
        self._look(state, around, [row])
        edit = around.hood.table[row]
        return Visited(
            keys[place], apply_edit(current.graph, edit), current.start, (*current.path, edit),
            float(around.probability[row]), around.embedding[row], around.covers[row],
        )  # fmt: skip

    def _look(self, state: GcfState, around: Hood, rows: Sequence[int]) -> None:
        """Find out what some neighbours cover."""
        new = [row for row in rows if row not in around.covers]
        if not new:
            return
        (part,) = self.subject.scorer.complete([around.hood.select(np.array(new))], probability=False)
        assert part.embedding is not None
        # Only inputs that are at most the longest of these steps too far from here can be covered.
        here = state.current.embedding
        longest = float(np.linalg.norm(part.embedding.astype(np.float64) - here, axis=1).max()) * (1 + 1e-6)
        near = np.flatnonzero(self._gaps(here[None], [around.hood.graph.size + 2])[0] <= longest).astype(np.int32)
        gaps = self._gaps(part.embedding, around.hood.graph.size + part.table.size_changes(), near)
        places, columns = np.nonzero(gaps <= 0)
        ends, inputs = pointers(np.bincount(places, minlength=len(new))), near[columns]
        for k, row in enumerate(new):
            around.covers[row] = inputs[ends[k] : ends[k + 1]]
            around.embedding[row] = part.embedding[k]
        self._bytes += around.grown(len(new), len(inputs))

    def _known(self, state: GcfState, keys: Sequence[int]) -> dict[int, float]:
        """Brackets of the options that were visited before, the graph itself among them."""
        places = [place for place, key in enumerate(keys) if key in state.seen]
        result: dict[int, float] = {}
        for counted in (False, True):
            some = [place for place in places if self._is_counted(state, keys[place]) is counted]
            covers = [state.seen[keys[place]].covers for place in some]
            result |= dict(zip(some, self.brackets(state, covers, counted=counted).tolist(), strict=True))
        return result

    def _is_counted(self, state: GcfState, key: int) -> bool:
        place = state.table.place.get(key)
        return place is not None and place < len(self.inputs) and state.seen[key].accepted

    def _gaps(
        self, embeddings: FloatArray, sizes: npt.ArrayLike, inputs: Places | slice = slice(None)
    ) -> npt.NDArray[np.float64]:
        """How much farther some inputs are from each graph than `θ(|G|+|H|)`, `[n, inputs]`."""
        points = embeddings.astype(np.float64)
        squares = np.square(points).sum(axis=1)[:, None] + self.squares[inputs] - 2 * points @ self.embeddings[inputs].T
        reach = self.walk.walk_theta * (np.asarray(sizes, dtype=np.float64)[:, None] + self.sizes[inputs])
        result: npt.NDArray[np.float64] = np.sqrt(np.maximum(squares, 0)) - reach
        return result

    def _visit(self, state: GcfState, visited: Visited) -> None:
        """Count a visit, and keep `n(G)` true to the first entries of the table."""
        table, front, key = state.table, len(self.inputs), visited.key
        state.current = state.seen.setdefault(key, visited)
        before = table.place.get(key)
        was_front = before is not None and before < front
        dropped = table.visit(key, accepted=state.current.accepted)
        if dropped is not None:
            gone = state.seen.pop(dropped)
            if len(table) <= front and gone.accepted:
                state.counts[gone.covers] -= 1
        at = table.place[key]
        if at >= front or was_front:
            return
        if state.current.accepted:
            state.counts[state.current.covers] += 1
        # Whoever stood there has gone where this one was, or to the end.
        there = len(table) - 1 if before is None else before
        other = state.seen[table.keys[there]]
        if other.key != key and there >= front and other.accepted:
            state.counts[other.covers] -= 1


def _mixed(key: int, table: EditTable) -> KeyArray:
    """An identity of its own for each edit of the graph with this one, `[N]`: bits well mixed (the finaliser of splitmix64)."""
    kind, first, second = (
        column.astype(np.int64).astype(np.uint64) for column in (table.kind, table.first, table.second)
    )
    bits = np.uint64(key * 0x9E3779B97F4A7C15 % 2**64) + (kind << np.uint64(48) ^ first << np.uint64(24) ^ second)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits = (bits ^ bits >> np.uint64(shift)) * np.uint64(factor)
    return bits ^ bits >> np.uint64(31)


def _draws(weights: Weights, count: int, rng: np.random.Generator) -> list[int]:
    """Places drawn with these weights, with replacement."""
    cumulative = np.cumsum(weights)
    places = np.searchsorted(cumulative, rng.random(count) * cumulative[-1], side="right")
    last = int(np.flatnonzero(weights)[-1])
    return [min(int(place), last) for place in places]
