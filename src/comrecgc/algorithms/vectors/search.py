"""The directed search scores every input's neighbours, then expands uncovered inputs towards recourses that others share.

Its state between two steps is the graphs reached from each input, bounded in number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.checkpoint import Checkpoint, model_facts
from comrecgc.cover import BallCover, FloatArray, RecoursePairs, covered_inputs, recourse_vectors
from comrecgc.errors import InputError
from comrecgc.graphs import (
    BoolArray,
    EditPath,
    Graph,
    GraphBatch,
    IntArray,
    KeyArray,
    LongArray,
    apply_path,
    graph_key,
    path_arrays,
    pointers,
    read_paths,
)
from comrecgc.run import UNLIMITED, Arrays, RunContext, check_pointers, require
from comrecgc.scoring import Neighbourhood, NeighbourhoodScorer


@dataclass(frozen=True, eq=False)
class ReachedGraphs:
    """Graphs reached from one input."""

    keys: KeyArray  # identity of each graph, `[n]`
    sizes: IntArray  # `|H|`, `[n]`
    probabilities: FloatArray  # probability of accept, `[n]`
    embeddings: FloatArray  # `z(H)`, `[n, d]`
    paths: tuple[EditPath, ...]  # edits from the input to each graph

    @classmethod
    def none(cls, width: int) -> ReachedGraphs:
        """No graphs, of embeddings of this width."""
        empty = np.zeros(0, np.float32)
        return cls(empty.astype(np.uint64), empty.astype(np.int32), empty, np.zeros((0, width), np.float32), ())

    @classmethod
    def from_neighbourhood(
        cls, path: EditPath, neighbourhood: Neighbourhood, rows: npt.NDArray[np.intp]
    ) -> ReachedGraphs:
        """Some neighbours of the graph at the end of a path."""
        assert neighbourhood.probability is not None
        assert neighbourhood.embedding is not None
        sizes = neighbourhood.graph.size + neighbourhood.table.size_changes()[rows]
        return cls(
            neighbourhood.keys[rows],
            sizes.astype(np.int32),
            neighbourhood.probability[rows],
            neighbourhood.embedding[rows],
            tuple((*path, neighbourhood.table[int(row)]) for row in rows),
        )

    def __len__(self) -> int:
        return len(self.keys)

    @classmethod
    def from_columns(cls, columns: Iterable[npt.NDArray[Any]], paths: Iterable[EditPath]) -> ReachedGraphs:
        """The inverse of `columns`."""
        keys, sizes, probabilities, embeddings = columns
        return cls(keys, sizes, probabilities, embeddings, tuple(paths))

    @property
    def columns(self) -> tuple[npt.NDArray[Any], ...]:
        """All but the paths."""
        return self.keys, self.sizes, self.probabilities, self.embeddings

    def __add__(self, other: ReachedGraphs) -> ReachedGraphs:
        """The union; of equal graphs the first path stays."""
        fresh = other.select(~np.isin(other.keys, self.keys))
        joined = map(np.concatenate, zip(self.columns, fresh.columns, strict=True))
        return ReachedGraphs.from_columns(joined, self.paths + fresh.paths)

    def select(self, rows: npt.NDArray[np.intp] | BoolArray) -> ReachedGraphs:
        """The graphs under a mask or at these rows, in this order."""
        rows = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        return ReachedGraphs.from_columns(
            (column[rows] for column in self.columns), (self.paths[row] for row in rows.tolist())
        )


@dataclass(eq=False)
class InputState:
    """An input and the graphs reached around it."""

    graph: Graph  # the input `G`
    embedding: FloatArray  # `z(G)`, `[d]`
    found: ReachedGraphs  # its counterfactuals within θ
    frontier: ReachedGraphs  # graphs seen and not yet expanded
    expanded: set[int] = field(default_factory=set)  # keys of graphs whose neighbours were looked at

    def vectors(self, sizes: IntArray, embeddings: FloatArray) -> FloatArray:
        """Recourse vectors from the input to graphs of these sizes and embeddings, `[n, d]`."""
        return recourse_vectors(self.embedding, self.graph.size, embeddings, sizes)


@dataclass(frozen=True, slots=True)
class InputTask:
    """One input to work on in a round."""

    input: int  # index of the input
    budget: int  # graphs to expand
    num_aims: int  # how many of the centres, the first ones, to aim at; 0 looks at the input's own neighbours only


@dataclass(kw_only=True, eq=False)
class SearchState:
    """A search between two steps."""

    inputs: list[InputState]  # what is known around each input
    seed: int  # seed of all draws
    plan: list[InputTask]  # what to do in this round
    done: int = 0  # how much of the plan is done
    centres: FloatArray | None = None  # centres chosen last, `[R, d]`; None before the end of the sweep
    curve: list[float] = field(default_factory=list)  # share covered after the sweep and every round
    num_found: int = 0  # counterfactuals held of all inputs
    ended: bool = False  # whether the search is over
    complete: bool = False  # whether it converged; False while it runs, and when time was up

    @property
    def progress(self) -> tuple[str, int, int, str]:
        """Arguments for `Progress`: stage, inputs done, inputs in all, and a word on the results."""
        word = f"{self.num_found} counterfactuals"
        if not self.curve:
            return "sweep", self.done, len(self.plan), word
        return f"round {len(self.curve)}", self.done, len(self.plan), f"{self.curve[-1]:.1%} covered, {word}"

    def vectors(self) -> tuple[FloatArray, LongArray]:
        """Recourse vectors of all counterfactuals found, `[n, d]`, and the input of each, `[n]`."""
        pairs = self._pairs()
        return pairs.vectors(), pairs.inputs.astype(np.int64)

    @property
    def width(self) -> int:
        return len(self.inputs[0].embedding) if self.inputs else 1

    def pairs(self) -> RecoursePairs:
        """Every input with its own counterfactuals; candidate `j` is the `j`-th of all, input after input."""
        pairs = self._pairs()
        vectors = pairs.vectors()
        squares = np.einsum("nd,nd->n", vectors, vectors, dtype=np.float64)
        return replace(pairs, norms=np.sqrt(squares).astype(np.float32))

    def _pairs(self) -> RecoursePairs:
        """The pairs, their norms not yet known."""
        none = np.zeros((0, self.width), dtype=np.float32)
        counts = np.diff(self._ends)
        return RecoursePairs(
            input_embeddings=np.concatenate([none, *(known.embedding[None, :] for known in self.inputs)]),
            input_sizes=np.array([known.graph.size for known in self.inputs], dtype=np.int32),
            candidate_embeddings=np.concatenate([none, *(known.found.embeddings for known in self.inputs)]),
            candidate_sizes=np.concatenate([np.zeros(0, np.int32), *(known.found.sizes for known in self.inputs)]),
            inputs=np.repeat(np.arange(len(counts), dtype=np.int32), counts),
            candidates=np.arange(self._ends[-1], dtype=np.int32),
            norms=np.zeros(self._ends[-1], dtype=np.float32),
        )

    def path(self, candidate: int) -> EditPath:
        """Edits from its input to a candidate of `pairs`."""
        owner = int(np.searchsorted(self._ends, candidate, side="right")) - 1
        return self.inputs[owner].found.paths[candidate - int(self._ends[owner])]

    @cached_property
    def _ends(self) -> LongArray:
        """First candidate of each input, and the end, `[num_inputs + 1]`; every step makes a new state."""
        return pointers([len(known.found) for known in self.inputs])


# The search as the arrays of a checkpoint.


_COLUMNS = ("keys", "sizes", "probabilities", "embeddings")
SEARCH_KINDS = {"plan": "i2", "done": "i0", "curve": "f1", "ended": "b0", "expanded": "u1", "expanded_ptr": "i1"} | {
    f"{name}_{column}": kind
    for name in ("found", "frontier")
    for column, kind in zip(
        ("ptr", *_COLUMNS, "edits", "path_ptr"), ("i1", "u1", "i1", "f1", "f2", "i2", "i1"), strict=True
    )
}


def search_facts(search: DirectedSearch, scorer: NeighbourhoodScorer, state: SearchState) -> dict[str, Any]:
    """The parameters that determine a search, as JSON values."""
    facts = model_facts(scorer, [known.graph for known in state.inputs])
    return {"search": asdict(search), "seed": state.seed, **facts}


def encode_search(state: SearchState) -> Arrays:
    """A search as arrays."""
    expanded = [sorted(known.expanded) for known in state.inputs]
    arrays: Arrays = {
        "plan": np.array([(p.input, p.budget, p.num_aims) for p in state.plan], dtype=np.int64).reshape(-1, 3),
        "done": np.array(state.done),
        "curve": np.array(state.curve, dtype=np.float64),
        "ended": np.array(state.ended),
        "expanded": np.array([key for keys in expanded for key in keys], dtype=np.uint64),
        "expanded_ptr": pointers([len(keys) for keys in expanded]),
        **_reached_arrays("found", [known.found for known in state.inputs]),
        **_reached_arrays("frontier", [known.frontier for known in state.inputs]),
    }
    if state.centres is not None:
        arrays["centres"] = state.centres
    return arrays


def decode_search(arrays: Arrays, fresh: SearchState) -> SearchState:
    """The inverse of `encode_search`, given the search before its first step."""
    _check(arrays, fresh)
    found, frontier = (_read_reached(name, arrays) for name in ("found", "frontier"))
    runs = pairwise(arrays["expanded_ptr"].tolist())
    expanded = [set(arrays["expanded"][start:stop].tolist()) for start, stop in runs]
    inputs = [
        InputState(known.graph, known.embedding, found[i], frontier[i], expanded[i])
        for i, known in enumerate(fresh.inputs)
    ]
    return replace(
        fresh,
        inputs=inputs,
        plan=[InputTask(*row) for row in arrays["plan"].tolist()],
        done=int(arrays["done"]),
        centres=arrays.get("centres"),
        curve=arrays["curve"].tolist(),
        num_found=sum(len(graphs) for graphs in found),
        ended=bool(arrays["ended"]),
        complete=bool(arrays["ended"]),  # a search that ran out of time is stored as it was before that
    )


def _check(arrays: Arrays, fresh: SearchState) -> None:
    """Refuse arrays that cannot come from a search; whether edits can be applied shows later."""
    num_inputs = len(fresh.inputs)
    for name in ("found", "frontier"):
        sizes, probabilities = arrays[f"{name}_sizes"], arrays[f"{name}_probabilities"]
        check_pointers(arrays[f"{name}_ptr"], num_inputs, len(sizes))
        require(
            arrays[f"{name}_embeddings"].shape == (len(sizes), fresh.width), "embeddings are as wide as the inputs'"
        )
        require(arrays[f"{name}_keys"].shape == probabilities.shape == sizes.shape, "every graph has all its columns")
        require((sizes > 0).all(), "sizes are positive")
        require(((probabilities >= 0) & (probabilities <= 1)).all(), "probabilities lie in [0, 1]")
    check_pointers(arrays["expanded_ptr"], num_inputs, len(arrays["expanded"]))
    centres, plan, curve = arrays.get("centres", np.zeros((0, fresh.width))), arrays["plan"], arrays["curve"]
    require(centres.shape[1] == fresh.width, "centres are as wide as the inputs' embeddings")
    require(plan.shape[1] == 3 and (plan >= 0).all(), "plans have three numbers each")
    require(len(np.unique(plan[:, 0])) == len(plan), "plans are of different inputs")
    require(0 <= int(arrays["done"]) <= len(plan), "done is within the plan")
    require((plan < [max(1, num_inputs), np.inf, len(centres) + 1]).all(), "plans are of inputs and centres")
    require(((curve >= 0) & (curve <= 1)).all(), "coverage lies in [0, 1]")


def _reached_arrays(name: str, graphs: Sequence[ReachedGraphs]) -> Arrays:
    """Graphs reached from all inputs, end to end."""
    columns = map(np.concatenate, zip(*(reached.columns for reached in graphs), strict=True))
    return {
        f"{name}_ptr": pointers([len(reached) for reached in graphs]),
        **{f"{name}_{column}": values for column, values in zip(_COLUMNS, columns, strict=True)},
        **path_arrays(name, [path for reached in graphs for path in reached.paths]),
    }


def _read_reached(name: str, arrays: Arrays) -> list[ReachedGraphs]:
    paths, columns = read_paths(name, arrays), [arrays[f"{name}_{column}"] for column in _COLUMNS]
    require(len(paths) == len(columns[0]), "every graph has a path")
    return [
        ReachedGraphs.from_columns((column[start:stop] for column in columns), paths[start:stop])
        for start, stop in pairwise(arrays[f"{name}_ptr"].tolist())
    ]


# The search itself.


SEARCH = "search.npz"
"""File of an unfinished search in the checkpoint folder."""

_TIGHTER = 1 - 1e-5  # limits a little inside θ and Δ, so that rounding never decides a claim
_ACCEPT = 0.5 + 2.4e-5  # the same for the probability of accept, which must exceed one half
_REACH = 1.5  # how far from the input graphs may lie to be expanded, in `θ`
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
    max_neighbours: int = 20_000  # neighbours scored of one graph; of more, a uniform sample
    max_graphs: int = 2_000_000  # graphs kept in all, about 0.5 kB each at width 64

    def run(
        self, scorer: NeighbourhoodScorer, inputs: Sequence[Graph], context: RunContext = UNLIMITED, *, seed: int = 0
    ) -> SearchState:
        """Search from the rejected graphs, which have fresh ids.

        At the deadline centres are still chosen for the graphs found so far; the checkpoint keeps the search before that, to go on with more time.
        """
        searcher = Searcher(self._sized(len(inputs)), scorer, context)
        state, path = searcher.begin(inputs, seed), None if context.folder is None else context.folder / SEARCH
        facts = None if path is None else search_facts(self, scorer, state)
        kept, fresh = Checkpoint(path, facts, context.resume), state
        loaded = kept.load(SEARCH_KINDS, lambda arrays: decode_search(arrays, fresh), optional={"centres": "f2"})
        state = loaded or fresh
        while not state.ended:
            before, state = state, searcher.step(state)
            context.show_progress(*state.progress)
            if state.ended or kept.is_due:
                latest = before if state.ended and not state.complete else state
                kept.save(lambda latest=latest: encode_search(latest))  # type: ignore[misc]
        return state

    def _sized(self, num_inputs: int) -> DirectedSearch:
        """The same search with fewer graphs kept per input, so that all together stay within `max_graphs`."""
        share = min(1.0, self.max_graphs / max(1, num_inputs * (self.num_found + self.num_frontier)))
        found, frontier = (max(1, int(share * most)) for most in (self.num_found, self.num_frontier))
        return replace(self, num_found=found, num_frontier=frontier)


class Searcher:
    """Takes a search from step to step, until the deadline."""

    def __init__(self, config: DirectedSearch, scorer: NeighbourhoodScorer, context: RunContext = UNLIMITED) -> None:
        if scorer.embedder is None or scorer.classifier is None:
            raise InputError("A search needs a classifier and an embedder (got a scorer without one)")
        self.config, self.scorer, self.embedder, self.context = config, scorer, scorer.embedder, context

    def begin(self, inputs: Sequence[Graph], seed: int) -> SearchState:
        """The initial state: all inputs are planned, none is done."""
        rows = self.embedder.embed(GraphBatch.from_graphs(inputs)) if len(inputs) else np.zeros((0, 1))
        embeddings = np.ascontiguousarray(rows, dtype=np.float32)
        none = ReachedGraphs.none(embeddings.shape[1])
        known = [InputState(graph, z, none, none) for graph, z in zip(inputs, embeddings, strict=True)]
        plan = [InputTask(i, 0, 0) for i in range(len(known))]
        return SearchState(inputs=known, seed=seed, plan=plan, ended=not known, complete=not known)

    def step(self, state: SearchState) -> SearchState:
        """Work on some more inputs of the plan; when it is finished or time is up, choose centres and plan again.

        The new state shares its inputs with the given one, which must not be used again unless time was up.
        """
        if self.context.is_late:
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
        while num_done < len(chunk) and state.centres is not None and not self.context.is_late:
            self._pursue(state, chunk[num_done], state.centres)
            num_done += 1
        num_found = state.num_found + sum(len(one.found) for one in known) - num_before
        return replace(state, done=state.done + num_done, num_found=num_found)

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

    def _plan(self, covers: BoolArray, *, nothing_found: bool) -> list[InputTask]:
        """Uncovered inputs aim at all centres, those that only a late centre covers at the first tenth.

        If nothing was found, there are no aims, and inputs go where acceptance is likeliest.
        """
        num_centres, num_inputs = covers.shape
        head = -(-num_centres // 10)
        uncovered = ~covers.any(axis=0)
        late = ~covers[:head].any(axis=0) & ~uncovered
        plan: list[InputTask] = []
        for wanted, effort, num_aims in (
            (uncovered, self.config.effort, num_centres),
            (late, self.config.head_effort, head),
        ):
            if effort > 0 and wanted.any() and (num_aims or nothing_found):
                share = np.ceil(effort * num_inputs / wanted.sum())
                budget = int(np.clip(share, 1, self.config.most_expansions))
                plan += [InputTask(i, budget, num_aims) for i in np.flatnonzero(wanted).tolist()]
        return plan

    def _pursue(self, state: SearchState, task: InputTask, centres: FloatArray) -> None:
        """Expand an input, then the graphs around it that are nearest to the aims."""
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
        """Keep the useful part of a neighbourhood."""
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
            near = np.flatnonzero(norms <= _REACH * config.theta)
            near = near[best_first(vectors[near], neighbourhood.probability[near], aims)[: config.num_frontier]]
            known.frontier += ReachedGraphs.from_neighbourhood(path, neighbourhood, near)

    def _trim(self, known: InputState, centres: FloatArray, aims: FloatArray) -> None:
        """Cut the graphs kept of one input back to the limits."""
        config, found = self.config, known.found
        vectors = known.vectors(found.sizes, found.embeddings)
        known.found = found.select(worth_keeping(vectors, found.keys, centres, config.num_found))
        expanded = np.array(sorted(known.expanded), dtype=np.uint64)
        fresh = known.frontier.select(~np.isin(known.frontier.keys, expanded))
        best = best_first(known.vectors(fresh.sizes, fresh.embeddings), fresh.probabilities, aims)
        known.frontier = fresh.select(best[: config.num_frontier])


def _chunk(state: SearchState) -> list[InputTask]:
    """What to work on next, at least one input."""
    following = state.plan[state.done : state.done + _CHUNK]
    nodes = np.cumsum([state.inputs[task.input].graph.num_nodes for task in following])
    return following[: max(1, int(np.searchsorted(nodes, _CHUNK_NODES, side="right")))]


def best_first(vectors: FloatArray, probabilities: FloatArray, aims: FloatArray) -> npt.NDArray[np.intp]:
    """Rows in order of their distance to the nearest aim; without aims, the likeliest accepted first."""
    if not len(aims):
        return np.argsort(-probabilities, kind="stable")
    return np.argsort(squared_distances(vectors, aims).min(axis=1), kind="stable")


def worth_keeping(vectors: FloatArray, keys: KeyArray, centres: FloatArray | None, most: int) -> npt.NDArray[np.intp]:
    """At most `most` rows: half of them the nearest to one centre each, the rest pseudo-random.

    So graphs that cover the input by one of these centres stay.
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

    A row whose best aim is taken is tried again with its second-best aim, after others, which keeps the choice varied. The rest of the budget goes to
    the nearest rows.
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
    """At most `most` pseudo-random rows, drawn by a hash of the keys, so that the order of the graphs does not matter."""
    if len(keys) <= most:
        return np.arange(len(keys))
    return np.argpartition(keys * _GOLDEN ^ (keys >> np.uint64(31)), most)[:most]
