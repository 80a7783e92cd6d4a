"""COMRECGC (ICML 2025), section 3.2 and Algorithm 5: the multi-head vertex-reinforced random walk.

Heads walk in the space of graphs, one edit a step. A lead, drawn anew each step, goes where acceptance is likely and
where heads have been before. The others follow it: each takes the edit (or none) that makes its own recourse most like the
lead's. Every accepted graph a head stands on is a candidate. From time to time all heads go back to inputs.
"""

from __future__ import annotations

import itertools
import os
import tempfile
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from itertools import repeat
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms import checkpoint as checkpoints
from comrecgc.algorithms.base import PAPER_CHOICE, VectorAlgorithm, VectorChoice, VectorTask, option
from comrecgc.algorithms.checkpoint import Checkpoint, Reached, decode_reached, encode_reached, reached_kinds
from comrecgc.algorithms.inputs import Rejects
from comrecgc.algorithms.reinforced_walk import ResumableWalk, WalkState, draw, teleport_distribution
from comrecgc.algorithms.vectors.candidates import Candidates, RungCheck, pair_candidates
from comrecgc.cover import FloatArray, recourse_vectors
from comrecgc.errors import InputError
from comrecgc.graphs import BoolArray, Constraint, Graph, GraphBatch, StayNear, apply_edit, batch_keys, graph_key
from comrecgc.run import UNLIMITED, Arrays, LocalEngine, Progress, RunContext, reproducible, require
from comrecgc.scoring import Neighbourhood, NeighbourhoodScorer

_REDRAWS = 2  # moves of a lead beyond the distance limit before all its neighbours are measured


@dataclass(eq=False, kw_only=True)
class MultiHeadState(WalkState):
    """A multi-head walk at one moment."""

    heads: list[Reached] = field(default_factory=list)  # where the heads stand
    starts: npt.NDArray[np.int64]  # `t(G)`: how many walks have started from each input, `[num_inputs]`
    visits: Counter[int] = field(default_factory=Counter)  # of each graph, by identity; `C(v)` is one more
    found: dict[int, Reached] = field(default_factory=dict)  # accepted graphs by identity, as discovered

    def candidates(self, capacity: int) -> list[Reached]:
        """At most `capacity` candidates, the most visited first, then in order of discovery."""
        return sorted(self.found.values(), key=lambda reached: -self.visits[reached.key])[:capacity]


@dataclass(frozen=True, kw_only=True)
class MultiHeadWalk:
    """The walk and its parameters; with one head it is the plain vertex-reinforced walk."""

    num_heads: int = 5  # `k`, at most the number of inputs
    num_steps: int = 50_000  # `M`
    teleport: float = 0.05  # `τ`, the probability that a step sends all heads back to inputs
    capacity: int = 100_000  # candidates kept, the most visited ones
    max_distance: float | None = None  # normalised distance from its input a head may reach (the paper has 3θ/2)
    max_cost: int | None = None  # nodes, edges and labels of its input a head may have changed at once
    sample: int | None = 2000  # edits looked at of a graph that has more, drawn anew each time
    cache_bytes: int = 512 << 20  # memory for neighbourhoods scored before

    def run(self, scorer: NeighbourhoodScorer, inputs: Sequence[Graph], rng: np.random.Generator) -> list[Reached]:
        """The candidates that a walk from the inputs finds, most visited first."""
        return Walker(self, scorer, inputs).run(rng).candidates(self.capacity)


