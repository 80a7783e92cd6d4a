"""The directed search: score every input's neighbours, then expand uncovered inputs towards recourses that others share."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.checkpoint import Checkpoint
from comrecgc.algorithms.vectors.state import (
    SEARCH_KINDS,
    InputState,
    ReachedGraphs,
    SearchState,
    Task,
    decode_search,
    encode_search,
    search_facts,
)
from comrecgc.cover import BallCover, FloatArray, covered_inputs
from comrecgc.errors import InputError
from comrecgc.graphs import BoolArray, EditPath, Graph, GraphBatch, KeyArray, apply_path, graph_key
from comrecgc.run import Progress
from comrecgc.scoring import Neighbourhood, NeighbourhoodScorer

_TIGHTER = 1 - 1e-5  # limits a little inside θ and Δ, so that rounding never decides a claim
_ACCEPT = 0.5 + 2.4e-5  # the same for the probability of accept, which must exceed one half
_CHUNK = 32  # inputs worked on in one step,
_CHUNK_NODES = 8000  # fewer if they are large, so that time is looked at every few seconds
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, kw_only=True)
class DirectedSearch:
    """Anytime search for counterfactuals that share few recourses.

    Round 0 looks at every one-edit neighbour of every input and keeps accepted ones within θ. Every further round
    chooses provisional centres by ball cover and, for each input that none covers, expands the graphs seen so far whose
    recourse lies nearest to some centre: first the best for each of several centres, then the best overall. Effort
    moves to the inputs that remain. It ends when rounds bring nothing, when all are covered, or when time is up.
    """

    theta: float  # largest distance `θ` of a counterfactual
    cover: BallCover  # how centres are chosen
    max_rounds: int = 20  # rounds after the sweep, at most
    effort: float = 4.0  # neighbourhoods a round scores for uncovered inputs, per input of the run
    head_effort: float = 1.0  # the same, on inputs that none of the first tenth of the centres covers
    most_expansions: int = 24  # expansions of one input in one round, at most
    patience: int = 3  # it ends when this many rounds together bring less than `least_gain`
    least_gain: float = 0.002  # share of the inputs
    num_found: int = 96  # counterfactuals kept per input: half nearest to centres, half as if drawn at random
    num_frontier: int = 64  # unexpanded graphs kept per input
    reach: float = 1.5  # how far from the input graphs may lie to be expanded, in `θ`
    max_neighbours: int = 20_000  # neighbours scored of one graph; of more, a uniform sample
    max_graphs: int = 2_000_000  # graphs kept in all, about 0.5 kB each at width 64

    def run(
        self,
        scorer: NeighbourhoodScorer,
        inputs: Sequence[Graph],
        *,
        seed: int = 0,
        deadline: float | None = None,
        progress: Progress | None = None,
        checkpoint: Path | None = None,
        resume: bool = False,
    ) -> SearchState:
        """Search from the rejected graphs, which have fresh ids.

        At the deadline (`time.monotonic()`) centres for what was found by then are still chosen; the `.npz` checkpoint keeps the search as it
        was before that, to go on from with more time.
        """
        searcher = Searcher(self._sized(len(inputs)), scorer, deadline)
        state = searcher.begin(inputs, seed)
        facts = None if checkpoint is None else search_facts(self, scorer, state)
        kept, fresh = Checkpoint(checkpoint, facts, resume), state
        loaded = kept.load(SEARCH_KINDS, lambda arrays: decode_search(arrays, fresh), optional={"centres": "f2"})
        state = loaded or fresh
        while not state.ended:
            before, state = state, searcher.step(state)
            if progress is not None:
                progress(*state.progress)
            if state.ended or kept.is_due:
                latest = before if state.ended and not state.complete else state
                kept.save(lambda latest=latest: encode_search(latest))  # type: ignore[misc]
        return state

    def _sized(self, num_inputs: int) -> DirectedSearch:
        """The same search, keeping so few graphs of each input that all together stay within `max_graphs`."""
        share = min(1.0, self.max_graphs / max(1, num_inputs * (self.num_found + self.num_frontier)))
        found, frontier = (max(1, int(share * most)) for most in (self.num_found, self.num_frontier))
        return replace(self, num_found=found, num_frontier=frontier)


class Searcher:
    """Takes a search from step to step, until the deadline (`time.monotonic()`)."""

    def __init__(self, config: DirectedSearch, scorer: NeighbourhoodScorer, deadline: float | None = None) -> None:
        if scorer.embedder is None or scorer.classifier is None:
            raise InputError("A search needs a classifier and an embedder (got a scorer without one)")
        self.config = config
        self.scorer = scorer
        self.embedder = scorer.embedder
        self.deadline = deadline

    def begin(self, inputs: Sequence[Graph], seed: int) -> SearchState:
        """Nothing looked at yet, all inputs planned for."""
        rows = self.embedder.embed(GraphBatch.from_graphs(inputs)) if len(inputs) else np.zeros((0, 1))
        embeddings = np.ascontiguousarray(rows, dtype=np.float32)
        none = ReachedGraphs.none(embeddings.shape[1])
        known = [InputState(graph, z, none, none) for graph, z in zip(inputs, embeddings, strict=True)]
        plan = [Task(i, 0, 0) for i in range(len(known))]
        return SearchState(inputs=known, seed=seed, plan=plan, ended=not known, complete=not known)

    def step(self, state: SearchState) -> SearchState:
        """Work on some more inputs of the plan; when it is done or time is up, choose centres and plan anew.

        The given state shares its inputs with the new one and is not to be used any more, except where time was up.
        """
        if self._late():
            return replace(self._reconsider(state), ended=True, complete=False)
        if state.done == len(state.plan):
            return self._reconsider(state)
        chunk = _chunk(state)
        known = [state.inputs[task.input] for task in chunk]
        num_before = sum(len(one.found) for one in known)
        num_done = 0
        if state.centres is None:
            scored = self._score([one.graph for one in known], state.seed, 0, chunk[0].input)
            for one, neighbourhood in zip(known, scored, strict=True):
                self._take(one, (), neighbourhood, None, None)
            num_done = len(chunk)
        while num_done < len(chunk) and state.centres is not None and not self._late():
            self._pursue(state, chunk[num_done], state.centres)
            num_done += 1
        num_found = state.num_found + sum(len(one.found) for one in known) - num_before
        return replace(state, done=state.done + num_done, num_found=num_found)

    def _late(self) -> bool:
        return self.deadline is not None and time.monotonic() >= self.deadline

    def _reconsider(self, state: SearchState) -> SearchState:
        vectors, owners = state.vectors()
        rng = np.random.default_rng([state.seed, len(state.curve)])
        num_inputs = len(state.inputs)
        centres = self.config.cover.centres_of(vectors, owners, num_inputs, rng, previous=state.centres)
        covers = covered_inputs(centres, vectors, owners, num_inputs, self.config.cover.delta * _TIGHTER)
        curve = [*state.curve, float(covers.any(axis=0).mean())]
        plan = self._plan(covers, nothing_found=not len(vectors))
        ended = not plan or self._is_over(curve)
        return replace(state, centres=centres, curve=curve, plan=plan, done=0, ended=ended, complete=ended)

    def _is_over(self, curve: list[float]) -> bool:
        patience, least = self.config.patience, self.config.least_gain
        stalled = len(curve) > patience and curve[-1] - curve[-1 - patience] < least
        return stalled or len(curve) > self.config.max_rounds

    def _plan(self, covers: BoolArray, *, nothing_found: bool) -> list[Task]:
        """Uncovered inputs aim at all centres, those that only a late centre covers at the first tenth.

        Where nothing was found at all there is nothing to aim at; inputs then go where acceptance is likeliest.
        """
        num_centres, num_inputs = covers.shape
        head = -(-num_centres // 10)
        uncovered = ~covers.any(axis=0)
        late = ~covers[:head].any(axis=0) & ~uncovered
        plan: list[Task] = []
        for wanted, effort, num_aims in (
            (uncovered, self.config.effort, num_centres),
            (late, self.config.head_effort, head),
        ):
            if effort > 0 and wanted.any() and (num_aims or nothing_found):
                share = np.ceil(effort * num_inputs / wanted.sum())
                budget = int(np.clip(share, 1, self.config.most_expansions))
                plan += [Task(i, budget, num_aims) for i in np.flatnonzero(wanted).tolist()]
        return plan

    def _pursue(self, state: SearchState, task: Task, centres: FloatArray) -> None:
        """Expand an input and then the graphs around it that lie nearest to the centres aimed at."""
        known, aims = state.inputs[task.input], centres[: task.num_aims]
        draw = (state.seed, len(state.curve), task.input)
        root = graph_key(known.graph)
        if root not in known.expanded:
            self._expand(known, [()], [root], centres, aims, (*draw, 0))
        chosen = known.frontier.select(choose_frontier(known, aims, task.budget))
        self._expand(known, chosen.paths, chosen.keys.tolist(), centres, aims, (*draw, 1))

    def _expand(
        self,
        known: InputState,
        paths: Sequence[EditPath],
        keys: Sequence[int],
        centres: FloatArray,
        aims: FloatArray,
        draw: tuple[int, int, int, int],
    ) -> None:
        known.expanded.update(keys)
        graphs = [apply_path(known.graph, path) for path in paths]
        for path, neighbourhood in zip(paths, self._score(graphs, *draw), strict=True):
            self._take(known, path, neighbourhood, centres, aims)
        self._trim(known, centres, aims)

    def _score(self, graphs: Sequence[Graph], *draw: int) -> list[Neighbourhood]:
        return self.scorer.score(graphs, sample=self.config.max_neighbours, rng=np.random.default_rng(draw))

    def _take(
        self,
        known: InputState,
        path: EditPath,
        neighbourhood: Neighbourhood,
        centres: FloatArray | None,
        aims: FloatArray | None,
    ) -> None:
        """Keep of a neighbourhood what is worth keeping."""
        config = self.config
        assert neighbourhood.probability is not None
        assert neighbourhood.embedding is not None
        sizes = (neighbourhood.graph.size + neighbourhood.table.size_changes()).astype(np.int32)
        vectors = known.vectors(sizes, neighbourhood.embedding)
        norms = np.sqrt(np.einsum("nd,nd->n", vectors, vectors))
        accepted = np.flatnonzero((neighbourhood.probability > _ACCEPT) & (norms <= config.theta * _TIGHTER))
        rows = accepted[worth_keeping(vectors[accepted], neighbourhood.keys[accepted], centres, config.num_found)]
        known.found += ReachedGraphs.from_neighbourhood(path, neighbourhood, rows)
        if aims is not None:
            near = np.flatnonzero(norms <= config.reach * config.theta)
            near = near[best_first(vectors[near], neighbourhood.probability[near], aims)[: config.num_frontier]]
            known.frontier += ReachedGraphs.from_neighbourhood(path, neighbourhood, near)

    def _trim(self, known: InputState, centres: FloatArray, aims: FloatArray) -> None:
        """Bring what is kept of one input back within bounds."""
        config, found = self.config, known.found
        vectors = known.vectors(found.sizes, found.embeddings)
        known.found = found.select(worth_keeping(vectors, found.keys, centres, config.num_found))
        expanded = np.array(sorted(known.expanded), dtype=np.uint64)
        fresh = known.frontier.select(~np.isin(known.frontier.keys, expanded))
        best = best_first(known.vectors(fresh.sizes, fresh.embeddings), fresh.probabilities, aims)
        known.frontier = fresh.select(best[: config.num_frontier])


def _chunk(state: SearchState) -> list[Task]:
    """What to work on next, at least one input."""
    following = state.plan[state.done : state.done + _CHUNK]
    nodes = np.cumsum([state.inputs[task.input].graph.num_nodes for task in following])
    return following[: max(1, int(np.searchsorted(nodes, _CHUNK_NODES, side="right")))]


def best_first(vectors: FloatArray, probabilities: FloatArray, aims: FloatArray) -> npt.NDArray[np.intp]:
    """Rows in order of their distance to the nearest aim; where there is no aim, the likeliest accepted first."""
    if not len(aims):
        return np.argsort(-probabilities, kind="stable")
    return np.argsort(squared_distances(vectors, aims).min(axis=1), kind="stable")


def worth_keeping(vectors: FloatArray, keys: KeyArray, centres: FloatArray | None, most: int) -> npt.NDArray[np.intp]:
    """At most `most` rows: for half of them the nearest to one centre each, the rest as if drawn at random.

    So what covers the input by one of these centres stays.
    """
    if len(keys) <= most:
        return np.arange(len(keys))
    close = np.zeros(0, dtype=np.intp)
    if centres is not None and len(centres):
        squares = squared_distances(vectors, centres)
        nearest = squares.argmin(axis=0)  # [R]
        order = np.argsort(squares.min(axis=0), kind="stable")
        close = np.array(list(dict.fromkeys(nearest[order].tolist()))[: -(-most // 2)], dtype=np.intp)
    rest = np.setdiff1d(np.arange(len(keys)), close)
    return np.sort(np.concatenate([close, rest[drawn(keys[rest], most - len(close))]]))


def choose_frontier(known: InputState, aims: FloatArray, budget: int) -> npt.NDArray[np.intp]:
    """Rows of the frontier to expand: for half the budget the best for an aim not yet taken, then the next best.

    A row passed over for its aim comes again with its second-best aim, behind others: so the choice stays varied. Only
    what is left of the budget when all have had their turn goes to the nearest rows.
    """
    frontier = known.frontier
    vectors = known.vectors(frontier.sizes, frontier.embeddings)
    chosen: dict[int, None] = {}
    taken: set[int] = set()
    for flat in np.argsort(squared_distances(vectors, aims), axis=None, kind="stable").tolist():
        if len(chosen) >= budget:
            break
        row, aim = divmod(flat, len(aims))
        if row not in chosen and (aim not in taken or len(chosen) >= budget // 2):
            chosen[row] = None
            taken.add(aim)
    chosen.update(dict.fromkeys(best_first(vectors, frontier.probabilities, aims).tolist()))
    return np.array(list(chosen)[:budget], dtype=np.intp)


def squared_distances(vectors: FloatArray, centres: FloatArray) -> FloatArray:
    """Squared distance of every vector to every centre, `[n, R]`."""
    squares = np.einsum("nd,nd->n", vectors, vectors)[:, None] + np.einsum("nd,nd->n", centres, centres)
    return np.asarray(squares - 2 * (vectors @ centres.T))


def drawn(keys: KeyArray, most: int) -> npt.NDArray[np.intp]:
    """At most `most` rows as if at random, yet the same whatever the order the graphs came in: by a hash of their keys."""
    if len(keys) <= most:
        return np.arange(len(keys))
    return np.argpartition(keys * _GOLDEN ^ (keys >> np.uint64(31)), most)[:most]
