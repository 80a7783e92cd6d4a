"""Global Counterfactual Explainer for Graph Neural Networks (Huang et al., WSDM 2023): a vertex-reinforced walk for a few counterfactuals.

One head walks by single edits. It prefers graphs that are likely accepted, close to many inputs, close to inputs without a close counterfactual so
far, and visited before. From time to time it goes back to an input with few close counterfactuals.

The importance of an option needs its embedding, which is the largest cost, and most options cover no input. So the head uses rejection sampling: it
draws an option with a bound in place of unknown importances, scores it, and keeps it with the ratio of the two. The distribution is the same as long
as the bound holds. It is twice the largest value known, and raised when an option exceeds it (Caffo et
al., Biometrika 2002).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.base import option
from comrecgc.algorithms.baselines.baseline import Baseline, Counterfactual, Counterfactuals, CountingWalk, Subject
from comrecgc.algorithms.checkpoint import Reached, decode_reached, encode_reached, reached_kinds
from comrecgc.algorithms.reinforced_walk import CountingState, FrequencyTable, draw, teleport_distribution
from comrecgc.cover import FloatArray, nearest_of_all
from comrecgc.graphs import EditTable, Graph, GraphBatch, KeyArray, apply_edit, batch_keys, pointers
from comrecgc.models import mixed_keys
from comrecgc.run import UNLIMITED, Arrays, RunContext, check_pointers, require
from comrecgc.scoring import Neighbourhood

Indices = npt.NDArray[np.int32]
Weights = npt.NDArray[np.float64]

_FIRST_LOOK, _MOST_LOOKS = 32, 1024  # options drawn at first, twice as many each time after, and at most
_SLACK = 2.0  # of the bound over the largest bracket known
_SMALL = 256  # options; of so few all are scored
_CACHE_BYTES = 512 << 20  # for neighbourhoods scored before


@dataclass(frozen=True, kw_only=True)
class GCFExplainer(Baseline):
    """GCFExplainer's walk (Huang et al., WSDM 2023).

    Graphs are identified by the edits that lead to them. The released code identifies them by the bytes of an embedding, whose last bits depend on the
    order of nodes and on the batch; its tables are as large, or larger.
    """

    name: ClassVar[str] = "gcfexplainer"
    fc_subset: ClassVar[str] = "greedy"

    num_steps: int = option(50_000, "M: steps of the walk.", least=1)
    teleport: float = option(0.1, "τ: probability of a step back to an input.", above=0, below=1)
    walk_theta: float = option(
        0.05, "Normalised distance within which a graph covers an input during the walk.", above=0
    )
    alpha: float = option(0.5, "Weight of all inputs covered against inputs that nothing else covers.", least=0, most=1)
    capacity: int = option(100_000, "Graphs the table of visits holds.", least=1)
    sample: int | None = option(10_000, "Edits scored of a graph that has more; all without a limit.", least=1)

    def run(self, subject: Subject, rng: np.random.Generator, context: RunContext = UNLIMITED) -> Counterfactuals:
        """Walk, and take every accepted graph of the table, most visited first."""
        if not subject.inputs:
            return Counterfactuals(())
        facts = self.facts(subject, rng) | {"baseline": GCFExplainer.name}  # `GCFNearest` can continue its walk
        walker = GcfWalker(self, subject, seed=int(rng.integers(2**63)))
        return walker.explain(facts, rng, context, len(subject.inputs))


@dataclass(frozen=True, kw_only=True)
class GCFNearest(GCFExplainer):
    """GCFExplainer's walk, reduced to the counterfactual nearest to each input, at any distance: LocalRWExplainer of COMRECGC's tables."""

    name: ClassVar[str] = "gcf-nearest"
    fc_subset: ClassVar[str] = "all"

    def run(self, subject: Subject, rng: np.random.Generator, context: RunContext = UNLIMITED) -> Counterfactuals:
        """Walk, and take the nearest."""
        walked = super().run(subject, rng, context)
        if not walked.found:
            return walked
        nearest = nearest_of_all(
            *subject.embedded(subject.inputs), *subject.embedded([each.graph for each in walked.found])
        )
        return Counterfactuals(tuple(walked.found[i] for i in nearest.tolist()), walked.complete)


@dataclass(frozen=True, eq=False, slots=True)
class Visited(Reached):
    """A graph the head has stood on."""

    covers: Indices = field(default_factory=lambda: np.zeros(0, np.int32))  # inputs within θ, increasing

    @property
    def is_accepted(self) -> bool:
        """Whether the graph counts as a counterfactual, as in the released code."""
        return self.probability >= 0.5


class Hood:
    """The neighbours of a graph, with probabilities, and what the scored ones cover."""

    def __init__(self, hood: Neighbourhood) -> None:
        assert hood.probability is not None
        self.hood = hood
        self.keys: list[int] = hood.keys.tolist()
        self.probability = hood.probability
        self.covers: dict[int, Indices] = {}
        self.embedding: dict[int, FloatArray] = {}
        self.size = 64 * len(self.keys)  # bytes, about

    def is_of(self, graph: Graph) -> bool:
        """Whether the edits belong to this graph, not to one isomorphic to it."""
        return self.hood.graph == graph and np.array_equal(self.hood.graph.ids, graph.ids)

    def grown(self, num_rows: int, num_covered: int) -> int:
        """Add the bytes of newly scored neighbours and the inputs they cover; returns that number."""
        more = 500 * num_rows + 4 * num_covered
        self.size += more
        return more


@dataclass(eq=False, kw_only=True)
class GcfState(CountingState):
    """GCFExplainer's walk at one moment."""

    current: Visited  # where the head stands
    seen: dict[int, Visited]  # the graphs of the table
    counts: npt.NDArray[np.int64]  # `n(G)`: accepted ones of the first |inputs| entries that cover each input