class Walker(ResumableWalk[MultiHeadState]):
    """The multi-head walk bound to its inputs and models."""

    kinds: ClassVar = {
        "starts": "i1",
        "visited": "u1",
        "visits": "i1",
        **reached_kinds("head"),
        **reached_kinds("found"),
    }

    def __init__(self, walk: MultiHeadWalk, scorer: NeighbourhoodScorer, inputs: Sequence[Graph]) -> None:
        if len(inputs) < walk.num_heads:
            raise InputError(
                f"Each head starts from an input of its own (got {walk.num_heads} heads for {len(inputs)} inputs)"
            )
        if scorer.classifier is None or scorer.embedder is None:
            raise InputError("A walk needs a scorer with a classifier and an embedder (got None)")
        super().__init__(walk.num_steps, walk.teleport)
        self.walk, self.scorer = walk, scorer
        self.inputs = [graph.fresh() for graph in inputs]
        batch = GraphBatch.from_graphs(self.inputs)
        self.origins = scorer.embedder.embed(batch)  # z(G), [num_inputs, width]
        self.probabilities = scorer.classifier.accept_probability(batch)
        self.keys = batch_keys(batch)
        limits = None if walk.max_cost is None else [StayNear(graph, walk.max_cost) for graph in self.inputs]
        self.neighbourhoods = NeighbourhoodCache(scorer, walk.cache_bytes, walk.sample, limits)

    def begin(self, rng: np.random.Generator) -> MultiHeadState:
        """The heads on different inputs, drawn uniformly."""
        state = MultiHeadState(rng=rng, starts=np.zeros(len(self.inputs), np.int64))
        for start in rng.choice(len(self.inputs), self.walk.num_heads, replace=False).tolist():
            self._place(state, start)
        return state

    def restart(self, state: MultiHeadState) -> None:
        """Send all heads to inputs drawn by `teleport_distribution`, one after another, each counted at once."""
        self._draw_lead(state)  # Algorithm 5 draws it at every step
        state.heads = []
        for _ in range(self.walk.num_heads):
            self._place(state, draw(teleport_distribution(state.starts), state.rng))
        self._count(state)

    def move(self, state: MultiHeadState) -> None:
        """Move the lead, then the followers."""
        lead = self._draw_lead(state)
        self._move_lead(state, lead)
        self._move_followers(state, lead)
        self._count(state)

    def _draw_lead(self, state: MultiHeadState) -> int:
        return int(state.rng.integers(self.walk.num_heads))

    def _place(self, state: MultiHeadState, start: int) -> None:
        state.starts[start] += 1
        key, probability = int(self.keys[start]), float(self.probabilities[start])
        state.heads.append(Reached(start, self.inputs[start], key, probability, self.origins[start]))

    def _move_lead(self, state: MultiHeadState, lead: int) -> None:
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
        return np.asarray(np.linalg.norm(recourses, axis=1) <= self.walk.max_distance)

    def _move_followers(self, state: MultiHeadState, lead: int) -> None:
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

    def _recourse(self, head: Reached) -> FloatArray:
        """`r(G,H)` of the graph under the head."""
        origin = self.inputs[head.start]
        return recourse_vectors(self.origins[head.start], origin.size, head.embedding, head.graph.size)

    def _recourses(self, head: Reached, around: Neighbourhood) -> FloatArray:
        """`r(G,v)` of every neighbour, `[N, width]`."""
        assert around.embedding is not None
        sizes = around.graph.size + around.table.size_changes()
        return recourse_vectors(self.origins[head.start], self.inputs[head.start].size, around.embedding, sizes)

    def _count(self, state: MultiHeadState) -> None:
        """Count a visit of every head's graph; the first path to a candidate stays."""
        for head in state.heads:
            state.visits[head.key] += 1
            if head.probability > 0.5:
                state.found.setdefault(head.key, head)
        capacity = self.walk.capacity
        if len(state.found) > capacity + max(16, capacity // 10):  # a tenth too many, so that this is seldom
            kept = {reached.key for reached in state.candidates(capacity)}
            state.found = {key: reached for key, reached in state.found.items() if key in kept}

    def encode(self, state: MultiHeadState) -> Arrays:
        """The state as arrays."""
        width = self.origins.shape[1]
        return {
            "starts": state.starts,
            "visited": np.array(list(state.visits.keys()), dtype=np.uint64),
            "visits": np.array(list(state.visits.values()), dtype=np.int64),
            **encode_reached("head", state.heads, width),
            **encode_reached("found", list(state.found.values()), width),
        }

    def decode(self, arrays: Arrays, rng: np.random.Generator, step: int) -> MultiHeadState:
        """The inverse of `encode`."""
        starts, visits, width = arrays["starts"].astype(np.int64), arrays["visits"], self.origins.shape[1]
        require(starts.shape == (len(self.inputs),) and (starts >= 0).all(), "starts must be counted for every input")
        require((visits >= 0).all(), "visits must not be negative")
        heads, found = (decode_reached(name, arrays, self.inputs, width) for name in ("head", "found"))
        require(len(heads) == self.walk.num_heads, "there must be as many heads as the walk has")
        require(all(row.key == graph_key(row.graph) for row in (*heads, *found)), "keys must be those of the graphs")
        counts = Counter(dict(zip(arrays["visited"].tolist(), visits.tolist(), strict=True)))
        known = {row.key: row for row in found}
        return MultiHeadState(rng=rng, step=step, heads=heads, starts=starts, visits=counts, found=known)


def merge_candidates(parts: Iterable[tuple[Sequence[Reached], Sequence[int]]], capacity: int) -> list[Reached]:
    """Candidates of several walks with their visits added up, most visited first, then in order of the walks."""
    first, visits = dict[int, Reached](), Counter[int]()
    for candidates, counts in parts:
        for reached, count in zip(candidates, counts, strict=True):
            first.setdefault(reached.key, reached)
            visits[reached.key] += count
    return sorted(first.values(), key=lambda reached: -visits[reached.key])[:capacity]


def _moved(head: Reached, chosen: Neighbourhood) -> Reached:
    """The head after the only edit of a neighbourhood."""
    assert chosen.probability is not None
    assert chosen.embedding is not None
    edit = chosen.table[0]
    return Reached(
        start=head.start,
        graph=apply_edit(head.graph, edit),
        key=int(chosen.keys[0]),
        probability=float(chosen.probability[0]),
        embedding=chosen.embedding[0].copy(),  # not a view that keeps a whole neighbourhood alive
        path=(*head.path, edit),
    )


Wanted = Literal["probability", "embedding"]
Name = tuple[int, bytes, bytes, bytes, bytes]


@dataclass(eq=False)
class NeighbourhoodCache:
    """Scores neighbourhoods through a least-recently-used cache."""

    scorer: NeighbourhoodScorer  # scores neighbourhoods
    max_bytes: int = 512 << 20  # what the cache may hold
    sample: int | None = None  # neighbours scored of a larger neighbourhood, drawn anew each time
    limits: Sequence[Constraint] | None = None  # of heads that started from each input
    _held: OrderedDict[Name, Neighbourhood] = field(default_factory=OrderedDict)
    _bytes: int = 0

    def of(
        self, graphs: Sequence[Graph], starts: Sequence[int], wanted: Wanted, rng: np.random.Generator
    ) -> list[Neighbourhood]:
        """The neighbourhood of each graph with probabilities or embeddings; missing ones are scored in one call.

        `starts` are the inputs that the graphs were reached from; `rng` draws from large neighbourhoods.
        """
        large = [i for i, graph in enumerate(graphs) if self._is_large(graph)]
        drawn = self.scorer.score(
            [graphs[i] for i in large],
            probability=wanted == "probability",
            embedding=wanted == "embedding",
            sample=self.sample,
            rng=rng,
            limits=self._limits([starts[i] for i in large]),
        )
        sampled = dict(zip(large, drawn, strict=True))
        small = [i for i in range(len(graphs)) if i not in sampled]
        whole = self._whole([graphs[i] for i in small], [starts[i] for i in small], wanted)
        known = sampled | dict(zip(small, whole, strict=True))
        return [known[i] for i in range(len(graphs))]

    def _limits(self, starts: Sequence[int]) -> list[Constraint] | None:
        return None if self.limits is None else [self.limits[start] for start in starts]

    def _is_large(self, graph: Graph) -> bool:
        """Whether the graph may have more neighbours than are scored; constraints and duplicates are ignored."""
        n, num_labels = graph.num_nodes, self.scorer.num_labels
        most = n * (2 * num_labels - 1) + n * (n - 1) // 2 + n  # relabelled, tied to, joined or cut, removed
        return self.sample is not None and most > self.sample

    def _whole(self, graphs: Sequence[Graph], starts: Sequence[int], wanted: Wanted) -> list[Neighbourhood]:
        """Whole neighbourhoods, through the cache."""
        named = [self._name(graph, start) for graph, start in zip(graphs, starts, strict=True)]
        names = dict(zip(named, zip(graphs, starts, strict=True), strict=True))
        held = {name: self._drop(name) for name in names if name in self._held}
        new = {name: place for name, place in names.items() if name not in held}
        limits = self._limits([start for _, start in new.values()])
        fresh = self.scorer.score(
            [graph for graph, _ in new.values()], probability=False, embedding=False, limits=limits
        )
        known = held | dict(zip(new, fresh, strict=True))
        scored = self.scorer.complete(
            list(known.values()), probability=wanted == "probability", embedding=wanted == "embedding"
        )
        complete = dict(zip(known, scored, strict=True))
        for name, neighbourhood in complete.items():
            self._hold(name, neighbourhood)
        return [complete[name] for name in named]

    def _name(self, graph: Graph, start: int) -> Name:
        """Cache key of a graph, with everything a constraint or model may use: bonds and ids too."""
        edge_labels = b"" if graph.edge_labels is None else graph.edge_labels.tobytes()
        limited_by = -1 if self.limits is None else start
        return limited_by, graph.labels.tobytes(), graph.edges.tobytes(), edge_labels, graph.ids.tobytes()

    def _hold(self, name: Name, neighbourhood: Neighbourhood) -> None:
        self._held[name] = neighbourhood
        self._bytes += _size(neighbourhood)
        while self._bytes > self.max_bytes and self._held:
            self._drop(next(iter(self._held)))

    def _drop(self, name: Name) -> Neighbourhood:
        neighbourhood = self._held.pop(name)
        self._bytes -= _size(neighbourhood)
        return neighbourhood


def _size(neighbourhood: Neighbourhood) -> int:
    table = neighbourhood.table
    arrays: list[npt.NDArray[np.generic] | None] = [
        table.kind, table.first, table.second, neighbourhood.keys, neighbourhood.probability, neighbourhood.embedding,
    ]  # fmt: skip
    return sum(array.nbytes for array in arrays if array is not None)


# The walk as a source of counterfactuals, split so that several cores can work on it.
#
# The number of shards is part of the answer and the number of processes is not: each shard draws from its own random stream.


_WALK_REACH = 1.0  # in θ: how far from their inputs heads go; nothing beyond θ can be a counterfactual
_WALK_COST = 2  # elements of their inputs heads change at once, where that is enough: a leaf and its edge, or two edits
_ENOUGH = 0.9  # share of the inputs that one edit must turn into accepted ones for that,
_LOOKED_AT = 200  # of so many inputs
_MAX_CANDIDATES = 100_000
_NUM_SHARDS = 2


@dataclass(frozen=True, kw_only=True)
class PaperWalk(VectorAlgorithm):
    """COMRECGC (ICML 2025): the multi-head vertex-reinforced walk and clusters of the paper's text."""

    name: ClassVar[str] = "paper"

    changes: str = "any"
    choice: VectorChoice = PAPER_CHOICE
    num_heads: int = option(5, "k: heads of the walk.", least=1)
    num_steps: int = option(50_000, "M: steps of the walk.", least=1)
    teleport: float = option(0.05, "τ: probability of a step back to the inputs.", above=0, below=1)

    def find(
        self, task: VectorTask, scorer: NeighbourhoodScorer, rejects: Rejects, _check: RungCheck, context: RunContext
    ) -> Candidates:
        """Run the walk, and pair every input with every candidate within θ, from whichever input it was reached."""
        inputs, found = rejects.graphs, list[Reached]()
        context = context.searching(len(rejects))
        if inputs:
            walk = MultiHeadWalk(
                num_heads=min(self.num_heads, len(inputs)),
                num_steps=self.num_steps,
                teleport=self.teleport,
                capacity=_MAX_CANDIDATES,
                max_distance=_WALK_REACH * task.theta,
                max_cost=max_walk_cost(scorer, inputs, task.random_state),
            )
            sharded = ShardedWalk(walk=walk, num_shards=min(_NUM_SHARDS, self.num_steps), seed=task.random_state)
            found = sharded.run(scorer, inputs, context)
        assert scorer.embedder is not None
        rows = [(reached.graph, reached.start, reached.path) for reached in found]
        candidates = pair_candidates(rejects, scorer.embedder, rows, task.theta, own_only=self.changes != "any")
        return replace(candidates, complete=not context.is_late)


def max_walk_cost(scorer: NeighbourhoodScorer, inputs: Sequence[Graph], seed: int) -> int | None:
    """Most elements of an input that heads may have changed: two if one edit flips nearly every input.

    Inputs share recourses of few edits. If one edit is not enough, any number may be changed.
    """
    rng = np.random.default_rng(seed)
    some = [inputs[i] for i in rng.permutation(len(inputs))[:_LOOKED_AT]]
    around = scorer.score(some, embedding=False, sample=MultiHeadWalk.sample, rng=rng)
    flips = [hood.probability is not None and bool((hood.probability > 0.5).any()) for hood in around]
    return _WALK_COST if np.mean(flips) >= _ENOUGH else None


_SECONDS = 0.5  # between two calls of the progress bar


@dataclass(frozen=True, kw_only=True)
class ShardedWalk:
    """`walk.num_steps` steps split over independent walks whose candidates are merged by graph identity."""

    walk: MultiHeadWalk  # the walk; its steps are those of all shards together
    num_shards: int = 2  # independent walks
    seed: int = 0  # each shard's random stream depends on this and its index alone

    def run(
        self, scorer: NeighbourhoodScorer, inputs: Sequence[Graph], context: RunContext = UNLIMITED
    ) -> list[Reached]:
        """Walk all shards and merge their candidates, most visited first; progress is shown about twice a second.

        With one core the shards run in this process, one after another.
        """
        jobs, kept = (
            context.num_jobs,
            RunContext(jobs=context.num_jobs, checkpoint=context.folder, resume=context.resume),
        )
        with _progress_shown(self, context.report) as board:
            job = _Job(self, scorer, inputs, kept.until(context.deadline), board, checkpoints.SECONDS, os.getpid())
            parts = list(LocalEngine(jobs=jobs).map(_walk_shard, job, range(self.num_shards), processes=True))
        return merge_candidates(parts, self.walk.capacity)

    def steps_of(self, shard: int) -> int:
        """Steps of one shard: equal parts, the first ones taking the remainder."""
        return self.walk.num_steps // self.num_shards + (shard < self.walk.num_steps % self.num_shards)

    def facts(self, shard: int, scorer: NeighbourhoodScorer, inputs: Sequence[Graph]) -> dict[str, Any]:
        """The parameters that determine a shard's walk, as JSON values."""
        walk = {name: value for name, value in asdict(self.walk).items() if name != "cache_bytes"}
        return {
            "walk": walk,
            "num_shards": self.num_shards,
            "seed": self.seed,
            "shard": shard,
        } | checkpoints.model_facts(scorer, inputs)


@dataclass(frozen=True, eq=False)
class _Job:
    """The inputs of all shards; `board` is the file that progress is written to, `parent` the process that waits for them."""

    sharded: ShardedWalk
    scorer: NeighbourhoodScorer
    inputs: Sequence[Graph]
    context: RunContext
    board: Path | None
    checkpoint_seconds: float
    parent: int


def _walk_shard(job: _Job, shard: int) -> tuple[list[Reached], list[int]]:
    """Candidates of one shard, most visited first, and the visits of each."""
    sharded, context = job.sharded, job.context
    is_worker = os.getpid() != job.parent
    if is_worker:
        job.scorer.num_threads = 1  # the cores are for the shards
    if context.deadline is not None and context.num_jobs == 1:  # shards in a row share the time that is left evenly
        now = time.monotonic()
        context = context.until(now + (context.deadline - now) / (sharded.num_shards - shard))
    board = None if job.board is None else _open_board(job.board, sharded.num_shards)

    def report(state: MultiHeadState) -> None:
        if is_worker and os.getppid() != job.parent:
            os._exit(1)  # the parent was killed, and a resumed run writes the same checkpoints
        if board is not None:
            board[shard] = state.step, len(state.found)

    with reproducible():
        walker = Walker(replace(sharded.walk, num_steps=sharded.steps_of(shard)), job.scorer, job.inputs)
        kept = Checkpoint(
            path=None if context.folder is None else context.folder / f"walk-{shard}.npz",
            facts=sharded.facts(shard, job.scorer, walker.inputs),
            resume=context.resume,
            seconds=job.checkpoint_seconds,
        )
        rng = np.random.default_rng([sharded.seed, shard])
        state = walker.run(rng, kept, context, report)
    candidates = state.candidates(sharded.walk.capacity)
    return candidates, [state.visits[reached.key] for reached in candidates]


def _open_board(path: Path, num_shards: int) -> np.memmap[Any, np.dtype[np.int64]]:
    """Steps taken and candidates found by each shard, `[num_shards, 2]`, in a file shared by all processes."""
    return np.memmap(path, np.int64, "r+" if path.exists() else "w+", shape=(num_shards, 2))


@contextmanager
def _progress_shown(sharded: ShardedWalk, bar: Progress | None) -> Iterator[Path | None]:
    """Show the progress that shards write to the given file while the block runs."""
    if bar is None:
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "board"
        board, over = _open_board(path, sharded.num_shards), threading.Event()
        begun: list[tuple[float, int]] = []  # when steps were first seen; a resumed walk has some behind it

        def show() -> None:
            now, (steps, found) = time.monotonic(), board.sum(axis=0).tolist()
            if steps and not begun:
                begun.append((now, steps))
            since, before = begun[0] if begun else (now, steps)
            rate = (steps - before) / (now - since) if now > since else 0.0
            bar("walk", steps, sharded.walk.num_steps, f"{rate:.1f} steps/s, {found} candidates")

        def watch() -> None:
            while not over.wait(_SECONDS):
                show()

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield path
        finally:
            over.set()
            thread.join()
            show()