class GcfWalker(CountingWalk[GcfState]):
    """GCFExplainer's walk bound to its inputs and models; the seed is for draws from large neighbourhoods."""

    kinds: ClassVar = {
        "current": "u0", "frequencies": "i1", "keys": "u1", "covers": "i1", "cover_ptr": "i1", **reached_kinds("seen"),
    }  # fmt: skip

    def __init__(self, walk: GCFExplainer, subject: Subject, seed: int) -> None:
        super().__init__(walk.num_steps, walk.teleport)
        self.walk, self.subject, self.seed = walk, subject, seed
        batch = GraphBatch.from_graphs(subject.inputs)
        plain = np.asarray(subject.embedder.embed(batch), dtype=np.float32)
        self.embeddings = plain.astype(np.float64)
        self.squares = np.square(self.embeddings).sum(axis=1)
        self.sizes = np.array([graph.size for graph in subject.inputs], dtype=np.float64)
        probability = np.asarray(subject.classifier.accept_probability(batch), dtype=np.float64).tolist()
        rows = zip(batch_keys(batch).tolist(), subject.inputs, probability, plain, strict=True)
        self.inputs = [
            Visited(
                place, graph, key, p, z, (), np.flatnonzero(self._gaps(z[None], [graph.size])[0] <= 0).astype(np.int32)
            )
            for place, (key, graph, p, z) in enumerate(rows)
        ]
        self._cache: OrderedDict[int, Hood] = OrderedDict()
        self._bytes = 0

    def begin(self, rng: np.random.Generator) -> GcfState:
        """The head on an input drawn at random."""
        table = FrequencyTable(self.walk.capacity)
        counts = np.zeros(len(self.inputs), np.int64)
        state = GcfState(rng=rng, current=self.inputs[0], table=table, seen={}, counts=counts)
        self.restart(state)
        return state

    def restart(self, state: GcfState) -> None:
        """Go back to an input."""
        self._visit(state, self.inputs[draw(self.teleport_weights(state), state.rng)])

    def move(self, state: GcfState) -> None:
        """Go to one of the options."""
        self._visit(state, self._moved(state))

    def found(self, state: GcfState) -> tuple[Counterfactual, ...]:
        """The accepted graphs of the table, in its order, checked by a plain pass."""
        likely = [state.seen[key] for key in state.table.keys if state.seen[key].is_accepted]
        probability = self.subject.accepted([each.graph for each in likely]).tolist()
        return tuple(
            Counterfactual(graph=each.graph, probability=p, input=each.start, path=each.path)
            for each, p in zip(likely, probability, strict=True)
            if p > 0.5
        )

    def teleport_weights(self, state: GcfState) -> Weights:
        """`exp(−n(G))` of each input."""
        return teleport_distribution(state.counts)

    def brackets(self, state: GcfState, covers: Sequence[Indices], *, counted: bool = False) -> Weights:
        """`α·ind(v) + (1−α)·gain(v)` of some graphs: the share of inputs covered, and of those that nothing else covers.

        `counted`: the graphs are themselves among the first accepted entries of the table, which `n(G)` counts.
        """
        worth = self.walk.alpha + (1 - self.walk.alpha) * (state.counts == int(counted))
        sums = np.concatenate([np.zeros(1), np.cumsum(worth[np.concatenate([np.zeros(0, np.int32), *covers])])])
        ends = pointers([len(each) for each in covers])
        return np.asarray((sums[ends[1:]] - sums[ends[:-1]]) / len(self.inputs))

    def options(self, state: GcfState) -> tuple[Hood, list[int], Weights]:
        """The neighbourhood, keys of all options, the graph itself first, and probability times frequency of each, `[N+1]`."""
        around = self.around(state.current)
        keys = [state.current.key, *around.keys]
        probability = np.concatenate([[state.current.probability], around.probability]).astype(np.float64)
        return around, keys, probability * np.fromiter(state.table.frequency(keys), np.float64, len(keys))

    def around(self, visited: Visited) -> Hood:
        """The neighbours of a graph, other than itself, with probabilities."""
        known = self._cache.pop(visited.key, None)
        # Isomorphic graphs share a key, but edits are of one layout.
        if known is None or not known.is_of(visited.graph):
            self._bytes -= 0 if known is None else known.size
            rng = np.random.default_rng([self.seed, visited.key])
            (hood,) = self.subject.scorer.score([visited.graph], embedding=False, sample=self.walk.sample, rng=rng)
            keys = hood.keys
            hood = replace(hood, keys=_mixed(visited.key, hood.table))
            known = Hood(hood.select(keys != np.uint64(visited.key)))
            self._bytes += known.size
        self._cache[visited.key] = known
        while self._bytes > _CACHE_BYTES and len(self._cache) > 1:
            self._bytes -= self._cache.popitem(last=False)[1].size
        return known

    def _moved(self, state: GcfState) -> Visited:
        """An option drawn with weight importance times frequency."""
        around, keys, plain = self.options(state)
        # The draws depend on what is known, so that must come from the walk alone and not from the cache.
        known = self._known(state, keys)
        bound = _SLACK * max(*known.values(), 1 / len(self.inputs))
        brackets = np.full(len(keys), bound)
        looked = set(known)
        if len(around.keys) <= _SMALL:
            self._look(state, around, range(len(around.keys)))
            brackets[1:] = self.brackets(state, [around.covers[i] for i in range(len(around.keys))])
            looked = set(range(len(keys)))
        brackets[list(known)] = list(known.values())
        count = _FIRST_LOOK
        while (weights := plain * brackets).sum() > 0:
            drawn, levels = _draws(weights, count, state.rng), state.rng.random(count)
            new = [place for place in dict.fromkeys(drawn) if place not in looked]
            self._look(state, around, [place - 1 for place in new])
            true = dict(
                zip(new, self.brackets(state, [around.covers[place - 1] for place in new]).tolist(), strict=True)
            )
            highest = max(true.values(), default=0.0)
            if highest <= bound:
                for place, level in zip(drawn, levels.tolist(), strict=True):
                    if level * brackets[place] < true.get(place, brackets[place]):
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
        """The graph of an option; a graph seen before keeps its record."""
        current = state.current
        if place == 0 or keys[place] in state.seen:
            return current if place == 0 else state.seen[keys[place]]
        row = place - 1
        self._look(state, around, [row])
        edit = around.hood.table[row]
        return Visited(
            current.start, apply_edit(current.graph, edit), keys[place], float(around.probability[row]),
            around.embedding[row], (*current.path, edit), around.covers[row],
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
        return place is not None and place < len(self.inputs) and state.seen[key].is_accepted

    def _gaps(
        self, embeddings: FloatArray, sizes: npt.ArrayLike, inputs: Indices | slice = slice(None)
    ) -> npt.NDArray[np.float64]:
        """Distance of each graph to some inputs minus `θ(|G|+|H|)`, `[n, inputs]`."""
        points = embeddings.astype(np.float64)
        squares = np.square(points).sum(axis=1)[:, None] + self.squares[inputs] - 2 * points @ self.embeddings[inputs].T
        reach = self.walk.walk_theta * (np.asarray(sizes, dtype=np.float64)[:, None] + self.sizes[inputs])
        return np.asarray(np.sqrt(np.maximum(squares, 0)) - reach)

    def _visit(self, state: GcfState, visited: Visited) -> None:
        """Count a visit, and keep `n(G)` true to the first entries of the table."""
        table, front, key = state.table, len(self.inputs), visited.key
        state.current = state.seen.setdefault(key, visited)
        before = table.place.get(key)
        was_front = before is not None and before < front
        dropped = table.visit(key, accepted=state.current.is_accepted)
        if dropped is not None:
            gone = state.seen.pop(dropped)
            if len(table) <= front and gone.is_accepted:
                state.counts[gone.covers] -= 1
        at = table.place[key]
        if at >= front or was_front:
            return
        if state.current.is_accepted:
            state.counts[state.current.covers] += 1
        # The entry that was there has moved to where this one was, or to the end.
        there = len(table) - 1 if before is None else before
        other = state.seen[table.keys[there]]
        if other.key != key and there >= front and other.is_accepted:
            state.counts[other.covers] -= 1

    def encode(self, state: GcfState) -> Arrays:
        """The state as arrays; `counts` follow from the others."""
        rows = [state.seen[key] for key in state.table.keys]
        return {
            **state.table.encode(),
            "current": np.array(state.current.key, dtype=np.uint64),
            **encode_reached("seen", rows, self.embeddings.shape[1]),
            "covers": np.concatenate([np.zeros(0, np.int32), *(row.covers for row in rows)]),
            "cover_ptr": pointers([len(row.covers) for row in rows]),
        }

    def decode(self, arrays: Arrays, rng: np.random.Generator, step: int) -> GcfState:
        """The inverse of `encode`."""
        rows = decode_reached("seen", arrays, self.subject.inputs, self.embeddings.shape[1])
        covers, ptr = arrays["covers"].astype(np.int32), arrays["cover_ptr"]
        check_pointers(ptr, len(rows), len(covers))
        require(((covers >= 0) & (covers < len(self.inputs))).all(), "graphs must cover inputs")
        table = FrequencyTable.decode(arrays, self.walk.capacity)
        require(table.keys == [row.key for row in rows], "the table must have the graphs")
        seen = {
            row.key: Visited(row.start, row.graph, row.key, row.probability, row.embedding, row.path, covers[begin:end])
            for row, begin, end in zip(rows, ptr[:-1], ptr[1:], strict=True)
        }
        require(int(arrays["current"]) in seen, "the head must stand on a graph it has seen")
        counts = np.zeros(len(self.inputs), np.int64)
        for key in table.keys[: len(self.inputs)]:
            if seen[key].is_accepted:
                counts[seen[key].covers] += 1
        current = seen[int(arrays["current"])]
        return GcfState(rng=rng, step=step, current=current, table=table, seen=seen, counts=counts)


def _mixed(key: int, table: EditTable) -> KeyArray:
    """A distinct identity for each edit of the graph with this identity, `[N]`."""
    kind, first, second = (
        column.astype(np.int64).astype(np.uint64) for column in (table.kind, table.first, table.second)
    )
    bits = np.uint64(key * 0x9E3779B97F4A7C15 % 2**64) + (kind << np.uint64(48) ^ first << np.uint64(24) ^ second)
    return mixed_keys(bits)


def _draws(weights: Weights, count: int, rng: np.random.Generator) -> list[int]:
    """Indices drawn in proportion to the weights, with replacement."""
    cumulative = np.cumsum(weights)
    places = np.searchsorted(cumulative, rng.random(count) * cumulative[-1], side="right")
    last = int(np.flatnonzero(weights)[-1])
    return [min(int(place), last) for place in places]
